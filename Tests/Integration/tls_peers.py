"""Devices whose TLS is somebody else's and does more than Python's: `openssl s_client`, and tlslite-ng, which can be
made to send what no good client sends."""

import os
import socket
import ssl
import subprocess
import threading

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import KeyUpdateMessageType
from tlslite.errors import TLSAbruptCloseError, TLSRemoteAlert
from tlslite.messages import Message as Record

from courier import WAIT_SECONDS, Courier, Identity

# Each suite of TLS 1.3 by its name, and its cipher by tlslite-ng's.
SUITES = {
    "TLS_AES_128_GCM_SHA256": "aes128gcm",
    "TLS_AES_256_GCM_SHA384": "aes256gcm",
    "TLS_CHACHA20_POLY1305_SHA256": "chacha20-poly1305",
}
PROTOCOL = "apns-security-v3"


class OpenSSLSocket:
    """`openssl s_client` as the part of `ssl.SSLSocket` that a courier uses."""

    def __init__(self, port: int, suite: str):
        arguments = ["-connect", f"127.0.0.1:{port}", "-tls1_3", "-ciphersuites", suite, "-alpn", PROTOCOL]
        self.process = subprocess.Popen(
            ["openssl", "s_client", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.key_updates = threading.Semaphore(0)
        threading.Thread(target=self._listen, daemon=True).start()
        self._skip_report()

    def _skip_report(self) -> None:
        """What s_client tells of the handshake, which is all text, ends with these two lines."""
        report = b""
        while not (b"Verify return code" in report and report.endswith(b"---\n")):
            more = os.read(self.process.stdout.fileno(), 1)
            assert more, f"s_client gave up: {report}"
            report += more

    def _listen(self) -> None:
        for line in self.process.stderr:
            if b"KEYUPDATE" in line:
                self.key_updates.release()

    def update_keys(self, asking: bool) -> None:
        """A line of one letter is a command to s_client."""
        self.process.stdin.write(b"K\n" if asking else b"k\n")
        assert self.key_updates.acquire(timeout=WAIT_SECONDS), "s_client sent no KeyUpdate"

    def sendall(self, data: bytes) -> None:
        self.process.stdin.write(data)

    def recv(self, size: int) -> bytes:
        return os.read(self.process.stdout.fileno(), size)

    def pending(self) -> int:
        return 0

    def settimeout(self, _: float) -> None:
        """`select` comes before each read."""

    def fileno(self) -> int:
        return self.process.stdout.fileno()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class ChangedSocket:
    """A socket on which what is written is changed on its way, as long as `change` is set."""

    def __init__(self, plain: socket.socket):
        self.plain = plain
        self.change = None

    def send(self, data: bytes) -> int:
        self.plain.sendall(self.change(bytearray(data)) if self.change else data)
        return len(data)

    sendall = send

    def __getattr__(self, name: str):
        return getattr(self.plain, name)


class LiteSocket:
    """tlslite-ng as the part of `ssl.SSLSocket` that a courier uses, and what it can do beyond."""

    def __init__(self, port: int, suite: str = "TLS_AES_128_GCM_SHA256"):
        plain = socket.create_connection(("127.0.0.1", port), WAIT_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wire = ChangedSocket(plain)
        settings = HandshakeSettings()
        settings.minVersion = settings.maxVersion = (3, 4)
        settings.cipherNames = [SUITES[suite]]
        self.tls = TLSConnection(self.wire)
        self.tls.closeSocket = False
        self.tls.handshakeClientCert(settings=settings, alpn=[bytearray(PROTOCOL.encode())])
        self.alert: int | None = None

    def send_record(self, kind: int, content: bytes) -> None:
        """One encrypted record of any type and size."""
        for _ in self.tls._recordLayer.sendRecord(Record(kind, bytearray(content))):
            pass

    def pad(self, count: int) -> None:
        """Each further record has so many zeros behind its content."""
        self.tls._recordLayer.padding_cb = lambda *_: count

    def update_keys(self, asking: bool) -> None:
        kind = KeyUpdateMessageType.update_requested if asking else KeyUpdateMessageType.update_not_requested
        for _ in self.tls.send_keyupdate_request(kind):
            pass

    def sendall(self, data: bytes) -> None:
        self.tls.write(data)

    def recv(self, size: int) -> bytes:
        try:
            return bytes(self.tls.read(max=size, min=1))
        except TLSRemoteAlert as alert:
            self.alert = alert.description
            return b""
        except TLSAbruptCloseError:
            return b""

    def pending(self) -> int:
        return len(self.tls._readBuffer)

    def settimeout(self, seconds: float) -> None:
        self.wire.plain.settimeout(seconds)

    def fileno(self) -> int:
        return self.wire.plain.fileno()

    def close(self) -> None:
        self.wire.plain.close()


class OtherCourier(Courier):
    """A device over one of these."""

    def __init__(self, instance, identity: Identity, tls: OpenSSLSocket | LiteSocket | ssl.SSLSocket):
        self.socket = tls
        self.identity = identity
        self.clock = instance.now
        self.base_token = b""
        self.closed = False
        self.was_reset = False
        self.messages = []
        self._unread = []
        self._received = bytearray()
