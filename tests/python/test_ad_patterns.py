"""Gathers whose positions are a row, a column or what lies between, known from how
they are computed: in reverse these are sums in one order, that of blocks and matrix
products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Bool, Float, Float64, Int, UInt


class Case(NamedTuple):
    lanes: int
    entries: int
    index: Callable[[Any], Any]  # of the numbers of lanes, also by NumPy
    known: bool = True


CASES = {
    "rows": Case(60, 12, lambda i: i // 5),
    "rows by a shift": Case(96, 12, lambda i: i >> 3),
    "rows of a power of two": Case(96, 12, lambda i: i // 8),
    "rows of rows": Case(60, 10, lambda i: i // 2 // 3),
    "the last row ends early": Case(58, 12, lambda i: i // 5),
    "columns": Case(60, 12, lambda i: i % 12),
    "columns by a mask": Case(96, 16, lambda i: i & 15),
    "columns of a power of two": Case(96, 16, lambda i: i % 16),
    "columns by hand": Case(60, 12, lambda i: i - i // 12 * 12),
    "columns by hand, by shifts": Case(96, 16, lambda i: i - (i >> 4 << 4)),
    "columns of columns": Case(60, 6, lambda i: i % 12 % 6),
    "the last column ends early": Case(67, 12, lambda i: i % 12),
    "middle": Case(120, 4, lambda i: i // 5 % 4),
    "middle, by hand": Case(120, 4, lambda i: i // 5 - i // 5 // 4 * 4),
    "middle, the last row ends early": Case(107, 4, lambda i: i // 5 % 4),
    "middle of a column": Case(120, 4, lambda i: i % 20 // 5),
    "middle of a power of two": Case(128, 4, lambda i: (i >> 2) & 3),
    "a remainder without effect": Case(60, 12, lambda i: i // 5 % 50),
    "each once": Case(12, 12, lambda i: i),
    "each once, of more": Case(7, 12, lambda i: i),
    "each once, of many": Case(5, 12, lambda i: i, False),
    "neighbours": Case(11, 12, lambda i: i + 1),
    "rows that are missing": Case(30, 12, lambda i: i // 5, False),
    "fewer than there are": Case(60, 13, lambda i: i % 12, False),
    "other steps": Case(60, 12, lambda i: i * 7 % 12, False),
    "not a multiple": Case(60, 5, lambda i: i % 12 % 5, False),
    "blocks that do not fit": Case(60, 3, lambda i: i % 12 // 5, False),
    "mask with gaps": Case(60, 11, lambda i: i & 10, False),
    "an offset": Case(60, 13, lambda i: (i + 1) // 5, False),
}


def numbers(count: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [UInt, Int])
def test_values(name: str, kind: Any) -> None:
    lanes, entries, index, _ = CASES[name]
    places = np.asarray(index(np.arange(lanes)))
    x, w = numbers(entries, 1), numbers(lanes, 2)
    source = Float64(x)
    dr.enable_grad(source)
    assert np.array_equal(index(dr.arange(kind, lanes)), places)

    def gathered() -> Any:
        return dr.gather(Float64, source, index(dr.arange(kind, lanes)))

    dr.backward(dr.sum(dr.square(gathered()) * Float64(w)))
    expected = np.zeros(entries)
    np.add.at(expected, places, 2 * w * x[places])
    assert np.allclose(source.grad, expected, rtol=1e-13, atol=1e-13)

    # What arrives is added; a gradient of one entry is one of all.
    y = gathered()
    dr.set_grad(y, 2)
    dr.enqueue(dr.ADMode.Backward, y)
    dr.traverse(dr.ADMode.Backward)
    expected += 2 * np.bincount(places, minlength=entries)
    assert np.allclose(source.grad, expected, rtol=1e-13, atol=1e-13)

    t = numbers(entries, 3)
    dr.set_grad(source, Float64(t))
    assert np.allclose(dr.forward_to(gathered()), t[places], rtol=1e-15)

    _, second = dr.ad.hvp(
        lambda s: dr.sum(
            dr.gather(Float64, s, index(dr.arange(kind, lanes))) ** 3 * Float64(w)
        ),
        (Float64(x),),
        (Float64(t),),
    )
    expected = np.zeros(entries)
    np.add.at(expected, places, 6 * w * x[places] * t[places])
    assert np.allclose(second[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_which_are_known(name: str) -> None:
    """Others are scatter-additions."""
    lanes, entries, index, known = CASES[name]
    source = Float64(numbers(entries, 1))
    dr.enable_grad(source)
    y = dr.gather(Float64, source, index(dr.arange(UInt, lanes)))
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        dr.backward(y * y)
        dr.eval(source.grad)
        programs = [e["ir"].read() for e in dr.kernel_history() if "ir" in e]
    assert any("scatter.add" in program for program in programs) == (not known)


def gradient(case: Case, scale: int) -> Any:
    """Of a sum over ``scale`` times as many lanes, in single precision."""
    lanes, entries = case.lanes * scale, case.entries
    wide = Float(numbers(lanes, 5).astype(np.float32))
    source = Float(numbers(entries, 6).astype(np.float32))
    dr.enable_grad(source)
    y = dr.gather(Float, source, case.index(dr.arange(UInt, lanes)))
    dr.backward(dr.sum(dr.sin(y) * wide))
    return source.grad.numpy(), y, wide


LARGE = {
    "columns": Case(60, 12, lambda i: i % 12),
    "many columns": Case(60, 5000, lambda i: i % 5000),
    "columns that end early": Case(61, 1001, lambda i: i % 1001),
    "columns by a mask": Case(64, 1024, lambda i: i & 1023),
    "rows": Case(60, 300, lambda i: i // 1000),
    "rows that end early": Case(60, 298, lambda i: i // 1007),
    "middle": Case(60, 40, lambda i: i // 50 % 40),
}


@pytest.mark.parametrize("name", LARGE)
def test_one_order(name: str) -> None:
    case, found, threads = LARGE[name], set(), dr.thread_count()
    try:
        for count in (threads, 0, 1, 2, 5):
            dr.set_thread_count(count)
            for _ in range(20 if count == threads else 4):
                grad, y, wide = gradient(case, 5000)
                found.add(grad.tobytes())
    finally:
        dr.set_thread_count(threads)
    assert len(found) == 1
    places = np.asarray(case.index(np.arange(case.lanes * 5000)))
    slopes = np.cos(y.numpy().astype(float)) * wide.numpy()
    expected = np.bincount(places, slopes, case.entries)
    scale = np.sqrt(np.bincount(places, slopes**2, case.entries)).max()
    assert np.allclose(grad, expected, rtol=0, atol=2e-5 * scale)


def test_of_tensors() -> None:
    """The gather that a program writes has the bits of the operand that is repeated."""
    wide = numbers(700 * 900, 8).astype(np.float32).reshape(700, 900)
    kind = dr.llvm.ad.TensorXf
    for shape, index in (((1, 900), lambda i: i % 900), ((700, 1), lambda i: i // 900)):
        start = numbers(max(shape), 9).astype(np.float32)
        tensor, flat = kind(start.reshape(shape)), Float(start)
        dr.enable_grad(tensor, flat)
        dr.backward(dr.sum(kind(wide) * tensor))
        y = dr.gather(Float, flat, index(dr.arange(UInt, wide.size)))
        dr.backward(dr.sum(Float(wide.ravel()) * y))
        assert tensor.grad.numpy().tobytes() == flat.grad.numpy().tobytes()


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_where_it_does_not_apply(mode: str) -> None:
    """Masks, bodies, promises: all of them have the gradients that they have."""
    x, w = numbers(4, 1), numbers(20, 2)
    source, weights = Float64(x), Float64(w)
    dr.enable_grad(source)
    i, lanes = np.arange(20), dr.arange(UInt, 20)
    expected = np.zeros((4, 4))

    y = dr.gather(Float64, source, lanes % 4, lanes > 6)
    dr.backward(dr.sum(y * weights))
    np.add.at(expected[0], i % 4, w * (i > 6))
    found = [source.grad.numpy()]

    dr.clear_grad(source)
    masked = Bool(i % 3 == 0)
    y = dr.if_stmt(
        (lanes,),
        masked,
        lambda k: dr.gather(Float64, source, k % 4),
        lambda k: Float64(0),
        mode=mode,
    )
    dr.backward(dr.sum(y * weights))
    np.add.at(expected[1], i % 4, w * (i % 3 == 0))
    found.append(source.grad.numpy())

    dr.clear_grad(source)

    def body(k: Any, s: Any) -> Any:
        return k + 1, s + dr.gather(Float64, source, lanes // 5) * Float64(k)

    _, s = dr.while_loop(
        (UInt(0), dr.zeros(Float64, 20)), lambda k, s: k < 3, body, mode=mode
    )
    dr.backward(dr.sum(s * weights))
    np.add.at(expected[2], i // 5, 3 * w)
    found.append(source.grad.numpy())

    dr.clear_grad(source)
    y = dr.gather(Float64, source, lanes // 5, mode=dr.ReduceMode.Direct)
    dr.backward(dr.sum(y * weights))
    np.add.at(expected[3], i // 5, w)
    found.append(source.grad.numpy())
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_frozen_for_other_sizes() -> None:
    """A recording serves sizes for which positions are another pattern, or none."""

    @dr.freeze
    def function(source: Any, w: Any) -> Any:
        dr.enable_grad(source)
        y = dr.gather(Float64, source, dr.arange(UInt, dr.width(w)) % 4)
        dr.backward(dr.sum(y * y * w))
        return source.grad

    for lanes, entries in ((20, 4), (40, 4), (42, 4), (20, 7), (3, 4), (40, 9)):
        x, w = numbers(entries, lanes), numbers(lanes, entries)
        expected = np.zeros(entries)
        places = np.arange(lanes) % 4
        np.add.at(expected, places, 2 * w * x[places])
        found = function(Float64(x), Float64(w))
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_traversal_in_a_body() -> None:
    """What has waited for a result goes on after the loop."""
    for mode in ("symbolic", "evaluated"):
        x, w = numbers(4, 1), numbers(20, 2)
        source = Float64(x)
        dr.enable_grad(source)
        y = dr.gather(Float64, source, dr.arange(UInt, 20) % 4)

        def body(k: Any, y: Any = y, w: Any = w) -> Any:
            dr.backward(y * Float64(w) * Float64(k))
            return (k + 1,)

        dr.while_loop((UInt(0),), lambda k: k < dr.full(UInt, 4, 20), body, mode=mode)
        expected = np.zeros(4)
        np.add.at(expected, np.arange(20) % 4, 6 * w)
        assert np.allclose(source.grad, expected, rtol=1e-12)
