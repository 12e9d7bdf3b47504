"""Measures of the Python package, ours or the published one: whichever is imported.

    python python_bench.py MEASURE [ARGUMENT]

Uses documented functions only, and NumPy. What these measures share with those of the
core (launch, first, growth, arithmetic, axpy, scatter, reduce, footprint) is in
peer_bench.py; this file adds what a Python program sees besides: imports, statements
on vectors and matrices, tensors, products, sorting, NumPy, and those of ad_bench.py
(derivatives) and flow_bench.py (`@dr.syntax`, instances). Results are checked before
they are timed. Prints lines of JSON: {"measure", "case", "value", "best", "unit"}, the
median and the best of the repetitions; lower is better unless the unit ends in "/s".
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ad_bench
import cuda_peer
import flow_bench
import freeze_bench
import fuse_bench
import ordered_bench
import peer_bench
from peer_bench import require
from timing import clock, emit, seconds_of

IMPORTS = {
    "bare python": "pass",
    "import": "import drjit",
    "import llvm": "from drjit.llvm import Float",
    "first sum": (
        "import drjit as dr; from drjit.llvm import Float; "
        "print(dr.sum(dr.sqrt(dr.arange(Float, 1000) + 1.25)))"
    ),
}


def measure_import(argument: str) -> None:
    """Processes that import the package, and no more or a first result: ms.

    One process of each program in turn, so that all meet the same disturbances.
    """
    times: dict[str, list[float]] = {case: [] for case in IMPORTS}
    for turn in range(8):
        for case, code in IMPORTS.items():
            start = clock()
            command = [sys.executable, "-c", code]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if turn:  # the first one writes bytecode and warms the file cache
                times[case].append(clock() - start)
    for case, seconds in times.items():
        emit("import", case, seconds, 1e3, "ms")
    pairs = zip(times["import llvm"], times["bare python"], strict=True)
    emit("import", "llvm above bare", [a - b for a, b in pairs], 1e3, "ms")


def measure_trace(argument: str) -> None:
    """Statements that are traced and released, nothing evaluated: ns a statement."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Array3f, Float, Matrix4f

    for name, t in (("Float", Float), ("Array3f", Array3f)):
        a, b = t(1.5), t(0.75)
        dr.make_opaque(a, b)
        steps = 5000

        def work(a: Any = a, b: Any = b, steps: int = steps) -> Any:
            return peer_bench.chain(a, b, steps)

        # The limit of x -> x b + a is a / (1 - b).
        require(np.allclose(np.array(work()), 6.0, rtol=1e-4), f"trace {name}: wrong")
        emit("trace", name, seconds_of(work), 1e9 / (2 * steps), "ns/statement")

    rows = [[0.5 / (4 * i + j + 1) for j in range(4)] for i in range(4)]
    a = Matrix4f([[i * 4 + j + 1.5 for j in range(4)] for i in range(4)])
    b = Matrix4f(rows)
    dr.make_opaque(a, b)

    def product(steps: int = 100) -> Any:
        x = a
        for _ in range(steps):
            x = x @ b
        return x

    host_a = np.arange(16).reshape(4, 4) + 1.5
    host = host_a @ np.array(rows) @ np.array(rows)
    found = np.array(product(2)).reshape(4, 4)
    require(np.allclose(found, host, rtol=1e-4), "trace Matrix4f: wrong")
    emit("trace", "Matrix4f @", seconds_of(product), 1e9 / 100, "ns/statement")


def operands(n: int) -> tuple[Any, Any]:
    """Two n x n tensors of small numbers."""
    import drjit as dr
    from drjit.llvm import Float, TensorXf, UInt32

    i = dr.arange(UInt32, n * n)
    a = TensorXf(Float(i % 17) + 0.5, (n, n))
    b = TensorXf(Float(i % 13) + 0.5, (n, n))
    dr.eval(a, b)
    return a, b


def measure_matmul(argument: str) -> None:
    """Products of two n x n tensors of f32: GFLOP/s."""
    import drjit as dr
    import numpy as np

    for n in (64, 256, 1024):
        a, b = operands(n)

        def work(a: Any = a, b: Any = b) -> Any:
            c = a @ b
            dr.eval(c)
            dr.sync_thread()
            return c

        host = np.array(a, dtype=np.float64) @ np.array(b, dtype=np.float64)
        require(np.allclose(np.array(work()), host, rtol=1e-4), f"matmul {n}: wrong")
        emit("matmul", str(n), seconds_of(work), 2e-9 * n**3, "GFLOP/s")


def measure_blas(argument: str) -> None:
    """The largest product, and NumPy's on as many threads, in turn: GFLOP/s."""
    import drjit as dr

    os.environ["OPENBLAS_NUM_THREADS"] = str(dr.thread_count())
    import numpy as np  # reads the variable

    n = 1024
    a, b = operands(n)
    host_a, host_b = np.array(a), np.array(b)

    def work() -> None:
        c = a @ b
        dr.eval(c)
        dr.sync_thread()

    def reference() -> None:
        host_a @ host_b

    ours: list[float] = []
    numpy: list[float] = []
    for _ in range(8):
        ours += seconds_of(work, least=3, total=0)
        numpy += seconds_of(reference, least=3, total=0)
    emit("blas", "drjit 1024", ours, 2e-9 * n**3, "GFLOP/s")
    emit("blas", "NumPy 1024", numpy, 2e-9 * n**3, "GFLOP/s")


def measure_tensor(argument: str) -> None:
    """Printing, slicing and indexing a tensor of 64^3 numbers: us."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, TensorXf, UInt32

    n = 64
    t = TensorXf(dr.arange(Float, n**3) + 0.5, (n, n, n))
    i = UInt32(3, 1, 60)
    small = TensorXf(dr.arange(Float, 64) + 0.5, (4, 4, 4))
    dr.eval(t, i, small)
    host, host_i = np.array(t), np.array(i)
    cases: dict[str, tuple[Callable[[], Any], Any]] = {
        "row t[5]": (lambda: t[5], host[5]),
        "slice t[2:60:3, ..., 5]": (lambda: t[2:60:3, ..., 5], host[2:60:3, ..., 5]),
        "new axis t[:, None, 1:]": (lambda: t[:, None, 1:], host[:, None, 1:]),
        "index t[i]": (lambda: t[i], host[host_i]),
        "index t[i, 2, 1:9]": (lambda: t[i, 2, 1:9], host[host_i, 2, 1:9]),
    }
    for text in (str(t), str(small)):
        require(text.startswith("[[[0.5, 1.5, 2.5,"), f"tensor print: wrong, {text}")
    emit("tensor", "print 64^3", seconds_of(lambda: str(t)), 1e6, "us")
    emit("tensor", "print 4^3", seconds_of(lambda: str(small)), 1e6, "us")
    for case, (work, expected) in cases.items():
        require(np.array_equal(np.array(work()), expected), f"tensor {case}: wrong")

        def batch(work: Callable[[], Any] = work) -> None:
            for _ in range(20):
                work()

        def evaluated(work: Callable[[], Any] = work) -> None:
            dr.eval(work())
            dr.sync_thread()

        emit("tensor", case, seconds_of(batch), 1e6 / 20, "us")
        emit("tensor", case + ", evaluated", seconds_of(evaluated), 1e6, "us")


def measure_numpy(argument: str) -> None:
    """10^7 f32 values from NumPy to the package and back: ms."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float

    host = np.arange(10**7, dtype=np.float32) * 0.5
    require(np.array_equal(np.array(Float(host)), host), "numpy: wrong")
    # Starting the threads moves what NumPy allocates afterwards, which changes its
    # number of page faults: as in any program that computes, they run before.
    require(np.array_equal(np.array(Float(host) * 2), host * 2), "numpy: wrong product")

    def arrive() -> Any:
        x = Float(host)
        dr.eval(x)
        dr.sync_thread()
        return x

    def leave() -> Any:
        return np.array(there)

    there = arrive()
    def computed() -> Any:
        return (Float(host) * 2).numpy()

    emit("numpy", "round trip", seconds_of(lambda: np.array(arrive())), 1e3, "ms")
    emit("numpy", "there, product, back", seconds_of(computed), 1e3, "ms")
    emit("numpy", "from NumPy", seconds_of(arrive), 1e3, "ms")
    emit("numpy", "to NumPy, copied", seconds_of(leave), 1e3, "ms")


def measure_sort(argument: str) -> None:
    """Sorting 10^7 unsigned and 10^7 floating point keys: ns a key."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt32

    n = 10**7
    bits = dr.arange(UInt32, n) * 2654435761
    bits ^= bits >> 15
    for name, keys in (("UInt32", bits), ("Float", Float(bits) * 1e-9 - 2)):
        dr.eval(keys)

        def work(keys: Any = keys) -> Any:
            out = dr.sort(keys)
            dr.eval(out)
            dr.sync_thread()
            return out

        require(np.array_equal(np.array(work()), np.sort(np.array(keys))), "sort")
        emit("sort", name, seconds_of(work, warm=0, least=3), 1e9 / n, "ns/key")


def measure_random(argument: str) -> None:
    """Bulk samples of dr.rng(): ns a number."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, Float64

    n = 1 << 23
    generator = dr.rng(seed=1)
    for name, mean, deviation in (("random", 0.5, 12**-0.5), ("normal", 0.0, 1.0)):
        for kind, t in (("f32", Float), ("f64", Float64)):

            def work(name: str = name, t: Any = t) -> Any:
                x = getattr(generator, name)(t, n)
                dr.eval(x)
                dr.sync_thread()
                return x

            host = np.array(work(), dtype=np.float64)
            near = np.allclose((host.mean(), host.std()), (mean, deviation), atol=0.01)
            require(near, f"random {name} {kind}: wrong")
            case = "uniform" if name == "random" else name
            emit("random", f"{case} {kind}", seconds_of(work), 1e9 / n, "ns/number")


def measure_tree(argument: str) -> None:
    """Operations on 1,000 evaluated arrays in PyTrees: us each."""
    import dataclasses

    import drjit as dr
    from drjit.llvm import Float

    pair = dataclasses.make_dataclass("Pair", [("x", Float), ("y", Float)])
    arrays = [Float([i, i + 1]) for i in range(1000)]
    dr.eval(arrays)
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    trees: dict[str, Any] = {
        "list": arrays,
        "dict": {f"k{i}": array for i, array in enumerate(arrays)},
        "500 dataclasses": [pair(*both) for both in pairs],
    }
    for case, tree in trees.items():
        require(dr.width(tree) == 2, f"tree {case}: wrong")
        for name in ("schedule", "width", "copy"):
            function = getattr(dr, name)

            def work(function: Any = function, tree: Any = tree) -> Any:
                return function(tree)

            emit("tree", f"{name} {case}", seconds_of(work), 1e6, "us")


def measure_flow(argument: str) -> None:
    """Tracing loops, conditionals and calls; running calls and evaluated loops."""
    import dataclasses

    import drjit as dr
    from drjit.llvm import Float, UInt

    def trace(case: str, work: Callable[[], Any]) -> None:
        emit("flow", f"trace {case}", seconds_of(work), 1e6, "us")

    counter = dr.zeros(UInt, 16)
    x = tuple(dr.arange(Float, 16) + i for i in range(9))
    mask, number = x[0] > 3, dr.arange(UInt, 16) % 8
    dr.eval(counter, x, mask, number)

    def below(i: Any, *_: Any) -> Any:
        return i < 10

    def step(i: Any, *x: Any) -> Any:
        return i + 1, *(y + 1 for y in x)

    (end, *_) = dr.while_loop((counter, *x), below, step)
    require(dr.all(end == 10), "flow: wrong")
    trace("a loop of 10 states", lambda: dr.while_loop((counter, *x), below, step))
    trace(
        "a conditional of 4 values",
        lambda: dr.if_stmt(
            x[:4],
            mask,
            lambda *x: tuple(y + 1 for y in x),
            lambda *x: tuple(y - 1 for y in x),
        ),
    )
    targets = [lambda y, k=k: y * (k + 2) + k for k in range(8)]
    trace("a switch of 8 targets", lambda: dr.switch(number, targets, x[0]))

    def nested(depth: int, i: Any, y: Any) -> Any:
        """Twenty lines, and as many loops and conditionals around each other."""
        for _ in range(20):
            y = y * 1.01 + 0.5
        if depth == 0:
            return i, y

        def inside(i: Any, y: Any) -> Any:
            i, y = nested(depth - 1, i, y)
            return i + 1, y

        if depth % 2:
            return dr.while_loop((i, y), below, inside)
        return dr.if_stmt((i, y), y > 3, inside, lambda i, y: (i, y - 1))

    trace("200 nested ifs and loops", lambda: nested(200, counter, x[0]))

    names = [f"f{i}" for i in range(10)]
    ten = dataclasses.make_dataclass("Ten", [(name, Float) for name in names])
    objects = [ten(*(dr.arange(Float, 4) + i for i in range(10))) for _ in range(100)]
    dr.eval(objects)

    def change(i: Any, objects: Any) -> Any:
        for thing in objects:
            thing.f0 = thing.f0 + 1
            thing.f1 += 1
        return i + 1, objects

    state = (UInt(0), objects)
    trace("a loop of 1,000 arrays", lambda: dr.while_loop(state, below, change))

    lanes = 1 << 22
    y = dr.arange(Float, lanes)
    incoherent = dr.arange(UInt, lanes) * 2654435761 >> 29
    coherent = dr.arange(UInt, lanes) // (lanes // 8)
    dr.eval(y, incoherent, coherent)
    for case, numbers in (("coherent", coherent), ("incoherent", incoherent)):

        def call(numbers: Any = numbers) -> None:
            dr.eval(dr.switch(numbers, targets, y))
            dr.sync_thread()

        emit("flow", f"switch of 8, 4M lanes, {case}", seconds_of(call), 1e3, "ms")

    def turns() -> None:
        i, *rest = dr.while_loop(
            (counter, *x), lambda i, *x: i < 100, step, mode="evaluated"
        )
        dr.eval(i, rest)
        dr.sync_thread()

    emit("flow", "an evaluated iteration", seconds_of(turns), 1e6 / 100, "us")


MEASURES: dict[str, Callable[[str], None]] = {
    "import": measure_import,
    "trace": measure_trace,
    "matmul": measure_matmul,
    "blas": measure_blas,
    "tensor": measure_tensor,
    "numpy": measure_numpy,
    "sort": measure_sort,
    "random": measure_random,
    "tree": measure_tree,
    "flow": measure_flow,
    **flow_bench.MEASURES,
    **freeze_bench.MEASURES,
    **fuse_bench.MEASURES,
    **ordered_bench.MEASURES,
    **ad_bench.MEASURES,
    **cuda_peer.MEASURES,
}
COMMON = ("launch", "first", "growth", "footprint", "arithmetic", "axpy", "scatter",
          "reduce", "version")  # fmt: skip
MEASURES.update((name, peer_bench.MEASURES[name]) for name in COMMON)

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in MEASURES:
        sys.exit("usage: python_bench.py MEASURE [ARGUMENT]\n" + " ".join(MEASURES))
    MEASURES[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")
