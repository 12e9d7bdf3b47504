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
    """Raise an error in debug mode if a condition does not hold in all lanes.

    Without ``JitFlag.Debug``, nothing is checked or evaluated. In a loop, conditional
    or call that is being recorded no exception can be raised: failing lanes are
    reported on ``sys.stderr`` when the kernel has run, with the calls that led to the
    check.

    Args:
        cond (mask | bool): the condition, of any shape; also Boolean arrays of NumPy
            and PyTorch.
        fmt (str | None): a message, with fields as in :func:`drjit.format`. Arrays with
            as many entries as ``cond`` are reduced to those for which it is false.
        *args: values of ``{}`` and ``{0}``.
        tb_depth (int): how many calls are reported.
        tb_skip (int): how many of the innermost calls are left out.
        limit (int): how many entries of an array are shown, as in :func:`drjit.format`.
        **kwargs: values of ``{name}``.

    Raises:
        AssertionError: the condition is false somewhere.
        TypeError: ``cond`` is neither a mask nor a ``bool``.
        RuntimeError: the message is malformed, or an argument is missing.

    Evaluation:
        In debug mode, evaluates ``cond``.

    Example:
        >>> w = Float(0.5, -1, 2, -3)
        >>> with dr.scoped_set_flag(dr.JitFlag.Debug):
        ...     dr.assert_true(w >= 0, "negative weights: {w}", w=w)
        Traceback (most recent call last):
        AssertionError: Assertion failure: negative weights: [-1, -3]

    See also:
        :func:`drjit.assert_false`, :func:`drjit.assert_equal`, :class:`drjit.JitFlag`
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
    """Raise an error in debug mode if a condition holds in any lane.

    Args:
        cond (mask | bool): the condition. All parameters are those of
            :func:`drjit.assert_true`, which also explains when something is checked.
        fmt (str | None): a message, as in :func:`drjit.format`. Arrays with as many
            entries as ``cond`` are reduced to those for which it is true.
        *args: values of ``{}`` and ``{0}``.
        tb_depth (int): how many calls are reported.
        tb_skip (int): how many of the innermost calls are left out.
        limit (int): how many entries of an array are shown.
        **kwargs: values of ``{name}``.

    Raises:
        AssertionError: the condition is true somewhere.
        TypeError: ``cond`` is neither a mask nor a ``bool``.

    Evaluation:
        In debug mode, evaluates ``cond``.

    Example:
        >>> x = Float(1, 2)
        >>> with dr.scoped_set_flag(dr.JitFlag.Debug):
        ...     dr.assert_false(dr.isnan(x), "NaN at {thread_id}")

    See also:
        :func:`drjit.assert_true`
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
    """Raise an error in debug mode unless two values are equal in all lanes.

    NaN is not equal to anything. See :func:`drjit.assert_true` for when something is
    checked.

    Args:
        arg0, arg1 (array | object): arrays, or objects whose comparison gives a
            ``bool``.
        fmt (str | None): a message, as in :func:`drjit.format`. Arrays with as many
            entries are reduced to those that differ.
        *args: values of ``{}`` and ``{0}``.
        limit (int): how many entries of an array are shown.
        tb_skip (int): how many of the innermost calls are left out.
        **kwargs: values of ``{name}``.

    Raises:
        AssertionError: they differ somewhere.
        RuntimeError: the sizes do not fit.

    Evaluation:
        In debug mode, evaluates both.

    Example:
        >>> x, y = Float(1, 2, 3), Float(1, 5, 3)
        >>> with dr.scoped_set_flag(dr.JitFlag.Debug):
        ...     dr.assert_equal(x, y, "{} and {} at {thread_id}", x, y)
        Traceback (most recent call last):
        AssertionError: Assertion failure: [2] and [5] at [1]

    See also:
        :func:`drjit.assert_true`, :func:`drjit.assert_allclose`
    """
    if dr.flag(dr.JitFlag.Debug):
        with _reads():
            cond = _condition("assert_equal", arg0 == arg1)
            _check("assert_equal", cond, fmt, args, kwargs, limit, (3, tb_skip))
