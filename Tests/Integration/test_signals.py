"""What reaches a process from its surroundings and must not end or stop it: signals, streams closed or full."""

import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from delivery import live
from harness import APP, needs
from instance import binary, clean_environment, until, wait_ready

#: What ends a process that does not expect it, and means nothing to a gateway.
MEANINGLESS = [
    "USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "PWR", "STKFLT", "XCPU", "XFSZ", "PIPE", "RTMIN", "RTMAX",
]  # fmt: skip

@pytest.mark.sanitizer
def test_a_signal_without_a_meaning_does_nothing(sandbox):
    courier, (token,) = live(sandbox, APP)
    for name in MEANINGLESS:
        sandbox.process.send_signal(signal.Signals[f"SIG{name}"] if name != "STKFLT" else 16)
        assert sandbox.push(token).status == 200, name
    for _ in MEANINGLESS:
        courier.expect_notify()


def test_no_thread_takes_a_signal(sandbox):
    """Each blocks them all, so that none is ever cut short in a system call."""
    wanted = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1, signal.SIGUSR2]
    for status in pathlib.Path(f"/proc/{sandbox.process.pid}/task").glob("*/status"):
        text = status.read_text()
        name = re.search(r"Name:\s*(.*)", text)[1]
        if name.startswith(("MHD", "jemalloc")):
            continue
        blocked = int(re.search(r"SigBlk:\s*(\w+)", text)[1], 16)
        assert all(blocked >> number - 1 & 1 for number in wanted), name


def signalled_early(instance, name: str) -> None:
    """The next start gets a signal with the first thing that its `main` asks of the system."""
    inject = ["-e", "trace=umask", "-e", f"inject=umask:signal={name}:when=1"]
    # As a grandchild, so that the process that was started is the gateway.
    instance.launcher = ["strace", "-D", "-qqq", "-o", "/dev/null", *inject]


@needs("strace")
@pytest.mark.parametrize("name", [*MEANINGLESS, "HUP"])
def test_a_signal_while_it_starts_does_not_end_it(fresh, name):
    instance = fresh()
    instance.stop()
    signalled_early(instance, f"SIG{name}" if not name.startswith("RT") else {"RTMIN": "34", "RTMAX": "64"}[name])
    instance.start()
    wait_ready(instance)
    if name == "HUP":
        until(lambda: instance.admin.metric("reloads_total", result="done") == 1, "the reload that was asked for")


@needs("strace")
@pytest.mark.parametrize("name", ["TERM", "INT"])
def test_a_gateway_that_is_stopped_while_it_starts_ends_at_once(fresh, name):
    instance = fresh()
    instance.stop()
    signalled_early(instance, f"SIG{name}")
    with pytest.raises(AssertionError, match=f"ended with status -{int(signal.Signals[f'SIG{name}'])} before"):
        instance.start()
    instance.launcher = []
    instance.start()


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM], [signal.SIGINT] * 5])
def test_each_way_to_stop_ends_well(fresh, signals):
    instance = fresh()
    for number in signals:
        instance.process.send_signal(number)
    assert instance.process.wait(45) == 0
    instance._forget()


def serve(instance, **streams) -> subprocess.Popen:
    arguments = [binary(), "serve", "--config", instance.facts["config"]]
    doors = {name: value for name, value in instance._doors.items()}
    for name, value in doors.items():
        arguments += ["--set", f"{name}.port={value}"]
    arguments += ["--set", "log.level=debug", "--test-hooks"]
    return subprocess.Popen(arguments, env=clean_environment(), **streams)


def be_refused(instance) -> None:
    """Something that a loop logs: a device that does not hold its key."""
    with instance.courier(instance.enrol()) as courier:
        assert courier.connect(signature=b"\xc0\x02" + bytes(70)).item(1) != b"\0"


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_streams_that_are_closed_at_the_start_are_no_files_of_ours(fresh, closed):
    """The next file that is opened would get the number, and the log would be written into it."""
    instance = fresh()
    instance.stop()

    def close() -> None:
        for number in closed:
            os.close(number)

    process = serve(instance, preexec_fn=close)
    try:
        wait_ready(instance)
        for number in closed:
            assert os.readlink(f"/proc/{process.pid}/fd/{number}") == "/dev/null"
        token = instance.register(APP)
        assert instance.push(token).status == 200
        be_refused(instance)
        assert instance.push(token).status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(45) == 0


@pytest.mark.sanitizer
def test_a_log_that_nobody_reads_stops_nothing(fresh):
    instance = fresh()
    instance.stop()
    reading, writing = os.pipe()
    process = serve(instance, stderr=writing, stdout=subprocess.DEVNULL)
    os.close(writing)
    try:
        wait_ready(instance)
        token = instance.register(APP)
        # Each reload that fails is a line as long as the mistakes: the pipe holds 64 KiB, the gateway a megabyte more.
        with open(instance.facts["config"], "a") as settings:
            settings.writelines(f"threads = {'x' * 1000}\n" for _ in range(200))
        deadline = time.monotonic() + 60
        while instance.admin.metric("log_lines_lost_total") == 0:
            assert time.monotonic() < deadline, "no line was lost"
            process.send_signal(signal.SIGHUP)
            be_refused(instance)
            assert instance.push(token).status == 200
        # Now somebody reads, and is told.
        text = b""
        while b"log lines were lost" not in text:
            text = text[-100:] + os.read(reading, 1 << 20)
    finally:
        process.send_signal(signal.SIGTERM)
        os.set_blocking(reading, False)
        deadline = time.monotonic() + 45
        while process.poll() is None and time.monotonic() < deadline:
            try:
                os.read(reading, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)
        os.close(reading)
    assert process.wait(1) == 0


def test_an_unread_log_does_not_hold_up_the_end(fresh):
    instance = fresh()
    instance.stop()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    process = serve(instance, stderr=writing, stdout=subprocess.DEVNULL)
    os.close(writing)
    wait_ready(instance)
    process.send_signal(signal.SIGTERM)
    assert process.wait(45) == 0
    os.close(reading)
