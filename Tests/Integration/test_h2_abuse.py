"""Abuse of HTTP/2: each kind is limited, counted and cut off, while a neighbour's pushes go on and memory stays."""

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Callable

import pytest

from h2_raw import (
    ACK,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE,
    LAST_STREAM,
    PADDED,
    PREFACE,
    PRIORITY,
    PROTOCOL_ERROR,
    Peer,
    block,
    continuation,
    data,
    frame,
    goaway,
    headers,
    integer,
    literal,
    opened,
    ping,
    pieces,
    reset,
    settings,
    window_update,
)
from harness import Sandbox
from neighbours import unharmed

pytestmark = pytest.mark.timeout(120)

#: Frames; a connection may owe a quarter of them (`HTTP2Limits.patience`).
PLENTY = 80_000
HELLO = PREFACE + settings()
WHOLE = block()


@dataclass
class Abuse:
    """What is sent again and again, what a connection is cut off for, and with which code. Where two kinds are named it
    is chance which bound is met first: that depends on how much comes in one turn."""

    kinds: str
    sent: bytes | Callable[[int], bytes]
    times: int
    hello: bytes = HELLO
    code: int = ENHANCE_YOUR_CALM

    def turns(self):
        """The same bytes, or those of each turn."""
        return (self.sent(turn) if callable(self.sent) else self.sent for turn in range(self.times))


@pytest.fixture(scope="module")
def sandbox():
    """With one event loop, so that everybody is the abuser's neighbour."""
    with Sandbox({"threads": "1"}) as instance:
        yield instance


def many(sent: bytes, frames: int = PLENTY, at_once: int = 500) -> tuple[bytes, int]:
    """So many frames, some hundred in a write."""
    return sent * at_once, frames // at_once


def streams(each: Callable[[int], bytes], count: int, at_once: int = 100):
    """What `each` sends on new streams, some hundred in a write."""

    def turn(number: int) -> bytes:
        first = number * at_once
        return b"".join(each(2 * (first + place) + 1) for place in range(at_once))

    return turn, count // at_once


SMUGGLED = block(None, ("x", "a\r\nb: c"))
PSEUDO = block({":path": None})
#: One entry of the table, then thousands of references to it: a header list of 60 MB in 16 KB.
BOMB = literal("x", "v" * 4000, 0x40), integer(62, 7, 0x80) * 16_000

ABUSES = {
    "rapid_reset": Abuse("rapid_reset", *streams(lambda id: headers(id) + reset(id), 10_000)),
    "rapid_reset_of_halves": Abuse("rapid_reset", *streams(lambda id: opened(id) + reset(id), 10_000)),
    "continuation_flood": Abuse("continuation_flood", continuation(1, b"") * 100, 100, HELLO + headers(1, WHOLE, 0)),
    "continuation_of_16_kilobytes":
        Abuse("continuation_flood", continuation(1, bytes(16384)), 100, HELLO + headers(1, WHOLE, 0)),
    "hpack_bomb": Abuse("header_bomb", *streams(lambda id: pieces(id, WHOLE + BOMB[0] + BOMB[1], [16_000]), 200, 10)),
    "ping_flood": Abuse("frame_flood", *many(ping())),
    "ping_acknowledgements": Abuse("frame_flood", *many(ping(flags=ACK))),
    "settings_flood": Abuse("frame_flood", *many(settings(), 2000, 50)),
    "settings_of_33_values": Abuse("frame_flood", settings(*[(4, 1)] * 33), 1),
    "settings_over_1000_streams": Abuse(
        "frame_flood", *many(settings(*[(INITIAL_WINDOW_SIZE, size) for size in (0, 99_999)] * 16), 2000, 50),
        HELLO + b"".join(opened(id) for id in range(1, 2000, 2)),
    ),
    "table_size_flood": Abuse(
        "frame_flood", *many(settings((HEADER_TABLE_SIZE, 0), (HEADER_TABLE_SIZE, 2**32 - 1)), 2000, 50)
    ),
    "empty_data": Abuse("frame_flood", *many(data(1, b"")), HELLO + opened(1)),
    "data_of_padding": Abuse("frame_flood", *many(data(1, b"\1\0", PADDED), 30_000), HELLO + opened(1)),
    "priority_flood": Abuse("frame_flood", *many(frame(PRIORITY, 0, 3, bytes(4) + b"\x10"))),
    "window_update_flood": Abuse("frame_flood", *many(window_update(0, 1))),
    "unknown_frames": Abuse("frame_flood", *many(frame(0xFA))),
    "goaway_flood": Abuse("frame_flood", *many(goaway()), HELLO + opened(1)),
    "resets_of_a_closed_stream": Abuse("frame_flood", *many(reset(1)), HELLO + opened(1) + reset(1)),
    "headers_on_a_closed_stream": Abuse("frame_flood", *many(headers(1), 40_000, 100), HELLO + opened(1) + reset(1)),
    "streams_that_never_end": Abuse("stream_flood", *streams(opened, 20_000)),
    "window_of_0": Abuse("stream_flood", *streams(headers, 20_000), PREFACE + settings((INITIAL_WINDOW_SIZE, 0))),
    "smuggled_headers": Abuse("frame_flood stream_flood", *streams(lambda id: headers(id, SMUGGLED), 60_000)),
    "malformed_pseudo_headers": Abuse("frame_flood stream_flood", *streams(lambda id: headers(id, PSEUDO), 60_000)),
    "a_stream_twice": Abuse("protocol_error", headers(1) + headers(1), 1, code=5),
    "frames_of_nonsense": Abuse("protocol_error", data(0, b"a"), 1, code=PROTOCOL_ERROR),
    "another_protocol": Abuse("not_http2", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1, b"", PROTOCOL_ERROR),
}  # fmt: skip


def counted(instance, kinds: str) -> float:
    """How often these kinds of abuse were met."""
    return sum(instance.admin.metric("provider_abuse_total", kind=kind) for kind in kinds.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ABUSES)
def test_abuse_is_cut_off_and_counted(sandbox, name):
    abuse = ABUSES[name]
    before = counted(sandbox, abuse.kinds)
    with unharmed(sandbox), Peer(sandbox, abuse.hello) as peer:
        for sent in abuse.turns():
            if not peer.flood(sent, 1):
                break
        assert peer.wait_closed() == abuse.code
        assert all(len(seen.payload) == 8 for seen in peer.goaways)
    assert counted(sandbox, abuse.kinds) == before + 1


RESIZES = b"\x20\x3f\xe1\x1f"

STREAM_ABUSES = {
    "large_header_list_in_few_bytes":
        ("header_list", *streams(lambda id: headers(id, WHOLE + BOMB[0] + integer(62, 7, 0x80) * 50), 1000)),
    "header_list_of_90_kilobytes":
        ("header_list", *streams(lambda id: pieces(id, WHOLE + literal("x", "v" * 45_000) * 2, [16_000 * n for
                                 n in range(1, 6)]), 200, 10)),
    "smuggled_header": ("malformed_request", *streams(lambda id: headers(id, SMUGGLED), 1000)),
    "malformed_pseudo_header": ("malformed_request", *streams(lambda id: headers(id, PSEUDO), 1000)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAM_ABUSES)
def test_abuse_within_a_stream_costs_the_stream_and_is_counted(sandbox, name):
    kind, sent, turns = STREAM_ABUSES[name]
    before = counted(sandbox, kind)
    with unharmed(sandbox), Peer(sandbox) as peer:
        for turn in range(turns):
            assert peer.flood(sent(turn), 1)
        peer.ping()
        expected = ENHANCE_YOUR_CALM if kind == "header_list" else PROTOCOL_ERROR
        assert set(peer.resets.values()) == {expected} and not peer.statuses and not peer.goaways
        count = len(peer.resets)
    assert counted(sandbox, kind) == before + count


def test_streams_above_the_limit_are_refused_and_counted(sandbox):
    before = counted(sandbox, "refused_stream")
    with unharmed(sandbox), Peer(sandbox) as peer:
        peer.send(b"".join(opened(id) for id in range(1, 2401, 2)))
        peer.wait(lambda: len(peer.resets) == 200)
        peer.ping()
        assert not peer.goaways
    assert counted(sandbox, "refused_stream") == before + 200


def test_answers_that_wait_do_not_hold_their_requests(sandbox):
    """A window of 0 on ten connections with a thousand large requests each: 120 MB, were they kept."""
    large = block(None, ("authorization", "bearer " + "a" * 6000))
    hello = PREFACE + settings((INITIAL_WINDOW_SIZE, 0))
    with unharmed(sandbox), contextlib.ExitStack() as open_ones:
        for _ in range(10):
            peer = open_ones.enter_context(Peer(sandbox, hello))
            for first in range(1, 2001, 50):
                ids = range(first, first + 50, 2)
                peer.send(b"".join(opened(id, large) + data(id, b"{" * 5000, END_STREAM) for id in ids))
                peer.wait(lambda last=ids[-1], peer=peer: last in peer.statuses)
            assert len(peer.statuses) == 1000 and not peer.bodies
        # With credit the last of them gets what waited.
        peer.send(settings((INITIAL_WINDOW_SIZE, 100)) + window_update(0, 100_000))
        peer.wait(lambda: len(peer.bodies) == 1000)


def test_changes_of_table_size_in_each_request(sandbox):
    """Allowed, and of no use."""
    with unharmed(sandbox), Peer(sandbox) as peer:
        for first in range(1, 4001, 200):
            peer.send(b"".join(headers(id, RESIZES + WHOLE + BOMB[0]) for id in range(first, first + 200, 2)))
            peer.wait(lambda last=first + 198: last in peer.statuses)
            # Our errors have bodies: without credit they would wait.
            peer.send(window_update(0, 100_000))
        assert set(peer.statuses.values()) == {403} and not peer.resets


def test_the_last_stream_there_is(sandbox):
    with unharmed(sandbox), Peer(sandbox) as peer:
        peer.send(headers(LAST_STREAM))
        peer.wait(lambda: LAST_STREAM in peer.statuses)
        peer.send(b"".join(headers(id) for id in range(1, 201, 2)))
        peer.ping()
        assert set(peer.statuses) == {LAST_STREAM}


def test_pushes_that_the_peer_makes_us_reset(sandbox):
    """CVE-2025-8671: a broken window on a stream whose push is on its way counts as given up."""
    token = sandbox.register()
    fields = sandbox.headers(token)
    content = b"".join(literal(name, value) for name, value in fields)
    before = counted(sandbox, "rapid_reset")
    with unharmed(sandbox), Peer(sandbox) as peer:
        for id in range(1, 40_001, 2):
            sent = opened(id, content) + data(id, b"{}", END_STREAM) + window_update(id, 2**31 - 1)
            if not peer.flood(sent, 1):
                break
        assert peer.wait_closed() == ENHANCE_YOUR_CALM
    assert counted(sandbox, "rapid_reset") == before + 1


def test_a_client_that_resets_now_and_then_is_not_cut_off(sandbox):
    """Every third request is given up, 3000 requests long: the others are answered."""
    with Peer(sandbox) as peer:
        for first in range(1, 6001, 60):
            ids = range(first, first + 60, 2)
            peer.send(b"".join(headers(id) + (reset(id) if id % 3 == 0 else b"") for id in ids))
            peer.wait(lambda ids=ids: all(id in peer.statuses for id in ids if id % 3))
            peer.send(window_update(0, 10_000))
        peer.ping()
        assert not peer.goaways


def test_a_client_with_a_ping_and_credit_for_each_request_is_not_cut_off(sandbox):
    with Peer(sandbox) as peer:
        for first in range(1, 30_001, 300):
            ids = range(first, first + 300, 2)
            peer.send(b"".join(headers(id) + ping() + window_update(0, 40) for id in ids))
            peer.wait(lambda last=ids[-1]: last in peer.statuses)
        assert not peer.goaways


def test_the_log_tells_of_abuse_now_and_then(fresh):
    """One line for the first, and one for what follows within ten seconds."""
    instance = fresh({"threads": "1", "log.format": "json"})
    instance.admin.hold_clock(True)

    def abuse() -> None:
        with Peer(instance, HELLO + data(0, b"a")) as peer:
            peer.wait_closed()

    for _ in range(20):
        abuse()
    assert counted(instance, "protocol_error") == 20
    instance.advance("11s")
    abuse()
    deadline, lines = time.monotonic() + 10, []
    while len(lines) < 2 and time.monotonic() < deadline:
        lines = [json.loads(line) for line in list(instance.standard_error) if "provider cut off" in line]
        time.sleep(0.02)
    assert [(line["kind"], line["leftOut"]) for line in lines] == [("protocol_error", "0"), ("protocol_error", "19")]
