"""The modules of array types, and classes that each has of its own, written in Python.
These are made when one of them is asked for, as that takes longer than all that most
programs need of the module.
"""

from __future__ import annotations

import sys
from importlib import import_module

from . import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

# The modules with the numbers of their backends: the best backend first, drjit.scalar
# last.
MODULES: dict[str, int] = _core._families()


def module_of(cls: type) -> ModuleType:
    """The module of the array type that a class is, or is derived from."""
    names = (base.__module__ for base in cls.__mro__)
    return import_module(next(name for name in names if name in MODULES))


def best() -> ModuleType:
    """The module of traced types where nothing tells which: that of drjit.auto, or the
    first one if that is drjit.scalar."""
    module: ModuleType = import_module("drjit.auto")._module()
    return module if MODULES[module.__name__] else import_module(next(iter(MODULES)))


def of_backend(backend: Any) -> ModuleType:
    """The module of a ``JitBackend``, or where it is None, what ``best()`` is."""
    if backend is None:
        return best()
    for name, number in MODULES.items():
        if number == backend.value:
            return import_module(name)
    raise RuntimeError(f"drjit: there is no {backend.name} backend in this version")


def number_of(backend: Any) -> int:
    """The number of that module's backend."""
    return MODULES[of_backend(backend).__name__]


def traced_in(operation: str, tree: Any) -> ModuleType | None:
    """The module of the first traced array in a PyTree, or of an array type there."""
    for node, keys in _core._tree_nodes(operation, tree):
        if keys is None and _core.is_jit_v(node):
            return module_of(node if isinstance(node, type) else type(node))
    return None


# The module whose make() makes them -> their names.
_MADE_BY = {
    "_prng": "PCG32 Philox4x32",
    "_texture": (
        "Texture1f Texture1f16 Texture1f64 Texture1f8u Texture2f Texture2f16 "
        "Texture2f64 Texture2f8u Texture3f Texture3f16 Texture3f64 Texture3f8u"
    ),
}
_HOME = {name: home for home, names in _MADE_BY.items() for name in names.split()}
NAMES = [*_HOME]


def finder(names: dict[str, Any]) -> Callable[[str], object]:
    """The ``__getattr__`` of a module with this dictionary, until all are there."""

    def find(name: str) -> object:
        module = names["__name__"]
        if name not in _HOME:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        made = import_module("drjit." + _HOME[name]).make(sys.modules[module])
        for each, cls in made.items():
            names.setdefault(each, cls)  # another thread may have been faster
        if all(each in names for each in NAMES):
            names.pop("__getattr__", None)
        return names[name]

    return find


def lister(names: dict[str, Any]) -> Callable[[], list[str]]:
    """The ``__dir__`` of a module with this dictionary."""
    return lambda: sorted({*names, *NAMES} - {"__dir__", "__getattr__"})
