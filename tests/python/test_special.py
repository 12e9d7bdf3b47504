"""``drjit.cot()`` and ``drjit.erfc()``: against mpmath and the C library."""

from __future__ import annotations

import math
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import scalar
from drjit.llvm.ad import Array3f, Complex2f, Float, Float16, Float64, UInt

mpmath: Any = pytest.importorskip("mpmath")

RANDOM = np.random.default_rng(0)
ERFC = np.concatenate(
    [RANDOM.uniform(-6, 6, 1500), RANDOM.uniform(0, 26, 1500)]
    + [RANDOM.uniform(-0.5, 0.5, 500), [0, 0.46875, 4, 4 + 1e-9, 26.5]]
)
COT = np.concatenate(
    [RANDOM.uniform(-8192, 8192, 1500), RANDOM.uniform(-3, 3, 1500)]
    + [10 ** RANDOM.uniform(-30, 0, 300)]
)
TYPES: dict[Any, Any] = {Float16: np.float16, Float: np.float32, Float64: np.float64}


def largest_error(exact: Any, numbers: Any, found: Any, dtype: Any) -> float:
    """In ulp of the result, of those that are normal numbers."""
    mpmath.mp.prec = 120
    worst = 0.0
    for number, value in zip(numbers, found, strict=True):
        wanted = exact(mpmath.mpf(float(number)))
        rounded = abs(dtype(float(wanted)))
        if np.finfo(dtype).tiny <= rounded < np.inf:
            ulp = float(np.spacing(rounded))
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - wanted)) / ulp)
    return worst


@pytest.mark.parametrize("cls", TYPES)
@pytest.mark.parametrize("name", ["cot", "erfc"])
def test_errors(name: str, cls: Any) -> None:
    numbers = (COT if name == "cot" else ERFC).astype(TYPES[cls])
    if name == "cot":  # not where it is infinite
        numbers = numbers[np.abs(numbers.astype(np.float64)) > 1e-4]
    found = getattr(dr, name)(cls(numbers)).numpy()
    most = 0.501 if cls is not Float64 else {"cot": 1.5, "erfc": 5}[name]
    assert largest_error(getattr(mpmath, name), numbers, found, TYPES[cls]) <= most


def test_special_values() -> None:
    ends = dr.erfc(Float64(math.inf, -math.inf, math.nan, 0, -0.0, 40, 27)).numpy()
    assert list(ends[[0, 1, 3, 4, 5]]) == [0, 2, 1, 1, 0] and math.isnan(ends[2])
    assert ends[6] == pytest.approx(math.erfc(27), rel=1e-6)  # not a normal number
    assert list(dr.cot(Float(0, -0.0))) == [math.inf, -math.inf]
    assert (dr.cot(0.0), dr.cot(-0.0)) == (math.inf, -math.inf)
    assert dr.cot(1.25) == 1 / math.tan(1.25) and dr.erfc(2) == math.erfc(2)


def test_types() -> None:
    assert type(dr.erfc(Array3f(1, 2, 3))) is Array3f
    found = dr.cot(Complex2f(1, 2))
    assert np.allclose(found.numpy(), 1 / np.tan(1 + 2j))
    assert np.allclose(dr.erfc(scalar.ArrayXf64([1, 2])), [math.erfc(1), math.erfc(2)])
    for value in (UInt(1), Complex2f(1, 2), "1"):
        with pytest.raises(TypeError):
            dr.erfc(value)
    with pytest.raises(TypeError, match="of type UInt, expected a number or an array"):
        dr.cot(UInt(1))


def test_masks_that_need_not_be_known() -> None:
    traced = UInt(1, 2, 3) > 1
    assert dr.any_or(False, traced) is False and dr.all_or(True, traced) is True
    assert dr.none_or(True, traced) is True
    plain = scalar.ArrayXb([True, False])
    assert dr.any_or(False, plain) and not dr.all_or(True, plain)
    assert not dr.none_or(True, plain)
