"""The load of the soak: devices of all habits, and providers whose connections do not last either."""

import collections
import heapq
import socket
import struct
import time

from courier import KEEP_ALIVE
from harness import APP, OTHER_APP, Sandbox
from ledger import Entry, Ledger
from load import Load, LoadDevice

PROVIDERS = 4
#: Pushes that could not be sent in time are left out: what is wanted is a steady load, not a wave.
BEHIND_SECONDS = 1.0
#: How long after its expiration a push may be read: it has left the queue before, and this process may be slow.
LATE_SECONDS = 10.0
#: The most that devices do before the rest has its turn.
TURN_SECONDS = 0.05
ASLEEP, AWAKE = 2, 1


class SoakLedger(Ledger):
    """A ledger that also looks at when pushes come; `clock` is the gateway's time."""

    def __init__(self, clock, late_seconds: float):
        super().__init__()
        self._clock = clock
        self._late_seconds = late_seconds

    def arrive(self, device: int, data: bytes, id: bytes, at: float) -> Entry | None:
        entry = super().arrive(device, data, id, at)
        if entry and entry.expiration and self._clock() > entry.expiration + self._late_seconds:
            self.fault(f"push {entry.number} came {self._clock() - entry.expiration:.0f} s after its expiration")
        return entry


class SoakLoad(Load):
    """Each device comes and goes by itself; half of them sleep, and some leave without a word.

    A minute has `minute` seconds, so that a test may have short ones.
    """

    def __init__(self, instance: Sandbox, ledger: Ledger, *, devices: int, rate: float, minute: float, seed: int):
        self.rate = rate
        self.minute = minute
        #: What devices intend, by time; what is not a device's last intention is out of date.
        self._agenda: list[tuple[float, int, str]] = []
        self._intentions: dict[int, tuple[float, int, str]] = {}
        #: Connections that are open and that nobody reads any more, and until when.
        self._ghosts: collections.deque[tuple[float, socket.socket]] = collections.deque()
        self._next_push = 0.0
        super().__init__(
            instance, ledger, devices=devices, providers=PROVIDERS, topics=(APP, OTHER_APP), laziness=0.02, seed=seed
        )
        self.resume(0.5 * minute)

    def resume(self, seconds: float) -> None:
        """Devices that are away come within this time, pushes go on."""
        for device in self.devices:
            self._intend(device, "come", self.random.uniform(0, seconds))
        self._next_push = time.monotonic()

    def turn(self) -> None:
        """Does what is due, and reads."""
        now = time.monotonic()
        if now - self._next_push > BEHIND_SECONDS:
            self._next_push = now
        while self._next_push <= now:
            self._push_any()
            self._next_push += 1 / self.rate
        self._live()
        self.pump(min(0.01, max(0.0, self._next_push - time.monotonic())))

    def renew_provider(self) -> None:
        """A provider goes on over a new connection; what is open on the old one is answered before."""
        provider = self.random.choice(self.providers)
        if provider:
            self._finish(provider)

    def retire(self) -> None:
        """No device does anything by itself any more."""
        self._agenda.clear()
        self._intentions.clear()

    def rest(self) -> None:
        """What devices left for later is acknowledged."""
        for device in self.devices:
            if device.courier:
                self.acknowledge_owed(device)

    def close(self) -> None:
        super().close()
        for _, ghost in self._ghosts:
            ghost.close()

    # Pushes

    def _push_any(self) -> None:
        draw = self.random
        now = self.instance.now()
        self.push(
            draw.choice(self.devices),
            draw.choice((40, 100, 400, 1500)),
            priority=draw.choice((10, 10, 10, 5, 5, 1)),
            collapse_id=draw.choice((None, None, None, "a", "b")),
            expiration=draw.choice((None, None, None, now + 86400, now + 60, 0)),
        )

    def _provider(self, index: int):
        provider = self.providers[index]
        if provider and provider.client.goaways:
            # What it says it will not answer is sent again by nobody: those pushes stay in doubt.
            self._finish(provider)
        return super()._provider(index)

    def _finish(self, provider) -> None:
        end = time.monotonic() + 5
        while provider.open and not provider.client.closed and time.monotonic() < end:
            provider.client.pump(0.05)
            self._take_answers(provider)
        self._drop(provider)

    # Devices

    def _intend(self, device: LoadDevice, what: str, seconds: float) -> None:
        intention = (time.monotonic() + seconds, device.key, what)
        self._intentions[device.key] = intention
        heapq.heappush(self._agenda, intention)

    def _live(self) -> None:
        now = time.monotonic()
        end = now + TURN_SECONDS
        while self._agenda and self._agenda[0][0] <= now < end:
            intention = heapq.heappop(self._agenda)
            if self._intentions.get(intention[1]) == intention:
                getattr(self, f"_{intention[2]}")(self.devices[intention[1]])
            now = time.monotonic()
        while self._ghosts and self._ghosts[0][0] <= now:
            self._ghosts.popleft()[1].close()

    def _come(self, device: LoadDevice) -> None:
        if not self.come(device):
            return
        if self.random.random() < 0.5:
            device.courier.set_state(ASLEEP)
        stays = self.random.expovariate(1) * self.random.choice((0.3, 1, 1, 5)) * self.minute
        self._intend(device, *(("go", stays) if stays < self.minute else ("stay", self.minute)))

    def _stay(self, device: LoadDevice) -> None:
        """Once a minute it says that it is there, looks at what it left, and perhaps wakes or falls asleep."""
        device.courier.send(KEEP_ALIVE)
        device.courier.set_state(self.random.choice((AWAKE, ASLEEP)))
        self.acknowledge_owed(device)
        self._intend(device, self.random.choice(("go", "stay", "stay")), self.minute)

    def _go(self, device: LoadDevice) -> None:
        way = self.random.random()
        if way < 0.1:
            self._vanish(device)
        elif way < 0.3:
            # A reset in place of a FIN.
            device.courier.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.leave(device)

    def _vanish(self, device: LoadDevice) -> None:
        """Without a FIN and without a reset: the gateway has to find out by itself."""
        self._unwatch(device.courier.socket)
        self.ledger.end_session(device.key, time.monotonic())
        self._ghosts.append((time.monotonic() + 2 * self.minute, device.courier.socket))
        device.courier = None

    def leave(self, device: LoadDevice) -> None:
        """However it came to that, the device will come back."""
        super().leave(device)
        self._intend(device, "come", self.random.expovariate(1 / self.minute))
