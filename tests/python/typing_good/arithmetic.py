"""Promotion and operators: each annotation is checked by mypy and at run time."""

from drjit import llvm, scalar
from drjit.llvm import (
    Array2f,
    Array3b,
    Array3f,
    Array3f64,
    Array3u,
    Bool,
    Float,
    Float64,
    Int,
    Int64,
    UInt,
)

a = Array3f(1, 2, 3)
u = Array3u(1, 2, 3)
x = Float([1, 2, 3])
n = UInt(1, 2, 3)

same: Array3f = a + a
wider: Array3f = a + u
reflected: Array3f = u - a
with_int: Array3f = a * 2
with_float: Array3f = 2.5 - a
with_leaf: Array3f = a * x
double: Array3f64 = a * Array3f64(1)
quotient: Array3f = a / 2
remainder: UInt = n % 2
floor_quotient: Int = Int(7) // 2
shifted: UInt = n << 1
bits: UInt = n & 0xFF | n ^ 1
inverted: UInt = ~n
negative: Array3f = -a
leaf: Float = x * n + 1
leaf64: Float64 = x + Float64(1)
integers: Int64 = Int64(1) + Int(1)
adapted: Float = n * 0.5
adapted_array: Array3f = u + 1.5
power: Array3f = a**2
mixed: llvm.Array3f = scalar.Array3f(1, 2, 3) * a

mask: Array3b = a < u
mask_reflected: Array3b = u >= a
leaf_mask: Bool = (x > 1) & (n != 2) | ~(x == 3)
integer_mask: Bool = n < 1.5

component: Float = a.x + a[1] * a.z
swizzled: Array2f = a.xy + a.zx
a.y = x + 1
a[2] = x
a += u
a *= 2

plain: scalar.Array3f = scalar.Array3f(1, 2, 3) * 2
number: float = plain[0] + plain.y
flags: scalar.Array3b = plain == 2
