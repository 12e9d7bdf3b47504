"""Measures of drjit.dist on processes of this machine.

    python bench/dist.py [--rounds N]

Prints a table with goals, and the load of the machine before and after. Each number is
the best of several rounds, and sides that are compared take turns:

- efficiency: tasks of 100 ms on two workers, against two processes that do the same
  calls by themselves, without drjit.dist;
- first result: from the call to the first result of a worker that has started, and has
  imported the package, but knows nothing of the work;
- bytes: of the first message to a worker, and of those that follow;
- task: the cost of a task that computes next to nothing, against a function of NumPy
  that cloudpickle sends to the same kind of executor, with as many in flight.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any

import cloudpickle
import drjit as dr
import numpy as np
from drjit import dist
from drjit.llvm.ad import Float, UInt
from timing import clock

TASKS, SECONDS = 20, 0.1  # of the efficiency
LANES = 1 << 14
SMALL, IN_FLIGHT = 2000, 8  # tasks of next to nothing


# ---------------------------------------------------------------- efficiency


def spin(index: UInt, count: UInt) -> Float:
    """Takes time by the count."""

    def body(x: Float, i: UInt) -> tuple[Float, UInt]:
        return dr.sin(x) + 1, i + 1

    x, _ = dr.while_loop((Float(index), UInt(0)), lambda x, i: i < count, body)
    return dr.sum(x)


def calls(count: int, times: int) -> float:
    """Seconds of calls in this process."""
    dr.set_thread_count(1)
    frozen = dr.freeze(spin)
    index, number = dr.arange(UInt, LANES), dr.opaque(UInt, count)
    dr.eval(index)
    for warm in (True, False):
        begin = clock()
        for _ in range(1 if warm else times):
            dr.eval(frozen(index, number))
            dr.sync_thread()
    return clock() - begin


def calibrate(executor: Executor) -> int:
    """The count that takes a task the time that is wanted."""
    tries = [executor.submit(calls, 2000, 5).result() / 5 for _ in range(5)]
    return int(2000 * SECONDS / min(tries))


def spread(pool: dist.Pool, count: int) -> float:
    """Seconds of tasks in workers; the first block is computed here, and not timed."""
    numbers = dr.opaque(UInt, count)
    blocks = iter([dr.arange(UInt, LANES)] * (TASKS + 1))
    begin = 0.0

    def timed() -> Iterator[UInt]:
        nonlocal begin
        yield next(blocks)
        dr.sync_thread()
        begin = clock()
        yield from blocks

    dist.sum(pool, spin, timed(), args=(numbers,))
    return clock() - begin


def efficiency(rounds: int) -> float:
    with dist.Pool(2) as pool:
        count = calibrate(pool)
        spread(pool, 10)  # workers have started
        alone, shared = [], []
        for _ in range(rounds):
            pair = [pool.submit(calls, count, TASKS // 2) for _ in range(2)]
            alone.append(max(each.result() for each in pair))
            shared.append(spread(pool, count))
    result: float = min(alone) / min(shared)
    return result


# ---------------------------------------------------------------- first result


def formula(x: Float, k: Float) -> Float:
    return dr.sum(dr.sin(x) * k + dr.exp(-x))


def first_result(_round: int) -> float:
    """Seconds from giving a task out to its result."""
    begin = 0.0

    def timed() -> Iterator[Float]:
        nonlocal begin
        yield dr.opaque(Float, 1, 1000)  # recorded here
        second = dr.opaque(Float, 2, 1000)
        dr.sync_thread()
        begin = clock()
        yield second

    common = (dr.opaque(Float, 2),)
    with dist.Pool(1) as pool:
        pool.submit(os.getpid).result()
        results = list(dist.map(pool, formula, timed(), args=common))
        seconds = clock() - begin
    assert len(results) == 2
    return seconds


# ---------------------------------------------------------------- bytes


class Counting(Executor):
    """Performs tasks here, and counts the bytes that would be sent."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, f: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        data = pickle.dumps((f, args, kwargs))
        self.sizes.append(len(data))
        f, args, kwargs = pickle.loads(data)
        future: Future[Any] = Future()
        future.set_result(f(*args, **kwargs))
        return future


def sizes() -> tuple[int, int]:
    """Of the message with the recording, and the largest of the others."""
    executor = Counting()
    dist.sum(executor, lambda i: dr.sum(dr.sin(Float(i))), 100_000, block=1000)
    found = sorted(executor.sizes)
    return found[-1], found[-2]


# ---------------------------------------------------------------- tasks


def pickled(data: bytes) -> bytes:
    """What a worker does for NumPy."""
    f, x = cloudpickle.loads(data)
    result: bytes = cloudpickle.dumps(f(x))
    return result


def numpy_tasks(executor: Executor) -> float:
    """Seconds of a task."""
    x = np.ones(100, np.float32)

    def f(x: Any) -> Any:
        return x * 2 + 1

    begin = clock()
    given: set[Future[Any]] = set()
    for _ in range(SMALL):
        if len(given) == IN_FLIGHT:
            done, given = wait(given, return_when=FIRST_COMPLETED)
            for future in done:
                assert pickle.loads(future.result())[0] == 3
        given.add(executor.submit(pickled, cloudpickle.dumps((f, x))))
    for future in given:
        future.result()
    return (clock() - begin) / SMALL


def dist_tasks(executor: Executor) -> float:
    x = dr.opaque(Float, 1, 100)
    items = [x] * SMALL
    begin = clock()
    for _ in dist.map(executor, double, items, ahead=IN_FLIGHT):
        pass
    return (clock() - begin) / SMALL


def double(x: Float) -> Float:
    return x * 2 + 1


def tasks(rounds: int) -> tuple[float, float]:
    with dist.Pool(2) as pool:
        both: tuple[Callable[[Executor], float], ...] = (numpy_tasks, dist_tasks)
        times = [[f(pool) for f in both] for _ in range(rounds + 1)][1:]
    ours = min(ours for _, ours in times)
    return min(theirs for theirs, _ in times), ours


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"load {os.getloadavg()[0]:.1f} on {multiprocessing.cpu_count()} cores")
    largest, others = sizes()
    theirs, ours = tasks(rounds)
    first = min(map(first_result, range(2 * rounds)))
    worked = efficiency(rounds)
    rows = [
        ("efficiency, tasks of 100 ms, 2 workers", worked, ">", 0.95, ""),
        ("first result of a cold worker", 1e3 * first, "<", 10, " ms"),
        ("bytes of the first message", largest, "", None, ""),
        ("bytes of a task", others, "<", 1000, ""),
        ("a task of NumPy", 1e6 * theirs, "", None, " us"),
        ("a task of drjit.dist", 1e6 * ours, "", None, " us"),
        ("drjit.dist over NumPy", ours / theirs, "<", 1.2, ""),
    ]
    bad = 0
    for name, value, relation, goal, unit in rows:
        met = goal is None or (value > goal if relation == ">" else value < goal)
        note = "" if goal is None else f"  (goal {relation} {goal:g}{unit})"
        print(f"{name:40} {value:10.4g}{unit:3}{note}{'' if met else '  MISSED'}")
        bad += not met
    print(f"load {os.getloadavg()[0]:.1f}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
