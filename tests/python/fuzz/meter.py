"""What a piece of code leaves behind: memory blocks, references, variables."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any

import drjit as dr


def variables() -> int:
    """Number of live variables: the rows of drjit.whos()."""
    rows = dr.whos(as_string=True).split("====\n")[1].splitlines()
    return sum(1 for row in rows if row.strip()[:1].isdigit())


def snapshot(watched: Iterable[Any]) -> list[int]:
    """Variables, blocks, in a debug build of Python references; then of each object."""
    dr.eval()  # writes that are queued hold variables
    gc.collect()
    total = getattr(sys, "gettotalrefcount", lambda: 0)
    return [
        variables(),
        sys.getallocatedblocks(),
        total(),
        *map(sys.getrefcount, watched),
    ]


def growth(
    function: Callable[[], Any], watched: Iterable[Any] = (), rounds: int = 8
) -> list[float]:
    """What each call of the function adds, in the least favourable count of four.

    Caches fill up in the first calls; noise does not repeat itself.
    """
    watched = list(watched)
    for _ in range(3):
        function()
    best = [float("inf")] * (3 + len(watched))
    for _ in range(4):
        before = snapshot(watched)
        for _ in range(rounds):
            function()
        after = snapshot(watched)
        step = [(b - a) / rounds for a, b in zip(before, after, strict=True)]
        best = [min(a, b) for a, b in zip(best, step, strict=True)]
        if not leaks(best):
            break
        rounds *= 4  # lists of free objects fill up in the end
    return best


def leaks(best: list[float]) -> bool:
    return any(entry >= 0.9 for entry in best)
