"""docs/benchmarks.md, made from the last full results."""

import textwrap
from pathlib import Path

from row import figure

HEAD = """# Benchmarks

How much Carillon needs, beside programs that do a part of the same work. This page is made by
`scripts/bench --document` from the results of `scripts/bench --full`, of each row the last; do not edit it.

Numbers of one machine say little about another, and on a machine that others use they change by a fifth from minute to
minute. So a row with a peer is a ratio: the server and its peers take turns, A B A B, within the same minute, with the
same payload of 1 KB, the same TLS 1.3, the same certificate and as many subscribers. The whole server process has one
core and the load the other (`taskset`); row 6 alone gives the store the second core and says so. What is divided is
CPU time of the server process, all its threads, as the kernel counts it, unless the row says something else.

Nothing in CI depends on these times. CI gates on counts (`scripts/counts`, `Benchmarks/baseline.json`): instructions,
allocations and system calls per push, bytes per session.

The peers are not gateways: none of them does all that a push needs, and each row says what its peer leaves out. Goals
that are missed stand below the table.

## Results
"""


def write(results: dict, file: Path, charts: str) -> None:
    """`charts` is the folder of the charts, as seen from the document."""
    rows = results["rows"]
    parts = [HEAD, table(rows), READING, verdict(rows)]
    parts += [section(row, charts) for row in rows]
    parts.append("## Machine and versions\n\n" + facts(results["machine"]))
    parts.append(HOW)
    file.write_text("\n".join(parts))


READING = """A measure with a `/` divides Carillon by the peer that it names: 0.5 is half of what the peer has. Whether
more or less is better, the goal says. Minimum, median and maximum are those of the rounds; a row reaches its goal by
its median.
"""

HOW = """## Run it yourself

On Debian or Ubuntu with two cores or more, as root (for the packages of the peers):

```
scripts/bench --quick           rows 1 to 4, 6, 7 and 10, three rounds, under 15 minutes
scripts/bench --full            all rows, five rounds; 5, 8 and 9 once
scripts/bench --rows 2,3        some rows
scripts/bench --document        this page, from the last full results
```

It prints each row as it is measured, leaves all numbers in `Benchmarks/results/latest.json` and a chart per row beside
it, and exits with 1 if a row misses its goal or cannot be measured.

In the commands of the rows, words in capitals differ from run to run. `carillon.conf` is that of a new instance, made
by `carillon init`; `server.pem` and `server.key` are its certificate and key. `carillon bench` is the load for our own
ports and for nghttpd, `peerload` for the other servers, and `bare` measures OpenSSL and SQLite by themselves
(`Benchmarks/PeerLoad`, `Benchmarks/Bare`). How each peer is configured stands in `Benchmarks/peers`.
"""


def verdict(rows: list[dict]) -> str:
    """What was missed, in words."""
    goals = [(row, goal) for row in rows for goal in row["goals"]]
    lines = [
        f"- Row {row['number']}, {goal['name']}: {figure(goal['median'])} where {goal['goal']} was wanted."
        for row, goal in goals
        if not goal["met"]
    ]
    if not lines:
        return "Every goal is reached.\n"
    return "\n".join([f"{len(goals) - len(lines)} of {len(goals)} goals are reached. Missed:", "", *lines, ""])


def table(rows: list[dict]) -> str:
    lines = ["| row | what | measure | min | median | max | goal | |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        for goal in row["goals"]:
            spread = " | ".join(figure(goal[key]) for key in ("minimum", "median", "maximum"))
            met = "reached" if goal["met"] else "**missed**"
            lines.append(f"| {row['number']} | {row['title']} | {goal['name']} | {spread} | {goal['goal']} | {met} |")
    return "\n".join(lines) + "\n"


def section(row: dict, charts: str) -> str:
    """One row at length."""
    lines = [f"### {row['number']}. {row['title']}", "", textwrap.fill(row["method"], 120), ""]
    more = " median per second |" if row["rates"] else ""
    lines += [f"| {row['unit']} | min | median | max |{more}", "|---|---|---|---|" + ("---|" if more else "")]
    for name, bar in row["bars"].items():
        spread = " | ".join(figure(bar[key]) for key in ("minimum", "median", "maximum"))
        rate = f" {row['rates'][name]['median']:,.0f} |" if more else ""
        lines.append(f"| {name} | {spread} |{rate}")
    rounds = "One round, because it takes long" if row["rounds"] == 1 else f"{row['rounds']} rounds"
    source = f"{rounds}, on {row['date']} at commit {row['commit']}."
    judged = [f"{goal['name']} {figure(goal['median'])}, {judgement(goal)}" for goal in row["goals"]]
    lines += ["", " ".join([source, *map(sentence, judged + row["notes"])]), ""]
    lines += [f"![{row['title']}]({charts}/row-{row['number']}.png)", "", "```"]
    return "\n".join([*lines, *row["commands"], "```", ""])


def judgement(goal: dict) -> str:
    return f"goal {goal['goal']}: {'reached' if goal['met'] else '**missed**'}"


def sentence(note: str) -> str:
    return note[0].upper() + note[1:] + "."


def facts(machine: dict[str, str]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in machine.items())]) + "\n"
