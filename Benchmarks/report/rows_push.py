"""Rows 1 to 4 and 10: what a push costs."""

import json
from collections.abc import Callable
from contextlib import ExitStack

from bench import Bench, Peer
from gateway import Gateway
from row import Goal, Round, Row

#: The load of rows 1 to 3: ten connections, each with a hundred requests on the way.
CONNECTIONS, IN_FLIGHT, DEVICES, PAYLOAD = 10, 100, 200, 1024
PIPELINE = ("--connections", CONNECTIONS, "--in-flight", IN_FLIGHT, "--payload", PAYLOAD)
MICROSECONDS = "µs of CPU"


def limit_notes(loads: dict[str, dict]) -> list[str]:
    """A server that had to wait for its load was not measured at its best."""
    return [f"the load was the limit for {name}" for name, load in loads.items() if load["isLimit"]]


def processor_round(loads: dict[str, dict], goals: dict[str, str]) -> Round:
    """Server CPU per message; `goals` names the contender that Carillon is divided by."""
    bars = {name: load["serverCPUPerRequest"] for name, load in loads.items()}
    rates = {name: load["rate"] for name, load in loads.items()}
    values = {goal: bars["Carillon"] / bars[peer] for goal, peer in goals.items()}
    return Round(values, bars, rates, limit_notes(loads))


class ProviderSide(Row):
    """Row 1."""

    number = 1
    title = "Provider side alone: a request refused after all checks, beside nghttpd"
    goals = [Goal("CPU per request / nghttpd", 1.1)]
    unit = f"{MICROSECONDS} per request"
    method = (
        "POST of 1 KB with a provider token, to tokens that the gateway does not know: full authentication and header"
        " work, then 400. nghttpd answers the same requests with 200 from empty files, which costs it less than a 404."
        " It looks at no token and no payload: this is the price of HTTP/2 and TLS beside that of the whole request."
    )
    count = 300_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        tokens = bench.folder / "unknown-tokens"
        tokens.write_text("".join(f"{number:064x}\n" for number in range(1, DEVICES + 1)))
        peer = bench.peer(stack, "nghttpd", gateway, tokens)
        common = ("--config", gateway.config, "--tokens", tokens, "--count", self.count, "--warm-up", 20_000)

        def one() -> Round:
            ours = bench.load("requests", *common, *PIPELINE, "--status", 400, "--server", gateway.pid)
            theirs = requests_to(bench, peer, common)
            return processor_round({"Carillon": ours, "nghttpd": theirs}, {self.goals[0].name: "nghttpd"})

        return one


def requests_to(bench: Bench, peer: Peer, common: tuple) -> dict:
    """The same load for a server that is no gateway."""
    return bench.load("requests", *common, *PIPELINE, "--to", peer.address, "--server", peer.pids)


def pushes(bench: Bench, gateway: Gateway, count: int, *more: object) -> dict:
    """Pushes to live devices; none may be lost."""
    found = bench.load(
        "pushes", "--config", gateway.config, "--devices", DEVICES, "--count", count, "--warm-up", count // 10,
        *(more or PIPELINE), "--server", gateway.pid,
    )  # fmt: skip
    if found["missing"] or found["repeated"]:
        raise RuntimeError(f"{found['missing']} pushes were lost, {found['repeated']} came twice")
    return found


class WholePush(Row):
    """Row 2."""

    number = 2
    title = "A push accepted, made safe, delivered and acknowledged, beside a request to nghttpd"
    goals = [Goal("CPU per push / nghttpd's per request", 1 / 0.45)]
    unit = f"{MICROSECONDS} per push or request"
    method = (
        "1 KB to 200 connected devices, which acknowledge. nghttpd answers the same requests from an empty file for"
        " each token: it authenticates, stores and delivers nothing, so a push cannot cost as little. The goal is 0.45"
        " pushes for the CPU of a request, which is a ratio of 2.22; what we aim at beyond it is 0.6, a ratio of 1.67."
    )
    count = 200_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        tokens = bench.folder / "device-tokens"
        pushes(bench, gateway, 20_000, *PIPELINE, "--tokens-out", tokens)
        peer = bench.peer(stack, "nghttpd", gateway, tokens)
        common = ("--config", gateway.config, "--tokens", tokens, "--count", self.count, "--warm-up", 20_000)

        def one() -> Round:
            ours = pushes(bench, gateway, self.count)
            theirs = requests_to(bench, peer, common)
            return processor_round({"Carillon": ours, "nghttpd": theirs}, {self.goals[0].name: "nghttpd"})

        return one


#: Where each kind of load gets the most out of its peer: name, kind of load, messages, in flight per publisher.
BROKERS = [
    ("mosquitto QoS 1", "mosquitto", "mqtt", 60_000, ()),
    ("NATS core", "nats", "nats", 100_000, ()),
]
DURABLE_BROKERS = [
    ("mosquitto, persistent", "mosquitto-persistent", "mqtt", 40_000, ("--persistent",)),
    ("JetStream", "jetstream", "jetstream", 20_000, ()),
    ("nchan", "nchan", "nchan", 40_000, ()),
]


class BesideBrokers(Row):
    """Row 3."""

    number = 3
    title = "A push beside a message through other brokers"
    goals = [Goal("CPU per push / mosquitto QoS 1", 0.4), Goal("CPU per push / NATS core", 0.45)]
    unit = f"{MICROSECONDS} per message published and delivered"
    method = (
        "1 KB over TLS 1.3 from 10 publishers to 200 subscribers, one topic each. A push is authenticated, and"
        " answered when it is on disk or its device has acknowledged it. mosquitto at QoS 1 confirms to both sides and"
        " keeps messages in memory. NATS core confirms nothing and keeps nothing: what it"
        " sends may be lost. With --full also mosquitto with persistence, which writes its file now and then,"
        " JetStream, which writes to a file and confirms, and nginx with nchan, which keeps messages in memory; they"
        " have no goal."
    )
    count = 200_000

    def __init__(self, is_full: bool):
        self.brokers = BROKERS + (DURABLE_BROKERS if is_full else [])

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        peers = [(*broker, bench.peer(stack, broker[1], gateway)) for broker in self.brokers]

        def one() -> Round:
            loads = {"Carillon": pushes(bench, gateway, self.count)}
            for name, _, kind, count, more, peer in peers:
                loads[name] = bench.peer_load(
                    kind, "--to", peer.address, "--subscribers", DEVICES, "--publishers", CONNECTIONS, "--count", count,
                    "--warm-up", count // 10, "--payload", PAYLOAD, *more, "--server", peer.pids,
                )  # fmt: skip
            goals = {goal.name: name for goal, (name, *_) in zip(self.goals, BROKERS, strict=True)}
            return processor_round(loads, goals)

        return one


class Latency(Row):
    """Row 4."""

    number = 4
    title = "One push in flight: from the provider's write to the device's read, beside NATS core"
    goals = [Goal("p50 / NATS core", 1.0), Goal("p99 / NATS core", 1.0)]
    unit = "µs"
    method = (
        "1 KB over TLS 1.3 to 200 devices in turn; the next push leaves when the one before is answered, the next"
        " message to NATS core when the one before was delivered. Both clocks stop when the device has decrypted it."
    )
    count = 20_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        peer = bench.peer(stack, "nats", gateway)
        alone = ("--in-flight", 1, "--payload", PAYLOAD)

        def one() -> Round:
            ours = pushes(bench, gateway, self.count, "--connections", 1, *alone)["latency"]
            theirs = bench.peer_load(
                "nats", "--to", peer.address, "--subscribers", DEVICES, "--publishers", 1, *alone,
                "--count", self.count, "--warm-up", self.count // 10, "--server", peer.pids,
            )["latency"]  # fmt: skip
            values = {goal.name: ours[key] / theirs[key] for goal, key in zip(self.goals, ("p50", "p99"), strict=True)}
            bars = {f"{name} {key}": load[key] for key in ("p50", "p99") for name, load in
                    (("Carillon", ours), ("NATS core", theirs))}  # fmt: skip
            return Round(values, bars)

        return one


class Allocations(Row):
    """Row 10."""

    number = 10
    title = "Allocations per push, live devices, the whole server process"
    goals = [Goal("allocations per push", 1.0)]
    unit = "allocations per push"
    method = (
        "jemalloc's own count at exit, of two gateways that differ only in how many pushes they took; the difference"
        " is what the pushes needed."
    )
    counts = (50_000, 150_000)

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        def one() -> Round:
            few, many = (self.allocations(bench, count) for count in self.counts)
            # A load warms up with a tenth of its count.
            value = (many - few) / (1.1 * (self.counts[1] - self.counts[0]))
            return Round({self.goals[0].name: value}, {"Carillon": value})

        return one

    @staticmethod
    def allocations(bench: Bench, count: int) -> int:
        """Of a gateway's whole life, with so many pushes and those of the warm-up."""
        with ExitStack() as stack:
            gateway = bench.gateway(stack, variables={"MALLOC_CONF": "stats_print:true,stats_print_opts:Jgdablxeh"})
            pushes(bench, gateway, count)
            gateway.stop()
            statistics = "".join(gateway.standard_error)
        # Other lines of the log may stand before and behind.
        return blocks(json.JSONDecoder().raw_decode(statistics[statistics.index('{"jemalloc"') :])[0])


def blocks(statistics: dict) -> int:
    """Blocks that were asked for, of all sizes."""
    merged = statistics["jemalloc"]["stats.arenas"]["merged"]
    return merged["small"]["nrequests"] + merged["large"]["nrequests"]
