"""What remains of a number that was measured several times."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """The least, the middle and the most: one round says nothing on a machine that others use too."""

    minimum: float
    median: float
    maximum: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        return cls(min(values), statistics.median(values), max(values))


def is_rising(values: list[float], tolerance: float) -> bool:
    """Whether the second half lies above the first by more than the tolerance."""
    middle = len(values) // 2
    return statistics.median(values[middle:]) > statistics.median(values[:middle]) * (1 + tolerance)
