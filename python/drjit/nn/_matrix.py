"""Views of matrices in buffers, their products with vectors; packing and unpacking."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from enum import Enum
from typing import Any, ClassVar

import drjit
from drjit import _core

from .. import _matvec
from .._errors import ShapeError
from ._coopvec import CoopVec, from_components

dr: Any = drjit


class MatrixLayout(str, Enum):
    """How the entries of a matrix are arranged in memory.

    Members are strings, equal to their names.

    - ``RowMajor`` (``"row_major"``): row after row. Such matrices have parts and can be
      read as tensors.
    - ``Inference`` (``"inference"``): what suits evaluation best; see
      :func:`drjit.nn.pack`.
    - ``Training`` (``"training"``): what suits derivatives with respect to the matrix
      best.

    On CPUs all three are row after row.

    Example:
        >>> from drjit import nn
        >>> nn.view(TensorXf([[1, 2]])).layout == "row_major"
        True
    """

    __module__ = "drjit.nn"

    RowMajor = "row_major"
    Inference = "inference"
    Training = "training"

    __str__ = str.__str__
    __repr__ = str.__repr__


class MatrixView:
    """A matrix in a buffer that may also hold others.

    :func:`drjit.nn.view`, :func:`drjit.nn.pack` and :func:`drjit.nn.unpack` make views;
    a view that is constructed is of no matrix. ``A @ x`` is ``matvec(A, x)``. In
    row-major layout ``A[2:4, 1:]``, ``A[1]`` and ``A[:, 0]`` are views of parts, with
    numbers or slices for rows and columns (columns without a step, ``ValueError``
    otherwise), and ``TensorXf(A)`` reads the matrix. Packed matrices have no parts
    (``RuntimeError``).

    Attributes:

    - ``buffer``: the flat array with the entries.
    - ``dtype``: type of the entries, a :class:`drjit.VarType`.
    - ``layout``: their arrangement, a :class:`drjit.nn.MatrixLayout`.
    - ``shape``: rows and columns in the buffer; a vector is one column.
    - ``offset``: index of the first entry in the buffer.
    - ``size``: number of entries from the first to the last.
    - ``stride``: distance of rows in the buffer, in entries.
    - ``transpose``: does the view represent the transpose?

    Example:
        >>> from drjit import nn
        >>> A = nn.view(TensorXf([[1, 2, 3], [4, 5, 6]]))
        >>> TensorXf(A[:, 1:].T)
        [[2, 5],
         [3, 6]]
        >>> list(A @ nn.CoopVec(Float(1), 1, 1))
        [[6], [15]]
    """

    __module__ = "drjit.nn"

    buffer: Any  #: The array with the entries, perhaps among others.
    dtype: Any  #: The type of the entries, a ``drjit.VarType``.
    layout: MatrixLayout  #: How the entries are arranged.
    shape: tuple[int, int]  #: Rows and columns in the buffer; a vector is one column.
    offset: int  #: The index of the first entry in the buffer.
    size: int  #: The number of entries from the first to the last.
    stride: int  #: The distance of rows in the buffer, in entries.
    transpose: bool  #: Does the view represent the transpose?

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "layout": MatrixLayout,
        "buffer": object,
        "dtype": object,
        "shape": tuple,
        "offset": int,
        "size": int,
        "stride": int,
        "transpose": bool,
    }
    __slots__ = tuple(DRJIT_STRUCT)

    def __init__(self) -> None:  # of no matrix: as PyTrees are made
        self.buffer, self.dtype = None, dr.VarType.Void
        self.layout = MatrixLayout.RowMajor
        self.shape, self.offset, self.size, self.stride = (0, 0), 0, 0, 0
        self.transpose = False

    def __getitem__(self, key: Any, /) -> MatrixView:
        """Part of the matrix as it is in the buffer, whatever ``transpose`` says."""
        where = "drjit.nn.MatrixView.__getitem__()"
        if self.layout != MatrixLayout.RowMajor:
            raise RuntimeError(
                f"{where}: the matrix has the layout {str(self.layout)!r}, which has "
                "no parts, expected 'row_major'; drjit.nn.unpack() gives this"
            )
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) not in (1, 2):
            raise ShapeError(f"{where}: found {len(keys)} keys, expected 1 or 2")
        keys = (*keys, slice(None))[:2]
        (row, step, rows), (column, gap, columns) = (
            _range(where, name, k, extent)
            for name, k, extent in zip(("row", "column"), keys, self.shape, strict=True)
        )
        if gap != 1 and columns > 1:
            raise ShapeError(f"{where}: the step of columns is {gap}, expected 1")
        if step < 0:
            raise ShapeError(
                f"{where}: the step of rows is {step}, expected a positive number"
            )
        return _make(
            self.buffer,
            (rows, columns),
            self.offset + row * self.stride + column,
            stride=self.stride * step,
            transpose=self.transpose,
        )

    def __matmul__(self, x: CoopVec, /) -> CoopVec:
        return matvec(self, x) if isinstance(x, CoopVec) else NotImplemented

    @property
    def T(self) -> MatrixView:
        """The transpose, a view of the same entries."""
        found = copy(self)
        found.transpose = not self.transpose
        return found

    @property
    def grad(self) -> MatrixView:
        """The same view of the gradient of the buffer."""
        found = copy(self)
        found.buffer = dr.grad(self.buffer)
        return found

    def __drjit_array__(self) -> Any:
        """The matrix as a tensor, for constructors."""
        if self.layout != MatrixLayout.RowMajor:
            raise TypeError(
                "drjit.nn.MatrixView.__drjit_array__(): the matrix has the layout "
                f"{str(self.layout)!r}, expected 'row_major' for a tensor; "
                "drjit.nn.unpack() gives this"
            )
        tensor = dr.tensor_t(type(self.buffer))(entries(self), self.shape)
        return dr.transpose(tensor) if self.transpose else tensor

    def __repr__(self) -> str:
        leaf = type(self.buffer)
        rows = [
            ("dtype", self.dtype),
            ("layout", f'"{self.layout}"'),
            ("shape", self.shape),
            ("stride", self.stride),
            ("offset", self.offset),
            ("size", self.size),
            ("transpose", self.transpose),
            ("buffer", f"<{leaf.__module__}.{leaf.__name__} instance>"),
        ]
        text = ",\n".join(f"    {name}={value}" for name, value in rows)
        return f"drjit.nn.MatrixView[\n{text}\n]"


def _range(where: str, name: str, key: Any, extent: int) -> tuple[int, int, int]:
    """First, step and number of the rows or columns that a key selects."""
    if isinstance(key, slice):
        first, stop, step = key.indices(extent)
        count = len(range(first, stop, step))
        if not count:
            raise ShapeError(
                f"{where}: no {name} of {extent} is in {key}, expected at least one"
            )
        return first, step, count
    if isinstance(key, bool) or not hasattr(type(key), "__index__"):
        raise ShapeError(
            f"{where}: the {name} is of type {type(key).__name__}, expected an int or "
            "a slice"
        )
    index = key.__index__()
    if not -extent <= index < extent:
        raise ShapeError(
            f"{where}: the {name} {index} is out of range, expected one of {extent}"
        )
    return index % extent, 1, 1


def _make(
    buffer: Any,
    shape: tuple[int, int],
    offset: int,
    *,
    layout: MatrixLayout = MatrixLayout.RowMajor,
    stride: int | None = None,
    transpose: bool = False,
) -> MatrixView:
    rows, columns = shape
    made = MatrixView.__new__(MatrixView)
    made.layout = layout
    made.buffer = buffer
    made.dtype = dr.type_v(buffer)
    made.shape = shape
    made.offset = offset
    made.stride = columns if stride is None else stride
    made.size = (rows - 1) * made.stride + columns
    made.transpose = transpose
    return made


def view(arg: Any, /) -> MatrixView:
    """Return a view of a matrix, which is not copied.

    Args:
        arg (tensor | array): a tensor of shape (rows, columns), or a tensor or flat
            array of n entries, which is a matrix of n rows and 1 column.

    Returns:
        MatrixView: a view in row-major layout.

    Raises:
        TypeError: ``arg`` is not such an array of numbers of a just-in-time backend.
        ValueError: a tensor has more axes, or there are no entries.

    Derivative:
        The buffer is the array itself: gradients of products reach it.

    Example:
        >>> from drjit import nn
        >>> A = TensorXf([[1, 2], [3, 4]])
        >>> row = nn.view(A)[1]
        >>> row.shape, row.offset
        ((1, 2), 2)

    See also:
        :func:`drjit.nn.pack`
    """
    return _view("view", arg)


def _view(where: str, arg: Any) -> MatrixView:
    cls = type(arg)
    tensor = dr.is_tensor_v(cls)
    if (
        not dr.is_jit_v(cls)
        or dr.is_mask_v(cls)
        or (dr.depth_v(cls) != 1 and not tensor)
    ):
        raise TypeError(
            f"drjit.nn.{where}(): found an object of type {cls.__name__}, expected an "
            "array or tensor of numbers of a just-in-time backend, without further axes"
        )
    if tensor:
        shape = tuple(arg.shape)
        if len(shape) not in (1, 2):
            raise ShapeError(
                f"drjit.nn.{where}(): found a tensor of shape {shape}, expected one or "
                "two axes"
            )
        buffer = dr.leaf_t(cls)(arg.array)
    else:
        shape, buffer = (len(arg),), cls(arg)
    if 0 in shape:
        raise ShapeError(
            f"drjit.nn.{where}(): found an array of shape {shape}, expected at least "
            "one entry"
        )
    return _make(buffer, (*shape, 1)[:2], 0)


# -------------------------------------------------------------------- entries


def _is_dense(matrix: MatrixView) -> bool:
    """Is there no gap between rows?"""
    return matrix.stride == matrix.shape[1] or matrix.shape[0] == 1


def entries(matrix: MatrixView) -> Any:
    """The entries, row after row: an array. As the buffer has them, not transposed."""
    rows, columns = matrix.shape
    buffer = matrix.buffer
    if _is_dense(matrix) and matrix.offset == 0 and rows * columns == len(buffer):
        return buffer
    leaf = type(buffer)
    index = dr.arange(dr.uint32_array_t(leaf), rows * columns)
    if not _is_dense(matrix):
        index = (index // columns) * matrix.stride + index % columns
    return dr.gather(leaf, buffer, index + matrix.offset)


def _dense(matrix: MatrixView) -> tuple[Any, int]:
    """A buffer in which the rows have no gaps, and the first entry's index."""
    if _is_dense(matrix):
        return matrix.buffer, matrix.offset
    return entries(matrix), 0


# -------------------------------------------------------------------- products


def matvec(
    A: MatrixView,
    x: CoopVec,
    b: MatrixView | None = None,
    /,
    transpose: bool = False,
) -> CoopVec:
    """Return the product A x + b of a matrix and a vector, for each lane.

    All lanes share the matrix; each has a vector of its own. Each component of the
    result is a sum in single precision (double for ``Float64``), which begins with b,
    goes through the columns in ascending order with :func:`drjit.fma`, and is rounded
    to the type of the entries once.

    Args:
        A (MatrixView): the matrix, packed or not.
        x (CoopVec): a component for each column, of the type of the entries.
        b (MatrixView | None): a vector with an entry for each row.
        transpose (bool): multiply by the transpose of ``A``. A view that is transposed
            (``A.T``) is that already; both together cancel.

    Returns:
        CoopVec: a component for each row.

    Raises:
        TypeError: arguments of other types, entries of different types or not of
            floats.
        ValueError: shapes that do not fit.

    Derivative:
        With respect to all inputs, in each layout. In reverse mode that of ``A`` is the
        sum of outer products over all lanes.

    Example:
        >>> from drjit import nn
        >>> A, b = nn.pack(TensorXf([[1, 2], [3, 4]]), Float(10, 20))
        >>> y = nn.matvec(A, nn.CoopVec(Float(1, 0), Float(0, 1)), b)
        >>> Array2f(*y)
        [[11, 23],
         [12, 24]]

    See also:
        :class:`drjit.nn.Linear`
    """
    for name, value, cls in (("A", A, MatrixView), ("x", x, CoopVec)):
        if not isinstance(value, cls):
            raise TypeError(
                f"drjit.nn.matvec(): {name!r} is of type {type(value).__name__}, "
                f"expected a drjit.nn.{cls.__name__}"
            )
    if b is not None and not isinstance(b, MatrixView):
        raise TypeError(
            f"drjit.nn.matvec(): 'b' is of type {type(b).__name__}, expected a "
            "drjit.nn.MatrixView or None"
        )
    _check_types(A, x, b)
    across = A.transpose != bool(transpose)
    outputs, inputs = A.shape[::-1] if across else A.shape
    if len(x) != inputs:
        raise ShapeError(
            f"drjit.nn.matvec(): 'x' has {len(x)} components, expected {inputs}, as "
            f"the matrix of shape {A.shape}{' is transposed' if across else ''}"
        )
    if b is not None and (b.shape != (outputs, 1) or b.stride != 1):
        raise ShapeError(
            f"drjit.nn.matvec(): 'b' has the shape {b.shape} and the stride "
            f"{b.stride}, expected {(outputs, 1)} and 1"
        )
    leaf = x.type
    buffers = [A.buffer] if b is None else [A.buffer, b.buffer]
    if any(map(dr.is_diff_v, buffers)):
        leaf = dr.diff_array_t(leaf)
    buffer, offset = _dense(A)
    rows, columns = A.shape
    bias = None if b is None else _converted(leaf, b.buffer)
    product = _matvec.product(
        _converted(leaf, buffer),
        offset,
        rows,
        columns,
        across,
        [_converted(leaf, component) for component in x],
        bias,
        0 if b is None else b.offset,
    )
    return from_components(product)


def _converted(leaf: Any, value: Any) -> Any:
    return value if type(value) is leaf else leaf(value)


def _check_types(A: MatrixView, x: CoopVec, b: MatrixView | None) -> None:
    found = {"A": A.dtype, "x": dr.type_v(x.type)}
    if b is not None:
        found["b"] = b.dtype
    names = ", ".join(f"{name}: {dtype.name}" for name, dtype in found.items())
    floats = dr.is_float_v(x.type)
    if len(set(found.values())) > 1 or not floats:
        raise TypeError(
            f"drjit.nn.matvec(): found entries of the types {names}, expected one "
            "type of floats; drjit.nn.cast() converts vectors"
        )
    for value in (A, b):
        if value is not None and dr.backend_v(value.buffer) != dr.backend_v(x.type):
            raise TypeError(
                "drjit.nn.matvec(): found arrays of different backends, expected one"
            )


# -------------------------------------------------------------------- packing


def _transformed(value: Any, function: Callable[[Any], Any]) -> Any:
    """A PyTree with function(leaf) for arrays and views of matrices.

    Attributes of modules that are not parameters stay as they are.
    """
    cls = type(value)
    if cls is MatrixView or dr.is_array_v(cls):  # no class of arrays, as in Cast
        return function(value)
    if cls is list:
        return [_transformed(item, function) for item in value]
    if cls is tuple:
        return tuple(_transformed(item, function) for item in value)
    if cls is dict:
        return {key: _transformed(item, function) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return cls(*(_transformed(item, function) for item in value))
    fields = None if isinstance(value, type) else _core._fields_of(cls)
    if fields is None:
        return value
    made = copy(value)
    for name in fields:
        if name not in getattr(cls, "_not_packed", ()):
            setattr(made, name, _transformed(getattr(value, name), function))
    return made


def _collected(where: str, args: Any, arrays: bool) -> list[MatrixView]:
    """The matrices of PyTrees, in order."""
    found: list[MatrixView] = []

    def note(value: Any) -> Any:
        if type(value) is not MatrixView and not arrays:
            return value
        own = value if type(value) is MatrixView else _view(where, value)
        if found and type(own.buffer) is not type(found[0].buffer):
            first, other = type(found[0].buffer), type(own.buffer)
            raise TypeError(
                f"drjit.nn.{where}(): found entries of the types {first.__name__} and "
                f"{other.__name__}, expected one type in a buffer"
            )
        found.append(own)
        return value

    _transformed(args, note)
    return found


def _joined(matrices: list[MatrixView]) -> Any:
    """The entries of matrices, one after the other, as a new array object."""
    parts = [entries(matrix) for matrix in matrices]
    return type(parts[0])(parts[0]) if len(parts) == 1 else dr.concat(parts)


def repacked(where: str, args: Any, layout: MatrixLayout) -> Any:
    """PyTrees with views of one new buffer in the place of their views, and but for
    row-major layout of their arrays, too."""
    arrays = layout != MatrixLayout.RowMajor
    matrices = _collected(where, args, arrays)
    if not matrices:
        return args
    buffer = _joined(matrices)
    position, rest = 0, iter(matrices)

    def place(value: Any) -> Any:
        nonlocal position
        if type(value) is not MatrixView and not arrays:
            return value
        old = next(rest)
        rows, columns = old.shape
        vector = columns == 1 and not old.transpose
        made = _make(
            buffer,
            old.shape,
            position,
            layout=MatrixLayout.RowMajor if vector else layout,
            transpose=old.transpose,
        )
        position += rows * columns
        return made

    return _transformed(args, place)
