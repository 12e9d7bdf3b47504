"""The fields of classes that are containers of PyTrees, and what zeros() makes of them.

The extension keeps what it is told of the names in its plan of a class.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ._core import is_array_v

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_NONE: dict[str, Any] = {}
# By class: of which fields (address), DRJIT_STRUCT and names these are the values. What
# refers to users' classes, which can go, or to types by name, is not kept.
_known: WeakKeyDictionary[type, tuple[Any, ...]] = WeakKeyDictionary()
_NUMBERS = (float, int, bool)


def _text(operation: str | None, text: str) -> str:
    return text if operation is None else f"drjit.{operation}(): {text}"


def of_struct(operation: str | None, cls: type, source: Any) -> tuple[Any, ...]:
    """The names of the fields that DRJIT_STRUCT gives."""
    if not isinstance(source, dict):
        text = (
            f"{cls.__name__}.DRJIT_STRUCT is of another type, expected a dictionary "
            "{name: type}"
        )
        raise TypeError(_text(operation, text))
    for name in source:
        if not isinstance(name, str):
            text = f"the fields of {cls.__name__} are named by strings, got {name!r}"
            raise TypeError(_text(operation, text))
    return tuple(source), None, None


def of_dataclass(operation: str | None, cls: type, source: Any) -> tuple[Any, ...]:
    """Names of the fields; those that the constructor takes; those that it does not."""
    import dataclasses

    names = tuple(field.name for field in dataclasses.fields(cls))
    accepted = tuple(name for name in names if source[name].init)
    return names, accepted, tuple(name for name in names if name not in accepted)


def _is_made(cls: Any) -> bool:
    """Is it a type that zeros() makes an instance of?"""
    if not isinstance(cls, type):
        return False
    named = issubclass(cls, tuple) and type(getattr(cls, "_fields", None)) is tuple
    fields = hasattr(cls, "DRJIT_STRUCT") or hasattr(cls, "__dataclass_fields__")
    return cls in _NUMBERS or named or fields or bool(is_array_v(cls))


def _is_name(given: Any) -> bool:
    # Before Python 3.14 that is a string; from then on it is an object of this class if
    # there was no such type when the field was made.
    return isinstance(given, str) or type(given).__name__ == "ForwardRef"


def _hint(operation: str | None, cls: Any, name: str, given: bool) -> Any:
    """The type that an annotation names."""
    import typing

    hints = typing.get_type_hints(cls)
    if name not in hints:
        what = "a type that is given by name" if given else "no type"
        text = f"{cls.__name__}.{name} has {what}, and no annotation"
        raise TypeError(_text(operation, text))
    return hints[name]


def _is_required(field: Any) -> bool:
    """Must the constructor of a data class be given this field?"""
    from dataclasses import MISSING

    no_default = field.default is MISSING and field.default_factory is MISSING
    return bool(field.init and no_default)


def values(operation: str | None, cls: Any, names: tuple[str, ...]) -> Any:
    """What each field is to be, from its type.

    (True, class): made of the class; (False, value); None: what the constructor gives.
    Types that are not made keep that; a data class without a default gets what its type
    makes of nothing.
    """
    struct = getattr(cls, "DRJIT_STRUCT", None)
    fields = (
        _NONE if struct is not None else getattr(cls, "__dataclass_fields__", _NONE)
    )
    known = _known.get(cls)
    if known and known[:3] == (id(fields), struct, names):
        return known[3]
    given = struct or {field.name: field.type for field in fields.values()}
    result: list[Any] = []
    keep = struct is not None or fields is not _NONE
    for name in names:
        dtype = given.get(name, "")
        if _is_name(dtype):
            dtype = _hint(operation, cls, name, name in given)
            keep = False
        if _is_made(dtype):
            result.append((True, dtype))
            keep = keep and (dtype in _NUMBERS or dtype.__module__[:6] == "drjit.")
        elif struct is not None or (name in fields and not _is_required(fields[name])):
            result.append(None)
            keep = keep and struct is None
        else:
            keep = False
            try:
                result.append((False, dtype()))
            except Exception as error:
                text = f"{cls.__name__}.{name} has no default, and {dtype!r} makes none"
                raise TypeError(_text(operation, text)) from error
    if keep:
        _known[cls] = id(fields), struct and dict(struct), names, result
    return result
