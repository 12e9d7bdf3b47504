"""Functions of one number that are made of others: ``cot()``, ``erfc()``.

Half and single precision are computed in double precision and rounded once.
"""

from __future__ import annotations

import math

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# Of W. J. Cody, "Rational Chebyshev Approximations for the Error Function", Mathematics
# of Computation 23, 1969, as quotients P / Q, highest power first: erf(x) / x of x^2 up
# to 0.46875; exp(x^2) erfc(x) up to 4; and (1 / sqrt(pi) - x exp(x^2) erfc(x)) x^2 of
# 1 / x^2 after it.
_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2)
    + (3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3)
    + (2.84423683343917062e3,),
)
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0)
    + (6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2)
    + (1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2)
    + (1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3)
    + (3.43936767414372164e3, 1.23033935480374942e3),
)
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1)
    + (1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346047e0, 5.27905102951428412e-1)
    + (6.05183413124413191e-2, 2.33520497626869185e-3),
)
_LARGEST = 28.0  # erfc() is 0 there


def _in_double(name: str, function: Callable[[Any], Any], x: Any) -> Any:
    if not dr.is_array_v(x) or not dr.is_float_v(x) or dr.is_special_v(x):
        raise TypeError(
            f"drjit.{name}(): the argument is of type {type(x).__name__}, expected a "
            "number or an array of floats"
        )
    cls = type(x)
    return cls(function(dr.float64_array_t(cls)(x)))


def cot(arg: Any, /) -> Any:
    """Cotangent of an angle in radians: ``cos(arg) / sin(arg)``.

    The error is half an ulp, and 1.5 ulp in double precision.

    Args:
        arg (float array | float): angles in radians. Complex numbers have a complex
            cotangent; quaternions and matrices are not accepted.

    Returns:
        array | float: infinite at 0, with the sign of that zero; NaN where ``arg`` is
        infinite or NaN.

    Raises:
        TypeError: ``arg`` is not a number or array of floats.

    Derivative:
        ``-1 - cot(arg)**2``: minus infinity at 0.

    Example:
        >>> dr.cot(Float(dr.pi / 4, 0))
        [1, inf]

    See also:
        :func:`drjit.tan`, :func:`drjit.atan2`
    """
    if dr.is_complex_v(arg):
        return dr.rcp(dr.tan(arg))
    if not dr.is_array_v(arg):
        tangent = math.tan(arg)
        return 1 / tangent if tangent else math.copysign(math.inf, arg)
    return _in_double("cot", lambda x: 1 / dr.tan(x), arg)


def erfc(arg: Any, /) -> Any:
    """Complementary error function: ``1 - erf(arg)``, also where that is tiny.

    The error is half an ulp, and 5 ulp in double precision; more where results are
    below the smallest normal number.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: values from 0 to 2.

    Raises:
        TypeError: ``arg`` is not a number or array of floats.

    Derivative:
        ``-2 / sqrt(pi) * exp(-arg**2)``.

    Source:
        W. J. Cody, "Rational Chebyshev Approximations for the Error Function",
        Mathematics of Computation 23, 1969.

    Example:
        >>> dr.erfc(Float(0, 1, 5))
        [1, 0.157299, 1.53746e-12]

    See also:
        :func:`drjit.erf`, :func:`drjit.erfinv`
    """
    if not dr.is_array_v(arg):
        return math.erfc(arg)
    return _in_double("erfc", _erfc, arg)


def _quotient(x: Any, both: tuple[Sequence[float], Sequence[float]]) -> Any:
    values = []
    for coefficients in both:
        value = type(x)(coefficients[0])
        for coefficient in coefficients[1:]:
            value = dr.fma(value, x, coefficient)
        values.append(value)
    return values[0] / values[1]


def _erfc(x: Any) -> Any:
    plain = dr.detach(x)
    a = dr.minimum(dr.abs(plain), _LARGEST)
    near = dr.fma(-plain, _quotient(a * a, _NEAR), 1)
    inverse = dr.rcp(dr.maximum(a, 1))
    square = inverse * inverse
    far = (1 / math.sqrt(math.pi) - square * _quotient(square, _FAR)) * inverse
    # exp(-a^2) by parts: a^2 = first^2 + (a - first) (a + first), of which the first
    # one is exact, and what is lost of the second one is put back.
    first = dr.trunc(a * 16) * (1 / 16)
    difference, total = a - first, a + first
    second = difference * total
    lost = dr.fma(difference, total, -second) + difference * (first - (total - a))
    scale = dr.exp(-first * first) * dr.exp(-second)
    scale = dr.fma(scale, -lost, scale)
    tail = scale * dr.select(a <= 4, _quotient(a, _MIDDLE), far)
    found = dr.select(a <= 0.46875, near, dr.select(plain < 0, 2 - tail, tail))
    found = dr.select(dr.isnan(plain), plain, found)
    return dr.replace_grad(found, 1 - dr.erf(x)) if dr.grad_enabled(x) else found
