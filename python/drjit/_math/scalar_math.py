"""Elementwise operations that are short expressions over the operators of arrays.

They accept Python numbers and Dr.Jit arrays and tensors of any backend.
"""

from __future__ import annotations

import warnings

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def sign(arg: Any, /) -> Any:
    """Sign of a number: 1 where it is zero or above, else -1.

    Args:
        arg (array | int | float): real numbers. Both zeros count as positive, NaN as
            negative; :func:`drjit.copysign` looks at the sign bit instead.

    Returns:
        array | int | float: 1 or -1 in the type of ``arg``, never 0.

    Derivative:
        Zero: the result is detached.

    Example:
        >>> dr.sign(Float(-2, 0, 3))
        [-1, 1, 1]

    See also:
        :func:`drjit.mulsign`, :func:`drjit.copysign`, :func:`drjit.abs`
    """
    if not dr.is_array_v(arg):
        return arg.__class__(1 if arg >= 0 else -1)  # sizes have that of int
    one = dr.ones_like(arg)
    if dr.is_unsigned_v(arg):  # masks count as such
        return one
    return dr.select(arg >= 0, one, -one)


def mulsign(arg0: Any, arg1: Any, /) -> Any:
    """Multiply by the sign of another number: negate where that is below zero.

    Args:
        arg0 (array | int | float): what is multiplied.
        arg1 (array | int | float): numbers of which the sign is taken. Both zeros count
            as positive, and NaN as negative, as in :func:`drjit.sign`.

    Returns:
        array | int | float: ``arg0`` or ``-arg0``, of the type of ``arg0``.

    Derivative:
        1 or -1 with respect to ``arg0``, 0 with respect to ``arg1``.

    Example:
        >>> dr.mulsign(Float(-2, 3), Float(-1, -4))
        [2, -3]

    See also:
        :func:`drjit.copysign`, :func:`drjit.sign`
    """
    if not dr.is_array_v(arg1):
        return arg0 if arg1 >= 0 else -arg0
    if dr.is_unsigned_v(arg1):  # masks count as such
        return arg0
    return dr.select(arg1 >= 0, arg0, -arg0)


def square(arg: Any, /) -> Any:
    """Square: ``arg * arg``.

    Args:
        arg (array | number): numbers of any kind. The square of a matrix is its matrix
            product with itself, and that of a complex number or quaternion its product.

    Returns:
        array | number: the type of ``arg``.

    Derivative:
        ``2 * arg``.

    Example:
        >>> dr.square(Float(2, -3))
        [4, 9]
        >>> dr.square(Complex2f(0, 1))
        [-1]

    See also:
        :func:`drjit.power`, :func:`drjit.sqrt`, :func:`drjit.squared_norm`
    """
    return arg * arg


def sqr(arg: Any, /) -> Any:
    """Square: the former name of :func:`drjit.square`, deprecated.

    Args:
        arg (array | number): numbers of any kind.

    Returns:
        array | number: ``arg * arg``, with a ``DeprecationWarning``.

    Derivative:
        ``2 * arg``.

    Example:
        >>> dr.square(Float(2, -3))  # instead of dr.sqr()
        [4, 9]

    See also:
        :func:`drjit.square`
    """
    warnings.warn(
        "drjit.sqr() is deprecated, use drjit.square()",
        DeprecationWarning,
        stacklevel=2,
    )
    return arg * arg
