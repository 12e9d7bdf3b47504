"""What a function reads without being given it: from its closure and from globals."""

from __future__ import annotations

import dis
import functools
import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from drjit import _core
from drjit._freeze_ad import leaves

# Of what counts by its value.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))

# Of what has no parts, and is no function.
_WHOLE = frozenset({*_PLAIN, type(...), type, types.ModuleType})

_READ_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_WRITE_GLOBAL = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_READ_CELL = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_WRITE_CELL = frozenset({"STORE_DEREF", "DELETE_DEREF"})
_READ_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_WRITE_ATTRIBUTE = frozenset({"STORE_ATTR", "DELETE_ATTR"})


class _Names:
    """Names in a function's code, and in the code of what is defined within, with the
    attributes that are read of each."""

    def __init__(self, code: types.CodeType) -> None:
        self._globals: dict[str, set[str]] = {}
        self._cells: dict[str, set[str]] = {}
        self._written_globals: set[str] = set()
        self._written_cells: set[str] = set()
        self._written_attributes: set[str] = set()
        self._add(code, frozenset(code.co_freevars))

    def globals(self) -> list[tuple[str, tuple[str, ...]]]:
        return self._pairs(self._globals, self._written_globals)

    def cells(self) -> list[tuple[str, tuple[str, ...]]]:
        return self._pairs(self._cells, self._written_cells)

    def _pairs(
        self, read: dict[str, set[str]], written: set[str]
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Those that are not assigned to."""
        return [
            (name, tuple(sorted(read[name] - self._written_attributes)))
            for name in sorted(read.keys() - written)
        ]

    def _add(self, code: types.CodeType, free: frozenset[str]) -> None:
        """``free``: names that are variables of the function's closure here, too."""
        attributes: set[str] | None = None  # of what the last instruction has read
        for step in dis.get_instructions(code):
            name = step.argval
            if attributes is not None and step.opname in _READ_ATTRIBUTE:
                attributes.add(name)
            attributes = None
            if step.opname in _READ_GLOBAL:
                attributes = self._globals.setdefault(name, set())
            elif step.opname in _READ_CELL and name in free:
                attributes = self._cells.setdefault(name, set())
            elif step.opname in _WRITE_GLOBAL:
                self._written_globals.add(name)
            elif step.opname in _WRITE_CELL and name in free:
                self._written_cells.add(name)
            elif step.opname in _WRITE_ATTRIBUTE:
                self._written_attributes.add(name)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._add(inner, free.intersection(inner.co_freevars))


class _Name:
    """A name, and the attributes that are read of its value."""

    def __init__(self, place: Any, attributes: tuple[str, ...]) -> None:
        self.place = place  # a key of globals, or a cell
        self._attributes = attributes
        self._last: tuple[Any, list[Any]] = (None, [])  # a value, where it has them

    def add(self, value: Any, found: list[Any]) -> None:
        found.append(value)
        if not self._attributes:
            return
        last, spaces = self._last
        if last is not value:
            spaces = _spaces(value)
            self._last = (value, spaces)
        if not spaces:
            return
        for name in self._attributes:
            for space in spaces:
                if name in space:
                    found.append(space[name])
                    break
            else:
                found.append(...)


def _spaces(value: Any) -> list[Any]:
    """Where a module, class or other object has its attributes; not Dr.Jit's own."""
    if isinstance(value, types.ModuleType):
        return [] if _is_own(value.__name__) else [value.__dict__]
    cls = value if isinstance(value, type) else type(value)
    if _is_own(cls.__module__) or cls.__module__ == "builtins":
        return []
    own = [] if cls is value else [getattr(value, "__dict__", {})]
    return [*own, *(vars(base) for base in cls.__mro__ if base is not object)]


def _is_own(module: Any) -> bool:
    return str(module).partition(".")[0] == "drjit"


class _Source:
    """Where a function's names are: it reads these, and assigns to none of them."""

    def __init__(self, function: types.FunctionType) -> None:
        code = function.__code__
        names = _Names(code)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._space = function.__globals__
        self._globals = [_Name(name, read) for name, read in names.globals()]
        self._cells = [_Name(cells[name], read) for name, read in names.cells()]

    def __bool__(self) -> bool:
        return bool(self._globals or self._cells)

    def values(self) -> list[Any]:
        """Their values, and those of attributes; `...` of what is not bound."""
        found: list[Any] = []
        for name in self._globals:
            name.add(self._space.get(name.place, ...), found)
        for name in self._cells:
            try:
                value = name.place.cell_contents
            except ValueError:  # not assigned yet
                value = ...
            name.add(value, found)
        return found


def _package(function: types.FunctionType) -> str:
    return (function.__module__ or "").partition(".")[0]


@functools.lru_cache(maxsize=1024)
def _digest(code: types.CodeType) -> str:
    """A text that is the same for the same code, in other processes, too."""
    import hashlib  # takes longer than most functions

    parts = (
        code.co_name,
        code.co_code,
        code.co_names,
        code.co_freevars,
        [
            _digest(x) if isinstance(x, types.CodeType) else repr(x)
            for x in code.co_consts
        ],
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _identity(function: types.FunctionType) -> tuple[Any, ...]:
    """What a function is, but for what it reads."""
    return _digest(function.__code__), function.__defaults__, function.__kwdefaults__


def _split(called: Any) -> tuple[Any, list[Any]]:
    """The function that is called, and what it is given: of methods, and partial()."""
    given: list[Any] = []
    while True:
        if isinstance(called, types.MethodType):
            given.append(called.__self__)
            called = called.__func__
        elif isinstance(called, functools.partial):
            given.append((called.args, called.keywords))
            called = called.func
        else:
            return called, given


def _counts(value: Any) -> bool:
    """Not if it is a container of things that are no arrays, or contains itself.

    Functions are likely to fill such a one, or to count something there.
    """
    if type(value) in _WHOLE or isinstance(value, _core.ArrayBase):
        return True
    try:
        found = leaves(value)
    except RecursionError:
        return False
    if any(leaf is value or _core.is_jit_v(leaf) for leaf in found):
        return True
    if _is_own(type(value).__module__):  # dr.rng(): it gets arrays
        return True
    return isinstance(value, tuple) and all(isinstance(x, _PLAIN) for x in found)


def _has_arrays(value: Any) -> bool:
    return any(map(_core.is_jit_v, leaves(value)))


class _Reading(NamedTuple):
    """What was read the last time."""

    functions: list[types.FunctionType]  # that are followed
    sources: list[_Source]  # of these
    values: list[Any]  # of their names
    found: tuple[Any, ...]  # of these, what counts
    settled: bool  # can it change while the values are the same objects?


class Implicit:
    """The implicit inputs of a function: call it to get them, a tuple.

    They are the arrays, PyTrees with arrays, plain values, functions and other objects
    that it reads by name, or as attributes of what has a name (``config.scale``); those
    that functions of its package read which it refers to so; what it has as defaults of
    parameters. Names and attributes that a function assigns to are none.
    """

    def __init__(self, called: Any, unwrap: Callable[[Any], Any]) -> None:
        """``unwrap``: the function in an object that calls it, or the object itself."""
        function, self._given = _split(called)
        self._unwrap = unwrap
        self._package = ""
        self._last = _Reading([], [], [], (), True)
        if isinstance(function, types.FunctionType):
            defaults = function.__defaults__, function.__kwdefaults__
            self._given += [part for part in defaults if _has_arrays(part)]
            self._package = _package(function)
            sources = [_Source(function)]
            self._last = _Reading([function], sources, [], (), False)

    def __bool__(self) -> bool:
        sources = self._last.sources
        return bool(self._given or any(sources))

    def __call__(self) -> tuple[Any, ...]:
        last = self._last
        values = [*self._given]
        for source in last.sources:
            values += source.values()
        same = len(values) == len(last.values) and all(
            map(operator.is_, values, last.values)
        )
        if not (same and last.settled):
            self._last = last = self._take(last, values)
        return last.found

    def _followed(self, value: Any) -> types.FunctionType | None:
        """The function of this package that a value is, or calls."""
        function = None if type(value) in _WHOLE else self._unwrap(value)
        if isinstance(function, types.FunctionType):
            if self._package and _package(function) == self._package:
                return function
        return None

    def _take(self, last: _Reading, values: list[Any]) -> _Reading:
        """Of what the names are now, what counts."""
        functions, sources = last.functions, last.sources
        named = list(map(self._followed, values))
        if not {f for f in named if f} <= set(functions):
            functions, sources, values = self._follow(functions[0], sources[0])
            named = list(map(self._followed, values))
        found: list[Any] = []
        settled = True
        for value, function in zip(values, named, strict=True):
            if function:
                value = _identity(function)
            elif not _counts(value):
                value, settled = ..., False
            found.append(value)
        return _Reading(functions, sources, values, tuple(found), settled)

    def _follow(
        self, function: types.FunctionType, source: _Source
    ) -> tuple[list[types.FunctionType], list[_Source], list[Any]]:
        """The functions that one refers to, and those that they do; values of names."""
        functions, sources, values = [function], [source], [*self._given]
        for source in sources:  # there are more and more of them
            for value in source.values():
                values.append(value)
                inner = self._followed(value)
                if inner and inner not in functions:
                    functions.append(inner)
                    sources.append(_Source(inner))
        return functions, sources, values
