"""Writes docs/accuracy.md: how exact and how fast the math functions are.

    python bench/math_table.py [--build DIR] [--peer PYTHON] [--rounds N] [--no-speed]

Errors come from what `make exhaustive` has left in DIR/accuracy/results.jsonl; of
several lines for a function the last one counts, and those for all arguments count more
than samples. They go to docs/accuracy/errors.jsonl with date and CPU, where those of
functions that were not measured anew are kept.

Speeds are measured here, in one thread on arrays that stay in its caches: ours, the
published package's, NumPy's and libmvec's, each the best of the repetitions of all
rounds, which run in turn. Where something was not measured, or does not exist, the
table has a dash. The plots are measured as well.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from peer_bench import MATH
from run import HERE, ROOT, call, cpu_name, peer_python

TYPES = ("f16", "f32", "f64")
NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
}  # fmt: skip
TWO = ("atan2", "power", "hypot")
SPEEDS = ("ours", "published", "NumPy", "libmvec")
ERRORS = ROOT / "docs/accuracy/errors.jsonl"

# Function, type and range of the plots.
PLOTS = (
    ("sin", "f32", -20.0, 20.0),
    ("exp", "f32", -104.0, 89.0),
    ("atan", "f32", -4.0, 4.0),
    ("erf", "f64", -6.0, 6.0),
    ("lgamma", "f32", -6.0, 6.0),
    ("tan", "f64", -6.0, 6.0),
)
BINS, PER_BIN = 300, 4000
WIDTH, HEIGHT, MARGIN = 720, 220, 44

Key = tuple[str, str]
Errors = dict[Key, dict[str, Any]]
Speeds = dict[Key, dict[str, float]]


def read_errors(path: Path) -> Errors:
    """The line that counts for each function and type."""
    rows: Errors = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        key = (row["function"], row["type"])
        if row["exhaustive"] or not rows.get(key, row)["exhaustive"]:
            rows[key] = row
    return rows


def update_errors(path: Path) -> Errors:
    """Add the lines of a file to those that are kept; all of them."""
    rows = read_errors(ERRORS)
    stamp = {"date": datetime.date.today().isoformat(), "cpu": cpu_name()}
    for key, row in read_errors(path).items():
        kept = rows.get(key, {})
        if any(kept.get(name) != value for name, value in row.items()):
            rows[key] = row | stamp
    order = [(function, kind) for kind in TYPES for function in MATH]
    rows = {key: rows[key] for key in order if key in rows}
    ERRORS.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    return rows


def keep(speeds: Speeds, who: str, case: str, value: float) -> None:
    """Note a figure, if it is the best so far."""
    function, kind = case.split()
    cell = speeds.setdefault((function, kind), {})
    cell[who] = min(value, cell.get(who, math.inf))


def measure_numpy(speeds: Speeds) -> str:
    """NumPy's functions on the same arrays; its version, "" if it is not there."""
    try:
        import numpy as np
    except ImportError:
        return ""
    n = 1 << 18
    for function, (lower, upper) in MATH.items():
        call_it = getattr(np, NUMPY.get(function, function), None)
        if call_it is None:
            continue
        for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
            x = np.linspace(lower, upper, n, endpoint=False).astype(dtype)
            operands = [x, x[::-1].copy()][: 1 + (function in TWO)]
            out = np.empty_like(x)
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                start = time.perf_counter()
                call_it(*operands, out=out)
                seconds = time.perf_counter() - start
                keep(speeds, "NumPy", f"{function} {kind}", seconds * 1e9 / n)
    return str(np.__version__)


def measure_speeds(ours: str, peer: str, rounds: int) -> tuple[Speeds, dict[str, str]]:
    """All figures in ns a lane, and the versions of what was measured."""
    speeds: Speeds = {}
    versions: dict[str, str] = {}
    commands = {
        "ours": [ours, "math", "core"],
        "published": [peer, str(HERE / "peer_bench.py"), "math", "core"],
        "libmvec": [ours, "libmvec", "core"],
    }
    for _ in range(rounds):
        for who, command in commands.items():
            with tempfile.TemporaryDirectory() as home:
                for row in call(command, home, "native" if who == "ours" else ""):
                    if "error" in row:
                        print(f"math_table.py: {who}: {row['error']}", file=sys.stderr)
                    else:
                        keep(speeds, who, str(row["case"]), float(str(row["best"])))
        versions["NumPy"] = measure_numpy(speeds)
    with tempfile.TemporaryDirectory() as home:
        for row in call([peer, str(HERE / "peer_bench.py"), "version"], home):
            versions["published"] = str(row.get("drjit", ""))
    versions["libmvec"] = os.confstr("CS_GNU_LIBC_VERSION") or "-"
    return speeds, versions


# ---------------------------------------------------------------------------- plots


def profile(
    accuracy: str, function: str, kind: str, lower: float, upper: float
) -> list[tuple[float, float, float]]:
    """Middle, largest and mean error of each part of a range."""
    done = subprocess.run(
        [
            accuracy, "--function", function, "--type", kind,
            "--range", repr(lower), repr(upper),
            "--bins", str(BINS), "--count", str(BINS * PER_BIN),
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(float(a), float(b), float(c)) for a, b, c in lines if len(lines) == BINS]


def svg(title: str, points: list[tuple[float, float, float]]) -> str:
    """A plot of the largest errors as bars and of the mean error as a line."""
    lower, upper = points[0][0], points[-1][0]
    top = max(1.0, math.ceil(4 * max(p[1] for p in points)) / 4)

    def x_of(x: float) -> float:
        return MARGIN + (x - lower) / (upper - lower) * (WIDTH - 2 * MARGIN)

    def y_of(y: float) -> float:
        return HEIGHT - MARGIN - y / top * (HEIGHT - 2 * MARGIN)

    largest = " ".join(f"{x_of(x):.1f},{y_of(most):.1f}" for x, most, _ in points)
    mean = " ".join(f"{x_of(x):.1f},{y_of(m):.1f}" for x, _, m in points)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{MARGIN}" y="20">{title}</text>',
    ]
    for k in range(5):
        y = top * k / 4
        out.append(
            f'<path d="M{MARGIN} {y_of(y):.1f}H{WIDTH - MARGIN}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 6}" y="{y_of(y) + 4:.1f}" text-anchor="end">'
            f"{y:g}</text>"
        )
        x = lower + (upper - lower) * k / 4
        out.append(
            f'<text x="{x_of(x):.1f}" y="{HEIGHT - MARGIN + 18}" '
            f'text-anchor="middle">{x:.4g}</text>'
        )
    out += [
        f'<polyline points="{largest}" fill="none" stroke="#c33" stroke-width="1"/>',
        f'<polyline points="{mean}" fill="none" stroke="#36c" stroke-width="1.5"/>',
        f'<text x="{WIDTH - MARGIN}" y="20" text-anchor="end">'
        '<tspan fill="#c33">largest</tspan> and <tspan fill="#36c">mean</tspan> '
        "error in ulp</text>",
        "</svg>",
    ]
    return "\n".join(out) + "\n"


def write_plots(accuracy: str, folder: Path) -> list[str]:
    """Draw what there is; the lines that show it in the text."""
    lines = []
    for function, kind, lower, upper in PLOTS:
        points = profile(accuracy, function, kind, lower, upper)
        if not points:
            print(f"math_table.py: no plot of {function} {kind}", file=sys.stderr)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{function}-{kind}.svg"
        title = f"{function}, {kind}"
        (folder / name).write_text(svg(title, points))
        lines.append(f"![Errors of {title}]({folder.name}/{name})")
    return lines


# ---------------------------------------------------------------------------- text


def short(text: str, kind: str) -> str:
    """An argument in decimal, as many digits as tell it from its neighbours."""
    value = float.fromhex(text)
    return f"{value:.{ {'f16': 5, 'f32': 9, 'f64': 17}[kind]}g}"


def count_text(row: dict[str, Any]) -> str:
    """How many arguments an error is of."""
    return "all" if row["exhaustive"] else f"{row['count']:.1e}".replace("e+0", "e")


def table(kind: str, errors: Errors, speeds: Speeds) -> list[str]:
    """The table of a type."""
    who = SPEEDS if kind != "f16" else ()
    head = ["function", "arguments", "largest error", "at", "mean error", *who]
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|---" + "|--:" * 2 + "|---" + "|--:" * (len(head) - 4) + "|")
    for function in MATH:
        row, speed = errors.get((function, kind)), speeds.get((function, kind), {})
        cells = [f"`{function}`"]
        if row:
            at = ", ".join(short(x, kind) for x in row["arguments"])
            cells += [count_text(row), f"{row['largest']:.4f}", at]
            cells.append(f"{row['mean']:.3f}")
        else:
            cells += ["-"] * 4
        cells += [f"{speed[w]:.2f}" if w in speed else "-" for w in who]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def violations(errors: Errors) -> list[str]:
    """What does not keep the contract."""
    words = {
        "above": "results off by more than 1 ulp",
        "wrong": "wrong special values",
        "unordered": "neighbours in the wrong order",
        "lopsided": "results without the function's symmetry",
    }
    lines = []
    for (function, kind), row in errors.items():
        found = [f"{row[key]} {text}" for key, text in words.items() if row[key]]
        if found:
            lines.append(f"- `{function}` {kind}: {', '.join(found)}")
    return lines


def write_text(
    errors: Errors,
    speeds: Speeds,
    versions: dict[str, str],
    plots: list[str],
) -> str:
    """The document."""
    broken = violations(errors)
    contract = (
        "Every function is within the contract in what was measured."
        if errors and not broken
        else "\n".join(["What was measured shows these violations:", "", *broken])
    )
    today = datetime.date.today().isoformat()
    measured = sorted({(row["date"], row["cpu"]) for row in errors.values()})
    machines = "; ".join(f"{date} ({cpu})" for date, cpu in measured)
    text = f"""# Accuracy and speed of the math functions

Written by `bench/math_table.py` on {today}. Speeds were measured on
{cpu_name()}, {os.cpu_count()} threads. Errors, which are the same everywhere, are of
{machines}
([errors.jsonl](accuracy/errors.jsonl)).

The contract: a result is at most 1 ulp off the exact value, for every argument,
subnormal ones and results included. Zeros, infinities and NaN are as in Annex F of the
C standard; odd functions are odd and even ones even, bit for bit; results of
neighbouring arguments are in the order of the function. All engines give the same bits.

One ulp is the distance of the numbers in the binade of the exact value (of the
subnormal numbers below the smallest normal one), so a correctly rounded result is off
by at most 0.5. References are the C library's functions in a wider type and MPFR
(`tests/accuracy`). "All" arguments means each of the 2^32 of a float; else it is a
sample: the neighbourhoods of special points, then arguments spread evenly over the bit
patterns. `make exhaustive` repeats the measurement of errors.

{contract}

Speeds are ns per element in one thread on arrays of 256K elements, which stay in its
caches, with a load and a store; the best of many runs. Published is the package `drjit`
{versions.get("published", "-")}, NumPy is version {versions.get("NumPy", "-")}, libmvec
that of {versions.get("libmvec", "-")} with the widest vectors of the CPU. The published
package and libmvec promise less accuracy.
"""
    lines = [text]
    for kind in TYPES:
        lines += [f"## {kind}", "", *table(kind, errors, speeds), ""]
    if plots:
        lines += ["## Errors over the range", ""]
        for plot in plots:
            lines += [plot, ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--peer", help="Python with the published package")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-speed", action="store_true", help="errors only")
    options = parser.parse_args()
    errors = update_errors(options.build / "accuracy/results.jsonl")
    speeds: Speeds = {}
    versions: dict[str, str] = {}
    if not options.no_speed:
        ours = str(options.build / "bench/core_bench")
        speeds, versions = measure_speeds(
            ours, peer_python(options.peer), options.rounds
        )
    accuracy = str(options.build / "tests/accuracy")
    plots = write_plots(accuracy, ROOT / "docs/accuracy")
    path = ROOT / "docs/accuracy.md"
    path.write_text(write_text(errors, speeds, versions, plots))
    print(path)


if __name__ == "__main__":
    main()
