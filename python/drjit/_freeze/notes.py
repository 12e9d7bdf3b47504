"""What frozen functions say in the log: which inputs differ from those of the latest
recording, and which literals have changed.
"""

from __future__ import annotations

import contextlib
from typing import Any

from drjit import _core
from drjit._enums import VarState

# Of the inputs of a call.
_PARTS = {
    "[0]": "args",
    "[1]": "kwargs",
    "[2]": "closure",
    "[3]": "state",
    "[4]": "gradients",
}

# Inputs that are described at most; the characters of each, and of its path;
# differences that a warning names.
_INPUTS, _TEXT, _PATH, _NAMED = 1000, 60, 120, 3

# The path of what is not described.
_MORE = "..."

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))

# Inputs by path: what they are, and how many entries there are, or the shape; more than
# one entry, else it is part of what they are.
Described = dict[str, tuple[str, Any]]


def named(path: str) -> str:
    """A path in the inputs as the user knows it: "args[1]", "kwargs['c'].z"."""
    return _PARTS.get(path[:3], "") + path[3:]


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def describe(inputs: Any) -> Described:
    """What recordings are chosen by."""
    from drjit._text.nodes import paths

    found: Described = {}
    for path, (kind, item, *_) in paths("freeze", inputs):
        if len(found) == _INPUTS:
            found[_MORE] = "", None
            break
        text, size = (type(item).__name__, None) if kind == "open" else _leaf(item)
        found[_shortened(named(path), _PATH)] = _shortened(text, _TEXT), size
    return found


def _leaf(item: Any) -> tuple[str, Any]:
    name = type(item).__name__
    if isinstance(item, (list, dict)):
        return f"{name} that it stands in", None
    if not isinstance(item, _core.ArrayBase):
        text = _object(item)
        return text if type(item) in _PLAIN else f"{name} {text}", None
    if not _core.is_jit_v(item):
        return f"{name} {item}", None
    if _core.is_tensor_v(item):
        return name, item.shape
    if item.state == VarState.Literal:
        return f"{name}, literal {item}", None
    width = _core.width(item)
    if width > 1:
        return name, width
    return f"{name} of {width} {'entry' if width else 'entries'}", None


def _object(item: Any) -> str:
    """A short text; objects may have a long one, or fail at giving one."""
    if type(item) is int and item.bit_length() > 4 * _TEXT:
        return f"int of {item.bit_length()} bits"
    if isinstance(item, (str, bytes, bytearray)):
        return repr(item[:_TEXT])
    if isinstance(item, (set, frozenset)) and len(item) > _TEXT:
        return f"of {len(item)} entries"
    cls: Any = type(item)
    if cls.__repr__ is not object.__repr__:
        with contextlib.suppress(Exception):
            return repr(item)
    return f"at {id(item):#x}"


def _words(item: tuple[str, Any] | None) -> str:
    if item is None:
        return "not there"
    text, size = item
    if isinstance(size, tuple):
        return f"{text} of shape {size}"
    return text if size is None else f"{text} of {size} entries"


def _differ_in_size(old: tuple[str, Any] | None, new: tuple[str, Any] | None) -> bool:
    """Only in that, which recordings serve as a rule?"""
    if old is None or new is None or old[0] != new[0]:
        return False
    if isinstance(old[1], tuple) and isinstance(new[1], tuple):
        return len(old[1]) == len(new[1])
    return type(old[1]) is type(new[1])


def differences(before: Described, now: Described, sizes: bool) -> list[str]:
    """Those of the inputs of two recordings. ``sizes``: they are of the same types and
    values, so that sizes matter."""
    if _MORE in before or _MORE in now:
        both = before.keys() & now.keys() - {_MORE}
        before = {path: item for path, item in before.items() if path in both}
        now = {path: item for path, item in now.items() if path in both}
    found = [
        (path, before.get(path), now.get(path))
        for path in {**before, **now}
        if before.get(path) != now.get(path)
    ]
    others = [row for row in found if not _differ_in_size(*row[1:])]
    return [
        f"{path}: {_words(old)} before, {_words(new)} now"
        for path, old, new in (found if sizes else others or found)
    ]


def warning(name: str, count: int, changes: list[str], reason: str) -> str:
    """A function is recorded again and again."""
    what = "; ".join(changes[:_NAMED]) or reason
    if len(changes) > _NAMED:
        what += f"; and {len(changes) - _NAMED} more"
    return (
        f"drjit.freeze(): '{name}' has been recorded {count} times; what differed the "
        f"last time: {what}"
    )


def literals(name: str, changed: list[tuple[str, int, int]]) -> str:
    """Literals (path, bits before, bits now) become opaque."""
    rows = [
        f"    {named(path)}: {old:#x} before, {new:#x} now"
        for path, old, new in changed
    ]
    return "\n".join(
        [
            f"drjit.freeze(): '{name}' is called with literals that are not what they "
            "were. It is recorded once more, with these in memory, which they could be "
            "from the start (drjit.make_opaque()):",
            *rows,
        ]
    )
