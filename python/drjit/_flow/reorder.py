"""Reordering of GPU threads: without effect on the backends there are."""

from __future__ import annotations

from typing import TypeVar

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

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
            f"drjit.reorder_threads(): 'key' is of type {type(key).__name__}, expected "
            "a 1D array of unsigned 32-bit integers"
        )
    if isinstance(num_bits, bool) or not isinstance(num_bits, int):
        raise TypeError(
            "drjit.reorder_threads(): 'num_bits' is of type "
            f"{type(num_bits).__name__}, expected an integer"
        )
    if not 1 <= num_bits <= 16:
        raise ValueError(
            f"drjit.reorder_threads(): 'num_bits' is {num_bits}, expected 1 to 16"
        )
    return value


def flush_thread() -> None:
    """Start what this thread has scheduled or queued, without waiting for it."""
    dr.eval()
