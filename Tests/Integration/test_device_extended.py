"""The extended device protocol, byte by byte from docs/device-protocol.md and by nobody's code but this."""

import uuid

import pytest

from courier import KEEP_ALIVE_ACK, TOKEN_ACK, TOKEN_REQUEST
from courier_extended import (
    COLLAPSE_ID, GOODBYE, NAME, PUSH_TYPE, REASON, RETRY, TOKEN_GONE, UNIQUE_ID, UNREGISTER, UNREGISTER_ACK,
    ExtendedCourier,
)  # fmt: skip
from delivery import live, push, received
from harness import APP, BODY, OTHER_APP, topic_hash

pytestmark = pytest.mark.sanitizer

PLAIN_ITEMS = {1, 2, 3, 4, 5, 6, 7, 13, 15}


def extended(instance, *topics: str, identity=None, version: str = "1.3"):
    """A connected extended device with these topics enabled, and its tokens."""
    courier = ExtendedCourier(instance, identity or instance.enrol(), version)
    assert courier.socket.chosen == b"carillon-push/1"
    assert courier.connect().item(1) == b"\0"
    tokens = [courier.token(topic) for topic in topics]
    courier.filter(enabled=topics)
    courier.keep_alive()
    return courier, tokens


# The proof


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("key_type", ["ec", "rsa"])
def test_the_proof_covers_the_session(sandbox, version, key_type):
    courier, (token,) = extended(sandbox, APP, identity=sandbox.enrol(key_type=key_type), version=version)
    with courier:
        push(sandbox, token, 1)
        assert received(courier, 1) == [1]


@pytest.mark.parametrize("change", [
    {"exporter": bytes(32)}, {"context": b"carillon-other"}, {"context": b""},
], ids=["other session", "other context", "no context"])  # fmt: skip
def test_a_proof_for_something_else_is_refused_with_a_reason(sandbox, change):
    with ExtendedCourier(sandbox, sandbox.enrol()) as courier:
        answer = courier.connect(**change)
        assert answer.item(1) == b"\2"
        assert {1, 3, 4, 5, 6, 8, 10, REASON} <= {id for id, _ in answer.items}
        assert answer.item(REASON).decode("ascii")
        courier.wait_closed()
        assert not courier.was_reset


def test_what_a_hostile_server_saw_is_worth_nothing(sandbox):
    """A proof for one connection, sent on another by the same key."""
    identity = sandbox.enrol()
    with ExtendedCourier(sandbox, identity) as first, ExtendedCourier(sandbox, identity) as second:
        assert second.connect(exporter=first.socket.exporter()).item(1) == b"\2"


def test_one_device_both_forms_one_base_token(sandbox):
    identity = sandbox.enrol()
    plain, (token,) = live(sandbox, identity=identity)
    courier, (again,) = extended(sandbox, APP, identity=identity)
    with plain, courier:
        assert token == again and plain.base_token == courier.base_token
        plain.wait_closed()
        push(sandbox, token, 1)
        assert received(courier, 1) == [1]


# Notify


def test_a_notification_says_more(sandbox):
    courier, (token,) = extended(sandbox, APP)
    with courier:
        answer = push(sandbox, token, 1, collapse="score")
        message = courier.expect_notify()
        assert {id for id, _ in message.items} == PLAIN_ITEMS | {NAME, UNIQUE_ID, COLLAPSE_ID, PUSH_TYPE}
        assert message.item(NAME) == APP.encode() and message.item(2) == topic_hash(APP)
        assert message.item(UNIQUE_ID) == uuid.UUID(answer.header("apns-unique-id")).bytes
        assert (message.item(COLLAPSE_ID), message.item(PUSH_TYPE)) == (b"score", b"alert")


def test_a_notification_does_not_say_what_it_has_not(sandbox):
    courier, (token,) = extended(sandbox, APP)
    with courier:
        assert sandbox.push(token, {"apns-push-type": None}, BODY).status == 200
        assert {id for id, _ in courier.expect_notify().items} == PLAIN_ITEMS | {NAME, UNIQUE_ID}


def test_the_same_after_storage(fresh):
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    answer = push(instance, token, 1, collapse="c", push_type="background", priority=5)
    instance.restart()
    courier, _ = extended(instance, APP, identity=identity)
    with courier:
        message = courier.expect_notify()
        assert message.item(NAME) == APP.encode()
        assert message.item(UNIQUE_ID) == uuid.UUID(answer.header("apns-unique-id")).bytes
        assert (message.item(COLLAPSE_ID), message.item(PUSH_TYPE)) == (b"c", b"background")
        assert message.storage_flags == 3


# Registrations


def test_unregister(sandbox):
    courier, (token, other) = extended(sandbox, APP, OTHER_APP)
    with courier:
        courier.send(UNREGISTER, (1, courier.base_token), (2, topic_hash(APP)))
        answer = courier.expect(UNREGISTER_ACK)
        assert (answer.item(1), answer.item(2)) == (b"\0", topic_hash(APP))
        gone = sandbox.push(token)
        assert (gone.status, gone.reason) == (410, "Unregistered")
        assert abs(gone.timestamp / 1000 - sandbox.now()) < 10
        courier.send(UNREGISTER, (1, courier.base_token), (2, topic_hash(APP)))
        answer = courier.expect(UNREGISTER_ACK)
        assert answer.item(1) != b"\0" and answer.item(2) == topic_hash(APP)
        assert courier.token(APP) != token
        push(sandbox, other, 1, topic=OTHER_APP)
        assert received(courier, 1) == [1]


def test_a_revoked_token_is_told(sandbox):
    courier, (token, _) = extended(sandbox, APP, OTHER_APP)
    with courier:
        sandbox.admin.revoke(token)
        message = courier.expect(TOKEN_GONE)
        assert (message.item(2), message.item(3)) == (topic_hash(APP), bytes.fromhex(token))


def test_an_unknown_topic_has_a_reason(sandbox):
    courier, _ = extended(sandbox)
    with courier:
        hash = topic_hash("com.example.nobody")
        courier.send(TOKEN_REQUEST, (1, courier.base_token), (2, hash), (NAME, b"com.example.nobody"))
        answer = courier.expect(TOKEN_ACK)
        assert (answer.item(1), answer.item(2), answer.item(3)) == (b"\2", bytes(32), hash)
        assert answer.item(REASON).decode("ascii")


# Goodbye


def test_a_drain_says_when_to_come_back(fresh):
    instance = fresh()
    couriers = [extended(instance, APP)[0] for _ in range(8)]
    plain, _ = live(instance)
    instance.admin.drain()
    waits = set()
    for courier in couriers:
        message = courier.expect(GOODBYE)
        assert message.item(REASON).decode("ascii") and len(message.item(RETRY)) == 4
        waits.add(message.number(RETRY))
        courier.wait_closed()
        assert not courier.was_reset
    assert all(0 < wait <= 3600 for wait in waits)
    plain.wait_closed()
    assert not plain.was_reset


def test_plain_clients_see_nothing_of_it(fresh):
    instance = fresh()
    courier, (token,) = live(instance)
    with courier:
        push(instance, token, 1, collapse="c")
        assert {id for id, _ in courier.expect_notify().items} == PLAIN_ITEMS
        instance.admin.revoke(token)
        courier.send(UNREGISTER, (1, courier.base_token), (2, topic_hash(APP)))
        courier.keep_alive()
        instance.admin.drain()
        courier.wait_closed()
        assert {message.command for message in courier.messages} <= set(range(7, 21))
        assert courier.messages[-1].command == KEEP_ALIVE_ACK
