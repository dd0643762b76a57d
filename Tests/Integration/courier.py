"""A device written from the protocol's description alone: frames over TLS, nothing shared with our own client.

It speaks the plain form (`apns-security-v3`). The extended form needs a TLS exporter, which Python's ssl lacks.
"""

import hashlib
import os
import select
import socket
import ssl
import struct
import time
from dataclasses import dataclass
from typing import Callable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

CONNECT, CONNECT_ACK, FILTER, NOTIFY, NOTIFY_ACK, KEEP_ALIVE, KEEP_ALIVE_ACK, NO_STORAGE = range(7, 15)
TOKEN_REQUEST, TOKEN_ACK, SET_STATE = 17, 18, 20
WAIT_SECONDS = 10


def topic_hash(topic: str) -> bytes:
    return hashlib.sha1(topic.encode()).digest()


def encode(command: int, items: list[tuple[int, bytes]]) -> bytes:
    """One frame: command, length of the rest, and the items."""
    body = b"".join(struct.pack(">BH", id, len(value)) + value for id, value in items)
    return struct.pack(">BI", command, len(body)) + body


@dataclass
class Message:
    """One frame from the gateway and when it came."""

    command: int
    items: list[tuple[int, bytes]]
    arrived: float

    def item(self, id: int) -> bytes | None:
        """The value of an item that may stand once only."""
        values = [value for got, value in self.items if got == id]
        assert len(values) <= 1, f"item {id} repeated in command {self.command}"
        return values[0] if values else None

    def number(self, id: int) -> int | None:
        value = self.item(id)
        return None if value is None else int.from_bytes(value, "big")

    # Notify

    @property
    def token(self) -> str:
        return self.item(1).hex()

    @property
    def payload(self) -> bytes:
        return self.item(3)

    @property
    def id(self) -> bytes:
        return self.item(4)

    @property
    def storage_flags(self) -> int | None:
        return self.number(7)

    @property
    def priority(self) -> int | None:
        return self.number(13)


class Identity:
    """A device's key and certificate, enrolled through the admin API."""

    def __init__(self, admin, name: str, key_type: str = "ec", own_key: bool = True):
        if own_key:
            self.key = (
                ec.generate_private_key(ec.SECP256R1())
                if key_type == "ec"
                else rsa.generate_private_key(public_exponent=65537, key_size=2048)
            )
            answer = admin.add_device(name, csr=self._request(name))
        else:
            answer = admin.add_device(name, key_type=key_type)
            self.key = serialization.load_pem_private_key(answer["privateKey"].encode(), None)
        self.id: str = answer["id"]
        self.certificate = x509.load_pem_x509_certificate(answer["certificate"].encode())
        self.der = self.certificate.public_bytes(serialization.Encoding.DER)

    def _request(self, name: str) -> str:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(self.key, hashes.SHA256())
        return request.public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, nonce: bytes) -> bytes:
        """Item 14: the prefix says which form it is."""
        if isinstance(self.key, rsa.RSAPrivateKey):
            return b"\x01\x01" + self.key.sign(nonce, padding.PKCS1v15(), hashes.SHA1())
        return b"\xc0\x02" + self.key.sign(nonce, ec.ECDSA(hashes.SHA256()))


def unverified_context(
    alpn: tuple[str, ...] = ("apns-security-v3",), version: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    """As pypush has it: whoever answers is believed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if version:
        context.minimum_version = version
        context.maximum_version = version
    return context


class Courier:
    """One TLS connection of a device."""

    def __init__(self, port: int, identity: Identity, clock: Callable[[], float] = time.time, **context):
        """`alpn` and `version` as for the context."""
        plain = socket.create_connection(("127.0.0.1", port), WAIT_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = unverified_context(**context).wrap_socket(plain, server_hostname="courier.push.apple.com")
        self.identity = identity
        self.clock = clock
        self.base_token = b""
        self.closed = False
        self.was_reset = False
        self.messages: list[Message] = []
        self._unread: list[Message] = []
        self._received = bytearray()

    def __enter__(self) -> "Courier":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Says goodbye as a client should: FIN."""
        self.socket.close()

    # What a device sends

    def send_raw(self, data: bytes) -> None:
        self.socket.settimeout(WAIT_SECONDS)
        try:
            self.socket.sendall(data)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self.closed = True

    def send(self, command: int, *items: tuple[int, bytes]) -> None:
        self.send_raw(encode(command, list(items)))

    def connect(self, base_token: bytes | None = None, state: int | None = 1, **changes: bytes) -> Message:
        """Connect and its answer. `changes` replaces `nonce`, `signature` or `certificate`."""
        nonce = changes.get("nonce") or b"\0" + int(self.clock() * 1000).to_bytes(8, "big") + os.urandom(8)
        items = [(1, base_token)] if base_token else []
        items += [(2, bytes([state]))] if state is not None else []
        items += [
            (5, (65).to_bytes(4, "big")),
            (12, changes.get("certificate") or self.identity.der),
            (13, nonce),
            (14, changes.get("signature") or self.identity.sign(nonce)),
            (16, (11).to_bytes(2, "big")),
        ]
        self.send(CONNECT, *items)
        answer = self.expect(CONNECT_ACK)
        self.base_token = answer.item(3) or base_token or b""
        return answer

    def filter(self, enabled=(), ignored=(), opportunistic=(), paused=(), nonwaking=()) -> None:
        """Filter replaces the whole set; topics are given by name."""
        lists = {2: enabled, 3: ignored, 4: opportunistic, 5: paused, 6: nonwaking}
        items = [(1, self.base_token)]
        items += [(id, topic_hash(topic)) for id, topics in lists.items() for topic in topics]
        self.send(FILTER, *items)

    def token(self, topic: str) -> str:
        """The device token of a topic, as an app would get it."""
        self.send(TOKEN_REQUEST, (1, self.base_token), (2, topic_hash(topic)))
        answer = self.expect(TOKEN_ACK)
        assert answer.item(1) == b"\0", f"TokenAck status {answer.item(1)}"
        assert answer.item(3) == topic_hash(topic)
        return answer.item(2).hex()

    def set_state(self, state: int) -> None:
        self.send(SET_STATE, (1, bytes([state])), (2, (0x7FFFFFFF).to_bytes(4, "big")))

    def ack(self, notification: Message, status: int = 0) -> None:
        self.send(NOTIFY_ACK, (4, notification.id), (8, bytes([status])), (1, notification.item(1)))

    def keep_alive(self) -> Message:
        self.send(KEEP_ALIVE)
        return self.expect(KEEP_ALIVE_ACK)

    # What it receives

    def expect(self, command: int, seconds: float = WAIT_SECONDS) -> Message:
        """The next frame of this command; frames of other commands stay unread."""
        deadline = time.monotonic() + seconds
        while True:
            for message in self._unread:
                if message.command == command:
                    self._unread.remove(message)
                    return message
            left = deadline - time.monotonic()
            assert not self.closed, f"closed while command {command} was awaited"
            assert left > 0, f"no command {command} within {seconds} s; unread: {self._unread}"
            self.pump(left)

    def expect_notify(self, seconds: float = WAIT_SECONDS, ack: bool = True) -> Message:
        """The next notification, acknowledged unless told otherwise."""
        notification = self.expect(NOTIFY, seconds)
        if ack:
            self.ack(notification)
        return notification

    def expect_nothing(self, seconds: float = 0.4) -> None:
        """No notification comes. A round trip first, so that what was on its way has come."""
        self.keep_alive()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self.closed:
            self.pump(left)
        found = [message for message in self._unread if message.command == NOTIFY]
        assert not found, f"unexpected notification: {found}"

    def wait_closed(self, seconds: float = WAIT_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not self.closed:
            left = deadline - time.monotonic()
            assert left > 0, f"still open after {seconds} s"
            self.pump(left)

    def pump(self, seconds: float) -> None:
        """One read of at most `seconds`."""
        try:
            if not self.socket.pending() and not self._is_readable(seconds):
                return
            self.socket.settimeout(max(seconds, 0.001))
            data = self.socket.recv(65536)
        except (TimeoutError, ssl.SSLWantReadError):
            return
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            data = b""
        except (ConnectionError, OSError):
            self.was_reset = True
            data = b""
        self.closed |= not data
        self._received += data
        self._parse()

    def _is_readable(self, seconds: float) -> bool:
        # Not select(), which knows descriptors up to 1023 only: a thousand devices need more.
        poller = select.poll()
        poller.register(self.socket, select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def _parse(self) -> None:
        while len(self._received) >= 5:
            command, length = struct.unpack(">BI", self._received[:5])
            if len(self._received) < 5 + length:
                return
            body = bytes(self._received[5 : 5 + length])
            del self._received[: 5 + length]
            items = []
            while body:
                id, size = struct.unpack(">BH", body[:3])
                items.append((id, body[3 : 3 + size]))
                body = body[3 + size :]
            message = Message(command, items, time.monotonic())
            self.messages.append(message)
            self._unread.append(message)
