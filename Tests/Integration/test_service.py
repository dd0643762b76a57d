"""As a service: what the manager is told, what the unit allows, and what is left when the process dies.

systemd itself is not here: no test may be process 1. The unit is read by systemd's own tools, the process runs under
its user and bounds by `setpriv`, and speaks to a socket that stands for the manager's.
"""

import os
import pathlib
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import pytest

from authorities import Authority, replace
from delivery import live
from harness import APP, Sandbox, needs
from instance import REPOSITORY, binary, until

UNIT = REPOSITORY / "packaging" / "carillon.service"
DEADLINE = 30
#: Of systemd-analyze's scale from 0 (closed) to 10; the unit has 1.7 with systemd 252.
EXPOSURE = 20


class Manager:
    """The socket at which a service manager listens."""

    def __init__(self, address: str):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.heard: list[dict[str, str]] = []

    def pump(self, seconds: float) -> bool:
        if not select.select([self.socket], [], [], seconds)[0]:
            return False
        lines = self.socket.recv(4096).decode().split("\n")
        self.heard.append(dict(line.split("=", 1) for line in lines))
        return True

    def wait(self, name: str, seconds: float = DEADLINE) -> dict[str, str]:
        """The next message that says this; what came before is forgotten."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            while self.heard:
                message = self.heard.pop(0)
                if name in message:
                    return message
            self.pump(left)
        raise AssertionError(f"no {name} within {seconds} s")

    def beats(self, seconds: float) -> int:
        """How often it was told in this time that all is well."""
        self.heard.clear()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.pump(left)
        return sum("WATCHDOG" in message for message in self.heard)


@pytest.fixture
def managed(tmp_path, request):
    """A gateway that a manager watches, by a path or a name in the abstract space; and the manager."""
    kind, patience = request.param
    address = f"@carillon-{os.getpid()}-{tmp_path.name}" if kind == "abstract" else str(tmp_path / "notify")
    manager = Manager(address)
    instance = Sandbox()
    instance.variables = {"NOTIFY_SOCKET": address}
    if patience:
        instance.variables["WATCHDOG_USEC"] = str(patience)
    with instance:
        yield instance, manager


@pytest.mark.sanitizer
@pytest.mark.parametrize("managed", [("path", None), ("abstract", None)], indirect=True)
def test_the_manager_is_told_how_it_goes(managed):
    instance, manager = managed
    assert manager.wait("READY") == {"READY": "1", "STATUS": "serving"}
    before = time.monotonic() * 1e6
    instance.process.send_signal(signal.SIGHUP)
    reloading = manager.wait("RELOADING")
    assert before <= int(reloading["MONOTONIC_USEC"]) <= time.monotonic() * 1e6
    assert manager.wait("READY")["STATUS"] == "serving"
    replace(instance.directory / "pki" / "server.pem", b"nonsense")
    manager.wait("RELOADING")
    assert "failed" in manager.wait("READY")["STATUS"]
    instance.process.send_signal(signal.SIGTERM)
    assert manager.wait("STOPPING") == {"STOPPING": "1", "STATUS": "draining"}
    assert instance.process.wait(DEADLINE) == 0
    instance._forget()


@pytest.mark.sanitizer
@pytest.mark.parametrize("managed", [("path", 4_000_000)], indirect=True)
def test_the_watchdog_is_fed_until_a_loop_is_stuck(managed):
    instance, manager = managed
    for _ in range(3):
        manager.wait("WATCHDOG")
    # A store that is held still turns, and so does one that fails: neither is a reason to be killed.
    instance.admin.post("/v1/test/store", {"hold": True})
    for _ in range(3):
        manager.wait("WATCHDOG")
    instance.admin.post("/v1/test/store", {"hold": False})
    instance.admin.post("/v1/test/loop", {"stuck": "6s"})
    # One beat may have been on its way. A healthy gateway would have been heard five times.
    assert manager.beats(5) <= 1
    for _ in range(3):
        manager.wait("WATCHDOG")


@pytest.mark.parametrize("managed", [("path", 1_000_000)], indirect=True)
def test_a_watchdog_for_another_process_is_not_fed(managed):
    instance, manager = managed
    instance.variables["WATCHDOG_PID"] = "1"
    instance.restart()
    manager.wait("STOPPING")
    manager.wait("READY")
    assert manager.beats(3) == 0


@pytest.mark.parametrize("managed", [("path", 1_000_000)], indirect=True)
def test_a_manager_that_reads_nothing_holds_nothing_up(managed):
    instance, manager = managed
    token = instance.register(APP)
    # Its socket takes a dozen datagrams: more have been sent when the last of these is answered.
    end = time.monotonic() + 6
    while time.monotonic() < end:
        assert instance.push(token).status == 200
        time.sleep(0.2)


def test_no_core_is_dumped(fresh):
    instance = fresh()
    limits = pathlib.Path(f"/proc/{instance.process.pid}/limits").read_text()
    assert re.search(r"Max core file size +0 +0 ", limits)
    instance.process.send_signal(signal.SIGABRT)
    _, status = os.waitpid(instance.process.pid, 0)
    assert os.WTERMSIG(status) == signal.SIGABRT and not os.WCOREDUMP(status)
    instance._forget()
    instance.start()


def test_what_is_made_is_private(fresh):
    instance = fresh()
    status = pathlib.Path(f"/proc/{instance.process.pid}/status").read_text()
    assert re.search(r"Umask:\s*0077", status)
    for path in (instance.directory / "data").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


# The unit


def unit_settings() -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            settings.setdefault(name, []).append(value)
    return settings


@needs("systemd-analyze")
def test_systemd_understands_the_unit(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/carillon", binary()))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert done.returncode == 0 and not complaints, done.stderr


@needs("systemd-analyze")
def test_the_unit_gives_away_little():
    command = ["systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE}", UNIT]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"SYSTEMD_COLORS": "0"})
    print(done.stdout.splitlines()[-1])
    assert done.returncode == 0, done.stdout


def test_the_unit_waits_longer_than_a_drain_takes():
    units = {"s": 1, "min": 60}
    settings = unit_settings()
    number, unit = re.fullmatch(r"(\d+)(s|min)", settings["TimeoutStopSec"][0]).groups()
    # drain.timeout unless set, and what a stop takes besides (docs/operations.md, "Drain").
    assert int(number) * units[unit] >= 30 + 10


def system_calls(names: list[str]) -> set[str]:
    """What a SystemCallFilter stands for, its groups resolved by systemd itself."""
    found: set[str] = set()
    for name in names:
        if not name.startswith("@"):
            found.add(name)
            continue
        text = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True).stdout
        lines = [line.strip() for line in text.splitlines()]
        found |= system_calls([line for line in lines if re.fullmatch(r"@?[a-z0-9_-]+", line) and line != name])
    return found


def allowed_calls() -> set[str]:
    allowed: set[str] = set()
    for value in unit_settings()["SystemCallFilter"]:
        if value.startswith("~"):
            allowed -= system_calls(value[1:].split())
        else:
            allowed |= system_calls(value.split())
    # systemd always allows these.
    return allowed | system_calls(["@default"])


class Confined(Sandbox):
    """A gateway under another user with the unit's bounds, as far as they can be had without systemd."""

    user = pwd.getpwnam("nobody")
    bounds = [
        "prlimit", "--core=0:0", "--nofile=4096:4096", "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
        "--clear-groups", "--no-new-privs", "--bounding-set=-all,+net_bind_service",
        "--inh-caps=-all,+net_bind_service", "--ambient-caps=-all,+net_bind_service",
    ]  # fmt: skip

    def make(self) -> None:
        super().make()
        folder = self.directory.parent
        # The program's own place may be closed to other users.
        self.program = folder / "carillon"
        shutil.copy(binary(), self.program)
        self.program.chmod(0o755)
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def start(self) -> None:
        old = os.environ.get("CARILLON_BINARY")
        os.environ["CARILLON_BINARY"] = str(self.program)
        try:
            super().start()
        finally:
            os.environ.pop("CARILLON_BINARY")
            if old:
                os.environ["CARILLON_BINARY"] = old


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")


@as_root
@needs("setpriv", "prlimit")
def test_a_push_goes_through_under_another_user_and_the_units_bounds():
    instance = Confined()
    instance.launcher = Confined.bounds
    with instance:
        process = pathlib.Path(f"/proc/{instance.process.pid}")
        status = process.joinpath("status").read_text()
        number = Confined.user.pw_uid
        assert re.search(rf"Uid:\s+{number}\s+{number}", status)
        assert re.search(r"NoNewPrivs:\s+1", status)
        assert re.search(r"CapBnd:\s+0000000000000400", status)
        # Not dumpable: the kernel gives its files to root, and its memory to no program of its user.
        assert process.joinpath("environ").stat().st_uid == 0
        courier, (token,) = live(instance, APP)
        assert instance.push(token).status == 200
        courier.expect_notify()
        assert instance.admin.metrics()[("process_open_fds", frozenset())] > 0
        assert instance.admin.metrics()[("process_max_fds", frozenset())] == 4096
        for path in (instance.directory / "data").iterdir():
            assert path.stat().st_uid == number and path.stat().st_mode & 0o077 == 0, path


@pytest.mark.slow
@as_root
@needs("systemd-analyze", "strace", "setpriv", "prlimit")
def test_a_life_makes_only_system_calls_that_the_unit_allows(tmp_path):
    """The filter cannot be put in force without systemd, so everything that a gateway does is held against it."""
    trace = tmp_path / "trace"
    instance = Confined()
    instance.launcher = ["strace", "-f", "-qq", "--signal=none", "-o", str(trace), *Confined.bounds]
    with instance:
        live_a_life(instance)
        # Not SIGTERM to strace, which would end with it: the gateway is told itself.
        os.kill(int(trace.read_text().split(maxsplit=1)[0]), signal.SIGTERM)
        assert instance.process.wait(60) == 0
        instance._forget()
    text = trace.read_text()
    # Before this stands what its launchers do.
    text = text[text.index("\n", text.index(f'execve("{instance.program}"')) :]
    called = set(re.findall(r"^\d+ +(\w+)\(", text, re.MULTILINE))
    assert {"epoll_wait", "fdatasync", "accept4"} <= called
    assert called - allowed_calls() == set()
    # MemoryDenyWriteExecute and RestrictAddressFamilies.
    assert not re.search(r"(mmap|mprotect|pkey_mprotect)\([^)]*PROT_WRITE\|PROT_EXEC", text)
    families = set(re.findall(r"socket\((AF_\w+)", text))
    assert families <= set(" ".join(unit_settings()["RestrictAddressFamilies"]).split()), families


def live_a_life(instance) -> None:
    """Something of everything: pushes live and stored, the admin API, a reload."""
    courier, (token,) = live(instance, APP)
    assert instance.push(token).status == 200
    courier.expect_notify()
    courier.close()
    instance.wait_disconnected(courier.identity)
    assert instance.push(token).status == 200
    instance.admin.get("/v1/notifications")
    instance.admin.metrics()
    number = Confined.user.pw_uid
    for name, content in zip(("server.pem", "server.key"), Authority.of(instance).server()):
        new = instance.directory / name
        replace(new, content)
        os.chown(new, number, number)
        os.replace(new, instance.directory / "pki" / name)
    until(lambda: instance.admin.metric("reloads_total", result="done") > 0, instance.tail, DEADLINE)
