"""reshape(): between arrays, tensors and PyTrees of them.

Nested arrays of the same type have nothing to rearrange: their shape must agree.
Tensors get another shape over the same storage. Between other types there are ravel(),
a conversion of the entries, and unravel(): nested arrays are filled by default in
Fortran order, tensors in C order, the only one that they have.

With 'shrink', entries at the end of the trailing dynamic axis (of the storage of a
tensor, of what ravel() gives if the type changes) are dropped first.
"""

from __future__ import annotations

import importlib
from math import prod
from operator import index

import drjit

from .._core import (
    ArrayBase,
    array_t,
    is_array_v,
    is_jit_v,
    is_tensor_v,
    ravel,
    size_v,
    tensor_t,
    width,
)
from .axes import counter, gather_whole, is_dynamic_1d

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

dr: Any = drjit
_core: Any = importlib.import_module("drjit._core")


def _fail(error: type[Exception], text: str, *values: Any) -> NoReturn:
    raise error(f"drjit.reshape({_core._type_names(*values)}): {text}")


def _fail_layout(value: Any, dtype: type) -> NoReturn:
    name = f"{dtype.__module__}.{dtype.__qualname__}"
    _fail(RuntimeError, f"{name} cannot have this shape", value)


def _items(shape: Any) -> Any:
    if isinstance(shape, int):
        return (shape,)
    if not isinstance(shape, str):
        try:
            return tuple(shape)
        except TypeError:
            # An integer of NumPy, or an array that has no axis, is one integer.
            if hasattr(shape, "__index__"):
                return (shape,)
    _fail(
        TypeError,
        f"'shape' is of type {type(shape).__name__}, expected an integer or a sequence "
        "of integers",
    )


def _read(shape: Any, order: Any, shrink: Any) -> tuple[list[int], int]:
    """Check the arguments: the extents, 1 in the place of -1, and that axis or -1."""
    if order != "A" and order not in ("C", "F"):
        error = RuntimeError if isinstance(order, str) else TypeError
        _fail(error, f"'order' is {order!r}, expected 'A', 'C' or 'F'")
    if shrink is not True and shrink is not False:
        found = type(shrink).__name__
        _fail(TypeError, f"'shrink' is of type {found}, expected a bool")
    extents: list[int] = []
    free = -1
    for extent in shape if type(shape) is tuple else _items(shape):
        # An int may be a size of what is being recorded, which stays one.
        number = extent if isinstance(extent, int) else index(extent)
        if number < 0:
            if number < -1:
                text = f"'shape' has the extent {number}, expected 0 or more, or -1"
                _fail(RuntimeError, text)
            if free >= 0:
                _fail(RuntimeError, "only one extent of 'shape' may be -1")
            free, number = len(extents), 1
        extents.append(number)
    if len(extents) > 32:
        _fail(ValueError, f"'shape' has {len(extents)} axes, expected at most 32")
    return extents, free


def _resolve(value: Any, size: int, extents: list[int], free: int) -> tuple[int, ...]:
    """The shape with its -1 replaced, for that many entries."""
    given = prod(extents)
    if free >= 0:
        if given == 0 or size % given:
            text = f"no extent in place of -1 makes a shape of {size} entries"
            _fail(RuntimeError, text, value)
        return (*extents[:free], size // given, *extents[free + 1 :])
    if given != size:
        if given >= 2**64:
            raise OverflowError(
                "drjit: the number of entries of the tensor exceeds 64 bits"
            )
        text = f"the input has {size} entries, expected {given} as 'shape' says"
        _fail(RuntimeError, text, value)
    return tuple(extents)


def _shrunk(value: Any, array: Any, size: int, count: int) -> Any:
    """The first entries of each leaf of an array, or of that of a tensor."""
    if count > size:
        _fail(RuntimeError, f"cannot shrink {size} entries to {count}", value)
    if is_jit_v(array):
        return _core._shrink(array, int(count))
    lanes = counter(dr.uint32_array_t(type(array)), count)
    return gather_whole(type(array), array, lanes)


def _tensor(value: Any, extents: list[int], free: int, order: str, shrink: bool) -> Any:
    if order == "F":
        _fail(RuntimeError, "'order' is 'F', tensors have 'C' only", value)
    flat = value.array
    if shrink and free < 0:
        flat, shape = _shrunk(value, flat, width(flat), prod(extents)), tuple(extents)
    else:
        shape = _resolve(value, width(flat), extents, free)
    return type(value)(flat, shape)


def _same(value: Any, extents: list[int], free: int, shrink: bool) -> Any:
    """A nested or flat array of the same type: the shape it has, or a smaller width."""
    shape = _core._shape_of(value)
    if shrink and free < 0 and (is_jit_v(value) or is_dynamic_1d(value)):
        if len(extents) == 1 or tuple(extents[:-1]) == shape[:-1]:
            return _shrunk(value, value, shape[-1], extents[-1])
    if (
        len(shape) != len(extents)
        or _resolve(value, prod(shape), extents, free) != shape
    ):
        _fail_layout(value, type(value))
    return value


def _leaf(value: Any, extents: list[int], free: int, order: str, shrink: bool) -> Any:
    if not isinstance(value, ArrayBase):
        return value
    if is_tensor_v(value):
        return _tensor(value, extents, free, order, shrink)
    return _same(value, extents, free, shrink)


def _other(
    value: Any, dtype: type, extents: list[int], free: int, order: str, shrink: bool
) -> Any:
    """An array of another type with the entries of a value."""
    storage = array_t(tensor_t(dtype))
    flat = ravel(value, order) if isinstance(value, ArrayBase) else storage(value)
    if shrink and free < 0:
        flat = _shrunk(value, flat, width(flat), prod(extents))
    if type(flat) is not storage:
        flat = storage(flat)
    if dtype is storage:
        return _same(flat, extents, free, False)
    shape = _resolve(flat, width(flat), extents, free)
    if is_tensor_v(dtype):
        return dtype(flat, shape)
    dynamic = size_v(dtype) < 0
    if dynamic and len(shape) != 2:
        _fail_layout(flat, dtype)
    made = _core._unravel(dtype, flat, order, shape[0] if dynamic else -1)
    # One extent is the number of all entries.
    if len(shape) != 1 and made.shape != shape:
        _fail_layout(flat, dtype)
    return made


def _typed(
    dtype: type, value: Any, shape: Any, order: str = "A", shrink: bool = False
) -> Any:
    if not isinstance(dtype, type):
        found = type(dtype).__name__
        _fail(TypeError, f"'dtype' is of type {found}, expected a type")
    if dtype is type(value):
        return _untyped(value, shape, order, shrink)
    if not is_array_v(dtype):
        _fail(TypeError, f"the value cannot become a {dtype.__name__}", value)
    return _other(value, dtype, *_read(shape, order, shrink), order, shrink)


def _untyped(value: Any, shape: Any, order: str = "A", shrink: bool = False) -> Any:
    extents, free = _read(shape, order, shrink)
    if isinstance(value, ArrayBase):
        return _leaf(value, extents, free, order, shrink)
    return _core._tree_map(
        "reshape", lambda leaf: _leaf(leaf, extents, free, order, shrink), value
    )


_typed.__qualname__ = _untyped.__qualname__ = "reshape"  # as errors name them


def reshape(*args: Any, **kwargs: Any) -> Any:
    """Rearrange the entries of arrays, tensors and PyTrees into another shape or type.

    ``dtype`` may be left out, ``dr.reshape(value, shape)``: each array and tensor of
    ``value`` then keeps its type.

    Args:
        dtype (type): array or tensor type of the result.
        value (array | tensor | sequence | PyTree): where the entries come from.
        shape (int | sequence of ints): size of each axis, outermost first. One of them
            may be -1: what is left.
        order (str): order of the entries. ``"F"``: the components of a lane follow each
            other; ``"C"``: the last axis changes fastest. ``"A"`` is ``"F"`` for arrays
            and ``"C"`` for tensors, the only one that these have. See
            :func:`drjit.ravel`.
        shrink (bool): keep as many of the first entries as the shape has, and drop the
            others: those at the end of the lanes, or of the storage of a tensor. With
            another type it keeps the first entries in the given order. An extent of -1
            drops nothing.

    Returns:
        array | tensor | PyTree: an instance of ``dtype``.

    Raises:
        RuntimeError: the number of entries does not fit the shape, the type cannot have
            the shape, or another ``order``.
        TypeError: ``dtype`` is not an array type, or ``shape`` does not consist of
            integers.

    Derivative:
        The gradient, rearranged in the same way; 0 for entries that were dropped.

    Evaluation:
        A tensor of another shape shares the storage. Other rearrangements read and
        write memory; ``shrink`` evaluates ``value``.

    Example:
        >>> dr.reshape(TensorXf, Float(1, 2, 3, 4, 5, 6), (2, -1))
        [[1, 2, 3],
         [4, 5, 6]]
        >>> dr.reshape(Array2f, Float(1, 2, 3, 4), (2, -1), order="C")
        [[1, 3],
         [2, 4]]
        >>> dr.reshape(Float(1, 2, 3, 4), 3, shrink=True)
        [1, 2, 3]

    See also:
        :func:`drjit.ravel`, :func:`drjit.unravel`, :func:`drjit.expand_dims`
    """
    typed = isinstance(args[0], type) if args else "dtype" in kwargs
    return (_typed if typed else _untyped)(*args, **kwargs)


reshape.__dict__["__wrapped__"] = _typed  # for inspect.signature()
