"""The names that occur in code: in what ran, and in what a function refers to.

Code of the standard library, of NumPy and of this package is quiet: what it names does
not count.
"""

from __future__ import annotations

import gc
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from drjit import _core

# Modules whose code reads nothing that changes, but for what it calls in C.
_QUIET = frozenset({"drjit", "numpy", "builtins", *sys.stdlib_module_names})

# Constants of code that may be names: of attributes, entries and modules.
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_LONGEST_NAME = 100
_FIELD = re.compile(r"{([^{}]*)")  # of a format


def is_quiet(space: dict[str, Any]) -> bool:
    """Is this the namespace of a module whose code does not count?"""
    return is_quiet_module(space.get("__name__"))


def is_quiet_module(name: Any) -> bool:
    if not isinstance(name, str):
        return False
    return name.partition(".")[0] in _QUIET or name.startswith("namedtuple_")


def is_installed(code: types.CodeType) -> bool:
    return "site-packages" in code.co_filename


def _names_in(constant: Any) -> Iterator[str]:
    """Names by which something may be looked up: a whole text, or fields of a format
    (``"{0.k}"``). Attributes of patterns are a tuple of these."""
    if isinstance(constant, tuple):
        for entry in constant:
            yield from _names_in(entry)
    elif isinstance(constant, str) and "{" in constant:
        for field in _FIELD.findall(constant):
            for name in _NAME.findall(field):
                yield from (name, *name.split("."))
    elif isinstance(constant, str) and len(constant) <= _LONGEST_NAME:
        if _NAME.fullmatch(constant):
            yield from (constant, *constant.split("."))


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _nested(inner)


class Names:
    """The names that a function may read, and where the code with each runs."""

    def __init__(self) -> None:
        self.attributes: set[str] = set()
        # By their id: namespaces, names, and codes that run there.
        self._spaces: dict[int, tuple[dict[str, Any], set[str], set[int]]] = {}
        self._codes: dict[int, types.CodeType] = {}
        self.version = 0  # another one when there are more names

    def __len__(self) -> int:
        return len(self._codes)

    def knows(self, code: types.CodeType) -> bool:
        return id(code) in self._codes

    def add(self, code: types.CodeType, space: dict[str, Any]) -> None:
        """Add those of code, and of the code within, that runs in a namespace."""
        _, names, known = self._spaces.setdefault(id(space), (space, set(), set()))
        if id(code) in known:
            return
        before = len(self.attributes), len(names)
        for inner in _nested(code):
            known.add(id(inner))
            self._codes[id(inner)] = inner
            found = {*inner.co_names, *_names_in(inner.co_consts)}
            self.attributes.update(found)
            names.update(found)
        self.version += before != (len(self.attributes), len(names))

    def add_fields(self, fields: Any) -> None:
        """Add names that a class has for patterns, or an object to look up."""
        if type(fields) is tuple:
            before = len(self.attributes)
            self.attributes.update(_names_in(fields))
            self.version += before != len(self.attributes)

    def spaces(self) -> list[tuple[dict[str, Any], set[str]]]:
        return [(space, names) for space, names, _ in self._spaces.values()]


def listener() -> Any:
    """Notes which code runs in this thread, and what it calls in C. Of packages that
    the collector calls, what it calls them for is not the function's."""
    called = [f for f in gc.callbacks if isinstance(f, types.FunctionType)]
    if not called:
        return _core._Listener(is_quiet)
    others = [f.__globals__ for f in called if is_installed(f.__code__)]
    return _core._Listener(
        lambda space: is_quiet(space) or any(space is other for other in others)
    )


def learn(
    names: Names,
    ran: Iterable[tuple[types.CodeType, dict[str, Any]]],
    formats: Iterable[str],
) -> bool:
    """Add the names of code that has run, and of formats that were used. Was there any
    that is new, or code?"""
    before = len(names), names.version
    for code, space in ran:
        names.add(code, space)
    names.add_fields(tuple(formats))
    return before != (len(names), names.version)
