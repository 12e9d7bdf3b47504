"""Derivatives of the functions on arrays, against difference quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import (
    Array3f64,
    ArrayXf64,
    Complex2f64,
    Float,
    Float16,
    Float64,
    Matrix3f64,
    Quaternion4f64,
    TensorXf64,
    UInt,
)

POINTS = Float64(-1.7, -0.4, 0.3, 0.8, 2.1)
INSIDE = Float64(-0.8, -0.4, 0.3, 0.6, 0.9)
ABOVE = Float64(0.2, 0.7, 1.1, 1.9, 3.3)
BEYOND = Float64(1.1, 1.4, 2.0, 3.0, 4.2)

UNARY = {
    "sin": POINTS, "cos": POINTS, "tan": INSIDE, "asin": INSIDE, "acos": INSIDE,
    "atan": POINTS, "sinh": POINTS, "cosh": POINTS, "tanh": POINTS, "asinh": POINTS,
    "acosh": BEYOND, "atanh": INSIDE, "exp": POINTS, "exp2": POINTS, "log": ABOVE,
    "log2": ABOVE, "sqrt": ABOVE, "rsqrt": ABOVE, "rcp": POINTS, "cbrt": ABOVE,
    "erf": POINTS, "erfinv": INSIDE, "lgamma": ABOVE, "digamma": ABOVE, "abs": POINTS,
    "square": POINTS, "sign": POINTS, "floor": POINTS, "ceil": POINTS, "round": POINTS,
    "trunc": POINTS, "safe_sqrt": ABOVE, "safe_asin": INSIDE, "safe_acos": INSIDE,
    "rad2deg": POINTS, "deg2rad": POINTS, "srgb_to_linear": INSIDE,
    "linear_to_srgb": ABOVE,
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    yield
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    function = getattr(dr, name)
    # Times the argument, so that what is piecewise constant depends on it, too.
    dr.check_grad(lambda x: function(x) * x, UNARY[name])


@pytest.mark.parametrize("function", [dr.linear_to_srgb, dr.srgb_to_linear])
def test_signed_srgb_has_a_slope_at_zero(function: Callable[..., Any]) -> None:
    dr.check_grad(lambda x: function(x, clip=False), Float64(-0.5, 0.0, 0.5))


BINARY: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "power": lambda a, b: abs(a) ** b,
    "integer power": lambda a, b: a**3 + b**-2,
    "minimum": dr.minimum,
    "maximum": dr.maximum,
    "atan2": dr.atan2,
    "hypot": dr.hypot,
    "copysign": dr.copysign,
    "mulsign": dr.mulsign,
    "fma": lambda a, b: dr.fma(a, b, a),
    "lerp": lambda a, b: dr.lerp(a, b, a * b),
    "select": lambda a, b: dr.select(a > b, a * a, b),
    "clip": lambda a, b: dr.clip(a * b, -1, 1),
    "step": lambda a, b: dr.step(a, b) * a,
    "mask": lambda a, b: (a * b) & (a > 0),
    "sincos": lambda a, b: dr.sincos(a * b),
    "sincosh": lambda a, b: dr.sincosh(a * b),
    "dot": dr.dot,
    "in place": lambda a, b: augmented(a, b),
}


def augmented(a: Any, b: Any) -> Any:
    a = Float64(a)
    a *= b
    a += 2
    return a * a


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    dr.check_grad(BINARY[name], POINTS, Float64(0.7, -1.2, 1.9, 0.5, 1.3))
    dr.check_grad(BINARY[name], POINTS, Float64(1.3))


VECTOR = Array3f64([0.3, 1.2], [-0.7, 0.4], [1.9, 0.8])
OTHER = Array3f64([1.3, 0.2], [0.7, -0.4], [-0.9, 1.8])
ROTATION = Quaternion4f64([0.3, 0.1], [-0.7, 0.4], [1.9, 0.8], [0.6, 1.1])
MATRIX = Matrix3f64(2, 0.3, 0.1, -0.4, 1.5, 0.2, 0.6, -0.1, 1.1)
COMPLEX = (Complex2f64(1.2, 0.7), Complex2f64(-0.3, 2))

NESTED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "dot": (dr.dot, (VECTOR, OTHER)),
    "cross": (dr.cross, (VECTOR, OTHER)),
    "norm": (dr.norm, (VECTOR,)),
    "normalize": (dr.normalize, (VECTOR,)),
    "sum": (dr.sum, (VECTOR,)),
    "prod": (dr.prod, (VECTOR,)),
    "max": (dr.max, (VECTOR,)),
    "mean": (dr.mean, (VECTOR,)),
    "shuffled": (lambda v: v.zyx * v.y, (VECTOR,)),
    "components": (lambda v: Array3f64(v.z * 2, v.x, v.x * v.y), (VECTOR,)),
    "assigned": (lambda v: assigned(v), (VECTOR,)),
    "matrix times vector": (lambda m, v: m @ v, (MATRIX, VECTOR)),
    "matrix product": (lambda m: m @ m, (MATRIX,)),
    "determinant": (dr.det, (MATRIX,)),
    "inverse": (dr.rcp, (MATRIX,)),
    "transpose": (lambda m: m.T @ m, (MATRIX,)),
    "trace": (lambda m: dr.trace(m @ m), (MATRIX,)),
    "complex product": (lambda a, b: a * b, COMPLEX),
    "complex quotient": (lambda a, b: a / b, COMPLEX),
    "complex exp": (dr.exp, (Complex2f64(0.4, 0.7),)),
    "complex log": (dr.log, (Complex2f64(0.4, 0.7),)),
    "complex sqrt": (dr.sqrt, (Complex2f64(0.4, 0.7),)),
    "complex abs": (dr.abs, (Complex2f64(0.4, 0.7),)),
    "quaternion product": (lambda q: q * q, (ROTATION,)),
    "quaternion to matrix": (
        lambda q: dr.quat_to_matrix(Matrix3f64, dr.normalize(q)), (ROTATION,)
    ),
    "rotate": (lambda v, a: rotated(v, a), (VECTOR, Float64(0.3, 1.1))),
    "harmonics": (lambda v: dr.sh_eval(dr.normalize(v), 2), (VECTOR,)),
    "ravel": (dr.ravel, (VECTOR,)),
    "unravel": (lambda x: dr.unravel(Array3f64, x) * 2, (Float64(1, 2, 3, 4, 5, 6),)),
    "dynamic": (lambda a: dr.sum(a * a), (ArrayXf64([1, 2], [3, 4]),)),
}  # fmt: skip


def assigned(v: Any) -> Any:
    result = Array3f64(v)
    result.y = v.x * v.z
    result[2] *= 3
    return result


def rotated(v: Any, angle: Any) -> Any:
    rotation = dr.rotate(Quaternion4f64, dr.normalize(v), angle)
    turned: Any = dr.quat_apply(rotation, v * 2)
    return turned


@pytest.mark.parametrize("name", NESTED)
def test_nested(name: str) -> None:
    function, args = NESTED[name]
    dr.check_grad(function, *args)


TENSOR = TensorXf64(np.arange(12).reshape(3, 4) * 0.3 - 1.1)
ROWS = UInt(2, 0)

TENSORS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda t: t * t + 1,
    "broadcast": lambda t: t * t[1] + t[:, 2:3],
    "sum": lambda t: dr.sum(t * t),
    "sum of axis 0": lambda t: dr.sum(t * t, axis=0),
    "sum of axis 1": lambda t: dr.sum(t * t, axis=1),
    "prod": lambda t: dr.prod(t, axis=1),
    "max": lambda t: dr.max(t, axis=0) * dr.max(t),
    "mean": lambda t: dr.mean(t, axis=1),
    "variance": lambda t: dr.var(t, axis=None),
    "slice": lambda t: t[1:, ::2],
    "index array": lambda t: t[ROWS, 1],
    "reversed": lambda t: t[::-1, 1:3],
    "transposed": lambda t: t.T @ t,
    "reshaped": lambda t: dr.reshape(TensorXf64, t, (2, 6)) * 3,
    "product": lambda t: t @ (t.T + 1),
    "vector product": lambda t: t @ t[0],
    "batched product": lambda t: (
        dr.reshape(TensorXf64, t, (3, 2, 2)) @ dr.reshape(TensorXf64, t, (3, 2, 2))
    ),
    "shared matrix": lambda t: dr.reshape(TensorXf64, t, (3, 2, 2)) @ t[:2, :2],
    "concatenated": lambda t: dr.concat([t, t * t], axis=1),
    "stacked": lambda t: dr.stack([t, t * t]),
    "taken": lambda t: dr.take(t, UInt(1, 1, 0), axis=1),
    "moved": lambda t: dr.moveaxis(t, 0, 1) * 2,
    "assignment": lambda t: assigned_tensor(t),
    "cumulated": lambda t: dr.cumsum(t.array * t.array),
    "sorted": lambda t: dr.sort(t.array) * dr.arange(Float64, 12),
}  # fmt: skip


def assigned_tensor(t: Any) -> Any:
    result = TensorXf64(t)
    result[1, :] = t[0] * t[2]
    result[0, 1] = 5
    return result * result


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name: str) -> None:
    dr.check_grad(TENSORS[name], TENSOR)


INDEX = UInt(3, 0, 3, 1)
FLAT = Float64(0.5, -1.2, 2.0, 0.7)

WIDE = Float64(0.3, 1.7, -0.4, 2.1, 0.9, -1.3, 0.6, 1.1, -0.8, 0.2, 1.5)

MEMORY: dict[str, Callable[..., Any]] = {
    "gather": lambda x: dr.gather(Float64, x, INDEX) ** 2,
    "masked gather": lambda x: dr.gather(Float64, x, INDEX, active=x > 0),
    "permutation": lambda x: dr.gather(
        Float64, x, UInt(2, 3, 0, 1), mode=dr.ReduceMode.Permute
    ),
    "rows": lambda x: dr.gather(Float64, x, dr.arange(UInt, 11) // 3) ** 2 * WIDE,
    "columns": lambda x: dr.gather(Float64, x, dr.arange(UInt, 11) % 4) ** 2 * WIDE,
    "between": lambda x: dr.gather(Float64, x, dr.arange(UInt, 11) // 2 % 4) * WIDE,
    "gather of vectors": lambda x: dr.gather(dr.llvm.ad.Array2f64, x, UInt(1, 0, 1)),
    "scatter": lambda x: scattered(dr.scatter, x, UInt(2, 0, 1, 3)),
    "scatter_add": lambda x: scattered(dr.scatter_add, x, INDEX),
    "scatter_min": lambda x: reduced(dr.ReduceOp.Min, x),
    "scatter_max": lambda x: reduced(dr.ReduceOp.Max, x),
    "entry": lambda x: entry(x),
    "slices": lambda x: x[::-1] * x[1:2],
    "tile": lambda x: dr.tile(x, 3) * dr.repeat(x, 3),
    "sum": lambda x: dr.sum(x * x) * x,
    "prod": lambda x: dr.prod(x),
    "min": lambda x: dr.min(x * x),
    "block sum": lambda x: dr.block_reduce(dr.ReduceOp.Add, x * x, 2),
    "block max": lambda x: dr.block_reduce(dr.ReduceOp.Max, x * x, 2),
    "prefix sum": lambda x: dr.prefix_sum(x * x) * dr.cumsum(x),
    "compressed": lambda x: dr.gather(Float64, x, dr.compress(x > 0)),
    "reverse": lambda x: dr.reverse(x) * x,
    "upsampled": lambda x: dr.repeat(x, 2) * 2,
    "linspace": lambda x: dr.linspace(Float64, 0, 1, 4) * x,
}


def scattered(function: Callable[..., Any], x: Any, index: Any) -> Any:
    target = x * 2
    function(target, x * x, index)
    return target * target


def reduced(op: Any, x: Any) -> Any:
    target = x * 2
    dr.scatter_reduce(op, target, x * x, INDEX)
    return target * target


def entry(x: Any) -> Any:
    result = Float64(x)
    result[1] = 9
    return result * result


@pytest.mark.parametrize("name", MEMORY)
def test_memory(name: str) -> None:
    dr.check_grad(MEMORY[name], FLAT)


def test_single_and_half_precision() -> None:
    for kind, tolerance in ((Float, 1e-6), (Float16, 2e-2)):
        x = kind(0.5, 1.25)
        dr.enable_grad(x)
        y = dr.sin(x) * x
        dr.backward(y)
        points = np.array([0.5, 1.25])
        expected = np.cos(points) * points + np.sin(points)
        assert type(x.grad) is kind
        assert np.allclose(x.grad.numpy(), expected, rtol=tolerance)


def test_casts_are_tracked() -> None:
    x = Float(1.5, -2)
    dr.enable_grad(x)
    y = Float64(x) ** 2
    assert not dr.grad_enabled(UInt(x), dr.llvm.Float(x))
    dr.backward(y)
    assert np.allclose(x.grad.numpy(), [3, -4])


CONTROL: dict[str, Callable[..., Any]] = {
    "if": lambda x, p, mode: dr.if_stmt(
        (x, p), x > 0.6, lambda x, p: (dr.sin(x) * p, x), lambda x, p: (x * x, p * x),
        mode=mode,
    ),
    "if with a gather": lambda x, p, mode: dr.if_stmt(
        (x, p), x > 0.6,
        lambda x, p: dr.gather(Float64, x, UInt(1, 1, 2, 0)) * p,
        lambda x, p: x * x, mode=mode,
    ),
    "if in if": lambda x, p, mode: dr.if_stmt(
        (x, p), x > 0.6,
        lambda x, p: dr.if_stmt(
            (x, p), x > 1, lambda x, p: x * p * p, lambda x, p: dr.exp(x), mode=mode
        ),
        lambda x, p: x * x, mode=mode,
    ),
    "switch": lambda x, p, mode: dr.switch(
        UInt(0, 1, 2, 0),
        [lambda x, p: x * x * p, lambda x, p: dr.exp(x) + p, lambda x, p: Float64(3)],
        x, p, mode=mode,
    ),
    "scatter": lambda x, p, mode: scatter_in_if(x, p, mode),
    "literal condition": lambda x, p, mode: dr.if_stmt(
        (x, p), dr.llvm.ad.Bool(True), lambda x, p: x * p, lambda x, p: x, mode=mode
    ),
}  # fmt: skip


def scatter_in_if(x: Any, p: Any, mode: str) -> Any:
    out = x * p

    def side(x: Any) -> Any:
        dr.scatter_add(out, x * x, UInt(0, 1, 1, 3))
        return x * 2

    y = dr.if_stmt((x,), x > 0.6, side, lambda x: x, mode=mode)
    return out * out + y


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str, mode: str) -> None:
    x, p = Float64(0.5, 0.7, 2.0, 1.3), Float64(0.7)
    dr.check_grad(lambda x, p: CONTROL[name](x, p, mode), x, p)
