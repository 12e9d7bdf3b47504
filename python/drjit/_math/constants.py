"""Mathematical constants, and the limits of floating point types."""

from __future__ import annotations

import math
from typing import NamedTuple

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

# Twenty digits and more, so that each is rounded once.
e = 2.71828182845904523536
log_two = 0.693147180559945309417
inv_log_two = 1.44269504088896340736

pi = 3.14159265358979323846
inv_pi = 0.318309886183790671538
sqrt_pi = 1.77245385090551602730
inv_sqrt_pi = 0.564189583547756286948

two_pi = 6.28318530717958647693
inv_two_pi = 0.159154943091895335769
sqrt_two_pi = 2.50662827463100050242
inv_sqrt_two_pi = 0.398942280401432677940

four_pi = 12.5663706143591729539
inv_four_pi = 0.0795774715459476678844
sqrt_four_pi = 3.54490770181103205460
inv_sqrt_four_pi = 0.282094791773878143474

sqrt_two = 1.41421356237309504880
inv_sqrt_two = 0.707106781186547524401

inf = math.inf
nan = math.nan


class _Format(NamedTuple):
    """A binary interchange format of IEEE 754."""

    precision: int  # bits of the significand, the implied one included
    min_exponent: int  # of the smallest normal number
    max_exponent: int  # of the largest finite number


_FORMATS = {
    "Float16": _Format(11, -14, 15),
    "Float32": _Format(24, -126, 127),
    "Float64": _Format(53, -1022, 1023),
}


def _format_of(operation: str, arg: Any) -> _Format:
    if dr.is_array_v(arg) and dr.is_float_v(arg):
        return _FORMATS[dr.type_v(arg).name]
    name = arg.__name__ if isinstance(arg, type) else type(arg).__name__
    raise TypeError(
        f"drjit.{operation}(<{name}>): expected a floating point Dr.Jit array or array "
        "type"
    )


def epsilon(arg: Any, /) -> float:
    """Machine epsilon of the entries of an array.

    It bounds the relative error of rounding to nearest, and is half the distance
    between 1 and the next larger number: half of what ``numpy.finfo(...).eps`` says.

    Args:
        arg (float array | type): an array of floats, or its type.

    Returns:
        float: 2^-11 in half, 2^-24 in single, and 2^-53 in double precision.

    Raises:
        TypeError: ``arg`` is something else: integers, or a number of Python.

    Example:
        >>> dr.epsilon(Float) == 2**-24
        True

    See also:
        :func:`drjit.one_minus_epsilon`, :func:`drjit.smallest`
    """
    return math.ldexp(1.0, -_format_of("epsilon", arg).precision)


def one_minus_epsilon(arg: Any, /) -> float:
    """Largest number below 1 of the entry type of an array.

    Args:
        arg (float array | type): an array of floats, or its type.

    Returns:
        float: one minus :func:`drjit.epsilon`.

    Raises:
        TypeError: ``arg`` is something else: integers, or a number of Python.

    Example:
        >>> dr.one_minus_epsilon(Float16)
        0.99951171875

    See also:
        :func:`drjit.epsilon`, :func:`drjit.largest`
    """
    return 1.0 - math.ldexp(1.0, -_format_of("one_minus_epsilon", arg).precision)


def recip_overflow(arg: Any, /) -> float:
    """Largest positive number whose reciprocal overflows to infinity.

    Args:
        arg (float array | type): an array of floats, or its type.

    Returns:
        float: a number below the smallest normal one.

    Raises:
        TypeError: ``arg`` is something else: integers, or a number of Python.

    Example:
        >>> tiny = dr.recip_overflow(Float)
        >>> dr.rcp(Float(tiny, 1.001 * tiny))
        [inf, 3.39942e+38]

    See also:
        :func:`drjit.smallest`, :func:`drjit.rcp`
    """
    return math.ldexp(1.0, -_format_of("recip_overflow", arg).max_exponent - 1)


def smallest(arg: Any, /) -> float:
    """Smallest positive normal number of the entry type of an array.

    Args:
        arg (float array | type): an array of floats, or its type.

    Returns:
        float: 2^-14 in half, 2^-126 in single, and 2^-1022 in double precision. Smaller
        numbers are subnormal: they have fewer digits.

    Raises:
        TypeError: ``arg`` is something else: integers, or a number of Python.

    Example:
        >>> dr.smallest(Float) == 2**-126
        True

    See also:
        :func:`drjit.largest`, :func:`drjit.epsilon`
    """
    return math.ldexp(1.0, _format_of("smallest", arg).min_exponent)


def largest(arg: Any, /) -> float:
    """Largest finite number of the entry type of an array.

    Args:
        arg (float array | type): an array of floats, or its type.

    Returns:
        float: 65504 in half, about 3.4e38 in single, and 1.8e308 in double precision.

    Raises:
        TypeError: ``arg`` is something else: integers, or a number of Python.

    Example:
        >>> dr.largest(Float16)
        65504.0

    See also:
        :func:`drjit.smallest`, :data:`drjit.inf`
    """
    fmt = _format_of("largest", arg)
    return math.ldexp(2.0 - math.ldexp(1.0, 1 - fmt.precision), fmt.max_exponent)
