"""Rows 5 and 7: what idle and connecting devices cost."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from bench import Bench
from processes import anonymous_bytes
from row import Goal, Round, Row


class IdleSessions(Row):
    """Row 5."""

    number = 5
    title = "Memory of an idle device session"
    goals = [Goal("detached", 2.5, unit="KB"), Goal("with OpenSSL", 16, unit="KB")]
    unit = "KB per session"
    method = (
        "Anonymous memory of the process with 15,000 sessions that say nothing, less that after the first 500, divided"
        " by the sessions between. Detached, a session has left OpenSSL after Connect, as it does by default."
        " Carillon's includes the device's record, its registration and its queue; the"
        " brokers' clients have one subscription each."
    )
    is_quick = False
    is_once = True
    few, many = 500, 15_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        def one() -> Round:
            bars = {
                "Carillon, detached": self.ours(bench, "on"),
                "Carillon, OpenSSL": self.ours(bench, "off"),
                "mosquitto": self.theirs(bench, "mosquitto", "mqtt"),
                "NATS core": self.theirs(bench, "nats", "nats"),
            }
            values = dict(zip((goal.name for goal in self.goals), bars.values(), strict=False))
            return Round(values, bars)

        return one

    def ours(self, bench: Bench, detach: str) -> float:
        with ExitStack() as stack:
            gateway = bench.gateway(stack, {"device.tls.detach": detach})
            load = ("carillon", "bench", "sessions", "--config", gateway.config)
            return self.per_session(bench, load, [gateway.pid])

    def theirs(self, bench: Bench, name: str, kind: str) -> float:
        with ExitStack() as stack:
            peer = bench.peer(stack, name, bench.gateway(stack))
            load = ("peerload", "sessions", kind, "--to", peer.address)
            return self.per_session(bench, load, [int(pid) for pid in peer.pids.split(",")])

    def per_session(self, bench: Bench, load: tuple, pids: list[int]) -> float:
        used = []
        for count in (self.few, self.many):
            with bench.holding(*load, "--count", count):
                used.append(settled(pids))
        return (used[1] - used[0]) / (self.many - self.few) / 1024


def settled(pids: list[int]) -> int:
    """Bytes in use, a while after the last handshake: jemalloc gives back what is free after ten seconds."""
    time.sleep(12)
    return sum(anonymous_bytes(pid) for pid in pids)


class Connects(Row):
    """Row 7."""

    number = 7
    title = "Device connects, beside bare OpenSSL handshakes"
    goals = [Goal("connects per CPU second / bare handshakes", 0.75, at_most=False)]
    unit = "µs of CPU per connect"
    method = (
        "TLS 1.3 with P-256 certificates on both sides, then Connect with a certificate that the gateway knows and its"
        " answer. The bare server accepts, does the same handshake, writes a byte and frees the connection."
    )
    count = 3_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        address, pid = stack.enter_context(bench.bare_handshakes(gateway))
        common = ("connects", "--config", gateway.config, "--count", self.count, "--parallel", 32, "--devices", 500)

        def one() -> Round:
            ours = bench.load(*common, "--server", gateway.pid)
            bare = bench.load(*common, "--bare", address, "--server", pid)
            bars = {"Carillon": ours["serverCPUPerRequest"], "bare OpenSSL": bare["serverCPUPerRequest"]}
            rates = {"Carillon": ours["rate"], "bare OpenSSL": bare["rate"]}
            return Round({self.goals[0].name: bars["bare OpenSSL"] / bars["Carillon"]}, bars, rates)

        return one
