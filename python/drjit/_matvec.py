"""Matrix-vector products: the only place that knows how a matrix is read.

A matrix is ``rows * columns`` entries of a buffer, row after row without gaps, the
first at ``offset``. Each entry of a product begins with that of the bias, or 0, and
goes through the columns in ascending order, one fused multiplication and addition after
the other, in single precision for entries of half precision. It is rounded once.
"""

from __future__ import annotations

from typing import Any

import drjit

dr: Any = drjit


def _wide(leaf: Any) -> Any:
    """The type in which products of such entries are summed."""
    half = dr.type_v(leaf) == dr.VarType.Float16
    return dr.float32_array_t(leaf) if half else leaf


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
    leaf = type(x[0])
    wide, index = _wide(leaf), dr.uint32_array_t(leaf)
    inputs = [wide(component) for component in x]
    row_step, column_step = (1, columns) if transpose else (columns, 1)

    def entry(source: Any, position: int) -> Any:
        return wide(dr.gather(type(source), source, index(position)))

    result = []
    for i in range(columns if transpose else rows):
        total = wide(0) if bias_buffer is None else entry(bias_buffer, bias_offset + i)
        first = offset + i * row_step
        for j, component in enumerate(inputs):
            weight = entry(buffer, first + j * column_step)
            total = dr.fma(weight, component, total)
        result.append(leaf(total))
    return result
