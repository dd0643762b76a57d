"""apns-expiration and apns-priority (docs/provider-api.md). The code in a test's name, such as E1, finds it."""

import pytest

from harness import APP, Sandbox
from instance import until

pytestmark = pytest.mark.sanitizer

SILENT = b'{"aps":{"content-available":1}}'


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


@pytest.fixture(scope="module")
def calendar():
    """A gateway whose clock is moved by days."""
    with Sandbox() as instance:
        yield instance


def expiring(instance, seconds: float) -> dict:
    return {"apns-expiration": str(int(instance.now() + seconds))}


def wait_for_queue(instance, token: str, count: int) -> None:
    """Expired pushes go when they are met, not at a set moment: the queue shows it a little later."""
    until(lambda: len(instance.admin.queue(token)) == count, f"a queue of {count}")


# apns-expiration


def test_E1_absent_and_offline_is_stored(sandbox):
    _, (token,) = sandbox.offline(APP)
    answer = sandbox.push(token)
    assert answer.status == 200
    (item,) = sandbox.admin.queue(token)
    assert item["apnsID"] == answer.apns_id
    sandbox.admin.wait_for_state(answer.apns_id, "stored-offline")


def test_E2_zero_and_online_is_delivered(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        answer = sandbox.push(token, {"apns-expiration": "0"})
        assert answer.status == 200
        courier.expect_notify()
        sandbox.admin.wait_for_state(answer.apns_id, "delivered")


def test_E3_zero_and_offline_is_discarded(sandbox):
    identity, (token,) = sandbox.offline(APP)
    answer = sandbox.push(token, {"apns-expiration": "0"})
    assert answer.status == 200
    assert sandbox.admin.queue(token) == []
    row = sandbox.admin.wait_for_state(answer.apns_id, "discarded-expired")
    assert row["cause"] == "expired"
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        courier.expect_nothing()


def test_E4_returns_in_time(clocked):
    identity, (token,) = clocked.offline(APP)
    answer = clocked.push(token, expiring(clocked, 60))
    assert answer.status == 200
    clocked.advance("30s")
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        assert courier.expect_notify().storage_flags & 1
        clocked.admin.wait_for_state(answer.apns_id, "delivered-from-storage")


def test_E5_returns_too_late(clocked):
    identity, (token,) = clocked.offline(APP)
    answer = clocked.push(token, expiring(clocked, 60))
    assert answer.status == 200
    clocked.advance("90s")
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        courier.expect_nothing()
    clocked.admin.wait_for_state(answer.apns_id, "discarded-expired")


def test_E6_past_and_online_is_tried_once(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = sandbox.online(APP, identity=identity)
    with courier:
        assert sandbox.push(token, expiring(sandbox, -60)).status == 200
        courier.expect_notify(ack=False)
    sandbox.wait_disconnected(identity)
    assert sandbox.admin.queue(token) == []
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        courier.expect_nothing()


@pytest.mark.parametrize("value", [
    pytest.param("1518182259.475", id="E7_fraction"),
    pytest.param("tomorrow", id="E8_word"),
    pytest.param("-1", id="E9_negative"),
    pytest.param("1" * 25, id="E11_25_digits"),
    pytest.param("", id="E12_empty"),
    pytest.param("1e9", id="E8_exponent"),
    pytest.param("0x1", id="E8_hexadecimal"),
    pytest.param("+1", id="E9_plus"),
    pytest.param(" 0", id="E12_space"),
    pytest.param("9" * 20, id="E11_20_digits"),
])  # fmt: skip
def test_bad_expiration(sandbox, token, value):
    answer = sandbox.push(token, {"apns-expiration": value})
    assert (answer.status, answer.reason) == (400, "BadExpirationDate")


def test_E10_milliseconds_and_E13_far_away_are_kept_30_days(calendar):
    pushes = {}
    for value in (int(calendar.now() * 1000), int(calendar.now() + 60 * 86400), 9223372036854775807, 10**19 - 1):
        identity, (token,) = calendar.offline(APP)
        assert calendar.push(token, {"apns-expiration": str(value)}).status == 200
        pushes[token] = identity
    calendar.advance("29d")
    for token in pushes:
        wait_for_queue(calendar, token, 1)
    calendar.advance("2d")
    for token, identity in pushes.items():
        courier, _ = calendar.online(APP, identity=identity)
        with courier:
            courier.expect_nothing(0.1)
        wait_for_queue(calendar, token, 0)


# apns-priority


@pytest.mark.parametrize("value", [
    pytest.param(None, id="R1_absent"),
    pytest.param("10", id="R2_ten"),
])  # fmt: skip
def test_priority_10_goes_out_at_once(sandbox, value):
    courier, (token,) = sandbox.online(APP)
    with courier:
        courier.set_state(2)
        courier.keep_alive()
        answer = sandbox.push(token, {"apns-priority": value})
        assert answer.status == 200
        assert courier.expect_notify().priority == 10
        assert sandbox.admin.wait_for_state(answer.apns_id, "delivered")["priority"] == 10


def test_R3_five_waits_for_a_sleeping_device_but_not_long(clocked):
    courier, (token,) = clocked.online(APP)
    with courier:
        courier.set_state(2)
        courier.keep_alive()
        assert clocked.push(token, {"apns-priority": "5"}).status == 200
        courier.expect_nothing()
        clocked.advance("31s")
        assert courier.expect_notify().priority == 5


def test_R3_five_leaves_with_a_ten(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        courier.set_state(2)
        courier.keep_alive()
        for priority in ("5", "10"):
            assert sandbox.push(token, {"apns-priority": priority}).status == 200
        assert sorted(courier.expect_notify().priority for _ in range(2)) == [5, 10]


def test_R3_five_goes_at_once_to_a_device_that_is_awake(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        assert sandbox.push(token, {"apns-priority": "5"}).status == 200
        assert courier.expect_notify(2).priority == 5


def test_R4_one_does_not_wake(clocked):
    courier, (token,) = clocked.online(APP)
    with courier:
        courier.set_state(2)
        courier.keep_alive()
        assert clocked.push(token, {"apns-priority": "1"}).status == 200
        clocked.advance("31s")
        courier.expect_nothing()
        courier.set_state(1)
        assert courier.expect_notify().priority == 1


@pytest.mark.parametrize("value", [
    pytest.param("7", id="R5_seven"),
    pytest.param("0", id="R6_zero"),
    pytest.param("high", id="R7_word"),
    pytest.param("010", id="R8_leading_zero"),
    pytest.param("10.0", id="R8_fraction"),
    pytest.param(" 10", id="R8_space_before"),
    pytest.param("10 ", id="R8_space_after"),
    pytest.param("", id="R8_empty"),
])  # fmt: skip
def test_bad_priority(sandbox, token, value):
    answer = sandbox.push(token, {"apns-priority": value})
    assert (answer.status, answer.reason) == (400, "BadPriority")


def test_R9_background_with_5(sandbox, token):
    assert sandbox.push(token, {"apns-push-type": "background", "apns-priority": "5"}, SILENT).status == 200


def test_R10_background_with_10(sandbox, token):
    answer = sandbox.push(token, {"apns-push-type": "background", "apns-priority": "10"}, SILENT)
    assert (answer.status, answer.reason) == (400, "BadPriority")


def test_R11_background_without_priority_is_5(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        assert sandbox.push(token, {"apns-push-type": "background"}, SILENT).status == 200
        assert courier.expect_notify().priority == 5


def test_R12_silent_without_push_type_with_10(sandbox, token):
    assert sandbox.push(token, {"apns-push-type": None, "apns-priority": "10"}, SILENT).status == 200
