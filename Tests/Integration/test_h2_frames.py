"""HTTP/2 frame by frame: what RFC 9113 sections 3, 4 and 6 demand of a server, one row per case.

A stream error may be answered as a connection error (5.4.1); where the gateway does so, the row says GOAWAY.
"""

import pytest

from h2_raw import (
    ACK,
    COMPRESSION_ERROR,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    GOAWAY,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    PADDED,
    PING,
    PREFACE,
    PRIORITIZED,
    PRIORITY,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Answered,
    GoAway,
    Ignored,
    Peer,
    Reset,
    block,
    case,
    continuation,
    data,
    frame,
    goaway,
    headers,
    opened,
    pieces,
    ping,
    reset,
    run,
    settings,
    window_update,
)

pytestmark = pytest.mark.sanitizer

WHOLE = block()
LAST = END_STREAM | END_HEADERS
DEPENDENCY = b"\0\0\0\0\x10"


@pytest.mark.parametrize("hello, expected", [
    case("3.4 another protocol", b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", GoAway(PROTOCOL_ERROR)),
    case("3.4 a preface with one byte wrong", PREFACE[:-1] + b"x" + settings(), GoAway(PROTOCOL_ERROR)),
    case("3.4 PING before SETTINGS", PREFACE + ping(), GoAway(PROTOCOL_ERROR)),
    case("3.4 a request before SETTINGS", PREFACE + headers(1), GoAway(PROTOCOL_ERROR)),
    case("3.4 SETTINGS that acknowledge first", PREFACE + frame(SETTINGS, ACK), GoAway(PROTOCOL_ERROR)),
    case("3.4 a request at once", PREFACE + settings() + headers(1), Answered()),
])  # fmt: skip
def test_preface(sandbox, hello, expected):
    run(sandbox, b"", expected, hello)


@pytest.mark.parametrize("sent, expected", [
    case("4.1 an unknown frame", frame(0xFA, 0xFF, 0, b"what?"), Ignored()),
    case("4.1 an unknown frame on an idle stream", frame(0xFA, 0xFF, 77, b"what?"), Ignored()),
    case("4.1 undefined flags", ping(flags=0xFE), Ignored()),
    case("4.1 the reserved bit", headers(0x80000001), Answered()),
    case("4.2 DATA of 16384 bytes", opened(1) + data(1, b"a" * 16384, END_STREAM), Answered()),
    case("4.2 DATA of 16385 bytes", opened(1) + data(1, b"a" * 16385), GoAway(FRAME_SIZE_ERROR)),
    case("4.2 HEADERS of 16385 bytes", headers(1, b"\x82" * 16385), GoAway(FRAME_SIZE_ERROR)),
    case("4.2 SETTINGS of 16386 bytes", frame(SETTINGS, payload=bytes(16386)), GoAway(FRAME_SIZE_ERROR)),
    case("4.2 a length of 2^24-1", frame(0xFA, length=2**24 - 1), GoAway(FRAME_SIZE_ERROR)),
    case("4.3 a broken header block", headers(1, b"\x80"), GoAway(COMPRESSION_ERROR)),
    case("4.3 PING inside a header block", headers(1, WHOLE, 0) + ping(), GoAway(PROTOCOL_ERROR)),
    case("4.3 PRIORITY inside a header block", headers(1, WHOLE, 0) + frame(PRIORITY, 0, 1, DEPENDENCY),
         GoAway(PROTOCOL_ERROR)),
    case("4.3 HEADERS inside a header block", headers(1, WHOLE, 0) + headers(3), GoAway(PROTOCOL_ERROR)),
    case("4.3 DATA inside a header block", headers(1, WHOLE, 0) + data(1, b"a"), GoAway(PROTOCOL_ERROR)),
    case("5.5 an unknown frame inside a header block", headers(1, WHOLE, 0) + frame(0xFA), GoAway(PROTOCOL_ERROR)),
])  # fmt: skip
def test_frames(sandbox, sent, expected):
    run(sandbox, sent, expected)


@pytest.mark.parametrize("sent, expected", [
    case("6.1 DATA on stream 0", data(0, b"a"), GoAway(PROTOCOL_ERROR)),
    case("6.1 padding", opened(1) + data(1, b"\x03{}\0\0\0", PADDED | END_STREAM), Answered()),
    case("6.1 nothing but padding", opened(1) + data(1, b"\x03\0\0\0", PADDED | END_STREAM), Answered()),
    case("6.1 padding as long as the frame", opened(1) + data(1, b"\x05{}\0\0", PADDED), GoAway(PROTOCOL_ERROR)),
    case("6.1 padding without its length", opened(1) + data(1, b"", PADDED), GoAway(PROTOCOL_ERROR)),
    case("6.1 an empty DATA frame", opened(1) + data(1, b"") + data(1, b"", END_STREAM), Answered()),
    case("6.2 HEADERS on stream 0", headers(0), GoAway(PROTOCOL_ERROR)),
    case("6.2 padding", headers(1, b"\x05" + WHOLE + bytes(5), LAST | PADDED), Answered()),
    case("6.2 padding as long as the frame", headers(1, b"\x05abcd", LAST | PADDED), GoAway(PROTOCOL_ERROR)),
    case("6.2 a priority", headers(1, DEPENDENCY + WHOLE, LAST | PRIORITIZED), Answered()),
    case("6.2 padding and a priority",
         headers(1, b"\x02" + DEPENDENCY + WHOLE + bytes(2), LAST | PADDED | PRIORITIZED), Answered()),
    case("6.2 a priority cut short", headers(1, b"\0\0\0", LAST | PRIORITIZED), GoAway(FRAME_SIZE_ERROR)),
    case("6.3 PRIORITY on stream 0", frame(PRIORITY, 0, 0, DEPENDENCY), GoAway(PROTOCOL_ERROR)),
    case("6.3 PRIORITY of 4 bytes", frame(PRIORITY, 0, 1, bytes(4)), GoAway(FRAME_SIZE_ERROR)),
    case("6.3 PRIORITY on an idle stream", frame(PRIORITY, 0, 9, DEPENDENCY), Ignored()),
    case("6.4 RST_STREAM on stream 0", reset(0), GoAway(PROTOCOL_ERROR)),
    case("6.4 RST_STREAM of 3 bytes", opened(1) + frame(RST_STREAM, 0, 1, bytes(3)), GoAway(FRAME_SIZE_ERROR)),
    case("6.4 RST_STREAM of 5 bytes", opened(1) + frame(RST_STREAM, 0, 1, bytes(5)), GoAway(FRAME_SIZE_ERROR)),
    case("6.4 RST_STREAM with an unknown code", opened(1) + reset(1, 0xDEADBEEF), Ignored()),
    case("6.4 RST_STREAM twice", opened(1) + reset(1) + reset(1), Ignored()),
    case("6.6 PUSH_PROMISE", frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + WHOLE), GoAway(PROTOCOL_ERROR)),
    case("6.6 PUSH_PROMISE on an open stream",
         opened(1) + frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + WHOLE), GoAway(PROTOCOL_ERROR)),
    case("6.7 PING that acknowledges nothing", ping(flags=ACK), Ignored()),
    case("6.7 PING on a stream", ping(stream=1), GoAway(PROTOCOL_ERROR)),
    case("6.7 PING of 7 bytes", ping(b"1234567"), GoAway(FRAME_SIZE_ERROR)),
    case("6.7 PING of 9 bytes", ping(b"123456789"), GoAway(FRAME_SIZE_ERROR)),
    case("6.8 GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8)), GoAway(PROTOCOL_ERROR)),
    case("6.8 GOAWAY of 7 bytes", frame(GOAWAY, 0, 0, bytes(7)), GoAway(FRAME_SIZE_ERROR)),
])  # fmt: skip
def test_frame_types(sandbox, sent, expected):
    run(sandbox, sent, expected)


@pytest.mark.parametrize("sent, expected", [
    case("6.5 SETTINGS on a stream", frame(SETTINGS, 0, 1), GoAway(PROTOCOL_ERROR)),
    case("6.5 an acknowledgement with values", frame(SETTINGS, ACK, 0, bytes(6)), GoAway(FRAME_SIZE_ERROR)),
    case("6.5 SETTINGS of 5 bytes", frame(SETTINGS, payload=bytes(5)), GoAway(FRAME_SIZE_ERROR)),
    case("6.5 an acknowledgement of nothing", frame(SETTINGS, ACK) * 3, GoAway(PROTOCOL_ERROR)),
    case("6.5.2 ENABLE_PUSH of 2", settings((2, 2)), GoAway(PROTOCOL_ERROR)),
    case("6.5.2 INITIAL_WINDOW_SIZE of 2^31", settings((4, 2**31)), GoAway(FLOW_CONTROL_ERROR)),
    case("6.5.2 INITIAL_WINDOW_SIZE of 2^31-1", settings((4, 2**31 - 1)), Ignored()),
    case("6.5.2 MAX_FRAME_SIZE of 16383", settings((5, 16383)), GoAway(PROTOCOL_ERROR)),
    case("6.5.2 MAX_FRAME_SIZE of 2^24", settings((5, 2**24)), GoAway(PROTOCOL_ERROR)),
    case("6.5.2 MAX_FRAME_SIZE of 2^24-1", settings((5, 2**24 - 1)), Ignored()),
    case("6.5.2 no streams of ours", settings((MAX_CONCURRENT_STREAMS, 0)), Ignored()),
    case("6.5.2 unknown settings", settings((0, 1), (0xA5A5, 1), (0xFFFF, 2**32 - 1)), Ignored()),
    case("6.5.3 the last of equal settings counts", settings((4, 0), (4, 70_000)), Ignored()),
    case("6.5 SETTINGS of 33 values", settings(*[(4, 65535)] * 33), GoAway(ENHANCE_YOUR_CALM)),
    case("6.9 WINDOW_UPDATE of 0", window_update(0, 0), GoAway(PROTOCOL_ERROR)),
    case("6.9 WINDOW_UPDATE of 0 on a stream", opened(1) + window_update(1, 0), GoAway(PROTOCOL_ERROR)),
    case("6.9 WINDOW_UPDATE of 3 bytes", frame(WINDOW_UPDATE, payload=bytes(3)), GoAway(FRAME_SIZE_ERROR)),
    case("6.9.1 a window over 2^31-1", window_update(0, 2**31 - 1), GoAway(FLOW_CONTROL_ERROR)),
    case("6.9.1 a stream's window over 2^31-1", opened(1) + window_update(1, 2**31 - 1),
         Reset(1, FLOW_CONTROL_ERROR)),
    # A connection error by the letter; nghttp2 spares the other streams.
    case("6.9.2 settings that raise a window over 2^31-1",
         opened(1) + window_update(1, 2**31 - 65536) + settings((INITIAL_WINDOW_SIZE, 65536)),
         Reset(1, FLOW_CONTROL_ERROR)),
    case("6.10 CONTINUATION without HEADERS", continuation(1, WHOLE, END_HEADERS), GoAway(PROTOCOL_ERROR)),
    case("6.10 CONTINUATION after the end", headers(1) + continuation(1, b"", END_HEADERS), GoAway(PROTOCOL_ERROR)),
    case("6.10 CONTINUATION on another stream", headers(1, WHOLE, 0) + continuation(3), GoAway(PROTOCOL_ERROR)),
    case("6.10 CONTINUATION on stream 0", headers(1, WHOLE, 0) + continuation(0), GoAway(PROTOCOL_ERROR)),
    case("6.10 CONTINUATION after DATA", opened(1) + data(1, b"{}") + continuation(1), GoAway(PROTOCOL_ERROR)),
    case("6.10 five CONTINUATION frames", pieces(1, WHOLE, [1, 9, 30, 60, 61]), Answered()),
    case("6.10 five empty CONTINUATION frames", pieces(1, WHOLE, [len(WHOLE)] * 5), Answered()),
    case("6.10 six CONTINUATION frames", pieces(1, WHOLE, [1, 9, 30, 60, 61, 62]), GoAway(ENHANCE_YOUR_CALM)),
    case("6.10 HEADERS without a byte", pieces(1, WHOLE, [0]), Answered()),
])  # fmt: skip
def test_settings_windows_continuations(sandbox, sent, expected):
    run(sandbox, sent, expected)


def test_6_5_3_settings_are_acknowledged_each(sandbox):
    with Peer(sandbox) as peer:
        peer.send(settings((4, 1)) + settings((4, 2)) + ping())
        peer.wait(lambda: peer.pongs)
        assert [seen.type for seen in peer.frames if seen.flags & ACK and seen.type in (SETTINGS, PING)] == [
            SETTINGS, SETTINGS, SETTINGS, PING,
        ]  # fmt: skip


@pytest.mark.parametrize("payload", [b"\0\1\2\3\4\5\6\7", b"\xff" * 8])
def test_6_7_ping_is_answered_with_its_bytes(sandbox, payload):
    with Peer(sandbox) as peer:
        peer.ping(payload)


def test_6_8_after_a_clients_goaway_its_requests_are_answered(sandbox):
    with Peer(sandbox) as peer:
        peer.send(headers(1) + headers(3) + goaway(remark=b"bye"))
        peer.wait_closed()
        assert peer.statuses == {1: 403, 3: 403}


def test_6_9_an_answer_waits_for_the_streams_window(sandbox):
    """The body must be one DATA frame (clients parse it alone), so it waits until all of it fits."""
    with Peer(sandbox) as peer:
        peer.send(settings((INITIAL_WINDOW_SIZE, 3)) + headers(1))
        peer.wait(lambda: 1 in peer.statuses)
        peer.ping()
        assert 1 not in peer.bodies
        peer.send(window_update(1, 1) + ping(b"too few!"))
        peer.wait(lambda: b"too few!" in peer.pongs)
        assert 1 not in peer.bodies
        peer.send(window_update(1, 1000))
        peer.wait(lambda: 1 in peer.bodies)
        assert peer.bodies[1] == b'{"reason":"MissingProviderToken"}'


def test_6_9_2_settings_can_make_a_window_negative(sandbox):
    """RFC 9113's example: a window that was used and then shrinks must grow above zero first."""
    with Peer(sandbox) as peer:
        peer.send(settings((INITIAL_WINDOW_SIZE, 10)) + headers(1))
        peer.wait(lambda: 1 in peer.statuses)
        peer.send(settings((INITIAL_WINDOW_SIZE, 0)) + window_update(1, 30))
        peer.ping()
        assert 1 not in peer.bodies
        peer.send(window_update(1, 3))
        peer.wait(lambda: 1 in peer.bodies)


@pytest.mark.parametrize("sent, status", [
    pytest.param(headers(1), 403, id="a_request"),
    pytest.param(opened(1) + data(1, b"{}", END_STREAM), 403, id="a_request_with_a_body"),
    pytest.param(opened(1) + reset(1), None, id="a_reset"),
])  # fmt: skip
def test_frames_that_come_byte_by_byte_are_the_same_frames(sandbox, sent, status):
    with Peer(sandbox) as peer:
        for byte in sent:
            peer.send(bytes([byte]))
        peer.ping()
        peer.wait(lambda: peer.statuses.get(1) == status)
        assert not peer.resets and not peer.goaways
