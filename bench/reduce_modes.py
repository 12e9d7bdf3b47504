"""Scatter-additions with each ReduceMode: the tables of docs/reduce-modes.md.

    python bench/reduce_modes.py [--quick] [--wall]

Nanoseconds for each value, of 32-bit floats that are added by random, ascending and
distinct indices. It is processor time, of all threads together, which a machine that
others use hardly changes; '--wall' measures from beginning to end. The modes of a case
take turns, and of many rounds the least counts: other programs only ever add time. Sums
are compared with NumPy in double precision first. The fastest mode is bold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm import Float, UInt32
from peer_bench import require

MILLION = 1 << 20
LANES = [MILLION, 4 * MILLION, 16 * MILLION]
ENTRIES = [1, 16, 256, 4096, 1 << 16, 1 << 18, MILLION, 2 * MILLION, 8 * MILLION]
ROUNDS, SECONDS = 15, 6.0  # of a case, whichever comes first
SHARED = ("Auto", "Direct", "Local", "Expand")

Work = Callable[[], Any]
clock = time.perf_counter if "--wall" in sys.argv[1:] else time.process_time


def least(works: dict[str, Work], rounds: int, seconds: float) -> dict[str, float]:
    """The least time of each, in seconds; they take turns."""
    best = dict.fromkeys(works, float("inf"))
    end = time.perf_counter() + seconds
    done = 0
    while done < 3 or (done < rounds and time.perf_counter() < end):
        for name, work in works.items():
            start = clock()
            work()
            best[name] = min(best[name], clock() - start)
        done += 1
    return best


def adds(
    values: Any, index: Any, entries: int, modes: tuple[str, ...]
) -> dict[str, Work]:
    """An addition into zeros that are in memory, for each mode."""
    target = dr.zeros(Float, entries)
    dr.eval(target)

    def add(mode: dr.ReduceMode) -> Float:
        dr.scatter_add(target, values, index, mode=mode)
        dr.eval(target)
        dr.sync_thread()
        return target

    return {name: partial(add, dr.ReduceMode[name]) for name in modes}


def check(works: dict[str, Work], values: Any, index: Any, entries: int) -> None:
    """Each mode adds what NumPy adds. They have one target, one after the other."""
    once = np.bincount(np.array(index), weights=np.array(values), minlength=entries)
    for done, (name, work) in enumerate(works.items(), 1):
        found = np.array(work(), np.float64)
        require(np.allclose(found, done * once, rtol=1e-2), f"{name}, {entries}")


def row(case: str, best: dict[str, float], lanes: int, columns: tuple[str, ...]) -> str:
    """A line of a Markdown table."""
    fastest = min(best, key=lambda name: best[name])
    cells = []
    for name in columns:
        text = f"{best[name] / lanes * 1e9:.2f}" if name in best else "-"
        cells.append(f"**{text}**" if name == fastest else text)
    return f"| {case} | " + " | ".join(cells) + " |"


def head(title: str, columns: tuple[str, ...]) -> None:
    print(f"\n| {title} | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|", flush=True)


def indices(pattern: str, lanes: int, entries: int) -> Any:
    """Positions: 'random' ones, or 'ascending' ones, in runs of equal ones."""
    if pattern == "random":
        raw = np.random.default_rng(1).integers(0, entries, lanes, dtype=np.uint32)
    else:
        raw = (np.arange(lanes, dtype=np.uint64) * entries // lanes).astype(np.uint32)
    index = UInt32(raw)
    dr.eval(index)
    return index


def several(values: Any, lanes: int, rounds: int, seconds: float) -> None:
    """Many values for each entry."""
    for pattern in ("random", "ascending"):
        head(f"{lanes // MILLION}M values, {pattern}: entries", SHARED)
        for entries in ENTRIES:
            index = indices(pattern, lanes, entries)
            works = adds(values, index, entries, SHARED)
            check(works, values, index, entries)
            best = least(works, rounds, seconds)
            print(row(f"{entries:,}", best, lanes, SHARED), flush=True)


def distinct(values: Any, lanes: int, rounds: int, seconds: float) -> None:
    """One value for each entry: scatter_add, and scatter, which has two modes."""
    columns = (*SHARED, "NoConflicts", "scatter", "scatter, Permute")
    head(f"{lanes // MILLION}M values, one for each entry", columns)
    orders = {
        "in order": np.arange(lanes, dtype=np.uint32),
        "permuted": np.random.default_rng(2).permutation(lanes).astype(np.uint32),
    }
    for name, order in orders.items():
        index = UInt32(order)
        works = adds(values, index, lanes, (*SHARED, "NoConflicts"))
        check(works, values, index, lanes)

        def put(mode: dr.ReduceMode, index: Any = index) -> Float:
            target = dr.empty(Float, lanes)
            dr.scatter(target, values, index, mode=mode)
            dr.eval(target)
            dr.sync_thread()
            return target

        works["scatter"] = partial(put, dr.ReduceMode.Auto)
        works["scatter, Permute"] = partial(put, dr.ReduceMode.Permute)
        best = least(works, rounds, seconds)
        print(row(name, best, lanes, columns), flush=True)


def main() -> int:
    quick = "--quick" in sys.argv[1:]
    kind = "of processor time" if clock is time.process_time else "from start to end"
    print(f"{dr.thread_count()} threads; nanoseconds {kind} a value, the least")
    for lanes in LANES[:1] if quick else LANES:
        values = Float(np.random.default_rng(3).random(lanes, np.float32))
        dr.eval(values)
        rounds, seconds = (3, 0.2) if quick else (ROUNDS, SECONDS)
        several(values, lanes, rounds, seconds)
        distinct(values, lanes, rounds, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
