"""200 means durable (docs/provider-api.md, "Answer"): the store held back, made to fail, and the power cut."""

import time

import pytest

from courier import TOKEN_ACK, TOKEN_REQUEST, topic_hash
from delivery import leave, live, number, push, push_all, receive, received
from harness import APP, OTHER_APP
from instance import until

ROUNDS = 20


# The store held back


@pytest.mark.sanitizer
def test_an_absent_devices_push_waits_for_the_store(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    instance.admin.hold_store(True)
    with instance.client() as client:
        streams = [client.start(instance.headers(token), b'{"n":%d}' % n) for n in range(5)]
        client.drain(0.7)
        assert not any(stream.finished for stream in streams)
        instance.admin.hold_store(False)
        client.wait(*streams)
        assert [stream.status for stream in streams] == [200] * 5
    assert len(instance.admin.queue(token)) == 5


@pytest.mark.sanitizer
def test_a_present_devices_acknowledgement_is_enough(fresh):
    instance = fresh()
    courier, (token,) = live(instance)
    instance.admin.hold_store(True)
    with courier, instance.client() as client:
        stream = client.start(instance.headers(token), b'{"n":1}')
        message = courier.expect_notify(ack=False)
        client.drain(0.5)
        assert not stream.finished, "neither stored nor acknowledged"
        courier.ack(message)
        client.wait(stream, seconds=5)
        assert stream.status == 200
        instance.admin.hold_store(False)
        courier.expect_nothing(0.1)


@pytest.mark.parametrize("fails", [False, True])
def test_a_token_is_told_only_once_the_store_has_it_also_to_a_device_that_comes_back(fresh, fails):
    instance = fresh()
    identity = instance.enrol()
    with instance.courier(identity) as first, instance.courier(identity) as second:
        first.connect()
        request = (1, first.base_token), (2, topic_hash(APP))
        instance.admin.hold_store(True)
        first.send(TOKEN_REQUEST, *request)
        # The gateway has read it.
        until(lambda: instance.admin.get("/v1/registrations", device=identity.id)["items"], "no registration")
        second.connect()
        second.send(TOKEN_REQUEST, *request)
        if fails:
            instance.admin.fail_store(1)
        instance.admin.hold_store(False)
        answer = second.expect(TOKEN_ACK)
        if answer.item(1) != b"\0":
            assert fails
            second.send(TOKEN_REQUEST, *request)
            answer = second.expect(TOKEN_ACK)
        token = answer.item(2).hex()
        assert answer.item(1) == b"\0" and second.token(APP) == token
    assert instance.push(token).status == 200
    instance.restart(crash=True)
    assert instance.push(token).status == 200


def test_what_is_never_stored_does_not_wait_for_the_store(fresh):
    instance = fresh()
    courier, (token,) = live(instance)
    _, (absent,) = instance.offline(APP)
    instance.admin.hold_store(True)
    with courier, instance.client() as client:
        for target in (token, absent):
            stream = client.start(instance.headers(target, {"apns-expiration": "0"}), b'{"n":1}')
            client.wait(stream, seconds=5)
            assert stream.status == 200
        assert number(courier.expect_notify()) == 1
        instance.admin.hold_store(False)


def test_a_push_that_the_store_keeps_waiting_gets_503_and_not_silence(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    instance.admin.hold_store(True)
    with instance.client() as client:
        stream = client.start(instance.headers(token), b'{"n":1}')
        client.drain(0.3)
        instance.advance("31s")
        client.wait(stream, seconds=5)
        assert (stream.status, stream.reason) == (503, "ServiceUnavailable")
    instance.admin.hold_store(False)
    push(instance, token, 2)


def test_nothing_unanswered_is_promised(fresh):
    """Held, then killed: what was not answered may be lost, what was answered before is not."""
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    push(instance, token, 1)
    instance.admin.hold_store(True)
    with instance.client() as client:
        stream = client.start(instance.headers(token), b'{"n":2}')
        client.drain(0.3)
        assert not stream.finished
        instance.restart(crash=True)
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        assert received(courier, 1) == [1]


@pytest.mark.sanitizer
def test_a_failing_store_is_not_answered_200(fresh):
    """Refused or tried again; but a 200 that follows is durable, and the next one finds a store that works."""
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    expected = []
    for n in range(5):
        instance.admin.fail_store(1)
        answer = instance.push(token, None, b'{"n":%d}' % n)
        assert answer.status in (200, 500, 503), answer.status
        assert answer.status == 200 or answer.reason in ("InternalServerError", "ServiceUnavailable")
        expected += [n] if answer.status == 200 else []
        instance.admin.fail_store(0)
        push(instance, token, 100 + n)
        expected.append(100 + n)
    instance.restart(crash=True)
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        arrived = received(courier, len(instance.admin.queue(token)))
        assert set(expected) <= set(arrived) and len(set(arrived)) == len(arrived)
        assert arrived == sorted(arrived, key=lambda value: (value % 100, value // 100))


# The power cut


def push_and_kill(instance, token: str, start: int, count: int, kill_after: int) -> list[int]:
    """Sends `count` pushes at once and kills when `kill_after` are answered: the numbers of all that were."""
    with instance.client() as client:
        streams = [client.start(instance.headers(token), b'{"n":%d}' % n) for n in range(start, start + count)]
        client.pump_until(lambda: sum(stream.finished for stream in streams) >= kill_after)
        instance.kill()
        client.drain(0.2)
        return [start + at for at, stream in enumerate(streams) if stream.status == 200]


def restart_on_same_ports(instance) -> None:
    instance.ports = {f"{door}.port": value for door, value in instance._doors.items()}
    instance.start()


@pytest.mark.sanitizer
def test_kill_9_right_after_200_loses_nothing(fresh):
    instance = fresh({"queue.limit": "1000"})
    identity, (token,) = instance.offline(APP)
    answered = []
    for turn in range(ROUNDS):
        fresh_ones = push_and_kill(instance, token, turn * 10, 10, kill_after=1 + turn % 10)
        assert fresh_ones
        answered += fresh_ones
        restart_on_same_ports(instance)
    stored = instance.admin.registration(token)["stored"]
    courier, (same,) = instance.online(APP, identity=identity)
    with courier:
        assert same == token
        arrived = receive(courier, stored)
        numbers = [number(message) for message in arrived]
        assert set(answered) <= set(numbers) and numbers == sorted(set(numbers))
        assert len({message.id for message in arrived}) == stored


@pytest.mark.sanitizer
def test_what_was_acknowledged_a_second_ago_does_not_come_again(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, identity=identity)
    waiting: list[tuple[int, bytes]] = []
    for turn in range(3):
        push_all(instance, token, *range(turn * 10, turn * 10 + 10))
        arrived = [courier.expect_notify(ack=False) for _ in range(10)]
        for message in arrived[:7]:
            courier.ack(message)
        waiting += [(number(message), message.id) for message in arrived[7:]]
        courier.keep_alive()
        time.sleep(1)
        instance.kill()
        restart_on_same_ports(instance)
        courier, _ = live(instance, identity=identity)
        again = receive(courier, len(waiting), ack=False)
        assert [(number(message), message.id) for message in again] == waiting
    courier.close()


def test_what_was_acknowledged_just_now_may_come_once_more_with_its_id(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, identity=identity)
    push_all(instance, token, *range(10))
    arrived = [courier.expect_notify() for _ in range(10)]
    courier.keep_alive()
    instance.restart(crash=True)
    ids = {number(message): message.id for message in arrived}
    courier, _ = live(instance, identity=identity)
    with courier:
        courier.expect(14) if not instance.admin.queue(token) else None
        for message in [m for m in courier.messages if m.command == 10]:
            assert message.id == ids[number(message)]
            courier.ack(message)


def test_tokens_revocations_and_devices_survive_a_kill(fresh):
    instance = fresh()
    for _ in range(5):
        identity = instance.enrol()
        courier, (token, revoked) = live(instance, APP, OTHER_APP, identity=identity)
        instance.admin.revoke(revoked)
        gone = instance.push(revoked, {"apns-topic": OTHER_APP}).timestamp
        base = courier.base_token
        new = courier.token(OTHER_APP)
        instance.restart(crash=True)
        answer = instance.push(revoked, {"apns-topic": OTHER_APP})
        assert (answer.status, answer.timestamp) == (410, gone)
        courier, tokens = live(instance, APP, OTHER_APP, identity=identity)
        assert courier.base_token == base and tokens == [token, new]
        push(instance, token, 1)
        assert received(courier, 1) == [1]
        leave(instance, courier)


# What was promised, and then replaced by what was refused


def test_a_refused_push_takes_no_place(fresh):
    """The one that was to be replaced was answered 200; its heir was not."""
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    assert instance.push(token, {"apns-collapse-id": "x"}, b'{"n":1}').status == 200
    instance.admin.fail_store(1)
    assert instance.push(token, {"apns-collapse-id": "x"}, b'{"n":2}').status == 503
    assert len(instance.admin.queue(token)) == 1
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        assert courier.expect_notify().payload == b'{"n":1}'


def test_refused_pushes_do_not_empty_a_full_queue(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    with instance.client() as client:
        assert all(instance.push_on(client, token).status == 200 for _ in range(100))
        instance.admin.hold_store(True)
        instance.admin.fail_store(5)
        streams = [client.start(instance.headers(token), b"{}") for _ in range(100)]
        client.drain(0.3)
        instance.admin.hold_store(False)
        client.wait(*streams)
        instance.admin.fail_store(0)
        refused = sum(stream.status == 503 for stream in streams)
    assert refused and len(instance.admin.queue(token)) == 100
