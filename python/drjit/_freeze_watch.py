"""Arrays that objects among the inputs hold beside what is part of the PyTree.

A function that is recorded can put others in their place, which repeating would not do.
"""

from __future__ import annotations

import types
from typing import Any

from drjit import _core
from drjit._freeze_ad import leaves

_LIMIT = 64  # objects that are looked at, nearest first

_UNHELD = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


def _is_traced(value: Any) -> bool:
    return isinstance(value, _core.ArrayBase) and bool(_core.is_jit_v(value))


def _indices(array: Any) -> tuple[int, ...]:
    return tuple(leaf.index for leaf in _core._leaves(array))


def _children(holder: Any) -> dict[Any, Any]:
    """What an object or a container holds, by name, key or place."""
    if isinstance(holder, dict):
        return holder
    if isinstance(holder, (list, tuple)):
        return dict(enumerate(holder))
    found = getattr(holder, "__dict__", None)
    return found if isinstance(found, dict) else {}


def _is_holder(value: Any) -> bool:
    if isinstance(value, (dict, list, tuple)):
        return True
    plain = isinstance(value, (_core.ArrayBase, *_UNHELD))
    return not plain and isinstance(getattr(value, "__dict__", None), dict)


class Watch:
    """What the objects among inputs hold when it is made: ``snapshot.objects``."""

    def __init__(self, objects: list[tuple[Any, Any]], inputs: Any) -> None:
        # With the names to leave out; arrays, and copies, as indices are used again.
        self._seen: list[tuple[Any, Any, dict[Any, tuple[Any, Any]]]] = []
        self._inputs = {id(leaf) for leaf in leaves(inputs)}
        self._add([pair for pair in objects if _is_holder(pair[0])])

    def _add(self, found: list[tuple[Any, Any]]) -> None:
        known: set[int] = set()
        for holder, names in found:  # grows meanwhile
            if id(holder) in known or len(self._seen) == _LIMIT:
                continue
            known.add(id(holder))
            arrays = self._arrays(holder, names)
            pairs = {key: (x, _core.detach(x)) for key, x in arrays.items()}
            self._seen.append((holder, names, pairs))
            found += [
                (value, ())
                for key, value in _children(holder).items()
                if key not in names and _is_holder(value)
            ]

    @staticmethod
    def _arrays(holder: Any, names: Any) -> dict[Any, Any]:
        return {
            key: value
            for key, value in _children(holder).items()
            if _is_traced(value) and key not in names
        }

    def _is_same(self, now: Any, before: Any, copy: Any) -> bool:
        """Inputs that were changed in place are, when it is repeated."""
        if now is None or before is None:
            return False
        input_changed = now is before and id(now) in self._inputs
        return input_changed or _indices(now) == _indices(copy)

    def changed(self) -> str | None:
        """What is different now, for people; None: nothing."""
        for holder, names, before in self._seen:
            now = self._arrays(holder, names)
            for key in {**before, **now}:
                if not self._is_same(now.get(key), *before.get(key, (None, None))):
                    kind = type(holder).__qualname__
                    return f"{key!r} of an object of type {kind}, which is no input"
        return None
