"""What went wrong elsewhere with HTTP/2, tried here: one test for each lesson.

T4 needs client certificates, which providers cannot have yet.
"""

import base64
import json
import shutil
import subprocess
import uuid

import pytest

from h2_raw import (
    COMPRESSION_ERROR,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    HEADER_TABLE_SIZE,
    HEADERS,
    LAST_STREAM,
    MAX_CONCURRENT_STREAMS,
    MAX_HEADER_LIST_SIZE,
    PREFACE,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    SETTINGS,
    Peer,
    Reset,
    block,
    continuation,
    data,
    headers,
    integer,
    literal,
    opened,
    pieces,
    ping,
    reset,
    run,
    settings,
    text,
    window_update,
)
from harness import BODY
from neighbours import MEBIBYTE, unharmed

WHOLE = block()


def fields(instance, token: str, *extra: tuple[str, str]) -> bytes:
    """The header block of a push that is accepted."""
    return b"".join(literal(name, value) for name, value in [*instance.headers(token), *extra])


def push(instance, stream: int, token: str, *extra: tuple[str, str]) -> bytes:
    return opened(stream, fields(instance, token, *extra)) + data(stream, BODY, END_STREAM)


def drain(instance, peer, streams: range, late: range, each) -> None:
    """Holds `streams` in flight, drains, and opens the `late` ones while the GOAWAYs come."""
    instance.admin.hold_store(True)
    peer.send(b"".join(each(stream) for stream in streams))
    peer.ping()
    instance.admin.drain()
    for stream in late:
        peer.send(each(stream))
        peer.pump(0.02)
    peer.wait(lambda: len(peer.goaways) == 2)
    instance.admin.hold_store(False)
    peer.wait_closed()


@pytest.mark.sanitizer
def test_t01_a_drain_answers_every_stream_up_to_the_last_one(fresh):
    instance = fresh()
    token = instance.register()
    with Peer(instance) as peer:
        drain(instance, peer, range(1, 200, 2), range(201, 241, 2), lambda stream: push(instance, stream, token))
        first, last = (goaway.word() for goaway in peer.goaways)
        assert first == LAST_STREAM and 199 <= last < 241
        assert sorted(peer.statuses) == list(range(1, last + 1, 2)) and set(peer.statuses.values()) == {200}
        assert {json.loads(goaway.payload[8:])["reason"] for goaway in peer.goaways} == {"Shutdown"}


@pytest.mark.sanitizer
def test_t02_each_push_around_goaway_is_answered_and_stored_or_neither(fresh):
    instance = fresh()
    token = instance.register()
    ids = {stream: str(uuid.uuid4()) for stream in range(1, 101, 2)}
    with Peer(instance) as peer:
        drain(instance, peer, range(1, 41, 2), range(41, 101, 2),
              lambda stream: push(instance, stream, token, ("apns-id", ids[stream])))  # fmt: skip
        last = peer.goaways[-1].word()
        answered = {ids[stream] for stream in peer.statuses}
        assert answered == {id for stream, id in ids.items() if stream <= last}
        assert set(peer.statuses.values()) == {200}
    assert {item["apnsID"] for item in instance.admin.queue(token)} == answered


@pytest.mark.sanitizer
def test_t03_goaways_never_promise_more_and_say_why_in_json_or_not_at_all(fresh):
    """A fatal error between the two GOAWAYs of a drain."""
    instance = fresh()
    token = instance.register()
    with Peer(instance) as peer:
        instance.admin.hold_store(True)
        peer.send(push(instance, 1, token))
        peer.ping()
        instance.admin.drain()
        peer.wait(lambda: peer.goaways)
        peer.send(data(0, b"broken"))
        instance.admin.hold_store(False)
        peer.wait_closed()
        lasts = [goaway.word() for goaway in peer.goaways]
        assert lasts == sorted(lasts, reverse=True)
        for goaway in peer.goaways:
            assert not goaway.payload[8:] or "reason" in json.loads(goaway.payload[8:])


@pytest.mark.sanitizer
def test_t05_only_the_streams_above_the_limit_are_refused(sandbox):
    token = sandbox.register()
    content = fields(sandbox, token)
    with Peer(sandbox) as peer:
        peer.send(b"".join(opened(stream, content) for stream in range(1, 2005, 2)))
        peer.wait(lambda: len(peer.resets) == 2)
        assert peer.resets == {2001: REFUSED_STREAM, 2003: REFUSED_STREAM}
        peer.send(b"".join(data(stream, BODY, END_STREAM) for stream in range(1, 2001, 2)))
        peer.wait(lambda: len(peer.statuses) == 1000)
        assert set(peer.statuses.values()) == {200} and not peer.goaways


@pytest.mark.sanitizer
def test_t07_the_first_settings_name_the_limits(sandbox):
    with Peer(sandbox) as peer:
        peer.send(headers(1))
        peer.wait(lambda: 1 in peer.statuses)
        first = peer.frames[0]
        assert first.type == SETTINGS
        entries = [first.payload[at : at + 6] for at in range(0, len(first.payload), 6)]
        values = {int.from_bytes(entry[:2], "big"): int.from_bytes(entry[2:], "big") for entry in entries}
        assert values[MAX_CONCURRENT_STREAMS] == 1 and values[MAX_HEADER_LIST_SIZE] == 8000


def test_t10_an_idle_connection_works_or_says_that_it_ends(fresh):
    """Two hours: one with a PING each half hour, one silent. The documented time is `provider.idleTimeout`, an hour."""
    instance = fresh()
    with Peer(instance) as pinging, Peer(instance) as silent:
        pinging.ping()
        silent.ping()
        for turn in range(4):
            instance.advance("30m")
            pinging.ping(b"turn%4d" % turn)
        pinging.send(headers(1))
        pinging.wait(lambda: pinging.statuses.get(1) == 403)
        assert silent.wait_closed() == 0
        assert json.loads(silent.goaways[-1].payload[8:])["reason"] == "IdleTimeout"


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_t11_a_million_pings_of_a_client_that_does_not_read(sandbox):
    with unharmed(sandbox), Peer(sandbox) as peer:
        for _ in range(1000):
            if not peer.send(ping() * 1000):
                break
        assert peer.wait_closed() == ENHANCE_YOUR_CALM


@pytest.mark.sanitizer
@pytest.mark.parametrize("size", [0, 1, 100, 4095])
def test_t12_a_smaller_header_table_is_kept_to_and_confirmed(sandbox, size):
    with Peer(sandbox, PREFACE + settings((HEADER_TABLE_SIZE, size))) as peer:
        peer._decoder.max_allowed_table_size = size
        for stream in range(1, 201, 2):
            peer.send(headers(stream))
            peer.wait(lambda stream=stream: peer.statuses.get(stream) == 403)
        first = next(got for got in peer.frames if got.type == HEADERS)
        assert first.payload.startswith(integer(size, 5, 0x20)), "the encoder must say that it uses a smaller table"


@pytest.mark.parametrize("size", [4095, 4096, 4097])
def test_t13_the_size_that_is_usual_and_its_neighbours(sandbox, size):
    assert shutil.which("nghttp"), "nghttp comes with nghttp2-client"
    url = f"https://localhost:{sandbox.provider_port}/3/device/{'00' * 32}"
    command = ["nghttp", "-v", "-t", "10", "-m", "3", f"--header-table-size={size}", url]
    output = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    assert output.count(":status: 405") == 3 and "COMPRESSION_ERROR" not in output


@pytest.mark.sanitizer
def test_t14_a_change_of_table_size_after_a_field(sandbox):
    with Peer(sandbox) as peer:
        peer.send(headers(1, WHOLE + b"\x20"))
        assert peer.wait_closed() == COMPRESSION_ERROR


@pytest.mark.sanitizer
@pytest.mark.parametrize("content", [
    pytest.param(b"\x10" + text("x") + text(b"\x18", huffman=True), id="padding_of_zeros"),
    pytest.param(b"\x10" + text("x") + text(b"\x1f\xff\xff", huffman=True), id="padding_of_bytes"),
    pytest.param(b"\x10" + text("x") + integer(2**30, 7), id="a_text_of_a_gigabyte"),
])  # fmt: skip
def test_t15_bad_huffman_codes_and_huge_lengths(sandbox, content):
    with unharmed(sandbox), Peer(sandbox) as peer:
        peer.send(headers(1, WHOLE + content))
        assert peer.wait_closed() == COMPRESSION_ERROR


@pytest.mark.sanitizer
@pytest.mark.parametrize("size", [4097, 2**20, 2**31 - 1, 2**32 - 1, 2**40])
def test_t15_a_huge_table(sandbox, size):
    with unharmed(sandbox), Peer(sandbox) as peer:
        peer.send(headers(1, integer(size, 5, 0x20) + WHOLE))
        assert peer.wait_closed() == COMPRESSION_ERROR


@pytest.mark.sanitizer
def test_t17_six_continuations_are_too_many_and_two_frames_of_headers_are_fine(sandbox):
    with Peer(sandbox) as peer:
        peer.send(headers(1, WHOLE, END_STREAM) + continuation(1) * 6)
        assert peer.wait_closed() == ENHANCE_YOUR_CALM
    token = sandbox.register()
    content = fields(sandbox, token, ("x-filler", "a" * 6950))
    assert 7300 < len(content) < 7700
    with Peer(sandbox) as peer:
        peer.send(headers(1, content[:4000], 0) + continuation(1, content[4000:], END_HEADERS))
        peer.send(data(1, BODY, END_STREAM))
        peer.wait(lambda: peer.statuses.get(1) == 200)


@pytest.mark.timeout(120)
def test_t18_rapid_reset_of_pushes_stores_each_whole_or_not_at_all(sandbox):
    token = sandbox.register()
    content = fields(sandbox, token)
    with unharmed(sandbox), Peer(sandbox) as peer:
        for first in range(1, 20_001, 100):
            ids = range(first, first + 100, 2)
            sent = b"".join(opened(id, content) + data(id, BODY, END_STREAM) + reset(id) for id in ids)
            if not peer.flood(sent, 1):
                break
        assert peer.wait_closed() == ENHANCE_YOUR_CALM
    waiting = sandbox.admin.get(f"/v1/queues/{token}", payload="true")["items"]
    assert all(base64.b64decode(item["payload"]) == BODY for item in waiting)


@pytest.mark.sanitizer
@pytest.mark.parametrize("name, value", [
    ("connection", "keep-alive"), ("transfer-encoding", "chunked"), ("Apns-Topic", "com.example.app"),
])  # fmt: skip
def test_t19_headers_of_another_protocol_cost_their_stream(sandbox, name, value):
    run(sandbox, headers(1, block(None, (name, value))), Reset(1, PROTOCOL_ERROR))


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_t20_ten_thousand_large_header_lists_leave_nothing_behind(sandbox):
    """20 KB each, then 20,000 requests on the same connection; the lesson's million would take a minute and more."""
    large = WHOLE + literal("x-filler", "a" * 20_000)
    with unharmed(sandbox), Peer(sandbox) as peer:
        before = None
        for first in range(1, 20_001, 100):
            ids = range(first, first + 100, 2)
            assert peer.flood(b"".join(pieces(id, large, [16_000]) for id in ids), 1)
            before = before or sandbox.resident_bytes()
        peer.wait(lambda: len(peer.resets) == 10_000)
        assert set(peer.resets.values()) == {ENHANCE_YOUR_CALM}
        for first in range(20_001, 60_001, 400):
            peer.send(b"".join(headers(id) for id in range(first, first + 400, 2)) + window_update(0, 20_000))
            peer.wait(lambda last=first + 398: last in peer.statuses)
        assert len(peer.statuses) == 20_000 and not peer.goaways
        assert sandbox.resident_bytes() - before < 16 * MEBIBYTE


@pytest.mark.slow
def test_t21_one_context_serves_a_thousand_connections(fresh):
    """The certificate's files are gone meanwhile: whatever was built for a connection could not be built from them."""
    instance = fresh()
    directory = instance.directory / "pki"
    hidden = instance.directory / "pki-hidden"
    trusted = instance.context()
    instance.context = lambda: trusted
    with Peer(instance) as peer:
        peer.ping()
        shown = peer.socket.getpeercert(binary_form=True)
    before = instance.resident_bytes()
    directory.rename(hidden)
    try:
        for _ in range(1000):
            with Peer(instance) as peer:
                assert peer.socket.getpeercert(binary_form=True) == shown
    finally:
        hidden.rename(directory)
    assert instance.resident_bytes() - before < 16 * MEBIBYTE
