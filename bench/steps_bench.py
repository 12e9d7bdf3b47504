"""Programs of common kinds, and time stepping, with this package or JAX on the CPU.

    python steps_bench.py drjit|jax [NAME ...]

heat, heat_frozen   256 steps of the heat equation on 512^2 cells, edges repeated
wave, wave_frozen   the gradient of the misfit of a wave equation with respect to its
                    velocities: 72^2 cells, 4 shots, 260 steps
filter              the gradient through a filter of 24 weights, 2^18 entries
bodies              accelerations of 2,048 bodies
logistic            the gradient of a logistic regression, 100,000 x 64
layernorm, softmax  of the rows of 4,096 x 1,024
variance, cumsum    of the columns of that
slices              a[:, 1:] += b[:, :-1] of a copy of it (JAX: at[].add())
network             the gradient of three layers, 1,024 x 256 x 256 x 10

Each framework has the program that its users would write, with the same data in single
precision. The results are compared with NumPy, in double precision, as sums with random
weights. Prints lines of JSON: "first" is the first call of the process, with tracing
and compilation, "again" further ones, "cpu" its processor time, which says
more on a machine that others use. "drjit" is the package that is imported, ours or the
published one. Results stand side by side in docs/dev/benchmarking.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import clock, emit

Call = Callable[[], Any]
HEAT, CELLS, STEPS, TAPS, WIDE = 512, 72, 260, 24, 1 << 18
SHOTS = [(6, 12), (6, 36), (6, 60), (65, 36)]
COLUMNS = np.arange(6, 66, 2)
RECEIVERS = 8  # the row that they are in
DT, DX = 1.2e-3, 10.0
BODIES, ROWS, COLS = 2048, 4096, 1024
TENSORS = (
    "logistic",
    "layernorm",
    "softmax",
    "network",
    "variance",
    "cumsum",
    "slices",
)
LAYERS = ((256, 256), (256, 256), (256, 10))


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def wave_data() -> dict[str, Any]:
    edge = np.minimum(np.arange(CELLS), np.arange(CELLS)[::-1])
    edge = np.minimum(edge[:, None], edge[None])
    t = np.pi * 14 * (np.arange(STEPS) * DT - 1.2 / 14)
    row = np.mgrid[0:CELLS, 0:CELLS][0]
    return {
        "velocity": (2000 + 6.0 * row).astype(np.float32),
        "damp": np.exp(-((0.06 * np.maximum(0, 10 - edge)) ** 2)).astype(np.float32),
        "source": ((1 - 2 * t * t) * np.exp(-t * t)).astype(np.float32),
        "seen": 0.1 * numbers(STEPS, len(SHOTS), len(COLUMNS), seed=3),
    }


DATA: dict[str, Callable[[], dict[str, Any]]] = {
    "heat": lambda: {"u": numbers(HEAT, HEAT)},
    "wave": wave_data,
    "filter": lambda: {"x": numbers(WIDE), "w": numbers(TAPS, seed=1)},
    "bodies": lambda: {"p": numbers(BODIES, 3)},
    "logistic": lambda: {
        "a": 0.1 * numbers(100000, 64),
        "t": (np.arange(100000) % 2).astype(np.float32)[:, None],
        "w": 0.1 * numbers(64, 1, seed=1),
    },
    "layernorm": lambda: {"y": numbers(ROWS, COLS)},
    "softmax": lambda: {"y": numbers(ROWS, COLS)},
    "variance": lambda: {"y": numbers(ROWS, COLS)},
    "cumsum": lambda: {"y": numbers(ROWS, COLS)},
    "slices": lambda: {"y": numbers(ROWS, COLS), "b": numbers(ROWS, COLS, seed=1)},
    "network": lambda: {
        "x": numbers(1024, 256),
        **{f"w{k}": 0.05 * numbers(*s, seed=k + 1) for k, s in enumerate(LAYERS)},
    },
}


# ---------------------------------------------------------------- NumPy


def wave_loss(d: dict[str, Any], velocity: Any) -> Any:
    k, g, loss = (velocity * DT / DX) ** 2, d["damp"], 0.0
    u0 = np.zeros((len(SHOTS), CELLS, CELLS))
    u1 = u0.copy()
    for t in range(STEPS):
        p = np.pad(u1, ((0, 0), (1, 1), (1, 1)))
        lap = p[:, :-2, 1:-1] + p[:, 2:, 1:-1] + p[:, 1:-1, :-2] + p[:, 1:-1, 2:]
        u2 = (2 * u1 - u0 * g + k * (lap - 4 * u1)) * g
        for s, (row, col) in enumerate(SHOTS):
            u2[s, row, col] += d["source"][t]
        u0, u1 = u1, u2
        loss += ((u2[:, RECEIVERS, COLUMNS] - d["seen"][t]) ** 2).sum()
    return loss


def reference(name: str, d: dict[str, Any], weights: Any) -> float:
    """sum(result * weights)"""
    d = {k: v.astype(np.float64) for k, v in d.items()}
    if name == "wave":  # a difference quotient
        e = 1e-2 * weights.reshape(CELLS, CELLS)
        v = d["velocity"]
        return float((wave_loss(d, v + e) - wave_loss(d, v - e)) / 2e-2)
    if name == "heat":
        u = d["u"]
        for _ in range(256):
            p = np.pad(u, 1, mode="edge")
            u = u + 0.2 * (
                p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u
            )
        result = u
    elif name == "filter":
        x, w = d["x"], d["w"]
        y = sum(w[k] * np.append(x[k:], np.zeros(k)) for k in range(TAPS))
        result = np.zeros(WIDE)
        for k in range(TAPS):
            result[k:] += w[k] * np.cos(y)[: WIDE - k]
    elif name == "bodies":
        p = d["p"]
        delta = p[None] - p[:, None]
        result = (delta * ((delta**2).sum(-1) + 0.01)[..., None] ** -1.5).sum(1)
    elif name == "logistic":
        z = d["a"] @ d["w"]
        result = d["a"].T @ (1 / (1 + np.exp(-z)) - d["t"]) / len(z)
    elif name == "network":
        w = [d[f"w{k}"] for k in range(3)]
        h0 = d["x"] @ w[0]
        h1 = np.maximum(h0, 0) @ w[1]
        g = 2 * (np.maximum(h1, 0) @ w[2])
        result = [np.maximum(h1, 0).T @ g]
        g = g @ w[2].T * (h1 > 0)
        result.insert(0, np.maximum(h0, 0).T @ g)
        result.insert(0, d["x"].T @ (g @ w[1].T * (h0 > 0)))
        result = np.concatenate([r.ravel() for r in result])
    elif name == "variance":
        result = d["y"].var(0)
    elif name == "cumsum":
        result = d["y"].cumsum(0)
    elif name == "slices":
        result = d["y"].copy()
        result[:, 1:] += d["b"][:, :-1]
    else:
        y = d["y"]
        e = np.exp(y - y.max(1, keepdims=True))
        result = (
            e / e.sum(1, keepdims=True)
            if name == "softmax"
            else (y - y.mean(1, keepdims=True))
            / np.sqrt(y.var(1, keepdims=True) + 1e-5)
        )
    return float((result.ravel() * weights).sum())


# ---------------------------------------------------------------- this package


def drjit(name: str, d: dict[str, Any]) -> Call:
    import drjit as dr
    from drjit.llvm.ad import Array3f, Float, TensorXf, UInt

    frozen = name.endswith("_frozen")
    v: dict[str, Any] = {
        k: TensorXf(x) if name in TENSORS else Float(x.ravel()) for k, x in d.items()
    }
    dr.eval(v)

    def done(*results: Any) -> Any:
        dr.eval(results)
        dr.sync_thread()
        return np.concatenate([np.ravel(r.numpy()) for r in results]) if first else None

    first = True

    def heat() -> Any:
        i = dr.arange(UInt, HEAT * HEAT)
        row, col = i // HEAT, i % HEAT
        up, down = (
            dr.select(row > 0, i - HEAT, i),
            dr.select(row < HEAT - 1, i + HEAT, i),
        )
        left, right = dr.select(col > 0, i - 1, i), dr.select(col < HEAT - 1, i + 1, i)
        places = (up, down, left, right)
        dr.eval(places)

        def step(u: Any) -> Any:
            lap = sum(dr.gather(Float, u, k) for k in places) - 4 * u
            return u + 0.2 * lap

        if frozen:
            step = dr.freeze(step)

        def call() -> Any:
            u = Float(v["u"])
            for _ in range(256):
                u = step(u)
                dr.eval(u)
            return done(u)

        return call

    def wave() -> Any:
        n, size, shots = CELLS, CELLS * CELLS, len(SHOTS)
        cell = dr.arange(UInt, shots * size)
        pix = cell % size
        row, col = pix // n, pix % n
        near = [
            (cell - n, row > 0), (cell + n, row < n - 1),
            (cell - 1, col > 0), (cell + 1, col < n - 1),
        ]  # fmt: skip
        at = [s * size + r * n + c for s, (r, c) in enumerate(SHOTS)]
        seen_at = UInt(
            [s * size + RECEIVERS * n + int(c) for s in range(shots) for c in COLUMNS]
        )
        is_source = Float(np.isin(np.arange(shots * size), at).astype(np.float32))
        damp = dr.tile(v["damp"], shots)
        source = [dr.opaque(Float, float(x)) for x in d["source"]]
        seen = [Float(x.ravel()) for x in d["seen"]]
        dr.eval(pix, near, damp, seen)

        def gradient(velocity: Any) -> Any:
            velocity = Float(dr.detach(velocity))
            dr.enable_grad(velocity)
            k = dr.gather(Float, dr.square(velocity * (DT / DX)), pix)
            dr.eval(k)
            u0, u1 = dr.zeros(Float, shots * size), dr.zeros(Float, shots * size)
            loss = Float(0)
            for t in range(STEPS):
                lap = -4 * u1 + sum(dr.gather(Float, u1, i, m) for i, m in near)
                u2 = (2 * u1 - u0 * damp + k * lap) * damp + is_source * source[t]
                u0, u1 = u1, u2
                dr.eval(u1)
                loss += dr.sum(dr.square(dr.gather(Float, u1, seen_at) - seen[t]))
            dr.backward(loss)
            return velocity.grad

        run = dr.freeze(gradient) if frozen else gradient
        return lambda: done(run(v["velocity"]))

    def filter() -> Any:
        lane = dr.arange(UInt, WIDE)
        weights = [dr.opaque(Float, float(w)) for w in d["w"]]

        def call() -> Any:
            x = Float(v["x"])
            dr.enable_grad(x)
            y = sum(
                w * dr.gather(Float, x, lane + k, lane < WIDE - k)
                for k, w in enumerate(weights)
            )
            dr.backward(dr.sum(dr.sin(y)))
            return done(x.grad)

        return call

    def bodies() -> Any:
        p = dr.unravel(Array3f, v["p"])
        dr.eval(p)

        def body(j: Any, a: Any) -> Any:
            delta = dr.gather(Array3f, v["p"], j) - p
            inverse = dr.rsqrt(dr.squared_norm(delta) + 0.01)
            return j + 1, a + delta * (inverse * inverse * inverse)

        def call() -> Any:
            state = (UInt(0), Array3f(0))
            a = dr.while_loop(state, lambda j, a: j < BODIES, body)[1]
            return done(dr.ravel(a))

        return call

    def logistic() -> Any:
        def call() -> Any:
            w = TensorXf(v["w"])
            dr.enable_grad(w)
            z = v["a"] @ w
            loss = dr.log(1 + dr.exp(-z)) * v["t"] + dr.log(1 + dr.exp(z)) * (
                1 - v["t"]
            )
            dr.backward(dr.mean(loss))
            return done(w.grad)

        return call

    def layernorm() -> Any:
        def call() -> Any:
            y = v["y"]
            centred = y - dr.mean(y, axis=1, keepdims=True)
            square = dr.mean(dr.square(centred), axis=1, keepdims=True)
            return done((centred * dr.rsqrt(square + 1e-5)).array)

        return call

    def softmax() -> Any:
        def call() -> Any:
            e = dr.exp(v["y"] - dr.max(v["y"], axis=1, keepdims=True))
            return done((e / dr.sum(e, axis=1, keepdims=True)).array)

        return call

    def variance() -> Any:
        return lambda: done(dr.var(v["y"], axis=0).array)

    def cumsum() -> Any:
        return lambda: done(dr.cumsum(v["y"], axis=0).array)

    def slices() -> Any:
        def call() -> Any:
            y = TensorXf(v["y"])
            y[:, 1:] += v["b"][:, :-1]
            return done(y.array)

        return call

    def network() -> Any:
        def call() -> Any:
            w = [TensorXf(v[f"w{k}"]) for k in range(3)]
            dr.enable_grad(w)
            y = dr.maximum(dr.maximum(v["x"] @ w[0], 0) @ w[1], 0) @ w[2]
            dr.backward(dr.sum(y * y))
            return done(*(x.grad for x in w))

        return call

    run = locals()[name.removesuffix("_frozen")]()

    def call() -> Any:
        nonlocal first
        result = run()
        first = False
        return result

    return call


# ---------------------------------------------------------------- JAX


def jax(name: str, d: dict[str, Any]) -> Call:
    import jax
    import jax.numpy as jnp

    v = {k: jnp.asarray(x) for k, x in d.items()}

    def heat(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            p = jnp.pad(u, 1, mode="edge")
            near = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
            return u + 0.2 * (near - 4 * u)

        return jax.lax.fori_loop(0, 256, step, u)

    rows, columns = (np.array([s[k] for s in SHOTS]) for k in range(2))

    def wave(velocity: Any) -> Any:
        k, g = (velocity * DT / DX) ** 2, v["damp"]

        def step(states: Any, given: Any) -> Any:
            (u0, u1), (source, seen) = states, given
            p = jnp.pad(u1, ((0, 0), (1, 1), (1, 1)))
            lap = p[:, :-2, 1:-1] + p[:, 2:, 1:-1] + p[:, 1:-1, :-2] + p[:, 1:-1, 2:]
            u2 = (2 * u1 - u0 * g + k * (lap - 4 * u1)) * g
            u2 = u2.at[jnp.arange(len(SHOTS)), rows, columns].add(source)
            return (u1, u2), jnp.sum((u2[:, RECEIVERS, COLUMNS] - seen) ** 2)

        zero = jnp.zeros((len(SHOTS), CELLS, CELLS), jnp.float32)
        return jax.lax.scan(step, (zero, zero), (v["source"], v["seen"]))[1].sum()

    def filter(x: Any) -> Any:
        padded = jnp.pad(x, (0, TAPS))
        return jnp.sin(sum(v["w"][k] * padded[k : k + WIDE] for k in range(TAPS))).sum()

    def bodies(p: Any) -> Any:
        delta = p[None] - p[:, None]
        inverse = jax.lax.rsqrt((delta**2).sum(-1) + 0.01)
        return (delta * (inverse**3)[..., None]).sum(1)

    def logistic(w: Any) -> Any:
        z = v["a"] @ w
        one, other = jnp.log(1 + jnp.exp(-z)), jnp.log(1 + jnp.exp(z))
        return jnp.mean(one * v["t"] + other * (1 - v["t"]))

    def layernorm(y: Any) -> Any:
        centred = y - y.mean(1, keepdims=True)
        return centred * jax.lax.rsqrt(y.var(1, keepdims=True) + 1e-5)

    def softmax(y: Any) -> Any:
        return jax.nn.softmax(y, axis=1)

    def variance(y: Any) -> Any:
        return y.var(0)

    def cumsum(y: Any) -> Any:
        return y.cumsum(0)

    def slices(y: Any) -> Any:
        return y.at[:, 1:].add(v["b"][:, :-1])

    def network(w: Any) -> Any:
        y = jnp.maximum(jnp.maximum(v["x"] @ w[0], 0) @ w[1], 0) @ w[2]
        return jnp.square(y).sum()

    operands = {"heat": "u", "wave": "velocity", "filter": "x", "bodies": "p"}
    operands |= {"logistic": "w"}
    function = locals()[name]
    if name in ("wave", "filter", "logistic", "network"):
        function = jax.grad(function)
    run = jax.jit(function)
    argument = (
        [v[f"w{k}"] for k in range(3)]
        if name == "network"
        else v[operands.get(name, "y")]
    )

    def call() -> Any:
        result = jax.block_until_ready(run(argument))
        return np.concatenate([np.ravel(r) for r in jax.tree_util.tree_leaves(result)])

    return call


# ---------------------------------------------------------------- measuring


def measure(framework: str, name: str) -> None:
    base = name.removesuffix("_frozen")
    d = DATA[base]()
    call = {"drjit": drjit, "jax": jax}[framework](name, d)
    start = clock()
    result = call()
    first = clock() - start
    weights = np.random.default_rng(5).normal(size=result.size)
    value, expected = float((result * weights).sum()), reference(base, d, weights)
    error = abs(value - expected) / max(abs(expected), np.abs(result * weights).max())
    assert error < 2e-3, f"{name}: {value}, expected {expected}"
    again: list[float] = []
    cpu: list[float] = []
    until = clock() + 1.5
    while len(again) < 5 or clock() < until:
        begin, used = clock(), time.process_time()
        call()
        again.append(clock() - begin)
        cpu.append(time.process_time() - used)
    emit("steps", f"{name}, first", [first], 1e3, "ms")
    emit("steps", f"{name}, again", again, 1e3, "ms")
    emit("steps", f"{name}, cpu", cpu, 1e3, "ms")


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in ("drjit", "jax"):
        sys.exit(f"usage: steps_bench.py drjit|jax [{' '.join(DATA)}]")
    frozen = ["heat_frozen", "wave_frozen"] if sys.argv[1] == "drjit" else []
    for name in sys.argv[2:] or [*DATA, *frozen]:
        measure(sys.argv[1], name)


if __name__ == "__main__":
    main()
