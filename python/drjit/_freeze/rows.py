"""Rows that describe the inputs and outputs of a recording, as JSON and back.

``src/python/freeze/spec_codec.h`` says what a row has. Classes, functions and modules
are "module:name".
"""

from __future__ import annotations

import enum
import importlib
import sys
import types
from typing import Any

from drjit import _core
from drjit._freeze.notes import named

Rows = list[tuple[Any, ...]]

_DIRECT = (bool, int, str, type(None))
NAMED = (type, types.FunctionType, types.BuiltinFunctionType)


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


def read_by_name(rows: Rows) -> range:
    """Which rows of inputs are what the function has read by name: from closures,
    globals and attributes."""
    inside = [k for k, path in enumerate(paths(rows)) if path[:3] == "[2]"]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


# ---------------------------------------------------------------- values


class Unknown(Exception):
    """A value that cannot be saved, and why."""


def name_of(thing: Any) -> str:
    """The name by which another process finds a class or a function."""
    thing = _core._lazy_target(thing)
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str):
        try:
            if find(f"{module}:{name}") is thing:
                return f"{module}:{name}"
        except (ImportError, AttributeError):
            pass
    raise Unknown(f"{thing!r} is not found under its name in its module")


def find(name: str) -> Any:
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
        return {"flag": [name_of(kind), value.value]}
    if isinstance(value, enum.Enum):
        return {"enum": [name_of(kind), value.name]}
    if isinstance(value, NAMED):
        return {"name": name_of(value)}
    if isinstance(value, types.ModuleType):
        if sys.modules.get(value.__name__) is not value:
            raise Unknown(f"{value!r} is not found by its name")
        return {"module": value.__name__}
    raise Unknown(f"a {kind.__module__}.{kind.__qualname__} cannot be written down")


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
        return find(content[0])[content[1]]
    if kind == "flag":
        return find(content[0])(content[1])
    if kind == "module":
        return importlib.import_module(content)
    return find(content)


# ---------------------------------------------------------------- rows


def _put_object(reference: Any) -> Any:
    """What is compared by identity: found again if it has a name."""
    thing = reference()
    if isinstance(thing, (*NAMED, types.ModuleType)):
        return ["value", _put_value(thing)]
    what = "an object" if thing is None else f"a {type(thing).__qualname__}"
    raise Unknown(f"{what} that is compared by identity is of this process")


def _further(row: tuple[Any, ...]) -> Any:
    """Attributes beside the fields."""
    _, _, _, keys, thing = row
    attributes = {} if thing is None else _core._attributes_of(thing)
    further = {key: value for key, value in attributes.items() if key not in keys}
    return {key: _put_value(value) for key, value in further.items()} or None


def _put_row(row: tuple[Any, ...]) -> list[Any]:
    kind = row[0]
    if kind == "array":
        return [kind, list(row[1]), name_of(row[2]), row[3] and list(row[3])]
    if kind == "entries":
        return [kind, name_of(row[1]), row[2].hex()]
    if kind == "content":
        if row[1] is not set:
            raise Unknown(f"the content of a {row[1].__name__} cannot be written down")
        return [kind, _put_value(row[2])]
    if kind == "value":
        return [kind, _put_value(row[1])]
    if kind == "cycle":
        raise Unknown("it is a container that it stands in")
    if kind == "object":
        return _put_object(row[1])  # type: ignore[no-any-return]
    if kind == "dict":
        return [kind, row[1], [_put_value(key) for key in row[3]]]
    if kind == "fields":
        return [kind, row[1], name_of(row[2]), list(row[3]), _further(row)]
    return [kind, row[1]]


def put_rows(rows: Rows, what: str) -> list[Any]:
    found = []
    for number, row in enumerate(rows):
        try:
            found.append(_put_row(row))
        except Unknown as reason:
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


def take_row(row: list[Any]) -> tuple[Any, ...]:
    kind = row[0]
    if kind == "array":
        shape = row[3]
        if shape is not None:
            shape = tuple(shape)
        return (kind, tuple(row[1]), find(row[2]), shape)
    if kind == "entries":
        return (kind, find(row[1]), bytes.fromhex(row[2]))
    if kind == "content":
        return (kind, set, _take_value(row[1]))
    if kind == "value":
        return (kind, _take_value(row[1]))
    if kind == "dict":
        return (kind, row[1], None, [_take_value(key) for key in row[2]], None)
    if kind == "fields":
        return (kind, row[1], find(row[2]), tuple(row[3]), _instance(row))
    return (kind, row[1], None, None, None)


def _instance(row: list[Any]) -> Any:
    if row[4] is None:
        return None
    cls = find(row[2])
    made = (tuple if issubclass(cls, tuple) else object).__new__(cls)
    for key, value in row[4].items():
        object.__setattr__(made, key, _take_value(value))
    return made
