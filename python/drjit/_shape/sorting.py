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
    """Sort an array, or a tensor along an axis.

    Equal entries keep their order; -0 equals 0. NaN counts as larger than everything
    else: it comes last, or first if ``descending``.

    Args:
        value (array | tensor): flat array or tensor of numbers or truth values.
        axis (int): the axis, counted from the end if negative.
        descending (bool): the largest entry first.

    Returns:
        array | tensor: a sorted copy.

    Raises:
        TypeError: another type, nested arrays included.
        ValueError: the axis is out of bounds.

    Derivative:
        Each entry gets the gradient of the place where it went.

    Evaluation:
        ``value`` is evaluated, and sorted at once.

    Example:
        >>> dr.sort(Float(3, 1, 2)), dr.sort(Float(3, 1, 2), descending=True)
        ([1, 2, 3], [3, 2, 1])

    See also:
        :func:`drjit.argsort`, :func:`drjit.median`
    """
    result = _along_axis("sort", value, axis, descending, _sort_flat)
    return result if type(result) is type(value) else type(value)(result)


def argsort(value: Any, /, axis: int = -1, descending: bool = False) -> Any:
    """The positions that sort an array, or a tensor along an axis.

    Equal entries keep their order, in both directions. NaN counts as larger than
    everything else.

    Args:
        value (array | tensor): flat array or tensor of numbers or truth values.
        axis (int): the axis, counted from the end if negative.
        descending (bool): the largest entry first.

    Returns:
        integer array | tensor: the position of each entry that :func:`drjit.sort` would
        return, counted along the axis, 32 bits without sign.

    Raises:
        TypeError: another type, nested arrays included.
        ValueError: the axis is out of bounds.

    Evaluation:
        ``value`` is evaluated, and sorted at once.

    Example:
        >>> age, size = UInt(40, 20, 30), Float(1.7, 1.8, 1.6)
        >>> order = dr.argsort(age)
        >>> order, dr.gather(Float, size, order)
        ([1, 2, 0], [1.8, 1.6, 1.7])

    See also:
        :func:`drjit.sort`, :func:`drjit.argmin`
    """
    if is_array(value) and not is_tensor(value) and 0 in dr.shape(value):
        return dr.empty(dr.uint32_array_t(type(value)), 0)
    return _along_axis("argsort", value, axis, descending, _argsort_flat)


def binary_search(start: int, end: int, pred: Callable[[Any], Any]) -> Any:
    """The first position that does not satisfy a predicate, lane by lane.

    Args:
        start (int): first position, a Python integer.
        end (int): the position behind the last one.
        pred (callable): called with a position, a Python integer or an array with an
            integer for each lane; returns a ``bool`` or a mask. It has to be true up to
            some position, and false from there on.

    Returns:
        integer array | int: a position of ``start`` to ``end``: ``start`` where the
        predicate is never true, ``end`` where it always is. An array if it returns
        masks: ``Int``, or ``Int64`` if positions exceed 2**30.

    Raises:
        TypeError: a bound is not a Python integer.

    Evaluation:
        Traced. ``pred`` is called ``(end - start).bit_length()`` times.

    Example:
        >>> edges, x = Float(0, 10, 20, 30), Float(5, 10, 29)
        >>> dr.binary_search(0, 4, lambda i: dr.gather(Float, edges, i) < x)
        [1, 1, 3]

    See also:
        :func:`drjit.sort`, :func:`drjit.gather`
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
