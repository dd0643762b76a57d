"""Lessons of other gateways, T32 to T47: headers, tokens, payloads. The number names the report behind the test."""

import pytest

from delivery import live, number, push, received
from harness import APP, NEVER_ISSUED, check_shape

HOUR = 3600


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


def refusal(sandbox, token, **changes) -> tuple[int, str | None]:
    answer = sandbox.push(token, {name.replace("_", "-"): value for name, value in changes.items()})
    return answer.status, answer.reason


def test_t32_capitals_name_the_same_token(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        push(sandbox, token.upper(), 7)
        assert received(courier, 1) == [7]


@pytest.mark.parametrize("digits", [64, 108, 160, 200])
def test_t33_tokens_of_any_length_that_is_registered(sandbox, digits):
    token = sandbox.register(token=("c0ffee" * 40)[:digits])
    assert sandbox.push(token).status == 200


@pytest.mark.parametrize("text", ["abc", "a" * 63, "zz" * 32, "<" + "ab" * 32 + ">", "ab%20" * 8, "ab" * 101])
def test_t33_what_is_no_token(sandbox, text):
    assert refusal(sandbox, text) == (400, "BadDeviceToken")


def test_t33_a_bare_space_is_no_path_in_http(sandbox):
    with sandbox.client() as client:
        stream = client.start(sandbox.headers("ab cd" * 8), b"{}")
        client.wait(stream)
        assert stream.reset == 1, "PROTOCOL_ERROR"


def test_t33_no_token_at_all(sandbox):
    assert refusal(sandbox, "") == (400, "MissingDeviceToken")


@pytest.mark.parametrize("value", ["1518100000.123", "-1", "1e9", "0x1", "9" * 20, "+1518100000", " 1518100000", ""])
def test_t34_an_expiration_is_a_plain_whole_number(sandbox, token, value):
    assert refusal(sandbox, token, apns_expiration=value) == (400, "BadExpirationDate")


def test_t34_milliseconds_are_kept_as_long_as_any_push_and_told(fresh):
    instance = fresh()
    token = instance.register()
    push(instance, token, expiration=int((instance.now() + HOUR) * 1000))
    assert instance.admin.metric("provider_lints_total", lint="expiration_in_milliseconds") == 1
    assert "apns-expiration looks like milliseconds" in instance.tail()
    instance.advance("29d")
    assert len(instance.admin.queue(token)) == 1
    instance.advance("2d")
    assert instance.admin.queue(token) == []


def test_t35_expiration_0_is_tried_once(fresh):
    instance = fresh()
    absent = instance.register()
    push(instance, absent, 1, expiration=0)
    assert instance.admin.queue(absent) == []
    assert instance.admin.metric("notifications_discarded_total", cause="expired") == 1
    courier, (token,) = live(instance)
    push(instance, token, 2, expiration=0)
    assert number(courier.expect_notify(ack=False)) == 2
    courier.close()
    instance.wait_disconnected(courier.identity)
    again, _ = live(instance, identity=courier.identity)
    with again:
        assert received(again, 0) == []


@pytest.mark.parametrize("topic, push_type, limit", [(APP, "alert", 4096), (APP + ".voip", "voip", 5120)])
def test_t37_size_counts_bytes(sandbox, topic, push_type, limit):
    token = sandbox.register(topic)
    changes = {"apns-topic": topic, "apns-push-type": push_type}
    frame, face = b'{"x":"%s"}', "\N{GRINNING FACE}".encode()
    exact = frame % (b"a" * (limit - len(frame % face)) + face)
    assert len(exact) == limit and exact.endswith(face + b'"}')
    assert sandbox.push(token, changes, exact).status == 200
    answer = sandbox.push(token, changes, frame % (b"a" * (limit + 1 - len(frame % face)) + face))
    assert (answer.status, answer.reason) == (413, "PayloadTooLarge")


def test_t38_a_megabyte_is_refused_before_it_has_come(sandbox, token):
    """A gigabyte, with its memory, is in test_bad_input."""
    with sandbox.client() as client:
        stream = client.open(sandbox.headers(token))
        sent = 0
        while sent < 1 << 20 and client.send_data(stream, b"a" * 16384):
            sent += 16384
            client.pump(0)
        client.wait(stream)
        check_shape(stream)
        assert (stream.status, stream.reason) == (413, "PayloadTooLarge")
        assert stream.reset in (None, 0)
        assert sandbox.push_on(client, token).status == 200


@pytest.mark.parametrize(
    "text, status",
    [
        (b'{"a":' * 127 + b"{}" + b"}" * 127, 200), (b'{"a":' * 128 + b"{}" + b"}" * 128, 400), (b"[" * 4000, 400),
        (b'{"x":"\\ud800"}', 400), (b'{"x":1e999}', 400), (b'{"x":\xff}', 400), (b"\xef\xbb\xbf{}", 400), (b"[]", 400),
        (b'{"a":1,"a":2}', 200), (b'{"x":0123}', 400), (b'{"x":1}x', 400), (b'{"x":"\\u0000"}', 200),
    ],
)  # fmt: skip
def test_t40_texts_that_tripped_parsers(sandbox, token, text, status):
    """All texts of JSONTestSuite are in test_payloads."""
    answer = sandbox.push(token, None, text)
    assert (answer.status, answer.reason) == (status, None if status == 200 else "BadRequestPayload")


def test_t41_background_with_priority_10(sandbox, token):
    assert refusal(sandbox, token, apns_push_type="background", apns_priority="10") == (400, "BadPriority")


@pytest.mark.parametrize("value", ["0", "7", "10 ", "abc", "", "010", "-5", "1.0"])
def test_t41_a_priority_is_1_5_or_10(sandbox, token, value):
    assert refusal(sandbox, token, apns_priority=value) == (400, "BadPriority")


@pytest.mark.parametrize("value", ["", "Alert", "alerts", "widget", "alert "])
def test_t42_a_push_type_is_one_of_apples(sandbox, token, value):
    assert refusal(sandbox, token, apns_push_type=value) == (400, "InvalidPushType")


def test_t42_no_push_type_is_an_alert(sandbox, token):
    assert refusal(sandbox, token, apns_push_type=None) == (200, None)


@pytest.mark.parametrize("name", ["apns-topic", "apns-id", "authorization"])
def test_t43_a_header_comes_once(sandbox, token, name):
    identifier = "123E4567-E89B-12D3-A456-42665544000A"
    value = {"apns-topic": APP, "apns-id": identifier, "authorization": sandbox.bearer}[name]
    with sandbox.client() as client:
        answer = client.request(sandbox.headers(token, {name: value}, extra=[(name, value)]), b"{}")
    check_shape(answer)
    assert (answer.status, answer.reason) == (400, "DuplicateHeaders")


def test_t45_gone_says_since_when_and_a_new_registration_works(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        before = int(sandbox.now() * 1000)
        sandbox.admin.revoke(token)
        answer = sandbox.push(token)
        assert (answer.status, answer.reason) == (410, "Unregistered")
        assert before - 1000 <= answer.timestamp <= int(sandbox.now() * 1000) + 1000
        assert sandbox.push(courier.token(APP)).status == 200


def test_t47_a_token_that_never_was_costs_no_write(sandbox):
    token = sandbox.register()
    assert sandbox.push(token).status == 200
    before = sandbox.admin.metric("store_batch_size_count")
    refused = sandbox.admin.metric("provider_requests_total", reason="BadDeviceToken")
    with sandbox.client() as client:
        for _ in range(10):
            streams = [client.start(sandbox.headers(NEVER_ISSUED), b"{}") for _ in range(100)]
            client.wait(*streams)
            assert {(stream.status, stream.reason) for stream in streams} == {(400, "BadDeviceToken")}
    assert sandbox.admin.metric("provider_requests_total", reason="BadDeviceToken") == refused + 1000
    assert sandbox.admin.metric("store_batch_size_count") == before
