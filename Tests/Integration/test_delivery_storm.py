"""Many at once: devices that come, go and take over while a provider pushes; and the same with the power cut."""

import random
import threading
import time

import pytest

from courier import NO_STORAGE, NOTIFY, Courier
from delivery import number
from harness import APP, Identity, Sandbox

DEVICES, PUSHES = 8, 1600


class Device(threading.Thread):
    """Lives through sessions of random length; each ends in a close, in silence, or in a takeover."""

    def __init__(self, instance: Sandbox, identity: Identity, seed: int):
        super().__init__(daemon=True)
        self.instance = instance
        self.identity = identity
        self.random = random.Random(seed)
        self.ids: dict[int, bytes] = {}
        #: When the gateway had surely read each acknowledgement.
        self.settled: dict[int, float] = {}
        self.mistakes: list[str] = []
        #: When the gateway was killed.
        self.kills: list[float] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        old: Courier | None = None
        while not self.stopping.is_set():
            try:
                courier = self.instance.courier(self.identity)
                assert courier.connect().item(1) == b"\0"
                courier.filter(enabled=[APP])
                if old:
                    old.close()
                self.live(courier, self.random.random() * 0.3)
                old = courier if self.random.random() < 0.5 else courier.close()
            except (AssertionError, OSError):
                # The gateway may be gone for a moment.
                time.sleep(0.05)
        if old:
            old.close()

    def live(self, courier: Courier, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not courier.closed and (left := deadline - time.monotonic()) > 0:
            courier.pump(left)
            self.take(courier, share=0.8)

    def take(self, courier: Courier, share: float) -> None:
        """Looks at what came, acknowledges some of it, and makes sure that the gateway has read that."""
        arrived = [message for message in courier._unread if message.command == NOTIFY]
        courier._unread.clear()
        acknowledged = []
        for message in arrived:
            n = number(message)
            if n in self.settled and not self.may_be_forgotten(self.settled[n]):
                self.mistakes.append(f"{n} came again {message.arrived - self.settled[n]:.2f} s after it was settled")
            if self.ids.setdefault(n, message.id) != message.id:
                self.mistakes.append(f"{n} came with another id")
            if self.random.random() < share:
                courier.ack(message)
                acknowledged.append(n)
        if acknowledged and not courier.closed:
            courier.keep_alive()
            for n in acknowledged:
                self.settled.setdefault(n, time.monotonic())

    def may_be_forgotten(self, settled: float) -> bool:
        """A kill within a second of an acknowledgement may have come before its commit."""
        return any(settled - 0.1 < kill < settled + 1 for kill in self.kills)

    def finish(self) -> None:
        """Stops the coming and going, and fetches all that is left."""
        self.stopping.set()
        self.join(20)
        assert not self.is_alive()
        with self.instance.courier(self.identity) as courier:
            assert courier.connect().item(1) == b"\0"
            courier.filter(enabled=[APP])
            deadline = time.monotonic() + 20
            while not any(message.command == NO_STORAGE for message in courier._unread):
                assert time.monotonic() < deadline, "it never ends"
                self.take(courier, share=1)
                courier.pump(0.05)
                courier.filter(enabled=[APP])
            self.take(courier, share=1)
            courier.expect_nothing(0.1)


def crowd(instance: Sandbox) -> tuple[list[Device], list[str]]:
    devices, tokens = [], []
    for seed in range(DEVICES):
        identity, (token,) = instance.offline(APP)
        devices.append(Device(instance, identity, seed))
        tokens.append(token)
    for device in devices:
        device.start()
    return devices, tokens


def send(instance: Sandbox, tokens: list[str], numbers: range, at_once: int = 32) -> set[int]:
    """Pushes these in turn to all tokens; the numbers of those that were answered 200."""
    accepted = set()
    with instance.client() as client:
        streams = {}
        for n in numbers:
            streams[n] = client.start(instance.headers(tokens[n % DEVICES]), b'{"n":%d}' % n)
            while sum(not stream.finished for stream in streams.values()) >= at_once and not client.closed:
                client.pump(0.5)
            accepted |= {n for n, stream in streams.items() if stream.status == 200}
            streams = {n: stream for n, stream in streams.items() if not stream.finished}
            if client.closed:
                return accepted
        client.pump_until(lambda: client.closed or all(stream.finished for stream in streams.values()), 40)
        return accepted | {n for n, stream in streams.items() if stream.status == 200}


def check(devices: list[Device], accepted: set[int]) -> None:
    for at, device in enumerate(devices):
        assert not device.mistakes, device.mistakes[:5]
        mine = {n for n in accepted if n % DEVICES == at}
        assert mine <= device.ids.keys(), f"lost: {sorted(mine - device.ids.keys())[:10]}"
        assert len(set(device.ids.values())) == len(device.ids), "one id for two pushes"


def kill(instance: Sandbox, devices: list[Device]) -> None:
    instance.process.kill()
    for device in devices:
        device.kills.append(time.monotonic())


SETTINGS = {"queue.limit": "10000", "delivery.backlog": "10000", "limits.connectionsPerAddress": "10000"}


@pytest.mark.slow
@pytest.mark.sanitizer
def test_devices_that_come_and_go_lose_nothing(fresh):
    instance = fresh(SETTINGS)
    devices, tokens = crowd(instance)
    accepted = send(instance, tokens, range(PUSHES))
    assert len(accepted) == PUSHES
    for device in devices:
        device.finish()
    check(devices, accepted)
    assert instance.admin.metric("notifications_stored") == 0
    delivered = instance.admin.metric("notifications_delivered_total")
    assert delivered == PUSHES, "each is counted once"


@pytest.mark.slow
@pytest.mark.sanitizer
def test_and_neither_does_a_gateway_that_is_killed_meanwhile(fresh):
    instance = fresh(SETTINGS)
    devices, tokens = crowd(instance)
    accepted: set[int] = set()
    for turn in range(5):
        numbers = range(turn * 10_000, turn * 10_000 + 8000)
        killer = threading.Timer(0.4 + 0.3 * turn, kill, (instance, devices))
        killer.start()
        accepted |= send(instance, tokens, numbers)
        killer.join()
        instance.restart(crash=True)
    assert len(accepted) > 50
    for device in devices:
        device.finish()
    check(devices, accepted)
