"""A load that comes in whole batches, whatever the machine does meanwhile.

How many system calls and instructions a push costs depends on how many pushes share a turn of the gateway's loop. So
the gateway is stopped (SIGSTOP) while a batch is written and goes on when all of it lies in its sockets; and the clock
it reads stands, so that no timer fires because something was slow.
"""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from courier import NOTIFY, NOTIFY_ACK, encode
from h2_client import H2Client, Stream
from harness import APP, Sandbox
from hpack import HeaderTuple, NeverIndexedHeaderTuple
from hyperframe.frame import DataFrame, HeadersFrame

PATIENCE_SECONDS = 60
PAYLOAD = b'{"aps":{"alert":"' + b"x" * 1005 + b'"}}'


@dataclass(frozen=True)
class Shape:
    """What a batch is made of: each connection sends `requests`, each to a device of its own."""

    connections: int
    requests: int

    @property
    def size(self) -> int:
        return self.connections * self.requests


class Freezer:
    """Stops all threads of a process and lets them go on."""

    def __init__(self, pid: int):
        self.pid = pid

    def __enter__(self) -> None:
        # Not in the middle of a turn: each batch must find the loop where the one before found it.
        self._await("S")
        os.kill(self.pid, signal.SIGSTOP)
        # Under strace a stopped thread says t.
        self._await("Tt")

    def __exit__(self, *_) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _await(self, states: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = [self._state(thread) for thread in Path(f"/proc/{self.pid}/task").iterdir()]
            if all(state is None or state in states for state in found):
                return
            assert time.monotonic() < deadline, f"threads are {found}, not {states}"
            time.sleep(0.0005)

    @staticmethod
    def _state(thread: Path) -> str | None:
        """Its letter; None for a thread that has ended meanwhile, as those of the admin API do."""
        try:
            return (thread / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return None


class Lockstep:
    """Providers and the devices they push to, moved one batch at a time."""

    def __init__(self, gateway: Sandbox, shape: Shape, tokens: list[str], couriers: list):
        assert len(tokens) == shape.size
        self.gateway = gateway
        self.shape = shape
        self.couriers = couriers
        self.freezer = Freezer(gateway.process.pid)
        self.clients = [gateway.client() for _ in range(shape.connections)]
        self.expected_status = 200
        for place, client in enumerate(self.clients):
            client.pump_until(lambda client=client: client.settings)
            mine = tokens[place * shape.requests : (place + 1) * shape.requests]
            # The first encoding fills the connection's table: from the second on a block is the same each time.
            client.open(self._fields(mine[0]), block=client.encoder.encode(self._fields(mine[0])))
            client.blocks = [client.encoder.encode(self._fields(token)) for token in mine]
            client.reset(client.streams[1])

    def close(self) -> None:
        for connection in self.clients + self.couriers:
            connection.close()

    def _fields(self, token: str) -> list[HeaderTuple]:
        """As other clients send them: what differs from push to push, or is secret, is kept out of the table."""
        literal = (":path", "authorization")
        return [
            (NeverIndexedHeaderTuple if name in literal else HeaderTuple)(name.encode(), value.encode())
            for name, value in self.gateway.headers(token)
        ]

    def run(self, batches: int) -> None:
        """Pushes, deliveries, acknowledgements and answers of so many batches."""
        for _ in range(batches):
            with self.freezer:
                sent = [self._send(client) for client in self.clients]
            if self.couriers:
                notifications = [courier.expect(NOTIFY, PATIENCE_SECONDS) for courier in self.couriers]
                with self.freezer:
                    for courier, notification in zip(self.couriers, notifications, strict=True):
                        self._acknowledge(courier, notification)
            for client, streams in zip(self.clients, sent, strict=True):
                self._await(client, streams)
        # The last turns of the last batch belong to it.
        with self.freezer:
            pass

    def _send(self, client: H2Client) -> list[Stream]:
        """The connection's requests in one write."""
        streams, frames = [], []
        for block in client.blocks:
            stream = Stream(client._next_id)
            client._next_id += 2
            client.streams[stream.id] = stream
            frames.append(HeadersFrame(stream.id, block, flags=["END_HEADERS"]).serialize())
            frames.append(DataFrame(stream.id, PAYLOAD, flags=["END_STREAM"]).serialize())
            client.send_window -= len(PAYLOAD)
            streams.append(stream)
        assert client.send_window >= 0, "a batch must fit into the window"
        client.send_raw(b"".join(frames))
        return streams

    def _await(self, client: H2Client, streams: list[Stream]) -> None:
        client.wait(*streams, seconds=PATIENCE_SECONDS)
        for stream in streams:
            assert stream.status == self.expected_status, f"{stream.status} {stream.reason}"
            del client.streams[stream.id]
        client.frames.clear()

    @staticmethod
    def _acknowledge(courier, notification) -> None:
        courier.send_raw(
            encode(NOTIFY_ACK, [(4, notification.id), (8, b"\0"), (1, notification.item(1))])
        )
        courier.messages.clear()


def live(gateway: Sandbox, shape: Shape) -> Lockstep:
    """Connected devices, which acknowledge."""
    with ThreadPoolExecutor(16) as pool:
        online = list(pool.map(lambda _: gateway.online(APP), range(shape.size)))
    return Lockstep(gateway, shape, [tokens[0] for _, tokens in online], [courier for courier, _ in online])


def away(gateway: Sandbox, shape: Shape) -> Lockstep:
    """Registrations whose devices never come: what is pushed to them is stored."""
    return Lockstep(gateway, shape, [gateway.register() for _ in range(shape.size)], [])


def unknown(gateway: Sandbox, shape: Shape) -> Lockstep:
    """Tokens that the gateway has never given out: refused after all other checks."""
    load = Lockstep(gateway, shape, [f"{number:064x}" for number in range(1, shape.size + 1)], [])
    load.expected_status = 400
    return load
