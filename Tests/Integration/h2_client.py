"""A provider that sees and sends single HTTP/2 frames.

It stands on `hyperframe` and `hpack`, the layers below `h2`: `h2` itself refuses to send most of what a broken client
would, and to read on after a GOAWAY. Well-behaved clients, `h2` among them, are in test_strangers.py.
"""

import json
import select
import socket
import ssl
import time
from dataclasses import dataclass, field

import hpack
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM, CANCEL = 0, 1, 7, 8
DEFAULT_WINDOW = 65535
OUR_WINDOW = 1 << 24
WAIT_SECONDS = 15


@dataclass
class Stream:
    """One request and all that came back on it."""

    id: int
    send_window: int = DEFAULT_WINDOW
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    header_blocks: int = 0
    headers_ended_stream: bool = False
    data_frames: list[tuple[bytes, bool]] = field(default_factory=list)
    ended: bool = False
    reset: int | None = None

    @property
    def finished(self) -> bool:
        return self.ended or self.reset is not None

    @property
    def status(self) -> int | None:
        value = self.header(":status")
        return int(value) if value is not None else None

    def header(self, name: str) -> str | None:
        for got, value in self.headers:
            if got == name.encode():
                return value.decode()
        return None

    @property
    def names(self) -> list[str]:
        return [name.decode() for name, _ in self.headers]

    @property
    def body(self) -> bytes:
        return b"".join(data for data, _ in self.data_frames)

    @property
    def reason(self) -> str | None:
        return json.loads(self.body).get("reason") if self.body else None

    @property
    def timestamp(self) -> int | None:
        return json.loads(self.body).get("timestamp") if self.body else None

    @property
    def apns_id(self) -> str | None:
        return self.header("apns-id")


def to_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


class H2Client:
    """One TLS connection. Sends the preface at once, acknowledges SETTINGS and PING, and records every frame."""

    def __init__(self, port: int, context: ssl.SSLContext, window: int = OUR_WINDOW):
        plain = socket.create_connection(("127.0.0.1", port), WAIT_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        self.frames: list[Frame] = []
        self.settings: list[dict[int, int]] = []
        self.pongs: list[bytes] = []
        self.goaways: list[GoAwayFrame] = []
        self.streams: dict[int, Stream] = {}
        self.closed = False
        self.was_reset = False
        self.send_window = DEFAULT_WINDOW
        self.encoder = hpack.Encoder()
        self._decoder = hpack.Decoder()
        self._received = bytearray()
        self._next_id = 1
        self._block: tuple[HeadersFrame, bytearray] | None = None
        self._initial_window = DEFAULT_WINDOW
        self.send_raw(PREFACE + SettingsFrame(0, settings={SettingsFrame.ENABLE_PUSH: 0}).serialize())
        if window:
            self.give_credit(window)

    def __enter__(self) -> "H2Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    # Sending

    def send_raw(self, data: bytes) -> None:
        """Bytes as they are. A peer that has closed is seen when reading."""
        self.socket.settimeout(WAIT_SECONDS)
        try:
            self.socket.sendall(data)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self.closed = True

    def send_frame(self, frame: Frame) -> None:
        self.send_raw(frame.serialize())

    def open(self, headers, end_stream: bool = False, block: bytes | None = None) -> Stream:
        """HEADERS, with CONTINUATION when the block is long. `block` is sent in place of encoding `headers`."""
        stream = Stream(self._next_id, self._initial_window)
        self._next_id += 2
        self.streams[stream.id] = stream
        if block is None:
            fields = [(to_bytes(name), to_bytes(value)) for name, value in headers]
            # hpack's Huffman coder takes seconds for a long value.
            block = self.encoder.encode(fields, huffman=max(len(value) for _, value in fields) < 10_000)
        pieces = [block[at : at + 16384] for at in range(0, len(block), 16384)] or [b""]
        frames: list[Frame] = [HeadersFrame(stream.id, pieces[0], flags=["END_STREAM"] if end_stream else [])]
        frames += [ContinuationFrame(stream.id, piece) for piece in pieces[1:]]
        frames[-1].flags.add("END_HEADERS")
        self.send_raw(b"".join(frame.serialize() for frame in frames))
        return stream

    def send_data(self, stream: Stream, data: bytes, end_stream: bool = False) -> bool:
        """DATA within the peer's windows; False when the peer finished the stream before all was sent."""
        at = 0
        while at < len(data) or (end_stream and not data):
            room = min(self.send_window, stream.send_window, 16384)
            if stream.finished or self.closed:
                return False
            if room <= 0 and data:
                assert self.pump(WAIT_SECONDS), "the peer opens no flow-control window"
                continue
            piece = data[at : at + room]
            at += len(piece)
            last = end_stream and at == len(data)
            self.send_window -= len(piece)
            stream.send_window -= len(piece)
            self.send_frame(DataFrame(stream.id, piece, flags=["END_STREAM"] if last else []))
            if last:
                break
        return True

    def start(self, headers, body: bytes = b"") -> Stream:
        """A whole request; without a body END_STREAM is on HEADERS."""
        stream = self.open(headers, end_stream=not body)
        if body:
            self.send_data(stream, body, end_stream=True)
        return stream

    def ping(self, data: bytes = b"conforms") -> bytes:
        """Sends PING and returns what its acknowledgement held."""
        before = len(self.pongs)
        self.send_frame(PingFrame(0, data))
        self.pump_until(lambda: len(self.pongs) > before)
        return self.pongs[before]

    def give_credit(self, window: int) -> None:
        """Lets the peer send this much more on the connection."""
        self.send_frame(WindowUpdateFrame(0, window_increment=window))

    def reset(self, stream: Stream, code: int = CANCEL) -> None:
        self.send_frame(RstStreamFrame(stream.id, error_code=code))

    # Receiving

    def wait(self, *streams: Stream, seconds: float = WAIT_SECONDS) -> None:
        """Until all are answered or reset, or the connection closes."""
        self.pump_until(lambda: self.closed or all(stream.finished for stream in streams), seconds)

    def request(self, headers, body: bytes = b"") -> Stream:
        stream = self.start(headers, body)
        self.wait(stream)
        return stream

    def pump_until(self, done, seconds: float = WAIT_SECONDS) -> None:
        """Reads until `done()` holds; fails when it does not in time."""
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0 or self.closed:
                assert done(), f"not seen within {seconds} s; closed={self.closed}; got {self.summary()}"
            self.pump(left)

    def pump(self, seconds: float) -> bool:
        """One read of at most `seconds`, and what follows from it. False when nothing came."""
        data = self._read(seconds)
        if data is None:
            return False
        if not data:
            self.closed = True
            return False
        self._received += data
        self._parse()
        return True

    def drain(self, seconds: float) -> None:
        """Reads whatever comes in this time, or until the peer closes."""
        deadline = time.monotonic() + seconds
        while not self.closed and (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def wait_closed(self, seconds: float = WAIT_SECONDS) -> None:
        self.pump_until(lambda: self.closed, seconds)

    @property
    def stream_limit(self) -> int | None:
        """The last announced MAX_CONCURRENT_STREAMS."""
        values = [s[SettingsFrame.MAX_CONCURRENT_STREAMS] for s in self.settings if 3 in s]
        return values[-1] if values else None

    def goaway_reasons(self) -> list[str]:
        """`reason` of each GOAWAY; its debug data must be one JSON object or empty."""
        return [json.loads(frame.additional_data)["reason"] for frame in self.goaways if frame.additional_data]

    def summary(self) -> str:
        """The last frames, for a failure's message."""
        return ", ".join(f"{type(frame).__name__}({frame.stream_id})" for frame in self.frames[-12:])

    # Inside

    def _read(self, seconds: float) -> bytes | None:
        try:
            if not self.socket.pending() and not select.select([self.socket], [], [], seconds)[0]:
                return None
            self.socket.settimeout(max(seconds, 0.001))
            return self.socket.recv(65536)
        except (TimeoutError, ssl.SSLWantReadError):
            return None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return b""
        except (ConnectionError, OSError):
            self.was_reset = True
            return b""

    def _parse(self) -> None:
        while len(self._received) >= 9:
            frame, length = Frame.parse_frame_header(memoryview(bytes(self._received[:9])))
            if len(self._received) < 9 + length:
                return
            frame.parse_body(memoryview(bytes(self._received[9 : 9 + length])))
            del self._received[: 9 + length]
            self.frames.append(frame)
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        stream = self.streams.get(frame.stream_id)
        if isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
            self._take_settings(frame)
        elif isinstance(frame, PingFrame):
            if "ACK" in frame.flags:
                self.pongs.append(frame.opaque_data)
            else:
                self.send_frame(PingFrame(0, frame.opaque_data, flags=["ACK"]))
        elif isinstance(frame, GoAwayFrame):
            self.goaways.append(frame)
        elif isinstance(frame, WindowUpdateFrame):
            if frame.stream_id == 0:
                self.send_window += frame.window_increment
            elif stream:
                stream.send_window += frame.window_increment
        elif isinstance(frame, (HeadersFrame, ContinuationFrame)):
            self._take_headers(frame)
        elif isinstance(frame, DataFrame):
            last = "END_STREAM" in frame.flags
            stream.data_frames.append((frame.data, last))
            stream.ended |= last
        elif isinstance(frame, RstStreamFrame) and stream:
            stream.reset = frame.error_code

    def _take_settings(self, frame: SettingsFrame) -> None:
        self.settings.append(dict(frame.settings))
        window = frame.settings.get(SettingsFrame.INITIAL_WINDOW_SIZE)
        if window is not None:
            for stream in self.streams.values():
                stream.send_window += window - self._initial_window
            self._initial_window = window
        self.send_frame(SettingsFrame(0, flags=["ACK"]))

    def _take_headers(self, frame: HeadersFrame | ContinuationFrame) -> None:
        if isinstance(frame, HeadersFrame):
            self._block = (frame, bytearray())
        first, block = self._block
        block += frame.data
        if "END_HEADERS" not in frame.flags:
            return
        stream = self.streams[first.stream_id]
        stream.headers += [(bytes(n), bytes(v)) for n, v in self._decoder.decode(bytes(block), raw=True)]
        stream.header_blocks += 1
        if "END_STREAM" in first.flags:
            stream.ended = True
            stream.headers_ended_stream = stream.header_blocks == 1
        self._block = None
