"""Functions that test_export.py exports, with their inputs.

A function takes arrays by name and returns a dictionary of them, so that inputs and
outputs are fields of the structs in C: ``x``, and ``result_y`` for ``{"y": ...}``. Run
as a program, this exports all of them and writes what they return, for each size:

    export_programs.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
from drjit import nn
from drjit._matvec import product
from drjit.dda import integrate
from drjit.llvm import (
    Array3f,
    Bool,
    Float,
    Float16,
    Float64,
    Int,
    Int64,
    TensorXf,
    UInt,
    UInt8,
)
from drjit.llvm.ad import Array3f as ADArray3f
from drjit.llvm.ad import Float as ADFloat

SIZES = (17, 1000, 2, 70001, 300000)

Arrays = dict[str, Any]


class Program(NamedTuple):
    """A function, what makes its inputs for a size, and those that it is recorded for:
    with the second one, kernels read sizes from memory."""

    function: Callable[..., Arrays]
    make: Callable[[int], Arrays]
    recorded: tuple[int, ...]


PROGRAMS: dict[str, Program] = {}


def floats(n: int, seed: int = 0, kind: type = np.float32) -> Any:
    return np.random.default_rng(seed + n).normal(size=n).astype(kind)


def order(n: int) -> Any:
    return np.random.default_rng(n).permutation(n).astype(np.uint32)


def program(inputs: Callable[[int], Arrays], *sizes: int) -> Callable[..., Any]:
    """Enter a function, with what makes its inputs for a size."""

    def enter(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
        recorded = sizes or (SIZES[1],)
        PROGRAMS[function.__name__] = Program(function, inputs, recorded)
        return function

    return enter


@program(lambda n: {"x": Float(floats(n)), "y": Float(floats(n, 1))})
def elementwise(x: Float, y: Float) -> Arrays:
    z = dr.fma(x, y, 2)
    return {"z": z, "mask": x < y, "picked": dr.select(x < y, z, x / (y + 1))}


@program(lambda n: {"x": Float(floats(n)), "d": Float64(floats(n, 1, np.float64))})
def functions(x: Float, d: Float64) -> Arrays:
    return {
        "f": dr.sin(x) + dr.exp(x) * dr.atan2(x, dr.cos(x)) + dr.erf(x),
        "d": dr.log(dr.abs(d)) + dr.tanh(d) - dr.power(dr.abs(d), 1.5),
    }


@program(
    lambda n: {
        "x": Float(floats(n)),
        "d": Float64(floats(n, 1, np.float64)),
        "i": Int(order(n)),
    }
)
def reductions(x: Float, d: Float64, i: Int) -> Arrays:
    return {
        "sum": dr.sum(x),
        "product": dr.sum(x * x + 1),
        "max": dr.max(x),
        "min": dr.min(dr.sin(d)),
        "dot": dr.dot(d, d),
        "total": dr.sum(i),
        "scaled": x / dr.sum(d),
    }


@program(lambda n: {"x": Float(floats(n)), "i": UInt(order(n))})
def prefix(x: Float, i: UInt) -> Arrays:
    return {"x": dr.cumsum(x), "i": dr.prefix_sum(i), "y": dr.cumsum(dr.sin(x) * 2)}


@program(
    lambda n: {
        "y": Float(floats(n)),
        "slope": Float(floats(n, 1)),
        "vol": TensorXf(floats(24), (2, 3, 4)),
    }
)
def line_integrals(y: Float, slope: Float, vol: TensorXf) -> Arrays:
    o, d = Array3f(-1, y, 0.4), Array3f(1, slope, slope * 0.5)
    return {"integral": integrate(o, d, dr.inf, Array3f(0), Array3f(1), vol)}


@program(lambda n: {"x": Float(floats(n))})
def softmax(x: Float) -> Arrays:
    e = dr.exp(x - dr.max(x))
    return {"y": e / dr.sum(e)}


@program(lambda n: {"x": Float(floats(n)), "i": UInt(order(n))})
def gathers(x: Float, i: UInt) -> Arrays:
    y = dr.gather(Float, x, i, i % 3 != 0)
    out = dr.zeros(Float, dr.width(x))
    dr.scatter(out, y * 2, i)
    return {"y": y, "out": out}


@program(lambda n: {"i": UInt(order(n)), "bins": UInt(np.zeros(64, np.uint32))})
def histogram(i: UInt, bins: UInt) -> Arrays:
    dr.scatter_reduce(dr.ReduceOp.Add, bins, UInt(1), i % 64)
    return {"largest": dr.max(bins)}


@program(lambda n: {"i": UInt(order(n)), "bins": Float(np.zeros(5000, np.float32))})
def atomic_sums(i: UInt, bins: Float) -> Arrays:
    # Sums of whole numbers are exact, so their order does not matter.
    dr.scatter_reduce(
        dr.ReduceOp.Add, bins, Float(i % 7), i % 5000, mode=dr.ReduceMode.Direct
    )
    dr.scatter_reduce(
        dr.ReduceOp.Max, bins, Float(i % 9), i % 50, mode=dr.ReduceMode.Direct
    )
    return {"sum": dr.sum(bins)}


@program(lambda n: {"i": UInt(order(n)), "bins": Float(np.zeros(50, np.float32))})
def private_sums(i: UInt, bins: Float) -> Arrays:
    dr.scatter_reduce(
        dr.ReduceOp.Add, bins, Float(i % 7), i % 50, mode=dr.ReduceMode.Expand
    )
    return {"sum": dr.sum(bins)}


@program(
    lambda n: {"i": UInt(order(n)), "bins": Float(np.zeros(n % 90 + 3, np.float32))},
    100,
    300,
)
def private_sums_in_regions(i: UInt, bins: Float) -> Arrays:
    place = i % dr.width(bins)

    def add(k: UInt) -> UInt:
        value, mode = Float(i % 7 + k), dr.ReduceMode.Expand
        dr.scatter_reduce(dr.ReduceOp.Add, bins, value, place, mode=mode)
        return k + 1

    dr.while_loop(
        (UInt(0),),
        lambda k: k < 3,
        lambda k: (dr.if_stmt((k,), (i + k) % 3 != 0, add, lambda k: k + 2),),
    )
    return {"sum": dr.sum(bins)}


@program(lambda n: {"i": UInt(order(n)), "count": UInt(np.zeros(1, np.uint32))})
def counters(i: UInt, count: UInt) -> Arrays:
    place = dr.scatter_inc(count, dr.zeros(UInt, dr.width(i)), i % 2 == 0)
    return {"sum": dr.sum(dr.select(i % 2 == 0, place, 0))}


@program(lambda n: {"x": Float(floats(n))})
def newton(x: Float) -> Arrays:
    target = dr.abs(x) + 1
    root, count = dr.while_loop(
        (target, UInt(0)),
        lambda r, k: dr.abs(r * r - target) > 1e-4 * target,
        lambda r, k: ((r + target / r) * 0.5, k + 1),
    )
    return {"root": root, "count": count}


@program(lambda n: {"x": Float(floats(n)), "i": UInt(order(n))})
def branches(x: Float, i: UInt) -> Arrays:
    y = dr.if_stmt((x,), x > 0, lambda x: dr.sqrt(x), lambda x: x * 2)
    z = dr.switch(i % 3, [lambda x: x + 1, lambda x: dr.cos(x), lambda x: x * x], x)
    return {"y": y, "z": z}


@program(lambda n: {"x": ADFloat(floats(n)), "i": UInt(order(n))})
def gradient(x: ADFloat, i: UInt) -> Arrays:
    x = ADFloat(x)
    dr.enable_grad(x)
    y = dr.sin(x) * x + dr.gather(ADFloat, x, UInt(i)) ** 2
    loss = dr.sum(y)
    dr.backward(loss)
    return {"loss": dr.detach(loss), "grad": dr.grad(x)}


@program(lambda n: {"p": ADArray3f(*(floats(n, k) for k in range(3)))})
def normals(p: ADArray3f) -> Arrays:
    p = ADArray3f(p)
    dr.enable_grad(p)
    dr.backward(dr.sum(dr.norm(p)))
    return {"normal": dr.grad(p)}


@program(lambda n: {"x": Float(floats(n))})
def compressed(x: Float) -> Arrays:
    place = dr.compress(x > 0)
    y = dr.gather(Float, x, place)
    return {"place": place, "y": y * 2, "sum": dr.sum(y)}


@program(lambda n: {"x": Float(floats(n)), "table": Float(floats(5))})
def constants(x: Float, table: Float) -> Arrays:
    own = Float([1, 2, 4, 8])
    i = dr.arange(UInt, dr.width(x))
    half = dr.arange(Float, dr.width(x) // 2)
    y = x * dr.gather(Float, own, i & 3) + dr.gather(Float, table, i % 5)
    return {"y": y, "half": half, "own": own, "same": table, "two": Float(2)}


@program(
    lambda n: {
        "h": Float16(floats(n)),
        "b": UInt8(order(n) % 251),
        "l": Int64(order(n).astype(np.int64) << 33),
        "m": Bool(order(n) % 2 == 0),
    }
)
def types(h: Float16, b: UInt8, l: Int64, m: Bool) -> Arrays:  # noqa: E741
    u = UInt(b)
    return {
        "h": h * 2 + 1,
        "b": b + 3,
        "l": l // 7,
        "m": ~m,
        "n": dr.count(m),
        "p": dr.popcnt(u) + dr.lzcnt(u) + dr.tzcnt(u) + dr.brev(u),
    }


@program(lambda n: {"x": Float(floats(n)), "scale": Float(floats(1))})
def scalars(x: Float, scale: Float) -> Arrays:
    return {"y": x * scale, "two": scale * 2, "sum": dr.sum(x * scale)}


@program(lambda n: {"x": Float(floats(n))})
def chain(x: Float) -> Arrays:
    for _ in range(12):
        x = x * 0.5 + 1
        dr.eval(x)
    return {"x": x}


@program(lambda n: {"x": Float(floats(n)), "i": UInt(order(n))})
def local(x: Float, i: UInt) -> Arrays:
    array = dr.alloc_local(Float, 4, value=dr.zeros(Float, dr.width(x)))
    array[i & 3] = x
    array[(i >> 2) & 3] = x * 2
    return {"y": array[(i >> 4) & 3]}


@program(lambda n: {"x": Float(floats(n))}, 10, 20)
def sizes(x: Float) -> Arrays:
    return {
        "reversed": dr.reverse(x) * 2,
        "tiled": dr.tile(x, 3),
        "space": dr.linspace(Float, 0, 1, dr.width(x)),
    }


@program(
    lambda n: {
        "x": TensorXf(Float(floats(3 * n)), (n, 3)),
        "y": TensorXf(Float(floats(n)), (n, 1)),
    },
    10,
    20,
)
def tensors(x: TensorXf, y: TensorXf) -> Arrays:
    z = x * 2 + y
    return {"z": z, "sum": dr.sum(z, axis=1), "first": z[:, 0], "turned": z.T}


def matrix(n: int, m: int, seed: int = 0) -> TensorXf:
    return TensorXf(Float(floats(n * m, seed)), (n, m))


@program(lambda n: {"x": matrix(n % 40 + 2, n % 300 + 50)}, 10, 20)
def rows(x: TensorXf) -> Arrays:
    shifted = dr.exp(x - dr.max(x, axis=1, keepdims=True))
    return {
        "softmax": shifted / dr.sum(shifted, axis=1, keepdims=True),
        "columns": dr.sum(x, axis=0),
        "largest": dr.max(x * 2, axis=0),
        "prefix": dr.cumsum(x * 2, axis=1),
        "above": dr.cumsum(x, axis=0, reverse=True),
        "sorted": dr.sort(x, axis=1),
        "ordered": dr.sort(x, axis=0),
    }


@program(
    lambda n: {
        "a": matrix(n % 40 + 2, n % 300 + 50),
        "b": matrix(n % 300 + 50, n % 7 + 400, 1),
    },
    10,
)
def products(a: TensorXf, b: TensorXf) -> Arrays:
    return {"c": a @ b, "d": dr.matmul(b, a + 1, At=True, Bt=True)}


# These are bound to their sizes.


@program(lambda n: {"x": Float(floats(1000)), "i": Int(order(1000))})
def sorting(x: Float, i: Int) -> Arrays:
    return {"x": dr.sort(x), "i": dr.argsort(i)}


@program(lambda n: {"x": Float(floats(60)), "v": Array3f(floats(4), 1, floats(4, 1))})
def blocks(x: Float, v: Array3f) -> Arrays:
    return {
        "sum": dr.block_sum(x, 6),
        "max": dr.block_reduce(dr.ReduceOp.Max, x, 4),
        "v": dr.cross(v, v + 1),
    }


@program(lambda n: {"x": Float(np.abs(floats(n)) * 100 + 9)})
def turns(x: Float) -> Arrays:
    """How often it goes round depends on the largest entry."""
    half, count, total = dr.while_loop(
        (x, dr.zeros(UInt, dr.width(x)), x * 0),
        lambda half, count, total: half > 1,
        lambda half, count, total: (half / 2, count + 1, total + half),
        mode="evaluated",
    )
    return {"half": half, "count": count, "total": total, "mean": dr.mean(half)}


@program(lambda n: {"i": UInt(order(n)), "bins": Float(np.zeros(16, np.float32))})
def rounds(i: UInt, bins: Float) -> Arrays:
    """Two loops one after the other; the first one scatters, the second one has states
    that change places."""
    bins = Float(bins)

    def body(k: UInt) -> tuple[UInt]:
        dr.scatter_reduce(dr.ReduceOp.Max, bins, Float(k), i % 16)
        return (k + 1 + i % 3,)

    (k,) = dr.while_loop(
        (dr.zeros(UInt, dr.width(i)),), lambda k: k < 20, body, mode="evaluated"
    )
    a, b, _ = dr.while_loop(
        (k, i, dr.zeros(UInt, dr.width(i))),
        lambda a, b, n: n < 3 + k % 4,
        lambda a, b, n: (b + 1, a, n + 1),
        mode="evaluated",
    )
    return {"bins": bins, "a": a, "b": b}


@program(lambda n: {"x": Float(np.abs(floats(n)) * 100 + 9), "i": UInt(order(n))})
def turns_within(x: Float, i: UInt) -> Arrays:
    """Loops in a loop: one by what is there, one by what is around it, and a third one
    in that."""

    def inner(y: Float, j: UInt) -> tuple[Float, UInt]:
        y, m = dr.while_loop(
            (y, UInt(0)),
            lambda y, m: m < j + i % 2 + 1,
            lambda y, m: (y * 0.75, m + 1),
            mode="evaluated",
        )
        return y + Float(m), j + 1

    def outer(y: Float, k: UInt) -> tuple[Float, UInt]:
        (z,) = dr.while_loop(
            (y,), lambda z: z > 2, lambda z: (z / 2,), mode="evaluated"
        )
        z, j = dr.while_loop(
            (z + y / 2, UInt(0)), lambda z, j: j < k % 3 + 1, inner, mode="evaluated"
        )
        return z + Float(j), k + 1

    y, k = dr.while_loop(
        (x, UInt(0)), lambda y, k: k < 5 + i % 7, outer, mode="evaluated"
    )
    return {"y": y, "k": k}


@program(
    lambda n: {
        "w": Float16(floats(63, 7)),
        "x": Float(floats(n)),
        "y": Float(floats(n, 1)),
    }
)
def half_network(w: Float16, x: Float, y: Float) -> Arrays:
    """16 x 2, ReLU, 1 x 16, with a bias, of half precision."""
    hidden = product(w, 0, 16, 2, False, [Float16(x), Float16(y)], w, 32)
    (z,) = product(w, 46, 1, 16, False, [dr.maximum(v, 0) for v in hidden])
    return {"z": z}


@program(lambda n: {"w": ADFloat(floats(7, 7)), "x": ADFloat(order(n) % 5)})
def network_gradient(w: ADFloat, x: ADFloat) -> Arrays:
    """Sums of small whole numbers are exact, whatever the order."""
    dr.enable_grad(w)
    y = product(w, 1, 2, 3, False, [x, x * x, x + 1])
    dr.backward(dr.sum(y[0]) + 2 * dr.sum(y[1]))
    return {"g": dr.grad(w)}


@program(
    lambda n: {
        "weights": TensorXf(floats(12, 2).reshape(3, 4)),
        "bias": Float(floats(3, 3)),
        "x": Float(floats(n)),
        "y": Float(floats(n, 4)),
    }
)
def network(weights: TensorXf, bias: Float, x: Float, y: Float) -> Arrays:
    packed, shift = nn.pack(weights, bias)
    features = nn.CoopVec(x, y, x * y, 0.5)
    found = dr.tanh(nn.matvec(packed, features, shift))
    return {"found": Array3f(*found)}


def leaves(name: str, value: Any) -> dict[str, Any]:
    """Arrays by the names of their fields."""
    if dr.is_tensor_v(value):
        shape = {f"{name}_shape_{k}": n for k, n in enumerate(value.shape)}
        return {name: np.array(value.array)} | shape
    if dr.depth_v(value) > 1:
        return {f"{name}_{k}": np.array(entry) for k, entry in enumerate(value)}
    return {name: np.array(value)}


def called(function: Callable[..., Arrays], inputs: Arrays) -> dict[str, Any]:
    """What goes in and comes out, by the names of fields."""
    found: dict[str, Any] = {}
    for name, value in inputs.items():
        found |= leaves(f"in_{name}", value)
    before = {name: dr.detach(value) for name, value in inputs.items()}
    before = {name: np.array(value) for name, value in before.items()}
    for name, value in function(**inputs).items():
        found |= leaves(f"out_result_{name}", dr.detach(value))
    for name, value in inputs.items():
        if not np.array_equal(np.array(dr.detach(value)), before[name]):
            found |= leaves(f"out_new_{name}", dr.detach(value))
    return found


def repeats(program: Program, size: int) -> bool:
    """Does the recording that is exported serve another size?"""
    frozen = dr.freeze(program.function)
    for recorded in (*program.recorded, size):
        frozen(**program.make(recorded))
    return frozen.n_recordings == len(program.recorded)


def main() -> None:
    folder = Path(sys.argv[1])
    for name, program in PROGRAMS.items():
        frozen = dr.freeze(program.function)
        for size in (*program.recorded, program.recorded[-1]):
            frozen(**program.make(size))
        if frozen.n_recordings != len(program.recorded):
            raise RuntimeError(f"{name} was recorded {frozen.n_recordings} times")
        frozen.export(folder / name)
        for size in SIZES:
            kind = "served" if repeats(program, size) else "refused"
            arrays = called(program.function, program.make(size))
            np.savez(folder / name / f"{size}.{kind}.npz", **arrays)


if __name__ == "__main__":
    main()
