"""Measures Carillon beside its peers, row by row, and says which rows reach their goal."""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import charts
import document
import machine
import results_file
from bench import Bench
from processes import why_not_pinned
from row import Result, Row, figure
from rows_cores import Cores
from rows_devices import Connects, IdleSessions
from rows_endurance import Endurance
from rows_push import Allocations, BesideBrokers, Latency, ProviderSide, WholePush
from rows_store import Durable, Restart

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "Benchmarks" / "results"
#: What the document is made from.
FULL = RESULTS / "full.json"
DOCUMENT = REPOSITORY / "docs" / "benchmarks.md"
CHARTS = "benchmarks"


def every_row(is_full: bool) -> list[Row]:
    """All rows; `is_full` has row 3 measure all its peers."""
    return [
        ProviderSide(), WholePush(), BesideBrokers(is_full), Latency(), IdleSessions(), Durable(), Connects(),
        Restart(), Endurance(), Allocations(), Cores(),
    ]  # fmt: skip


def rows(is_full: bool) -> list[Row]:
    """Those of a full or of a quick report."""
    return [row for row in every_row(is_full) if is_full or row.is_quick]


def main() -> int:
    options = parsed()
    if trouble := missing(options.document):
        print(f"bench: {trouble}", file=sys.stderr)
        return 1
    if options.document:
        return write_document()
    is_full = not options.quick and (options.full or not options.rows)
    chosen = [row for row in every_row(is_full) if row.number in options.rows] if options.rows else rows(is_full)
    binaries = Path(os.environ["BENCH_BINARIES"])
    os.environ["CARILLON_BINARY"] = str(binaries / "carillon")
    is_kept = is_full and not options.rounds
    results, broken = measure(chosen, options.rounds or (3 if options.quick else 5), binaries, is_kept)
    for number in broken:
        print(f"row {number} could not be measured")
    missed = [str(result.row.number) for result in results if result.missed]
    if missed:
        print(f"rows that miss their goal: {', '.join(missed)}")
    elif results:
        print("every row that was measured reaches its goal")
    return 1 if missed or broken else 0


def missing(is_document: bool) -> str | None:
    """What must be there before anything is started, in words that say what to do."""
    if not shutil.which("gnuplot"):
        return "gnuplot is missing; scripts/setup --bench installs it"
    if is_document:
        return None
    if "BENCH_BINARIES" not in os.environ:
        return "BENCH_BINARIES must name the folder of the release builds; scripts/bench builds them and says so"
    return why_not_pinned()


def measure(chosen: list[Row], rounds: int, binaries: Path, is_kept: bool) -> tuple[list[Result], list[int]]:
    """The results, and the numbers of the rows that could not be measured: these do not keep the others back."""
    results: list[Result] = []
    broken: list[int] = []
    with tempfile.TemporaryDirectory(prefix="carillon-bench-") as folder:
        bench = Bench(binaries, Path(folder))
        for row in chosen:
            started = time.monotonic()
            try:
                results.append(row.measure(bench, rounds))
            except Exception as error:
                print(f"\n{row.number}. {row.title}: {error}", file=sys.stderr)
                # What a program said is enough; anything else is a mistake of ours.
                if not isinstance(error, RuntimeError):
                    traceback.print_exc()
                broken.append(row.number)
                bench.take_commands()
                continue
            show(results[-1], time.monotonic() - started)
            save(results, binaries, is_kept)
    return results, broken


def parsed() -> argparse.Namespace:
    titles = "\n".join(
        f"  {row.number:<4}{row.title}{'' if row.is_quick else ' (not quick)'}" for row in every_row(is_full=True)
    )
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"""rows:\n{titles}

Builds what it needs and installs the peers (Debian or Ubuntu, as root). Each row is printed as it is measured; all
numbers go to Benchmarks/results/latest.json, and those of --full, also of single rows, to full.json for --document.
Exit status: 0 when every row reaches its goal, 1 when one misses it or could not be measured, 2 for wrong usage.""",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="rows 1 to 4, 6, 7 and 10, three rounds, in 15 minutes")
    kind.add_argument("--full", action="store_true", help="all rows, five rounds; 5, 8 and 9 once (the default)")
    kind.add_argument("--document", action="store_true", help="write docs/benchmarks.md from the last full results")
    parser.add_argument(
        "--rows", type=row_numbers, metavar="N,N", help="only these; row 3 with all its peers only with --full"
    )
    parser.add_argument("--rounds", type=round_count, metavar="N", help="other than three or five")
    return parser.parse_args()


def row_numbers(text: str) -> set[int]:
    known = {row.number for row in every_row(is_full=True)}
    words = text.split(",")
    if not all(word.isdecimal() and int(word) in known for word in words):
        raise argparse.ArgumentTypeError(f"must be numbers from {min(known)} to {max(known)}, separated by commas")
    return {int(word) for word in words}


def round_count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("must be a whole number from 1")
    return int(text)


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


def save(results: list[Result], binaries: Path, is_kept: bool) -> None:
    """After each row, so that what was measured is not lost with what comes after. What is kept is for the document."""
    RESULTS.mkdir(exist_ok=True)
    source = {"date": datetime.date.today().isoformat(), "commit": commit()}
    found = {
        "machine": machine.describe(binaries / "carillon"),
        "rows": [source | result.object for result in results],
    }
    results_file.write(RESULTS / "latest.json", found)
    if is_kept:
        results_file.keep(FULL, found)
    charts.draw(found["rows"][-1], RESULTS)


def commit() -> str:
    """The source that was measured; what is not committed shows as a plus."""
    command = ["git", "-C", str(REPOSITORY), "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write_document() -> int:
    """docs/benchmarks.md and its charts."""
    results = json.loads(FULL.read_text()) if FULL.exists() else {"rows": []}
    measured = {row["number"] for row in results["rows"]}
    if lacking := [str(row.number) for row in every_row(is_full=True) if row.number not in measured]:
        words = f"--rows {','.join(lacking)}" if measured else ""
        print(f"bench: not every row was measured in full; run scripts/bench --full {words}".rstrip(), file=sys.stderr)
        return 1
    folder = DOCUMENT.parent / CHARTS
    folder.mkdir(exist_ok=True)
    for row in results["rows"]:
        charts.draw(row, folder)
    document.write(results, DOCUMENT, CHARTS)
    print(f"wrote {DOCUMENT.relative_to(REPOSITORY)}")
    return 0


sys.exit(main())
