"""Executors: processes of this machine, and an adapter for Ray."""

from __future__ import annotations

import atexit
import concurrent.futures
import importlib
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

from drjit.dist import _worker
from drjit.dist._errors import positive


class Pool(Executor):
    """Processes of this machine, as an executor.

    They begin when the first task is given out. If one of them dies, all are replaced,
    and :mod:`drjit.dist` gives the tasks that were lost out again. Each process uses
    the cores that there are, divided by the number of processes. The main module of the
    program is imported in each, as ``multiprocessing`` does it, so what is not for
    workers stands after ``if __name__ == "__main__":``.

    Args:
        workers (int | None): the number of processes; by default, one for each core.

    Raises:
        TypeError: ``workers`` is not an int.
        ValueError: ``workers`` is less than 1.

    Example:
        >>> pool = dr.dist.Pool(2)
        >>> pool.workers
        2
        >>> pool.shutdown()

    See also:
        :func:`drjit.dist.map`, :func:`drjit.dist.sum`
    """

    def __init__(self, workers: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0))
        if workers is None:
            workers = cores
        self.workers = positive(workers, "workers", "Pool()")
        self._threads = max(1, cores // self.workers)
        self._lock = threading.Lock()
        self._processes: ProcessPoolExecutor | None = None
        self._closed = False

    def _executor(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._closed:
                raise RuntimeError("drjit.dist.Pool.submit(): the pool was shut down")
            if self._processes is None:
                self._processes = ProcessPoolExecutor(
                    self.workers,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_worker.start,
                    initargs=(self._threads,),
                )
            return self._processes

    def submit(
        self, f: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Have a process call a function.

        Args:
            f (callable): the function, which is pickled.
            *args: its arguments.
            **kwargs: those by name.

        Returns:
            concurrent.futures.Future: of the result.

        Raises:
            RuntimeError: the pool was shut down.
            concurrent.futures.BrokenExecutor: a process has died.
        """
        return self._executor().submit(f, *args, **kwargs)

    def is_whole(self) -> bool:
        """Are the processes there, or still to begin?"""
        with self._lock:
            return self._processes is None or not self._processes._broken

    def replace(self) -> None:
        """End all processes at once, whatever they do; others take their place."""
        with self._lock:
            before, self._processes = self._processes, None
        if before is not None:
            _end(before)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes.

        Args:
            wait (bool): wait until they have ended.
            cancel_futures (bool): drop tasks that have not begun.
        """
        with self._lock:
            before, self._processes = self._processes, None
            self._closed = True
        if before is not None:
            before.shutdown(wait, cancel_futures=cancel_futures)


def _end(executor: ProcessPoolExecutor) -> None:
    processes = list((executor._processes or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


class RayExecutor(Executor):
    """Workers of Ray, as an executor: a thin adapter for ``ray.remote``.

    Args:
        **options: what ``ray.remote`` is given, such as ``num_cpus=2``.

    Raises:
        ImportError: Ray is not installed.

    Example:
        >>> issubclass(dr.dist.RayExecutor, dr.dist.Pool.__base__)
        True

    See also:
        :class:`drjit.dist.Pool`
    """

    def __init__(self, **options: Any) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise ImportError(
                "drjit.dist.RayExecutor(): Ray is not installed: pip install "
                "'drjit-c[ray]'"
            ) from error
        if not ray.is_initialized():
            ray.init()
        self._call = (ray.remote(**options) if options else ray.remote)(_worker.call)
        self._cores = options.get("num_cpus", 1)
        self._resources = ray.cluster_resources

    @property
    def workers(self) -> int:
        """How many tasks the cluster performs at a time, by its cores."""
        return max(1, int(self._resources().get("CPU", 1) / (self._cores or 1)))

    def submit(
        self, f: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Have a worker call a function.

        Args:
            f (callable): the function.
            *args: its arguments.
            **kwargs: those by name.

        Returns:
            concurrent.futures.Future: of the result.
        """
        future: Future[Any] = self._call.remote(f, *args, **kwargs).future()
        return future


_default: Pool | None = None


def default() -> Pool:
    """The pool of those who give no executor; it ends with the process."""
    global _default
    if _default is None:
        _default = Pool()
        atexit.register(_default.shutdown, cancel_futures=True)
    return _default


def count(executor: Executor) -> int | None:
    """How many workers an executor has, if it says so."""
    for name in ("workers", "_max_workers", "num_workers"):
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    threads = getattr(getattr(executor, "_client", None), "nthreads", None)  # of Dask
    return (sum(threads().values()) or None) if callable(threads) else None


BROKEN = concurrent.futures.BrokenExecutor
