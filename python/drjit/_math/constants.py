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
    """Return the machine epsilon of the entry type of an array or array type.

    It bounds the relative error of rounding to nearest: half the distance between 1 and
    the next larger number. Raises ``TypeError`` unless the entries are floating point
    numbers (as all functions below).
    """
    return math.ldexp(1.0, -_format_of("epsilon", arg).precision)


def one_minus_epsilon(arg: Any, /) -> float:
    """Return the largest number below 1 of the entry type of an array (type)."""
    return 1.0 - math.ldexp(1.0, -_format_of("one_minus_epsilon", arg).precision)


def recip_overflow(arg: Any, /) -> float:
    """Return the largest positive number whose reciprocal overflows to infinity."""
    return math.ldexp(1.0, -_format_of("recip_overflow", arg).max_exponent - 1)


def smallest(arg: Any, /) -> float:
    """Return the smallest positive normal number of the entry type."""
    return math.ldexp(1.0, _format_of("smallest", arg).min_exponent)


def largest(arg: Any, /) -> float:
    """Return the largest finite number of the entry type."""
    fmt = _format_of("largest", arg)
    return math.ldexp(2.0 - math.ldexp(1.0, 1 - fmt.precision), fmt.max_exponent)
