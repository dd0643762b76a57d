"""Sessions of devices whose TLS has left OpenSSL (`device.tls.detach`), against TLS of other hands."""

import select

import pytest

from courier import KEEP_ALIVE, KEEP_ALIVE_ACK, encode
from courier_extended import ExtendedCourier
from delivery import receive_push
from harness import Sandbox
from tls_peers import SUITES, LiteSocket, OpenSSLSocket, OtherCourier

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, DATA = range(20, 24)
UNEXPECTED_MESSAGE, BAD_RECORD_MAC, RECORD_OVERFLOW, DECODE_ERROR = 10, 20, 22, 50
ALIVE = encode(KEEP_ALIVE, [])


@pytest.fixture(params=["detached", "OpenSSL"])
def either(request):
    """An instance with the setting on, and one with it off."""
    with Sandbox({"device.tls.detach": "on" if request.param == "detached" else "off"}) as instance:
        yield instance


def over(instance, tls) -> OtherCourier:
    """A connected device over this TLS."""
    courier = OtherCourier(instance, instance.enrol(), tls)
    assert courier.connect().item(1) == b"\0"
    return courier


@pytest.fixture
def lite(sandbox):
    with over(sandbox, LiteSocket(sandbox.device_port)) as courier:
        courier.keep_alive()
        yield courier


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("peer", [OpenSSLSocket, LiteSocket])
def test_pushes_arrive_in_every_suite(either, peer, suite):
    with over(either, peer(either.device_port, suite)) as courier:
        receive_push(either, courier)
        receive_push(either, courier, b'{"aps":{},"fill":"' + b"x" * 4000 + b'"}')


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("peer", [OpenSSLSocket, LiteSocket])
@pytest.mark.parametrize("asking", [False, True], ids=["own", "both"])
def test_the_device_changes_keys(sandbox, peer, suite, asking):
    with over(sandbox, peer(sandbox.device_port, suite)) as courier:
        for _ in range(3):
            courier.socket.update_keys(asking)
            courier.keep_alive()
        receive_push(sandbox, courier)


def test_asking_for_keys_brings_nothing_but_the_next_answer(lite):
    """OpenSSL would answer at once: so this is also the proof that it has been left."""
    lite.socket.update_keys(asking=True)
    assert not select.select([lite.socket], [], [], 0.5)[0]
    lite.keep_alive()


def test_keys_may_change_before_the_connect(sandbox):
    tls = LiteSocket(sandbox.device_port)
    tls.update_keys(asking=True)
    with over(sandbox, tls) as courier:
        receive_push(sandbox, courier)


def test_a_connect_cut_into_records_with_padding(sandbox):
    tls = LiteSocket(sandbox.device_port)
    tls.tls.recordSize = 100
    tls.pad(50)
    with over(sandbox, tls) as courier:
        receive_push(sandbox, courier)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_the_extended_form_is_proven_before_openssl_is_left(either, version):
    with ExtendedCourier(either, either.enrol(), version) as courier:
        assert courier.connect().item(1) == b"\0"
        receive_push(either, courier)


def test_a_record_in_pieces_behind_the_connect(sandbox):
    courier = OtherCourier(sandbox, sandbox.enrol(), LiteSocket(sandbox.device_port))
    wire, records = courier.socket.wire, []

    def append_some(record: bytearray) -> bytes:
        """The Connect leaves, and with it the first bytes of the record behind it."""
        records.append(bytes(record))
        if len(records) == 2:
            return b""
        courier.send_raw(ALIVE)
        return records[0] + records[1][:7]

    with courier:
        wire.change = append_some
        assert courier.connect().item(1) == b"\0"
        wire.plain.sendall(records[1][7:])
        courier.expect(KEEP_ALIVE_ACK)


# What no good client sends


def refused(courier: OtherCourier, alert: int) -> None:
    """The gateway says why, and closes."""
    courier.wait_closed()
    assert courier.socket.alert == alert


def test_a_changed_record(lite):
    lite.socket.wire.change = lambda record: record[:-1] + bytes([record[-1] ^ 1])
    lite.send_raw(ALIVE)
    refused(lite, BAD_RECORD_MAC)


def test_a_repeated_record(lite):
    lite.socket.wire.change = lambda record: record + record
    lite.send_raw(ALIVE)
    refused(lite, BAD_RECORD_MAC)


@pytest.mark.parametrize("kind", [0, CHANGE_CIPHER_SPEC, 24, 255])
def test_a_type_that_may_not_come(lite, kind):
    # tlslite-ng does not encrypt a change of cipher, as nobody does during a handshake.
    lite.socket.send_record(kind, b"\x01")
    refused(lite, UNEXPECTED_MESSAGE)


@pytest.mark.parametrize("record", [b"\x17\x03\x03\x41\x01", b"\x17\x03\x03\xff\xff"])
def test_a_header_of_a_record_too_long(lite, record):
    lite.socket.wire.plain.sendall(record)
    refused(lite, RECORD_OVERFLOW)


def test_content_beyond_a_full_record(lite):
    lite.socket.send_record(DATA, bytes(16_385))
    refused(lite, RECORD_OVERFLOW)


@pytest.mark.parametrize("message, alert", [
    (b"\x04\x00\x00\x00", UNEXPECTED_MESSAGE),
    (b"\x01\x00\x00\x00", UNEXPECTED_MESSAGE),
    (b"\x18\x00\x00\x02\x00\x00", DECODE_ERROR),
    (b"\x18\x00\x00\x01\x00\x18", UNEXPECTED_MESSAGE),
])  # fmt: skip
def test_a_handshake_message_that_may_not_come(lite, message, alert):
    lite.socket.send_record(HANDSHAKE, message)
    refused(lite, alert)


def test_nothing_over_and_over(lite):
    for _ in range(33):
        lite.socket.send_record(DATA, b"")
    refused(lite, UNEXPECTED_MESSAGE)


def test_what_comes_after_goodbye_is_not_heard(sandbox, lite):
    lite.socket.send_record(ALERT, b"\x01\x00")
    lite.socket.send_record(DATA, ALIVE)
    lite.wait_closed()
    assert not [message for message in lite._unread if message.command == KEEP_ALIVE_ACK]
    sandbox.wait_disconnected(lite.identity)


def test_an_alert_ends_the_session(sandbox, lite):
    lite.socket.send_record(ALERT, b"\x02\x50")
    lite.wait_closed()
    assert lite.socket.alert is None
    sandbox.wait_disconnected(lite.identity)


def test_goodbye_behind_data_in_one_write_ends_the_session(sandbox):
    with over(sandbox, LiteSocket(sandbox.device_port)) as courier:
        courier.keep_alive()
        wire, written = courier.socket.wire, []
        wire.change = lambda record: written.append(record) or b""
        courier.socket.sendall(ALIVE)
        courier.socket.send_record(ALERT, bytes([1, 0]))
        wire.plain.sendall(b"".join(written))
        # The connection stays open, so that nothing but the alert can have told.
        sandbox.wait_disconnected(courier.identity)
