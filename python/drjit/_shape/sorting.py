"""Sorting along an axis, and binary search with a predicate.

JIT arrays are sorted by the core in consecutive blocks; an axis that is not the last
one changes places with those after it first, and again afterwards. Arrays of
``drjit.scalar`` are sorted by Python. In both cases NaN counts as larger than
everything else, -0 equals +0, and equal entries keep their order whether the direction
is ascending or descending.
"""

from __future__ import annotations

import math

import drjit

from .axes import (
    axis_index,
    check_entries,
    entries_of,
    integer,
    is_array,
    is_dynamic_1d,
    is_tensor,
    type_name,
)
from .rearrange import moveaxis

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

dr: Any = drjit


def _order_of(entries: list[Any], block: int, descending: bool) -> list[int]:
    """Positions of the sorted entries of each block of a list of Python numbers."""

    def key(k: int) -> tuple[bool, Any]:
        entry = entries[k]
        is_nan = entry != entry
        return is_nan, 0 if is_nan else entry

    result: list[int] = []
    for start in range(0, len(entries), block):
        positions = range(start, start + block)
        # With 'reverse', sorted() still keeps the order of equal entries.
        result.extend(sorted(positions, key=key, reverse=descending))
    return result


def _sort_flat(flat: Any, block: int, descending: bool) -> Any:
    """Sort consecutive blocks of a 1D array; 0: all of it."""
    if dr.is_jit_v(flat):
        return dr.detail._sort(flat, block, descending)
    entries = list(flat)
    order = _order_of(entries, block or len(entries), descending)
    return type(flat)([entries[k] for k in order])


def _argsort_flat(flat: Any, block: int, descending: bool) -> Any:
    """UInt32 positions, counted within their block, that sort a 1D array."""
    index_t = dr.uint32_array_t(type(flat))
    if dr.is_jit_v(flat):
        order = dr.detail._argsort(flat, block, descending)
    else:
        order = index_t(_order_of(list(flat), block or len(flat), descending))
    return order % block if block else order


def _transposed(flat: Any, rows: int, columns: int) -> Any:
    """The entries of an array of the shape ``(any, rows, columns)``, by columns."""
    if rows == 1 or columns == 1:
        return flat
    if dr.is_jit_v(flat):
        return dr.detail._transpose(flat, rows, columns, 1)
    shape = (entries_of(flat) // (rows * columns), rows, columns)
    return moveaxis(dr.tensor_t(type(flat))(flat, shape), 1, 2).array


def _along_axis(
    fn: str, value: Any, axis: Any, descending: bool, sort_flat: Callable[..., Any]
) -> Any:
    """Apply ``sort_flat`` to the blocks that run along an axis of an array."""
    if not (is_tensor(value) or is_dynamic_1d(value)) or not (
        dr.is_arithmetic_v(value) or dr.is_mask_v(value)
    ):
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(value)}, expected a 1D "
            "array or a tensor"
        )
    if not is_tensor(value):
        axis_index(fn, axis, 1)
        count = entries_of(value)
        check_entries(fn, count)
        return sort_flat(value, 0, descending) if count else value
    shape = value.shape
    axis = axis_index(fn, axis, len(shape))
    check_entries(fn, entries_of(value.array))
    size, inner = shape[axis], math.prod(shape[axis + 1 :])
    flat = value.array
    if entries_of(flat):
        block = 0 if entries_of(flat) == size else size
        flat = _transposed(flat, size, inner)
        flat = sort_flat(flat, block, descending)
        flat = _transposed(flat, inner, size)
    elif sort_flat is _argsort_flat:
        flat = dr.empty(dr.uint32_array_t(type(flat)), 0)
    return dr.tensor_t(type(flat))(flat, tuple(shape))


def sort(value: Any, /, axis: int = -1, descending: bool = False) -> Any:
    """Sorted copy of a 1D array, or of a tensor along an axis.

    Args:
        value: array or tensor of numbers or masks. NaN counts as larger than everything
            else.
        axis: the axis, counted from the end if negative.
        descending: sort downwards.

    Equal entries keep their order. Errors: TypeError for other inputs, ValueError for
    an axis out of bounds (such as any axis of a tensor without axes).
    """
    result = _along_axis("sort", value, axis, descending, _sort_flat)
    return result if type(result) is type(value) else type(value)(result)


def argsort(value: Any, /, axis: int = -1, descending: bool = False) -> Any:
    """Positions of the entries that :py:func:`sort` returns, along the same axis.

    Returns a 32-bit unsigned array or tensor of the shape of ``value``.
    """
    if is_array(value) and not is_tensor(value) and 0 in dr.shape(value):
        return dr.empty(dr.uint32_array_t(type(value)), 0)
    return _along_axis("argsort", value, axis, descending, _argsort_flat)


def binary_search(start: int, end: int, pred: Callable[[Any], Any]) -> Any:
    """First position of ``[start, end]`` that does not satisfy a predicate.

    Args:
        start, end: Python integers that bound the range.
        pred: called with a position (a Python integer, or an array of them with an
            entry per lane); gives a boolean or a mask. It must be monotonic, that is,
            true up to some position and false from there on.

    The predicate is evaluated ``floor(log2(end - start) + 1)`` times. Returns ``start``
    where it is always false and ``end`` where it is always true: a Python integer if
    the predicate gives booleans, else an Int32 array (Int64 if the bounds need it).
    Errors: TypeError for bounds that are not integers.
    """
    for name, bound in (("start", start), ("end", end)):
        if is_array(bound):
            raise TypeError(
                f"drjit.binary_search(): {name!r} is of type {type_name(bound)}, "
                "expected a Python integer"
            )
    first = integer("binary_search", "start", start)
    last = integer("binary_search", "end", end)
    steps = (last - first).bit_length() if first < last else 0
    wide = first < -(2**30) or last >= 2**30
    low: Any = first
    high: Any = last
    for _ in range(steps):
        middle = low + ((high - low) >> 1)
        found = pred(middle)
        if is_array(found):
            if not is_array(low):
                dtype = type(found)
                to_int = dr.int64_array_t if wide else dr.int32_array_t
                low, high = to_int(dtype)(low), to_int(dtype)(high)
                middle = to_int(dtype)(middle)
            low = dr.select(found, dr.minimum(middle + 1, high), low)
            high = dr.select(found, high, middle)
        elif found and not is_array(low):
            low = min(middle + 1, high)
        elif found:
            low = dr.minimum(middle + 1, high)
        else:
            high = middle
    return low
