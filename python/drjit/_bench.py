"""``python -m drjit bench``: typical kernels and the peaks of the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import drjit as dr

from .roofline import Peaks, Rate, peaks, rate

_Work = Callable[[], Any]


class Point(NamedTuple):
    """A kernel in the picture."""

    name: str
    milliseconds: float
    rate: Rate


# ------------------------------------------------------------------- programs

MOST = 64  # iterations of the Mandelbrot set


def _arrays(count: int) -> tuple[Any, Any]:
    t = dr.llvm.Float
    x = dr.arange(t, count) * (1 / count)
    y = 1 - x
    dr.eval(x, y)
    return x, y


def _polynomial(x: Any, degree: int) -> Any:
    result = x
    for _ in range(degree):
        result = dr.fma(result, x, 0.5)
    return result


def _mandelbrot(x: Any, y: Any) -> Any:
    """How many iterations each point takes."""

    def step(u: Any, v: Any, n: Any) -> tuple[Any, Any, Any]:
        return u * u - v * v + x, 2 * u * v + y, n + 1

    zero = dr.zeros(dr.llvm.Float, dr.width(x))
    start = (zero, zero, dr.llvm.UInt(0))
    return dr.while_loop(
        start, lambda u, v, n: (u * u + v * v <= 4) & (n < MOST), step
    )[2]


def programs(count: int) -> dict[str, _Work]:
    """Typical programs over arrays of ``count`` floats; each evaluates one kernel."""
    x, y = _arrays(count)
    few = dr.gather(dr.llvm.Float, x, dr.arange(dr.llvm.UInt, count // 16) * 16)
    index = (dr.arange(dr.llvm.UInt, count) * 2654435761) % count
    side = 1 << (count.bit_length() // 2 - 1)
    a = dr.llvm.TensorXf(x[: side * side], (side, side))
    dr.eval(few, index, a)
    return {
        "a * x + y": lambda: dr.fma(x, 2, y),
        "sum((x - y)**2)": lambda: dr.sum((x - y) ** 2),
        "dot(x, y)": lambda: dr.dot(x, y),
        "sin(x)": lambda: dr.sin(x),
        "polynomial": lambda: _polynomial(x, 64),
        "gather": lambda: dr.gather(dr.llvm.Float, x, index),
        "matrix product": lambda: a @ a,
        "Mandelbrot set": lambda: _mandelbrot(few * 3 - 2, few * 0.5),
    }


def _entry(work: _Work) -> tuple[dict[str, Any], Any]:
    """The longest entry of the history that an evaluation leaves, and its result."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        result = work()
        dr.eval(result)
        dr.sync_thread()
        entries = dr.kernel_history()
    return max(entries, key=lambda e: float(e["execution_time"])), result


def _best(work: _Work, times: int) -> dict[str, Any]:
    """The fastest of several runs; a loop counts as often as it has run."""
    best, result = _entry(work)
    for _ in range(times):
        entry, result = _entry(work)
        best = min(best, entry, key=lambda e: float(e["execution_time"]))
    if best.get("has_loops"):
        iterations = int(dr.sum(dr.llvm.UInt64(result))[0])
        best["flops"] = best["flops"] * iterations // best["size"]
    return best


def measure(found: Peaks, quick: bool) -> list[Point]:
    """Run the programs."""
    points = []
    for name, work in programs(1 << 14 if quick else 1 << 24).items():
        entry = _best(work, 2 if quick else 8)
        points.append(Point(name, entry["execution_time"], rate(entry, found)))
    return points


# --------------------------------------------------------------------- output


def table(found: Peaks, points: list[Point]) -> str:
    """Peaks and kernels as text."""
    lines = [f"copying, {found.threads} threads"]
    for size, speed in found.copies:
        lines.append(f"  {size >> 20:5} MiB {speed * 1e-9:9.1f} GB/s")
    lines += [
        f"multiply-adds in single precision {found.flops * 1e-9:9.1f} GFLOP/s",
        f"arithmetic is the bound from      {found.ridge:9.1f} FLOP/byte on",
        "",
        f"{'':16} {'ms':>9} {'FLOP/byte':>9} {'GB/s':>8} {'of copy':>8}"
        f" {'GFLOP/s':>8} {'of peak':>8}",
    ]
    for name, milliseconds, r in points:
        lines.append(
            f"{name:16} {milliseconds:9.3f} {r.intensity:9.2f}"
            f" {r.bandwidth * 1e-9:8.1f} {r.bandwidth_fraction:8.0%}"
            f" {r.flops * 1e-9:8.1f} {r.flops_fraction:8.0%}"
        )
    return "\n".join(lines)


def draw(found: Peaks, points: list[Point], path: str) -> None:
    """Draw both roofs and the kernels that compute below them."""
    from matplotlib.figure import Figure

    points = [point for point in points if point.rate.flops]
    at = [point.rate.intensity for point in points] + [found.ridge]
    low, high = min(at) / 4, max(at) * 4
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    size, fastest = max(found.copies, key=lambda copy: copy[1])
    for speed, text, style in (
        (fastest, f"copy of {size >> 20} MiB, in caches", ":"),
        (found.bandwidth, "copy in memory", "-"),
    ):
        bend = found.flops / speed
        x = [min(low, bend), bend, max(high, bend)]
        roof = [speed * x[0] * 1e-9, found.flops * 1e-9, found.flops * 1e-9]
        label = f"{text}: {speed * 1e-9:.0f} GB/s"
        axes.plot(x, roof, style, color="black", label=label)
    for point in points:
        place = point.rate.intensity, point.rate.flops * 1e-9
        axes.plot(*place, "o")
        axes.annotate(point.name, place, (5, -10), textcoords="offset points")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="FLOP/byte",
        ylabel="GFLOP/s",
        title=f"{found.threads} threads, {found.flops * 1e-9:.0f} GFLOP/s",
    )
    axes.grid(which="both", alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path)


def roofline(path: str | None, quick: bool) -> int:
    """Measure, print the table, and draw a picture if a path is given."""
    found = peaks(quick)
    points = measure(found, quick)
    print(table(found, points))
    if path is None:
        return 0
    try:
        draw(found, points, path)
    except ImportError as error:
        print(f"\nno picture: {error}; 'pip install matplotlib' brings what draws it")
        return 0
    except (OSError, ValueError) as error:
        print(f"\n{path}: {error}", file=sys.stderr)
        return 1
    print(f"\n{path}: the picture")
    return 0
