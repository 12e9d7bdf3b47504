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

import drjit as dr

_core: Any = importlib.import_module("drjit._core")

Local = _core._Local


def while_loop(
    state: tuple[Any, ...],
    cond: Callable[..., Any],
    body: Callable[..., tuple[Any, ...]],
    name: str | None = None,
) -> tuple[Any, ...]:
    """In each lane, repeat ``state = body(*state)`` while ``cond(*state)`` is true.

    ``state`` is a tuple of PyTrees, ``cond`` returns a ``Bool`` array, and ``body`` a
    tuple of the same structure, types and shapes as ``state``. Sizes must be equal or
    1. Returns the final state in new objects. ``TypeError`` and ``ValueError`` if the
    structure or types differ; exceptions of the functions end the recording.

    Without ``JitFlag.SymbolicLoops`` the functions are called for each iteration, with
    evaluated arrays.
    """
    result: tuple[Any, ...] = _core._while_loop(state, cond, body, name)
    return result


def if_stmt(
    condition: Any,
    args: tuple[Any, ...],
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    name: str | None = None,
) -> Any:
    """``true_fn(*args)`` where ``condition`` holds, ``false_fn(*args)`` elsewhere.

    ``condition`` is a ``Bool`` array. Both functions are called, and return PyTrees of
    the same structure and types (or ``None``). A side is skipped at run time where no
    lane takes it. Errors as in :py:func:`while_loop`.
    """
    return _core._if_stmt(condition, args, true_fn, false_fn, name)


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
    if dr.flag(dr.JitFlag.SymbolicCalls):
        return _core._call(number, callables, args, mask, instances, name)
    return _call_evaluated(number, callables, args, mask, instances)


def _call_evaluated(
    number: Any,
    callables: Sequence[Callable[..., Any]],
    args: tuple[Any, ...],
    mask: Any,
    instances: Sequence[int] | None,
) -> Any:
    """:py:func:`call` where each function gets arrays of its lanes only.

    The results are gathered from those of the functions, since what is written to
    cannot be read at once everywhere.
    """
    which = range(len(callables)) if instances is None else instances
    kind = type(number)
    size = dr.width(number, args, True if mask is None else mask)
    number = number + dr.zeros(kind, size)
    number = dr.select(number < len(which), number, 0xFFFFFFFF)
    lane = dr.arange(kind, size)
    result: tuple[Any, ...] = ()
    for target, lanes in _core._call_buckets(number, len(which), mask):
        with masked(None):  # these lanes are active
            outputs = callables[which[target]](*_core._call_gather(args, lanes))
            at = _find(lanes, lane)
            found = dr.gather(kind, lanes, at) == lane
            result = (_core._call_gather(outputs, at, found, *result),)
    if not result:  # nobody calls anything
        nobody = dr.full(dr.mask_t(kind), False, size)
        with masked(nobody):
            outputs = callables[0](*args)
        result = (_core._call_gather(outputs, None, nobody),)
    return result[0]


def _find(ascending: Any, number: Any) -> Any:
    """The position of each number in an array, if it is there."""
    kind, last = type(ascending), dr.width(ascending) - 1
    return kind(
        dr.binary_search(0, last, lambda i: dr.gather(kind, ascending, i) < number)
    )


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
