"""TLS, HTTP/2 frames and the life of a connection (docs/provider-api.md).

The code in a test's name, such as T1, is for finding it. T10, T27 and T28 would need client certificates.
"""

import socket
import ssl

import pytest
from hyperframe.frame import PriorityFrame, SettingsFrame

from h2_client import NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM
from harness import BODY, check_shape
from instance import free_port

pytestmark = pytest.mark.sanitizer

LAST_STREAM_OPEN_ENDED = 2**31 - 1


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


@pytest.fixture
def client(sandbox):
    with sandbox.client() as connection:
        yield connection


def test_T1_tls_1_1_is_refused(sandbox):
    context = sandbox.context()
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1_1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", sandbox.provider_port), 10) as plain:
        with pytest.raises((ssl.SSLError, ConnectionError)) as failure:
            context.wrap_socket(plain, server_hostname="localhost")
    assert "NO_PROTOCOLS_AVAILABLE" not in str(failure.value), "this client cannot speak TLS 1.1"


@pytest.mark.parametrize("version", [
    pytest.param(ssl.TLSVersion.TLSv1_2, id="T2_tls_1_2"),
    pytest.param(ssl.TLSVersion.TLSv1_3, id="T3_tls_1_3"),
])  # fmt: skip
def test_version(sandbox, token, version):
    with sandbox.client(version=version) as client:
        assert client.socket.version() == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
        assert client.socket.selected_alpn_protocol() == "h2"
        client.pump_until(lambda: client.frames)
        assert isinstance(client.frames[0], SettingsFrame) and "ACK" not in client.frames[0].flags
        assert sandbox.push_on(client, token).status == 200


def test_T2_settings_are_apples(client):
    client.pump_until(lambda: client.settings)
    seen = client.settings[0]
    assert seen.get(SettingsFrame.HEADER_TABLE_SIZE, 4096) == 4096
    assert seen.get(SettingsFrame.INITIAL_WINDOW_SIZE, 65535) == 65535
    assert seen.get(SettingsFrame.MAX_FRAME_SIZE, 16384) == 16384
    assert seen[SettingsFrame.MAX_HEADER_LIST_SIZE] == 8000


def test_T4_without_alpn(sandbox, token):
    with sandbox.client(alpn=()) as client:
        assert sandbox.push_on(client, token).status == 200


def test_T5_http_1_1_gets_no_answer_and_a_close(sandbox):
    with socket.create_connection(("127.0.0.1", sandbox.provider_port), 10) as plain:
        with sandbox.context(alpn=()).wrap_socket(plain, server_hostname="localhost") as connection:
            connection.sendall(b"POST /3/device/00 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            answer = b""
            try:
                while piece := connection.recv(4096):
                    answer += piece
            except (ConnectionError, ssl.SSLEOFError):
                pass
    assert b"HTTP/1" not in answer


def test_T6_a_second_port(fresh):
    ports = free_port(), free_port()
    instance = fresh({"provider.port": f"{ports[0]}, {ports[1]}"})
    assert instance.provider_ports == list(ports)
    token = instance.register()
    for port in ports:
        instance.provider_port = port
        assert instance.push(token).status == 200


def test_T7_one_stream_before_the_first_token(client):
    client.pump_until(lambda: client.settings)
    client.drain(0.2)
    assert client.stream_limit == 1


def test_T8_the_limit_rises_with_the_first_token(sandbox, client, token):
    assert sandbox.push_on(client, token).status == 200
    client.pump_until(lambda: client.stream_limit > 1)
    assert client.stream_limit >= 100


def test_T8_the_limit_rises_whatever_the_answer_to_a_verified_token(sandbox, client, token):
    assert sandbox.push_on(client, token, {"apns-priority": "7"}).status == 400
    client.pump_until(lambda: client.stream_limit > 1)


def test_T9_the_limit_stays_with_a_bad_token(sandbox, client, token):
    answer = sandbox.push_on(client, token, {"authorization": "bearer abc"})
    assert (answer.status, answer.reason) == (403, "InvalidProviderToken")
    client.drain(0.3)
    assert client.stream_limit == 1


def test_T11_500_parallel_streams(sandbox, client, token):
    assert sandbox.push_on(client, token).status == 200
    headers = sandbox.headers(token)
    streams = [client.open(headers) for _ in range(500)]
    for stream in streams:
        client.send_data(stream, BODY, end_stream=True)
    client.wait(*streams)
    assert [stream.status for stream in streams] == [200] * 500


def test_T12_streams_above_the_first_limit_are_served(sandbox, client, token):
    headers = sandbox.headers(token)
    streams = [client.start(headers, BODY) for _ in range(300)]
    client.wait(*streams)
    assert [stream.status for stream in streams] == [200] * 300
    assert not client.goaways


def test_T12_streams_above_1000_are_refused(sandbox, client, token):
    assert sandbox.push_on(client, token).status == 200
    headers = sandbox.headers(token)
    streams = [client.open(headers) for _ in range(1010)]
    client.wait(*streams[1000:])
    assert [stream.reset for stream in streams[1000:]] == [REFUSED_STREAM] * 10
    for stream in streams[:1000]:
        client.send_data(stream, BODY, end_stream=True)
    client.wait(*streams[:1000])
    assert {stream.status for stream in streams[:1000]} == {200}
    assert not client.goaways
    assert sandbox.push_on(client, token).status == 200


def test_T13_ping(client):
    assert client.ping(b"\0\1\2\3\4\5\6\7") == b"\0\1\2\3\4\5\6\7"


def test_T14_ping_every_15_seconds_for_two_minutes(fresh):
    instance = fresh()
    token = instance.register()
    with instance.client() as client:
        for _ in range(8):
            client.ping()
            instance.advance("15s")
        assert instance.push_on(client, token).status == 200
        assert not client.goaways


def test_T15_priority_frames_are_ignored(sandbox, client, token):
    client.send_frame(PriorityFrame(1, depends_on=0, stream_weight=200))
    client.send_frame(PriorityFrame(99, depends_on=1, stream_weight=1))
    assert sandbox.push_on(client, token).status == 200


def test_T16_a_header_name_in_capitals(sandbox, client, token):
    stream = client.start(sandbox.headers(token, {"Apns-Priority": "10"}), BODY)
    client.wait(stream)
    assert not stream.headers, f"answered {stream.status}"
    assert stream.reset == PROTOCOL_ERROR or [frame.error_code for frame in client.goaways] == [PROTOCOL_ERROR]
    assert sandbox.push(token).status == 200


def test_T17_host_without_authority(sandbox, token):
    assert sandbox.push(token, {":authority": None, "host": "localhost"}).status == 200


@pytest.mark.parametrize("size", [1, 7])
def test_T18_a_body_in_several_frames(sandbox, client, token, size):
    stream = client.open(sandbox.headers(token))
    pieces = [BODY[at : at + size] for at in range(0, len(BODY), size)]
    for number, piece in enumerate(pieces, 1):
        client.send_data(stream, piece, end_stream=number == len(pieces))
    client.wait(stream)
    check_shape(stream)
    assert stream.status == 200


def test_T19_an_empty_frame_ends_the_body(sandbox, client, token):
    stream = client.open(sandbox.headers(token))
    client.send_data(stream, BODY)
    client.send_data(stream, b"", end_stream=True)
    client.wait(stream)
    check_shape(stream)
    assert stream.status == 200


def literal(prefix: int, text: str) -> bytes:
    """An HPACK string without Huffman coding; its length takes two bytes from 127 on."""
    data = text.encode()
    if len(data) < 127:
        return bytes([prefix | len(data)]) + data
    rest, head = len(data) - 127, bytes([prefix | 127])
    while rest >= 128:
        head += bytes([rest % 128 | 128])
        rest //= 128
    return head + bytes([rest]) + data


@pytest.mark.parametrize("form", [0x10, 0x00], ids=["never_indexed", "not_indexed"])
def test_T20_every_field_a_literal(sandbox, client, token, form):
    fields = sandbox.headers(token)
    block = b"".join(bytes([form]) + literal(0, name) + literal(0, value) for name, value in fields)
    stream = client.open([], block=block)
    client.send_data(stream, BODY, end_stream=True)
    client.wait(stream)
    check_shape(stream)
    assert stream.status == 200


def test_T21_authorization_from_the_dynamic_table(sandbox, client, token):
    headers = [(name.encode(), value.encode()) for name, value in sandbox.headers(token)]
    sizes = []
    for _ in range(3):
        block = client.encoder.encode(headers)
        sizes.append(len(block))
        stream = client.open([], block=block)
        client.send_data(stream, BODY, end_stream=True)
        client.wait(stream)
        assert stream.status == 200
    assert sizes[0] > 150 and max(sizes[1:]) <= len(headers) * 2, "the table was not used: the test tests nothing"


def test_T22_a_header_list_over_8000_bytes(sandbox, client, token):
    stream = client.start(sandbox.headers(token, {"x-filler": "a" * 8001}), BODY)
    client.wait(stream)
    assert stream.status in (None, 431), f"answered {stream.status}"
    assert stream.reset is not None or client.goaways or stream.status == 431
    assert sandbox.push(token).status == 200


def test_T22_a_header_list_of_7500_bytes_passes(sandbox, token):
    assert sandbox.push(token, {"x-filler": "a" * 7000}).status == 200


def final_goaways(client, last: int) -> None:
    """The two-step GOAWAY of a planned shutdown."""
    assert client.goaway_reasons() == ["Shutdown"] * 2
    assert [frame.error_code for frame in client.goaways] == [NO_ERROR, NO_ERROR]
    assert [frame.last_stream_id for frame in client.goaways] == [LAST_STREAM_OPEN_ENDED, last]


@pytest.mark.parametrize("seconds", [0.3, 1.6], ids=["answered_before_goaway", "answered_after_goaway"])
def test_T23_a_planned_shutdown_answers_what_is_in_flight(fresh, seconds):
    instance = fresh()
    token = instance.register()
    with instance.client() as client:
        instance.admin.hold_store(True)
        streams = [client.start(instance.headers(token), BODY) for _ in range(3)]
        client.drain(0.3)
        instance.admin.drain()
        client.drain(seconds)
        assert not any(stream.finished for stream in streams)
        instance.admin.hold_store(False)
        client.wait_closed()
        for stream in streams:
            check_shape(stream)
        assert [stream.status for stream in streams] == [200] * 3
        final_goaways(client, streams[-1].id)
        assert not client.was_reset


def test_T23_an_idle_connection_is_told_too(fresh):
    instance = fresh()
    token = instance.register()
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        instance.admin.drain()
        client.wait_closed()
        final_goaways(client, 1)


def test_T24_a_stream_after_goaway_is_not_processed(fresh):
    instance = fresh()
    token, late_token = instance.register(), instance.register()
    with instance.client() as client:
        instance.admin.hold_store(True)
        first = client.start(instance.headers(token), BODY)
        client.drain(0.3)
        instance.admin.drain()
        client.pump_until(lambda: len(client.goaways) == 2)
        late = client.start(instance.headers(late_token), BODY)
        client.drain(0.3)
        instance.admin.hold_store(False)
        client.wait_closed()
        assert first.status == 200
        assert not late.headers
        assert client.goaways[-1].last_stream_id < late.id
    assert instance.admin.queue(late_token) == []


def test_T25_an_idle_connection_is_closed_with_its_reason(fresh):
    instance = fresh({"provider.idleTimeout": "2s"})
    token = instance.register()
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        client.wait_closed()
        assert set(client.goaway_reasons()) == {"IdleTimeout"}
        assert {frame.error_code for frame in client.goaways} == {NO_ERROR}


def test_T26_a_rejected_request_keeps_the_connection(sandbox, client, token):
    assert sandbox.push_on(client, token, {"apns-priority": "7"}).status == 400
    assert sandbox.push_on(client, token).status == 200


def test_T29_no_client_certificate(sandbox, client, token):
    answer = sandbox.push_on(client, token, {"authorization": None})
    assert (answer.status, answer.reason) == (403, "MissingProviderToken")
    assert sandbox.push_on(client, token).status == 200


def test_T30_a_stream_reset_by_the_client(sandbox, client, token):
    abandoned = client.open(sandbox.headers(token))
    client.send_data(abandoned, BODY[:5])
    client.reset(abandoned)
    assert sandbox.push_on(client, token).status == 200
    client.drain(0.2)
    assert not abandoned.headers
    assert not client.goaways


def test_T30_a_stream_reset_while_its_push_is_written(fresh):
    instance = fresh()
    token = instance.register()
    with instance.client() as client:
        instance.admin.hold_store(True)
        abandoned = client.start(instance.headers(token), BODY)
        other = client.start(instance.headers(token), BODY)
        client.drain(0.3)
        client.reset(abandoned)
        client.drain(0.2)
        instance.admin.hold_store(False)
        client.wait(other)
        assert other.status == 200
        assert not abandoned.headers
