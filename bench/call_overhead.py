"""What a call costs before anything is computed: ns per call of typical calls.

    python call_overhead.py [SECONDS [PATTERN ...]]

Measures the package that is imported, ours or the published one, and uses documented
functions only. A case is a statement on small arrays, which is traced and released:
nothing large is evaluated. Cases whose name contains one of the patterns are measured
(all if there is none), each for about SECONDS (0.03) in short repetitions. The best
one counts, because others share the machine; run the two packages in turn, several
times, and compare the least times. Prints lines of JSON: {"measure": "call",
"case", "best", "unit"}. A case that fails reports {"measure", "case", "error"}.
"""

from __future__ import annotations

import json
import sys
import time
import timeit
from typing import Any

import drjit as dr
from drjit import llvm
from drjit.llvm import (
    Array3f,
    Array3u,  # noqa: F401  # the statements below use it
    Bool,  # noqa: F401
    Complex2f,
    Float,
    Int,  # noqa: F401
    Matrix3f,
    Matrix4f,
    Quaternion4f,
    TensorXf,
    UInt32,
)


class Ray:
    """A structure of two vectors and a number."""

    DRJIT_STRUCT = {"o": Array3f, "d": Array3f, "t": Float}  # noqa: RUF012

    def __init__(self, o: Any = None, d: Any = None, t: Any = None) -> None:
        self.o, self.d, self.t = o, d, t


# Statements by theme. What they use is made by operands().
CASES = """
Float(1.5)
Float(1)
Float([1.0, 2.0, 3.0, 4.0])
Float(values)
Float(x)
Float(i)
UInt32(x)
Int(i)
UInt32(3)
Bool(True)
Float(host)
Array3f(1, 2, 3)
Array3f(0)
Array3f(x)
Array3f(x, y, z)
Array3f([1, 2, 3])
Array3f(v)
Array3u(v)
Matrix4f(1)
Matrix4f(rows)
Matrix4f(m)
Matrix3f(v, w, v)
Complex2f(1, 2)
Complex2f(x, y)
Quaternion4f(1, 2, 3, 4)
TensorXf(flat, (4, 4))
TensorXf(host44)
Float()
Array3f()

v.x
v.xy
v[1]
x.index
x.state
x.shape
v.shape
t.shape
t.array
m[1]
m[1][2]
m[1, 2]
c.real
c.imag
q.imag
len(v)
len(x)
len(t)
x[3]
x[3] = 2
v.x = x
v[1] = y
m[1, 2] = x
w += 0
t[0, 1]
t[:, 1]
t[1]
t[..., None]
t[i4]
[a for a in v]
x == y
a, b, c3 = v

dr.arange(UInt32, 16)
dr.arange(Float, 16)
dr.arange(UInt32, 2, 16, 2)
dr.zeros(Float, 16)
dr.zeros(Float)
dr.zeros(Array3f, 16)
dr.zeros(Array3f)
dr.zeros(Ray, 16)
dr.zeros(TensorXf, (4, 4))
dr.zeros_like(v)
dr.ones(Float, 16)
dr.ones_like(x)
dr.full(Float, 1.5, 16)
dr.full(Array3f, 1.5, 16)
dr.empty(Float, 16)
dr.opaque(Float, 1.5, 16)
dr.linspace(Float, 0, 1, 16)
dr.identity(Matrix4f)
dr.meshgrid(x, y)

x + y
x + 1
1 - x
x * 2.5
x / y
-x
abs(x)
i // 3
i % y_int
i >> 2
i & 7
~mask
mask & mask2
x < y
x < 1
v + w
v * 2
2 * v
v * x
v / w
v < w
m @ m
m * 2
m @ v4
c * c
q * q
c / c
t + t
t * 2
x += y
v *= w
v = v + w

dr.abs(x)
dr.sqrt(x)
dr.sqrt(v)
dr.rcp(x)
dr.rsqrt(x)
dr.floor(x)
dr.minimum(x, y)
dr.maximum(x, 0)
dr.minimum(v, w)
dr.fma(x, y, z)
dr.fma(v, w, v)
dr.fma(x, 2, 1)
dr.select(mask, x, y)
dr.select(mask, x, 0)
dr.select(mask, v, w)
dr.select(mask, v, 0)
dr.select(mask, ray, ray2)
dr.select(v < w, v, w)
dr.isnan(x)
dr.isnan(v)
dr.isinf(x)
dr.isfinite(x)
dr.isnan(1.5)
dr.clip(x, 0, 1)
dr.clip(v, 0, 1)
dr.lerp(x, y, z)
dr.lerp(v, w, x)
dr.sign(x)
dr.sign(v)
dr.mulsign(x, y)
dr.square(x)
dr.hypot(x, y)
dr.copysign(x, y)
dr.sqrt(2.0)
dr.maximum(2, 3)
dr.popcnt(i)
dr.reinterpret_array(UInt32, x)
dr.clip(0.5, 0, 1)
dr.epsilon(Float)

dr.dot(v, w)
dr.dot(x, y)
dr.norm(v)
dr.squared_norm(v)
dr.normalize(v)
dr.cross(v, w)
dr.sum(v)
dr.sum(x)
dr.sum(t)
dr.sum(t, axis=0)
dr.prod(v)
dr.mean(v)
dr.mean(x)
dr.mean(t)
dr.mean(t, axis=0)
dr.min(v)
dr.max(v)
dr.max(x)
dr.all(v < w)
dr.any(v < w)
dr.all(mask)
dr.any(mask)
dr.count(mask)
dr.none(mask)
dr.all(v < w, axis=None)
dr.sum(values)
dr.compress(mask)
dr.prefix_sum(x)
dr.cumsum(x)
dr.block_sum(x, 4)
dr.block_reduce(dr.ReduceOp.Add, x, 4)
dr.sort(x)
dr.allclose(x, x)

dr.gather(Float, x, i)
dr.gather(Float, x, 3)
dr.gather(Float, x, i, mask)
dr.gather(Array3f, x, i4)
dr.gather(Ray, rays, i)
dr.scatter(target, x, i)
dr.scatter(target, x, i, mask)
dr.scatter(target, 1, i)
dr.scatter_add(target, x, i)
dr.scatter_reduce(dr.ReduceOp.Add, target, x, i)
dr.slice(v, 2)

dr.width(x)
dr.width(v)
dr.width(ray)
dr.shape(v)
dr.copy(v)
dr.copy(ray)
dr.ravel(v)
dr.unravel(Array3f, flat12)
dr.reshape(Array3f, flat12, (3, -1))
dr.reshape(TensorXf, t, (2, 8))
dr.reshape(t, (2, 8))
dr.concat((x, y))
dr.concat((t, t))
dr.stack((t, t))
dr.moveaxis(t, 0, 1)
dr.transpose(t)
m.T
dr.tile(x, 3)
dr.repeat(x, 3)
dr.reverse(x)
dr.reverse(v)
dr.take(t, 1)
dr.expand_dims(t, 0)
dr.squeeze(t1)
dr.split(t, 2)
dr.det(m)
dr.trace(m)
dr.rcp(m)
dr.diag(m)
dr.frob(m)
dr.rcp(m3)
dr.det(m3)
dr.conj(c)
dr.real(c)
dr.rcp(q)
dr.quat_to_matrix(Matrix3f, q)
dr.matrix_to_quat(m3)

dr.eval(x)
dr.eval(ray)
dr.eval(x + 1)
dr.schedule(x)
dr.make_opaque(x)
repr(x)
str(v)
x.numpy()
v.numpy()
t.numpy()
np.array(x)
x.numpy()[0]
list(x)
dr.slice(x, 2)
dr.set_label(x, "x")

dr.is_array_v(x)
dr.is_jit_v(Float)
dr.is_float_v(x)
dr.is_vector_v(v)
dr.is_tensor_v(t)
dr.is_matrix_v(m)
dr.is_mask_v(mask)
dr.is_struct_v(ray)
dr.is_diff_v(x)
dr.is_dynamic_v(x)
dr.is_integral_v(i)
dr.is_signed_v(i)
dr.value_t(v)
dr.mask_t(v)
dr.scalar_t(v)
dr.array_t(t)
dr.tensor_t(x)
dr.uint32_array_t(Float)
dr.int32_array_t(v)
dr.float64_array_t(v)
dr.type_v(x)
dr.backend_v(x)
dr.size_v(v)
dr.depth_v(v)
dr.itemsize_v(v)
dr.expr_t(x, i)
dr.leaf_t(v)
dr.flag(dr.JitFlag.ConstantPropagation)
dr.set_flag(dr.JitFlag.ConstantPropagation, True)
with dr.scoped_set_flag(dr.JitFlag.ConstantPropagation, True): pass
dr.has_backend(dr.JitBackend.LLVM)
"""


def operands() -> dict[str, Any]:
    """What the statements use: evaluated arrays of 16 entries, and more."""
    import numpy as np

    def numbers(start: float) -> Any:
        return dr.arange(Float, 16) + start

    x, y, z = numbers(0.5), numbers(1.25), numbers(2.5)
    v, w = Array3f(x, y, z), Array3f(z, x, y)
    flat, flat12 = numbers(1), dr.arange(Float, 12) + 1
    m = Matrix4f([[1 + 16 * (i == j) + i - j for j in range(4)] for i in range(4)])
    m3 = Matrix3f([[1 + 16 * (i == j) + i - j for j in range(3)] for i in range(3)])
    used = {
        "x": x,
        "y": y,
        "z": z,
        "v": v,
        "w": w,
        "flat": flat,
        "flat12": flat12,
        "i": dr.arange(UInt32, 16),
        "i4": dr.arange(UInt32, 4),
        "y_int": dr.arange(UInt32, 16) + 3,
        "mask": x < 4,
        "mask2": y < 9,
        "m": m,
        "m3": m3,
        "c": Complex2f(x, y),
        "q": Quaternion4f(x, y, z, x),
        "v4": llvm.Array4f(x, y, z, x),
        "t": TensorXf(dr.arange(Float, 16) + 2, (4, 4)),
        "t1": TensorXf(dr.arange(Float, 16) + 3, (1, 4, 4)),
        "target": dr.arange(Float, 16) + 5,
    }
    dr.make_opaque(used)
    used |= {
        "ray": Ray(v, w, x),
        "ray2": Ray(w, v, y),
        "rays": Ray(v, w, x),
        "rows": [[1.0, 2.0, 3.0, 4.0] for _ in range(4)],
        "values": [k + 0.5 for k in range(16)],
        "host": np.arange(16, dtype=np.float32),
        "host44": np.ones((4, 4), dtype=np.float32),
        "np": np,
    }
    return used


def best_of(statement: str, names: dict[str, Any], seconds: float) -> float:
    """Nanoseconds of a statement: the best of many repetitions of about 0.3 ms.

    The statement sees the names as local variables. Scatters are launched between two
    repetitions, so that their number does not grow.
    """
    used = [name for name in names if name in statement]
    setup = "; ".join(f"{name} = _names[{name!r}]" for name in used) or "pass"
    scope = dict(globals(), _names=names)
    timer = timeit.Timer(statement, setup, globals=scope)
    empty = timeit.Timer("pass", globals=scope)
    settle = "scatter" in statement
    once = max(min(timer.timeit(1) for _ in range(3)), 2e-8)
    count = max(1, min(5000, int(3e-4 / once)))
    if settle:
        count = min(count, 50)
    best = loop = float("inf")
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        best = min(best, timer.timeit(count) / count)
        loop = min(loop, empty.timeit(1000) / 1000)
        if settle:
            dr.eval(names["target"])
            dr.sync_thread()
    return 1e9 * max(best - loop, 0)


def main() -> int:
    """Measure the cases that the arguments choose."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.03
    patterns = sys.argv[2:] or [""]
    cases = [line for line in CASES.splitlines() if line]
    failed = 0
    for case in cases:
        if not any(pattern in case for pattern in patterns):
            continue
        row: dict[str, Any] = {"measure": "call", "case": case}
        try:
            row |= {"best": round(best_of(case, operands(), seconds)), "unit": "ns"}
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"
            failed = 1
        print(json.dumps(row), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
