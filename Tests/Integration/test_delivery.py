"""Delivery: live, stored, acknowledged or not, collapsed, taken over, filtered, revoked."""

import time

import pytest

from delivery import asleep, changes, connected, leave, live, number, push, push_all, receive, received, states
from harness import APP, BODY, OTHER_APP, topic_hash

AWKWARD = '{ "aps" : {"alert":"gr\u00fc\u00dfe \\u00e9"},\n\t"n":1.0 , "n":2}'.encode()


# Live


@pytest.mark.sanitizer
def test_a_live_push_arrives_exactly(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        before = time.time_ns()
        answer = sandbox.push(token, {"apns-expiration": str(int(sandbox.now()) + 600)}, AWKWARD)
        message = courier.expect_notify()
        assert answer.status == 200
        assert sorted(id for id, _ in message.items) == [1, 2, 3, 4, 5, 6, 7, 13, 15]
        assert message.token == token and message.item(15) == courier.base_token
        assert message.item(2) == topic_hash(APP)
        assert message.payload == AWKWARD
        assert len(message.id) == 4 and any(message.id)
        assert len(message.item(5)) == 4 and abs(message.number(5) - sandbox.now() - 600) < 5
        assert len(message.item(6)) == 8 and before - 10**9 < message.number(6) < time.time_ns() + 10**9
        assert message.item(7) == b"\0" and message.item(13) == b"\x0a"
        sandbox.admin.wait_for_state(answer.apns_id, "delivered")
        assert states(sandbox, answer) == ["received", "delivered"]


@pytest.mark.parametrize("expiration", [None, 0, 1, 10**19 - 1])
def test_item_5_has_four_bytes_whatever_the_expiration(sandbox, expiration):
    courier, (token,) = live(sandbox)
    with courier:
        push(sandbox, token, expiration=expiration)
        message = courier.expect_notify()
        assert sorted(id for id, _ in message.items) == [1, 2, 3, 4, 5, 6, 7, 13, 15]
        assert len(message.item(5)) == 4


@pytest.mark.sanitizer
def test_many_live_pushes_come_in_order_with_their_own_ids(sandbox):
    courier, (token,) = live(sandbox)
    with courier, sandbox.client() as client:
        streams = [client.start(sandbox.headers(token), b'{"n":%d}' % n) for n in range(200)]
        arrived = [courier.expect_notify() for _ in range(200)]
        client.wait(*streams)
        assert {stream.status for stream in streams} == {200}
        assert [number(message) for message in arrived] == list(range(200))
        assert len({message.id for message in arrived}) == 200
        courier.expect_nothing(0.1)


def test_the_largest_payloads_arrive_whole(sandbox):
    courier, (token,) = live(sandbox, f"{APP}.voip")
    body = b'{"aps":{"alert":"%s"}}' % (b"x" * (5120 - 20))
    with courier:
        fields = changes({"topic": f"{APP}.voip", "push_type": "voip"})
        for _ in range(40):
            assert sandbox.push(token, fields, body).status == 200
            message = courier.expect_notify()
            assert len(body) == 5120 and message.payload == body
            assert message.item(2) == topic_hash(f"{APP}.voip")


# Stored


@pytest.mark.sanitizer
def test_what_waits_comes_by_priority_then_age_and_the_last_is_marked(sandbox):
    identity, (token,) = sandbox.offline(APP)
    for n, priority in enumerate((5, 10, 1, 10, 5, 1)):
        push(sandbox, token, n, priority=priority)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        arrived = receive(courier, 6)
        assert [number(message) for message in arrived] == [1, 3, 0, 4, 2, 5]
        assert [message.priority for message in arrived] == [10, 10, 5, 5, 1, 1]
        assert [message.storage_flags for message in arrived] == [1, 1, 1, 1, 1, 3]
        push(sandbox, token, 6)
        assert courier.expect_notify().storage_flags == 0


def test_order_and_flags_are_over_all_topics_of_a_filter(sandbox):
    identity, (first, second) = sandbox.offline(APP, OTHER_APP)
    push(sandbox, first, 0, priority=5)
    push(sandbox, second, 1, topic=OTHER_APP)
    push(sandbox, first, 2)
    push(sandbox, second, 3, topic=OTHER_APP, priority=5)
    courier, _ = sandbox.online(APP, OTHER_APP, identity=identity)
    with courier:
        arrived = receive(courier, 4)
        assert [number(message) for message in arrived] == [1, 2, 0, 3]
        assert [message.token for message in arrived] == [second, first, first, second]
        assert [message.storage_flags for message in arrived] == [1, 1, 1, 3]


def test_each_filter_has_its_own_last(sandbox):
    identity, (first, second) = sandbox.offline(APP, OTHER_APP)
    push_all(sandbox, first, 0, 1)
    push_all(sandbox, second, 2, 3, topic=OTHER_APP)
    with connected(sandbox, identity) as courier:
        courier.filter(enabled=[APP])
        assert [(number(m), m.storage_flags) for m in receive(courier, 2)] == [(0, 1), (1, 3)]
        courier.filter(enabled=[APP, OTHER_APP])
        assert [(number(m), m.storage_flags) for m in receive(courier, 2)] == [(2, 1), (3, 3)]


def test_two_topics_on_one_device_do_not_mix(sandbox):
    courier, (first, second) = live(sandbox, APP, OTHER_APP)
    with courier:
        assert first != second
        push(sandbox, second, 1, topic=OTHER_APP)
        push(sandbox, first, 2)
        arrived = receive(courier, 2)
        assert [(number(m), m.token, m.item(2)) for m in arrived] == [
            (1, second, topic_hash(OTHER_APP)),
            (2, first, topic_hash(APP)),
        ]
        assert {m.item(15) for m in arrived} == {courier.base_token}
        courier.filter(enabled=[OTHER_APP])
        courier.keep_alive()
        push(sandbox, first, 3)
        push(sandbox, second, 4, topic=OTHER_APP)
        assert received(courier, 1) == [4]


# Acknowledged or not


@pytest.mark.sanitizer
def test_what_was_not_acknowledged_comes_again_and_only_that(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = live(sandbox, identity=identity)
    push_all(sandbox, token, 0, 1, 2)
    first = receive(courier, 3, ack=False)
    courier.ack(first[1])
    courier.keep_alive()
    leave(sandbox, courier)
    courier, _ = sandbox.online(APP, identity=identity)
    again = receive(courier, 2, ack=False)
    assert [(number(m), m.id) for m in again] == [(0, first[0].id), (2, first[2].id)]
    assert [m.storage_flags for m in again] == [1, 3]
    courier.ack(again[0])
    courier.ack(again[1])
    courier.keep_alive()
    leave(sandbox, courier)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        courier.expect_nothing()


def test_disconnects_alone_never_give_a_push_up(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push(sandbox, token, 7)
    ids = set()
    for _ in range(6):
        courier, _ = sandbox.online(APP, identity=identity)
        ids.add(courier.expect_notify(ack=False).id)
        leave(sandbox, courier)
    assert len(ids) == 1
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert received(courier, 1) == [7]


def test_an_acknowledgement_counts_by_its_id_alone(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = live(sandbox, identity=identity)
    push_all(sandbox, token, 0, 1, 2)
    first, second, third = receive(courier, 3, ack=False)
    courier.send(11, (1, courier.base_token), (4, first.id), (8, b"\0"))
    courier.send(11, (8, b"\0"), (4, second.id))
    courier.send(11, (4, second.id), (8, b"\0"))
    courier.send(11, (4, b"\xff\xee\xdd\xcc"), (8, b"\0"))
    courier.keep_alive()
    leave(sandbox, courier)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        (again,) = receive(courier, 1)
        assert again.id == third.id


@pytest.mark.sanitizer
def test_a_refused_push_is_not_sent_again(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = live(sandbox, identity=identity)
    refused = sandbox.admin.metric("notifications_discarded_total", cause="refused")
    answer = push(sandbox, token, 1)
    courier.ack(courier.expect_notify(ack=False), status=1)
    row = sandbox.admin.wait_for_state(answer.apns_id, "discarded-undeliverable")
    assert row["cause"] == "refused"
    assert sandbox.admin.metric("notifications_discarded_total", cause="refused") == refused + 1
    leave(sandbox, courier)
    courier, _ = live(sandbox, identity=identity)
    with courier:
        courier.expect_nothing(0.1)
        push(sandbox, token, 2)
        assert received(courier, 1) == [2]


def test_a_refusal_with_2_revokes_the_registration(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        first, second = push_all(sandbox, token, 1, 2)
        message, _ = receive(courier, 2, ack=False)
        courier.ack(message, status=2)
        row = sandbox.admin.wait_for_state(first.apns_id, "discarded-undeliverable")
        assert row["cause"] == "refused"
        answer = sandbox.push(token)
        assert (answer.status, answer.reason) == (410, "Unregistered")
        sandbox.admin.wait_for_state(second.apns_id, "discarded-unregistered-from-storage")
        assert courier.token(APP) != token


# Collapse


@pytest.mark.sanitizer
def test_a_newer_push_takes_the_place_of_the_waiting_one(sandbox):
    identity, (token,) = sandbox.offline(APP)
    collapsed = sandbox.admin.metric("notifications_discarded_total", cause="collapsed")
    push(sandbox, token, 0)
    old = push(sandbox, token, 1, collapse="score")
    push(sandbox, token, 2)
    push(sandbox, token, 3, collapse="score")
    push(sandbox, token, 4)
    row = sandbox.admin.wait_for_state(old.apns_id, "discarded-replaced")
    assert row["cause"] == "collapsed" and row["collapseID"] == "score"
    assert sandbox.admin.metric("notifications_discarded_total", cause="collapsed") == collapsed + 1
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert received(courier, 4) == [0, 2, 3, 4]


def test_a_collapsing_push_stands_where_its_own_priority_puts_it(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push(sandbox, token, 0, collapse="a")
    push(sandbox, token, 1)
    push(sandbox, token, 2, priority=5)
    push(sandbox, token, 3, collapse="a", priority=5)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert received(courier, 3) == [1, 2, 3]


def test_collapse_ids_are_bytes_of_one_registration(sandbox):
    identity, (first, second) = sandbox.offline(APP, OTHER_APP)
    for n, collapse in enumerate(("a", "A", "", "", None)):
        push(sandbox, first, n, collapse=collapse)
    push(sandbox, second, 5, topic=OTHER_APP, collapse="a")
    courier, _ = sandbox.online(APP, OTHER_APP, identity=identity)
    with courier:
        assert received(courier, 6) == [0, 1, 2, 3, 4, 5]


def test_one_already_sent_is_not_recalled_but_not_repeated(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = live(sandbox, identity=identity)
    push(sandbox, token, 1, collapse="a")
    assert number(courier.expect_notify(ack=False)) == 1
    push(sandbox, token, 2, collapse="a")
    assert number(courier.expect_notify(ack=False)) == 2
    leave(sandbox, courier)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert received(courier, 1) == [2]


def test_one_already_sent_is_not_repeated_when_its_successor_came_later(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = live(sandbox, identity=identity)
    push(sandbox, token, 1, collapse="a")
    courier.expect_notify(ack=False)
    leave(sandbox, courier)
    push(sandbox, token, 2, collapse="a")
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert received(courier, 1) == [2]


# Priority


@pytest.mark.parametrize("expiration", [None, 0])
def test_a_ten_takes_the_fives_with_it_also_when_it_is_not_stored(sandbox, expiration):
    courier, (token,) = asleep(sandbox)
    with courier:
        push(sandbox, token, 5, priority=5)
        courier.expect_nothing(0.1)
        push(sandbox, token, 10, expiration=expiration)
        assert sorted(received(courier, 2)) == [5, 10]


# Takeover


@pytest.mark.sanitizer
def test_a_newer_session_takes_over(sandbox):
    identity = sandbox.enrol()
    old, (token,) = live(sandbox, identity=identity)
    push_all(sandbox, token, 1, 2)
    acknowledged, open_one = receive(old, 2, ack=False)
    old.ack(acknowledged)
    old.keep_alive()
    new, _ = live(sandbox, identity=identity)
    with old, new:
        old.wait_closed()
        assert not old.was_reset
        assert new.base_token == old.base_token
        (again,) = receive(new, 1)
        assert again.id == open_one.id and number(again) == 2
        push(sandbox, token, 3)
        assert received(new, 1) == [3]
        assert sandbox.admin.get(f"/v1/devices/{identity.id}")["connected"] is True


def test_ten_takeovers_lose_nothing(sandbox):
    identity = sandbox.enrol()
    courier, (token,) = live(sandbox, identity=identity)
    sessions = [courier]
    seen = set()
    for n in range(10):
        push(sandbox, token, n)
        sessions.append(sandbox.online(APP, identity=identity)[0])
    while len(seen) < 10:
        seen.add(number(sessions[-1].expect_notify()))
    for old in sessions[:-1]:
        old.wait_closed()
        assert not old.was_reset
    assert sandbox.admin.queue(token) == []
    sessions[-1].close()


# Revoked


@pytest.mark.sanitizer
def test_a_revoked_token_is_gone_and_the_next_is_a_new_one(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        before = int(time.time() * 1000)
        sandbox.admin.revoke(token)
        after = int(time.time() * 1000)
        answer = sandbox.push(token)
        assert (answer.status, answer.reason) == (410, "Unregistered")
        assert before - 1 <= answer.timestamp <= after + 1
        assert sandbox.push(token).timestamp == answer.timestamp
        new = courier.token(APP)
        assert new != token
        push(sandbox, new, 1)
        assert receive(courier, 1)[0].token == new
        assert sandbox.push(token).timestamp == answer.timestamp


def test_revoking_discards_what_waits_and_what_is_on_its_way(sandbox):
    courier, (token, other) = live(sandbox, APP, OTHER_APP)
    with courier:
        flying = push(sandbox, token, 1)
        message = courier.expect_notify(ack=False)
        courier.filter(enabled=[OTHER_APP])
        courier.keep_alive()
        waiting = push(sandbox, token, 2)
        sandbox.admin.revoke(token)
        for answer in (flying, waiting):
            row = sandbox.admin.wait_for_state(answer.apns_id, "discarded-unregistered-from-storage")
            assert row["cause"] == "unregistered"
        courier.ack(message)
        courier.filter(enabled=[APP, OTHER_APP])
        courier.expect_nothing(0.2)
        assert states(sandbox, flying)[-1] == "discarded-unregistered-from-storage"
        assert sandbox.push(other, {"apns-topic": OTHER_APP}, BODY).status == 200
        assert courier.expect_notify().token == other
