"""What was counted when somebody last looked and found it right."""

import json
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "baseline.json"


#: On another processor the libraries choose other code, for what it can do and for the size of its caches. There
#: bounds are this much wider: enough to see a change of a fifth.
ELSEWHERE = 5


def load() -> dict[str, dict]:
    return read()["counts"]


def read() -> dict:
    return json.loads(FILE.read_text())


def processor() -> str:
    """Its name and, because the name may say little, its family and model."""
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    facts = {key.strip(): value.strip() for key, _, value in lines}
    return f"{facts.get('model name')}, family {facts.get('cpu family')}, model {facts.get('model')}"


def accept(counted: dict[str, float]) -> None:
    """Makes what was counted the new baseline; what was not counted stays as it is."""
    file = read()
    file["processor"] = processor()
    for name, value in counted.items():
        file["counts"][name]["value"] = rounded(value)
    FILE.write_text(json.dumps(file, indent=2) + "\n")


def rounded(value: float) -> float:
    """Four digits: more would be noise in a file that people compare."""
    return float(f"{value:.4g}") if value < 1000 else int(float(f"{value:.4g}"))


def bound(entry: dict, width: float = 1) -> float:
    """How far a count may be off: a share of it, or a slack where there is hardly anything to have a share of."""
    return width * max(entry["tolerance"] * entry["value"], entry.get("slack", 0))


def verdict(entry: dict, value: float, width: float = 1) -> str:
    """"same", "worse" or "better": all counts are better when they are smaller."""
    change = value - entry["value"]
    if abs(change) <= bound(entry, width):
        return "same"
    return "worse" if change > 0 else "better"


def compare(counted: dict[str, float]) -> list[str]:
    """Prints a line for each count and returns the names of those that are worse."""
    entries, worse, width = load(), [], 1
    if processor() != read()["processor"]:
        width = ELSEWHERE
        print(f"counted before on {read()['processor']}, now on {processor()}: bounds are {ELSEWHERE} times as wide")
    for name, value in counted.items():
        if name not in entries:
            raise SystemExit(f"counts: {name} is not in {FILE.name}: add it with tolerance, unit and what it is")
        entry = entries[name]
        found = verdict(entry, value, width)
        change = 100 * (value / entry["value"] - 1)
        allowed = 100 * bound(entry, width) / entry["value"]
        print(
            f"{name:22} {value:12,.2f} {entry['unit']:16} was {entry['value']:>12,} "
            f"{change:+6.1f} % (bound {allowed:.0f} %) {'' if found == 'same' else found.upper()}"
        )
        if found == "worse":
            worse.append(name)
    return worse
