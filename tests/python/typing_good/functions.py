"""Functions whose result type depends on their arguments."""

import drjit as dr
from drjit import scalar
from drjit.llvm import (
    Array3b,
    Array3f,
    Array3u,
    ArrayXf,
    Bool,
    Float,
    Matrix3f,
    TensorXf,
    UInt,
)

a = Array3f(1, 2, 3)
u = Array3u(1, 2, 3)
x = Float([1, 2, 3])

total: Float = dr.sum(a)
leaf_total: Float = dr.sum(x)
least: Float = dr.min(a)
average: Float = dr.mean(a)
every: Bool = dr.all(a > 0)
plain_total: float = dr.sum(scalar.Array3f(1, 2, 3))
tensor_total: TensorXf = dr.sum(TensorXf([1, 2, 3]))
product: Float = dr.dot(a, a)
length: Float = dr.norm(a)

larger: Array3f = dr.maximum(u, a)
smaller: Array3f = dr.minimum(a, 2)
number: int = dr.minimum(1, 2)
chosen: Array3f = dr.select(a > 1, a, 0)
fused: Array3f = dr.fma(a, 2, u)
clipped: Array3f = dr.clip(a, 0, 1)
root: Float = dr.sqrt(x)
plain_root: float = dr.sqrt(2.0)
rounded: Array3f = dr.floor(a)
finite: Array3b = dr.isfinite(a)
between: Array3f = dr.lerp(a, a, 0.5)
crossed: Array3f = dr.cross(a, a)

counter: UInt = dr.arange(UInt, 3)
grid: Float = dr.linspace(Float, 0, 1, 5)
zero: Array3f = dr.zeros(Array3f, 4)
ones: TensorXf = dr.ones(TensorXf, (2, 3))
filled: Float = dr.full(Float, 2, 4)
taken: Float = dr.gather(Float, x, counter)
like: Array3f = dr.zeros_like(a)

m = dr.identity(Matrix3f)
transformed: Array3f = Matrix3f(1) @ a
composed: Matrix3f = Matrix3f(1) @ Matrix3f(2)
row: Array3f = Matrix3f(1)[0]
transposed: Matrix3f = Matrix3f(1).T

wide: ArrayXf = ArrayXf([1, 2], [3, 4]) + 1
width: int = dr.width(x)
shape: tuple[int, ...] = dr.shape(a)
dr.scatter(x, 1.0, UInt(0))
dr.scatter_reduce(dr.ReduceOp.Add, x, Float(1), UInt(1))
dr.eval(x)
