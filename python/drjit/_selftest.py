"""``python -m drjit selftest``: small programs, compared with plain Python.

They run on the engine that ``DRJIT_CPU_ENGINE`` names, or the one that is chosen
without it, and need no other package.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import drjit as dr
import drjit.llvm.ad as types

N = 1000


def _close(found: float, expected: float) -> bool:
    return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6)


def arithmetic() -> bool:
    """A fused kernel of arithmetic and functions."""
    x = dr.arange(types.Float, N) * (1 / N)
    y = dr.sin(x) * dr.exp(-x) + 0.5
    return all(
        _close(y[i], math.sin(i / N) * math.exp(-i / N) + 0.5) for i in (0, 1, N - 1)
    )


def loop() -> bool:
    """A loop with a number of iterations that differs between lanes: Collatz."""

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    start = dr.arange(types.UInt, 1, 65)
    _, found = dr.while_loop(
        (start, types.UInt(0)),
        lambda n, count: n != 1,
        lambda n, count: (dr.select(n % 2 == 1, 3 * n + 1, n // 2), count + 1),
    )
    return [found[i] for i in range(64)] == [steps(i) for i in range(1, 65)]


def memory() -> bool:
    """Gathers, and lanes that add to one entry."""
    index = dr.arange(types.UInt, N)
    source = dr.opaque(types.UInt, 3, N)
    bins = dr.zeros(types.UInt, 7)
    dr.scatter_add(bins, dr.gather(types.UInt, source, index), index % 7)
    return [bins[i] for i in range(7)] == [3 * len(range(i, N, 7)) for i in range(7)]


def reduction() -> bool:
    """A sum over all lanes, fused with what it adds."""
    return _close(
        dr.sum(dr.arange(types.Float64, N) ** 2)[0], N * (N - 1) * (2 * N - 1) / 6
    )


def derivative() -> bool:
    """The gradient of a sum of cubes."""
    x = dr.arange(types.Float, 5)
    dr.enable_grad(x)
    dr.backward(dr.sum(x * x * x))
    return all(_close(dr.grad(x)[i], 3 * i * i) for i in range(5))


TESTS: list[Callable[[], bool]] = [arithmetic, loop, memory, reduction, derivative]


def run() -> Iterator[tuple[str, bool, float]]:
    """Name of each test, whether the result is right, and the milliseconds it took."""
    for test in TESTS:
        start = time.perf_counter()
        right = test()
        yield test.__name__, right, (time.perf_counter() - start) * 1e3


def main() -> int:
    """Print a line for each test; 1 if a result is wrong."""
    wrong = False
    for name, right, milliseconds in run():
        print(f"{name}: {'right' if right else 'WRONG'}, {milliseconds:.2f} ms")
        wrong |= not right
    return 1 if wrong else 0
