"""Assertions on arrays, with formatted messages.

They cost an evaluation, so they do nothing unless ``JitFlag.Debug`` is set. Where the
condition or an argument depends on code that is being recorded, no exception can be
raised any more when it fails: a message goes to ``sys.stderr``, with the calls that led
to the check (``tb_depth`` of them, without the last ``tb_skip``).
"""

from __future__ import annotations

import contextlib
import importlib

import drjit as dr

from . import printing as _printing

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_core: Any = importlib.import_module("drjit._core")


@contextlib.contextmanager
def _reads() -> Iterator[None]:
    """What is read here is a condition of a function that is being recorded.

    So where an assertion fails, a frozen function is called as it is, and raises.
    """
    before = _core._freeze_reads(True)
    try:
        yield
    finally:
        _core._freeze_reads(before)


def _type_name(value: Any) -> str:
    cls = type(value)
    return f"{cls.__module__}.{cls.__name__}" if dr.is_array_v(value) else cls.__name__


def _is_mask(value: Any) -> bool:
    """Is it a Dr.Jit mask array, or a boolean one of another package?"""
    if str(getattr(value, "dtype", "")) in ("bool", "torch.bool"):
        return True
    is_array = dr.is_array_v(value) and not isinstance(value, type)
    return bool(is_array and dr.is_mask_v(value))


def _condition(operation: str, cond: Any) -> Any:
    """Reduce a condition to a bool or a 1D mask array."""
    if isinstance(cond, bool):
        return cond
    if not _is_mask(cond):
        raise TypeError(
            f"drjit.{operation}(<{_type_name(cond)}>): expected a bool or a mask array"
        )
    if not dr.is_array_v(cond):
        return bool(cond.all())
    if dr.is_tensor_v(cond):
        return bool(dr.all(cond.array, axis=None))
    # The lanes of a nested array, or of a 1D one, are what a message can be reduced to.
    static = not dr.is_dynamic_v(cond)
    while dr.depth_v(cond) > 1:
        cond = dr.all(cond, axis=0)
        if isinstance(cond, bool):
            return cond
    return bool(dr.all(cond, axis=0)) if static else cond


def _check(
    operation: str,
    cond: Any,
    fmt: str | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: int,
    backtrace: tuple[int, int] = (3, 0),
) -> None:
    """Raise AssertionError unless 'cond' is true everywhere."""
    if fmt is not None and not isinstance(fmt, str):
        raise TypeError(
            f"drjit.{operation}(): 'fmt' is of type {type(fmt).__name__}, expected a "
            "str"
        )
    if not isinstance(cond, bool) and _printing.is_recorded(cond, args, kwargs):
        from . import recorded as _recorded

        _recorded.report_failures(operation, cond, fmt, args, kwargs, limit, backtrace)
        return
    if cond is True or (cond is not False and dr.all(cond, axis=None)):
        return
    if not fmt:
        raise AssertionError("Assertion failure!")
    active = True if cond is False else ~cond
    text = _printing.render(operation, fmt, args, kwargs, limit, active, strict=False)
    raise AssertionError(f"Assertion failure: {text}")


def assert_true(
    cond: Any,
    fmt: str | None = None,
    *args: Any,
    tb_depth: int = 3,
    tb_skip: int = 0,
    limit: int = 20,
    **kwargs: Any,
) -> None:
    """Raise ``AssertionError`` if an entry of ``cond`` is false, in debug mode only.

    ``cond`` is a bool or a mask array of any shape (of NumPy or PyTorch, too); anything
    else raises ``TypeError``. ``fmt``, ``limit`` and the other arguments make up the
    message as in :py:func:`format`; arrays of as many entries as ``cond`` are reduced
    to those for which it is false. In code that is being recorded, lanes for which it
    is false are reported on ``sys.stderr`` when they have been computed, with the
    ``tb_depth`` calls that led to the check, without the last ``tb_skip``.
    """
    if dr.flag(dr.JitFlag.Debug):
        with _reads():
            cond = _condition("assert_true", cond)
            _check("assert_true", cond, fmt, args, kwargs, limit, (tb_depth, tb_skip))


def assert_false(
    cond: Any,
    fmt: str | None = None,
    *args: Any,
    tb_depth: int = 3,
    tb_skip: int = 0,
    limit: int = 20,
    **kwargs: Any,
) -> None:
    """Raise ``AssertionError`` if an entry of ``cond`` is true, in debug mode only.

    See :py:func:`assert_true` for the arguments.
    """
    if dr.flag(dr.JitFlag.Debug):
        with _reads():
            if isinstance(cond, bool):
                cond = not cond
            else:
                cond = _condition("assert_false", ~cond if _is_mask(cond) else cond)
            _check("assert_false", cond, fmt, args, kwargs, limit, (tb_depth, tb_skip))


def assert_equal(
    arg0: Any,
    arg1: Any,
    fmt: str | None = None,
    *args: Any,
    limit: int = 3,
    tb_skip: int = 0,
    **kwargs: Any,
) -> None:
    """Raise ``AssertionError`` unless ``arg0 == arg1`` everywhere, in debug mode only.

    The arguments are arrays, or objects whose comparison gives a bool. See
    :py:func:`assert_true` for the others.
    """
    if dr.flag(dr.JitFlag.Debug):
        with _reads():
            cond = _condition("assert_equal", arg0 == arg1)
            _check("assert_equal", cond, fmt, args, kwargs, limit, (3, tb_skip))
