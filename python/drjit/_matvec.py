"""Matrix-vector products: the only place that knows how a matrix is read.

A matrix is ``rows * columns`` entries of a buffer, row after row without gaps, the
first at ``offset``. Each entry of a product begins with that of the bias, or 0, and
goes through the columns in ascending order, one fused multiplication and addition after
the other, in single precision for entries of half precision. It is rounded once.
"""

from __future__ import annotations

from typing import Any

from drjit import _core


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
    result: list[Any] = _core._matvec(
        buffer, offset, rows, columns, transpose, x, bias_buffer, bias_offset
    )
    return result
