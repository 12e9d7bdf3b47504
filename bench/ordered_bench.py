"""Sums by index in a fixed order (JitFlag.Deterministic). See python_bench.py.

Times are ratios to those without the flag, in turn, of which the least counts. Sums are
compared with NumPy in double precision first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from peer_bench import require
from timing import emit

LANES = 1 << 22
ENTRIES = (64, 4096, 1 << 16, 1 << 20)
ROUNDS = 30


def measure_ordered(argument: str) -> None:
    """4M values added by random, ascending and repeated indices: time over time."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    random = np.random.default_rng(1)
    values = random.random(LANES, np.float32)
    v = Float(values)
    lane = np.arange(LANES)
    for entries in ENTRIES:
        patterns = {
            "random": random.integers(0, entries, LANES),
            "ascending": lane * entries // LANES,
            "repeated": lane % entries,
        }
        for name, indices in patterns.items():
            index = UInt32(indices.astype(np.uint32))
            dr.eval(v, index)

            def add(ordered: bool, index: Any = index, entries: int = entries) -> Any:
                total = dr.zeros(Float, entries)
                dr.eval(total)
                dr.sync_thread()
                start = time.perf_counter()
                with dr.scoped_set_flag(dr.JitFlag.Deterministic, ordered):
                    dr.scatter_add(total, v, index)
                    dr.eval(total)
                    dr.sync_thread()
                return time.perf_counter() - start, total

            expected = np.bincount(indices, weights=values, minlength=entries)
            for ordered in (False, True):
                found = np.array(add(ordered)[1])
                require(np.allclose(found, expected, rtol=2e-3), f"ordered {name}")
            rounds = [(add(False)[0], add(True)[0]) for _ in range(ROUNDS)]
            plain, fixed = (min(times) for times in zip(*rounds, strict=True))
            case = f"{name}, {entries} entries"
            emit("ordered", f"{case}, without", [plain / LANES], 1e9, "ns/value")
            emit("ordered", f"{case}, over without", [fixed / plain], 1, "ratio")


MEASURES: dict[str, Callable[[str], None]] = {"ordered": measure_ordered}
