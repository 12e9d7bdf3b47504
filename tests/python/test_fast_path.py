"""Which elementwise operations take the fast path (``src/python/ops/shortcut.c``).

Arrays of one exact class, single variables with the same entries, and Python numbers
that keep their type: one call of the core for each leaf. Everything else is promoted
and converted first. The results are the same, so an operation that falls off the fast
path shows nowhere else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import _core, llvm, scalar
from drjit.llvm import ad

N = 4  # lanes

# The functions of drjit, made of NumPy's.
NUMPY = SimpleNamespace(
    abs=np.abs,
    copy=np.copy,
    cos=np.cos,
    floor=np.floor,
    fma=lambda a, b, c: a * b + c,
    maximum=np.maximum,
    minimum=np.minimum,
    mul_hi=lambda a, b: (a.astype(np.uint64) * b >> 32).astype(np.uint32),
    mul_wide=lambda a, b: a.astype(np.uint64) * b,
    popcnt=np.vectorize(lambda i: bin(i).count("1")),
    rcp=lambda a: 1 / a,
    select=np.where,
    sin=np.sin,
    sqrt=np.sqrt,
)


@dataclass
class Case:
    """An operation on operands (see ``operands()``), with the functions of a module."""

    name: str
    call: Callable[[Any, Any], Any]


FAST = [
    # ---- arrays of one class
    Case("Float + Float", lambda m, v: v.x + v.y),
    Case("Float - Float", lambda m, v: v.x - v.y),
    Case("Float * Float", lambda m, v: v.x * v.y),
    Case("Float / Float", lambda m, v: v.x / v.y),
    Case("Float += Float", lambda m, v: operator.iadd(m.copy(v.x), v.y)),
    Case("Float16 + Float16", lambda m, v: v.h + v.h),
    Case("Float64 + Float64", lambda m, v: v.d + v.d),
    Case("Int * Int", lambda m, v: v.i * v.i),
    Case("UInt // UInt", lambda m, v: v.u // v.k),
    Case("UInt % UInt", lambda m, v: v.u % v.k),
    Case("UInt << UInt", lambda m, v: v.u << v.k),
    Case("UInt & UInt", lambda m, v: v.u & v.k),
    Case("Array3f + Array3f", lambda m, v: v.p + v.q),
    Case("Array3f / Array3f", lambda m, v: v.p / v.q),
    Case("Array3f *= Array3f", lambda m, v: operator.imul(m.copy(v.p), v.q)),
    Case("Array3u ^ Array3u", lambda m, v: v.a ^ v.b),
    Case("Array33f * Array33f", lambda m, v: v.s * v.s),
    # ---- an array and a single variable of its entries
    Case("Array3f + Float", lambda m, v: v.p + v.x),
    Case("Float - Array3f", lambda m, v: v.x - v.p),
    Case("Float / Array3f", lambda m, v: v.x / v.q),
    Case("Array33f * Float", lambda m, v: v.s * v.x),
    Case("a component", lambda m, v: v.p[0] + v.x),
    # ---- numbers
    Case("Float + float", lambda m, v: v.x + 1.5),
    Case("float - Float", lambda m, v: 1.5 - v.x),
    Case("Float * int", lambda m, v: v.x * 2),
    Case("int / Float", lambda m, v: 2 / v.x),
    Case("Float / float", lambda m, v: v.x / 4.0),
    Case("Float64 + int", lambda m, v: v.d + 1),
    Case("Int - int", lambda m, v: v.i - 3),
    Case("int + UInt", lambda m, v: 3 + v.u),
    Case("UInt // int", lambda m, v: v.u // 3),
    Case("UInt >> int", lambda m, v: v.u >> 1),
    Case("Array3f + float", lambda m, v: v.p + 0.5),
    Case("int - Array3f", lambda m, v: 1 - v.p),
    Case("Array3f / int", lambda m, v: v.p / 2),
    Case("Array3u & int", lambda m, v: v.a & 6),
    # ---- integer powers are products
    Case("Float ** int", lambda m, v: v.x**3),
    Case("Array3f ** int", lambda m, v: v.p**2),
    # ---- comparisons
    Case("Float < Float", lambda m, v: v.x < v.y),
    Case("Float >= float", lambda m, v: v.x >= 1.5),
    Case("int > Int", lambda m, v: 2 > v.i),
    Case("UInt == UInt", lambda m, v: v.u == v.k),
    Case("Array3f <= Array3f", lambda m, v: v.p <= v.q),
    Case("Array3f != Float", lambda m, v: v.p != v.x),
    Case("Array3f < int", lambda m, v: v.p < 2),
    # ---- masks
    Case("Bool & Bool", lambda m, v: v.m & v.n),
    Case("Bool | Bool", lambda m, v: v.m | v.n),
    Case("Bool ^ Bool", lambda m, v: v.m ^ v.n),
    Case("~Bool", lambda m, v: ~v.m),
    Case("Bool == Bool", lambda m, v: v.m == v.n),
    Case("Array3b & Array3b", lambda m, v: v.c & v.e),
    Case("Array3b | Bool", lambda m, v: v.c | v.m),
    Case("~Array3b", lambda m, v: ~v.c),
    # ---- functions of one operand
    Case("-Float", lambda m, v: -v.x),
    Case("-Array3f", lambda m, v: -v.p),
    Case("abs(Int)", lambda m, v: abs(v.i)),
    Case("abs(Array3f)", lambda m, v: m.abs(v.p)),
    Case("sqrt(Float)", lambda m, v: m.sqrt(v.x)),
    Case("sqrt(Array3f)", lambda m, v: m.sqrt(v.q)),
    Case("rcp(Float)", lambda m, v: m.rcp(v.x)),
    Case("floor(Float64)", lambda m, v: m.floor(v.d)),
    Case("sin(Float16)", lambda m, v: m.sin(v.h)),
    Case("cos(Array3f)", lambda m, v: m.cos(v.p)),
    Case("popcnt(UInt)", lambda m, v: m.popcnt(v.u)),
    # ---- of two and three
    Case("minimum(Float, Float)", lambda m, v: m.minimum(v.x, v.y)),
    Case("maximum(Array3f, int)", lambda m, v: m.maximum(v.p, 1)),
    Case("mul_hi(UInt, UInt)", lambda m, v: m.mul_hi(v.u, v.u)),
    Case("fma(Float, Float, Float)", lambda m, v: m.fma(v.x, v.y, v.x)),
    Case("fma(Array3f, Float, float)", lambda m, v: m.fma(v.p, v.x, 0.5)),
    Case("fma(int, Float, Float)", lambda m, v: m.fma(2, v.x, v.y)),
    # ---- selections
    Case("select(Bool, Float, Float)", lambda m, v: m.select(v.m, v.x, v.y)),
    Case("select(Bool, Float, int)", lambda m, v: m.select(v.m, v.x, 0)),
    Case("select(Bool, float, Float)", lambda m, v: m.select(v.m, 0.5, v.x)),
    Case("select(Bool, Bool, Bool)", lambda m, v: m.select(v.m, v.n, v.m)),
    Case("select(Bool, Array3f, Array3f)", lambda m, v: m.select(v.m, v.p, v.q)),
    Case("select(Array3b, Array3f, Array3f)", lambda m, v: m.select(v.c, v.p, v.q)),
    Case("select(Array3b, Array3f, Float)", lambda m, v: m.select(v.c, v.p, v.x)),
    Case("select(Array3b, Array3f, int)", lambda m, v: m.select(v.c, v.p, 0)),
    Case("select(Bool, Complex2f, Complex2f)", lambda m, v: m.select(v.m, v.z, v.w)),
]

SLOW = [
    # ---- other entries: they are promoted
    Case("Float + Int", lambda m, v: v.x + v.i),
    Case("Float64 * Float", lambda m, v: v.d * v.x),
    Case("Array3f + Float64", lambda m, v: v.p + v.d),
    Case("Int + float", lambda m, v: v.i + 0.5),
    # ---- numbers that are not exactly an int or float of Python
    Case("Float + bool", lambda m, v: v.x + True),
    Case("Float + NumPy number", lambda m, v: v.x + np.float32(1)),
    Case("Bool & bool", lambda m, v: v.m & True),
    # ---- half precision and a number, which is rounded in two steps
    Case("Float16 + float", lambda m, v: v.h + 0.5),
    # ---- a divisor that is repeated: its reciprocal is taken once
    Case("Array3f / Float", lambda m, v: v.p / v.x),
    # ---- shapes that differ, or that each array has for itself
    Case("Array33f + Array3f", lambda m, v: v.s + v.p),
    Case("ArrayXf + ArrayXf", lambda m, v: v.l + v.l),
    Case("ArrayXf * float", lambda m, v: v.l * 0.5),
    Case("sqrt(ArrayXf)", lambda m, v: m.sqrt(v.l)),
    Case("Array3f + list", lambda m, v: v.p + v.o),
    # ---- tensors
    Case("TensorXf + TensorXf", lambda m, v: v.t + v.t),
    Case("TensorXf * float", lambda m, v: v.t * 0.5),
    Case("TensorXf < float", lambda m, v: v.t < 0.5),
    Case("sqrt(TensorXf)", lambda m, v: m.sqrt(v.t)),
    Case("select(TensorXb, TensorXf, int)", lambda m, v: m.select(v.t < 2, v.t, 0)),
    # ---- numbers with a structure: real ones stand for none of their components
    Case("Complex2f + Complex2f", lambda m, v: v.z + v.w),
    Case("Complex2f * Complex2f", lambda m, v: v.z * v.w),
    Case("Complex2f * float", lambda m, v: v.z * 0.5),
    Case("Complex2f + Float", lambda m, v: v.z + v.x),
    Case("-Complex2f", lambda m, v: -v.z),
    Case("select(Bool, Complex2f, int)", lambda m, v: m.select(v.m, v.z, 0)),
    Case("Matrix2f + Matrix2f", lambda m, v: v.r + v.r),
    # ---- no such operation of the core, or results of another type
    Case("mul_wide(UInt, UInt)", lambda m, v: m.mul_wide(v.u, v.u)),
    Case("Float ** Float", lambda m, v: v.x**v.y),
    Case("Float ** float", lambda m, v: v.x**0.5),
    # ---- selections by a Python bool, or of operands that have to be converted
    Case("select(bool, Float, Float)", lambda m, v: m.select(True, v.x, v.y)),
    Case("select(Bool, Float, Int)", lambda m, v: m.select(v.m, v.x, v.i)),
    Case("select(Bool, Float16, int)", lambda m, v: m.select(v.m, v.h, 0)),
]


def numpy_operands() -> dict[str, Any]:
    """Entries of the operands: axes, then lanes."""
    random = np.random.default_rng(3)

    def floats(*shape: int) -> Any:
        return random.uniform(0.5, 4, shape).astype(np.float32)

    def whole(*shape: int) -> Any:
        return random.integers(1, 9, shape).astype(np.uint32)

    def masks(*shape: int) -> Any:
        return random.random(shape) < 0.5

    return {
        "x": ("Float", floats(N)),
        "y": ("Float", floats(N)),
        "h": ("Float16", floats(N).astype(np.float16)),
        "d": ("Float64", floats(N).astype(np.float64)),
        "i": ("Int", whole(N).astype(np.int32) - 4),
        "u": ("UInt", whole(N) << 28),
        "k": ("UInt", whole(N)),
        "m": ("Bool", np.array([True, False, True, False])),
        "n": ("Bool", np.array([True, True, False, False])),
        "p": ("Array3f", floats(3, N)),
        "q": ("Array3f", floats(3, N)),
        "a": ("Array3u", whole(3, N)),
        "b": ("Array3u", whole(3, N)),
        "c": ("Array3b", masks(3, N)),
        "e": ("Array3b", masks(3, N)),
        "s": ("Array33f", floats(3, 3, N)),
        "l": ("ArrayXf", floats(5, N)),
        "t": ("TensorXf", floats(2, 3)),
        "z": ("Complex2f", floats(N) + 1j * floats(N)),
        "w": ("Complex2f", floats(N) + 1j * floats(N)),
        "r": ("Matrix2f", floats(2, 2, N)),
        "o": ("list", whole(3, 1).astype(np.float32)),
    }


def make(family: ModuleType, name: str, entries: Any) -> Any:
    """An array of that class, or a list."""
    if name == "list":
        return entries.ravel().tolist()
    if np.iscomplexobj(entries):
        return family.Complex2f(
            family.Float(entries.real.copy()), family.Float(entries.imag.copy())
        )
    return getattr(family, name)(entries)


def entries_of(array: Any) -> Any:
    """The entries of a result: axes, then lanes."""
    if dr.is_complex_v(array):
        return array.real.numpy() + 1j * array.imag.numpy()
    return dr.detach(array).numpy()


@pytest.fixture(params=["plain", "differentiable", "tracked"])
def operands(request: pytest.FixtureRequest) -> Any:
    """Without derivatives, with them, and with nodes of the graph."""
    family = llvm if request.param == "plain" else ad
    made = {
        name: make(family, *described) for name, described in numpy_operands().items()
    }
    if request.param == "tracked":
        dr.enable_grad(*(value for value in made.values() if dr.is_float_v(value)))
    return SimpleNamespace(**made)


def check(case: Case, operands: Any, fast: bool) -> None:
    """The result is NumPy's, and the operation has taken that path."""
    before = _core._slow_paths()
    result = case.call(dr, operands)
    assert (_core._slow_paths() == before) == fast
    reference = {name: entries for name, (_, entries) in numpy_operands().items()}
    expected = case.call(NUMPY, SimpleNamespace(**reference))
    tolerance = 2e-3 if expected.dtype == np.float16 else 2e-6
    np.testing.assert_allclose(entries_of(result), expected, rtol=tolerance)


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_fast(case: Case, operands: Any) -> None:
    check(case, operands, fast=True)


@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.name)
def test_slow(case: Case, operands: Any) -> None:
    """If one of these becomes fast, it moves to the other table."""
    check(case, operands, fast=False)


def test_classes_of_users_and_mixed_families() -> None:
    """The fast path is for exactly one class."""

    class Own(llvm.Array3f):  # type: ignore[misc]
        pass

    one = np.array([[1], [2], [3]], np.float32)
    own, plain, other = Own(one), llvm.Array3f(one), ad.Array3f(one)
    before = _core._slow_paths()
    results = [own + own, own * 2, plain + own]
    if llvm is not ad:
        results.append(plain + other)
    assert _core._slow_paths() == before + len(results)
    for result in results:
        assert np.array_equal(entries_of(result), 2 * one)


def test_scalar_arrays() -> None:
    """They compute at once, all entries by one call of the core."""
    a = scalar.Array3f(1, 2, 3)
    before = _core._slow_paths()
    assert list(a + a) == [2, 4, 6]
    assert list(a * 2) == [2, 4, 6]
    assert list(dr.sqrt(a * a)) == [1, 2, 3]
    assert _core._slow_paths() == before + 4


def test_empty_arrays_and_numbers_out_of_range() -> None:
    """These have rules, and messages, of their own."""
    before = _core._slow_paths()
    assert len(llvm.Float() + llvm.Float()) == 0
    assert len(llvm.Float() * 2) == 0
    with pytest.raises(OverflowError, match="out of range"):
        llvm.UInt(1) + 2**32
    assert _core._slow_paths() == before + 3
