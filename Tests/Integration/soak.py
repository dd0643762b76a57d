"""The soak: thousands of devices that come and go, steady pushes, reloads, drains and crashes, for minutes or hours.

`scripts/soak` runs it against a release build; docs/testing.md says how to read its table. test_soak.py runs it for
some seconds.
"""

import argparse
import resource
import signal
import sys
import time
from dataclasses import dataclass

from authorities import Authority, put_server
from cryptography import x509
from harness import Sandbox
from load import GONE
from soak_load import LATE_SECONDS, SoakLedger, SoakLoad
from soak_table import Table

SAMPLES_PER_MINUTE = 12
#: How long the gateway may take to show a new certificate.
RELOAD_SECONDS = 10


@dataclass
class Plan:
    """What happens when, in minutes of `minute` seconds."""

    minutes: float = 20
    devices: int = 2000
    rate: float = 100
    minute: float = 60
    seed: int = 1
    #: The gateway's clock runs so many times as fast; its hours say when it crashes.
    pace: float = 3
    first_crash: float = 3
    crash_every: float = 60
    reload_every: float = 4
    drain_every: float = 7
    provider_every: float = 1


class Soak:
    """One run."""

    def __init__(self, instance: Sandbox, plan: Plan, out=print):
        self.instance = instance
        self.plan = plan
        self.ledger = SoakLedger(instance.now, LATE_SECONDS * plan.pace)
        self._out = out
        self._notes: list[str] = []
        self.counts = {"crashes": 0, "reloads": 0, "drains": 0}

    def run(self) -> bool:
        """The whole of it; whether all is well."""
        plan = self.plan
        self._out(f"{plan.devices} devices enrol; then {plan.minutes:g} minutes at {plan.rate:g} pushes a second")
        self.load = SoakLoad(
            self.instance, self.ledger, devices=plan.devices, rate=plan.rate, minute=plan.minute, seed=plan.seed
        )
        self.table = Table(self.instance, plan.minute, self._out)
        self._loop()
        self._settle()
        return self._judge()

    def _loop(self) -> None:
        plan = self.plan
        second = plan.minute / 60
        events = [
            Event(plan.pace * second, self._move_clock),
            Event(plan.minute / SAMPLES_PER_MINUTE, self.table.sample),
            Event(plan.minute, self._row),
            Event(plan.provider_every * plan.minute, self.load.renew_provider),
            Event(plan.reload_every * plan.minute, self._reload),
            Event(plan.drain_every * plan.minute, self._drain),
            Event(plan.crash_every / plan.pace * plan.minute, self._crash, plan.first_crash / plan.pace * plan.minute),
        ]
        end = time.monotonic() + plan.minutes * plan.minute
        while time.monotonic() < end:
            for event in events:
                event.happen_if_due()
            self.load.turn()

    def _settle(self) -> None:
        """Everything that was promised must come now."""
        self.load.retire()
        self.load.settle()
        self.load.rest()
        self.load.collect(quiet=2, seconds=120)
        self.table.sample()
        self._row()

    def _judge(self) -> bool:
        now = self.instance.now()
        summary = self.ledger.summary(now)
        self._out("\n" + ", ".join(f"{name} {value}" for name, value in summary.items()))
        self._out(", ".join(f"{name} {count}" for name, count in self.counts.items()))
        verdicts = self.table.verdicts() if self.plan.minute == 60 else []
        verdicts.append((summary["lost"] == 0, f"lost: {summary['lost']} of {summary['accepted']} accepted"))
        verdicts.append((self._is_exact(now), f"old repeats: {summary['old repeats']}, faults: {summary['faults']}"))
        for is_good, text in verdicts:
            self._out(f"{'ok    ' if is_good else 'FAILED'}  {text}")
        for fault in self.ledger.faults[:10]:
            self._out(f"        {fault}")
        return all(is_good for is_good, _ in verdicts)

    def _is_exact(self, now: float) -> bool:
        try:
            self.ledger.check(now)
        except AssertionError:
            return False
        return True

    # What happens

    def _row(self) -> None:
        self.table.row(", ".join(self._notes))
        self._notes.clear()

    def _move_clock(self) -> None:
        seconds = round((self.plan.pace - 1) * self.plan.pace * self.plan.minute / 60)
        if seconds:
            self.instance.advance(f"{seconds}s")

    def _reload(self) -> None:
        """A new certificate, which the next connection sees and the others do not notice."""
        pair = Authority.of(self.instance).server()
        put_server(self.instance, pair)
        serial = x509.load_pem_x509_certificate(pair[0]).serial_number
        self.instance.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + RELOAD_SECONDS
        while self._shown_serial() != serial:
            if time.monotonic() > end:
                return self.ledger.fault(f"no new certificate {RELOAD_SECONDS} s after SIGHUP")
            self.load.turn()
        self.counts["reloads"] += 1
        self._notes.append("reload")

    def _shown_serial(self) -> int | None:
        try:
            with self.instance.client() as client:
                return int(client.socket.getpeercert()["serialNumber"], 16)
        except GONE:
            return None

    def _drain(self) -> None:
        """Everyone is sent away, and let in again."""
        self.instance.admin.drain()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.load.turn()
        self.instance.admin.end_drain()
        self.counts["drains"] += 1
        self._notes.append("drain")

    def _crash(self) -> None:
        offset = self.instance.clock_offset
        self.ledger.kill(time.monotonic())
        self.instance.process.kill()
        self.instance.process.wait()
        self.load.gateway_is_gone()
        self.instance.restart(crash=True)
        if offset:
            self.instance.advance(f"{round(offset)}s")
        self.load.resume(self.plan.minute / 4)
        self.table.begin_life()
        self.counts["crashes"] += 1
        self._notes.append("kill -9")


class Event:
    """Something that happens again and again."""

    def __init__(self, every: float, action, first: float | None = None):
        self.every = every
        self.action = action
        self.next = time.monotonic() + (every if first is None else first)

    def happen_if_due(self) -> None:
        if time.monotonic() >= self.next:
            self.action()
            # Not by adding: what was missed while a crash or a drain took its time is not made up for.
            self.next = time.monotonic() + self.every


def settings(devices: int) -> dict[str, str]:
    """All devices have one address, and the queues must hold what comes while their devices are away."""
    return {
        "limits.connectionsPerAddress": "0",
        "limits.connections": str(4 * devices + 1000),
        "queue.limit": "10000",
        "log.deliveries": "discarded",
    }


def main() -> int:
    defaults = Plan()
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__.splitlines()[0])
    for name in ("minutes", "rate", "pace"):
        parser.add_argument(f"--{name}", type=float, default=getattr(defaults, name))
    for name in ("devices", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(defaults, name))
    plan = Plan(**vars(parser.parse_args()))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Sandbox(settings(plan.devices)) as instance:
        soak = Soak(instance, plan, lambda text: print(text, flush=True))
        try:
            return 0 if soak.run() else 1
        finally:
            soak.load.close()


if __name__ == "__main__":
    sys.exit(main())
