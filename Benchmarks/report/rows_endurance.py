"""Row 9: nothing grows."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack

from bench import Bench
from processes import anonymous_bytes
from row import Goal, Round, Row
from rows_push import DEVICES, PIPELINE, pushes
from spread import is_rising


class Endurance(Row):
    """Row 9."""

    number = 9
    title = "Ten minutes at half the most that one core takes"
    goals = [Goal("memory growth, %", 5), Goal("latency rises (1) or not (0)", 0), Goal("lost pushes", 0)]
    unit = "µs or MB"
    method = (
        "1 KB to 200 live devices at a fixed rate, latency from the planned time; ten parts of a minute. Memory: after"
        " the last minute beside after the second. Latency rises if the median p50 of the last five minutes is more"
        " than a quarter above that of the first five."
    )
    is_quick = False
    is_once = True
    minutes, seconds = 10, 60

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        gateway = bench.gateway(stack)
        most = pushes(bench, gateway, 200_000)["rate"]
        rate = int(most / 2)

        def one() -> Round:
            latencies, used, lost = [], [], 0
            for _ in range(self.minutes):
                part = bench.load(
                    "pushes", "--config", gateway.config, "--devices", DEVICES, "--count", rate * self.seconds,
                    "--warm-up", rate, "--rate", rate, *PIPELINE, "--server", gateway.pid,
                )  # fmt: skip
                latencies.append(part["latency"])
                used.append(anonymous_bytes(gateway.pid) / 1024 / 1024)
                lost += part["missing"]
            return self.judged(rate, latencies, used, lost)

        return one

    def judged(self, rate: int, latencies: list[dict], used: list[float], lost: int) -> Round:
        p50, p99 = ([latency[key] for latency in latencies] for key in ("p50", "p99"))
        values = {
            "memory growth, %": 100 * (used[-1] / used[1] - 1),
            "latency rises (1) or not (0)": float(is_rising(p50, tolerance=0.25)),
            "lost pushes": float(lost),
        }
        middle = len(p50) // 2
        bars = {
            "p50, first half": statistics.median(p50[:middle]),
            "p50, second half": statistics.median(p50[middle:]),
            "memory, second minute": used[1],
            "memory, last minute": used[-1],
        }
        series = {"p50, µs": p50, "p99, µs": p99, "memory, MB": used}
        return Round(values, bars, {}, [f"{rate:,} pushes per second"], series)
