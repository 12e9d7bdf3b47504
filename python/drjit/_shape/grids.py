"""The coordinates of grids."""

from __future__ import annotations

import math

import drjit

from .axes import (
    ShapeError,
    check_entries,
    counter,
    entries_of,
    gather_whole,
    is_dynamic_1d,
    is_tensor,
    type_name,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def meshgrid(*args: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Flattened coordinate arrays of the grid spanned by 1D coordinate vectors.

    Args:
        *args: dynamic 1D arrays of one type.
        indexing: ``'xy'`` exchanges the first two axes of the grid, ``'ij'`` does not.

    Returns a tuple with an array per input, each with as many entries as the grid: the
    entries of ``numpy.meshgrid()`` in row-major order. Errors: TypeError for other
    inputs, ValueError for another ``indexing``.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(
            f"drjit.meshgrid(): 'indexing' is {indexing!r}, expected 'ij' or 'xy'"
        )
    for arg in args:
        one_axis = len(arg.shape) == 1 if is_tensor(arg) else is_dynamic_1d(arg)
        if not one_axis or type(arg) is not type(args[0]):
            raise TypeError(
                "drjit.meshgrid(): the inputs are of types "
                f"{', '.join(type_name(x) for x in args)}, expected 1D dynamic arrays "
                "of one type"
            )
    if len(args) < 2:
        return tuple(args)
    order = list(range(len(args)))
    if indexing == "xy":
        order[0], order[1] = 1, 0
    flats = [arg.array if is_tensor(arg) else arg for arg in args]
    count = math.prod(entries_of(flat) for flat in flats)
    check_entries("meshgrid", count)
    result: list[Any] = [None] * len(args)
    inner = count
    for rank, k in enumerate(order):
        flat = flats[k]
        if count == 0:
            result[k] = type(args[k])(dr.empty(type(flat), 0))
            continue
        inner //= entries_of(flat)
        index = counter(dr.uint32_array_t(type(flat)), count) // inner
        if rank > 0:
            index = index % entries_of(flat)
        result[k] = type(args[k])(gather_whole(type(flat), flat, index))
    return tuple(result)
