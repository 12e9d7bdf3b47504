"""Reductions of whole PyTrees to one entry, and masks with a value for lost ones."""

from __future__ import annotations

import drjit

from .axes import (
    deprecated,
    type_name,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def _nested(fn: str, reduction: Any, arg: Any) -> Any:
    deprecated(fn, f"{reduction.__name__}(arg, axis=None)", level=4)
    if isinstance(arg, (str, bytes, dict)) or arg is None:
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(arg)}, expected an array, "
            "a sequence or a number"
        )
    return reduction(arg, axis=None)


def all_nested(arg: Any, /) -> Any:
    """Are all entries true, along all axes?

    Deprecated: it is ``dr.all(arg, axis=None)``, which it warns of.

    Args:
        arg (mask | tensor | sequence | bool): truth values.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        None: masks have no derivatives.

    Example:
        >>> dr.all(Array2b([True, False], True), axis=None)  # instead
        [False]

    See also:
        :func:`drjit.all`
    """
    return _nested("all_nested", dr.all, arg)


def any_nested(arg: Any, /) -> Any:
    """Is any entry true, along all axes?

    Deprecated: it is ``dr.any(arg, axis=None)``, which it warns of.

    Args:
        arg (mask | tensor | sequence | bool): truth values.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        None: masks have no derivatives.

    Example:
        >>> dr.any(Array2b([True, False], True), axis=None)  # instead
        [True]

    See also:
        :func:`drjit.any`
    """
    return _nested("any_nested", dr.any, arg)


def any_or(value: bool, arg: Any, /) -> Any:
    """Is any entry true? A traced mask is not looked at: ``value`` stands for it.

    For shortcuts that need not be taken: ``if dr.any_or(False, mask)`` never waits for
    a kernel, and works within recorded code.

    Args:
        value (bool): the answer for just-in-time compiled masks.
        arg (mask | sequence | bool): truth values.

    Returns:
        bool: ``value``, or ``dr.any(arg)`` where that is known at once.

    Derivative:
        None: masks have no derivatives.

    Example:
        >>> dr.any_or(False, Bool(True, False)), dr.any_or(False, [True, False])
        (False, True)

    See also:
        :func:`drjit.any`
    """
    return value if dr.is_jit_v(arg) else dr.any(arg)


def all_or(value: bool, arg: Any, /) -> Any:
    """Are all entries true? A traced mask is not looked at: ``value`` stands for it.

    For shortcuts that need not be taken: ``if dr.all_or(True, mask)`` never waits for a
    kernel, and works within recorded code.

    Args:
        value (bool): the answer for just-in-time compiled masks.
        arg (mask | sequence | bool): truth values.

    Returns:
        bool: ``value``, or ``dr.all(arg)`` where that is known at once.

    Derivative:
        None: masks have no derivatives.

    Example:
        >>> dr.all_or(True, Bool(True, False)), dr.all_or(True, [True, False])
        (True, False)

    See also:
        :func:`drjit.all`
    """
    return value if dr.is_jit_v(arg) else dr.all(arg)


def none_or(value: bool, arg: Any, /) -> Any:
    """Is no entry true? A traced mask is not looked at: ``value`` stands for it.

    For shortcuts that need not be taken: ``if dr.none_or(False, mask)`` never waits for
    a kernel, and works within recorded code.

    Args:
        value (bool): the answer for just-in-time compiled masks.
        arg (mask | sequence | bool): truth values.

    Returns:
        bool: ``value``, or ``dr.none(arg)`` where that is known at once.

    Derivative:
        None: masks have no derivatives.

    Example:
        >>> dr.none_or(False, Bool(True, False)), dr.none_or(False, [True, False])
        (False, False)

    See also:
        :func:`drjit.none`
    """
    return value if dr.is_jit_v(arg) else dr.none(arg)


def none_nested(arg: Any, /) -> Any:
    """Is no entry true, along all axes?

    Deprecated: it is ``dr.none(arg, axis=None)``, which it warns of.

    Args:
        arg (mask | tensor | sequence | bool): truth values.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        None: masks have no derivatives.

    Example:
        >>> dr.none(Array2b([True, False], True), axis=None)  # instead
        [False]

    See also:
        :func:`drjit.none`
    """
    return _nested("none_nested", dr.none, arg)


def sum_nested(arg: Any, /) -> Any:
    """Sum of the entries along all axes.

    Deprecated: it is ``dr.sum(arg, axis=None)``, which it warns of.

    Args:
        arg (array | tensor | sequence | number): numbers.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        That of :func:`drjit.sum`.

    Example:
        >>> dr.sum(Array2f([1, 2], 3), axis=None)  # instead
        [9]

    See also:
        :func:`drjit.sum`
    """
    return _nested("sum_nested", dr.sum, arg)


def prod_nested(arg: Any, /) -> Any:
    """Product of the entries along all axes.

    Deprecated: it is ``dr.prod(arg, axis=None)``, which it warns of.

    Args:
        arg (array | tensor | sequence | number): numbers.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        That of :func:`drjit.prod`.

    Example:
        >>> dr.prod(Array2f([1, 2], 3), axis=None)  # instead
        [18]

    See also:
        :func:`drjit.prod`
    """
    return _nested("prod_nested", dr.prod, arg)


def min_nested(arg: Any, /) -> Any:
    """Smallest entry along all axes.

    Deprecated: it is ``dr.min(arg, axis=None)``, which it warns of.

    Args:
        arg (array | tensor | sequence | number): numbers.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        That of :func:`drjit.min`.

    Example:
        >>> dr.min(Array2f([1, 2], 3), axis=None)  # instead
        [1]

    See also:
        :func:`drjit.min`
    """
    return _nested("min_nested", dr.min, arg)


def max_nested(arg: Any, /) -> Any:
    """Largest entry along all axes.

    Deprecated: it is ``dr.max(arg, axis=None)``, which it warns of.

    Args:
        arg (array | tensor | sequence | number): numbers.

    Returns:
        array | tensor | number: the result.

    Raises:
        TypeError: no array, sequence or number.

    Derivative:
        That of :func:`drjit.max`.

    Example:
        >>> dr.max(Array2f([1, 2], 3), axis=None)  # instead
        [3]

    See also:
        :func:`drjit.max`
    """
    return _nested("max_nested", dr.max, arg)
