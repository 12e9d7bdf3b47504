"""Constants against decimal expansions, limits against NumPy."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from types import ModuleType

import drjit as dr
import numpy as np
import pytest

getcontext().prec = 60

# Archimedes' constant to 50 digits (OEIS A000796), and Euler's number (A001113).
PI = Decimal("3.14159265358979323846264338327950288419716939937511")
E = Decimal("2.71828182845904523536028747135266249775724709369995")
LOG_TWO = Decimal(2).ln()
TWO = Decimal(2)

VALUES = {
    "e": E,
    "log_two": LOG_TWO,
    "inv_log_two": 1 / LOG_TWO,
    "pi": PI,
    "inv_pi": 1 / PI,
    "sqrt_pi": PI.sqrt(),
    "inv_sqrt_pi": 1 / PI.sqrt(),
    "two_pi": 2 * PI,
    "inv_two_pi": 1 / (2 * PI),
    "sqrt_two_pi": (2 * PI).sqrt(),
    "inv_sqrt_two_pi": 1 / (2 * PI).sqrt(),
    "four_pi": 4 * PI,
    "inv_four_pi": 1 / (4 * PI),
    "sqrt_four_pi": (4 * PI).sqrt(),
    "inv_sqrt_four_pi": 1 / (4 * PI).sqrt(),
    "sqrt_two": TWO.sqrt(),
    "inv_sqrt_two": 1 / TWO.sqrt(),
}

FORMATS = {"f16": np.float16, "f": np.float32, "f64": np.float64}


@pytest.mark.parametrize("name", VALUES)
def test_constant(name: str) -> None:
    value = getattr(dr, name)
    assert type(value) is float
    assert value == float(VALUES[name])  # correctly rounded


def test_special_values() -> None:
    assert dr.inf == math.inf and math.isnan(dr.nan)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("shape", ["Array3", "ArrayX", "Matrix2", "TensorX"])
def test_limits(m: ModuleType, suffix: str, shape: str) -> None:
    info = np.finfo(FORMATS[suffix])
    cls = getattr(m, shape + suffix)
    for arg in (cls, cls(1)):
        # NumPy's eps is the distance from 1 to the next number.
        assert dr.epsilon(arg) == float(info.eps) / 2
        assert dr.one_minus_epsilon(arg) == 1 - float(info.eps) / 2
        assert dr.smallest(arg) == float(info.tiny)
        assert dr.largest(arg) == float(info.max)
        for name in ("epsilon", "one_minus_epsilon", "smallest", "largest"):
            assert type(getattr(dr, name)(arg)) is float


@pytest.mark.parametrize("suffix", FORMATS)
def test_one_minus_epsilon_is_the_number_below_one(m: ModuleType, suffix: str) -> None:
    dtype = FORMATS[suffix]
    below = np.nextafter(dtype(1), dtype(0))
    assert dr.one_minus_epsilon(getattr(m, "Array1" + suffix)) == float(below)


@pytest.mark.parametrize("suffix", FORMATS)
def test_recip_overflow(m: ModuleType, suffix: str) -> None:
    dtype = FORMATS[suffix]
    value = dtype(dr.recip_overflow(getattr(m, "Array1" + suffix)))
    with np.errstate(over="ignore"):
        assert np.isinf(dtype(1) / value)
        assert not np.isinf(dtype(1) / np.nextafter(value, dtype(1)))


def test_special_types(m: ModuleType) -> None:
    assert dr.epsilon(m.Complex2f) == dr.epsilon(m.Quaternion4f) == 2.0**-24


@pytest.mark.parametrize(
    "name", ["epsilon", "one_minus_epsilon", "recip_overflow", "smallest", "largest"]
)
def test_limits_refuse(m: ModuleType, name: str) -> None:
    function = getattr(dr, name)
    for arg in (m.Array3i, m.Array3b, m.Array3u(1), float, 1.0, "text"):
        with pytest.raises(TypeError, match=name):
            function(arg)
