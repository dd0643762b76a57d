"""Measures Carillon beside its peers, row by row, and says which rows reach their goal."""

import argparse
import datetime
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import charts
import document
import machine
from bench import Bench
from row import Result, Row, figure
from rows_devices import Connects, IdleSessions
from rows_endurance import Endurance
from rows_push import Allocations, BesideBrokers, Latency, ProviderSide, WholePush
from rows_store import Durable, Restart

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "Benchmarks" / "results"
DOCUMENT = REPOSITORY / "docs" / "benchmarks.md"
CHARTS = "benchmarks"


def every_row(is_full: bool) -> list[Row]:
    return [
        ProviderSide(), WholePush(), BesideBrokers(is_full), Latency(), IdleSessions(), Durable(), Connects(),
        Restart(), Endurance(), Allocations(),
    ]  # fmt: skip


def rows(is_full: bool) -> list[Row]:
    return [row for row in every_row(is_full) if is_full or row.is_quick]


def main() -> int:
    options = parsed()
    if options.document:
        return write_document()
    is_full = not options.quick and (options.full or not options.rows)
    chosen = rows(is_full)
    if options.rows:
        wanted = {int(number) for number in options.rows.split(",")}
        chosen = [row for row in every_row(is_full) if row.number in wanted]
    binaries = Path(os.environ["BENCH_BINARIES"])
    os.environ["CARILLON_BINARY"] = str(binaries / "carillon")
    results, broken = measure(chosen, options.rounds or (3 if options.quick else 5), binaries)
    for number in broken:
        print(f"row {number} could not be measured")
    missed = [str(result.row.number) for result in results if result.missed]
    print(f"rows that miss their goal: {', '.join(missed)}" if missed else "every row measured reaches its goal")
    return 1 if missed or broken else 0


def measure(chosen: list[Row], rounds: int, binaries: Path) -> tuple[list[Result], list[int]]:
    """The results, and the numbers of the rows that could not be measured: these do not keep the others back."""
    results: list[Result] = []
    broken: list[int] = []
    with tempfile.TemporaryDirectory(prefix="carillon-bench-") as folder:
        bench = Bench(binaries, Path(folder))
        for row in chosen:
            started = time.monotonic()
            try:
                results.append(row.measure(bench, rounds))
            except Exception:
                traceback.print_exc()
                broken.append(row.number)
                bench.take_commands()
                continue
            show(results[-1], time.monotonic() - started)
            save(results, binaries)
    return results, broken


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="rows 1 to 4, 6, 7 and 10, three rounds, in 15 minutes")
    kind.add_argument("--full", action="store_true", help="all rows, five rounds; 5, 8 and 9 once (the default)")
    kind.add_argument("--document", action="store_true", help="write docs/benchmarks.md from the last full results")
    parser.add_argument("--rows", metavar="N,N", help="only these")
    parser.add_argument("--rounds", type=int, metavar="N", help="other than three or five")
    return parser.parse_args()


def show(result: Result, seconds: float) -> None:
    """The row as it is measured."""
    row = result.row
    print(f"\n{row.number}. {row.title}  ({len(result.rounds)} rounds, {seconds:.0f} s)")
    for goal in row.goals:
        spread = result.spread(goal)
        verdict = "reached" if goal.is_met(spread.median) else "MISSED"
        print(
            f"   {goal.name:44} min {figure(spread.minimum):>7}  median {figure(spread.median):>7}"
            f"  max {figure(spread.maximum):>7}   {goal.text:12} {verdict}"
        )
    for name, bar in result.bars.items():
        rate = f", {result.rates[name].median:,.0f} per second" if name in result.rates else ""
        print(f"   {name:30} {figure(bar.median):>9} {row.unit}{rate}")
    for note in result.notes:
        print(f"   {note}")
    sys.stdout.flush()


def save(results: list[Result], binaries: Path) -> None:
    """After each row, so that what was measured is not lost with what comes after."""
    RESULTS.mkdir(exist_ok=True)
    found = {
        "date": datetime.date.today().isoformat(),
        "machine": machine.describe(binaries / "carillon"),
        "rows": [result.object for result in results],
    }
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    (RESULTS / "latest.json").write_text(text)
    if [result.row.number for result in results] == [row.number for row in rows(is_full=True)]:
        (RESULTS / "full.json").write_text(text)
    charts.draw(found["rows"][-1], RESULTS)


def write_document() -> int:
    file = RESULTS / "full.json"
    if not file.exists():
        print("bench: there are no full results; run scripts/bench --full", file=sys.stderr)
        return 1
    results = json.loads(file.read_text())
    folder = DOCUMENT.parent / CHARTS
    folder.mkdir(exist_ok=True)
    for row in results["rows"]:
        charts.draw(row, folder)
    document.write(results, DOCUMENT, CHARTS)
    print(f"wrote {DOCUMENT.relative_to(REPOSITORY)}")
    return 0


sys.exit(main())
