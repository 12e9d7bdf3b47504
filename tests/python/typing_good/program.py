"""A function that is generic over the array type, as libraries write them."""

from typing import TypeVar

import drjit as dr
from drjit.llvm import Array2f, Array3f, Float, UInt

T = TypeVar("T", Array2f, Array3f)


def reflect(direction: T, normal: T) -> T:
    """Mirror a direction at a surface."""
    return direction - normal * (2 * dr.dot(direction, normal))


def midpoint(count: int) -> Float:
    """Pi by the midpoint rule."""
    x = (Float(dr.arange(UInt, count)) + 0.5) / count
    return 4 * dr.sum(1 / (x * x + 1)) / count


reflected: Array3f = reflect(Array3f(1, 0, 0), Array3f(0, 1, 0))
pi: Float = midpoint(1000)
with dr.scoped_set_flag(dr.JitFlag.Debug, False):
    entry: float = pi[0]
assert abs(entry - 3.14159) < 1e-3
