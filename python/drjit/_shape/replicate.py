"""tile() and repeat(): arrays, or each of their entries, several times.

A number of copies is along the trailing dynamic axis of arrays. Tensors, sequences of
numbers and axes follow NumPy.
"""

from __future__ import annotations

import importlib
import math
import operator

import drjit

from .._core import ArrayBase, is_jit_v, is_tensor_v
from .axes import (
    ShapeError,
    axis_index,
    check_entries,
    counter,
    entries_of,
    gather_whole,
    is_array,
    is_dynamic_1d,
    is_nested,
    is_tensor,
    type_name,
    uniform,
)
from .rearrange import _gather_digits, _strides, _take_entries, _with_shape

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit
_core: Any = importlib.import_module("drjit._core")


def _integer(fn: str, value: Any) -> int:
    try:
        # An int may be a size of what is being recorded, which stays one.
        number: int = value if isinstance(value, int) else operator.index(value)
    except TypeError as error:
        raise TypeError(
            f"drjit.{fn}(): 'count' is of type {type_name(value)}, expected an integer "
            "or a sequence of integers"
        ) from error
    if number < 0:
        raise ValueError(f"drjit.{fn}(): 'count' is {number}, expected 0 or more")
    return number


def _is_single(value: Any) -> bool:
    """Is it one number, or no sequence of them?"""
    if (
        type(value) is int
        or isinstance(value, str)
        or not hasattr(value, "__getitem__")
    ):
        return True
    return hasattr(value, "__index__") and not getattr(value, "shape", ())


def _replicated(fn: str, value: Any, count: int) -> Any:
    """A flat or nested array with a number of copies."""
    if count == 1:
        return value
    if is_jit_v(value):
        return (_core._tile if fn == "tile" else _core._repeat)(value, count)
    if not is_dynamic_1d(value):
        return value
    size = len(value)
    check_entries(fn, size * count)
    lane = counter(dr.uint32_array_t(type(value)), size * count)
    if not size:
        return value
    return dr.gather(type(value), value, lane % size if fn == "tile" else lane // count)


def tile(value: Any, count: Any = None, *, reps: Any = None) -> Any:
    """Repeat arrays and tensors as a whole: a b becomes a b a b.

    Arrays are repeated along their lanes, tensors along their last axis or as many of
    the last axes as there are counts.

    Args:
        value (array | tensor | PyTree): what to repeat. What has no dynamic axis is
            returned as it is.
        count (int | sequence of ints): how often, 0 or more; with a sequence, a number
            for each of the last axes of tensors. Flat arrays become tensors if there is
            more than one number.
        reps (int | sequence of ints): NumPy's name of ``count``.

    Returns:
        array | tensor | PyTree: ``value`` with more lanes.

    Raises:
        TypeError: a count is not an integer, or a nested array gets several.
        ValueError: a count is negative.

    Derivative:
        Reverse mode adds the gradients of the copies, in a fixed order.

    Evaluation:
        ``value`` is evaluated. The read is traced.

    Example:
        >>> dr.tile(Float(1, 2), 3)
        [1, 2, 1, 2, 1, 2]
        >>> dr.tile(TensorXf([[1, 2]]), (2, 2))
        [[1, 2, 1, 2],
         [1, 2, 1, 2]]

    See also:
        :func:`drjit.repeat`, :func:`drjit.block_sum`
    """
    count = count if reps is None else reps
    if _is_single(count):
        count = _integer("tile", count)
        if count == 1:
            return value
    if isinstance(value, ArrayBase):
        return _tile_leaf(value, count)
    return _core._tree_map("tile", lambda leaf: _tile_leaf(leaf, count), value)


def repeat(
    value: Any, count: Any = None, axis: int | None = None, *, repeats: Any = None
) -> Any:
    """Repeat each entry of arrays and tensors: a b becomes a a b b.

    Args:
        value (array | tensor | PyTree): what to repeat. What has no dynamic axis is
            returned as it is.
        count (int | sequence of ints | integer array): how often, 0 or more; with a
            sequence or array, a number for each entry along the axis.
        axis (int | None): the axis of a tensor, counted from the end if negative.
            ``None`` flattens it first. Arrays are repeated along their lanes.
        repeats (int | sequence of ints | integer array): NumPy's name of ``count``.

    Returns:
        array | tensor | PyTree: ``value`` with more lanes.

    Raises:
        TypeError: a count is not an integer.
        ValueError: a count is negative, there are more or fewer counts than entries, or
            the axis is out of bounds.

    Derivative:
        Reverse mode adds the gradients of the copies, in a fixed order.

    Evaluation:
        ``value`` is evaluated. The read is traced. Several counts are evaluated and
        waited for, as their sum is the size of the result.

    Example:
        >>> dr.repeat(Float(1, 2), 3)
        [1, 1, 1, 2, 2, 2]
        >>> dr.repeat(Float(1, 2, 3), [2, 0, 1])
        [1, 1, 3]

    See also:
        :func:`drjit.tile`, :func:`drjit.block_sum`
    """
    count = count if repeats is None else repeats
    if _is_single(count):
        count = _integer("repeat", count)
    if isinstance(value, ArrayBase):
        return _repeat_leaf(value, count, axis)
    return _core._tree_map(
        "repeat", lambda leaf: _repeat_leaf(leaf, count, axis), value
    )


def _tile_leaf(value: Any, count: Any) -> Any:
    """Copies of an array side by side, along the last axes, one number for each."""
    if not isinstance(value, ArrayBase):
        return value
    if type(count) is int and not is_tensor_v(value):
        return _replicated("tile", value, count)
    counts = [count] if _is_single(count) else list(count)
    counts = [_integer("tile", number) for number in counts]
    if not is_tensor(value):
        if len(counts) <= 1:
            return _replicated("tile", value, counts[0] if counts else 1)
        if not is_dynamic_1d(value):
            raise TypeError(
                f"drjit.tile(): 'count' has {len(counts)} elements, expected one: "
                f"{type_name(value)} has one dynamic axis"
            )
        value = dr.tensor_t(type(value))(value)
    missing = len(counts) - len(value.shape)
    counts = [1] * -missing + counts
    sizes = [1] * missing + list(value.shape)
    shape = [size * number for size, number in zip(sizes, counts, strict=True)]
    if shape == list(value.shape):
        return value
    check_entries("tile", math.prod(shape))
    digits = []
    for size, number, stride in zip(sizes, counts, _strides(sizes), strict=True):
        digits += [(number, 1, 0), (size, 1, stride)]
    return _gather_digits(value, shape, [digit for digit in digits if digit[0] != 1])


def _positions(value: Any, size: int, repeats: Any) -> Any:
    """The positions 0 ... size - 1, each as often as the sequence says."""
    if is_array(repeats) and dr.is_float_v(repeats):
        raise TypeError(
            f"drjit.repeat(): 'count' is of type {type_name(repeats)}, expected "
            "integers"
        )
    entries = dr.ravel(repeats) if is_array(repeats) else repeats
    wide = dr.int64_array_t(type(value))(entries)
    if len(wide) != size:
        raise ShapeError(
            f"drjit.repeat(): 'count' has {len(wide)} entries, expected {size}: one "
            "for each entry of the axis"
        )
    small = dr.uint32_array_t(type(value))
    if size == 0:
        return small()
    if dr.any(wide < 0):
        raise ValueError(
            "drjit.repeat(): 'count' has negative entries, expected 0 or more"
        )
    ends = dr.cumsum(wide)
    total = int(ends[size - 1])
    check_entries("repeat", total)
    if total == 0:
        return small()
    if not dr.is_jit_v(value):
        return small([k for k in range(size) for _ in range(wide[k])])
    # An entry of the result comes from the first run that ends after it.
    lane = counter(type(wide), total)
    return dr.binary_search(
        0, size, lambda k: gather_whole(type(wide), ends, small(k)) <= lane
    )


def _repeat_leaf(value: Any, repeats: Any, axis: Any) -> Any:
    """Each entry several times: the same number for all, or one for each."""
    if not isinstance(value, ArrayBase):
        return value
    if not is_tensor_v(value):
        if type(repeats) is int and axis is None:
            return _replicated("repeat", value, repeats)
        axis_index("repeat", 0 if axis is None else axis, 1)
        if _is_single(repeats):
            return _replicated("repeat", value, repeats)
        if is_nested(value) and dr.is_jit_v(value):
            parts = [_repeat_leaf(part, repeats, None) for part in uniform(value)]
            return type(value)(parts)
        if not is_dynamic_1d(value):
            return value
        positions = _positions(value, entries_of(value), repeats)
        return gather_whole(type(value), value, positions)
    if axis is None:
        value = _with_shape(value, value.array, (math.prod(value.shape),))
        axis = 0
    shape = list(value.shape)
    axis = axis_index("repeat", axis, len(shape))
    if not _is_single(repeats):
        positions = _positions(value.array, shape[axis], repeats)
        return _take_entries("repeat", value, positions, (entries_of(positions),), axis)
    number = repeats
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    stride = shape[axis] * inner
    shape[axis] *= number
    check_entries("repeat", math.prod(shape))
    if number == 1:
        return value
    digits = [(outer, 1, stride), (shape[axis], number, inner), (inner, 1, 1)]
    return _gather_digits(value, shape, [digit for digit in digits if digit[0] != 1])
