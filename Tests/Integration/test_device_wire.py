"""The plain device protocol, frame by frame (docs/device-protocol.md)."""

import ssl
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding

from courier import (
    CONNECT_ACK, FILTER, KEEP_ALIVE, KEEP_ALIVE_ACK, NO_STORAGE, NOTIFY, NOTIFY_ACK, TOKEN_ACK, TOKEN_REQUEST, encode,
)  # fmt: skip
from harness import APP, OTHER_APP, Identity, topic_hash

pytestmark = pytest.mark.sanitizer

SUBSCRIBE = 29
UNKNOWN_TOPIC = "com.example.nobody"


@pytest.fixture
def courier(sandbox):
    """A connected device with nothing enabled."""
    with sandbox.courier(sandbox.enrol()) as connection:
        assert connection.connect().item(1) == b"\0"
        yield connection


# Connect


@pytest.mark.parametrize("key_type", ["ec", "rsa"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda version: version.name)
def test_connect_with_either_key_over_either_tls(sandbox, key_type, version):
    with sandbox.courier(sandbox.enrol(key_type=key_type), version=version) as courier:
        assert courier.connect().item(1) == b"\0"


@pytest.mark.parametrize("key_type", ["ec", "rsa"])
def test_a_key_made_by_the_gateway_works(sandbox, key_type):
    with sandbox.courier(Identity(sandbox.admin, "made", key_type, own_key=False)) as courier:
        assert courier.connect().item(1) == b"\0"


def test_connect_ack_has_what_every_client_needs(sandbox):
    with sandbox.courier(sandbox.enrol()) as courier:
        answer = courier.connect()
    assert answer.item(1) == b"\0"
    assert len(answer.item(3)) == 32
    assert answer.item(4) == b"\x14\x00"
    assert answer.item(5) == b"\x00\x02"
    assert len(answer.item(6)) == 4
    assert answer.item(8) == b"\x3c\x00"
    assert len(answer.item(10)) == 8 and abs(answer.number(10) / 1000 - sandbox.now()) < 5
    assert not {id for id, _ in answer.items} & {211, 212}, "a plain client sees nothing of the extended form"


@pytest.mark.parametrize("offered, chosen", [
    ((), None),
    (("apns-security-v3",), "apns-security-v3"),
    (("apns-pack-v1", "apns-security-v3"), "apns-security-v3"),
    (("apns-security-v3", "apns-security-v2"), "apns-security-v3"),
    (("apns-pack-v1",), None),
])  # fmt: skip
def test_alpn(sandbox, offered, chosen):
    with sandbox.courier(sandbox.enrol(), alpn=offered) as courier:
        assert courier.socket.selected_alpn_protocol() == chosen
        assert courier.connect().item(1) == b"\0"


def test_the_same_key_gets_the_same_base_token(sandbox):
    identity, other = sandbox.enrol(), sandbox.enrol()
    with sandbox.courier(identity) as courier:
        base = courier.connect().item(3)
    with sandbox.courier(other) as courier:
        foreign = courier.connect().item(3)
    assert base != foreign
    for presented in (base, foreign, bytes(32), None):
        with sandbox.courier(identity) as courier:
            answer = courier.connect(base_token=presented)
            assert (answer.item(1), answer.item(3)) == (b"\0", base)


def test_the_signature_form_must_fit_the_key(sandbox):
    for key_type in ("ec", "rsa"):
        identity = sandbox.enrol(key_type=key_type)
        with sandbox.courier(identity) as courier:
            nonce = b"\0" + int(sandbox.now() * 1000).to_bytes(8, "big") + b"12345678"
            proof = identity.sign(nonce)
            wrong = {b"\x01\x01": b"\xc0\x02", b"\xc0\x02": b"\x01\x01"}[proof[:2]] + proof[2:]
            assert courier.connect(nonce=nonce, signature=wrong).item(1) == b"\x02"


def test_a_signature_by_another_key_is_refused(sandbox):
    with sandbox.courier(sandbox.enrol()) as courier:
        nonce = b"\0" + int(sandbox.now() * 1000).to_bytes(8, "big") + b"12345678"
        signature = b"\xc0\x02" + ec.generate_private_key(ec.SECP256R1()).sign(nonce, ec.ECDSA(hashes.SHA256()))
        assert courier.connect(nonce=nonce, signature=signature).item(1) == b"\x02"
        courier.wait_closed()


def test_rsa_can_be_switched_off(fresh):
    instance = fresh()
    identity = instance.enrol(key_type="rsa")
    settings = instance.directory / "carillon.conf"
    settings.write_text(settings.read_text() + "\ndevice.rsa = off\n")
    instance.admin.post("/v1/reload")
    nonce = b"\0" + int(instance.now() * 1000).to_bytes(8, "big") + b"12345678"
    signature = b"\x01\x01" + identity.key.sign(nonce, padding.PKCS1v15(), hashes.SHA1())
    with instance.courier(identity) as courier:
        assert courier.connect(nonce=nonce, signature=signature).item(1) == b"\x02"


def test_nothing_follows_connect_ack_until_the_device_speaks(sandbox):
    identity, (token,) = sandbox.offline(APP)
    assert sandbox.push(token).status == 200
    with sandbox.courier(identity) as courier:
        courier.connect()
        courier.pump(0.5)
        assert [message.command for message in courier.messages] == [CONNECT_ACK]
        courier.filter(enabled=[APP])
        assert courier.expect_notify()


# Framing


def test_frames_byte_by_byte_and_all_at_once(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        for byte in encode(KEEP_ALIVE, [(1, b"WiFi"), (5, b"10")]):
            courier.send_raw(bytes([byte]))
        courier.expect(KEEP_ALIVE_ACK)
        courier.send_raw(encode(KEEP_ALIVE, []) * 20)
        for _ in range(20):
            courier.expect(KEEP_ALIVE_ACK)
        assert sandbox.push(token).status == 200
        courier.expect_notify()


def test_unknown_commands_and_items_are_ignored(courier):
    for command in (15, 16, 19, 21, 25, 30, 32, 99, 255):
        courier.send(command, (1, b"x"), (250, b"y" * 300))
    courier.send(KEEP_ALIVE, (77, b"z"))
    courier.expect(KEEP_ALIVE_ACK)


def test_no_storage_answers_a_filter_before_a_later_token_ack(courier):
    base, hash = (1, courier.base_token), (2, topic_hash(APP))
    courier.send_raw(encode(FILTER, [base, hash]) + encode(TOKEN_REQUEST, [base, hash]))
    courier.expect(TOKEN_ACK)
    assert [message.command for message in courier.messages[-2:]] == [NO_STORAGE, TOKEN_ACK]
    assert courier.messages[-2].item(1) == courier.base_token


# Tokens


def test_a_token_stays_the_same(sandbox):
    identity, (token,) = sandbox.offline(APP)
    courier, (again,) = sandbox.online(APP, identity=identity)
    with courier:
        assert again == token and courier.token(APP) == token
        assert len(token) == 64 and token == token.lower()
        assert courier.token(f"{APP}.voip") != token


def test_the_app_id_is_echoed(courier):
    courier.send(TOKEN_REQUEST, (1, courier.base_token), (2, topic_hash(APP)), (3, b"\0\7"))
    assert courier.expect(TOKEN_ACK).item(4) == b"\0\7"


def test_a_token_for_an_unknown_topic_is_refused_and_the_session_stays(courier):
    courier.send(TOKEN_REQUEST, (1, courier.base_token), (2, topic_hash(UNKNOWN_TOPIC)))
    answer = courier.expect(TOKEN_ACK)
    assert (answer.item(1), answer.item(2), answer.item(3)) == (b"\x02", bytes(32), topic_hash(UNKNOWN_TOPIC))
    assert len(courier.token(APP)) == 64


def test_tokens_of_two_devices_differ(sandbox):
    tokens = set()
    for _ in range(3):
        courier, minted = sandbox.online(APP, OTHER_APP)
        courier.close()
        tokens |= set(minted)
    assert len(tokens) == 6


# Notify


def test_notify_has_what_every_client_needs(sandbox):
    courier, (token,) = sandbox.online(APP)
    with courier:
        expiration = int(sandbox.now()) + 600
        assert sandbox.push(token, {"apns-expiration": str(expiration)}).status == 200
        notification = courier.expect_notify()
        assert notification.token == token and notification.item(2) == topic_hash(APP)
        assert len(notification.id) == 4 and any(notification.id)
        assert notification.number(5) == expiration and len(notification.item(5)) == 4
        assert len(notification.item(6)) == 8 and abs(notification.number(6) / 1e9 - sandbox.now()) < 5
        assert notification.storage_flags == 0 and notification.priority == 10
        assert len(notification.item(7)) == len(notification.item(13)) == 1
        assert notification.item(15) == courier.base_token
        assert {id for id, _ in notification.items} <= {1, 2, 3, 4, 5, 6, 7, 13, 15}


def test_upstream_notify_is_refused_and_the_session_stays(courier):
    courier.send(NOTIFY, (1, topic_hash(APP)), (2, courier.base_token), (3, b"up"), (4, b"\1\2\3\4"))
    answer = courier.expect(NOTIFY_ACK)
    assert (answer.item(4), answer.item(8)) == (b"\1\2\3\4", b"\x03")
    courier.keep_alive()


def test_subscribe_is_answered(courier):
    courier.send(SUBSCRIBE, (1, b"\0\0\0\1"), (2, b"\x08\x01"), (3, courier.base_token))
    answer = courier.expect(SUBSCRIBE)
    assert (answer.item(1), answer.item(3)) == (b"\0\0\0\1", courier.base_token)
    assert answer.item(4)[0] != 0


def test_keep_alive_is_answered_at_once(courier):
    begun = time.monotonic()
    courier.keep_alive()
    assert time.monotonic() - begun < 1
