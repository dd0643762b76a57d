"""How much CPU a push costs beside a request that does nothing, with a load that is not ours.

h2load drives the gateway, which accepts, delivers to connected devices and waits for their acknowledgements, and
nghttpd, which answers from an empty file. What scripts/bench says in its row 2, this says with a stranger's load.
"""

import argparse
import os
import re
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import Bench
from gateway import Gateway
from keys import Keys
from processes import LOAD_CORE, pinned, processor_seconds, run, why_not_pinned
from rows_push import CONNECTIONS, DEVICES, IN_FLIGHT
from spread import Spread

#: What a push may cost at most, in requests of nghttpd.
MOST = 1 / 0.35
PAYLOAD = '{"aps":{"alert":"' + "x" * 1000 + '"}}'


@dataclass(frozen=True)
class Load:
    """What h2load sends to whom: a file of addresses, one for each device, and the headers of a push."""

    uris: Path
    payload: Path
    headers: list[str]
    requests: int

    def measure(self, pid: int) -> tuple[float, float]:
        """Requests per second, and microseconds of the server's CPU per request."""
        before = processor_seconds(pid)
        words = ["-n", self.requests, "-c", CONNECTIONS, "-m", IN_FLIGHT, "-t", 1, "-i", self.uris, "-d", self.payload]
        said = run(pinned(LOAD_CORE, ["h2load", *map(str, words), *self.headers]))
        used = processor_seconds(pid) - before
        if f"status codes: {self.requests} 2xx" not in said:
            raise RuntimeError(f"not every request was answered with 200:\n{said}")
        rate = re.search(r"^finished in [^,]*, ([\d.]+) req/s", said, re.MULTILINE)
        if not rate:
            raise RuntimeError(f"h2load told no rate:\n{said}")
        return float(rate[1]), used / self.requests * 1e6


def main() -> int:
    options = parsed()
    if trouble := why_not_pinned():
        print(f"bench-provider: {trouble}", file=sys.stderr)
        return 1
    binaries = Path(os.environ["BENCH_BINARIES"])
    os.environ["CARILLON_BINARY"] = str(binaries / "carillon")
    with tempfile.TemporaryDirectory(prefix="carillon-bench-") as folder, ExitStack() as stack:
        ratios = measure(Bench(binaries, Path(folder)), stack, options.rounds, options.requests)
    spread = Spread.of(ratios)
    is_met = spread.median <= MOST
    print(
        f"CPU per push / CPU per nghttpd request: min {spread.minimum:.2f}, median {spread.median:.2f}, "
        f"max {spread.maximum:.2f}; at most 1/0.35 = {MOST:.2f}: {'met' if is_met else 'MISSED'}"
    )
    return 0 if is_met else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench-provider", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="in turns (7)")
    # A round lasts a second or more: shorter ones tell more of the machine than of the servers.
    parser.add_argument("--requests", type=int, default=200_000, metavar="N", help="per round and server (200000)")
    options = parser.parse_args()
    if options.rounds < 1 or options.requests < 1:
        parser.error("--rounds and --requests must be 1 or more")
    return options


def measure(bench: Bench, stack: ExitStack, rounds: int, requests: int) -> list[float]:
    """What a push costs of a request, round by round."""
    gateway = bench.gateway(stack)
    stack.enter_context(bench.holding("carillon", "bench", "sessions", "--config", gateway.config, "--count", DEVICES))
    page = gateway.admin.get("/v1/registrations", topic=gateway.facts["topic"], limit=DEVICES)
    tokens = bench.folder / "tokens"
    tokens.write_text("".join(f"{item['token']}\n" for item in page["items"]))
    peer = bench.peer(stack, "nghttpd", gateway, tokens)
    ours = load(bench.folder / "ours", f"127.0.0.1:{gateway.provider_port}", gateway, tokens, requests)
    theirs = load(bench.folder / "theirs", peer.address, gateway, tokens, requests)

    ours.measure(gateway.pid)
    theirs.measure(int(peer.pids))
    rates = f"{'carillon/s':>14} {'nghttpd/s':>14}"
    print(f"{'round':6} {rates} {'carillon us/req':>16} {'nghttpd us/req':>16} {'ratio':>7}")
    ratios = []
    for number in range(1, rounds + 1):
        (our_rate, our_cost), (their_rate, their_cost) = ours.measure(gateway.pid), theirs.measure(int(peer.pids))
        ratios.append(our_cost / their_cost)
        print(
            f"{number:<6} {our_rate:14.0f} {their_rate:14.0f} {our_cost:16.2f} {their_cost:16.2f} {ratios[-1]:7.2f}",
            flush=True,
        )
    return ratios


def load(base: Path, address: str, gateway: Gateway, tokens: Path, requests: int) -> Load:
    """The files and headers of pushes to the server at that address."""
    uris, payload = base.with_suffix(".uris"), base.with_suffix(".json")
    uris.write_text("".join(f"https://{address}/3/device/{token}\n" for token in tokens.read_text().split()))
    payload.write_text(PAYLOAD)
    facts = gateway.facts
    keys = Keys(Path(facts["key"]).read_text(), facts["keyID"], facts["team"])
    named = {"authorization": keys.bearer(), "apns-topic": facts["topic"], "apns-push-type": "alert"}
    headers = [word for field, value in named.items() for word in ("-H", f"{field}: {value}")]
    return Load(uris, payload, headers, requests)


sys.exit(main())
