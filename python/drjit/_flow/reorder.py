"""Reordering of GPU threads: without effect on the backends there are."""

from __future__ import annotations

from typing import TypeVar

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_T = TypeVar("_T")


def reorder_threads(key: Any, num_bits: int, value: _T) -> _T:
    """Return ``value``; a GPU would first group its threads by the low bits of ``key``.

    It changes the order of execution only, never results. On the CPU it checks its
    arguments and does nothing else.

    Args:
        key (UInt32 array): lanes with the same key are to run together.
        num_bits (int): how many of the low bits of ``key`` count, 1 to 16.
        value (PyTree): the arrays of the computation that goes on in that order.

    Returns:
        PyTree: ``value`` itself.

    Raises:
        TypeError: ``key`` is not a one-dimensional array of 32-bit unsigned integers,
            or ``num_bits`` not an ``int``.
        ValueError: ``num_bits`` is out of range.

    Derivative:
        The identity.

    Example:
        >>> material = UInt(1, 0, 1)
        >>> dr.reorder_threads(material, 1, Float(0.5, 1, 2))
        [0.5, 1, 2]
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
    """Start what this thread has scheduled or queued, without waiting for it.

    The same as :func:`drjit.eval` without arguments.

    Evaluation:
        Launches kernels for arrays of :func:`drjit.schedule` and pending side effects.

    Example:
        >>> x = dr.sqrt(Float(1, 4))
        >>> dr.schedule(x)
        True
        >>> dr.flush_thread()
        >>> x.state
        VarState.Evaluated

    See also:
        :func:`drjit.eval`, :func:`drjit.sync_thread`
    """
    dr.eval()
