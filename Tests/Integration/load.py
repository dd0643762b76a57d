"""Providers and devices that load one gateway from one thread, and write into a ledger what they see."""

import random
import select
import ssl
import time

from courier import NOTIFY, Courier, Identity
from h2_client import H2Client, Stream
from harness import APP, Sandbox
from ledger import Entry, Ledger

#: Requests without an answer per connection: their bodies fit into its window.
IN_FLIGHT = 64
#: What a connection that the gateway drops, or never takes, raises.
GONE = (ConnectionError, TimeoutError, ssl.SSLError, AssertionError, OSError)


class LoadDevice:
    """A device of the load: now here, now away."""

    def __init__(self, key: int, identity: Identity):
        self.key = key
        self.identity = identity
        self.tokens: dict[str, str] = {}
        self.courier: Courier | None = None
        #: What it has read and not acknowledged yet.
        self.owed: list[tuple[Entry, object]] = []


class LoadProvider:
    """A provider's connection and what is open on it."""

    def __init__(self, client: H2Client):
        self.client = client
        self.open: list[tuple[Stream, Entry]] = []


class Load:
    """The load itself. Nothing happens in it but while one of its methods runs.

    A device hears from one provider only, so the order of its pushes is known. `laziness` is the share of notifications
    that are not acknowledged at once.
    """

    def __init__(self, instance: Sandbox, ledger: Ledger, *, devices: int, providers: int = 2, **options):
        self.instance = instance
        self.ledger = ledger
        self.topics: tuple[str, ...] = options.get("topics", (APP,))
        self.laziness: float = options.get("laziness", 0.1)
        self.random = random.Random(options.get("seed", 1))
        self.providers: list[LoadProvider | None] = [None] * providers
        self.devices = [self._enrol(key) for key in range(devices)]
        self._poller = select.poll()
        self._sockets: dict[int, LoadDevice | LoadProvider] = {}

    # Devices

    def _enrol(self, key: int) -> LoadDevice:
        device = LoadDevice(key, self.instance.enrol(f"load {key}"))
        with self.instance.courier(device.identity) as courier:
            courier.connect()
            device.tokens = {topic: courier.token(topic) for topic in self.topics}
        return device

    def come(self, device: LoadDevice) -> bool:
        """Connects, in place of the session that it has. False if the gateway does not take it."""
        self.leave(device)
        began = time.monotonic()
        courier = None
        try:
            courier = self.instance.courier(device.identity)
            courier.connect()
            courier.filter(enabled=self.topics)
        except GONE:
            if courier:
                courier.close()
            return False
        self.ledger.begin_session(device.key, began)
        device.courier = courier
        self._watch(courier.socket, device)
        self._read_device(device)
        return True

    def leave(self, device: LoadDevice) -> None:
        """Cuts the session, if there is one; what has come and was not read is not read any more."""
        device.owed.clear()
        if device.courier:
            self._unwatch(device.courier.socket)
            device.courier.close()
            device.courier = None
            self.ledger.end_session(device.key, time.monotonic())

    def acknowledge_owed(self, device: LoadDevice) -> None:
        """Acknowledges what was left for later."""
        owed, device.owed = device.owed, []
        for entry, message in owed:
            self._acknowledge(device, entry, message)

    # Pushes

    def push(self, device: LoadDevice, size: int = 100, **fields) -> Entry | None:
        """Sends one; `fields` as for the ledger. None when the provider is too busy or finds no gateway."""
        provider = self._provider(device.key % len(self.providers))
        if provider is None or len(provider.open) >= IN_FLIGHT:
            return None
        entry = self.ledger.send(device.key, self.random.choice(self.topics), size, **fields)
        changes = {"apns-topic": entry.topic, "apns-priority": str(entry.priority)}
        if entry.collapse_id is not None:
            changes["apns-collapse-id"] = entry.collapse_id
        if entry.expiration is not None:
            changes["apns-expiration"] = str(int(entry.expiration))
        headers = self.instance.headers(device.tokens[entry.topic], changes)
        try:
            provider.open.append((provider.client.start(headers, entry.payload), entry))
        except GONE:
            self._drop(provider)
        return entry

    def push_some(self, count: int) -> None:
        """Pushes of every kind to any device."""
        for _ in range(count):
            draw = self.random
            self.push(
                draw.choice(self.devices),
                draw.choice((40, 100, 400, 1500)),
                priority=draw.choice((10, 10, 5)),
                collapse_id=draw.choice((None, None, None, "a", "b")),
                expiration=draw.choice((None, None, self.instance.now() + 86400)),
            )

    def _provider(self, index: int) -> LoadProvider | None:
        provider = self.providers[index]
        if provider is None or provider.client.closed:
            try:
                provider = LoadProvider(self.instance.client())
            except GONE:
                return None
            self.providers[index] = provider
            self._watch(provider.client.socket, provider)
        return provider

    # Time passes

    def run(self, seconds: float, pushes: int = 8) -> None:
        """Pushes, reads and acknowledges for so long; now and then a device comes or goes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.push_some(pushes)
            self.pump(0.005)
            device = self.random.choice(self.devices)
            if self.random.random() < 0.05:
                self.leave(device) if device.courier else self.come(device)
            elif device.owed and self.random.random() < 0.5:
                self.acknowledge_owed(device)

    def pump(self, seconds: float) -> bool:
        """Waits at most so long for something to read, and reads it. False when nothing came."""
        ready = self._poller.poll(seconds * 1000)
        for descriptor, _ in ready:
            # One that an earlier of this turn has ended is not there any more.
            owner = self._sockets.get(descriptor)
            if isinstance(owner, LoadDevice):
                self._read_device(owner)
            elif owner:
                self._read_provider(owner)
        return bool(ready)

    def settle(self, seconds: float = 10) -> None:
        """Until every push has its answer, or its connection is gone."""
        end = time.monotonic() + seconds
        while any(provider and provider.open for provider in self.providers) and time.monotonic() < end:
            self.pump(0.05)
        left = sum(len(provider.open) for provider in self.providers if provider)
        if left:
            self.ledger.fault(f"{left} pushes have no answer after {seconds} s")

    def collect(self, quiet: float = 1.5, seconds: float = 60) -> None:
        """Every device comes, acknowledges at once, and stays until all that was promised has come.

        It goes on for a while after that: what should not come must have had its chance.
        """
        self.laziness = 0
        for device in self.devices:
            # Twice, because a device that has just been refused for its haste is let in a moment later.
            assert self.come(device) or self.come(device), "the gateway does not take a device"
        end = time.monotonic() + seconds
        while self.ledger.lost(self.instance.now()) and time.monotonic() < end:
            self.pump(0.2)
        end = time.monotonic() + quiet
        while time.monotonic() < end:
            self.pump(0.1)

    def gateway_is_gone(self) -> None:
        """After a kill: reads what had left the gateway before, and forgets every connection."""
        while self.pump(0):
            pass
        for device in self.devices:
            self.leave(device)
        for provider in self.providers:
            if provider:
                self._drop(provider)

    def close(self) -> None:
        """Leaves the gateway alone."""
        self.gateway_is_gone()

    # Reading

    def _read_device(self, device: LoadDevice) -> None:
        courier = device.courier
        courier.pump(0)
        while not courier.closed and courier.socket.pending():
            courier.pump(0)
        messages, courier._unread = courier._unread, []
        courier.messages.clear()
        for message in messages:
            if message.command == NOTIFY:
                self._take(device, message)
        if courier.closed:
            self.leave(device)

    def _take(self, device: LoadDevice, message) -> None:
        entry = self.ledger.arrive(device.key, message.payload, message.id, message.arrived)
        if entry is None:
            return
        if self.random.random() < self.laziness:
            device.owed.append((entry, message))
        else:
            self._acknowledge(device, entry, message)

    def _acknowledge(self, device: LoadDevice, entry: Entry, message) -> None:
        device.courier.ack(message)
        if not device.courier.closed:
            self.ledger.acknowledge(entry, time.monotonic())

    def _read_provider(self, provider: LoadProvider) -> None:
        client = provider.client
        client.pump(0)
        while not client.closed and client.socket.pending():
            client.pump(0)
        self._take_answers(provider)
        client.frames.clear()
        if client.closed:
            self._drop(provider)

    def _take_answers(self, provider: LoadProvider) -> None:
        now = time.monotonic()
        still_open = []
        for stream, entry in provider.open:
            if not stream.finished:
                still_open.append((stream, entry))
                continue
            if stream.status is not None:
                self.ledger.answer(entry, stream.status, now)
            del provider.client.streams[stream.id]
        provider.open = still_open

    def _drop(self, provider: LoadProvider) -> None:
        self._take_answers(provider)
        self._unwatch(provider.client.socket)
        provider.client.socket.close()
        provider.open.clear()
        for index, other in enumerate(self.providers):
            if other is provider:
                self.providers[index] = None

    def _watch(self, socket, owner) -> None:
        self._poller.register(socket, select.POLLIN)
        self._sockets[socket.fileno()] = owner

    def _unwatch(self, socket) -> None:
        if socket.fileno() >= 0 and self._sockets.pop(socket.fileno(), None):
            self._poller.unregister(socket)
