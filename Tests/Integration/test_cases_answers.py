"""The shape of answers, and trouble on our side (docs/provider-api.md).

The code in a test's name is for finding it. The shape is also checked on every other answer (harness.check_shape).
I4 needs a block list.
"""

import time

import pytest

from harness import APP, BODY, NEVER_ISSUED, Sandbox, check_shape

pytestmark = pytest.mark.sanitizer


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


# The shape of answers


def test_S1_headers_of_a_success(sandbox, token):
    assert set(sandbox.push(token).names) == {":status", "apns-id", "apns-unique-id"}


def test_S2_headers_of_a_success_in_production():
    with Sandbox(environment="production") as production:
        courier, (token,) = production.online(APP)
        with courier:
            answer = production.push(token)
            assert set(answer.names) == {":status", "apns-id"}
            courier.expect_notify()


def test_S3_frames_of_an_error(sandbox, token):
    answer = sandbox.push(token, {"apns-priority": "7"})
    assert not answer.headers_ended_stream
    assert answer.data_frames == [(b'{"reason":"BadPriority"}', True)]
    assert set(answer.names) == {":status", "apns-id"}


def test_S4_27_bytes(sandbox):
    answer = sandbox.push(NEVER_ISSUED)
    assert answer.body == b'{"reason":"BadDeviceToken"}' and len(answer.body) == 27


@pytest.mark.parametrize("state", ["unregistered", "expired"])
def test_S5_a_410_has_a_timestamp(sandbox, state):
    before = time.time()
    answer = sandbox.push(sandbox.register(state=state))
    assert answer.status == 410
    assert before * 1000 - 1 <= answer.timestamp <= time.time() * 1000 + 1


@pytest.mark.parametrize("changes", [{"apns-priority": "7"}, {"authorization": None}, {":path": "/"}])
def test_S6_others_have_none(sandbox, token, changes):
    assert sandbox.push(token, changes).timestamp is None


def test_S7_unique_ids_differ(sandbox, token):
    with sandbox.client() as client:
        identifiers = [sandbox.push_on(client, token).header("apns-unique-id") for _ in range(20)]
    assert len(set(identifiers)) == 20
    assert all(len(identifier) == 36 and identifier == identifier.lower() for identifier in identifiers)


def test_S8_names_are_lower_case(sandbox, token):
    for changes in ({}, {"apns-priority": "7"}):
        names = sandbox.push(token, changes).names
        assert names == [name.lower() for name in names]


# Trouble on our side


def test_I1_the_store_fails(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    instance.admin.fail_store(1)
    answer = instance.push(token)
    assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
    answer = instance.push(token)
    assert answer.status == 200
    assert [item["apnsID"] for item in instance.admin.queue(token)] == [answer.apns_id]


def test_I1_the_store_does_not_answer(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    with instance.client() as client:
        instance.admin.hold_store(True)
        stream = client.start(instance.headers(token), BODY)
        client.drain(0.3)
        assert not stream.finished, "answered before the store had it"
        instance.advance("31s")
        client.wait(stream)
        check_shape(stream)
        assert (stream.status, stream.reason) == (503, "ServiceUnavailable")
        instance.admin.hold_store(False)


@pytest.mark.parametrize("status, reason", [
    pytest.param(500, "InternalServerError", id="I2_internal_error"),
    pytest.param(429, "TooManyRequests", id="I2_any_other_answer"),
])  # fmt: skip
def test_forced_answer(fresh, status, reason):
    instance = fresh()
    token = instance.register()
    instance.admin.force_answer(status, reason, times=2)
    with instance.client() as client:
        for _ in range(2):
            answer = instance.push_on(client, token)
            assert (answer.status, answer.reason) == (status, reason)
        assert instance.push_on(client, token).status == 200


def test_I3_unanswered_when_the_drain_ends(fresh):
    instance = fresh({"drain.timeout": "2s"})
    _, (token,) = instance.offline(APP)
    with instance.client() as client:
        instance.admin.hold_store(True)
        stream = client.start(instance.headers(token), BODY)
        client.drain(0.3)
        instance.admin.drain()
        client.wait_closed()
        check_shape(stream)
        assert (stream.status, stream.reason) == (503, "Shutdown")
        assert set(client.goaway_reasons()) == {"Shutdown"}
        instance.admin.hold_store(False)


def test_I3_new_connections_while_draining(fresh):
    instance = fresh()
    token = instance.register()
    assert instance.admin.request("GET", "/readyz", token=None)[0] == 200
    instance.admin.drain()
    status, body = instance.admin.request("GET", "/readyz", token=None)
    assert status == 503 and "draining" in body["reasons"]
    assert instance.admin.request("GET", "/healthz", token=None)[0] == 200
    begun = time.monotonic()
    with pytest.raises((OSError, AssertionError)):
        instance.push(token)
    assert time.monotonic() - begun < 3, "neither refused nor served: a client waits for nothing"
    instance.admin.end_drain()
    assert instance.admin.request("GET", "/readyz", token=None)[0] == 200
    assert instance.push(token).status == 200
