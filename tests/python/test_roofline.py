"""Bytes and operations in the kernel history, peaks, and ``bench roofline``."""

from __future__ import annotations

import math
import runpy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import pytest
from drjit import _bench, roofline
from drjit.llvm import Float, Float64, TensorXf, UInt

N = 10_000


def arrays() -> tuple[Float, Float, UInt]:
    """Two arrays of floats, and the numbers of their entries, in memory."""
    x, y, i = dr.arange(Float, N) + 0.5, dr.arange(Float, N) * 2, dr.arange(UInt, N)
    dr.eval(x, y, i)
    return x, y, i


def history(work: Callable[[], Any]) -> list[dict[str, Any]]:
    """What evaluating the result leaves in the history."""
    dr.sync_thread()
    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.eval(work())
        dr.sync_thread()
    return dr.kernel_history()


def counts(work: Callable[[], Any]) -> tuple[int, int, int]:
    """Bytes read and written, and operations, of the one entry that this leaves."""
    (entry,) = history(work)
    return entry["bytes_read"], entry["bytes_written"], entry["flops"]


def both(mask: Any, x: Any) -> Any:
    """A conditional that adds on one side and multiplies twice on the other."""
    return dr.if_stmt((x,), mask, lambda x: x + 1, lambda x: x * x * x)


def packet(target: Any, index: Any) -> Any:
    """Four consecutive entries for each lane."""
    return dr.gather(dr.llvm.Array4f, target, index)


X, Y, NUMBER = arrays()
MANY = dr.arange(Float, 4 * N)
FEW = dr.arange(Float, 8) + 1
DOUBLE = Float64(X)
ODD = (NUMBER & 1) == 1
ONE = dr.opaque(Float, 3)
A, B = TensorXf(X[: 64 * 32], (64, 32)), TensorXf(X[: 32 * 16], (32, 16))
dr.eval(MANY, FEW, DOUBLE, ODD, A, B)


@pytest.mark.parametrize(
    ("work", "read", "written", "flops"),
    [
        (lambda: dr.fma(X, Y, 2), 8 * N, 4 * N, 2 * N),
        (lambda: X * X + X, 4 * N, 4 * N, 2 * N),
        (lambda: NUMBER * 2 + 1, 4 * N, 4 * N, 0),
        (lambda: DOUBLE / 3 - dr.sqrt(DOUBLE), 8 * N, 8 * N, 3 * N),
        (lambda: dr.arange(UInt, N) ^ 5, 0, 4 * N, 0),
        (lambda: (X > Y) & ODD, 9 * N, N, 0),
        (lambda: dr.minimum(X, Y), 8 * N, 4 * N, N),
        # Values of one entry are read once, and what depends on them alone is computed
        # once.
        (lambda: X * (ONE + 1), 4 * N + 4, 4 * N, N),
        # Reduced values are not written.
        (lambda: dr.sum((X - Y) ** 2), 8 * N, 4, 3 * N),
        (lambda: [X + 1, dr.max(X + 1)], 4 * N, 4 * N + 4, 2 * N),
        (lambda: dr.dot(X + 1, Y), 8 * N, 4, 3 * N),
        (lambda: dr.any(X > Y), 8 * N, 1, 0),
        # Gathers read what their lanes read, at most the array; an index that is known
        # to be the number of the lane is not read.
        (lambda: dr.gather(Float, X, NUMBER ^ 1), 8 * N, 4 * N, 0),
        (lambda: dr.gather(Float, X, NUMBER), 4 * N, 4 * N, 0),
        (lambda: X + dr.gather(Float, X, N - 1 - NUMBER), 8 * N, 4 * N, N),
        (lambda: dr.gather(Float, FEW, NUMBER & 7), 4 * N + 32, 4 * N, 0),
        (lambda: dr.gather(Float, X, dr.arange(UInt, 100) * 3, True), 400, 400, 0),
        (lambda: packet(MANY, NUMBER), (4 + 16) * N, 16 * N, 0),
        # All lanes take both sides.
        (lambda: both(ODD, X), 5 * N, 4 * N, 3 * N),
        # Other work.
        (lambda: dr.sum(X), 4 * N, 4, N),
        (lambda: dr.dot(X, Y), 8 * N, 4, 2 * N),
        (lambda: dr.cumsum(X), 4 * N, 4 * N, N),
        (lambda: A @ B, 4 * (64 * 32 + 32 * 16), 4 * 64 * 16, 2 * 64 * 32 * 16),
    ],
)
def test_counted_by_hand(work: Any, read: int, written: int, flops: int) -> None:
    """One entry, with the numbers of a pencil and paper."""
    assert counts(work) == (read, written, flops)


def test_scatters() -> None:
    """They write what their lanes write, and read it first if they reduce."""
    some = dr.arange(UInt, 100)
    target = dr.opaque(Float, 0, N)
    dr.eval(some, target)

    def write() -> Any:
        dr.scatter(target, Float(some), some * 2)
        return target

    assert counts(write) == (400, 400, 0)

    def add() -> Any:
        how = dr.ReduceMode.Direct
        dr.scatter_reduce(dr.ReduceOp.Add, target, Float(some), some * 2, mode=how)
        return target

    assert counts(add) == (800, 400, 0)


def test_functions_count_what_they_consist_of() -> None:
    """Each function as much as alone, whatever else is in the kernel."""
    (_, _, sine), (_, _, exp) = counts(lambda: dr.sin(X)), counts(lambda: dr.exp(Y))
    assert 8 * N < sine < 100 * N and 8 * N < exp < 100 * N
    assert counts(lambda: dr.sin(X) + dr.exp(Y))[2] == sine + exp + N


def test_loops_count_once_and_say_so() -> None:
    """An iteration, whatever the number of iterations."""

    def halve(most: int) -> Any:
        return dr.while_loop((Float(X),), lambda x: x > most, lambda x: (x * 0.5,))[0]

    for most in (1, 100):
        (entry,) = history(lambda most=most: halve(most))
        assert (entry["flops"], entry["has_loops"]) == (N, True)
    assert history(lambda: X + 1)[0]["has_loops"] is False


def test_rate() -> None:
    """Speeds are quotients."""
    found = roofline.Peaks(1e10, 4e10, ((1 << 20, 1e10),), 2)
    assert found.ridge == 4
    entry = {"bytes_read": 30, "bytes_written": 10, "flops": 80, "execution_time": 1e-5}
    assert roofline.rate(entry, found) == pytest.approx((2, 4e9, 8e9, 0.4, 0.2))
    entry |= {"bytes_read": 0, "bytes_written": 0}
    assert roofline.rate(entry, found)[:2] == (math.inf, 0)
    assert roofline.rate(entry | {"execution_time": 0}, found)[1:] == (0, 0, 0, 0)


def test_peaks_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """When asked for, for a number of threads, without a trace in the history."""
    monkeypatch.setattr(roofline, "_SIZES", (1 << 16, 1 << 17))
    monkeypatch.setattr(roofline, "_peaks", {})
    assert roofline.peaks(quick=True) is not roofline.peaks(quick=True)
    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        found = roofline.peaks()
        assert dr.kernel_history() == []
    assert [size for size, _ in found.copies] == [1 << 16, 1 << 17]
    assert found.bandwidth == found.copies[-1][1] > 0 and found.flops > 0
    assert found.threads == dr.thread_count()
    assert roofline.peaks() is found
    (entry,) = history(lambda: X + 1)
    assert roofline.rate(entry) == roofline.rate(entry, found)
    before = dr.thread_count()
    dr.set_thread_count(before + 1)
    assert roofline.peaks().threads == before + 1
    dr.set_thread_count(before)
    assert roofline.peaks() is found


def run(*arguments: str) -> int:
    """``python -m drjit`` with these arguments."""
    tool = runpy.run_module("drjit.__main__", run_name="tool")
    status: int = tool["main"](arguments)
    return status


def test_bench_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table has all programs and both peaks, and a line says what lacks."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run("bench", "roofline", "--quick") == 0
    out = capsys.readouterr().out
    for name in ["GB/s", "GFLOP/s", *_bench.programs(1 << 10)]:
        assert name in out
    assert "no picture" in out and "pip install matplotlib" in out


class Drawing:
    """Stands for a figure and its axes, and keeps what is plotted."""

    last: Drawing

    def __init__(self, **_: Any) -> None:
        self.plots: list[tuple[Any, ...]] = []
        Drawing.last = self

    def add_subplot(self) -> Drawing:
        return self

    def plot(self, x: Any, y: Any, *_: Any, **__: Any) -> None:
        self.plots.append((x, y))

    def savefig(self, path: str) -> None:
        with open(path, "w") as file:
            file.write("picture")

    def __getattr__(self, name: str) -> Callable[..., None]:
        assert name in {"annotate", "set", "grid", "legend"}
        return lambda *_, **__: None


def test_what_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    """Two roofs that end at the peaks, and a point for each kernel that computes."""
    module: Any = ModuleType("matplotlib.figure")
    module.Figure = Drawing
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", module)
    found = roofline.Peaks(1e10, 4e10, ((1 << 20, 2e10), (1 << 28, 1e10)), 2)
    one = _bench.Point("one", 1, roofline.Rate(0.5, 1e9, 5e8, 0.1, 0.1))
    none = _bench.Point("none", 1, roofline.Rate(0, 1e9, 0, 0.1, 0))
    _bench.draw(found, [one, none], str(tmp_path / "picture"))
    cache, memory, point = Drawing.last.plots
    assert cache == ([0.125, 2, 16], [2.5, 40, 40])
    assert memory == ([0.125, 4, 16], [1.25, 40, 40])
    assert point == (0.5, 0.5)
    path = tmp_path / "again"
    assert run("bench", "roofline", "--quick", "-o", str(path)) == 0
    assert path.read_text() == "picture" and str(path) in capsys.readouterr().out
    assert run("bench", "roofline", "--quick", "-o", str(tmp_path / "no/file")) == 1
    assert "No such file" in capsys.readouterr().err


def test_a_real_picture(tmp_path: Any) -> None:
    """Where matplotlib is installed, it can read what it is given."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "roofline.svg"
    assert run("bench", "roofline", "--quick", "--output", str(path)) == 0
    assert "<svg" in path.read_text()


def test_unknown_tools(capsys: pytest.CaptureFixture[str]) -> None:
    """They are an error that names what there is."""
    for arguments in (("repair",), ("bench", "ceiling")):
        with pytest.raises(SystemExit) as caught:
            run(*arguments)
        assert caught.value.code == 2
    assert "roofline" in capsys.readouterr().err


def test_bench_without_a_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It measures, and writes no file."""
    monkeypatch.setattr(
        _bench, "peaks", lambda quick: roofline.Peaks(1e10, 4e10, ((1 << 20, 1e10),), 2)
    )
    monkeypatch.setattr(_bench, "measure", lambda found, quick: [])
    monkeypatch.setattr(_bench, "draw", None)
    assert run("bench") == 0
    assert "multiply-adds" in capsys.readouterr().out


def test_iterations_of_the_mandelbrot_set() -> None:
    """The tool counts a loop as often as it has run; these points never leave."""
    inside = dr.zeros(Float, 100)
    dr.eval(inside)
    n = _bench._mandelbrot(inside, inside)
    assert dr.all(n == _bench.MOST)
    once = history(lambda: _bench._mandelbrot(inside, inside))[-1]["flops"]
    best = _bench._best(lambda: _bench._mandelbrot(inside, inside), 1)
    assert best["flops"] == once * _bench.MOST
