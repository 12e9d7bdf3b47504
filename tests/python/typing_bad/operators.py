"""Each line marked as an error is one, and no other line is."""

import drjit as dr
from drjit.llvm import Array2f, Array3b, Array3f, Array3u, Float, Int, Matrix3f, UInt

a = Array3f(1, 2, 3)
n = UInt(1)

a + "b"  # error
"b" + a  # error
a + Array2f(1, 2)  # error
n / n  # error
a.x % 2  # error
a.x << 1  # error
Matrix3f(1) < Matrix3f(2)  # error
wrong: Int = a.x + 1  # error
mask: Array3b = a + 1  # error
narrow: Array3u = a + Array3u(1)  # error
x: float = dr.sum(a)  # error
a.x = "text"  # error
a.xyq  # error
a[0] = Array3f(1)  # error
a["x"]  # error
fine: Float = a.x + 1
