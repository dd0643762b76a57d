"""Filter: its five lists, what it replaces, and NoStorage (docs/device-protocol.md, 6)."""

import os

import pytest

from courier import FILTER, NO_STORAGE, TOKEN_ACK, TOKEN_REQUEST, encode
from delivery import asleep, connected, live, number, push, push_all, receive, received, states
from harness import APP, OTHER_APP, topic_hash


def said_nothing_stored(courier) -> int:
    """How many NoStorage frames have come and been counted by nobody; a round trip first."""
    courier.keep_alive()
    found = [message for message in courier._unread if message.command == NO_STORAGE]
    for message in found:
        assert message.items == [(1, courier.base_token)]
        courier._unread.remove(message)
    return len(found)


# Off and on


@pytest.mark.sanitizer
def test_a_topic_that_is_off_is_stored_until_it_is_on(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        courier.filter()
        courier.keep_alive()
        answer = push(sandbox, token, 1)
        courier.expect_nothing(0.2)
        sandbox.admin.wait_for_state(answer.apns_id, "stored-offline")
        courier.filter(enabled=[APP])
        (message,) = receive(courier, 1)
        assert (number(message), message.storage_flags) == (1, 3)
        sandbox.admin.wait_for_state(answer.apns_id, "delivered-from-storage")
        push(sandbox, token, 2)
        assert receive(courier, 1)[0].storage_flags == 0


def test_a_filter_replaces_the_whole_set(sandbox):
    courier, (first, second) = live(sandbox, APP, OTHER_APP)
    with courier:
        courier.filter(enabled=[APP])
        courier.filter(enabled=[OTHER_APP])
        courier.keep_alive()
        push(sandbox, first, 1)
        push(sandbox, second, 2, topic=OTHER_APP)
        assert received(courier, 1) == [2]


def test_nothing_is_sent_before_the_first_filter(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push(sandbox, token, 1)
    with connected(sandbox, identity) as courier:
        courier.expect_nothing(0.3)
        assert courier.token(APP) == token
        push(sandbox, token, 2)
        courier.expect_nothing(0.2)
        courier.filter(enabled=[APP])
        assert received(courier, 2) == [1, 2]


def test_whether_a_registration_is_enabled_is_shown(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        assert sandbox.admin.registration(token)["enabled"] is True
        courier.filter()
        courier.keep_alive()
        assert sandbox.admin.registration(token)["enabled"] is False


# The lists


@pytest.mark.sanitizer
def test_paused_is_kept_until_enabled(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        courier.filter(paused=[APP])
        courier.keep_alive()
        answer = push(sandbox, token, 1)
        courier.expect_nothing(0.1)
        sandbox.admin.wait_for_state(answer.apns_id, "stored-power")
        assert states(sandbox, answer) == ["received", "stored-power"]
        courier.filter(enabled=[APP])
        assert [(number(m), m.storage_flags) for m in receive(courier, 1)] == [(1, 3)]
        sandbox.admin.wait_for_state(answer.apns_id, "delivered-from-storage")


@pytest.mark.sanitizer
def test_ignored_is_discarded(sandbox):
    disabled = sandbox.admin.metric("notifications_discarded_total", cause="disabled")
    courier, (token,) = live(sandbox)
    with courier:
        courier.filter(ignored=[APP])
        courier.keep_alive()
        answer = push(sandbox, token, 1)
        row = sandbox.admin.wait_for_state(answer.apns_id, "discarded-disabled")
        assert row["cause"] == "disabled"
        assert sandbox.admin.queue(token) == []
        assert sandbox.admin.metric("notifications_discarded_total", cause="disabled") == disabled + 1
        courier.filter(enabled=[APP])
        courier.expect_nothing(0.1)


def test_ignoring_what_waits_does_not_send_it(sandbox):
    identity, (token,) = sandbox.offline(APP)
    answer = push(sandbox, token, 1)
    with connected(sandbox, identity) as courier:
        courier.filter(ignored=[APP])
        courier.expect_nothing(0.2)
        assert states(sandbox, answer)[-1] in ("stored-offline", "discarded-disabled-from-storage")


def test_non_waking_is_delivered(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push(sandbox, token, 1)
    with connected(sandbox, identity) as courier:
        courier.filter(nonwaking=[APP])
        assert [(number(m), m.storage_flags) for m in receive(courier, 1)] == [(1, 3)]
        push(sandbox, token, 2)
        assert received(courier, 1) == [2]


@pytest.mark.sanitizer
def test_opportunistic_lets_only_the_tens_through_to_a_sleeper(fresh):
    instance = fresh()
    courier, (token,) = asleep(instance)
    with courier:
        courier.filter(opportunistic=[APP])
        courier.keep_alive()
        waiting = [push(instance, token, 5, priority=5), push(instance, token, 1, priority=1)]
        push(instance, token, 10)
        assert received(courier, 1) == [10]
        instance.advance("61s")
        courier.expect_nothing(0.2)
        for answer in waiting:
            instance.admin.wait_for_state(answer.apns_id, "stored-power")
        courier.set_state(1)
        assert received(courier, 2) == [5, 1]
        push(instance, token, 6, priority=5)
        assert received(courier, 1) == [6]


# NoStorage


@pytest.mark.sanitizer
def test_every_filter_that_finds_nothing_is_answered(sandbox):
    identity, (token,) = sandbox.offline(APP)
    with connected(sandbox, identity) as courier:
        assert said_nothing_stored(courier) == 0
        courier.filter()
        assert said_nothing_stored(courier) == 1
        courier.filter(enabled=[APP])
        courier.filter(enabled=[APP, OTHER_APP])
        assert said_nothing_stored(courier) == 2
        courier.filter(paused=[APP])
        assert said_nothing_stored(courier) == 1
        push_all(sandbox, token, 1, 2)
        courier.filter(enabled=[OTHER_APP])
        assert said_nothing_stored(courier) == 1
        courier.filter(enabled=[APP])
        assert received(courier, 2) == [1, 2]
        assert said_nothing_stored(courier) == 0
        courier.filter(enabled=[APP])
        assert said_nothing_stored(courier) == 1


@pytest.mark.sanitizer
def test_it_comes_before_the_token(sandbox):
    """pypush takes the commands of a connection strictly in order."""
    with connected(sandbox, sandbox.enrol()) as courier:
        base = (1, courier.base_token)
        for _ in range(3):
            courier.send_raw(encode(FILTER, [base]) + encode(TOKEN_REQUEST, [base, (2, topic_hash(APP))]))
            answer = courier.expect(TOKEN_ACK)
            commands = [message.command for message in courier.messages]
            assert commands[-2:] == [NO_STORAGE, TOKEN_ACK]
            assert answer.item(1) == b"\0"


def test_a_thousand_topics_are_fine_and_unknown_ones_ignored(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push(sandbox, token, 1)
    with connected(sandbox, identity) as courier:
        items = [(1, courier.base_token)]
        items += [((2, 3, 4, 5, 6)[n % 5], os.urandom(20)) for n in range(1000)]
        items += [(2, topic_hash(APP)), (2, topic_hash(APP)), (12, b"?"), (99, b"private")]
        courier.send(FILTER, *items)
        assert received(courier, 1) == [1]
