"""HTTP/2 by single bytes: frames as they stand in RFC 9113, a peer that sends anything, and tables of cases.

No library makes or checks what is sent. `h2_client.py` is for requests; this is for what no client should do.
"""

import select
import socket
import ssl
import struct
import time
from dataclasses import dataclass
from typing import NamedTuple

import hpack
import pytest

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
ACK = END_STREAM = 0x1
END_HEADERS, PADDED, PRIORITIZED = 0x4, 0x8, 0x20
(
    NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
    REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM,
) = range(12)  # fmt: skip
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = (
    range(1, 7)
)
LAST_STREAM = 2**31 - 1
WAIT_SECONDS = 20


class Frame(NamedTuple):
    """One frame from the gateway."""

    type: int
    flags: int
    stream: int
    payload: bytes

    def word(self, at: int = 0) -> int:
        return int.from_bytes(self.payload[at : at + 4], "big")


# Frames


def frame(type: int, flags: int = 0, stream: int = 0, payload: bytes = b"", length: int | None = None) -> bytes:
    """Any frame; `length` is what its head claims."""
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([type, flags]) + struct.pack(">I", stream) + payload


def settings(*entries: tuple[int, int]) -> bytes:
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", id, value) for id, value in entries))


def ping(payload: bytes = b"01234567", flags: int = 0, stream: int = 0) -> bytes:
    return frame(PING, flags, stream, payload)


def window_update(stream: int, credit: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", credit))


def reset(stream: int, code: int = CANCEL) -> bytes:
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def data(stream: int, body: bytes, flags: int = 0) -> bytes:
    return frame(DATA, flags, stream, body)


def goaway(last: int = 0, code: int = NO_ERROR, remark: bytes = b"") -> bytes:
    return frame(GOAWAY, payload=struct.pack(">II", last, code) + remark)


# Header blocks


def integer(value: int, prefix: int, head: int = 0) -> bytes:
    """RFC 7541 5.1: `head` holds the bits before the prefix."""
    limit = (1 << prefix) - 1
    if value < limit:
        return bytes([head | value])
    out, value = bytes([head | limit]), value - limit
    while value >= 128:
        out, value = out + bytes([value % 128 | 128]), value // 128
    return out + bytes([value])


def text(value: bytes | str, huffman: bool = False) -> bytes:
    """RFC 7541 5.2; `huffman` only sets the bit: the value is as it stands."""
    value = value if isinstance(value, bytes) else value.encode()
    return integer(len(value), 7, 0x80 if huffman else 0) + value


def literal(name: bytes | str, value: bytes | str, head: int = 0x10) -> bytes:
    """A field with its name: 0x10 never indexed, 0x00 not indexed, 0x40 indexed from now on."""
    return bytes([head]) + text(name) + text(value)


#: A request for a push without a provider token: answered 403, and nothing follows from it.
USUAL = {
    ":method": "POST",
    ":scheme": "https",
    ":path": "/3/device/" + "00" * 32,
    ":authority": "localhost",
}


def block(changes: dict | None = None, *extra: tuple[bytes | str, bytes | str]) -> bytes:
    """The usual request's header block. In `changes` a value of None removes a field; `extra` goes to the end."""
    fields = [(name, value) for name, value in (USUAL | (changes or {})).items() if value is not None]
    return b"".join(literal(name, value) for name, value in [*fields, *extra])


def headers(stream: int, content: bytes | None = None, flags: int = END_STREAM | END_HEADERS) -> bytes:
    """HEADERS; unless told otherwise a whole request."""
    return frame(HEADERS, flags, stream, block() if content is None else content)


def opened(stream: int, content: bytes | None = None) -> bytes:
    """HEADERS of a request whose body is to come."""
    return headers(stream, content, END_HEADERS)


def continuation(stream: int, content: bytes = b"", flags: int = 0) -> bytes:
    return frame(CONTINUATION, flags, stream, content)


def pieces(stream: int, content: bytes, cuts: list[int]) -> bytes:
    """A whole request whose header block is cut at these places."""
    parts = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)])]
    frames = [headers(stream, parts[0], END_STREAM)] + [continuation(stream, part) for part in parts[1:]]
    last = bytearray(frames[-1])
    last[4] |= END_HEADERS
    return b"".join(frames[:-1]) + bytes(last)


# The peer


class Peer:
    """One TLS connection. It answers nothing by itself and records every frame."""

    def __init__(self, instance, hello: bytes = PREFACE + settings(), read_buffer: int | None = None):
        plain = socket.socket()
        if read_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, read_buffer)
        plain.settimeout(WAIT_SECONDS)
        plain.connect(("127.0.0.1", instance.provider_port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = instance.context().wrap_socket(plain, server_hostname="localhost")
        self.frames: list[Frame] = []
        self.statuses: dict[int, int] = {}
        self.bodies: dict[int, bytes] = {}
        self.resets: dict[int, int] = {}
        self.pongs: list[bytes] = []
        self.goaways: list[Frame] = []
        self.closed = False
        self._decoder = hpack.Decoder()
        self._received = bytearray()
        self.send(hello)

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_) -> None:
        self.socket.close()

    def send(self, content: bytes) -> bool:
        """False when the gateway has closed."""
        self.socket.settimeout(WAIT_SECONDS)
        try:
            self.socket.sendall(content)
            return True
        except (ConnectionError, ssl.SSLError):
            return False

    def flood(self, content: bytes, times: int) -> bool:
        """Sends it up to so often, reading what comes back. False when the gateway has closed before."""
        for _ in range(times):
            if not self.send(content):
                return False
            while not self.closed and self.pump(0):
                pass
            if self.closed or self.goaways:
                return False
        return True

    def wait(self, done, seconds: float = WAIT_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            assert left > 0 and not self.closed, f"not seen; closed={self.closed}; {self.frames[-8:]}"
            self.pump(left)

    def wait_closed(self) -> int | None:
        """The code of the last GOAWAY, once the gateway has closed."""
        self.wait(lambda: self.closed)
        return self.goaways[-1].word(4) if self.goaways else None

    def ping(self, content: bytes = b"are you?") -> None:
        """A PING that must be answered."""
        self.send(ping(content))
        self.wait(lambda: content in self.pongs)

    def pump(self, seconds: float) -> bool:
        """One read; False when nothing came."""
        try:
            if not self.socket.pending() and not select.select([self.socket], [], [], seconds)[0]:
                return False
            self.socket.settimeout(max(seconds, 0.001))
            received = self.socket.recv(65536)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except (ConnectionError, ssl.SSLError):
            received = b""
        self.closed |= not received
        self._received += received
        self._parse()
        return bool(received)

    def _parse(self) -> None:
        while len(self._received) >= 9:
            size = int.from_bytes(self._received[:3], "big")
            if len(self._received) < 9 + size:
                return
            kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
            got = Frame(kind, flags, stream, bytes(self._received[9 : 9 + size]))
            del self._received[: 9 + size]
            self.frames.append(got)
            self._take(got)

    def _take(self, got: Frame) -> None:
        if got.type == HEADERS:
            assert got.flags & END_HEADERS
            self.statuses[got.stream] = int(dict(self._decoder.decode(got.payload))[":status"])
        elif got.type == DATA:
            self.bodies[got.stream] = self.bodies.get(got.stream, b"") + got.payload
        elif got.type == RST_STREAM:
            self.resets[got.stream] = got.word()
        elif got.type == PING and got.flags & ACK:
            self.pongs.append(got.payload)
        elif got.type == GOAWAY:
            self.goaways.append(got)


# Tables


@dataclass
class GoAway:
    """The connection ends with this code."""

    code: int

    def check(self, peer: Peer) -> None:
        code = peer.wait_closed()
        assert code == self.code, f"GOAWAY {code}, not {self.code}"
        assert len(peer.goaways) == 1 and len(peer.goaways[0].payload) == 8, "one, without debug data of the library"


@dataclass
class Reset:
    """The stream ends with this code and the connection lives."""

    stream: int
    code: int

    def check(self, peer: Peer) -> None:
        peer.wait(lambda: self.stream in peer.resets or peer.goaways or self.stream in peer.statuses)
        assert peer.resets == {self.stream: self.code} and not peer.statuses
        lives(peer)


@dataclass
class Answered:
    """The stream gets this status and the connection lives."""

    stream: int = 1
    status: int = 403

    def check(self, peer: Peer) -> None:
        peer.wait(lambda: self.stream in peer.statuses or peer.goaways or peer.resets)
        assert peer.statuses == {self.stream: self.status} and not peer.resets
        lives(peer)


@dataclass
class Ignored:
    """Nothing comes of it."""

    def check(self, peer: Peer) -> None:
        lives(peer)
        assert not peer.resets and set(peer.statuses) == {PROBE}


#: The stream on which a connection shows that it lives; cases use lower ones.
PROBE = 10_001


def lives(peer: Peer) -> None:
    """A request is answered: frames, windows and header tables are in step."""
    peer.send(headers(PROBE))
    peer.ping()
    peer.wait(lambda: PROBE in peer.statuses)
    assert peer.statuses[PROBE] == 403 and not peer.goaways


def case(name: str, sent: bytes, expected) -> object:
    """A row: what is sent after the preface, and what must come of it."""
    return pytest.param(sent, expected, id=name.replace(" ", "_"))


def run(instance, sent: bytes, expected, hello: bytes = PREFACE + settings()) -> None:
    """One row of a table. The first thing the gateway says is always SETTINGS."""
    with Peer(instance, hello + sent) as peer:
        expected.check(peer)
        assert peer.frames[0].type == SETTINGS and not peer.frames[0].flags & ACK
