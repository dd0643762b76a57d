"""Who makes way at a full door, and whose failures count against whom (docs/decisions/0020-doors.md)."""

import contextlib
import re
import socket
import subprocess

import pytest

from balancer import Balancer, proxy_header
from courier import Courier
from h2_raw import END_STREAM, HEADERS, Peer, block, frame, headers, literal, opened, reset
from harness import BODY, H2Client, Sandbox
from instance import Instance, binary, clean_environment, until
from test_handshake_storm import hello
from test_overload import closed_count, connections, descriptors, refused  # noqa: F401
from test_overload_proxy import HERE, THERE, fail, gets_tls

ELSEWHERE = "192.0.2.44"
#: What a client sends that begins its TLS and does not go on.
HALF = hello()[2][:100]
FAILURES = 3


@contextlib.contextmanager
def half_hellos(instance, port: int, source: str, count: int, data: bytes = HALF):
    """So many connections from an address, all of them accepted."""

    def open_files() -> float:
        return instance.admin.metrics()["process_open_fds", frozenset()]

    before = open_files()
    with connections(port, count, proxy_header(source) + data) as made:
        until(lambda: open_files() + closed_count(made) >= before + count - 8, open_files)
        yield made


def turn(neighbour: H2Client) -> None:
    """Some turns of the loop: what was sent before is seen by then."""
    for count in range(4):
        neighbour.ping(b"turn %3d" % count)


# Places


@pytest.mark.parametrize("door", ["device", "provider"])
def test_half_hellos_of_one_address_keep_nobody_out(fresh, door):
    instance = fresh({"threads": "1", f"{door}.proxy": "on"})
    instance.admin.hold_clock(True)
    port = getattr(instance, f"{door}_port")
    with half_hellos(instance, port, HERE, 990):
        assert gets_tls(port, proxy_header(THERE))


def test_half_hellos_that_fill_a_door_make_way(fresh):
    """Two addresses fill it; the clock goes on by less than it takes for a handshake to count as stalled."""
    instance = fresh({"threads": "1", "device.proxy": "on"})
    instance.admin.hold_clock(True)
    with half_hellos(instance, instance.device_port, HERE, 600):
        with connections(instance.device_port, 600, proxy_header(ELSEWHERE) + HALF):
            instance.advance("3s")
            assert gets_tls(instance.device_port, proxy_header(THERE))
            assert gets_tls(instance.device_port, proxy_header("2001:db8::1"))


def test_half_hellos_of_many_networks_keep_nobody_out(fresh):
    """One subscriber has hundreds of IPv6 networks."""
    instance = fresh({"threads": "1", "device.proxy": "on"})
    with contextlib.ExitStack() as stack:
        for number in range(40):
            data = proxy_header(f"2001:db8:0:{number:x}::1") + HALF
            stack.enter_context(connections(instance.device_port, 40, data))
        until(lambda: instance.admin.metrics()["process_open_fds", frozenset()] >= 1000)
        for _ in range(3):
            assert gets_tls(instance.device_port, proxy_header(THERE))


def test_half_hellos_that_use_up_all_connections_make_way(fresh):
    instance = fresh({"threads": "1", "device.proxy": "on", "limits.connections": "200"})
    instance.admin.hold_clock(True)
    with half_hellos(instance, instance.device_port, HERE, 300):
        assert gets_tls(instance.device_port, proxy_header(THERE))
        token = instance.register()
        with instance.client() as client:
            assert instance.push_on(client, token).status == 200


def test_what_waits_goes_when_its_address_is_dropped(fresh):
    settings = {"threads": "1", "device.proxy": "on", "limits.handshakes": "1", "limits.failuresPerAddress": "1"}
    instance = fresh(settings)
    instance.admin.hold_clock(True)
    port, header = instance.device_port, proxy_header(HERE)
    with instance.client() as neighbour, connections(port, 1, header + HALF):
        until(lambda: instance.admin.metric("handshakes_open") == 1)
        instance.advance("6s")
        with connections(port, 12, header + HALF) as waiting, connections(port, 12, header) as silent:
            turn(neighbour)
            # What stands still while others wait counts as failed.
            instance.advance("1s")
            until(lambda: closed_count(waiting) == 12 and closed_count(silent) == 12)
        assert refused(instance, "failures") >= 24
        assert gets_tls(port, proxy_header(THERE))


# Failures


@pytest.fixture
def proxied(fresh):
    """A gateway that knows its peers from balancers, and whose clock stands still."""
    instance = fresh({"provider.proxy": "on", "device.proxy": "on", "limits.failuresPerAddress": str(FAILURES)})
    instance.admin.hold_clock(True)
    return instance


def gets_in(instance, balancer: Balancer) -> Courier:
    courier = Courier(balancer.port, instance.enrol(), instance.now)
    assert courier.connect().item(1) == b"\0"
    return courier


def test_a_device_that_fails_shuts_no_neighbour_out(proxied):
    """Behind one address are many: while one of them is in, and a while after, the others' faults are not its own."""
    with Balancer(proxied.device_port, HERE) as balancer:
        with gets_in(proxied, balancer):
            fail(proxied.device_port, HERE, 3 * FAILURES)
            gets_in(proxied, balancer).close()
        until(lambda: proxied.admin.metric("device_sessions") == 0)
        fail(proxied.device_port, HERE, 3 * FAILURES)
        gets_in(proxied, balancer).close()


def test_a_provider_whose_neighbour_fails_gets_in(proxied):
    token = proxied.register()
    with Balancer(proxied.provider_port, HERE) as balancer:
        with H2Client(balancer.port, proxied.context()) as client:
            assert proxied.push_on(client, token).status == 200
            fail(proxied.provider_port, HERE, 3 * FAILURES)
            with H2Client(balancer.port, proxied.context()) as other:
                assert proxied.push_on(other, token).status == 200


def test_failures_at_one_door_count_there_alone(proxied):
    fail(proxied.device_port, HERE, FAILURES)
    assert not gets_tls(proxied.device_port, proxy_header(HERE))
    assert gets_tls(proxied.provider_port, proxy_header(HERE))


def test_one_that_gets_in_while_its_address_is_dropped_ends_that(proxied):
    fail(proxied.device_port, HERE, FAILURES)
    assert not gets_tls(proxied.device_port, proxy_header(HERE))
    proxied.advance("5s")
    with Balancer(proxied.device_port, HERE) as balancer, gets_in(proxied, balancer):
        fail(proxied.device_port, HERE, 3 * FAILURES)
        gets_in(proxied, balancer).close()


# Bounds


def test_connections_in_all_are_counted_over_all_loops(fresh):
    """Whatever loops they come to, there may be exactly so many."""
    instance = fresh({"threads": "2", "limits.connections": "4"})
    token = instance.register()
    for _ in range(10):
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                client = stack.enter_context(instance.client())
                assert instance.push_on(client, token).status == 200
            with connections(instance.provider_port, 1) as beyond:
                until(lambda: closed_count(beyond) == 1)
        until(lambda: instance.admin.metric("provider_connections") == 0)
    assert refused(instance, "connections") == 10


def test_what_is_silent_at_another_loop_makes_way_for_the_next(fresh):
    instance = fresh({"threads": "2", "limits.connections": "2"})
    token = instance.register()

    def gets_in() -> bool:
        try:
            return instance.push(token).status == 200
        except (OSError, AssertionError):
            return False

    for _ in range(5):
        with connections(instance.provider_port, 2):
            instance.advance("2s")
            until(gets_in)


def serve(instance: Instance, limit: int) -> subprocess.CompletedProcess:
    """A start that is refused, with so many descriptors."""
    arguments = ["prlimit", f"--nofile={limit}:{limit}", binary(), "serve", "--config", instance.facts["config"]]
    arguments += ["--set", "threads=1"]
    return subprocess.run(arguments, env=clean_environment(), capture_output=True, text=True, timeout=30)


def test_too_few_descriptors_stop_the_start_and_enough_are_enough(template):
    done = serve(template, 100)
    assert done.returncode == 1 and "the open-file limit is 100" in done.stderr
    least = int(re.search(r"raise it to (\d+) or more", done.stderr)[1])
    assert f"limit is {least - 1};" in serve(template, least - 1).stderr

    instance = Sandbox({"threads": "1", "limits.connectionsPerAddress": "0"})
    instance.launcher = ["prlimit", f"--nofile={least}:{least}"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(instance)
        token = instance.register()
        for port in (instance.device_port, instance.provider_port, instance.admin_port):
            for _ in range(150):
                stack.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", port), 10)))
        # None is left that cannot be accepted: nothing has to be tried over and over.
        until(lambda: refused(instance, "connections") > 0)
        metrics = instance.admin.metrics()
        assert metrics["process_open_fds", frozenset()] < metrics["process_max_fds", frozenset()] == least
        instance.advance("2s")
        with instance.courier(instance.enrol()) as courier:
            assert courier.connect().item(1) == b"\0"
        assert instance.admin.registration(token)


# Requests


def test_requests_that_are_given_up_after_a_while_are_no_rapid_reset(fresh):
    """A store that stands still is no fault of who has waited for it."""
    instance = fresh({"threads": "1"})
    token = instance.register()
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        instance.admin.hold_store(True)
        streams = [client.start(instance.headers(token), BODY) for _ in range(900)]
        client.ping()
        instance.advance("2s")
        for stream in streams:
            client.reset(stream)
        client.ping(b"go on at")
        instance.admin.hold_store(False)
        assert instance.push_on(client, token).status == 200
        assert not client.goaways
    assert instance.admin.metric("provider_abuse_total", kind="rapid_reset") == 0


@pytest.mark.sanitizer
@pytest.mark.parametrize("answers, sent", [
    pytest.param({1: 503}, headers(1, block(), 0), id="a_request"),
    pytest.param({1: 503}, headers(1, block(), END_STREAM), id="a_request_without_a_body"),
    pytest.param({1: 503}, opened(1) + frame(HEADERS, END_STREAM, 1, literal("x", "y")), id="trailers"),
    pytest.param({}, opened(1) + reset(1) + headers(1, block(), END_STREAM), id="of_a_closed_stream"),
])  # fmt: skip
def test_a_header_block_that_does_not_end_ends_the_connection(fresh, answers, sent):
    instance = fresh({"threads": "1"})
    with instance.client() as neighbour, Peer(instance) as peer:
        peer.ping()
        peer.send(sent)
        turn(neighbour)
        until(lambda: instance.admin.metric("provider_connections") == 2)
        instance.advance("31s")
        peer.wait_closed()
        assert peer.statuses == answers
        neighbour.ping(b"neighbor")
