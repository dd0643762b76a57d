"""A chart for each row, by gnuplot."""

import subprocess
from pathlib import Path

from row import figure

BARS = """set terminal pngcairo size 820,{height} font 'sans,11' background '#ffffff'
set output '{file}'
set label "{title}" at screen 0.02, screen 1 - {margin} noenhanced
set tmargin 3
set xlabel "{unit}, median; the line spans all rounds" noenhanced
set style fill solid 0.8 noborder
set xrange [0:*]
set yrange [{count} - 0.5:-0.5]
set grid xtics linecolor '#dddddd'
set border 3
set tics nomirror out
set lmargin 26
set rmargin 12
unset key
set ytics ({labels}) noenhanced
$rows << END
{rows}
END
plot $rows using (0):0:(0):2:($0-0.32):($0+0.32):5 with boxxyerror linecolor rgb variable, \\
     $rows using 2:0:3:4 with xerrorbars linecolor '#333333' pointtype 0 linewidth 1.5, \\
     $rows using 4:0:(sprintf(" %s", stringcolumn(6))) with labels left offset 0.5,0
"""
LINES = """set terminal pngcairo size 820,420 font 'sans,11' background '#ffffff'
set output '{file}'
set label "{title}" at screen 0.02, screen 0.96 noenhanced
set tmargin 3
set bmargin 5
set xlabel "minute"
set ylabel "latency, µs"
set y2label "memory, MB"
set logscale y
set yrange [1:*]
set y2range [0:*]
set y2tics
set xtics 1
set tics nomirror out
set grid ytics linecolor '#dddddd'
set key bmargin center horizontal noenhanced
$rows << END
{rows}
END
plot {plots}
"""
OURS, THEIRS = 0x2A6FBB, 0x9AA5B1


def draw(row: dict, folder: Path) -> Path:
    """The chart of a row of the results: lines if it was measured minute by minute, else a bar for each contender."""
    file = folder / f"row-{row['number']}.png"
    script = lines(row, file) if row["series"] else bars(row, file)
    subprocess.run(["gnuplot"], input=script, text=True, check=True, timeout=60)
    return file


def bars(row: dict, file: Path) -> str:
    bars = row["bars"]
    rows = [
        f"{place} {bar['median']} {bar['minimum']} {bar['maximum']} "
        f"{OURS if name.startswith('Carillon') else THEIRS} {figure(bar['median'])}"
        for place, (name, bar) in enumerate(bars.items())
    ]
    height = 130 + 34 * len(bars)
    return BARS.format(
        height=height, margin=18 / height, file=file, title=row["title"], unit=row["unit"], count=len(bars),
        labels=", ".join(f'"{name}" {place}' for place, name in enumerate(bars)), rows="\n".join(rows),
    )  # fmt: skip


def lines(row: dict, file: Path) -> str:
    series = row["series"]
    rows = [" ".join(map(str, (minute, *values))) for minute, values in enumerate(zip(*series.values()), 1)]
    plots = ", ".join(
        f"$rows using 1:{column} axes {axes(name)} with linespoints linewidth 2 title '{name}'"
        for column, name in enumerate(series, 2)
    )
    return LINES.format(file=file, title=row["title"], rows="\n".join(rows), plots=plots)


def axes(name: str) -> str:
    return "x1y2" if "memory" in name else "x1y1"
