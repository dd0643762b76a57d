"""HTTP/2 streams and requests: RFC 9113 sections 5 and 8, one row per case. What no request may hold never comes
further than its stream, so nothing can be smuggled to whoever reads headers later."""

import pytest

from h2_raw import (
    CANCEL,
    END_HEADERS,
    END_STREAM,
    LAST_STREAM,
    PRIORITY,
    PROTOCOL_ERROR,
    STREAM_CLOSED,
    Answered,
    GoAway,
    Ignored,
    Peer,
    Reset,
    block,
    case,
    data,
    frame,
    headers,
    literal,
    opened,
    reset,
    run,
    window_update,
)

pytestmark = pytest.mark.sanitizer

MALFORMED = Reset(1, PROTOCOL_ERROR)


def whole(changes: dict | None = None, *extra) -> bytes:
    """A request of HEADERS alone."""
    return headers(1, block(changes, *extra))


def length(value: str, body: bytes = b"{}") -> bytes:
    """A request that claims a length of its body."""
    return opened(1, block(None, ("content-length", value))) + data(1, body, END_STREAM)


def trailers(*fields, flags: int = END_STREAM | END_HEADERS) -> bytes:
    return headers(1, b"".join(literal(name, value) for name, value in fields), flags)


@pytest.mark.parametrize("sent, expected", [
    case("5.1 DATA on an idle stream", data(1, b"a"), GoAway(PROTOCOL_ERROR)),
    case("5.1 RST_STREAM on an idle stream", reset(3), GoAway(PROTOCOL_ERROR)),
    case("5.1 WINDOW_UPDATE on an idle stream", window_update(3, 1), GoAway(PROTOCOL_ERROR)),
    case("5.1 DATA on a half-closed stream", headers(1) + data(1, b"a"), GoAway(STREAM_CLOSED)),
    case("5.1 HEADERS on a half-closed stream", headers(1) + headers(1), GoAway(STREAM_CLOSED)),
    case("5.1 WINDOW_UPDATE on a half-closed stream", headers(1) + window_update(1, 9), Answered()),
    case("5.1 PRIORITY on a half-closed stream", headers(1) + frame(PRIORITY, 0, 1, bytes(4) + b"\x10"), Answered()),
    case("5.1 RST_STREAM on a half-closed stream", headers(1) + reset(1, CANCEL), Ignored()),
    # An error by the letter. nghttp2 does not tell it from what was on its way when the gateway reset the stream, which
    # must be ignored; a flood of it ends the connection.
    case("5.1 HEADERS on a closed stream", opened(1) + reset(1) + headers(1), Ignored()),
    case("5.1 DATA on a closed stream", opened(1) + reset(1) + data(1, b"a", END_STREAM), Ignored()),
    case("5.1 WINDOW_UPDATE on a closed stream", opened(1) + reset(1) + window_update(1, 1), Ignored()),
    case("5.1 PRIORITY on a closed stream", opened(1) + reset(1) + frame(PRIORITY, 0, 1, bytes(5)), Ignored()),
    case("5.1.1 an even stream", headers(2), GoAway(PROTOCOL_ERROR)),
    case("5.1.1 a stream below the last one", headers(5) + headers(3), Answered(5)),
    case("5.1.1 streams may be left out", headers(9), Answered(9)),
    case("5.3.2 a dependency of each kind", frame(PRIORITY, 0, 1, b"\x80\0\0\3\xff") + headers(1), Answered()),
])  # fmt: skip
def test_states(sandbox, sent, expected):
    run(sandbox, sent, expected)


@pytest.mark.parametrize("sent, expected", [
    case("8.1 trailers", opened(1) + data(1, b"{}") + trailers(("x", "y")), Answered()),
    case("8.1 trailers without a body", opened(1) + trailers(("x", "y")), Answered()),
    case("8.1 trailers that do not end", opened(1) + trailers(("x", "y"), flags=END_HEADERS), MALFORMED),
    case("8.1 trailers with a pseudo header", opened(1) + trailers((":path", "/")), MALFORMED),
    case("8.1 trailers in capitals", opened(1) + trailers(("X", "y")), MALFORMED),
    case("8.1 a second request on the stream", opened(1) + headers(1), MALFORMED),
    case("8.1.1 content-length of the body", length("2"), Answered()),
    case("8.1.1 content-length below the body", length("1"), MALFORMED),
    case("8.1.1 content-length above the body", length("3"), MALFORMED),
    case("8.1.1 content-length without a body", whole(None, ("content-length", "1")), MALFORMED),
    case("8.1.1 content-length of 0", whole(None, ("content-length", "0")), Answered()),
    case("8.1.1 content-length in words", length("two"), MALFORMED),
    case("8.1.1 content-length with a sign", length("+2"), MALFORMED),
    case("8.1.1 content-length below 0", length("-2"), MALFORMED),
    case("8.1.1 content-length with a space", length("2 "), MALFORMED),
    case("8.1.1 content-length twice in one", length("2, 2"), MALFORMED),
    case("8.1.1 content-length without digits", length(""), MALFORMED),
    case("8.1.1 content-length over 2^64", length("18446744073709551618"), MALFORMED),
    case("8.1.1 content-length twice", whole(None, *[("content-length", "0")] * 2), MALFORMED),
])  # fmt: skip
def test_messages(sandbox, sent, expected):
    run(sandbox, sent, expected)


@pytest.mark.parametrize("sent, expected", [
    *(
        case(f"8.2.1 a name {what}", whole(None, (name, "v")), MALFORMED)
        for what, name in (
            ("in capitals", "Apns-Priority"), ("with one capital", "apns-prioritY"), ("of no bytes", ""),
            ("with a space", "a b"), ("with a colon", "a:b"), ("with a line feed", "a\nb"), ("with NUL", "a\0b"),
            ("of ours with a space", "apns-topic "), ("beyond ASCII", b"\xc3\xa9"), ("with DEL", "a\x7f"),
            ("with a tab", "\ta"), ("with a parenthesis", "(a)"), ("of a quoted string", '"a"'),
        )
    ),
    *(
        case(f"8.2.1 a value {what}", whole(None, ("x", value)), MALFORMED)
        for what, value in (
            ("with CR LF", "a\r\nb: c"), ("with CR", "a\rb"), ("with LF", "a\nb"), ("with NUL", "a\0b"),
            ("with a control", "a\x01"), ("with DEL", "a\x7f"), ("with LF at its end", "a\n"),
            ("with a request", "a\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
        )
    ),
    case("8.2.1 a topic with CR LF", whole(None, ("apns-topic", "a\r\nb")), MALFORMED),
    case("8.2.1 an id with NUL", whole(None, ("apns-id", "a\0")), MALFORMED),
    case("8.2.1 a value beyond ASCII", whole(None, ("x", b"\xc3\xa9\xff")), Answered()),
    case("8.2.1 a value with a tab", whole(None, ("x", "a\tb")), Answered()),
    case("8.2.1 a value without bytes", whole(None, ("x", "")), Answered()),
    *(
        case(f"8.2.2 {name}", whole(None, (name, value)), MALFORMED)
        for name, value in (
            ("connection", "keep-alive"), ("keep-alive", "1"), ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"), ("transfer-encoding", "identity"), ("upgrade", "h2c"), ("te", "gzip"),
            ("te", "trailers, deflate"),
        )
    ),
    case("8.2.2 te of trailers", whole(None, ("te", "trailers")), Answered()),
    case("8.2.3 cookies in pieces", whole(None, ("cookie", "a=b"), ("cookie", "c=d")), Answered()),
])  # fmt: skip
def test_fields(sandbox, sent, expected):
    run(sandbox, sent, expected)


@pytest.mark.parametrize("sent, expected", [
    case("8.3 an unknown pseudo header", headers(1, literal(":what", "v") + block()), MALFORMED),
    case("8.3 the pseudo header of answers", headers(1, literal(":status", "200") + block()), MALFORMED),
    case("8.3 a pseudo header after others", whole({":path": None}, ("x", "y"), (":path", "/")), MALFORMED),
    case("8.3.1 no headers", headers(1, b""), MALFORMED),
    *(
        case(f"8.3.1 no {name}", whole({name: None}), MALFORMED)
        for name in (":method", ":scheme", ":path", ":authority")
    ),
    *(
        case(f"8.3.1 {name} twice", headers(1, literal(name, "/") + block()), MALFORMED)
        for name in (":method", ":scheme", ":path", ":authority")
    ),
    *(
        case(f"8.3.1 an empty {name}", whole({name: ""}), MALFORMED)
        for name in (":method", ":scheme", ":path", ":authority")
    ),
    case("8.3.1 a path that is none", whole({":path": "3/device/00"}), MALFORMED),
    case("8.3.1 a path with a space", whole({":path": "/3/device/00 HTTP/1.1"}), MALFORMED),
    case("8.3.1 a path with CR LF", whole({":path": "/3/device/00\r\nx: y"}), MALFORMED),
    case("8.3.1 a path of * with POST", whole({":path": "*"}), MALFORMED),
    case("8.3.1 a method with a space", whole({":method": "POST /"}), MALFORMED),
    case("8.3.1 a method with CR LF", whole({":method": "POST\r\n"}), MALFORMED),
    case("8.3.1 an authority with a space", whole({":authority": "a b"}), MALFORMED),
    case("8.3.1 an authority with a path", whole({":authority": "a/b"}), MALFORMED),
    case("8.3.1 a scheme with a space", whole({":scheme": "https "}), MALFORMED),
    case("8.3.1 http for a scheme", whole({":scheme": "http"}), Answered()),
    case("8.3.1 host in place of authority", whole({":authority": None}, ("host", "localhost")), Answered()),
    case("8.3.1 host twice", whole(None, ("host", "a"), ("host", "b")), MALFORMED),
    case("8.3.1 host with a space", whole(None, ("host", "a b")), MALFORMED),
    case("8.3.1 another method", whole({":method": "GET"}), Answered(1, 405)),
    case("8.3.1 an invented method", whole({":method": "BREW"}), Answered(1, 405)),
    case("8.3.1 OPTIONS of the server", whole({":method": "OPTIONS", ":path": "*"}), Answered(1, 405)),
    case("8.4 a promise cannot be asked for", whole(None, ("http2-settings", "AAMAAABkAAQAAP__")), Answered()),
    case("8.5 CONNECT", whole({":method": "CONNECT", ":scheme": None, ":path": None}), Answered(1, 405)),
    case("8.5 CONNECT with a path", whole({":method": "CONNECT"}), MALFORMED),
    case("8.5 CONNECT without an authority",
         whole({":method": "CONNECT", ":scheme": None, ":path": None, ":authority": None}), MALFORMED),
    case("8.5 CONNECT of a protocol", headers(1, literal(":protocol", "websocket") + block({":method": "CONNECT"})),
         MALFORMED),
])  # fmt: skip
def test_requests(sandbox, sent, expected):
    run(sandbox, sent, expected)


def test_5_1_1_stream_2_31_1_is_answered(sandbox):
    with Peer(sandbox) as peer:
        peer.send(headers(LAST_STREAM))
        peer.wait(lambda: peer.statuses.get(LAST_STREAM) == 403)
        peer.send(headers(1))
        peer.ping()
        assert 1 not in peer.statuses, "no stream may follow the last one"


def test_8_5_connect_that_leaves_its_stream_open_is_answered_when_it_ends(sandbox):
    with Peer(sandbox) as peer:
        peer.send(opened(1, block({":method": "CONNECT", ":scheme": None, ":path": None})))
        peer.ping()
        peer.send(data(1, b"\x16\x03\x01", END_STREAM))
        peer.wait(lambda: peer.statuses.get(1) == 405)
        peer.ping()
