"""Classes that each module of array types has of its own, and that are written in
Python. They are made when one of them is asked for, as that takes longer than all that
most programs need of the module.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
