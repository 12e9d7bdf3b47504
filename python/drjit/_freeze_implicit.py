"""What a function reads without being given it: from its closure and from globals."""

from __future__ import annotations

import functools
import opcode
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from drjit import _core
from drjit._freeze_ad import leaves

# Of what has no parts, and is no function.
_WHOLE = frozenset(
    {bool, int, float, complex, str, bytes, type(None), type(...), type}
    | {types.ModuleType}
)

# What `_core._freeze_contents()` says.
_PLAIN_VALUES, _ARRAYS_OR_A_LEAF = 1, 2

# What an instruction does with a name, and by how much its argument is shifted to be
# the number of that.
_READ_GLOBAL, _WRITE_GLOBAL, _READ_CELL, _WRITE_CELL, _READ_FIELD, _WRITE_FIELD = range(
    6
)
_OF_CELLS = (_READ_CELL, _WRITE_CELL)
_ROLES = {
    opcode.opmap[name]: (role, shift)
    for name, role, shift in (
        ("LOAD_GLOBAL", _READ_GLOBAL, int(sys.version_info >= (3, 11))),
        ("LOAD_NAME", _READ_GLOBAL, 0),
        ("LOAD_FROM_DICT_OR_GLOBALS", _READ_GLOBAL, 0),
        ("STORE_GLOBAL", _WRITE_GLOBAL, 0),
        ("DELETE_GLOBAL", _WRITE_GLOBAL, 0),
        ("LOAD_DEREF", _READ_CELL, 0),
        ("LOAD_CLASSDEREF", _READ_CELL, 0),
        ("LOAD_FROM_DICT_OR_DEREF", _READ_CELL, 0),
        ("STORE_DEREF", _WRITE_CELL, 0),
        ("DELETE_DEREF", _WRITE_CELL, 0),
        ("LOAD_ATTR", _READ_FIELD, int(sys.version_info >= (3, 12))),
        ("LOAD_METHOD", _READ_FIELD, 0),
        ("STORE_ATTR", _WRITE_FIELD, 0),
        ("DELETE_ATTR", _WRITE_FIELD, 0),
    )
    if opcode.opmap.get(name, 256) < 256  # those above are of the compiler only
}
_NAMED = re.compile(b"[" + re.escape(bytes(_ROLES)) + b"]")
# No instructions of their own.
_PARTS = bytes({opcode.EXTENDED_ARG, opcode.opmap.get("CACHE", opcode.EXTENDED_ARG)})


def _cell_names(code: types.CodeType) -> tuple[str, ...]:
    """Of the variables that instructions on cells have numbers of."""
    if sys.version_info < (3, 11):
        return code.co_cellvars + code.co_freevars
    own = set(code.co_varnames)
    cells = tuple(name for name in code.co_cellvars if name not in own)
    return code.co_varnames + cells + code.co_freevars


def _uses(code: types.CodeType) -> Iterator[tuple[int, int, str]]:
    """What instructions do with which name, and how many others come before each.

    The module dis takes a hundred times as long, which is more than to record a
    function.
    """
    names, cells = code.co_names, _cell_names(code)
    units = code.co_code
    operations = units[::2]
    last = 0
    for match in _NAMED.finditer(operations):
        place = match.start()
        role, shift = _ROLES[operations[place]]
        argument, k = units[2 * place + 1], 1
        while place >= k and operations[place - k] == opcode.EXTENDED_ARG:
            argument |= units[2 * (place - k) + 1] << 8 * k
            k += 1
        others = len(operations[last:place].translate(None, _PARTS))
        last = place + 1
        if role in _OF_CELLS:
            yield others, role, cells[argument]
        else:
            yield others, role, names[argument >> shift]


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
        for others, role, name in _uses(code):
            if role == _READ_FIELD and attributes is not None and not others:
                attributes.add(name)
            attributes = None
            if role == _READ_GLOBAL:
                attributes = self._globals.setdefault(name, set())
            elif role == _READ_CELL and name in free:
                attributes = self._cells.setdefault(name, set())
            elif role == _WRITE_GLOBAL:
                self._written_globals.add(name)
            elif role == _WRITE_CELL and name in free:
                self._written_cells.add(name)
            elif role == _WRITE_FIELD:
                self._written_attributes.add(name)
        for inner in code.co_consts:
            if type(inner) is types.CodeType:
                self._add(inner, free.intersection(inner.co_freevars))


# What stood where it was looked for, as `_core._Places` compares it: (dictionary or
# cell, key, what was there; `...`: nothing).
_Seen = list[tuple[Any, Any, Any]]

_PLACES = (dict, types.CellType)
_ABSENT = object()


def _content(cell: types.CellType) -> Any:
    """What is there; `...` if there is nothing."""
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return ...


_names = functools.lru_cache(maxsize=1024)(_Names)


class _Name:
    """A name, and the attributes that are read of its value."""

    def __init__(self, place: Any, attributes: tuple[str, ...]) -> None:
        self.place = place  # a key of globals, or a cell
        self.attributes = attributes
        self._last: tuple[Any, list[Any]] = (None, [])  # a value, where it has them

    def add(self, value: Any, values: list[Any], seen: _Seen) -> None:
        """Add the value, those of attributes, and where the latter are."""
        values.append(value)
        last, spaces = self._last
        if last is not value:
            spaces = _spaces(value)
            self._last = (value, spaces)
        if not spaces:
            return
        for name in self.attributes:
            for space in spaces:
                value = space.get(name, _ABSENT)
                if value is not _ABSENT:
                    seen.append((space, name, value))
                    break
                seen.append((space, name, ...))
            else:
                value = ...
            values.append(value)


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
        names = _names(code)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._space = function.__globals__
        self._globals = [_Name(name, read) for name, read in names.globals()]
        self._cells = [_Name(cells[name], read) for name, read in names.cells()]

    def __bool__(self) -> bool:
        return bool(self._globals or self._cells)

    def read(self, values: list[Any], seen: _Seen) -> None:
        """Add their values, and those of attributes, `...` of what is not bound; and
        where they were found, or would be."""
        space = self._space
        for name in self._globals:
            key = name.place
            value = space.get(key, ...)
            seen.append((space, key, value))
            if name.attributes:
                name.add(value, values, seen)
            else:
                values.append(value)
        for name in self._cells:
            value = _content(name.place)
            seen.append((name.place, None, value))
            name.add(value, values, seen)


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
        contents = _core._freeze_contents(value)
    except RecursionError:
        return False
    if contents == _ARRAYS_OR_A_LEAF or _is_own(type(value).__module__):
        return True  # dr.rng() gets arrays
    return contents == _PLAIN_VALUES and isinstance(value, tuple)


def _has_arrays(value: Any) -> bool:
    return any(map(_core.is_jit_v, leaves(value)))


class _Reading(NamedTuple):
    """What was read the last time."""

    functions: list[types.FunctionType]  # that are followed
    sources: list[_Source]  # of these
    values: list[Any]  # of their names
    found: tuple[Any, ...]  # of these, what counts
    settled: bool  # it cannot change while the values are the same objects


class Implicit(_core._Places):  # type: ignore[misc]
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
        self._seen: Any = None  # by which `_core._Places` knows what was found
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

    def _read(self) -> tuple[Any, ...]:
        """What it is called for, if something else stands in one of the places."""
        last = self._last
        values = [*self._given]
        seen: _Seen = []
        for source in last.sources:
            source.read(values, seen)
        same = len(values) == len(last.values) and all(
            map(operator.is_, values, last.values)
        )
        if not (same and last.settled):
            self._last = last = self._take(last, values, seen)
        elif self._seen is not None:
            self._seen = tuple(seen), last.found
        return last.found

    def _followed(self, value: Any) -> types.FunctionType | None:
        """The function of this package that a value is, or calls."""
        function = None if type(value) in _WHOLE else self._unwrap(value)
        if isinstance(function, types.FunctionType):
            if self._package and _package(function) == self._package:
                return function
        return None

    def _take(self, last: _Reading, values: list[Any], seen: _Seen) -> _Reading:
        """Of what the names are now, what counts."""
        functions, sources = last.functions, last.sources
        taken = self._count(values, functions)
        if taken is None:
            functions, sources, values, seen = self._follow(functions[0], sources[0])
            taken = self._count(values, None)
            assert taken is not None  # with all functions it is not
        found, settled = taken
        known = tuple(found)
        comparable = settled and _comparable(seen)
        self._seen = (tuple(seen), known) if comparable else None
        return _Reading(functions, sources, values, known, settled)

    def _count(
        self, values: list[Any], functions: list[types.FunctionType] | None
    ) -> tuple[list[Any], bool] | None:
        """What counts of values, `...` in the place of others, and whether that cannot
        change while they are the same objects; None if there is a function of this
        package that is none of these."""
        found: list[Any] = []
        settled = True
        for value in values:
            if type(value) in _WHOLE:
                found.append(value)
                continue
            function = self._followed(value)
            if function:
                if functions is not None and function not in functions:
                    return None
                value = _identity(function)
            elif not _counts(value):
                value, settled = ..., False
            found.append(value)
        return found, settled

    def _follow(
        self, function: types.FunctionType, source: _Source
    ) -> tuple[list[types.FunctionType], list[_Source], list[Any], _Seen]:
        """The functions that one refers to, and those that they do; values of names,
        and where they are."""
        functions, sources, values = [function], [source], [*self._given]
        seen: _Seen = []
        for source in sources:  # there are more and more of them
            first = len(values)
            source.read(values, seen)
            for value in values[first:]:
                inner = self._followed(value)
                if inner and inner not in functions:
                    functions.append(inner)
                    sources.append(_Source(inner))
        return functions, sources, values, seen


def _comparable(seen: _Seen) -> bool:
    """Can `_core._Places` look at all of these?"""
    return all(type(space) in _PLACES for space, _, _ in seen)
