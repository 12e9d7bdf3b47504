"""Sizes of arrays that functions have in hand while they are recorded.

They are not ``int`` (:py:mod:`.size`), and stay among what is recorded. What a function
leaves behind, as its result or elsewhere, has plain numbers in their place, as it has
when the recording is repeated:

- values in results and inputs become numbers when the recording has ended, which has
  noted what they are;
- keys of dictionaries and entries of sets become numbers before: they have been hashed,
  which binds the recording to them;
- so does what objects hold that are neither, and the recording is bound to it.
"""

from __future__ import annotations

import collections
import gc
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from drjit import _core

from .size import Size as _Size

# Exceptions that may say "this is not an int". Others are the function's own, which is
# not called once more for them.
_OF_TYPES = (TypeError, AttributeError, OverflowError)

_ROUNDS = 16  # of tuples in tuples that are replaced where nothing is known of them

_HINT = (
    "drjit.freeze(): {} (while a function is recorded, sizes of arrays are objects of "
    "their own: where an int is expected, use int(n))"
)


class _Walk:
    """Goes through containers, and replaces what is in them."""

    def __init__(self, values: bool) -> None:
        self.values = values  # are sizes replaced, or only keys?
        self.found: collections.Counter[int] = collections.Counter()
        self.done: dict[int, tuple[Any, Any]] = {}  # containers, and what they become

    def visit(self, value: Any) -> Any:
        """What takes the place of a value, mostly itself."""
        if type(value) is _Size:
            self.found[id(value)] += 1
            return _core._size_plain(value) if self.values else value
        if id(value) in self.done:
            return self.done[id(value)][1]
        step = self.step_of(value)
        if step is None:
            return value
        self.done[id(value)] = value, value
        result = step(value)
        self.done[id(value)] = value, result
        return result

    def counts(self, sizes: list[Any]) -> list[int]:
        """How often each was met."""
        return [self.found[id(size)] for size in sizes]

    def step_of(self, value: Any) -> Callable[[Any], Any] | None:
        if isinstance(value, _core.ArrayBase):
            return None
        for cls, step in _STEPS.items():
            if isinstance(value, cls):
                return step.__get__(self)
        return self.in_fields if next(fields(value), None) else None

    def in_list(self, value: Any) -> Any:
        for k, entry in enumerate(value):
            new = self.visit(entry)
            if new is not entry:
                value[k] = new
        return value

    def in_tuple(self, value: Any) -> Any:
        entries = [self.visit(entry) for entry in value]
        return _tuple_of(value, entries)

    def in_dict(self, value: Any) -> Any:
        rows = [(_key(key), self.visit(entry)) for key, entry in value.items()]
        if any(new is not old for (new, _), old in zip(rows, value, strict=True)):
            value.clear()
        for key, entry in rows:
            if key not in value or value[key] is not entry:
                value[key] = entry
        return value

    def in_set(self, value: Any) -> Any:
        entries = [_key(entry) for entry in value]
        if any(new is not old for new, old in zip(entries, value, strict=True)):
            value.clear()
            value.update(entries)
        return value

    def in_fields(self, value: Any) -> Any:
        for name in fields(value):
            entry = getattr(value, name)
            new = self.visit(entry)
            if new is not entry:
                object.__setattr__(value, name, new)
        return value

    def in_key(self, value: Any) -> Any:
        return _key(value)


_STEPS = {
    list: _Walk.in_list,
    tuple: _Walk.in_tuple,
    dict: _Walk.in_dict,
    set: _Walk.in_set,
    frozenset: _Walk.in_key,
    collections.deque: _Walk.in_list,
}


def fields(value: Any) -> Iterator[str]:
    """The fields of an object that is a PyTree."""
    fields = getattr(type(value), "DRJIT_STRUCT", None)
    if not isinstance(fields, dict):
        fields = getattr(type(value), "__dataclass_fields__", {})
    return (name for name in fields if hasattr(value, name))


def _tuple_of(like: Any, entries: list[Any]) -> Any:
    """A tuple of that class, or itself where its entries are the same."""
    if all(new is old for new, old in zip(entries, like, strict=True)):
        return like
    return tuple.__new__(type(like), entries)


def _key(value: Any) -> Any:
    """A key of a dictionary, or an entry of a set, without sizes."""
    if type(value) is _Size:
        return _core._size_plain(value)
    if isinstance(value, tuple):
        return _tuple_of(value, list(map(_key, value)))
    if isinstance(value, frozenset):
        entries = list(map(_key, value))
        if any(new is not old for new, old in zip(entries, value, strict=True)):
            return type(value)(entries)
    return value


# ------------------------------------------------------------- beyond what is known


def _replace_in(holder: Any, old: Any, new: Any) -> Any:
    """Put one object in the place of another one in a third. What becomes of that:
    itself, if it can be changed.
    """
    if isinstance(holder, (tuple, frozenset)):
        entries = [new if entry is old else entry for entry in holder]
        if isinstance(holder, frozenset):
            return type(holder)(entries)
        return tuple.__new__(type(holder), entries)
    if isinstance(holder, dict):
        rows = [[new if x is old else x for x in row] for row in holder.items()]
        if any(key is old for key in holder):
            holder.clear()
        for key, value in rows:
            holder[key] = value
    elif isinstance(holder, (list, collections.deque)):
        for k, entry in enumerate(holder):
            if entry is old:
                holder[k] = new
    elif isinstance(holder, set):
        holder.discard(old)
        holder.add(new)
    elif isinstance(holder, types.CellType):
        holder.cell_contents = new
    else:
        _place_in_object(old, new, holder)
    return holder


def _place_in_object(old: Any, new: Any, holder: Any) -> None:
    names = list(getattr(holder, "__dict__", ()))
    for cls in type(holder).__mro__:
        slots = vars(cls).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    for name in names:
        try:
            if getattr(holder, name) is old:
                object.__setattr__(holder, name, new)
        except (AttributeError, TypeError):
            pass  # a name that is not set, or mangled; an object that does not change


def _replace_anywhere(old: list[Any], new: list[Any]) -> None:
    """Put numbers in the place of sizes in whatever the collector knows of."""
    for _ in range(_ROUNDS):
        more_old: list[Any] = []
        more_new: list[Any] = []
        own = [id(old), id(new), id(more_old), id(more_new)]
        for k in range(len(old)):
            for holder in gc.get_referrers(old[k]):
                if id(holder) in own or isinstance(holder, types.FrameType):
                    continue
                changed = _replace_in(holder, old[k], new[k])
                if changed is not holder:
                    more_old.append(holder)
                    more_new.append(changed)
        if not more_old:
            break
        old[:], new[:] = more_old, more_new


# -------------------------------------------------------------------- a recording


def settle(roots: list[Any]) -> list[Any]:
    """Before a recording ends: the sizes that are left of it.

    ``roots`` hold its result and its inputs. The recording is bound to sizes that
    something else has, too.
    """
    if _core._sizes_alive() is None:
        return []
    walk = _Walk(values=False)
    walk.in_list(roots)
    sizes: list[Any] = _core._sizes_alive()
    if any(map(operator.gt, _core._references(sizes), walk.counts(sizes))):
        del sizes
        gc.collect()  # cycles: of functions that call themselves, of exceptions
        sizes = _core._sizes_alive()
    elsewhere = map(operator.gt, _core._references(sizes), walk.counts(sizes))
    for size in itertools.compress(sizes, list(elsewhere)):
        operator.index(size)
    return sizes


def release(roots: list[Any], sizes: list[Any]) -> None:
    """After it: put numbers in their place, in ``roots`` and wherever they are."""
    if not sizes:
        return
    _Walk(values=True).in_list(roots)
    left = list(itertools.compress(sizes, _core._references(sizes)))
    sizes.clear()
    _replace_anywhere(left, [_core._size_plain(size) for size in left])


class WantsNumbers(Exception):
    """A function that was given sizes has failed, and may not if it gets numbers."""


def explain(
    error: BaseException,
    snapshot: Any,
    inputs: Any,
    reads: Any,
    noted: tuple[list[Any], list[Any]],
) -> None:
    """Of an exception that leaves a function which is being recorded: may it be due to
    sizes, and can the function be called again? Then the exception is another one.
    """
    if not isinstance(error, _OF_TYPES):
        return
    if _core._sizes_alive() is None:
        return
    same = reads is None or reads.changed() < 0
    if same and not any(noted) and _core._freeze_untouched(snapshot, inputs):
        raise WantsNumbers from error
    if type(error) is TypeError:
        raise TypeError(_HINT.format(error)) from error
