"""Norms, and the absolute value of inner products."""

from __future__ import annotations

import math

from .._core import (
    ArrayBase,
    abs,
    array_t,
    dot,
    is_complex_v,
    is_quaternion_v,
    is_tensor_v,
    sqrt,
    sum,
    tensor_t,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def abs_dot(a: Any, b: Any, /) -> Any:
    """Absolute value of the inner product."""
    return abs(dot(a, b))


def squared_norm(
    value: Any, axis: Any = ..., mode: str | None = None, keepdims: bool = False
) -> Any:
    """Sum of the squares along the given axes."""
    if axis is ... and mode is None and keepdims is False:
        if not is_tensor_v(value) or value.ndim == 1:
            return dot(value, value)
    # Products of complex numbers and quaternions are not squares.
    if is_complex_v(value) or is_quaternion_v(value):
        value = array_t(type(value))(value)
    return sum(value * value, axis=axis, mode=mode, keepdims=keepdims)


def norm(
    value: Any, axis: Any = ..., mode: str | None = None, keepdims: bool = False
) -> Any:
    """Square root of the sum of the squares along the given axes."""
    if axis is ... and mode is None and keepdims is False:
        if is_complex_v(value) or is_quaternion_v(value):
            return abs(value)  # squares may overflow
    squared = squared_norm(value, axis, mode, keepdims)
    if isinstance(squared, float) and isinstance(value, ArrayBase):
        # Rounded like an entry of drjit.scalar, as in the other families.
        return array_t(tensor_t(type(value)))(math.sqrt(squared))[0]
    return sqrt(squared)
