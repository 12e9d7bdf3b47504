"""Complex numbers and quaternions, against Python's complex and Hamilton's rules."""

from __future__ import annotations

from itertools import product
from types import ModuleType
from typing import Any

import drjit as dr
import pytest


def entries(value: Any) -> Any:
    """An array (its first lane) or number as nested lists of numbers."""
    if isinstance(value, (bool, int, float)):
        return value
    if dr.is_jit_v(value) and dr.depth_v(value) == 1:
        assert len(value) == 1
        return value[0]
    return [entries(value[i]) for i in range(len(value))]


def number(value: Any) -> complex:
    real, imag = entries(value)
    return complex(real, imag)


def near(value: Any, expected: complex) -> bool:
    return abs(number(value) - expected) <= 1e-6 * max(1.0, abs(expected))


VALUES = [3 + 4j, -1 + 0.5j, -2 - 3j, 0.25 - 1j, 2 + 0j, -2 + 0j, 1j]


def hamilton(a: list[float], b: list[float]) -> list[float]:
    """Product of quaternions in the order (x, y, z, w): i*j = k, j*k = i, k*i = j."""
    x1, y1, z1, w1 = a
    x2, y2, z2, w2 = b
    return [
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 + y1 * w2 + z1 * x2 - x1 * z2,
        w1 * z2 + z1 * w2 + x1 * y2 - y1 * x2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    ]


# Parts


@pytest.mark.parametrize("suffix", ["f", "f64"])
def test_parts_of_complex(m: ModuleType, suffix: str) -> None:
    cls = getattr(m, "Complex2" + suffix)
    z = cls(3, -4)
    assert entries(dr.real(z)) == 3 and entries(dr.imag(z)) == -4
    conjugate = dr.conj(z)
    assert type(conjugate) is cls and entries(conjugate) == [3, 4]
    entry = float if m is dr.scalar else dr.value_t(cls)
    assert type(dr.real(z)) is type(dr.imag(z)) is entry


@pytest.mark.parametrize("suffix", ["f16", "f", "f64"])
def test_parts_of_quaternion(m: ModuleType, suffix: str) -> None:
    cls = getattr(m, "Quaternion4" + suffix)
    q = cls(1, 2, 3, 4)
    assert entries(dr.real(q)) == 4
    assert type(dr.imag(q)) is getattr(m, "Array3" + suffix)
    assert entries(dr.imag(q)) == [1, 2, 3]
    conjugate = dr.conj(q)
    assert type(conjugate) is cls and entries(conjugate) == [-1, -2, -3, 4]


def test_parts_of_lanes() -> None:
    m = dr.llvm
    z = m.Complex2f([1, 2, 3], [4, 5, 6])
    assert list(dr.real(z)) == [1, 2, 3] and list(dr.imag(z)) == [4, 5, 6]
    assert list(dr.conj(z)[1]) == [-4, -5, -6]


def test_parts_of_real_values(m: ModuleType) -> None:
    v = m.Array3f(1, 2, 3)
    assert entries(dr.real(v)) == entries(dr.conj(v)) == [1, 2, 3]
    assert type(dr.imag(v)) is m.Array3f and entries(dr.imag(v)) == [0, 0, 0]
    assert dr.real(5) == dr.conj(5) == 5 and dr.imag(5) == 0
    assert dr.real(2.5) == 2.5 and dr.imag(2.5) == 0.0
    assert type(dr.imag(5)) is int and type(dr.imag(2.5)) is float
    assert dr.conj("text") == "text" == dr.real("text")


def test_parts_of_python_complex() -> None:
    assert dr.real(1 + 2j) == 1 and dr.imag(1 + 2j) == 2


def test_conj_of_python_complex() -> None:
    assert dr.conj(1 + 2j) == 1 - 2j


def test_imag_refuses() -> None:
    with pytest.raises(TypeError, match="imag"):
        dr.imag("text")


def test_imag_has_the_shape_of_its_argument() -> None:
    m = dr.llvm
    assert list(dr.imag(m.Float(1, 2))) == [0, 0]
    assert dr.imag(m.TensorXf([1, 2, 3, 4], (2, 2))).shape == (2, 2)


# Arithmetic of the types


@pytest.mark.parametrize("a, b", list(product(VALUES, VALUES)))
def test_complex_operators(m: ModuleType, a: complex, b: complex) -> None:
    x, y = m.Complex2f(a.real, a.imag), m.Complex2f(b.real, b.imag)
    assert near(x + y, a + b)
    assert near(x - y, a - b)
    assert near(x * y, a * b)
    assert near(x / y, a / b)
    assert near(x * 2, a * 2) and near(2 * x, a * 2)
    assert near(x + 1, a + 1) and near(1 - x, 1 - a)
    assert near(1 / x, 1 / a)


@pytest.mark.parametrize("a", VALUES)
def test_complex_functions(m: ModuleType, a: complex) -> None:
    x = m.Complex2f(a.real, a.imag)
    assert entries(dr.abs(x)) == pytest.approx(abs(a), rel=1e-6)
    assert entries(dr.squared_norm(x)) == pytest.approx(abs(a) ** 2, rel=1e-6)
    assert near(dr.rcp(x), 1 / a)
    assert near(dr.square(x), a * a)
    assert near(dr.sqrt(x), a**0.5)
    assert near(-x, -a)


def test_complex_from_python(m: ModuleType) -> None:
    assert number(m.Complex2f(1 + 2j)) == 1 + 2j
    assert number(m.Complex2f(3)) == 3


def test_quaternion_units(m: ModuleType) -> None:
    i, j, k = (m.Quaternion4f(*[float(n == c) for n in range(4)]) for c in range(3))
    minus_one = [0, 0, 0, -1]
    assert entries(i * j) == entries(k)
    assert entries(j * k) == entries(i)
    assert entries(k * i) == entries(j)
    assert entries(j * i) == entries(-k)
    for unit in (i, j, k):
        assert entries(unit * unit) == minus_one
    assert entries(i * j * k) == minus_one


def test_quaternion_operators(m: ModuleType) -> None:
    a, b = [1.0, -2.0, 3.0, 4.0], [0.5, 2.0, -1.0, 3.0]
    x, y = m.Quaternion4f(*a), m.Quaternion4f(*b)
    assert entries(x * y) == hamilton(a, b)
    assert entries(x + y) == [p + q for p, q in zip(a, b, strict=True)]
    assert entries(x * 2) == entries(2 * x) == [2 * p for p in a]
    # Division is multiplication by the inverse from the right.
    norm = sum(q * q for q in b)
    inverse = [-b[0] / norm, -b[1] / norm, -b[2] / norm, b[3] / norm]
    assert entries(x / y) == pytest.approx(hamilton(a, inverse), rel=1e-5)
    assert entries(dr.rcp(y)) == pytest.approx(inverse, rel=1e-5)


def test_quaternion_functions(m: ModuleType) -> None:
    q = m.Quaternion4f(1, -2, 2, 4)
    assert entries(dr.abs(q)) == 5
    assert entries(dr.squared_norm(q)) == 25
    assert entries(dr.square(q)) == hamilton([1, -2, 2, 4], [1, -2, 2, 4])
    root = entries(dr.sqrt(q))
    assert hamilton(root, root) == pytest.approx([1, -2, 2, 4], rel=1e-5)


def test_quaternion_of_a_number(m: ModuleType) -> None:
    assert entries(m.Quaternion4f(3)) == [0, 0, 0, 3]
    assert entries(m.Quaternion4f(1, 2, 3, 4) + 1) == [1, 2, 3, 5]


def test_powers_of_quaternions(m: ModuleType) -> None:
    a, b = m.Quaternion4f64(1, 2, 3, 4), m.Quaternion4f64(0.5, 0.25, 1, 2)
    expected, other = dr.exp2(dr.log2(a) * b), dr.exp2(b * dr.log2(a))
    assert dr.allclose(a**b, expected) and not dr.allclose(a**b, other)
