"""A small program with annotated results."""

import drjit as dr
from drjit.llvm import Float, UInt


def midpoint(count: int) -> Float:
    """Pi by the midpoint rule."""
    x = (Float(dr.arange(UInt, count)) + 0.5) / count
    return 4 * dr.sum(1 / (x * x + 1)) / count


pi: Float = midpoint(1000)
with dr.scoped_set_flag(dr.JitFlag.Debug, False):
    entry: float = pi[0]
assert abs(entry - 3.14159) < 1e-3
