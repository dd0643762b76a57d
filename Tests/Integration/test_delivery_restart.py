"""What a restart keeps and forgets, several event loops, and the store in memory."""

import base64
import contextlib
import os
import sqlite3
import time

import pytest

from delivery import connected, leave, live, number, push, push_all, receive, received
from harness import APP, OTHER_APP, Sandbox
from storefiles import logged

pytestmark = pytest.mark.sanitizer


def test_a_restart_keeps_what_waits_and_forgets_what_was_acknowledged(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token, other) = live(instance, APP, OTHER_APP, identity=identity)
    push_all(instance, token, 0, 1, 2)
    first = receive(courier, 3, ack=False)
    courier.ack(first[1])
    courier.keep_alive()
    leave(instance, courier)
    push(instance, token, 3, priority=5)
    push(instance, other, 4, topic=OTHER_APP)
    push(instance, token, 5, collapse="a")
    instance.restart()
    push(instance, token, 6, collapse="a")
    courier, tokens = instance.online(APP, OTHER_APP, identity=identity)
    with courier:
        assert tokens == [token, other]
        arrived = receive(courier, 5)
        assert [number(message) for message in arrived] == [0, 2, 4, 6, 3]
        assert [message.id for message in arrived[:2]] == [first[0].id, first[2].id]
        assert [message.storage_flags for message in arrived] == [1, 1, 1, 1, 3]
    instance.wait_disconnected(identity)
    instance.restart()
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        courier.expect_nothing(0.2)


@pytest.mark.parametrize("expiration", [None, 0])
def test_what_a_newer_one_has_replaced_in_flight_does_not_come_back_with_a_crash(fresh, expiration):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, APP, identity=identity)
    push(instance, token, 0, collapse="score")
    courier.expect_notify(ack=False)
    push(instance, token, 1, collapse="score", expiration=expiration)
    assert number(courier.expect_notify()) == 1
    courier.keep_alive()
    # What an acknowledgement ends is recorded within 100 ms.
    time.sleep(1)
    instance.restart(crash=True)
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        courier.expect_nothing(0.2)


def test_payloads_that_only_the_store_has_come_back_byte_for_byte(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, APP, identity=identity)
    leave(instance, courier)
    payloads = [b'{"aps":{},"n":%d,"fill":"%s"}' % (n, bytes([97 + n]) * (900 * n)) for n in range(5)]
    for payload in payloads:
        assert instance.push(token, body=payload).status == 200

    def queued():
        page = instance.admin.get(f"/v1/queues/{token}?payload=true")
        return [base64.b64decode(item["payload"]) for item in page["items"]]

    assert queued() == payloads
    # Old, then known from before a start: neither has its payload in memory.
    for grow_old in (lambda: instance.advance("2m"), instance.restart):
        grow_old()
        assert queued() == payloads
        courier, _ = instance.online(APP, identity=identity)
        with courier:
            arrived = receive(courier, len(payloads), ack=False)
            assert [message.payload for message in arrived] == payloads
            assert [message.storage_flags for message in arrived] == [1, 1, 1, 1, 3]
        instance.wait_disconnected(identity)


def lose_oldest(instance):
    """Somebody meddles with the file."""
    database = sqlite3.connect(instance.directory / "data" / "carillon.db", timeout=10)
    with contextlib.closing(database), database:
        database.execute("delete from pushes where number = (select min(number) from pushes)")


def test_a_push_whose_row_is_gone_ends_with_a_word_and_holds_up_nothing(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, APP, identity=identity)
    leave(instance, courier)

    def come_back(*arriving):
        courier, _ = instance.online(APP, identity=identity)
        with courier:
            assert [number(message) for message in receive(courier, len(arriving))] == list(arriving)
            courier.keep_alive()
        instance.wait_disconnected(identity)

    lost = push(instance, token, 0)
    push(instance, token, 1)
    # The payloads leave memory.
    instance.advance("2m")
    lose_oldest(instance)
    come_back(1)
    instance.admin.wait_for_state(lost.apns_id, "discarded-undeliverable")
    # It is the only one: the device must ask again for what grows old later.
    lost = push(instance, token, 2)
    instance.advance("2m")
    lose_oldest(instance)
    come_back()
    instance.admin.wait_for_state(lost.apns_id, "discarded-undeliverable")
    push(instance, token, 3)
    instance.advance("2m")
    come_back(3)


def test_a_restart_keeps_who_is_registered_and_who_was(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token, revoked) = live(instance, APP, OTHER_APP, identity=identity)
    base = courier.base_token
    leave(instance, courier)
    instance.admin.revoke(revoked)
    gone = instance.push(revoked, {"apns-topic": OTHER_APP})
    soon = push(instance, token, 1, expiration=int(instance.now()) + 60)
    pages = {path: instance.admin.get(f"/v1/{path}") for path in ("apps", "keys", "registrations")}
    instance.restart()
    assert pages == {path: instance.admin.get(f"/v1/{path}") for path in pages}
    again = instance.push(revoked, {"apns-topic": OTHER_APP})
    assert (again.status, again.reason, again.timestamp) == (410, "Unregistered", gone.timestamp)
    instance.advance("90s")
    with connected(instance, identity) as courier:
        assert courier.base_token == base
        courier.filter(enabled=[APP])
        courier.expect_nothing(0.1)
        instance.admin.wait_for_state(soon.apns_id, "discarded-expired")


def test_a_live_session_gets_the_unacknowledged_again_after_a_restart(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, identity=identity)
    push(instance, token, 1)
    first = courier.expect_notify(ack=False)
    instance.restart()
    courier.wait_closed()
    assert not courier.was_reset
    push(instance, token, 2)
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        again = receive(courier, 2)
        assert [number(message) for message in again] == [1, 2]
        assert again[0].id == first.id != again[1].id


# Several loops


def test_every_device_gets_its_own_on_any_loop(fresh):
    """Also by tokens that do not say where their device lives."""
    instance = fresh({"threads": "2"})
    devices = [instance.enrol(f"phone {n}") for n in range(16)]
    couriers = [instance.courier(device) for device in devices]
    for courier in couriers:
        courier.connect()
    tokens = [courier.token(APP) for courier in couriers]
    foreign = []
    for n, device in enumerate(devices):
        token = (bytes([n * 16, n]) + os.urandom(30)).hex()
        assert instance.admin.register(OTHER_APP, device=device.id, token=token) == token
        foreign.append(token)
    for courier in couriers[::2]:
        courier.filter(enabled=[APP, OTHER_APP])
        courier.keep_alive()
    for n, (token, other) in enumerate(zip(tokens, foreign)):
        push(instance, token, n)
        push(instance, other, 100 + n, topic=OTHER_APP)
    for courier in couriers[1::2]:
        courier.filter(enabled=[APP, OTHER_APP])
    for n, courier in enumerate(couriers):
        arrived = receive(courier, 2, ack=n % 4 != 3)
        assert [(number(m), m.token) for m in arrived] == [(n, tokens[n]), (100 + n, foreign[n])]
        assert {m.item(15) for m in arrived} == {courier.base_token}
    for courier in couriers:
        courier.close()
    for device in devices:
        instance.wait_disconnected(device)
    instance.settings["threads"] = "3"
    instance.restart()
    for n, device in enumerate(devices):
        courier, _ = instance.online(APP, OTHER_APP, identity=device)
        with courier:
            assert received(courier, 2 if n % 4 == 3 else 0) == ([n, 100 + n] if n % 4 == 3 else [])


def test_one_connection_reaches_devices_of_all_loops(fresh):
    instance = fresh({"threads": "2"})
    pairs = [live(instance, identity=instance.enrol(f"phone {n}")) for n in range(12)]
    with instance.client() as client:
        streams = [client.start(instance.headers(token), b'{"n":%d}' % n) for n in range(20) for _, (token,) in pairs]
        for courier, _ in pairs:
            assert [number(courier.expect_notify()) for _ in range(20)] == list(range(20))
        client.wait(*streams)
        assert {stream.status for stream in streams} == {200}
    for courier, _ in pairs:
        courier.close()


def test_takeover_from_any_loop_to_any(fresh):
    instance = fresh({"threads": "2"})
    identity = instance.enrol()
    old, (token,) = live(instance, identity=identity)
    for n in range(12):
        push(instance, token, n)
        assert number(old.expect_notify(ack=False)) == n
        new, _ = live(instance, identity=identity)
        assert received(new, 1) == [n]
        old.wait_closed()
        assert not old.was_reset
        old = new
    assert instance.admin.get("/v1/status")["sessions"] == 1
    old.close()


def test_a_long_token_of_a_device(sandbox):
    identity, _ = sandbox.offline(APP)
    token = os.urandom(100).hex()
    assert sandbox.admin.register(OTHER_APP, device=identity.id, token=token) == token
    push(sandbox, token, 1, topic=OTHER_APP)
    assert len(sandbox.admin.queue(token)) == 1
    with connected(sandbox, identity) as courier:
        courier.filter(enabled=[OTHER_APP])
        (message,) = receive(courier, 1)
        assert message.token == token


# The store in memory


def test_the_store_in_memory_serves_and_forgets(fresh):
    instance: Sandbox = fresh({"store": "memory:"})
    logged(instance, "nothing outlives this process")
    assert "com.example.demo" in {app["bundle"] for app in instance.admin.get("/v1/apps")["items"]}
    identity, (token,) = instance.offline(APP)
    push_all(instance, token, 1, 2)
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        assert received(courier, 2) == [1, 2]
    instance.facts["teams"] = {}
    instance.restart()
    assert instance.admin.registration(token) is None
    answer = instance.push(token)
    assert (answer.status, answer.reason) == (400, "BadDeviceToken")
