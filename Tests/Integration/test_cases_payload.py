"""The body of a push (docs/provider-api.md). The code in a test's name is for finding it."""

import gzip
import json

import pytest

from harness import APP, BODY, check_shape

pytestmark = pytest.mark.sanitizer

VOIP = f"{APP}.voip"
ACTIVITY = f"{APP}.push-type.liveactivity"


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


def body_of(size: int) -> bytes:
    """A JSON object of exactly this many bytes."""
    frame = b'{"aps":{},"x":""}'
    return frame[:-2] + b"a" * (size - len(frame)) + frame[-2:]


def test_B1_no_body(sandbox, token):
    answer = sandbox.push(token, body=b"")
    assert (answer.status, answer.reason) == (400, "PayloadEmpty")


def test_B2_an_empty_frame(sandbox, token):
    with sandbox.client() as client:
        stream = client.open(sandbox.headers(token))
        client.send_data(stream, b"", end_stream=True)
        client.wait(stream)
        check_shape(stream)
    assert (stream.status, stream.reason) == (400, "PayloadEmpty")


@pytest.mark.parametrize("topic, push_type, size, status", [
    pytest.param(APP, "alert", 4096, 200, id="B3_4096"),
    pytest.param(APP, "alert", 4097, 413, id="B4_4097"),
    pytest.param(VOIP, "voip", 5120, 200, id="B5_voip_5120"),
    pytest.param(VOIP, "voip", 5121, 413, id="B6_voip_5121"),
    pytest.param(VOIP, None, 5120, 200, id="B5_voip_topic_without_type_5120"),
    pytest.param(VOIP, None, 5121, 413, id="B6_voip_topic_without_type_5121"),
    pytest.param(ACTIVITY, "liveactivity", 4096, 200, id="B7_activity_4096"),
    pytest.param(ACTIVITY, "liveactivity", 4097, 413, id="B7_activity_4097"),
])  # fmt: skip
def test_size(sandbox, topic, push_type, size, status):
    body = body_of(size)
    assert len(body) == size and json.loads(body)
    answer = sandbox.push(sandbox.register(topic), {"apns-topic": topic, "apns-push-type": push_type}, body)
    assert answer.status == status
    assert status == 200 or answer.reason == "PayloadTooLarge"


def test_B3_bytes_count_not_characters(sandbox, token):
    for size, status in ((4096, 200), (4097, 413)):
        body = body_of(size - 4)[:-2] + "🔔".encode() + b'"}'
        assert len(body) == size
        assert sandbox.push(token, body=body).status == status


@pytest.mark.parametrize("body", [
    pytest.param(b"{}", id="B8_empty_object"),
    pytest.param(b'{"mdm":"magic"}', id="B9_without_aps"),
    pytest.param(b'{"aps":"text"}', id="B10_aps_is_a_string"),
    pytest.param(b'{"aps":{"badge":"one","sound":[1,2]}}', id="B10_wrong_types_inside"),
    pytest.param(b' \t\r\n{"aps":{}}\n', id="B8_white_space_around"),
    pytest.param(b'{"aps":{},"aps":{}}', id="B8_duplicate_keys"),
])  # fmt: skip
def test_accepted_body(sandbox, token, body):
    assert sandbox.push(token, body=body).status == 200


@pytest.mark.parametrize("body", [
    pytest.param(b'{"aps":{"alert":"hi"},"custom":{"a":[1, 2.50,true,null],"b":"\xc3\xa9"}}', id="B12_beside_aps"),
    pytest.param(b'{ "aps" : {"alert":"hi","unknown-key":{"x":1}} }', id="B13_inside_aps"),
    pytest.param(b'{"aps":{"alert":"a","alert":"b"},"\\u0061":"\\/"}', id="B13_duplicates_and_escapes"),
])  # fmt: skip
def test_body_reaches_the_device_byte_for_byte(sandbox, body):
    courier, (token,) = sandbox.online(APP)
    with courier:
        assert sandbox.push(token, body=body).status == 200
        assert courier.expect_notify().payload == body


def nested(depth: int) -> bytes:
    """An object that is `depth` levels deep, itself included."""
    return b'{"x":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@pytest.mark.parametrize("body, changes", [
    pytest.param(b"hello", {}, id="B11_not_json"),
    pytest.param(b'{"aps":', {}, id="B11_cut"),
    pytest.param(b'[{"aps":{}}]', {}, id="B11_array"),
    pytest.param(b"null", {}, id="B11_null"),
    pytest.param(b"{}{}", {}, id="B11_two_objects"),
    pytest.param(b"\xef\xbb\xbf{}", {}, id="B11_byte_order_mark"),
    pytest.param(nested(129), {}, id="B11_129_deep"),
    pytest.param(b'{"x":1e400}', {}, id="B11_beyond_binary64"),
    pytest.param(b'{"x":18446744073709551616}', {}, id="B11_beyond_64_bits"),
    pytest.param(b'{"x":"\\ud800"}', {}, id="B11_lone_surrogate"),
    pytest.param(b'{"x":"\xff"}', {}, id="B14_invalid_utf8"),
    pytest.param(b'{"x":"\xed\xa0\x80"}', {}, id="B14_surrogate_in_utf8"),
    pytest.param(b'{"x":"\xc0\xaf"}', {}, id="B14_overlong_utf8"),
    pytest.param(gzip.compress(BODY), {"content-encoding": "gzip"}, id="B16_gzip"),
])  # fmt: skip
def test_refused_body(sandbox, token, body, changes):
    answer = sandbox.push(token, changes, body)
    assert (answer.status, answer.reason) == (400, "BadRequestPayload")


def test_B11_128_deep_passes(sandbox, token):
    assert sandbox.push(token, body=nested(128)).status == 200


def test_B11_opaque_payloads_are_not_read(fresh):
    instance = fresh({"provider.payload": "opaque"})
    courier, (token,) = instance.online(APP)
    with courier:
        assert instance.push(token, body=b"\xff not JSON").status == 200
        assert courier.expect_notify().payload == b"\xff not JSON"
        assert instance.push(token, body=b"").reason == "PayloadEmpty"
        assert instance.push(token, body=body_of(4097)).reason == "PayloadTooLarge"


def test_B15_a_megabyte(sandbox, token):
    with sandbox.client() as client:
        stream = client.open(sandbox.headers(token))
        client.send_data(stream, body_of(1_000_000), end_stream=True)
        client.wait(stream)
        check_shape(stream)
        assert (stream.status, stream.reason) == (413, "PayloadTooLarge")
        assert stream.reset in (None, 0)
        assert sandbox.push_on(client, token).status == 200
        assert not client.goaways
