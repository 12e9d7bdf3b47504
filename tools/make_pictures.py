#!/usr/bin/env python3
"""Draw the pictures of the documentation: docs/pictures/*.svg and *.png.

    make_pictures.py              write the SVG files
    make_pictures.py --check      exit with status 1 if one of them would change
    make_pictures.py --examples   run examples/python, and write their pictures as PNG

Each SVG is a function below, in a coordinate system of pixels with a white ground, so
that it can be read on a dark page, too. The times are those of a benchmark in the tree;
nothing is measured here. The examples run with this interpreter, which needs drjit and
matplotlib. Their pictures are made smaller; they depend on the version of matplotlib,
so --check leaves them alone.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
BENCHMARK = ROOT / "bench" / "results" / "2026-11-22-amd-epyc-zen5.json"

INK = "#24292f"
GREY = "#6e7781"
BLUE = "#0969da"
ORANGE = "#bc4c00"
GREEN = "#1a7f37"
FILLS = {INK: "#f6f8fa", BLUE: "#ddf4ff", ORANGE: "#fff1e5", GREEN: "#dafbe1"}
CODE = "ui-monospace, Menlo, Consolas, monospace"
PLAIN = "system-ui, Helvetica, Arial, sans-serif"


class Picture:
    """An SVG of a given size, built element by element."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">',
            f"<title>{title}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" '
            'markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0 L8 4 L0 8 z" fill="{GREY}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        code: bool = False,
        anchor: str = "middle",
        color: str = INK,
        size: int = 13,
    ) -> None:
        """A line of text with its baseline at y."""
        for plain, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(plain, escaped)
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" font-family="{CODE if code else PLAIN}" '
            f'font-size="{size}" fill="{color}" text-anchor="{anchor}" '
            f'xml:space="preserve">{text}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        label: str = "",
        *,
        color: str = INK,
        code: bool = True,
    ) -> None:
        """A box with a label in its middle."""
        self.lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" '
            f'fill="{FILLS[color]}" stroke="{color}"/>'
        )
        if label:
            self.text(x + width / 2, y + height / 2 + 4.5, label, code=code)

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self.lines.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{GREY}" '
            'stroke-width="1.3" marker-end="url(#tip)"/>'
        )

    def path(
        self, points: Iterable[tuple[float, float]], color: str, dash: str = ""
    ) -> None:
        """Lines from point to point."""
        steps = " L".join(f"{x:g} {y:g}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(
            f'<path d="M{steps}" fill="none" stroke="{color}" stroke-width="1.6"'
            f"{dashes}/>"
        )

    def dot(self, x: float, y: float, color: str) -> None:
        self.lines.append(f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{color}"/>')

    def __str__(self) -> str:
        return "\n".join([*self.lines, "</svg>", ""])


def kernel() -> Picture:
    """From an expression to a kernel."""
    p = Picture(760, 270, "From an expression to a kernel")
    for x, heading in ((115, "your program"), (365, "what is recorded")):
        p.text(x, 24, heading, color=GREY)
    p.text(630, 24, "the kernel: one pass over memory", color=GREY)
    program = ("wave = dr.sin(20 * t)", "damping = dr.exp(-3 * t)")
    for k, line in enumerate(
        (*program, "signal = wave * damping", "", "print(signal)")
    ):
        p.text(20, 90 + 24 * k, line, code=True, anchor="start")
    p.text(20, 215, "computes nothing, until", anchor="start", color=GREY)
    p.text(20, 232, "someone wants to see values", anchor="start", color=GREY)
    p.arrow(215, 130, 258, 130)

    p.box(330, 42, 70, 28, "t", color=BLUE)
    for x, factor, function in ((285, "* 20", "sin"), (385, "* -3", "exp")):
        p.arrow(365, 70, x + 30, 94)
        p.box(x, 96, 60, 28, factor)
        p.arrow(x + 30, 124, x + 30, 142)
        p.box(x, 144, 60, 28, function)
        p.arrow(x + 30, 172, 365, 196)
    p.box(330, 198, 70, 28, "*", color=GREEN)
    p.text(365, 250, "signal", code=True)
    p.arrow(458, 130, 498, 130)

    p.box(510, 42, 240, 28, "memory: t", color=BLUE)
    p.box(510, 92, 240, 84)
    p.text(524, 112, "all cores, 8 or 16 lanes at a time:", anchor="start", color=GREY)
    for k, line in enumerate(("a = sin(20 * t)", "b = exp(-3 * t)", "a * b")):
        p.text(524, 131 + 17 * k, line, code=True, anchor="start")
    p.text(740, 165, "in registers", anchor="end", color=GREY)
    p.box(510, 198, 240, 28, "memory: signal", color=GREEN)
    p.arrow(630, 70, 630, 90)
    p.arrow(630, 176, 630, 196)
    return p


def nested() -> Picture:
    """Layout of an Array3f, and of the flat array that holds the same."""
    p = Picture(760, 250, "Layout of nested arrays")
    p.text(20, 28, "v = Array3f([1, 2, 7], [3, 4, 8], 5)", code=True, anchor="start")
    rows = (("v.x", ("1", "2", "7")), ("v.y", ("3", "4", "8")), ("v.z", ("5",)))
    for k, (name, entries) in enumerate(rows):
        y = 62 + 46 * k
        p.text(60, y + 20, name, code=True)
        for j, entry in enumerate(entries):
            p.box(100 + 52 * j, y, 48, 30, entry, color=(BLUE, ORANGE, GREEN)[k])
    p.text(214, 174, "one entry for all lanes", anchor="start", color=GREY)
    p.path([(148, 52), (204, 52), (204, 192), (148, 192), (148, 52)], INK, "4 3")
    p.text(176, 212, "one vector: lane 1", color=INK)
    p.text(176, 230, "(2, 4, 5)", code=True)

    p.text(400, 28, "dr.ravel(v)", code=True, anchor="start")
    p.text(730, 28, "one vector after the other", anchor="end", color=GREY)
    for k, entry in enumerate(("1", "3", "5", "2", "4", "5", "7", "8", "5")):
        color = (BLUE, ORANGE, GREEN)[k % 3]
        p.box(400 + 37 * k, 62, 33, 30, entry, color=color)
    p.text(400, 150, "print(v)", code=True, anchor="start")
    p.text(730, 150, "one vector in each line", anchor="end", color=GREY)
    for k, line in enumerate(("[[1, 3, 5],", "[2, 4, 5],", "[7, 8, 5]]")):
        x = 400 if k == 0 else 408
        p.text(x, 176 + 20 * k, line, code=True, anchor="start")
    return p


def scatter() -> Picture:
    """How lanes that write to one entry are combined."""
    p = Picture(760, 230, "Scatter with duplicates")
    indices = (0, 2, 2, 3, 2)
    p.text(20, 49, "lane", anchor="start", color=GREY)
    p.text(20, 82, "index", anchor="start", code=True)
    p.text(20, 183, "counts", anchor="start", code=True)
    counts = [indices.count(k) for k in range(4)]
    for k, count in enumerate(counts):
        color = ORANGE if count > 1 else BLUE if count else INK
        p.box(130 + 90 * k, 163, 60, 30, str(count), color=color)
        p.text(160 + 90 * k, 211, f"[{k}]", color=GREY)
    for lane, index in enumerate(indices):
        x = 120 + 80 * lane
        p.text(x + 25, 49, str(lane), color=GREY)
        color = ORANGE if counts[index] > 1 else BLUE
        p.box(x, 62, 50, 30, str(index), color=color)
        p.arrow(x + 25, 92, 160 + 90 * index + (lane - 2) * 6, 160)
    p.text(20, 24, "dr.scatter_add(counts, UInt(1), index)", code=True, anchor="start")
    for k, line in enumerate(("Three lanes meet at [2]:", "all of them are counted.")):
        p.text(540, 130 + 18 * k, line, anchor="start")
    return p


def measured(measure: str) -> list[tuple[float, float]]:
    """Operations of a kernel and milliseconds, as a benchmark has found them."""
    rows = json.loads(BENCHMARK.read_text(encoding="utf-8"))["results"]
    units = {"us": 1e-3, "ms": 1.0}
    return [
        (float(row["case"].split()[0]), row["ours"] * units[row["unit"]])
        for row in rows
        if row["measure"] == measure
    ]


def time() -> Picture:
    """Time of the first and of later evaluations against the size of the kernel."""
    p = Picture(760, 300, "Time of an evaluation against the size of its kernel")

    def place(operations: float, milliseconds: float) -> tuple[float, float]:
        x = 110 + 140 * (math.log10(operations) - 1)
        return x, 215 - 32 * (math.log10(milliseconds) + 3)

    for exponent, label in zip(range(-3, 4), MARKS, strict=True):
        x, y = place(10, 10.0**exponent)
        p.path([(x, y), (place(1e4, 1)[0], y)], "#d8dee4")
        p.text(x - 10, y + 4, label, anchor="end", color=GREY, size=12)
    for exponent in range(1, 5):
        x, y = place(10.0**exponent, 1e-3)
        p.text(x, y + 20, f"{10**exponent:,}", color=GREY, size=12)
    p.text(320, 262, "operations in the kernel", color=GREY)
    p.text(320, 286, "evaluations of small arrays", color=GREY, size=12)
    curves = (
        ("first llvm", ORANGE, "first time, llvm"),
        ("first", BLUE, "first time, native"),
        ("launch", GREEN, "again: kernel known"),
    )
    for measure, color, label in curves:
        points = [place(*point) for point in measured(measure)]
        p.path(points, color)
        for point in points:
            p.dot(*point, color)
        p.text(
            points[-1][0] + 14, points[-1][1] + 5, label, anchor="start", color=color
        )
    return p


MARKS = ("1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s")
WIDTH, BYTES = 720, 60_000  # of a picture of an example, at most
PICTURES = (kernel, nested, scatter, time)


def run_example(program: Path, folder: Path) -> None:
    """Run an example, and write its picture with few colors."""
    from PIL import Image  # which matplotlib uses

    large = folder / f"{program.stem}.png"
    subprocess.run([sys.executable, str(program), str(large)], check=True)
    target = FOLDER / large.name
    image = Image.open(large).convert("RGB")
    for colors in (128, 64, 32, 16):
        image.thumbnail((WIDTH, WIDTH))
        image.quantize(colors).save(target, optimize=True)
        if target.stat().st_size < BYTES:
            return
    raise SystemExit(f"{target}: {target.stat().st_size} bytes, expected {BYTES}")


def run_examples() -> int:
    """The picture of each example that makes one."""
    with tempfile.TemporaryDirectory() as folder:
        for program in sorted((ROOT / "examples/python").glob("*.py")):
            if "def main()" in program.read_text(encoding="utf-8"):
                run_example(program, Path(folder))
    return 0


def main() -> int:
    if sys.argv[1:] == ["--examples"]:
        return run_examples()
    check = sys.argv[1:] == ["--check"]
    stale = 0
    for picture in PICTURES:
        path = FOLDER / f"{picture.__name__}.svg"
        text = str(picture())
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(
                f"{path.relative_to(ROOT)}: run tools/make_pictures.py", file=sys.stderr
            )
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
