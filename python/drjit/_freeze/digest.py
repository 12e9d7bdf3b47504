"""What a function is, as a text that other processes have for the same one: ``digest``.

It is made of the function's code (instructions, names, constants, code within it), of
the defaults of its parameters, and likewise of what it may call: functions, classes and
parts of modules whose names occur in the code, those in its closure, and those that are
in tuples, lists, dictionaries and attributes there. Plain values that it reads by name
do not count, since they are inputs; those of functions of other packages do, if they
cannot change. Dr.Jit and Python's own library are taken as they are.

A name that is not read counts as if it was, so a text may change without need. It also
changes with the version of Python, since instructions do.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import types
from collections.abc import Iterator
from enum import Enum
from typing import Any

from drjit import _core

# Functions and classes that are looked at, at most; values; how deep they are.
_THINGS, _VALUES, _DEPTH = 4096, 200_000, 4

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
# Which plain values count: those that cannot change, or those in containers, too.
_CONSTANT, _ALL = 1, 2

_METHODS = (staticmethod, classmethod, property)
_ANNOTATIONS = ("__annotate__", "__annotate_func__")
_OWN_LIBRARY = os.path.dirname(os.__file__)
_OWN_NAMES = frozenset(sys.stdlib_module_names)


def constant(value: Any) -> str:
    """A text for a plain value, or one in code: other texts for other ones."""
    kind = type(value)
    if kind is types.CodeType:
        return code_digest(value)
    if kind is int:
        return f"int {value:x}"
    if kind is float:
        return f"float {value.hex()}"
    if kind is complex:
        return f"complex {value.real.hex()} {value.imag.hex()}"
    if kind is tuple:
        return f"({', '.join(map(constant, value))})"
    if kind is frozenset:  # its order depends on the process
        return f"{{{', '.join(sorted(map(constant, value)))}}}"
    if kind is slice:
        return f"slice {constant((value.start, value.stop, value.step))}"
    return repr(value) if kind in _PLAIN else f"a {kind.__module__}.{kind.__qualname__}"


@functools.lru_cache(maxsize=1024)
def code_digest(code: types.CodeType) -> str:
    """A text that is the same for the same code; not where it stands, and its name."""
    parts = (
        sys.implementation.cache_tag,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_varnames,
        code.co_names,
        code.co_freevars,
        code.co_cellvars,
        code.co_code,
        getattr(code, "co_exceptiontable", b""),
        constant(code.co_consts),
    )
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[str, ...]:
    """All names in code, and in code within it."""
    found = set(code.co_names)
    for inner in code.co_consts:
        if type(inner) is types.CodeType:
            found.update(_names(inner))
    return tuple(sorted(found))


def _is_own(module: Any, file: str | None = None) -> bool:
    """Does something belong to Dr.Jit, or to Python's library? A program may have
    modules that are called as some of that."""
    top = str(module).partition(".")[0]
    if top in ("drjit", "builtins"):
        return True
    if top not in _OWN_NAMES:
        return False
    if file is None:
        file = getattr(sys.modules.get(top), "__file__", None)
    return file is None or file.startswith(("<frozen", _OWN_LIBRARY))


def _parts(value: Any, names: tuple[str, ...]) -> list[Any]:
    """What a value has in it, or by one of these names."""
    if isinstance(value, (tuple, list)):
        return list(value)
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.cached_property):
        return [value.func]
    if isinstance(value, types.ModuleType):
        space = {} if _is_own(value.__name__) else vars(value)
        return [space[name] for name in names if name in space]
    space = getattr(value, "__dict__", {})
    inner = [space[name] for name in ("__wrapped__", *names) if name in space]
    return [type(value), *inner]


def _package(function: types.FunctionType) -> str:
    return (function.__module__ or "").partition(".")[0]


class _Walk:
    """Functions and classes, each once, with the texts that they consist of."""

    def __init__(self, package: str) -> None:
        """``package``: where plain values are inputs of the function."""
        self._package = package
        self.found: list[Any] = []  # it keeps them, so that their ids stay theirs
        self._numbers: dict[int, int] = {}
        self._left = _VALUES

    def _add(self, thing: Any) -> str:
        """The number of a function or class, which is looked at in its turn."""
        number = self._numbers.get(id(thing))
        if number is None:
            if len(self.found) == _THINGS:
                return "..."
            number = self._numbers[id(thing)] = len(self.found)
            self.found.append(thing)
        return f"#{number}"

    def word(
        self, value: Any, names: tuple[str, ...] = (), values: int = 0, depth: int = 0
    ) -> str:
        """What counts of a value: functions and classes that it is, or has by one of
        these names; and which plain values."""
        while isinstance(value, _core._FrozenFunctionBase):  # a frozen function
            value = value._function
        value = _core._lazy_target(value)
        kind = type(value)
        if kind in _PLAIN:
            return constant(value) if values else ""
        if kind is types.FunctionType:
            if _is_own(value.__module__, value.__code__.co_filename):
                return f"{value.__module__}.{value.__qualname__}"
            return self._add(value)
        if isinstance(value, type):
            if _is_own(value.__module__):
                return f"{value.__module__}.{value.__qualname__}"
            return self._add(value)
        self._left -= 1
        if depth == _DEPTH or self._left < 0:
            return "..."
        if kind in (set, frozenset):
            counts = values == _ALL or (values and kind is frozenset)
            return constant(frozenset(value)) if counts else ""
        if isinstance(value, functools.partial):  # as the defaults of parameters
            given = self.word((value.args, value.keywords), names, _ALL, depth + 1)
            return f"{self.word(value.func, names, 0, depth + 1)} with {given}"
        if values == _CONSTANT and kind is not tuple:
            values = 0
        parts = _parts(value, names)
        words = [self.word(part, names, values, depth + 1) for part in parts]
        counts = values == _ALL or any(words)
        return f"{kind.__name__}({', '.join(words)})" if counts else ""

    def text(self, thing: Any) -> str:
        """What a function or class consists of."""
        if isinstance(thing, type):
            return "; ".join(self._text_of_class(thing))
        code = thing.__code__
        names, space = _names(code), thing.__globals__
        values = 0 if _package(thing) == self._package else _CONSTANT
        parts = [
            code_digest(code),
            self.word(thing.__defaults__ or (), (), _ALL),
            self.word(thing.__kwdefaults__ or {}, (), _ALL),
        ]
        for name, cell in zip(code.co_freevars, thing.__closure__ or (), strict=True):
            try:
                parts.append(f"{name}: {self.word(cell.cell_contents, names, values)}")
            except ValueError:  # not assigned yet
                parts.append(name)
        for name in names:
            word = self.word(space.get(name), names, values)
            parts += [f"{name}: {word}"] if word else []
        return "; ".join(parts)

    def _text_of_class(self, cls: type) -> Iterator[str]:
        yield f"{cls.__module__}.{cls.__qualname__}"
        yield self.word(type(cls))
        if issubclass(cls, Enum):
            for name, member in cls.__members__.items():
                yield f"{name}: {self.word(member.value, (), _ALL)}"
            return
        yield ", ".join(map(self.word, cls.__bases__))
        for name, value in sorted(vars(cls).items()):
            hidden = name.startswith("__") and name.endswith("__")
            if hidden and not isinstance(value, (types.FunctionType, *_METHODS)):
                continue
            if name not in _ANNOTATIONS:
                yield f"{name}: {self.word(value, (), _ALL)}"


def digest(*things: Any) -> str:
    """A text for functions and classes, other texts for other ones."""
    functions = [thing for thing in things if isinstance(thing, types.FunctionType)]
    read = {name for function in functions for name in _names(function.__code__)}
    names = tuple(sorted(read))
    walk = _Walk(_package(functions[0]) if functions else "")
    parts = [walk.word(thing, names) for thing in things]
    number = 0
    while number < len(walk.found):  # there are more and more of them
        parts.append(walk.text(walk.found[number]))
        number += 1
    text = "\n".join(parts)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
