"""Matrix-vector products: the only place that knows how a matrix is read.

A matrix is ``rows * columns`` entries of a buffer, row after row without gaps, the
first at ``offset``. Each entry of a product begins with that of the bias, or 0, and
goes through the columns in ascending order, one fused multiplication and addition after
the other, in single precision for entries of half precision. It is rounded once.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import drjit

from . import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

dr: Any = drjit


def wide_gradient(buffer: Any) -> Any:
    """What derivatives with respect to parameters of half precision go to, or None.

    Thousands of lanes add to the gradient of a parameter, more than the precision of
    the parameter is good for. So derivatives are those of an array in single precision.
    It is zero, and no memory is needed for its values. In recorded code, gradients are
    added up where they are.
    """
    if dr.type_v(buffer) != dr.VarType.Float16 or not dr.grad_enabled(buffer):
        return None
    if dr.flag(dr.JitFlag.SymbolicScope):
        return None
    wide = dr.float32_array_t(type(buffer))
    return dr.replace_grad(dr.zeros(wide, len(buffer)), wide(buffer))


class _Shared(threading.local):
    """What layers of a network that is being evaluated have in common: of each buffer,
    and its index, the array that its derivatives go to."""

    gradients: dict[tuple[int, int], Any] | None = None


_shared = _Shared()


@contextmanager
def one_network() -> Iterator[None]:
    """Have all products within share gradients, so that these are rounded, and
    evaluated, once for all layers."""
    if _shared.gradients is not None:
        yield
        return
    _shared.gradients = {}
    try:
        yield
    finally:
        _shared.gradients = None


def _gradient_of(buffer: Any) -> Any:
    known = _shared.gradients
    if known is None:
        return wide_gradient(buffer)
    # An array that is kept keeps the node; what has None would have it again.
    key = buffer.index, buffer.index_ad
    if key not in known:
        known[key] = wide_gradient(buffer)
    return known[key]


def product(
    buffer: Any,
    offset: int,
    rows: int,
    columns: int,
    transpose: bool,
    x: list[Any],
    bias_buffer: Any = None,
    bias_offset: int = 0,
) -> list[Any]:
    """A x + b, or A^T x + b if ``transpose``, for a matrix of rows * columns entries.

    Args:
        buffer: an array of floats, of the type of the entries of x.
        x: the vector's components, ``columns`` of them (``rows`` if ``transpose``).
        bias_buffer: holds b from ``bias_offset`` on, likewise; without it b is 0.

    Returns the components of the product, of the type of those of x. All arguments fit
    each other. Derivatives of all orders go to the buffers and to x.
    """
    shape = offset, rows, columns, transpose
    result: list[Any] = _core._matvec(
        buffer, *shape, x, bias_buffer, bias_offset, _gradient_of(buffer)
    )
    return result
