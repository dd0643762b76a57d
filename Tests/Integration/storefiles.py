"""What tests of the store share: a gateway with pushes that wait, and its files as a crash left them."""

import base64
import pathlib
import shutil
import ssl
import time

from delivery import receive
from harness import APP, Sandbox
from instance import until

#: A queue that drops nothing, and one loop, so that the same calls come in the same order.
SETTINGS = {"threads": "1", "queue.limit": "100000", "log.deliveries": "off"}


class Waiting:
    """A gateway that holds numbered pushes for a device that is away."""

    def __init__(self, instance: Sandbox):
        self.instance = instance
        self.identity, (self.token,) = instance.offline(APP)
        self.accepted: set[int] = set()
        self._next = 0
        self._copy: tuple[pathlib.Path, set[int]] | None = None

    @property
    def data(self) -> pathlib.Path:
        return self.instance.directory / "data"

    # Pushes

    def push(self, count: int = 1, size: int = 0, seconds: float = 15) -> list[int]:
        """Sends so many at once and returns their statuses, 0 for those without an answer."""
        with self.instance.client() as client:
            streams = []
            for _ in range(count):
                body = b'{"n":%d,"x":"%s"}' % (self._next, b"x" * size)
                place, self._next = self._next, self._next + 1
                try:
                    streams.append((place, client.start(self.instance.headers(self.token), body)))
                except ssl.SSLError:
                    # The gateway has died meanwhile.
                    break
            client.wait(*(stream for _, stream in streams), seconds=seconds)
        self.accepted |= {place for place, stream in streams if stream.status == 200}
        return [stream.status or 0 for _, stream in streams] + [0] * (count - len(streams))

    def push_until_accepted(self, seconds: float = 20) -> int:
        """One after the other, until the store takes one; how many were refused before."""
        end = time.monotonic() + seconds
        refused = 0
        while self.push() != [200]:
            refused += 1
            assert time.monotonic() < end, f"{refused} pushes refused, and no end\n{self.instance.tail()}"
            time.sleep(0.05)
        return refused

    def held(self) -> list[int]:
        """What the gateway holds, in order, read through to the payload."""
        items = self.instance.admin.get(f"/v1/queues/{self.token}", limit=1000, payload="true")["items"]
        assert all(item["payload"] for item in items), "a payload is not there"
        return [int(base64.b64decode(item["payload"]).split(b",")[0].removeprefix(b'{"n":')) for item in items]

    def check(self) -> list[int]:
        """All that was promised is held, in order and once; more may be, of what was sent and not answered."""
        held = self.held()
        assert self.accepted <= set(held), f"lost: {sorted(self.accepted - set(held))}\n{self.instance.tail()}"
        assert held == sorted(set(held)) and held[-1] < self._next, held
        return held

    def finish(self) -> None:
        """All that was promised is held, and the device gets it, in order."""
        held = self.check()
        assert self.deliver() == held

    def deliver(self) -> list[int]:
        """The device comes and takes everything."""
        count = len(self.held())
        courier, _ = self.instance.online(APP, identity=self.identity)
        with courier:
            return [number_of(message) for message in receive(courier, count)]

    # Files

    def save(self) -> None:
        """Kills the gateway, and keeps its files as they are now."""
        self.instance.kill()
        copy = self.instance.directory.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.data, copy)
        self._copy = (copy, set(self.accepted))

    def load(self) -> None:
        """Puts those files back. The gateway must not run."""
        copy, accepted = self._copy
        shutil.rmtree(self.data)
        shutil.copytree(copy, self.data)
        self.data.chmod(0o700)
        self.accepted = set(accepted)

    def file(self, suffix: str = "") -> pathlib.Path:
        return self.data / f"carillon.db{suffix}"


def number_of(message) -> int:
    """The number of a push of `Waiting`."""
    return int(message.payload.split(b",")[0].removeprefix(b'{"n":'))


def logged(instance: Sandbox, text: str, seconds: float = 10) -> str:
    """The first line of the log with this text."""

    def line() -> str | None:
        return next((line for line in list(instance.standard_error) if text in line), None)

    return until(line, lambda: f"{text!r} in the log\n{instance.tail()}", seconds)


def refused_start(instance: Sandbox) -> str:
    """Starts a gateway that must refuse, with status 1 and without a trace of its stack; what it said."""
    before = len(instance.standard_error)
    try:
        instance.start()
    except AssertionError as error:
        said = "".join(instance.standard_error[before:])
        assert "serve ended with status 1 " in str(error), error
        assert "Fatal error" not in said and "Backtrace" not in said and len(said.splitlines()) <= 3, said
        return said
    instance.kill()
    raise AssertionError("the gateway has started")
