"""Measures of derivatives, on the package that is imported. See python_bench.py.

What is timed of a gradient: tracing, the traversal, evaluation and waiting, unless a
measure says otherwise. Gradients are compared with closed forms, with hand-written
derivatives in NumPy or with difference quotients in double precision before that.
"""

from __future__ import annotations

import resource
import statistics
from collections.abc import Callable
from typing import Any

import peer_bench
from peer_bench import chain, require, resident
from timing import clock, emit, seconds_of

STEPS = 5000
LANES = 1 << 22
TURNS = 33  # of the logistic map, three operations each
RATE = 2.5


def tracked_pair(count: int = 1) -> tuple[Any, Any]:
    """1.5 and 0.75 in memory; derivatives by the first one are wanted."""
    import drjit as dr
    from drjit.llvm.ad import Float

    a, b = Float([1.5] * count), Float([0.75] * count)
    dr.make_opaque(a, b)
    dr.enable_grad(a)
    return a, b


def differentiate(a: Any, b: Any, steps: int) -> Any:
    """The derivative of peer_bench.chain() by its first argument."""
    import drjit as dr

    dr.clear_grad(a)
    x = chain(a, b, steps)
    dr.backward(x)
    return dr.grad(a)


def measure_chain(argument: str) -> None:
    """Tracing a chain and its reverse derivative, nothing evaluated: ns a node."""
    a, b = tracked_pair()
    # The sum of b^k.
    require(abs(differentiate(a, b, STEPS)[0] - 4) < 1e-4, "ad chain: wrong")
    times = seconds_of(lambda: differentiate(a, b, STEPS))
    emit("ad chain", "10,000 nodes", times, 1e9 / (2 * STEPS), "ns/node")


def measure_growth(argument: str) -> None:
    """The same once, in a graph of any size: ns and bytes a node."""
    nodes = int(argument or 100000)
    a, b = tracked_pair()
    differentiate(a, b, 100)
    before = resident()
    start = clock()
    grad = differentiate(a, b, nodes // 2)
    seconds = clock() - start
    # Kilobytes, unless more was in use before.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    emit("ad growth", f"{nodes} nodes", [seconds], 1e9 / nodes, "ns/node")
    emit("ad growth", f"{nodes} nodes, peak memory", [peak], 1 / nodes, "B/node")
    del grad


def measure_trace(argument: str) -> None:
    """Statements on plain arrays, and on those of the families with derivatives."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float
    from drjit.llvm.ad import Float as FloatD

    pairs: dict[str, tuple[Any, Any]] = {
        "plain": (Float(1.5), Float(0.75)),
        "no gradient": (FloatD(1.5), FloatD(0.75)),
        "gradient": (FloatD(1.5), FloatD(0.75)),
    }
    dr.make_opaque(list(pairs.values()))
    dr.enable_grad(pairs["gradient"][0])
    times: dict[str, list[float]] = {case: [] for case in pairs}
    for a, b in pairs.values():
        found = np.array(dr.detach(chain(a, b, STEPS)))
        require(np.allclose(found, 6, rtol=1e-4), "ad trace: wrong")
    for _ in range(8):  # in turn, so that all meet the same disturbances
        for case, (a, b) in pairs.items():

            def work(a: Any = a, b: Any = b) -> Any:
                return chain(a, b, STEPS)

            times[case] += seconds_of(work, warm=1, least=3, total=0.1)
    for case, seconds in times.items():
        emit("ad trace", case, seconds, 1e9 / (2 * STEPS), "ns/statement")
    for case in ("no gradient", "gradient"):
        ratio = min(times[case]) / min(times["plain"])
        emit("ad trace", f"{case}, over plain", [ratio], 1, "times")


def measure_footprint(argument: str) -> None:
    """Resident memory of a million traced operations with derivatives: bytes each."""
    a, b = tracked_pair()
    chain(a, b, 10)
    before = resident()
    x = chain(a, b, 500000)
    emit("ad footprint", "an operation", [(resident() - before) / 1e6], 1, "B")
    del x


def measure_first(argument: str) -> None:
    """The gradient of a program never seen before, 1,024 lanes: ms."""
    import drjit as dr
    from drjit.llvm.ad import Float

    for n in (10, 100, 1000):
        times = []
        for repetition in range(5):
            seed = int(argument or 1) * 1000 + repetition
            leaves = peer_bench.make_leaves(dr, Float, 1024, seed)
            dr.enable_grad(leaves)
            statements = peer_bench.random_statements(seed, n)
            x = peer_bench.run_program(dr, statements, leaves)
            start = clock()
            dr.backward(x)
            gradients = dr.grad(leaves)
            dr.eval(gradients)
            dr.sync_thread()
            times.append(clock() - start)
            check_gradients(gradients, statements, leaves)
        emit("ad first", f"{n} ops", [statistics.median(times)], 1e3, "ms")


def check_gradients(gradients: list[Any], statements: Any, leaves: list[Any]) -> None:
    """Compare 64 entries with difference quotients of NumPy. Where rounding takes
    another branch they differ, so not all have to agree."""
    import drjit as dr
    import numpy as np

    stride = max(1, len(leaves[0]) // 64)
    wide = [np.array(dr.detach(leaf))[::stride].astype(np.float64) for leaf in leaves]
    agree = []
    with np.errstate(all="ignore"):
        for k, gradient in enumerate(gradients):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [w + step if i == k else w for i, w in enumerate(wide)]
                ends.append(
                    peer_bench.run_program(peer_bench.NumpyOps, statements, moved)
                )
            expected = (ends[0] - ends[1]) / 2e-6
            found = np.array(gradient)[::stride]
            scale = np.maximum(1, np.abs(expected))
            agree.append(np.abs(found - expected) <= 1e-2 * scale)
            agree[-1] |= ~np.isfinite(expected)
    share = np.mean(agree)
    require(share > 0.9, f"gradients of a random program: {share:.0%} agree")


def logistic(x: Any) -> Any:
    """TURNS steps of the logistic map."""
    for _ in range(TURNS):
        x = (RATE * x) * (1 - x)
    return x


def logistic_gradient(x: Any) -> Any:
    """Its derivative, with NumPy in double precision."""
    slope = 1
    for _ in range(TURNS):
        slope = slope * (RATE * (1 - 2 * x))
        x = RATE * x * (1 - x)
    return slope


def measure_kernel(argument: str) -> None:
    """Fused kernels of 100 operations on 4M lanes and their derivatives: ns a lane."""
    import drjit as dr
    import numpy as np
    from drjit.llvm.ad import Float

    x = dr.arange(Float, LANES) * (0.9 / LANES) + 0.05
    leaves = peer_bench.make_leaves(dr, Float, LANES, 20)
    statements = peer_bench.random_statements(20, 100)
    dr.eval(x)
    cases: dict[str, tuple[Callable[[], Any], list[Any]]] = {
        "logistic map": (lambda: logistic(x), [x]),
        "random program": (
            lambda: peer_bench.run_program(dr, statements, leaves),
            leaves,
        ),
    }
    for case, (function, inputs) in cases.items():

        def primal(function: Callable[[], Any] = function) -> None:
            dr.eval(function())
            dr.sync_thread()

        def reverse(
            function: Callable[[], Any] = function, inputs: list[Any] = inputs
        ) -> Any:
            dr.clear_grad(inputs)
            dr.backward(function())
            gradients = dr.grad(inputs)
            dr.eval(gradients)
            dr.sync_thread()
            return gradients

        forward_times = seconds_of(primal, total=1)
        dr.enable_grad(inputs)
        gradients = reverse()
        if case == "logistic map":
            host = np.array(dr.detach(x))[:: LANES // 64].astype(np.float64)
            found = np.array(gradients[0])[:: LANES // 64]
            near = np.allclose(found, logistic_gradient(host), rtol=1e-2, atol=1e-6)
            require(near, "ad kernel: wrong")
        else:
            check_gradients(gradients, statements, inputs)
        del gradients
        times = seconds_of(reverse, total=1)
        emit("ad kernel", f"{case}, primal", forward_times, 1e9 / LANES, "ns/lane")
        emit("ad kernel", f"{case}, reverse", times, 1e9 / LANES, "ns/lane")
        ratio = min(times) / min(forward_times)
        emit("ad kernel", f"{case}, over primal", [ratio], 1, "times")


def measure_gather(argument: str) -> None:
    """The reverse derivative of a gather of 8M lanes from 1M entries: ns a lane."""
    import drjit as dr
    import numpy as np
    from drjit.llvm.ad import Float, UInt32

    lanes, entries = 1 << 23, 1 << 20
    source = dr.arange(Float, entries) * (1 / entries) + 0.5
    i = dr.arange(UInt32, lanes) * 2654435761
    cases = {
        "random": (i ^ (i >> 15)) % entries,
        "ordered": dr.arange(UInt32, lanes) // (lanes // entries),
    }
    dr.eval(source, cases)
    dr.enable_grad(source)
    for case, index in cases.items():

        def work(index: Any = index) -> Any:
            dr.clear_grad(source)
            y = dr.gather(Float, source, index)
            dr.backward(y * y)
            gradient = dr.grad(source)
            dr.eval(gradient)
            dr.sync_thread()
            return gradient

        host, host_index = np.array(dr.detach(source)), np.array(index)
        weights = 2 * host[host_index].astype(np.float64)
        expected = np.bincount(host_index, weights, entries)
        require(np.allclose(np.array(work()), expected, rtol=1e-4), f"gather {case}")
        emit("ad gather", case, seconds_of(work, total=1), 1e9 / lanes, "ns/lane")


def measure_loop(argument: str) -> None:
    """The reverse derivative of a loop with 64 steps, 1M lanes: ms."""
    import drjit as dr
    import numpy as np
    from drjit.llvm.ad import Float, UInt32

    lanes, turns = 1 << 20, 64
    x = dr.arange(Float, lanes) * (0.5 / lanes) + 0.25
    dr.eval(x)

    def run() -> Any:
        return dr.while_loop(
            (UInt32(0), x, Float(x)),
            lambda i, y, x: i < turns,
            lambda i, y, x: (i + 1, y * (1.25 - y) + x * 0.125, x),
            max_iterations=turns,
        )[1]

    def primal() -> None:
        dr.eval(run())
        dr.sync_thread()

    def work() -> Any:
        dr.clear_grad(x)
        dr.backward(run())
        gradient = dr.grad(x)
        dr.eval(gradient)
        dr.sync_thread()
        return gradient

    times = seconds_of(primal, total=1)
    emit("ad loop", "64 steps, primal", times, 1e3, "ms")
    dr.enable_grad(x)
    host = np.array(dr.detach(x)).astype(np.float64)
    y, slope = host, np.ones_like(host)
    for _ in range(turns):
        slope = slope * (1.25 - 2 * y) + 0.125
        y = y * (1.25 - y) + host * 0.125
    require(np.allclose(np.array(work()), slope, rtol=1e-3), "ad loop: wrong")
    emit("ad loop", "64 steps, reverse", seconds_of(work, total=1), 1e3, "ms")


def measure_network(argument: str) -> None:
    """A training step of a network, 64 to 64 to 3 features, of 1M samples: ms."""
    import drjit as dr
    import numpy as np
    from drjit.llvm.ad import Float, TensorXf, UInt32

    samples, inner, outer = 1 << 20, 64, 3

    def numbers(rows: int, columns: int, scale: float) -> Any:
        i = dr.arange(UInt32, rows * columns) * 2654435761
        i ^= i >> 15
        return TensorXf(Float(i >> 8) * (2 * scale / 2**24) - scale, (rows, columns))

    def gradients(n: int, parameters: list[Any], x: Any, t: Any) -> list[Any]:
        dr.clear_grad(parameters)
        first, offset, second = parameters
        hidden = dr.maximum(first @ x + offset, 0)
        error = second @ hidden - t
        dr.backward(dr.sum(error * error, axis=None) * (1 / n))
        return [dr.grad(p) for p in parameters]

    def start(n: int) -> tuple[list[Any], Any, Any]:
        parameters = [
            numbers(inner, inner, 0.2), numbers(inner, 1, 0.1), numbers(outer, inner, 1)
        ]  # fmt: skip
        x, t = numbers(inner, n, 1), numbers(outer, n, 1)
        dr.eval(parameters, x, t)
        dr.enable_grad(parameters)
        return parameters, x, t

    n = 1000
    parameters, x, t = start(n)
    found = [np.array(g) for g in gradients(n, parameters, x, t)]
    host = [np.array(dr.detach(p)).astype(np.float64) for p in (*parameters, x, t)]
    before = host[0] @ host[3] + host[1]
    hidden = np.maximum(before, 0)
    slope = 2 / n * (host[2] @ hidden - host[4])
    back = host[2].T @ slope * (before > 0)
    expected = [back @ host[3].T, back.sum(axis=1, keepdims=True), slope @ hidden.T]
    for a, b in zip(found, expected, strict=True):
        require(np.allclose(a, b, rtol=1e-3, atol=1e-4), "ad network: wrong")

    parameters, x, t = start(samples)

    def step() -> None:
        for k, g in enumerate(gradients(samples, parameters, x, t)):
            parameters[k] = dr.detach(parameters[k]) - 1e-3 * g
        dr.eval(parameters)
        dr.sync_thread()
        dr.enable_grad(parameters)

    emit("ad network", "a step", seconds_of(step, least=5, total=2), 1e3, "ms")


def measure_repeated(argument: str) -> None:
    """10,000 gradients, one after the other: us each, and how memory grows."""
    import drjit as dr
    from drjit.llvm.ad import Float

    x = dr.arange(Float, 16) + 1
    dr.enable_grad(x)

    def work() -> None:
        dr.clear_grad(x)
        dr.backward(dr.sum(dr.sin(x) * x))
        dr.eval(dr.grad(x))

    for _ in range(500):
        work()
    before = resident()
    times = seconds_of(work, least=9500, total=0)
    emit("ad repeated", "a gradient", times, 1e6, "us")
    emit("ad repeated", "growth", [resident() - before], 1e-6, "MB")


MEASURES: dict[str, Callable[[str], None]] = {
    "ad chain": measure_chain,
    "ad growth": measure_growth,
    "ad trace": measure_trace,
    "ad footprint": measure_footprint,
    "ad first": measure_first,
    "ad kernel": measure_kernel,
    "ad gather": measure_gather,
    "ad loop": measure_loop,
    "ad network": measure_network,
    "ad repeated": measure_repeated,
}
