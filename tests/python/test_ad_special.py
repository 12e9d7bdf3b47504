"""Derivatives where functions have none, or an infinite one; gradients that are zero.

The conventions: a zero gradient times an infinite or NaN weight is zero; abs and what
is made of it has the derivative 0 at 0; of two operands that are equal, minimum passes
the derivative to the first and maximum to the second; reductions pass it to all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import drjit as dr
import drjit.ad
import numpy as np
import pytest
from drjit.llvm.ad import (
    Array3f64,
    Bool,
    Complex2f64,
    Float,
    Float16,
    Float64,
    TensorXf64,
    UInt,
)

INF, NAN = math.inf, math.nan
TINY = 5e-324  # the smallest number


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    yield
    assert dr._core._ad_node_count() == before  # type: ignore[attr-defined]


def in_memory(x: float) -> Any:
    array = Float64(x, x)
    dr.make_opaque(array)
    return array


def gradients(
    fn: Callable[..., Any], point: tuple[float, ...], make: Callable[[float], Any]
) -> list[float]:
    """By all arguments, reverse; forward ones are the same."""
    args = [make(x) for x in point]
    dr.enable_grad(*args)
    result = fn(*args)
    if not dr.grad_enabled(result):
        return [0.0] * len(args)
    dr.set_grad(result, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
    reverse = [float(x.grad.numpy()[0]) for x in args]
    for x, expected in zip(args, reverse, strict=True):
        dr.clear_grad((args, result))
        dr.set_grad(x, 1)
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
        forward = float(result.grad.numpy()[0])
        assert forward == expected or math.isnan(forward + expected)
    return reverse


BIG = math.sqrt(2.0**53)  # 1 / sqrt(epsilon)
ROOT_OF_TWO = math.sqrt(2)

SPECIAL: list[tuple[str, Callable[..., Any], tuple[float, ...], list[float]]] = [
    ("abs", dr.abs, (0.0,), [0]),
    ("abs", dr.abs, (-0.0,), [0]),
    ("abs", dr.abs, (-INF,), [-1]),
    ("abs", dr.abs, (-TINY,), [-1]),
    ("sqrt", dr.sqrt, (0.0,), [INF]),
    ("sqrt", dr.sqrt, (INF,), [0]),
    ("sqrt", dr.sqrt, (-1.0,), [NAN]),
    ("rsqrt", dr.rsqrt, (0.0,), [-INF]),
    ("rcp", dr.rcp, (0.0,), [-INF]),
    ("rcp", dr.rcp, (INF,), [0]),
    ("log", dr.log, (0.0,), [INF]),
    ("log", dr.log, (INF,), [0]),
    ("log2", dr.log2, (0.0,), [INF]),
    ("cbrt", dr.cbrt, (0.0,), [INF]),
    ("cbrt", dr.cbrt, (-0.0,), [INF]),
    ("cbrt", dr.cbrt, (INF,), [0]),
    ("asin", dr.asin, (1.0,), [INF]),
    ("asin", dr.asin, (1.5,), [NAN]),
    ("acos", dr.acos, (-1.0,), [-INF]),
    ("acosh", dr.acosh, (1.0,), [INF]),
    ("acosh", dr.acosh, (1e300,), [1e-300]),
    ("asinh", dr.asinh, (-1e300,), [1e-300]),
    ("atanh", dr.atanh, (1.0,), [INF]),
    ("atan", dr.atan, (INF,), [0]),
    ("erf", dr.erf, (-INF,), [0]),
    ("erfinv", dr.erfinv, (1.0,), [INF]),
    ("tanh", dr.tanh, (INF,), [0]),
    ("tanh", dr.tanh, (-1e4,), [0]),
    ("exp", dr.exp, (-INF,), [0]),
    ("exp", dr.exp, (NAN,), [NAN]),
    ("sin", dr.sin, (INF,), [NAN]),
    ("sin", dr.sin, (TINY,), [1]),
    ("lgamma", dr.lgamma, (0.0,), [-INF]),
    ("square", dr.square, (0.0,), [0]),
    ("safe_sqrt", dr.safe_sqrt, (0.0,), [0]),
    ("safe_sqrt", dr.safe_sqrt, (2.0**-53,), [0]),
    ("safe_sqrt", dr.safe_sqrt, (2.0**-52,), [0.5 * BIG / ROOT_OF_TWO]),
    ("safe_sqrt", dr.safe_sqrt, (-3.0,), [0]),
    ("safe_asin", dr.safe_asin, (1.0,), [0]),
    ("safe_asin", dr.safe_asin, (-1.0,), [0]),
    ("safe_asin", dr.safe_asin, (-7.0,), [0]),
    ("safe_asin", dr.safe_asin, (0.6,), [1.25]),
    ("safe_acos", dr.safe_acos, (1.0,), [0]),
    ("safe_acos", dr.safe_acos, (-1.0,), [0]),
    ("safe_acos", dr.safe_acos, (0.6,), [-1.25]),
    ("safe_sqrt", dr.safe_sqrt, (NAN,), [NAN]),
    ("safe_sqrt", dr.safe_sqrt, (INF,), [0]),
    ("safe_asin", dr.safe_asin, (NAN,), [NAN]),
    ("safe_acos", dr.safe_acos, (NAN,), [NAN]),
    ("safe_acos", dr.safe_acos, (INF,), [0]),
    ("minimum", dr.minimum, (2.0, 2.0), [1, 0]),
    ("minimum", dr.minimum, (0.0, -0.0), [1, 0]),
    ("minimum", dr.minimum, (NAN, 2.0), [0, 1]),
    ("minimum", dr.minimum, (2.0, NAN), [1, 0]),
    ("minimum", dr.minimum, (-INF, INF), [1, 0]),
    ("maximum", dr.maximum, (2.0, 2.0), [0, 1]),
    ("maximum", dr.maximum, (0.0, -0.0), [0, 1]),
    ("maximum", dr.maximum, (NAN, 2.0), [0, 1]),
    ("maximum", dr.maximum, (2.0, NAN), [1, 0]),
    ("clip", lambda x: dr.clip(x, -1, 1), (1.0,), [1]),
    ("clip", lambda x: dr.clip(x, -1, 1), (-1.0,), [0]),
    ("clip", lambda x: dr.clip(x, -1, 1), (3.0,), [0]),
    ("clip", lambda x, hi: dr.clip(x, -1, hi), (NAN, 2.0), [0, 1]),
    ("atan2", dr.atan2, (0.0, 0.0), [NAN, NAN]),
    ("atan2", dr.atan2, (1e-300, 1e-300), [5e299, -5e299]),
    ("atan2", dr.atan2, (1e300, 1e300), [5e-301, -5e-301]),
    ("atan2", dr.atan2, (0.0, -2.0), [-0.5, -0.0]),
    ("hypot", dr.hypot, (0.0, 0.0), [0, 0]),
    ("hypot", dr.hypot, (0.0, -3.0), [0, -1]),
    ("hypot", dr.hypot, (TINY, 0.0), [1, 0]),
    ("power", dr.power, (0.0, 2.0), [0, 0]),
    ("power", dr.power, (0.0, 1.0), [1, 0]),
    ("power", dr.power, (0.0, 0.5), [INF, 0]),
    ("power", dr.power, (0.0, 0.0), [0, -INF]),
    ("power", dr.power, (-2.0, 3.0), [12, NAN]),
    ("power", dr.power, (INF, -1.0), [-0.0, 0]),
    ("x ** 3", lambda x: x**3, (0.0,), [0]),
    ("x ** 1.5", lambda x: x**1.5, (0.0,), [0]),
    ("copysign", dr.copysign, (0.0, -2.0), [0, 0]),
    ("copysign", dr.copysign, (-3.0, -0.0), [1, 0]),
    ("copysign", dr.copysign, (3.0, -0.0), [-1, 0]),
    ("mulsign", dr.mulsign, (0.0, -2.0), [-1, 0]),
    ("mulsign", dr.mulsign, (3.0, -0.0), [1, 0]),
    ("product", lambda a, b: a * b, (0.0, INF), [INF, 0]),
    ("quotient", lambda a, b: a / b, (0.0, 0.0), [INF, NAN]),
    ("quotient", lambda a, b: a / b, (1.0, INF), [0, 0]),
    ("masked root", lambda x: dr.select(x > 0, dr.sqrt(x), 0), (0.0,), [0]),
    ("masked log", lambda x: dr.select(x > 0, dr.log(x), x), (-1.0,), [1]),
    ("zero times root", lambda x: 0 * dr.sqrt(x), (0.0,), [0]),
    ("masked quotient", lambda a, b: dr.select(b == 0, a, a / b), (1.0, 0.0), [1, 0]),
    ("of itself", lambda x: dr.select(x > 0, x, -x), (0.0,), [-1]),
    ("min of two", lambda x: dr.min(Array3f64(x, x, 5)), (2.0,), [1]),
    ("max of two", lambda a, b: dr.max(Array3f64(a, b, 1)), (2.0, 2.0), [0, 1]),
    ("prod", lambda a, b: dr.prod(Array3f64(a, b, 3)), (0.0, 2.0), [6, 0]),
    ("norm", lambda a, b: dr.norm(Array3f64(a, b, 0)), (0.0, 0.0), [0, 0]),
    ("norm", lambda a, b: dr.norm(Array3f64(a, b, 0)), (-3.0, 4.0), [-0.6, 0.8]),
    ("norm", lambda a, b: dr.norm(Array3f64(a, b, 0)), (NAN, 0.0), [NAN, NAN]),
    ("norm", lambda a, b: dr.norm([a, b]), (0.0, 0.0), [0, 0]),
]  # fmt: skip


@pytest.mark.parametrize("make", [in_memory, Float64], ids=["memory", "literal"])
@pytest.mark.parametrize("case", SPECIAL, ids=lambda c: f"{c[0]}{c[2]}")
def test_special_points(case: Any, make: Callable[[float], Any]) -> None:
    _, fn, point, expected = case
    found = gradients(fn, point, make)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_ties_of_reductions() -> None:
    """All entries that are the result get the gradient; products go without zeros."""
    for fn, expected in (
        (dr.min, [1, 0, 1, 0]), (dr.max, [0, 1, 0, 1]), (dr.prod, [4, 2, 4, 2])
    ):  # fmt: skip
        x = Float64(1, 2, 1, 2)
        dr.enable_grad(x)
        dr.backward(fn(x))
        assert x.grad.numpy().tolist() == expected
    x = Float64(0, 2, 3)
    dr.enable_grad(x)
    dr.backward(dr.prod(x))
    assert x.grad.numpy().tolist() == [0, 0, 0]
    t = TensorXf64([1, 1, 2, 5, 5, 5], (2, 3))
    dr.enable_grad(t)
    dr.backward(dr.sum(dr.min(t, axis=1)))
    assert t.grad.numpy().tolist() == [[1, 1, 0], [1, 1, 1]]
    for op, wanted in (
        (dr.ReduceOp.Min, [1, 1, 0, 0]),
        (dr.ReduceOp.Max, [0, 0, 0, 1]),
    ):
        y = Float64(1, 1, 2, 3)
        dr.enable_grad(y)
        dr.backward(dr.block_reduce(op, y, 4))
        assert y.grad.numpy().tolist() == wanted


def test_a_literal_mask_chooses_the_operand_itself() -> None:
    x, y = Float64(1, 2), Float64(3, 4)
    dr.enable_grad(x, y)
    assert dr.select(Bool(True), x, y).index_ad == x.index_ad
    assert dr.select(Bool(False), x, y).index_ad == y.index_ad
    assert dr.select(True, x, y).index_ad == x.index_ad
    z = dr.select(Bool(True), x, x * y)
    assert z.index_ad == x.index_ad


# ---------------------------------------------------------------- zero gradients


def hessian_times(fn: Callable[[Any], Any], x: Any, v: Any, how: str) -> Any:
    own = dr.detach(x)
    dr.enable_grad(own)
    result = fn(own)
    if how[0] == "f":
        dr.set_grad(own, v)
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Forward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
        first = dr.grad(result)
    else:
        dr.set_grad(result, 1)
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Backward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
        first = dr.grad(own)
    dr.clear_grad((own, result))
    if how[1] == "f":
        dr.set_grad(own, v)
        dr.enqueue(dr.ADMode.Backward, first)
        dr.traverse(dr.ADMode.Forward)
        return dr.grad(first)
    dr.set_grad(first, 1 if how[0] == "f" else v)
    dr.enqueue(dr.ADMode.Backward, first)
    dr.traverse(dr.ADMode.Backward)
    return dr.grad(own)


ONES = Float64(1, 1, 1)
RESIDUALS: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    # function of x, point, Hessian times ones there; residuals are 0 at some entries
    "sines": (
        lambda x: dr.sum(dr.square(dr.sin(x) - dr.sin(Float64(0.5, 0.5, 0.5)))),
        [0.5, 0.7, 0.5],
        [
            2 * math.cos(x) ** 2 - 2 * (math.sin(x) - math.sin(0.5)) * math.sin(x)
            for x in (0.5, 0.7, 0.5)
        ],
    ),
    "quotients": (
        lambda x: dr.sum(dr.square(1 / x - 0.5)), [2, 1, 2], [1 / 8, 6 - 2, 1 / 8]
    ),
    "sum": (lambda x: dr.square(dr.sum(x * x) - 14), [1, 2, 3], [48, 96, 144]),
    "prod": (lambda x: dr.square(dr.prod(x) - 6), [1, 2, 3], [132, 66, 44]),
    "dot": (lambda x: dr.square(dr.dot(x, x) - 14), [1, 2, 3], [48, 96, 144]),
    "gathered": (
        lambda x: dr.sum(dr.square(dr.gather(Float64, x * x, UInt(0, 0, 2)) - 1)),
        [1, 2, 1], [16, 0, 8],
    ),
    "power": (lambda x: dr.sum(dr.power(x - 1, 2)), [1, 2, 3], [2, 2, 2]),
    "entrywise": (lambda x: dr.sum((x - 1) * (x - 1) * x), [1, 2, 1], [2, 8, 2]),
}  # fmt: skip


@pytest.mark.parametrize("how", ["fr", "rf", "rr"])
@pytest.mark.parametrize("name", RESIDUALS)
def test_second_derivatives_where_gradients_are_zero(name: str, how: str) -> None:
    """Gradients of residuals are 0 at a minimum, their derivatives are not."""
    fn, point, expected = RESIDUALS[name]
    found = hessian_times(fn, Float64(point), ONES, how)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("how", ["ff", "fr", "rf", "rr"])
def test_second_derivatives_of_literals(how: str) -> None:
    """Sums do not lose terms that are 0 and known to be."""
    for fn, expected in (
        (lambda x: (x - 1) * (x - 1) + (x - 1) * (x - 1) * x, 4),
        (lambda x: (x - 1) ** 2 + (x - 1) ** 3, 2),
        (lambda x: (x - 1) * (x - 1) * (x - 1) + (x - 1) * (x - 1), 2),
        (lambda x: dr.fma(x - 1, x - 1, (x - 1) * x), 4),
        (lambda x: dr.select(Bool(True), x * x, 0) * 0.5, 1),
        (lambda x: dr.power(x - 1, 2), 2),
    ):  # fmt: skip
        found = hessian_times(fn, Float64(1), Float64(1), how)
        assert found.numpy().tolist() == [expected]


@pytest.mark.parametrize("how", ["rf", "rr"])
def test_second_derivatives_where_lanes_are_masked(how: str) -> None:
    """Masked lanes have none, although those of what is masked are infinite there."""
    for fn in (
        lambda x: dr.sum(dr.select(x > 0, dr.sqrt(x), 0)),
        lambda x: dr.sum(dr.select(x > 0, dr.log(x), 0)),
        lambda x: dr.sum(dr.sqrt(x) & (x > 0)),
        lambda x: dr.sum(dr.select(x > 0, 1 / x, 0)),
    ):
        found = hessian_times(fn, Float64(0, 4), Float64(1, 1), how).numpy()
        assert found[0] == 0 and np.isfinite(found[1]) and found[1] != 0


# ---------------------------------------------------------------- other types


@pytest.mark.parametrize("kind", [Float16, Float, Float64])
def test_conventions_hold_in_each_precision(kind: Any) -> None:
    epsilon = dr.epsilon(kind)
    x = kind(0, epsilon, 4 * epsilon, -1)
    dr.enable_grad(x)
    dr.backward(dr.safe_sqrt(x))
    expected = [0, 0, 0.25 / math.sqrt(epsilon), 0]
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=2e-3)
    for function, sign in ((dr.safe_asin, 1), (dr.safe_acos, -1)):
        y = kind(-1, 1 - 2 * epsilon, 1, 2, 0)
        dr.enable_grad(y)
        dr.backward(function(y))
        inner = sign * 0.5 / math.sqrt(epsilon)
        np.testing.assert_allclose(y.grad.numpy(), [0, inner, 0, 0, sign], rtol=2e-3)
    z = kind(0, -0.0, 3, -3)
    dr.enable_grad(z)
    dr.backward(dr.abs(z))
    assert z.grad.numpy().tolist() == [0, 0, 1, -1]


def test_halves_keep_their_range() -> None:
    """What derivatives are made of would not fit, the derivatives do."""
    a, b = Float16(300, 1e-4, 2e-4), Float16(400, 2e-4, 1e-4)
    dr.enable_grad(a, b)
    dr.backward(dr.atan2(a, b))
    first, second = a.numpy().astype(float), b.numpy().astype(float)
    square = first**2 + second**2
    np.testing.assert_allclose(a.grad.numpy(), second / square, rtol=2e-3)
    np.testing.assert_allclose(b.grad.numpy(), -first / square, rtol=2e-3)
    x = Float16(300, -1000)
    dr.enable_grad(x)
    dr.backward(dr.asinh(x))
    np.testing.assert_allclose(x.grad.numpy(), [1 / 300, 1 / 1000], rtol=2e-3)


def test_complex_at_zero() -> None:
    z = Complex2f64(0, 0)
    dr.enable_grad(z)
    dr.backward(dr.squared_norm(z))
    assert z.grad.numpy().ravel().tolist() == [0]


@pytest.mark.parametrize("function", [dr.cot, dr.erfc])
def test_cot_and_erfc(function: Any) -> None:
    x = Float64(-2, -0.3, 0.2, 1, 2.9)
    dr.check_grad(function, x)
    dr.check_grad(dr.ad.gradient(lambda x: dr.sum(function(x))), x)


def test_the_tail_of_erfc() -> None:
    (slope,) = dr.ad.gradient(lambda x: dr.sum(dr.erfc(x)))(Float64(10))
    assert slope == pytest.approx(-2 / math.sqrt(math.pi) * math.exp(-100), rel=1e-12)
