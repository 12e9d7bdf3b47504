"""Operations for vectors and matrices.

Everything here is written over the components of its arguments: a matrix becomes a list
of rows whose entries are Python numbers (``drjit.scalar``) or arrays, so that one
formula serves all backends.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any, TypeVar

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_core: Any = importlib.import_module("drjit._core")
# Names the types of the arguments of a failed operation.
_text: Callable[..., str] = _core._type_names

T = TypeVar("T")

# Entries of a matrix, row by row.
Rows = list[list[Any]]

_SUFFIX = {"Float16": "f16", "Float32": "f", "Float64": "f64"}

# What _sibling() found for the classes of this package.
_siblings: dict[tuple[Any, str, Any], Any] = {}


def _is_array(arg: Any) -> bool:
    """Is it an array, as opposed to an array type?"""
    return not isinstance(arg, type) and bool(dr.is_array_v(arg))


def _sibling(like: Any, name: str, entry: Any = None) -> Any:
    """Class 'name' plus suffix in the module that defines the array class of 'like'.

    The suffix says the entry type: that of ``like`` unless ``entry`` gives another one.
    """
    cls = like if isinstance(like, type) else type(like)
    key = cls, name, entry
    found = _siblings.get(key)
    if found is not None:
        return found
    suffix = _SUFFIX[dr.type_v(cls if entry is None else entry).name]
    for base in cls.__mro__:
        module = sys.modules.get(base.__module__)
        if module is not None and base.__module__.startswith("drjit."):
            found = getattr(module, name + suffix)
            if base is cls:  # do not keep the classes of users alive
                _siblings[key] = found
            return found
    raise TypeError(f"drjit: {_text(like)} is not derived from an array type")


def _rows(arg: Any) -> Rows:
    """The entries of a square matrix (or array of its shape)."""
    return [list(row) for row in arg]


def _entries(rows: Rows) -> list[Any]:
    return [entry for row in rows for entry in row]


def _require_matrix(operation: str, arg: Any) -> Rows:
    if not _is_array(arg) or not dr.is_matrix_v(arg):
        raise TypeError(f"drjit.{operation}({_text(arg)}): expected a matrix")
    return _rows(arg)


def _sum_of_products(a: Sequence[Any], b: Sequence[Any]) -> Any:
    result = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        result = result + x * y
    return result


def _squared_frobenius(a: Rows) -> Any:
    entries = _entries(a)
    return _sum_of_products(entries, entries)


# Determinant and inverse


def _minors(a: Rows) -> tuple[list[Any], list[Any]]:
    """2x2 minors of the upper and lower half of a 4x4 matrix.

    Columns are paired as 01, 02, 03, 12, 13, 23.
    """
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    upper = [a[0][i] * a[1][j] - a[0][j] * a[1][i] for i, j in pairs]
    lower = [a[2][i] * a[3][j] - a[2][j] * a[3][i] for i, j in pairs]
    return upper, lower


def _det(a: Rows) -> Any:
    if len(a) == 2:
        return a[0][0] * a[1][1] - a[0][1] * a[1][0]
    if len(a) == 3:
        return _sum_of_products(a[0], _cross(a[1], a[2]))
    s, c = _minors(a)
    return (
        s[0] * c[5]
        - s[1] * c[4]
        + s[2] * c[3]
        + s[3] * c[2]
        - s[4] * c[1]
        + s[5] * c[0]
    )


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def det(arg: Any, /) -> Any:
    """Determinant of a matrix with 2, 3 or 4 rows.

    Args:
        arg (matrix): ``Matrix2f``, ``Matrix3f``, ...; not a tensor.

    Returns:
        array | float: the entry type of ``arg``, by expansion into minors.

    Raises:
        TypeError: ``arg`` is not a matrix.

    Derivative:
        The matrix of cofactors, also where ``arg`` is singular.

    Example:
        >>> dr.det(Matrix2f(1, 2, 3, 4))
        [-2]

    See also:
        :func:`drjit.rcp` (the inverse), :func:`drjit.trace`
    """
    return _det(_require_matrix("det", arg))


def inverse(arg: Any, /) -> Any:
    """Multiplicative inverse: the former name of :func:`drjit.rcp`, deprecated.

    Args:
        arg (float array | float): a matrix, number, complex number or quaternion.

    Returns:
        array | float: ``rcp(arg)``, with a ``DeprecationWarning``.

    Derivative:
        That of :func:`drjit.rcp`.

    Example:
        >>> dr.rcp(Matrix2f(1, 2, 3, 4))  # instead of dr.inverse()
        [[[-2, 1],
          [1.5, -0.5]]]

    See also:
        :func:`drjit.rcp`
    """
    warnings.warn(
        "drjit.inverse() is deprecated, use drjit.rcp()",
        DeprecationWarning,
        stacklevel=2,
    )
    return dr.rcp(arg)


# Parts and norms


def diag(arg: Any, /) -> Any:
    """Take the diagonal of a matrix, or make a diagonal matrix of a vector.

    Args:
        arg (array): a matrix, or an array of 2, 3 or 4 floats.

    Returns:
        array: of a matrix the array of its diagonal; of an array the matrix with these
        entries on the diagonal and zeros elsewhere.

    Raises:
        TypeError: ``arg`` is something else: a tensor, complex number or integer
            array, say.

    Derivative:
        Goes to the entries that were taken.

    Example:
        >>> dr.diag(Matrix2f(1, 2, 3, 4))
        [[1, 4]]
        >>> dr.diag(Array2f(1, 2))
        [[[1, 0],
          [0, 2]]]

    See also:
        :func:`drjit.identity`, :func:`drjit.trace`
    """
    if _is_array(arg):
        if dr.is_matrix_v(arg):
            return dr.value_t(arg)(*[arg[i][i] for i in range(len(arg))])
        n = dr.size_v(arg)
        flat = dr.depth_v(arg) == (2 if dr.is_jit_v(arg) else 1)
        plain = not (dr.is_special_v(arg) or dr.is_tensor_v(arg))
        if plain and flat and n in (2, 3, 4) and dr.is_float_v(arg):
            entries = [arg[i] if i == j else 0 for i in range(n) for j in range(n)]
            return _sibling(arg, f"Matrix{n}")(*entries)
    raise TypeError(
        f"drjit.diag({_text(arg)}): expected a matrix, or an array of 2, 3 or 4 "
        "floating point entries"
    )


def trace(arg: Any, /) -> Any:
    """Trace of a matrix: the sum of its diagonal.

    Args:
        arg (matrix): ``Matrix2f``, ``Matrix3f``, ...; not a tensor.

    Returns:
        array | float: the entry type of ``arg``.

    Raises:
        TypeError: ``arg`` is not a matrix.

    Derivative:
        1 for entries of the diagonal, 0 for others.

    Example:
        >>> dr.trace(Matrix2f(1, 2, 3, 4))
        [5]

    See also:
        :func:`drjit.diag`, :func:`drjit.det`, :func:`drjit.frob`
    """
    if not _is_array(arg) or not dr.is_matrix_v(arg):
        raise TypeError(f"drjit.trace({_text(arg)}): expected a matrix")
    result = arg[0, 0]
    for i in range(1, len(arg)):
        result = result + arg[i, i]
    return result


def frob(arg: Any, /) -> Any:
    """Squared Frobenius norm of a matrix: the sum of the squares of its entries.

    Args:
        arg (matrix): ``Matrix2f``, ``Matrix3f``, ...; not a tensor.

    Returns:
        array | float: the entry type of ``arg``. The norm itself is its square root.

    Raises:
        TypeError: ``arg`` is not a matrix.

    Derivative:
        ``2 * arg``.

    Example:
        >>> dr.frob(Matrix2f(1, 2, 3, 4))
        [30]

    See also:
        :func:`drjit.squared_norm`, :func:`drjit.trace`
    """
    return _squared_frobenius(_require_matrix("frob", arg))


def identity(dtype: Any, size: int | Sequence[int] = 1) -> Any:
    """Create the neutral element of multiplication.

    Args:
        dtype (type): type of the result. Matrices become identity matrices, complex
            numbers and quaternions the number 1, and everything else (tensors, too) is
            filled with ones.
        size (int | sequence[int]): the number of lanes, or all extents, as in
            :func:`drjit.zeros`.

    Returns:
        array | number: an instance of ``dtype``, made of literals.

    Raises:
        TypeError: ``dtype`` is not a type.
        RuntimeError: ``size`` does not agree with ``dtype``.

    Example:
        >>> dr.identity(Matrix2f)
        [[[1, 0],
          [0, 1]]]
        >>> dr.identity(Quaternion4f, 2)
        [1,
         1]

    See also:
        :func:`drjit.ones`, :func:`drjit.diag`
    """
    if dr.is_special_v(dtype):
        return dr.zeros(dtype, size) + dtype(1)
    return dr.ones(dtype, size)


# Vectors


def cross(arg0: Any, arg1: Any, /) -> Any:
    """Cross product of two vectors with three components.

    It is perpendicular to both; its length is the area that they span.

    Args:
        arg0, arg1 (array): nested arrays of size 3, which are promoted.

    Returns:
        array: the common type of the arguments.

    Raises:
        TypeError: an argument is something else: a list, tensor or flat array, say.

    Derivative:
        ``cross(arg1, grad)`` for ``arg0``, ``cross(grad, arg0)`` for ``arg1``, where
        ``grad`` is the gradient of the result.

    Example:
        >>> dr.cross(Array3f(1, 0, 0), Array3f(0, 1, 0))
        [[0, 0, 1]]

    See also:
        :func:`drjit.dot`, :func:`drjit.normalize`
    """
    for arg in (arg0, arg1):
        if not _is_array(arg) or dr.is_special_v(arg) or dr.size_v(arg) != 3:
            raise TypeError(
                f"drjit.cross({_text(arg0, arg1)}): expected two arrays of size 3"
            )
    return dr.expr_t(arg0, arg1)(*_cross(arg0, arg1))


def normalize(arg: T, /) -> T:
    """Scale to a Euclidean norm of one.

    Args:
        arg (float array | tensor): vectors, complex numbers or quaternions. Flat arrays
            and tensors are one vector as a whole.

    Returns:
        array | tensor: ``arg * rsqrt(squared_norm(arg))``, in the type of ``arg``. NaN
        for zero; the squares must be within the range of the type.

    Raises:
        TypeError: ``arg`` is a matrix, has no floats, or is not an array.

    Derivative:
        A change of ``arg`` without its part along ``arg``, divided by the norm. Not
        finite for zero.

    Example:
        >>> dr.normalize(Array2f(3, 4))
        [[0.6, 0.8]]

    See also:
        :func:`drjit.norm`, :func:`drjit.rsqrt`
    """
    if not _is_array(arg) or not dr.is_float_v(arg) or dr.is_matrix_v(arg):
        raise TypeError(
            f"drjit.normalize({_text(arg)}): expected a floating point array that is "
            "not a matrix"
        )
    value: Any = arg
    result: T = value * dr.rsqrt(dr.squared_norm(value))
    return result


def hypot(a: Any, b: Any) -> Any:
    """Length of the hypotenuse: ``sqrt(a**2 + b**2)``, also where a square overflows.

    Args:
        a, b (float array | float): real numbers, which are broadcast and promoted.

    Returns:
        array | float: zero only if both arguments are. Infinite if either is infinite,
        even where the other one is NaN, as in IEEE 754.

    Derivative:
        ``a / hypot(a, b)`` and ``b / hypot(a, b)``: 0 where both are zero.

    Example:
        >>> dr.hypot(Float(3, 3e30), Float(4, 4e30))
        [5, 5e+30]

    See also:
        :func:`drjit.norm`, :func:`drjit.abs` (of complex numbers), :func:`drjit.atan2`
    """
    return _core._hypot(a, b)


def lerp(a: Any, b: Any, t: Any) -> Any:
    """Blend linearly between two values: ``(1 - t) * a + t * b``.

    Args:
        a (array | number): value for ``t = 0``, which is met exactly.
        b (array | number): value for ``t = 1``, which is met exactly, too.
        t (array | number): position, which may lie outside of [0, 1]. All three are
            broadcast and promoted.

    Returns:
        array | number: the common type. It takes two fused multiply-additions; an
        infinite ``a`` or ``b`` gives NaN.

    Derivative:
        ``1 - t`` with respect to ``a``, ``t`` to ``b``, and ``b - a`` to ``t``.

    Example:
        >>> dr.lerp(Float(0, 10), 20, 0.25)
        [5, 12.5]

    See also:
        :func:`drjit.slerp` (rotations), :func:`drjit.fma`, :func:`drjit.take_interp`
    """
    return dr.fma(b, t, dr.fma(a, -t, a))
