"""Flags that say which lanes have left a loop or a function.

``@dr.syntax`` replaces ``break``, ``continue`` and ``return`` by assignments to flags
(``drjit._flow.jumps``). A flag starts as a ``bool`` of Python; where a condition is an
array, it becomes an array, since lanes differ. These functions see to that.
"""

from __future__ import annotations

import importlib

import drjit as dr

from .regions import Local
from .unbound import Unbound

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_core: Any = importlib.import_module("drjit._core")

VALUE = "return value"  # the label of the variable with the value to return
_CONDITIONAL = ("mode", "label", "strict")  # hints of loops that conditionals have


def unless(flag: Any, condition: Any) -> Any:
    """``condition``, in the lanes where the flag is not set."""
    if flag is False:
        return condition
    if flag is True:
        return False
    return ~flag & condition


def _with_lanes(
    values: tuple[Any, ...], labels: Sequence[str], flags: Sequence[str], condition: Any
) -> tuple[Any, ...]:
    """Let flags that are of Python's type be arrays like the condition."""
    found = list(values)
    for place, label in enumerate(labels):
        if label in flags and isinstance(found[place], bool):
            found[place] = (condition | True) if found[place] else (condition & False)
    return tuple(found)


def _like(value: Any) -> Any:
    """A value of the same structure, for lanes that do not use it."""

    def like(leaf: Any) -> Any:
        if isinstance(leaf, Local):
            return leaf.zeros()
        return dr.zeros_like(leaf) if isinstance(leaf, dr.ArrayBase) else leaf

    return _core._tree_map("syntax", like, value)


def _with_value(
    cond: Any,
    args: tuple[Any, ...],
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    arg_labels: Sequence[str],
    rv_labels: Sequence[str],
    **hints: Any,
) -> Any:
    """``drjit.if_stmt()`` whose first side may set the value to return, with a flag for
    the lanes that have it. The other side has any value of that kind."""
    place = tuple(rv_labels).index(VALUE)
    first: list[Any] = []

    def sets(*args: Any) -> tuple[Any, ...]:
        results: tuple[Any, ...] = true_fn(*args)
        first.append(results[place])
        return results

    def fills(*args: Any) -> tuple[Any, ...]:
        results: tuple[Any, ...] = false_fn(*args)
        value = results[place]
        if isinstance(value, Unbound) and not isinstance(first[-1], Unbound):
            return (*results[:place], _like(first[-1]), *results[place + 1 :])
        if isinstance(first[-1], Unbound) and not isinstance(value, Unbound):
            raise RuntimeError(
                "drjit.syntax(): only the 'else' of a conditional on arrays returns a "
                "value. Let its 'if' return"
            )
        return results

    return dr.if_stmt(args, cond, sets, fills, arg_labels, rv_labels, **hints)


def if_stmt(
    args: tuple[Any, ...],
    cond: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    arg_labels: Sequence[str],
    rv_labels: Sequence[str],
    flags: Sequence[str],
    swap: bool = False,
    **hints: Any,
) -> Any:
    """``drjit.if_stmt()`` with branches that set flags.

    With ``swap``, only the second branch returns from the user's function.
    """
    if isinstance(cond, dr.ArrayBase):
        args = _with_lanes(args, arg_labels, flags, cond)
        if VALUE in rv_labels and hints.get("mode") != "scalar":
            if swap:
                cond, true_fn, false_fn = ~cond, false_fn, true_fn
            return _with_value(
                cond, args, true_fn, false_fn, arg_labels, rv_labels, **hints
            )
    return dr.if_stmt(args, cond, true_fn, false_fn, arg_labels, rv_labels, **hints)


def while_loop(
    state: tuple[Any, ...],
    cond: Callable[..., Any],
    body: Callable[..., Any],
    labels: tuple[str, ...],
    flags: Sequence[str],
    mode: str | None = None,
    **hints: Any,
) -> Any:
    """``drjit.while_loop()`` with a body that sets flags.

    As long as the condition is a ``bool``, this is a loop of Python. A flag that
    becomes an array in an iteration makes the condition an array, too. The value to
    return is known after a first iteration, which is a conditional.
    """
    condition = cond(*state)
    while isinstance(condition, bool) and mode in (None, "scalar"):
        if not condition:
            return state
        state = body(*state)
        condition = cond(*state)
    if isinstance(condition, dr.ArrayBase) and mode != "scalar":
        state = _with_lanes(state, labels, flags, condition)
        place = labels.index(VALUE) if VALUE in labels else None
        if place is not None and isinstance(state[place], Unbound):
            chosen = {"mode": mode, **hints}
            chosen = {name: chosen[name] for name in _CONDITIONAL if name in chosen}
            state = _with_value(
                condition, state, body, lambda *same: same, labels, labels, **chosen
            )
    return dr.while_loop(state, cond, body, labels, mode=mode, **hints)
