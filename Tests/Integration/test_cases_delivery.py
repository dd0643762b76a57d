"""What happens after a 200. The code in a test's name, such as D1, is for finding it."""

import pytest

from courier import NO_STORAGE
from harness import APP, OTHER_APP

pytestmark = pytest.mark.sanitizer

SILENT = {"apns-push-type": "background", "apns-priority": "5"}


def push_numbered(instance, token: str, count: int, changes: dict | None = None) -> list:
    """Pushes whose payloads are numbered from 1."""
    with instance.client() as client:
        answers = [instance.push_on(client, token, changes, b'{"n":%d}' % number) for number in range(1, count + 1)]
    assert [answer.status for answer in answers] == [200] * count
    return answers


def numbers(*values: int) -> list[bytes]:
    return [b'{"n":%d}' % value for value in values]


def test_V1_three_to_an_offline_device(sandbox):
    identity, (token,) = sandbox.offline(APP)
    push_numbered(sandbox, token, 3)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        arrived = [courier.expect_notify() for _ in range(3)]
        assert [notification.payload for notification in arrived] == numbers(1, 2, 3)
        assert [notification.storage_flags for notification in arrived] == [1, 1, 3]
        courier.expect_nothing()
        assert sandbox.admin.queue(token) == []


def test_V1_one_of_three_in_apples_mode(apple):
    identity, (token,) = apple.offline(APP)
    push_numbered(apple, token, 3)
    courier, _ = apple.online(APP, identity=identity)
    with courier:
        assert courier.expect_notify().payload == numbers(3)[0]
        courier.expect_nothing()


@pytest.mark.parametrize("mode", ["sandbox", "apple"])
def test_V2_one_each_for_two_topics(request, mode):
    instance = request.getfixturevalue(mode)
    identity, tokens = instance.offline(APP, OTHER_APP)
    for topic, token in zip((APP, OTHER_APP), tokens):
        assert instance.push(token, {"apns-topic": topic}).status == 200
    courier, _ = instance.online(APP, OTHER_APP, identity=identity)
    with courier:
        assert {courier.expect_notify().token for _ in range(2)} == set(tokens)


def test_V3_many_background_pushes_in_apples_mode(apple):
    courier, (token,) = apple.online(APP)
    with courier:
        courier.set_state(2)
        courier.keep_alive()
        push_numbered(apple, token, 20, SILENT)
        courier.set_state(1)
        arrived = [courier.expect_notify()]
        while arrived[-1].payload != numbers(20)[0]:
            arrived.append(courier.expect_notify())
        assert len(arrived) < 20
        courier.expect_nothing()


def test_V4_too_many_to_one_token(fresh):
    instance = fresh({"provider.tokenRate": "5"})
    token, other = instance.register(), instance.register()
    with instance.client() as client:
        answers = [instance.push_on(client, token) for _ in range(40)]
        refused = [answer for answer in answers if answer.status != 200]
        assert answers[0].status == 200
        assert refused and {(answer.status, answer.reason) for answer in refused} == {(429, "TooManyRequests")}
        assert instance.push_on(client, other).status == 200
        instance.advance("2s")
        assert instance.push_on(client, token).status == 200


def test_V5_five_while_the_device_sleeps(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        courier.set_state(2)
        courier.keep_alive()
        answer = sandbox.push(token, {"apns-priority": "5"})
        assert answer.status == 200
        courier.expect_nothing()
        sandbox.admin.wait_for_state(answer.apns_id, "stored-power")
        courier.set_state(1)
        courier.expect_notify()
        sandbox.admin.wait_for_state(answer.apns_id, "delivered-from-storage", "delivered")


def test_V6_removed_while_stored(sandbox):
    identity, (token,) = sandbox.offline(APP)
    answer = sandbox.push(token)
    assert answer.status == 200
    sandbox.admin.revoke(token)
    row = sandbox.admin.wait_for_state(answer.apns_id, "discarded-unregistered-from-storage")
    assert row["cause"] == "unregistered"
    courier, (new,) = sandbox.online(APP, identity=identity)
    with courier:
        assert new != token
        courier.expect_nothing()


def test_V7_the_log_by_unique_id(sandbox):
    identity, (token,) = sandbox.offline(APP)
    answer = sandbox.push(token)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        courier.expect_notify()
        sandbox.admin.wait_for_state(answer.apns_id, "delivered-from-storage")
    unique = answer.header("apns-unique-id")
    (row,) = sandbox.admin.get("/v1/notifications", uniqueID=unique)["items"]
    assert row["uniqueID"] == unique and row["apnsID"] == answer.apns_id
    assert row["topic"] == APP and row["device"] == identity.id
    assert row["tokenPrefix"] == token[:8]
    states = [change["state"] for change in row["changes"]]
    assert states == ["received", "stored-offline", "delivered-from-storage"]


def test_V7_the_log_by_token(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        answer = sandbox.push(token)
        courier.expect_notify()
        sandbox.admin.wait_for_state(answer.apns_id, "delivered")
    (row,) = sandbox.admin.get("/v1/notifications", token=token)["items"]
    assert [change["state"] for change in row["changes"]] == ["received", "delivered"]


def test_V1_nothing_waiting_is_said(sandbox):
    courier, _ = sandbox.online(APP)
    with courier:
        assert courier.expect(NO_STORAGE).item(1) == courier.base_token
