"""Behind a load balancer: limits hold for whom it brings, and nobody gets in without it (docs/operations.md)."""

import contextlib
import socket
import ssl
import time

import pytest

from balancer import SIGNATURE, Balancer, proxy_header
from courier import Courier, unverified_context
from harness import APP, H2Client, Sandbox

HERE, THERE = "203.0.113.9", "198.51.100.7"
FAILURES = 3


@pytest.fixture(scope="module")
def proxied():
    """A gateway that knows its peers from balancers only; three failures are enough for an address."""
    settings = {"provider.proxy": "on", "device.proxy": "on", "limits.failuresPerAddress": str(FAILURES)}
    with Sandbox(settings) as instance:
        yield instance


@pytest.fixture
def still(proxied):
    """The same, whose time does not go on: of a dropped address a connection is tried now and then."""
    proxied.admin.hold_clock(True)
    yield proxied
    proxied.admin.hold_clock(False)


def raw(port: int, data: bytes = b"") -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), 10)
    plain.sendall(data)
    return plain


def is_closed(plain: socket.socket, seconds: float = 10) -> bool:
    """Whether the gateway ends the connection without a word."""
    plain.settimeout(seconds)
    try:
        return plain.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def gets_tls(port: int, header: bytes) -> bool:
    """Whether a handshake succeeds behind this header."""
    try:
        with raw(port, header) as plain, unverified_context().wrap_socket(plain):
            return True
    except (ssl.SSLError, OSError):
        return False


def fail(port: int, source: str, times: int) -> None:
    """Connections from an address that are not TLS."""
    for _ in range(times):
        with raw(port, proxy_header(source) + b"GET / HTTP/1.1\r\n\r\n") as plain:
            assert is_closed(plain)


def refused(instance, cause: str) -> float:
    return instance.admin.metric("connections_refused_total", cause=cause)


@pytest.mark.sanitizer
@pytest.mark.parametrize("source", [HERE, "2001:db8::9", None])
def test_a_push_goes_through_a_balancer(proxied, source):
    with Balancer(proxied.device_port, source) as devices, Balancer(proxied.provider_port, source) as providers:
        with Courier(devices.port, proxied.enrol(), proxied.now) as courier:
            assert courier.connect().item(1) == b"\0"
            token = courier.token(APP)
            courier.filter(enabled=[APP])
            with H2Client(providers.port, proxied.context()) as client:
                assert proxied.push_on(client, token).status == 200
            courier.expect_notify()


@pytest.mark.sanitizer
@pytest.mark.parametrize("header", [
    pytest.param(proxy_header(HERE), id="ipv4"),
    pytest.param(proxy_header("2001:db8::1"), id="ipv6"),
    pytest.param(proxy_header(HERE, b"\x04\x00\x03abc" + b"\x20\x00\x05\x01\0\0\0\0"), id="extensions"),
    pytest.param(proxy_header(HERE, bytes(2048 - 28)), id="the_longest"),
    pytest.param(proxy_header(None), id="local"),
    pytest.param(proxy_header(None, bytes(12), family=0x11), id="local_with_addresses"),
])  # fmt: skip
def test_a_header_is_taken(proxied, header):
    assert gets_tls(proxied.device_port, header)


def test_a_header_may_come_in_pieces(proxied):
    header = proxy_header(HERE, b"\x04\x00\x03abc")
    with raw(proxied.device_port) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in header:
            plain.sendall(bytes([byte]))
            time.sleep(0.002)
        with unverified_context().wrap_socket(plain) as secured:
            assert secured.version()


@pytest.mark.sanitizer
@pytest.mark.parametrize("door", ["device", "provider"])
@pytest.mark.parametrize("data", [
    pytest.param(b"\x16\x03\x01\x02\x00\x01", id="tls_at_once"),
    pytest.param(b"PROXY TCP4 203.0.113.9 192.0.2.1 40000 443\r\n", id="version_1"),
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="http"),
    pytest.param(proxy_header(HERE, command=0x11), id="version_1_binary"),
    pytest.param(proxy_header(HERE, command=0x22), id="unknown_command"),
    pytest.param(proxy_header(HERE, family=0x12), id="datagrams"),
    pytest.param(SIGNATURE + b"\x21\x11\x00\x04" + bytes(4), id="too_short_for_its_family"),
    pytest.param(SIGNATURE + b"\x21\x11\xff\xff", id="too_long"),
])  # fmt: skip
def test_whoever_comes_without_a_header_is_refused_at_once(proxied, door, data):
    before = refused(proxied, "proxy")
    with raw(getattr(proxied, f"{door}_port"), data) as plain:
        assert is_closed(plain)
    assert refused(proxied, "proxy") == before + 1


def test_version_1_is_named_in_the_log(fresh):
    instance = fresh({"device.proxy": "on"})
    with raw(instance.device_port, b"PROXY TCP4 203.0.113.9 192.0.2.1 40000 443\r\n") as plain:
        assert is_closed(plain)
    deadline = time.monotonic() + 10
    while "version1" not in instance.tail():
        assert time.monotonic() < deadline, instance.tail()
        time.sleep(0.05)


def test_half_a_header_is_cut_at_the_deadline(fresh):
    instance = fresh({"device.proxy": "on"})
    with raw(instance.device_port, proxy_header(HERE)[:20]) as plain, raw(instance.device_port) as silent:
        # Both have been accepted once one behind them has got its TLS.
        assert gets_tls(instance.device_port, proxy_header(HERE))
        instance.advance("11s")
        assert is_closed(plain) and is_closed(silent)


def test_limits_hold_for_whom_the_balancer_brings(fresh):
    instance = fresh({"device.proxy": "on", "limits.connectionsPerAddress": "2"})
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            plain = stack.enter_context(raw(instance.device_port, proxy_header(HERE)))
            stack.enter_context(unverified_context().wrap_socket(plain))
        with raw(instance.device_port, proxy_header(HERE)) as third:
            assert is_closed(third)
        assert refused(instance, "address") == 1
        # The balancer's own address has more connections than that by now.
        assert gets_tls(instance.device_port, proxy_header(THERE))
        assert gets_tls(instance.device_port, proxy_header("2001:db8::1"))


@pytest.mark.parametrize("door", ["device", "provider"])
def test_an_address_that_fails_is_dropped_before_tls_for_a_while(fresh, door):
    settings = {f"{door}.proxy": "on", "limits.failuresPerAddress": str(FAILURES)}
    instance = fresh(settings)
    instance.admin.hold_clock(True)
    port = getattr(instance, f"{door}_port")
    fail(port, HERE, FAILURES - 1)
    assert gets_tls(port, proxy_header(HERE))
    fail(port, HERE, 1)
    assert not gets_tls(port, proxy_header(HERE))
    assert refused(instance, "failures") == 1 and refused(instance, "not_tls") == FAILURES
    assert gets_tls(port, proxy_header(THERE)), "another address is not concerned"
    assert "an address is refused for a while" in instance.tail() and HERE in instance.tail()
    instance.advance("61s")
    assert gets_tls(port, proxy_header(HERE))


def test_an_ipv6_network_fails_together(still):
    for last in range(FAILURES):
        fail(still.device_port, f"2001:db8:1:2::{last}", 1)
    assert not gets_tls(still.device_port, proxy_header("2001:db8:1:2:9::9"))
    assert gets_tls(still.device_port, proxy_header("2001:db8:1:3::1"))


def test_bad_proofs_count(still):
    source, identity = "203.0.113.77", still.enrol()
    with Balancer(still.device_port, source) as balancer:
        for _ in range(FAILURES):
            assert gets_tls(still.device_port, proxy_header(source))
            with Courier(balancer.port, identity, still.now) as courier:
                assert courier.connect(signature=b"\xc0\x02" + bytes(70)).item(1) == b"\x02"
    assert not gets_tls(still.device_port, proxy_header(source))


def test_a_provider_whose_token_is_good_clears_its_address(proxied):
    source = "203.0.113.78"
    token = proxied.register()
    with Balancer(proxied.provider_port, source) as balancer:
        for _ in range(2):
            fail(proxied.provider_port, source, FAILURES - 1)
            with H2Client(balancer.port, proxied.context()) as client:
                assert proxied.push_on(client, token).status == 200


def test_a_balancer_that_looks_whether_someone_is_there_does_no_harm(proxied):
    """A health check connects and closes, with or without a header of its own."""
    for data in (b"", proxy_header(None)):
        for _ in range(2 * FAILURES):
            raw(proxied.device_port, data).close()
    assert gets_tls(proxied.device_port, proxy_header(None))


def test_the_log_names_whom_the_balancer_brought(proxied):
    with Balancer(proxied.device_port, "203.0.113.79") as balancer:
        with Courier(balancer.port, proxied.enrol(), proxied.now) as courier:
            assert courier.connect(nonce=bytes(17)).item(1) == b"\x02"
    deadline = time.monotonic() + 10
    while "203.0.113.79" not in proxied.tail():
        assert time.monotonic() < deadline, proxied.tail()
        time.sleep(0.05)
