"""Parts of complex numbers and quaternions.

Their arithmetic (products, reciprocals, roots, magnitudes) belongs to the array types.
"""

from __future__ import annotations

import cmath
import importlib
import math
import sys

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Names the types of the arguments of a failed operation.
_text: Callable[..., str] = importlib.import_module("drjit._core")._type_names


def conj(arg: Any, /) -> Any:
    """Return the complex or quaternion conjugate; other types are unchanged."""
    if isinstance(arg, complex):
        return arg.conjugate()
    if isinstance(arg, type) or not dr.is_array_v(arg):
        return arg
    if dr.is_complex_v(arg):
        return type(arg)(arg[0], -arg[1])
    if dr.is_quaternion_v(arg):
        return type(arg)(-arg[0], -arg[1], -arg[2], arg[3])
    return arg


def real(arg: Any, /) -> Any:
    """Return the real part of a complex number or quaternion, in its entry type.

    Other types are returned unchanged.
    """
    return arg.real if isinstance(arg, (dr.ArrayBase, complex)) else arg


def imag(arg: Any, /) -> Any:
    """Return the imaginary part, which is zero for real types.

    A complex number gives an entry, a quaternion an array of its three imaginary
    components (x, y, z). A real number or array gives a zero of its own type and shape.
    Raises ``TypeError`` for other types.
    """
    if isinstance(arg, (bool, int, float, complex)):
        return type(arg)(0) if isinstance(arg, (bool, int)) else arg.imag
    if not isinstance(arg, type) and dr.is_array_v(arg):
        if dr.is_complex_v(arg):
            return arg[1]
        if dr.is_quaternion_v(arg):
            return _vector_class(arg)(arg[0], arg[1], arg[2])
        return dr.zeros_like(arg)
    raise TypeError(f"drjit.imag({_text(arg)}): expected a number or a Dr.Jit array")


def arg(z: Any, /) -> Any:
    """Return the angle in radians between ``z`` and the positive real axis.

    For real numbers and arrays that is 0 or pi, depending on the sign. Raises
    ``TypeError`` for quaternions and for what is not a number.
    """
    if isinstance(z, complex):
        return cmath.phase(z)
    if isinstance(z, (bool, int, float)):
        return math.pi if z < 0 else 0.0
    if isinstance(z, type) or not dr.is_array_v(z) or dr.is_quaternion_v(z):
        raise TypeError(
            f"drjit.arg({_text(z)}): expected a number, or a real or complex "
            "Dr.Jit array"
        )
    if dr.is_complex_v(z):
        return dr.atan2(z[1], z[0])
    return dr.select(z < 0, math.pi, 0.0)


def _vector_class(arg: Any) -> Any:
    """The 3D array class with the backend and entry type of a quaternion."""
    for base in type(arg).__mro__:
        if base.__module__.startswith("drjit.") and base.__name__[:10] == "Quaternion":
            suffix = base.__name__[len("Quaternion4") :]
            return getattr(sys.modules[base.__module__], "Array3" + suffix)
    raise TypeError("drjit.imag(): the class is not derived from a quaternion type")
