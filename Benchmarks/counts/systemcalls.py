"""System calls, counted by strace."""

import signal
import subprocess
from collections import Counter
from pathlib import Path

#: How a thread sleeps is the scheduler's affair, not the program's.
UNCOUNTED = {"futex", "restart_syscall", "sched_yield"}


def system_calls(pid: int, file: Path, work) -> Counter:
    """The calls of all threads of the process during `work()`, by name."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-c", "-p", str(pid), "-o", str(file)], stderr=subprocess.PIPE, text=True
    )
    # It says "Process 1 attached with 3 threads".
    if "attached" not in (line := tracer.stderr.readline()):
        raise SystemExit(f"counts: {line.strip()}; let strace attach: as root, in a container with SYS_PTRACE")
    try:
        work()
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=60)
    return parse(file.read_text())


def parse(table: str) -> Counter:
    """`strace -c` prints: % time, seconds, usecs/call, calls, errors (may be empty), name."""
    calls: Counter = Counter()
    for line in table.splitlines():
        fields = line.split()
        if len(fields) in (5, 6) and fields[3].isdigit() and fields[-1] not in UNCOUNTED | {"total"}:
            calls[fields[-1]] += int(fields[3])
    return calls
