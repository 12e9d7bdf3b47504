"""Axes, sizes and type names, as the functions on arrays check and report them.

What they raise is what NumPy programmers expect and what programs written for the
published package catch; see ``_errors``.
"""

from __future__ import annotations

import importlib
import operator

import drjit

from .._core import ArrayBase, depth_v, is_tensor_v
from .._errors import AxisError as AxisError
from .._errors import ShapeError as ShapeError

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit
_core: Any = importlib.import_module("drjit._core")

# run_whole(array, function, ...) calls a function about whole arrays: the mask of a
# conditional or loop that runs at once, which is about its lanes, is set aside.
run_whole = _core._whole

# counter(dtype, size) is arange(dtype, size).
counter = _core._counter

# Positions are 32-bit: an array with more entries cannot be gathered from.
_MAX_ENTRIES = 2**32 - 1


def gather_whole(dtype: Any, source: Any, index: Any, *active: Any) -> Any:
    """``dr.gather()`` for whole arrays, from indices that are valid."""
    return run_whole(source, dr.gather, dtype, source, index, *active)


def put_part(target: Any, value: Any, index: Any) -> None:
    """Write whole arrays to a new one, no entry of which is written twice like this."""
    run_whole(target, _core._scatter_part, target, value, index)


def deprecated(name: str, instead: str, level: int = 3) -> None:
    """Warn the caller of the function ``level`` - 1 calls above this one."""
    import warnings

    text = f"drjit.{name}() is deprecated{instead and ', use drjit.' + instead}"
    warnings.warn(text, DeprecationWarning, stacklevel=level)


def type_name(value: Any) -> str:
    """Qualified type of ``value`` for messages, without the ``builtins`` prefix."""
    cls = type(value)
    name: str = cls.__qualname__
    return name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}"


def is_array(value: Any) -> bool:
    """Whether ``value`` is an instance of a Dr.Jit array class (and not the class)."""
    return isinstance(value, ArrayBase)


def is_tensor(value: Any) -> bool:
    return isinstance(value, ArrayBase) and bool(is_tensor_v(value))


def is_nested(value: Any) -> bool:
    """Whether ``value`` is an array of arrays (a tensor counts as flat)."""
    return isinstance(value, ArrayBase) and bool(depth_v(value) > 1)


def is_matrix_shaped(value: Any) -> bool:
    """Whether an array has two static axes or more. No integer types do."""
    levels = 2 if dr.is_jit_v(value) else 1
    return bool(dr.depth_v(value) > levels)


def is_dynamic_1d(value: Any) -> bool:
    """Whether ``value`` is an array (no tensor) with one axis, of dynamic size."""
    if not is_array(value) or dr.is_tensor_v(value):
        return False
    return dr.depth_v(value) == 1 and bool(dr.is_dynamic_v(value))


def require_tensor(fn: str, value: Any) -> None:
    if not is_tensor(value):
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(value)}, expected a tensor"
        )


def integer(fn: str, name: str, value: Any) -> int:
    """``value`` as a Python integer. Errors: TypeError if it is not integral."""
    try:
        return operator.index(value)
    except TypeError as error:
        raise TypeError(
            f"drjit.{fn}(): {name!r} is of type {type_name(value)}, expected an integer"
        ) from error


def axis_index(fn: str, axis: Any, ndim: int, name: str = "axis") -> int:
    """Resolve a possibly negative axis. Errors: AxisError if it is out of bounds."""
    index = integer(fn, name, axis)
    if not -ndim <= index < ndim:
        raise AxisError(
            f"drjit.{fn}(): {name!r} is {index}, which is out of bounds for an input "
            f"with {ndim} axes"
        )
    return index % ndim


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return True
    from collections.abc import Sequence

    return isinstance(value, Sequence)


def axis_tuple(fn: str, axes: Any, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Resolve one axis or a sequence of axes that must all differ."""
    if isinstance(axes, int) or not _is_sequence(axes):
        return (axis_index(fn, axes, ndim, name),)
    result = tuple(axis_index(fn, axis, ndim, name) for axis in axes)
    if len(set(result)) != len(result):
        raise AxisError(
            f"drjit.{fn}(): {name!r} is {tuple(axes)}, expected axes that all differ"
        )
    return result


def check_entries(fn: str, count: int) -> None:
    """Raise ShapeError if an array of ``count`` entries exceeds 32-bit positions."""
    if count > _MAX_ENTRIES:
        raise ShapeError(
            f"drjit.{fn}(): found {count} entries, expected at most {_MAX_ENTRIES} as "
            "positions are 32-bit"
        )


def entries_of(flat: Any) -> int:
    """Number of entries of a flat array.

    Other than ``len()``, it does not bind a frozen function that is being recorded.
    """
    count: int = dr.width(flat)
    return count


def uniform(value: Any) -> Any:
    """A nested JIT array whose components all have the same width.

    Components of one entry are repeated, as arithmetic would do. Other values are
    returned unchanged.
    """
    if not is_nested(value) or not dr.is_jit_v(value):
        return value
    return _widen(value, dr.width(value))


def _widen(value: Any, width: int) -> Any:
    if dr.depth_v(value) > 1:
        return type(value)([_widen(part, width) for part in value])
    if entries_of(value) == width:
        return value
    index = dr.zeros(dr.uint32_array_t(type(value)), width)
    return gather_whole(type(value), value, index)
