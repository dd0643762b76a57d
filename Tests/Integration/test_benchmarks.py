"""The parts of the benchmarks that read and judge; what they run is run by `scripts/counts` and `scripts/bench`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "Benchmarks"
sys.path += [str(BENCHMARKS / "counts"), str(BENCHMARKS / "report")]

import baseline  # noqa: E402
import callgrind  # noqa: E402
import document  # noqa: E402
import processes  # noqa: E402
import results_file  # noqa: E402
import spread  # noqa: E402
import systemcalls  # noqa: E402

DUMP = """\
ob=(1) /usr/lib/libswiftCore.so
fn=(1) swift_slowAlloc
10 5
cob=(2) /usr/lib/libjemalloc.so.2
cfn=(2) malloc
calls=7 20
10 700
ob=(2)
fn=(3) calloc
30 4
cfn=(2)
calls=9 20
30 90
ob=(3) /usr/lib/libcrypto.so.3
fn=(4) CRYPTO_malloc
40 1
cob=(2)
cfn=(2)
calls=2 20
40 20
totals: 820
"""

TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000600           3       200           read
 30.00    0.000300           3       100        50 epoll_wait
 10.00    0.000100          10        10           futex
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           3       310        50 total
"""


def test_allocations_are_counted_by_the_library_that_asks(tmp_path):
    file = tmp_path / "dump"
    file.write_text(DUMP)
    profile = callgrind.parse(file)
    assert profile.instructions == 820
    # What the allocator's own functions call each other is not another allocation.
    assert profile.allocations == {"libswiftCore": 7, "libcrypto": 2}


def test_the_difference_of_two_profiles_is_what_lies_between():
    first, second = callgrind.Profile(100), callgrind.Profile(350)
    second.allocations["a"] = 3
    assert (second - first).instructions == 250
    assert (second - first).allocations["a"] == 3


def test_how_threads_sleep_is_not_a_system_call_of_the_program():
    assert systemcalls.parse(TABLE) == {"read": 200, "epoll_wait": 100}


@pytest.mark.parametrize("value, verdict", [(98.5, "same"), (102, "same"), (102.1, "worse"), (97.9, "better")])
def test_a_count_is_judged_by_its_tolerance(value, verdict):
    assert baseline.verdict({"value": 100, "tolerance": 0.02}, value) == verdict


def test_a_small_count_may_be_off_by_its_slack():
    entry = {"value": 0.3, "tolerance": 0.05, "slack": 0.2}
    assert [baseline.verdict(entry, value) for value in (0.49, 0.51)] == ["same", "worse"]


def test_on_another_processor_bounds_are_wider():
    entry = {"value": 100, "tolerance": 0.04}
    assert [baseline.verdict(entry, value, baseline.ELSEWHERE) for value in (119, 121)] == ["same", "worse"]


def test_every_count_of_the_baseline_is_whole():
    for name, entry in baseline.load().items():
        assert set(entry) - {"slack"} == {"value", "tolerance", "unit", "what"}, name
        assert entry["value"] > 0 and 0 < entry["tolerance"] <= 0.1, name


@pytest.mark.parametrize("values, rising", [([10, 11, 10, 11], False), ([10, 10, 14, 14], True), ([14, 10], False)])
def test_a_trend_is_told_from_noise(values, rising):
    assert spread.is_rising(values, tolerance=0.25) is rising


def test_a_shown_command_names_no_place_of_this_machine():
    command = ["taskset", "-c", "1", "/somewhere/carillon", "bench", "--to", "127.0.0.1:4711", "--server", "123"]
    assert processes.shown(command) == "taskset -c 1 carillon bench --to HOST:PORT --server PID"


def report(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """`scripts/bench` without what it builds."""
    paths = {"PYTHONPATH": str(BENCHMARKS.parent / "Tests" / "Integration")}
    kept = {name: value for name, value in os.environ.items() if name != "BENCH_BINARIES"}
    command = [sys.executable, str(BENCHMARKS / "report"), *arguments]
    return subprocess.run(command, env=kept | paths | environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "arguments, part",
    [(("--rows", "2,99"), "numbers from 1 to"), (("--rows", "all"), "numbers from 1 to"),
     (("--rounds", "0"), "a whole number from 1"), (("--quick", "--full"), "not allowed with")],
)  # fmt: skip
def test_a_wrong_option_is_named(arguments, part):
    done = report(*arguments)
    assert done.returncode == 2 and part in done.stderr


def test_without_a_chart_program_nothing_is_begun():
    done = report("--quick", PATH="/nowhere")
    assert done.returncode == 1 and "gnuplot is missing; scripts/setup --bench installs it" in done.stderr


def goal(name: str, median: float, is_met: bool) -> dict:
    spread = {"minimum": median, "median": median, "maximum": median}
    return {"name": name, "goal": "<= 1", "met": is_met} | spread


def row(*goals: dict) -> dict:
    bars = {"Carillon": {"minimum": 1, "median": 2, "maximum": 3}}
    return {
        "number": 1, "title": "A title", "method": "How.", "unit": "µs", "rounds": 5, "goals": list(goals),
        "bars": bars, "rates": {}, "notes": ["a note"], "commands": ["a command"], "date": "2026-01-02",
        "commit": "abc",
    }  # fmt: skip


def test_what_is_missed_is_said_in_words():
    said = document.verdict([row(goal("good", 0.5, True), goal("bad", 1.5, False))])
    assert "1 of 2 goals are reached. Missed:" in said and "- Row 1, bad: 1.5 where <= 1 was wanted." in said
    assert document.verdict([row(goal("good", 0.5, True))]) == "Every goal is reached.\n"


def test_the_document_has_each_row_with_its_verdict(tmp_path):
    file = tmp_path / "benchmarks.md"
    results = {"machine": {"cores": "2"}, "rows": [row(goal("bad", 1.5, False))]}
    document.write(results, file, "charts")
    text = file.read_text()
    assert "| cores | 2 |" in text
    assert "5 rounds, on 2026-01-02 at commit abc. Bad 1.5, goal <= 1: **missed**. A note." in text
    assert "![A title](charts/row-1.png)" in text and "```\na command\n```" in text


def test_a_row_measured_again_takes_the_place_of_the_old_one(tmp_path):
    file, here, there = tmp_path / "full.json", {"cores": "2"}, {"cores": "16"}

    def keep(machine, **found):
        rows = [{"number": int(name[1:]), "found": value} for name, value in found.items()]
        results_file.keep(file, {"machine": machine, "rows": rows})
        return [(row["number"], row["found"]) for row in json.loads(file.read_text())["rows"]]

    assert keep(here, _1="old", _10="old") == [(1, "old"), (10, "old")]
    assert keep(here, _10="new", _2="new") == [(1, "old"), (2, "new"), (10, "new")]
    assert keep(there, _2="elsewhere") == [(2, "elsewhere")]
