"""The process dies at each call that changes the store, one after the other; and the power is cut there.

Not by luck: faults.c counts the writes, syncs, truncations and unlinks of the store's files and ends the process at the
n-th. A power cut loses what was written and not synced, which no `kill -9` shows.
"""

import time

import pytest

from faults import ALL_IS_LOST, HALF_IS_LOST, STAYS, Faults
from storefiles import SETTINGS, Waiting

#: How the process dies, and whether in the middle of a write.
ENDS = [(STAYS, False), (STAYS, True), (ALL_IS_LOST, False), (HALF_IS_LOST, False)]
ENDS_IDS = ["killed", "killed in a write", "power cut", "power cut, half was written"]
#: More calls than any step here has.
CALLS_LIMIT = 400


@pytest.fixture
def waiting(fresh, tmp_path):
    """A gateway with a disk that can fail, 20 pushes in its log that were never copied into its file, and dead."""
    faults = Faults(tmp_path)
    instance = fresh(SETTINGS)
    instance.kill()
    instance.variables = faults.variables
    instance.start()
    waiting = Waiting(instance)
    waiting.faults = faults
    for size in (0, 1000, 4000):
        assert set(waiting.push(7, size)) == {200}
    waiting.save()
    return waiting


def ends(waiting, seconds: float = 10) -> bool:
    """Waits for the process; whether it has died before that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if waiting.instance.process is None or waiting.instance.process.poll() is not None:
            return True
        time.sleep(0.005)
    return False


def start(waiting) -> bool:
    """Starts, and says whether it lived to be ready."""
    try:
        waiting.instance.start()
        return True
    except AssertionError as error:
        assert "status -9 before" in str(error), error
        return False


def start_and_push(waiting, size: int = 0) -> None:
    """A start from the same files, and some pushes, while the disk is whole."""
    waiting.load()
    waiting.faults.end()
    waiting.instance.start()
    assert set(waiting.push(3, size)) == {200}


def again(waiting) -> None:
    """After a death: the disk is whole, the gateway starts and has everything; the device gets it at the end."""
    waiting.instance.kill()
    waiting.faults.end()
    waiting.instance.start()
    waiting.check()


def finish(waiting) -> None:
    waiting.faults.end()
    waiting.finish()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_death_at_every_call_of_a_start(waiting):
    for call in range(1, CALLS_LIMIT):
        power, torn = ENDS[call % len(ENDS)]
        waiting.load()
        waiting.faults.kill_at(call, power, torn)
        if start(waiting):
            break
        again(waiting)
        waiting.instance.kill()
    print(f"{call - 1} calls")
    assert call > 5
    finish(waiting)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("power", "torn"), ENDS, ids=ENDS_IDS)
def test_death_at_every_call_of_a_commit(waiting, power, torn):
    for call in range(1, CALLS_LIMIT):
        start_and_push(waiting)
        waiting.faults.kill_at(call, power, torn)
        statuses = waiting.push(2, 4000)
        if statuses == [200] * 2:
            break
        assert ends(waiting)
        again(waiting)
        waiting.instance.kill()
    print(f"{call - 1} calls")
    assert call > 3
    finish(waiting)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_death_at_every_call_of_a_checkpoint(waiting):
    """The one of an idle second."""
    waiting.load()
    waiting.faults.end()
    waiting.instance.start()
    waiting.save()
    start_and_push(waiting, 4000)
    waiting.faults.end()
    calls = calls_of_checkpoint(waiting)
    print(f"{calls} calls")
    assert calls > 5
    waiting.instance.kill()
    for call in range(1, calls + 1):
        start_and_push(waiting, 4000)
        waiting.faults.kill_at(call, *ENDS[call % len(ENDS)])
        # A machine that was too busy has made it before the trap was set.
        assert ends(waiting) or waiting.faults.calls == 0 or call == calls
        again(waiting)
        waiting.instance.kill()
    waiting.instance.start()
    finish(waiting)


def calls_of_checkpoint(waiting) -> int:
    """Waits for one, and until nothing is added to it."""
    end = time.monotonic() + 20
    last, changed = 0, time.monotonic()
    while last == 0 or time.monotonic() < changed + 1:
        if waiting.faults.calls != last:
            last, changed = waiting.faults.calls, time.monotonic()
        assert time.monotonic() < end, f"{last} calls, and no end"
        time.sleep(0.02)
    return last


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_death_at_every_call_of_a_stop(waiting):
    for call in range(1, CALLS_LIMIT):
        start_and_push(waiting)
        waiting.faults.kill_at(call, *ENDS[call % len(ENDS)])
        waiting.instance.process.terminate()
        assert ends(waiting, 30)
        status = waiting.instance.process.wait()
        again(waiting)
        if status == 0:
            break
        assert status == -9
        waiting.instance.kill()
    print(f"{call - 1} calls")
    assert call > 3
    finish(waiting)
