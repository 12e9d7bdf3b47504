"""Where the leaves of PyTrees are, for messages."""

from __future__ import annotations

import drjit
from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def _components(array: Any) -> list[str]:
    """What leads to the flat arrays that an array consists of: "[2]", "[0][1]"."""
    if dr.is_tensor_v(array) or dr.depth_v(array) == 1:
        return [""]
    return [f"[{i}]{rest}" for i in range(len(array)) for rest in _components(array[i])]


def leaves(function: str, tree: Any, wanted: Any) -> list[tuple[str, Any]]:
    """The flat arrays in those arrays of a PyTree that 'wanted' accepts.

    With paths such as ``[0].o[2]``. ``function`` is the one that messages name.
    """
    found: list[tuple[str, Any]] = []
    for path, leaf in _core._tree_paths(function, tree):
        if dr.is_array_v(leaf) and not isinstance(leaf, type) and wanted(leaf):
            names = _components(leaf)
            found += [
                (path + name, own)
                for name, own in zip(names, _core._leaves(leaf), strict=True)
            ]
    return found
