"""Scopes in which derivatives are not tracked, or not propagated further."""

from __future__ import annotations

from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_SUSPEND, _RESUME, _ISOLATE = range(3)


class _Scope:
    """A scope to be entered by ``with``, once or repeatedly."""

    _name = ""
    _kind = 0

    def __init__(self, *args: Any, when: bool = True) -> None:
        if not isinstance(when, bool):
            raise TypeError(
                f"drjit.{self._name}(): 'when' is of type {type(when).__name__}, "
                "expected a bool"
            )
        self._args = args
        self._when = when

    def __enter__(self) -> None:
        if self._when:
            _core._scope_enter(self._kind, self._args)

    def __exit__(self, kind: object, *unused: object) -> None:
        if self._when:
            _core._scope_leave(self._kind, kind is None)


class suspend_grad(_Scope):
    """Track no derivatives within a ``with`` block, or not those of certain arrays.

    Without arguments, nothing is tracked in the block: what is computed is detached,
    and :func:`drjit.enable_grad` does nothing. With arguments, operations take these
    arrays as constants. Blocks nest, also with :class:`drjit.resume_grad`, and belong
    to the calling thread. [Derivatives](../derivatives.md#what-is-left-out) says what
    happens to loops.

    Args:
        *args: PyTrees of the arrays to suspend; without any, all arrays are.
        when (bool): ``False`` makes the block have no effect.

    Raises:
        TypeError: ``when`` is not a ``bool``.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> with dr.suspend_grad():
        ...     weight = x * x
        >>> dr.backward(weight * x)
        >>> x.grad
        [9]

    See also:
        :class:`drjit.resume_grad`, :func:`drjit.detach`
    """

    _name = "suspend_grad"
    _kind = _SUSPEND


class resume_grad(_Scope):
    """Track derivatives again within a ``with`` block, or those of certain arrays.

    For use in a block of :class:`drjit.suspend_grad`, whose effect it undoes.

    Args:
        *args: PyTrees of the arrays to resume; without any, all arrays are.
        when (bool): ``False`` makes the block have no effect.

    Raises:
        TypeError: ``when`` is not a ``bool``.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> with dr.suspend_grad():
        ...     a = 2 * x
        ...     with dr.resume_grad():
        ...         b = 2 * x
        >>> dr.grad_enabled(a), dr.grad_enabled(b)
        (False, True)

    See also:
        :class:`drjit.suspend_grad`
    """

    _name = "resume_grad"
    _kind = _RESUME


class isolate_grad(_Scope):
    """Keep reverse traversals within a ``with`` block.

    Gradients reach arrays from before the block and wait there; at its end they go on,
    once for all traversals of the block. This keeps many small traversals from going
    through a large earlier graph each time. If the block is left by an exception,
    gradients do not go on. Forward traversals are not kept.

    Args:
        when (bool): ``False`` makes the block have no effect.

    Raises:
        TypeError: ``when`` is not a ``bool``.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> y = 2 * x
        >>> with dr.isolate_grad():
        ...     dr.backward(y * y)
        ...     dr.backward(3 * y)
        ...     print(y.grad, x.grad)
        [15] [0]
        >>> x.grad
        [30]

    See also:
        :func:`drjit.backward`
    """

    _name = "isolate_grad"
    _kind = _ISOLATE

    def __init__(self, when: bool = True) -> None:
        super().__init__(when=when)
