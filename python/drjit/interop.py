"""Exchange of derivatives with other frameworks: where ``wrap`` used to be defined.

:func:`drjit.wrap` is the public name. ``flatten()`` and ``unflatten()`` are for
programs that pass PyTrees through functions which take and return flat arguments.
"""

from __future__ import annotations

from typing import Any

from ._ad.exchange import Structure
from ._ad.wrap import wrap, wrap_ad

__all__ = ["flatten", "unflatten", "wrap", "wrap_ad"]


def flatten(a: Any, /) -> tuple[Any, ...]:
    """A PyTree taken apart: a description of its structure, and its leaves."""
    structure = Structure("interop.flatten", a, lambda leaf: True)
    return structure, *structure.take()


def unflatten(desc: Any, /, *flat: Any) -> Any:
    """The PyTree of a description from :func:`flatten` and as many leaves.

    TypeError if the first argument is not such a description, ValueError if the number
    of leaves is another.
    """
    if not isinstance(desc, Structure):
        raise TypeError(
            f"drjit.interop.unflatten(): 'desc' is of type {type(desc).__name__}, "
            "expected what flatten() returns first"
        )
    if len(flat) != desc.count:
        raise ValueError(
            f"drjit.interop.unflatten(): {len(flat)} leaves, expected {desc.count}"
        )
    return desc.fill(flat)
