"""drjit.array_api: the functions of the Python array API standard, compared with NumPy.

NumPy's own namespace is of this standard, so that each function is called in both with
the same arguments, and shape, type of entries and entries are compared.
docs/array-api.md has what differs; the last tests say that it still does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import drjit as dr
import drjit.array_api as xp
import drjit.llvm as llvm
import numpy as np
import pytest
from drjit.llvm import ad

INTS = ["int8", "int32", "int64", "uint8", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
ALL = ["bool", *INTS, *FLOATS]
ULP = {"float32": 2.0**-23, "float64": 2.0**-52}

COVERED: set[str] = set()


def ours(x: Any) -> Any:
    """NumPy's arrays and types in an argument, as ours."""
    if isinstance(x, np.ndarray | np.generic):
        return xp.asarray(x, copy=True)
    if isinstance(x, np.dtype):
        return getattr(xp, x.name)
    if isinstance(x, tuple | list):
        return type(x)(ours(part) for part in x)
    return x


def compare(found: Any, expected: Any, ulps: float = 0) -> None:
    """Arrays, or tuples of them: shape, type, entries within a few ulp, signs of 0."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            compare(a, b, ulps)
        return
    expected = np.asarray(expected)
    assert dr.is_tensor_v(found)
    assert found.shape == expected.shape
    assert found.dtype == getattr(xp, expected.dtype.name)
    values = found.numpy()
    if expected.dtype.name in FLOATS:
        rtol = ulps * ULP[expected.dtype.name]
        np.testing.assert_allclose(values, expected, rtol=rtol, atol=0)
        zero = expected == 0
        assert (np.signbit(values) == np.signbit(expected))[zero].all()
    else:
        np.testing.assert_array_equal(values, expected)


def both(name: str, *args: Any, ulps: float = 0, **kwargs: Any) -> None:
    """Call a function in both namespaces, and compare."""
    COVERED.add(name)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*args, **kwargs)
    keywords = {key: ours(value) for key, value in kwargs.items()}
    compare(getattr(xp, name)(*ours(args), **keywords), expected, ulps)


def sample(dtype: str, shape: tuple[int, ...] = (3, 4), seed: int = 0) -> Any:
    """Small numbers of a type, of both signs where it has them."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        low = 0 if dtype[0] == "u" else -9
        return rng.integers(low, 10, shape).astype(dtype)
    return np.asarray(3 * rng.normal(size=shape), dtype)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-9, -1e-9, 7.25, 40.0, -40.0, math.inf,
           -math.inf, math.nan, 1e30, 3.0, 2.0, 1e-30, -1e-30, 1.5, 2.5]  # fmt: skip


def special(dtype: str) -> Any:
    return np.array(SPECIAL, dtype)


# ---------------------------------------------------------------- elementwise

UNARY_FLOAT = (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 sin sinh "
    "sqrt tan tanh"
).split()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY_FLOAT)
def test_functions_of_floats(name: str, dtype: str) -> None:
    x = special(dtype)
    if name in ("sin", "cos", "tan"):  # NumPy's own are off for large arguments
        x = x[np.abs(np.nan_to_num(x)) < 1e6]
    both(name, x, ulps=6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_log1p_and_expm1_near_zero(dtype: str) -> None:
    """The range in which 1 + x is rounded, and that in which it is not."""
    x = np.concatenate([s * np.logspace(-12, -0.01, 400) for s in (1, -1)])
    for name in ("log1p", "expm1"):
        wide = getattr(np, name)(x.astype(dtype).astype(np.float64))
        found = getattr(xp, name)(xp.asarray(x.astype(dtype))).numpy()
        np.testing.assert_allclose(found, wide, rtol=4 * ULP[dtype])


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_log1p_and_expm1_have_derivatives(name: str) -> None:
    """1 / (1 + x) and exp(x), near 0, too, where the quotients are rounded."""
    values = np.array([0.0, 1e-17, 1e-9, 0.3, 2.0])
    x = ad.TensorXf64(values)
    dr.enable_grad(x)
    dr.backward(getattr(xp, name)(x))
    expected = 1 / (1 + values) if name == "log1p" else np.exp(values)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-15)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
@pytest.mark.parametrize(
    "name",
    "abs ceil floor negative positive round sign square trunc isnan isinf "
    "isfinite".split(),
)
def test_functions_of_numbers(name: str, dtype: str) -> None:
    both(name, special(dtype) if dtype in FLOATS else sample(dtype))
    both(name, sample(dtype, ()))
    both(name, sample(dtype, (2, 0)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_signbit(dtype: str) -> None:
    x = special(dtype)
    both("signbit", x[~np.isnan(x)])


@pytest.mark.parametrize("dtype", ["bool", *INTS])
def test_bits(dtype: str) -> None:
    a, b = sample(dtype), sample(dtype, seed=1)
    both("bitwise_invert", a)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        both(name, a, b)
    if dtype != "bool":
        for name in ("bitwise_left_shift", "bitwise_right_shift"):
            both(name, a, np.abs(b) % 8)
        for name in ("bitwise_and", "bitwise_left_shift", "bitwise_invert"):
            with pytest.raises(TypeError, match=f"array_api.{name}"):
                getattr(xp, name)(*[xp.ones(2)] * (1 + (name[8] != "i")))


def test_logic() -> None:
    a, b = sample("bool", (20,)), sample("bool", (20,), 1)
    both("logical_not", a)
    for name in ("logical_and", "logical_or", "logical_xor"):
        both(name, a, b)
    with pytest.raises(TypeError, match="logical_and.*int64, expected bool"):
        xp.logical_and(xp.asarray([1]), xp.asarray([2]))


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
@pytest.mark.parametrize(
    "name",
    "add subtract multiply equal not_equal less less_equal greater greater_equal "
    "maximum minimum floor_divide remainder".split(),
)
def test_two_operands(name: str, dtype: str) -> None:
    a, b = sample(dtype, (5, 1, 4)), sample(dtype, (13, 1), 1)
    if dtype in INTS and name in ("floor_divide", "remainder"):
        b[b == 0] = 3
    both(name, a, b)
    both(name, a, np.asarray(b[0, 0]))
    if dtype in FLOATS and name not in ("floor_divide", "remainder"):
        x = special(dtype)
        x = x[x != 0] if name in ("maximum", "minimum") else x  # 0 and -0: either
        both(name, x[:, None], x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_quotients_of_special_values(dtype: str) -> None:
    """Infinite and zero operands, and quotients that division rounds up."""
    inf = math.inf
    x = np.array([0.0, -0.0, 1.0, -1.0, 5.5, -5.5, inf, -inf, math.nan], dtype)
    both("remainder", x[:, None], x[x != 0])
    both("divide", x[:, None], x)
    finite = x[np.isfinite(x)]
    both("floor_divide", finite[:, None], finite)
    found = xp.floor_divide(ours(x[6:8, None]), ours(finite[2:])).numpy()
    np.testing.assert_array_equal(found, x[6:8, None] / finite[2:])  # NumPy: NaN
    a = np.linspace(-3, 3, 61).astype(dtype)
    both("floor_divide", a, np.full_like(a, 0.1))
    both("remainder", a, np.full_like(a, 0.1), ulps=4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainders_of_large_quotients(dtype: str) -> None:
    """Exact up to the largest quotient there is, as NumPy's fmod() is."""
    rng, limit = np.random.default_rng(3), np.finfo(dtype).maxexp - 1

    def numbers() -> Any:
        mantissa = rng.uniform(1, 2, 2000) * rng.choice([-1, 1], 2000)
        return np.ldexp(mantissa, rng.integers(1 - limit, limit, 2000)).astype(dtype)

    both("remainder", numbers(), numbers())
    both("remainder", numbers()[:7, None], np.array([3, -1.5, 1e-30], dtype))
    both("remainder", np.zeros((0, 3), dtype), 2.0)
    x, y = xp.asarray([93066968.0, -7.5]), xp.asarray([1.5, 2.0])
    dr.enable_grad(x, y)
    r = xp.remainder(x, y)
    compare(dr.detach(r), np.array([0.5, 0.5], np.float32))
    dr.backward(r)
    compare(x.grad, np.array([1, 1], np.float32))
    compare(y.grad, np.array([-62044645.0, 4.0], np.float32), ulps=2)
    found = xp.remainder(dr.scalar.TensorXf([5e20, -7]), dr.scalar.TensorXf([3, 4]))
    expected = np.remainder(np.float32([5e20, -7]), np.float32([3, 4]))
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floor_divide_is_exact(dtype: str) -> None:
    """As long as a float has the quotient; against rational numbers."""
    rng, digits = np.random.default_rng(4), np.finfo(dtype).nmant + 1
    b = (rng.uniform(1, 2, 500) * rng.choice([-1, 1], 500)).astype(dtype)
    a = np.ldexp(rng.uniform(1, 2, 500), digits - rng.integers(1, 9, 500)).astype(dtype)
    expected = [
        Fraction(float(n)) // Fraction(float(d)) for n, d in zip(a, b, strict=True)
    ]
    compare(xp.floor_divide(ours(a), ours(b)), np.array(expected, dtype))


@pytest.mark.parametrize("dtype", INTS)
def test_integer_powers_and_quotients(dtype: str) -> None:
    base, power = sample(dtype), np.abs(sample(dtype, seed=1))
    both("pow", base, power)
    compare(xp.divide(ours(base), ours(power + 1)),
            base.astype(np.float64) / (power + 1).astype(np.float64))  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", "atan2 copysign hypot logaddexp pow".split())
def test_two_floats(name: str, dtype: str) -> None:
    x = special(dtype)
    x = x[~np.isnan(x)] if name == "copysign" else x
    if name == "logaddexp":
        x = x[np.abs(x) != 1e30]
    both(name, x[:, None], x, ulps=8)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_clip_and_where(dtype: str) -> None:
    x = sample(dtype)
    both("clip", x, 2, 5)
    both("clip", x, None, 4)
    both("clip", x, sample(dtype, (4,), 2), None)
    both("where", sample("bool"), x, sample(dtype, (4,), 3))
    if dtype in FLOATS:
        both("clip", special(dtype), -1.0, 2.0)


def test_operands_promote_as_the_standard_says() -> None:
    """Every pair of types; those whose common type does not exist here are errors."""
    for one in ALL:
        for other in ALL:
            if (one == "bool") != (other == "bool") or (one in INTS) != (other in INTS):
                continue  # of different kinds: not defined
            expected = np.result_type(np.dtype(one), np.dtype(other)).name
            types = (getattr(xp, one), getattr(xp, other))
            if expected == "int16" or (expected == "float64" and one in INTS):
                with pytest.raises(TypeError, match="no type in common"):
                    xp.result_type(*types)
            else:
                assert xp.result_type(*types) == getattr(xp, expected), (one, other)
    COVERED.add("result_type")
    compare(xp.add(xp.asarray([250], dtype=xp.uint8), 1), np.array([251], np.uint8))
    compare(xp.add(xp.asarray([1], dtype=xp.int8), xp.asarray([2], dtype=xp.uint32)),
            np.array([3]))  # fmt: skip


# ---------------------------------------------------------------- statistics

AXES = [None, 0, 1, -1, (0, 2), (), (2, -3)]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
def test_reductions(axis: Any, keepdims: bool) -> None:
    for dtype in ALL:
        x = sample(dtype, (2, 3, 4))
        for name in ("all", "any"):
            both(name, x, axis=axis, keepdims=keepdims)
        if dtype == "bool":
            continue
        for name in ("sum", "prod", "max", "min"):
            if dtype in INTS and name == "prod":
                x = x // 3
            both(name, x, axis=axis, keepdims=keepdims, ulps=64)
        if dtype in FLOATS:
            for name in ("mean", "var", "std"):
                both(name, x, axis=axis, keepdims=keepdims, ulps=256)


def test_reductions_of_nan_and_of_nothing() -> None:
    x = np.array([[1.0, math.nan], [2.0, 3.0]], np.float32)
    for name in ("max", "min", "sum", "mean"):
        both(name, x, axis=0)
    for name in ("sum", "prod", "all", "any"):
        both(name, np.zeros((0, 3), np.float32), axis=0)
        both(name, np.zeros((0, 3), np.float32), axis=1)
    assert np.isnan(xp.mean(xp.zeros((0,))).numpy())
    with pytest.raises(ValueError, match=r"array_api.max\(\): no entries"):
        xp.max(xp.zeros((0, 3)), axis=0)


def test_sums_of_narrow_integers_do_not_overflow() -> None:
    compare(xp.sum(xp.full(1000, 100, dtype=xp.int8)), np.asarray(100_000))
    compare(xp.sum(xp.full(1000, 200, dtype=xp.uint8)), np.asarray(200_000, np.uint64))
    compare(xp.sum(xp.ones(5, dtype=xp.bool)), np.asarray(5))
    both("sum", sample("int32"), dtype=np.dtype("float64"))


def test_correction() -> None:
    x = sample("float64", (3, 50))
    for name in ("var", "std"):
        both(name, x, axis=1, correction=1, ulps=16)
        found = getattr(xp, name)(ours(x), axis=1, correction=0.5)
        square = ((x - x.mean(1, keepdims=True)) ** 2).sum(1) / 49.5
        compare(found, square if name == "var" else np.sqrt(square), 16)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_cumulative_sum(dtype: str) -> None:
    for axis in (0, 1, -1):
        for initial in (False, True):
            both("cumulative_sum", sample(dtype), axis=axis, include_initial=initial,
                 ulps=64)  # fmt: skip
    with pytest.raises(ValueError, match="'axis' is needed"):
        xp.cumulative_sum(xp.ones((2, 2)))


# ---------------------------------------------------------------- sorting, searching


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_sorting(dtype: str) -> None:
    COVERED.update(["sort", "argsort"])
    x = sample(dtype, (3, 50))
    for axis in (0, 1, -1):
        both("sort", x, axis=axis)
        order = np.argsort(x, axis=axis, stable=True)
        compare(xp.argsort(ours(x), axis=axis), order)
        down = xp.argsort(ours(x), axis=axis, descending=True).numpy()
        ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
        np.testing.assert_array_equal(down, np.argsort(-ranks, axis=axis, stable=True))
        compare(xp.sort(ours(x), axis=axis, descending=True),
                np.flip(np.sort(x, axis=axis), axis))  # fmt: skip


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_searching(dtype: str) -> None:
    x = sample(dtype, (3, 4, 5))
    for name in ("argmax", "argmin"):
        for axis in (None, 0, 1, -1):
            for keepdims in (False, True):
                both(name, x, axis=axis, keepdims=keepdims)
    both("nonzero", x)
    both("nonzero", x[0, 0])
    both("nonzero", x[:, :0])
    table, values = np.sort(x.ravel()), sample(dtype, (6, 2), 5)
    order = np.argsort(x.ravel())
    for side in ("left", "right"):
        both("searchsorted", table, values, side=side)
        both("searchsorted", x.ravel(), values, side=side, sorter=order)
        if dtype in FLOATS:
            both("searchsorted", np.sort(special(dtype)), special(dtype), side=side)


@pytest.mark.parametrize("dtype", ALL)
def test_sets(dtype: str) -> None:
    """Compared with np.unique(): the order of unique_values() is left open."""
    for shape in ((5, 8), (), (0, 2), (1,)):
        x = sample(dtype, shape)
        values, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True
        )
        inverse = inverse.reshape(shape)
        for name, expected in (
            ("unique_values", values),
            ("unique_counts", (values, counts)),
            ("unique_inverse", (values, inverse)),
            ("unique_all", (values, first, inverse, counts)),
        ):
            COVERED.add(name)
            compare(getattr(xp, name)(ours(x)), expected)


def test_each_nan_is_a_value_of_its_own() -> None:
    x = np.array([math.nan, 1.0, math.nan, 0.0, -0.0])
    found = xp.unique_all(ours(x))
    np.testing.assert_array_equal(found.counts.numpy(), [2, 1, 1, 1])
    np.testing.assert_array_equal(found.indices.numpy(), [3, 1, 0, 2])


# ---------------------------------------------------------------- shapes

X = np.arange(24.0).reshape(2, 3, 4)
SHAPES: list[tuple[str, Callable[[], tuple[Any, ...]], dict[str, Any]]] = [
    ("reshape", lambda: (X, (4, -1)), {}),
    ("reshape", lambda: (X, (-1,)), {}),
    ("reshape", lambda: (X[:0], (0, 5)), {}),
    ("broadcast_to", lambda: (X[:, :1], (5, 2, 3, 4)), {}),
    ("broadcast_to", lambda: (np.asarray(X[0, 0, 0]), (2, 2)), {}),
    ("broadcast_to", lambda: (X[:1], (0, 3, 4)), {}),
    ("broadcast_arrays", lambda: (X, X[0], X[:, :1]), {}),
    ("concat", lambda: ([X, X[:1]],), {}),
    ("concat", lambda: ([X, X[..., :2]],), {"axis": -1}),
    ("concat", lambda: ([X, X[0]],), {"axis": None}),
    ("concat", lambda: ([X, X.astype(np.float32)],), {"axis": 1}),
    ("stack", lambda: ([X, X + 1],), {}),
    ("stack", lambda: ([X, X + 1],), {"axis": -1}),
    ("unstack", lambda: (X,), {}),
    ("unstack", lambda: (X,), {"axis": 1}),
    ("expand_dims", lambda: (X,), {"axis": 1}),
    ("expand_dims", lambda: (X,), {"axis": -1}),
    ("squeeze", lambda: (X[:1, None], (0, 1)), {}),
    ("squeeze", lambda: (X[:1], 0), {}),
    ("permute_dims", lambda: (X, (2, 0, 1)), {}),
    ("permute_dims", lambda: (X, (-1, 0, 1)), {}),
    ("permute_dims", lambda: (X[:0], (2, 0, 1)), {}),
    ("moveaxis", lambda: (X, 0, -1), {}),
    ("moveaxis", lambda: (X, (0, 1), (-1, 0)), {}),
    ("matrix_transpose", lambda: (X,), {}),
    ("flip", lambda: (X,), {}),
    ("flip", lambda: (X,), {"axis": -1}),
    ("flip", lambda: (X,), {"axis": (0, 2)}),
    ("roll", lambda: (X, 5), {}),
    ("roll", lambda: (X, -1), {"axis": 1}),
    ("roll", lambda: (X, (1, 2)), {"axis": (0, -1)}),
    ("take", lambda: (X, np.array([2, 0])), {"axis": 1}),
    ("take", lambda: (X[0, 0], np.array([2, 0, 3])), {}),
    ("repeat", lambda: (X, 2), {}),
    ("repeat", lambda: (X, 3), {"axis": 1}),
    ("repeat", lambda: (X, np.array([1, 0, 2])), {"axis": 1}),
    ("tile", lambda: (X, (2,)), {}),
    ("tile", lambda: (X, (2, 1, 1, 3)), {}),
    ("tile", lambda: (X, (0, 1, 1)), {}),
    ("tril", lambda: (X,), {}),
    ("tril", lambda: (X,), {"k": 1}),
    ("triu", lambda: (X,), {"k": -1}),
    ("meshgrid", lambda: (X[0, 0], X[0, :, 0]), {}),
    ("meshgrid", lambda: (X[0, 0], X[0, :, 0], X[:, 0, 0]), {"indexing": "ij"}),
    ("matmul", lambda: (X, X[0].T), {}),
    ("matmul", lambda: (X[0, 0], X.swapaxes(1, 2)), {}),
    ("matmul", lambda: (X, X[0, 0]), {}),
    ("matmul", lambda: (X[0, 0], X[0, 1]), {}),
    ("matmul", lambda: (X[:, None], X.swapaxes(1, 2)), {}),
    ("matmul", lambda: (X[:, :, :0], X[:, :0, :2]), {}),
    ("matmul", lambda: (X[0].astype(np.int8), X[0].T.astype(np.int32)), {}),
    ("vecdot", lambda: (X, X[0, 0]), {}),
    ("vecdot", lambda: (X, X + 1), {"axis": -2}),
    ("tensordot", lambda: (X, X.swapaxes(0, 2).swapaxes(0, 1)), {}),
    ("tensordot", lambda: (X, X), {"axes": ((0, 2), (0, 2))}),
    ("tensordot", lambda: (X[0, 0], X[0, 1]), {"axes": 0}),
]


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case[0])
def test_shapes(case: Any) -> None:
    name, args, kwargs = case
    both(name, *args(), **kwargs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xp.reshape(xp.ones((2, 3)), (4, -1)), "reshape.*does not fit"),
        (lambda: xp.broadcast_to(xp.ones(3), (4,)), "broadcast_to.*incompatible"),
        (lambda: xp.squeeze(xp.ones((2, 3)), 0), "squeeze.*size 2, not 1"),
        (lambda: xp.stack([xp.ones(2), xp.ones(3)]), "stack.*differ"),
        (lambda: xp.matmul(xp.ones((2, 3)), xp.ones((2, 3))), "matmul.*do not match"),
        (lambda: xp.flip(xp.ones(3), axis=1), "flip.*axis 1 of an array with 1"),
        (lambda: xp.asarray([[1, 2], [3]]), "asarray.*ragged"),
        (lambda: xp.zeros(2, device="tpu"), "'tpu', expected 'cpu' or None"),
        (lambda: xp.asarray(np.int16([1])), "int16 do not exist"),
        (lambda: xp.sin(xp.asarray([1])), r"array_api.sin\(\).*int64, expected real"),
        (lambda: xp.add(1, 2), r"add\(\): arguments of types int, int"),
        (lambda: xp.roll(xp.ones(3), (1, 2), axis=0), r"roll\(\): 2 shifts for 1"),
        (lambda: xp.flip(xp.zeros((0, 2)), axis=2), r"flip\(\): axis 2 of an array"),
        (lambda: xp.flip(xp.ones((2, 2)), axis=(0, -2)), r"flip.*name one twice"),
        (lambda: xp.sum(xp.ones((2, 2)), axis=(0, 0)), r"sum.*name one twice"),
        (lambda: xp.expand_dims(xp.ones(2), axis=(0,)), "expand_dims.*an integer"),
        (lambda: xp.moveaxis(xp.ones((2, 2)), (0, 1), 0), "moveaxis.*2 axes to 1"),
        (lambda: xp.tensordot(xp.ones(2), xp.ones(2), axes=-1), "tensordot.*-1 axes"),
        (lambda: xp.reshape(xp.ones(3), (-1, -1)), r"reshape.*-1 more than once"),
        (lambda: xp.concat([]), r"array_api.concat\(\): no arrays"),
        (lambda: xp.stack([]), r"array_api.stack\(\): no arrays"),
        (lambda: xp.repeat(xp.ones(3), -1), r"repeat\(\): -1 times"),
        (lambda: xp.repeat(xp.ones(2), xp.asarray([1, -2])), r"repeat\(\): -2 times"),
        (lambda: xp.repeat(xp.ones(2), xp.ones(2)), "repeat.*float32, expected integ"),
        (lambda: xp.repeat(xp.ones(2), xp.eye(2, dtype=xp.int8)), "repeat.*2 axes"),
        (lambda: xp.repeat(xp.ones(2), [1, 2]), r"array_api.repeat\(\).*type list"),
        (lambda: xp.tile(xp.ones(3), 2), r"tile\(\): 2, expected a tuple"),
        (lambda: xp.tile(xp.ones(3), (-1,)), r"tile\(\): -1 times"),
        (lambda: xp.argmax(xp.zeros((0, 3)), axis=0), r"array_api.argmax.*no entries"),
        (lambda: xp.argmin(xp.zeros(0)), r"array_api.argmin\(\): no entries"),
        (lambda: xp.cumulative_sum(xp.ones(3), dtype="x"), "cumulative_sum.*'x' is"),
        (lambda: xp.arange(1.0, dtype="x"), r"arange\(\): 'x' is not a type"),
        (lambda: xp.arange(xp.asarray(3)), r"arange\(\).*expected a number"),
        (lambda: xp.linspace(0, 1, -1), r"linspace\(\): -1 numbers"),
        (lambda: xp.eye(-1), r"eye\(\): -1 rows"),
        (lambda: xp.asarray(1j), r"asarray\(\): complex is no number"),
        (lambda: xp.asarray([2**63]), r"asarray.*9223372036854775808 is out of range"),
        (lambda: xp.asarray(math.nan, dtype=xp.int8), r"asarray\(\): nan is no int"),
        (lambda: xp.add(xp.asarray([1], dtype=xp.uint8), 256), r"add\(\): 256 is out"),
        (lambda: xp.clip(xp.asarray([1], dtype=xp.uint8), -1), r"clip\(\): -1 is out"),
    ],
)
def test_errors(call: Callable[[], Any], message: str) -> None:
    errors = (ValueError, TypeError, IndexError, OverflowError)
    with pytest.raises(errors, match=message):
        call()


def test_results_without_entries() -> None:
    """An axis of length 0 that is not reduced leaves a result without entries."""
    for name in ("argmax", "argmin"):
        for keepdims in (False, True):
            both(name, np.zeros((0, 3), np.float32), axis=1, keepdims=keepdims)
            both(name, np.zeros((2, 0, 3), np.int8), axis=-3, keepdims=keepdims)
    both("flip", np.zeros((0, 2), np.float32), axis=(0, 1))
    both("repeat", np.arange(3), np.int64(2))
    both("repeat", np.arange(3), np.array(2))


@pytest.mark.parametrize("module", [dr.scalar, llvm, ad])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_keep_the_backend(name: str, module: Any) -> None:
    values = sample("float32", (2, 3, 4))
    for k in (-1, 0, 2):
        found = getattr(xp, name)(module.TensorXf(values), k=k)
        assert type(found) is module.TensorXf
        np.testing.assert_array_equal(found.numpy(), getattr(np, name)(values, k))


# ---------------------------------------------------------------- creation


def test_creation() -> None:
    for name in ("zeros", "ones"):
        compare(getattr(xp, name)((2, 3)), getattr(np, name)((2, 3), np.float32))
        for dtype in ALL:
            both(name, (2, 0), dtype=np.dtype(dtype))
            both(name, 3, dtype=np.dtype(dtype))
            both(name + "_like", sample(dtype))
            both(name + "_like", sample("int8"), dtype=np.dtype(dtype))
    for dtype in ALL:
        both("full", (2, 2), True if dtype == "bool" else 3, dtype=np.dtype(dtype))
        both("full_like", sample(dtype), True if dtype == "bool" else 3)
    for value, dtype in ((True, xp.bool), (2, xp.int64), (2.5, xp.float32)):
        assert xp.full(2, value).dtype == dtype
        assert xp.asarray(value).dtype == dtype
    COVERED.update(["empty", "empty_like"])
    assert xp.empty((2, 3), dtype=xp.int8).shape == (2, 3)
    assert xp.empty_like(xp.ones((4, 1), dtype=xp.int8)).dtype == xp.int8
    both("eye", 3, dtype=np.dtype("int32"))
    for k in (-1, 0, 2):
        both("eye", 3, 5, k=k, dtype=np.dtype("float64"))


@pytest.mark.parametrize(
    "args", [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (3, 1), (0, 1, 7)]
)
def test_arange(args: tuple[int, ...]) -> None:
    both("arange", *args)
    both("arange", *args, dtype=np.dtype("float64"))
    both("arange", *[0.5 * n for n in args], dtype=np.dtype("float64"))


def test_arange_at_the_limits() -> None:
    """Numbers that int64 does not have."""
    top = 2**64 - 1
    for args in ((2**63, 2**63 + 5, 2), (top, top - 7, -3), (top - 2, top)):
        found = xp.arange(*args, dtype=xp.uint64)
        assert found.dtype == xp.uint64 and found.numpy().tolist() == [*range(*args)]
    args = (2**70, 2**70 + 2**68, 2**66)
    compare(xp.arange(*args, dtype=xp.float64), np.array([*range(*args)], np.float64))


def test_linspace() -> None:
    for num in (0, 1, 2, 7):
        for endpoint in (True, False):
            both("linspace", -1.5, 2.5, num, dtype=np.dtype("float64"),
                 endpoint=endpoint, ulps=4)  # fmt: skip
    assert xp.linspace(0, 1, 3).dtype == xp.float32


def test_asarray() -> None:
    COVERED.update(["asarray", "from_dlpack"])
    compare(xp.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    compare(xp.asarray([1, 2.5]), np.array([1, 2.5], np.float32))
    compare(xp.asarray([True, False]), np.array([True, False]))
    compare(xp.asarray([]), np.array([], np.float32))
    compare(xp.asarray([[], []], dtype=xp.int32), np.zeros((2, 0), np.int32))
    compare(xp.asarray([0, 2], dtype=xp.bool), np.array([False, True]))
    compare(xp.asarray([xp.asarray(1), xp.asarray(2)]), np.array([1, 2]))
    compare(xp.asarray(range(2, 9, 3)), np.array([2, 5, 8]))
    compare(xp.asarray([2**64 - 1], dtype=xp.uint64), np.array([2**64 - 1], np.uint64))
    for dtype in ALL:
        n = sample(dtype)
        compare(xp.asarray(n), n)
        compare(xp.from_dlpack(n), n)
        compare(xp.asarray(n, dtype=xp.float64), n.astype(np.float64))
    n = np.ones(3, np.float32)
    shared, copied = xp.asarray(n), xp.asarray(n, copy=True)
    n[0] = 5
    assert shared.numpy()[0] == 5 and copied.numpy()[0] == 1
    with pytest.raises(ValueError, match="needs a copy"):
        xp.asarray(n, dtype=xp.int8, copy=False)
    x = xp.ones(3)
    y = xp.asarray(x, copy=True)
    y[0] = 7
    assert x.numpy()[0] == 1


def test_types_of_entries() -> None:
    COVERED.update("astype can_cast finfo iinfo isdtype".split())
    for dtype in ALL:
        for other in ALL:
            x = np.abs(sample(dtype))
            compare(xp.astype(ours(x), getattr(xp, other)), x.astype(other))
    for dtype in FLOATS:
        found, expected = xp.finfo(getattr(xp, dtype)), np.finfo(dtype)
        for name in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(found, name) == getattr(expected, name)
    for dtype in INTS:
        found, wanted = xp.iinfo(getattr(xp, dtype)), np.iinfo(dtype)
        for name in ("bits", "min", "max"):
            assert getattr(found, name) == getattr(wanted, name)
    for kind in ("bool", "signed integer", "unsigned integer", "integral",
                 "real floating", "complex floating", "numeric"):  # fmt: skip
        for dtype in ALL:
            expected = np.isdtype(np.dtype(dtype), kind)
            assert xp.isdtype(getattr(xp, dtype), kind) == expected
    assert xp.isdtype(xp.int8, ("bool", xp.int8))
    assert xp.can_cast(xp.int8, xp.int64) and not xp.can_cast(xp.int64, xp.int8)
    assert xp.can_cast(xp.uint8, xp.int32) and not xp.can_cast(xp.float32, xp.int64)


# ---------------------------------------------------------------- the arrays


@pytest.mark.parametrize("module", [dr.scalar, llvm, ad])
def test_members_of_tensors(module: Any) -> None:
    x = module.TensorXf([1, 2, 3, 4, 5, 6], (2, 3))
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    assert (x.dtype, x.device, x.size) == (xp.float32, "cpu", 6)
    assert (x * 2).size == 6
    assert x.to_device("cpu") is x
    assert xp.asarray(x) is x
    assert type(xp.sum(x, axis=0)) is module.TensorXf
    np.testing.assert_array_equal(xp.flip(x, axis=1).numpy(), x.numpy()[:, ::-1])
    with pytest.raises(ValueError, match="'2030.01' of the standard, expected one of"):
        x.__array_namespace__(api_version="2030.01")
    with pytest.raises(ValueError, match="device 'tpu'"):
        x.to_device("tpu")


def test_other_arrays_have_no_namespace() -> None:
    x = llvm.Float(1, 2)
    with pytest.raises(TypeError, match="Float.*expected a tensor"):
        x.__array_namespace__()
    for name in ("dtype", "device", "size"):
        with pytest.raises(AttributeError, match=f"Float.{name}: expected a tensor"):
            getattr(x, name)


def test_namespace_info() -> None:
    COVERED.add("__array_namespace_info__")
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert set(info.dtypes()) == set(ALL)
    assert set(info.dtypes(kind="integral")) == set(INTS)
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", *FLOATS}
    assert info.default_dtypes()["real floating"] == xp.float32
    assert info.capabilities()["boolean indexing"] is False


def test_a_generic_program_is_differentiated() -> None:
    """A softmax that knows nothing of us, and its derivative."""

    def softmax(x: Any) -> Any:
        n = x.__array_namespace__()
        e = n.exp(x - n.max(x, axis=-1, keepdims=True))
        return e / n.sum(e, axis=-1, keepdims=True)

    values = sample("float64", (2, 5))
    x = ad.TensorXf64(values)
    dr.enable_grad(x)
    y = softmax(x)
    compare(dr.detach(y), softmax(values), 8)
    weights = sample("float64", (2, 5), 1)
    dr.backward(y * ad.TensorXf64(weights))
    p = softmax(values)
    expected = p * (weights - (p * weights).sum(-1, keepdims=True))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-14)


# ---------------------------------------------------------------- what differs


def test_differences_that_the_docs_name() -> None:
    """docs/array-api.md: a change of one of these should change it, too."""
    i, f = xp.asarray([-7], dtype=xp.int32), xp.asarray([-5.5])
    assert (i // 2).item() == -3 and xp.floor_divide(i, 2).item() == -4
    assert (i % 4).item() == -3 and xp.remainder(i, 4).item() == 1
    with pytest.raises(TypeError):
        i / i
    with pytest.raises(TypeError):
        f // 2
    with pytest.raises(TypeError, match="item"):
        float(xp.asarray(1.0))
    assert f[f > 0].shape == f.shape
    mixed = xp.asarray([1], dtype=xp.int8) + xp.asarray([1], dtype=xp.uint32)
    assert mixed.dtype == xp.uint32


def test_every_name_is_tested() -> None:
    """Runs last: what no test above has called is named here."""
    constants = {"e", "inf", "nan", "newaxis", "pi", "__array_api_version__", *ALL}
    if len(COVERED) < 20:
        pytest.skip("the other tests of this file did not run")
    assert set(xp.__all__) - constants - COVERED == set()
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan) and xp.__array_api_version__ == "2023.12"
