"""Every function of the package whose results are floats that depend on its arguments.

A row compares derivatives in both directions with difference quotients, which would
notice a function that quietly loses track of what it depends on. Functions that are in
no list fail test_all_functions_are_listed().
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import GenericAlias
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit._ad.check import _leaves, _rebuild
from drjit.llvm.ad import (
    Array2f64,
    Array3f64,
    Array4f64,
    ArrayXf64,
    Bool,
    Complex2f64,
    Float64,
    Matrix2f64,
    Matrix3f64,
    Matrix4f64,
    Quaternion4f64,
    TensorXf64,
    UInt,
)


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    yield
    assert dr._core._ad_node_count() == before  # type: ignore[attr-defined]


HERE = Path(__file__).parent
TWELVE = dr.tile(Float64(0.5, -1.2, 2.0, 0.7, 1.1, -0.3), 2)
X = Float64(0.5, -1.2, 2.0, 0.7, 1.1, -0.3)
Y = Float64(1.5, 0.2, -0.8, 0.9, -1.4, 0.6)
INNER = Float64(0.1, 0.35, 0.8, 0.95)
V = Array3f64([0.3, 1.2], [-0.7, 0.4], [1.9, 0.8])
W = Array3f64([1.3, 0.2], [0.7, -0.4], [-0.9, 1.8])
FOUR = Array4f64([0.3, 1.2], [-0.7, 0.4], [1.9, 0.8], [0.6, -1.1])
WIDE = ArrayXf64([1, 2, -0.5], [3, 4, 0.7])
C = Complex2f64([0.4, 1.3], [0.7, -0.2])
D = Complex2f64([1.1, 0.3], [-0.6, 0.9])
Q = Quaternion4f64([0.3, 0.1], [-0.7, 0.4], [0.9, 0.8], [0.6, 1.1])
R = Quaternion4f64([0.2, 0.5], [0.6, -0.3], [0.1, 0.7], [0.9, -0.4])
M2 = Matrix2f64(2, 0.3, -0.4, 1.5)
M3 = Matrix3f64(2, 0.3, 0.1, -0.4, 1.5, 0.2, 0.6, -0.1, 1.1)
M4 = Matrix4f64(
    2, 0.3, 0.1, 0.2, -0.4, 1.5, 0.2, 0.1, 0.6, -0.1, 1.1, -0.3, 0.2, 0.5, -0.6, 1.8
)
AFFINE = Matrix4f64(
    2, 0.3, 0.1, 0.2, -0.4, 1.5, 0.2, 0.1, 0.6, -0.1, 1.1, -0.3, 0, 0, 0, 1
)
T = TensorXf64(np.arange(12).reshape(3, 4) * 0.3 - 1.1)
CUBE = TensorXf64(np.sin(np.arange(24) + 0.5).reshape(2, 3, 4))
MASK = Bool(True, False, True, True, False, True)


def dynamic(v: Any) -> Any:
    return dr.sum(v * v)


def affine(m: Any) -> Any:
    """Its last row is constant."""
    return Matrix4f64(*[list(m[i]) for i in range(3)], [0, 0, 0, 1])


ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    # arithmetic
    "abs_dot": (dr.abs_dot, (V, W)),
    "clamp": (lambda x: dr.clamp(x, -1, 1) * x, (X,)),
    "frob": (dr.frob, (M3,)),
    "sqr": (dr.sqr, (X,)),
    "real imag": (lambda c: dr.real(c) * dr.imag(c), (C,)),
    "real quaternion": (lambda q: dr.real(q) * dr.imag(q), (Q,)),
    "conj": (lambda c: dr.conj(c) * c * D, (C,)),
    "conj quaternion": (lambda q: dr.conj(q) * R, (Q,)),
    "squared_norm": (dr.squared_norm, (V,)),
    "norm complex": (lambda c: dr.norm(c), (C,)),
    "norm quaternion": (dr.norm, (Q,)),
    "unit_angle": (
        lambda v, w: dr.unit_angle(dr.normalize(v), dr.normalize(w)), (V, W)
    ),
    "unit_angle behind": (
        lambda v: dr.unit_angle(dr.normalize(v), -dr.normalize(v + 0.1)), (V,)
    ),
    "sphdir": (dr.sphdir, (X, Y)),
    "slerp": (
        lambda q, r, t: dr.slerp(dr.normalize(q), dr.normalize(r), t),
        (Q, R, Float64(0.3, 0.8)),
    ),
    "lerp": (dr.lerp, (X, Y, X * Y)),
    "fma": (dr.fma, (X, Y, X * Y)),
    "power integer": (lambda x: x**3 + x**-2 + dr.power(x, 4), (X,)),
    "rpow": (lambda x: 2.5**x, (X,)),
    "float power": (lambda x: dr.abs(x) ** 1.5, (X,)),
    "sincos": (lambda x: dr.sincos(x), (X,)),
    "log2i": (lambda x: x * dr.log2i(UInt(1, 2, 4, 8, 16, 32)), (X,)),
    # complex numbers and quaternions
    **{
        f"complex {name}": (getattr(dr, name), (C,))
        for name in (
            "rcp", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "sinh", "cosh",
            "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "rsqrt",
            "abs", "square", "squared_norm", "sincos", "sincosh",
        )
    },
    "complex power": (lambda c, d: c**d, (C, D)),
    "complex power of real": (lambda c: c**2.5, (C,)),
    "complex integer power": (lambda c: c**3, (C,)),
    "complex fma": (lambda c, d: dr.fma(c, d, c), (C, D)),
    "complex quotient": (lambda c, d: c / d, (C, D)),
    "complex and real": (lambda c, x: c * x + x - x / c, (C, Float64(0.3, 1.4))),
    **{
        f"quaternion {name}": (getattr(dr, name), (Q,))
        for name in ("rcp", "exp", "log", "sqrt", "rsqrt", "abs", "sin", "cos", "tan")
    },
    "quaternion quotient": (lambda q, r: q / r, (Q, R)),
    "quaternion power": (lambda q: q**2.5 * q**3, (Q,)),
    "quat_apply": (lambda q, v: dr.quat_apply(dr.normalize(q), v), (Q, V)),
    "quat_to_matrix 4": (
        lambda q: dr.quat_to_matrix(Matrix4f64, dr.normalize(q)), (Q,)
    ),
    "matrix_to_quat": (
        lambda q: dr.matrix_to_quat(dr.quat_to_matrix(Matrix3f64, dr.normalize(q))),
        (Q,),
    ),
    "quat_to_euler": (lambda q: dr.quat_to_euler(dr.normalize(q)), (Q,)),
    "euler_to_quat": (dr.euler_to_quat, (V,)),
    "rotate quaternion": (
        lambda v, x: dr.rotate(Quaternion4f64, dr.normalize(v), x),
        (V, Float64(0.3, 1.4)),
    ),
    # matrices
    **{
        f"det {name}": (dr.det, (m,)) for name, m in (("2", M2), ("3", M3), ("4", M4))
    },
    **{
        f"rcp {name}": (dr.rcp, (m,)) for name, m in (("2", M2), ("3", M3), ("4", M4))
    },
    "inverse": (lambda m: 1 / m, (M4,)),
    "quotient of matrices": (lambda a, b: a / b, (M3, M3 + 1)),
    "diag of a matrix": (lambda m: dr.diag(m) * dr.diag(m), (M3,)),
    "diag of a vector": (lambda v: dr.diag(v) @ v, (V,)),
    "trace": (lambda m: dr.trace(m @ m), (M4,)),
    "transpose": (lambda m: m.T @ m, (M4,)),
    "matrix power": (lambda m: m**3, (M3,)),
    "matrix entries": (lambda m: m[0, 1] * m[2] + m[1][1], (M3,)),
    "matmul": (dr.matmul, (M3, M3 + 1)),
    "polar_decomp": (dr.polar_decomp, (M3,)),
    "transform_decompose": (lambda m: dr.transform_decompose(affine(m)), (AFFINE,)),
    "transform_compose": (
        lambda m, q, v: dr.transform_compose(m, dr.normalize(q), v), (M3, Q, V)
    ),
    # colours, harmonics
    "linear_srgb_to_oklab": (dr.linear_srgb_to_oklab, (V * V + 0.1,)),
    "oklab_to_linear_srgb": (dr.oklab_to_linear_srgb, (V,)),
    "srgb_to_linear": (dr.srgb_to_linear, (INNER,)),
    "linear_to_srgb": (dr.linear_to_srgb, (INNER,)),
    **{
        f"sh_eval {k}": (lambda v, k=k: dr.sh_eval(dr.normalize(v), k), (V,))
        for k in range(10)
    },
    # reductions
    **{
        f"{name} of components": (lambda v, name=name: getattr(dr, name)(v), (V,))
        for name in ("sum", "prod", "min", "max", "mean")
    },
    **{
        f"{name} of lanes": (lambda x, name=name: getattr(dr, name)(x), (X,))
        for name in ("sum", "prod", "min", "max", "mean", "var", "std")
    },
    **{
        name: (lambda v, name=name: getattr(dr, name)(v), (V,))
        for name in ("sum_nested", "prod_nested", "min_nested", "max_nested")
    },
    **{
        f"{name} of axes {axis}": (
            lambda t, name=name, axis=axis: getattr(dr, name)(t, axis=axis), (CUBE,)
        )
        for name in ("sum", "prod", "min", "max", "mean", "var", "std")
        for axis in (0, 1, -1, (0, 2), (0, 1), (1, 2), None)
    },
    **{
        f"sum in mode {mode}": (
            lambda t, mode=mode: dr.sum(t * t, axis=(0, 2), mode=mode), (CUBE,)
        )
        for mode in ("symbolic", "evaluated")
    },
    **{
        f"reduce {op}": (
            lambda x, op=op: dr.reduce(getattr(dr.ReduceOp, op), x), (X,)
        )
        for op in ("Add", "Mul", "Min", "Max")
    },
    **{
        f"block_reduce {op} in mode {mode}": (
            lambda x, op=op, mode=mode: dr.block_reduce(
                getattr(dr.ReduceOp, op), x, 3, mode=mode
            ),
            (X,),
        )
        for op in ("Add", "Mul", "Min", "Max")
        for mode in ("symbolic", "evaluated", None)
        if (op, mode) != ("Mul", "symbolic")
    },
    "block_reduce nested": (
        lambda v: dr.block_reduce(dr.ReduceOp.Add, v * v, 2), (FOUR,)
    ),
    "dot of lanes": (lambda x, y: dr.dot(x, y), (X, Y)),
    "dot of tensors": (lambda t: dr.dot(t.array, t.array * 2), (T,)),
    **{
        f"{name} {args}": (
            lambda x, name=name, args=args: getattr(dr, name)(x * x, **args) * x, (X,)
        )
        for name in ("cumsum", "prefix_sum")
        for args in ({}, {"reverse": True})
    },
    **{
        f"block_prefix_sum {exclusive} {reverse}": (
            lambda x, e=exclusive, r=reverse: dr.block_prefix_sum(
                x * x, 3, exclusive=e, reverse=r
            ) * x,
            (X,),
        )
        for exclusive in (False, True)
        for reverse in (False, True)
    },
    "block_prefix_reduce": (
        lambda x: dr.block_prefix_reduce(dr.ReduceOp.Add, x * x, 2, exclusive=False),
        (X,),
    ),
    "prefix_reduce": (
        lambda x: dr.prefix_reduce(dr.ReduceOp.Add, x * x, exclusive=False), (X,)
    ),
    **{
        f"cumsum of axis {axis}": (
            lambda t, axis=axis: dr.cumsum(t * t, axis=axis) * t, (CUBE,)
        )
        for axis in (0, 1, 2, -1)
    },
    # order
    **{
        f"sort {args}": (
            lambda x, args=args: dr.sort(x * 2, **args) * dr.arange(Float64, 6), (X,)
        )
        for args in ({}, {"descending": True})
    },
    "argsort": (lambda x: dr.gather(Float64, x, dr.argsort(x)) * Y, (X,)),
    "sort of an axis": (lambda t: dr.sort(t * t, axis=0) * t, (CUBE,)),
    "sort of the last axis": (lambda t: dr.sort(t * t, descending=True) * t, (CUBE,)),
    "argmin": (lambda x: dr.gather(Float64, x, dr.argmin(x)) ** 2, (X,)),
    "compress": (lambda x: dr.gather(Float64, x * x, dr.compress(MASK)), (X,)),
    # shapes
    "take": (lambda t: dr.take(t * t, UInt(1, 1, 0), axis=0), (T,)),
    "take_interp": (
        lambda t, x: dr.take_interp(t * t, x, axis=1), (T, Float64(0.3, 1.6, 2.2))
    ),
    "concat": (lambda x, y: dr.concat([x, y * x]) * 2, (X, Y)),
    "concat of vectors": (lambda a: dr.concat([a, a * a]) * 2, (WIDE,)),
    "stack": (lambda t: dr.stack([t, t * t], axis=1), (T,)),
    "hstack": (lambda t: dr.hstack([t, t * t]), (T,)),
    "vstack": (lambda t: dr.vstack([t, t * t]), (T,)),
    "dstack": (lambda t: dr.dstack([t, t * t]), (T,)),
    "column_stack": (lambda t: dr.column_stack([t, t * t]), (T,)),
    "row_stack": (lambda t: dr.row_stack([t, t * t]), (T,)),
    "array_split": (lambda t: dr.array_split(t * t, 2, axis=1), (T,)),
    "tile": (lambda t: dr.tile(t * t, (2, 1)), (T,)),
    "repeat": (lambda t: dr.repeat(t * t, 2, axis=1), (T,)),
    "repeat of entries": (lambda x: dr.repeat(x * x, UInt(1, 0, 2, 1, 3, 1)), (X,)),
    "tile of vectors": (lambda v: dr.tile(v * v, 2), (V,)),
    "repeat of vectors": (lambda v: dr.repeat(v * v, 2), (V,)),
    "expand_dims": (lambda t: dr.expand_dims(t, 1) * t, (T,)),
    "squeeze": (lambda t: dr.squeeze(dr.expand_dims(t, 1)) * t, (T,)),
    "swapaxes": (lambda t: dr.swapaxes(t, 0, 2) * 2, (CUBE,)),
    "moveaxis": (lambda t: dr.moveaxis(t, 0, 2) * 2, (CUBE,)),
    "reshape": (lambda t: dr.reshape(t, (4, -1)) * 2, (CUBE,)),
    "reshape of vectors": (
        lambda v: dr.reshape(Array2f64, v * v, (2, 3)), (V,)
    ),
    "ravel": (lambda v: dr.ravel(v * v, order="C"), (V,)),
    "ravel F": (lambda v: dr.ravel(v * v, order="F"), (V,)),
    "unravel": (lambda x: dr.unravel(Array3f64, x * x, order="C"), (X,)),
    "unravel F": (lambda x: dr.unravel(Array2f64, x * x, order="F"), (X,)),
    "upsample": (lambda t: dr.upsample(t * t, shape=(6, 8)), (T,)),
    "upsample by factors": (lambda t: dr.upsample(t, scale_factor=(2, 3)), (T,)),
    "resample": (lambda t: dr.resample(t * t, (5, 3)), (T,)),
    "resample up": (lambda x: dr.resample(x * x, (11,), "lanczos"), (X,)),
    "convolve": (lambda t: dr.convolve(t * t, "gaussian", 2), (T,)),
    "convolve wrap": (
        lambda x: dr.convolve(x * x, [1, 2, -1, 3], boundary="wrap"), (X,)
    ),
    "meshgrid": (lambda x, y: dr.meshgrid(x * x, y), (X, INNER)),
    "meshgrid ij": (lambda x, y: dr.meshgrid(x, y, indexing="ij"), (X, INNER)),
    "full": (lambda x: dr.full(Array3f64, x * x, 4), (Float64(0.7),)),
    "full of a tensor": (lambda x: dr.full(TensorXf64, x * x, (2, 3)), (Float64(0.7),)),
    "full of lanes": (lambda x: dr.full(Float64, x * x, 4) * Y[:4], (Float64(0.7),)),
    "copy": (lambda v: dr.copy(v) * v, (V,)),
    "select of vectors": (lambda v, w: dr.select(v > w, v * w, w), (V, W)),
    "slices": (lambda x: x[1:5:2] * x[::-1][0:2], (X,)),
    "rows": (lambda t: t[UInt(2, 0)] * t[1, None], (T,)),
    "newaxis": (lambda t: t[:, None, :] * t[None], (T,)),
    "ellipsis": (lambda t: t[..., 1] * t[0, ..., 2], (CUBE,)),
    "diagonal": (lambda t: t[UInt(0, 1, 2), UInt(0, 1, 2)], (T,)),
    "assigned rows": (lambda t: assigned(t, UInt(2, 0)), (T,)),
    "assigned by a mask": (lambda t: assigned(t, T > 0), (T,)),
    "assigned entry": (lambda t: assigned(t, (slice(None), 1)), (T,)),
    "added rows": (lambda t: added(t, (1, slice(1, 3))), (T,)),
    "masked components": (lambda v: masked(v), (V,)),
    "masked lanes": (lambda x: masked(x), (X,)),
    "entries of arrays": (lambda x: single(x), (X,)),
    "identity": (lambda x: dr.identity(Matrix3f64) * x @ V, (Float64(0.7),)),
    "dynamic sum": (dynamic, (WIDE,)),
    "dynamic entries": (lambda a: a[1] * a[0] + dr.sum(a), (WIDE,)),
    "constructors": (
        lambda x, y: (Array2f64(x, y), Matrix2f64(x, y, 1, x), Complex2f64(x, 2)),
        (X, Y),
    ),
    "tensor of an array": (lambda x: TensorXf64(x * x, (2, 3)) @ T[:, :2], (X,)),
    "array of a tensor": (lambda t: Array3f64(t) * 2, (T,)),
    # memory
    "gather packets": (lambda x: dr.gather(Array4f64, x, UInt(0, 0)), (TWELVE,)),
    "gather matrices": (lambda x: dr.gather(Matrix2f64, x, UInt(2, 0)), (TWELVE,)),
    "gather vectors of components": (
        lambda v: dr.gather(Array3f64, v, UInt(1, 1, 0)) * 2, (V,)
    ),
    "gather with shape": (
        lambda x: dr.gather(Array2f64, x, UInt(2, 0), shape=(2, 2)), (X,)
    ),
    "scatter packets": (lambda v: scattered(dr.scatter, v), (FOUR,)),
    "scatter_add packets": (lambda v: scattered(dr.scatter_add, v), (FOUR,)),
    "scatter_add_kahan": (lambda x: compensated(x), (X,)),
    "scatter_reduce": (
        lambda x: reduced(dr.ReduceOp.Add, x), (X,)
    ),
    "scatter_reduce Identity": (lambda x: reduced(dr.ReduceOp.Identity, x), (X,)),
    **{
        f"scatter_add {mode}": (
            lambda x, mode=mode: accumulated(x, getattr(dr.ReduceMode, mode)), (X,)
        )
        for mode in ("Auto", "Direct", "Local", "Expand")
    },
    "gather permuted": (
        lambda x: dr.gather(
            Float64, x, UInt(2, 3, 0, 1), mode=dr.ReduceMode.Permute
        ) + dr.gather(Float64, x * x, UInt(2, 5, 0, 1), mode=dr.ReduceMode.Permute),
        (X,),
    ),
    "normal": (
        lambda x, s: dr.rng(1).normal(Float64, 4, loc=x, scale=s),
        (Float64(0.3), Float64(2)),
    ),
    "uniform": (
        lambda x, s: dr.rng(1).uniform(Float64, 4, low=x, high=s * x),
        (Float64(0.3), Float64(2)),
    ),
    # matrix products of tensors
    **{
        f"matmul {a} {b}": (
            lambda x, y, a=a, b=b: dr.matmul(tensor(x, a), tensor(y, b)), (X, Y)
        )
        for a, b in (
            ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)),
            ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
            ((2, 1, 2, 3), (3, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)),
            ((3,), (5, 3, 4)), ((1, 3), (3, 1)), ((2, 3), (2, 1, 3, 2)),
        )
    },
    **{
        f"transposed matmul {a} {b}": (
            lambda x, y, a=a, b=b: (
                dr.swapaxes(tensor(x, a), -1, -2) @ dr.swapaxes(tensor(y, b), -1, -2)
            ),
            (X, Y),
        )
        for a, b in (
            ((3, 2), (4, 3)), ((5, 3, 2), (4, 3)), ((3, 2), (5, 4, 3)),
            ((5, 3, 2), (5, 4, 3)),
        )
    },
    "matmul with a slice": (lambda t: t[:, 1:3].T @ t[:, ::2], (T,)),
    "gram": (lambda t: t @ t.T, (T,)),
}  # fmt: skip


def tensor(x: Any, shape: tuple[int, ...]) -> Any:
    """All of it made of x."""
    size = int(np.prod(shape))
    lanes = dr.arange(UInt, size)
    return TensorXf64(dr.gather(Float64, x, lanes % 6) * (1 + 0.1 * Float64(lanes)),
                      shape)  # fmt: skip


def assigned(t: Any, key: Any) -> Any:
    result = TensorXf64(t) * 1
    result[key] = t[key] * t[key] if not dr.is_mask_v(key) else t * t
    return result * t


def added(t: Any, key: Any) -> Any:
    result = TensorXf64(t)
    result[key] += t[key] * 3
    return result * t


def masked(v: Any) -> Any:
    result = type(v)(v)
    result[v > 0.6] = v * v
    result[v < 0] += 2 * v
    return result * v


def single(x: Any) -> Any:
    result = Float64(x)
    result[2] = 5
    result[1:4] = result[2:5] * x[0:3]
    result[0] = 1
    return result * x


def scattered(function: Callable[..., Any], v: Any) -> Any:
    target = dr.repeat(v.x, 6) * 2
    function(target, v * v, UInt(2, 0))
    return target * target


def compensated(x: Any) -> Any:
    target, rest = x * 2, dr.zeros(Float64, 6)
    dr.scatter_add_kahan(target, rest, x * x, UInt(0, 0, 2, 3, 3, 3))
    return (target + rest) * x


def reduced(op: Any, x: Any) -> Any:
    target = x * 2
    dr.scatter_reduce(op, target, x * x, UInt(5, 4, 3, 2, 1, 0))
    return target * x


def accumulated(x: Any, mode: Any) -> Any:
    target = x * 2
    dr.scatter_add(target, x * x, UInt(0, 0, 2, 3, 3, 3), mode=mode)
    return target * target


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name: str) -> None:
    function, args = ROWS[name]
    dr.check_grad(function, *args)


class Shape(dr.Instance):
    def __init__(self, size: Any) -> None:
        self.size = size

    def area(self, x: Any) -> Any:
        return self.size * x * x


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_dispatch(mode: str) -> None:
    """By arguments, and by what instances hold."""
    sizes = Float64(3), Float64(0.5)
    x = Float64(1, 2, 3, 4)
    dr.enable_grad(sizes, x)
    shapes = [Shape(size) for size in sizes]
    kind: Any = dr.array_t(Shape)
    array = dr.gather(kind, kind(shapes[0], shapes[1]), UInt(0, 1, 1, 0))
    y = dr.dispatch(array, Shape.area, x, mode=mode)
    dr.backward(y)
    assert y.numpy().tolist() == [3, 2, 4.5, 48]
    assert x.grad.numpy().tolist() == [6, 2, 3, 24]
    assert [float(size.grad.numpy()[0]) for size in sizes] == [17, 13]
    del array
    dr.detail.clear_registry()


def test_what_cannot_be_tracked_is_an_error() -> None:
    """Rather than a constant."""
    x = Float64(0.5, 0.7)
    dr.enable_grad(x)
    one = Float64(2)
    dr.enable_grad(one)
    for call in (
        lambda: dr.linspace(Float64, one, 2, 5),  # type: ignore[call-overload]
        lambda: dr.full_like(X, one),
        lambda: dr.prefix_reduce(dr.ReduceOp.Max, x),
        lambda: dr.block_prefix_reduce(dr.ReduceOp.Mul, x, 2),
        lambda: dr.cumsum(x, axis=3),
        lambda: dr.block_reduce(dr.ReduceOp.Mul, x, 2, mode="symbolic"),
        lambda: dr.scatter_reduce(dr.ReduceOp.Mul, x, x, UInt(0, 1)),
        lambda: dr.scatter_reduce(dr.ReduceOp.Mul, Float64(1, 2), x, UInt(0, 1)),
    ):
        with pytest.raises((TypeError, RuntimeError, ValueError), match=r"^drjit\."):
            call()
    assert dr.grad_enabled(x, one)


# What yields no floats, or floats that depend on no floats.
NOT_DIFFERENTIATED = {
    "all_nested", "all_or", "any_nested", "any_or", "none_or",
    "argmax", "argmin", "binary_search", "brev", "depth_v",
    "empty", "empty_like", "epsilon", "euler", "full_like", "graphviz", "has_backend",
    "hint", "identity", "itemsize_v", "log2i", "lzcnt", "mul_hi", "mul_wide",
    "none_nested", "one_minus_epsilon", "ones_like", "profile_mark", "recip_overflow",
    "reorder_threads", "schedule", "size_v", "slice_index", "slice", "tzcnt", "whos",
    "zeros_like", "linspace", "assert_equal", "assert_false", "assert_true",
    "expand_threshold", "set_expand_threshold", "flag", "set_flag", "func",
    "flush_kernel_cache", "flush_malloc_cache", "flush_thread", "load_frozen",
    "log_level", "set_log_level",
    "set_log_callback", "set_thread_count", "thread_count", "sync_thread",
}  # fmt: skip


def words_of_tests() -> set[str]:
    texts = [p.read_text(encoding="utf-8") for p in HERE.glob("test_ad_*.py")]
    text = re.sub(r"NOT_DIFFERENTIATED = .*?\}", "", "".join(texts), flags=re.DOTALL)
    return set(re.findall(r"\w+", text))


def test_all_functions_are_listed() -> None:
    """In some file with tests of derivatives, or above."""
    words = words_of_tests()
    for name in dir(dr):
        value = getattr(dr, name)
        if name.startswith(("_", "is_")) or name.endswith("_t") or not callable(value):
            continue
        if isinstance(value, (type, GenericAlias)) or name in NOT_DIFFERENTIATED:
            continue
        assert name in words, name


# ---------------------------------------------------------------- second order


def leaves(tree: Any) -> list[Any]:
    found: list[Any] = _leaves(tree)
    return found


def loss_of(result: Any) -> Any:
    """A combination of all entries that is not linear."""
    total: Any = Float64(0)
    for number, leaf in enumerate(leaves(result)):
        lane = Float64(dr.arange(UInt, dr.width(leaf)) % 5)
        total += dr.sum(leaf * (1 + 0.25 * leaf) * (1 + 0.37 * lane + number % 3))
    return total


def direction(number: int, leaf: Any) -> Any:
    lane = Float64(dr.arange(UInt, dr.width(leaf)))
    return dr.cos(1.3 * lane + number)


def gradient(function: Callable[..., Any], args: Any) -> Any:
    inputs = dr.detach(args)
    dr.enable_grad(inputs)
    loss = loss_of(function(*inputs))
    dr.backward(loss, dr.ADFlag.Default)
    return [g.numpy() for g in leaves(dr.grad(inputs))]


def moved(args: Any, step: float) -> Any:
    rebuild = _rebuild
    own = [x + step * direction(k, x) for k, x in enumerate(leaves(args))]
    return rebuild(dr.detach(args), own)


# Without those that are constant, or much like others.
SECOND = [
    n for n in ROWS if not re.match(r"sh_eval [^2]|(sum|mean|min|std) of axes", n)
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str) -> None:
    """In reverse and forward, of the gradient: against quotients of it."""
    function, args = ROWS[name]
    step, expected = 2.0**-11, None
    for k, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
        parts = [weight * g for g in gradient(function, moved(args, k * step))]
        expected = parts if expected is None else [*map(np.add, expected, parts)]
    inputs = dr.detach(args)
    dr.enable_grad(inputs)
    loss = loss_of(function(*inputs))
    dr.set_grad(loss, 1)
    dr.enqueue(dr.ADMode.Backward, loss)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
    first = leaves(dr.grad(inputs))
    dr.clear_grad((inputs, loss))
    along = [direction(k, x) for k, x in enumerate(leaves(inputs))]
    # Reverse over reverse: by the symmetry of the Hessian.
    for g, v in zip(first, along, strict=True):
        if dr.grad_enabled(g):  # else it is constant
            dr.accum_grad(g, v)
    dr.enqueue(dr.ADMode.Backward, first)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
    reverse = [g.numpy() for g in leaves(dr.grad(inputs))]
    dr.clear_grad((inputs, first))
    for x, v in zip(leaves(inputs), along, strict=True):
        dr.set_grad(x, v)
    dr.enqueue(dr.ADMode.Backward, first)
    dr.traverse(dr.ADMode.Forward)
    forward = [dr.grad(g).numpy() for g in first]
    for a, b, c in zip(reverse, forward, expected or [], strict=True):
        c = c / (12 * step)
        scale = max(1.0, float(np.abs(c).max(initial=0)))
        np.testing.assert_allclose(a, c, rtol=0, atol=2e-6 * scale)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * scale)
