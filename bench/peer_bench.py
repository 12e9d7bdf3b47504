"""The measures of core_bench on the published package, through its documented API.

    python peer_bench.py MEASURE [ARGUMENT]

Runs in an environment that has `drjit` and `numpy`. It does the same work on the same
data as core_bench.c (the random programs come from the same generator and seed), checks
each result against NumPy before timing it, and prints the same lines of JSON:
{"measure", "case", "value", "unit"}; lower is better unless the unit ends in "/s".
"""

from __future__ import annotations

import gc
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

clock = time.perf_counter
START = clock()

CHAIN_STEPS = 5000
COLLATZ_STEPS = 1700
LEAVES = 8
MASK64 = (1 << 64) - 1

# One statement of a random program: kind, second operand, constant, replaced leaf.
Statement = tuple[int, int, float, int]


def emit(measure: str, case: str, value: float, unit: str) -> None:
    """Print one result."""
    row = {"measure": measure, "case": case, "value": value, "unit": unit}
    print(json.dumps(row), flush=True)


def require(condition: bool, message: str) -> None:
    """End the process with a message unless the condition holds."""
    if not condition:
        sys.exit(message)


def median_time(work: Callable[[], object], warm_seconds: float = 0.5) -> float:
    """Median seconds of work(), after at least three runs of warm-up."""
    start = clock()
    warm = 0
    while warm < 3 or clock() - start < warm_seconds:
        work()
        warm += 1
    times: list[float] = []
    start = clock()
    while len(times) < 512 and (len(times) < 7 or clock() - start < 0.4):
        before = clock()
        work()
        times.append(clock() - before)
    return statistics.median(times)


# ---------------------------------------------------------------- programs


def draws(state: int) -> Iterator[int]:
    """The splitmix64 generator."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        yield z ^ (z >> 31)


def random_statements(seed: int, n: int) -> list[Statement]:
    """The same n statements as programs_random() in programs.c."""
    rng = draws(seed)
    out = []
    for i in range(n):
        kind = next(rng) % 6
        other = next(rng) % LEAVES
        constant = 0.5 + (next(rng) >> 40) * 2.0**-24
        store = LEAVES if i % 5 else next(rng) % LEAVES
        out.append((kind, other, constant, store))
    return out


def make_leaves(dr: Any, t: Any, n: int, seed: int) -> list[Any]:
    """Eight evaluated arrays i / n + random offset."""
    rng = draws(seed ^ 0x5EED5EED5EED5EED)
    leaves = [
        dr.arange(t, n) * (1 / n) + (next(rng) >> 40) * 2.0**-24 for _ in range(LEAVES)
    ]
    dr.make_opaque(leaves)
    dr.sync_thread()
    return leaves


def run_program(ops: Any, statements: list[Statement], leaves: list[Any]) -> Any:
    """The program's last value, with fma, select and minimum taken from `ops`."""
    pool = list(leaves)
    x = pool[0]
    for kind, other, c, store in statements:
        y = pool[other]
        if kind == 0:
            x = x + y
        elif kind == 1:
            x = x * y
        elif kind == 2:
            x = x - y * c
        elif kind == 3:
            x = ops.fma(x, c, y)
        elif kind == 4:
            x = ops.select(x < y, x * c, y)
        else:
            x = ops.minimum(x, y) + c
        if store < LEAVES:
            pool[store] = x
    return x


class NumpyOps:
    """What run_program() needs, on NumPy arrays."""

    @staticmethod
    def fma(x: Any, c: float, y: Any) -> Any:
        """x * c + y, rounded once (nearly, for double precision)."""
        import numpy as np

        wide = np.longdouble
        return (x.astype(wide) * wide(c) + y.astype(wide)).astype(x.dtype)

    @staticmethod
    def select(mask: Any, a: Any, b: Any) -> Any:
        """a where the mask is set, b elsewhere."""
        import numpy as np

        return np.where(mask, a, b)

    @staticmethod
    def minimum(a: Any, b: Any) -> Any:
        """The smaller entries."""
        import numpy as np

        return np.minimum(a, b)


def check_program(
    result: Any, statements: list[Statement], leaves: list[Any]
) -> None:
    """Compare 64 entries with NumPy. The package flushes denormals and compares run on
    rounded values, so single entries may take another branch."""
    import numpy as np

    found = np.array(result)
    stride = max(1, len(found) // 64)
    host = [np.array(leaf)[::stride] for leaf in leaves]
    with np.errstate(all="ignore"):
        expected = run_program(NumpyOps, statements, host)
        near = np.isclose(found[::stride], expected, rtol=1e-3, equal_nan=True)
    require(near.mean() > 0.9, f"random program: {near.mean():.0%} of entries agree")


def chain(a: Any, b: Any, n: int) -> Any:
    """2n dependent operations."""
    x = a
    for _ in range(n):
        x = x * b
        x = x + a
    return x


# ---------------------------------------------------------------- measures


def measure_trace(argument: str) -> None:
    """Tracing and releasing again: ns an operation."""
    import drjit as dr
    from drjit.llvm import Float, UInt32

    a, b = Float(1.5), Float(0.75)
    dr.make_opaque(a, b)
    require(abs(chain(a, b, CHAIN_STEPS)[0] - 6.0) < 1e-4, "mul/add chain")

    def trace_chain() -> None:
        chain(a, b, CHAIN_STEPS)

    seconds = median_time(trace_chain, 0.2)
    emit("trace", "mul/add chain", seconds / (2 * CHAIN_STEPS) * 1e9, "ns/operation")

    n = UInt32(837799)
    dr.make_opaque(n)

    def collatz(x: Any) -> Any:
        for _ in range(COLLATZ_STEPS):
            x = dr.select((x & 1) != 0, x * 3 + 1, x >> 1)
        return x

    expected = 837799
    for _ in range(COLLATZ_STEPS):
        expected = expected * 3 + 1 & 0xFFFFFFFF if expected & 1 else expected >> 1
    require(collatz(n)[0] == expected, "Collatz chain")
    seconds = median_time(lambda: collatz(n), 0.2)
    emit("trace", "Collatz chain", seconds / (6 * COLLATZ_STEPS) * 1e9, "ns/operation")


def measure_launch(argument: str) -> None:
    """Evaluating a kernel that is already compiled, 16 lanes: us, without tracing."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float

    for steps in (5, 50, 750, 5000):
        a = dr.arange(Float, 16) + 1
        b = (dr.arange(Float, 16) + 1) * 1e-6
        dr.make_opaque(a, b)
        host_a, host_b = np.array(a), np.array(b)
        x = host_a
        for _ in range(steps):
            x = x * host_b + host_a
        times = []
        for i in range(101):
            y = chain(a, b, steps)
            gc.disable()
            start = clock()
            dr.eval(y)
            dr.sync_thread()
            times.append(clock() - start)
            gc.enable()
            if i == 0:
                require(np.allclose(np.array(y), x, rtol=1e-4), "launch: wrong result")
        emit("launch", f"{2 * steps} ops", statistics.median(times[40:]) * 1e6, "us")


def measure_first(argument: str) -> None:
    """A program never seen before, 1024 lanes: ms from the evaluation to the result."""
    import drjit as dr
    from drjit.llvm import Float

    for n in (10, 100, 1000, 10000):
        times = []
        for repetition in range(5 if n < 10000 else 3):
            seed = int(argument or 1) * 1000 + repetition
            leaves = make_leaves(dr, Float, 1024, seed)
            statements = random_statements(seed, n)
            x = run_program(dr, statements, leaves)
            start = clock()
            dr.eval(x)
            dr.sync_thread()
            times.append(clock() - start)
            check_program(x, statements, leaves)
        emit("first", f"{n} ops", statistics.median(times) * 1e3, "ms")


def measure_growth(argument: str) -> None:
    """One chain, traced and launched once: ns an operation."""
    import drjit as dr
    from drjit.llvm import Float

    ops = int(argument or 1000) // 2 * 2
    a = dr.arange(Float, 16) + 1
    b = (dr.arange(Float, 16) + 1) * 0.03
    dr.make_opaque(a, b)
    start = clock()
    x = chain(a, b, ops // 2)
    traced = clock() - start
    start = clock()
    dr.eval(x)
    dr.sync_thread()
    evaluated = clock() - start
    emit("growth", f"{ops} ops, trace", traced / ops * 1e9, "ns/operation")
    emit("growth", f"{ops} ops, first launch", evaluated / ops * 1e9, "ns/operation")


def resident() -> int:
    """Bytes of resident memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def measure_footprint(argument: str) -> None:
    """Resident memory of a million traced operations: bytes each."""
    import drjit as dr
    from drjit.llvm import Float

    a, b = Float(1.5), Float(0.75)
    dr.make_opaque(a, b)
    chain(a, b, 10)
    before = resident()
    x = chain(a, b, 500000)
    emit("footprint", "mul/add chain", (resident() - before) / 1e6, "B/operation")
    del x


def measure_startup(argument: str) -> None:
    """From the first line of the program to the sum of square roots: ms."""
    import drjit as dr
    from drjit.llvm import Float

    value = dr.sum(dr.sqrt(dr.arange(Float, 1000) + 1.25))[0]
    end = clock()
    expected = sum(math.sqrt(k + 1.25) for k in range(1000))
    require(abs(value - expected) < 1e-4 * expected, "sum of square roots")
    emit("startup", f"first result, {argument or 'cold'}", (end - START) * 1e3, "ms")


def measure_arithmetic(argument: str) -> None:
    """Fused bodies of random operations on 4M lanes: ns a lane."""
    import drjit as dr
    from drjit.llvm import Float, Float64

    n = 1 << 22
    for count in (10, 100, 1000):
        for name, t in (("f32", Float), ("f64", Float64)):
            leaves = make_leaves(dr, t, n, 20)
            statements = random_statements(20, count)
            times: list[float] = []
            start = clock()
            while len(times) < 10 or clock() - start < 1.0:
                x = run_program(dr, statements, leaves)
                before = clock()
                dr.eval(x)
                dr.sync_thread()
                times.append(clock() - before)
                if len(times) == 1:
                    check_program(x, statements, leaves)
            seconds = statistics.median(times[3:])
            emit("arithmetic", f"{name} {count} ops", seconds / n * 1e9, "ns/lane")


def measure_axpy(argument: str) -> None:
    """a x + y on 32M lanes: GB/s of traffic."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float

    n = 1 << 25
    x, y, a = dr.arange(Float, n) * 1e-3, dr.arange(Float, n) + 1, Float(1.5)
    dr.make_opaque(x, y, a)
    expected = 1.5 * np.array(x)[::99991] + np.array(y)[::99991]
    found = np.array(dr.fma(a, x, y))[::99991]
    require(np.allclose(found, expected, rtol=1e-5), "axpy: wrong result")

    def work() -> None:
        z = dr.fma(a, x, y)
        dr.eval(z)
        dr.sync_thread()

    emit("axpy", "f32", 12e-9 * n / median_time(work), "GB/s")


def measure_scatter(argument: str) -> None:
    """8M values added into bins, and a random gather: ns a value."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    n = 1 << 23
    v = dr.arange(Float, n) * (1 / n) + 0.5
    dr.make_opaque(v)
    for bins in (1, 64, 4096, 1 << 18, 1 << 23):
        i = dr.arange(UInt32, n) * 2654435761
        i = (i ^ (i >> 15)) % bins
        dr.make_opaque(i)

        def add(i: Any = i, bins: int = bins) -> Any:
            out = dr.zeros(Float, bins)
            dr.scatter_reduce(dr.ReduceOp.Add, out, v, i)
            dr.eval(out)
            dr.sync_thread()
            return out

        def gather(i: Any = i) -> Any:
            g = dr.gather(Float, v, i)
            dr.eval(g)
            dr.sync_thread()
            return g

        expected = np.bincount(np.array(i), weights=np.array(v), minlength=bins)
        require(np.allclose(np.array(add()), expected, rtol=2e-2), "scatter-add")
        seconds = median_time(add)
        emit("scatter", f"{bins} bins", seconds / n * 1e9, "ns/value")
        if bins == n:
            expected = np.array(v)[np.array(i)]
            require(np.array_equal(np.array(gather()), expected), "random gather")
            seconds = median_time(gather)
            emit("scatter", "random gather", seconds / n * 1e9, "ns/value")


def measure_reduce(argument: str) -> None:
    """Reductions, scans and compaction of 16M entries: GB/s read."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    n = 1 << 24
    v = dr.arange(Float, n) * (1 / n) + 0.5
    coin = dr.arange(UInt32, n) * 2654435761 >> 31
    factors = dr.select(coin != 0, Float(1 + 2.0**-10), Float(1 / (1 + 2.0**-10)))
    mask = (dr.arange(UInt32, n) * 2654435761 >> 13) % 3 == 0
    dr.make_opaque(v, factors, mask)
    host = np.array(v).astype(np.float64)
    block = 64
    cases: dict[str, tuple[Callable[[], Any], Any]] = {
        "sum": (lambda: dr.sum(v), host.sum()),
        "max": (lambda: dr.max(v), host.max()),
        "prod": (
            lambda: dr.prod(factors),
            np.prod(np.array(factors).astype(np.float64)),
        ),
        "dot": (lambda: dr.dot(v, v), (host * host).sum()),
        "prefix sum": (
            lambda: dr.prefix_reduce(dr.ReduceOp.Add, v),
            np.concatenate(([0.0], np.cumsum(host)[:-1])),
        ),
        "block sum": (
            lambda: dr.block_reduce(dr.ReduceOp.Add, v, block),
            host.reshape(-1, block).sum(axis=1),
        ),
        "compress": (lambda: dr.compress(mask), np.flatnonzero(np.array(mask))),
    }
    for name, (reduce, expected) in cases.items():
        rtol = 1e-2 if name == "prod" else 1e-3
        require(np.allclose(np.array(reduce()), expected, rtol=rtol), f"{name}: wrong")

        def work(reduce: Callable[[], Any] = reduce) -> None:
            y = reduce()
            dr.eval(y)
            dr.sync_thread()

        emit("reduce", name, 4e-9 * n / median_time(work), "GB/s")


MATH = {
    "sin": (-10, 10), "cos": (-10, 10), "tan": (-1.5, 1.5), "asin": (-1, 1),
    "acos": (-1, 1), "atan": (-9, 9), "exp": (-20, 20), "exp2": (-20, 20),
    "log": (1e-6, 99), "log2": (1e-6, 99), "sinh": (-9, 9), "cosh": (-9, 9),
    "tanh": (-9, 9), "asinh": (-9, 9), "acosh": (1.01, 99), "atanh": (-0.99, 0.99),
    "rcp": (1e-3, 99), "rsqrt": (1e-3, 99), "cbrt": (-9, 9), "erf": (-3, 3),
    "erfinv": (-0.99, 0.99), "lgamma": (0.1, 99), "digamma": (0.1, 99),
    "atan2": (-9, 9), "power": (1e-3, 9), "hypot": (-9, 9),
}  # fmt: skip


def emit_times(
    measure: str, case: str, times: list[float], scale: float, unit: str
) -> None:
    """Print the median of the repetitions and the best one."""
    row = {"measure": measure, "case": case, "unit": unit}
    value, best = statistics.median(times) * scale, min(times) * scale
    print(json.dumps(row | {"value": value, "best": best}), flush=True)


def measure_math(argument: str) -> None:
    """Every function on 4M lanes: ns a lane, with a load and a store.

    With the argument "core" in one thread on 256K lanes, else only the function named.
    """
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, Float64

    n = 1 << 22
    if argument == "core":
        n = 1 << 18
        dr.set_thread_count(1)
    for function, (lower, upper) in MATH.items():
        if argument not in ("", "core", function) or not hasattr(dr, function):
            continue
        for name, t, dtype in (("f32", Float, np.float32), ("f64", Float64, float)):
            x = np.linspace(lower, upper, n, endpoint=False).astype(dtype)
            operands = [t(x), t(x[::-1].copy())]
            dr.make_opaque(operands)
            if function not in ("atan2", "power", "hypot"):
                operands.pop()
            call = getattr(dr, function)
            times: list[float] = []
            start = clock()
            while len(times) < 9 or clock() - start < 0.3:
                y = call(*operands)
                before = clock()
                dr.eval(y)
                dr.sync_thread()
                times.append(clock() - before)
            emit_times("math", f"{function} {name}", times[2:], 1e9 / n, "ns/lane")


CALLED = "sin cos sinh cosh tanh asinh atan exp exp2 cbrt erf tan".split()


def measure_math_first(argument: str) -> None:
    """A kernel never seen before with 100 calls of functions, 1024 lanes: ms."""
    import drjit as dr
    from drjit.llvm import Float, Float64

    for name, t in (("f32", Float), ("f64", Float64)):
        times: list[float] = []
        for repetition in range(5):
            seed = int(argument or 1) * 1000 + repetition
            leaves = make_leaves(dr, t, 1024, seed)
            x = leaves[0]
            for kind, other, constant, _ in random_statements(seed, 100):
                function = getattr(dr, CALLED[(kind * LEAVES + other) % len(CALLED)])
                y = function(dr.fma(x, constant, leaves[other]))
                x = y / (1 + abs(y))
            start = clock()
            dr.eval(x)
            dr.sync_thread()
            times.append(clock() - start)
            require(abs(x[77]) < 1, "100 calls: wrong result")
        emit_times("math first", f"100 calls {name}", times, 1e3, "ms")


def measure_version(argument: str) -> None:
    """Version of the package."""
    import drjit as dr
    import numpy as np

    row = {
        "measure": "version",
        "drjit": dr.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "threads": dr.thread_count(),
    }
    print(json.dumps(row), flush=True)


def mandelbrot(dr: Any, t: Any, u: Any, width: int, most: int) -> Any:
    """Iterations until |z| > 2 for width * width points of [-2, 1] x [-1.5, 1.5]."""
    i = dr.arange(u, width * width)
    x = dr.fma(t(i % width), 3 / width, -2)
    y = dr.fma(t(i // width), 3 / width, -1.5)

    def going(zx: Any, zy: Any, n: Any, x: Any, y: Any) -> Any:
        return (zx * zx + zy * zy <= 4) & (n < most)

    def step(zx: Any, zy: Any, n: Any, x: Any, y: Any) -> Any:
        return (zx * zx - zy * zy + x, 2 * zx * zy + y, n + 1, x, y)

    state = (dr.zeros(t, len(i)), dr.zeros(t, len(i)), dr.zeros(u, len(i)), x, y)
    return dr.while_loop(state, going, step, mode="symbolic")[2]


def march(dr: Any, t: Any, u: Any, width: int) -> Any:
    """Distance along rays to six spheres, by sphere tracing; the scene is a loop."""
    i = dr.arange(u, width * width)
    x = dr.fma(t(i % width), 2 / width, -1)
    y = dr.fma(t(i // width), 2 / width, -1)
    scale = 1 / dr.sqrt(x * x + y * y + 1)
    dx, dy, dz = x * scale, y * scale, scale

    def scene(px: Any, py: Any, pz: Any) -> Any:
        def more(k: Any, d: Any, px: Any, py: Any, pz: Any) -> Any:
            return k < 6

        def sphere(k: Any, d: Any, px: Any, py: Any, pz: Any) -> Any:
            c = t(k)
            ex, ey, ez = px - (c * 0.4 - 1), py - (c * 0.25 - 0.6), pz - (c * 0.3 + 3)
            s = dr.sqrt(ex * ex + ey * ey + ez * ez) - 0.45
            return (k + 1, dr.minimum(d, s), px, py, pz)

        state = (u(0), t(1e9), px, py, pz)
        return dr.while_loop(state, more, sphere, mode="symbolic")[1]

    def going(s: Any, d: Any, n: Any, dx: Any, dy: Any, dz: Any) -> Any:
        return (d > 1e-3) & (s < 20) & (n < 64)

    def step(s: Any, d: Any, n: Any, dx: Any, dy: Any, dz: Any) -> Any:
        d = scene(s * dx, s * dy, s * dz)
        return (s + d, d, n + 1, dx, dy, dz)

    size = len(i)
    state = (dr.zeros(t, size), dr.full(t, 1, size), dr.zeros(u, size), dx, dy, dz)
    return dr.while_loop(state, going, step, mode="symbolic")[0]


def target(dr: Any, k: int) -> Callable[[Any], Any]:
    """One of the functions that measure_dispatch() calls."""

    def function(x: Any) -> Any:
        for j in range(8):
            x = dr.fma(x, 0.5 + 0.01 * k, x * (0.125 * (j + 1)) - 0.1 * k)
        return x

    return function


def measure_mandelbrot(argument: str) -> None:
    """512 x 512 points, at most 256 iterations: first picture, and steady."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    times: list[float] = []
    for _ in range(8):
        before = clock()
        n = mandelbrot(dr, Float, UInt32, 512, 256)
        dr.eval(n)
        dr.sync_thread()
        times.append(clock() - before)
    require(float(np.array(n).mean()) > 20, "mandelbrot: wrong picture")
    emit("mandelbrot", "first", times[0] * 1e3, "ms")
    emit("mandelbrot", "steady", statistics.median(times[1:]) * 1e3, "ms")


def measure_march(argument: str) -> None:
    """Sphere tracing with a nested loop, 512 x 512 rays: first picture, and steady."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    times: list[float] = []
    for _ in range(8):
        before = clock()
        s = march(dr, Float, UInt32, 512)
        dr.eval(s)
        dr.sync_thread()
        times.append(clock() - before)
    require(2 < float(np.array(s).min()) < 4, "march: wrong picture")
    emit("march", "first", times[0] * 1e3, "ms")
    emit("march", "steady", statistics.median(times[1:]) * 1e3, "ms")


def measure_dispatch(argument: str) -> None:
    """Eight functions of 24 operations on 4M lanes, neighbours alike or mixed: ns a
    lane. Tracing: a call over 1,000 objects of five classes: us."""
    import drjit as dr
    from drjit.llvm import Float, UInt32

    n = 1 << 22
    functions = [target(dr, k) for k in range(8)]
    i = dr.arange(UInt32, n)
    x = Float(i) * (1 / n) + 0.25
    numbers = {"coherent": i // (n // 8), "incoherent": (i * 2654435769) >> 29}
    dr.make_opaque(x, numbers)
    for case, number in numbers.items():
        times: list[float] = []
        for _ in range(8):
            y = dr.switch(number, functions, x, mode="symbolic")
            before = clock()
            dr.eval(y)
            dr.sync_thread()
            times.append(clock() - before)
        for place in (5, n // 2 + 3, n - 1):
            expected = float(x[place])
            expected = functions[int(number[place])](Float(expected))[0]
            require(abs(y[place] - expected) <= 1e-4 * abs(expected), "dispatch")
        emit("dispatch", case, statistics.median(times[2:]) / n * 1e9, "ns/lane")

    kinds = [target(dr, k) for k in range(5)]
    objects = [lambda x, k=k: kinds[k % 5](x) for k in range(1000)]
    index = dr.arange(UInt32, 1000)
    short = Float(index) * 1e-3
    dr.make_opaque(index, short)
    times = []
    for _ in range(5):
        before = clock()
        dr.switch(index, objects, short, mode="symbolic")
        times.append(clock() - before)
    emit("dispatch", "tracing 1000", statistics.median(times) * 1e6, "us")


MEASURES = {
    "trace": measure_trace,
    "launch": measure_launch,
    "first": measure_first,
    "growth": measure_growth,
    "footprint": measure_footprint,
    "startup": measure_startup,
    "arithmetic": measure_arithmetic,
    "axpy": measure_axpy,
    "scatter": measure_scatter,
    "reduce": measure_reduce,
    "mandelbrot": measure_mandelbrot,
    "march": measure_march,
    "dispatch": measure_dispatch,
    "math": measure_math,
    "math first": measure_math_first,
    "version": measure_version,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in MEASURES:
        names = " ".join(MEASURES)
        sys.exit(f"usage: peer_bench.py MEASURE [ARGUMENT]\nmeasures: {names}")
    MEASURES[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")
