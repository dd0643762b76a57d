"""What was counted when somebody last looked and found it right."""

import json
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "baseline.json"


def load() -> dict[str, dict]:
    return json.loads(FILE.read_text())


def accept(counted: dict[str, float]) -> None:
    """Makes what was counted the new baseline; what was not counted stays as it is."""
    entries = load()
    for name, value in counted.items():
        entries[name]["value"] = rounded(value)
    FILE.write_text(json.dumps(entries, indent=2) + "\n")


def rounded(value: float) -> float:
    """Four digits: more would be noise in a file that people compare."""
    return float(f"{value:.4g}") if value < 1000 else int(float(f"{value:.4g}"))


def bound(entry: dict) -> float:
    """How far a count may be off: a share of it, or a slack where there is hardly anything to have a share of."""
    return max(entry["tolerance"] * entry["value"], entry.get("slack", 0))


def verdict(entry: dict, value: float) -> str:
    """"same", "worse" or "better": all counts are better when they are smaller."""
    change = value - entry["value"]
    if abs(change) <= bound(entry):
        return "same"
    return "worse" if change > 0 else "better"


def compare(counted: dict[str, float]) -> list[str]:
    """Prints a line for each count and returns the names of those that are worse."""
    entries, worse = load(), []
    for name, value in counted.items():
        entry = entries[name]
        found = verdict(entry, value)
        change = 100 * (value / entry["value"] - 1)
        print(
            f"{name:22} {value:12,.2f} {entry['unit']:16} was {entry['value']:>12,} "
            f"{change:+6.1f} % (bound {100 * bound(entry) / entry['value']:.0f} %) {'' if found == 'same' else found.upper()}"
        )
        if found == "worse":
            worse.append(name)
    return worse
