"""What revoking and removing do to what is stored, to sessions and to later requests."""

import pathlib

import pytest

from courier import TOKEN_ACK, TOKEN_REQUEST
from delivery import connected, leave, live, number, push, received, states
from harness import APP, BODY, OTHER_APP, TEAM, Keys, topic_hash

GOING = "com.example.going"

pytestmark = pytest.mark.sanitizer


def test_a_revoked_key_is_refused_on_every_connection(fresh):
    instance = fresh()
    keys = instance.new_keys()
    identity, (token,) = instance.offline(APP)
    changes = {"authorization": keys.bearer()}
    with instance.client() as first, instance.client() as second:
        for n, client in enumerate((first, second)):
            assert instance.push_on(client, token, changes, b'{"n":%d}' % n).status == 200
        instance.admin.revoke_key(keys.key_id)
        for client in (first, second):
            answer = instance.push_on(client, token, changes)
            assert (answer.status, answer.reason) == (403, "InvalidProviderToken")
    assert instance.push(token, changes).reason == "InvalidProviderToken"
    assert instance.push(token, {"authorization": keys.bearer()}).reason == "InvalidProviderToken"
    courier, _ = live(instance, identity=identity)
    with courier:
        assert received(courier, 2) == [0, 1], "what is queued stays"
        push(instance, token, 2)
        assert received(courier, 1) == [2], "the team's other key works"


def test_a_removed_app_takes_its_registrations_with_it(fresh):
    instance = fresh()
    instance.admin.add_app(GOING, TEAM)
    courier, (token, voip, other) = live(instance, GOING, f"{GOING}.voip", APP)
    with courier:
        flying = push(instance, token, 1, topic=GOING)
        message = courier.expect_notify(ack=False)
        courier.filter(enabled=[APP])
        courier.keep_alive()
        stored = push(instance, voip, 2, topic=f"{GOING}.voip", push_type="voip")
        instance.admin.delete(f"/v1/apps/{GOING}")
        for answer in (flying, stored):
            instance.admin.wait_for_state(answer.apns_id, "discarded-unregistered-from-storage")
        courier.ack(message)
        for target, topic, push_type in ((token, GOING, "alert"), (voip, f"{GOING}.voip", "voip")):
            answer = instance.push(target, {"apns-topic": topic, "apns-push-type": push_type})
            assert (answer.status, answer.reason) == (400, "TopicDisallowed")
        courier.send(TOKEN_REQUEST, (1, courier.base_token), (2, topic_hash(GOING)))
        answer = courier.expect(TOKEN_ACK)
        assert (answer.item(1), answer.item(2), answer.item(3)) == (b"\2", bytes(32), topic_hash(GOING))
        courier.filter(enabled=[APP, GOING])
        push(instance, other, 3)
        assert received(courier, 1) == [3]
    instance.admin.add_app(GOING, TEAM)
    again, (new,) = live(instance, GOING, identity=courier.identity)
    with again:
        assert new != token
        again.expect_nothing(0.1)
        assert instance.push(token, {"apns-topic": GOING}).status == 410


@pytest.mark.parametrize("online", [True, False])
def test_a_removed_device_is_closed_and_its_tokens_are_gone(sandbox, online):
    courier, tokens = live(sandbox, APP, OTHER_APP)
    identity = courier.identity
    if online:
        answer = push(sandbox, tokens[0], 1)
        courier.expect_notify(ack=False)
    else:
        leave(sandbox, courier)
        answer = push(sandbox, tokens[0], 1)
    sandbox.admin.delete(f"/v1/devices/{identity.id}")
    courier.wait_closed() if online else None
    assert not courier.was_reset
    for token, topic in zip(tokens, (APP, OTHER_APP)):
        gone = sandbox.push(token, {"apns-topic": topic})
        assert (gone.status, gone.reason) == (410, "Unregistered")
        assert abs(gone.timestamp / 1000 - sandbox.now()) < 10
    sandbox.admin.wait_for_state(answer.apns_id, "discarded-unregistered-from-storage")
    with sandbox.courier(identity) as refused:
        assert refused.connect().item(1) == b"\2"
        refused.wait_closed()
    assert sandbox.admin.request("GET", f"/v1/devices/{identity.id}")[0] == 404
    assert sandbox.admin.request("DELETE", f"/v1/devices/{identity.id}")[0] == 404


def test_revoking_by_the_topic_leaves_the_others(sandbox):
    courier, (token, other) = live(sandbox, APP, OTHER_APP)
    with courier:
        sandbox.admin.revoke(token)
        push(sandbox, other, 1, topic=OTHER_APP)
        assert received(courier, 1) == [1]
        new = courier.token(APP)
        courier.keep_alive()
        assert sandbox.push(new, None, BODY).status == 200
        assert courier.expect_notify().token == new, "the Filter still enables the topic"


def test_a_late_acknowledgement_changes_nothing(sandbox):
    courier, (token,) = live(sandbox)
    with courier:
        answer = push(sandbox, token, 1)
        message = courier.expect_notify(ack=False)
        sandbox.admin.revoke(token)
        before = sandbox.admin.metric("notifications_delivered_total")
        courier.ack(message)
        courier.keep_alive()
        assert sandbox.admin.metric("notifications_delivered_total") == before
        sandbox.admin.wait_for_state(answer.apns_id, "discarded-unregistered-from-storage")
        assert "delivered" not in states(sandbox, answer)


def test_a_revoked_token_is_remembered_for_a_year(fresh):
    instance = fresh()
    _, (token, later) = instance.offline(APP, OTHER_APP)
    instance.admin.revoke(token)
    instance.advance("360d")
    instance.admin.revoke(later)
    assert instance.push(token).status == 410
    instance.advance("10d")
    answer = instance.push(token)
    assert (answer.status, answer.reason) == (400, "BadDeviceToken")
    assert instance.push(later, {"apns-topic": OTHER_APP}).status == 410
    instance.restart()
    assert instance.push(later, {"apns-topic": OTHER_APP}).status == 410


def test_the_key_of_init_and_its_app_are_there_from_the_start(fresh):
    instance = fresh()
    facts = instance.facts
    assert (facts["team"], facts["topic"]) == ("DEMOTEAM01", "com.example.demo")
    app = instance.admin.get(f"/v1/apps/{facts['topic']}")
    assert app["team"] == facts["team"]
    (key,) = [key for key in instance.admin.get("/v1/keys")["items"] if key["keyID"] == facts["keyID"]]
    assert key["team"] == facts["team"] and key["revokedAt"] is None
    demo = Keys(pathlib.Path(facts["key"]).read_text(), facts["keyID"], facts["team"])
    courier, (token,) = live(instance, facts["topic"])
    with courier:
        push_changes = {"authorization": demo.bearer(), "apns-topic": facts["topic"]}
        assert instance.push(token, push_changes, b'{"n":1}').status == 200
        assert number(courier.expect_notify()) == 1
    instance.admin.revoke_key(facts["keyID"])
    instance.admin.delete(f"/v1/apps/{facts['topic']}")
    instance.restart()
    assert instance.admin.request("GET", f"/v1/apps/{facts['topic']}")[0] == 404, "a seed is sown once"
    (key,) = [key for key in instance.admin.get("/v1/keys")["items"] if key["keyID"] == facts["keyID"]]
    assert key["revokedAt"]


def test_a_registration_made_without_a_device(sandbox):
    """States for tests; long tokens; and a device that comes for what was made for it."""
    gone = sandbox.register(state="unregistered")
    answer = sandbox.push(gone)
    assert (answer.status, answer.reason) == (410, "Unregistered") and answer.timestamp > 1_600_000_000_000
    expired = sandbox.register(state="expired")
    answer = sandbox.push(expired)
    assert (answer.status, answer.reason) == (410, "ExpiredToken") and answer.timestamp > 1_600_000_000_000
    identity = sandbox.enrol()
    made = sandbox.register(OTHER_APP, device=identity.id)
    push(sandbox, made, 1, topic=OTHER_APP)
    with connected(sandbox, identity) as courier:
        assert courier.token(OTHER_APP) == made
        courier.filter(enabled=[OTHER_APP])
        assert received(courier, 1) == [1]
