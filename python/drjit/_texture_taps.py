"""Which texels of an axis a lookup reads, and with which weights.

Source of the cubic weights: the uniform B-spline, as in C. Sigg and M. Hadwiger, "Fast
Third-Order Texture Filtering", GPU Gems 2, 2005. Where hardware turns the sum into
linear lookups, here it is a sum of texels, which has derivatives of all orders.
"""

from __future__ import annotations

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Texels farther away than that are those of the border, or of any period.
_FAR = 2.0**30
# Up to it, all integers are numbers of the type.
_EXACT = {dr.VarType.Float16: 2**11, dr.VarType.Float32: 2**24}


def wrapped(mode: Any, i: Any, n: int) -> Any:
    """The texel that an integer position along an axis of n stands for."""
    if mode == dr.WrapMode.Clamp:
        return dr.clip(i, 0, n - 1)
    period = n if mode == dr.WrapMode.Repeat else 2 * n
    if not dr.is_array_v(i):
        i = i % period
    elif period & (period - 1) == 0:
        i = i & (period - 1)
    else:
        i = i - _floor_div(i, period) * period
    return i if period == n else dr.minimum(i, period - 1 - i)


def _floor_div(i: Any, n: int) -> Any:
    """i / n of signed integers, rounded down."""
    return dr.select(i >= 0, i, i - (n - 1)) // n


def folded(mode: Any, x: Any) -> Any:
    """The position in the first period: from 0 to 1, or if mirrored from -1 to 1.
    The difference is exact, but for positions slightly below 0 that become 1."""
    if mode == dr.WrapMode.Repeat:
        return x - dr.floor(x)
    if mode == dr.WrapMode.Mirror:
        return dr.fma(dr.round(x * 0.5), -2, x)
    return x


def near(
    mode: Any, first: Any, n: Any, scale: Any, most: int, offsets: Sequence[int]
) -> list[Any]:
    """The texels at offsets (-1 to 2) from that of a folded position, a float
    without fraction, along an axis of n texels; ``scale`` is n as a float, and
    ``most`` an upper bound of it."""
    if not dr.is_array_v(first):
        i = int(dr.clip(first, -_FAR, _FAR))
        return [wrapped(mode, i + k, n) for k in offsets]
    ints, unsigned = dr.int32_array_t(type(first)), dr.uint32_array_t(type(first))
    low, high = offsets[0], offsets[-1]
    clamped = mode == dr.WrapMode.Clamp
    # Folded positions need no lower bound. NaN becomes the upper one.
    first = dr.minimum(first, scale - (1 + low if clamped else 1))
    i = ints(dr.maximum(first, -high) if clamped else first)
    last = ints(n) - 1 if dr.is_array_v(n) else n - 1
    if most >= _EXACT.get(dr.type_v(first), _FAR) - 2:
        # Bounds may have been rounded.
        i = dr.clip(i, -high if clamped else -2 - last, last - (low if clamped else 0))
    if not dr.is_array_v(n) and n == 1 and not clamped:
        return [unsigned(i) & 0 for _ in offsets]
    found = []
    for k in offsets:
        at = i + k if k else i
        if clamped:
            at = dr.maximum(at, 0) if k < high else at
            at = dr.minimum(at, last) if k > low else at
        at = unsigned(at)
        # Of unsigned numbers, the smaller one is that in the grid.
        if mode == dr.WrapMode.Repeat:
            at = dr.minimum(at, at - n if k > 0 else at + n)
        elif mode == dr.WrapMode.Mirror:
            at = dr.minimum(at, ~at)
            at = dr.minimum(at, (2 * n - 1) - at)
        found.append(at)
    return found


def b_spline(f: Any, order: int) -> list[list[Any]]:
    """Weights of four texels around a position of this fraction between the two in the
    middle; their first derivatives, and their second ones."""
    g = 1 - f
    found = [
        [
            g * g * g * (1 / 6),
            dr.fma(f * f, dr.fma(f, 0.5, -1), 2 / 3),
            dr.fma(g * g, dr.fma(g, 0.5, -1), 2 / 3),
            f * f * f * (1 / 6),
        ]
    ]
    if order > 0:
        found.append(
            [
                g * g * -0.5,
                f * dr.fma(f, 1.5, -2),
                g * dr.fma(g, -1.5, 2),
                f * f * 0.5,
            ]
        )
    if order > 1:
        found.append([g, dr.fma(f, 3, -2), dr.fma(g, 3, -2), f])
    return found
