"""A row of the report: what is measured, and what it must reach."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench import Bench
from spread import Spread


@dataclass(frozen=True)
class Goal:
    """A number that must not be more, or not less, than its bound."""

    name: str
    bound: float
    at_most: bool = True
    unit: str = ""

    def is_met(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound

    @property
    def text(self) -> str:
        return f"{'<=' if self.at_most else '>='} {figure(self.bound)}{' ' + self.unit if self.unit else ''}"


@dataclass
class Round:
    """What one round found: a value for each goal, and what each contender needed."""

    values: dict[str, float]
    bars: dict[str, float]
    #: Messages per second of each, where that says something.
    rates: dict[str, float] = field(default_factory=dict)
    #: What is worth saying beside it.
    notes: list[str] = field(default_factory=list)
    #: What was measured minute by minute, for a chart of lines.
    series: dict[str, list[float]] = field(default_factory=dict)


class Row(ABC):
    """Contenders that are measured in turn."""

    number: int
    title: str
    goals: list[Goal]
    #: What `bars` are.
    unit: str
    #: How it is measured, for the document.
    method: str
    is_quick = True
    #: It takes so long that the full report has one round of it too.
    is_once = False

    @abstractmethod
    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        """Starts the servers and warms them; returns what makes one round. The stack ends them."""

    def measure(self, bench: Bench, rounds: int) -> "Result":
        with ExitStack() as stack:
            one = self.open(bench, stack)
            return Result(self, [one() for _ in range(1 if self.is_once else rounds)], bench.take_commands())


@dataclass
class Result:
    """A row that was measured."""

    row: Row
    rounds: list[Round]
    commands: list[str]

    @property
    def missed(self) -> bool:
        return not all(goal.is_met(self.spread(goal).median) for goal in self.row.goals)

    def spread(self, goal: Goal) -> Spread:
        return Spread.of([one.values[goal.name] for one in self.rounds])

    @property
    def bars(self) -> dict[str, Spread]:
        return {name: Spread.of([one.bars[name] for one in self.rounds]) for name in self.rounds[0].bars}

    @property
    def rates(self) -> dict[str, Spread]:
        return {name: Spread.of([one.rates[name] for one in self.rounds]) for name in self.rounds[0].rates}

    @property
    def notes(self) -> list[str]:
        # Each once, in the order in which they came.
        return list(dict.fromkeys(note for one in self.rounds for note in one.notes))

    @property
    def object(self) -> dict:
        """As JSON: all that the document and the charts need."""
        row = self.row
        return {
            "number": row.number,
            "title": row.title,
            "method": row.method,
            "unit": row.unit,
            "rounds": len(self.rounds),
            "goals": [
                {"name": goal.name, "goal": goal.text, "met": goal.is_met(self.spread(goal).median)}
                | vars(self.spread(goal))
                for goal in row.goals
            ],
            "bars": {name: vars(spread) for name, spread in self.bars.items()},
            "rates": {name: vars(spread) for name, spread in self.rates.items()},
            "notes": self.notes,
            "commands": self.commands,
            "series": self.rounds[-1].series,
            "values": [vars(one) for one in self.rounds],
        }


def figure(value: float) -> str:
    """Three digits, and thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
