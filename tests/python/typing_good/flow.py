"""Control flow, objects in arrays, local memory."""

import drjit as dr
from drjit.llvm import Array3f, Bool, Float, UInt


class Shape(dr.Instance):
    def __init__(self, size: float) -> None:
        self.size = size

    def area(self, scale: Float) -> Float:
        return scale * self.size


ShapePtr = dr.array_t(Shape)


@dr.func
def smooth(x: Float) -> Float:
    return x * x * (3 - 2 * x)


@dr.func(backend=dr.JitBackend.LLVM)
def one() -> Float:
    return Float(1)


@dr.syntax
def power(x: Float, n: UInt) -> Float:
    result = Float(1)
    while dr.hint(n > 0, label="power"):
        if n & 1 == 1:
            result *= x
        x *= x
        n >>= 1
    return result


shapes = ShapePtr(Shape(1), None)
area: Float = shapes.area(Float(1, 2))
total: Float = power(smooth(area) + one(), UInt(2))
i, x = dr.while_loop((UInt(0), total), lambda i, x: i < 3, lambda i, x: (i + 1, x + 1))
y: Float = dr.if_stmt((x,), i > 1, lambda x: x, lambda x: x * 2)
z: Float = dr.switch(i, [lambda x: x, lambda x: -x], y)
w: Float = dr.dispatch(shapes, lambda shape, x: x * shape.size, z)
buffer: dr.Local[Array3f] = dr.alloc_local(Array3f, 4)
buffer.write(Array3f(1, 2, 3), UInt(0), active=Bool(True))
point: Array3f = buffer[UInt(0)]
length: int = len(buffer)
