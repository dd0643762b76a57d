"""Queue and session as a device sees them (docs/device-protocol.md, 6 and 7)."""

import time

import pytest

from courier import Courier
from delivery import number
from harness import APP
from instance import until

pytestmark = pytest.mark.sanitizer


def push_all(instance, token: str, *pushes: dict) -> list:
    """Pushes in order, numbered from 1; `pushes` are changes to the base request."""
    with instance.client() as client:
        answers = [
            instance.push_on(client, token, changes, b'{"n":%d}' % number) for number, changes in enumerate(pushes, 1)
        ]
    assert {answer.status for answer in answers} == {200}
    return answers


def asleep(courier: Courier) -> None:
    courier.set_state(2)
    courier.keep_alive()


# Filter


@pytest.mark.parametrize("lists, state", [
    pytest.param({"nonwaking": [APP]}, "delivered", id="nonwaking_delivers"),
    pytest.param({"opportunistic": [APP]}, "delivered", id="opportunistic_delivers_a_10"),
    pytest.param({"paused": [APP]}, "stored-power", id="paused_stores"),
    pytest.param({"ignored": [APP]}, "discarded-disabled", id="ignored_discards"),
    pytest.param({}, "stored-offline", id="unlisted_stores"),
])  # fmt: skip
def test_lists_of_a_filter(sandbox, lists, state):
    courier, (token,) = sandbox.online(APP)
    with courier:
        courier.filter(**lists)
        courier.keep_alive()
        (answer,) = push_all(sandbox, token, {})
        if state == "delivered":
            courier.expect_notify()
        else:
            courier.expect_nothing()
        sandbox.admin.wait_for_state(answer.apns_id, state)


# Expiration 0


def test_expiration_0_is_not_kept_for_a_sleeping_device(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        asleep(courier)
        answers = push_all(sandbox, token, *({"apns-priority": p, "apns-expiration": "0"} for p in ("5", "1")))
        for answer in answers:
            sandbox.admin.wait_for_state(answer.apns_id, "discarded-expired")
        push_all(sandbox, token, {"apns-expiration": "0"})
        assert courier.expect_notify().priority == 10
        courier.set_state(1)
        courier.expect_nothing()


@pytest.mark.parametrize("wait", [0.2, 0], ids=["settled", "right_after_token_ack"])
def test_expiration_0_is_not_kept_behind_a_full_window(fresh, wait):
    """Right after a TokenAck frames are held for a moment (spec 9.5): that must not make a push linger either."""
    instance = fresh({"delivery.window": "1"})
    courier, (token,) = instance.online(APP)
    with courier:
        time.sleep(wait)
        answers = push_all(instance, token, {}, {"apns-expiration": "0"})
        instance.admin.wait_for_state(answers[1].apns_id, "discarded-expired", seconds=3)
        assert number(courier.expect_notify()) == 1
        courier.expect_nothing()


# Accounts


def test_every_push_is_accounted_for(fresh):
    """accepted = delivered + discarded + stored, whatever happened to each."""
    instance = fresh({"queue.limit": "5"})
    courier, (token,) = instance.online(APP)
    _, (away,) = instance.offline(APP)
    with courier:
        push_all(instance, token, *[{}] * 20)
        for _ in range(20):
            courier.expect_notify()
        push_all(instance, away, *[{}] * 10, {"apns-expiration": "0"}, {"apns-collapse-id": "a"})
        names = [f"notifications_{what}" for what in ("accepted_total", "delivered_total", "discarded_total", "stored")]

        def counts() -> list[float]:
            return [instance.admin.metric(name) for name in names]

        until(lambda: counts() == [32, 20, 7, 5], counts)
