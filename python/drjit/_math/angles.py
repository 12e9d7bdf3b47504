"""Angles, and functions that keep their argument within their domain.

They accept Python numbers and Dr.Jit arrays of any backend.
"""

from __future__ import annotations

import math

import drjit as dr

from .linalg import _text

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def rad2deg(arg: Any, /) -> Any:
    """Convert angles from radians to degrees.

    Args:
        arg (array | int | float): angles in radians. Integers become floats.

    Returns:
        array | float: ``arg * 180 / pi``.

    Derivative:
        ``180 / pi``.

    Example:
        >>> dr.rad2deg(Float(0, dr.pi))
        [0, 180]

    See also:
        :func:`drjit.deg2rad`
    """
    return arg * (180 / math.pi)


def deg2rad(arg: Any, /) -> Any:
    """Convert angles from degrees to radians.

    Args:
        arg (array | int | float): angles in degrees. Integers become floats.

    Returns:
        array | float: ``arg * pi / 180``.

    Derivative:
        ``pi / 180``.

    Example:
        >>> dr.deg2rad(Float(0, 180))
        [0, 3.14159]

    See also:
        :func:`drjit.rad2deg`
    """
    return arg * (math.pi / 180)


def sphdir(theta: Any, phi: Any) -> Any:
    """Turn spherical coordinates into a unit vector.

    Args:
        theta (float array | float): angle with the positive z axis, in radians.
        phi (float array | float): angle in the xy plane from the positive x axis, in
            radians.

    Returns:
        array: ``(cos(phi) sin(theta), sin(phi) sin(theta), cos(theta))``: an array of
        three components of the type of the angles; ``drjit.scalar.Array3f64`` for two
        Python numbers.

    Derivative:
        Unit vectors along the meridian for ``theta`` and, times ``sin(theta)``, along
        the circle of latitude for ``phi``.

    Example:
        >>> dr.sphdir(Float(0, dr.pi / 6), 0)
        [[0, 0, 1],
         [0.5, 0, 0.866025]]

    See also:
        :func:`drjit.sincos`, :func:`drjit.sh_eval`, :func:`drjit.atan2`
    """
    sin_theta, cos_theta = dr.sincos(theta)
    sin_phi, cos_phi = dr.sincos(phi)
    entry = dr.expr_t(type(sin_theta), type(sin_phi))
    if not dr.is_array_v(entry):
        from drjit import scalar

        cls: Any = scalar.Array3f64
    else:
        cls = dr.replace_shape_t(entry, (3,) + _tail(entry))
    return cls(cos_phi * sin_theta, sin_phi * sin_theta, cos_theta)


def _tail(entry: Any) -> tuple[int, ...]:
    """The dynamic dimension of the components, if they have one."""
    return (-1,) if dr.is_jit_v(entry) else ()


def safe_sqrt(arg: Any, /) -> Any:
    """Square root that is 0 for negative numbers, and whose derivative is finite.

    Rounding may leave a number slightly below zero where mathematics has zero:
    ``1 - cos(x)**2``, say.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: ``sqrt(max(arg, 0))``. NaN stays NaN.

    Raises:
        TypeError: complex numbers or quaternions, whose root needs no limits.

    Derivative:
        ``0.5 / sqrt(arg)``, 0 where ``arg`` is at most ``dr.epsilon(arg)``, and NaN
        where it is NaN.

    Example:
        >>> dr.safe_sqrt(Float(4, -1e-7))
        [2, 0]

    See also:
        :func:`drjit.sqrt`, :func:`drjit.safe_acos`, :func:`drjit.epsilon`
    """
    _check_real("safe_sqrt", arg)
    result = dr.sqrt(_at_least(arg, 0))
    if dr.grad_enabled(arg):
        result = dr.replace_grad(result, dr.sqrt(_at_least(arg, dr.epsilon(arg))))
    return result


def _check_real(operation: str, arg: Any) -> None:
    """Complex numbers have no order, and no limits to stay within."""
    if dr.is_complex_v(arg) or dr.is_quaternion_v(arg):
        plain = operation.removeprefix("safe_")
        raise TypeError(
            f"drjit.{operation}({_text(arg)}): expected real numbers; drjit.{plain}() "
            "is defined for all complex numbers and quaternions"
        )
    if not dr.is_array_v(arg) and not hasattr(arg, "__float__"):
        raise TypeError(
            f"drjit.{operation}({_text(arg)}): expected a Dr.Jit array or a number"
        )


# dr.maximum() and dr.minimum() take NaN as missing. A comparison lets it through.


def _at_least(arg: Any, bound: Any) -> Any:
    """The larger one; NaN where the argument is."""
    return dr.select(arg <= bound, bound, arg)


def _within(arg: Any, bound: Any) -> Any:
    """The argument limited to [-bound, bound]; NaN where it is."""
    return dr.select(arg < -bound, -bound, dr.select(arg > bound, bound, arg))


def safe_asin(arg: Any, /) -> Any:
    """Arc sine of the argument clipped to [-1, 1]; its derivative is finite.

    Rounding may leave a number slightly beyond 1 where mathematics has 1: the inner
    product of two unit vectors, say.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: angles in radians. NaN stays NaN.

    Raises:
        TypeError: complex numbers or quaternions, which need no limits.

    Derivative:
        ``1 / sqrt(1 - arg**2)`` between -1 and 1, 0 there and beyond, and NaN where
        ``arg`` is.

    Example:
        >>> dr.safe_asin(Float(1.0001, 0.5))
        [1.5708, 0.523599]

    See also:
        :func:`drjit.asin`, :func:`drjit.clip`, :func:`drjit.unit_angle`
    """
    _check_real("safe_asin", arg)
    result = dr.asin(_within(arg, 1))
    if dr.grad_enabled(arg):
        inside = _within(arg, dr.one_minus_epsilon(arg))
        result = dr.replace_grad(result, dr.asin(inside))
    return result


def safe_acos(arg: Any, /) -> Any:
    """Arc cosine of the argument clipped to [-1, 1]; its derivative is finite.

    Rounding may leave a number slightly beyond 1 where mathematics has 1: the inner
    product of two unit vectors, say.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: angles in radians. NaN stays NaN.

    Raises:
        TypeError: complex numbers or quaternions, which need no limits.

    Derivative:
        ``-1 / sqrt(1 - arg**2)`` between -1 and 1, 0 there and beyond, and NaN where
        ``arg`` is.

    Example:
        >>> dr.safe_acos(Float(1.0001, 0.5))
        [0, 1.0472]

    See also:
        :func:`drjit.acos`, :func:`drjit.clip`, :func:`drjit.unit_angle`
    """
    _check_real("safe_acos", arg)
    result = dr.acos(_within(arg, 1))
    if dr.grad_enabled(arg):
        inside = _within(arg, dr.one_minus_epsilon(arg))
        result = dr.replace_grad(result, dr.acos(inside))
    return result
