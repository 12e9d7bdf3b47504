"""Regularly spaced sequences, and the coordinates of grids made of such axes."""

from __future__ import annotations

import math
from typing import Any

import drjit

from ._axes import (
    ShapeError,
    check_entries,
    integer,
    is_array,
    is_dynamic_1d,
    is_tensor,
    type_name,
)

dr: Any = drjit


def linspace(
    dtype: type[Any], start: float, stop: float, num: int, endpoint: bool = True
) -> Any:
    """Evenly spaced floating point sequence covering ``[start, stop]``.

    Args:
        dtype: dynamic 1D floating point array or tensor type of the result.
        start, stop: bounds of the interval, Python numbers.
        num: number of entries. A single entry equals ``start``.
        endpoint: whether the last entry is ``stop`` (then exactly so), or the interval
            is half-open and the spacing ``(stop - start) / num``.

    Half precision sequences are computed in single precision and rounded once.
    Errors: TypeError for an unsuitable ``dtype`` or non-numeric arguments, ShapeError
    (a ValueError) for a negative ``num``.
    """
    if not (isinstance(dtype, type) and dr.is_array_v(dtype)):
        raise TypeError(f"drjit.linspace(): {dtype!r} is not a Dr.Jit array type.")
    if not dr.is_float_v(dtype):
        raise TypeError(
            f"drjit.linspace(): unsupported dtype {dtype.__qualname__}, which must be "
            "a floating point type."
        )
    one_axis = dr.depth_v(dtype) == 1 and dr.is_dynamic_v(dtype)
    if not dr.is_tensor_v(dtype) and not one_axis:
        raise TypeError(
            f"drjit.linspace(): unsupported dtype {dtype.__qualname__}, which must be "
            "a dynamically sized 1D array."
        )
    for name, bound in (("start", start), ("stop", stop)):
        if is_array(bound) or not hasattr(bound, "__float__"):
            raise TypeError(
                f"drjit.linspace(): {name!r} must be a number (got {type_name(bound)})."
            )
    first, last = float(start), float(stop)
    count = integer("linspace", "num", num)
    if count < 0:
        raise ShapeError(f"drjit.linspace(): 'num' must not be negative (got {count}).")
    check_entries("linspace", count)
    leaf = dr.array_t(dtype)
    if count == 0:
        return dtype(dr.empty(leaf, 0))
    working = dr.float32_array_t(leaf) if dr.is_half_v(leaf) else leaf
    steps = count - 1 if endpoint else count
    width = (last - first) / steps if steps else 0.0
    lane = dr.arange(dr.uint32_array_t(leaf), count)
    result = dr.fma(working(lane), width, first)
    if endpoint and count > 1:
        # The rounded step does not always lead to the exact end.
        result = dr.select(lane == count - 1, last, result)
    return dtype(leaf(result))


def meshgrid(*args: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Flattened coordinate arrays of the grid spanned by 1D coordinate vectors.

    Args:
        *args: dynamic 1D arrays of one type.
        indexing: ``'xy'`` exchanges the first two axes of the grid, ``'ij'`` does not.

    Returns a tuple with an array per input, each with as many entries as the grid: the
    entries of ``numpy.meshgrid()`` in row-major order. Errors: TypeError for other
    inputs, ShapeError (a ValueError) for another ``indexing``.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(
            f"drjit.meshgrid(): 'indexing' must equal 'ij' or 'xy' (got {indexing!r})."
        )
    for arg in args:
        one_axis = len(arg.shape) == 1 if is_tensor(arg) else is_dynamic_1d(arg)
        if not one_axis or type(arg) is not type(args[0]):
            raise TypeError(
                "drjit.meshgrid(): consistent 1D dynamic arrays expected (got "
                f"{', '.join(type_name(x) for x in args)})."
            )
    if len(args) < 2:
        return tuple(args)
    order = list(range(len(args)))
    if indexing == "xy":
        order[0], order[1] = 1, 0
    count = math.prod(len(arg) for arg in args)
    check_entries("meshgrid", count)
    result: list[Any] = [None] * len(args)
    inner = count
    for rank, k in enumerate(order):
        flat = args[k].array if is_tensor(args[k]) else args[k]
        if count == 0:
            result[k] = type(args[k])(dr.empty(type(flat), 0))
            continue
        inner //= len(flat)
        index = dr.arange(dr.uint32_array_t(type(flat)), count) // inner
        if rank > 0:
            index = index % len(flat)
        result[k] = type(args[k])(dr.gather(type(flat), flat, index))
    return tuple(result)
