"""Path, method, device token, apns-id (docs/provider-api.md). The code in a test's name is for finding it."""

import re
import secrets
import time

import pytest

from harness import APP, FOREIGN_APP, NEVER_ISSUED, OTHER_APP, Sandbox

pytestmark = pytest.mark.sanitizer

IDENTIFIER = "8f3c2b1a-9d4e-4f60-8a7b-0c1d2e3f4a5b"
NOT_VERSION_4 = "12345678-1234-0000-0000-123456789abc"


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


# Path and method


def test_P1_the_base_request(sandbox, token):
    answer = sandbox.push(token)
    assert answer.status == 200
    assert answer.headers_ended_stream and answer.body == b""


@pytest.mark.parametrize("changes, status, reason", [
    pytest.param({":method": "GET"}, 405, "MethodNotAllowed", id="P2_GET"),
    pytest.param({":method": "PUT"}, 405, "MethodNotAllowed", id="P3_PUT"),
    pytest.param({":path": "/3/devices/{}"}, 404, "BadPath", id="P4_devices"),
    pytest.param({":path": "/2/device/{}"}, 404, "BadPath", id="P5_version_2"),
    pytest.param({":path": "/"}, 404, "BadPath", id="P6_root"),
    pytest.param({":path": "/3/device/"}, 400, "MissingDeviceToken", id="P7_no_token"),
    pytest.param({":path": "/3/device"}, 400, "MissingDeviceToken", id="P8_no_slash"),
    pytest.param({":path": "/3/device/{}/x"}, 404, "BadPath", id="P9_segment"),
    pytest.param({":path": "/3/device/{}?a=1"}, 404, "BadPath", id="P10_query"),
    pytest.param({":path": "/3/devices/{}", ":method": "GET"}, 404, "BadPath", id="P11_path_before_method"),
])  # fmt: skip
def test_path_and_method(sandbox, token, changes, status, reason):
    answer = sandbox.push(token, {name: value.format(token) for name, value in changes.items()})
    assert (answer.status, answer.reason) == (status, reason)


# Device token


def test_K1_uppercase_reaches_the_same_device(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        answer = sandbox.push(token.upper())
        assert answer.status == 200
        assert courier.expect_notify().token == token


@pytest.mark.parametrize("spoil", [
    pytest.param(lambda token: token[:-1] + "g", id="K2_letter_g"),
    pytest.param(lambda token: token[:-1], id="K3_63_digits"),
    pytest.param(lambda token: NEVER_ISSUED, id="K7_never_issued"),
    pytest.param(lambda token: token[:32] + "%20" + token[32:], id="K9_percent_20"),
    pytest.param(lambda token: "%3C" + token[:8] + "%20" + token[8:] + "%3E", id="K10_printed_data"),
    pytest.param(lambda token: "<" + token + ">", id="K10_brackets"),
    pytest.param(lambda token: token + "00", id="K7_a_longer_one_never_issued"),
    pytest.param(lambda token: token[:-2], id="K7_a_shorter_one_never_issued"),
    pytest.param(lambda token: "ab" * 101, id="K7_202_digits"),
    pytest.param(lambda token: "ab" * 1000, id="K7_2000_digits"),
])  # fmt: skip
def test_bad_device_token(sandbox, token, spoil):
    answer = sandbox.push(spoil(token))
    assert (answer.status, answer.reason) == (400, "BadDeviceToken")


@pytest.mark.parametrize("size, topic, push_type", [
    pytest.param(54, APP, "alert", id="K4_54_bytes"),
    pytest.param(80, f"{APP}.push-type.liveactivity", "liveactivity", id="K5_80_bytes"),
    pytest.param(100, APP, "alert", id="K6_100_bytes"),
])  # fmt: skip
def test_long_token(sandbox, size, topic, push_type):
    token = sandbox.register(topic, token=secrets.token_hex(size))
    assert len(token) == 2 * size
    assert sandbox.push(token, {"apns-topic": topic, "apns-push-type": push_type}).status == 200


def test_K8_a_production_token(sandbox):
    with Sandbox(environment="production") as production:
        courier, (token,) = production.online(APP)
        courier.close()
        assert production.push(token).status == 200
    answer = sandbox.push(token)
    assert (answer.status, answer.reason) == (400, "BadDeviceToken")


def assert_gone(answer, reason: str, earliest: float) -> None:
    """410 with the moment at which the token died, in milliseconds."""
    assert (answer.status, answer.reason) == (410, reason)
    assert earliest * 1000 - 1 <= answer.timestamp <= time.time() * 1000 + 1


def test_K11_removed_and_K12_another_topic_of_the_device(sandbox):
    courier, (token, other) = sandbox.online(APP, OTHER_APP)
    with courier:
        before = time.time()
        sandbox.admin.revoke(token)
        assert_gone(sandbox.push(token), "Unregistered", before)
        assert sandbox.push(other, {"apns-topic": OTHER_APP}).status == 200


def test_K13_replaced_by_a_newer_token(sandbox):
    courier, (old,) = sandbox.online(APP)
    with courier:
        before = time.time()
        sandbox.admin.revoke(old)
        after = time.time()
        new = courier.token(APP)
        assert new != old
        assert sandbox.push(new).status == 200
        answer = sandbox.push(old)
        assert_gone(answer, "Unregistered", before)
        assert answer.timestamp <= after * 1000 + 1


def test_K14_an_ended_live_activity(sandbox):
    topic = f"{APP}.push-type.liveactivity"
    token = sandbox.register(topic, state="expired")
    assert_gone(sandbox.push(token, {"apns-topic": topic, "apns-push-type": "liveactivity"}), "ExpiredToken", 0)


@pytest.mark.parametrize("registered, topic, push_type", [
    pytest.param(APP, OTHER_APP, "alert", id="K15_topic_of_another_app"),
    pytest.param(f"{APP}.voip", APP, "voip", id="K16_voip_token_plain_topic"),
    pytest.param(APP, f"{APP}.voip", "voip", id="K17_alert_token_voip_topic"),
    pytest.param(f"{APP}.push-type.widgets", APP, "alert", id="K18_widget_token_plain_topic"),
    pytest.param(FOREIGN_APP, APP, "alert", id="K15_token_of_another_team"),
])  # fmt: skip
def test_token_not_for_topic(sandbox, registered, topic, push_type):
    answer = sandbox.push(sandbox.register(registered), {"apns-topic": topic, "apns-push-type": push_type})
    assert (answer.status, answer.reason) == (400, "DeviceTokenNotForTopic")


def test_K19_notifications_turned_off(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        courier.filter(ignored=[APP])
        courier.keep_alive()
        answer = sandbox.push(token)
        assert answer.status == 200
        courier.expect_nothing()
        sandbox.admin.wait_for_state(answer.apns_id, "discarded-disabled")


# apns-id


def test_A1_absent_makes_one_in_capitals(sandbox, token):
    answer = sandbox.push(token)
    assert answer.status == 200
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", answer.apns_id)


@pytest.mark.parametrize("identifier", [
    pytest.param(IDENTIFIER, id="A2_lowercase"),
    pytest.param(IDENTIFIER.upper(), id="A3_uppercase"),
    pytest.param(IDENTIFIER[:18].upper() + IDENTIFIER[18:], id="A4_mixed"),
    pytest.param(NOT_VERSION_4, id="A5_not_version_4"),
])  # fmt: skip
def test_id_is_echoed_unchanged(sandbox, token, identifier):
    answer = sandbox.push(token, {"apns-id": identifier})
    assert (answer.status, answer.apns_id) == (200, identifier)


@pytest.mark.parametrize("identifier", [
    pytest.param("not-a-uuid", id="A6_words"),
    pytest.param(IDENTIFIER.replace("-", ""), id="A7_no_hyphens"),
    pytest.param("{%s}" % IDENTIFIER, id="A8_braces"),
    pytest.param("", id="A9_empty"),
    pytest.param(IDENTIFIER[:-1] + "g", id="A6_letter_g"),
    pytest.param(IDENTIFIER + "0", id="A6_one_digit_more"),
    pytest.param(" " + IDENTIFIER, id="A6_space"),
])  # fmt: skip
def test_bad_message_id(sandbox, token, identifier):
    answer = sandbox.push(token, {"apns-id": identifier})
    assert (answer.status, answer.reason) == (400, "BadMessageId")
    assert answer.apns_id != identifier


def test_A10_echoed_on_errors_too(sandbox):
    answer = sandbox.push(NEVER_ISSUED, {"apns-id": IDENTIFIER})
    assert (answer.status, answer.reason, answer.apns_id) == (400, "BadDeviceToken", IDENTIFIER)


@pytest.mark.parametrize("changes, reason", [
    pytest.param({":method": "GET"}, "MethodNotAllowed", id="A10_method"),
    pytest.param({":path": "/"}, "BadPath", id="A10_path"),
    pytest.param({"authorization": None}, "MissingProviderToken", id="A10_no_provider_token"),
])  # fmt: skip
def test_id_is_read_before_any_check(sandbox, token, changes, reason):
    answer = sandbox.push(token, changes | {"apns-id": IDENTIFIER})
    assert (answer.reason, answer.apns_id) == (reason, IDENTIFIER)


def test_A11_the_same_id_twice_is_two_pushes(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        for _ in range(2):
            assert sandbox.push(token, {"apns-id": IDENTIFIER}).status == 200
            courier.expect_notify()
