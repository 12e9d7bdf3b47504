"""Products of matrices, vectors and tensors, compared with NumPy."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest


def entries(array: Any) -> list[Any]:
    return [entries(v) if isinstance(v, dr.ArrayBase) else v for v in array]


def plain(a: Any, *shape: int) -> Any:
    return np.array(entries(a)).reshape(shape)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(-5, 6, shape).astype(np.float64)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("suffix", ["f16", "f", "f64"])
def test_fixed_sizes(m: ModuleType, n: int, suffix: str) -> None:
    x, y, v = numbers(1, n, n), numbers(2, n, n), numbers(3, n)
    cls = getattr(m, f"Matrix{n}{suffix}")
    a, b = cls(*x.ravel().tolist()), cls(*y.ravel().tolist())
    w = getattr(m, f"Array{n}{suffix}")(*v.tolist())
    rows = getattr(m, f"Array{n}{n}{suffix}")(*x.tolist())
    for product in (a @ b, dr.matmul(a, b), a * b, rows @ b):
        assert type(product) is cls
        assert (plain(product, n, n) == x @ y).all()
    assert type(rows @ rows) is type(rows)
    assert (plain(rows @ rows, n, n) == x @ x).all()
    assert type(a @ w) is type(w)
    assert (plain(a @ w, n) == x @ v).all()
    assert (plain(w @ a, n) == v @ x).all()
    inner = w @ w
    assert (inner if m is scalar else inner[0]) == v @ v
    assert (plain(a @ 2, n, n) == 2 * x).all()
    assert (plain(2 @ a, n, n) == 2 * x).all()


def test_promotion() -> None:
    a = llvm.Matrix2f(1, 2, 3, 4)
    assert type(llvm.Matrix2f64(1) @ a) is llvm.Matrix2f64
    assert type(a @ llvm.Array2i(1, 2)) is llvm.Array2f
    assert type(scalar.Matrix2f(1) @ a) is llvm.Matrix2f
    assert type(llvm.Array2i(1, 2) @ llvm.Array2i(3, 4)) is llvm.Int
    assert entries(llvm.Array2i(1, 2) @ llvm.Array2i(3, 4)) == [11]
    assert entries(a @ llvm.Array2i(1, 2)) == [[5], [11]]
    assert entries(a @ llvm.Float(2, 3)) == [[[2, 3], [4, 6]], [[6, 9], [8, 12]]]
    assert entries(llvm.Float(1, 2) @ llvm.Float(3, 4)) == [3, 8]


def test_elements_of_several_leaves() -> None:
    x, v = numbers(4, 3, 3), numbers(5, 3)
    a = llvm.Matrix34f(1) @ llvm.Matrix3f(*x.ravel().tolist())
    assert type(a) is llvm.Matrix34f
    assert (plain(a, 3, 3, 4) == x[..., None]).all()
    w = a @ llvm.Array3f(*v.tolist())
    assert type(w) is llvm.Array34f
    assert (plain(w, 3, 4) == (x @ v)[:, None]).all()


def test_lanes() -> None:
    x = numbers(6, 5, 3, 3)
    y = numbers(7, 5, 3)
    a = llvm.Matrix3f64(*[llvm.Float64(c) for c in x.reshape(5, 9).T.tolist()])
    w = llvm.Array3f64(*[llvm.Float64(c) for c in y.T.tolist()])
    product = np.array(entries(a @ w)).T
    assert (product == np.einsum("nij,nj->ni", x, y)).all()


UNSUPPORTED: list[tuple[Any, Any]] = [
    (llvm.Matrix2f(1), llvm.Matrix3f(1)),
    (llvm.Matrix2f(1), llvm.Array3f(1)),
    (llvm.Matrix2f(1), llvm.Complex2f(1)),
    (llvm.Quaternion4f(1), llvm.Quaternion4f(1)),
    (llvm.ArrayXf(1, 2), llvm.ArrayXf(1, 2)),
    (llvm.Array2b(True), llvm.Array2b(True)),
    (llvm.Matrix2f(1), [1, 2]),
    (llvm.Matrix2f(1), None),
    (llvm.TensorXf([1, 2], (2,)), llvm.Matrix2f(1)),
    (llvm.TensorXf([1, 2], (2,)), llvm.Float(1, 2)),
    (llvm.Array0f(), llvm.Array0f()),
]


@pytest.mark.parametrize("pair", UNSUPPORTED, ids=map(str, range(len(UNSUPPORTED))))
def test_unsupported(pair: tuple[Any, Any]) -> None:
    a, b = pair
    with pytest.raises(TypeError, match="unsupported operand"):
        a @ b
    with pytest.raises(TypeError, match=r"drjit\.matmul\(.*unsupported argument types"):
        dr.matmul(a, b)


def test_numbers_only() -> None:
    with pytest.raises(TypeError, match="unsupported argument types"):
        dr.matmul(2, 3)


# ------------------------------------------------------------------ tensors

SHAPES = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
          ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)),
          ((1, 2, 3), (5, 3, 1)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
          ((1, 1), (1, 1)), ((17, 33), (33, 9)), ((2, 600), (600, 3)),
          ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 4)), ((0,), (0,)),
          ((2, 0), (0,))]  # fmt: skip


def tensor(m: ModuleType, suffix: str, x: Any) -> Any:
    return getattr(m, "TensorX" + suffix)(x.ravel().tolist(), x.shape)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("suffix", ["f16", "f", "f64", "i", "u", "i64"])
def test_tensors(m: ModuleType, shapes: Any, suffix: str) -> None:
    x, y = numbers(8, *shapes[0]), numbers(9, *shapes[1])
    if suffix == "f16":
        x, y = x % 2, y % 2  # sums stay exact
    if suffix == "u":
        x, y = abs(x), abs(y)
    integer = suffix in ("i", "u", "i64")
    x, y = (v.astype(np.int64) if integer else v for v in (x, y))
    expected = x @ y
    result = tensor(m, suffix, x) @ tensor(m, suffix, y)
    assert dr.shape(result) == np.shape(expected)
    assert entries(result.array) == np.ravel(expected).tolist()


@pytest.mark.parametrize("at", [False, True])
@pytest.mark.parametrize("bt", [False, True])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_transposition(m: ModuleType, at: bool, bt: bool, batch: Any) -> None:
    x, y = numbers(10, *batch, 4, 5), numbers(11, 5, 6)
    expected = x @ y
    a = tensor(m, "f", np.ascontiguousarray(x.swapaxes(-1, -2)) if at else x)
    b = tensor(m, "f", np.ascontiguousarray(y.T) if bt else y)
    result = dr.matmul(a, b, At=at, Bt=bt)
    assert dr.shape(result) == expected.shape
    assert entries(result.array) == expected.ravel().tolist()
    assert entries(dr.matmul(A=a, B=b, At=at, Bt=bt).array) == expected.ravel().tolist()


@pytest.mark.parametrize("suffix", ["f16", "f", "f64"])
def test_families_agree_bit_for_bit(suffix: str) -> None:
    rng = np.random.default_rng(12)
    x, y = rng.standard_normal((3, 700)), rng.standard_normal((700, 5))
    a = tensor(llvm, suffix, x) @ tensor(llvm, suffix, y)
    b = tensor(scalar, suffix, x) @ tensor(scalar, suffix, y)
    assert entries(a.array) == entries(b.array)
    tolerance = {"f16": 2e-3, "f": 1e-5, "f64": 1e-13}[suffix]
    if suffix == "f16":
        x, y = x.astype(np.float16).astype(float), y.astype(np.float16).astype(float)
    error = abs(np.array(entries(a.array)).reshape(3, 5) - x @ y)
    assert (error <= tolerance * (abs(x) @ abs(y))).all()


def test_integers_wrap(m: ModuleType) -> None:
    a = m.TensorXi([1 << 30, 1 << 30], (2,))
    b = m.TensorXi([2, 3], (2,))
    assert entries((a @ b).array) == [(5 << 30) - (1 << 32)]


def test_tensor_scaling(m: ModuleType) -> None:
    t = m.TensorXf([1, 2, 3, 4], (2, 2))
    assert entries((t @ 2).array) == [2, 4, 6, 8]
    assert entries((2.5 @ t).array) == [2.5, 5, 7.5, 10]


def test_tensor_errors(m: ModuleType) -> None:
    t = m.TensorXf([1, 2, 3, 4, 5, 6], (2, 3))
    v = m.TensorXf([1, 2], (2,))
    with pytest.raises(ValueError, match="3 columns and the second 2 rows"):
        t @ t
    with pytest.raises(ValueError, match="'At=True' is possible for operands of 2"):
        dr.matmul(v, t, At=True)
    with pytest.raises(ValueError, match="'Bt=True' is possible for operands of 2"):
        dr.matmul(t, v, Bt=True)
    matrix, vector = m.Matrix2f(1, 2, 3, 4), m.Array2f(1, 2)
    mixed = ((matrix, matrix), (matrix, vector), (2, matrix), (t, 2), (t, matrix))
    for factors in mixed:
        for flag in ("At", "Bt"):
            with pytest.raises(TypeError, match=f"'{flag}=True' is possible for two"):
                dr.matmul(*factors, **{flag: True})
        for flag in ("At", "Bt") if factors[0] is matrix else ():
            product = dr.matmul(*factors, **{flag: False})
            assert entries(product) == entries(factors[0] @ factors[1])
    with pytest.raises(ValueError, match="do not broadcast"):
        m.TensorXf([1.0] * 8, (2, 2, 2)) @ m.TensorXf([1.0] * 12, (3, 2, 2))
    with pytest.raises(ValueError, match="no axes"):
        t @ m.TensorXf([1], ())
    with pytest.raises(TypeError, match="different type"):
        t @ m.TensorXi([1, 2, 3], (3,))
    with pytest.raises(TypeError, match="no matrix product"):
        m.TensorXb([True], (1,)) @ m.TensorXb([True], (1,))
    assert math.prod(dr.shape(t)) == 6
