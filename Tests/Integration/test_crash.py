"""What a 200 and an acknowledgement are worth when the process is killed."""

import time

import pytest

from harness import APP, BODY, OTHER_APP

pytestmark = pytest.mark.sanitizer


@pytest.mark.parametrize("crash", [False, True], ids=["stop", "kill"])
def test_what_was_accepted_survives(fresh, crash):
    instance = fresh()
    identity, (token, other) = instance.offline(APP, OTHER_APP)
    bodies = [b'{"n":%d}' % turn for turn in range(20)]
    for body in bodies:
        assert instance.push(token, body=body).status == 200
    assert instance.push(other, {"apns-topic": OTHER_APP}).status == 200
    instance.restart(crash)
    courier, again = instance.online(APP, OTHER_APP, identity=identity)
    with courier:
        assert again == [token, other]
        assert [courier.expect_notify().payload for _ in range(21)] == bodies + [BODY]
        courier.expect_nothing()


def test_what_operators_made_survives(fresh):
    instance = fresh()
    extra = instance.new_keys()
    identity, (token, gone) = instance.offline(APP, OTHER_APP)
    instance.admin.revoke(gone)
    before = instance.push(gone, {"apns-topic": OTHER_APP})
    revoked = instance.new_keys()
    instance.admin.revoke_key(revoked.key_id)
    instance.restart(crash=True)
    assert instance.push(token, {"authorization": extra.bearer()}).status == 200
    assert instance.push(token, {"authorization": revoked.bearer()}).reason == "InvalidProviderToken"
    after = instance.push(gone, {"apns-topic": OTHER_APP})
    assert (before.status, before.body) == (after.status, after.body) and after.status == 410
    assert instance.admin.get(f"/v1/devices/{identity.id}")["name"] == "phone"


def test_collapse_and_expiration_hold_across_a_crash(fresh):
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    first = instance.push(token, {"apns-collapse-id": "x"}, b'{"n":1}')
    short = instance.push(token, {"apns-expiration": str(int(time.time()) + 4)}, b'{"n":2}')
    assert (first.status, short.status) == (200, 200)
    instance.restart(crash=True)
    assert instance.push(token, {"apns-collapse-id": "x"}, b'{"n":3}').status == 200
    instance.restart(crash=True)
    instance.advance("5s")
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        assert courier.expect_notify().payload == b'{"n":3}'
        courier.expect_nothing()


def test_a_stop_with_everybody_connected(fresh):
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = instance.online(APP, identity=identity)
    with courier, instance.client() as client:
        for _ in range(3):
            assert instance.push_on(client, token).status == 200
        courier.expect_notify(ack=False)
        instance.stop()
        courier.wait_closed()
        client.wait_closed()
        assert not courier.was_reset and not client.was_reset
        assert set(client.goaway_reasons()) == {"Shutdown"}
    instance.start()
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        for _ in range(3):
            courier.expect_notify()
        courier.expect_nothing()
