"""Page faults: none in steady state, few where there are huge pages."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
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


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def wait_for_reserve() -> tuple[float, float]:
    """What an array of a megabyte costs, with the page that an idle worker touches, and
    without both, in megabytes."""
    dr.eval(dr.arange(Float, 1 << 14) + 1)
    before = resident()
    x = dr.arange(Float, 1 << 18) + 1
    dr.eval(x)
    dr.sync_thread()
    end = time.monotonic() + 20
    while resident() - before < 2.9 * 2**20 and time.monotonic() < end:
        time.sleep(0.001)
    most = resident() - before
    del x
    dr.flush_malloc_cache()
    return most / 2**20, (resident() - before) / 2**20


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="no CPU is idle")
def test_reserve() -> None:
    """An idle worker touches the next page, and it goes back as the array does.

    In a process of its own, where nothing stands in such pages yet.
    """
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_pages import dr, wait_for_reserve
dr.set_thread_count(2)
print(*wait_for_reserve())
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    most, left = map(float, done.stdout.split())
    assert most >= 2.9
    assert left < 1.5


def test_memory_goes_back() -> None:
    """What the cache gives back leaves the process, for arrays of all sizes."""
    dr.flush_malloc_cache()
    before = resident()
    arrays = [dr.arange(Float, 1 << 18) + k for k in range(64)]
    dr.eval(arrays)
    dr.sync_thread()
    assert resident() - before > 50 << 20
    del arrays
    dr.flush_malloc_cache()
    assert resident() - before < 10 << 20
