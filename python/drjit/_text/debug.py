"""Aids for debugging and profiling: flags for a scope, profiled ranges, labels."""

from __future__ import annotations

import contextlib

import drjit as dr
from drjit import _core

from .nodes import events

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


class scoped_set_flag(
    _core._FlagScope,  # type: ignore[misc]
    contextlib.ContextDecorator,
):
    """Set a compilation flag within a ``with`` block, or for the calls of a function.

    ``scoped_set_flag(flag, value=True)``: ``flag`` is a ``JitFlag``, or a combination
    of several, each of which gets its previous value back on leaving. Wrong types raise
    ``TypeError``. Blocks may be nested, also with the same object.
    """


class profile_range:
    """Mark a ``with`` block as a named range on the timeline of a profile.

    Ranges may be nested. They cover the work of the calling thread; kernels that run
    asynchronously may end later. The name must be a string (else ``TypeError``).
    """

    def __init__(self, name: str, /) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"drjit.profile_range(): 'name' is of type {type(name).__name__}, "
                "expected a str"
            )
        self._name = name

    def __enter__(self) -> None:
        _core._profile_push(self._name)

    def __exit__(self, *exception: Any) -> None:
        _core._profile_pop()


class profile_enable:
    """Select a ``with`` block for tools that profile parts of a program.

    Without such a tool (they exist for GPUs), the block is a range of the profile named
    ``"profile_enable"``. ``active=False`` makes it an ordinary block. Raises
    ``TypeError`` if ``active`` is not a bool.
    """

    def __init__(self, active: bool = True) -> None:
        if not isinstance(active, bool):
            raise TypeError(
                f"drjit.profile_enable(): 'active' is of type {type(active).__name__}, "
                "expected a bool"
            )
        self._active = active

    def __enter__(self) -> None:
        if self._active:
            _core._profile_push("profile_enable")

    def __exit__(self, *exception: Any) -> None:
        if self._active:
            _core._profile_pop()


class _Missing:
    """The value of an argument that was not given."""


_MISSING = _Missing()


def _label_array(value: Any, name: str) -> None:
    if not dr.is_jit_v(value):
        return
    if dr.is_tensor_v(value):
        value.array.label = name
    elif dr.depth_v(value) == 1:
        value.label = name
    else:
        for i in range(len(value)):
            _label_array(value[i], f"{name}_{i}")


def _label(value: Any, name: str) -> None:
    names: list[str] = []  # of the containers around
    for kind, item, _, key in events("set_label", value):
        if kind == "close":
            names.pop()
            continue
        own = f"{names[-1]}_{key}" if names else name
        if kind == "open":
            names.append(own)
        elif dr.is_array_v(item) and not isinstance(item, type):
            _label_array(item, own)


def set_label(arg0: Any = _MISSING, arg1: str | None = None, /, **kwargs: Any) -> None:
    """Name variables, for :py:func:`whos` and graph output.

    ``set_label(x, "x")`` names one array, ``set_label(x=x, y=y)`` several. The arrays
    in a PyTree, and the components of a nested array, get the index, key or name of the
    field appended after an underscore. Values that the just-in-time compiler does not
    track are passed over. Raises ``TypeError`` for other forms of the call.
    """
    if arg0 is not _MISSING:
        if type(arg1) is str and not kwargs and dr.depth_v(type(arg0)) == 1:
            arg0.label = arg1
            return
        if kwargs or not isinstance(arg1, str):
            raise TypeError(
                "drjit.set_label(): expected an array and a str, or keywords"
            )
        _label(arg0, arg1)
        return
    for name, value in kwargs.items():
        if isinstance(value, str):
            raise TypeError(
                f"drjit.set_label(): '{name}' is of type str, expected an array; to "
                "label several arrays call set_label(x=x, y=y)"
            )
    for name, value in kwargs.items():
        _label(value, name)
