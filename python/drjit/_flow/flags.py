"""Flags that say which lanes have left a loop or a function.

``@dr.syntax`` replaces ``break``, ``continue`` and ``return`` by assignments to flags
(``drjit._flow.jumps``). A flag starts as a ``bool`` of Python; where a condition is an
array, it becomes an array, since lanes differ. These functions see to that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import drjit as dr

from .unbound import Unbound

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


def if_stmt(
    cond: Any,
    args: tuple[Any, ...],
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    arg_labels: Sequence[str],
    flags: Sequence[str],
    **hints: Any,
) -> Any:
    """``drjit.if_stmt()`` with branches that set flags."""
    if isinstance(cond, dr.ArrayBase):
        args = _with_lanes(args, arg_labels, flags, cond)
    return dr.if_stmt(args, cond, true_fn, false_fn, arg_labels, **hints)


def while_loop(
    state: tuple[Any, ...],
    cond: Callable[..., Any],
    body: Callable[..., Any],
    labels: Sequence[str],
    flags: Sequence[str],
    mode: str | None = None,
    **hints: Any,
) -> Any:
    """``drjit.while_loop()`` with a body that sets flags.

    As long as the condition is a ``bool``, this is a loop of Python. A flag that
    becomes an array in an iteration makes the condition an array, too. A variable that
    is not assigned before the loop is after a first iteration, which is a conditional.
    """
    condition = cond(*state)
    while isinstance(condition, bool) and mode in (None, "scalar"):
        if not condition:
            return state
        state = body(*state)
        condition = cond(*state)
    if isinstance(condition, dr.ArrayBase) and mode != "scalar":
        state = _with_lanes(state, labels, flags, condition)
        if any(isinstance(value, Unbound) for value in state):
            chosen = {"mode": mode, **hints}
            chosen = {name: chosen[name] for name in _CONDITIONAL if name in chosen}
            state = dr.if_stmt(
                state, condition, body, lambda *same: same, labels, labels, **chosen
            )
    return dr.while_loop(state, cond, body, labels, mode=mode, **hints)
