"""Operators of arrays, compared with NumPy and with each other across families."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest

Binary = Callable[[Any, Any], Any]

INTS = ["Int8", "UInt8", "Int", "UInt", "Int64", "UInt64"]
FLOATS = ["Float16", "Float", "Float64"]
DTYPES = {
    "Bool": np.bool_, "Int8": np.int8, "UInt8": np.uint8, "Int": np.int32,
    "UInt": np.uint32, "Int64": np.int64, "UInt64": np.uint64,
    "Float16": np.float16, "Float": np.float32, "Float64": np.float64,
}  # fmt: skip
SUFFIXES = {
    "Bool": "b", "Int8": "i8", "UInt8": "u8", "Int": "i", "UInt": "u",
    "Int64": "i64", "UInt64": "u64", "Float16": "f16", "Float": "f",
    "Float64": "f64",
}  # fmt: skip

ARITHMETIC: dict[str, Binary] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}
COMPARISONS: dict[str, Binary] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
BITS: dict[str, Binary] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def edge_cases(name: str) -> np.ndarray[Any, Any]:
    dtype = DTYPES[name]
    if name in FLOATS:
        info = np.finfo(dtype)
        special = [0.0, -0.0, 1, -1, 0.5, 3, math.inf, -math.inf, math.nan,
                   float(info.tiny), float(info.max), -2.75]  # fmt: skip
        return np.array(special, dtype)
    limits = np.iinfo(dtype)
    values = [0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 5]
    return np.array(values + ([-1, -7] if limits.min < 0 else [100, 200]), dtype)


def pairs(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Each edge case with each other one."""
    x = edge_cases(name)
    return np.repeat(x, len(x)), np.tile(x, len(x))


def entries(array: Any) -> list[Any]:
    return [entries(v) if isinstance(v, dr.ArrayBase) else v for v in array]


def same(actual: list[Any], expected: Any) -> bool:
    """Equal numbers, NaN in the same places, zeros with the same sign."""
    numbers = np.array(actual, np.asarray(expected).dtype)
    expected = np.asarray(expected)
    if expected.dtype.kind != "f":
        return bool((numbers == expected).all())
    nan = np.isnan(expected)
    return bool(
        (nan == np.isnan(numbers)).all()
        and (numbers[~nan] == expected[~nan]).all()
        and (np.signbit(numbers[~nan]) == np.signbit(expected[~nan])).all()
    )


def both(name: str, values: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """A flat llvm array and a dynamic scalar array with the same entries."""
    numbers = values.tolist()
    leaf = getattr(llvm, name)(numbers)
    return leaf, getattr(scalar, "ArrayX" + SUFFIXES[name])(numbers)


@pytest.mark.parametrize("name", INTS + FLOATS)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(name: str, op: str) -> None:
    x, y = pairs(name)
    with np.errstate(all="ignore"):
        expected = ARITHMETIC[op](x, y)
    for a, b in zip(both(name, x), both(name, y), strict=True):
        assert same(entries(ARITHMETIC[op](a, b)), expected)


@pytest.mark.parametrize("name", FLOATS)
def test_true_division(name: str) -> None:
    x, y = pairs(name)
    with np.errstate(all="ignore"):
        expected = x / y
    for a, b in zip(both(name, x), both(name, y), strict=True):
        assert same(entries(a / b), expected)


@pytest.mark.parametrize("name", INTS)
def test_integer_division_truncates(name: str) -> None:
    x, y = pairs(name)
    bits = 8 * x.dtype.itemsize
    quotients, remainders = [], []
    for p, q in zip(x.tolist(), y.tolist(), strict=True):
        if q == 0:
            quotient, remainder = 0, p
        else:
            quotient = abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
            remainder = p - quotient * q
            if x.dtype.kind == "i" and quotient == 1 << (bits - 1):
                quotient = -quotient
        quotients.append(quotient)
        remainders.append(remainder)
    for a, b in zip(both(name, x), both(name, y), strict=True):
        assert entries(a // b) == quotients
        assert entries(a % b) == remainders


@pytest.mark.parametrize("name", INTS + FLOATS)
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(name: str, op: str) -> None:
    x, y = pairs(name)
    expected = COMPARISONS[op](x, y)
    for a, b in zip(both(name, x), both(name, y), strict=True):
        result = COMPARISONS[op](a, b)
        assert dr.is_mask_v(result)
        assert entries(result) == expected.tolist()


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_of_masks(op: str) -> None:
    x = np.array([False, False, True, True])
    y = np.array([False, True, False, True])
    expected = COMPARISONS[op](x.astype(int), y.astype(int)).tolist()
    for a, b in zip(both("Bool", x), both("Bool", y), strict=True):
        assert entries(COMPARISONS[op](a, b)) == expected


@pytest.mark.parametrize("name", ["Bool", *INTS])
@pytest.mark.parametrize("op", BITS)
def test_bits(name: str, op: str) -> None:
    x, y = pairs(name) if name != "Bool" else (
        np.array([False, False, True, True]), np.array([False, True, False, True])
    )  # fmt: skip
    expected = BITS[op](x, y)
    for a, b in zip(both(name, x), both(name, y), strict=True):
        assert entries(BITS[op](a, b)) == expected.tolist()
        assert entries(~a) == (~x).tolist()


@pytest.mark.parametrize("name", INTS)
def test_shifts(name: str) -> None:
    x = edge_cases(name)
    bits = 8 * x.dtype.itemsize
    for shift in (0, 1, bits - 1):
        left = (x.astype(object) * (1 << shift)) & ((1 << bits) - 1)
        if x.dtype.kind == "i":
            left = [v - (1 << bits) if v >> (bits - 1) else v for v in left]
        right = [v >> shift for v in x.tolist()]
        for a in both(name, x):
            assert entries(a << shift) == list(left)
            assert entries(a >> shift) == right


@pytest.mark.parametrize("name", INTS + FLOATS)
def test_unary(name: str) -> None:
    x = edge_cases(name)
    with np.errstate(all="ignore"):
        negative, absolute = -x, abs(x)
    for a in both(name, x):
        assert same(entries(-a), negative)
        assert same(entries(abs(a)), absolute)
        assert same(entries(+a), x)


def test_plus_is_a_copy(m: ModuleType) -> None:
    a = m.Array3f(1, 2, 3)
    b = +a
    b += 1
    assert entries(a) in ([1, 2, 3], [[1], [2], [3]])


def test_numbers_on_both_sides() -> None:
    x = llvm.Float(2, 4)
    assert list(x + 1) == [3, 5]
    assert list(1 + x) == [3, 5]
    assert list(1 - x) == [-1, -3]
    assert list(x * 2.5) == [5, 10]
    assert list(8 / x) == [4, 2]
    assert list(True + x) == [3, 5]
    i = llvm.Int(7, -7)
    assert list(i // 2) == [3, -3]
    assert list(7 // i) == [1, -1]
    assert list(i % 2) == [1, -1]
    assert list(1 << llvm.Int(3, 4)) == [8, 16]
    assert list(3 < i) == [True, False]


def test_numpy_numbers() -> None:
    x = llvm.Float(2, 4)
    assert type(x + np.float64(0.5)) is llvm.Float
    assert list(x + np.float64(0.5)) == [2.5, 4.5]
    assert list(x * np.int32(2)) == [4, 8]
    assert list(llvm.Int(1) + np.float32(2.5)) == [3.5]
    assert list(x & np.bool_(False)) == [0, 0]


def test_number_out_of_range() -> None:
    with pytest.raises(OverflowError, match=r"drjit.add\(<drjit\S*\.UInt>, <int>\)"):
        llvm.UInt(1) + (-1)
    with pytest.raises(OverflowError, match="out of range"):
        scalar.Array3i8(1) * 200
    with pytest.raises(OverflowError):
        _ = llvm.Int(1) < 2**31
    assert list(llvm.UInt8(255) + 1) == [0]


def f32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def test_division_by_lower_rank_multiplies_by_reciprocal(m: ModuleType) -> None:
    reciprocal = f32(1 / 3)
    values = [1.0, 5.0, 7.0, 1.1]
    expected = [f32(f32(v) * reciprocal) for v in values]
    assert expected != [f32(f32(v) / 3) for v in values]
    x = m.Array4f(*values) / 3
    assert np.ravel(entries(x)).tolist() == expected
    y = m.Array4f(*values) / m.Array4f(3)
    assert np.ravel(entries(y)).tolist() == [f32(f32(v) / 3) for v in values]


def test_division_by_a_single_variable() -> None:
    y = llvm.Float(3, 7)
    x = llvm.Array2f(5, llvm.Float(1.1, 1.3)) / y
    expected_values: list[list[float]] = [[5, 5], [1.1, 1.3]]
    for component, values in zip(x, expected_values, strict=True):
        expected = [
            f32(f32(v) * f32(1 / d)) for v, d in zip(values, (3, 7), strict=True)
        ]
        assert list(component) == expected


def test_nested_arithmetic() -> None:
    a = llvm.Array3f([1, 2], 3, 4)
    b = llvm.Float(10, 20)
    assert entries(a + b) == [[11, 22], [13, 23], [14, 24]]
    assert entries(b - a) == [[9, 18], [7, 17], [6, 16]]
    assert entries(a * llvm.Array3f(2)) == [[2, 4], [6], [8]]
    assert entries(llvm.ArrayXf(1, 2) + llvm.ArrayXf(5)) == [[6], [7]]
    assert entries(llvm.ArrayXf(1, 2) + 1) == [[2], [3]]


def test_broadcast_into_deeper_arrays(m: ModuleType) -> None:
    def flat(x: Any) -> Any:
        return np.array(entries(x)).reshape(dr.shape(x)[:2])

    rows = flat(m.Array33f(0) + m.Array3f(1, 2, 3))
    assert (rows == [[1, 2, 3]] * 3).all()
    columns = flat(m.Array34f(0) + m.Array3f(1, 2, 3))
    assert (columns == [[1] * 4, [2] * 4, [3] * 4]).all()
    single = np.ravel(entries(m.Array3f(1, 2, 3) + m.Array1f(10)))
    assert single.tolist() == [11, 12, 13]


def test_mask_selects(m: ModuleType) -> None:
    mask = m.Array3b(True, False, True)
    assert np.ravel(entries(m.Array3f(1, 2, 3) & mask)).tolist() == [1, 0, 3]
    assert np.ravel(entries(m.Array3i(1, 2, 3) & mask)).tolist() == [1, 0, 3]
    assert np.ravel(entries(m.Array3f(1, 2, 3) & False)).tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="unsupported operand type"):
        mask & m.Array3f(1, 2, 3)
    with pytest.raises(TypeError, match="unsupported operand type"):
        m.Array3f(1, 2, 3) | mask


def test_mask_from_a_sequence(m: ModuleType) -> None:
    for mask in ([True, False], (True, False), np.array([True, False])):
        assert np.ravel(entries(m.Array2i(5, 7) & mask)).tolist() == [5, 0]
        assert np.ravel(entries(m.Array2f(5, 7) & mask)).tolist() == [5, 0]
        assert entries(llvm.Int(5, 7) & mask) == [5, 0]
        assert entries(llvm.Int(5, 7) | mask) == [5, 7]  # there a mask is a number
        assert entries(llvm.Bool(True, True) & mask) == [True, False]
    assert entries(llvm.Int(5, 7) & [1, 2]) == [1, 2]


def test_numbers_to_integer_powers(m: ModuleType) -> None:
    result = 2 ** m.Array2i(3, -1)
    assert type(result) is m.Array2f
    assert np.ravel(entries(result)).tolist() == [8, 0.5]
    assert entries(2 ** llvm.UInt(3, 10)) == [8, 1024]
    assert entries(1.5 ** llvm.UInt64(2)) == pytest.approx([2.25])
    with pytest.raises(TypeError, match="unsupported operand type"):
        2 ** llvm.Bool(True)


@pytest.mark.parametrize("name", ["Int8", "UInt8", "Int", "UInt", "Int64", "UInt64"])
def test_integers_to_integer_powers(name: str) -> None:
    """Against Python's integers, modulo the range of the type."""
    cls = getattr(llvm, name)
    bits = 8 * dr.itemsize_v(cls)
    low = -(1 << bits - 1) if dr.is_signed_v(cls) else 0
    bases = [3, 7, 1, 0, 2, 255 + low, low, low // 2 + 1, 1]
    powers = [5, 90, 100, 0, bits, 3, 2, 0, 77]
    if low:
        bases += [-1, -1, 2, -3, 1, 0]
        powers += [-2, -3, -1, -2, -9, -1]
    expected = [
        (pow(a, b, 1 << bits) - low) % (1 << bits) + low
        if b >= 0
        else int((a**b) if a else 0)
        for a, b in zip(bases, powers, strict=True)
    ]
    assert entries(cls(bases) ** cls(powers)) == expected
    assert entries(dr.power(cls(bases), cls(powers))) == expected


def test_integer_powers_of_other_shapes(m: ModuleType) -> None:
    result = m.Array2i(2, 3) ** m.Array2u(3, 2)
    assert np.ravel(entries(result)).tolist() == [8, 9]
    a = llvm.TensorXi([[1, 2], [3, 4]])
    assert np.array_equal((a ** llvm.TensorXi([3, 2])).numpy(), [[1, 4], [27, 16]])
    a **= llvm.TensorXi([2])
    assert np.array_equal(a.numpy(), [[1, 4], [9, 16]])
    assert type(llvm.Int(2) ** llvm.Int64(40)) is llvm.Int64
    with pytest.raises(RuntimeError, match="not supported for masks"):
        llvm.Bool(True) ** llvm.Bool(True)


def test_mask_of_matrix_and_complex() -> None:
    c = llvm.Complex2f(1, 2) & llvm.Bool(True, False)
    assert entries(c) == [[1, 0], [2, 0]]
    m = llvm.Matrix2f(1, 2, 3, 4) & llvm.Array22b([True, False], [False, True])
    assert entries(m) == [[[1], [0]], [[0], [4]]]
    assert type(m) is llvm.Matrix2f


UNSUPPORTED: list[tuple[str, Binary, Any, Any]] = [
    ("int / int", operator.truediv, llvm.Int(1), llvm.Int(1)),
    ("int / number", operator.truediv, llvm.Int(1), 2),
    ("float // float", operator.floordiv, llvm.Float(1), llvm.Float(1)),
    ("float % float", operator.mod, llvm.Float(1), 2),
    ("float & float", operator.and_, llvm.Float(1), llvm.Float(1)),
    ("float << int", operator.lshift, llvm.Float(1), 1),
    ("mask + mask", operator.add, llvm.Bool(True), llvm.Bool(True)),
    ("matrix % int", operator.mod, llvm.Matrix2f(1), 2),
    ("matrix * complex", operator.mul, llvm.Matrix2f(1), llvm.Complex2f(1)),
    ("float + None", operator.add, llvm.Float(1), None),
    ("float + text", operator.add, llvm.Float(1), "a"),
    ("float * complex", operator.mul, llvm.Float(1), 1j),
    ("dict + float", operator.add, {}, llvm.Float(1)),
    ("list of text", operator.add, llvm.Float(1), ["a"]),
    ("list of None", operator.add, llvm.Float(1), [None]),
    ("array @ list", operator.matmul, llvm.Matrix2f(1), [1, 2]),
]


@pytest.mark.parametrize("case", UNSUPPORTED, ids=[c[0] for c in UNSUPPORTED])
def test_unsupported_operands(case: tuple[str, Binary, Any, Any]) -> None:
    _, op, a, b = case
    with pytest.raises(TypeError, match="unsupported operand type"):
        op(a, b)


@pytest.mark.parametrize(
    ("op", "value"),
    [(operator.invert, llvm.Float(1)), (operator.neg, llvm.Bool(True)),
     (abs, llvm.Bool(True)), (operator.invert, llvm.Matrix2f(1))],
)  # fmt: skip
def test_unsupported_unary(op: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(TypeError, match="bad operand type"):
        op(value)


def test_comparison_with_foreign_objects() -> None:
    for other in (None, "a", object()):
        for op in COMPARISONS.values():
            with pytest.raises(RuntimeError, match="incompatible arguments"):
                op(llvm.Float(1), other)


def test_size_mismatch_names_both() -> None:
    with pytest.raises(RuntimeError, match=r"drjit.add\(.*2 and 3"):
        llvm.Float(1, 2) + llvm.Float(1, 2, 3)
    with pytest.raises(RuntimeError, match=r"drjit.mul\(.*2 and 3"):
        llvm.ArrayXf(1, 2) * llvm.ArrayXf(1, 2, 3)
    with pytest.raises(RuntimeError, match="2 and 3"):
        scalar.ArrayXf(1, 2) * scalar.ArrayXf(1, 2, 3)


def test_empty_arrays() -> None:
    empty = llvm.Float([])
    assert len(empty + empty) == 0
    assert len(-empty) == 0
    assert type(empty == empty) is llvm.Bool
    with pytest.raises(RuntimeError, match="incompatible sizes"):
        empty + llvm.Float(1, 2)
    for other in (1, llvm.Float(1), 2.5):
        for result in (empty + other, other * empty, dr.fma(empty, 2, other)):
            assert type(result) is llvm.Float and len(result) == 0
        assert len(empty > other) == 0
        assert len(dr.select(empty > 0, other, empty)) == 0
    assert dr.width(dr.zeros(llvm.Array3f, 0) + 1) == 0
    assert dr.zeros(llvm.TensorXf, (2, 0)).shape == (2, 0)
    assert (dr.zeros(llvm.TensorXf, (2, 0)) + 1).shape == (2, 0)
    assert len(scalar.ArrayXf() + 1) == 0
    for m in (llvm, scalar):
        assert len(m.Array0f() + m.Array0f()) == 0
        assert len(m.ArrayXf() + m.ArrayXf()) == 0
        with pytest.raises(RuntimeError, match="0 and 2"):
            m.ArrayXf() + m.ArrayXf(1, 2)


class MyArray(llvm.Array3f):  # type: ignore[misc]
    """A user's class."""


class MyTensor(llvm.TensorXf):  # type: ignore[misc]
    """Another one."""


def test_subclass_survives() -> None:
    a = MyArray(1, 2, 3)
    for result in (a + a, a + 1, 2 * a, -a, a / 2, a + llvm.Array3f(1), abs(a),
                   llvm.Array3f(1) + a, a + llvm.Float(1), dr.sqrt(a), a**2,
                   dr.fma(a, a, a), dr.select(llvm.Bool(True), a, a)):  # fmt: skip
        assert type(result) is MyArray
    assert type(a == a) is llvm.Array3b
    assert type(a + llvm.Float64(1)) is llvm.Array3f64
    t = MyTensor([1, 2], (2,))
    assert type(t + 1) is MyTensor
    assert dr.shape(t + 1) == (2,)


def test_in_place_keeps_identity(m: ModuleType) -> None:
    for a, b in (
        (m.Array3f(1, 2, 3), 2),
        (m.ArrayXf(1, 2), 3),
        (m.TensorXf([1, 2], (2,)), 2),
        (m.Matrix2f(1, 2, 3, 4), m.Matrix2f(2)),
        (MyArray(1, 2, 3), 2),
    ):
        before = a
        op: Any
        for op in (operator.iadd, operator.isub, operator.imul, operator.itruediv):
            a = op(a, b)
            assert a is before
        a **= 2
        assert a is before
    i = m.Array3i(7, 8, 9)
    before = i
    for op in (operator.ifloordiv, operator.imod, operator.iand, operator.ior,
               operator.ixor, operator.ilshift, operator.irshift):  # fmt: skip
        i = op(i, 3)
        assert i is before
    matrix = m.Matrix2f(1)
    before = matrix
    matrix @= matrix
    assert matrix is before


def test_in_place_changes_type() -> None:
    a = llvm.Int(1, 2)
    b = a
    a += 0.5
    assert type(a) is llvm.Float
    assert list(a) == [1.5, 2.5]
    assert list(b) == [1, 2]


def test_in_place_on_views() -> None:
    a = llvm.Array3f(1, 2, 3)
    a.x += 5
    assert entries(a) == [[6], [2], [3]]
    y = a.y
    y *= 10
    assert entries(a) == [[6], [20], [3]]
    m = scalar.Matrix2f(1, 2, 3, 4)
    row = m[0]
    row += 1
    assert entries(m) == [[2, 3], [3, 4]]


def test_in_place_broadcast_grows() -> None:
    a = llvm.Float(1)
    a += llvm.Float(1, 2)
    assert list(a) == [2, 3]


def test_failed_in_place_changes_nothing() -> None:
    a = llvm.Array2f([1, 2], [3, 4])
    with pytest.raises(RuntimeError):
        a += llvm.Array2f(1, [1, 2, 3])
    assert entries(a) == [[1, 2], [3, 4]]


# ------------------------------------------------------------------ special types


def matrix(a: Any) -> Any:
    return np.array(entries(a)).reshape(dr.shape(a)[:2])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_matrix_arithmetic(m: ModuleType, n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.integers(-4, 5, (n, n)) + 6 * np.eye(n)
    y = rng.integers(-4, 5, (n, n)).astype(float)
    v = np.arange(1.0, n + 1)
    cls = getattr(m, f"Matrix{n}f64")
    a, b = cls(*x.ravel().tolist()), cls(*y.ravel().tolist())
    w = getattr(m, f"Array{n}f64")(*v.tolist())
    assert (matrix(a * b) == x @ y).all()
    assert (matrix(a @ b) == x @ y).all()
    assert (matrix(a + b) == x + y).all()
    assert (matrix(a + 1) == x + np.eye(n)).all()
    assert (matrix(1 - a) == np.eye(n) - x).all()
    assert (matrix(a * 2) == 2 * x).all()
    assert (matrix(a**3) == x @ x @ x).all()
    assert (matrix(a**0) == np.eye(n)).all()
    assert (np.ravel(entries(a * w)) == x @ v).all()
    assert (np.ravel(entries(w * a)) == v @ x).all()
    np.testing.assert_allclose(matrix(dr.rcp(a)), np.linalg.inv(x), rtol=1e-12)
    np.testing.assert_allclose(matrix(1 / a), np.linalg.inv(x), rtol=1e-12)
    np.testing.assert_allclose(
        matrix(b / a), y @ np.linalg.inv(x), rtol=1e-11, atol=1e-13
    )
    np.testing.assert_allclose(matrix(a / 4), x / 4)
    assert type(a == b) is getattr(m, f"Array{n}{n}b")
    assert (np.array(entries(a == cls(1))).reshape(n, n) == (x == np.eye(n))).all()


def test_stacked_matrix_inverse() -> None:
    a = llvm.Matrix34f64(2) + llvm.Matrix34f64(1)
    inverse = dr.rcp(a)
    assert np.allclose(np.array(entries(inverse))[..., 0], (np.eye(3) / 3)[..., None])


def complex_of(c: Any) -> complex:
    re, im = np.ravel(entries(c)).tolist()
    return complex(re, im)


def test_complex_arithmetic(m: ModuleType) -> None:
    x, y = 1.5 - 2j, -0.5 + 3j
    a, b = m.Complex2f64(x.real, x.imag), m.Complex2f64(y.real, y.imag)
    assert complex_of(a * b) == x * y
    assert complex_of(a + b) == x + y
    assert complex_of(a + 1) == x + 1
    assert complex_of(2 - a) == 2 - x
    assert complex_of(a * 2) == 2 * x
    assert complex_of(a / 2) == x / 2
    np.testing.assert_allclose(complex_of(a / b), x / y, rtol=1e-15)
    np.testing.assert_allclose(complex_of(2 / a), 2 / x, rtol=1e-15)
    np.testing.assert_allclose(complex_of(a**3), x**3, rtol=1e-15)
    np.testing.assert_allclose(complex_of(a**-1), 1 / x, rtol=1e-15)
    assert complex_of(a**0) == 1
    assert complex_of(m.Array2f64(1, 2) * a) == (1 + 2j) * x
    np.testing.assert_allclose(complex_of(dr.fma(a, b, a)), x * y + x, rtol=1e-15)
    size = abs(a)
    np.testing.assert_allclose(size if m is scalar else size[0], abs(x), rtol=1e-15)


@pytest.mark.parametrize(
    "z", [3 + 4j, -3 + 4j, -3 - 4j, 2, -2, 0, 1e-3j, complex(-4, -0.0)]
)
def test_complex_roots(m: ModuleType, z: complex) -> None:
    z = complex(z)
    a = m.Complex2f64(z.real, z.imag)
    expected = np.sqrt(np.complex128(z))
    np.testing.assert_allclose(complex_of(dr.sqrt(a)), expected, rtol=1e-14)
    if z:
        np.testing.assert_allclose(complex_of(dr.rsqrt(a)), 1 / expected, rtol=1e-14)


def hamilton(p: Any, q: Any) -> list[float]:
    """Product of quaternions (x, y, z, w), from i*j = k and so on."""
    table = {
        (0, 1): (2, 1), (1, 2): (0, 1), (2, 0): (1, 1),
        (1, 0): (2, -1), (2, 1): (0, -1), (0, 2): (1, -1),
    }  # fmt: skip
    out = [0.0] * 4
    for i in range(4):
        for j in range(4):
            if i == 3 or j == 3:
                k, sign = (j if i == 3 else i), 1
            elif i == j:
                k, sign = 3, -1
            else:
                k, sign = table[i, j]
            out[k] += sign * p[i] * q[j]
    return out


def test_quaternion_arithmetic(m: ModuleType) -> None:
    p, q = [1.0, 2.0, 3.0, 4.0], [-2.0, 0.5, 1.0, 3.0]
    a, b = m.Quaternion4f64(*p), m.Quaternion4f64(*q)

    def flat(x: Any) -> list[float]:
        return [float(v) for v in np.ravel(entries(x))]

    assert flat(a * b) == hamilton(p, q)
    assert flat(a + 1) == [1, 2, 3, 5]
    assert flat(a * 2) == [2, 4, 6, 8]
    assert flat(a**2) == hamilton(p, p)
    assert flat(a**0) == [0, 0, 0, 1]
    np.testing.assert_allclose(
        flat(dr.fma(a, b, a)), np.add(hamilton(p, q), p), rtol=1e-15
    )
    np.testing.assert_allclose(flat(a / a), [0, 0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(flat(dr.rcp(a) * a), [0, 0, 0, 1], atol=1e-15)
    root = flat(dr.sqrt(a))
    np.testing.assert_allclose(hamilton(root, root), p, rtol=1e-14)
    inverse_root = flat(dr.rsqrt(a))
    np.testing.assert_allclose(hamilton(root, inverse_root), [0, 0, 0, 1], atol=1e-14)
    size = abs(a)
    np.testing.assert_allclose(size if m is scalar else size[0], 30**0.5)


@pytest.mark.parametrize("name", ["Complex2f", "Quaternion4f", "Matrix2f"])
def test_special_types_have_no_order(m: ModuleType, name: str) -> None:
    a = getattr(m, name)(1)
    for op in ("lt", "le", "gt", "ge"):
        with pytest.raises(RuntimeError, match="inequality comparisons"):
            COMPARISONS[op](a, a)
    assert dr.is_mask_v(a == a)


# ------------------------------------------------------------------ powers, truth


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 10, 2.0, True])
def test_powers(m: ModuleType, exponent: Any) -> None:
    values = [1.5, -2.0, 0.0]
    result = np.ravel(entries(m.Array3f64(*values) ** exponent))
    np.testing.assert_allclose(result, [v**exponent for v in values], rtol=1e-15)
    numbers = [3, -2, 0]
    result = np.ravel(entries(m.Array3i(*numbers) ** exponent))
    assert result.tolist() == [v ** int(exponent) for v in numbers]


def test_negative_powers() -> None:
    assert list(llvm.Float(2, 4) ** -1) == [0.5, 0.25]
    assert list(llvm.Float(2, 4) ** -2) == [0.25, 0.0625]
    with pytest.raises(RuntimeError, match="not supported"):
        llvm.Int(2) ** -1


def test_power_of_one_is_a_copy() -> None:
    a = llvm.Float(1, 2)
    b = a**1
    b += 1
    assert list(a) == [1, 2]


def test_power_zero_keeps_the_size() -> None:
    assert list(llvm.Float(1, 2) ** 0) == [1, 1]
    t = llvm.TensorXf([1, math.inf, math.nan, 0], (2, 2)) ** 0
    assert dr.shape(t) == (2, 2)
    assert entries(t.array) == [1, 1, 1, 1]


def test_truth() -> None:
    assert bool(llvm.Bool(True)) is True
    assert bool(llvm.Bool(False)) is False
    assert bool(llvm.TensorXb([True], (1,))) is True
    assert bool(scalar.Array1b(True)) is True
    for wrong in (llvm.Float(1), llvm.Int(1), scalar.Array3f(1)):
        with pytest.raises(TypeError, match="the array holds numbers, expected a mask"):
            bool(wrong)
    for many in (llvm.Bool(True, False), llvm.Bool([]), llvm.Array2b(True)):
        with pytest.raises(RuntimeError, match="expected (1|at most 1); reduce it"):
            bool(many)


def test_hash_and_identity() -> None:
    a, b = llvm.Float(1), llvm.Float(1)
    assert hash(a) == hash(a)
    assert {a: 1}[a] == 1
    assert len({a, b}) == 2


# ------------------------------------------------------------------ tensors


SHAPES = [((2, 3), (3,)), ((2, 3), (2, 1)), ((3, 1), (1, 2)), ((2, 1, 3), (4, 1)),
          ((2, 3), ()), ((1, 1), (3,)), ((0, 3), (3,)), ((0,), ()), ((2, 3), (2, 3)),
          ((4, 1, 3, 1), (2, 1, 5)), ((1, 3, 1), (2, 1, 4))]  # fmt: skip


@pytest.mark.parametrize(("p", "q"), SHAPES)
def test_tensor_broadcast(
    m: ModuleType, p: tuple[int, ...], q: tuple[int, ...]
) -> None:
    x = np.arange(math.prod(p), dtype=np.float32).reshape(p) + 1
    y = np.arange(math.prod(q), dtype=np.float32).reshape(q) * 10
    a, b = m.TensorXf(x.ravel().tolist(), p), m.TensorXf(y.ravel().tolist(), q)
    for left, right, expected in ((a, b, x - y), (b, a, y - x)):
        result = left - right
        assert dr.shape(result) == expected.shape
        assert entries(result.array) == expected.ravel().tolist()


def test_tensor_shape_mismatch(m: ModuleType) -> None:
    a, b = m.TensorXf([1, 2, 3], (3,)), m.TensorXf([1, 2], (2,))
    with pytest.raises(RuntimeError, match=r"incompatible shapes: \(3,\) and \(2,\)"):
        a + b
    with pytest.raises(RuntimeError, match="incompatible arguments"):
        a + m.Array3f(1)


def test_tensor_with_flat_arrays() -> None:
    t = llvm.TensorXf([1, 2, 3, 4], (2, 2))
    assert entries((t + llvm.Float(10, 20)).array) == [11, 22, 13, 24]
    assert entries((t * 2).array) == [2, 4, 6, 8]
    assert entries((t + [10, 20]).array) == [11, 22, 13, 24]
    assert type(t < 2) is llvm.TensorXb
    assert dr.shape(t < 2) == (2, 2)


# ------------------------------------------------------------------ resources


def live_variables(capfd: pytest.CaptureFixture[str]) -> int:
    capfd.readouterr()
    dr.whos()
    text = capfd.readouterr().out
    return sum(line[:4].strip().isdigit() for line in text.splitlines())


def test_errors_leak_no_variables(capfd: pytest.CaptureFixture[str]) -> None:
    a, b = llvm.Array3f([1, 2], 2, [3, 4]), llvm.Array3f([1, 2], 2, [3, 4, 5])
    x = llvm.Matrix4f(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, llvm.Float(7, 8))
    y = llvm.Matrix4f(llvm.Float(1, 2, 3))
    c, d = llvm.Complex2f(1, llvm.Float(1, 2)), llvm.Complex2f(llvm.Float(1, 2, 3), 4)
    t = llvm.TensorXf([1, 2, 3, 4, 5, 6], (2, 3))
    before = live_variables(capfd)
    assert before > 4
    wrongs: list[Callable[[], Any]] = [
        lambda: a + b, lambda: a == b, lambda: dr.fma(a, 2.0, b), lambda: x @ y,
        lambda: c * d, lambda: c / d, lambda: dr.fma(c, c, d), lambda: t + t[:, 0],
        lambda: dr.dot(a, b), lambda: dr.select(llvm.Bool(True, False), a, b),
        lambda: llvm.UInt(1) + (-1), lambda: a / llvm.Float(1, 2, 3),
        lambda: t @ t, lambda: a + [1, 2],
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises((RuntimeError, OverflowError, ValueError)):
            wrong()
    assert live_variables(capfd) == before


def test_results_leak_no_variables(capfd: pytest.CaptureFixture[str]) -> None:
    a = llvm.Float(1, 2)
    t = llvm.TensorXf([1, 2, 3, 4], (2, 2))
    m = llvm.Matrix4f(*range(1, 16), llvm.Float(7, 8))
    q = llvm.Quaternion4f(1, 2, 3, a)
    before = live_variables(capfd)
    assert before > 4
    for _ in range(2):
        _ = [a + 1, 2 / a, a / 3, a < 2, dr.fma(a, 2, a), m @ m, dr.rcp(m), q * q,
             dr.sqrt(q), abs(q), t + llvm.TensorXf([1, 2], (2, 1)), t @ t, a**5,
             dr.dot(m, m), dr.select(a < 2, q, 1), m + 1]  # fmt: skip
    del _
    assert live_variables(capfd) == before


# ------------------------------------------------------------------ chained errors


def causes(error: BaseException | None) -> list[tuple[type, str]]:
    chain = []
    while error is not None:
        chain.append((type(error), str(error)))
        error = error.__cause__
    return chain


def nested_failures(m):
    wide, other = m.Float(1, 2), m.Float(1, 2, 3)
    row = [1, wide, 1]
    return {
        "add": lambda: m.Array3f(*row) + m.Array3f(1, other, 1),
        "add_matrices": lambda: m.Matrix2f(1, 2, wide, 4) + m.Matrix2f(1, 2, other, 4),
        "fma": lambda: dr.fma(m.Array3f(*row), m.Array3f(1, other, 1), 1),
        "dynamic": lambda: m.ArrayXf([wide]) + m.ArrayXf([other]),
        "empty": lambda: m.Array3f(wide, 1, 1) + m.Array3f(),
        "select": lambda: dr.select(wide > 1, {"a": [other]}, {"a": [m.Float(1)]}),
        "select_object": lambda: dr.select(wide > 1, [None], [wide]),
    }


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("add", "[1]"),
        ("add_matrices", "[1][0]"),
        ("fma", "[1]"),
        ("dynamic", "[0]"),
        ("empty", "[0]"),
    ],
)
def test_the_error_of_a_component_is_the_cause(name, path):
    with pytest.raises(RuntimeError) as info:
        nested_failures(dr.llvm)[name]()
    (outer, what), (inner, why) = causes(info.value)
    assert outer is inner is RuntimeError
    assert what.endswith(f"component {path} failed, see the error before")
    sizes = "0 and 2" if name == "empty" else "2 and 3"
    assert f"operands have incompatible sizes {sizes}" in why
    assert info.value.__suppress_context__


def test_the_error_of_a_leaf_is_the_cause_of_that_of_a_tree():
    with pytest.raises(RuntimeError, match="Bool>, <dict>, <dict>") as info:
        nested_failures(dr.llvm)["select"]()
    (_, what), (_, why) = causes(info.value)
    assert "a leaf failed" in what and "incompatible sizes 2 and 3" in why
    with pytest.raises(RuntimeError, match="a leaf failed") as info:
        nested_failures(dr.llvm)["select_object"]()
    assert [kind for kind, _ in causes(info.value)] == [RuntimeError, TypeError]


def test_single_arrays_and_tensors_have_errors_without_a_cause():
    wide, other = dr.llvm.Float(1, 2), dr.llvm.Float(1, 2, 3)
    for a, b in ((wide, other), (dr.llvm.TensorXf(wide), dr.llvm.TensorXf(other))):
        with pytest.raises(RuntimeError) as info:
            a + b
        assert len(causes(info.value)) == 1


def test_the_error_of_one_of_several_keys_is_the_cause(m):
    v, matrix = m.Array3f(1, 2, 3), m.Matrix3f(1)
    with pytest.raises(TypeError, match="the key does not fit") as info:
        v[0, 9, 9]
    assert "is not subscriptable" in causes(info.value)[1][1]
    for key in ((0, 9), (9, 0), (slice(None), 9)):
        with pytest.raises(TypeError, match="the key does not fit") as info:
            matrix[key]
        (outer, _), (inner, why) = causes(info.value)
        assert issubclass(outer, IndexError) and inner is IndexError
        assert "index 9 is out of bounds" in why


def test_exceptions_of_keys_pass_through(m):
    class Boom(Exception):
        pass

    class Key:
        def __index__(self):
            raise Boom

    with pytest.raises(Boom):
        m.Matrix3f(1)[0, Key()]
