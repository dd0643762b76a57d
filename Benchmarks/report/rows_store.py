"""Rows 6 and 8: what is written, and read again."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from bench import Bench
from processes import LOAD_CORE, SERVER_CORE, pin_threads, processor_seconds
from row import Goal, Round, Row

#: Twice as many on the way as the bare store has in a transaction: one is written while the next gathers.
PIPELINE = ("--connections", 20, "--in-flight", 200, "--payload", 1024)


class Durable(Row):
    """Row 6."""

    number = 6
    title = "Durable pushes per second for absent devices, beside the bare store"
    goals = [Goal("pushes per second / bare inserts", 0.6, at_most=False)]
    unit = "per second"
    method = (
        "1 KB for devices that are away, answered when it is on disk. One loop has the first core; here alone the"
        " store's thread has the second, which it shares with the load. The bare store inserts the same rows with the"
        " same statements in transactions of 2,000, alone on the second core."
    )
    devices, count = 2_000, 100_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack, cores=f"{SERVER_CORE},{LOAD_CORE}")
        pin_threads(gateway.pid, {"store": LOAD_CORE}, SERVER_CORE)

        def one() -> Round:
            ours = bench.load(
                "pushes", "--config", gateway.config, "--offline", "--devices", self.devices, "--count", self.count,
                *PIPELINE, "--server", gateway.pid,
            )["rate"]  # fmt: skip
            bare = bare_inserts(bench, self.count)
            return Round({self.goals[0].name: ours / bare}, {"Carillon": ours, "bare SQLite": bare})

        return one


def bare_inserts(bench: Bench, count: int) -> float:
    file = bench.folder / "inserts.db"
    found = bench.bare("inserts", file, "--count", count, "--payload", 1024, "--batch", 2000)
    for left in bench.folder.glob(f"{file.name}*"):
        left.unlink()
    return found["rate"]


class Restart(Row):
    """Row 8."""

    number = 8
    title = "Restart with 1,000,000 pushes queued, beside a bare scan of the same file"
    goals = [Goal("seconds to ready / bare scan", 2.0)]
    unit = "seconds"
    method = (
        "From the start of the process to its ready line, the file being in the page cache; the bare scan steps through"
        " the same rows with the same statement and keeps nothing."
    )
    is_quick = False
    is_once = True
    count = 1_000_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        gateway.stop()
        database = gateway.directory / "data" / "carillon.db"
        bench.bare("fill", database, "--count", self.count)

        def one() -> Round:
            scan = bench.bare("scan", database)
            started = time.monotonic()
            gateway.start()
            ready = time.monotonic() - started
            used = processor_seconds(gateway.pid)
            gateway.stop()
            bars = {"Carillon": ready, "bare SQLite": scan["seconds"]}
            note = f"CPU seconds: Carillon {used:.2f}, bare SQLite {scan['cpuSeconds']:.2f}"
            return Round({self.goals[0].name: ready / scan["seconds"]}, bars, notes=[note])

        return one
