"""Broken and hostile peers: each is turned away within a bound, and nobody else notices."""

import contextlib
import os
import socket
import ssl
import struct
import time

import pytest
from hyperframe.frame import DataFrame, HeadersFrame

from courier import CONNECT, CONNECT_ACK, encode
from harness import APP, BODY, NEVER_ISSUED, Courier, H2Client, check_shape

MEBIBYTE = 1 << 20
GIGABYTE = 10**9
MEMORY_MARGIN = 48 * MEBIBYTE


@contextlib.contextmanager
def bystanders(instance):
    """A provider connection and a device session that must work before and after what the block does."""
    courier, (token,) = instance.online(APP)
    with courier, instance.client() as client:

        def exchange() -> None:
            answer = instance.push_on(client, token)
            assert answer.status == 200
            courier.expect_notify()
            courier.keep_alive()

        exchange()
        yield
        exchange()


def flood(client, headers, total: int) -> None:
    """A client that sends bodies of `total` bytes and does not listen to refusals, as far as the windows let it."""
    sent, piece = 0, DataFrame(1, b"a" * 16384)
    while sent < total and not client.closed:
        stream = client.open(headers)
        piece.stream_id = stream.id
        while min(client.send_window, stream.send_window) >= 16384:
            client.send_frame(piece)
            client.send_window -= 16384
            stream.send_window -= 16384
            sent += 16384
        while client.pump(0):
            pass
        while client.send_window < 16384:
            if not client.pump(1):
                return


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_body_of_a_gigabyte_is_413_and_memory_stays(sandbox):
    token = sandbox.register()
    with bystanders(sandbox), sandbox.client() as client:
        assert sandbox.push_on(client, token).status == 200
        stream = client.open(sandbox.headers(token))
        before, sent = sandbox.resident_bytes(), 0
        while sent < GIGABYTE and client.send_data(stream, b"a" * 16384):
            sent += 16384
            client.pump(0)
        client.wait(stream)
        check_shape(stream)
        assert (stream.status, stream.reason) == (413, "PayloadTooLarge")
        assert sent < MEBIBYTE, "the answer came late"
        assert stream.reset in (None, 0)
        assert sandbox.push_on(client, token).status == 200
        assert sandbox.resident_bytes() - before < MEMORY_MARGIN


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_bodies_from_a_client_that_does_not_listen(sandbox):
    token = sandbox.register()
    with bystanders(sandbox), sandbox.client() as client:
        assert sandbox.push_on(client, token).status == 200
        before = sandbox.resident_bytes()
        flood(client, sandbox.headers(token), 300 * MEBIBYTE)
        assert sandbox.resident_bytes() - before < MEMORY_MARGIN


def test_many_bodies_begun_and_never_ended(sandbox):
    """Buffered bodies are bounded per connection: 1000 streams of 4 KB each are more than 1 MiB."""
    token = sandbox.register()
    with bystanders(sandbox), sandbox.client() as client:
        assert sandbox.push_on(client, token).status == 200
        before = sandbox.resident_bytes()
        headers = sandbox.headers(token)
        for _ in range(900):
            stream = client.open(headers)
            if min(client.send_window, stream.send_window) < 4000:
                break
            client.send_data(stream, b"a" * 4000)
            client.pump(0)
        client.drain(0.3)
        assert sandbox.resident_bytes() - before < MEMORY_MARGIN


@pytest.mark.sanitizer
def test_a_client_that_gives_no_credit_for_bodies(sandbox):
    """aioapns never does: after some 2400 errors our DATA is blocked. It waits, and nobody else does."""
    wrong = {"apns-priority": "7"}
    with bystanders(sandbox), H2Client(sandbox.provider_port, sandbox.context(), window=0) as client:
        headers, streams = sandbox.headers(NEVER_ISSUED, wrong), []
        for _ in range(30):
            batch = [client.start(headers, BODY) for _ in range(100)]
            client.pump_until(lambda: all(stream.headers for stream in batch))
            streams += batch
        client.drain(0.2)
        assert 2000 < sum(stream.finished for stream in streams) < 3000
        with bystanders(sandbox):
            pass
        client.give_credit(1 << 20)
        client.wait(*streams)
        for stream in streams:
            check_shape(stream)
        assert {stream.reason for stream in streams} == {"BadPriority"}


@pytest.mark.sanitizer
@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_header_of_20_kilobytes(sandbox, size):
    token = sandbox.register()
    with bystanders(sandbox), sandbox.client() as client:
        stream = client.start(sandbox.headers(token, {"x-filler": "a" * size}), BODY)
        client.wait(stream)
        assert stream.status in (None, 431)
        assert stream.reset is not None or client.goaways or client.closed or stream.status == 431


@pytest.mark.sanitizer
@pytest.mark.parametrize("name, value", [("connection", "keep-alive"), ("transfer-encoding", "chunked"), ("a b", "c")])
def test_headers_that_http_2_forbids(sandbox, name, value):
    token = sandbox.register()
    with bystanders(sandbox), sandbox.client() as client:
        stream = client.start(sandbox.headers(token, {name: value}), BODY)
        client.wait(stream)
        assert not stream.headers and (stream.reset == 1 or client.goaways)


@pytest.mark.sanitizer
@pytest.mark.parametrize("data", [
    pytest.param(b"\0\0\4\3\0\0\0\0\1\0\0\0\0", id="reset_of_an_idle_stream"),
    pytest.param(b"\0\0\4\x08\0\0\0\0\0\0\0\0\0", id="window_update_of_zero"),
    pytest.param(b"\0\0\5\6\0\0\0\0\0hello", id="short_ping"),
    pytest.param(b"\0\0\1\0\0\0\0\0\0a", id="data_on_stream_0"),
    pytest.param(b"\xff\xff\xff\0\0\0\0\0\1", id="frame_of_16_megabytes"),
    pytest.param(HeadersFrame(1, b"\xff\xff\xff\xff\xff\x0f", flags=["END_HEADERS"]).serialize(), id="bad_hpack"),
    pytest.param(HeadersFrame(2, b"\x82", flags=["END_HEADERS"]).serialize(), id="even_stream"),
])  # fmt: skip
def test_broken_frames_end_the_connection(sandbox, data):
    with bystanders(sandbox), sandbox.client() as client:
        client.pump_until(lambda: client.settings)
        client.send_raw(data)
        client.wait_closed()
        assert all(frame.error_code != 0 for frame in client.goaways)
        client.goaway_reasons()


@pytest.mark.sanitizer
def test_http_1_1_on_the_provider_port(sandbox):
    with bystanders(sandbox):
        with socket.create_connection(("127.0.0.1", sandbox.provider_port), 10) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            plain.settimeout(10)
            with contextlib.suppress(ConnectionError):
                assert not plain.recv(4096).startswith(b"HTTP/1"), "plain text was answered"


# The device port


@contextlib.contextmanager
def raw_device(instance):
    """A TLS connection to the device port that has said nothing yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", instance.device_port), 10) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            connection.settimeout(10)
            yield connection


def read_to_end(connection) -> bytes:
    """Everything up to the close; the socket's time limit is the test's bound."""
    data = b""
    with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
        while piece := connection.recv(4096):
            data += piece
    return data


@pytest.mark.sanitizer
@pytest.mark.parametrize("data", [
    pytest.param(os.urandom(4096), id="random"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", id="http"),
    pytest.param(struct.pack(">BI", CONNECT, 2**32 - 1), id="four_gigabytes_announced"),
    pytest.param(encode(CONNECT, []), id="empty_connect"),
    pytest.param(encode(CONNECT, [(12, b"x"), (13, b"y"), (14, b"z")]), id="connect_of_nonsense"),
    pytest.param(struct.pack(">BI", CONNECT, 4) + b"\x0c\xff\xff\x00", id="item_longer_than_the_frame"),
    pytest.param(encode(200, [(1, b"x")]) * 10, id="unknown_commands_before_connect"),
])  # fmt: skip
def test_garbage_on_the_device_port(sandbox, data):
    with bystanders(sandbox), raw_device(sandbox) as connection:
        with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
            connection.sendall(data)
        connection.settimeout(14)
        answer = read_to_end(connection)
        assert not answer or answer[0] == CONNECT_ACK


@pytest.mark.parametrize("data", [
    pytest.param(b"", id="silence"),
    pytest.param(b"\x07", id="one_byte"),
    pytest.param(struct.pack(">BI", CONNECT, 3000) + b"\x0c", id="half_a_frame"),
])  # fmt: skip
def test_a_device_that_stalls_is_cut(fresh, data):
    instance = fresh()
    with bystanders(instance), raw_device(instance) as connection:
        connection.sendall(data)
        time.sleep(0.3)
        instance.advance("11s")
        assert read_to_end(connection) == b""


@pytest.mark.sanitizer
def test_half_a_frame_after_connect_harms_only_its_sender(sandbox):
    identity = sandbox.enrol()
    with bystanders(sandbox), sandbox.courier(identity) as courier:
        courier.connect()
        courier.send_raw(struct.pack(">BI", 9, 1000) + b"\x01")
        with bystanders(sandbox):
            pass


@pytest.mark.sanitizer
@pytest.mark.parametrize("changes", [
    pytest.param({"signature": b"\xc0\x02" + b"0" * 70}, id="bad_signature"),
    pytest.param({"nonce": bytes(17)}, id="old_nonce"),
    pytest.param({"nonce": b"\0" * 5}, id="short_nonce"),
])  # fmt: skip
def test_connect_with_bad_proof_is_refused_with_status_2(sandbox, changes):
    with sandbox.courier(sandbox.enrol()) as courier:
        answer = courier.connect(**changes)
        assert answer.item(1) == b"\x02"
        assert {item for item, _ in answer.items} >= {1, 3, 4, 5, 6, 10}
        courier.wait_closed()
        assert not courier.was_reset


@pytest.mark.sanitizer
def test_a_nonce_is_good_once(sandbox):
    identity = sandbox.enrol()
    nonce = b"\0" + int(sandbox.now() * 1000).to_bytes(8, "big") + os.urandom(8)
    for status in (b"\0", b"\x02"):
        with sandbox.courier(identity) as courier:
            assert courier.connect(nonce=nonce).item(1) == status


@pytest.mark.sanitizer
def test_a_certificate_of_another_gateway_is_refused(sandbox, fresh):
    stranger = fresh().enrol()
    with Courier(sandbox.device_port, stranger) as courier:
        assert courier.connect().item(1) == b"\x02"
        courier.wait_closed()


@pytest.mark.sanitizer
def test_handshakes_begun_and_dropped(sandbox):
    with bystanders(sandbox):
        for port in (sandbox.provider_port, sandbox.device_port):
            for data in (b"", b"\x16\x03\x01", os.urandom(200)):
                for _ in range(20):
                    with socket.create_connection(("127.0.0.1", port), 10) as plain:
                        plain.sendall(data)
