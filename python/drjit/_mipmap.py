"""MIP maps: the content of a texture at coarser and coarser resolutions.

Level 0 is the content. Along each axis a level has half as many texels as the one
before, rounded down, until it is one. All levels are one array, one after the other,
so that lanes which look at different levels gather from one source::

    | level 0                       | level 1       | 2     |   |1|
    0                               starts[1]       starts[2]

A texel is the mean of the texels that it covers, of which it may cover parts: so the
mean of each level is that of the content.

Sources: L. Williams, "Pyramidal Parametrics", SIGGRAPH 1983; for sizes that are no
powers of two, the polyphase box filter of D. Guinnip and others, "NP2 Mipmapping",
NVIDIA, 2005. Footprints that are longer than wide are averaged as in the OpenGL
extension EXT_texture_filter_anisotropic, 2000.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import drjit as dr

from ._shape.axes import check_entries
from ._shape.resample import halved

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence

# How many lookups along a footprint are averaged.
MOST_PROBES = 16
# Derivatives of positions are clamped there, which is as many times the grid.
_FAR = 2.0**15


class Grid(NamedTuple):
    """The texels of a level. Where lanes have levels of their own, all are arrays."""

    counts: list[Any]  # along x, y, z
    scales: list[Any]  # the same, as numbers of the type of positions
    start: Any  # its first texel, if that is not the first one in memory


def levels(extents: Sequence[int]) -> list[list[int]]:
    """The extents of each level."""
    count = max(extents).bit_length()
    return [[max(n >> level, 1) for n in extents] for level in range(count)]


def pyramid(array: Any, extents: list[list[int]], packet: int, srgb: bool) -> Any:
    """All levels in one array, from level 0: texels have ``packet`` entries.

    ``extents`` are those of each level along x, y, z. Bytes are averaged as the numbers
    that they stand for. Each level is rounded to the type of the content once.
    """
    own = type(array)
    check_entries("Texture", sum(_texels(level) for level in extents) * packet)
    is_float = dr.is_float_v(own)
    working = own if is_float and not dr.is_half_v(own) else dr.float32_array_t(own)
    pieces, values = [array], working(array)
    if not is_float:
        values = _curved(values * (1 / 255), srgb, dr.srgb_to_linear)
    for level in extents[:-1]:
        values = halved("Texture", values, (*level[::-1], packet))
        piece = values
        if not is_float:
            piece = dr.round(_curved(values, srgb, dr.linear_to_srgb) * 255)
        pieces.append(own(piece))
    return dr.concat(pieces) if len(pieces) > 1 else array


def _texels(extents: Sequence[int]) -> int:
    count = 1
    for n in extents:
        count *= n
    return count


def _curved(values: Any, srgb: bool, curve: Any) -> Any:
    """Colors by way of a curve: all channels but each fourth."""
    if not srgb:
        return values
    lane = dr.arange(dr.uint32_array_t(type(values)), dr.width(values))
    return dr.select((lane & 3) == 3, values, curve(values))


def footprint(x: Sequence[Any], y: Sequence[Any], extents: Sequence[int]) -> Any:
    """How to average a footprint, of which the derivatives of the position are given.

    Returns the number of lookups, as a float; their level; and the line along which
    they are. The level comes from squares of lengths: roots have no derivative at 0.
    """
    x, y = ([dr.clip(part, -_FAR, _FAR) for part in side] for side in (x, y))
    leaf = type(x[0])
    wide = dr.float32_array_t(leaf) if dr.is_half_v(leaf) else leaf
    squares = []
    for side in (x, y):
        total = wide(0)
        for part, n in zip(side, extents, strict=True):
            length = wide(part) * n
            total = dr.fma(length, length, total)
        squares.append(total)
    longer = dr.maximum(*squares)
    shorter = dr.minimum(*squares) if len(extents) > 1 else longer
    width = dr.maximum(dr.maximum(shorter, longer * (1 / MOST_PROBES**2)), 1)
    ratio = dr.sqrt(dr.detach(longer) / dr.detach(width))
    line = [
        dr.select(squares[0] >= squares[1], a, b) for a, b in zip(x, y, strict=True)
    ]
    return (
        leaf(dr.clip(dr.ceil(ratio), 1, MOST_PROBES)),
        leaf(dr.log2(width) * 0.5),
        line,
    )
