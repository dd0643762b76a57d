"""Who may connect, how others are turned away, and the limits of time and size (docs/device-protocol.md)."""

import datetime
import os
import pathlib
import socket
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from courier import CONNECT_ACK, FILTER, KEEP_ALIVE, NO_STORAGE, encode
from delivery import connect_followed_by, connected, live
from harness import APP, Identity, Sandbox, topic_hash

FULL_SET = {1, 3, 4, 5, 6, 8, 10}


class Forged(Identity):
    """A key with whatever certificate; nothing is enrolled."""

    def __init__(self, key, certificate: x509.Certificate):
        self.key = key
        self.certificate = certificate
        self.der = certificate.public_bytes(serialization.Encoding.DER)


class Authority:
    """The instance's CA, as somebody who stole its key, or a stranger who gave himself its name."""

    def __init__(self, instance: Sandbox, stranger: bool = False):
        path = pathlib.Path(instance.facts["ca"])
        self.certificate = x509.load_pem_x509_certificate(path.read_bytes())
        self.key = serialization.load_pem_private_key(path.with_name("ca.key").read_bytes(), None)
        if stranger:
            self.key = ec.generate_private_key(ec.SECP256R1())

    def issue(self, identity: Identity, usage=None, keep: bool = True, days: tuple[int, int] = (-1, 30), key=None):
        """A certificate like the device's own, with this change."""
        now = datetime.datetime.now(datetime.timezone.utc)
        key = key or identity.key
        builder = (
            x509.CertificateBuilder()
            .subject_name(identity.certificate.subject)
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + datetime.timedelta(days=days[0]))
            .not_valid_after(now + datetime.timedelta(days=days[1]))
        )
        usages = [usage] if usage else []
        for extension in identity.certificate.extensions if keep else ():
            if isinstance(extension.value, x509.ExtendedKeyUsage):
                usages += list(extension.value)
            elif not isinstance(extension.value, (x509.AuthorityKeyIdentifier, x509.SubjectKeyIdentifier)):
                builder = builder.add_extension(extension.value, extension.critical)
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), False)
        return Forged(key, builder.sign(self.key, hashes.SHA256()))


def nonce(instance, seconds: float = 0, tag: int = 0, length: int = 17) -> bytes:
    made = bytes([tag]) + int((instance.now() + seconds) * 1000).to_bytes(8, "big") + os.urandom(8)
    return made[:length].ljust(length, b"\0")


def handshakes(instance) -> dict:
    return {labels: value for (name, labels), value in instance.admin.metrics().items()
            if name == "carillon_device_handshakes_total"}  # fmt: skip


def assert_refused(instance, identity: Identity, **changes: bytes) -> None:
    """Status 2 with everything a client's parser wants, then FIN."""
    with instance.courier(identity) as courier:
        answer = courier.connect(**changes)
        assert answer.item(1) == b"\2"
        assert FULL_SET <= {id for id, _ in answer.items}
        assert [len(answer.item(id)) for id in (3, 4, 8, 10)] == [32, 2, 2, 8]
        courier.wait_closed(5)
        assert not courier.was_reset
        assert [message.command for message in courier.messages] == [CONNECT_ACK]


# Who is turned away


CERTIFICATES = {
    "foreign authority": lambda i, d: Authority(i, stranger=True).issue(d),
    "server's purpose": lambda i, d: Authority(i).issue(d, ExtendedKeyUsageOID.SERVER_AUTH, keep=False),
    "provider's purpose": lambda i, d: Authority(i).issue(d, ExtendedKeyUsageOID.CLIENT_AUTH, keep=False),
    "device and server": lambda i, d: Authority(i).issue(d, ExtendedKeyUsageOID.SERVER_AUTH),
    "device and provider": lambda i, d: Authority(i).issue(d, ExtendedKeyUsageOID.CLIENT_AUTH),
    "no purpose": lambda i, d: Authority(i).issue(d, keep=False),
    "expired": lambda i, d: Authority(i).issue(d, days=(-30, -1)),
    "not yet valid": lambda i, d: Authority(i).issue(d, days=(1, 30)),
    "key not enrolled": lambda i, d: Authority(i).issue(d, key=ec.generate_private_key(ec.SECP256R1())),
}


@pytest.mark.sanitizer
@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_certificate_for_something_else_is_refused(sandbox, kind):
    device = sandbox.enrol()
    assert_refused(sandbox, CERTIFICATES[kind](sandbox, device))
    with connected(sandbox, device):
        pass


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", ["server", "ca"])
def test_the_gateways_own_certificates_are_no_devices(sandbox, name):
    folder = pathlib.Path(sandbox.facts["ca"]).parent
    certificate = x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
    key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), None)
    assert_refused(sandbox, Forged(key, certificate))


def test_a_certificate_of_another_instance_is_refused(sandbox, apple):
    assert_refused(sandbox, apple.enrol())


def test_a_self_signed_certificate_is_refused(sandbox):
    device = sandbox.enrol()
    authority = Authority(sandbox)
    authority.key = device.key
    assert_refused(sandbox, authority.issue(device))


@pytest.mark.parametrize("der", [b"\x30", b"\x30\x82\xff\xff", b"nonsense" * 100, bytes(16), b"\x30\x80" * 500])
def test_what_is_no_certificate_is_refused(sandbox, der):
    assert_refused(sandbox, sandbox.enrol(), certificate=der)


def test_half_a_certificate_is_refused(sandbox):
    device = sandbox.enrol()
    for cut in (1, len(device.der) // 2, len(device.der) - 1):
        assert_refused(sandbox, device, certificate=device.der[:cut])


@pytest.mark.sanitizer
def test_a_removed_device_is_refused(sandbox):
    device = sandbox.enrol()
    with connected(sandbox, device) as courier:
        sandbox.admin.delete(f"/v1/devices/{device.id}")
        courier.wait_closed()
        assert not courier.was_reset
    assert_refused(sandbox, device)


@pytest.mark.sanitizer
@pytest.mark.parametrize("key_type", ["ec", "rsa"])
def test_a_bad_signature_is_refused(sandbox, key_type):
    device = sandbox.enrol(key_type=key_type)
    good = device.sign(nonce(sandbox))
    flipped = good[:-1] + bytes([good[-1] ^ 1])
    for signature in (good, flipped, good[:2], good[:1], b"\xc0\x03" + good[2:], b"\1\2" + good[2:], good + b"\0"):
        assert_refused(sandbox, device, nonce=nonce(sandbox), signature=signature)


@pytest.mark.sanitizer
@pytest.mark.parametrize("change", [{"seconds": -360}, {"seconds": 360}, {"tag": 1}, {"length": 16}, {"length": 18}])
def test_a_stale_or_misshapen_nonce_is_refused(sandbox, change):
    assert_refused(sandbox, sandbox.enrol(), nonce=nonce(sandbox, **change))


@pytest.mark.parametrize("seconds", [-270, 270])
def test_five_minutes_are_tolerated(sandbox, seconds):
    with sandbox.courier(sandbox.enrol()) as courier:
        assert courier.connect(nonce=nonce(sandbox, seconds)).item(1) == b"\0"


@pytest.mark.sanitizer
def test_a_nonce_is_good_once_for_each_key(sandbox):
    device, other = sandbox.enrol(), sandbox.enrol()
    used = nonce(sandbox)
    for identity in (device, other):
        with sandbox.courier(identity) as courier:
            assert courier.connect(nonce=used).item(1) == b"\0"
    # A fresh signature over the same nonce, and on several connections, so that any loop may get it.
    for _ in range(4):
        assert_refused(sandbox, device, nonce=used)


def test_a_nonce_stays_used_as_long_as_it_is_fresh(clocked):
    device = clocked.enrol()
    used = nonce(clocked, 240)
    with clocked.courier(device) as courier:
        assert courier.connect(nonce=used).item(1) == b"\0"
    clocked.advance("4m")
    assert_refused(clocked, device, nonce=used)
    clocked.advance("4m")
    assert_refused(clocked, device, nonce=used)


@pytest.mark.parametrize("missing", [12, 13, 14])
def test_a_connect_without_proof_is_refused(sandbox, missing):
    device = sandbox.enrol()
    used = nonce(sandbox)
    items = [(2, b"\1"), (12, device.der), (13, used), (14, device.sign(used))]
    with sandbox.courier(device) as courier:
        courier.send(7, *[item for item in items if item[0] != missing])
        answer = courier.expect(CONNECT_ACK)
        assert answer.item(1) == b"\2" and FULL_SET <= {id for id, _ in answer.items}
        courier.wait_closed(5)
        assert not courier.was_reset


def test_a_short_rsa_key_is_turned_away(sandbox):
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "short")])
    csr = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    text = csr.public_bytes(serialization.Encoding.PEM).decode()
    status, answer = sandbox.admin.request("POST", "/v1/devices", {"name": "short", "csr": text})
    assert status in (201, 400)
    if status == 201:
        assert_refused(sandbox, Forged(key, x509.load_pem_x509_certificate(answer["certificate"].encode())))


def test_the_extended_form_wants_its_own_signature(sandbox):
    """There the signature covers more than the nonce, so that a hostile server cannot use it elsewhere."""
    device = sandbox.enrol()
    with sandbox.courier(device, alpn=("carillon-push/1", "apns-security-v3")) as courier:
        assert courier.socket.selected_alpn_protocol() == "carillon-push/1"
        assert courier.connect().item(1) == b"\2"
        courier.wait_closed(5)
        assert not courier.was_reset


def test_handshakes_are_counted_by_result(sandbox):
    device = sandbox.enrol()
    before = handshakes(sandbox)
    with connected(sandbox, device):
        after_good = handshakes(sandbox)
    assert_refused(sandbox, device, signature=b"\xc0\2bad")
    after_bad = handshakes(sandbox)
    good = {labels for labels, value in after_good.items() if value > before.get(labels, 0)}
    bad = {labels for labels, value in after_bad.items() if value > after_good.get(labels, 0)}
    assert good and bad and not good & bad


@pytest.mark.sanitizer
def test_one_who_talks_on_is_still_told_and_closed_with_fin(sandbox):
    """Unread bytes in the socket would turn the close into a reset, and the reset eats the answer."""
    device = sandbox.enrol()
    for _ in range(5):
        with sandbox.courier(device) as courier:
            extra = encode(FILTER, [(1, bytes(32)), (2, topic_hash(APP))]) + encode(KEEP_ALIVE, [(8, bytes(12000))]) * 4
            answer = connect_followed_by(courier, extra, signature=b"\xc0\2bad")
            assert answer.item(1) == b"\2"
            courier.wait_closed(5)
            assert not courier.was_reset


# Time and size


@pytest.mark.sanitizer
def test_one_who_says_nothing_is_closed_after_ten_seconds(clocked):
    with socket.create_connection(("127.0.0.1", clocked.device_port), 5) as silent:
        with clocked.courier(clocked.enrol()) as courier:
            courier.pump(0.2)
            clocked.advance("8s")
            courier.pump(0.2)
            assert not courier.closed
            clocked.advance("3s")
            courier.wait_closed(5)
            assert not courier.was_reset
        assert silent.recv(1) == b""


@pytest.mark.parametrize("before", [True, False])
def test_a_frame_beyond_the_limit_closes(sandbox, before):
    courier = sandbox.courier(sandbox.enrol()) if before else connected(sandbox, sandbox.enrol())
    with courier:
        courier.send_raw(bytes([12]) + (20_000 if before else 300_000).to_bytes(4, "big") + bytes(1000))
        courier.wait_closed(5)


def test_a_large_filter_is_read_whole(sandbox):
    with connected(sandbox, sandbox.enrol()) as courier:
        courier.send(FILTER, (1, courier.base_token), *[(2, os.urandom(20)) for _ in range(4000)])
        courier.expect(NO_STORAGE)


def test_connect_byte_by_byte(sandbox):
    with sandbox.courier(sandbox.enrol()) as courier:
        send = courier.send_raw

        def drip(data: bytes) -> None:
            for at in range(0, len(data), 7):
                send(data[at : at + 7])

        courier.send_raw = drip
        assert courier.connect().item(1) == b"\0"
        assert courier.token(APP)


@pytest.mark.parametrize("name", [None, "anything.example", "7-courier.push.apple.com"])
def test_any_server_name_will_do(sandbox, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(sandbox.facts["ca"])
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", sandbox.device_port), 5) as plain:
        with context.wrap_socket(plain, server_hostname=name) as secure:
            assert secure.selected_alpn_protocol() is None
            secure.sendall(encode(KEEP_ALIVE, []))


# Idle time


def test_a_silent_device_is_closed_after_a_quarter_of_an_hour(clocked):
    courier, _ = live(clocked)
    clocked.advance("14m")
    courier.keep_alive()
    clocked.advance("14m")
    courier.keep_alive()
    clocked.advance("16m")
    courier.wait_closed()
    assert not courier.was_reset


@pytest.mark.parametrize("interval", [b"20", (20).to_bytes(2, "big")])
def test_a_device_that_announces_its_interval_gets_twice_that(clocked, interval):
    courier, _ = live(clocked)
    courier.send(12, (1, b"WiFi"), (5, interval))
    courier.expect(13)
    clocked.advance("35m")
    courier.keep_alive()
    clocked.advance("41m")
    courier.wait_closed()
    assert not courier.was_reset


def test_a_short_interval_shortens_nothing(clocked):
    courier, _ = live(clocked)
    with courier:
        courier.send(12, (5, b"02"))
        courier.expect(13)
        clocked.advance("14m")
        courier.keep_alive()
