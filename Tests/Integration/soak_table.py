"""What the soak measures: one row a minute, and the verdict of each life of the gateway."""

import collections
import pathlib
import statistics
import time
from dataclasses import dataclass, field

#: The bound that stands in docs/testing.md, and the time after which it holds.
GROWTH_BYTES = 8 << 20
SETTLED_MINUTES = 5
#: Descriptors that come and go beside those of connections: the store's files, the admin API's.
SPARE_DESCRIPTORS = 16
MIB = 1 << 20


@dataclass
class Sample:
    """A look at the process."""

    at: float
    resident: int
    #: Without those of sessions and providers' connections.
    descriptors: int


@dataclass
class Life:
    """One process, from its start to its end."""

    began: float
    samples: list[Sample] = field(default_factory=list)
    counters: dict = field(default_factory=dict)


class Table:
    """Rows and verdicts. `minute` is how many seconds a minute has."""

    columns = ("minute", "sessions", "accepted", "delivered", "queued", "MiB", "fds", "lag ms", "p99 ms", "discarded")

    def __init__(self, instance, minute: float, out=print):
        self.instance = instance
        self.minute = minute
        self.lives = [Life(time.monotonic())]
        self._out = out
        self._began = time.monotonic()
        self._row(self.columns)

    def begin_life(self) -> None:
        self.lives.append(Life(time.monotonic()))

    def sample(self) -> None:
        """A look; several a minute, so that a row does not depend on a moment."""
        metrics = self.instance.admin.metrics()
        connections = sum(total(metrics, f"carillon_{name}") for name in ("device_sessions", "provider_connections"))
        descriptors = len(list(pathlib.Path(f"/proc/{self.instance.process.pid}/fd").iterdir()))
        sample = Sample(time.monotonic(), self.instance.resident_bytes(), int(descriptors - connections))
        self.lives[-1].samples.append(sample)

    def row(self, note: str = "") -> None:
        """What has changed since the row before, and what is."""
        # One at least, also of a life that has just begun.
        self.sample()
        life = self.lives[-1]
        metrics = self.instance.admin.metrics()
        status = self.instance.admin.get("/v1/status")
        counters = {
            "accepted": total(metrics, "carillon_notifications_accepted_total"),
            "delivered": total(metrics, "carillon_notifications_delivered_total"),
        } | by_label(metrics, "carillon_notifications_discarded_total", "cause")
        changed = {name: int(value - life.counters.get(name, 0)) for name, value in counters.items()}
        life.counters = counters
        accepted, delivered = changed.pop("accepted"), changed.pop("delivered")
        recent = [sample for sample in life.samples if sample.at > time.monotonic() - self.minute]
        lag = max((value for (name, _), value in metrics.items() if name == "carillon_loop_lag_seconds"), default=0)
        self._row((
            f"{(time.monotonic() - self._began) / self.minute:.1f}",
            status["sessions"],
            accepted,
            delivered,
            status["queued"],
            f"{statistics.median(sample.resident for sample in recent) / MIB:.1f}",
            int(statistics.median(sample.descriptors for sample in recent)),
            f"{1000 * lag:.1f}",
            f"{1000 * (status['deliverySecondsP99'] or 0):.1f}",
            " ".join(f"{cause} {count}" for cause, count in sorted(changed.items()) if count) or "-",
            note,
        ))  # fmt: skip

    def verdicts(self) -> list[tuple[bool, str]]:
        """Of each life that lasted long enough: whether memory and descriptors stayed as they were."""
        found = []
        for number, life in enumerate(self.lives, 1):
            rows = self._by_minute(life)
            if len(rows) < SETTLED_MINUTES + 2:
                continue
            before, after = rows[SETTLED_MINUTES - 1], rows[SETTLED_MINUTES:]
            growth = max(row[0] for row in after) - before[0]
            found.append((
                growth <= GROWTH_BYTES,
                f"memory of life {number}: {before[0] / MIB:.1f} MiB after {SETTLED_MINUTES} minutes, at most "
                f"{growth / MIB:+.1f} MiB in the {len(after)} that followed (limit {GROWTH_BYTES / MIB:+.0f})",
            ))  # fmt: skip
            more = max(row[1] for row in after) - before[1]
            found.append((
                more <= SPARE_DESCRIPTORS,
                f"descriptors of life {number}, without connections: {before[1]:.0f}, at most {more:+.0f} "
                f"(limit {SPARE_DESCRIPTORS:+d})",
            ))  # fmt: skip
        return found

    def _by_minute(self, life: Life) -> list[tuple[float, float]]:
        """Medians of memory and descriptors; the last minute, which is not whole, is left out."""
        minutes = collections.defaultdict(list)
        for sample in life.samples:
            minutes[int((sample.at - life.began) / self.minute)].append(sample)
        return [
            (statistics.median(s.resident for s in samples), statistics.median(s.descriptors for s in samples))
            for _, samples in sorted(minutes.items())[:-1]
        ]

    def _row(self, cells) -> None:
        self._out("".join(f"{cell!s:>10}" for cell in cells[:-2]) + "  " + "  ".join(map(str, cells[-2:])))


def total(metrics: dict, name: str) -> float:
    return sum(value for (sample, _), value in metrics.items() if sample == name)


def by_label(metrics: dict, name: str, label: str) -> dict[str, float]:
    values = collections.Counter()
    for (sample, labels), value in metrics.items():
        if sample == name:
            values[dict(labels)[label]] += value
    return dict(values)
