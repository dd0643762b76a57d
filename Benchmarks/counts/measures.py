"""What is counted, each on a gateway of its own."""

import functools
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lockstep
from callgrind import Callgrind, Unheard
from harness import Courier, Identity, Sandbox
from lockstep import Freezer, Lockstep, Shape
from processes import anonymous_bytes
from systemcalls import system_calls

#: One loop, and nothing written that a push does not need.
SETTINGS = {"threads": "1", "log.deliveries": "off", "log.level": "warning"}
LOADED, SINGLE = Shape(connections=10, requests=20), Shape(connections=1, requests=1)
SESSIONS = 1000
ATTEMPTS = 4


@dataclass(frozen=True)
class Load:
    """One kind of push. A count is the difference between 3 * `batches` and `batches`, so that what the counting itself
    costs falls out."""

    name: str
    what: str
    make: Callable[[Sandbox, Shape], Lockstep]
    shape: Shape
    batches: int

    def per_push(self, total: float) -> float:
        return total / (2 * self.batches * self.shape.size)


LOADS = [
    Load("live", "push to a live device, 200 pushes a turn", lockstep.live, LOADED, 5),
    Load("single", "push to a live device, one in flight", lockstep.live, SINGLE, 200),
    Load("stored", "push to an absent device, 200 a turn", lockstep.away, LOADED, 8),
    Load("refused", "push to an unknown token, 200 a turn", lockstep.unknown, LOADED, 5),
]


@contextmanager
def loaded(load: Load, launcher: list[str] = ()) -> Iterator[tuple[Lockstep, int]]:
    """A gateway with its load, warm, and its process."""
    gateway = Sandbox(SETTINGS)
    gateway.launcher = list(launcher)
    with gateway:
        lockstep = load.make(gateway, load.shape)
        # With the clock going: what is delivered has also left the pauses behind that follow a device's first steps.
        lockstep.run(2)
        gateway.admin.hold_clock(True)
        # The rest of what happens only once: tables grow, the store looks after its file.
        time.sleep(1)
        lockstep.run(max(3, 40 // load.shape.size))
        # Not in a finally: a gateway whose measure failed may hear nothing any more, and is killed.
        yield lockstep, gateway.process.pid
        gateway.admin.hold_clock(False)
        lockstep.close()


def until_heard(measure: Callable[..., dict[str, float]]) -> Callable[..., dict[str, float]]:
    """Begins again, some times, when valgrind did not hear what it was told."""

    @functools.wraps(measure)
    def repeated(*arguments) -> dict[str, float]:
        for _ in range(ATTEMPTS - 1):
            try:
                return measure(*arguments)
            except Unheard as command:
                print(f"valgrind did not hear \"{command}\"; counted again")
        return measure(*arguments)

    return repeated


@until_heard
def instructions_and_allocations(load: Load, folder: Path) -> dict[str, float]:
    """Per push, over all threads."""
    callgrind = Callgrind(Path(tempfile.mkdtemp(dir=folder)))
    with loaded(load, callgrind.launcher) as (lockstep, pid):
        callgrind.start(pid)
        lockstep.run(load.batches)
        few = callgrind.profile(pid, lambda: lockstep.run(load.batches))
        many = callgrind.profile(pid, lambda: lockstep.run(3 * load.batches))
    spent = many - few
    split = [(library, load.per_push(count)) for library, count in spent.allocations.most_common()]
    print(f"{load.name}: allocations by {', '.join(f'{name} {count:.2f}' for name, count in split if count >= 0.01)}")
    return {
        f"{load.name}.instructions": load.per_push(spent.instructions),
        f"{load.name}.allocations": load.per_push(spent.allocations.total()),
    }


def calls(load: Load, folder: Path) -> dict[str, float]:
    """System calls per push, over all threads."""
    with loaded(load) as (lockstep, pid):
        few = system_calls(pid, folder / "few", lambda: lockstep.run(load.batches))
        many = system_calls(pid, folder / "many", lambda: lockstep.run(3 * load.batches))
    return {f"{load.name}.systemCalls": load.per_push(many.total() - few.total())}


@until_heard
def connect_instructions(folder: Path) -> dict[str, float]:
    """Of a device that comes with a certificate the gateway knows, and goes."""
    callgrind = Callgrind(Path(tempfile.mkdtemp(dir=folder)))
    gateway = Sandbox(SETTINGS)
    gateway.launcher = callgrind.launcher
    with gateway:
        identity, freezer = gateway.enrol(), Freezer(gateway.process.pid)

        def connect(count: int) -> None:
            for _ in range(count):
                with gateway.courier(identity) as courier:
                    courier.connect()
            with freezer:
                pass

        connect(10)
        callgrind.start(gateway.process.pid)
        connect(5)
        few = callgrind.profile(gateway.process.pid, lambda: connect(10))
        many = callgrind.profile(gateway.process.pid, lambda: connect(40))
    return {"connect.instructions": (many - few).instructions / 30}


def session_bytes(detach: str) -> float:
    """How much more memory the gateway has in use for each connected device that says nothing."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gateway = Sandbox(SETTINGS | {"device.tls.detach": detach, "limits.connectionsPerAddress": "0"})
    # What is freed goes back to the system at once: otherwise what handshakes leave behind is counted by chance.
    gateway.variables = {"MALLOC_CONF": "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0"}
    with gateway:
        couriers: list[Courier] = []

        def memory_after(count: int) -> int:
            couriers.extend(connect(gateway, gateway.enrol()) for _ in range(count))
            return settled(gateway.process.pid)

        before = memory_after(SESSIONS // 2)
        after = memory_after(SESSIONS)
        for courier in couriers:
            courier.close()
    return (after - before) / SESSIONS


def connect(gateway: Sandbox, identity: Identity) -> Courier:
    courier = gateway.courier(identity)
    courier.connect()
    return courier


def settled(pid: int) -> int:
    """Bytes of its own that a process has in use, once they have stopped growing."""
    found = anonymous_bytes(pid)
    while True:
        time.sleep(0.5)
        again = anonymous_bytes(pid)
        if again <= found:
            return again
        found = again
