"""Functions that join arrays and tensors along an axis.

Each input is scattered into fresh storage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import drjit

from .axes import (
    ShapeError,
    axis_index,
    check_entries,
    entries_of,
    is_array,
    is_dynamic_1d,
    is_nested,
    is_tensor,
    put_part,
    type_name,
    uniform,
)
from .rearrange import (
    _positions,
    _with_shape,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def _require_inputs(fn: str, arrays: Any) -> list[Any]:
    """The inputs of a joining function as a list of arrays of one type."""
    if is_array(arrays) or isinstance(arrays, (str, bytes)):
        raise TypeError(
            f"drjit.{fn}(): the input is a single {type_name(arrays)}, expected a "
            "sequence of arrays"
        )
    try:
        inputs = list(arrays)
    except TypeError as error:
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(arrays)}, expected a "
            "sequence of arrays"
        ) from error
    if not inputs:
        raise ShapeError(
            f"drjit.{fn}(): the input is an empty sequence, expected at least one array"
        )
    for k, value in enumerate(inputs):
        if not is_array(value):
            raise TypeError(
                f"drjit.{fn}(): input {k} is of type {type_name(value)}, expected a "
                "Dr.Jit array or tensor"
            )
        if type(value) is not type(inputs[0]):
            raise TypeError(
                f"drjit.{fn}(): input {k} is of type {type_name(value)}, expected "
                f"{type_name(inputs[0])} as input 0"
            )
    return inputs


def _require_tensors(fn: str, arrays: Any) -> list[Any]:
    """The inputs as tensors: of other arrays, those that their constructor makes."""
    inputs = _require_inputs(fn, arrays)
    if is_tensor(inputs[0]):
        return inputs
    if dr.is_special_v(inputs[0]):
        raise TypeError(
            f"drjit.{fn}(): the inputs are of type {type_name(inputs[0])}, expected "
            "tensors or plain arrays"
        )
    tensor_type = dr.tensor_t(type(inputs[0]))
    return [tensor_type(value) for value in inputs]


def _track_like(result: Any, piece: Any) -> None:
    """A piece without entries has the result tracked, if it is tracked itself."""
    if dr.grad_enabled(piece):
        dr.scatter(result, piece, dr.zeros(dr.uint32_array_t(type(piece)), 0))


def _concat_flat(fn: str, pieces: Sequence[Any]) -> Any:
    dtype = type(pieces[0])
    total = sum(entries_of(piece) for piece in pieces)
    check_entries(fn, total)
    result = dr.empty(dtype, total)
    offset = 0
    for piece in pieces:
        count = entries_of(piece)
        if count:
            put_part(result, piece, _positions(piece, count) + offset)
        else:
            _track_like(result, piece)
        offset += count
    return result


def _concat_tensors(fn: str, pieces: Sequence[Any], axis: int) -> Any:
    first = pieces[0].shape
    for piece in pieces:
        if len(piece.shape) != len(first):
            raise ShapeError(
                f"drjit.{fn}(): the inputs have {len(first)} and {len(piece.shape)} "
                "axes, expected equal numbers"
            )
        for k, (a, b) in enumerate(zip(first, piece.shape, strict=True)):
            if k != axis and a != b:
                raise ShapeError(
                    f"drjit.{fn}(): the inputs have shapes {tuple(first)} and "
                    f"{tuple(piece.shape)}, expected the same shape except along axis "
                    f"{axis}"
                )
    length = sum(piece.shape[axis] for piece in pieces)
    shape = (*first[:axis], length, *first[axis + 1 :])
    if math.prod(first[:axis]) == 1:
        flat = _concat_flat(fn, [piece.array for piece in pieces])
        return _with_shape(pieces[0], flat, shape)
    check_entries(fn, math.prod(shape))
    result = dr.empty(type(pieces[0].array), math.prod(shape))
    row = math.prod(shape[axis:])
    offset = 0
    for piece in pieces:
        inner = math.prod(piece.shape[axis:])
        flat = piece.array
        if entries_of(flat):
            # Entry i of the piece moves with its row from pitch 'inner' to 'row'.
            lane = _positions(flat, entries_of(flat))
            one = inner == 1
            start = lane * row if one else lane // inner * (row - inner) + lane
            put_part(result, flat, start + offset)
        else:
            _track_like(result, flat)
        offset += inner
    return _with_shape(pieces[0], result, shape)


def _concat_nested(fn: str, pieces: Sequence[Any], axis: int) -> Any:
    dtype = type(pieces[0])
    if axis == 0:
        if dr.size_v(dtype) != dr.Dynamic:
            raise ShapeError(
                f"drjit.{fn}(): axis 0 of {dtype.__qualname__} has a fixed size, so "
                "that nothing can be appended"
            )
        return dtype(*[entry for piece in pieces for entry in piece])
    for piece in pieces:
        if len(piece) != len(pieces[0]):
            raise ShapeError(
                f"drjit.{fn}(): the inputs have {len(pieces[0])} and {len(piece)} "
                f"components, expected the same shape except along axis {axis}"
            )
    parts = []
    for k in range(len(pieces[0])):
        entries = [piece[k] for piece in pieces]
        if is_nested(entries[0]):
            parts.append(_concat_nested(fn, entries, axis - 1))
        elif not is_dynamic_1d(entries[0]):
            raise ShapeError(
                f"drjit.{fn}(): axis {axis} of {dtype.__qualname__} has a fixed size, "
                "so that nothing can be appended"
            )
        else:
            parts.append(_concat_flat(fn, entries))
    return dtype(parts)


def concat(arr: Sequence[Any], /, axis: int | None = 0) -> Any:
    """Concatenate arrays or tensors along an axis.

    Args:
        arr (sequence of arrays | sequence of tensors): what to join, of one type and of
            the same shape except along ``axis``.
        axis (int | None): the axis, counted from the end if negative. Of arrays, only
            dynamic axes can grow. ``None`` joins what :func:`drjit.ravel` makes of the
            inputs.

    Returns:
        array | tensor: the type of the inputs; a flat array if ``axis`` is ``None``.

    Raises:
        TypeError: the inputs have different types, or are not arrays.
        ValueError: shapes do not fit, there is no input, or the axis is out of bounds
            or cannot grow.

    Derivative:
        Each input gets its part of the gradient.

    Evaluation:
        The result is written to memory with the next kernel.

    Example:
        >>> dr.concat([Float(1, 2), Float(3)])
        [1, 2, 3]
        >>> dr.concat([TensorXf([[1, 2]]), TensorXf([[3, 4]])], axis=1)
        [[1, 2, 3, 4]]

    See also:
        :func:`drjit.stack`, :func:`drjit.hstack`, :func:`drjit.split`
    """
    pieces = _require_inputs("concat", arr)
    if axis is None:
        return _concat_flat("concat", [dr.ravel(piece) for piece in pieces])
    if is_tensor(pieces[0]):
        axis = axis_index("concat", axis, len(pieces[0].shape))
        return _concat_tensors("concat", pieces, axis)
    depth = dr.depth_v(pieces[0])
    axis = axis_index("concat", axis, depth)
    if depth > 1:
        pieces = [uniform(piece) for piece in pieces] if axis > 0 else pieces
        return _concat_nested("concat", pieces, axis)
    if not is_dynamic_1d(pieces[0]):
        raise ShapeError(
            f"drjit.concat(): {type_name(pieces[0])} has a fixed size, so that nothing "
            "can be appended"
        )
    return _concat_flat("concat", pieces)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Any:
    """Join arrays or tensors of one shape along a new axis.

    Args:
        arrays (sequence of arrays | sequence of tensors): what to join, of one type and
            shape. Arrays count as the tensors of their entries.
        axis (int): position of the new axis in the result, counted from its end if
            negative.

    Returns:
        tensor: one axis more than the inputs have.

    Raises:
        TypeError: the inputs have different types, or are matrices, complex numbers or
            quaternions.
        ValueError: shapes differ, there is no input, or the axis is out of bounds.

    Derivative:
        Each input gets its part of the gradient.

    Evaluation:
        The result is written to memory with the next kernel.

    Example:
        >>> a, b = Float(1, 2, 3), Float(4, 5, 6)
        >>> dr.stack([a, b])
        [[1, 2, 3],
         [4, 5, 6]]
        >>> dr.stack([a, b], axis=1).shape
        (3, 2)

    See also:
        :func:`drjit.concat`, :func:`drjit.column_stack`
    """
    tensors = _require_tensors("stack", arrays)
    shape = tensors[0].shape
    for k, tensor in enumerate(tensors):
        if tensor.shape != shape:
            raise ShapeError(
                f"drjit.stack(): input 0 has shape {tuple(shape)} and input {k} "
                f"{tuple(tensor.shape)}, expected the same shape"
            )
    axis = axis_index("stack", axis, len(shape) + 1)
    wider = (*shape[:axis], 1, *shape[axis:])
    pieces = [_with_shape(tensor, tensor.array, wider) for tensor in tensors]
    return _concat_tensors("stack", pieces, axis)


def _at_least(tensor: Any, ndim: int, before: int, after: int) -> Any:
    """Pad the shape with ones: ``before`` for vectors in front, ``after`` at the end.

    Scalars become vectors of one entry first. Shapes of ``ndim`` axes stay as is.
    """
    shape = tensor.shape
    if len(shape) >= ndim:
        return tensor
    shape = tuple(shape) or (1,)
    if len(shape) == 1:
        shape = (1,) * before + shape
    shape = shape + (1,) * min(after, ndim - len(shape))
    return _with_shape(tensor, tensor.array, shape)


def vstack(arrays: Sequence[Any], /) -> Any:
    """Concatenate tensors along the first axis; vectors become rows of a matrix.

    Args:
        arrays (sequence of tensors | sequence of arrays): what to join, of one type and
            of the same shape except along the first axis.

    Returns:
        tensor: two axes at least.

    Raises:
        TypeError: the inputs have different types.
        ValueError: shapes do not fit, or there is no input.

    Derivative:
        Each input gets its part of the gradient.

    Example:
        >>> dr.vstack([Float(1, 2), Float(3, 4)])
        [[1, 2],
         [3, 4]]

    See also:
        :func:`drjit.stack`, :func:`drjit.hstack`, :func:`drjit.dstack`
    """
    tensors = _require_tensors("vstack", arrays)
    pieces = [_at_least(tensor, 2, 1, 0) for tensor in tensors]
    return _concat_tensors("vstack", pieces, 0)


def row_stack(arrays: Sequence[Any], /) -> Any:
    """Another name of ``vstack()``.

    Args:
        arrays (sequence of tensors | sequence of arrays): what to join.

    Returns:
        tensor: see :func:`drjit.vstack`.

    Derivative:
        Each input gets its part of the gradient.

    Example:
        >>> dr.row_stack([Float(1, 2), Float(3, 4)])
        [[1, 2],
         [3, 4]]

    See also:
        :func:`drjit.vstack`, :func:`drjit.column_stack`
    """
    return vstack(arrays)


def hstack(arrays: Sequence[Any], /) -> Any:
    """Concatenate tensors along the second axis, vectors along their only one.

    Args:
        arrays (sequence of tensors | sequence of arrays): what to join, of one type and
            of the same shape except along that axis.

    Returns:
        tensor: the axes of the inputs.

    Raises:
        TypeError: the inputs have different types.
        ValueError: shapes do not fit, or there is no input.

    Derivative:
        Each input gets its part of the gradient.

    Example:
        >>> dr.hstack([TensorXf([[1, 2], [3, 4]]), TensorXf([[5], [6]])])
        [[1, 2, 5],
         [3, 4, 6]]

    See also:
        :func:`drjit.concat`, :func:`drjit.vstack`, :func:`drjit.column_stack`
    """
    tensors = _require_tensors("hstack", arrays)
    pieces = [_at_least(tensor, 1, 0, 0) for tensor in tensors]
    axis = 0 if len(pieces[0].shape) == 1 else 1
    return _concat_tensors("hstack", pieces, axis)


def column_stack(arrays: Sequence[Any], /) -> Any:
    """Concatenate tensors along the second axis; vectors become columns of a matrix.

    Args:
        arrays (sequence of tensors | sequence of arrays): what to join, of one type and
            of the same shape except along the second axis.

    Returns:
        tensor: two axes at least.

    Raises:
        TypeError: the inputs have different types.
        ValueError: shapes do not fit, or there is no input.

    Derivative:
        Each input gets its part of the gradient.

    Example:
        >>> dr.column_stack([Float(1, 2), Float(3, 4)])
        [[1, 3],
         [2, 4]]

    See also:
        :func:`drjit.hstack`, :func:`drjit.row_stack`
    """
    tensors = _require_tensors("column_stack", arrays)
    pieces = [_at_least(tensor, 2, 0, 1) for tensor in tensors]
    return _concat_tensors("column_stack", pieces, 1)


def dstack(arrays: Sequence[Any], /) -> Any:
    """Concatenate tensors along the third axis.

    A vector of n entries counts as a tensor of the shape (1, n, 1), and a matrix of the
    shape (m, n) as one of the shape (m, n, 1).

    Args:
        arrays (sequence of tensors | sequence of arrays): what to join, of one type and
            of the same shape except along the third axis.

    Returns:
        tensor: three axes at least.

    Raises:
        TypeError: the inputs have different types.
        ValueError: shapes do not fit, or there is no input.

    Derivative:
        Each input gets its part of the gradient.

    Example:
        >>> red, green = TensorXf([[1, 2]]), TensorXf([[3, 4]])
        >>> dr.dstack([red, green])
        [[[1, 3],
          [2, 4]]]

    See also:
        :func:`drjit.stack`, :func:`drjit.hstack`, :func:`drjit.vstack`
    """
    tensors = _require_tensors("dstack", arrays)
    pieces = [_at_least(tensor, 3, 1, 1) for tensor in tensors]
    return _concat_tensors("dstack", pieces, 2)
