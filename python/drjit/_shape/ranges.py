"""arange() and linspace(): evenly spaced numbers in a one-dimensional array."""

from __future__ import annotations

import importlib
from operator import index

from .._core import (
    float32_array_t,
    float64_array_t,
    fma,
    int32_array_t,
    int64_array_t,
    is_array_v,
    is_float_v,
    is_jit_v,
    is_signed_v,
    itemsize_v,
    opaque_width,
    select,
    uint32_array_t,
)
from .._errors import ShapeError

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_core: Any = importlib.import_module("drjit._core")

_MOST = 2**32 - 1  # entries


def _integer(fn: str, value: Any) -> int:
    error: type[Exception] = OverflowError
    cause = None
    try:
        number = index(value)
        if -(2**63) <= number < 2**63:
            return number
    except TypeError as raised:
        error, cause = TypeError, raised
    types = _core._type_names(value)
    raise error(f"drjit.{fn}({types}): expected an integer of 64 bits") from cause


def _check_range(start: Any, stop: Any, step: Any) -> None:
    """Raise what is wrong, if the range is not just empty."""
    start, stop, step = (_integer("arange", value) for value in (start, stop, step))
    if step == 0:
        raise ValueError("drjit.arange(): 'step' is 0, expected another number")
    if not -(2**63) < stop - start < 2**63 or step == -(2**63):
        raise OverflowError("drjit.arange(): the range does not fit into 64 bits")
    if start != stop and (start > stop) != (step < 0):
        raise RuntimeError(
            f"drjit.arange(): the size is negative: from {start} to {stop} in steps of "
            f"{step}"
        )
    if start != stop:
        raise OverflowError(
            f"drjit.arange(): the size is {len(range(start, stop, step))}, expected at "
            "most 2^32 - 1"
        )


def _check_fit(dtype: Any, start: int, last: int) -> None:
    low, high = -(2**63), 2**63
    if not is_float_v(dtype):
        signed = is_signed_v(dtype)
        high = 1 << 8 * itemsize_v(dtype) - signed
        low = -high if signed else 0
    for value in (start, last):
        if not low <= value < high:
            raise OverflowError(
                f"drjit.arange(): {value} is out of range for the entries of "
                f"{dtype.__module__}.{dtype.__qualname__}"
            )


def arange(
    dtype: Any, start: Any = None, stop: Any = None, step: Any = 1, *, size: Any = None
) -> Any:
    """Create evenly spaced integers: from ``start`` to before ``stop``.

    Call it as ``arange(dtype, size)`` or ``arange(dtype, start, stop, step)``.

    Args:
        dtype (type): flat array or tensor of numbers (not masks). Floats are rounded
            from the exact integers.
        start (int | None): first entry. As the only number it is the size, and the
            entries are 0 to ``start - 1``.
        stop (int | None): where the range ends; not an entry.
        step (int): distance of the entries, which may be negative but not zero.
        size (int | None): number of entries: another way to write ``arange(dtype, n)``.

    Returns:
        array: ``dtype``, with one axis; empty where ``start`` equals ``stop``.

    Raises:
        TypeError: ``dtype`` is not flat, a number is not an integer, or the call has
            another form.
        RuntimeError: ``step`` leads away from ``stop``, so that the size is negative.
        ValueError: ``step`` is zero.
        OverflowError: an entry does not fit into ``dtype``, or there are more than
            2^32 - 1 of them.

    Derivative:
        None: the result is not tracked.

    Example:
        >>> dr.arange(UInt, 4)
        [0, 1, 2, 3]
        >>> dr.arange(Float, 5, 0, -2)
        [5, 3, 1]

    See also:
        :func:`drjit.linspace`, :func:`drjit.meshgrid`
    """
    if stop is None:
        if (start is None) == (size is None) or step != 1:
            raise TypeError(
                "drjit.arange(): expected (dtype, size) or (dtype, start, stop, step=1)"
            )
        return _core._counter(dtype, start if size is None else size)
    _core._check_sequence("arange", dtype, False)
    if start is None:
        start = 0
    try:
        values = range(start, stop, step)
        n = len(values)
    except (TypeError, ValueError, OverflowError):
        n = 0
    if not 0 < n <= _MOST:
        _check_range(start, stop, step)
        return _core._counter(dtype, 0)
    start, step, last = values.start, values.step, values[-1]
    if start == 0 and step == 1:
        return _core._counter(dtype, n)
    _check_fit(dtype, start, last)
    # Computed in integers, 32 bits wide where that is enough, and rounded once.
    low, high = -(2**31), 2**31
    narrow = low <= start < high and low <= last < high and low <= step < high
    counting = (int32_array_t if narrow else int64_array_t)(dtype)
    entries = fma(_core._counter(counting, n), step, start)
    return entries if type(entries) is dtype else dtype(entries)


def _bound(name: str, value: Any) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    if not is_array_v(value):
        try:
            return float(value) if hasattr(value, "__float__") else float(index(value))
        except TypeError:
            pass
    types = _core._type_names(value)
    raise TypeError(f"drjit.linspace({types}): expected a number as {name!r}")


def linspace(dtype: Any, start: Any, stop: Any, num: Any, endpoint: Any = True) -> Any:
    """Create evenly spaced floats between two numbers.

    Each entry is computed from its index as ``start + index * distance``, so errors do
    not add up along the array.

    Args:
        dtype (type): flat array or tensor of floats.
        start (float): first entry.
        stop (float): last entry, exactly, if ``endpoint`` is set. It may be below
            ``start``.
        num (int): number of entries. A single one is ``start``.
        endpoint (bool): whether ``stop`` is an entry. If not, the distance is
            ``(stop - start) / num``.

    Returns:
        array: ``dtype``, with one axis. Half precision is computed in single precision.

    Raises:
        TypeError: ``dtype`` is not a flat array of floats, or an argument is not a
            number.
        ValueError: ``num`` is negative or more than 2^32 - 1.

    Derivative:
        None: the bounds are numbers of Python.

    Example:
        >>> dr.linspace(Float, 0, 1, 5)
        [0, 0.25, 0.5, 0.75, 1]
        >>> dr.linspace(Float, 0, 1, 5, endpoint=False)
        [0, 0.2, 0.4, 0.6, 0.8]

    See also:
        :func:`drjit.arange`, :func:`drjit.lerp`
    """
    _core._check_sequence("linspace", dtype, True)
    closed = bool(endpoint)
    first, last = _bound("start", start), _bound("stop", stop)
    n: int = _core._size_plain(num)
    if n is num or n < 2 or not is_jit_v(dtype):
        n = num = _integer("linspace", num)
    if not 0 <= n <= _MOST:
        most = "0 or more" if n < 0 else "at most 2^32 - 1"
        raise ShapeError(f"drjit.linspace(): 'num' is {n}, expected {most}")
    lane = _core._counter(uint32_array_t(dtype), num)
    working = float64_array_t if itemsize_v(dtype) == 8 else float32_array_t
    working = working(dtype)
    # The step is computed in double precision.
    steps: Any = n - closed
    if n is num:
        step: Any = (last - first) / steps if steps > 0 else 0.0
    else:
        steps = opaque_width(lane) - closed
        step = working((last - first) / float64_array_t(type(steps))(steps))
    values = fma(working(lane), step, first)
    if closed and n > 1:
        values = select(lane == steps, last, values)
    return values if type(values) is dtype else dtype(values)
