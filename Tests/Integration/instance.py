"""A real gateway in its own directory: made with `carillon init`, started with `carillon serve`."""

import json
import os
import pathlib
import queue
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from admin import Admin

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 30
STOP_SECONDS = 45

#: Every gateway that runs at the moment, so that a failing test can show what they wrote.
running: list["Instance"] = []


def binary() -> str:
    """The program under test: CARILLON_BINARY, else the release build, else the debug build."""
    candidates = [os.environ.get("CARILLON_BINARY")]
    candidates += [str(REPOSITORY / ".build" / kind / "carillon") for kind in ("release", "debug")]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return str(pathlib.Path(candidate).resolve())
    raise FileNotFoundError("no carillon binary: build it, or set CARILLON_BINARY")


def clean_environment() -> dict[str, str]:
    """The environment without CARILLON_*: an unknown one would stop the start."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CARILLON_")}
    return {"SWIFT_BACKTRACE": "enable=no"} | kept


def command(*arguments: str, directory: str | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Runs one command of the program to its end, with output as text."""
    return subprocess.run(
        [binary(), *arguments],
        cwd=directory,
        env=clean_environment() | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def port_of(address: str) -> int:
    """The port in `host:port`, `[host]:port` or a URL."""
    return int(address.rstrip("/").rsplit(":", 1)[1])


def until(condition, what: object = "", seconds: float = 20):
    """Waits for an event that must come, however busy the machine is; what the condition gave at last."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.02)
    return found


def wait_ready(instance: "Instance", ready: bool = True, reason: str | None = None) -> list[str]:
    """Until `/readyz` says so, and gives this reason; the reasons it gave at last."""

    def answer() -> tuple | None:
        try:
            status, body = instance.admin.request("GET", "/readyz", token=None)
        except OSError:
            # It does not listen yet.
            return None
        return (status, body) if (status == 200) == ready and (not reason or reason in body["reasons"]) else None

    _, body = until(answer, lambda: f"/readyz that is {'good' if ready else reason or 'bad'}\n{instance.tail()}")
    return [] if ready else body["reasons"]


class Instance:
    """One instance and its process. As a context manager it is made, started, and stopped with its exit checked."""

    def __init__(self, settings: dict[str, str] | None = None, environment: str = "development", hooks: bool = True):
        self.settings = dict(settings or {})
        self.environment = environment
        self.hooks = hooks and environment == "development"
        self.process: subprocess.Popen | None = None
        self.standard_error: list[str] = []
        self.clock_offset = 0.0
        self.ports: dict[str, str] = {}
        self._temporary = tempfile.TemporaryDirectory(prefix="carillon-")
        self.directory = pathlib.Path(self._temporary.name) / "instance"
        self.facts: dict = {}
        #: What the gateway is started through, such as valgrind.
        self.launcher: list[str] = []
        #: Variables of the gateway's environment, beside ours.
        self.variables: dict[str, str] = {}

    def __enter__(self) -> "Instance":
        self.make()
        self.start()
        return self

    def __exit__(self, kind, *_) -> None:
        try:
            if kind is None:
                self.stop()
            else:
                self.kill()
        finally:
            self.discard()

    # Life

    def make(self) -> None:
        """`carillon init`."""
        arguments = ["init", "--directory", str(self.directory), "--environment", self.environment, "--json"]
        for door in ("provider", "channels", "device", "admin"):
            arguments += [f"--{door}-port", str(self.first_port(door))]
        done = command(*arguments)
        assert done.returncode == 0, f"init failed ({done.returncode}): {done.stderr}"
        self.facts = json.loads(done.stdout)

    def first_port(self, door: str) -> int:
        """What the settings say of a door's port: 0 leaves it to the system, at each start anew."""
        return 0

    def start(self) -> None:
        """`carillon serve`, up to its ready line."""
        arguments = [*self.launcher, binary(), "serve", "--config", self.facts["config"], "--json"]
        if self.hooks:
            arguments.append("--test-hooks")
        for name, value in (self.settings | self.ports).items():
            arguments += ["--set", f"{name}={value}"]
        self.process = subprocess.Popen(
            arguments,
            env=clean_environment() | self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(self)
        threading.Thread(target=self._collect, args=(self.process.stderr,), daemon=True).start()
        self.clock_offset = 0.0
        self._adopt(self._ready_line())

    def stop(self) -> None:
        """SIGTERM; the drain must end with exit status 0."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no exit {STOP_SECONDS} s after SIGTERM\n{self.tail()}") from None
        self._forget()
        assert status == 0, f"exit status {status} after SIGTERM\n{self.tail()}"

    def kill(self) -> None:
        """SIGKILL: what a crash or a power cut leaves."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self._forget()

    def restart(self, crash: bool = False) -> None:
        """Stops or kills, and starts again on the same ports."""
        if crash:
            self.kill()
        else:
            self.stop()
        self.ports = {f"{door}.port": value for door, value in self._doors.items()}
        self.start()

    def discard(self) -> None:
        """Removes the directory."""
        self._temporary.cleanup()

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    # What a test asks

    def now(self) -> float:
        """The gateway's idea of the time: ours plus what the test clock was moved."""
        return time.time() + self.clock_offset

    def advance(self, text: str) -> None:
        """Moves the gateway's clock, e.g. `31d` or `90s`."""
        units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
        self.admin.post("/v1/test/clock", {"advance": text})
        self.clock_offset += int(text[:-1]) * units[text[-1]]

    def context(self, alpn: tuple[str, ...] = ("h2",), version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
        """A client context that trusts this instance's CA and nothing else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.facts["ca"])
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if version:
            context.minimum_version = version
            context.maximum_version = version
        return context

    def resident_bytes(self) -> int:
        """VmRSS of the process."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS: the process is gone")

    def tail(self, lines: int = 60) -> str:
        """The end of what it wrote to standard error."""
        return "".join(self.standard_error[-lines:])

    # Inside

    def _collect(self, stream) -> None:
        for line in stream:
            self.standard_error.append(line)

    def _ready_line(self) -> dict:
        lines: queue.Queue[str] = queue.Queue()

        def read(stream) -> None:
            for line in stream:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, args=(self.process.stdout,), daemon=True).start()
        try:
            line = lines.get(timeout=START_SECONDS)
        except queue.Empty:
            self.kill()
            raise AssertionError(f"not ready after {START_SECONDS} s\n{self.tail()}") from None
        if not line:
            status = self.process.wait()
            self._forget()
            time.sleep(0.1)
            raise AssertionError(f"serve ended with status {status} before it was ready\n{self.tail()}")
        ready = json.loads(line)
        assert ready.get("event") == "ready", line
        return ready

    def _adopt(self, ready: dict) -> None:
        self.provider_ports = [port_of(address) for address in ready["provider"]]
        self.provider_port = self.provider_ports[0]
        self.device_port = port_of(ready["device"][0])
        self.admin_port = port_of(ready["admin"])
        self._doors = {
            "provider": ",".join(map(str, self.provider_ports)),
            "device": ",".join(str(port_of(address)) for address in ready["device"]),
            "admin": str(self.admin_port),
        }
        if ready["channels"]:
            self._doors["channels"] = str(port_of(ready["channels"][0]))
        self.admin = Admin(self.admin_port, self.facts["adminToken"])

    def _forget(self) -> None:
        self.process = None
        if self in running:
            running.remove(self)
