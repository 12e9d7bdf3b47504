"""Manipulation functions, and products of matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

import drjit as dr

from . import _types as t


def _axis(function: str, axis: Any, ndim: int) -> int:
    if not hasattr(axis, "__index__") or isinstance(axis, bool):
        t.fail(function, f"axis {axis!r}, expected an integer")
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        t.fail(function, f"axis {index} of an array with {ndim} axes", IndexError)
    return index % ndim


def _axes(function: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Several different axes: those of an array from 0 on."""
    parts = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(_axis(function, i, ndim) for i in parts)
    if len(set(axes)) != len(axes):
        t.fail(function, f"axes {axis} name one twice", ValueError)
    return axes


def reshape(x: Any, /, shape: Any, *, copy: Any = None) -> Any:
    """The same entries in another shape; one extent may be -1."""
    t.check("reshape", x)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if shape.count(-1) > 1:
        t.fail("reshape", f"{shape} has -1 more than once", ValueError)
    if -1 in shape:
        others = -math.prod(shape)
        if others == 0 or math.prod(x.shape) % others:
            t.fail("reshape", f"{x.shape} does not fit into {shape}", ValueError)
        shape = tuple(math.prod(x.shape) // others if n == -1 else n for n in shape)
    if math.prod(shape) != math.prod(x.shape):
        t.fail("reshape", f"{x.shape} does not fit into {shape}", ValueError)
    return type(x)(x.array, shape)


def broadcast_shapes(function: str, *shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together."""
    result: list[int] = []
    ndim = max(map(len, shapes), default=0)
    for sizes in zip(*((1,) * (ndim - len(s)) + tuple(s) for s in shapes), strict=True):
        others = {n for n in sizes if n != 1}
        if len(others) > 1:
            t.fail(function, f"incompatible shapes {shapes}", ValueError)
        result.append(others.pop() if others else 1)
    return tuple(result)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """The array with axes of size 1, and those missing in front, repeated."""
    shape = tuple(shape)
    t.check("broadcast_to", x)
    if broadcast_shapes("broadcast_to", x.shape, shape) != shape:
        t.fail("broadcast_to", f"{x.shape} does not fit into {shape}", ValueError)
    x = reshape(x, (1,) * (len(shape) - len(x.shape)) + x.shape)
    if x.shape == shape:
        return x
    if 0 in shape:
        return dr.zeros(type(x), shape)
    for axis, n in enumerate(shape):
        if x.shape[axis] != n:
            x = dr.repeat(x, n, axis=axis)
    return x


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays, each with the shape that they have together."""
    shape = broadcast_shapes("broadcast_arrays", *(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def _together(function: str, arrays: Any) -> list[Any]:
    if not arrays:
        t.fail(function, "no arrays, expected at least one", ValueError)
    return t.together(function, *arrays)


def concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    """Join arrays along an axis; without one, all entries in order."""
    arrays = _together("concat", arrays)
    if axis is None:
        return dr.concat(
            [reshape(x, (-1,)) if x.size else reshape(x, (0,)) for x in arrays], axis=0
        )
    return dr.concat(arrays, axis=_axis("concat", axis, len(arrays[0].shape)))


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Join arrays of one shape along a new axis."""
    arrays = _together("stack", arrays)
    if any(x.shape != arrays[0].shape for x in arrays):
        t.fail("stack", f"shapes {[x.shape for x in arrays]} differ", ValueError)
    axis = _axis("stack", axis, len(arrays[0].shape) + 1)
    return dr.concat([expand_dims(x, axis=axis) for x in arrays], axis=axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of an array along an axis, which they do not have."""
    axis = _axis("unstack", axis, len(t.check("unstack", x).shape))
    x = moveaxis(x, axis, 0)
    return tuple(x[i] for i in range(x.shape[0]))


def expand_dims(x: Any, /, *, axis: int = 0) -> Any:
    """Insert an axis of size 1."""
    axis = _axis("expand_dims", axis, len(t.check("expand_dims", x).shape) + 1)
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def squeeze(x: Any, /, axis: Any) -> Any:
    """Remove axes, which have to be of size 1."""
    ndim = len(t.check("squeeze", x).shape)
    axes = _axes("squeeze", axis, ndim)
    for i in axes:
        if x.shape[i] != 1:
            t.fail("squeeze", f"axis {i} is of size {x.shape[i]}, not 1", ValueError)
    return reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))


def permute_dims(x: Any, /, axes: Any) -> Any:
    """Put the axes into another order."""
    ndim = len(t.check("permute_dims", x).shape)
    axes = [_axis("permute_dims", i, ndim) for i in axes]
    if sorted(axes) != list(range(ndim)):
        t.fail("permute_dims", f"{axes} is no order of {ndim} axes", ValueError)
    if ndim < 2 or not x.size:
        return reshape(x, tuple(x.shape[i] for i in axes))
    return dr.transpose(x, axes)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Move axes to other positions; the others keep their order."""
    ndim = len(t.check("moveaxis", x).shape)
    source = _axes("moveaxis", source, ndim)
    places = _axes("moveaxis", destination, ndim)
    if len(source) != len(places):
        t.fail("moveaxis", f"{len(source)} axes to {len(places)} places", ValueError)
    order = [i for i in range(ndim) if i not in source]
    for place, axis in sorted(zip(places, source, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, order)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """Reverse the order of the entries along axes, by default along all."""
    ndim = len(t.check("flip", x).shape)
    for i in range(ndim) if axis is None else _axes("flip", axis, ndim):
        x = dr.reverse(x, i) if x.size else x
    return x


def take(x: Any, indices: Any, /, *, axis: Any = None) -> Any:
    """Select entries along an axis, which may be left out for one axis."""
    ndim = len(t.check("take", x).shape)
    if axis is None and ndim != 1:
        t.fail("take", f"the array has {ndim} axes, expected 'axis'", ValueError)
    t.check_kind("take", indices, "integral")
    axis = _axis("take", 0 if axis is None else axis, ndim)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if 0 in shape:
        return dr.zeros(type(x), shape)
    return dr.take(x, t.cast(indices, t.int64), axis=axis)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """Move the entries along axes; those that leave come back at the other end."""
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, axis=0), x.shape)
    ndim = len(t.check("roll", x).shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    if len(shifts) != len(axes):
        t.fail("roll", f"{len(shifts)} shifts for {len(axes)} axes", ValueError)
    for i, by in zip(axes, shifts, strict=True):
        i = _axis("roll", i, ndim)
        n = x.shape[i]
        if x.size and by % n:
            index = dr.arange(t.tensor_type(t.int64, x), n) + (n - by % n)
            x = take(x, dr.select(index >= n, index - n, index), axis=i)
    return x


def _repeats(repeats: Any, n: int) -> list[int]:
    """How often each of n entries is repeated."""
    if isinstance(repeats, int):
        counts = [repeats] * n
    else:
        t.check_kind("repeat", repeats, "integral")
        if len(repeats.shape) > 1:
            t.fail(
                "repeat", f"numbers with {repeats.ndim} axes, expected 1", ValueError
            )
        counts = repeats.numpy().reshape(-1).tolist()
        counts = counts * n if len(counts) == 1 else counts
    if len(counts) != n:
        t.fail("repeat", f"{len(counts)} numbers for {n} entries", ValueError)
    if min(counts, default=0) < 0:
        t.fail("repeat", f"{min(counts)} times, expected 0 or more", ValueError)
    return counts


def repeat(x: Any, repeats: Any, /, *, axis: Any = None) -> Any:
    """Repeat each entry along an axis, as often as a number or each of several say."""
    t.check("repeat", x)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    axis = _axis("repeat", axis, len(x.shape))
    n = x.shape[axis]
    counts = _repeats(repeats, n)
    order = [i for i, count in enumerate(counts) for _ in range(count)]
    index = t.tensor_type(t.int64, x)
    return take(x, index(order) if order else dr.zeros(index, (0,)), axis=axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    """Repeat the array as a whole along its axes."""
    t.check("tile", x)
    if not isinstance(repetitions, tuple | list):
        t.fail("tile", f"{repetitions!r}, expected a tuple of integers")
    if min(repetitions, default=0) < 0:
        t.fail("tile", f"{min(repetitions)} times, expected 0 or more", ValueError)
    ndim = max(len(x.shape), len(repetitions))
    x = reshape(x, (1,) * (ndim - len(x.shape)) + x.shape)
    counts = (1,) * (ndim - len(repetitions)) + tuple(repetitions)
    for axis, count in enumerate(counts):
        if count == 0 or not x.size:
            shape = (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :])
            x = dr.zeros(type(x), shape)
        elif count > 1:
            x = dr.concat([x] * count, axis=axis)
    return x


def matmul(x1: Any, x2: Any, /) -> Any:
    """Product of matrices, of a matrix and a vector, or of two vectors."""
    t.check_kind("matmul", x1, "numeric")
    t.check_kind("matmul", x2, "numeric")
    a, b = t.together("matmul", x1, x2)
    if not a.shape or not b.shape:
        t.fail("matmul", "an array has no axes, expected at least one", ValueError)
    row, column = len(a.shape) == 1, len(b.shape) == 1
    a = expand_dims(a, axis=0) if row else a
    b = expand_dims(b, axis=-1) if column else b
    if a.shape[-1] != b.shape[-2]:
        t.fail("matmul", f"shapes {x1.shape} and {x2.shape} do not match", ValueError)
    outer = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    shape = (*outer, a.shape[-2], b.shape[-1])
    if 0 in (*shape, a.shape[-1]):
        product = dr.zeros(type(a), shape)
    else:
        product = dr.matmul(a, b)
    kept = (*outer, *(() if row else shape[-2:-1]), *(() if column else shape[-1:]))
    return reshape(product, kept)


def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes."""
    ndim = len(t.check("matrix_transpose", x).shape)
    if ndim < 2:
        t.fail("matrix_transpose", f"the array has {ndim} axes, not 2", ValueError)
    return permute_dims(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Inner products of the vectors along an axis."""
    t.check_kind("vecdot", x1, "numeric")
    t.check_kind("vecdot", x2, "numeric")
    a, b = t.together("vecdot", x1, x2)
    if axis >= 0 or not -min(len(a.shape), len(b.shape)) <= axis:
        t.fail("vecdot", f"axis {axis}, expected a negative one of both", ValueError)
    if a.shape[axis] != b.shape[axis]:
        t.fail("vecdot", f"shapes {a.shape} and {b.shape} do not match", ValueError)
    product = a * b
    return dr.sum(product, axis=len(product.shape) + axis)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sum of products over the last axes of one and the first of another, or lists."""
    a, b = t.together("tensordot", x1, x2)
    p, q = len(a.shape), len(b.shape)
    if isinstance(axes, int):
        if not 0 <= axes <= min(p, q):
            t.fail("tensordot", f"{axes} axes of {p} and {q}", ValueError)
        axes = (range(p - axes, p), range(axes))
    over_a = list(_axes("tensordot", tuple(axes[0]), p))
    over_b = list(_axes("tensordot", tuple(axes[1]), q))
    n = [a.shape[i] for i in over_a]
    if n != [b.shape[i] for i in over_b]:
        t.fail("tensordot", f"{a.shape} and {b.shape} do not match", ValueError)
    rest_a = [i for i in range(p) if i not in over_a]
    rest_b = [i for i in range(q) if i not in over_b]
    shape_a = tuple(a.shape[i] for i in rest_a)
    shape_b = tuple(b.shape[i] for i in rest_b)
    a = reshape(permute_dims(a, rest_a + over_a), (math.prod(shape_a), math.prod(n)))
    b = reshape(permute_dims(b, over_b + rest_b), (math.prod(n), math.prod(shape_b)))
    return reshape(matmul(a, b), shape_a + shape_b)
