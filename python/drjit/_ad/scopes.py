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
    """Track no derivatives within a ``with`` block, or none by the given PyTrees.

    Without arguments nothing is tracked: what is computed is detached, and
    ``enable_grad()`` does nothing. With arguments, operations take these arrays as
    constants. Blocks can be nested, also with ``resume_grad()``. ``when=False`` makes
    it do nothing.
    """

    _name = "suspend_grad"
    _kind = _SUSPEND


class resume_grad(_Scope):
    """Track derivatives again within a ``with`` block, or those by the given PyTrees.

    See :class:`drjit.suspend_grad`, within which it is used.
    """

    _name = "resume_grad"
    _kind = _RESUME


class isolate_grad(_Scope):
    """Keep traversals in reverse within a ``with`` block.

    Gradients reach variables from before the block, and go on from these at its end. If
    the block is left by an exception they do not. ``when=False`` makes it do nothing.
    """

    _name = "isolate_grad"
    _kind = _ISOLATE

    def __init__(self, when: bool = True) -> None:
        super().__init__(when=when)
