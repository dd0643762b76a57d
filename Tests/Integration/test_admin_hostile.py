"""What is sent to the admin port to break it or to keep others out: each gets a clear answer, and nothing stops."""

import contextlib
import socket
import threading
import time

import pytest

from harness import APP

pytestmark = pytest.mark.sanitizer


def exchange(instance, *parts: bytes, pause: float = 0.0) -> bytes:
    """All that comes back for these bytes, until the gateway closes."""
    with socket.create_connection(("127.0.0.1", instance.admin_port), timeout=20) as connection:
        text = b""
        with contextlib.suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                text += part
    return text


def statuses(text: bytes) -> list[int]:
    """The status of each answer in a stream of them."""
    return [int(part[:3]) for part in text.split(b"HTTP/1.1 ")[1:]] or [
        int(part[:3]) for part in text.split(b"HTTP/1.0 ")[1:]
    ]


def head(instance, line: str, *fields: str, token: bool = True) -> bytes:
    """A request's first lines, the last one empty; the connection is to be closed after it."""
    lines = [line, "Host: localhost", "Connection: close", *fields]
    if token:
        lines.append(f"Authorization: Bearer {instance.admin.token}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@pytest.fixture(autouse=True)
def unharmed(sandbox):
    """Whatever was sent, the next who asks is answered."""
    yield
    assert sandbox.admin.get("/v1/status")["draining"] is False
    assert sandbox.admin.get(f"/v1/apps/{APP}")["bundle"] == APP


# Messages that two readers read differently (request smuggling)

SMUGGLED = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("fields", [
    ["Content-Length: 2", "Content-Length: 2"],
    ["Content-Length: 2", "Content-Length: 60"],
    ["Content-Length: 2", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Content-Length: 2"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: identity, chunked"],
    ["Transfer-Encoding: chunked, identity"],
    ["Transfer-Encoding: gzip"],
    ["Transfer-Encoding: xchunked"],
    ["Content-Length: -2"],
    ["Content-Length: +2"],
    ["Content-Length: 2, 2"],
    ["Content-Length: 0x2"],
    ["Content-Length: two"],
    ["Content-Length: 99999999999999999999999"],
    ["Content-Length: 9223372036854775808"],
    ["Content-Length : 2"],
    ["Content-Length: 2", "Transfer-Encoding : chunked"],
    ["Content-Length: 2", "X: y\rTransfer-Encoding: chunked"],
    ["Content-Length: 2", "X: y\0z"],
    ["Content-Length: 2", "X y: z"],
    ["Content-Length: 2", "Host: localhost"],
    ["Content-Length: 2", "Content-Type: application/json"],
    ["Content-Length: 2", "Authorization: Bearer x"],
])  # fmt: skip
def test_a_message_whose_end_or_owner_is_doubtful_is_refused(sandbox, fields):
    text = exchange(sandbox, head(sandbox, "POST /v1/apps HTTP/1.1", "Content-Type: application/json", *fields)
                    + b"{}" + SMUGGLED.encode())  # fmt: skip
    # What lies behind is never taken for a request. The library sends the head of its own refusals twice.
    assert 1 <= len(statuses(text)) <= 2 and min(statuses(text)) >= 400, text[:400]


@pytest.mark.parametrize("body", [
    b"zz\r\n{}\r\n0\r\n\r\n", b"-1\r\n{}\r\n0\r\n\r\n", b"2\r\n{}XX0\r\n\r\n", b"ffffffffffffffffff\r\n{}",
    b"2;" + b"x" * 100_000 + b"\r\n{}\r\n0\r\n\r\n",
])  # fmt: skip
def test_bad_chunks_are_refused(sandbox, body):
    text = exchange(
        sandbox,
        head(sandbox, "POST /v1/apps HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked") + body,
    )
    assert all(status >= 400 for status in statuses(text)), text[:400]


def test_requests_behind_each_other_are_answered_in_order(sandbox):
    one = f"GET /v1/apps/{APP} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {sandbox.admin.token}\r\n\r\n"
    text = exchange(sandbox, one.encode() * 50 + b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    + head(sandbox, "GET /healthz HTTP/1.1"))  # fmt: skip
    assert statuses(text) == [200] * 50 + [404, 200]


# Lines and fields


@pytest.mark.parametrize("line", [
    "GET", "GET /", "GET / HTTP/9.9", "GET / HTP/1.1", "GET  / HTTP/1.1", "\x00", "\x16\x03\x01\x02\x00",
    "GET\t/\tHTTP/1.1",
    "BREW /healthz HTTP/1.1", "CONNECT localhost:22 HTTP/1.1", "TRACE / HTTP/1.1", "PRI * HTTP/2.0",
    "GET http://evil.example/v1/status HTTP/1.1", "GET /../../etc/passwd HTTP/1.1", "GET /v1/../v1/status HTTP/1.1",
    "GET //v1/status HTTP/1.1", "GET /v1/apps/%zz HTTP/1.1", "GET /v1/apps/% HTTP/1.1", "GET /v1/apps/%00 HTTP/1.1",
    "GET /v1/apps/com.example.app%00 HTTP/1.1", "GET /v1/apps/%ff%fe HTTP/1.1", "GET /%2e%2e/%2e%2e HTTP/1.1",
    "GET /v1/%73tatus%2f HTTP/1.1", "GET /v1/queues/%00?payload=true HTTP/1.1", "GET /v1/apps?limit=%00 HTTP/1.1",
    "GET /v1/queues/zz?payload=maybe HTTP/1.1", "GET /v1/notifications?follow=perhaps HTTP/1.1",
    "GET /v1/apps?limit=99999999999999999999 HTTP/1.1", "GET /v1/notifications?state=%00 HTTP/1.1",
    "GET /v1/notifications?after=-1 HTTP/1.1", "DELETE /v1/apps HTTP/1.1", "PUT /v1/status HTTP/1.1",
    "GET /v1/apps/" + "a" * 60_000 + " HTTP/1.1", "GET /v1/apps?" + "a=b&" * 20_000 + " HTTP/1.1",
])  # fmt: skip
def test_bad_request_lines_are_refused(sandbox, line):
    text = exchange(sandbox, head(sandbox, line))
    # What is no HTTP at all may be closed without a word.
    assert all(400 <= status < 600 for status in statuses(text)), text[:400]
    assert statuses(text) or not line.startswith("GET /v1"), "no answer"


@pytest.mark.parametrize("fields", [
    ["X: " + "a" * 100_000], [f"X{n}: {n}" for n in range(5_000)], ["a" * 100_000], ["X : 1"], [": x"], ["X\x00: 1"],
    ["X: \x00"], ["X: 1", " folded"], ["X: 1\n Y: 2"],
], ids=range(9))  # fmt: skip
def test_bad_fields_harm_nobody(sandbox, fields):
    text = exchange(sandbox, head(sandbox, "GET /healthz HTTP/1.1", *fields))
    assert len(statuses(text)) <= 1
    if len("".join(fields)) > 40_000:
        assert statuses(text) in ([431], [414], [413], [400], []), text[:200]


# Bodies


def test_large_bodies_are_refused(sandbox):
    kind = "Content-Type: application/json"
    text = exchange(sandbox, head(sandbox, "POST /v1/apps HTTP/1.1", kind, f"Content-Length: {1 << 40}"))
    assert statuses(text) == [413]
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    text = exchange(
        sandbox, head(sandbox, "POST /v1/apps HTTP/1.1", kind, "Transfer-Encoding: chunked"), *[chunk] * 200
    )
    assert statuses(text) in ([413], [])
    before = sandbox.resident_bytes()
    for _ in range(8):
        exchange(sandbox, head(sandbox, "POST /v1/apps HTTP/1.1", kind, "Transfer-Encoding: chunked"), *[chunk] * 200)
    assert sandbox.resident_bytes() - before < 64 << 20


@pytest.mark.parametrize("body", [
    "", " ", "null", "1", '"x"', "[]", "[" * 100_000, '{"a":' * 100_000, '{"bundle":' + "[" * 500 + "]" * 500 + "}",
    '{"bundle":"x"', '{"bundle":"x"}}', "{'bundle':'x'}", '{"bundle":1e999999}', '{"bundle":"\\ud800"}', "\ufeff{}",
    '{"bundle":"a","bundle":"b","team":"TEAMALPHA1"}', '{"x":{}}',
    "{" + ",".join(f'"f{n}":1' for n in range(50_000)) + "}",
    '{"' + "n" * 500_000 + '":1}', '{"bundle":"' + "b" * 500_000 + '","team":"TEAMALPHA1"}',
    '{"bundle":"a\\u0000b","team":"TEAMALPHA1"}',
], ids=range(21))  # fmt: skip
def test_bodies_that_make_no_sense_are_400(sandbox, body):
    data = body.encode()
    text = exchange(
        sandbox,
        head(sandbox, "POST /v1/apps HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(data)}")
        + data,
    )
    assert statuses(text) == [400] and b'{"error":{"code":"bad_request"' in text, text[:400]
    assert len(text) < 2_000, "a refusal does not repeat what was sent"


def test_bytes_that_are_no_text_are_400(sandbox):
    for data in (b'{"bundle":"\xff\xfe"}', b"\x00" * 1000, bytes(range(256))):
        text = exchange(
            sandbox,
            head(sandbox, "POST /v1/apps HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(data)}")
            + data,
        )
        assert statuses(text) == [400]


# Those who hold their place


def healthy(instance, times: int = 20) -> None:
    """Health and readiness are answered, and so is an operator, each on a new connection, within a few seconds."""
    for _ in range(times):
        begin = time.monotonic()
        for path in ("/healthz", "/readyz"):
            assert instance.admin.request("GET", path, token=None)[0] == 200
        assert instance.admin.get("/v1/status")["environment"] == "development"
        assert time.monotonic() - begin < 15


@contextlib.contextmanager
def holding(instance, count: int, first: bytes = b""):
    """So many connections that have said this and say no more."""
    held = []
    try:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", instance.admin_port), timeout=20)
            with contextlib.suppress(ConnectionError):
                connection.sendall(first)
            held.append(connection)
        yield held
    finally:
        for connection in held:
            connection.close()


@pytest.mark.parametrize("first", [
    b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{",
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20,
], ids=["silent", "one byte", "half a head", "idle", "half a body", "unread"])  # fmt: skip
def test_many_who_hold_their_place_keep_nobody_out(sandbox, first):
    with holding(sandbox, 300, first):
        healthy(sandbox)


def test_those_who_come_back_as_soon_as_they_are_sent_away_keep_nobody_out(sandbox):
    stop = threading.Event()

    def knock():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                with holding(sandbox, 40):
                    stop.wait(0.05)

    knockers = [threading.Thread(target=knock) for _ in range(4)]
    for thread in knockers:
        thread.start()
    try:
        for _ in range(20):
            # A probe may be unlucky once; a health check asks again.
            for attempt in range(5):
                with contextlib.suppress(OSError):
                    if sandbox.admin.request("GET", "/healthz", token=None)[0] == 200:
                        break
            else:
                pytest.fail("health was not answered in five attempts")
    finally:
        stop.set()
        for thread in knockers:
            thread.join()


def test_one_who_drips_is_not_waited_for(sandbox):
    with holding(sandbox, 100, b"GET /healthz HTTP/1.1\r\n") as held:
        stop = threading.Event()

        def drip():
            while not stop.wait(0.2):
                for connection in held:
                    with contextlib.suppress(OSError):
                        connection.sendall(b"X: 1\r\n")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            healthy(sandbox)
        finally:
            stop.set()
            thread.join()


def test_those_who_follow_the_log_stay_and_are_bounded(sandbox):
    request = (
        "GET /v1/notifications?follow=true HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {sandbox.admin.token}\r\n\r\n"
    ).encode()
    with holding(sandbox, 40, request) as held:
        answers = [connection.recv(4096)[9:12] for connection in held]
        assert answers.count(b"200") == 32 and answers.count(b"503") == 8
        with holding(sandbox, 200):
            healthy(sandbox, 3)
            followers = [connection for connection, answer in zip(held, answers) if answer == b"200"]
            for connection in followers:
                assert connection.recv(4096), "a follower was sent away"
