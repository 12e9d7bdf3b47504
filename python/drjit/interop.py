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
    """Take a PyTree apart: a description of its structure, and its leaves.

    For programs that pass PyTrees through functions which take and return flat
    arguments, as those of other frameworks do. Leaves are whatever is no structure:
    arrays and tensors of any framework, numbers, strings, ``None``.
    [PyTrees](../pytrees.md) says what structures are.

    Args:
        a (PyTree): what to take apart.

    Returns:
        tuple: the description, an opaque object for :func:`drjit.interop.unflatten`,
        then the leaves in order.

    Raises:
        RecursionError: the structure contains itself, or is nested more than 1000
            levels deep.

    Derivative:
        The leaves are the arrays themselves, with their derivatives.

    Example:
        >>> from drjit.interop import flatten, unflatten
        >>> desc, *leaves = flatten({"a": Float(1, 2), "b": [3, np.arange(2)]})
        >>> leaves
        [[1, 2], 3, array([0, 1])]
        >>> unflatten(desc, *(2 * leaf for leaf in leaves))
        {'a': [2, 4], 'b': [6, array([0, 2])]}
    """
    structure = Structure("interop.flatten", a, lambda leaf: True)
    return structure, *structure.take()


def unflatten(desc: Any, /, *flat: Any) -> Any:
    """Put a PyTree together again: what :func:`drjit.interop.flatten` took apart.

    Args:
        desc (object): the description that ``flatten()`` returns first.
        *flat: as many leaves as it returned, of any types.

    Returns:
        PyTree: a new structure with these leaves.

    Raises:
        TypeError: ``desc`` is not such a description.
        ValueError: another number of leaves.

    Example:
        >>> from drjit.interop import flatten, unflatten
        >>> desc, x, y = flatten((Float(1), [Float(2)]))
        >>> unflatten(desc, "x", "y")
        ('x', ['y'])
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
