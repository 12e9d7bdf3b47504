"""Gradients of two standard problems, with this package, JAX or PyTorch on the CPU.

    python ad_frameworks.py drjit|jax|torch|torch-compile [gmm|ba]

Problems are those of ADBench, in single precision, with random data of a fixed seed:

gmm  the log-likelihood of 10,000 points in 10 dimensions under a mixture of 25
     Gaussians with full covariances, given by their inverse Cholesky factors: 1,650
     parameters
ba   half the sum of squared residuals of bundle adjustment: 50 cameras of 11
     parameters, 2,000 points, 30,000 weighted observations

Each framework has the program that its users would write. A gradient is compared with a
difference quotient of the function in NumPy, in double precision. Prints lines of JSON:
"first" is the first gradient of the process, with tracing and compilation, "again" any
further one, with tracing where a framework traces every time. "drjit" is the package
that is imported, ours or the published one; "torch-compile" is torch.compile(), which
needs a C++ compiler.

Results stand side by side in docs/dev/benchmarking.md; no goal is attached.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import clock, emit, seconds_of

Arrays = dict[str, Any]
Gradient = Callable[[], Arrays]

POINTS, DIMENSIONS, COMPONENTS = 10000, 10, 25
CAMERAS, LANDMARKS, OBSERVATIONS = 50, 2000, 30000

rng = np.random.default_rng(7)


def gmm_data() -> Arrays:
    """Parameters, and the points as "x", each with a row for each dimension."""
    below = DIMENSIONS * (DIMENSIONS - 1) // 2
    return {
        "alpha": rng.normal(size=COMPONENTS),
        "mean": rng.normal(size=(DIMENSIONS, COMPONENTS)),
        "diagonal": 0.3 * rng.normal(size=(DIMENSIONS, COMPONENTS)),  # logarithms
        "below": 0.3 * rng.normal(size=(below, COMPONENTS)),
        "x": rng.normal(size=(DIMENSIONS, POINTS)),
    }


def gmm(np: Any, p: Arrays) -> Any:
    """The log-likelihood without constants, with any module like NumPy."""
    distance = p["x"][:, :, None] - p["mean"][:, None, :]
    scale = np.exp(p["diagonal"])
    norm, place = 0.0, 0
    for i in range(DIMENSIONS):
        row = scale[i] * distance[i]
        for j in range(i):
            row = row + p["below"][place] * distance[j]
            place += 1
        norm = norm + row * row
    value = p["alpha"] + p["diagonal"].sum(0) - 0.5 * norm
    most = np.amax(value, 1)
    total = (most + np.log(np.exp(value - most[:, None]).sum(1))).sum()
    return total - POINTS * np.log(np.exp(p["alpha"]).sum())


def ba_data() -> Arrays:
    """Cameras, landmarks and weights, and what was observed as "seen"."""
    camera = np.concatenate(
        [
            0.2 * rng.normal(size=(3, CAMERAS)),  # rotation vector
            0.5 * rng.normal(size=(3, CAMERAS)) - [[0], [0], [5]],  # centre
            1 + 0.1 * rng.normal(size=(1, CAMERAS)),  # focal length
            0.1 * rng.normal(size=(2, CAMERAS)),  # principal point
            0.05 * rng.normal(size=(2, CAMERAS)),  # radial distortion
        ]
    )
    return {
        "camera": camera,
        "landmark": rng.normal(size=(3, LANDMARKS)),
        "weight": 1 + 0.1 * rng.normal(size=OBSERVATIONS),
        "seen": 0.2 * rng.normal(size=(2, OBSERVATIONS)),
        "which camera": rng.integers(0, CAMERAS, OBSERVATIONS),
        "which landmark": rng.integers(0, LANDMARKS, OBSERVATIONS),
    }


def project(sqrt: Any, sin: Any, cos: Any, c: Any, x: Any) -> tuple[Any, Any]:
    """Pixels of landmarks 'x' in cameras 'c', both sequences of coordinates."""
    d = [x[k] - c[3 + k] for k in range(3)]
    angle = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
    s, k = sin(angle), cos(angle)
    w = [c[i] / angle for i in range(3)]
    cross = [
        w[1] * d[2] - w[2] * d[1], w[2] * d[0] - w[0] * d[2], w[0] * d[1] - w[1] * d[0]
    ]  # fmt: skip
    along = (w[0] * d[0] + w[1] * d[1] + w[2] * d[2]) * (1 - k)
    r = [d[i] * k + cross[i] * s + w[i] * along for i in range(3)]
    u, v = r[0] / r[2], r[1] / r[2]
    square = u * u + v * v
    lens = 1 + c[9] * square + c[10] * square * square
    return u * lens * c[6] + c[7], v * lens * c[6] + c[8]


def ba(np: Any, p: Arrays) -> Any:
    """Half the sum of squares, with any module like NumPy."""
    c = p["camera"][:, p["which camera"]]
    x = p["landmark"][:, p["which landmark"]]
    u, v = project(np.sqrt, np.sin, np.cos, c, x)
    a = p["weight"] * (u - p["seen"][0])
    b = p["weight"] * (v - p["seen"][1])
    return 0.5 * (a * a + b * b).sum()


Problem = tuple[Callable[..., Any], Callable[[], Arrays], tuple[str, ...]]
PROBLEMS: dict[str, Problem] = {
    "gmm": (gmm, gmm_data, ("alpha", "mean", "diagonal", "below")),
    "ba": (ba, ba_data, ("camera", "landmark", "weight")),
}


# ---------------------------------------------------------------- this package


def drjit_gmm(p: Arrays) -> Any:
    """A lane for each point and component."""
    import drjit as dr
    from drjit.llvm.ad import Float, UInt32

    lane = dr.arange(UInt32, POINTS * COMPONENTS)
    point, component = lane // COMPONENTS, lane % COMPONENTS

    def of_component(source: Any) -> Any:
        return dr.gather(Float, source, component)

    distance = [
        dr.gather(Float, x, point) - of_component(m)
        for x, m in zip(p["x"], p["mean"], strict=True)
    ]
    norm, place = Float(0), 0
    value = of_component(p["alpha"])
    for i in range(DIMENSIONS):
        diagonal = of_component(p["diagonal"][i])
        value += diagonal
        row = dr.exp(diagonal) * distance[i]
        for j in range(i):
            row = dr.fma(of_component(p["below"][place]), distance[j], row)
            place += 1
        norm = dr.fma(row, row, norm)
    value -= 0.5 * norm
    most = dr.block_reduce(dr.ReduceOp.Max, dr.detach(value), COMPONENTS)
    parts = dr.exp(value - dr.repeat(most, COMPONENTS))
    total = most + dr.log(dr.block_reduce(dr.ReduceOp.Add, parts, COMPONENTS))
    return dr.sum(total) - POINTS * dr.log(dr.sum(dr.exp(p["alpha"])))


def drjit_ba(p: Arrays) -> Any:
    """A lane for each observation."""
    import drjit as dr
    from drjit.llvm.ad import Float

    c = [dr.gather(Float, row, p["which camera"]) for row in p["camera"]]
    x = [dr.gather(Float, row, p["which landmark"]) for row in p["landmark"]]
    u, v = project(dr.sqrt, dr.sin, dr.cos, c, x)
    a, b = p["weight"] * (u - p["seen"][0]), p["weight"] * (v - p["seen"][1])
    return 0.5 * dr.sum(a * a + b * b)


def prepare_drjit(name: str, data: Arrays, by: tuple[str, ...]) -> Gradient:
    """Rows of two-dimensional data are arrays of their own."""
    import drjit as dr
    from drjit.llvm.ad import Float, UInt32

    def convert(a: Any) -> Any:
        if a.ndim == 2:
            return [convert(row) for row in a]
        return UInt32(a) if a.dtype.kind == "i" else Float(a.astype(np.float32))

    p = {key: convert(a) for key, a in data.items()}
    dr.eval(p)
    dr.enable_grad([p[key] for key in by])
    function = {"gmm": drjit_gmm, "ba": drjit_ba}[name]

    def gradient() -> Arrays:
        wanted = [p[key] for key in by]
        dr.clear_grad(wanted)
        dr.backward(function(p))
        found = {key: dr.grad(p[key]) for key in by}
        dr.eval(found)
        dr.sync_thread()
        return found

    return gradient


# ---------------------------------------------------------------- JAX


def prepare_jax(name: str, data: Arrays, by: tuple[str, ...]) -> Gradient:
    """One compiled function."""
    import jax

    function = PROBLEMS[name][0]
    fixed = {k: jax.numpy.asarray(a) for k, a in data.items() if k not in by}
    p = {k: jax.numpy.asarray(data[k], dtype="float32") for k in by}
    fixed = {k: a.astype("float32") if a.dtype.kind == "f" else a
             for k, a in fixed.items()}  # fmt: skip

    def value(p: Arrays, fixed: Arrays) -> Any:
        return function(jax.numpy, {**fixed, **p})

    compiled: Any = jax.jit(jax.grad(value))

    def gradient() -> Arrays:
        found: Arrays = jax.block_until_ready(compiled(p, fixed))
        return found

    return gradient


# ---------------------------------------------------------------- PyTorch


def prepare_torch(
    name: str, data: Arrays, by: tuple[str, ...], compiled: bool = False
) -> Gradient:
    """Operation by operation, or one compiled function."""
    import torch

    function = PROBLEMS[name][0]
    p = {
        key: torch.as_tensor(a if a.dtype.kind == "i" else a.astype(np.float32))
        for key, a in data.items()
    }
    wanted = [p[key].requires_grad_() for key in by]

    def value() -> Any:
        return function(torch, p)

    run: Any = torch.compile(value) if compiled else value

    def gradient() -> Arrays:
        found = torch.autograd.grad(run(), wanted)
        return dict(zip(by, found, strict=True))

    return gradient


PREPARE: dict[str, Callable[..., Gradient]] = {
    "drjit": prepare_drjit,
    "jax": prepare_jax,
    "torch": prepare_torch,
    "torch-compile": functools.partial(prepare_torch, compiled=True),
}


def host(a: Any) -> Any:
    """A gradient as NumPy array; lists are rows."""
    if isinstance(a, list):
        return np.stack([host(row) for row in a])
    return np.array(a)


def check(name: str, data: Arrays, by: tuple[str, ...], found: Arrays) -> None:
    """Compare with the difference quotient in a random direction."""
    function = PROBLEMS[name][0]
    for key in by:
        direction = rng.normal(size=data[key].shape)
        ends = [
            function(np, {**data, key: data[key] + step * direction})
            for step in (1e-5, -1e-5)
        ]
        expected = (ends[0] - ends[1]) / 2e-5
        got = float((host(found[key]).astype(np.float64) * direction).sum())
        scale = float(np.abs(host(found[key]) * direction).sum())
        if abs(got - expected) > 1e-3 * scale:
            sys.exit(f"{name}: derivative by '{key}' is {got}, expected {expected}")


def measure(framework: str, name: str) -> None:
    """Measure one gradient."""
    _, make, by = PROBLEMS[name]
    data = make()
    gradient = PREPARE[framework](name, data, by)
    start = clock()
    found = gradient()
    first = clock() - start
    check(name, data, by, found)
    emit("ad frameworks", f"{name} {framework}, first", [first], 1e3, "ms")
    times = seconds_of(gradient, total=2)
    emit("ad frameworks", f"{name} {framework}, again", times, 1e3, "ms")


def main() -> int:
    """Measure the gradients of one framework."""
    framework = sys.argv[1] if len(sys.argv) > 1 else ""
    names = sys.argv[2:] or list(PROBLEMS)
    if framework not in PREPARE or not set(names) <= set(PROBLEMS):
        sys.exit(f"usage: ad_frameworks.py {'|'.join(PREPARE)} [gmm|ba]")
    for name in names:
        measure(framework, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
