"""Statistical, sorting, searching, set and utility functions.

Positions are int64, the default integer. Sets of entries have a size that depends on
the entries, so that these functions evaluate their argument.
"""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import drjit as dr

from . import _types as t
from ._shape import _axes as _different_axes
from ._shape import _axis, concat, reshape, take

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def _axes(function: str, x: Any, axis: Any) -> Any:
    """The axes of a reduction: a tuple, None for all."""
    t.check(function, x)
    return None if axis is None else _different_axes(function, axis, len(x.shape))


def _count(x: Any, axes: Any) -> int:
    return math.prod(x.shape if axes is None else (x.shape[i] for i in axes))


def _total(dtype: Any) -> Any:
    """The type of a sum: at least as wide as the default integer."""
    if dtype == t.bool or dtype in t.SIGNED:
        return t.int64
    return t.uint64 if dtype in t.UNSIGNED else dtype


def sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False
) -> Any:
    """Sum along axes; of integers in 64 bits."""
    axes = _axes("sum", x, axis)
    x = t.cast(x, _total(x.dtype) if dtype is None else t.check_type("sum", dtype))
    return dr.sum(x, axis=axes, keepdims=keepdims)


def prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False
) -> Any:
    """Product along axes; of integers in 64 bits."""
    axes = _axes("prod", x, axis)
    x = t.cast(x, _total(x.dtype) if dtype is None else t.check_type("prod", dtype))
    return dr.prod(x, axis=axes, keepdims=keepdims)


def _extreme(name: str, f: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    axes = _axes(name, x, axis)
    t.check_kind(name, x, "numeric")
    if _count(x, axes) == 0:
        t.fail(name, f"no entries along the axes of {x.shape}", ValueError)
    result = f(x, axis=axes, keepdims=keepdims)
    if x.dtype not in t.FLOATS:
        return result
    undefined = dr.any(dr.isnan(x), axis=axes, keepdims=keepdims)
    return dr.select(undefined, dr.nan, result)


def max(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Largest entry along axes; NaN if one is."""
    return _extreme("max", dr.max, x, axis, keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Smallest entry along axes; NaN if one is."""
    return _extreme("min", dr.min, x, axis, keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Mean along axes; of no entries it is NaN."""
    axes = _axes("mean", x, axis)
    t.check_kind("mean", x, "real floating")
    n = _count(x, axes)
    return dr.sum(x, axis=axes, keepdims=keepdims) / type(x)(n)


def var(
    x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: Any = False
) -> Any:
    """Variance along axes: squared deviations by the number minus ``correction``."""
    axes = _axes("var", x, axis)
    t.check_kind("var", x, "real floating")
    deviation = x - mean(x, axis=axis, keepdims=True)
    square = dr.sum(deviation * deviation, axis=axes, keepdims=keepdims)
    return square / type(x)(_count(x, axes) - correction)


def std(
    x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: Any = False
) -> Any:
    """Standard deviation along axes: the square root of ``var()``."""
    t.check_kind("std", x, "real floating")
    return dr.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False
) -> Any:
    """Sums of the entries up to each one along an axis, with a 0 before if asked."""
    ndim = len(t.check("cumulative_sum", x).shape)
    if axis is None and ndim != 1:
        t.fail(
            "cumulative_sum", f"the array has {ndim} axes, 'axis' is needed", ValueError
        )
    axis = _axis("cumulative_sum", 0 if axis is None else axis, ndim)
    if dtype is not None:
        t.check_type("cumulative_sum", dtype)
    x = t.cast(x, _total(x.dtype) if dtype is None else dtype)
    result = dr.cumsum(x, axis=axis) if x.size else x
    if not include_initial:
        return result
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return concat([dr.zeros(type(x), shape), result], axis=axis)


def _logical(name: str, f: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    axes = _axes(name, x, axis)
    return f(t.cast(x, t.bool), axis=axes, keepdims=keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Are all entries along axes other than 0?"""
    return _logical("all", dr.all, x, axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Is any entry along axes other than 0?"""
    return _logical("any", dr.any, x, axis, keepdims)


def sort(
    x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True
) -> Any:
    """Sort along an axis; NaN comes last, descending first."""
    axis = _axis("sort", axis, len(t.check("sort", x).shape))
    return dr.sort(x, axis=axis, descending=descending)


def argsort(
    x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True
) -> Any:
    """The positions that sort along an axis; equal entries keep their order."""
    axis = _axis("argsort", axis, len(t.check("argsort", x).shape))
    return t.cast(dr.argsort(x, axis=axis, descending=descending), t.int64)


def _arg(name: str, f: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    t.check_kind(name, x, "numeric")
    ndim = len(x.shape)
    axes = None if axis is None else (_axis(name, axis, ndim),)
    if _count(x, axes) == 0:
        t.fail(name, f"no entries along the axes of {x.shape}", ValueError)
    if axis is None:
        found = f(reshape(x, (x.size,)), axis=0)
        return reshape(t.cast(found, t.int64), (1,) * ndim if keepdims else ())
    axis = _axis(name, axis, ndim)
    if not x.size:
        kept = (1,) if keepdims else ()
        shape = (*x.shape[:axis], *kept, *x.shape[axis + 1 :])
        return dr.zeros(t.tensor_type(t.int64, x), shape)
    return t.cast(f(x, axis=axis, keepdims=keepdims), t.int64)


def argmax(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Position of the first largest entry along an axis, or of all entries."""
    return _arg("argmax", dr.argmax, x, axis, keepdims)


def argmin(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Position of the first smallest entry along an axis, or of all entries."""
    return _arg("argmin", dr.argmin, x, axis, keepdims)


def _positions(mask: Any) -> Any:
    """Where a mask is set, in order of memory: an int64 array with one axis."""
    found = dr.compress(mask.array)
    target = t.tensor_type(t.int64, mask)
    return target(found, (len(found),))


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The positions of the entries other than 0, one array for each axis."""
    if not t.check("nonzero", x).shape:
        t.fail("nonzero", "the array has no axes, expected at least one", ValueError)
    rest, result = _positions(t.cast(x, t.bool)), []
    for n in reversed(x.shape[1:]):
        n = n or 1
        result.append(rest % n)
        rest = rest // n
    return (rest, *reversed(result))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """The positions in a sorted array before (or after) which entries belong."""
    if side not in ("left", "right"):
        t.fail("searchsorted", f"side {side!r}, expected 'left' or 'right'", ValueError)
    if len(t.check("searchsorted", x1).shape) != 1:
        t.fail("searchsorted", f"the array has {x1.ndim} axes, expected 1", ValueError)
    x1 = x1 if sorter is None else take(x1, sorter)
    a, b = t.together("searchsorted", x1, x2)
    target = t.tensor_type(t.int64, b)
    if not a.size or not b.size:
        return dr.zeros(target, b.shape)
    table, value = a.array, b.array

    def before(index: Any) -> Any:
        """Is the entry before the value? NaN is after all else, as sort() has it."""
        entry = dr.gather(type(value), table, index)
        if a.dtype not in t.FLOATS:
            return entry < value if side == "left" else entry <= value
        if side == "left":
            return (entry < value) | (dr.isnan(value) & ~dr.isnan(entry))
        return (entry <= value) | dr.isnan(value)

    found = dr.binary_search(0, a.size, before)
    return target(dr.replace_type_t(type(value), t.int64)(found), b.shape)


def _groups(function: str, x: Any) -> tuple[Any, Any, Any]:
    """Sorted entries, the order that sorts them, the positions where values start."""
    flat = reshape(t.check(function, x), (x.size,))
    order = argsort(flat)
    values = take(flat, order)
    if values.size == 0:
        return values, order, order
    first = concat([type(flat != flat)([True]), values[1:] != values[:-1]])
    return values, order, _positions(first)


def _counts(starts: Any, size: int) -> Any:
    if not starts.size:
        return starts
    return concat([starts[1:], type(starts)([size])]) - starts


def _inverse(x: Any, order: Any, starts: Any) -> Any:
    if not x.size:
        return reshape(order, x.shape)
    rank = searchsorted(starts, dr.arange(type(order), x.size), side="right") - 1
    result = dr.zeros(type(order.array), x.size)
    dr.scatter(result, rank.array, dr.uint32_array_t(type(order.array))(order.array))
    return type(order)(result, x.shape)


def unique_values(x: Any, /) -> Any:
    """The different entries, sorted. Each NaN is different from the others."""
    values, _, starts = _groups("unique_values", x)
    return take(values, starts)


def unique_counts(x: Any, /) -> Any:
    """The different entries, sorted, and how often each is there."""
    values, _, starts = _groups("unique_counts", x)
    return UniqueCounts(take(values, starts), _counts(starts, x.size))


def unique_inverse(x: Any, /) -> Any:
    """The different entries, sorted, and which of them each entry is."""
    values, order, starts = _groups("unique_inverse", x)
    return UniqueInverse(take(values, starts), _inverse(x, order, starts))


def unique_all(x: Any, /) -> Any:
    """The different entries, where each is first, which each entry is, how often."""
    values, order, starts = _groups("unique_all", x)
    return UniqueAll(
        take(values, starts),
        take(order, starts),
        _inverse(x, order, starts),
        _counts(starts, x.size),
    )
