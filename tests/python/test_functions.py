"""Elementwise functions and inner products, compared with NumPy and exact numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest

FLOATS = {"f16": np.float16, "f": np.float32, "f64": np.float64}
INTS = {"i8": np.int8, "u8": np.uint8, "i": np.int32, "u": np.uint32,
        "i64": np.int64, "u64": np.uint64}  # fmt: skip


def entries(array: Any) -> list[Any]:
    return [entries(v) if isinstance(v, dr.ArrayBase) else v for v in array]


def make(suffix: str, values: list[Any]) -> tuple[Any, Any]:
    """A dynamic llvm array of single values, and a scalar one."""
    return (
        getattr(llvm, "ArrayX" + suffix)(*values),
        getattr(scalar, "ArrayX" + suffix)(*values),
    )


def flat(array: Any) -> list[Any]:
    """All entries in order."""
    if not isinstance(array, dr.ArrayBase):
        return [array]
    return [v for item in array for v in flat(item)]


def same(actual: list[Any], expected: Any) -> None:
    np.testing.assert_array_equal(np.array(actual, expected.dtype), expected)
    zeros = expected == 0
    signs = np.signbit(np.array(actual, expected.dtype)[zeros])
    assert (signs == np.signbit(expected[zeros])).all()


VALUES = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 2.75, -2.75, 1000.0, 4.0, 9.0,
          math.inf]  # fmt: skip


@pytest.mark.parametrize("suffix", FLOATS)
@pytest.mark.parametrize(
    ("name", "reference"),
    [("sqrt", np.sqrt), ("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc),
     ("round", np.rint), ("abs", np.abs), ("rcp", lambda x: x.dtype.type(1) / x)],
)  # fmt: skip
def test_float_functions(
    suffix: str, name: str, reference: Callable[[Any], Any]
) -> None:
    x = np.array(VALUES, FLOATS[suffix])
    with np.errstate(all="ignore"):
        if name == "sqrt":
            x = abs(x)
        expected = reference(x)
    for a in make(suffix, x.tolist()):
        result = getattr(dr, name)(a)
        assert type(result) is type(a)
        same(flat(result), expected)


@pytest.mark.parametrize("suffix", FLOATS)
def test_rsqrt(suffix: str) -> None:
    for a in make(suffix, [4.0, 0.25, 1.0, 16.0]):
        assert flat(dr.rsqrt(a)) == [0.5, 2, 1, 0.25]


def test_float_functions_of_numbers() -> None:
    assert dr.sqrt(2.0) == math.sqrt(2)
    assert dr.sqrt(4) == 2.0
    assert math.isnan(dr.sqrt(-1.0))
    assert dr.rcp(4) == 0.25
    assert dr.rcp(0.0) == math.inf
    assert dr.rsqrt(4.0) == 0.5
    assert [dr.ceil(1.5), dr.floor(-1.5)] == [2, -2]
    assert [dr.trunc(-1.5), dr.round(2.5)] == [-1, 2]
    assert dr.round(3.5) == 4
    assert dr.ceil(math.inf) == math.inf
    for name in ("sqrt", "rcp", "rsqrt", "ceil", "floor", "trunc", "round"):
        assert type(getattr(dr, name)(1)) is float
    assert dr.abs(-3) == 3 and type(dr.abs(-3)) is int
    assert dr.abs(-3.5) == 3.5
    assert dr.sqrt(np.float32(9)) == 3.0


@pytest.mark.parametrize("name", ["sqrt", "abs", "ceil", "popcnt", "log2i"])
@pytest.mark.parametrize("wrong", [None, "a", [1.0], {}, 1j])
def test_functions_of_other_objects(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=rf"drjit\.{name}\("):
        getattr(dr, name)(wrong)


@pytest.mark.parametrize(
    ("name", "cls"),
    [("sqrt", "Int"), ("rcp", "Int"), ("sqrt", "Bool"), ("ceil", "Int"),
     ("popcnt", "Float"), ("lzcnt", "Bool"), ("log2i", "Float"), ("abs", "Bool")],
)  # fmt: skip
def test_entries_without_the_operation(name: str, cls: str) -> None:
    with pytest.raises(RuntimeError, match=rf"drjit\.{name}\(<drjit\S*\.{cls}>\)"):
        getattr(dr, name)(getattr(llvm, cls)(1))


@pytest.mark.parametrize("suffix", INTS)
def test_bit_functions(suffix: str) -> None:
    dtype: Any = np.dtype(INTS[suffix])
    bits = 8 * dtype.itemsize
    info = np.iinfo(dtype)
    values = [0, 1, 2, 9, 100, int(info.max), int(info.min), int(info.max) // 3]
    raw = [format(v & ((1 << bits) - 1), f"0{bits}b") for v in values]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    reverse = np.array([int(t[::-1], 2) for t in raw], unsigned).view(dtype)
    leading = [len(t) - len(t.lstrip("0")) for t in raw]
    trailing = [len(t) - len(t.rstrip("0")) for t in raw]
    for a in make(suffix, values):
        assert flat(dr.popcnt(a)) == [t.count("1") for t in raw]
        assert flat(dr.lzcnt(a)) == leading
        assert flat(dr.tzcnt(a)) == trailing
        assert flat(dr.brev(a)) == reverse.tolist()
        for value, log in zip(values, flat(dr.log2i(a)), strict=True):
            if value > 0:
                assert log == value.bit_length() - 1
            elif value < 0:
                assert log == bits - 1
        assert type(dr.log2i(a)) is type(a)


def test_bit_functions_of_numbers() -> None:
    assert [dr.popcnt(5), dr.lzcnt(5), dr.tzcnt(8), dr.brev(1)] == [2, 29, 3, 1 << 31]
    assert [dr.lzcnt(0), dr.tzcnt(0), dr.popcnt(True)] == [32, 32, 1]
    assert [dr.log2i(v) for v in (1, 2, 5, 1 << 31, 0)] == [0, 1, 2, 31, -1]
    for name in ("popcnt", "lzcnt", "tzcnt", "brev", "log2i"):
        for wrong in (-1, 1 << 32, 1 << 70):
            with pytest.raises(OverflowError, match="out of range"):
                getattr(dr, name)(wrong)
        with pytest.raises(TypeError):
            getattr(dr, name)(2.0)


def test_fma_rounds_once(m: ModuleType) -> None:
    a, b = 1 + 2.0**-12, 1 - 2.0**-12
    exact = Fraction(a) * Fraction(b) - 1
    result = flat(dr.fma(m.Array1f(a), m.Array1f(b), m.Array1f(-1)))
    assert result == [float(exact)]
    a, b = 1 + 2.0**-30, 1 - 2.0**-30
    assert dr.fma(a, b, -1.0) == float(Fraction(a) * Fraction(b) - 1) != a * b - 1


def test_fma_arguments() -> None:
    x = llvm.Float(2, 3)
    assert entries(dr.fma(x, 2, 1)) == [5, 7]
    assert entries(dr.fma(2.5, x, x)) == [7, 10.5]
    assert entries(dr.fma(llvm.Array2f(1, 2), x, 1.5)) == [[3.5, 4.5], [5.5, 7.5]]
    assert entries(dr.fma(llvm.Int(3), 5, 1)) == [16]
    assert entries(dr.fma(llvm.Int8(100), 2, 1)) == [-55]
    assert dr.fma(2, 3, 4) == 10 and type(dr.fma(2, 3, 4)) is int
    assert dr.fma(1.5, 2, 3) == 6.0
    assert dr.fma(2**40, 2**40, 3) == 2**80 + 3
    for wrong in ((1, 2), (1, 2, 3, 4)):
        with pytest.raises(TypeError, match="found [24] arguments, expected 3"):
            dr.fma(*wrong)
    with pytest.raises(TypeError):
        dr.fma(None, 1, 2)
    with pytest.raises(TypeError):
        dr.fma(llvm.Float(1), None, 2)


@pytest.mark.parametrize("suffix", [*FLOATS, *INTS])
def test_minimum_maximum(suffix: str) -> None:
    x, y = [1, 5, 3, 0, 100], [2, 4, 3, 7, 99]
    for a, b in zip(make(suffix, x), make(suffix, y), strict=True):
        assert flat(dr.minimum(a, b)) == [min(p, q) for p, q in zip(x, y, strict=True)]
        assert flat(dr.maximum(a, b)) == [max(p, q) for p, q in zip(x, y, strict=True)]
        assert flat(dr.minimum(a, 3)) == [min(p, 3) for p in x]


def test_minimum_maximum_of_nan_and_zero() -> None:
    nan = math.nan
    for first, second in ((nan, 1.0), (1.0, nan)):
        for fn in (dr.minimum, dr.maximum):
            assert fn(first, second) == 1.0
            assert entries(fn(llvm.Float(first), second)) == [1.0]
            assert entries(fn(scalar.Array1f(first), second)) == [1.0]
    for first, second in ((0.0, -0.0), (-0.0, 0.0)):
        lower = [dr.minimum(first, second), *dr.minimum(llvm.Float(first), second)]
        upper = [dr.maximum(first, second), *dr.maximum(llvm.Float(first), second)]
        assert [math.copysign(1, v) for v in lower] == [math.copysign(1, first)] * 2
        assert [math.copysign(1, v) for v in upper] == [math.copysign(1, second)] * 2


def test_minimum_maximum_of_numbers() -> None:
    assert dr.minimum(1, 2) == 1 and type(dr.minimum(1, 2)) is int
    assert dr.maximum(1, 2.5) == 2.5
    assert dr.minimum(1, 2.5) == 1.0 and type(dr.minimum(1, 2.5)) is float
    assert dr.maximum(2**70, 1) == 2**70
    with pytest.raises(TypeError):
        dr.minimum([1, 2], 2)
    with pytest.raises(RuntimeError, match="not supported"):
        dr.minimum(llvm.Bool(True), llvm.Bool(True))


@pytest.mark.parametrize(
    ("suffix", "bits", "signed"),
    [("i8", 8, True), ("u8", 8, False), ("i", 32, True), ("u", 32, False),
     ("i64", 64, True), ("u64", 64, False)],
)  # fmt: skip
def test_wide_products(suffix: str, bits: int, signed: bool) -> None:
    top = (1 << (bits - signed)) - 1
    values = [0, 1, 3, top, top // 3, top // 7] + ([-1, -top - 1] if signed else [])
    x = [v for v in values for _ in values]
    y = values * len(values)
    for a, b in zip(make(suffix, x), make(suffix, y), strict=True):
        assert flat(dr.mul_hi(a, b)) == [
            p * q >> bits for p, q in zip(x, y, strict=True)
        ]
        if bits == 32:
            wide = dr.mul_wide(a, b)
            assert flat(wide) == [p * q for p, q in zip(x, y, strict=True)]
            assert dr.itemsize_v(wide) == 8
        else:
            with pytest.raises(RuntimeError, match="not supported"):
                dr.mul_wide(a, b)


def test_wide_products_of_numbers() -> None:
    assert dr.mul_hi(1 << 31, 4) == 2
    assert dr.mul_hi(-1, 4) == -1
    assert dr.mul_hi(-(1 << 31), 1 << 30) == -(1 << 29)
    assert dr.mul_wide(1 << 31, 4) == 1 << 33
    assert dr.mul_wide(-1, 5) == -5
    for wrong in ((1 << 40, 1), (-1, 1 << 31)):
        with pytest.raises(OverflowError):
            dr.mul_wide(*wrong)
    with pytest.raises(TypeError):
        dr.mul_hi(1.5, 2)


def test_step(m: ModuleType) -> None:
    assert flat(dr.step(m.Array3f(1, 2, 3), 2)) == [0, 1, 1]
    assert flat(dr.step(2.0, m.Array3f(1, 2, 3))) == [1, 1, 0]
    assert type(dr.step(m.Array3f(1), 2)) is m.Array3i
    assert dr.step(1, 2) == 0 and dr.step(2, 2) == 1


def test_copysign(m: ModuleType) -> None:
    assert flat(dr.copysign(m.Array3f(1, -2, 0), -1)) == [-1, -2, 0]
    assert math.copysign(1, flat(dr.copysign(m.Array1f(0), -1.0))[0]) == -1
    assert flat(dr.copysign(m.Array3i(1, -2, 3), m.Array3i(-1, 1, 0))) == [-1, 2, 3]
    assert dr.copysign(1.5, -1) == -1.5
    assert dr.copysign(2, -1) == -2 and type(dr.copysign(2, -1)) is int


def test_power_of_numbers() -> None:
    assert dr.power(2, 3) == 8.0 and type(dr.power(2, 3)) is float
    assert dr.power(2.0, 0.5) == math.sqrt(2)
    assert entries(dr.power(llvm.Float(2, 3), 2)) == [4, 9]


# ------------------------------------------------------------------ select


def test_select_of_numbers() -> None:
    marker = object()
    assert dr.select(True, 1, 2.5) == 1
    assert dr.select(False, 1, 2.5) == 2.5
    assert dr.select(True, marker, None) is marker
    for wrong in ((1, 2, 3), (None, 1, 2), ([True], 1, 2)):
        with pytest.raises(TypeError):
            dr.select(*wrong)
    with pytest.raises(TypeError, match="found [24] arguments, expected 3"):
        dr.select(True, 1)


def test_select_of_arrays(m: ModuleType) -> None:
    mask = m.Array3b(True, False, True)
    result = dr.select(mask, m.Array3f(1, 2, 3), m.Array3f(4, 5, 6))
    assert flat(result) == [1, 5, 3]
    assert flat(dr.select(mask, m.Array3i(1, 2, 3), 0)) == [1, 0, 3]
    assert flat(dr.select(mask, mask, True)) == [True, True, True]
    assert flat(dr.select(False, m.Array2f(1), m.Array2f(2))) == [2, 2]


def test_operands_of_the_fast_path() -> None:
    """Arrays, entries of theirs and numbers in all places, compared with NumPy."""
    names = {
        "v": llvm.Array3f([1, 5], [2, 6], [3, 7]),
        "x": llvm.Float(4, 3.5),
        "two": 2,
        "half": 0.5,
    }
    masks = {
        "each": llvm.Array3b([True, False], [False, True], [True, True]),
        "all": llvm.Bool(False, True),
        "one": llvm.Bool(True),
    }
    plain = {name: np.array(v) for name, v in (names | masks).items()}
    combinations = [(a, b) for a in names for b in names if "v" in (a, b)]
    for a, b in combinations:
        for mask in masks:
            got = dr.select(masks[mask], names[a], names[b])
            assert type(got) is llvm.Array3f
            expected = np.where(plain[mask], plain[a], plain[b])
            assert np.array_equal(np.array(got), expected), (mask, a, b)
        for c in names:
            for order in ((a, b, c), (a, c, b), (c, a, b)):
                got = dr.fma(*(names[k] for k in order))
                x, y, z = (plain[k].astype(np.float64) for k in order)
                assert np.array_equal(np.array(got), x * y + z), order  # exact
        assert np.array_equal(
            np.array(dr.minimum(names[a], names[b])), np.minimum(plain[a], plain[b])
        )
        for op in (operator.add, operator.sub, operator.lt, operator.truediv):
            got, expected = op(names[a], names[b]), op(plain[a], plain[b])
            assert np.allclose(np.array(got), expected, rtol=1e-6), (op, a, b)
    empty = llvm.Float()
    assert dr.width(dr.select(llvm.Bool(True), empty, 1)) == 0
    assert dr.width(dr.maximum(empty, 1)) == dr.width(1 - empty) == 0
    with pytest.raises(RuntimeError, match=r"component \[0\] failed"):
        dr.select(llvm.Bool(True, False), llvm.Array3f(1), llvm.Float(1, 2, 3))


def test_select_of_special_types() -> None:
    mask = llvm.Bool(True, False)
    c = dr.select(mask, llvm.Complex2f(1, 2), 3)
    assert entries(c) == [[1, 3], [2, 0]]
    m = dr.select(mask, llvm.Matrix2f(1, 2, 3, 4), 5)
    assert entries(m) == [[[1, 5], [2, 0]], [[3, 0], [4, 5]]]
    with pytest.raises(RuntimeError, match="incompatible"):
        dr.select(llvm.Array2b(True), llvm.Matrix2f(1), 3)


def test_select_of_tensors(m: ModuleType) -> None:
    t = m.TensorXf([1, 2, 3, 4], (2, 2))
    result = dr.select(t < 3, t, 0)
    assert entries(result.array) == [1, 2, 0, 0]
    assert dr.shape(result) == (2, 2)
    row = m.TensorXb([True, False], (2,))
    assert entries(dr.select(row, t, -t).array) == [1, -2, 3, -4]


@dataclass
class Point:
    """A tree of arrays."""

    x: llvm.Float = field(default_factory=llvm.Float)
    name: str = "p"


def test_select_of_trees() -> None:
    mask = llvm.Bool(True, False)
    a, b = llvm.Float(1), llvm.Float(2)
    first, (second, text) = dr.select(mask, [a, (b, "t")], [b, (a, "t")])
    assert (entries(first), entries(second), text) == ([1, 2], [2, 1], "t")
    assert entries(dr.select(mask, {"k": a}, {"k": b})["k"]) == [1, 2]
    point = dr.select(mask, Point(a), Point(b))
    assert type(point) is Point and entries(point.x) == [1, 2]
    with pytest.raises(RuntimeError, match="different objects"):
        dr.select(mask, [a, "s"], [b, "t"])
    assert dr.select(True, [a, 1], [b, 2])[1] == 1
    thing = object()
    assert dr.select(mask, None, None) is None and dr.select(mask, "a", "a") == "a"
    assert dr.select(mask, thing, thing) is thing
    with pytest.raises(RuntimeError, match="different objects"):
        dr.select(mask, thing, object())


# ------------------------------------------------------------------ reinterpret_array


@pytest.mark.parametrize(
    ("source", "target", "values"),
    [("f", "u", [1.5, -0.0, math.inf]), ("f64", "i64", [1.5, -2.0]),
     ("i", "u", [-1, 5]), ("i8", "u8", [-1, 100]), ("u64", "f64", [1 << 62])],
)  # fmt: skip
def test_reinterpret(source: str, target: str, values: list[Any]) -> None:
    types = {**FLOATS, **INTS}
    expected = np.array(values, types[source]).view(types[target]).tolist()
    for a, m in zip(make(source, values), (llvm, scalar), strict=True):
        result = dr.reinterpret_array(getattr(m, "ArrayX" + target), a)
        assert flat(result) == expected


def test_reinterpret_shapes(m: ModuleType) -> None:
    bits = int(np.float32(1.5).view(np.int32))
    assert flat(dr.reinterpret_array(m.Array3i, m.Array3f(1.5))) == [bits] * 3
    t = dr.reinterpret_array(m.TensorXi, m.TensorXf([1.5] * 4, (2, 2)))
    assert dr.shape(t) == (2, 2) and entries(t.array) == [bits] * 4
    for cls, value in (
        (m.Array3i64, m.Array3f(1)), (m.Array2i, m.Array3f(1)),
        (m.Array2f, m.Complex2f(1)), (m.Array3b, m.Array3i8(1)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="incompatible"):
            dr.reinterpret_array(cls, value)
    for wrong in ((int, m.Array3f(1)), (m.Array3f, 1.5), (1, 2)):
        with pytest.raises(TypeError):
            dr.reinterpret_array(*wrong)


# ------------------------------------------------------------------ inner products


def test_dot_of_nested_arrays(m: ModuleType) -> None:
    a, b = m.Array3f(1, 2, 3), m.Array3f(4, -5, 6)
    assert flat(dr.dot(a, b)) == [12]
    assert flat(dr.abs_dot(a, -b)) == [12]
    assert flat(dr.squared_norm(a)) == [14]
    assert flat(dr.norm(m.Array2f(3, 4))) == [5]
    assert flat(dr.dot(m.Array3i(1, 2, 3), m.Array3i(4, 5, 6))) == [32]
    assert flat(dr.dot(m.Complex2f(1, 2), m.Complex2f(3, 4))) == [11]
    assert flat(dr.dot(m.Quaternion4f(1, 2, 3, 4), m.Quaternion4f(1))) == [4]
    assert flat(dr.dot(m.ArrayXf(1, 2), m.ArrayXf(3, 4))) == [11]
    assert flat(dr.dot(a, [4, -5, 6])) == [12]
    rows = m.Array33f([1, 2, 3], [4, 5, 6], [7, 8, 9])
    assert flat(dr.dot(rows, rows)) == [66, 93, 126]
    assert flat(dr.dot(a, rows)) == [30, 36, 42]
    assert flat(dr.dot(m.Array0f(), m.Array0f())) == [0]


def test_dot_of_llvm_arrays() -> None:
    x = llvm.Float(1, 2, 3)
    assert entries(dr.dot(x, x)) == [14]
    assert entries(dr.dot(x, llvm.Float(2))) == [12]
    assert entries(dr.dot(llvm.Int(1, 2, 3), llvm.Int(1, 2, 3))) == [14]
    assert entries(dr.dot(x, [1, 1, 2])) == [9]
    assert entries(dr.dot(x, np.ones(3))) == [6]
    assert type(dr.dot(x, np.ones(3))) is llvm.Float64
    assert entries(dr.dot(llvm.Float([]), llvm.Float([]))) == [0]
    assert entries(dr.dot(llvm.Array3f(1, 2, 3), x)) == [6, 12, 18]
    assert entries(dr.norm(llvm.Float(3, 4))) == [5]


def test_dot_uses_fma() -> None:
    """The rounding errors of the products do not enter."""
    x, y = 1 + 2.0**-12, 1 - 2.0**-12
    exact = float(Fraction(x) * Fraction(y) - 1)
    for m in (llvm, scalar):
        assert flat(dr.dot(m.Array2f(-1, x), m.Array2f(1, y))) == [exact]


def test_dot_of_tensors(m: ModuleType) -> None:
    t, u = m.TensorXf([1, 2, 3], (3,)), m.TensorXf([4, 5, 6], (3,))
    assert entries(dr.dot(t, u).array) == [32]
    assert dr.shape(dr.dot(t, u)) == ()
    square = m.TensorXf([1, 2, 3, 4], (2, 2))
    assert entries(dr.squared_norm(square).array) == [30]
    assert entries(dr.dot(square, square).array) == [10, 20]
    assert entries(dr.squared_norm(square, axis=1).array) == [5, 25]


def test_dot_of_sequences() -> None:
    assert dr.dot([1, 2], [3, 4]) == 11
    assert dr.dot([1, 2], [3]) == 9
    assert dr.dot((1, 2), [3, 4.5]) == 12.0
    assert dr.norm([3, 4]) == 5.0
    assert entries(dr.dot([llvm.Float(1), llvm.Float(2)], [3, 4])) == [11]


def test_dot_errors() -> None:
    a = llvm.Array3f(1)
    for wrong in ((a, 2), (2, 3), (1.5, a), (None, a), ("ab", 3)):
        with pytest.raises(TypeError):
            dr.dot(*wrong)
    with pytest.raises(TypeError, match="found 1 arguments, expected 2"):
        dr.dot(a)
    pairs: list[tuple[Any, Any]] = [(a, llvm.Array2f(1)), ([], []), ([1, 2], [1, 2, 3])]
    for pair in pairs:
        with pytest.raises(RuntimeError):
            dr.dot(*pair)
    mask = llvm.Array3b(True)
    with pytest.raises(RuntimeError, match="not supported"):
        dr.dot(mask, mask)
    with pytest.raises(RuntimeError, match="not supported"):
        dr.norm(llvm.Array3i(1))


# ------------------------------------------------------------------ families agree


@pytest.mark.parametrize("suffix", FLOATS)
def test_families_agree_bit_for_bit(suffix: str) -> None:
    """A pile of formulas on random numbers, in llvm (lanes) and in drjit.scalar."""
    rng = np.random.default_rng(7)
    n = 16
    raw = rng.standard_normal((6, n)).astype(FLOATS[suffix]).astype(float).tolist()

    def formulas(m: ModuleType, columns: list[Any]) -> list[Any]:
        a, b, c, d, e, f = columns
        out: list[Any] = []
        v, w = (getattr(m, "Array3" + suffix)(*t) for t in ((a, b, c), (d, e, f)))
        for x in (v + w, v / w, v * w - w, v / 3, dr.fma(v, w, v), dr.minimum(v, w),
                  dr.sqrt(abs(v)), dr.rsqrt(abs(w)), dr.rcp(v), dr.floor(v * 10),
                  dr.select(v < w, v, w), v**5, dr.copysign(v, w)):  # fmt: skip
            out += list(x)
        out += [dr.dot(v, w), dr.norm(v)]
        p, q = (getattr(m, "Quaternion4" + suffix)(*t) for t in
                ((a, b, c, d), (c, d, e, f)))  # fmt: skip
        for x in (p * q, p / q, dr.sqrt(p), dr.rcp(q), dr.fma(p, q, q)):
            out += list(x)
        if suffix != "f16":
            y, z = (getattr(m, "Complex2" + suffix)(*t) for t in ((a, b), (c, d)))
            for x in (y * z, y / z, dr.sqrt(y), dr.rsqrt(z), dr.fma(y, z, z)):
                out += list(x)
        matrix = getattr(m, "Matrix2" + suffix)(a, b, c, d)
        for row in (matrix @ matrix, dr.rcp(matrix), matrix / 3):
            out += [x for r in row for x in r]
        return out

    leaf = {"f16": "Float16", "f": "Float", "f64": "Float64"}[suffix]
    lanes = [getattr(llvm, leaf)(r) for r in raw]
    wide = formulas(llvm, lanes)
    dr.eval(wide)
    for lane in range(n):
        single = formulas(scalar, [r[lane] for r in raw])
        assert len(single) == len(wide)
        for k, (x, y) in enumerate(zip(single, wide, strict=True)):
            other = y[lane if len(y) > 1 else 0]
            assert x == other or (x != x and other != other), f"formula {k}"
