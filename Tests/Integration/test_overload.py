"""Bounds at the doors: silence keeps nobody out, and no stream goes unanswered (docs/threat-model.md)."""

import contextlib
import resource
import socket
import ssl
import threading

import pytest

from courier import unverified_context
from h2_client import NO_ERROR
from harness import APP, BODY, Courier, H2Client, check_shape
from instance import until
from test_handshake_storm import hello

#: `limits.handshakes` and `Limits.waitingAtDoor`.
PLACES, AT_DOOR = 64, 1024
ONE_LOOP = {"threads": "1", "limits.connectionsPerAddress": "0"}


@pytest.fixture(scope="module", autouse=True)
def descriptors():
    """More open files than the system's usual soft limit allows, if it may be raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def connections(port: int, count: int, data: bytes = b""):
    """So many TCP connections that have said this and nothing else."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))
            plain.sendall(data)
            made.append(plain)
        yield made


def closed_count(plains: list[socket.socket]) -> int:
    """How many of them the gateway has closed."""
    count = 0
    for plain in plains:
        plain.setblocking(False)
        try:
            count += plain.recv(65536) == b""
        except BlockingIOError:
            pass
        except ConnectionError:
            count += 1
    return count


def turn(courier: Courier) -> None:
    """Some turns of the courier's loop: what was sent before is seen by then."""
    for _ in range(4):
        courier.keep_alive()


def refused(instance, cause: str) -> float:
    return instance.admin.metric("connections_refused_total", cause=cause)


# Doors


@pytest.mark.sanitizer
def test_silent_connections_keep_nobody_out(fresh):
    instance = fresh(ONE_LOOP)
    with connections(instance.device_port, 3 * PLACES), connections(instance.provider_port, 3 * PLACES):
        courier, (token,) = instance.online(APP)
        with courier:
            assert instance.push(token).status == 200
            courier.expect_notify()
            assert instance.admin.metric("handshakes_open") == 0


def test_connections_silent_after_tls_keep_nobody_out(fresh):
    instance = fresh(ONE_LOOP)
    with contextlib.ExitStack() as stack:
        for port in (instance.device_port, instance.provider_port):
            for _ in range(PLACES + 16):
                plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))
                stack.enter_context(unverified_context(("h2", "apns-security-v3")).wrap_socket(plain))
        courier, (token,) = instance.online(APP)
        with courier:
            assert instance.push(token).status == 200
            courier.expect_notify()


@pytest.mark.slow
def test_at_a_full_door_the_oldest_silent_connection_makes_way(fresh):
    instance = fresh(ONE_LOOP)
    with connections(instance.device_port, AT_DOOR) as silent:
        until(lambda: instance.admin.metrics()["process_open_fds", frozenset()] > AT_DOOR)
        instance.advance("2s")
        courier, _ = instance.online(APP)
        courier.close()
        assert refused(instance, "silence") >= 1
        assert 1 <= closed_count(silent) < 10
        assert closed_count(silent[-PLACES:]) == 0, "the youngest stay"


def test_a_handshake_that_stands_still_makes_way_for_one_that_waits(fresh):
    instance = fresh(ONE_LOOP)
    courier, _ = instance.online(APP)
    part = hello()[2][:100]
    with courier, connections(instance.device_port, PLACES, part) as stalled:
        turn(courier)
        assert instance.admin.metric("handshakes_open") == PLACES
        identity, answers = instance.enrol(), []

        def connect() -> None:
            with instance.courier(identity) as late:
                answers.append(late.connect().item(1))

        with socket.create_connection(("127.0.0.1", instance.device_port), 10) as probe:
            probe.sendall(part)
            turn(courier)
            assert instance.admin.metric("handshakes_open") == PLACES, "one more waits"
            probe.close()
            turn(courier)
            thread = threading.Thread(target=connect)
            thread.start()
            # What stands still is looked for once a second, and most is let be.
            instance.advance("6s")
            thread.join(30)
        assert answers == [b"\0"]
        assert 1 <= closed_count(stalled) <= 4


@pytest.mark.parametrize("door", ["device", "provider"])
def test_silence_ends_at_the_deadline(fresh, door):
    instance = fresh(ONE_LOOP)
    port = getattr(instance, f"{door}_port")
    with connections(port, 3) as silent, connections(port, 1, b"\x16\x03\x01") as begun:
        with instance.client(), instance.courier(instance.enrol()):
            until(lambda: instance.admin.metric("handshakes_open") == 1)
            instance.advance("11s")
            until(lambda: closed_count(silent + begun) == 4)


def test_a_provider_must_begin_http2_in_time(fresh):
    instance = fresh()
    with socket.create_connection(("127.0.0.1", instance.provider_port), 10) as plain:
        with instance.context().wrap_socket(plain, server_hostname="localhost") as mute, instance.client() as client:
            client.ping()
            instance.advance("11s")
            mute.settimeout(10)
            with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
                # Our own SETTINGS may come first.
                while mute.recv(4096):
                    pass
            client.ping(b"neighbor")


def test_connections_in_all_are_bounded_and_silent_ones_make_way(fresh):
    instance = fresh({"threads": "1", "limits.connections": "6"})
    with contextlib.ExitStack() as stack:
        couriers = []
        for _ in range(4):
            courier, _ = instance.online(APP)
            couriers.append(stack.enter_context(courier))
        with connections(instance.device_port, 2) as silent, connections(instance.device_port, 1) as beyond:
            until(lambda: closed_count(beyond) == 1)
            assert refused(instance, "connections") == 1 and closed_count(silent) == 0
            instance.advance("2s")
            couriers.append(stack.enter_context(instance.online(APP)[0]))
            assert refused(instance, "silence") >= 1
        for courier in couriers:
            courier.keep_alive()


@pytest.mark.parametrize("limit", ["limits.connections", "limits.connectionsPerAddress"])
@pytest.mark.parametrize("silent_door", ["provider", "device"])
def test_silence_at_one_door_locks_nobody_out_of_the_other(fresh, limit, silent_door):
    instance = fresh({"threads": "1", limit: "30"})
    token = instance.register()
    port = instance.provider_port if silent_door == "provider" else instance.device_port
    with connections(port, 40) as silent:
        until(lambda: closed_count(silent) >= 10)
        instance.advance("2s")
        if silent_door == "provider":
            instance.online(APP)[0].close()
        else:
            assert instance.push(token).status == 200


def test_connections_of_an_address_are_bounded_and_its_silent_ones_make_way(fresh):
    instance = fresh({"limits.connectionsPerAddress": "3", "threads": "1"})
    with instance.online(APP)[0] as courier, connections(instance.device_port, 2) as silent:
        with connections(instance.device_port, 1) as beyond:
            until(lambda: closed_count(beyond) == 1)
        assert refused(instance, "address") == 1
        instance.advance("2s")
        with instance.online(APP)[0]:
            assert closed_count(silent) == 1
        courier.keep_alive()


@pytest.mark.sanitizer
def test_what_is_not_tls_is_closed_before_there_is_any(sandbox):
    before = refused(sandbox, "not_tls")
    for port in (sandbox.device_port, sandbox.provider_port):
        with connections(port, 5, b"GET / HTTP/1.1\r\n\r\n") as plains:
            until(lambda: closed_count(plains) == 5)
    assert refused(sandbox, "not_tls") == before + 10


def test_this_machine_is_never_dropped(fresh):
    instance = fresh({"limits.failuresPerAddress": "1"})
    with connections(instance.device_port, 5, b"garbage") as plains:
        until(lambda: closed_count(plains) == 5)
    instance.online(APP)[0].close()


@pytest.mark.slow
def test_a_device_may_come_back_as_often_as_it_likes(fresh):
    instance = fresh()
    identity = instance.enrol()
    for _ in range(300):
        with instance.courier(identity) as courier:
            assert courier.connect().item(1) == b"\0"


# No stream goes unanswered


class HalfClosable:
    """TLS whose close_notify can be sent while the other direction stays open, which Python's sockets cannot do."""

    def __init__(self, plain: socket.socket, context: ssl.SSLContext):
        self.plain = plain
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self._until_done(self.session.do_handshake)

    def _flush(self) -> None:
        # Sending nothing fails, too, once this half is closed.
        if data := self.outgoing.read():
            self.plain.sendall(data)

    def _until_done(self, work):
        while True:
            try:
                result = work()
                self._flush()
                return result
            except ssl.SSLWantReadError:
                self._flush()
                data = self.plain.recv(65536)
                if not data:
                    return b""
                self.incoming.write(data)

    def say_goodbye(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError):
            self.session.unwrap()
        self._flush()

    def sendall(self, data: bytes) -> None:
        self._until_done(lambda: self.session.write(data))

    def recv(self, size: int) -> bytes:
        return self._until_done(lambda: self.session.read(size))

    def pending(self) -> int:
        # Records that came with one that was read wait in `incoming`, where no poll sees them.
        return self.session.pending() or self.incoming.pending

    def fileno(self) -> int:
        return self.plain.fileno()

    def settimeout(self, seconds: float) -> None:
        self.plain.settimeout(seconds)

    def close(self) -> None:
        self.plain.close()


class HalfClosing:
    """A context for `H2Client` that makes these."""

    def __init__(self, context: ssl.SSLContext):
        self.context = context

    def wrap_socket(self, plain: socket.socket, server_hostname: str) -> HalfClosable:
        return HalfClosable(plain, self.context)


@pytest.mark.sanitizer
@pytest.mark.parametrize("says_goodbye", [False, True], ids=["fin", "close_notify_and_fin"])
def test_a_provider_that_closes_its_half_is_answered(fresh, says_goodbye):
    instance = fresh()
    token = instance.register()
    with H2Client(instance.provider_port, HalfClosing(instance.context())) as client:
        assert instance.push_on(client, token).status == 200
        instance.admin.hold_store(True)
        streams = [client.start(instance.headers(token), BODY) for _ in range(5)]
        if says_goodbye:
            client.socket.say_goodbye()
        client.socket.plain.shutdown(socket.SHUT_WR)
        instance.admin.hold_store(False)
        client.wait(*streams)
        for stream in streams:
            check_shape(stream)
            assert stream.status == 200
        client.wait_closed()
        assert not client.was_reset
    until(lambda: instance.admin.metric("provider_connections") == 0)


def test_a_provider_that_closes_its_half_with_nothing_asked_is_closed(sandbox):
    with H2Client(sandbox.provider_port, HalfClosing(sandbox.context())) as client:
        client.ping()
        client.socket.plain.shutdown(socket.SHUT_WR)
        client.wait_closed()


def test_a_request_that_is_never_answered_gets_503_in_time(fresh):
    instance = fresh({"provider.requestTimeout": "500ms"})
    token = instance.register()
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        instance.admin.hold_store(True)
        streams = [client.start(instance.headers(token), BODY) for _ in range(20)]
        client.wait(*streams)
        instance.admin.hold_store(False)
        for stream in streams:
            check_shape(stream)
            assert (stream.status, stream.reason) == (503, "ServiceUnavailable")
        assert instance.push_on(client, token).status == 200


@pytest.mark.sanitizer
def test_a_request_that_never_ends_is_answered_in_time(fresh):
    instance = fresh({"provider.requestTimeout": "500ms"})
    token = instance.register()
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        # What is wrong with the second would be told at its end.
        for changes in ({}, {"apns-priority": "7"}):
            stream = client.open(instance.headers(token, changes))
            client.send_data(stream, b'{"aps":')
            client.wait(stream)
            check_shape(stream)
            assert (stream.status, stream.reason) == (503, "ServiceUnavailable")
            client.pump_until(lambda: stream.reset == NO_ERROR)
        assert instance.push_on(client, token).status == 200


@pytest.mark.slow
def test_a_device_that_does_not_read_takes_64_kib(fresh):
    """What it has not acknowledged waits in its queue; its session ends by the deadlines of its acknowledgements."""
    instance = fresh({"delivery.window": "1000", "threads": "1"})
    courier, (token,) = instance.online(APP)
    payload = b'{"aps":{},"x":"' + b"x" * 4000 + b'"}'
    with courier, instance.client() as client:
        before = instance.resident_bytes()
        assert instance.push_on(client, token, body=payload).status == 200
        for _ in range(8):
            streams = [client.start(instance.headers(token), payload) for _ in range(100)]
            client.wait(*streams)
            assert {stream.status for stream in streams} == {200}
        assert instance.admin.queue(token), "all of it was framed"
        assert instance.resident_bytes() - before < 32 << 20
