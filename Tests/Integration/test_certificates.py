"""Certificates over the years: renewed, replaced with their authority, warned of, and files that are half replaced."""

import concurrent.futures
import datetime
import json
import pathlib
import re
import socket
import ssl
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from delivery import leave, live, push, received
from harness import APP, command
from instance import until
from test_command_line import assert_refused, serve

DAY = 86_400
PEM_END = "-----END CERTIFICATE-----\n"


def run(instance, *words: str, status: int = 0):
    """A command that speaks to this gateway; its JSON, or its standard error if it is to fail."""
    url = f"http://127.0.0.1:{instance.admin_port}"
    done = command(*words, "--config", instance.facts["config"], "--admin", url, "--json")
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout if status == 0 else done.stderr)


def pki(instance, name: str) -> pathlib.Path:
    return instance.directory / "pki" / name


def served(instance, port: int | None = None) -> x509.Certificate:
    """The certificate that a new connection is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port or instance.provider_port), 10) as plain:
        with context.wrap_socket(plain) as wrapped:
            return x509.load_der_x509_certificate(wrapped.getpeercert(True))


def names(certificate: x509.Certificate) -> list[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in found]


def certificates(instance) -> dict[str, dict]:
    return {item["name"]: item for item in instance.admin.get("/v1/certificates")["items"]}


def verifies(port: int, ca: pathlib.Path) -> bool:
    """Whether OpenSSL's own client believes the server when it trusts these authorities alone."""
    words = ["-connect", f"127.0.0.1:{port}", "-CAfile", str(ca), "-verify_return_error"]
    words += ["-verify_hostname", "localhost"]
    done = subprocess.run(["openssl", "s_client", *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    return done.returncode == 0 and b"Verify return code: 0 (ok)" in done.stdout


def renew(instance, identity) -> None:
    """A new certificate for the device's key, as `carillon device renew` asks for it."""
    answer = instance.admin.add_device("phone", csr=identity._request("phone"))
    assert answer["id"] == identity.id
    identity.certificate = x509.load_pem_x509_certificate(answer["certificate"].encode())
    identity.der = identity.certificate.public_bytes(serialization.Encoding.DER)


def make_server_certificate(instance, *, days: int, issuer=None, authority_key=None) -> None:
    """Puts a server's certificate that somebody else made into the instance, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.timezone.utc)
    authority_key = authority_key or ec.generate_private_key(ec.SECP256R1())
    issuer = issuer or x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Somebody else")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=100))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.DNSName("a.example")]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .sign(authority_key, hashes.SHA256())
    )
    pki(instance, "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pki(instance, "server.key").write_bytes(private_pem(key))


def private_pem(key) -> bytes:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form)


# The server's certificate


@pytest.mark.sanitizer
def test_a_renewed_certificate_is_served_at_once_and_disturbs_nobody(fresh):
    instance = fresh()
    before, key = served(instance), pki(instance, "server.key").read_text()
    courier, (token,) = live(instance)
    with courier, instance.client() as client:
        assert instance.push_on(client, token, body=b'{"n":1}').status == 200
        for _ in range(2):
            made = run(instance, "certificate", "renew")
            assert set(made) == {"certificate", "key", "notAfter", "reloaded"} and made["reloaded"] is True
            after = served(instance)
            assert after.serial_number != before.serial_number and names(after) == names(before)
            assert served(instance, instance.device_port).serial_number == after.serial_number
            before = after
        assert instance.push_on(client, token, body=b'{"n":2}').status == 200
        assert received(courier, 2) == [1, 2]
    assert pki(instance, "server.key").read_text() != key
    for name in ("server.key", "server.pem"):
        assert pki(instance, name).stat().st_mode & 0o777 == 0o600
    assert {path.name for path in pki(instance, "").iterdir()} == {"ca.key", "ca.pem", "server.key", "server.pem"}
    instance.restart()
    assert served(instance).serial_number == before.serial_number


def test_a_renewed_certificate_has_the_names_that_were_said(fresh):
    instance = fresh()
    run(instance, "certificate", "renew", "--host", "push.example.com", "--host", "192.0.2.7")
    wanted = ["localhost", "127.0.0.1", "::1", "push.example.com", "192.0.2.7"]
    assert names(served(instance)) == wanted
    run(instance, "certificate", "renew")
    assert names(served(instance)) == wanted
    assert certificates(instance)["server"]["names"] == wanted


def test_a_certificate_that_somebody_else_made_is_left_alone(fresh):
    instance = fresh()
    make_server_certificate(instance, days=90)
    before = pki(instance, "server.pem").read_text()
    error = run(instance, "certificate", "renew", status=1)
    assert "was not made by this instance's authority" in error["error"]["message"]
    assert pki(instance, "server.pem").read_text() == before


def test_a_gateway_whose_certificate_has_ended_gets_a_new_one_without_running(fresh):
    instance = fresh()
    instance.stop()
    authority = x509.load_pem_x509_certificate(pki(instance, "ca.pem").read_bytes())
    key = serialization.load_pem_private_key(pki(instance, "ca.key").read_bytes(), None)
    make_server_certificate(instance, days=-1, issuer=authority.subject, authority_key=key)
    assert_refused(serve(instance), "expired on", "carillon certificate renew")
    made = run(instance, "certificate", "renew")
    assert made["reloaded"] is False
    instance.start()
    assert names(served(instance)) == ["localhost", "a.example"]


def test_whichever_of_the_two_files_was_replaced_the_pair_is_whole(fresh):
    """The states of the files between the steps of a renewal, as a crash would leave them."""
    instance = fresh()
    old = {name: pki(instance, name).read_text() for name in ("server.pem", "server.key")}
    run(instance, "certificate", "renew")
    new = {name: pki(instance, name).read_text() for name in ("server.pem", "server.key")}
    pki(instance, "server.key").write_text(old["server.key"] + new["server.key"])
    for certificate in (old, new):
        pki(instance, "server.pem").write_text(certificate["server.pem"])
        instance.admin.post("/v1/reload")
        wanted = x509.load_pem_x509_certificate(certificate["server.pem"].encode())
        assert served(instance).serial_number == wanted.serial_number
        instance.restart()
        assert served(instance).serial_number == wanted.serial_number
    run(instance, "certificate", "renew")
    assert pki(instance, "server.key").read_text().count("BEGIN PRIVATE KEY") == 1


@pytest.mark.sanitizer
def test_a_reload_of_broken_files_says_so_and_changes_nothing(fresh):
    instance = fresh()
    before = served(instance)
    good = pki(instance, "server.pem").read_text()
    for broken in ("", "no certificate", good[: len(good) // 2], pki(instance, "ca.pem").read_text()):
        pki(instance, "server.pem").write_text(broken)
        status, body = instance.admin.request("POST", "/v1/reload")
        assert status == 422 and body["error"]["code"] == "unusable", body
        assert "server" in body["error"]["message"]
        assert served(instance).serial_number == before.serial_number
    pki(instance, "server.pem").write_text(good)
    assert instance.admin.post("/v1/reload") == {"reloaded": True}


# The authority


@pytest.mark.sanitizer
def test_an_authority_is_replaced_while_its_devices_and_clients_go_on(fresh):
    instance = fresh()
    folder = instance.directory.parent
    (folder / "old.pem").write_text(pki(instance, "ca.pem").read_text())
    courier, (token,) = live(instance)
    old_device = courier.identity

    made = run(instance, "certificate", "roll-over")
    assert made["reloaded"] is True and made["ca"] == str(pki(instance, "ca.pem"))
    both = pki(instance, "ca.pem").read_text()
    (folder / "new.pem").write_text(both.split(PEM_END)[0] + PEM_END)
    assert both.endswith((folder / "old.pem").read_text())
    for port in (instance.provider_port, instance.device_port):
        for name in ("old", "new"):
            assert verifies(port, folder / f"{name}.pem"), f"with the {name} authority"
    # An open session goes on, an old device comes in, and a new one.
    push(instance, token, 1)
    assert received(courier, 1) == [1]
    leave(instance, courier)
    live(instance, APP, identity=old_device)[0].close()
    courier, _ = live(instance)
    courier.close()
    counts = certificates(instance)
    assert (counts["authority"]["devices"], counts["authority_retiring"]["devices"]) == (1, 1)
    for name in ("authority", "authority_retiring"):
        assert counts[name]["firstDeviceNotAfter"] <= counts[name]["notAfter"]
    error = run(instance, "certificate", "roll-over", status=1)
    assert error["error"]["code"] == "exists"

    error = run(instance, "certificate", "finish-roll-over", status=1)
    assert error["error"]["code"] == "in_use" and "1 device " in error["error"]["message"]
    # A server's certificate made meanwhile is believed by all as well.
    run(instance, "certificate", "renew")
    assert verifies(instance.provider_port, folder / "old.pem")
    renew(instance, old_device)
    run(instance, "certificate", "finish-roll-over")
    assert "authority_retiring" not in certificates(instance)
    assert pki(instance, "ca.pem").read_text() == (folder / "new.pem").read_text()
    assert not pki(instance, "ca-cross.pem").exists()
    assert verifies(instance.provider_port, folder / "new.pem")
    assert not verifies(instance.provider_port, folder / "old.pem")
    courier, tokens = live(instance, APP, identity=old_device)
    assert tokens == [token]
    courier.close()
    instance.restart()
    assert verifies(instance.provider_port, folder / "new.pem")


def test_a_roll_over_that_is_forced_shuts_out_who_depends_on_the_old(fresh):
    instance = fresh()
    identity, _ = instance.offline(APP)
    run(instance, "certificate", "roll-over")
    run(instance, "certificate", "finish-roll-over", "--force")
    courier = instance.courier(identity)
    assert courier.connect().item(1) != b"\0"
    assert instance.admin.metric("device_handshakes_total", result="foreign_certificate") == 1
    renew(instance, identity)
    live(instance, APP, identity=identity)[0].close()


def test_an_authority_that_may_sign_no_other_is_replaced_as_well(fresh):
    """Path length 0, as authorities were made first: its successor is itself under another key."""
    instance = fresh()
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Carillon CA")])
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = dict.fromkeys(
        ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"]
        + ["encipher_only", "decipher_only"], False,
    )  # fmt: skip
    authority = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=100))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    old = instance.directory.parent / "old.pem"
    old.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    pki(instance, "ca.pem").write_bytes(old.read_bytes())
    pki(instance, "ca.key").write_bytes(private_pem(key))
    pki(instance, "server.pem").unlink()
    run(instance, "certificate", "renew")
    assert verifies(instance.provider_port, old)
    run(instance, "certificate", "roll-over")
    assert verifies(instance.provider_port, old)
    # None ends later than what signed it.
    ends = {name: item["notAfter"] for name, item in certificates(instance).items()}
    assert ends["authority_retiring"] < ends["server"] < ends["authority"]


# Time


def test_what_ends_soon_is_told_once_for_each_step(fresh):
    instance = fresh()

    def told() -> list[tuple[str, str | None]]:
        lines = [json.loads(line) for line in instance.standard_error if "a certificate " in line]
        return [(line["name"], line.get("days")) for line in lines]

    left = certificates(instance)["server"]["secondsLeft"]
    steps = [(31, None), (29, "30"), (28, None), (13, "14"), (6, "7"), (0.5, "1"), (-1, None)]
    wanted = []
    for days, step in steps:
        now_left = left - instance.clock_offset
        instance.advance(f"{int(now_left - days * DAY)}s")
        metrics = instance.admin.metrics()
        seconds = metrics["carillon_certificate_expires_in_seconds", frozenset({("name", "server")})]
        assert abs(seconds - days * DAY) < 60
        if step:
            wanted.append(("server", step))
        expected = wanted + [("server", None)] if days < 0 else wanted
        until(lambda: told() == expected, told)
    assert instance.admin.get("/v1/status")["certificateSecondsLeft"] < 0
    assert certificates(instance)["authority"]["secondsLeft"] > 2000 * DAY


# Devices


def test_a_device_gets_a_new_certificate_and_keeps_all_else(fresh):
    instance = fresh()
    folder = instance.directory.parent / "kitchen"
    made = run(instance, "device", "enroll", "--name", "kitchen", "--out", str(folder))
    before = (folder / "device.pem").read_text()
    renewed = run(instance, "device", "renew", "--out", str(folder))
    assert renewed == made
    assert (folder / "device.pem").read_text() != before
    assert (folder / "device.pem").stat().st_mode & 0o777 == 0o600
    assert instance.admin.get(f"/v1/devices/{made['id']}")["name"] == "kitchen"
    assert len(instance.admin.get("/v1/devices")["items"]) == 1


def test_a_key_that_is_not_enrolled_is_not_renewed(fresh):
    instance = fresh()
    folder = instance.directory.parent / "kitchen"
    made = run(instance, "device", "enroll", "--name", "kitchen", "--out", str(folder))
    instance.admin.delete(f"/v1/devices/{made['id']}")
    error = run(instance, "device", "renew", "--out", str(folder), status=1)
    assert error["error"]["code"] == "not_found"


@pytest.mark.sanitizer
def test_a_renewal_leaves_session_tokens_and_queue(fresh):
    instance = fresh()
    courier, (token,) = live(instance)
    renew(instance, courier.identity)
    push(instance, token, 1)
    assert received(courier, 1) == [1]
    leave(instance, courier)
    push(instance, token, 2)
    renew(instance, courier.identity)
    courier, tokens = live(instance, APP, identity=courier.identity)
    assert tokens == [token] and received(courier, 1) == [2]


def request_for(key) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "phone")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    "settings, bits, said",
    [
        ({}, 1024, "device.minimumRSABits is 2048"),
        ({"device.minimumRSABits": "3072"}, 2048, "device.minimumRSABits is 3072"),
        ({"device.rsa": "off"}, 2048, "device.rsa is off"),
    ],
)
def test_a_key_that_could_not_connect_is_not_enrolled(fresh, settings, bits, said):
    instance = fresh(settings)
    csr = request_for(rsa.generate_private_key(public_exponent=65537, key_size=bits))
    status, body = instance.admin.request("POST", "/v1/devices", {"name": "phone", "csr": csr})
    assert status == 400 and said in body["error"]["message"], body
    assert instance.admin.get("/v1/devices")["items"] == []
    if settings.get("device.rsa") != "off":
        made = instance.admin.add_device("phone", key_type="rsa")
        assert re.match("-----BEGIN PRIVATE KEY-----", made["privateKey"])


@pytest.mark.parametrize("word", ["renew", "roll-over"])
def test_two_commands_at_once_leave_pairs(fresh, word):
    instance = fresh()
    url = f"http://127.0.0.1:{instance.admin_port}"
    words = ["certificate", word, "--config", instance.facts["config"], "--admin", url]
    for _ in range(3):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            done = list(threads.map(lambda _: command(*words).returncode, range(4)))
        assert 0 in done
        for name in ("server", "ca"):
            certificate = x509.load_pem_x509_certificate(pki(instance, f"{name}.pem").read_bytes())
            key = serialization.load_pem_private_key(pki(instance, f"{name}.key").read_bytes(), None)
            assert certificate.public_key() == key.public_key()
        if word == "roll-over":
            assert done.count(0) == 1
            run(instance, "certificate", "finish-roll-over", "--force")
    instance.restart()
