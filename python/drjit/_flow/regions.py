"""Local arrays, masks and reports as the core has them.

Private. What is public is built on this.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_core: Any = importlib.import_module("drjit._core")

Local = _core._Local


def alloc_local(dtype: type, length: int, size: int = 1, value: Any = None) -> Any:
    """An array of ``length`` entries that each of ``size`` lanes has for itself.

    ``dtype`` is an array type of a fixed shape. All entries start as ``value``, or 0.
    The result has the methods ``read(index, active=True)`` and
    ``write(value, index, active=True)``, and can be part of the state of a loop and of
    the outputs of a conditional. Memory of this kind exists within kernels only.
    """
    return _core._alloc_local(dtype, length, size, value)


@contextmanager
def masked(mask: Any) -> Iterator[None]:
    """Restrict reads and writes of memory in a ``with`` block to lanes of ``mask``.

    ``mask`` is a ``Bool`` array. Blocks can be nested: all masks apply. With ``None``
    the block is not restricted by what is around it.
    """
    _core._mask_push(mask)
    try:
        yield
    finally:
        _core._mask_pop()


def report(
    function: Callable[[list[tuple[Any, ...]], int], object],
    *values: Any,
    mask: Any = None,
    limit: int | None = None,
) -> None:
    """Have kernels report values: ``function(records, lost)`` after each launch.

    Each record is a tuple of a lane and the values of all leaves of ``values`` there,
    ordered by lane, and in the order of execution within a lane. There are at most
    ``limit`` of them, and ``lost`` further ones. Only lanes of ``mask`` (``None``: all)
    report. The function is called between two instructions of the main thread.
    """
    _core._report(function, mask, values, limit)
