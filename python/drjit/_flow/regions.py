"""Control flow as far as the core has it: loops, conditionals, local arrays, reports.

Private. What is public, and works with all kinds of arrays and modes, is built on this.

The functions of a loop or conditional are traced: they are called once, with arrays
that stand for values which only exist while the kernel runs. Such arrays cannot be
evaluated. A kernel then executes the body as often as each of its lanes needs.
Everything that writes to memory is masked by these lanes.

PyTrees here have just-in-time compiled arrays, local arrays and ``None`` as leaves.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_core: Any = importlib.import_module("drjit._core")

Local = _core._Local


def call(
    number: Any,
    callables: Sequence[Callable[..., Any]],
    *args: Any,
    mask: Any = None,
    instances: Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """Each lane calls one of several functions: ``callables[number](*args)``.

    ``number`` is a ``UInt`` array; numbers beyond the end call nothing and give zeros,
    as do lanes outside of ``mask``. With ``instances``, numbers are those of instances:
    number ``i`` calls ``callables[instances[i]]``. All functions return PyTrees of the
    same structure and types (or ``None``). Errors as in :py:func:`while_loop`.

    Without ``JitFlag.SymbolicCalls`` the lanes are sorted by number, and each function
    that is needed is called with the arguments of its lanes.
    """
    return _core._call(number, callables, args, mask, instances, name)


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
