"""A device of the extended form (`carillon-push/1`): as courier.py, over pyOpenSSL, which knows the TLS exporter."""

import os
import socket

from OpenSSL import SSL

from courier import Courier, Identity, Message

GOODBYE, UNREGISTER, UNREGISTER_ACK, TOKEN_GONE = range(200, 204)
REASON, RETRY, NAME, UNIQUE_ID, COLLAPSE_ID, PUSH_TYPE = 211, 212, 210, 213, 214, 215
OFFER = [b"carillon-push/1", b"apns-security-v3"]
VERSIONS = {"1.2": SSL.TLS1_2_VERSION, "1.3": SSL.TLS1_3_VERSION}


class SecureSocket:
    """The part of `ssl.SSLSocket` that a courier uses."""

    def __init__(self, port: int, version: str):
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_min_proto_version(VERSIONS[version])
        context.set_max_proto_version(VERSIONS[version])
        context.set_alpn_protos(OFFER)
        self.plain = socket.create_connection(("127.0.0.1", port))
        self.plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls = SSL.Connection(context, self.plain)
        self.tls.set_connect_state()
        self.tls.do_handshake()
        self.chosen = self.tls.get_alpn_proto_negotiated()

    def exporter(self) -> bytes:
        return self.tls.export_keying_material(b"EXPORTER-carillon-connect", 32, None)

    def sendall(self, data: bytes) -> None:
        try:
            self.tls.sendall(data)
        except SSL.Error as error:
            raise ConnectionError(str(error)) from None

    def recv(self, size: int) -> bytes:
        try:
            return self.tls.recv(size)
        except SSL.ZeroReturnError:
            return b""
        except SSL.SysCallError as error:
            if error.args[0] == -1:
                return b""
            raise ConnectionResetError(*error.args) from None

    def pending(self) -> int:
        return self.tls.pending()

    def settimeout(self, _: float) -> None:
        """The socket blocks; `select` comes before each read."""

    def fileno(self) -> int:
        return self.plain.fileno()

    def close(self) -> None:
        self.plain.close()


class ExtendedCourier(Courier):
    """One connection whose proof also covers the TLS session."""

    def __init__(self, instance, identity: Identity, version: str = "1.3"):
        self.socket = SecureSocket(instance.device_port, version)
        self.identity = identity
        self.clock = instance.now
        self.base_token = b""
        self.closed = False
        self.was_reset = False
        self.messages: list[Message] = []
        self._unread: list[Message] = []
        self._received = bytearray()

    def connect(self, base_token: bytes | None = None, state: int | None = 1, **changes: bytes) -> Message:
        """Connect; `exporter` or `context` in `changes` make the proof wrong."""
        exporter = changes.pop("exporter", None) or self.socket.exporter()
        context = changes.pop("context", b"carillon-connect")
        nonce = b"\0" + int(self.clock() * 1000).to_bytes(8, "big") + os.urandom(8)
        signature = self.identity.sign(context + exporter + nonce)
        return super().connect(base_token, state, **({"nonce": nonce, "signature": signature} | changes))
