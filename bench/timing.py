"""Clock, repetitions and output of the measures of the Python package."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

clock = time.perf_counter


def emit(
    measure: str, case: str, seconds: list[float], scale: float, unit: str
) -> None:
    """Print one result: the median and the best of `seconds`, times `scale`.

    For a rate, `scale` is the amount of work that the seconds are divided into.
    """
    values = [scale / s if unit.endswith("/s") else scale * s for s in seconds]
    best = max(values) if unit.endswith("/s") else min(values)
    row = {
        "measure": measure,
        "case": case,
        "value": statistics.median(values),
        "best": best,
        "unit": unit,
    }
    print(json.dumps(row), flush=True)


def seconds_of(
    work: Callable[[], object], warm: int = 2, least: int = 7, total: float = 0.5
) -> list[float]:
    """Seconds of each repetition, after `warm` ones: `least`, or `total` seconds."""
    for _ in range(warm):
        work()
    times: list[float] = []
    start = clock()
    while len(times) < least or (clock() - start < total and len(times) < 1000):
        before = clock()
        work()
        times.append(clock() - before)
    return times
