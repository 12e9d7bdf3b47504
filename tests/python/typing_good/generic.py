"""A function that is generic over the array type, as libraries write them."""

from typing import TypeVar

import drjit as dr
from drjit.llvm import Array2f, Array3f

T = TypeVar("T", Array2f, Array3f)


def reflect(direction: T, normal: T) -> T:
    """Mirror a direction at a surface."""
    return direction - normal * (2 * dr.dot(direction, normal))


reflected: Array3f = reflect(Array3f(1, 0, 0), Array3f(0, 1, 0))
