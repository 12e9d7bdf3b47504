"""Wrong arguments of functions."""

import drjit as dr
from drjit.llvm import Array3f, Float, Int, UInt

a = Array3f(1, 2, 3)

Float("text")  # error
Float({})  # error
dr.sqrt("text")  # error
dr.sum(a, axes=0)  # error
dr.minimum(a)  # error
dr.arange(UInt)  # error
dr.arange(3)  # error
result: Int = dr.zeros(UInt, 3)  # error
dr.gather(Float, a.x)  # error
dr.scatter_reduce("add", a.x, 1, 0)  # error
dr.reverses(a.x)  # error
other: Float = dr.maximum(a, 2)  # error
dr.set_flag("Debug", True)  # error
dr.width(a, a, key=1)  # error
fine: Float = dr.gather(Float, a.x, UInt(0))
