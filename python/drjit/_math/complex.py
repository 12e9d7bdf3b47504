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
    """Conjugate of a complex number or quaternion: its imaginary parts negated.

    Args:
        arg (array | number): complex numbers (those of Python, too) and quaternions.

    Returns:
        array | number: the type of ``arg``. Anything else is returned as it is.

    Derivative:
        1 for the real part, -1 for the imaginary ones.

    Example:
        >>> dr.conj(Complex2f(1, 2))
        [1-2j]

    See also:
        :func:`drjit.real`, :func:`drjit.imag`, :func:`drjit.rcp`
    """
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
    """Real part of a complex number or quaternion.

    Args:
        arg (array | number): complex numbers (those of Python, too) and quaternions.

    Returns:
        array | number: the entry type of ``arg``. Anything else is returned as it is.

    Derivative:
        1 for the real part, 0 for the others.

    Example:
        >>> dr.real(Complex2f(1, 2))
        [1]

    See also:
        :func:`drjit.imag`, :func:`drjit.conj`
    """
    return arg.real if isinstance(arg, (dr.ArrayBase, complex)) else arg


def imag(arg: Any, /) -> Any:
    """Imaginary part of a complex number or quaternion.

    Args:
        arg (array | number): complex numbers (those of Python, too) and quaternions,
            or real ones.

    Returns:
        array | number: for a complex number, its entry type; for a quaternion, an array
        (x, y, z); for a real ``arg``, zeros in its type and shape.

    Raises:
        TypeError: ``arg`` is neither a number nor an array.

    Derivative:
        1 for the imaginary parts, 0 for the real one. Zeros of real arguments are
        detached.

    Example:
        >>> dr.imag(Complex2f(1, 2))
        [2]
        >>> dr.imag(Quaternion4f(1, 2, 3, 4))
        [[1, 2, 3]]

    See also:
        :func:`drjit.real`, :func:`drjit.conj`
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
    """Argument of a complex number: its angle with the positive real axis.

    Args:
        z (array | number): complex or real numbers, also those of Python.

    Returns:
        array | float: angles in radians from -pi to pi, and 0 for zero. For real
        numbers pi where they are negative, else 0.

    Raises:
        TypeError: ``z`` is a quaternion or not a number.

    Derivative:
        That of ``atan2(imag(z), real(z))``: NaN at zero. Zero for real arrays, whose
        result is detached.

    Example:
        >>> dr.arg(Complex2f(0, 2))
        [1.5708]
        >>> dr.arg(Float(-1, 1))
        [3.14159, 0]

    See also:
        :func:`drjit.abs`, :func:`drjit.atan2`
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
