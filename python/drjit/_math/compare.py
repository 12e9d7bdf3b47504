"""Approximate comparison, and clipping."""

from __future__ import annotations

import math

import drjit

from .._shape.axes import ShapeError, deprecated, is_array, is_tensor, type_name

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit

# (relative, absolute) tolerance by the size of a floating point number in bytes.
_TOLERANCES = {2: (1e-1, 1e-2), 4: (1e-3, 1e-5), 8: (1e-5, 1e-8)}


# -------------------------------------------------------------------------- clipping


def clip(value: Any, min: Any, max: Any) -> Any:
    """``dr.maximum(dr.minimum(value, max), min)``, for arrays and numbers."""
    return dr.maximum(dr.minimum(value, max), min)


def clamp(value: Any, min: Any, max: Any, /) -> Any:
    """Former name of :py:func:`clip`, deprecated."""
    deprecated("clamp", "clip()")
    return dr.maximum(dr.minimum(value, max), min)


# ------------------------------------------------------------- approximate comparison


class _Options:
    """Tolerances of a comparison; None: those of the operands' precision."""

    def __init__(
        self, fn: str, rtol: float | None, atol: float | None, equal_nan: bool
    ) -> None:
        self.fn = fn
        self.rtol = rtol
        self.atol = atol
        self.equal_nan = equal_nan

    def tolerances(self, itemsize: int) -> tuple[float, float]:
        rtol, atol = _TOLERANCES[itemsize]
        return (
            rtol if self.rtol is None else self.rtol,
            atol if self.atol is None else self.atol,
        )


def _operands(fn: str, a: Any, b: Any) -> tuple[Any, Any, int]:
    """Two arrays of one plain type, and the size of its floats (8 for others)."""
    dtype = dr.expr_t(a, b)
    a = a if type(a) is dtype else dtype(a)
    b = b if type(b) is dtype else dtype(b)
    if dr.is_special_v(dtype):
        plain = dr.array_t(dtype)
        a, b = plain(a), plain(b)
    if not is_tensor(a):
        widths = dr.width(a), dr.width(b)
        if 0 in widths and max(widths) > 1:
            raise ShapeError(
                f"drjit.{fn}(): operands have incompatible sizes {widths[0]} and "
                f"{widths[1]}, expected equal sizes or 1"
            )
    return a, b, dr.itemsize_v(dtype) if dr.is_float_v(dtype) else 8


def _working(value: Any) -> Any:
    """``value`` in a precision in which differences can be measured."""
    if dr.is_float_v(value):
        if dr.is_half_v(value):
            return dr.float32_array_t(type(value))(value)
        return value
    dtype = dr.float64_array_t(type(value))
    if dr.is_mask_v(value):
        return dr.select(value, dtype(1), dtype(0))
    return dtype(value)


def _close_mask(a: Any, b: Any, itemsize: int, options: _Options) -> Any:
    rtol, atol = options.tolerances(itemsize)
    x, y = _working(a), _working(b)
    # Infinities are only close to themselves: |x - y| <= inf would accept too much.
    near = dr.abs(x - y) <= dr.abs(y) * rtol + atol
    result = (a == b) | (near & dr.isfinite(y))
    if options.equal_nan:
        result = result | (dr.isnan(x) & dr.isnan(y))
    return result


def _close_numbers(a: Any, b: Any, options: _Options) -> bool:
    if options.equal_nan and a != a and b != b:
        return True
    if a == b:
        return True
    rtol, atol = options.tolerances(8)
    return abs(b) < math.inf and bool(abs(a - b) <= abs(b) * rtol + atol)


def _length(value: Any) -> int | None:
    """Number of entries of a sequence, None for numbers (also those of NumPy)."""
    if getattr(value, "shape", None) == () or not hasattr(value, "__len__"):
        return None
    return len(value)


def _pairs(fn: str, a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Corresponding entries of two sequences, or None if both are numbers.

    A number, or a sequence of one entry, is matched with each entry of the other one.
    """
    for value in (a, b):
        if isinstance(value, (str, bytes, dict, type)):
            raise TypeError(
                f"drjit.{fn}(): a value is of type {type_name(value)}, expected "
                "numbers, arrays or sequences"
            )
    sizes = [_length(value) for value in (a, b)]
    if sizes == [None, None]:
        for value in (a, b):
            if not hasattr(value, "__abs__"):
                raise TypeError(
                    f"drjit.{fn}(): a value is of type {type_name(value)}, expected "
                    "numbers, arrays or sequences"
                )
        return None
    n, m = (1 if size is None else size for size in sizes)
    if n != m and n != 1 and m != 1:
        raise ShapeError(
            f"drjit.{fn}(): operands have incompatible sizes {n} and {m}, expected "
            "equal sizes or 1"
        )

    def entry(value: Any, size: int | None, k: int) -> Any:
        return value if size is None else value[k if size > 1 else 0]

    total = max(n, m) if n and m else 0
    return [(entry(a, sizes[0], k), entry(b, sizes[1], k)) for k in range(total)]


def _item(value: Any) -> Any:
    """The entry of a result that has only one."""
    if is_tensor(value):
        value = value.array
    return value[0] if is_array(value) else value


def _close(a: Any, b: Any, options: _Options) -> bool:
    if is_array(a) or is_array(b):
        x, y, itemsize = _operands(options.fn, a, b)
        if dr.width(x) == 0 or dr.width(y) == 0:
            if not is_tensor(x) or x.shape == y.shape:
                return True
        return bool(_item(dr.all(_close_mask(x, y, itemsize, options), axis=None)))
    pairs = _pairs(options.fn, a, b)
    if pairs is None:
        return _close_numbers(a, b, options)
    return all(_close(x, y, options) for x, y in pairs)


def fmin(arg0: Any, arg1: Any, /) -> Any:
    """The smaller operand, or the other one where one is NaN."""
    return dr.minimum(arg0, arg1)


def fmax(arg0: Any, arg1: Any, /) -> Any:
    """The larger operand, or the other one where one is NaN."""
    return dr.maximum(arg0, arg1)


def allclose(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> bool:
    """Whether ``|a - b| <= |b| * rtol + atol`` holds for all entries.

    Args:
        a, b: arrays, tensors, sequences or numbers that can be broadcast together.
        rtol, atol: the tolerances. The defaults depend on the precision of the
            operands: 1e-5 and 1e-8 for double precision (and integers and Python
            numbers), 1e-3 and 1e-5 for single, 1e-1 and 1e-2 for half precision.
        equal_nan: whether NaN equals NaN.

    Infinities are only close to themselves. Evaluates the arrays and returns a Python
    ``bool``. Errors: TypeError for operands without numbers, RuntimeError (in
    places a ValueError as well) for sizes that do not fit.
    """
    return _close(a, b, _Options("allclose", rtol, atol, equal_nan))


class _Mismatch:
    """What is wrong with the entries compared so far."""

    def __init__(self) -> None:
        self.wrong = 0
        self.total = 0
        self.absolute = 0.0
        self.relative = 0.0
        self.itemsize = 8

    def add(self, wrong: int, total: int, absolute: float, relative: float) -> None:
        self.wrong += wrong
        self.total += total
        self.absolute = _larger(self.absolute, absolute)
        self.relative = _larger(self.relative, relative)


def _larger(a: float, b: float) -> float:
    """The larger number, or NaN if there is one."""
    return a if a > b or math.isnan(a) else b


def _largest(values: Any) -> float:
    if bool(_item(dr.any(dr.isnan(values), axis=None))):
        return math.nan
    return float(_item(dr.max(values, axis=None)))


def _measure(a: Any, b: Any, options: _Options, result: _Mismatch) -> None:
    if is_array(a) or is_array(b):
        x, y, itemsize = _operands(options.fn, a, b)
        good = _close_mask(x, y, itemsize, options)
        x, y = _working(x), _working(y)
        # Equal infinities differ by 0, not by NaN.
        absolute = dr.select(x == y, 0, dr.abs(x - y))
        relative = dr.select(absolute == 0, 0, absolute / dr.abs(y))
        wrong = int(_item(dr.count(good == False, axis=None)))  # noqa: E712
        total = math.prod(dr.shape(good))
        result.itemsize = itemsize
        result.add(wrong, total, _largest(absolute), _largest(relative))
        return
    pairs = _pairs(options.fn, a, b)
    if pairs is not None:
        for x, y in pairs:
            _measure(x, y, options, result)
        return
    difference = 0.0 if a == b else abs(a - b)
    scale = abs(b)
    quotient = difference / scale if scale else math.inf if difference else 0.0
    good = _close_numbers(a, b, options)
    result.add(int(not good), 1, difference, quotient)


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    err_msg: str = "",
) -> None:
    """Raise an error unless two arrays are equal up to a tolerance; for tests.

    In each entry ``|actual - desired| <= atol + rtol * |desired|`` has to hold, as for
    :func:`drjit.allclose`. It is always checked, not in debug mode only. The message
    has the number of mismatches, the largest differences and both operands.

    Args:
        actual (array | float | sequence): what was computed.
        desired (array | float | sequence): what was expected.
        rtol (float | None): relative tolerance. ``None``: one that suits the precision
            of the types, 1e-3 for single precision.
        atol (float | None): absolute tolerance. ``None``: one that suits the precision
            of the types, 1e-5 for single precision.
        equal_nan (bool): is NaN equal to NaN?
        err_msg (str): a line in front of the message.

    Raises:
        AssertionError: an entry differs by more.
        TypeError: an operand is not a number, array or sequence.
        RuntimeError: the sizes do not fit.

    Evaluation:
        Evaluates both.

    Example:
        >>> dr.assert_allclose(dr.sin(Float(0, dr.pi / 2)), [0, 1])

    See also:
        :func:`drjit.allclose`, :func:`drjit.assert_equal`
    """
    options = _Options("assert_allclose", rtol, atol, equal_nan)
    if _close(actual, desired, options):
        return
    found = _Mismatch()
    _measure(actual, desired, options, found)
    rtol, atol = options.tolerances(found.itemsize)
    share = 100 * found.wrong / found.total
    lines = [err_msg] if err_msg else []
    lines += [
        f"Arrays are not equal to tolerance rtol={rtol:g}, atol={atol:g}",
        f"Mismatched elements: {found.wrong} / {found.total} ({share:.3g}%)",
        f"Max absolute difference: {found.absolute:g}",
        f"Max relative difference: {found.relative:g}",
    ]
    for title, value in (("ACTUAL", actual), ("DESIRED", desired)):
        indent = "\n" + " " * (len(title) + 3)
        lines.append(f" {title}: {str(value)}".replace("\n", indent))
    raise AssertionError("\n".join(lines))
