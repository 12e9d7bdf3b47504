"""Programs whose kernels are assembled, for the table in docs/dev/cuda.md.

    python measured.py {cuda,llvm} FOLDER

Runs each program once, with whichever package is imported, and leaves the PTX of its
kernels in FOLDER/<program>: ours by the engine ptx-sim (DRJIT_PTX_DUMP), that of the
published package by the look-alike of the driver (CUDA_SIM_DUMP). Sizes are small: what
counts is the code.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Function = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Function] = {}
N = 64


def program(function: Function) -> Function:
    """Enter a program: a function of `dr` and a module of array types."""
    PROGRAMS[function.__name__] = function
    return function


def inputs(dr: Any, t: Any, count: int) -> list[Any]:
    """Arrays in memory with numbers between 1/8 and 7/8."""
    made = [dr.linspace(t, 0.125 + 0.01 * k, 0.875, N) for k in range(count)]
    dr.make_opaque(made)
    return made


def function_of(name: str, kind: str, arguments: int = 1) -> None:
    """Enter a math function of a type."""

    def compute(dr: Any, m: Any) -> Any:
        return getattr(dr, name)(*inputs(dr, getattr(m, kind), arguments))

    compute.__name__ = f"{name}_{'f32' if kind == 'Float32' else 'f64'}"
    program(compute)


for name in ("sin", "exp", "log", "tan", "asin", "erf", "lgamma", "cbrt", "rsqrt"):
    function_of(name, "Float32")
for name in ("atan2", "power"):
    function_of(name, "Float32", 2)
for name in ("sin", "exp", "log", "erf"):
    function_of(name, "Float64")


@program
def axpy(dr: Any, m: Any) -> Any:
    """Two arrays and a number."""
    x, y = inputs(dr, m.Float32, 2)
    return dr.opaque(m.Float32, 2.5) * x + y


@program
def mandelbrot(dr: Any, m: Any) -> Any:
    """Turns until a point leaves: a loop in double precision."""
    cx, cy = inputs(dr, m.Float64, 2)
    zero = m.Float64(0) + 0 * cx
    return dr.while_loop(
        (zero, zero + 0, m.UInt32(0)),
        lambda x, y, i: (x * x + y * y < 4) & (i < 50),
        lambda x, y, i: (x * x - y * y + cx, 2 * x * y + cy, i + 1),
    )[2]


def trace_path(dr: Any, m: Any, albedo: Any) -> Any:
    """Light that bounces between a sphere and a floor under a sky."""
    t = type(albedo)
    vector = m.ad.Array3f if dr.is_diff_v(t) else m.Array3f
    u32 = m.ad.UInt32 if dr.is_diff_v(t) else m.UInt32
    generator = (m.ad if dr.is_diff_v(t) else m).PCG32(N)

    def bounce(o: Any, d: Any, weight: Any, light: Any, rng: Any, depth: Any) -> Any:
        b = dr.dot(o, d)
        c = dr.squared_norm(o) - 1
        root = b * b - c
        near = -b - dr.sqrt(dr.maximum(root, 0))
        sphere = (root > 0) & (near > 1e-3)
        floor_t = (-1 - o.y) / d.y
        floor = (floor_t > 1e-3) & ~(sphere & (near < floor_t))
        distance = dr.select(floor, floor_t, near)
        hit = sphere | floor
        p = dr.fma(d, distance, o)
        n = dr.select(floor, vector(0, 1, 0), dr.normalize(p))
        light = light + dr.select(hit, t(0), weight * (0.5 + 0.5 * d.y))
        u, v = rng.next_float32(), rng.next_float32()
        phi, z = 6.2831853 * t(u), 1 - 2 * t(v)
        r = dr.sqrt(dr.maximum(0, 1 - z * z))
        out = dr.normalize(n + vector(r * dr.cos(phi), r * dr.sin(phi), z))
        weight = dr.select(hit, weight * albedo, t(0))
        return (p, out, weight, light, rng, dr.select(hit, depth + 1, u32(99)))

    start = dr.arange(u32, N)
    o = vector(0.02 * t(start) - 0.6, 0.4, -4)
    d = dr.normalize(vector(0.005 * t(start) - 0.15, -0.1, 1))
    none = 0 * t(start)
    state = (o, d, 1 + none, none, generator, start * 0)
    return dr.while_loop(state, lambda o, d, w, s, g, depth: depth < 6, bounce)[3]


@program
def path_tracer(dr: Any, m: Any) -> Any:
    """A loop with branches that lanes take on their own, and random numbers."""
    return trace_path(dr, m, dr.opaque(m.Float32, 0.8))


@program
def gradient_of_functions(dr: Any, m: Any) -> Any:
    """Reverse mode through elementwise functions."""
    x = m.ad.Float32(inputs(dr, m.Float32, 1)[0])
    dr.enable_grad(x)
    y = dr.sin(x) * dr.exp(-x * x) + dr.log(1 + x) / dr.sqrt(x)
    dr.backward(dr.sum(y * y))
    return dr.grad(x)


@program
def gradient_of_a_loop(dr: Any, m: Any) -> Any:
    """Forward mode through a recorded loop."""
    x = m.ad.Float32(inputs(dr, m.Float32, 1)[0])
    dr.enable_grad(x)
    y, _ = dr.while_loop(
        (x, m.ad.UInt32(0) + m.ad.UInt32(dr.arange(m.UInt32, N) * 0)),
        lambda y, i: i < 8,
        lambda y, i: (dr.fma(y, y, 0.25) * dr.cos(y), i + 1),
    )
    dr.forward(x, flags=dr.ADFlag.ClearVertices)
    return dr.grad(y)


@program
def sphere_field(dr: Any, m: Any) -> Any:
    """Marching along rays to a surface, its normal by reverse mode."""
    x, y = inputs(dr, m.ad.Float32, 2)
    p = m.ad.Array3f(x, y, -2)
    for _ in range(6):
        distance = dr.norm(p) - 1 + 0.05 * dr.sin(10 * p.x) * dr.sin(10 * p.y)
        p = m.ad.Array3f(p.x, p.y, p.z + distance)
    dr.enable_grad(p)
    dr.backward(dr.sum(dr.norm(p) + 0.05 * dr.sin(10 * p.x)))
    return dr.grad(p)


@program
def layers(dr: Any, m: Any) -> Any:
    """Two layers of a network, with gathers of weights."""
    weights = inputs(dr, m.Float32, 1)[0]
    x = inputs(dr, m.Float32, 4)
    for layer in range(2):
        y = []
        for row in range(4):
            total = dr.gather(m.Float32, weights, m.UInt32(layer * 20 + row))
            for column in range(4):
                at = m.UInt32(layer * 20 + 4 + row * 4 + column)
                total = dr.fma(dr.gather(m.Float32, weights, at), x[column], total)
            y.append(dr.maximum(total, 0))
        x = y
    return x


@program
def dispatch(dr: Any, m: Any) -> Any:
    """One of three callables for each lane."""
    x, y = inputs(dr, m.Float32, 2)
    which = dr.arange(m.UInt32, N) % 3
    targets = [
        lambda a, b: dr.sin(a) * b,
        lambda a, b: dr.sqrt(a + b),
        lambda a, b: dr.exp(a) / (1 + b),
    ]
    return dr.switch(which, targets, x, y)


@program
def histogram(dr: Any, m: Any) -> Any:
    """Scatter-additions that meet."""
    x = inputs(dr, m.Float32, 1)[0]
    bins = dr.zeros(m.UInt32, 16)
    dr.scatter_reduce(dr.ReduceOp.Add, bins, m.UInt32(1), m.UInt32(x * 16))
    return bins


def main() -> int:
    """Run all programs."""
    import drjit as dr

    module = importlib.import_module(f"drjit.{sys.argv[1]}")
    importlib.import_module(f"drjit.{sys.argv[1]}.ad")
    for name, function in PROGRAMS.items():
        dr.sync_thread()
        folder = Path(sys.argv[2]) / name
        folder.mkdir(parents=True)
        for variable in ("DRJIT_PTX_DUMP", "CUDA_SIM_DUMP"):
            os.environ[variable] = str(folder)
        try:
            dr.eval(function(dr, module))
            dr.sync_thread()
        except Exception as error:
            (folder / "error.txt").write_text(f"{type(error).__name__}: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
