"""Creation functions. What is made from no array is of ``drjit.auto.ad``."""

from __future__ import annotations

import copy as copies
import math
from collections.abc import Iterator
from typing import Any

import drjit as dr

from . import _types as t
from ._shape import broadcast_arrays, reshape


def _shape(function: str, shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of one value; without ``dtype`` of the type of the Python number."""
    t.check_device("full", device)
    dtype = t.common_type("full", [fill_value]) if dtype is None else dtype
    target = t.tensor_type(t.check_type("full", dtype))
    return dr.full(target, fill_value, _shape("full", shape))


def _filled(name: str, value: int) -> Any:
    def make(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        dtype = t.DEFAULT_FLOAT if dtype is None else dtype
        t.check_type(name, dtype)
        return full(
            shape, bool(value) if dtype == t.bool else value, dtype=dtype, device=device
        )

    make.__name__ = make.__qualname__ = name
    return make


def full_like(
    x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Any:
    """An array of one value with the shape, and unless told the type, of another."""
    t.check_device("full_like", device)
    dtype = t.check("full_like", x).dtype if dtype is None else dtype
    target = t.tensor_type(t.check_type("full_like", dtype), x)
    return dr.full(target, fill_value, x.shape)


def _filled_like(name: str, value: int) -> Any:
    def make(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        dtype = t.check(name, x).dtype if dtype is None else dtype
        return full_like(
            x, bool(value) if dtype == t.bool else value, dtype=dtype, device=device
        )

    make.__name__ = make.__qualname__ = name
    return make


zeros, zeros_like = _filled("zeros", 0), _filled_like("zeros_like", 0)
ones, ones_like = _filled("ones", 1), _filled_like("ones_like", 1)
empty, empty_like = _filled("empty", 0), _filled_like("empty_like", 0)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers from ``start`` (default: 0) to before ``stop``."""
    t.check_device("arange", device)
    if stop is None:
        start, stop = 0, start
    for n in (start, stop, step):
        if not isinstance(n, int | float):
            t.fail("arange", f"{type(n).__name__} {n}, expected a number")
    if step == 0:
        t.fail("arange", "the step is 0", ValueError)
    if dtype is None:
        dtype = t.common_type("arange", [start, stop, step])
    t.check_type("arange", dtype)
    integers = all(isinstance(n, int) for n in (start, stop, step))
    count = -((start - stop) // step) if integers else math.ceil((stop - start) / step)
    index = dr.arange(t.tensor_type(t.int64), max(int(count), 0))
    if not integers or (dtype in t.FLOATS and not _fits(start, start + count * step)):
        return t.cast(float(start) + t.cast(index, t.float64) * float(step), dtype)
    if dtype == t.uint64:  # modulo 2**64: also for a step below 0
        return t.cast(index, dtype) * (step % 2**64) + start % 2**64
    return t.cast(start + index * step, dtype)


def _fits(*numbers: int) -> Any:
    return all(-(2**63) <= n < 2**63 for n in numbers)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: Any = True,
) -> Any:
    """``num`` evenly spaced numbers from ``start`` to ``stop``."""
    t.check_device("linspace", device)
    dtype = t.check_type("linspace", t.DEFAULT_FLOAT if dtype is None else dtype)
    if num < 0:
        t.fail("linspace", f"{num} numbers, expected 0 or more", ValueError)
    steps = num - 1 if endpoint else num
    index = t.cast(dr.arange(t.tensor_type(t.int64), num), t.float64)
    values = start + index * ((stop - start) / steps if steps > 0 else 0.0)
    if endpoint and num > 1:
        values = dr.select(index == steps, float(stop), values)
    return t.cast(values, dtype)


def eye(
    n_rows: int,
    n_cols: Any = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """A matrix of zeros with ones on the k-th diagonal."""
    n_cols = n_rows if n_cols is None else n_cols
    if n_rows < 0 or n_cols < 0:
        t.fail(
            "eye", f"{n_rows} rows, {n_cols} columns: expected 0 or more", ValueError
        )
    t.check_device("eye", device)
    row, column = _positions(n_rows, n_cols)
    dtype = t.DEFAULT_FLOAT if dtype is None else dtype
    return t.cast(column - row == k, t.check_type("eye", dtype))


def _positions(rows: int, columns: int, like: Any = None) -> tuple[Any, Any]:
    index = t.tensor_type(t.int64, like)
    row = reshape(dr.arange(index, rows), (rows, 1))
    return row, reshape(dr.arange(index, columns), (1, columns))


def _triangle(name: str, x: Any, k: int, lower: Any) -> Any:
    if len(t.check(name, x).shape) < 2:
        t.fail(name, f"the array has {x.ndim} axes, expected at least 2", ValueError)
    row, column = _positions(x.shape[-2], x.shape[-1], x)
    kept = column - row <= k if lower else column - row >= k
    return dr.select(kept, x, type(x)(False if x.dtype == t.bool else 0))


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The matrices with zeros above the k-th diagonal."""
    return _triangle("tril", x, k, True)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The matrices with zeros below the k-th diagonal."""
    return _triangle("triu", x, k, False)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """The coordinates of all points of a grid from those along its axes."""
    if indexing not in ("xy", "ij"):
        t.fail("meshgrid", f"indexing {indexing!r}, expected 'xy' or 'ij'", ValueError)
    n = len(arrays)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[:2] = [1, 0]
    parts = []
    for axis, x in zip(order, arrays, strict=True):
        if len(t.check("meshgrid", x).shape) != 1:
            t.fail("meshgrid", f"an array has {x.ndim} axes, expected 1", ValueError)
        parts.append(reshape(x, tuple(-1 if i == axis else 1 for i in range(n))))
    return list(broadcast_arrays(*parts))


def _numbers(obj: Any) -> Iterator[Any]:
    if isinstance(obj, list | tuple):
        for part in obj:
            yield from _numbers(part)
    else:
        yield obj


def _plain(obj: Any) -> Any:
    """A sequence with the arrays in it as lists and numbers."""
    if isinstance(obj, list | tuple):
        return [_plain(part) for part in obj]
    return obj.numpy().tolist() if t.is_tensor(obj) else obj


def _extents(obj: Any) -> tuple[int, ...]:
    if not isinstance(obj, list):
        return ()
    parts = {_extents(part) for part in obj}
    if len(parts) > 1:
        t.fail("asarray", "the sequence is ragged", ValueError)
    return (len(obj), *(parts.pop() if parts else ()))


def _of_sequence(obj: Any, dtype: Any) -> Any:
    numbers = list(_numbers(obj))
    if dtype is None:
        dtype = t.common_type("asarray", numbers) if numbers else t.DEFAULT_FLOAT
    obj = _plain(obj)
    target, shape = t.tensor_type(dtype), _extents(obj)
    entries = list(_numbers(obj))
    if dtype == t.bool:
        entries = [n != 0 for n in entries]
    elif dtype not in t.FLOATS:
        entries = [t.check_range("asarray", n, dtype) for n in entries]
    return target(entries, shape) if entries else dr.zeros(target, shape)


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None
) -> Any:
    """An array of a number, a nested sequence, an array or the memory of others.

    Memory of others is shared where it fits, unless ``copy`` is true. With False, what
    needs a copy is a ``ValueError``.
    """
    t.check_device("asarray", device)
    if dtype is not None:
        t.check_type("asarray", dtype)
    if t.is_tensor(obj):
        if copy is False and dtype not in (None, obj.dtype):
            t.fail("asarray", "another type of entries needs a copy", ValueError)
        return t.astype(obj, obj.dtype if dtype is None else dtype, copy=bool(copy))
    obj = list(obj) if isinstance(obj, range) else obj
    if isinstance(obj, bool | int | float | list | tuple) and not hasattr(obj, "dtype"):
        if copy is False:
            t.fail("asarray", "numbers of Python need a copy", ValueError)
        return _of_sequence(obj, dtype)
    return _of_foreign("asarray", obj, dtype, copy)


def _of_foreign(function: str, obj: Any, dtype: Any, copy: Any) -> Any:
    try:
        view = obj if hasattr(obj, "dtype") else memoryview(obj)
    except TypeError:
        t.fail(
            function, f"{type(obj).__name__} is no number, sequence, array or buffer"
        )
    name = str(view.dtype).rpartition(".")[2] if view is obj else _FORMATS[view.format]
    if name not in t.NAMES and name != "float16":
        t.fail(function, f"entries of type {name} do not exist here")
    found = t.NAMES.get(name, dr.VarType.Float16)
    if copy is False and dtype not in (None, found):
        t.fail(function, "another type of entries needs a copy", ValueError)
    result = t.tensor_type(found)(copies.deepcopy(obj) if copy and view is obj else obj)
    return result if dtype is None else t.cast(result, dtype)


_FORMATS = {
    "?": "bool",
    "b": "int8",
    "B": "uint8",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "q": "int64",
    "Q": "uint64",
    "f": "float32",
    "d": "float64",
    "e": "float16",
}


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """An array with the memory of another framework, shared where it fits."""
    t.check_device("from_dlpack", device)
    if t.is_tensor(x):
        return asarray(x, copy=copy)
    if not hasattr(x, "__dlpack__"):
        t.fail("from_dlpack", f"{type(x).__name__} has no method __dlpack__")
    return _of_foreign("from_dlpack", x, None, copy)
