"""What bounds delivery: queue.limit, delivery.backlog, delivery.window, delivery.ackTimeout, expiration, sleep."""

import pytest

from delivery import asleep, changes, connected, leave, live, number, pending, push, push_all, receive, received, states
from harness import APP, OTHER_APP, Sandbox

pytestmark = pytest.mark.sanitizer


@pytest.fixture(scope="module")
def narrow():
    """Three stored for an absent device, three waiting for a present one, two on their way."""
    settings = {"queue.limit": "3", "delivery.backlog": "3", "delivery.window": "2"}
    with Sandbox(settings) as instance:
        yield instance


# Queue, backlog, window


def test_an_absent_device_keeps_the_newest(narrow):
    full = narrow.admin.metric("notifications_discarded_total", cause="queue_full")
    identity, (token,) = narrow.offline(APP)
    answers = push_all(narrow, token, 0, 1, 2, 3, 4)
    for answer in answers[:2]:
        row = narrow.admin.wait_for_state(answer.apns_id, "discarded-replaced")
        assert row["cause"] == "queue_full"
    assert narrow.admin.metric("notifications_discarded_total", cause="queue_full") == full + 2
    assert len(narrow.admin.queue(token)) == 3
    courier, _ = narrow.online(APP, identity=identity)
    with courier:
        assert received(courier, 3) == [2, 3, 4]


def test_the_oldest_goes_whatever_its_priority(narrow):
    identity, (token,) = narrow.offline(APP)
    push(narrow, token, 0)
    push_all(narrow, token, 1, 2, 3, priority=5)
    courier, _ = narrow.online(APP, identity=identity)
    with courier:
        assert received(courier, 3) == [1, 2, 3]


def test_the_limit_is_one_registrations_own(narrow):
    identity, (first, second) = narrow.offline(APP, OTHER_APP)
    push_all(narrow, first, 0, 1, 2, 3)
    push_all(narrow, second, 4, 5, 6, 7, topic=OTHER_APP)
    courier, _ = narrow.online(APP, OTHER_APP, identity=identity)
    with courier:
        assert received(courier, 6) == [1, 2, 3, 5, 6, 7]


def test_a_topic_that_no_session_enables_has_the_limit_of_the_absent(narrow):
    courier, (token, _) = live(narrow, APP, OTHER_APP)
    with courier:
        courier.filter(enabled=[OTHER_APP])
        courier.keep_alive()
        push_all(narrow, token, 0, 1, 2, 3, 4)
        courier.filter(enabled=[APP])
        assert received(courier, 3) == [2, 3, 4]


def test_a_present_device_that_does_not_acknowledge_gets_429_and_loses_nothing(narrow):
    courier, (token,) = live(narrow)
    with courier, narrow.client() as client:
        answers = [narrow.push_on(client, token, None, b'{"n":%d}' % n) for n in range(10)]
        accepted = [n for n, answer in enumerate(answers) if answer.status == 200]
        # Whether those on their way count as waiting is not said: 3, or 3 beside the window's 2.
        assert accepted == list(range(len(accepted))) and 3 <= len(accepted) <= 5
        refused = {(answer.status, answer.reason) for answer in answers if answer.status != 200}
        assert refused == {(429, "TooManyRequests")}
        assert received(courier, len(accepted)) == accepted
        assert narrow.push_on(client, token).status == 200
        courier.expect_notify()


def test_the_window_holds(narrow):
    courier, (token,) = live(narrow)
    with courier:
        push_all(narrow, token, 0, 1, 2, priority=5)
        push(narrow, token, 3)
        first, second = receive(courier, 2, ack=False)
        assert (number(first), number(second)) == (0, 1)
        courier.ack(second)
        (third,) = receive(courier, 1, ack=False)
        assert number(third) == 3, "10 goes before 5"
        courier.ack(first)
        assert received(courier, 1, ack=True) == [2]
        courier.ack(third)


def test_a_full_window_of_the_largest_pushes_goes_to_a_device_that_reads(clocked):
    """They are more than may lie unsent at once: what found no room follows when the first are written."""
    identity, (token,) = clocked.offline(APP)
    body = b'{"aps":{},"fill":"' + b"x" * (4096 - 20) + b'"}'
    assert len(body) == 4096
    with clocked.client() as client:
        for _ in range(30):
            assert clocked.push_on(client, token, body=body).status == 200
    with connected(clocked, identity) as courier:
        courier.filter(enabled=[APP])
        assert len(receive(courier, 30, ack=False)) == 30


def test_the_window_is_32_unless_said(clocked):
    courier, (token,) = live(clocked)
    with courier:
        push_all(clocked, token, *range(40))
        arrived = receive(courier, 32, ack=False)
        for message in arrived:
            courier.ack(message)
        assert [number(message) for message in arrived] + received(courier, 8) == list(range(40))


def test_stored_ones_respect_the_window_and_keep_their_marks(narrow):
    identity, (token,) = narrow.offline(APP)
    push_all(narrow, token, 0, 1, 2)
    courier, _ = narrow.online(APP, identity=identity)
    with courier:
        first, second = receive(courier, 2, ack=False)
        courier.ack(first)
        (third,) = receive(courier, 1)
        courier.ack(second)
        assert [message.storage_flags for message in (first, second, third)] == [1, 1, 3]


# Time to acknowledge


def advance_and_receive(instance, courier, text: str = "61s"):
    instance.advance(text)
    return courier.expect_notify(ack=False)


def test_unacknowledged_for_a_minute_is_sent_again_three_times(clocked):
    before = clocked.admin.metric("device_redeliveries_total")
    identity = clocked.enrol()
    courier, (token,) = live(clocked, identity=identity)
    push(clocked, token, 1)
    first = courier.expect_notify(ack=False)
    clocked.advance("55s")
    courier.expect_nothing(0.2)
    again = [advance_and_receive(clocked, courier, "6s")]
    again += [advance_and_receive(clocked, courier) for _ in range(2)]
    assert {message.id for message in again} == {first.id}
    assert clocked.admin.metric("device_redeliveries_total") == before + 3
    clocked.advance("61s")
    courier.wait_closed()
    assert not courier.was_reset
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        assert receive(courier, 1)[0].id == first.id
    clocked.wait_disconnected(identity)
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        courier.expect_nothing(0.1)


def test_an_acknowledgement_after_a_resend_is_enough(clocked):
    courier, (token,) = live(clocked)
    with courier:
        answer = push(clocked, token, 1)
        courier.expect_notify(ack=False)
        courier.ack(advance_and_receive(clocked, courier))
        clocked.admin.wait_for_state(answer.apns_id, "delivered")
        clocked.advance("61s")
        courier.expect_nothing(0.2)


def test_three_sessions_without_an_acknowledgement_end_it(clocked):
    identity, (token,) = clocked.offline(APP)
    lost = clocked.admin.metric("notifications_discarded_total", cause="undeliverable")
    answer = push(clocked, token, 1)
    for _ in range(3):
        courier, _ = clocked.online(APP, identity=identity)
        courier.expect_notify(ack=False)
        for _ in range(3):
            advance_and_receive(clocked, courier)
        clocked.advance("61s")
        courier.wait_closed()
        clocked.wait_disconnected(identity)
    row = clocked.admin.wait_for_state(answer.apns_id, "discarded-undeliverable")
    assert row["cause"] == "undeliverable"
    assert clocked.admin.metric("notifications_discarded_total", cause="undeliverable") == lost + 1
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        courier.expect_nothing(0.2)


def test_a_collapsed_push_is_not_resent(clocked):
    courier, (token,) = live(clocked)
    with courier:
        push(clocked, token, 1, collapse="a")
        courier.expect_notify(ack=False)
        push(clocked, token, 2, collapse="a")
        courier.expect_notify(ack=False)
        clocked.advance("61s")
        assert received(courier, 1) == [2]


# Expiration


def in_seconds(instance, seconds: float) -> int:
    return int(instance.now() + seconds)


@pytest.mark.parametrize("expiration", [0, 1])
def test_0_and_past_are_never_stored(narrow, expiration):
    """No session, topic not enabled, window full, asleep: each is discarded at once."""
    answers = []
    identity, (token,) = narrow.offline(APP)
    answers.append(push(narrow, token, 1, expiration=expiration))
    courier, (silent, _) = live(narrow, OTHER_APP, APP)
    courier.filter(enabled=[APP])
    courier.keep_alive()
    answers.append(push(narrow, silent, 2, expiration=expiration, topic=OTHER_APP))
    full, (busy,) = live(narrow)
    push_all(narrow, busy, 3, 4)
    answers.append(push(narrow, busy, 5, expiration=expiration))
    sleeper, (sleeping,) = asleep(narrow)
    for n, priority in ((6, 5), (7, 1)):
        answers.append(push(narrow, sleeping, n, expiration=expiration, priority=priority))
    for answer in answers:
        row = narrow.admin.wait_for_state(answer.apns_id, "discarded-expired")
        assert row["cause"] == "expired"
    for empty in (token, silent, sleeping):
        assert narrow.admin.queue(empty) == []
    courier.filter(enabled=[APP, OTHER_APP])
    sleeper.set_state(1)
    back, _ = narrow.online(APP, identity=identity)
    for device in (courier, sleeper, back):
        device.expect_nothing(0.1)
        device.close()
    assert received(full, 2) == [3, 4]
    full.close()


@pytest.mark.parametrize("expiration", [0, 1])
def test_0_and_past_are_written_once_only(clocked, expiration):
    identity = clocked.enrol()
    courier, (token,) = live(clocked, identity=identity)
    push(clocked, token, 1, expiration=expiration)
    courier.expect_notify(ack=False)
    clocked.advance("61s")
    courier.expect_nothing(0.2)
    leave(clocked, courier)
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        courier.expect_nothing(0.2)


def test_a_push_that_expires_while_it_waits_for_the_window_is_not_sent(clocked):
    courier, (token,) = live(clocked)
    with courier:
        push_all(clocked, token, *range(32))
        flying = receive(courier, 32, ack=False)
        late = push(clocked, token, 32, expiration=in_seconds(clocked, 20))
        push(clocked, token, 33)
        clocked.advance("40s")
        for message in flying:
            courier.ack(message)
        assert received(courier, 1) == [33]
        clocked.admin.wait_for_state(late.apns_id, "discarded-expired")


def test_a_push_that_expires_on_its_way_is_not_sent_again(clocked):
    identity = clocked.enrol()
    courier, (token,) = live(clocked, identity=identity)
    answer = push(clocked, token, 1, expiration=in_seconds(clocked, 30))
    courier.expect_notify(ack=False)
    clocked.advance("61s")
    courier.expect_nothing(0.2)
    leave(clocked, courier)
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        courier.expect_nothing(0.2)
    assert clocked.admin.queue(token) == []
    clocked.admin.wait_for_state(answer.apns_id, "discarded-expired")


def test_the_last_mark_is_right_when_the_last_has_expired(clocked):
    identity, (token,) = clocked.offline(APP)
    push_all(clocked, token, 1, 2)
    push(clocked, token, 3, expiration=in_seconds(clocked, 30))
    clocked.advance("40s")
    courier, _ = clocked.online(APP, identity=identity)
    with courier:
        assert [(number(m), m.storage_flags) for m in receive(courier, 2)] == [(1, 1), (2, 3)]


# Priority 5 and 1, and who is awake


@pytest.mark.parametrize("state", [1, None])
def test_awake_from_the_start(clocked, state):
    identity, (token,) = clocked.offline(APP)
    with connected(clocked, identity, state=state) as courier:
        courier.filter(enabled=[APP])
        courier.keep_alive()
        assert clocked.admin.get(f"/v1/devices/{identity.id}")["awake"] is True
        push(clocked, token, 1, priority=1)
        assert received(courier, 1) == [1]


@pytest.mark.parametrize("state", [0, 2, 255])
def test_asleep_from_the_start_and_not_remembered(clocked, state):
    identity, (token,) = clocked.offline(APP)
    with connected(clocked, identity, state=state) as courier:
        courier.filter(enabled=[APP])
        courier.keep_alive()
        assert clocked.admin.get(f"/v1/devices/{identity.id}")["awake"] is False
        answer = push(clocked, token, 1, priority=1)
        courier.expect_nothing(0.1)
        clocked.admin.wait_for_state(answer.apns_id, "stored-power")
    clocked.wait_disconnected(identity)
    with connected(clocked, identity, state=None) as courier:
        courier.filter(enabled=[APP])
        assert received(courier, 1) == [1]


def test_five_waits_half_a_minute_and_one_for_ever(clocked):
    courier, (token,) = asleep(clocked)
    with courier:
        five, one = push(clocked, token, 5, priority=5), push(clocked, token, 1, priority=1)
        clocked.advance("25s")
        courier.expect_nothing(0.2)
        clocked.advance("6s")
        assert received(courier, 1) == [5]
        assert states(clocked, five)[:2] == ["received", "stored-power"]
        clocked.advance("10m")
        courier.expect_nothing(0.1)
        courier.set_state(1)
        assert received(courier, 1) == [1]
        clocked.admin.wait_for_state(one.apns_id, "delivered-from-storage", "delivered")


def test_a_ten_takes_the_fives_with_it_but_not_the_ones(clocked):
    courier, (token, other) = asleep(clocked, APP, OTHER_APP)
    with courier:
        push(clocked, token, 1, priority=1)
        push(clocked, token, 5, priority=5)
        assert pending(courier) == []
        push(clocked, other, 10, topic=OTHER_APP)
        assert sorted(received(courier, 2)) == [5, 10]
        courier.set_state(1)
        assert received(courier, 1) == [1]


def test_a_sleeping_device_that_connects_gets_the_tens(clocked):
    identity, (token,) = clocked.offline(APP)
    push(clocked, token, 1, priority=1)
    push(clocked, token, 10)
    with connected(clocked, identity, state=2) as courier:
        courier.filter(enabled=[APP])
        assert received(courier, 1) == [10]
        courier.set_state(1)
        assert received(courier, 1) == [1]


def test_the_delay_is_a_setting(fresh):
    instance = fresh({"delivery.lowPriorityDelay": "5m", "delivery.ackTimeout": "10s"})
    courier, (token,) = asleep(instance)
    with courier:
        assert instance.push(token, changes({"priority": 5})).status == 200
        instance.advance("4m")
        courier.expect_nothing(0.1)
        instance.advance("61s")
        first = courier.expect_notify(ack=False)
        instance.advance("11s")
        assert courier.expect_notify().id == first.id
