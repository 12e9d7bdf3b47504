"""Work spread over processes and machines, with the same bits on any number of workers.

``map``, ``sum`` and ``value_and_grad`` record a function once, here, and have workers
repeat it: those of any ``concurrent.futures.Executor`` (processes of this machine,
Dask, MPI, or Ray by :class:`drjit.dist.RayExecutor`). Tasks are fixed blocks of work,
and what blocks contribute is added in the order of a binary tree over their numbers. So
results depend neither on the workers nor on who is done first. [The
guide](../dist.md) says which executor is for what.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import drjit as dr
from drjit import _core
from drjit.dist import _pool, _worker
from drjit.dist._errors import BrokenExecutorError, TaskError, positive
from drjit.dist._mpi import allreduce
from drjit.dist._pool import Pool, RayExecutor
from drjit.dist._schedule import Inputs, Progress, Schedule, ahead_of
from drjit.dist._tree import TreeSum
from drjit.dist._work import Work, cached

__all__ = [
    "BrokenExecutorError",
    "Pool",
    "RayExecutor",
    "TaskError",
    "allreduce",
    "map",
    "sum",
    "value_and_grad",
]


def _executor(executor: Any, operation: str) -> Executor:
    if executor is None:
        return _pool.default()
    if callable(getattr(executor, "submit", None)):
        return executor  # type: ignore[no-any-return]
    raise TypeError(
        f"drjit.dist.{operation}(): 'executor' is of type {type(executor).__name__}, "
        "expected a concurrent.futures.Executor or None"
    )


def _common(args: Any, operation: str) -> tuple[Any, ...]:
    if not isinstance(args, tuple):
        raise TypeError(
            f"drjit.dist.{operation}(): 'args' is of type {type(args).__name__}, "
            "expected a tuple"
        )
    return tuple(_as_arrays(value) for value in args)


def _as_arrays(value: Any) -> Any:
    """A PyTree without derivatives, and with tensors in the place of arrays of NumPy,
    which a recording would take for constants."""
    return _core._tree_map_alike("dist", _as_array, value)


def _as_array(leaf: Any) -> Any:
    if type(leaf).__module__.partition(".")[0] == "numpy" and hasattr(leaf, "ndim"):
        from drjit import array_api

        return array_api.asarray(leaf)
    return dr.detach(leaf) if dr.is_diff_v(leaf) else leaf


def map(
    executor: Executor | None,
    f: Callable[..., Any],
    items: Iterable[Any],
    *,
    args: tuple[Any, ...] = (),
    ahead: int | None = None,
    progress: bool | None = None,
    finished: dict[int, Any] | None = None,
) -> Iterator[Any]:
    """Call a function for each item in workers, and give the results in their order.

    The function is recorded with the first item, in this process. Workers repeat the
    recording; no code of the function goes there. Items that fit no recording, since
    they have another structure, other types, or other values of what is not an array,
    are recorded here as well: numbers that vary should be arrays (``Float(x)``).

    Args:
        executor (concurrent.futures.Executor | None): what calls functions in workers;
            by default, a :class:`drjit.dist.Pool` with a process for each core.
        f (callable): the function, ``f(item, *args)``; frozen or not. It has to be one
            that :func:`drjit.freeze` can repeat.
        items (iterable): PyTrees. Arrays of NumPy, such as memory maps, arrive as
            tensors. They are read as they are given out, so there may be more than fit
            into memory.
        args (tuple): further arguments, the same for all items. Large ones are sent to
            a worker once.
        ahead (int | None): how many items are given out at a time; by default, four for
            each worker.
        progress (bool | None): show a progress bar of ``tqdm``; by default, if it is
            installed and ``stderr`` is a terminal.
        finished (dict[int, Any] | None): results by the numbers of items, which are not
            computed again. Others are added as they come, so that the same call with
            another executor can go on where this one ended.

    Returns:
        iterator: of the results. Leaving it early ends processes of a
        :class:`drjit.dist.Pool` that are at work.

    Raises:
        TypeError: an argument is of another type.
        ValueError: ``ahead`` is less than 1.
        RuntimeError: the function cannot be repeated, for the reason that the message
            gives, or a worker has another version.
        TaskError: a call failed in a worker, or three workers died of it.
        BrokenExecutorError: the executor broke.

    Derivative:
        None: workers get arrays without derivatives.

    Evaluation:
        Evaluates arguments and results.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(2) as executor:
        ...     items = [Float(1, 2), Float(3, 4), Float(5, 6)]
        ...     list(dr.dist.map(executor, lambda x: dr.sum(x * x), items))
        [[5], [25], [61]]

    See also:
        :func:`drjit.dist.sum`, :func:`drjit.freeze`
    """
    chosen = _executor(executor, "map")
    work = Work(f, _common(args, "map"), "map")
    window = ahead_of(chosen, ahead, "map")
    bar = Progress(progress, _length(items), "map")
    return _map(chosen, work, items, window, bar, finished)


def _length(items: Any) -> int | None:
    return len(items) if hasattr(items, "__len__") else None


def _map(
    executor: Executor,
    work: Work,
    items: Iterable[Any],
    ahead: int,
    bar: Progress,
    finished: dict[int, Any] | None,
) -> Iterator[Any]:
    given = 0  # the number of the next result
    done = dict(finished or {})  # results that are to be given

    def inputs() -> Iterator[Inputs]:
        for number, value in enumerate(items):
            if number not in done:
                yield Inputs(number, _worker.item, (_as_arrays(value),))

    def may_begin(number: int) -> bool:
        return number < given + 2 * ahead

    with bar, Schedule(executor, work, inputs(), ahead) as schedule:
        for number, result in schedule.results(may_begin):
            done[number] = result
            if finished is not None:
                finished[number] = result
            bar.advance()
            while given in done:
                yield done.pop(given)
                given += 1
    while given in done:
        yield done.pop(given)
        given += 1


def sum(
    executor: Executor | None,
    f: Callable[..., Any],
    count: int | Iterable[Any],
    *,
    args: tuple[Any, ...] = (),
    block: int = 65536,
    dtype: Any = None,
    ahead: int | None = None,
    progress: bool | None = None,
    finished: dict[Any, Any] | None = None,
) -> Any:
    """Add what a function contributes for blocks of indices, or of data, in workers.

    The indices 0 to ``count - 1`` are cut into blocks, and ``f(index, *args)`` gives
    the contribution of one: a PyTree of arrays, such as ``dr.sum(g(index))``, or an
    image to which the block has scattered. Contributions are added in the order of a
    binary tree over the numbers of blocks, so the result has the same bits on any
    number of workers. It depends on ``block``.

    Random numbers should belong to indices: those of ``Philox4x32(seed, index)`` do,
    while those of :func:`drjit.rng` and ``PCG32`` belong to places in the block.

    Args:
        executor (concurrent.futures.Executor | None): what calls functions in workers;
            by default, a :class:`drjit.dist.Pool` with a process for each core.
        f (callable): the function; frozen or not. It has to be one that
            :func:`drjit.freeze` can repeat.
        count (int | iterable): how many indices there are; or blocks of data, PyTrees
            that the function gets in the place of indices. Arrays of NumPy, such as
            pieces of a memory map, arrive as tensors. Blocks are read as they are given
            out, so there may be more than fit into memory.
        args (tuple): further arguments, the same for all blocks. Large ones are sent to
            a worker once.
        block (int): how many indices a block has (the last one may have fewer).
        dtype (type | None): the type of the indices: by default, ``drjit.llvm.ad.UInt``
            or, if there are more than 2**32, ``UInt64``.
        ahead (int | None): how many blocks are given out at a time; by default, four
            for each worker.
        progress (bool | None): show a progress bar of ``tqdm``; by default, if it is
            installed and ``stderr`` is a terminal.
        finished (dict | None): sums that are there already, of the same call. Others
            take their place as blocks come, so that the same call with another executor
            can go on where this one ended. ``{}`` at first.

    Returns:
        PyTree: the sum.

    Raises:
        TypeError: an argument is of another type.
        ValueError: a number is less than 1, there are no blocks, or contributions have
            different structures or sizes.
        RuntimeError: the function cannot be repeated, for the reason that the message
            gives, or a worker has another version.
        TaskError: a call failed in a worker, or three workers died of it.
        BrokenExecutorError: the executor broke.

    Derivative:
        None: see :func:`drjit.dist.value_and_grad`.

    Evaluation:
        Evaluates arguments and the result.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> def squares(index):
        ...     return dr.sum(Float(index) ** 2)
        >>> with ThreadPoolExecutor(2) as executor:
        ...     dr.dist.sum(executor, squares, 1000, block=100)
        [3.32834e+08]

    See also:
        :func:`drjit.dist.map`, :func:`drjit.dist.value_and_grad`
    """
    blocks = _Blocks("sum", executor, count, block, dtype, ahead, progress, finished)
    return blocks.sum(f, args)


@dataclass(frozen=True)
class _Blocks:
    """What ``sum`` and ``value_and_grad`` have in common."""

    operation: str
    executor: Executor | None
    count: int | Iterable[Any]
    block: int
    dtype: Any
    ahead: int | None
    progress: bool | None
    finished: dict[Any, Any] | None

    def sum(self, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        operation = self.operation
        chosen = _executor(self.executor, operation)
        work = Work(f, _common(args, operation), operation)
        ahead = ahead_of(chosen, self.ahead, operation)
        tree = TreeSum({} if self.finished is None else self.finished)
        done = set(tree.blocks())
        inputs, total = self._inputs()
        left = (each for each in inputs if each.number not in done)
        bar = Progress(self.progress, total, operation)
        bar.advance(len(done))
        with bar, Schedule(chosen, work, left, ahead) as schedule:
            for number, value in schedule.results(lambda number: True):
                tree.put(number, value)
                bar.advance()
        if not tree.nodes:
            raise ValueError(f"drjit.dist.{operation}(): there are no blocks")
        return tree.total()

    def _inputs(self) -> tuple[Iterator[Inputs], int | None]:
        """The blocks, and how many there are, if that is known."""
        count = self.count
        if isinstance(count, Iterable):
            return _data(count), _length(count)
        count = positive(count, "count", f"{self.operation}()")
        block = positive(self.block, "block", f"{self.operation}()")
        return _ranges(self.dtype, count, block), -(-count // block)


def _data(blocks: Iterable[Any]) -> Iterator[Inputs]:
    for number, value in enumerate(blocks):
        yield Inputs(number, _worker.item, (_as_arrays(value),))


def _ranges(dtype: Any, count: int, block: int) -> Iterator[Inputs]:
    if dtype is None:
        from drjit.llvm import ad

        dtype = ad.UInt if count <= 1 << 32 else ad.UInt64
    for number, start in enumerate(range(0, count, block)):
        size = builtins.min(block, count - start)
        yield Inputs(number, _worker.indices, (dtype, start, size))


def _gradient_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    """What workers do for ``value_and_grad``."""

    def step(index: Any, params: Any, *args: Any) -> tuple[Any, Any]:
        params = dr.detach(params)
        dr.enable_grad(params)
        value = dr.sum(loss(params, index, *args), axis=None)
        dr.backward(value)
        return dr.detach(value), dr.grad(params)

    step.__name__ = getattr(loss, "__name__", "loss")
    return step


def value_and_grad(
    executor: Executor | None,
    loss: Callable[..., Any],
    params: Any,
    count: int | Iterable[Any],
    *,
    args: tuple[Any, ...] = (),
    block: int = 65536,
    dtype: Any = None,
    ahead: int | None = None,
    progress: bool | None = None,
    finished: dict[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """Add a loss and its gradient over blocks of indices, or of data, in workers.

    ``loss(params, index, *args)`` gives the loss of a block: one value, or one for each
    index, which are added. The result and the gradient have the same bits on any number
    of workers, as :func:`drjit.dist.sum` explains.

    Args:
        executor (concurrent.futures.Executor | None): what calls functions in workers;
            by default, a :class:`drjit.dist.Pool` with a process for each core.
        loss (callable): the function. It has to be one that :func:`drjit.freeze` can
            repeat.
        params (PyTree): the parameters, arrays of types with derivatives
            (``drjit.llvm.ad``). They are not changed.
        count (int | iterable): how many indices there are; or blocks of data, see
            :func:`drjit.dist.sum`.
        args (tuple): further arguments, the same for all blocks.
        block (int): how many indices a block has (the last one may have fewer).
        dtype (type | None): the type of the indices, see :func:`drjit.dist.sum`.
        ahead (int | None): how many blocks are given out at a time; by default, four
            for each worker.
        progress (bool | None): show a progress bar of ``tqdm``; by default, if it is
            installed and ``stderr`` is a terminal.
        finished (dict | None): as for :func:`drjit.dist.sum`.

    Returns:
        tuple: the loss, and a PyTree of the structure of ``params`` with the gradient
        of the loss with respect to each of them.

    Raises:
        TypeError: an argument is of another type, or no parameter has derivatives.
        ValueError: a number is less than 1, or there are no blocks.
        RuntimeError: the function cannot be repeated, for the reason that the message
            gives, or a worker has another version.
        TaskError: a call failed in a worker, or three workers died of it.
        BrokenExecutorError: the executor broke.

    Derivative:
        The second result is the derivative of the first; neither has more.

    Evaluation:
        Evaluates arguments and results.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from drjit.llvm.ad import Float
        >>> def loss(p, index):
        ...     return (p * Float(index) - 1) ** 2
        >>> with ThreadPoolExecutor(2) as executor:
        ...     dr.dist.value_and_grad(executor, loss, Float(2), 100, block=30)
        ([1.2937e+06], [1.3035e+06])

    See also:
        :func:`drjit.dist.sum`, :func:`drjit.backward`
    """
    if not callable(loss):
        raise TypeError(
            f"drjit.dist.value_and_grad(): 'loss' is of type {type(loss).__name__}, "
            "expected a function"
        )
    plain = dr.detach(params)
    leaves = [leaf for _, leaf in _core._tree_paths("value_and_grad", plain)]
    if not any(dr.is_diff_v(leaf) and dr.is_float_v(leaf) for leaf in leaves):
        raise TypeError(
            "drjit.dist.value_and_grad(): 'params' has no arrays with derivatives: use "
            "types of drjit.llvm.ad"
        )
    common = (plain, *_common(args, "value_and_grad"))
    blocks = _Blocks(
        "value_and_grad", executor, count, block, dtype, ahead, progress, finished
    )
    result: tuple[Any, Any] = blocks.sum(cached(_gradient_of, loss), common)
    return result
