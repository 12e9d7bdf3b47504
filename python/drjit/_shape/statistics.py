"""Reductions composed of other reductions: moments, counts, positions of extrema.

Axes follow ``dr.reduce()``: ``...`` means all axes of a tensor and the outermost one of
everything else, ``None`` all of them. The trailing dynamic axis of an array is never
removed. Half precision inputs are averaged in single precision and rounded once, so
that long inputs do not overflow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import drjit

from .axes import (
    ShapeError,
    axis_index,
    axis_tuple,
    check_entries,
    counter,
    entries_of,
    is_array,
    is_dynamic_1d,
    is_matrix_shaped,
    is_nested,
    is_tensor,
    type_name,
    uniform,
)
from .rearrange import take, transpose

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def _operand(fn: str, value: Any) -> Any:
    """``value``, with iterables other than arrays turned into lists.

    Errors: TypeError for text and mappings, whose elements are not numbers.
    """
    if is_array(value) or isinstance(value, (list, tuple, bool, int, float)):
        return value
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        if hasattr(value, "__float__"):
            return value
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(value)}, expected an "
            "array, a sequence or a number"
        )
    return list(value)


def _even(value: Any, axis: Any) -> Any:
    """Repeat components of one entry where the lanes of an array are reduced."""
    return value if axis is Ellipsis or axis == 0 else uniform(value)


def _rank(value: Any) -> int:
    """Number of axes of an array or a (nested, regular) sequence."""
    if is_tensor(value):
        return len(value.shape)
    if is_array(value):
        depth: int = dr.depth_v(value)
        return depth
    if isinstance(value, (list, tuple)):
        return 1 + max((_rank(entry) for entry in value), default=0)
    return 0


def _axes(fn: str, value: Any, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` stands for, as a sorted tuple of unsigned numbers."""
    rank = _rank(value)
    if axis is None or (axis is Ellipsis and (is_tensor(value) or rank == 0)):
        return tuple(range(rank))
    if axis is Ellipsis:
        return (0,)
    return tuple(sorted(axis_tuple(fn, axis, rank)))


def _count(value: Any, axes: tuple[int, ...]) -> int:
    """Number of entries that contribute to an entry of a reduction along ``axes``."""
    if is_array(value):
        shape = dr.shape(value)
        return math.prod(shape[k] for k in axes)
    if not isinstance(value, (list, tuple)) or not axes:
        return 1
    inner = tuple(k - 1 for k in axes if k > 0)
    if 0 not in axes:
        return _count(value[0], inner) if value else 0
    if not inner:
        return len(value)
    return sum(_count(entry, inner) for entry in value)


def _is_half(value: Any) -> bool:
    return is_array(value) and bool(dr.is_half_v(value))


def _single(value: Any) -> Any:
    """A half precision array in single precision."""
    return dr.float32_array_t(type(value))(value)


def _half(value: Any) -> Any:
    """Undo :py:func:`_single`; results of scalar arrays are Python numbers."""
    return dr.float16_array_t(type(value))(value) if is_array(value) else value


def _divide(total: Any, count: int) -> Any:
    """``total / count``, where dividing by nothing gives infinity, or NaN for 0."""
    if is_array(total) and 0 in dr.shape(total):
        return total
    if count != 0:
        return total / count
    if not is_array(total):
        return math.inf if total > 0 else math.nan
    return dr.select(total > 0, type(total)(math.inf), type(total)(math.nan))


# -------------------------------------------------------------------------- moments


def _frozen_mean(value: Any, axis: Any, mode: str | None, keepdims: bool) -> Any:
    """The mean of all entries in a function that is recorded: kernels read their number
    from memory, so that the recording is for any. None: no such array.
    """
    if not dr.flag(dr.JitFlag.FreezingScope) or dr.is_half_v(value):
        return None
    flat = value.array if is_tensor(value) else value
    if axis not in (None, ...) or not dr.is_jit_v(flat) or dr.depth_v(flat) != 1:
        return None
    if (keepdims and flat is value) or dr.width(flat) == 0:
        return None
    entries = type(flat)(dr.opaque_width(flat))
    return dr.sum(value, axis, mode, keepdims) * dr.rcp(entries)  # as with a number


def _mean(fn: str, value: Any, axis: Any, mode: str | None, keepdims: bool) -> Any:
    count = _count(value, _axes(fn, value, axis))
    total = dr.sum(value, axis=axis, mode=mode, keepdims=keepdims)
    if is_array(total) and not dr.is_float_v(total):
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(value)}, expected floating "
            "point entries"
        )
    return _divide(total, max(count, 1))


def mean(
    value: Any, axis: Any = ..., mode: str | None = None, keepdims: bool = False
) -> Any:
    """Mean of the entries along axes.

    Args:
        value (float array | tensor | sequence | number): the entries. Half precision is
            averaged in single precision, and rounded once.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose; see
            :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        array | tensor | number: the means; 0 for no entries.

    Raises:
        TypeError: an array of integers or masks, or no array, sequence or number.
        ValueError: an axis is out of bounds.

    Derivative:
        1 / n for each of n entries.

    Evaluation:
        Like :func:`drjit.sum`.

    Example:
        >>> dr.mean(Float(1, 2, 6)), dr.mean(TensorXf([[1, 2], [3, 4]]), axis=0)
        ([3], [2, 3])

    See also:
        :func:`drjit.median`, :func:`drjit.var`, :func:`drjit.sum`
    """
    floats = is_array(value) and dr.is_float_v(value)
    frozen = _frozen_mean(value, axis, mode, keepdims) if floats else None
    if frozen is not None:
        return frozen
    if axis is Ellipsis and floats:
        # The fast path: all entries of a tensor, or the first axis of anything else.
        flat = value.array if dr.is_tensor_v(value) else value
        entries = entries_of(flat) if dr.depth_v(flat) == 1 else len(flat)
        if entries and not dr.is_half_v(value):
            return dr.sum(value, axis, mode, keepdims) / entries
    value = _even(_operand("mean", value), axis)
    if _is_half(value):
        return _half(_mean("mean", _single(value), axis, mode, keepdims))
    return _mean("mean", value, axis, mode, keepdims)


def _squared_deviation(
    value: Any, center: Any, axes: tuple[int, ...], mode: str | None
) -> Any:
    """Sum of the squared differences to the mean along ``axes``."""
    nested = is_nested(value) or isinstance(value, (list, tuple))
    if not nested:
        delta = value - center
        if not axes or not is_array(value):
            return delta * delta
        return dr.sum(delta * delta, axis=axes, mode=mode)
    inner = tuple(k - 1 for k in axes if k > 0)
    if 0 in axes:
        total: Any = 0
        for entry in value:
            total = total + _squared_deviation(entry, center, inner, mode)
        return total
    parts = [
        _squared_deviation(entry, center[k], inner, mode)
        for k, entry in enumerate(value)
    ]
    return type(center)(parts)


def _var(value: Any, axis: Any, mode: str | None, keepdims: bool, ddof: int) -> Any:
    axes = _axes("var", value, axis)
    if is_array(value) and not dr.is_jit_v(value) and dr.is_integral_v(value):
        value = dr.float64_array_t(type(value))(value)
    count = max(_count(value, axes) - ddof, 0)
    if is_tensor(value):
        delta = value
        if 0 not in value.shape:
            delta = value - _mean("var", value, axis, mode, True)
        total = dr.sum(delta * delta, axis=axis, mode=mode, keepdims=keepdims)
    else:
        center = _mean("var", value, axis, mode, keepdims)
        if is_array(value) and not is_nested(value) and 0 in dr.shape(value):
            total = center
        else:
            total = _squared_deviation(value, center, axes, mode)
    return _divide(total, count)


def var(
    value: Any,
    axis: Any = ...,
    mode: str | None = None,
    keepdims: bool = False,
    ddof: int = 0,
) -> Any:
    """Variance of the entries along axes.

    It is computed in two passes: the mean is subtracted before squares are added up, so
    that a mean that is large against the variance does no harm.

    Args:
        value (float array | tensor | sequence | number): the entries. Half precision is
            computed in single precision, and rounded once.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose; see
            :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.
        ddof (int): the sum of squares of n entries is divided by ``n - ddof``: 0 gives
            the variance of a population, 1 the estimate from a sample.

    Returns:
        array | tensor | number: the variances. Where ``n - ddof`` is not positive, NaN
        if all entries are equal, else infinity.

    Raises:
        TypeError: an array of integers or masks, or no array, sequence or number.
        ValueError: an axis is out of bounds.

    Derivative:
        ``2 * (x - mean) / (n - ddof)`` for each entry.

    Evaluation:
        Along lanes, writes ``value`` to memory, for the second pass.

    Example:
        >>> x = Float(1, 2, 3, 6)
        >>> dr.var(x), dr.var(x, ddof=1)
        ([3.5], [4.66667])

    See also:
        :func:`drjit.std`, :func:`drjit.mean`
    """
    value = _even(_operand("var", value), axis)
    if _is_half(value):
        return _half(_var(_single(value), axis, mode, keepdims, ddof))
    return _var(value, axis, mode, keepdims, ddof)


def std(
    value: Any,
    axis: Any = ...,
    mode: str | None = None,
    keepdims: bool = False,
    ddof: int = 0,
) -> Any:
    """Standard deviation of the entries along axes: the square root of the variance.

    Args:
        value (float array | tensor | sequence | number): the entries.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose; see
            :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.
        ddof (int): the sum of squares of n entries is divided by ``n - ddof``; see
            :func:`drjit.var`.

    Returns:
        array | tensor | number: the standard deviations.

    Raises:
        TypeError: an array of integers or masks, or no array, sequence or number.
        ValueError: an axis is out of bounds.

    Derivative:
        ``(x - mean) / ((n - ddof) * std)`` for each entry; NaN where all are equal.

    Evaluation:
        Along lanes, writes ``value`` to memory, for the second pass.

    Example:
        >>> dr.std(Float(1, 3, 5, 7))
        [2.23607]

    See also:
        :func:`drjit.var`, :func:`drjit.mean`
    """
    value = _even(_operand("std", value), axis)
    if _is_half(value):
        return _half(dr.sqrt(_var(_single(value), axis, mode, keepdims, ddof)))
    return dr.sqrt(_var(value, axis, mode, keepdims, ddof))


def _as_count(value: Any) -> Any:
    """Masks as unsigned integers, recursively in sequences."""
    if isinstance(value, bool):
        return int(value)
    if is_array(value) and dr.is_mask_v(value):
        if is_matrix_shaped(value):
            return [_as_count(row) for row in value]
        dtype = dr.uint32_array_t(type(value))
        if 0 in dr.shape(value):
            return dr.zeros(dtype, dr.shape(value))
        return dr.select(value, dtype(1), dtype(0))
    if isinstance(value, (list, tuple)):
        return [_as_count(entry) for entry in value]
    raise TypeError(
        f"drjit.count(): the input is of type {type_name(value)}, expected a mask"
    )


def count(value: Any, axis: Any = ..., keepdims: bool = False) -> Any:
    """How many entries of a mask are true along axes.

    Args:
        value (mask | tensor | sequence | bool): truth values.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        integer array | tensor | int: the numbers, 32 bits without sign.

    Raises:
        TypeError: the input does not hold truth values.
        ValueError: an axis is out of bounds.

    Derivative:
        None: integers have no derivatives.

    Evaluation:
        Like :func:`drjit.sum`.

    Example:
        >>> dr.count(Float(1, -2, 3) > 0), dr.count([True, False, True])
        ([2], 2)

    See also:
        :func:`drjit.compress`, :func:`drjit.any`
    """
    if is_array(value) or isinstance(value, Iterable):
        value = _even(_operand("count", value), axis)
    return dr.sum(_as_count(value), axis=axis, keepdims=keepdims)


# -------------------------------------------------------------------------- extrema


def _arg_extremum(fn: str, value: Any, axis: Any, keepdims: bool) -> Any:
    if not is_array(value) or not (dr.is_arithmetic_v(value) or dr.is_mask_v(value)):
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(value)}, expected a "
            "numeric array or tensor"
        )
    if not is_tensor(value) and not is_dynamic_1d(value):
        return _arg_nested(fn, value, axis, keepdims)
    shape = tuple(value.shape)
    flat = value.array if is_tensor(value) else value
    if entries_of(flat) == 0:
        raise ShapeError(
            f"drjit.{fn}(): the input is empty, expected at least one entry"
        )
    check_entries(fn, entries_of(flat))
    if axis is None:
        result = _arg_flat(fn, flat, entries_of(flat), 1)
        if keepdims and is_tensor(value):
            tensor = dr.uint32_array_t(type(value))
            return tensor(result, (1,) * len(shape))
        return result
    axis = axis_index(fn, axis, len(shape))
    inner = math.prod(shape[axis + 1 :])
    result = _arg_flat(fn, flat, shape[axis], inner)
    if not is_tensor(value):
        return result
    kept = (1,) if keepdims else ()
    tensor = dr.uint32_array_t(type(value))
    return tensor(result, (*shape[:axis], *kept, *shape[axis + 1 :]))


def _ordered(flat: Any) -> Any:
    """UInt32 or UInt64 keys in the order of the entries; NaN is the largest number."""
    if dr.is_mask_v(flat):
        return dr.uint32_array_t(type(flat))(flat)
    narrow = dr.itemsize_v(flat) <= 4
    key_t = (dr.uint32_array_t if narrow else dr.uint64_array_t)(type(flat))
    top = 2**31 if narrow else 2**63
    if not dr.is_float_v(flat):
        if not dr.is_signed_v(flat):
            return key_t(flat)
        wide_t = (dr.int32_array_t if narrow else dr.int64_array_t)(type(flat))
        return key_t(wide_t(flat)) ^ key_t(top)
    if dr.is_half_v(flat):
        flat = dr.float32_array_t(type(flat))(flat)
    bits = dr.reinterpret_array(key_t, flat)
    size = bits & key_t(top - 1)
    # Negative numbers count down from that of zero.
    key = dr.select(bits == size, key_t(top) + size, key_t(top) - size)
    return dr.select(dr.isnan(flat), key_t(2 * top - 1), key)


def _arg_flat(fn: str, flat: Any, size: int, inner: int) -> Any:
    """Reduce the middle axis of the shape (outer, size, inner)."""
    index_t = dr.uint32_array_t(type(flat))
    shape = (entries_of(flat) // (size * inner), size, inner)

    def smallest(entries: Any) -> Any:
        tensor = dr.tensor_t(type(entries))(entries, shape)
        return dr.min(tensor, axis=1, keepdims=True)

    position = counter(index_t, entries_of(flat)) // inner % size
    key = _ordered(flat)
    if fn == "argmax":
        key = ~key
    if dr.itemsize_v(key) == 4:
        # One reduction finds both, the position in the lower bits decides ties.
        wide_t = dr.uint64_array_t(type(key))
        found = smallest((wide_t(key) << 32) | wide_t(position)).array
        return index_t(found & wide_t(2**32 - 1))
    hits = dr.tensor_t(type(key))(key, shape) == smallest(key)
    return smallest(dr.select(hits.array, position, size)).array


def _arg_nested(fn: str, value: Any, axis: Any, keepdims: bool) -> Any:
    if axis is None:
        return _arg_extremum(fn, dr.ravel(value), None, keepdims)
    rank = dr.depth_v(value)
    axis = axis_index(fn, axis, rank)
    index_t = dr.uint32_array_t(dr.array_t(type(value)))
    if axis > 0:
        parts = [_arg_extremum(fn, part, axis - 1, keepdims) for part in value]
        if all(is_array(part) and len(part) == 1 for part in parts) and axis == 1:
            return index_t(parts)
        raise TypeError(
            f"drjit.{fn}(): axis {axis} of {type_name(value)} cannot be reduced"
        )
    if len(value) == 0:
        raise ShapeError(
            f"drjit.{fn}(): the input is empty, expected at least one entry"
        )
    if keepdims:
        raise TypeError(
            f"drjit.{fn}(): 'keepdims=True' is possible for tensors, and where nothing "
            "but a trailing dynamic axis is reduced"
        )
    entry_t = dr.value_t(index_t)
    best, where = value[0], entry_t(0)
    for k in range(1, len(value)):
        entry = value[k]
        if fn == "argmin":
            better = (entry < best) | (dr.isnan(best) & (dr.isnan(entry) ^ True))
        else:
            better = (entry > best) | (dr.isnan(entry) & (dr.isnan(best) ^ True))
        best = dr.select(better, entry, best)
        where = dr.select(better, entry_t(k), where)
    return where


def argmin(value: Any, /, axis: int | None = None, keepdims: bool = False) -> Any:
    """Position of the smallest entry along an axis.

    Args:
        value (array | tensor): numbers or truth values. NaN counts as larger than
            everything else.
        axis (int | None): the axis, counted from the end if negative. ``None`` searches
            all entries, as :func:`drjit.ravel` orders them.
        keepdims (bool): the axis of a tensor stays with size 1.

    Returns:
        integer array | tensor: the positions, 32 bits without sign; of several smallest
        entries, the first.

    Raises:
        TypeError: ``value`` is not an array or tensor, or ``keepdims`` where components
            are searched.
        ValueError: there are no entries, or the axis is out of bounds.

    Derivative:
        None: integers have no derivatives.

    Evaluation:
        Like :func:`drjit.min`. Entries of 64 bits are written to memory first.

    Example:
        >>> x = Float(3, 1, 4, 1, 5)
        >>> dr.argmin(x), dr.argmin(TensorXf([[3, 1], [2, 4]]), axis=1)
        ([1], [1, 0])

    See also:
        :func:`drjit.argmax`, :func:`drjit.min`, :func:`drjit.argsort`
    """
    return _arg_extremum("argmin", value, axis, keepdims)


def argmax(value: Any, /, axis: int | None = None, keepdims: bool = False) -> Any:
    """Position of the largest entry along an axis.

    Args:
        value (array | tensor): numbers or truth values. NaN counts as larger than
            everything else.
        axis (int | None): the axis, counted from the end if negative. ``None`` searches
            all entries, as :func:`drjit.ravel` orders them.
        keepdims (bool): the axis of a tensor stays with size 1.

    Returns:
        integer array | tensor: the positions, 32 bits without sign; of several largest
        entries, the first.

    Raises:
        TypeError: ``value`` is not an array or tensor, or ``keepdims`` where components
            are searched.
        ValueError: there are no entries, or the axis is out of bounds.

    Derivative:
        None: integers have no derivatives.

    Evaluation:
        Like :func:`drjit.max`. Entries of 64 bits are written to memory first.

    Example:
        >>> dr.argmax(Float(3, 1, 4, 1, 5))
        [4]
        >>> dr.argmax(Array3f([1, 5], [4, 3], [2, 2]), axis=0)  # x, y or z
        [1, 0]

    See also:
        :func:`drjit.argmin`, :func:`drjit.max`
    """
    return _arg_extremum("argmax", value, axis, keepdims)


# --------------------------------------------------------------- names of reductions


def prefix_sum(
    value: Any, axis: int | tuple[int, ...] = 0, reverse: bool = False
) -> Any:
    """Sums of the entries before each entry along an axis.

    That is :func:`drjit.prefix_reduce` with ``ReduceOp.Add``. The prefix sum of the
    lengths of pieces is where each piece starts.

    Args:
        value (array | tensor | sequence): numbers.
        axis (int | tuple[int, ...]): the axis, counted from the end if negative; of
            several, one after the other.
        reverse (bool): add the entries behind each instead.

    Returns:
        array | tensor | list: as many entries as ``value``, of the same type. The first
        is 0; with ``reverse``, the last.

    Raises:
        ValueError: an axis is out of bounds.
        TypeError: ``value`` has no axis, or ``axis`` is not an integer.

    Derivative:
        Reverse mode is the prefix sum from the other end.

    Evaluation:
        Like :func:`drjit.prefix_reduce`.

    Example:
        >>> lengths = UInt(3, 1, 2)
        >>> dr.prefix_sum(lengths)
        [0, 3, 4]

    See also:
        :func:`drjit.cumsum`, :func:`drjit.block_prefix_sum`
    """
    return dr.prefix_reduce(
        dr.ReduceOp.Add, value, axis=axis, exclusive=True, reverse=reverse
    )


def cumsum(value: Any, axis: int | tuple[int, ...] = 0, reverse: bool = False) -> Any:
    """Sums of the entries up to each entry along an axis, itself included.

    That is :func:`drjit.prefix_reduce` with ``ReduceOp.Add`` and ``exclusive=False``.

    Args:
        value (array | tensor | sequence): numbers.
        axis (int | tuple[int, ...]): the axis, counted from the end if negative; of
            several, one after the other.
        reverse (bool): add each entry and those behind it instead.

    Returns:
        array | tensor | list: as many entries as ``value``, of the same type.

    Raises:
        ValueError: an axis is out of bounds.
        TypeError: ``value`` has no axis, or ``axis`` is not an integer.

    Derivative:
        Reverse mode is the cumulative sum from the other end.

    Evaluation:
        Like :func:`drjit.prefix_reduce`.

    Example:
        >>> x = Float(1, 2, 3, 4)
        >>> dr.cumsum(x), dr.cumsum(x, reverse=True)
        ([1, 3, 6, 10], [10, 9, 7, 4])

    See also:
        :func:`drjit.prefix_sum`, :func:`drjit.prefix_reduce`
    """
    return dr.prefix_reduce(
        dr.ReduceOp.Add, value, axis=axis, exclusive=False, reverse=reverse
    )


def block_prefix_sum(
    value: Any, block_size: int, exclusive: bool = True, reverse: bool = False
) -> Any:
    """Prefix sums that start anew with each block of lanes.

    That is :func:`drjit.block_prefix_reduce` with ``ReduceOp.Add``.

    Args:
        value (array | PyTree): arrays of numbers. Anything else in it is returned as it
            is.
        block_size (int): lanes of a block, 1 or more. The last block may be shorter.
        exclusive (bool): leave the entry itself out.
        reverse (bool): add the entries behind each instead, from the end of its block.

    Returns:
        array | PyTree: arrays of the same types and sizes.

    Raises:
        RuntimeError: there is a tensor, or ``block_size`` is 0.
        ValueError: ``block_size`` is negative.

    Derivative:
        Reverse mode is the sum from the other end of the block.

    Evaluation:
        Like :func:`drjit.block_prefix_reduce`.

    Example:
        >>> dr.block_prefix_sum(Float(1, 2, 3, 4, 5, 6), 3, exclusive=False)
        [1, 3, 6, 4, 9, 15]

    See also:
        :func:`drjit.block_sum`, :func:`drjit.prefix_sum`
    """
    return dr.block_prefix_reduce(
        dr.ReduceOp.Add, value, block_size, exclusive=exclusive, reverse=reverse
    )


def _middle(value: Any, axis: int) -> Any:
    """The entry in the middle along one axis, which goes."""
    size = value.shape[axis]
    if size == 0:
        raise ShapeError("drjit.median(): the input is empty, expected entries")
    return take(dr.sort(value, axis), (size - 1) // 2, axis)


def _median_nested(value: Any, axes: tuple[int, ...]) -> Any:
    if 0 not in axes:
        inner = tuple(k - 1 for k in axes)
        return type(value)([_median(part, inner) for part in value])
    tensor = dr.tensor_t(type(value))(uniform(value))
    result = _median(tensor, axes)
    if len(axes) == len(tensor.shape):
        return result.array
    part = dr.value_t(type(value))
    return part(result.array) if len(result.shape) == 1 else part(result)


def _median(value: Any, axes: tuple[int, ...]) -> Any:
    if not axes or not is_array(value):
        return value
    if is_nested(value):
        return _median_nested(value, axes)
    if not is_tensor(value):
        return type(value)(_median(dr.tensor_t(type(value))(value), axes).array)
    rest = [k for k in range(len(value.shape)) if k not in axes]
    if len(axes) > 1:  # one axis of all of them, after the others
        value = transpose(value, (*rest, *axes))
        lead = tuple(value.shape[: len(rest)])
        count = math.prod(value.shape[len(rest) :])
        value = type(value)(value.array, (*lead, count))
        axes = (len(rest),)
    return _middle(value, axes[0])


def median(
    value: Any, axis: Any = ..., mode: str | None = None, keepdims: bool = False
) -> Any:
    """Entry in the middle along axes; of an even number, the lower one of the two.

    Args:
        value (array | tensor | sequence | number): the entries. NaN counts as larger
            than everything else.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): has no effect; other reductions have it.
        keepdims (bool): reduced axes of a tensor stay with size 1.

    Returns:
        array | tensor | number: the medians.

    Raises:
        TypeError: no array, sequence or number.
        ValueError: there are no entries, or an axis is out of bounds.

    Derivative:
        1 for the entry that is the median.

    Evaluation:
        Sorts, for which ``value`` is evaluated.

    Example:
        >>> dr.median(Float(9, 1, 2)), dr.median(Float(1, 2, 3, 4))
        ([2], [2])

    See also:
        :func:`drjit.mean`, :func:`drjit.sort`
    """
    value = _operand("median", value)
    axes = _axes("median", value, axis)
    if isinstance(value, (list, tuple)):
        if not value:
            raise ShapeError("drjit.median(): the input is empty, expected entries")
        return sorted(value)[(len(value) - 1) // 2]
    result = _median(value, axes)
    if not keepdims or not is_tensor(value):
        return result
    shape = [1 if k in axes else size for k, size in enumerate(value.shape)]
    return type(value)(result.array, tuple(shape))
