"""Norms, and the absolute value of inner products."""

from __future__ import annotations

import math

import drjit

from .._core import (
    ArrayBase,
    _type_names,
    abs,
    array_t,
    dot,
    grad_enabled,
    is_complex_v,
    is_float_v,
    is_quaternion_v,
    is_tensor_v,
    select,
    sqrt,
    sum,
    tensor_t,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def _check(operation: str, value: Any) -> None:
    """A number, or text, has no entries to sum up."""
    if not isinstance(value, ArrayBase) and (
        isinstance(value, str | bytes) or not hasattr(value, "__len__")
    ):
        raise TypeError(
            f"drjit.{operation}({_type_names(value)}): expected an array or a sequence"
        )


def abs_dot(a: Any, b: Any, /) -> Any:
    """Absolute value of the inner product.

    Args:
        a, b (array | sequence): operands, as in :func:`drjit.dot`.

    Returns:
        array | number: ``abs(dot(a, b))``.

    Raises:
        TypeError: an operand is neither an array nor a sequence.
        RuntimeError: the sizes differ.

    Derivative:
        That of :func:`drjit.dot` times the sign of the product: 0 where that is zero.

    Example:
        >>> dr.abs_dot(Array2f(1, -2), Array2f(1, 3))
        [5]

    See also:
        :func:`drjit.dot`, :func:`drjit.abs`
    """
    return abs(dot(a, b))


def squared_norm(
    value: Any, axis: Any = ..., mode: str | None = None, keepdims: bool = False
) -> Any:
    """Squared Euclidean norm: the sum of the squares of the entries.

    Args:
        value (array | tensor | sequence): what is summed up. Complex numbers and
            quaternions count as vectors of their components.
        axis (int | tuple[int, ...] | None): axes to sum along, None for all. The
            default ``...`` is all axes of a tensor, and the first axis of everything
            else (so the lanes of a flat array, and the components of a nested one).
        mode (str | None): ``"evaluated"``, ``"symbolic"`` or None, as in
            :func:`drjit.sum`.
        keepdims (bool): whether axes that were summed along stay, with extent 1.

    Returns:
        array | number: the sum, in the type of the entries.

    Raises:
        TypeError: ``value`` is a number.
        ValueError: an axis does not exist.
        RuntimeError: ``mode`` is unknown.

    Derivative:
        ``2 * value``.

    Example:
        >>> dr.squared_norm(Array2f(3, 4))
        [25]
        >>> dr.squared_norm(TensorXf([[3, 4], [6, 8]]), axis=1)
        [25, 100]

    See also:
        :func:`drjit.norm`, :func:`drjit.dot`, :func:`drjit.frob`
    """
    _check("squared_norm", value)
    return _squared(value, axis, mode, keepdims)


def _squared(value: Any, axis: Any, mode: str | None, keepdims: bool) -> Any:
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
    """Euclidean norm: the square root of the sum of the squares of the entries.

    Args:
        value (array | tensor | sequence): what is summed up. Complex numbers and
            quaternions count as vectors of their components.
        axis (int | tuple[int, ...] | None): axes to sum along, None for all. The
            default ``...`` is all axes of a tensor, and the first axis of everything
            else (so the lanes of a flat array, and the components of a nested one).
        mode (str | None): ``"evaluated"``, ``"symbolic"`` or None, as in
            :func:`drjit.sum`.
        keepdims (bool): whether axes that were summed along stay, with extent 1.

    Returns:
        array | number: the norm. Infinite (or zero) where the squares exceed (or fall
        below) the range of the type, except for complex numbers and quaternions with
        the default ``axis``.

    Raises:
        TypeError: ``value`` is a number.
        ValueError: an axis does not exist.
        RuntimeError: the entries are integers, or ``mode`` is unknown.

    Derivative:
        ``value / norm(value)``, and 0 at zero, as that of :func:`drjit.hypot`.

    Example:
        >>> dr.norm(Array2f(3, 4))
        [5]
        >>> dr.norm(TensorXf([[3, 4], [6, 8]]), axis=1)
        [5, 10]

    See also:
        :func:`drjit.squared_norm`, :func:`drjit.normalize`, :func:`drjit.hypot`
    """
    if axis is ... and mode is None and keepdims is False:
        if is_complex_v(value) or is_quaternion_v(value):
            return abs(value)  # squares may overflow
    _check("norm", value)
    squared = _squared(value, axis, mode, keepdims)
    if isinstance(squared, ArrayBase) and not is_float_v(squared):
        raise RuntimeError(
            f"drjit.norm({_type_names(value)}): operation not supported for entries of "
            "this type, expected floats"
        )
    if isinstance(squared, float) and isinstance(value, ArrayBase):
        # Rounded like an entry of drjit.scalar, as in the other families.
        return array_t(tensor_t(type(value)))(math.sqrt(squared))[0]
    return _root(squared)


def _root(squared: Any) -> Any:
    """Square root of a sum of squares. Their derivatives are 0 where it is 0."""
    result = sqrt(squared)
    if grad_enabled(squared):
        # The slope of the root is infinite there, and infinity times 0 would be NaN.
        result = drjit.replace_grad(result, sqrt(select(squared == 0, 1, squared)))
    return result
