"""Rotations: quaternions, rotation matrices, Euler angles, and affine transformations.

Written over components, as those of ``linalg.py``. Quaternions store their
components in the order (x, y, z, w), where w is the real part.
"""

from __future__ import annotations

from typing import Any

import drjit as dr

from .linalg import (
    Rows,
    _cross,
    _det,
    _entries,
    _is_array,
    _require_matrix,
    _rows,
    _sibling,
    _squared_frobenius,
    _sum_of_products,
    _text,
)

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence


def _is_matrix(arg: Any, n: int) -> bool:
    """Is it an (n, n) matrix of numbers (and not one of arrays)?"""
    if not _is_array(arg) or not dr.is_matrix_v(arg):
        return False
    return len(arg) == n and bool(dr.depth_v(arg) == (3 if dr.is_jit_v(arg) else 2))


def _transposed(a: Rows) -> Rows:
    return [list(column) for column in zip(*a, strict=True)]


def _product(a: Rows, b: Rows) -> Rows:
    columns = _transposed(b)
    return [[_sum_of_products(row, column) for column in columns] for row in a]


def _polar(cls: Any, a: Rows, it: int) -> tuple[Rows, Rows]:
    q = a
    for _ in range(it):
        inverse_t = _transposed(_rows(dr.rcp(cls(*_entries(q)))))
        # The ratio of the squared norms of X^-1 and X: its fourth root is wanted.
        ratio = _squared_frobenius(inverse_t) * dr.rcp(_squared_frobenius(q))
        gamma = dr.sqrt(dr.sqrt(ratio))
        s, t = gamma * 0.5, dr.rcp(gamma) * 0.5
        q = [
            [s * x + t * y for x, y in zip(*pair, strict=True)]
            for pair in zip(q, inverse_t, strict=True)
        ]
    return q, _product(_transposed(q), a)


def _check_iterations(operation: str, arg: Any, it: Any) -> None:
    if not isinstance(it, int) or isinstance(it, bool):
        raise TypeError(
            f"drjit.{operation}({_text(arg)}): 'it' is of type {type(it).__name__}, "
            "expected an integer"
        )


def polar_decomp(arg: Any, it: int = 10) -> tuple[Any, Any]:
    """Factor a matrix into a rotation and a symmetric matrix: ``arg = Q @ P``.

    Args:
        arg (matrix): ``Matrix2f``, ``Matrix3f``, ...; not a tensor.
        it (int): number of steps of Newton's iteration, which are all traced. Ten are
            enough for double precision. With 0 or less, ``Q`` is ``arg``.

    Returns:
        tuple: ``(Q, P)`` of the type of ``arg``. ``Q`` is orthogonal: a rotation, and
        a reflection with it if the determinant of ``arg`` is negative. ``P`` is
        symmetric and positive definite. Both are NaN where ``arg`` is singular.

    Raises:
        TypeError: ``arg`` is not a matrix, or ``it`` is not an integer.

    Derivative:
        That of the iteration, which converges with it to the derivative of the factors.

    Source:
        N. J. Higham, "Computing the Polar Decomposition -- with Applications", SIAM
        Journal on Scientific and Statistical Computing 7(4), 1986: the iteration
        ``X <- (g X + X^-T / g) / 2``, scaled by ``g = sqrt(|X^-1| / |X|)`` in the
        Frobenius norm.

    Example:
        >>> Q, P = dr.polar_decomp(Matrix2f(0, -2, 2, 0))
        >>> Q
        [[[0, -1],
          [1, 0]]]
        >>> P
        [[[2, 0],
          [0, 2]]]

    See also:
        :func:`drjit.transform_decompose`, :func:`drjit.matrix_to_quat`
    """
    rows = _require_matrix("polar_decomp", arg)
    _check_iterations("polar_decomp", arg, it)
    cls = type(arg)
    q, p = _polar(cls, rows, it)
    return cls(*_entries(q)), cls(*_entries(p))


def _quat(a: Rows) -> list[Any]:
    """Components of the quaternion of a 3x3 rotation matrix.

    Source: M. Day, "Converting a Rotation Matrix to a Quaternion", Insomniac Games. Of
    four expressions, each exact, the one is used whose square root has an argument of
    at least one.
    """
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = a
    lower, x_largest, z_largest = m22 < 0, m00 > m11, m00 < -m11

    xy, xz, yz = m01 + m10, m20 + m02, m12 + m21
    xw, yw, zw = m21 - m12, m02 - m20, m10 - m01
    more, less = 1 + m00, 1 - m00
    candidates = [
        [more - m11 - m22, xy, xz, xw],
        [xy, less + m11 - m22, yz, yw],
        [xz, yz, less - m11 + m22, zw],
        [xw, yw, zw, more + m11 + m22],
    ]

    select = dr.select

    def choose(x: Any, y: Any, z: Any, w: Any) -> Any:
        return select(lower, select(x_largest, x, y), select(z_largest, z, w))

    scale = dr.rsqrt(choose(*[candidates[i][i] for i in range(4)])) * 0.5
    # The table is symmetric: its rows are its columns.
    return [choose(*row) * scale for row in candidates]


def _rotation(x: Any, y: Any, z: Any, w: Any) -> Rows:
    """Entries of the rotation matrix of a unit quaternion."""
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    xw, yw, zw = w * x2, w * y2, w * z2
    return [
        [1 - (yy + zz), xy - zw, xz + yw],
        [xy + zw, 1 - (xx + zz), yz - xw],
        [xz - yw, yz + xw, 1 - (xx + yy)],
    ]


def matrix_to_quat(arg: Any, /) -> Any:
    """Turn a rotation matrix into a quaternion.

    Args:
        arg (matrix): rotation matrix of 3x3 entries, or of 4x4, whose upper left part
            is taken; nested arrays of that shape, too. A matrix that is not a pure
            rotation gives a meaningless result: see :func:`drjit.transform_decompose`.

    Returns:
        quaternion: a unit quaternion: of q and -q, the one whose largest component is
        positive.

    Raises:
        TypeError: ``arg`` has another shape, or no floats.

    Derivative:
        That of the formula that was chosen, of four that agree for rotations.

    Source:
        M. Day, "Converting a Rotation Matrix to a Quaternion", Insomniac Games.

    Example:
        >>> dr.matrix_to_quat(Matrix3f(0, -1, 0, 1, 0, 0, 0, 0, 1))
        [0.707107k+0.707107]

    See also:
        :func:`drjit.quat_to_matrix`, :func:`drjit.quat_to_euler`
    """
    if _is_array(arg) and not dr.is_tensor_v(arg):
        n = dr.size_v(arg)
        depth = 3 if dr.is_jit_v(arg) else 2
        square = dr.depth_v(arg) == depth and n in (3, 4) and n == dr.size_v(arg[0])
        if square and dr.is_float_v(arg):
            rows = [row[:3] for row in _rows(arg)[:3]]
            return _sibling(arg, "Quaternion4")(*_quat(rows))
    raise TypeError(
        f"drjit.matrix_to_quat({_text(arg)}): expected a floating point matrix of 3x3 "
        "or 4x4 entries"
    )


def quat_to_matrix(dtype: type[Any], q: Any) -> Any:
    """Turn a unit quaternion into a rotation matrix.

    Args:
        dtype (type): type of the result: the 3x3 or 4x4 matrix in the module and of the
            entry type of ``q``.
        q (quaternion): unit quaternion, which is not checked.

    Returns:
        matrix: ``dtype``. In a 4x4 matrix, the last row and column are those of the
        identity.

    Raises:
        TypeError: ``q`` is not a quaternion, or ``dtype`` is another type.

    Derivative:
        That of the entries as polynomials of degree 2 in the components of ``q``.

    Example:
        >>> dr.quat_to_matrix(Matrix3f, Quaternion4f(0, 0, 1, 0))
        [[[-1, 0, 0],
          [0, -1, 0],
          [0, 0, 1]]]

    See also:
        :func:`drjit.matrix_to_quat`, :func:`drjit.quat_apply`,
        :func:`drjit.transform_compose`
    """
    if not _is_array(q) or not dr.is_quaternion_v(q):
        raise TypeError(f"drjit.quat_to_matrix({_text(q)}): expected a quaternion")
    small, large = _sibling(q, "Matrix3"), _sibling(q, "Matrix4")
    rows = _rotation(*q)
    if isinstance(dtype, type) and issubclass(dtype, large):
        rows = [[*row, 0] for row in rows] + [[0, 0, 0, 1]]
    elif not (isinstance(dtype, type) and issubclass(dtype, small)):
        raise TypeError(
            f"drjit.quat_to_matrix({_text(q)}): 'dtype' is {dtype!r}, expected "
            f"{small.__module__}.{small.__name__} or "
            f"{large.__module__}.{large.__name__}"
        )
    return dtype(*_entries(rows))


def quat_apply(arg0: Any, arg1: Any, /) -> Any:
    """Rotate a vector by a unit quaternion.

    It costs less than ``quat_to_matrix(...) @ arg1``, which gives the same. Rotations
    are chained by products: ``q * p`` rotates by ``p`` first.

    Args:
        arg0 (quaternion): unit quaternion, which is not checked.
        arg1 (array | list | tuple): vector with three components.

    Returns:
        array: the rotated vector, in the common type of the arguments.

    Raises:
        TypeError: an argument is something else.

    Derivative:
        For ``arg1`` the gradient rotated back. For ``arg0`` that of
        ``v + 2 u x (u x v + w v)``, with the imaginary part u and the real part w.

    Example:
        >>> q = dr.rotate(Quaternion4f, Array3f(0, 0, 1), dr.pi)
        >>> v = dr.quat_apply(q, Array3f(1, 2, 3))
        >>> dr.allclose(v, [-1, -2, 3])
        True

    See also:
        :func:`drjit.rotate`, :func:`drjit.quat_to_matrix`
    """
    if not _is_array(arg0) or not dr.is_quaternion_v(arg0):
        raise TypeError(
            f"drjit.quat_apply({_text(arg0, arg1)}): expected a quaternion and a 3D "
            "vector"
        )
    cls, v = _vector("quat_apply", arg0, arg1)
    x, y, z, w = arg0
    u = [x, y, z]
    t = [2 * (a + w * b) for a, b in zip(_cross(u, v), v, strict=True)]
    return cls(*[a + b for a, b in zip(v, _cross(u, t), strict=True)])


def _vector(operation: str, like: Any, v: Any) -> tuple[Any, Any]:
    """Check that 'v' is a 3D vector; return the array class it shares with 'like'."""
    cls = _sibling(like, "Array3")
    if isinstance(v, (tuple, list)) and len(v) == 3:
        v = cls(*v)
    if not _is_array(v) or dr.is_special_v(v) or dr.size_v(v) != 3:
        raise TypeError(
            f"drjit.{operation}({_text(like, v)}): expected a vector with 3 components"
        )
    return dr.expr_t(cls, type(v)), v


def rotate(dtype: Any, axis: Any, angle: Any) -> Any:
    """Make the quaternion of a rotation by an angle around an axis.

    Args:
        dtype (type): quaternion type of the result.
        axis (array): unit vector with three components. Its length is not checked, and
            another one gives a quaternion that is not a rotation.
        angle (float array | float): angles in radians, counterclockwise as seen from
            the tip of the axis.

    Returns:
        quaternion: a unit quaternion.

    Raises:
        TypeError: ``dtype`` is not a quaternion type, or ``axis`` not an array of size
            3.

    Derivative:
        With respect to the axis, ``sin(angle / 2)`` for the imaginary part. With
        respect to the angle, ``cos(angle / 2) / 2 * axis`` for the imaginary part and
        ``-sin(angle / 2) / 2`` for the real one.

    Example:
        >>> q = dr.rotate(Quaternion4f, Array3f(0, 0, 1), dr.pi / 2)
        >>> q
        [0.707107k+0.707107]

    See also:
        :func:`drjit.quat_apply`, :func:`drjit.quat_to_matrix`,
        :func:`drjit.euler_to_quat`
    """
    if not isinstance(dtype, type) or not dr.is_quaternion_v(dtype):
        raise TypeError(
            f"drjit.rotate(): 'dtype' is {dtype!r}, expected a quaternion class"
        )
    if dr.size_v(axis) != 3:
        raise TypeError(
            f"drjit.rotate({_text(axis)}): expected an axis with 3 components"
        )
    s, c = dr.sincos(angle * 0.5)
    cls: Any = dtype
    return cls(axis[0] * s, axis[1] * s, axis[2] * s, c)


def slerp(a: Any, b: Any, t: Any) -> Any:
    """Interpolate between two rotations at constant speed.

    Args:
        a (quaternion): unit quaternion for ``t = 0``.
        b (quaternion): unit quaternion for ``t = 1``. ``b`` and ``-b`` are the same
            rotation; the nearer one is taken, so the shorter way.
        t (float array | float): position, which may lie outside of [0, 1].

    Returns:
        quaternion: a unit quaternion in the common type of ``a`` and ``b``; accurate
        for tiny angles, too. Where ``b`` equals ``a``, the result does as well.

    Raises:
        TypeError: ``a`` or ``b`` is not a quaternion.

    Derivative:
        With respect to all arguments; finite where ``a`` equals ``b``.

    Example:
        >>> a = Quaternion4f(0, 0, 0, 1)
        >>> b = dr.rotate(Quaternion4f, Array3f(0, 0, 1), dr.pi / 2)
        >>> dr.slerp(a, b, Float(0, 0.5))
        [1,
         0.382683k+0.92388]

    See also:
        :func:`drjit.lerp`, :func:`drjit.rotate`, :func:`drjit.unit_angle`
    """
    for q in (a, b):
        if not _is_array(q) or not dr.is_quaternion_v(q):
            raise TypeError(f"drjit.slerp({_text(a, b, t)}): expected two quaternions")
    cls: Any = dr.expr_t(type(a), type(b))
    b = _with_sign(b, a)
    # The angle between the two by Kahan's formula, exact also where it is small.
    half = dr.atan2(_norm(_minus(a, b)), _norm(_plus(a, b)))
    angle = half + half
    same = angle == 0
    scale = dr.rcp(dr.select(same, 1, dr.sin(angle)))
    first = dr.select(same, 1 - t, dr.sin((1 - t) * angle) * scale)
    second = dr.select(same, t, dr.sin(t * angle) * scale)
    return cls(*[x * first + y * second for x, y in zip(a, b, strict=True)])


def _with_sign(b: Any, a: Any) -> list[Any]:
    """Of b and -b that on the side of a."""
    opposite = _sum_of_products(list(a), list(b)) < 0
    return [dr.select(opposite, -x, x) for x in b]


def _minus(a: Any, b: Any) -> list[Any]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _plus(a: Any, b: Any) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _norm(a: Sequence[Any]) -> Any:
    return dr.sqrt(_sum_of_products(a, a))


def unit_angle(a: Any, b: Any) -> Any:
    """Angle between two unit vectors, accurate near 0 and pi, too.

    ``acos(dot(a, b))`` loses half of the digits there.

    Args:
        a, b (array): unit vectors with any number of components (or two quaternions),
            which are promoted. One of them may be a list.

    Returns:
        array | float: angles in radians from 0 to pi.

    Raises:
        TypeError: neither argument is an array.

    Derivative:
        That of ``2 * atan2(|a - b|, |a + b|)``: NaN where ``a`` equals ``b`` or ``-b``.

    Source:
        W. Kahan, "How Futile are Mindless Assessments of Roundoff in Floating-Point
        Computation?", section 12.

    Example:
        >>> dr.unit_angle(Array3f(1, 0, 0), Array3f(0, 1, 0))
        [1.5708]

    See also:
        :func:`drjit.dot`, :func:`drjit.safe_acos`
    """
    if not _is_array(a) and not _is_array(b):
        raise TypeError(f"drjit.unit_angle({_text(a, b)}): expected two vectors")
    half = dr.atan2(dr.norm(a - b), dr.norm(a + b))
    return half + half


def quat_to_euler(arg: Any, /) -> Any:
    """Turn a unit quaternion into Euler angles.

    The rotation is that by the first angle around the x axis, then by the second around
    the y axis, then by the third around the z axis; the axes do not move.

    Args:
        arg (quaternion): unit quaternion.

    Returns:
        array: three angles in radians: from -pi to pi, -pi/2 to pi/2, and -pi to pi.
        Where the second one is pi/2 or -pi/2, only the sum or difference of the others
        is determined, and the third is 0. Near there, the second one has only half of
        the digits.

    Raises:
        TypeError: ``arg`` is not a quaternion.

    Derivative:
        Grows without bound as the second angle approaches pi/2 or -pi/2.

    Example:
        >>> q = dr.rotate(Quaternion4f, Array3f(1, 0, 0), 0.5)
        >>> dr.quat_to_euler(q)
        [[0.5, 0, 0]]

    See also:
        :func:`drjit.euler_to_quat`, :func:`drjit.quat_to_matrix`
    """
    if not _is_array(arg) or not dr.is_quaternion_v(arg):
        raise TypeError(f"drjit.quat_to_euler({_text(arg)}): expected a quaternion")
    x, y, z, w = arg
    sine = 2 * (w * y - x * z)
    locked = abs(sine) > 1 - 8 * dr.epsilon(arg)
    roll = dr.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    yaw = dr.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    cls = _sibling(arg, "Array3")
    return cls(
        dr.select(locked, 2 * dr.atan2(x, w), roll),
        dr.safe_asin(sine),
        dr.select(locked, 0, yaw),
    )


def euler_to_quat(arg: Any, /) -> Any:
    """Turn Euler angles into a unit quaternion.

    Args:
        arg (float array): three angles in radians: around the x axis first, then y,
            then z, as in :func:`drjit.quat_to_euler`.

    Returns:
        quaternion: a unit quaternion.

    Raises:
        TypeError: ``arg`` is not a floating point array of size 3.

    Derivative:
        That of products of sines and cosines of half the angles.

    Example:
        >>> dr.euler_to_quat(Array3f(0, 0, dr.pi / 2))
        [0.707107k+0.707107]

    See also:
        :func:`drjit.quat_to_euler`, :func:`drjit.rotate`
    """
    if not _is_array(arg) or not dr.is_float_v(arg) or dr.size_v(arg) != 3:
        raise TypeError(
            f"drjit.euler_to_quat({_text(arg)}): expected a floating point array with "
            "3 components"
        )
    (sx, cx), (sy, cy), (sz, cz) = [dr.sincos(angle * 0.5) for angle in arg]
    return _sibling(arg, "Quaternion4")(
        sx * cy * cz - cx * sy * sz,
        cx * sy * cz + sx * cy * sz,
        cx * cy * sz - sx * sy * cz,
        cx * cy * cz + sx * sy * sz,
    )


def transform_decompose(arg: Any, it: int = 10) -> tuple[Any, Any, Any]:
    """Split an affine transformation into scale, rotation and translation.

    Args:
        arg (matrix): 4x4 matrix. Its last row is ignored.
        it (int): number of steps of :func:`drjit.polar_decomp`.

    Returns:
        tuple: ``(S, Q, T)``: a 3x3 matrix, a unit quaternion, and an array with three
        components, of which :func:`drjit.transform_compose` makes ``arg`` again. ``S``
        is symmetric and positive definite; it is negative definite if ``arg`` contains
        a reflection, which ``Q`` cannot express. NaN where the upper left part of
        ``arg`` is singular.

    Raises:
        TypeError: ``arg`` is not a 4x4 matrix, or ``it`` is not an integer.

    Derivative:
        That of :func:`drjit.polar_decomp` and :func:`drjit.matrix_to_quat`.

    Example:
        >>> q = dr.rotate(Quaternion4f, Array3f(0, 0, 1), dr.pi / 2)
        >>> S, Q, T = dr.transform_decompose(
        ...     dr.transform_compose(2 * dr.identity(Matrix3f), q, [1, 2, 3])
        ... )
        >>> Q, T
        ([0.707107k+0.707107], [[1, 2, 3]])

    See also:
        :func:`drjit.transform_compose`, :func:`drjit.polar_decomp`
    """
    if not _is_matrix(arg, 4):
        raise TypeError(
            f"drjit.transform_decompose({_text(arg)}): expected a 4x4 matrix"
        )
    _check_iterations("transform_decompose", arg, it)
    a = _rows(arg)
    cls = _sibling(arg, "Matrix3")
    q, s = _polar(cls, [row[:3] for row in a[:3]], it)
    flip = _det(q) < 0
    q = [[dr.select(flip, -entry, entry) for entry in row] for row in q]
    s = [[dr.select(flip, -entry, entry) for entry in row] for row in s]
    return (
        cls(*_entries(s)),
        _sibling(arg, "Quaternion4")(*_quat(q)),
        _sibling(arg, "Array3")(*[row[3] for row in a[:3]]),
    )


def transform_compose(S: Any, Q: Any, T: Any, /) -> Any:
    """Make the 4x4 matrix that scales, then rotates, then translates.

    Args:
        S (matrix): 3x3 matrix, which is applied first.
        Q (quaternion): unit quaternion of the rotation.
        T (array | list | tuple): translation, with three components.

    Returns:
        matrix: a 4x4 matrix whose last row is (0, 0, 0, 1), in the common type of the
        arguments.

    Raises:
        TypeError: an argument is something else.

    Derivative:
        That of ``quat_to_matrix(Q) @ S`` and of ``T``.

    Example:
        >>> q = Quaternion4f(0, 0, 0, 1)
        >>> dr.transform_compose(2 * dr.identity(Matrix3f), q, [1, 2, 3])
        [[[2, 0, 0, 1],
          [0, 2, 0, 2],
          [0, 0, 2, 3],
          [0, 0, 0, 1]]]

    See also:
        :func:`drjit.transform_decompose`, :func:`drjit.quat_to_matrix`
    """
    if not _is_matrix(S, 3) or not _is_array(Q) or not dr.is_quaternion_v(Q):
        raise TypeError(
            f"drjit.transform_compose({_text(S, Q, T)}): expected a 3x3 matrix, a "
            "quaternion and a vector with 3 components"
        )
    cls, t = _vector("transform_compose", S, T)
    cls = dr.expr_t(cls, _sibling(Q, "Array3"))
    linear = _product(_rotation(*Q), _rows(S))
    rows = [[*row, offset] for row, offset in zip(linear, t, strict=True)]
    rows.append([0, 0, 0, 1])
    return _sibling(cls, "Matrix4")(*_entries(rows))
