"""Scatter-reductions of floats with JitFlag.Deterministic, against a model in NumPy.

The model adds lane by lane in the order that docs/reductions.md gives. Bits are
compared, for all types, on both sides of each limit, with several numbers of threads
and all engines.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Array2f, Bool, Float, Float16, Float64, Int, UInt
from drjit.llvm.ad import Float as AdFloat

Array = np.ndarray[Any, Any]

TYPES = {Float16: np.float16, Float: np.float32, Float64: np.float64}
BITS = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}
OPERATIONS = {
    dr.ReduceOp.Add: (lambda a, b: a + b, -0.0),
    dr.ReduceOp.Mul: (lambda a, b: a * b, 1.0),
}
# Lanes and entries: one block; the least length of blocks; two lanes for each entry,
# and eight; 64 blocks at most; several threads for one block.
SIZES = [
    (1, 1),
    (17, 3),
    (1000, 7),
    (1088, 5),
    (1089, 5),
    (1090, 1),
    (3000, 200),
    (8500, 1000),
    (8100, 1000),
    (2100, 1000),
    (2200, 1000),
    (17_000, 1000),
    (70_000, 10),
    (70_000, 3),
    (50_000, 20_000),
]


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    with dr.scoped_set_flag(dr.JitFlag.Deterministic):
        yield


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = dr.thread_count()
    yield dr.set_thread_count
    dr.set_thread_count(before)


def block_length(lanes: int, entries: int) -> int:
    """As documented: an odd multiple of 64."""
    half = max(2 * entries, -(-lanes // 2))
    length = max(1024, min(8 * entries, half), -(-lanes // 64))
    lines = -(-length // 64)
    return 64 * (lines if lines % 2 else lines + 1)


def model(
    op: dr.ReduceOp, target: Array, value: Array, index: Array, mask: Array
) -> Array:
    combine, neutral = OPERATIONS[op]
    lanes, kind = len(index), target.dtype.type
    length = block_length(lanes, len(target))
    wide = np.float32 if kind == np.float16 else kind
    total = None
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, lanes, length):
            copy = target.copy() if begin == 0 else np.full_like(target, neutral)
            for i in range(begin, min(begin + length, lanes)):
                if mask[i]:
                    copy[index[i]] = combine(copy[index[i]], value[i])
            if total is None:
                total = copy.astype(wide)
            else:
                total = combine(total, copy.astype(wide))
        assert total is not None
        return total.astype(kind)


def same(found: Any, expected: Array) -> bool:
    bits = BITS[expected.dtype.type]
    return bool(np.array_equal(np.array(found).view(bits), expected.view(bits)))


def inputs(
    kind: Any, op: dr.ReduceOp, lanes: int, entries: int, pattern: str
) -> tuple[Array, ...]:
    rng = np.random.default_rng(lanes + entries)
    spread = 1.0 if op == dr.ReduceOp.Add else 0.05
    near = 0.0 if op == dr.ReduceOp.Add else 1.0
    value = (near + spread * rng.standard_normal(lanes)).astype(kind)
    target = rng.standard_normal(entries).astype(kind)
    target[0] = -0.0
    index = {
        "random": lambda: rng.integers(0, entries, lanes),
        "sorted": lambda: np.arange(lanes) * entries // lanes,
        "cyclic": lambda: np.arange(lanes) % entries,
        "pairs": lambda: np.arange(lanes) // 2 % entries,
    }[pattern]()
    return target, value, index.astype(np.uint32)


def scatter(
    Type: Any,
    op: dr.ReduceOp,
    target: Array,
    value: Array,
    index: Array,
    mask: Any = True,
) -> Any:
    array = Type(target)
    dr.scatter_reduce(op, array, Type(value), UInt(index), mask)
    return array


@pytest.mark.parametrize("pattern", ["random", "sorted", "cyclic", "pairs"])
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("Type", TYPES)
def test_order(Type: Any, op: dr.ReduceOp, pattern: str) -> None:
    for lanes, entries in SIZES:
        target, value, index = inputs(TYPES[Type], op, lanes, entries, pattern)
        everywhere = np.ones(lanes, bool)
        found = scatter(Type, op, target, value, index)
        assert same(found, model(op, target, value, index, everywhere)), (
            lanes,
            entries,
        )
        mask = np.random.default_rng(5).random(lanes) < 0.7
        found = scatter(Type, op, target, value, index, Bool(mask))
        assert same(found, model(op, target, value, index, mask)), (lanes, entries)


def test_order_differs_from_lane_order() -> None:
    """The model tells orders apart: what is compared above has to be proved."""
    target, value, index = inputs(np.float32, dr.ReduceOp.Add, 70_000, 10, "random")
    plain = target.copy()
    np.add.at(plain, index, value)
    assert not same(scatter(Float, dr.ReduceOp.Add, target, value, index), plain)


def test_threads(threads: Callable[[int], None]) -> None:
    sizes = [(1 << 18, 5), (1 << 18, 70_000), (1 << 18, 30_000), (1 << 17, 1 << 18)]
    for lanes, entries in sizes:
        for pattern in ("random", "sorted", "cyclic"):
            data = inputs(np.float32, dr.ReduceOp.Add, lanes, entries, pattern)
            mask = Bool(np.arange(lanes) % 3 != 0)
            hashes = set()
            for count in (0, 1, 2, 5, 8):
                threads(count)
                for active in (True, mask):
                    found = np.array(scatter(Float, dr.ReduceOp.Add, *data, active))
                    hashes.add(
                        (active is mask, hashlib.sha256(found.tobytes()).hexdigest())
                    )
            assert len(hashes) == 2, (lanes, entries, pattern)


def test_range_of_entries(threads: Callable[[int], None]) -> None:
    """Several threads for one block, against the model."""
    threads(5)
    for entries in (30_011, 15_013):  # one block, two blocks
        for pattern in ("random", "sorted", "cyclic"):
            target, value, index = inputs(
                np.float32, dr.ReduceOp.Add, 40_000, entries, pattern
            )
            mask = np.arange(40_000) % 7 != 0
            found = scatter(Float, dr.ReduceOp.Add, target, value, index, Bool(mask))
            assert same(found, model(dr.ReduceOp.Add, target, value, index, mask))


PROGRAM = """
import hashlib, sys
import drjit as dr
from drjit.llvm import Float16, Float, Float64, UInt
from drjit.llvm.ad import Float as AdFloat
dr.set_flag(dr.JitFlag.Deterministic, True)
state = hashlib.sha256()
n = 30_000
i = dr.arange(UInt, n)
for m in (3, 900, 20_000):
    index = (i * 2654435761 ^ (i >> 7)) % m
    for Type in (Float16, Float, Float64):
        for op in (dr.ReduceOp.Add, dr.ReduceOp.Mul):
            x = dr.full(Type, 1, m)
            value = Type(i % 1024) * Type(0.001) + Type(0.5)
            dr.scatter_reduce(op, x, value, index, i % 5 != 0)
            state.update(x.numpy().tobytes())
    x = dr.arange(AdFloat, m)
    dr.enable_grad(x)
    y = dr.gather(AdFloat, x, index) * (AdFloat(i) * 0.37 + 0.1)
    dr.backward(dr.sum(y * y))
    state.update(x.grad.numpy().tobytes())
print(state.hexdigest())
"""


def test_engines() -> None:
    hashes = set()
    for engine in ("native", "llvm", "interp"):
        for isa in ("avx2", "avx512") if engine == "native" else ("",):
            environment = os.environ | {"DRJIT_CPU_ENGINE": engine}
            if isa:
                environment["DRJIT_NATIVE_ISA"] = isa
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                env=environment,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            hashes.add(done.stdout)
    assert len(hashes) == 1


def test_operands_with_one_entry() -> None:
    lanes = 5000
    everywhere = np.ones(lanes, bool)
    value = np.random.default_rng(1).random(lanes, np.float32)
    where = np.arange(lanes, dtype=np.uint32) % 3
    start = np.zeros(3, np.float32)
    one = dr.zeros(Float, 3)
    dr.scatter_add(one, Float(value), UInt(1))  # all lanes to one entry
    expected = model(dr.ReduceOp.Add, start, value, np.full(lanes, 1), everywhere)
    assert same(one, expected)
    for number in (Float(0.1), dr.opaque(Float, 0.1)):
        same_value = dr.zeros(Float, 3)
        dr.scatter_add(same_value, number, UInt(where))
        tenth = np.full(lanes, 0.1, np.float32)
        assert same(same_value, model(dr.ReduceOp.Add, start, tenth, where, everywhere))
    assert Float(0.1).state == dr.VarState.Literal
    none = dr.full(Float, 2, 3)
    dr.scatter_add(none, Float(value), UInt(where), Bool(False))
    dr.scatter_add(none, Float(value), UInt(where), dr.opaque(Bool, False))
    assert np.array_equal(none, [2, 2, 2])
    dr.scatter_add(none, 5.0, UInt(1))
    dr.scatter_add(none, Float(), UInt())
    assert np.array_equal(none, [2, 7, 2])


def test_signed_indices_and_structures() -> None:
    x = dr.zeros(Float, 2)
    dr.scatter_add(x, Float(1, 2, 3), Int(1, 0, 1))
    assert np.array_equal(x, [2, 4])
    pair = dr.zeros(Array2f, 3)
    dr.scatter_add(pair, Array2f([1, 2, 3], [10, 20, 30]), UInt(2, 0, 2))
    assert np.array_equal(pair, [[2, 0, 4], [20, 0, 40]])
    flat = dr.zeros(Float, 6)  # a packet
    dr.scatter_add(flat, Array2f([1, 2, 3], [10, 20, 30]), UInt(2, 0, 2))
    assert np.array_equal(flat, [2, 20, 0, 0, 4, 40])


def test_copy_on_write() -> None:
    x = Float(1, 2, 3)
    y = Float(x)
    read = dr.gather(Float, x, UInt(0, 1, 2))  # still to come
    dr.scatter_add(x, read, UInt(0, 0, 2))
    assert np.array_equal(x, [4, 2, 6]) and np.array_equal(y, [1, 2, 3])
    assert np.array_equal(read, [1, 2, 3])
    dr.scatter_add(x, x, UInt(2, 1, 0))
    assert np.array_equal(x, [10, 4, 10])


def test_after_writes_that_are_queued() -> None:
    x = dr.zeros(Float, 4)
    dr.scatter(x, Float(7, 8), UInt(0, 1))
    dr.scatter_add(x, Float(1, 1), UInt(0, 0))
    with dr.scoped_set_flag(dr.JitFlag.Deterministic, False):
        dr.scatter_add(x, Float(1, 1), UInt(0, 3), mode=dr.ReduceMode.Expand)
    dr.scatter_add(x, Float(1, 1), UInt(3, 3))
    assert np.array_equal(x, [10, 8, 0, 3])


@pytest.mark.parametrize("mode", list(dr.ReduceMode))
def test_modes(mode: dr.ReduceMode) -> None:
    target, value, index = inputs(np.float32, dr.ReduceOp.Add, 3000, 200, "random")
    if mode == dr.ReduceMode.Permute:
        return  # not for reductions
    if mode == dr.ReduceMode.NoConflicts:
        index = np.arange(200, dtype=np.uint32)[::-1].copy()
        value = value[:200]
    x = Float(target)
    dr.scatter_reduce(dr.ReduceOp.Add, x, Float(value), UInt(index), mode=mode)
    everywhere = np.ones(len(index), bool)
    assert same(x, model(dr.ReduceOp.Add, target, value, index, everywhere))


def test_what_has_no_order_is_as_ever() -> None:
    """Integers, minimum, and what cannot meet take part in kernels."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        i = dr.arange(UInt, 1000)
        count, least = dr.zeros(UInt, 10), dr.full(Float, 1e9, 10)
        other = dr.zeros(Float, 1000)
        dr.kernel_history_clear()
        dr.scatter_add(count, UInt(1), i % 10)
        dr.scatter_reduce(dr.ReduceOp.Min, least, Float(i), i % 10)
        dr.scatter_add(other, Float(i), i, mode=dr.ReduceMode.NoConflicts)
        dr.eval(count, least, other)
        kernels = [e for e in dr.kernel_history() if e["type"] == dr.KernelType.JIT]
    assert len(kernels) == 1
    assert np.array_equal(count, np.full(10, 100)) and np.array_equal(
        least, np.arange(10)
    )


def test_gradient_of_gather() -> None:
    lanes, entries = 20_000, 50
    rng = np.random.default_rng(3)
    index = rng.integers(0, entries, lanes).astype(np.uint32)
    factor = rng.standard_normal(lanes).astype(np.float32)
    x = dr.zeros(AdFloat, entries)
    dr.enable_grad(x)
    with dr.scoped_set_flag(dr.JitFlag.Deterministic, False):
        y = dr.gather(AdFloat, x, UInt(index)) * Float(factor)
    dr.backward(y)  # what is set now counts
    zero, everywhere = np.zeros(entries, np.float32), np.ones(lanes, bool)
    assert same(x.grad, model(dr.ReduceOp.Add, zero, factor, index, everywhere))


def gradient_in_loop(index: UInt) -> bytes:
    x = dr.arange(AdFloat, 9)
    dr.enable_grad(x)
    _, total = dr.while_loop(
        (UInt(0), dr.zeros(AdFloat, 3000)),
        lambda i, t: i < 3,
        lambda i, t: (i + 1, t + dr.gather(AdFloat, x, index) * (AdFloat(i) + 0.1)),
        mode="evaluated",
    )
    dr.backward(dr.sum(total * total))
    return np.array(x.grad).tobytes()


def test_gradient_in_evaluated_loop(threads: Callable[[int], None]) -> None:
    index = np.random.default_rng(4).integers(0, 9, 3000).astype(np.uint32)
    found = set()
    for count in (1, 2, 8):
        threads(count)
        found.add(gradient_in_loop(UInt(index)))
    assert len(found) == 1


def loop_with_scatter(mode: str) -> Any:
    target = dr.zeros(Float, 2)

    def body(i: UInt) -> tuple[UInt]:
        dr.scatter_add(target, Float(i) + 0.5, i % 2)
        return (i + 1,)

    dr.while_loop((dr.arange(UInt, 5),), lambda i: i < 8, body, mode=mode)
    return target


def test_recorded_bodies_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"scatter.*JitFlag\.Deterministic"):
        loop_with_scatter("symbolic")
    target = Float(1, 2)

    def add(x: Float) -> Float:
        dr.scatter_add(target, x, UInt(0))
        return x

    with pytest.raises(RuntimeError, match=r"scatter.*JitFlag\.Deterministic"):
        dr.if_stmt(
            (Float(1, 2, 3),),
            Bool(True, False, True),
            add,
            lambda x: x,
            mode="symbolic",
        )
    with pytest.raises(RuntimeError, match=r"scatter.*JitFlag\.Deterministic"):
        dr.switch(UInt(0, 1, 1), [add, lambda x: x], Float(1, 2, 3), mode="symbolic")
    assert np.array_equal(target, [1, 2])


def test_evaluated_bodies() -> None:
    expected = np.zeros(2)
    for start in range(5):
        for i in range(start, 8):
            expected[i % 2] += i + 0.5
    assert np.array_equal(loop_with_scatter("evaluated"), expected)
    target = Float(1, 2)

    def add(x: Float) -> Float:
        dr.scatter_add(target, x, UInt(0))
        return x

    dr.if_stmt(
        (Float(1, 2, 4),), Bool(True, False, True), add, lambda x: x, mode="evaluated"
    )
    assert np.array_equal(target, [6, 2])
    dr.switch(UInt(0, 1, 1), [add, lambda x: x], Float(1, 2, 4), mode="evaluated")
    assert np.array_equal(target, [7, 2])


def test_evaluated_body_that_fails() -> None:
    target = Float(1, 2)

    def add(x: Float) -> Float:
        dr.scatter_add(target, x, UInt(0))
        raise ValueError("given up")

    with pytest.raises(ValueError, match="given up"):
        dr.if_stmt(
            (Float(1, 2, 4),),
            Bool(True, False, True),
            add,
            lambda x: x,
            mode="evaluated",
        )
    assert np.array_equal(target, [1, 2])


def gradient_of_number(weight: Array) -> Any:
    x = AdFloat(0.5)
    dr.enable_grad(x)
    _, total = dr.while_loop(
        (UInt(np.arange(1000) % 5), dr.zeros(AdFloat, 1000)),
        lambda i, t: i < 7,
        lambda i, t: (i + 1, t + x * AdFloat(weight) * AdFloat(i)),
        mode="symbolic",
        max_iterations=8,
    )
    dr.backward(total)
    return x.grad


def test_tracked_number_in_recorded_loop(threads: Callable[[int], None]) -> None:
    """Its gradient is a sum over lanes, which is formed after the loop."""
    weight = np.linspace(0.1, 0.9, 1000).astype(np.float32)
    rounds = sum(
        np.arange(k % 5, 7).sum() * weight[k].astype(float) for k in range(1000)
    )
    found = set()
    for count in (1, 2, 8):
        threads(count)
        gradient = gradient_of_number(weight)
        assert np.allclose(gradient, rounds, rtol=1e-4)
        found.add(np.array(gradient).tobytes())
    assert len(found) == 1


def test_gradient_within_recorded_loop() -> None:
    """Each iteration adds to the gradient of a number: there is no order for that."""
    x = AdFloat(0.5)
    dr.enable_grad(x)

    def body(i: UInt) -> tuple[UInt]:
        dr.backward(x * dr.arange(AdFloat, 100) * AdFloat(i))
        return (i + 1,)

    with pytest.raises(RuntimeError, match=r"JitFlag\.Deterministic"):
        dr.while_loop(
            (dr.arange(UInt, 100) % 5,), lambda i: i < 7, body, mode="symbolic"
        )


def test_kahan_is_refused() -> None:
    a, b = dr.zeros(Float, 2), dr.zeros(Float, 2)
    with pytest.raises(
        RuntimeError, match=r"scatter_add_kahan.*JitFlag\.Deterministic"
    ):
        dr.scatter_add_kahan(a, b, Float(1, 2), UInt(0, 0))


def test_bounds_in_debug_mode() -> None:
    x = dr.zeros(Float, 3)
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        dr.scatter_add(x, Float(1, 2, 4), UInt(0, 7, 0))
        assert np.array_equal(x, [5, 0, 0])


def add_up(value: Any, index: Any, target: Any) -> Any:
    result = target + 0
    dr.scatter_add(result, value * 2, index, value > 0.2)
    dr.scatter_add(result, 0.25, index)
    return result


def test_frozen(tmp_path: Any) -> None:
    frozen = dr.freeze(add_up)
    sizes = [(3000, 40), (500, 40), (20_000, 7), (100, 3000), (70_001, 2), (3000, 40)]
    for lanes, entries in sizes:
        target, value, index = inputs(
            np.float32, dr.ReduceOp.Add, lanes, entries, "random"
        )
        args = Float(value), UInt(index), Float(target)
        first, everywhere = value > np.float32(0.2), np.ones(lanes, bool)
        half = model(dr.ReduceOp.Add, target, value * np.float32(2), index, first)
        quarter = np.full(lanes, 0.25, np.float32)
        expected = model(dr.ReduceOp.Add, half, quarter, index, everywhere)
        assert same(frozen(*args), expected), (lanes, entries)
    assert frozen.n_recordings == 1
    with dr.scoped_set_flag(dr.JitFlag.Deterministic, False):
        assert dr.allclose(frozen(*args), Float(expected), rtol=1e-3)
    assert frozen.n_recordings == 2  # the flag is part of the key


def test_saved(tmp_path: Any) -> None:
    frozen = dr.freeze(add_up)
    frozen(Float(1, 2, 3), UInt(0, 1, 0), Float(0, 0))
    frozen.save(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f")
    target, value, index = inputs(np.float32, dr.ReduceOp.Add, 5000, 30, "random")
    args = Float(value), UInt(index), Float(target)
    assert np.array(loaded(*args)).tobytes() == np.array(add_up(*args)).tobytes()
    with (
        dr.scoped_set_flag(dr.JitFlag.Deterministic, False),
        pytest.raises(RuntimeError),
    ):
        loaded(*args)


def test_frozen_gradient() -> None:
    def gradient(x: AdFloat, index: UInt, factor: Float) -> Any:
        x = AdFloat(x)
        dr.enable_grad(x)
        dr.backward(dr.gather(AdFloat, x, index) * factor)
        return dr.grad(x)

    frozen = dr.freeze(gradient)
    for lanes, entries in [(3000, 40), (20_000, 7), (100, 3000)]:
        target, factor, index = inputs(
            np.float32, dr.ReduceOp.Add, lanes, entries, "random"
        )
        found = frozen(AdFloat(target), UInt(index), Float(factor))
        zero, everywhere = np.zeros(entries, np.float32), np.ones(lanes, bool)
        assert same(found, model(dr.ReduceOp.Add, zero, factor, index, everywhere))
    assert frozen.n_recordings == 1
