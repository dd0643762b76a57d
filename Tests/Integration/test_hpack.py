"""Header compression: RFC 7541, one row per case. A block that cannot be decoded ends the connection (4.3 of RFC 9113):
tables that are out of step would mix up the headers of later requests."""

import hpack
import pytest

from h2_raw import (
    COMPRESSION_ERROR,
    END_HEADERS,
    END_STREAM,
    PREFACE,
    USUAL,
    Answered,
    GoAway,
    Peer,
    Reset,
    block,
    case,
    continuation,
    headers,
    integer,
    literal,
    pieces,
    run,
    settings,
    text,
)

pytestmark = pytest.mark.sanitizer

BROKEN = GoAway(COMPRESSION_ERROR)
WHOLE = block()
#: A field that goes into the dynamic table, and the index under which it is then found.
REMEMBERED, FIRST_DYNAMIC = literal("x-a", "b", 0x40), integer(62, 7, 0x80)


def resize(size: int) -> bytes:
    return integer(size, 5, 0x20)


@pytest.mark.parametrize("content, expected", [
    case("2.3.3 index 0", WHOLE + b"\x80", BROKEN),
    case("2.3.3 an index beyond an empty table", WHOLE + FIRST_DYNAMIC, BROKEN),
    case("2.3.3 a large index", WHOLE + integer(2**28, 7, 0x80), BROKEN),
    case("2.3.3 the name of an index beyond the tables", WHOLE + integer(70, 6, 0x40) + text("v"), BROKEN),
    case("6.1 POST and https from the static table",
         b"\x83\x87" + b"".join(literal(name, USUAL[name]) for name in (":path", ":authority")), Answered()),
    case("6.2.1 a field that is remembered", WHOLE + REMEMBERED + FIRST_DYNAMIC, Answered()),
    case("6.2.1 a name from the static table", WHOLE + integer(58, 6, 0x40) + text("agent") + FIRST_DYNAMIC,
         Answered()),
    case("6.2.2 a field that is not remembered", WHOLE + literal("x-a", "b", 0x00) + FIRST_DYNAMIC, BROKEN),
    case("6.2.3 a field that is never remembered", WHOLE + literal("x-a", "b", 0x10) + FIRST_DYNAMIC, BROKEN),
    case("4.1 the oldest leaves for the newest",
         WHOLE + REMEMBERED + literal("x", "v" * 4030, 0x40) + integer(63, 7, 0x80), BROKEN),
    case("4.4 a field larger than the table empties it",
         WHOLE + REMEMBERED + literal("x", "v" * 4090, 0x40) + FIRST_DYNAMIC, BROKEN),
    case("4.4 a field larger than the table is a field", WHOLE + literal("x", "v" * 4090, 0x40), Answered()),
    case("4.2 a smaller table", resize(0) + WHOLE, Answered()),
    case("4.2 a smaller table holds nothing", resize(0) + WHOLE + REMEMBERED + FIRST_DYNAMIC, BROKEN),
    case("4.2 two changes of size", resize(0) + resize(4096) + WHOLE + REMEMBERED + FIRST_DYNAMIC, Answered()),
    case("4.2 the announced size", resize(4096) + WHOLE, Answered()),
    case("4.2 one more than announced", resize(4097) + WHOLE, BROKEN),
    case("4.2 a huge table", resize(2**31) + WHOLE, BROKEN),
    case("4.2 a change of size after a field", WHOLE + resize(0), BROKEN),
    case("4.2 a change of size between fields", WHOLE + resize(100) + literal("x", "y"), BROKEN),
    case("4.2 a change of size alone", resize(0), Reset(1, 1)),
    case("5.1 an integer of many bytes", WHOLE + b"\xff" + b"\xff" * 10 + b"\x0f", BROKEN),
    case("5.1 an integer over 2^32", WHOLE + b"\xff\xff\xff\xff\xff\x7f", BROKEN),
    case("5.1 an integer without its end", WHOLE + b"\xff\x80", BROKEN),
    case("5.1 zeros without an end", WHOLE + b"\xff" + b"\x80" * 2000, BROKEN),
    case("5.2 a text longer than the block", WHOLE + b"\x10\x05abc", BROKEN),
    case("5.2 a value longer than the block", WHOLE + b"\x10\x01a\x7f\x00", BROKEN),
    case("5.2 a text of 2 GB", WHOLE + b"\x10" + integer(2**31, 7), BROKEN),
    case("5.2 a name without a value", WHOLE + b"\x10\x01a", BROKEN),
    case("5.2 Huffman", WHOLE + b"\x10" + text("x") + text(bytes.fromhex("f1e3c2e5f23a6ba0ab90f4ff"), True),
         Answered()),
    case("5.2 Huffman with padding of zeros", WHOLE + b"\x10" + text("x") + text(b"\x18", True), BROKEN),
    case("5.2 Huffman with padding of a byte", WHOLE + b"\x10" + text("x") + text(b"\x1f\xff", True), BROKEN),
    case("5.2 Huffman with the end's symbol", WHOLE + b"\x10" + text("x") + text(b"\xff\xff\xff\xff", True), BROKEN),
    case("5.2 Huffman that ends in a symbol", WHOLE + b"\x10" + text("x") + text(b"\xfe", True), BROKEN),
    case("5.2 Huffman of no bytes", WHOLE + b"\x10" + text("x") + text(b"", True), Answered()),
    case("6.3 a change of size without its number", b"\x3f", BROKEN),
])  # fmt: skip
def test_blocks(sandbox, content, expected):
    run(sandbox, headers(1, content), expected)


def test_the_table_is_the_connections(sandbox):
    """2.2: what one request brought in, the next finds, also after one that was refused for its headers."""
    with Peer(sandbox) as peer:
        peer.send(headers(1, WHOLE + literal("connection", "close") + REMEMBERED))
        peer.wait(lambda: 1 in peer.resets)
        peer.send(headers(3, WHOLE + FIRST_DYNAMIC))
        peer.wait(lambda: 3 in peer.statuses)
        peer.ping()


def test_the_table_holds_what_came_after_the_limit_of_a_header_list(sandbox):
    """Headers beyond 8000 bytes are not kept, but decoded: the tables stay in step."""
    with Peer(sandbox) as peer:
        peer.send(headers(1, WHOLE + literal("x", "v" * 9000) + REMEMBERED))
        peer.wait(lambda: 1 in peer.resets)
        peer.send(headers(3, WHOLE + FIRST_DYNAMIC))
        peer.wait(lambda: 3 in peer.statuses)


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_block_may_be_cut_anywhere(sandbox, cut):
    content = resize(100) + b"\x83\x87" + block({":method": None, ":scheme": None})
    with Peer(sandbox) as peer:
        peer.send(pieces(1, content, [cut]))
        peer.wait(lambda: peer.statuses.get(1) == 403)


def test_a_broken_block_of_a_refused_stream_ends_the_connection_too(sandbox):
    """A block that is skipped is still decoded."""
    sent = headers(1, WHOLE + literal("Connection", "close"), END_STREAM) + continuation(1, b"\x80", END_HEADERS)
    run(sandbox, sent, BROKEN)


@pytest.mark.parametrize("size", [0, 1, 100, 4095, 4096, 4097, 2**32 - 1])
def test_the_encoder_keeps_to_the_peers_table(sandbox, size):
    """RFC 7541 4.2: a smaller table is confirmed in the next block, and no more is used."""
    with Peer(sandbox, PREFACE + settings((1, size))) as peer:
        decoder = peer._decoder = hpack.Decoder()
        decoder.max_allowed_table_size = size
        decoder.header_table_size = min(size, 4096)
        for stream in range(1, 200, 2):
            peer.send(headers(stream))
            peer.wait(lambda stream=stream: peer.statuses.get(stream) == 403)
        assert decoder.header_table_size <= size
