"""Measures of reductions of computed values. See python_bench.py.

Each result is compared with NumPy in double precision before it is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peer_bench import require
from timing import emit, seconds_of

LANES = 1 << 24
ROWS, COLUMNS = 1 << 14, 1000
BINS = 256


def measure_fuse(argument: str) -> None:
    """Losses, norms, tests and compression of 16M computed values: ms."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, LANES)).astype(np.float32)
    x, y = Float(a), Float(b)
    dr.eval(x, y)
    p, q = a.astype(np.float64), b.astype(np.float64)

    def moments() -> Any:
        mean = dr.mean(x)
        return mean, dr.mean(dr.square(x - mean))

    def histogram() -> Any:
        bins = dr.zeros(UInt32, BINS)
        place = UInt32(dr.clip(x * 40 + 128, 0, BINS - 1))
        dr.scatter_reduce(dr.ReduceOp.Add, bins, UInt32(1), place)
        return bins

    scaled = a * np.float32(40) + np.float32(128)
    places = np.clip(scaled, 0, BINS - 1).astype(np.uint32)
    cases: dict[str, tuple[Callable[[], Any], Callable[[Any], bool]]] = {
        "sum((x - y)^2)": (
            lambda: dr.sum(dr.square(x - y)),
            lambda r: np.isclose(r[0], np.sum((p - q) ** 2), rtol=1e-4),
        ),
        "mean and variance": (
            moments,
            lambda r: np.allclose([r[0][0], r[1][0]], [p.mean(), p.var()], atol=1e-4),
        ),
        "sums of x and x^2": (
            lambda: (dr.sum(x), dr.sum(x * x)),
            lambda r: np.isclose(r[1][0], np.sum(p * p), rtol=1e-4),
        ),
        "dot": (
            lambda: dr.dot(x, y),
            lambda r: np.isclose(r[0], np.dot(p, q), atol=1),
        ),
        "max(abs(x - y))": (
            lambda: dr.max(dr.abs(x - y)),
            lambda r: r[0] == np.max(np.abs(a - b)),
        ),
        "any(x > y + 100)": (lambda: dr.any(x > y + 100), lambda r: not r[0]),
        "compress(x > 0)": (
            lambda: dr.compress(x > 0),
            lambda r: np.array_equal(np.array(r), np.nonzero(a > 0)[0]),
        ),
        "cumsum(x - y)": (
            lambda: dr.cumsum(x - y),
            lambda r: np.allclose(np.array(r), np.cumsum(p - q), atol=1),
        ),
        "argmax(abs(x - y))": (
            lambda: dr.argmax(dr.abs(x - y)),
            lambda r: r[0] == np.argmax(np.abs(a - b)),
        ),
        "histogram": (
            histogram,
            lambda r: np.abs(
                np.array(r).astype(int) - np.bincount(places, minlength=BINS)
            ).sum()
            < 1000,
        ),
    }
    for case, (work, check) in cases.items():
        time_case(case, work, check)
    table = Float(random.standard_normal(ROWS * COLUMNS).astype(np.float32))
    small = Float(a[:1000])
    dr.eval(table, small)
    time_case(
        "sum of 1,000",
        lambda: dr.sum(dr.square(small - 1)),
        lambda r: np.isclose(r[0], np.sum((p[:1000] - 1) ** 2), rtol=1e-4),
    )
    measure_rows(table)
    measure_gradient(a, b)


def time_case(case: str, work: Callable[[], Any], check: Callable[[Any], Any]) -> None:
    """Check and time one case."""
    import drjit as dr

    def run() -> Any:
        result = work()
        dr.eval(result)
        dr.sync_thread()
        return result

    require(bool(check(run())), f"fuse: {case} is wrong")
    emit("fuse", case, seconds_of(run, total=1), 1e3, "ms")


def measure_rows(table: Any) -> None:
    """Softmax, logarithm of the sum of exponentials and normalisation of the rows of a
    matrix."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    row = dr.arange(UInt32, ROWS * COLUMNS) // COLUMNS

    def softmax() -> Any:
        most = dr.block_reduce(dr.ReduceOp.Max, table, COLUMNS)
        e = dr.exp(table - dr.gather(Float, most, row))
        total = dr.block_sum(e, COLUMNS)
        return e / dr.gather(Float, total, row)

    def logsumexp() -> Any:
        most = dr.block_reduce(dr.ReduceOp.Max, table, COLUMNS)
        e = dr.exp(table - dr.gather(Float, most, row))
        return most + dr.log(dr.block_sum(e, COLUMNS))

    def normalise() -> Any:
        apart = table - dr.gather(Float, dr.block_sum(table, COLUMNS) / COLUMNS, row)
        variance = dr.block_sum(dr.square(apart), COLUMNS) / COLUMNS
        return apart * dr.gather(Float, dr.rsqrt(variance), row)

    host = np.array(table).astype(np.float64).reshape(ROWS, COLUMNS)
    apart = host - host.mean(1, keepdims=True)
    most = host.max(1, keepdims=True)
    e = np.exp(host - most)
    total = e.sum(1, keepdims=True)
    cases = {
        "softmax of rows": (softmax, e / total),
        "logsumexp of rows": (logsumexp, most + np.log(total)),
        "normalised rows": (normalise, apart / host.std(1, keepdims=True)),
    }
    for case, (work, expected) in cases.items():
        time_case(case, work, close_to(expected.ravel()))


def close_to(expected: Any) -> Callable[[Any], Any]:
    """Is a result near to that?"""
    import numpy as np

    return lambda r: np.allclose(np.array(r), expected, rtol=1e-3, atol=1e-4)


def measure_gradient(a: Any, b: Any) -> None:
    """Loss and gradient of a line fitted to points."""
    import drjit as dr
    import numpy as np
    from drjit.llvm.ad import Float

    x, y = Float(a), Float(b)
    slope, offset = Float([0.5]), Float([0.25])
    dr.eval(x, y, slope, offset)
    dr.enable_grad(slope, offset)

    def fit() -> Any:
        dr.clear_grad(slope)
        dr.clear_grad(offset)
        loss = dr.mean(dr.square(slope * x + offset - y))
        dr.backward(loss)
        return dr.detach(loss), dr.grad(slope), dr.grad(offset)

    p, q = a.astype(np.float64), b.astype(np.float64)
    apart = 0.5 * p + 0.25 - q
    expected = [np.mean(apart**2), np.mean(2 * apart * p), np.mean(2 * apart)]
    time_case(
        "loss and gradient",
        fit,
        lambda r: np.allclose([v[0] for v in r], expected, rtol=1e-3),
    )


MEASURES: dict[str, Callable[[str], None]] = {"fuse": measure_fuse}
