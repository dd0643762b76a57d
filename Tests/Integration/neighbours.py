"""Who must notice nothing: a provider and a device that go on while somebody else misbehaves."""

import contextlib
import threading
import time

from harness import APP

MEBIBYTE = 1 << 20
#: Resident memory that an abuse may cost.
MEMORY_MARGIN = 64 * MEBIBYTE
#: What a push of a neighbour may take. It is not a latency that anybody should have: on a loaded machine with a
#: sanitizer it still holds, and a neighbour that is starved does not come near it.
DEADLINE_SECONDS = 15


class Neighbour(threading.Thread):
    """Pushes to its own device, one push after the other, until it is told to stop."""

    def __init__(self, instance):
        super().__init__(daemon=True)
        self.instance = instance
        self.pushes = 0
        self.slowest = 0.0
        self.most_resident = 0
        self.failure: BaseException | None = None
        self._stopping = threading.Event()
        self.courier, (self.token,) = instance.online(APP)
        self.client = instance.client()
        self._exchange()

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._exchange()
        except BaseException as failure:
            self.failure = failure

    def stop(self) -> None:
        self._stopping.set()
        self.join(2 * DEADLINE_SECONDS)
        assert not self.is_alive(), "a push of the neighbour was never answered"
        if self.failure:
            raise self.failure
        # Once more, now that it is over.
        self._exchange()
        self.client.close()
        self.courier.close()

    def _exchange(self) -> None:
        began = time.monotonic()
        assert self.instance.push_on(self.client, self.token).status == 200
        self.courier.expect_notify(DEADLINE_SECONDS)
        took = time.monotonic() - began
        assert took < DEADLINE_SECONDS, f"a push of the neighbour took {took:.1f} s"
        self.slowest = max(self.slowest, took)
        self.most_resident = max(self.most_resident, self.instance.resident_bytes())
        self.pushes += 1


@contextlib.contextmanager
def unharmed(instance):
    """While the block runs a neighbour's pushes are answered and arrive, and memory stays within its margin."""
    neighbour = Neighbour(instance)
    before = instance.resident_bytes()
    neighbour.start()
    try:
        yield neighbour
    finally:
        neighbour.stop()
    grown = max(neighbour.most_resident, instance.resident_bytes()) - before
    print(f"{neighbour.pushes} pushes, the slowest {neighbour.slowest:.3f} s; {grown / MEBIBYTE:.1f} MiB more")
    assert grown < MEMORY_MARGIN, f"{grown / MEBIBYTE:.0f} MiB more"
