"""``drjit.freeze``: what repeated functions report -- history, prints, assertions.

The reference is the plain function, called with the same inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array3f, Float, UInt
from drjit.llvm.ad import Float as Tracked


def ramp(size: int, start: float = 1.0) -> Float:
    x = dr.arange(Float, size) * 0.5 + start
    dr.eval(x)
    return x


def many(x: Float) -> Any:
    i = UInt(x)
    dr.eval(i)
    ordered = dr.block_sum(x, 5), dr.sort(x), dr.compress(x > 3), dr.dot(x, x)
    return dr.sin(x) * 2, dr.prefix_sum(x), dr.gather(Float, x, i), ordered


# What the reference says an entry has, and what the kernels among them have.
ALWAYS = "backend execution_time type recording_mode size input_count output_count"
KERNELS = (
    "hash ir operation_count cache_hit cache_disk codegen_time backend_time uses_optix"
)


def test_kernel_history(tmp_path: Path) -> None:
    """What is recorded, repeated, or loaded has the entries of the plain function."""
    f = dr.freeze(many)
    modes = dr.KernelRecordingMode
    seen = []
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        for name in ("record", "repeat", "load", "call"):
            if name == "load":
                f.save(tmp_path / "f")
                f = dr.load_frozen(tmp_path / "f")
            call = many if name == "call" else f
            x = ramp(100)
            dr.eval(x)
            dr.kernel_history_clear()
            dr.eval(call(x))
            seen.append(dr.kernel_history())
    recorded, replayed, loaded, plain = seen
    for entries, mode in (
        (recorded, modes.Recorded),
        (replayed, modes.Replayed),
        (loaded, modes.Replayed),
        (plain, modes.Inactive),
    ):
        assert {e["recording_mode"] for e in entries} == {mode}
        for e in entries:
            assert set(ALWAYS.split()) <= e.keys()
            assert e["backend"] == dr.JitBackend.LLVM and e["execution_time"] >= 0
            if e["type"] == dr.KernelType.JIT:
                assert set(KERNELS.split()) <= e.keys()
                assert e["input_count"] > 0 < e["output_count"] and e["ir"].read()
    types = {e["type"] for e in plain}
    assert types > {dr.KernelType.JIT, dr.KernelType.BlockReduce}
    for name in (
        "type size hash engine operation_count bytes_read bytes_written flops "
        "input_count output_count has_loops uses_optix"
    ).split():
        values = [[e.get(name) for e in entries] for entries in seen]
        assert values[0] == values[1] == values[2] == values[3], name
    assert all(e["codegen_time"] == 0 for e in replayed + loaded if "hash" in e)
    assert all(e["cache_hit"] for e in replayed + plain if "hash" in e)


def test_number_of_inputs_in_the_history() -> None:
    """A kernel has as many as it has arrays to read, other work as it takes."""
    arrays = [ramp(50, start) for start in (1, 2, 3)]

    @dr.freeze
    def f(arrays: list[Float]) -> Any:
        return sum(arrays, Float(0))

    for mode in ("Recorded", "Replayed", "Replayed"):
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
            dr.kernel_history_clear()
            f(arrays)
            entries = dr.kernel_history()
        counts = [
            (e["input_count"], e["output_count"], e["recording_mode"].name)
            for e in entries
        ]
        assert counts == [(3, 1, mode)]


def test_symbolic_prints(capsys: pytest.CaptureFixture[str]) -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        i = UInt(0)

        def body(i: UInt, x: Float) -> tuple[UInt, Float]:
            dr.print("lane {thread_id}: {}", x, limit=3)
            return i + 1, x + 1

        dr.while_loop((i, x), lambda i, x: i < 2, body, mode="symbolic")
        return x + 1

    for n in (4, 4, 7, 1):
        texts = []
        for call in (f, f._function):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                dr.eval(call(ramp(n)))
                dr.sync_thread()
                lost = [str(w.message) for w in caught]
            texts.append((capsys.readouterr().out, lost))
        assert texts[0] == texts[1]
        assert n == 1 or "lane [0, 0, 1]" in texts[0][0]
    assert f.n_recordings == 2


# ------------------------------------------------------------------ evaluated prints


def prints_values(x: Float, _: Any) -> Float:
    y = x * 2
    dr.print("y={} {x}", y, x=x, limit=6)
    dr.scatter(y, Float(100), UInt(0))
    dr.print("now {y=} at {thread_id}", y=y, active=y > 3)
    dr.print("text {}", 5, end="|")
    dr.print({"a": dr.sum(y), "b": [Array3f(x, 1, 2)]})
    return y


def prints_as_computed(x: Float, _: Any) -> Float:
    dr.print("{} {k}", x + 1, k=dr.width(x) > 5, mode="symbolic")
    return x - 1


def prints_and_sizes(x: Float, _: Any) -> Float:
    kept = dr.gather(Float, x, dr.compress(x > 2))
    dr.print("kept {}", kept)
    return kept


def prints_to_file(x: Float, file: Any) -> Float:
    dr.print(dr.sqrt(x), file=file)
    return x + 1


class File:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text


@pytest.mark.parametrize(
    ("function", "recordings"),
    [
        (prints_values, 2),
        (prints_as_computed, 3),
        (prints_and_sizes, 2),
        (prints_to_file, 2),
    ],
)
def test_prints(
    function: Callable[..., Any], recordings: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes share a recording, unless the function tells them apart."""
    frozen, file = dr.freeze(function), File()
    for n in (9, 9, 5, 1, 30, 9):
        texts, values = [], []
        for call in (frozen, function):
            file.text = ""
            values.append(list(call(ramp(n), file)))
            dr.eval()
            dr.sync_thread()
            texts.append(capsys.readouterr().out + file.text)
        assert texts[0] == texts[1] and texts[0]
        assert values[0] == values[1]
    assert frozen.n_recordings <= recordings, frozen.explain()


def test_prints_with_derivatives(capsys: pytest.CaptureFixture[str]) -> None:
    @dr.freeze
    def f(x: Tracked) -> Tracked:
        loss = dr.sum(x * x)
        dr.print("loss {}", loss)
        dr.backward(loss)
        dr.print("gradient {}", dr.grad(x))
        return loss

    for k in range(3):
        x = Tracked(1, 2, 3) + k
        dr.enable_grad(x)
        f(x)
        values = [k + i for i in (1, 2, 3)]
        assert capsys.readouterr().out == (
            f"loss [{sum(v * v for v in values)}]\n"
            f"gradient [{', '.join(str(2 * v) for v in values)}]\n"
        )
    assert f.n_recordings == 1


def test_prints_keep_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What was printed while a function was recorded does not live on."""

    @dr.freeze
    def f(x: Float) -> Float:
        dr.print(x + 1)
        return x * 2

    def variables() -> int:
        dr.sync_thread()
        return dr.whos(as_string=True).count("\n")

    f(ramp(4))
    before = variables()
    for _ in range(20):
        f(ramp(4))
    assert variables() == before and f.n_recordings == 1


def test_prints_before_reads(capsys: pytest.CaptureFixture[str]) -> None:
    """Giving up after a launch that has printed, it would be printed twice."""

    @dr.freeze
    def f(x: Float) -> Float:
        def body(i: UInt) -> tuple[UInt]:
            dr.print("lane {}", i)
            return (i + 1,)

        dr.while_loop((UInt(0),), lambda i: i < 1, body, mode="symbolic")
        return dr.gather(Float, x, dr.compress(x > 2))

    for _ in range(3):
        f(ramp(4))
        dr.sync_thread()
        assert capsys.readouterr().out == "lane [0]\n"
    assert f.n_recordings == 0 and "after one that prints" in f.explain()


# ---------------------------------------------------------------------- assertions


def asserts_entries(x: Float) -> Float:
    y = x * 2
    dr.assert_true(y > 0, "not positive: {}", y)
    dr.assert_equal(y, x + x)
    dr.assert_false(dr.isnan(y))
    return y


def asserts_in_a_loop(x: Float) -> Float:
    def body(i: UInt, x: Float) -> tuple[UInt, Float]:
        dr.assert_true(x > -1, "lane: {}", x)
        return i + 1, x - 1

    return dr.while_loop((UInt(0), x), lambda i, x: i < 2, body, mode="symbolic")[1]


def reads_out_of_bounds(x: Float) -> Float:
    return dr.gather(Float, x, UInt(0, 3, 7))


@pytest.mark.parametrize(
    ("function", "recordings"),
    [(asserts_entries, 1), (asserts_in_a_loop, 1), (reads_out_of_bounds, 1)],
)
def test_debug_checks(
    function: Callable[[Float], Float],
    recordings: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    frozen = dr.freeze(function)

    def outcome(call: Callable[[Float], Float], n: int, start: float) -> Any:
        try:
            values: Any = list(call(ramp(n, start)))
        except AssertionError as error:
            values = str(error)
        dr.sync_thread()
        return values, capfd.readouterr().err

    with dr.scoped_set_flag(dr.JitFlag.Debug):
        for n, start in ((4, 1), (4, 2), (10, 1), (4, -1), (4, 1), (8, -2), (5, 3)):
            assert outcome(frozen, n, start) == outcome(function, n, start)
    assert frozen.n_recordings == recordings


def test_gradients_that_are_not_finite(capfd: pytest.CaptureFixture[str]) -> None:
    def f(y: Float) -> Float:
        x = Tracked(y)
        dr.enable_grad(x)
        dr.backward(dr.sum(dr.sqrt(x)))
        return dr.grad(x)

    frozen = dr.freeze(f)

    def outcome(call: Callable[[Float], Float], start: float) -> Any:
        values = str(call(ramp(4, start)))
        return values, capfd.readouterr().err

    with dr.scoped_set_flag(dr.JitFlag.Debug):
        for start in (1, 2, 0, 2, 0):
            values, err = outcome(frozen, start)
            assert values == outcome(f, start)[0]
            assert ("not finite" in err) == (start == 0)
    assert frozen.n_recordings == 1
