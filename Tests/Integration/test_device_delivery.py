"""Queue and session as a device sees them (docs/device-protocol.md, 6 and 7)."""

import time

import pytest

from courier import Courier
from harness import APP, OTHER_APP, Sandbox

pytestmark = pytest.mark.sanitizer


def push_all(instance, token: str, *pushes: dict, topic: str = APP) -> list:
    """Pushes in order, numbered from 1; `pushes` are changes to the base request."""
    with instance.client() as client:
        answers = [
            instance.push_on(client, token, {"apns-topic": topic} | changes, b'{"n":%d}' % number)
            for number, changes in enumerate(pushes, 1)
        ]
    assert {answer.status for answer in answers} == {200}
    return answers


def number(notification) -> int:
    return int(notification.payload[5:-1])


def asleep(courier: Courier) -> None:
    courier.set_state(2)
    courier.keep_alive()


# Order and window


def test_order_is_by_priority_then_age(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push_all(sandbox, token, *({"apns-priority": p} for p in ("1", "5", "10", "5", "10", "1")))
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert [number(courier.expect_notify()) for _ in range(6)] == [3, 5, 2, 4, 1, 6]


def test_order_is_over_all_topics(sandbox):
    identity, (token, other) = sandbox.offline(APP, OTHER_APP)
    with sandbox.client() as client:
        for turn in range(6):
            topic = (APP, OTHER_APP)[turn % 2]
            changes = {"apns-topic": topic}
            body = b'{"n":%d}' % turn
            assert sandbox.push_on(client, (token, other)[turn % 2], changes, body).status == 200
    courier, _ = sandbox.online(APP, OTHER_APP, identity=identity)
    with courier:
        assert [number(courier.expect_notify()) for _ in range(6)] == list(range(6))


def test_the_window_is_32(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        push_all(sandbox, token, *[{}] * 40)
        unacknowledged = [courier.expect_notify(ack=False) for _ in range(32)]
        courier.expect_nothing()
        assert len({notification.id for notification in unacknowledged}) == 32
        for notification in reversed(unacknowledged[:4]):
            courier.ack(notification)
        assert [number(courier.expect_notify()) for _ in range(4)] == [33, 34, 35, 36]
        for notification in unacknowledged[4:]:
            courier.ack(notification)
        assert [number(courier.expect_notify()) for _ in range(4)] == [37, 38, 39, 40]


def test_past_the_backlog_a_push_is_429_and_nothing_accepted_is_lost(fresh):
    instance = fresh({"delivery.backlog": "10", "delivery.window": "1"})
    courier, (token,) = instance.online(APP)
    with courier, instance.client() as client:
        answers = [instance.push_on(client, token, body=b'{"n":%d}' % turn) for turn in range(30)]
        accepted = [turn for turn, answer in enumerate(answers) if answer.status == 200]
        assert 10 <= len(accepted) <= 12
        assert {answer.reason for answer in answers if answer.status != 200} == {"TooManyRequests"}
        assert [number(courier.expect_notify()) for _ in accepted] == accepted
        courier.expect_nothing(0.1)


def test_past_the_queue_limit_the_oldest_goes(fresh):
    instance = fresh({"queue.limit": "3"})
    identity, (token,) = instance.offline(APP)
    answers = push_all(instance, token, *[{}] * 5)
    row = instance.admin.wait_for_state(answers[0].apns_id, "discarded-replaced")
    assert row["cause"] == "queue_full"
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        assert [number(courier.expect_notify()) for _ in range(3)] == [3, 4, 5]
        courier.expect_nothing(0.1)


# Filter


def test_a_new_filter_replaces_the_old(sandbox):
    courier, (token, other) = sandbox.online(APP, OTHER_APP)
    with courier:
        courier.filter(enabled=[OTHER_APP])
        courier.keep_alive()
        push_all(sandbox, token, {})
        push_all(sandbox, other, {}, topic=OTHER_APP)
        assert courier.expect_notify().token == other
        courier.expect_nothing()
        assert len(sandbox.admin.queue(token)) == 1
        courier.filter(enabled=[APP])
        arrived = courier.expect_notify()
        assert arrived.token == token and arrived.storage_flags == 3


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


def test_opportunistic_holds_low_priority_until_awake(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        courier.filter(opportunistic=[APP])
        asleep(courier)
        push_all(sandbox, token, {"apns-priority": "5"}, {"apns-priority": "1"})
        courier.expect_nothing()
        courier.set_state(1)
        assert [number(courier.expect_notify()) for _ in range(2)] == [1, 2]


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


# Sessions, acknowledgements, redelivery


def test_what_is_not_acknowledged_comes_again_in_order(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = sandbox.online(APP, identity=identity)
    with courier:
        push_all(sandbox, token, *[{}] * 5)
        arrived = [courier.expect_notify(ack=False) for _ in range(5)]
        for index in (1, 3):
            courier.ack(arrived[index])
        courier.keep_alive()
    sandbox.wait_disconnected(identity)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert [number(courier.expect_notify()) for _ in range(3)] == [1, 3, 5]
        courier.expect_nothing()


def test_a_newer_session_takes_over(sandbox):
    identity = sandbox.enrol()
    older, (token,) = sandbox.online(APP, identity=identity)
    with older:
        push_all(sandbox, token, {})
        older.expect_notify(ack=False)
        newer, _ = sandbox.online(APP, identity=identity)
        with newer:
            older.wait_closed()
            assert not older.was_reset
            assert number(newer.expect_notify()) == 1
            push_all(sandbox, token, {})
            newer.expect_notify()


def test_a_collapsed_push_in_flight_is_not_sent_again(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = sandbox.online(APP, identity=identity)
    with courier:
        for body in (b'{"n":1}', b'{"n":2}'):
            assert sandbox.push(token, {"apns-collapse-id": "x"}, body).status == 200
            assert courier.expect_notify(ack=False).payload == body
    sandbox.wait_disconnected(identity)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert number(courier.expect_notify()) == 2
        courier.expect_nothing()


def test_redelivery_on_a_silent_session_and_its_end(fresh):
    instance = fresh()
    identity = instance.enrol()
    for session in range(3):
        courier, (token,) = instance.online(APP, identity=identity)
        with courier:
            if session == 0:
                (answer,) = push_all(instance, token, {})
            for _ in range(4):
                courier.expect_notify(ack=False)
                courier.keep_alive()
                instance.advance("61s")
            courier.wait_closed()
            assert not courier.was_reset
    row = instance.admin.wait_for_state(answer.apns_id, "discarded-undeliverable")
    assert row["cause"] == "undeliverable"
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        courier.expect_nothing()


def test_disconnects_alone_never_count(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = sandbox.online(APP, identity=identity)
    push_all(sandbox, token, {})
    for _ in range(6):
        courier.expect_notify(ack=False)
        courier.close()
        sandbox.wait_disconnected(identity)
        courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        courier.expect_notify()
        courier.expect_nothing()


def test_a_refused_push_is_discarded(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        (answer,) = push_all(sandbox, token, {})
        courier.ack(courier.expect_notify(ack=False), status=1)
        assert sandbox.admin.wait_for_state(answer.apns_id, "discarded-undeliverable")["cause"] == "refused"
        assert sandbox.push(token).status == 200


def test_refusal_with_2_revokes_the_registration(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        push_all(sandbox, token, {})
        courier.ack(courier.expect_notify(ack=False), status=2)
        courier.keep_alive()
        answer = sandbox.push(token)
        assert (answer.status, answer.reason) == (410, "Unregistered")


def test_stray_acknowledgements_are_ignored(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        push_all(sandbox, token, {})
        notification = courier.expect_notify()
        courier.ack(notification)
        notification.items = [(id, b"\xff\xff\xff\xff" if id == 4 else value) for id, value in notification.items]
        courier.ack(notification)
        courier.keep_alive()


# Removing


def test_revoking_discards_what_is_in_flight(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        (answer,) = push_all(sandbox, token, {})
        notification = courier.expect_notify(ack=False)
        sandbox.admin.revoke(token)
        sandbox.admin.wait_for_state(answer.apns_id, "discarded-unregistered-from-storage")
        courier.ack(notification)
        courier.keep_alive()
        row = sandbox.admin.notification(answer.apns_id)
        assert row["state"] == "discarded-unregistered-from-storage"


def test_removing_a_device(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = sandbox.online(APP, identity=identity)
    with courier:
        sandbox.admin.delete(f"/v1/devices/{identity.id}")
        courier.wait_closed()
    with sandbox.courier(identity) as courier:
        assert courier.connect().item(1) == b"\x02"
    answer = sandbox.push(token)
    assert (answer.status, answer.reason) == (410, "Unregistered")


def test_removing_an_app():
    with Sandbox() as instance:
        courier, (token, other) = instance.online(APP, OTHER_APP)
        with courier:
            instance.admin.delete(f"/v1/apps/{APP}")
            answer = instance.push(token)
            assert (answer.status, answer.reason) == (400, "TopicDisallowed")
            assert instance.push(other, {"apns-topic": OTHER_APP}).status == 200
            courier.expect_notify()


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
        deadline = time.monotonic() + 5
        while True:
            metric = instance.admin.metric
            accepted = metric("notifications_accepted_total")
            delivered, discarded = metric("notifications_delivered_total"), metric("notifications_discarded_total")
            stored = metric("notifications_stored")
            if (accepted, delivered, discarded, stored) == (32, 20, 7, 5):
                break
            assert time.monotonic() < deadline, (accepted, delivered, discarded, stored)
            time.sleep(0.1)
