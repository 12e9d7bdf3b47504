"""What the kernels of reverse derivatives consist of: no more than has to be."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float, Float64, UInt

INF, NAN = math.inf, math.nan


def make(t: Any, *values: float) -> Any:
    array = t(list(values))
    dr.make_opaque(array)
    return array


def reverse(fn: Callable[..., Any], *args: Any) -> tuple[list[Any], Counter[str]]:
    """Gradients by all arguments, that of the result being in memory, and how often
    each operation stands in the kernels that compute them."""
    dr.enable_grad(*args)
    y = fn(*args)
    dr.set_grad(y, make(type(args[0]), *[1.25] * dr.width(y)))
    dr.enqueue(dr.ADMode.Backward, y)
    dr.traverse(dr.ADMode.Backward)
    found = [x.grad for x in args]
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(found)
        kernels = dr.kernel_history([dr.KernelType.JIT])
    text = "".join(kernel["ir"].getvalue() for kernel in kernels)
    return found, Counter(re.findall(r"= (\w+)", text))


@pytest.mark.parametrize("function", [dr.minimum, dr.maximum])
def test_minimum_takes_one_comparison(function: Any) -> None:
    x, y = make(Float, 1, 2, 3), make(Float, 3, 2, 1)
    _, ops = reverse(function, x, y)
    compared = sum(ops[op] for op in ("lt", "le", "gt", "ge", "eq", "neq", "or", "and"))
    assert compared == 1


def test_minimum_passes_to_the_operand_that_it_is() -> None:
    """By the definitions in ops.def, with NaN and zeros of both signs."""
    values = [NAN, 0.0, -0.0, 1.0, -INF]
    pairs = list(itertools.product(values, values))
    for function, first in (
        (dr.minimum, lambda a, b: not (b < a or a != a)),
        (dr.maximum, lambda a, b: a > b or b != b),
    ):
        x = make(Float64, *[a for a, _ in pairs])
        y = make(Float64, *[b for _, b in pairs])
        (by_x, by_y), _ = reverse(function, x, y)
        expected = np.array([1.25 * first(a, b) for a, b in pairs])
        assert np.array_equal(by_x.numpy(), expected)
        assert np.array_equal(by_y.numpy(), 1.25 - expected)


def test_products_are_added_in_one_operation() -> None:
    x, y = make(Float, 1, 2, 3), make(Float, 3, 2, 1)
    (by_x, by_y), ops = reverse(lambda x, y: x * y + x * x + x * 3, x, y)
    assert ops["fma"] == 3 and not ops["add"]
    assert ops["eq"] == 1  # of what is 0 whatever the factors are
    assert np.array_equal(by_x.numpy(), 1.25 * (y.numpy() + 2 * x.numpy() + 3))
    assert np.array_equal(by_y.numpy(), 1.25 * x.numpy())


def test_signs_are_left_to_sums() -> None:
    x, y = make(Float, 1, 2, 3), make(Float, 3, 2, 1)
    (by_x, by_y), ops = reverse(lambda x, y: (x - y * 3) * x + y, x, y)
    assert not ops["neg"]
    a, b = x.numpy(), y.numpy()
    assert np.allclose(by_x.numpy(), 1.25 * (2 * a - 3 * b), rtol=1e-6)
    assert np.allclose(by_y.numpy(), 1.25 * (1 - 3 * a), rtol=1e-6)


@pytest.mark.parametrize("weight", [INF, -INF, NAN])
@pytest.mark.parametrize("sign", [1, -1])
def test_zeros_in_sums_stay_zero(weight: float, sign: int) -> None:
    """A product whose gradient is 0 in some lanes adds nothing there."""
    x, w = make(Float64, 1, 2), make(Float64, weight, 3)
    mask = dr.arange(dr.llvm.ad.UInt, 2) == 1
    (by_x, _), _ = reverse(
        lambda x, w: dr.select(mask, sign * (x * w), 0) + x * 7 - x, x, w
    )
    assert np.array_equal(by_x.numpy(), [7.5, 1.25 * (6 + 3 * sign)])


def test_sums_under_one_mask_are_masked_once() -> None:
    """Both factors of a product of something with itself have the same gradient, and
    the sum need not wait for its comparison with 0."""
    x = make(Float, 1, 2, 3)
    (by_x,), ops = reverse(lambda x: x * (1.5 - x), x)
    assert ops["select"] == 1 and ops["eq"] == 1
    assert np.array_equal(by_x.numpy(), 1.25 * (1.5 - 2 * x.numpy()))


def test_sums_of_selections() -> None:
    x = make(Float, 1, 2, 3, 4)
    mask = make(Float, 1, 0, 1, 0) > 0

    def fn(x: Any) -> Any:
        return dr.select(mask, x, 3) - dr.select(mask, 2, x * 4) - x * x

    (by_x,), _ = reverse(fn, x)
    on = np.array([1, 0, 1, 0])
    expected = 1.25 * (on - 4 * (1 - on) - 2 * x.numpy())
    assert np.array_equal(by_x.numpy(), expected)


def test_debug_mode_has_the_same_bits() -> None:
    """There edges are passed one by one."""
    rng = np.random.default_rng(1)
    values = rng.uniform(-2, 2, (2, 100))

    def gradients() -> list[Any]:
        x, y = make(Float64, *values[0]), make(Float64, *values[1])
        found, _ = reverse(
            lambda x, y: dr.sin(x * y) * (x - y * 1.7) - dr.minimum(x * x, y) * y, x, y
        )
        return [a.numpy() for a in found]

    expected = gradients()
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        found = gradients()
    for a, b in zip(found, expected, strict=True):
        assert np.array_equal(a, b)


def test_copies_of_a_loops_target() -> None:
    """The gradient of a gather in a loop goes to private copies where they are asked
    for, and what was queued for the array before is not lost."""
    x = dr.zeros(Float, 1000)
    i = dr.arange(UInt, 5000) % 900
    dr.make_opaque(x, i)
    dr.enable_grad(x)

    def total() -> Float:
        def step(k: UInt, t: Float) -> tuple[UInt, Float]:
            for j in (0, 1):
                t += dr.gather(Float, x, i + k + j, mode=dr.ReduceMode.Expand) * (j + 2)
            return k + 1, t

        start = UInt(0), dr.zeros(Float, 5000)
        return dr.while_loop(start, lambda k, t: k < 8, step, max_iterations=-1)[1]

    expected = np.zeros(1000)
    for k in range(8):
        for j in (0, 1):
            np.add.at(expected, i.numpy() + k + j, j + 2)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.backward(total())
        dr.backward(total() * 2)
        found = x.grad.numpy()
        kernels = [
            kernel["ir"].getvalue()
            for kernel in dr.kernel_history()
            if kernel["type"] == dr.KernelType.JIT
        ]
    assert (found == 3 * expected).all()
    text = "".join(kernels)
    assert text.count("scatter.add.expand") >= 2 and "scatter.add.local" not in text
