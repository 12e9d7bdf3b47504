"""Gives tasks out and takes their results: ``Schedule``."""

from __future__ import annotations

import os
import pickle
import queue
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, NamedTuple

from drjit.dist import _pool, _worker
from drjit.dist._errors import BrokenExecutorError, TaskError, positive
from drjit.dist._work import Work

# Workers that may die on a block before that is an error.
_MOST_DEATHS = 3


class Inputs(NamedTuple):
    """A block or an item: what gives the inputs of the function."""

    number: int
    make: Callable[..., tuple[Any, ...]]
    given: tuple[Any, ...]


class _Given(NamedTuple):
    """A task that is given out."""

    inputs: Inputs
    data: bytes
    deaths: int = 0  # of workers
    missed: int = 0  # workers that did not know what tasks have in common


class Schedule:
    """Tasks of one call of an operation: ``results()`` gives (number, result) as they
    come, while at most ``ahead`` tasks are given out."""

    def __init__(
        self,
        executor: Executor,
        work: Work,
        inputs: Iterator[Inputs],
        ahead: int,
    ) -> None:
        self._executor, self._work, self._inputs = executor, work, inputs
        self._ahead = ahead
        self._workers = _pool.count(executor) or 1
        self._told: set[str] = set()  # workers that were sent what tasks have in common
        self._begun = False  # a worker knows that, and has performed a task
        self._given: dict[Future[Any], _Given] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._noun = "item" if work.operation == "map" else "block"

    def __enter__(self) -> Schedule:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Leave nothing running; at once, if it is Ctrl-C."""
        for future in self._given:
            future.cancel()
        running = any(not future.done() for future in self._given)
        self._given.clear()
        at_once = error is not None and not isinstance(error, Exception)
        if at_once and running and isinstance(self._executor, _pool.Pool):
            self._executor.replace()

    def results(self, may_begin: Callable[[int], bool]) -> Iterator[tuple[int, Any]]:
        """``may_begin(number)``: may this task be given out yet?"""
        first = waiting = next(self._inputs, None)
        if first is not None:
            answer = first.number, self._call(first)  # recorded here
            waiting = self._fill(next(self._inputs, None), may_begin)
            yield answer
        while self._given:
            known = self._take(self._done.get())
            if known is not None:
                yield known
            waiting = self._fill(waiting, may_begin)

    def _fill(
        self, waiting: Inputs | None, may_begin: Callable[[int], bool]
    ) -> Inputs | None:
        """Give tasks out. The first one that has to wait; None: there are no more."""
        while (
            waiting is not None
            and len(self._given) < self._limit()
            and may_begin(waiting.number)
        ):
            data = pickle.dumps((waiting.make, *waiting.given), protocol=5)
            self._give(_Given(waiting, data))
            waiting = next(self._inputs, None)
        return waiting

    def _limit(self) -> int:
        """How many tasks are given out: at first, one for each worker, since all come
        back from those that do not know the recording."""
        if self._begun:
            return self._ahead
        return min(self._ahead, self._workers)

    def _call(self, inputs: Inputs) -> Any:
        return self._work.call(*inputs.make(*inputs.given))

    # ------------------------------------------------------------------ one task

    def _give(self, task: _Given, complete: bool = False) -> None:
        message = self._work.message(task.data, complete)
        try:
            future = self._executor.submit(_worker.run, *message)
        except _pool.BROKEN as error:
            self._mend(error)
            future = self._executor.submit(_worker.run, *message)
        self._given[future] = task
        future.add_done_callback(self._done.put)

    def _take(self, future: Future[Any]) -> tuple[int, Any] | None:
        """What a task came to; None: it was given out again, or is an old one."""
        task = self._given.pop(future, None)
        if task is None:
            return None
        try:
            kind, where, value = future.result()
        except (_pool.BROKEN, CancelledError) as error:
            self._give_again(task, error)
            return None
        except Exception as error:
            raise TaskError(
                f"{self._name(task)}: the executor failed: "
                f"{type(error).__name__}: {error}",
                task.inputs.number,
            ) from error
        if kind == _worker.DONE:
            self._begun = True
            return task.inputs.number, pickle.loads(value)
        if kind == _worker.MISSING:
            self._inform(task, where)
            return None
        if kind == _worker.UNFIT:  # record it here
            self._told.clear()
            return task.inputs.number, self._call(task.inputs)
        if kind == _worker.REFUSED:
            raise RuntimeError(f"drjit.dist.{self._work.operation}(): {where} {value}")
        self._fail(task, where, *value)
        return None

    def _inform(self, task: _Given, where: str) -> None:
        """Give a task out again that a worker knew too little for. If it was told
        meanwhile, it may know now; the task may also have come to another one."""
        complete = where not in self._told or task.missed > 0
        self._told.add(where)
        self._give(task._replace(missed=task.missed + 1), complete)

    def _name(self, task: _Given) -> str:
        operation = self._work.operation
        return f"drjit.dist.{operation}(): {self._noun} {task.inputs.number}"

    def _fail(
        self, task: _Given, where: str, traceback: str, data: bytes | None
    ) -> None:
        last = traceback.rstrip().rpartition("\n")[2]
        raise TaskError(
            f"{self._name(task)}, in {where}: {last}\n\n{traceback}",
            task.inputs.number,
            traceback,
        ) from (pickle.loads(data) if data else None)

    # ------------------------------------------------------------------ deaths

    def _give_again(self, task: _Given, error: BaseException) -> None:
        self._mend(error)
        if task.deaths + 1 == _MOST_DEATHS:
            raise TaskError(
                f"{self._name(task)}: {_MOST_DEATHS} workers have died while it was "
                "given out",
                task.inputs.number,
            ) from error
        self._give(task._replace(deaths=task.deaths + 1))

    def _mend(self, error: BaseException) -> None:
        """Replace the processes of a pool of ours that broke."""
        if not isinstance(self._executor, _pool.Pool):
            raise BrokenExecutorError(
                f"drjit.dist.{self._work.operation}(): the executor broke: {error}"
            ) from error
        if not self._executor.is_whole():
            self._executor.replace()


class Progress:
    """A bar of tqdm, where somebody watches."""

    def __init__(self, wanted: bool | None, total: int | None, operation: str) -> None:
        self._bar: Any = None
        shown = sys.stderr is not None and sys.stderr.isatty()
        if wanted is False or (wanted is None and not shown):
            return
        try:
            from tqdm import tqdm
        except ImportError:
            if wanted:
                raise ImportError(
                    f"drjit.dist.{operation}(): 'progress' takes tqdm, which is not "
                    "installed: pip install tqdm"
                ) from None
            return
        self._bar = tqdm(total=total, desc=operation, file=sys.stderr)

    def advance(self, count: int = 1) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.close()


def ahead_of(executor: Executor, given: int | None, operation: str) -> int:
    """How many tasks are given out at a time."""
    if given is None:
        workers = _pool.count(executor) or len(os.sched_getaffinity(0))
        return 4 * workers
    return positive(given, "ahead", f"{operation}()")
