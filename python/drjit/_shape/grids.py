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
    """Create the coordinates of all points of a grid from those along its axes.

    Args:
        *args (array): coordinates along each axis: flat arrays of just-in-time compiled
            types, ``ArrayXf`` and the like of ``drjit.scalar``, or tensors with one
            axis; all of one type.
        indexing (str): ``"xy"``: the first coordinate changes fastest, then the
            second. ``"ij"``: the last one changes fastest. More axes are in the order
            of ``numpy.meshgrid``.

    Returns:
        tuple: an array of each coordinate, with an entry for each point of the grid:
        flat, as ``numpy.meshgrid(...)[k].ravel()``.

    Raises:
        TypeError: an argument is something else, or they differ in type.
        ValueError: ``indexing`` is neither of the two.

    Derivative:
        Each coordinate gets the sum of the gradients of its copies.

    Evaluation:
        Evaluates the arguments.

    Example:
        >>> x, y = dr.meshgrid(Float(0, 1, 2), Float(10, 20))
        >>> x
        [0, 1, 2, 0, 1, 2]
        >>> y
        [10, 10, 10, 20, 20, 20]

    See also:
        :func:`drjit.arange`, :func:`drjit.linspace`
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
