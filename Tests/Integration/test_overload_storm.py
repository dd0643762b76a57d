"""Storms of connections, while a provider goes on: no stream is unanswered or late, and memory comes back (T58).

CARILLON_STORM_ROUNDS=5 repeats each and prints the median of the latencies' ratio to the quiet minutes before.
"""

import os
import pathlib
import statistics
import time

import pytest

from harness import APP, BODY, Sandbox, check_shape
from storm import Storm

ROUNDS = int(os.environ.get("CARILLON_STORM_ROUNDS", "1"))
RECONNECTS = 5_000
GARBAGE_RATE, GARBAGE_SECONDS = 2_000, 10
QUIET_SECONDS = 3
#: Between two requests: slow enough that the client is never what is waited for.
PAUSE_SECONDS = 0.005
DEADLINE_SECONDS = 30
LOOPS, PLACES = 2, 64
MEGABYTE = 1_000_000
SETTLED_BYTES = 8 * MEGABYTE
SETTLING_SECONDS = 30


class Provider:
    """One connection that pushes at an even pace, and how long each answer took."""

    def __init__(self, instance: Sandbox, token: str):
        self.instance = instance
        self.client = instance.client()
        self.token = token
        self.most_handshakes = 0.0

    def push(self) -> float:
        begun = time.monotonic()
        answer = self.client.request(self.instance.headers(self.token), BODY)
        taken = time.monotonic() - begun
        check_shape(answer)
        assert answer.status == 200
        assert taken < DEADLINE_SECONDS
        return taken

    def p99(self, done) -> float:
        """Pushes until `done()` holds; meanwhile the handshakes in progress are looked at."""
        latencies, looked = [], 0.0
        while not done() or len(latencies) < 100:
            latencies.append(self.push())
            time.sleep(PAUSE_SECONDS)
            if time.monotonic() - looked > 0.1:
                looked = time.monotonic()
                self.most_handshakes = max(self.most_handshakes, self.instance.admin.metric("handshakes_open"))
        return statistics.quantiles(latencies, n=100)[98]


def settles(instance: Sandbox, before: int) -> int:
    """How much larger the process is than before, once it is no more than it may be or the time for that is over."""
    deadline = time.monotonic() + (SETTLING_SECONDS if gives_back(instance) else 0)
    while (grown := instance.resident_bytes() - before) > SETTLED_BYTES and time.monotonic() < deadline:
        time.sleep(0.5)
    return grown


def gives_back(instance: Sandbox) -> bool:
    """Whether its allocator is that of release builds: the system's, in debug builds, keeps what is freed."""
    return "jemalloc" in pathlib.Path(f"/proc/{instance.process.pid}/maps").read_text()


def storms(instance: Sandbox, make) -> list[dict]:
    """Runs the storm beside a provider and a device, and says what it did to them."""
    courier, (token,) = instance.online(APP)
    absent = instance.register()
    ratios = []
    with courier:
        provider = Provider(instance, absent)
        for _ in range(ROUNDS):
            end = time.monotonic() + QUIET_SECONDS
            quiet = provider.p99(lambda: time.monotonic() > end)
            before = instance.resident_bytes()
            storm = make()
            try:
                loud = provider.p99(storm.ended.is_set)
            finally:
                storm.kill()
            grown = settles(instance, before)
            ratios.append(loud / quiet)
            print(
                f"p99 {quiet * 1000:.1f} ms quiet, {loud * 1000:.1f} ms in the storm; at most "
                f"{provider.most_handshakes:.0f} handshakes at a time; {grown / MEGABYTE:+.1f} MB; {storm.result}"
            )
            assert provider.most_handshakes <= LOOPS * PLACES
            assert grown <= SETTLED_BYTES or not gives_back(instance)
        assert instance.push(token).status == 200
        courier.expect_notify()
        provider.client.close()
    print(f"p99 ratio, median of {ROUNDS}: {statistics.median(ratios):.1f}")
    return [storm.result]


@pytest.fixture
def instance(fresh):
    # One machine is all of the world here, so one address has all the connections; what is stored is no leak.
    return fresh({
        "threads": str(LOOPS), "limits.connectionsPerAddress": "0", "log.deliveries": "off", "queue.mode": "apple",
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(240 * ROUNDS)
@pytest.mark.parametrize("door", ["device", "provider"])
def test_t58_five_thousand_reconnects(instance, door):
    port = getattr(instance, f"{door}_port")
    (result,) = storms(instance, lambda: Storm("handshakes", port, RECONNECTS))
    assert result["results"] == {"done": RECONNECTS}


@pytest.mark.slow
@pytest.mark.timeout(120 * ROUNDS)
@pytest.mark.parametrize("door", ["device", "provider"])
def test_t58_garbage_and_immediate_closes(instance, door):
    port = getattr(instance, f"{door}_port")
    (result,) = storms(instance, lambda: Storm("garbage", port, GARBAGE_RATE, GARBAGE_SECONDS))
    assert result["made"] == GARBAGE_RATE * GARBAGE_SECONDS and result["failed"] == 0
