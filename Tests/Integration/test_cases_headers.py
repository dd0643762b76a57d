"""Topic, push type, collapse id and other headers (docs/provider-api.md).

The code in a test's name, such as Y5, is for finding it. Y16 and Y21 to Y23 would need client certificates.
"""

import pytest

from harness import APP, BODY, FOREIGN_APP, check_shape

pytestmark = pytest.mark.sanitizer


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


@pytest.fixture(scope="module")
def voip(sandbox):
    return sandbox.register(f"{APP}.voip")


# Topic and push type


@pytest.mark.parametrize("topic, reasons", [
    pytest.param(None, ["MissingTopic"], id="Y1_absent"),
    pytest.param("", ["BadTopic", "MissingTopic"], id="Y2_empty"),
    pytest.param("com example", ["BadTopic"], id="Y3_space"),
    pytest.param("a" * 256, ["BadTopic"], id="Y3_256_bytes"),
    pytest.param("com/example", ["BadTopic"], id="Y3_slash"),
    pytest.param(FOREIGN_APP, ["TopicDisallowed"], id="Y4_another_team"),
    pytest.param("com.example.unknown", ["TopicDisallowed"], id="Y4_nobodys"),
    pytest.param(f"{FOREIGN_APP}.voip", ["TopicDisallowed"], id="Y4_another_team_with_suffix"),
    pytest.param(f"{APP}.nosuchsuffix", ["TopicDisallowed"], id="Y4_unknown_suffix"),
])  # fmt: skip
def test_bad_topic(sandbox, token, topic, reasons):
    answer = sandbox.push(token, {"apns-topic": topic, "apns-push-type": None})
    assert answer.status == 400 and answer.reason in reasons


def test_Y5_no_push_type(sandbox, token):
    assert sandbox.push(token, {"apns-push-type": None}).status == 200


@pytest.mark.parametrize("push_type", [
    pytest.param("foo", id="Y6_unknown"),
    pytest.param("", id="Y7_empty"),
    pytest.param("Alert", id="Y8_capital"),
    pytest.param(" alert", id="Y7_space"),
])  # fmt: skip
def test_bad_push_type(sandbox, token, push_type):
    answer = sandbox.push(token, {"apns-push-type": push_type})
    assert (answer.status, answer.reason) == (400, "InvalidPushType")


@pytest.mark.parametrize("push_type", [
    pytest.param("alert", id="Y9_alert"),
    pytest.param("background", id="Y10_background"),
])  # fmt: skip
def test_plain_type_to_a_voip_topic(sandbox, voip, push_type):
    changes = {"apns-topic": f"{APP}.voip", "apns-push-type": push_type, "apns-priority": "5"}
    answer = sandbox.push(voip, changes)
    assert (answer.status, answer.reason) == (400, "InvalidPushType")


@pytest.mark.parametrize("push_type, suffix, changes", [
    pytest.param(None, ".voip", {}, id="Y11_no_type"),
    pytest.param("voip", ".voip", {}, id="Y12_voip"),
    pytest.param("complication", ".complication", {}, id="Y13_complication"),
    pytest.param("fileprovider", ".pushkit.fileprovider", {}, id="Y14_fileprovider"),
    pytest.param("location", ".location-query", {}, id="Y15_location"),
    pytest.param("liveactivity", ".push-type.liveactivity", {}, id="Y17_liveactivity"),
    pytest.param("pushtotalk", ".voip-ptt", {"apns-priority": "10", "apns-expiration": "0"}, id="Y18_pushtotalk"),
    pytest.param("widgets", ".push-type.widgets", {}, id="Y19_widgets"),
    pytest.param("controls", ".push-type.controls", {}, id="Y20_controls"),
])  # fmt: skip
def test_topic_of_a_push_type(sandbox, push_type, suffix, changes):
    topic = APP + suffix
    answer = sandbox.push(sandbox.register(topic), {"apns-topic": topic, "apns-push-type": push_type} | changes)
    assert answer.status == 200


# Collapse id, duplicates, other headers


@pytest.mark.parametrize("value, status", [
    pytest.param(b"x" * 64, 200, id="C1_64_bytes"),
    pytest.param(b"x" * 65, 400, id="C2_65_bytes"),
    pytest.param("€".encode() * 22, 400, id="C3_22_characters_of_66_bytes"),
    pytest.param("€".encode() * 21, 200, id="C3_21_characters_of_63_bytes"),
    pytest.param(b"", 200, id="C1_empty_is_none"),
])  # fmt: skip
def test_collapse_id(sandbox, token, value, status):
    answer = sandbox.push(token, {"apns-collapse-id": value})
    assert answer.status == status
    assert status == 200 or answer.reason == "BadCollapseId"


def offline_pair(instance, first: str, second: str):
    """Two pushes with these collapse ids to a device that is away: its identity and their answers."""
    identity, (token,) = instance.offline(APP)
    answers = [
        instance.push(token, {"apns-collapse-id": value}, b'{"n":%d}' % number)
        for number, value in enumerate((first, second), 1)
    ]
    assert [answer.status for answer in answers] == [200, 200]
    return identity, answers


def test_C4_the_same_id_leaves_the_second(sandbox):
    identity, (first, _) = offline_pair(sandbox, "score", "score")
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert courier.expect_notify().payload == b'{"n":2}'
        courier.expect_nothing()
    assert sandbox.admin.wait_for_state(first.apns_id, "discarded-replaced")["cause"] == "collapsed"


def test_C4_empty_ids_do_not_collapse(sandbox):
    identity, _ = offline_pair(sandbox, "", "")
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert [courier.expect_notify().payload for _ in range(2)] == [b'{"n":1}', b'{"n":2}']


def test_C5_different_ids_leave_both(sandbox):
    identity, _ = offline_pair(sandbox, "score", "news")
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        assert [courier.expect_notify().payload for _ in range(2)] == [b'{"n":1}', b'{"n":2}']


def test_C5_different_ids_leave_the_second_in_apples_mode(apple):
    identity, _ = offline_pair(apple, "score", "news")
    courier, _ = apple.online(APP, identity=identity)
    with courier:
        assert courier.expect_notify().payload == b'{"n":2}'
        courier.expect_nothing()


@pytest.mark.parametrize("changes, name, value", [
    pytest.param({}, "apns-topic", APP, id="H1_topic_same_value"),
    pytest.param({"apns-priority": "10"}, "apns-priority", "5", id="H2_priority_different"),
    pytest.param({}, "authorization", None, id="H3_authorization"),
    pytest.param({"apns-id": "8f3c2b1a-9d4e-4f60-8a7b-0c1d2e3f4a5b"}, "apns-id",
                 "8f3c2b1a-9d4e-4f60-8a7b-0c1d2e3f4a5b", id="H1_id"),
    pytest.param({"apns-foo": "1"}, "apns-foo", "2", id="H2_unknown_apns_header"),
])  # fmt: skip
def test_duplicate_header(sandbox, token, changes, name, value):
    with sandbox.client() as client:
        extra = [(name, value or sandbox.bearer)]
        answer = client.request(sandbox.headers(token, changes, extra), BODY)
        check_shape(answer)
    assert (answer.status, answer.reason) == (400, "DuplicateHeaders")


@pytest.mark.parametrize("changes", [
    pytest.param({"apns-foo": "bar"}, id="H4_unknown"),
    pytest.param({"content-type": "application/x-www-form-urlencoded"}, id="H6_content_type"),
    pytest.param({"user-agent": "conformance/1.0"}, id="H7_user_agent"),
    pytest.param({"content-length": str(len(BODY))}, id="H4_content_length"),
])  # fmt: skip
def test_ignored_header(sandbox, token, changes):
    assert sandbox.push(token, changes).status == 200


def test_H5_an_inbound_unique_id_is_ignored(sandbox, token):
    theirs = "00000000-0000-0000-0000-000000000001"
    answer = sandbox.push(token, {"apns-unique-id": theirs})
    assert answer.status == 200
    assert answer.header("apns-unique-id") != theirs
