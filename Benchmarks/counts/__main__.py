"""Counts what a push, a connect and an idle session cost, and compares with Benchmarks/baseline.json."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import baseline
import measures
from instance import binary


def steps(folder: Path) -> dict[str, Callable[[], dict[str, float]]]:
    """What can be counted by itself."""
    found = {"connect": lambda: measures.connect_instructions(folder)}
    for load in measures.LOADS:
        found[load.name] = lambda load=load: measures.calls(load, folder) | measures.instructions_and_allocations(
            load, folder
        )
    for name, detach in (("session.detached", "on"), ("session.openssl", "off")):
        found[name] = lambda name=name, detach=detach: {f"{name}.bytes": measures.session_bytes(detach)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/counts", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="make what is counted the new baseline")
    parser.add_argument("--only", metavar="NAMES", help="comma separated; else all of " + ", ".join(steps(Path())))
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="carillon-counts-") as folder:
        # valgrind of Debian 12 cannot read the compiler's DWARF 5, and needs no more than the symbols.
        stripped = Path(folder) / "carillon"
        subprocess.run(["strip", "-g", "-o", stripped, binary()], check=True)
        os.environ["CARILLON_BINARY"] = str(stripped)
        known = steps(Path(folder))
        chosen = arguments.only.split(",") if arguments.only else list(known)
        if unknown := set(chosen) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}")
        counted: dict[str, float] = {}
        for name in chosen:
            counted |= known[name]()
    worse = baseline.compare(counted)
    print(f"counted in {time.monotonic() - started:.0f} s")
    if arguments.accept:
        baseline.accept(counted)
        print("accepted: commit Benchmarks/baseline.json, and say in its commit why the numbers changed")
        return 0
    for name in worse:
        print(f"counts: {name} is worse than its bound; if that is wanted: scripts/counts --accept", file=sys.stderr)
    return 1 if worse else 0


sys.exit(main())
