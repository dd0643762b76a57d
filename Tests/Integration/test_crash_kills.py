"""`kill -9` at random moments under load: 50 times, and the ledger says what it cost."""

import threading
import time

import pytest

from harness import APP, OTHER_APP
from ledger import Ledger
from load import Load

KILLS_PER_GROUP = 10


def kill_later(instance, ledger: Ledger, seconds: float) -> threading.Timer:
    """Kills from another thread, so that the moment has nothing to do with what the load is doing."""

    def kill() -> None:
        ledger.kill(time.monotonic())
        instance.process.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


def crash_under_load(load: Load, seconds: float) -> None:
    """Runs until the process is dead, and starts it again; the devices come back."""
    instance = load.instance
    here = [device for device in load.devices if device.courier]
    timer = kill_later(instance, load.ledger, seconds)
    load.run(seconds + 0.1)
    timer.join()
    instance.process.wait()
    load.gateway_is_gone()
    instance.restart(crash=True)
    for device in here:
        load.come(device)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", range(5))
def test_kills_at_random_moments_lose_nothing(fresh, seed, capsys):
    instance = fresh({"threads": "2", "queue.limit": "100000", "delivery.backlog": "100000"})
    ledger = Ledger()
    load = Load(instance, ledger, devices=12, providers=2, topics=(APP, OTHER_APP), seed=seed)
    for device in load.devices[::2]:
        load.come(device)
    for _ in range(KILLS_PER_GROUP):
        crash_under_load(load, load.random.uniform(0.05, 1.6))
    load.settle()
    load.collect()
    with capsys.disabled():
        print(f"\n{ledger.summary(instance.now())}")
    ledger.check(instance.now())
    assert ledger.summary(instance.now())["arrived"] > 20 * KILLS_PER_GROUP
    load.close()
