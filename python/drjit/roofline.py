"""How fast kernels are, compared with what the machine can do.

The kernel history says what each kernel reads, writes and computes, and how long it
took. :func:`rate` makes speeds of that, as fractions of two peaks: the speed at which
memory can be copied, and that of fused multiply-adds. :func:`peaks` measures both with
kernels of the package, when first asked. ``python -m drjit bench roofline`` draws them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import drjit as dr

__all__ = ["Peaks", "Rate", "peaks", "rate"]

_MIB = 1 << 20
_SIZES = tuple(size * _MIB for size in (1, 4, 16, 64, 256))
_CHAINS, _STEPS = 8, 32  # sums that do not wait for each other, and their length


class Peaks(NamedTuple):
    """What kernels of the package reach at best, with this many threads."""

    #: Bytes that are read and written in a second when an array beyond all caches is
    #: copied.
    bandwidth: float
    #: Operations in single precision in a second (a fused multiply-add is two).
    flops: float
    #: The same bandwidth for arrays of several sizes: pairs of bytes and speed.
    copies: tuple[tuple[int, float], ...]
    #: Threads that were used.
    threads: int

    @property
    def ridge(self) -> float:
        """Operations per byte from which on arithmetic is the bound."""
        return self.flops / self.bandwidth


class Rate(NamedTuple):
    """The speed of one kernel."""

    #: Operations per byte that is read or written; infinite if there is no byte.
    intensity: float
    #: Bytes in a second, read and written together.
    bandwidth: float
    #: Operations on floats in a second.
    flops: float
    #: Parts of the peaks. More than 1 is possible: caches are faster than memory, and
    #: reading alone is faster than copying.
    bandwidth_fraction: float
    flops_fraction: float


def best_seconds(work: Callable[[], Any], times: int) -> float:
    """The least time of ``times`` evaluations of what ``work`` returns."""
    best = float("inf")
    for _ in range(times):
        result = work()
        dr.sync_thread()
        start = time.perf_counter()
        dr.eval(result)
        dr.sync_thread()
        best = min(best, time.perf_counter() - start)
        del result
    return best


def copy_speed(size: int, times: int) -> float:
    """Bytes read and written in a second by a kernel that copies ``size`` bytes."""
    source = dr.arange(dr.llvm.UInt, size // 4)
    dr.eval(source)
    return 2 * size / best_seconds(lambda: source ^ 1, times)


def fma_speed(lanes: int, times: int) -> float:
    """Operations in a second of a kernel that consists of multiply-adds."""
    half, one = dr.opaque(dr.llvm.Float, 0.5), dr.opaque(dr.llvm.Float, 1)

    def work() -> Any:
        first = dr.arange(dr.llvm.Float, lanes)
        values = [first + k for k in range(_CHAINS)]
        for _ in range(_STEPS):
            values = [dr.fma(value, half, one) for value in values]
        return sum(values[1:], values[0])

    return 2 * _CHAINS * _STEPS * lanes / best_seconds(work, times)


_peaks: dict[int, Peaks] = {}


def peaks(quick: bool = False) -> Peaks:
    """Measure the peaks with this number of threads, or return what was measured.

    That takes about a second and half a gigabyte. A ``quick`` measurement takes a few
    milliseconds, stays within the caches, and is forgotten. Other programs that run
    meanwhile make the result smaller.
    """
    threads = dr.thread_count()
    if threads in _peaks and not quick:
        return _peaks[threads]
    f: Any = dr.JitFlag
    others = f.KernelHistory | f.PrintIR | f.Debug | f.ForbidSynchronization
    with dr.scoped_set_flag(others, False):
        sizes = _SIZES[:2] if quick else _SIZES
        copies = tuple((size, copy_speed(size, 3 if quick else 8)) for size in sizes)
        flops = fma_speed(1 << 14, 3) if quick else fma_speed(1 << 19, 30)
    found = Peaks(copies[-1][1], flops, copies, threads)
    if not quick:
        _peaks[threads] = found
    return found


def rate(entry: dict[str, Any], against: Peaks | None = None) -> Rate:
    """The speed of an entry of :func:`drjit.kernel_history`.

    It is compared with :func:`peaks`, or with those of ``against``. An entry with
    ``has_loops`` counts one iteration, so its speed is at least what this says. One
    that did not run has speed 0.
    """
    against = against or peaks()
    size = entry["bytes_read"] + entry["bytes_written"]
    seconds = entry["execution_time"] * 1e-3 or float("inf")
    bandwidth, flops = size / seconds, entry["flops"] / seconds
    return Rate(
        entry["flops"] / size if size else float("inf"),
        bandwidth,
        flops,
        bandwidth / against.bandwidth,
        flops / against.flops,
    )
