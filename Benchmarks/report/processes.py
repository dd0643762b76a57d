"""Other programs: where they run, and what they use."""

import os
import shutil
import subprocess
from pathlib import Path

#: The server has one core and the load the other, so that neither takes time from the other.
SERVER_CORE, LOAD_CORE = 0, 1
TIMEOUT_SECONDS = 900


def why_not_pinned() -> str | None:
    """Why server and load cannot have a core each, in words that say what to do; None if they can."""
    if not shutil.which("taskset"):
        return "taskset is missing; it comes with the package util-linux"
    if not {SERVER_CORE, LOAD_CORE} <= os.sched_getaffinity(0):
        return f"cores {SERVER_CORE} and {LOAD_CORE} are needed, one for the server and one for the load"
    return None


def pinned(core: int, command: list[str]) -> list[str]:
    return ["taskset", "-c", str(core), *command]


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Runs a program to its end and returns what it printed; what it complained of is in the error."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env=environment
    )
    if done.returncode != 0:
        raise RuntimeError(f"{shown(command)} failed ({done.returncode}): {done.stdout}{done.stderr}")
    return done.stdout


def shown(command: list[str]) -> str:
    """The command without what differs from run to run: folders, ports and process ids."""
    words, before = [], ""
    for word in command:
        if before == "--server":
            word = "PID"
        elif before in ("--to", "--bare"):
            word = "HOST:PORT"
        elif before == "--port":
            word = "PORT"
        elif word.startswith("/"):
            word = Path(word).name
        words.append(word)
        before = word
    return " ".join(words)


def anonymous_bytes(pid: int) -> int:
    """Memory of a process without the pages of files, which come and go as code is run."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} is gone")


def processor_seconds(pid: int) -> float:
    """CPU time of a process, all threads that it has now."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def pin_threads(pid: int, cores: dict[str, int], other: int) -> None:
    """Gives each thread of a process a core by its name, and all others the last one."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        name = (thread / "comm").read_text().strip()
        os.sched_setaffinity(int(thread.name), {cores.get(name, other)})
