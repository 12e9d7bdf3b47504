"""Powers of arrays of integers, for ``a ** b``."""

from __future__ import annotations

from typing import Any

import drjit as dr


def integer_power(a: Any, b: Any) -> Any:
    """``a ** b`` of two arrays of integers, by repeated squaring, modulo the range of
    their common type. Negative exponents: ``1 / a ** -b``, rounded towards zero."""
    like = 0 * (a + b)
    base, exponent = a + like, b + like
    kind = dr.leaf_t(type(like))
    signed = dr.is_signed_v(kind)
    result, square, rest = like + 1, base, exponent
    for _ in range(8 * dr.itemsize_v(kind) - signed):
        result = dr.select((rest & 1) != 0, result * square, result)
        square, rest = square * square, rest >> 1
    if not signed:
        return result
    ones = dr.select(base == 1, 1, dr.select(base == -1, 1 - 2 * (exponent & 1), 0))
    return dr.select(exponent < 0, ones, result)
