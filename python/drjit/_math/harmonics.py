"""Real spherical harmonics."""

from __future__ import annotations

import math

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_MAX_ORDER = 10


def sh_eval(d: Any, order: int) -> list[Any]:
    """Evaluate the real spherical harmonics up to a given order.

    The functions are orthonormal and contain the Condon-Shortley phase.

    Args:
        d (float array): unit vectors with three components.
        order (int): highest degree, 0 to 10.

    Returns:
        list: ``(order + 1)**2`` values in the component type of ``d``: that of degree l
        and index -l <= m <= l is at position ``l * (l + 1) + m``.

    Raises:
        TypeError: ``d`` is another array, or ``order`` is not an integer.
        RuntimeError: ``order`` is out of range.

    Derivative:
        That of polynomials in the components of ``d``, which agree with the functions
        on the unit sphere.

    Source:
        P.-P. Sloan, "Efficient Spherical Harmonic Evaluation", Journal of Computer
        Graphics Techniques 2(2), 2013. The factors sin(theta)**m of the associated
        Legendre functions go to the other factor, which makes both polynomials in the
        components of ``d``: recurrences over l in z, and powers of x + iy.

    Example:
        >>> dr.sh_eval(Array3f(0.6, 0, 0.8), 1)[2]  # sqrt(3 / (4 pi)) z
        [0.390882]
        >>> len(dr.sh_eval(Array3f(0, 0, 1), 3))
        16

    See also:
        :func:`drjit.sphdir`, :func:`drjit.normalize`
    """
    if not _is_vector(d):
        raise TypeError(
            f"drjit.sh_eval(<{type(d).__module__}.{type(d).__qualname__}>): expected a "
            "floating point array with 3 components"
        )
    if not isinstance(order, int) or isinstance(order, bool):
        raise TypeError(
            f"drjit.sh_eval(): 'order' is of type {type(order).__name__}, expected an "
            "integer"
        )
    if not 0 <= order <= _MAX_ORDER:
        raise RuntimeError(
            f"drjit.sh_eval(): 'order' is {order}, expected 0 to {_MAX_ORDER}"
        )

    x, y, z = d
    result: list[Any] = [None] * (order + 1) ** 2
    # Real and imaginary part of (x + iy)**m, and the same times the square root of 2.
    real: Any = x
    imag: Any = y
    for m, (start, steps) in enumerate(_coefficients(order)):
        if m > 1:
            real, imag = x * real - y * imag, x * imag + y * real
        cosine, sine = (_ROOT * real, _ROOT * imag) if m else (None, None)
        before: Any = None
        q: Any = start  # Q(l, m), from l = m on
        center = m * (m + 1)
        for degree in range(m, order + 1):
            if m:
                result[center + m] = q * cosine
                result[center - m] = q * sine
            else:
                result[center] = q
            if degree < order:
                a, b = steps[degree - m]
                after = z * (a * q)
                before, q = q, after if before is None else after - b * before
                center += 2 * (degree + 1)
    result[0] = type(z)(result[0])
    return result


def _is_vector(d: Any) -> bool:
    """Is it a floating point array of three numbers (per lane)?"""
    if isinstance(d, type) or not dr.is_array_v(d) or not dr.is_float_v(d):
        return False
    flat = dr.depth_v(d) == (2 if dr.is_jit_v(d) else 1)
    plain = not dr.is_special_v(d) and not dr.is_tensor_v(d)
    return bool(flat and plain and len(d) == 3)


_ROOT = math.sqrt(2)
_known: dict[int, list[tuple[float, list[tuple[float, float]]]]] = {}


def _coefficients(order: int) -> list[tuple[float, list[tuple[float, float]]]]:
    """For each m, Q(m, m) and the pairs (a, b) for l = m + 1 ... order.

    Q are normalised associated Legendre functions, divided by sin(theta)**m:

        Q(l) = a * z * Q(l - 1) - b * Q(l - 2),
        a**2 = (4 l**2 - 1) / (l**2 - m**2),  b is a / a of the degree before.
    """
    if order in _known:
        return _known[order]
    table = []
    start = math.sqrt(1 / (4 * math.pi))
    for m in range(order + 1):
        if m > 0:
            start *= -math.sqrt((2 * m + 1) / (2 * m))
        steps = []
        inverse = 0.0
        for degree in range(m + 1, order + 1):
            a = math.sqrt((4 * degree**2 - 1) / (degree**2 - m**2))
            steps.append((a, a * inverse))
            inverse = 1 / a
        table.append((start, steps))
    _known[order] = table
    return table
