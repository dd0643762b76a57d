"""Devices that resume their TLS session (`device.tls.resume`), over TLS of other hands."""

import signal
import socket
import ssl
import subprocess
import time

import pytest
from cryptography.hazmat.primitives import serialization

from courier import CONNECT_ACK, KEEP_ALIVE, WAIT_SECONDS, encode, unverified_context
from delivery import receive_push
from harness import APP, Sandbox
from instance import binary, clean_environment
from test_bench import bench
from tls_peers import PROTOCOL, OtherCourier

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


@pytest.fixture(scope="module", params=["on", "off"], ids=["detached", "OpenSSL"])
def resuming(request):
    """Two loops, so that a device comes back to either, and moves from one to the other."""
    with Sandbox({"device.tls.resume": "on", "device.tls.detach": request.param, "threads": "2"}) as instance:
        yield instance


class Device:
    """A device that offers the session of its last connection to the next."""

    def __init__(self, instance: Sandbox, version: ssl.TLSVersion = TLS13):
        self.instance = instance
        self.identity = instance.enrol()
        self.context = unverified_context(version=version)
        self.session: ssl.SSLSession | None = None

    def dial(self) -> OtherCourier:
        plain = socket.create_connection(("127.0.0.1", self.instance.device_port), WAIT_SECONDS)
        tls = self.context.wrap_socket(plain, server_hostname="localhost", session=self.session)
        return OtherCourier(self.instance, self.identity, tls)

    def connect(self) -> OtherCourier:
        courier = self.dial()
        assert courier.connect().item(1) == b"\0"
        # The ticket came before the answer.
        self.session = courier.socket.session
        return courier


def test_pushes_arrive_on_a_resumed_session(resuming):
    device = Device(resuming)
    with device.connect() as courier:
        assert not courier.socket.session_reused
    with device.connect() as courier:
        assert courier.socket.session_reused
        receive_push(resuming, courier)


def test_every_loop_takes_the_tickets_of_every_other(resuming):
    device = Device(resuming)
    device.connect().close()
    for _ in range(16):
        with device.connect() as courier:
            assert courier.socket.session_reused
            courier.keep_alive()


def test_a_resumed_session_proves_nothing_about_the_device(resuming):
    device = Device(resuming)
    device.connect().close()
    with device.dial() as courier:
        assert courier.socket.session_reused
        assert courier.connect(signature=b"\xc0\x02" + bytes(70)).item(1) == b"\x02"
        courier.wait_closed()
    with device.dial() as courier:
        courier.send(KEEP_ALIVE)
        assert courier.expect(CONNECT_ACK).item(1) == b"\x02"
        courier.wait_closed()


def test_a_reload_ends_all_tickets(resuming):
    device = Device(resuming)
    device.connect().close()
    resuming.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        old = device.session
        with device.connect() as courier:
            if not courier.socket.session_reused:
                break
        device.session = old
        assert time.monotonic() < deadline, "the gateway still takes the ticket"
    with device.connect() as courier:
        receive_push(resuming, courier)


def test_older_tls_has_no_tickets(resuming):
    device = Device(resuming, TLS12)
    for _ in range(2):
        with device.connect() as courier:
            assert not courier.socket.session_reused
            assert not device.session.has_ticket
            receive_push(resuming, courier)


def s_client(instance: Sandbox, *arguments: str) -> str:
    """What `openssl s_client` tells of a connection, which the gateway closes for it speaks before the Connect."""
    address = f"127.0.0.1:{instance.device_port}"
    done = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-alpn", PROTOCOL, "-ign_eof", *arguments],
        input=encode(KEEP_ALIVE, []), capture_output=True, timeout=WAIT_SECONDS,
    )  # fmt: skip
    return done.stdout.decode(errors="replace")


def test_s_client_resumes(resuming, tmp_path):
    first = s_client(resuming, "-tls1_3", "-sess_out", str(tmp_path / "session"))
    assert "New, TLSv1.3" in first and first.count("New Session Ticket arrived") == 1
    assert "TLS session ticket lifetime hint: 43200 (seconds)" in first
    assert "Max Early Data: 0" in first
    second = s_client(resuming, "-tls1_3", "-sess_in", str(tmp_path / "session"))
    assert "Reused, TLSv1.3" in second and second.count("New Session Ticket arrived") == 1


def test_connects_of_a_bench_resume_after_their_first(resuming):
    # The warm-up is each device's first; ours speaks the extended form, whose proof covers the resumed session.
    load = ("connects", "--count", "40", "--devices", "4", "--parallel", "3")
    assert bench(resuming, *load, "--resume")["resumed"] == 40
    assert bench(resuming, *load)["resumed"] is None


def test_connects_of_a_bench_count_what_was_not_resumed(sandbox):
    assert bench(sandbox, "connects", "--count", "8", "--devices", "4", "--resume")["resumed"] == 0


def test_device_listen_offers_its_last_session(sandbox, tmp_path):
    pki, identity = sandbox.directory / "pki", sandbox.enrol()
    (tmp_path / "device.pem").write_bytes(identity.certificate.public_bytes(serialization.Encoding.PEM))
    key = identity.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "device.key").write_bytes(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.pem", pki / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_SECONDS)
        arguments = ["device", "listen", "--device", f"127.0.0.1:{listener.getsockname()[1]}", "--topic", APP]
        for name, file in {"certificate": "device.pem", "key": "device.key"}.items():
            arguments += [f"--{name}", str(tmp_path / file)]
        arguments += ["--ca", str(pki / "ca.pem"), "--config", sandbox.facts["config"]]
        device = subprocess.Popen([binary(), *arguments], env=clean_environment(), stdout=subprocess.DEVNULL)
        try:
            reused = [leave_after_connect(listener, context) for _ in range(2)]
        finally:
            device.kill()
            device.wait()
    assert reused == [False, True]


def leave_after_connect(listener: socket.socket, context: ssl.SSLContext) -> bool:
    """A gateway that has nothing to say to a device; whether that resumed its session."""
    plain, _ = listener.accept()
    plain.settimeout(WAIT_SECONDS)
    with context.wrap_socket(plain, server_side=True) as tls:
        # With the Connect read no reset takes the tickets back, and once the device has closed it has read them.
        assert tls.recv(65_536)
        was_reused = tls.session_reused
        tls.shutdown(socket.SHUT_WR)
        while tls.recv(65_536):
            pass
        return was_reused


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_there_are_no_tickets_by_default(sandbox, version):
    told = s_client(sandbox, version)
    assert "New, TLSv1" in told
    assert "icket arrived" not in told and "TLS session ticket:" not in told
