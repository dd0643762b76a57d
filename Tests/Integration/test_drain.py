"""The end of a gateway's life with much in flight: each push is either answered, or above the last stream and unknown
to the gateway; every device is sent away; and it takes no longer than the settings say."""

import resource
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from courier import Identity
from delivery import live
from harness import APP, BODY

IN_FLIGHT = 500
SESSIONS = 1000
#: What a stop takes besides `drain.delay` and `drain.timeout`: a second for the last bytes, the store's last writes,
#: and patience with a machine that has other work.
MARGIN = 8


def end_of(instance, within: float) -> float:
    """Waits for the exit status 0; how long it took."""
    begun = time.monotonic()
    assert instance.process.wait(within) == 0, instance.tail()
    instance._forget()
    return time.monotonic() - begun


def hold_store(instance) -> None:
    instance.admin.post("/v1/test/store", {"hold": True})


class Pushes:
    """Pushes of one provider, each with an id of its own."""

    def __init__(self, instance, token: str):
        self.instance, self.token = instance, token
        self.client = instance.client()
        assert instance.push_on(self.client, instance.register(APP)).status == 200  # The stream limit rises.
        self.client.pump_until(lambda: self.client.stream_limit and self.client.stream_limit > 1)
        self.streams: dict[str, object] = {}

    def start(self, count: int) -> None:
        for _ in range(count):
            if self.client.closed:
                return
            identifier = str(uuid.uuid4()).upper()
            fields = self.instance.headers(self.token, {"apns-id": identifier})
            stream = self.client.open(fields)
            # The last write: a client that has seen the last GOAWAY may not get this far.
            self.client.send_data(stream, BODY, end_stream=True)
            self.streams[identifier] = stream

    def go_on_until_closed(self) -> None:
        """Reads, and opens new streams as fast as a client that does not look at GOAWAY."""
        deadline = time.monotonic() + 60
        while not self.client.closed and time.monotonic() < deadline:
            if len(self.streams) < IN_FLIGHT + 300:
                self.start(1)
            self.client.pump(0.005)
        assert self.client.closed and not self.client.was_reset

    def judge(self) -> tuple[set[str], set[str], set[str]]:
        """The ids that were accepted, refused, and left above the last stream; each is exactly one of these."""
        goaways = [frame.last_stream_id for frame in self.client.goaways]
        assert goaways[0] == 2**31 - 1 and goaways == sorted(goaways, reverse=True), goaways
        assert set(self.client.goaway_reasons()) == {"Shutdown"}
        accepted, refused, above = set(), set(), set()
        for identifier, stream in self.streams.items():
            if stream.id > goaways[-1]:
                assert stream.status is None, f"stream {stream.id} was answered above {goaways[-1]}"
                above.add(identifier)
            else:
                assert stream.finished, f"stream {stream.id} has no answer below {goaways[-1]}"
                assert (stream.status, stream.reason) in {(200, None), (503, "Shutdown")}
                assert stream.apns_id.upper() == identifier
                (accepted if stream.status == 200 else refused).add(identifier)
        return accepted, refused, above


def stored(instance, token: str) -> set[str]:
    """The ids that wait for a registration, all pages of them."""
    found, after = [], None
    while True:
        page = instance.admin.get(f"/v1/queues/{token}", limit=1000, after=after)
        found += [item["apnsID"].upper() for item in page["items"]]
        after = page["next"]
        if not after:
            return set(found)


def connect_all(instance, count: int) -> list:
    """So many devices, connected; several at a time, for a handshake is mostly waiting."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count + 1024), hard))

    def connect(number: int):
        courier = instance.courier(Identity(instance.admin, f"device-{number}"))
        assert courier.connect().item(1) == b"\0"
        return courier

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(connect, range(count)))


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", ["the store answers in time", "the store answers too late"])
def test_each_push_is_answered_or_above_the_last_stream(fresh, how):
    instance = fresh({
        "queue.limit": "100000", "limits.connectionsPerAddress": "0", "drain.delay": "1s",
        "drain.timeout": "20s" if how == "the store answers in time" else "3s",
    })  # fmt: skip
    token = instance.register(APP)
    # The provider first: its client can wait on descriptors up to 1023 only.
    pushes = Pushes(instance, token)
    couriers = connect_all(instance, SESSIONS)
    assert instance.admin.metric("device_sessions") == SESSIONS
    hold_store(instance)
    pushes.start(IN_FLIGHT)
    pushes.client.ping()
    instance.process.send_signal(signal.SIGTERM)
    if how == "the store answers in time":
        pushes.client.pump_until(lambda: pushes.client.goaways)
        pushes.start(50)
        instance.admin.post("/v1/test/store", {"hold": False})
    pushes.go_on_until_closed()
    end_of(instance, 60)
    accepted, refused, above = pushes.judge()
    assert len(accepted) + len(refused) >= IN_FLIGHT
    assert (len(refused) == 0) == (how == "the store answers in time")
    print(f"{len(accepted)} accepted, {len(refused)} refused, {len(above)} above the last stream")
    for courier in couriers:
        courier.wait_closed()
        assert not courier.was_reset
        courier.close()

    instance.ports = {f"{door}.port": value for door, value in instance._doors.items()}
    instance.start()
    assert stored(instance, token) == accepted


@pytest.mark.sanitizer
def test_a_store_that_does_not_answer_prolongs_no_stop(fresh):
    instance = fresh({"drain.timeout": "2s"})
    token = instance.register(APP)
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        hold_store(instance)
        stream = client.start(instance.headers(token), BODY)
        client.ping()
        instance.process.send_signal(signal.SIGTERM)
        client.wait_closed()
        assert (stream.status, stream.reason) == (503, "Shutdown")
    assert end_of(instance, 45) < 2 + MARGIN


def test_a_second_signal_ends_a_drain_in_order(fresh):
    instance = fresh({"drain.delay": "10m", "drain.timeout": "1h"})
    token = instance.register(APP)
    courier, _ = live(instance, APP)
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        hold_store(instance)
        stream = client.start(instance.headers(token), BODY)
        client.ping()
        instance.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        while "draining" not in str(instance.admin.request("GET", "/readyz", token=None)[1]):
            assert time.monotonic() < deadline
        # What an operator does with the drain of the admin API does not keep the streams from their answers.
        assert instance.admin.request("DELETE", "/v1/drain")[0] == 403
        instance.process.send_signal(signal.SIGINT)
        client.wait_closed(30)
        assert (stream.status, stream.reason) == (503, "Shutdown")
        assert [frame.last_stream_id for frame in client.goaways][0] == 2**31 - 1 and len(client.goaways) == 2
    courier.wait_closed(30)
    assert end_of(instance, 30) < 30


def test_what_was_sent_away_may_come_back_when_a_drain_is_called_off(fresh):
    instance = fresh({"drain.timeout": "5s"})
    courier, (token,) = live(instance, APP)
    instance.admin.drain()
    courier.wait_closed(30)
    instance.admin.end_drain()
    again, _ = live(instance, APP, identity=courier.identity)
    assert instance.push(token).status == 200
    again.expect_notify()
