"""Page faults: none in steady state, few where there are huge pages."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")

pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="a sanitizer keeps what is released, and touches memory of its own",
)


def faults(work: Callable[[], Any], times: int = 1) -> int:
    """Pages that are touched for the first time while the result is evaluated."""
    dr.sync_thread()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        dr.eval(work())
        dr.sync_thread()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.parametrize("size", [1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22])
def test_none_in_steady_state(size: int) -> None:
    """Memory is used again: no page is new from the second evaluation on."""
    x = dr.arange(Float, size)
    dr.eval(x)

    def work() -> Any:
        index = dr.arange(dr.llvm.UInt, size)
        return [x * 2 + 1, dr.sum(dr.sin(x)), dr.gather(Float, x, index)]

    for _ in range(3):
        faults(work)
    assert min(faults(work, 20) for _ in range(3)) <= 20  # of Python's own


@pytest.mark.skipif(
    not SETTING.exists() or "[never]" in SETTING.read_text(),
    reason="the system gives no huge pages",
)
def test_few_at_first() -> None:
    """Sixteen arrays of a megabyte are 4,096 small pages, or eight huge ones.

    The system may be short of huge pages, so several tries count. Each is a process,
    since the C library would keep memory that was used before.
    """
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_pages import Float, dr, faults
faults(lambda: dr.arange(Float, 1 << 14) + 1)
print(faults(lambda: [dr.arange(Float, 1 << 18) * k for k in range(2, 18)]))
"""
    counts = []
    while len(counts) < 5 and min(counts, default=4096) >= 1000:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        counts.append(int(done.stdout))
    assert min(counts) < 1000


def test_memory_goes_back() -> None:
    """What the cache gives back leaves the process, for arrays of all sizes."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    dr.flush_malloc_cache()
    before = resident()
    arrays = [dr.arange(Float, 1 << 18) + k for k in range(64)]
    dr.eval(arrays)
    dr.sync_thread()
    assert resident() - before > 50 << 20
    del arrays
    dr.flush_malloc_cache()
    assert resident() - before < 10 << 20
