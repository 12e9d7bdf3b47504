"""Spherical harmonics, against Legendre polynomials differentiated by NumPy."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from numpy.polynomial import legendre, polynomial

ORDERS = [0, 1, 2, 5, 9]
ACCURACY = {"f": 4e-6, "f64": 1e-13}


def reference(d: np.ndarray, order: int) -> list[float]:
    """The definition: P_l^m from the m-th derivative of P_l, times cos and sin."""
    x, y, z = d
    phi, sin_theta = math.atan2(y, x), math.sqrt(x * x + y * y)
    values = []
    for n in range(order + 1):
        for m in range(-n, n + 1):
            k = abs(m)
            p = legendre.leg2poly([0] * n + [1])
            value = polynomial.polyval(z, polynomial.polyder(p, k)) * sin_theta**k
            ratio = math.factorial(n - k) / math.factorial(n + k)
            value *= math.sqrt((2 * n + 1) / (4 * math.pi) * ratio) * (-1) ** k
            if m != 0:
                angle = math.cos(k * phi) if m > 0 else math.sin(k * phi)
                value *= math.sqrt(2) * angle
            values.append(float(value))
    return values


def directions() -> np.ndarray:
    rng = np.random.default_rng(0)
    d = rng.normal(size=(5, 3))
    poles = [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0]]
    return np.concatenate([d / np.linalg.norm(d, axis=1, keepdims=True), poles])


def number(value: Any) -> float:
    return float(value) if isinstance(value, float) else float(value[0])


@pytest.mark.parametrize("suffix", ACCURACY)
@pytest.mark.parametrize("order", ORDERS)
def test_values(m: ModuleType, order: int, suffix: str) -> None:
    cls = getattr(m, "Array3" + suffix)
    for d in directions():
        d = d.astype(np.float32).astype(np.float64)
        result = dr.sh_eval(cls(*map(float, d)), order)
        assert type(result) is list and len(result) == (order + 1) ** 2
        assert {type(value) for value in result} == {
            float if m is dr.scalar else dr.value_t(cls)
        }
        found = np.array([number(value) for value in result])
        assert np.abs(found - reference(d, order)).max() < ACCURACY[suffix] * 2


def test_lanes() -> None:
    m = dr.llvm
    d = directions()
    result = dr.sh_eval(m.Array3f64(*[m.Float64(list(map(float, c))) for c in d.T]), 4)
    for lane in range(len(d)):
        found = [value[lane if len(value) > 1 else 0] for value in result]
        assert np.abs(np.array(found) - reference(d[lane], 4)).max() < 1e-13


def test_order_ten(m: ModuleType) -> None:
    d = directions()[0]
    result = dr.sh_eval(m.Array3f64(*map(float, d)), order=10)
    found = np.array([number(value) for value in result])
    assert np.abs(found - reference(d, 10)).max() < 1e-12


def test_half_precision(m: ModuleType) -> None:
    result = dr.sh_eval(m.Array3f16(0.36, 0.48, 0.8), 2)
    expected = reference(np.array([0.36, 0.48, 0.8]), 2)
    assert np.abs(np.array([number(v) for v in result]) - expected).max() < 5e-3


def test_refuses(m: ModuleType) -> None:
    d = m.Array3f(0, 0, 1)
    for order in (-1, 11):
        with pytest.raises(RuntimeError, match="order"):
            dr.sh_eval(d, order)
    for bad in ("a", 1.5, None):
        with pytest.raises(TypeError):
            dr.sh_eval(d, bad)
    for vector in (m.Array2f(1), m.Array4f(1), m.Matrix3f(1), "abc", 3.0):
        with pytest.raises((TypeError, ValueError)):
            dr.sh_eval(vector, 1)
