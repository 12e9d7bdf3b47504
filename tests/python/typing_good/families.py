"""Families of array types: those with derivatives, and beside the others."""

import drjit as dr
import drjit.auto.ad as auto
from drjit import llvm, scalar
from drjit.llvm import ad
from drjit.llvm.ad import Array3b, Array3f, Array3f64, Bool, Float, TensorXf, UInt

a = Array3f(1, 2, 3)
x = Float([1, 2, 3])
n = dr.arange(UInt, 3)

same: Array3f = a * a + 1
beside_traced: Array3f = a * llvm.Array3f(1, 2, 3)
reflected: Array3f = llvm.Array3f(1, 2, 3) * a
beside_scalar: Array3f = scalar.Array3f(1, 2, 3) - a
beside_leaf: Array3f = llvm.Float(2) * a
leaf: Float = x + llvm.UInt(1)
double: Array3f64 = a + Array3f64(1)
mask: Array3b = a < llvm.Array3f(2)
leaf_mask: Bool = x > llvm.Float(2)
tensor: TensorXf = TensorXf([1, 2, 3]) + llvm.TensorXf([1])
component: ad.Float = a.x + x
total: Float = dr.sum(x)
gathered: Float = dr.gather(Float, x, n)
converted: llvm.Float = llvm.Float(x)
back: Float = Float(llvm.Float(1, 2))
drawn: Float = ad.PCG32(size=3).next_float32()
best: ad.Float = auto.Float(1)
event: llvm.Event = ad.Event()
matrix: ad.Matrix3f = llvm.Matrix3f(1) + ad.Matrix3f(2)
flag: bool = dr.is_diff_v(x)
