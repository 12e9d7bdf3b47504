"""Functions that rearrange the entries of arrays and tensors.

Everything is composed of public operations. Permutations, repetitions and reversals are
a single gather whose index is computed from the position in the output, so that they
fuse with the program around them; transposes of large matrices scatter into fresh
storage.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence

import drjit

from .axes import (
    AxisError,
    ShapeError,
    axis_index,
    axis_tuple,
    check_entries,
    counter,
    deprecated,
    entries_of,
    gather_whole,
    integer,
    is_array,
    is_dynamic_1d,
    is_tensor,
    put_part,
    require_tensor,
    run_whole,
    type_name,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit
_core: Any = importlib.import_module("drjit._core")


def _positions(array: Any, count: int) -> Any:
    """The sequence 0, 1, ..., count - 1 in the UInt32 array type next to ``array``."""
    return counter(dr.uint32_array_t(type(array)), count)


def _with_shape(tensor: Any, array: Any, shape: Sequence[int]) -> Any:
    """Tensor of the type of ``tensor`` made of ``array`` in row-major order."""
    return type(tensor)(array, tuple(shape))


def _none_of(source: Any) -> Any:
    """A flat array without entries, tracked if that is."""
    return dr.gather(type(source), source, dr.zeros(dr.uint32_array_t(type(source)), 0))


def _gather_digits(
    tensor: Any, shape: Sequence[int], digits: Sequence[tuple[int, int, int]]
) -> Any:
    """Build a tensor of the given shape by gathering from ``tensor``.

    The position in the output is split into digits, outermost first, each given as
    (size, divisor, stride): it contributes ``digit // divisor * stride`` to the
    position in the input.
    """
    source = tensor.array
    count = math.prod(shape)
    if count == 0:
        return _with_shape(tensor, _none_of(source), shape)
    if entries_of(source) == 0:
        return _with_shape(tensor, dr.empty(type(source), count), shape)
    rest = _positions(source, count)
    index: Any = None
    for k in range(len(digits) - 1, -1, -1):
        size, divisor, stride = digits[k]
        digit = rest
        if k > 0:
            rest = rest // size
            digit = digit - rest * size
        if divisor != 1:
            digit = digit // divisor
        if stride != 1:
            digit = digit * stride
        index = digit if index is None else index + digit
    if index is None:
        return _with_shape(tensor, source, shape)
    return _with_shape(tensor, gather_whole(type(source), source, index), shape)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


# Matrices of at least this many entries are transposed in tiles of this many columns,
# if they have at least this many rows.
_TILES_FROM, _TILE, _ROWS = 2**17, 8, 16


def _has_tiles(flat: Any, sizes: Sequence[int]) -> bool:
    """Are matrices of these sizes (a block of them, rows, columns) large?"""
    if not all(type(size) is int for size in sizes):
        return False  # of a frozen function, which other sizes are to come to
    blocks, rows, columns = sizes
    return (
        blocks * rows * columns >= _TILES_FROM
        and rows >= _ROWS
        and columns % _TILE == 0
        and dr.is_jit_v(flat)
        and dr.itemsize_v(flat) >= 4
        and not _core._is_recording()
    )


def _transpose_tiles(flat: Any, blocks: int, rows: int, columns: int) -> Any:
    """Each matrix transposed: of each row, packets are read, and their columns written.

    A lane that reads a single entry wants one of each cache line, and those of a column
    may all compete for one place in the cache.
    """
    tensor_type = dr.tensor_t(type(flat))
    name = tensor_type.__name__.replace("Tensor", "Array", 1)
    packets = getattr(importlib.import_module(tensor_type.__module__), name)
    count, across = blocks * rows * columns // _TILE, columns // _TILE
    lane = _positions(flat, count)
    tile = lane // rows
    row, column = lane - tile * rows, tile
    if blocks > 1:
        block = tile // across
        row, column = row + block * rows, tile - block * across
    mode = dr.ReduceMode.NoConflicts
    tiles = run_whole(
        flat,
        dr.gather,
        packets,
        flat,
        row * across + column,
        True,
        mode,
        (_TILE, count),
    )
    result = dr.empty(type(flat), blocks * rows * columns)
    start = lane + tile * ((_TILE - 1) * rows)
    for k in range(_TILE):
        put_part(result, tiles[k], start + k * rows)
    return result


def _permute(fn: str, tensor: Any, order: Sequence[int]) -> Any:
    """Tensor whose axis k is axis ``order[k]`` of ``tensor``."""
    shape = tensor.shape
    result = [shape[axis] for axis in order]
    check_entries(fn, math.prod(shape))
    # Axes of size 1 do not matter, and axes that stay neighbours act as one.
    kept = [axis for axis in range(len(shape)) if shape[axis] != 1]
    moved = [kept.index(axis) for axis in order if shape[axis] != 1]
    groups: list[list[int]] = []
    for axis in moved:
        if groups and groups[-1][-1] + 1 == axis:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    if len(groups) <= 1:
        return _with_shape(tensor, tensor.array, result)
    sizes = [shape[axis] for axis in kept]
    strides = _strides(sizes)
    together = [math.prod(sizes[axis] for axis in group) for group in groups]
    first = groups[0][0] == 0  # stay where they are
    if len(groups) == 2 + first and groups[-1][0] == (len(groups[0]) if first else 0):
        block = together[0] if first else 1
        matrix = (block, together[-1], together[-2])
        if _has_tiles(tensor.array, matrix):
            return _with_shape(tensor, _transpose_tiles(tensor.array, *matrix), result)
    digits = [(together[k], 1, strides[group[-1]]) for k, group in enumerate(groups)]
    return _gather_digits(tensor, result, digits)


# --------------------------------------------------------- axes of size 1, splitting


def expand_dims(value: Any, /, axis: int | Sequence[int]) -> Any:
    """Insert axes of size 1 into the shape of a tensor.

    Args:
        value (tensor): the tensor.
        axis (int | sequence of ints): positions of the new axes in the result, counted
            from its end if negative.

    Returns:
        tensor: the same entries; nothing is copied.

    Raises:
        TypeError: ``value`` is not a tensor.
        ValueError: a position is out of bounds or occurs twice.

    Derivative:
        The gradient in the shape of ``value``.

    Example:
        >>> t = TensorXf([1, 2, 3])
        >>> dr.expand_dims(t, 0).shape, t[dr.newaxis, :].shape
        ((1, 3), (1, 3))

    See also:
        :func:`drjit.squeeze`, :func:`drjit.reshape`
    """
    require_tensor("expand_dims", value)
    shape = list(value.shape)
    if isinstance(axis, int) or not isinstance(axis, Sequence):
        count = 1
    else:
        count = len(axis)
    added = axis_tuple("expand_dims", axis, len(shape) + count)
    for k in sorted(added):
        shape.insert(k, 1)
    return _with_shape(value, value.array, shape)


def squeeze(value: Any, /, axis: int | Sequence[int] | None = None) -> Any:
    """Remove axes of size 1 from the shape of a tensor.

    Args:
        value (tensor): the tensor.
        axis (int | sequence of ints | None): axes to remove, counted from the end if
            negative; ``None``: all of size 1.

    Returns:
        tensor: the same entries; nothing is copied.

    Raises:
        TypeError: ``value`` is not a tensor.
        ValueError: an axis has another size, is out of bounds or occurs twice.

    Derivative:
        The gradient in the shape of ``value``.

    Example:
        >>> dr.squeeze(dr.zeros(TensorXf, (1, 3, 1))).shape
        (3,)

    See also:
        :func:`drjit.expand_dims`, :func:`drjit.reshape`
    """
    require_tensor("squeeze", value)
    shape = value.shape
    if axis is None:
        kept = [size for size in shape if size != 1]
    else:
        gone = axis_tuple("squeeze", axis, len(shape))
        for k in gone:
            if shape[k] != 1:
                raise ShapeError(
                    f"drjit.squeeze(): axis {k} has size {shape[k]}, expected 1"
                )
        kept = [size for k, size in enumerate(shape) if k not in gone]
    return value if len(kept) == len(shape) else _with_shape(value, value.array, kept)


def _split_at(value: Any, bounds: Sequence[slice], axis: int) -> list[Any]:
    lead = (slice(None),) * axis
    return [value[(*lead, bound)] for bound in bounds]


def _even_slices(size: int, sections: int) -> list[slice]:
    base, extra = divmod(size, sections)
    result, start = [], 0
    for k in range(sections):
        stop = start + base + (k < extra)
        result.append(slice(start, stop))
        start = stop
    return result


def _sections(fn: str, sections: Any) -> int:
    count = integer(fn, "sections", sections)
    if count < 1:
        raise ShapeError(
            f"drjit.{fn}(): the number of sections is {count}, expected 1 or more"
        )
    return count


def split(value: Any, indices_or_sections: Any, /, axis: int = 0) -> list[Any]:
    """Split a tensor into parts along an axis.

    Args:
        value (tensor): the tensor.
        indices_or_sections (int | sequence of ints): a number of equal parts, or the
            positions where to cut: ``[i, j]`` gives ``[:i]``, ``[i:j]`` and ``[j:]``.
        axis (int): the axis, counted from the end if negative.

    Returns:
        list[tensor]: the parts.

    Raises:
        TypeError: ``value`` is not a tensor.
        ValueError: the number does not divide the size of the axis, or the axis is out
            of bounds.

    Derivative:
        The gradients of the parts, put together.

    Evaluation:
        ``value`` is evaluated. The reads are traced.

    Example:
        >>> t = TensorXf([1, 2, 3, 4])
        >>> dr.split(t, 2), dr.split(t, [1])
        ([[1, 2], [3, 4]], [[1], [2, 3, 4]])

    See also:
        :func:`drjit.array_split`, :func:`drjit.concat`
    """
    require_tensor("split", value)
    axis = axis_index("split", axis, len(value.shape))
    size = value.shape[axis]
    if not isinstance(indices_or_sections, Sequence):
        count = _sections("split", indices_or_sections)
        if size % count:
            raise ShapeError(
                f"drjit.split(): an axis of size {size} cannot be split into {count} "
                "equal parts; use drjit.array_split() for unequal parts"
            )
        return _split_at(value, _even_slices(size, count), axis)
    cuts = [integer("split", "indices", cut) for cut in indices_or_sections]
    starts: list[int] = [0, *cuts]
    stops: list[int | None] = [*cuts, None]
    bounds = [
        slice(*slice(a, b).indices(size)) for a, b in zip(starts, stops, strict=True)
    ]
    return _split_at(value, bounds, axis)


def array_split(value: Any, sections: Any, /, axis: int = 0) -> list[Any]:
    """Split a tensor into parts along an axis whose sizes differ by at most one.

    Args:
        value (tensor): the tensor.
        sections (int | sequence of ints): the number of parts, the larger ones first;
            or positions where to cut, as in :func:`drjit.split`.
        axis (int): the axis, counted from the end if negative.

    Returns:
        list[tensor]: the parts. Those beyond the size of the axis are empty.

    Raises:
        TypeError: ``value`` is not a tensor.
        ValueError: there are less than 1 parts, or the axis is out of bounds.

    Derivative:
        The gradients of the parts, put together.

    Evaluation:
        ``value`` is evaluated. The reads are traced.

    Example:
        >>> dr.array_split(TensorXf([1, 2, 3, 4, 5]), 2)
        [[1, 2, 3], [4, 5]]

    See also:
        :func:`drjit.split`
    """
    require_tensor("array_split", value)
    if isinstance(sections, Sequence):
        return split(value, sections, axis=axis)
    axis = axis_index("array_split", axis, len(value.shape))
    count = _sections("array_split", sections)
    return _split_at(value, _even_slices(value.shape[axis], count), axis)


# ------------------------------------------------------------------ moving of entries


def reverse(value: Any, axis: int = 0) -> Any:
    """Reverse an array, tensor or Python sequence along an axis.

    Args:
        value (array | tensor | sequence): what to reverse.
        axis (int): the axis, counted from the end if negative. The first one of a
            nested array is that of its components.

    Returns:
        array | tensor | sequence: a copy of the same type.

    Raises:
        TypeError: ``value`` is nothing of these.
        ValueError: the axis is out of bounds.

    Derivative:
        The gradient, reversed.

    Evaluation:
        Along lanes, ``value`` is evaluated. The read is traced.

    Example:
        >>> dr.reverse(Float(1, 2, 3)), dr.reverse(TensorXf([[1, 2], [3, 4]]), axis=1)
        ([3, 2, 1], [[2, 1],
         [4, 3]])

    See also:
        :func:`drjit.take`, :func:`drjit.sort`
    """
    if is_tensor(value):
        shape = value.shape
        axis = axis_index("reverse", axis, len(shape))
        size, inner = shape[axis], math.prod(shape[axis + 1 :])
        source = value.array
        count = entries_of(source)
        check_entries("reverse", count)
        if count == 0 or size == 1:
            return type(value)(value)
        # Along the axis, j turns into size - 1 - j; arithmetic is modulo 2^32.
        lane = _positions(source, count)
        j = lane // inner % size
        index = lane + (size - 1) * inner - j * (2 * inner)
        return _with_shape(value, gather_whole(type(source), source, index), shape)
    if is_array(value):
        axis = axis_index("reverse", axis, dr.depth_v(value))
        count = entries_of(value) if is_dynamic_1d(value) else len(value)
        if axis > 0:
            return type(value)([reverse(part, axis - 1) for part in value])
        if count == 0:
            return type(value)(value)
        if not is_dynamic_1d(value):
            return type(value)(list(value)[::-1])
        index = (count - 1) - _positions(value, count)
        return gather_whole(type(value), value, index)
    if isinstance(value, Sequence):
        axis_index("reverse", axis, 1)
        return value[::-1]
    raise TypeError(
        f"drjit.reverse(): the input is of type {type_name(value)}, expected an array, "
        "a tensor or a sequence"
    )


def moveaxis(
    arg: Any, /, source: int | Sequence[int], destination: int | Sequence[int]
) -> Any:
    """Move axes of a tensor to other positions; the others keep their order.

    Args:
        arg (tensor): the tensor.
        source (int | sequence of ints): axes to move, counted from the end if negative.
        destination (int | sequence of ints): their positions in the result.

    Returns:
        tensor: a copy with the axes in another order.

    Raises:
        TypeError: ``arg`` is not a tensor.
        ValueError: axes are out of bounds or repeated, or ``source`` and
            ``destination`` differ in length.

    Derivative:
        The gradient with the axes where they were.

    Evaluation:
        ``arg`` is evaluated. The reads are traced.

    Example:
        >>> picture = dr.zeros(TensorXf, (480, 640, 3))
        >>> dr.moveaxis(picture, -1, 0).shape
        (3, 480, 640)

    See also:
        :func:`drjit.swapaxes`, :func:`drjit.transpose`
    """
    require_tensor("moveaxis", arg)
    ndim = len(arg.shape)
    sources = axis_tuple("moveaxis", source, ndim, "source")
    targets = axis_tuple("moveaxis", destination, ndim, "destination")
    if len(sources) != len(targets):
        raise ShapeError(
            f"drjit.moveaxis(): 'source' has {len(sources)} elements and 'destination' "
            f"{len(targets)}, expected equal numbers"
        )
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return _permute("moveaxis", arg, order)


def transpose(value: Any, /, axes: Sequence[int] | None = None) -> Any:
    """Permute the axes of a tensor.

    Matrices of fixed size (``Matrix3f``) have the attribute ``T``. A product need not
    transpose its tensors: :func:`drjit.matmul` has ``At`` and ``Bt``.

    Args:
        value (tensor): what is permuted.
        axes (sequence[int] | None): axis k of the result is axis ``axes[k]`` of
            ``value``; negative numbers count from the end. None reverses the order.

    Returns:
        tensor: the same entries in another order.

    Raises:
        TypeError: ``value`` is not a tensor, or ``axes`` not a sequence.
        ValueError: ``axes`` is not a permutation of all axes.

    Derivative:
        The gradient in the opposite order.

    Evaluation:
        Evaluates ``value``; the result is a gather from it, which is traced.

    Example:
        >>> dr.transpose(TensorXf([[1, 2, 3], [4, 5, 6]]))
        [[1, 4],
         [2, 5],
         [3, 6]]
        >>> dr.transpose(dr.zeros(TensorXf, (2, 3, 4)), (1, 2, 0)).shape
        (3, 4, 2)

    See also:
        :func:`drjit.swapaxes`, :func:`drjit.moveaxis`, :func:`drjit.matmul`
    """
    require_tensor("transpose", value)
    ndim = len(value.shape)
    if axes is None:
        return _permute("transpose", value, range(ndim - 1, -1, -1))
    if not isinstance(axes, Sequence):
        raise TypeError(
            f"drjit.transpose(): 'axes' is of type {type_name(axes)}, expected a tuple"
        )
    if len(axes) != ndim:
        raise ShapeError(
            f"drjit.transpose(): 'axes' has {len(axes)} elements, expected {ndim}"
        )
    try:
        order = axis_tuple("transpose", axes, ndim)
    except AxisError as error:
        raise AxisError(
            f"drjit.transpose(): 'axes' is {tuple(axes)}, expected a permutation of "
            f"the {ndim} axes"
        ) from error
    return _permute("transpose", value, order)


def swapaxes(value: Any, /, axis1: int, axis2: int) -> Any:
    """Exchange two axes of a tensor.

    Args:
        value (tensor): the tensor.
        axis1 (int): an axis, counted from the end if negative.
        axis2 (int): the other axis.

    Returns:
        tensor: a copy with these axes exchanged.

    Raises:
        TypeError: ``value`` is not a tensor.
        ValueError: an axis is out of bounds.

    Derivative:
        The gradient with the axes exchanged.

    Evaluation:
        ``value`` is evaluated. The reads are traced.

    Example:
        >>> dr.swapaxes(TensorXf([[1, 2, 3], [4, 5, 6]]), 0, 1)
        [[1, 4],
         [2, 5],
         [3, 6]]

    See also:
        :func:`drjit.moveaxis`, :func:`drjit.transpose`
    """
    require_tensor("swapaxes", value)
    ndim = len(value.shape)
    a = axis_index("swapaxes", axis1, ndim, "axis1")
    b = axis_index("swapaxes", axis2, ndim, "axis2")
    order = list(range(ndim))
    order[a], order[b] = b, a
    return _permute("swapaxes", value, order)


# ------------------------------------------------------------------------ selection


def _take_entries(
    fn: str, value: Any, index: Any, shape: Sequence[int], axis: int
) -> Any:
    """Gather along ``axis`` from the UInt32 positions ``index``.

    In the result, axes of the given shape (``len(index)`` entries) replace the axis.
    """
    size = value.shape[axis]
    outer = math.prod(value.shape[:axis])
    inner = math.prod(value.shape[axis + 1 :])
    result = (*value.shape[:axis], *shape, *value.shape[axis + 1 :])
    source, picks = value.array, entries_of(index)
    count = outer * picks * inner
    check_entries(fn, max(count, entries_of(source)))
    if count == 0:
        return _with_shape(value, _none_of(source), result)
    position = index
    if outer != 1 or inner != 1:
        lane = _positions(source, count)
        row = lane // inner
        slab = row // picks
        pick = gather_whole(type(index), index, row - slab * picks)
        position = (slab * size + pick) * inner + (lane - row * inner)
    return _with_shape(value, dr.gather(type(source), source, position), result)


def take(value: Any, index: Any, axis: int = 0) -> Any:
    """Select entries of a tensor along an axis: ``value[..., index, ...]``.

    Args:
        value (tensor): the tensor.
        index (int | integer array | sequence of ints): what to select, counted from the
            end if negative. An ``int`` removes the axis, and so does an array with one
            entry; tensors and sequences with one entry keep it.
        axis (int): the axis, counted from the end if negative.

    Returns:
        tensor: the size of the axis is the number of indices.

    Raises:
        TypeError: ``value`` is not a tensor, or ``index`` does not consist of integers.
        IndexError: an ``int`` is out of bounds. Entries of arrays are unchecked unless
            ``JitFlag.Debug`` is set.
        ValueError: the axis is out of bounds.

    Derivative:
        Reverse mode adds the gradient to the entries that were selected.

    Evaluation:
        ``value`` is evaluated. The read is traced.

    Example:
        >>> t = TensorXf([[1, 2, 3], [4, 5, 6]])
        >>> dr.take(t, 1), dr.take(t, UInt(2, 0), axis=1)
        ([4, 5, 6], [[3, 1],
         [6, 4]])

    See also:
        :func:`drjit.take_interp`, :func:`drjit.gather`, :func:`drjit.slice`
    """
    require_tensor("take", value)
    axis = axis_index("take", axis, len(value.shape))
    size = value.shape[axis]
    if is_array(index):
        one_axis = is_tensor(index) or is_dynamic_1d(index)
        if not one_axis or not dr.is_integral_v(index):
            raise TypeError(
                f"drjit.take(): 'index' is of type {type_name(index)}, expected an "
                "integer or a 1D array of integers"
            )
        shape = index.shape if is_tensor(index) else (entries_of(index),)
        flat = index.array if is_tensor(index) else index
        if not is_tensor(index) and entries_of(flat) == 1:
            shape = ()
        if dr.is_signed_v(flat):
            if dr.itemsize_v(flat) < 4:
                flat = dr.int32_array_t(type(flat))(flat)
            flat = dr.select(flat < 0, flat + size, flat)
        flat = dr.uint32_array_t(type(value.array))(flat)
        return _take_entries("take", value, flat, shape, axis)
    if isinstance(index, Sequence) and not isinstance(index, (str, bytes)):
        picks = [_entry("take", k, size, axis) for k in index]
        flat = dr.uint32_array_t(type(value.array))(picks)
        return _take_entries("take", value, flat, (len(picks),), axis)
    pick = _entry("take", index, size, axis)
    return value[(*(slice(None),) * axis, pick)]


def _entry(fn: str, index: Any, size: int, axis: int) -> int:
    k = integer(fn, "index", index)
    if not -size <= k < size:
        raise IndexError(
            f"drjit.{fn}(): index {k} is out of bounds for axis {axis} with size {size}"
        )
    return k % size


def take_interp(value: Any, pos: Any, axis: int = 0) -> Any:
    """Select from a tensor at fractional positions along an axis, interpolating.

    The interpolation is linear. Positions before the first and behind the last entry
    extrapolate from the two nearest entries.

    Args:
        value (tensor): the tensor. Integers are interpolated in double precision and
            truncated.
        pos (float | array): positions; 0 is the first entry. A number removes the axis,
            and so does an array with one entry. NaN gives NaN.
        axis (int): the axis, counted from the end if negative. Its size is 2 or more.

    Returns:
        tensor: the size of the axis is the number of positions.

    Raises:
        TypeError: ``value`` is not a tensor, or ``pos`` is not a number or flat array.
        ValueError: the axis is out of bounds, or has less than 2 entries.

    Derivative:
        Of ``value``, the weights of the interpolation. Of ``pos``, the difference of
        the two entries; at an entry, that to the next one if there is one.

    Evaluation:
        ``value`` is evaluated. The reads are traced.

    Example:
        >>> t = TensorXf([0, 10, 40])
        >>> dr.take_interp(t, 1.5), dr.take_interp(t, Float(0.5, 3))
        (25, [5, 70])

    See also:
        :func:`drjit.take`, :func:`drjit.lerp`, :func:`drjit.resample`
    """
    require_tensor("take_interp", value)
    axis = axis_index("take_interp", axis, len(value.shape))
    size = value.shape[axis]
    if size < 2:
        raise ShapeError(
            f"drjit.take_interp(): axis {axis} has size {size}, expected 2 or more"
        )
    trailing = len(value.shape) - axis - 1
    flat: Any = pos
    shape: tuple[int, ...] = ()
    if is_tensor(pos):
        flat, shape = pos.array, pos.shape
    elif is_array(pos) and entries_of(pos) != 1:
        shape = (entries_of(pos),)
    elif not is_array(pos):
        if not hasattr(pos, "__float__"):
            raise TypeError(
                f"drjit.take_interp(): 'pos' is of type {type_name(pos)}, expected a "
                "number or an array"
            )
        flat = dr.float64_array_t(type(value.array))(float(pos))
    if not is_dynamic_1d(flat) or not dr.is_arithmetic_v(flat) or len(shape) > 1:
        raise TypeError(
            f"drjit.take_interp(): 'pos' is of type {type_name(pos)}, expected a 1D "
            "array"
        )
    if not dr.is_float_v(flat):
        flat = dr.float64_array_t(type(flat))(flat)
    elif dr.is_half_v(flat):
        flat = dr.float32_array_t(type(flat))(flat)
    # Comparisons are false for NaN, which thus selects entry 0 with a weight of NaN.
    base = dr.floor(flat)
    base = dr.select(base >= 0, dr.select(base <= size - 2, base, size - 2), 0)
    index = dr.minimum(dr.uint32_array_t(type(value.array))(base), size - 2)
    weight = flat - type(flat)(index)

    dtype = type(value)
    working = dtype
    if dr.is_half_v(dtype):
        working = dr.float32_array_t(dtype)
    elif not dr.is_float_v(dtype):
        working = dr.float64_array_t(dtype)
    a = working(_take_entries("take_interp", value, index, shape, axis))
    b = working(_take_entries("take_interp", value, index + 1, shape, axis))
    t = working(dr.array_t(working)(weight), (*shape, *(1,) * trailing))
    return dtype(dr.fma(b, t, dr.fma(a, -t, a)))


def upsample(t: Any, shape: Any = None, scale_factor: Any = None) -> Any:
    """Enlarge a tensor by repeating its entries, or a texture by looking it up.

    Deprecated: :func:`drjit.resample` does the same, and more.

    Args:
        t (tensor | Texture): a tensor; or a texture, whose ``filter_mode`` says how it
            is looked up in the middle of the new texels.
        shape (list[int] | None): sizes of the first axes, of a texture those of its
            grid. Of a tensor they are multiples of the present ones, of a texture at
            least as large.
        scale_factor (list[int] | None): factors of the first axes, instead of
            ``shape``.

    Returns:
        tensor | Texture: the enlarged one.

    Raises:
        TypeError: ``t`` is neither tensor nor texture, or the sizes are not a list.
        ValueError: sizes that do not fit.

    Derivative:
        Reverse mode adds the gradients of the copies.

    Example:
        >>> t = TensorXf([[1, 2], [3, 4]])
        >>> dr.resample(t, (2, 4), "box")  # instead
        [[1, 1, 2, 2],
         [3, 3, 4, 4]]

    See also:
        :func:`drjit.resample`, :func:`drjit.repeat`
    """
    deprecated("upsample", "resample()")
    is_texture = getattr(t, "IsTexture", False) and not isinstance(t, type)
    if not is_tensor(t) and not is_texture:
        raise TypeError(
            f"drjit.upsample(): the input is of type {type_name(t)}, expected a tensor "
            "or a texture"
        )
    if shape is not None and scale_factor is not None:
        raise ShapeError(
            "drjit.upsample(): found 'shape' and 'scale_factor', expected one of the "
            "two"
        )
    name = "scale_factor" if shape is None else "shape"
    given = scale_factor if shape is None else shape
    if not isinstance(given, (list, tuple)):
        raise TypeError(
            f"drjit.upsample(): {name!r} is of type {type_name(given)}, expected a "
            "list of integers"
        )
    sizes = list(t.shape)
    if len(given) > len(sizes):
        raise ShapeError(
            f"drjit.upsample(): {name!r} has {len(given)} elements, expected at most "
            f"{len(sizes)}: one for each axis"
        )
    result = list(sizes)
    for k, entry in enumerate(given):
        n = integer("upsample", name, entry)
        if shape is None:
            if n < 1:
                raise ShapeError(
                    f"drjit.upsample(): 'scale_factor' has the element {n}, expected 1 "
                    "or more"
                )
            n *= sizes[k]
        elif n < sizes[k] or (sizes[k] and n % sizes[k] and not is_texture):
            raise ShapeError(
                f"drjit.upsample(): 'shape' has the extent {n} on axis {k}, expected "
                + (f"{sizes[k]} or more" if is_texture else f"a multiple of {sizes[k]}")
            )
        result[k] = n if sizes[k] else 0
    check_entries("upsample", math.prod(result))
    if is_texture:
        if result[-1] != sizes[-1]:
            raise ShapeError(
                f"drjit.upsample(): {name!r} asks for {result[-1]} channels, expected "
                f"{sizes[-1]}, which the texture has"
            )
        return t._upsampled(result)
    factors = [n // size if size else 1 for n, size in zip(result, sizes, strict=True)]
    digits = list(zip(result, factors, _strides(sizes), strict=True))
    return _gather_digits(t, result, digits)
