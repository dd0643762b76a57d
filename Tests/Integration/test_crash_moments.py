"""`kill -9` while a gateway with much to read starts, and while it drains."""

import random
import threading
import time

import pytest

from delivery import live
from harness import APP, OTHER_APP
from ledger import Ledger
from load import Load
from storefiles import SETTINGS, Waiting

START_KILLS = 20
DRAIN_KILLS = 6


def killed_start(instance, seconds: float) -> bool:
    """Starts and kills after so long; whether it had been ready by then."""
    begun = len(instance.standard_error)

    def kill() -> None:
        while instance.process is None:
            time.sleep(0.001)
        time.sleep(seconds)
        instance.process.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        instance.start()
        return True
    except AssertionError as error:
        assert "status -9 before" in str(error), error
        return False
    finally:
        thread.join()
        instance.kill()
        del instance.standard_error[begun:]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_kills_during_the_start_lose_nothing(fresh):
    """Again and again, with many pushes to read, expired ones to delete, and numbers to set aside."""
    waiting = Waiting(fresh(SETTINGS | {"threads": "2"}))
    instance = waiting.instance
    for _ in range(10):
        assert set(waiting.push(100, 500)) == {200}
    instance.kill()
    moments = random.Random(1)
    ready = sum(killed_start(instance, moments.uniform(0, 0.3)) for _ in range(START_KILLS))
    print(f"{ready} of {START_KILLS} starts were ready before they were killed")
    instance.start()
    assert len(waiting.check()) == 1000
    waiting.finish()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_kills_during_a_drain_lose_nothing(fresh):
    """The goodbye to everyone and the last writes, cut at any place; the load goes on till then."""
    instance = fresh({"threads": "2", "queue.limit": "100000", "drain.timeout": "2s"})
    ledger = Ledger()
    load = Load(instance, ledger, devices=8, topics=(APP, OTHER_APP), seed=3)
    for turn in range(DRAIN_KILLS):
        for device in load.devices[turn % 2 :: 2]:
            load.come(device)
        load.run(0.7)
        instance.process.terminate()
        load.run(load.random.uniform(0, 0.6))
        ledger.kill(time.monotonic())
        instance.process.kill()
        instance.process.wait()
        load.gateway_is_gone()
        instance.restart(crash=True)
    load.collect()
    print(ledger.summary(instance.now()))
    ledger.check(instance.now())
    load.close()


@pytest.mark.sanitizer
def test_a_kill_right_after_the_start_and_right_after_the_drain_began(fresh):
    """The short form of both."""
    waiting = Waiting(fresh(SETTINGS))
    instance = waiting.instance
    courier, _ = live(instance)
    with courier:
        assert set(waiting.push(20)) == {200}
        instance.process.terminate()
        courier.wait_closed()
    instance.restart(crash=True)
    instance.restart(crash=True)
    waiting.check()
