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
    """Set or clear a flag within a ``with`` block, or during calls of a function.

    On leaving, each flag gets its previous value back. Blocks nest; flags belong to the
    calling thread.

    Args:
        flag (JitFlag): the flag, or several combined with ``|``.
        value (bool): set or clear.

    Raises:
        TypeError: ``flag`` is not a ``JitFlag``, or ``value`` not a ``bool``.

    Example:
        >>> with dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, False):
        ...     print(dr.flag(dr.JitFlag.SymbolicLoops))
        False
        >>> @dr.scoped_set_flag(dr.JitFlag.Debug)
        ... def f():
        ...     return dr.flag(dr.JitFlag.Debug)
        >>> f(), dr.flag(dr.JitFlag.Debug)
        (True, False)

    See also:
        :func:`drjit.set_flag`, :class:`drjit.JitFlag`
    """


class profile_range:
    """Mark a ``with`` block as a named range on the timeline of a profile.

    Ranges nest. They show when the calling thread was in the block; kernels that it has
    launched may end later. See :func:`drjit.profile_mark` for how to write a profile.

    Args:
        name (str): the label.

    Raises:
        TypeError: ``name`` is not a string.

    Example:
        >>> with dr.profile_range("physics"):
        ...     x = dr.sqrt(Float(1, 4))

    See also:
        :func:`drjit.profile_mark`, :class:`drjit.profile_enable`
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
    """Restrict profiling to a ``with`` block, for tools that can be told so.

    Such tools exist for GPUs. On the CPU, the block is a range of the profile that is
    named ``"profile_enable"``.

    Args:
        active (bool): ``False`` makes the block have no effect.

    Raises:
        TypeError: ``active`` is not a ``bool``.

    Example:
        >>> with dr.profile_enable():
        ...     x = dr.sqrt(Float(1, 4))

    See also:
        :class:`drjit.profile_range`
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

    def __repr__(self) -> str:  # in signatures
        return "..."


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
    """Name variables, for tables, graphs and messages.

    ``set_label(x, "name")`` names one array, ``set_label(a=x, b=y)`` several. Arrays in
    a PyTree, and components of nested arrays, get the key, index or field name after an
    underscore: ``p_0`` is ``p.x``.

    Args:
        arg0 (array | PyTree): what to name. Objects that are not traced arrays are
            passed over.
        arg1 (str): the name.
        **kwargs: names and what to name, instead of the two.

    Raises:
        TypeError: the call has another form.

    Example:
        >>> x, p = Float(1, 2), Array3f(1, 2, 3)
        >>> dr.set_label(size=x, points=p)
        >>> x.label, p.y.label
        ('size', 'points_1')

    See also:
        :func:`drjit.whos`, :func:`drjit.graphviz`
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
