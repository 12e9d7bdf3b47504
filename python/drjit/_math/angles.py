"""Angles, and functions that keep their argument within their domain.

They accept Python numbers and Dr.Jit arrays of any backend.
"""

from __future__ import annotations

import math

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def rad2deg(arg: Any, /) -> Any:
    """Convert an angle from radians to degrees."""
    return arg * (180 / math.pi)


def deg2rad(arg: Any, /) -> Any:
    """Convert an angle from degrees to radians."""
    return arg * (math.pi / 180)


def sphdir(theta: Any, phi: Any) -> Any:
    """Return the unit vector with the elevation ``theta`` and the azimuth ``phi``.

    ``theta`` is measured from the positive z axis (0 to pi), ``phi`` from the positive
    x axis in the xy plane; both are in radians. The result is a 3D array with the
    backend and entry type of the angles, of ``drjit.scalar`` if both are Python
    numbers.
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
    """Return the square root, and zero for negative arguments.

    The derivative is 0 where the argument is at most ``epsilon(arg)``, and so nowhere
    infinite.
    """
    result = dr.sqrt(dr.maximum(arg, 0))
    if dr.grad_enabled(arg):
        result = dr.replace_grad(result, dr.sqrt(dr.maximum(arg, dr.epsilon(arg))))
    return result


def _inside(arg: Any) -> Any:
    """The argument within the numbers next to -1 and 1."""
    bound = dr.one_minus_epsilon(arg)
    return dr.clip(arg, -bound, bound)


def safe_asin(arg: Any, /) -> Any:
    """Return the arc sine of the argument clipped to [-1, 1].

    The derivative is 0 at -1 and 1, and beyond, and so nowhere infinite.
    """
    result = dr.asin(dr.clip(arg, -1, 1))
    if dr.grad_enabled(arg):
        result = dr.replace_grad(result, dr.asin(_inside(arg)))
    return result


def safe_acos(arg: Any, /) -> Any:
    """Return the arc cosine of the argument clipped to [-1, 1].

    The derivative is 0 at -1 and 1, and beyond, and so nowhere infinite.
    """
    result = dr.acos(dr.clip(arg, -1, 1))
    if dr.grad_enabled(arg):
        result = dr.replace_grad(result, dr.acos(_inside(arg)))
    return result
