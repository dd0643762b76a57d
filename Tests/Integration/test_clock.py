"""A clock that is set while the gateway runs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from delivery import live
from harness import APP
from instance import until
from storefiles import logged
from test_doors import HALF
from test_overload import closed_count, connections

pytestmark = pytest.mark.sanitizer


def test_a_clock_that_is_set_back_holds_nothing_up(fresh):
    instance = fresh({"delivery.ackTimeout": "1s"})
    courier, (token,) = live(instance, APP)
    with courier, ThreadPoolExecutor(1) as pool:
        # The pauses after the device's first answers are over.
        instance.push(token)
        courier.expect_notify()
        # Not acknowledged: its answer waits for the store, and that for a moment that lies ahead.
        instance.admin.hold_clock(True)
        answer = pool.submit(instance.push, token)
        first = courier.expect_notify(ack=False)
        instance.advance("-30m")
        instance.admin.hold_clock(False)
        assert answer.result(10).status == 200
        assert instance.push(token).status == 200
        logged(instance, "the clock has jumped")
        # And it is sent again when it would have been.
        seen = [courier.expect_notify(ack=False).id for _ in range(2)]
        assert first.id in seen


@pytest.mark.parametrize("door", ["device", "provider"])
def test_a_clock_that_is_set_back_keeps_no_opening_open(fresh, door):
    instance = fresh({"threads": "1"})
    instance.admin.hold_clock(True)
    with connections(getattr(instance, f"{door}_port"), 1, HALF) as made:
        until(lambda: instance.admin.metric("handshakes_open") == 1)
        instance.advance("-30m")
        instance.advance("11s")
        until(lambda: closed_count(made) == 1)
