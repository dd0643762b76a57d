"""No frame comes in one read with an acknowledgement that pypush waits for (docs/device-protocol.md, 9)."""

import statistics
import subprocess

import pytest

from courier import (
    CONNECT_ACK, FILTER, KEEP_ALIVE, KEEP_ALIVE_ACK, NO_STORAGE, NOTIFY, TOKEN_ACK, TOKEN_REQUEST, Courier, encode,
)  # fmt: skip
from delivery import connect_followed_by, connected, live, push
from harness import APP, BODY, OTHER_APP, topic_hash


def assert_apart(gaps: list[float]) -> None:
    """20 to 50 ms, with room for a busy machine at either end."""
    assert min(gaps) > 0.001, f"in one read: {gaps}"
    assert 0.015 < statistics.median(gaps) < 0.2, gaps


def gaps_after(courier: Courier, *commands: int) -> list[float]:
    """How long after each of these the next frame came."""
    pairs = zip(courier.messages, courier.messages[1:])
    return [after.arrived - before.arrived for before, after in pairs if before.command in commands]


@pytest.mark.sanitizer
def test_what_follows_connect_ack_waits(sandbox):
    device = sandbox.enrol()
    with connected(sandbox, device) as courier:
        base = (1, courier.base_token)
    request = encode(TOKEN_REQUEST, [base, (2, topic_hash(APP))])
    gaps = []
    for extra in [encode(FILTER, [base]), encode(KEEP_ALIVE, []), request] * 2:
        with sandbox.courier(device) as courier:
            connect_followed_by(courier, extra)
            while len(courier.messages) < 2:
                courier.pump(5)
                assert not courier.closed
            gaps += gaps_after(courier, CONNECT_ACK)
    assert_apart(gaps)


@pytest.mark.sanitizer
@pytest.mark.parametrize("command", [TOKEN_REQUEST, KEEP_ALIVE])
def test_what_follows_token_ack_and_keep_alive_ack_waits(sandbox, command):
    device, (token, other) = sandbox.offline(APP, OTHER_APP)
    gaps = []
    for n in range(6):
        push(sandbox, token, n)
        with connected(sandbox, device) as courier:
            base, topic = (1, courier.base_token), (2, topic_hash(APP))
            first = encode(command, [base, topic] if command == TOKEN_REQUEST else [])
            again = encode(TOKEN_REQUEST, [base, (2, topic_hash(OTHER_APP))])
            courier.send_raw(first + encode(FILTER, [base, topic]) + again)
            courier.expect_notify()
            courier.expect(command + 1)
            if command == KEEP_ALIVE:
                courier.expect(TOKEN_ACK)
            else:
                assert courier.expect(TOKEN_ACK).item(2).hex() == other
            gaps += gaps_after(courier, TOKEN_ACK, KEEP_ALIVE_ACK)
    assert_apart(gaps)


@pytest.mark.parametrize("extra", [FILTER, TOKEN_REQUEST])
def test_two_acknowledgements_are_apart_too(sandbox, extra):
    gaps = []
    with connected(sandbox, sandbox.enrol()) as courier:
        items = [(1, courier.base_token), (2, topic_hash(APP))]
        for _ in range(5):
            courier.messages.clear()
            courier.send_raw(encode(KEEP_ALIVE, []) + encode(TOKEN_REQUEST, items) + encode(extra, items))
            courier.expect(KEEP_ALIVE_ACK)
            courier.expect(TOKEN_ACK)
            courier.expect(NO_STORAGE if extra == FILTER else TOKEN_ACK)
            assert [message.command for message in courier.messages][:2] == [KEEP_ALIVE_ACK, TOKEN_ACK]
            gaps += gaps_after(courier, KEEP_ALIVE_ACK, TOKEN_ACK)
    assert_apart(gaps)


def test_live_pushes_wait_too(sandbox):
    courier, (token,) = live(sandbox)
    with courier, sandbox.client() as client:
        gaps = []
        for _ in range(8):
            courier.messages.clear()
            streams = [client.start(sandbox.headers(token), BODY) for _ in range(3)]
            courier.send(KEEP_ALIVE)
            streams += [client.start(sandbox.headers(token), BODY) for _ in range(3)]
            for _ in range(6):
                courier.expect_notify()
            courier.expect(KEEP_ALIVE_ACK)
            client.wait(*streams)
            gaps += gaps_after(courier, KEEP_ALIVE_ACK)
        assert sum(gap < 0.01 for gap in gaps) <= len(gaps) // 4, gaps


def test_nothing_shares_a_record_with_an_acknowledgement_under_load(sandbox, tmp_path):
    _, (flooded,) = sandbox.offline(APP)
    courier, (token,) = live(sandbox)
    uris, payload = tmp_path / "uris", tmp_path / "payload"
    paths = [f"https://localhost:{sandbox.provider_port}/3/device/{name}" for name in [flooded] * 49 + [token]]
    uris.write_text("\n".join(paths))
    payload.write_bytes(BODY)
    fields = [f"-H{name}: {value}" for name, value in sandbox.headers(token) if name[0] != ":"]
    command = ["h2load", "-D", "4", "-c", "8", "-m", "50", "-i", uris, "-d", payload, *fields, "-Hapns-expiration: 0"]
    asked = answered = notified = 0
    with courier, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
        while load.poll() is None:
            if asked == answered:
                courier.send_raw(encode(KEEP_ALIVE, []))
                asked += 1
            before = len(courier.messages)
            courier.pump(0.05)
            # One read of Python's ssl is one record.
            record = courier.messages[before:]
            assert all(message.command != KEEP_ALIVE_ACK for message in record[:-1]), record
            answered += sum(message.command == KEEP_ALIVE_ACK for message in record)
            notifications = [message for message in record if message.command == NOTIFY]
            notified += len(notifications)
            for notification in notifications:
                courier.ack(notification)
    assert answered > 10 and notified > 100, (answered, notified)
