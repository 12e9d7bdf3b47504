"""Recordings of frozen functions in files: ``FrozenFunction.save``, ``load_frozen``.

The core gives and takes authenticated bytes (``_core._freeze_save()``), with a note in
them. That says in JSON what belongs to Python: of each recording the rows of its inputs
and outputs (``src/python/freeze/spec_codec.h``), in which classes are "module:name".
"""

from __future__ import annotations

import enum
import importlib
import json
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from typing import Any

from drjit import _core, _family
from drjit._enums import JitBackend
from drjit._freeze.notes import named

Rows = list[tuple[Any, ...]]

_VERSION = 4
_TOLD = {"name": str, "closure": bool, "state": bool}  # of a function, beside these
_DIRECT = (bool, int, str, type(None))
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)


def paths(rows: Rows) -> list[str]:
    """Where each row stands in its tree."""
    found: list[str] = []
    stack: list[tuple[str, list[str]]] = [("", [""])]  # steps that are to come
    for row in rows:
        while not stack[-1][1]:
            stack.pop()
        path = stack[-1][0] + stack[-1][1].pop(0)
        found.append(path)
        if row[0] in ("tuple", "list"):
            stack.append((path, [f"[{i}]" for i in range(row[1])]))
        elif row[0] == "dict":
            stack.append((path, [f"[{key!r}]" for key in row[3]]))
        elif row[0] == "fields":
            stack.append((path, [f".{key}" for key in row[3]]))
    return found


# ---------------------------------------------------------------- values


class _Unknown(Exception):
    """A value that cannot be saved, and why."""


def _name_of(thing: Any) -> str:
    """The name by which another process finds a class or a function."""
    thing = _core._lazy_target(thing)
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str):
        try:
            if _find(f"{module}:{name}") is thing:
                return f"{module}:{name}"
        except (ImportError, AttributeError):
            pass
    raise _Unknown(f"{thing!r} is not found under its name in its module")


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    found = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _put_value(value: Any) -> Any:
    kind = type(value)
    if kind in _DIRECT:
        return value
    if kind is float:
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is tuple or kind is frozenset:
        return {kind.__name__: [_put_value(entry) for entry in value]}
    if value is ...:
        return {"name": "builtins:Ellipsis"}
    if isinstance(value, enum.Flag):  # perhaps several of them
        return {"flag": [_name_of(kind), value.value]}
    if isinstance(value, enum.Enum):
        return {"enum": [_name_of(kind), value.name]}
    if isinstance(value, _NAMED):
        return {"name": _name_of(value)}
    if isinstance(value, types.ModuleType):
        if sys.modules.get(value.__name__) is not value:
            raise _Unknown(f"{value!r} is not found by its name")
        return {"module": value.__name__}
    raise _Unknown(f"a {kind.__module__}.{kind.__qualname__} cannot be written down")


def _take_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float.fromhex(content)
    if kind == "complex":
        return complex(*map(float.fromhex, content))
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "tuple":
        return tuple(map(_take_value, content))
    if kind == "frozenset":
        return frozenset(map(_take_value, content))
    if kind == "enum":
        return _find(content[0])[content[1]]
    if kind == "flag":
        return _find(content[0])(content[1])
    if kind == "module":
        return importlib.import_module(content)
    return _find(content)


# ---------------------------------------------------------------- rows


def _put_object(reference: Any) -> Any:
    """What is compared by identity: found again if it has a name."""
    thing = reference()
    if isinstance(thing, (*_NAMED, types.ModuleType)):
        return ["value", _put_value(thing)]
    what = "an object" if thing is None else f"a {type(thing).__qualname__}"
    raise _Unknown(f"{what} that is compared by identity is of this process")


def _further(row: tuple[Any, ...]) -> Any:
    """Attributes beside the fields."""
    _, _, _, keys, thing = row
    attributes = {} if thing is None else _core._attributes_of(thing)
    further = {key: value for key, value in attributes.items() if key not in keys}
    return {key: _put_value(value) for key, value in further.items()} or None


def _put_row(row: tuple[Any, ...]) -> list[Any]:
    kind = row[0]
    if kind == "array":
        return [kind, list(row[1]), _name_of(row[2]), row[3] and list(row[3])]
    if kind == "entries":
        return [kind, _name_of(row[1]), row[2].hex()]
    if kind == "content":
        if row[1] is not set:
            raise _Unknown(f"the content of a {row[1].__name__} cannot be written down")
        return [kind, _put_value(row[2])]
    if kind == "value":
        return [kind, _put_value(row[1])]
    if kind == "cycle":
        raise _Unknown("it is a container that it stands in")
    if kind == "object":
        return _put_object(row[1])  # type: ignore[no-any-return]
    if kind == "dict":
        return [kind, row[1], [_put_value(key) for key in row[3]]]
    if kind == "fields":
        return [kind, row[1], _name_of(row[2]), list(row[3]), _further(row)]
    return [kind, row[1]]


def _put_rows(rows: Rows, what: str) -> list[Any]:
    found = []
    for number, row in enumerate(rows):
        try:
            found.append(_put_row(row))
        except _Unknown as reason:
            place = paths(rows)[number]
            if what == "input":
                place = named(place)
            else:  # perhaps of a function that prints
                place = f"result{place[3:].removeprefix('.result')}"
            raise TypeError(
                f"drjit.freeze(): save(): the {what} '{place}' cannot be saved: "
                f"{reason}"
            ) from None
    return found


def _take_row(row: list[Any]) -> tuple[Any, ...]:
    kind = row[0]
    if kind == "array":
        shape = row[3]
        if shape is not None:
            shape = tuple(shape)
        return (kind, tuple(row[1]), _find(row[2]), shape)
    if kind == "entries":
        return (kind, _find(row[1]), bytes.fromhex(row[2]))
    if kind == "content":
        return (kind, set, _take_value(row[1]))
    if kind == "value":
        return (kind, _take_value(row[1]))
    if kind == "dict":
        return (kind, row[1], None, [_take_value(key) for key in row[2]], None)
    if kind == "fields":
        return (kind, row[1], _find(row[2]), tuple(row[3]), _instance(row))
    return (kind, row[1], None, None, None)


def _instance(row: list[Any]) -> Any:
    if row[4] is None:
        return None
    cls = _find(row[2])
    made = (tuple if issubclass(cls, tuple) else object).__new__(cls)
    for key, value in row[4].items():
        object.__setattr__(made, key, _take_value(value))
    return made


# ---------------------------------------------------------------- files


def _text(path: Any, function: str) -> str:
    """A path as a text."""
    found = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(found, str):
        return found
    raise TypeError(
        f"drjit.{function}: 'path' is of type {type(path).__name__}, expected a str or "
        "a path"
    )


def code_of(function: Any, state_fn: Any, rows: Rows) -> str:
    """A text for a function that was recorded, and for what the inputs, of which these
    are the rows, have it call."""
    from drjit._freeze.digest import digest

    kinds = (*_NAMED, types.ModuleType, enum.Enum)
    things = {}
    for row in rows:
        thing = _object(row) if row[0] in ("value", "object") else None
        if row[0] == "fields":
            thing = row[2]
        if isinstance(thing, kinds):
            things[id(thing)] = thing
    return digest(function, state_fn, *things.values())


def save(
    path: str | os.PathLike[str],
    name: str,
    recordings: list[Any],
    code_of: Callable[[Any, Rows], str],
    has_closure: bool,
    has_state: bool,
) -> None:
    """Write recordings, the latest last. ``code_of(recording, rows)`` is a text for the
    function."""
    path = _text(path, "freeze(): save()")
    note = {
        "version": _VERSION,
        "name": name,
        "closure": has_closure,
        "state": has_state,
        "recordings": [
            {
                "inputs": _put_rows(recording.rows[0], "input"),
                "variables": recording.rows[1],
                "outputs": _put_rows(recording.output_rows, "result"),
                "repeated": recording.repeated,
                "changes": recording.changes,
                "objects": recording.objects,
                "sizes": recording.sizes,
                "suspended": recording.suspended,
                "code": code_of(recording, recording.rows[0]),
            }
            for recording in recordings
        ],
    }
    block = _core._freeze_save(recordings, json.dumps(note).encode())
    try:
        _write(path, block)
    except OSError as error:
        raise type(error)(
            f"drjit.freeze(): save(): cannot write '{path}': {error.strerror}"
        ) from error


def _write(path: str, block: bytes) -> None:
    """All of a file, or nothing."""
    handle, temporary = tempfile.mkstemp(
        dir=os.path.dirname(path) or ".", prefix=os.path.basename(path)
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(block)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(
    path: str | os.PathLike[str], backend: JitBackend | None, unordered: bool
) -> tuple[dict[str, Any], list[tuple[Any, Any]], list[tuple[str, Rows]]]:
    """The note of a file; its recordings with their keys, the latest last; for each
    the text of `code_of()`, and the rows of its inputs.

    ``unordered``: sets are equal in any order of iteration.
    """
    path = _text(path, "load_frozen()")
    try:
        with open(path, "rb") as file:
            block = file.read()
    except OSError as error:
        raise type(error)(
            f"drjit.load_frozen(): cannot read '{path}': {error.strerror}"
        ) from error
    try:
        _, data = _core._freeze_inspect(block)
    except RuntimeError as error:
        raise RuntimeError(f"drjit.load_frozen(): '{path}': {error}") from None
    try:
        return _parts(block, json.loads(data), backend, unordered)
    except _Version:
        raise RuntimeError(
            f"drjit.load_frozen(): '{path}' was written by another version"
        ) from None
    except (ImportError, AttributeError, KeyError) as error:
        raise RuntimeError(
            f"drjit.load_frozen(): '{path}' needs something that is not there: {error}"
        ) from error
    except (RuntimeError, TypeError, ValueError, LookupError, OverflowError) as error:
        raise RuntimeError(
            f"drjit.load_frozen(): '{path}' is not well-formed: {error}"
        ) from error


class _Version(Exception):
    """Of a note."""


def _parts(
    block: bytes, note: dict[str, Any], backend: JitBackend | None, unordered: bool
) -> tuple[dict[str, Any], list[tuple[Any, Any]], list[tuple[str, Rows]]]:
    """See `load()`."""
    if note.get("version") != _VERSION:
        raise _Version
    codes = [
        (entry["code"], [_take_row(row) for row in entry["inputs"]])
        for entry in note["recordings"]
    ]
    found = [
        _core._freeze_load(
            block,
            number,
            _family.number_of(backend),
            (
                codes[number][1],
                [tuple(row) for row in entry["variables"]],
                [_take_row(row) for row in entry["outputs"]],
                entry["repeated"],
            ),
            [tuple(row) for row in entry["changes"]],
            tuple(entry["objects"]),
            tuple(entry["sizes"]),
            entry["suspended"],
            unordered,
        )
        for number, entry in enumerate(note["recordings"])
    ]
    told = {key: kind(note[key]) for key, kind in _TOLD.items()}
    return told, found, codes


# ---------------------------------------------------------------- what does not fit


def _build(rows: Iterator[tuple[Any, ...]]) -> Any:
    """The next tree of rows; ``LookupError``: it has arrays, or an object is gone."""
    row = next(rows)
    kind = row[0]
    if kind == "value":
        return row[1]
    if kind == "object" and (thing := row[1]()) is not None:
        return thing
    if kind == "content" and row[1] is set:
        return set(row[2])
    if kind == "tuple":
        return tuple([_build(rows) for _ in range(row[1])])
    if kind == "list":
        return [_build(rows) for _ in range(row[1])]
    if kind == "dict":
        return {key: _build(rows) for key in row[3]}
    raise LookupError


def closure_of(rows: Rows) -> Any:
    """What was read from closures and globals. Raises ``LookupError`` if there are
    arrays, or objects that have some."""
    where = paths(rows)
    return _build(
        row for row, path in zip(rows, where, strict=True) if path[:3] == "[2]"
    )


def _words(row: tuple[Any, ...]) -> str:
    kind = row[0]
    if kind == "array":
        shape = f" of shape {row[3]}" if row[3] is not None else ""
        count = f" of {len(row[1])} variables" if len(row[1]) > 1 else ""
        return f"a {row[2].__module__}.{row[2].__name__}{shape}{count}"
    if kind == "entries":
        text = row[2].hex()
        return f"a {row[1].__module__}.{row[1].__name__} of bytes {text[:40]}"
    if kind == "content":
        text = f": {set(row[2])!r}" if row[1] is set else ""
        return f"a {row[1].__name__} with other content{text}"
    if kind == "value":
        return repr(row[1])
    if kind == "object":
        return f"{row[1]()!r}, which is compared by identity"
    if kind == "cycle":
        return f"the container {row[1]} levels above"
    if kind == "dict":
        return f"a dict with the keys {row[3]!r}"
    if kind == "fields":
        return f"a {row[2].__name__}"
    return f"a {kind} of {row[1]} entries"


def _sizes(row: tuple[Any, ...], variables: list[Any]) -> list[int]:
    """Entries of an array's variables, and extents of a tensor."""
    return [variables[k - 1][0] for k in row[1] if k] + list(row[3] or ())


def _literal(x: Any, y: Any) -> str | None:
    """How a variable differs from that of a recording."""
    if x[2] != y[2]:
        kinds = ("is in memory", "is a literal")
        return f"{kinds[x[2]]}, and {kinds[y[2]]} in the recording"
    if x[2] and x[4] != y[4]:
        return "is another literal than the one that was recorded"
    return None


def _variables(
    now: tuple[Rows, list[Any]], then: tuple[Rows, list[Any]]
) -> tuple[int, str]:
    """The first array whose variables are of another kind."""
    sizes: list[tuple[int, int]] = []
    for number, (row, old) in enumerate(zip(now[0], then[0], strict=True)):
        if row[0] != "array":
            continue
        if row[1] != old[1]:
            return number, "shares its variables with others than when recorded"
        for k in row[1]:
            different = _literal(now[1][k - 1], then[1][k - 1]) if k else None
            if different:
                return number, different
        pairs = zip(_sizes(row, now[1]), _sizes(old, then[1]), strict=True)
        for x, y in pairs:
            if min(x, 2) != min(y, 2):
                return number, f"has {x} entries, and {y} in the recording"
            if any((x == i) != (y == j) for i, j in sizes):
                return number, "is not as large as the same arrays as when recorded"
            sizes.append((x, y))
    return len(now[0]), "has other memory than when it was recorded"


def _object(row: tuple[Any, ...]) -> Any:
    return row[1]() if row[0] == "object" else row[1]


def _alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Are two rows the same, but for variables and sizes?"""
    kinds = {a[0], b[0]}
    if "object" in kinds and kinds <= {"object", "value"}:  # what is found by its name
        return _object(a) is _object(b)
    if len(kinds) > 1:
        return False
    if a[0] == "array":
        lengths = [(len(row[1]), row[3] and len(row[3])) for row in (a, b)]
        return a[2] is b[2] and lengths[0] == lengths[1]
    if a[0] == "value":
        return type(a[1]) is type(b[1]) and bool(a[1] == b[1])
    return a[:4] == b[:4]


def _difference(
    now: tuple[Rows, list[Any]], then: tuple[Rows, list[Any]]
) -> tuple[int, str]:
    """The row where inputs differ from those of a recording, and how."""
    for number, (a, b) in enumerate(zip(now[0], then[0], strict=False)):
        if not _alike(a, b):
            return number, f"is {_words(a)}, and {_words(b)} in the recording"
    return _variables(now, then)


def explain(snapshot: Any, recordings: list[Any]) -> str:
    """Why no recording fits these inputs, by the one that comes nearest."""
    now = snapshot.rows
    number, text = max(
        (_difference(now, recording.rows) for recording in recordings),
        key=lambda pair: pair[0],
    )
    if number >= len(now[0]):
        return f"an input {text}"
    return f"'{named(paths(now[0])[number])}' {text}"
