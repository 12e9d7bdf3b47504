"""The components of vectors that programs give as PyTrees: cooperative vectors, and
positions of hash encodings.
"""

from __future__ import annotations

import drjit
from drjit import _core

from ._errors import ShapeError

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def is_leaf(value: object) -> bool:
    """Is this an array of a just-in-time backend without further axes?"""
    cls: Any = type(value)
    return bool(dr.is_jit_v(cls) and dr.depth_v(cls) == 1 and not dr.is_tensor_v(cls))


def is_number(value: object) -> bool:
    """A number of Python, or one that converts itself to one, as those of NumPy."""
    if isinstance(value, int | float):
        return True
    cls = type(value)
    if dr.is_array_v(cls) or hasattr(cls, "__len__"):
        return False
    return hasattr(cls, "__index__") or hasattr(cls, "__float__")


def flatten(where: str, value: Any, found: list[Any]) -> None:
    """Append the components of a PyTree: arrays without further axes, and numbers.

    A nested array has those of its first axis, a tensor of shape (C,) or (C, N) C of
    them. ``where`` is the function that errors name.
    """
    for node, keys in _core._tree_nodes(where, value):
        if keys is not None:
            continue
        cls = type(node)
        if not dr.is_array_v(cls):
            if isinstance(node, bool) or not is_number(node):
                raise TypeError(
                    f"{where}(): found a component of type {cls.__name__}, "
                    "expected arrays, numbers and PyTrees of these"
                )
            found.append(node)
        elif dr.is_tensor_v(cls):
            if node.ndim not in (1, 2):
                raise ShapeError(
                    f"{where}(): found a tensor of shape {node.shape}, "
                    "expected one axis for components, and at most one for lanes"
                )
            found.extend(node[row].array for row in range(node.shape[0]))
        elif dr.depth_v(cls) > 1 or not dr.is_jit_v(cls):
            for component in node:
                flatten(where, component, found)
        else:
            found.append(node)


def common_type(where: str, found: list[Any]) -> Any:
    """The type of the arrays among components: with derivatives if one has them."""
    leaf = None
    for component in found:
        cls = type(component)
        if not dr.is_array_v(cls):
            continue
        if dr.is_mask_v(cls):
            raise TypeError(
                f"{where}(): found a component of type {cls.__name__}, expected numbers"
            )
        if leaf is not None and dr.type_v(cls) != dr.type_v(leaf):
            raise TypeError(
                f"{where}(): found components of the types "
                f"{leaf.__name__} and {cls.__name__}, expected arrays of one type; "
                "drjit.nn.cast() converts vectors"
            )
        if leaf is None or dr.is_diff_v(cls):
            leaf = cls
    if leaf is None:
        raise TypeError(
            f"{where}(): found numbers only, expected at least one array of a "
            "just-in-time backend, whose type the vector takes"
        )
    return leaf
