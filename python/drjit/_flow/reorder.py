"""Reordering of GPU threads: without effect on the backends there are."""

from __future__ import annotations

from typing import Any, TypeVar

import drjit as dr

_T = TypeVar("_T")


def reorder_threads(key: Any, num_bits: int, value: _T) -> _T:
    """Return ``value``; a GPU would group its threads by the low bits of ``key`` first.

    ``key`` is a one-dimensional array of unsigned 32-bit integers, of which
    ``num_bits`` (1 to 16) count. On the CPU this does nothing, as documented, but it
    checks its arguments: ``TypeError`` for another kind of key, ``ValueError`` for
    other numbers of bits.
    """
    if dr.type_v(key) != dr.VarType.UInt32 or dr.depth_v(key) != 1:
        raise TypeError(
            "drjit.reorder_threads(): the key must be a 1D array of unsigned 32-bit "
            f"integers, got '{type(key).__name__}'"
        )
    if isinstance(num_bits, bool) or not isinstance(num_bits, int):
        raise TypeError("drjit.reorder_threads(): num_bits must be an int")
    if not 1 <= num_bits <= 16:
        raise ValueError(
            f"drjit.reorder_threads(): num_bits must be 1 to 16, got {num_bits}"
        )
    return value
