"""Vectors, matrices and rotations, against NumPy and values worked out by hand."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest

# Relative accuracy that each entry type has to reach in the formulas below.
ACCURACY = {"f16": 2e-2, "f": 3e-6, "f64": 1e-13}
SUFFIXES = ["f16", "f", "f64"]


def entries(value: Any) -> Any:
    """An array (its first lane) or number as nested lists of numbers."""
    if isinstance(value, (bool, int, float)):
        return value
    if dr.is_jit_v(value) and dr.depth_v(value) == 1:
        assert len(value) == 1
        return value[0]
    return [entries(value[i]) for i in range(len(value))]


def close(value: Any, expected: Any, suffix: str = "f", scale: float = 1.0) -> bool:
    """Compare entry by entry, relative to the largest expected one."""
    found = np.array(entries(value), dtype=np.float64)
    wanted = np.array(expected, dtype=np.float64)
    assert found.shape == wanted.shape
    tolerance = ACCURACY[suffix] * scale * max(1.0, np.abs(wanted).max())
    return bool(np.abs(found - wanted).max() <= tolerance)


def random_matrix(n: int, seed: int = 0) -> np.ndarray:
    """Well conditioned, with entries that are exact in half precision."""
    rng = np.random.default_rng(seed)
    return np.round(rng.uniform(-1, 1, (n, n)) * 16) / 16 + 2 * np.eye(n)


def matrix(m: ModuleType, values: np.ndarray, suffix: str = "f") -> Any:
    cls = getattr(m, f"Matrix{len(values)}{suffix}")
    return cls(*[float(x) for x in values.ravel()])


def rotation(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """Rotation matrix by Rodrigues' formula."""
    k = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    turn: np.ndarray = (
        np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    )
    return turn


def quaternion(axis: tuple[float, float, float], angle: float) -> list[float]:
    k = np.array(axis) / np.linalg.norm(axis) * math.sin(angle / 2)
    return [*map(float, k), math.cos(angle / 2)]


ROTATIONS = [
    ((1.0, 2.0, 3.0), 0.7),
    ((1.0, 0.1, 0.2), 3.0),
    ((0.1, 1.0, 0.2), 3.0),
    ((0.1, 0.2, 1.0), 3.0),
    ((0.3, -1.0, 0.2), -1.9),
    ((1.0, 0.0, 0.0), math.pi),
    ((0.0, 1.0, 0.0), math.pi),
    ((0.0, 0.0, 1.0), math.pi),
    ((0.0, 0.0, 1.0), 0.0),
]


# Matrices


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_det(m: ModuleType, n: int, suffix: str) -> None:
    a = random_matrix(n)
    result = dr.det(matrix(m, a, suffix))
    assert close(result, np.linalg.det(a), suffix)
    # Swapping two rows changes the sign, equal rows give zero.
    a[[0, 1]] = a[[1, 0]]
    assert close(dr.det(matrix(m, a, suffix)), np.linalg.det(a), suffix)
    a[0] = a[1]
    assert close(dr.det(matrix(m, a, suffix)), 0.0, suffix, 10)


def test_det_lanes() -> None:
    m = dr.llvm
    d = dr.det(m.Matrix2f(m.Float(1, 5), 2, 3, 4))
    assert type(d) is m.Float and list(d) == [-2, 14]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_inverse(m: ModuleType, n: int, suffix: str) -> None:
    a = random_matrix(n, 3)
    x = matrix(m, a, suffix)
    with pytest.warns(DeprecationWarning):
        result = dr.inverse(x)
    assert type(result) is type(x)
    assert close(result, np.linalg.inv(a), suffix)


def test_inverse_of_others(m: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert dr.inverse(4.0) == 0.25
        assert entries(dr.inverse(m.Array2f(2, 4))) == [0.5, 0.25]
        assert close(dr.inverse(m.Complex2f(1, 2)), [0.2, -0.4])
        # 1 / (i + 2j + 3k + 4) has the conjugate over the squared norm, 30.
        q = dr.inverse(m.Quaternion4f(1, 2, 3, 4))
        assert close(q, [-1 / 30, -2 / 30, -3 / 30, 4 / 30])
        with pytest.raises(TypeError):
            dr.inverse("text")


def test_inverse_singular(m: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        result = np.array(entries(dr.inverse(m.Matrix2f(1, 2, 2, 4))))
    assert not np.isfinite(result).any()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_diag_trace_frob(m: ModuleType, n: int, suffix: str) -> None:
    a = random_matrix(n, 1)
    x = matrix(m, a, suffix)
    vector = dr.diag(x)
    assert type(vector) is getattr(m, f"Array{n}{suffix}")
    assert close(vector, np.diag(a), suffix)
    back = dr.diag(vector)
    assert type(back) is type(x)
    assert close(back, np.diag(np.diag(a)), suffix)
    assert close(dr.trace(x), np.trace(a), suffix)
    assert close(dr.frob(x), (a**2).sum(), suffix)


def test_matrices_of_arrays(m: ModuleType) -> None:
    """A Matrix34f is a 3x3 matrix whose entries are arrays of four numbers."""
    x = m.Matrix34f(2)
    assert type(dr.trace(x)) is m.Array4f
    assert entries(dr.trace(x)) == [6] * 4
    assert entries(dr.frob(x)) == [12] * 4
    assert entries(dr.det(x)) == [8] * 4
    assert entries(dr.diag(x)) == [[2] * 4] * 3


@pytest.mark.parametrize("name", ["det", "diag", "trace", "frob", "polar_decomp"])
def test_not_a_matrix(m: ModuleType, name: str) -> None:
    function = getattr(dr, name)
    others = [1.0, "text", None, m.Array3i(1, 2, 3), m.Quaternion4f(1), m.ArrayXf([1])]
    if name != "diag":
        others += [m.Array22f([1, 2], [3, 4]), m.Array3f(1, 2, 3)]
    for value in others:
        with pytest.raises(TypeError, match=name):
            function(value)


def test_identity(m: ModuleType) -> None:
    assert entries(dr.identity(m.Matrix3f)) == np.eye(3).tolist()
    assert type(dr.identity(m.Matrix4f64)) is m.Matrix4f64
    assert entries(dr.identity(m.Complex2f)) == [1, 0]
    assert entries(dr.identity(m.Quaternion4f)) == [0, 0, 0, 1]
    assert entries(dr.identity(m.Array3f)) == [1, 1, 1]
    assert dr.identity(int) == 1 and dr.identity(float) == 1.0
    tensor = dr.identity(m.TensorXf, (2, 3))
    assert tensor.shape == (2, 3) and list(tensor.array) == [1] * 6


def test_identity_lanes() -> None:
    m = dr.llvm
    x = dr.identity(m.Matrix2f, 3)
    assert dr.width(x) == 3
    assert list(x[0][0] + dr.zeros(m.Float, 3)) == [1, 1, 1]
    assert list(x[1][0] + dr.zeros(m.Float, 3)) == [0, 0, 0]


# Vectors


@pytest.mark.parametrize("suffix", [*SUFFIXES, "i"])
def test_cross(m: ModuleType, suffix: str) -> None:
    cls = getattr(m, "Array3" + suffix)
    a, b = [1, 2, 3], [4, -5, 7]
    result = dr.cross(cls(*a), cls(*b))
    assert type(result) is cls
    assert entries(result) == np.cross(a, b).tolist()


def test_cross_promotes() -> None:
    s, m = dr.scalar, dr.llvm
    result = dr.cross(m.Array3i(1, 2, 3), s.Array3f(4, 5, 7))
    assert type(result) is m.Array3f and entries(result) == [-1, 5, -3]
    # Components may be arrays.
    a = s.Array33f([1, 2, 3], [4, 5, 6], [7, 8, 10])
    b = s.Array33f([1, 2, 3], [4, 4, 6], [7, 2, 10])
    expected = np.cross(entries(a), entries(b), axis=0)
    assert entries(dr.cross(a, b)) == expected.tolist()


def test_cross_refuses(m: ModuleType) -> None:
    v = m.Array3f(1, 2, 3)
    for other in (1, [1, 2, 3], m.Array2f(1, 2), m.Array4f(1), m.ArrayXf([1, 2, 3])):
        with pytest.raises(TypeError, match="cross"):
            dr.cross(v, other)
        with pytest.raises(TypeError, match="cross"):
            dr.cross(other, v)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_normalize(m: ModuleType, suffix: str) -> None:
    v = getattr(m, "Array3" + suffix)(2, -3, 6)
    result = dr.normalize(v)
    assert type(result) is type(v)
    assert close(result, [2 / 7, -3 / 7, 6 / 7], suffix)


def test_normalize_others(m: ModuleType) -> None:
    assert close(dr.normalize(m.Complex2f(3, -4)), [0.6, -0.8])
    q = dr.normalize(m.Quaternion4f(1, 1, -1, 1))
    assert close(q, [0.5, 0.5, -0.5, 0.5])
    assert all(math.isnan(x) for x in entries(dr.normalize(m.Array2f(0, 0))))
    for value in (2.0, [3, 4], m.Array3i(1, 2, 3)):
        with pytest.raises((TypeError, RuntimeError)):
            dr.normalize(value)


def test_hypot(m: ModuleType) -> None:
    f32 = np.finfo(np.float32)
    pairs = [(3, 4), (3e30, 4e30), (3e-30, 4e-30), (0, 5), (-5, 0), (1, 1)]
    pairs += [(float(f32.tiny), float(f32.tiny)), (1, 1e-10), (math.inf, 1)]
    pairs += [(2, -math.inf)]
    for a, b in pairs:
        result = dr.hypot(m.Array1f(a), m.Array1f(b))
        assert type(result) is m.Array1f
        assert entries(result)[0] == pytest.approx(math.hypot(a, b), rel=3e-7, abs=0)
    for a, b in ((math.nan, 1), (1, math.nan)):
        assert math.isnan(entries(dr.hypot(m.Array1f(a), m.Array1f(b)))[0])
    assert entries(dr.hypot(m.Array2f(3, 5), 4))[0] == 5


def test_hypot_numbers() -> None:
    assert dr.hypot(3, 4) == 5.0 and type(dr.hypot(3, 4)) is float
    assert dr.hypot(3e300, 4e300) == pytest.approx(5e300)


def test_hypot_zero(m: ModuleType) -> None:
    assert entries(dr.hypot(m.Array1f(0), m.Array1f(0))) == [0]


def test_lerp(m: ModuleType) -> None:
    a, b = m.Array3f(1, 2, 3), m.Array3f(2, 4, 8)
    result = dr.lerp(a, b, 0.25)
    assert type(result) is m.Array3f and entries(result) == [1.25, 2.5, 4.25]
    assert entries(dr.lerp(a, b, m.Array3f(0, 0.5, 1))) == [1, 3, 8]
    assert dr.lerp(1, 3, 0.25) == 1.5 and dr.lerp(2.0, 4.0, 0.5) == 3.0
    # At the ends nothing is rounded, where (1 - t) * a + t * b cancels.
    assert entries(dr.lerp(m.Array1f(1e8), m.Array1f(1.5), 1.0)) == [1.5]
    start = entries(m.Array1f(0.1))
    assert entries(dr.lerp(m.Array1f(0.1), m.Array1f(1e9), 0.0)) == start


# Rotations and decompositions


def polar_reference(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    u, s, vt = np.linalg.svd(a)
    return u @ vt, vt.T @ np.diag(s) @ vt


@pytest.mark.parametrize("suffix", ["f", "f64"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_polar_decomp(m: ModuleType, n: int, suffix: str) -> None:
    for factor in (1.0, -1.0):
        a = random_matrix(n, 5)
        a[0] *= factor
        q, p = dr.polar_decomp(matrix(m, a, suffix))
        expected_q, expected_p = polar_reference(a)
        assert type(q) is type(p) is getattr(m, f"Matrix{n}{suffix}")
        assert close(q, expected_q, suffix, 4)
        assert close(p, expected_p, suffix, 4)


def test_polar_decomp_ill_conditioned(m: ModuleType) -> None:
    """Ten steps are enough far from orthogonality."""
    a = rotation((1, 2, 3), 0.5) @ np.diag([1e4, 1.0, 1e-3]) @ rotation((3, 1, 0), 1.0)
    q, p = dr.polar_decomp(matrix(m, a, "f64"))
    expected_q, expected_p = polar_reference(a)
    assert np.abs(np.array(entries(q)) - expected_q).max() < 1e-8
    assert np.abs(np.array(entries(p)) - expected_p).max() < 1e-8


def test_polar_decomp_iterations(m: ModuleType) -> None:
    a = random_matrix(3, 2)
    x = matrix(m, a, "f64")
    q, p = dr.polar_decomp(x, 0)
    assert close(q, a, "f64") and close(p, a.T @ a, "f64")

    # One step, as defined by Higham (1986), equation (3.7).
    inverse = np.linalg.inv(a)
    gamma = math.sqrt(np.linalg.norm(inverse) / np.linalg.norm(a))
    q, _ = dr.polar_decomp(x, it=1)
    assert close(q, (gamma * a + inverse.T / gamma) / 2, "f64")
    with pytest.raises(TypeError):
        dr.polar_decomp(x, it=1.5)


def test_polar_decomp_singular(m: ModuleType) -> None:
    q, _ = dr.polar_decomp(m.Matrix2f(1, 1, 1, 1))
    assert np.isnan(entries(q)).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("axis, angle", ROTATIONS)
def test_quat_to_matrix(
    m: ModuleType, axis: tuple[float, float, float], angle: float, suffix: str
) -> None:
    q = getattr(m, "Quaternion4" + suffix)(*quaternion(axis, angle))
    expected = rotation(axis, angle)
    small = dr.quat_to_matrix(getattr(m, "Matrix3" + suffix), q)
    assert type(small) is getattr(m, "Matrix3" + suffix)
    assert close(small, expected, suffix)

    large = dr.quat_to_matrix(getattr(m, "Matrix4" + suffix), q)
    full = np.eye(4)
    full[:3, :3] = expected
    assert close(large, full, suffix)


def test_quat_to_matrix_refuses(m: ModuleType) -> None:
    q = m.Quaternion4f(0, 0, 0, 1)
    for dtype in (m.Matrix2f, m.Array33f, m.Matrix3f64, float, 3):
        with pytest.raises(TypeError):
            dr.quat_to_matrix(dtype, q)
    with pytest.raises(TypeError):
        dr.quat_to_matrix(m.Matrix3f, 1.0)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("axis, angle", ROTATIONS)
def test_matrix_to_quat(
    m: ModuleType, axis: tuple[float, float, float], angle: float, suffix: str
) -> None:
    a = rotation(axis, angle)
    result = dr.matrix_to_quat(matrix(m, a, suffix))
    assert type(result) is getattr(m, "Quaternion4" + suffix)
    found = np.array(entries(result))
    expected = np.array(quaternion(axis, angle))
    # q and -q are the same rotation.
    expected *= np.sign(expected @ found)
    assert np.abs(found - expected).max() < ACCURACY[suffix]

    full = np.eye(4)
    full[:3, :3] = a
    assert entries(dr.matrix_to_quat(matrix(m, full, suffix))) == entries(result)


def test_matrix_to_quat_lanes() -> None:
    """Each lane takes the branch that is right for it."""
    m = dr.llvm
    turns = [rotation(*arguments) for arguments in ROTATIONS]
    columns = [m.Float([float(a.flat[i]) for a in turns]) for i in range(9)]
    q = dr.matrix_to_quat(m.Matrix3f(*columns))
    found = np.array([list(q[i]) for i in range(4)]).T
    for row, arguments in zip(found, ROTATIONS, strict=True):
        expected = np.array(quaternion(*arguments))
        assert np.abs(row - expected * np.sign(expected @ row)).max() < 1e-6


def test_matrix_to_quat_refuses(m: ModuleType) -> None:
    for value in (m.Matrix2f(1), m.Array3f(1), "text"):
        with pytest.raises(TypeError):
            dr.matrix_to_quat(value)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("axis, angle", ROTATIONS)
def test_quat_apply(
    m: ModuleType, axis: tuple[float, float, float], angle: float, suffix: str
) -> None:
    q = getattr(m, "Quaternion4" + suffix)(*quaternion(axis, angle))
    v = getattr(m, "Array3" + suffix)(3, -1, 2)
    result = dr.quat_apply(q, v)
    assert type(result) is type(v)
    assert close(result, rotation(axis, angle) @ [3, -1, 2], suffix)
    assert entries(dr.quat_apply(q, [3, -1, 2])) == entries(result)


def test_quat_apply_is_the_matrix_product(m: ModuleType) -> None:
    """Also if the quaternion does not have length one."""
    q = m.Quaternion4f(1, 2, 3, 4)
    a = np.array(entries(dr.quat_to_matrix(m.Matrix3f, q)))
    assert entries(dr.quat_apply(q, m.Array3f(1, -1, 2))) == (a @ [1, -1, 2]).tolist()


def test_quat_apply_types() -> None:
    s, m = dr.scalar, dr.llvm
    q, v = (0, 0, 1, 0), (1, 2, 3)
    for a, b, expected in (
        (s.Quaternion4f, m.Array3f, m.Array3f),
        (m.Quaternion4f, s.Array3f, m.Array3f),
        (m.Quaternion4f, m.Array3f64, m.Array3f64),
        (s.Quaternion4f64, s.Array3f, s.Array3f64),
    ):
        result = dr.quat_apply(a(*q), b(*v))
        assert type(result) is expected and entries(result) == [-1, -2, 3]
    for bad in (s.Array2f(1, 2), s.Quaternion4f(1), 3.0, [1, 2]):
        with pytest.raises(TypeError):
            dr.quat_apply(s.Quaternion4f(*q), bad)
    with pytest.raises(TypeError):
        dr.quat_apply(2.0, s.Array3f(*v))


def affine(linear: np.ndarray, offset: list[float]) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3] = linear
    result[:3, 3] = offset
    return result


SCALE = np.array([[2, 0.5, 0.25], [0.5, 3, -0.5], [0.25, -0.5, 1.5]])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_transform_compose(m: ModuleType, suffix: str) -> None:
    axis, angle = (1.0, 2.0, 3.0), 0.7
    args = (
        matrix(m, SCALE, suffix),
        getattr(m, "Quaternion4" + suffix)(*quaternion(axis, angle)),
        getattr(m, "Array3" + suffix)(7, 8, 9),
    )
    expected = affine(rotation(axis, angle) @ SCALE, [7, 8, 9])
    result = dr.transform_compose(*args)
    assert type(result) is getattr(m, "Matrix4" + suffix)
    assert close(result, expected, suffix)
    assert close(dr.transform_compose(*args[:2], [7, 8, 9]), expected, suffix)


@pytest.mark.parametrize("suffix", ["f", "f64"])
def test_transform_decompose(m: ModuleType, suffix: str) -> None:
    axis, angle = (1.0, 2.0, 3.0), 0.7
    a = affine(rotation(axis, angle) @ SCALE, [7, 8, 9])
    s, q, t = dr.transform_decompose(matrix(m, a, suffix))
    assert type(s) is getattr(m, "Matrix3" + suffix)
    assert type(q) is getattr(m, "Quaternion4" + suffix)
    assert type(t) is getattr(m, "Array3" + suffix)
    assert close(s, SCALE, suffix, 4)
    assert close(q, quaternion(axis, angle), suffix, 4)
    assert entries(t) == [7, 8, 9]
    assert close(dr.transform_compose(s, q, t), a, suffix, 4)


def test_transform_decompose_reflection(m: ModuleType) -> None:
    a = affine(-rotation((1, 2, 3), 0.7) @ SCALE, [0, 0, 0])
    s, q, t = dr.transform_decompose(matrix(m, a, "f64"))
    assert close(s, -SCALE, "f64", 4)
    assert close(q, quaternion((1, 2, 3), 0.7), "f64", 4)
    assert close(dr.transform_compose(s, q, t), a, "f64", 4)


def test_transform_refuses(m: ModuleType) -> None:
    s, q, t = m.Matrix3f(1), m.Quaternion4f(1), m.Array3f(1, 2, 3)
    for args in (
        (m.Matrix4f(1), q, t),
        (m.Array33f(1), q, t),
        (s, m.Array4f(1), t),
        (s, q, m.Array2f(1)),
        (1, 2, 3),
    ):
        with pytest.raises(TypeError, match="transform_compose"):
            dr.transform_compose(*args)
    for value in (s, m.Array44f(1), 1.0):
        with pytest.raises(TypeError, match="transform_decompose"):
            dr.transform_decompose(value)


# Elementwise operations


def test_sign(m: ModuleType) -> None:
    assert entries(dr.sign(m.Array4f(-2, 0, -0.0, 3))) == [-1, 1, 1, 1]
    assert entries(dr.sign(m.Array3i(-2, 0, 3))) == [-1, 1, 1]
    assert type(dr.sign(m.Array3i64(1, 2, 3))) is m.Array3i64
    assert entries(dr.sign(m.Array2f(math.inf, -math.inf))) == [1, -1]
    assert [dr.sign(x) for x in (-3, 0, 2, -0.5, 0.5)] == [-1, 1, 1, -1.0, 1.0]
    assert type(dr.sign(-0.5)) is float and type(dr.sign(-3)) is int


def test_sign_unsigned(m: ModuleType) -> None:
    assert entries(dr.sign(m.Array2u(0, 5))) == [1, 1]


def test_copysign_mulsign(m: ModuleType) -> None:
    a, b = [1, 2, -3, -4], [-1, 0, 3, -0.5]
    for cls in (m.Array4f, m.Array4f64):
        assert entries(dr.copysign(cls(*a), cls(*b))) == [-1, 2, 3, -4]
        assert entries(dr.mulsign(cls(*a), cls(*b))) == [-1, 2, -3, 4]
    assert entries(dr.copysign(m.Array2i(3, -3), -1)) == [-3, -3]
    assert entries(dr.mulsign(m.Array2i(3, -3), m.Array2i(-1, -1))) == [-3, 3]
    assert dr.copysign(-5, 0) == 5 and dr.copysign(1, -2.0) == -1
    assert dr.mulsign(-5, -1) == 5 and dr.mulsign(2.5, 1) == 2.5
    infinite = dr.copysign(m.Array1f(math.inf), m.Array1f(-1))
    assert entries(infinite) == [-math.inf]


def test_step(m: ModuleType) -> None:
    result = dr.step(m.Array3f(1, 2, 3), 2)
    assert type(result) is m.Array3i and entries(result) == [0, 1, 1]
    assert entries(dr.step(m.Array3i(1, 2, 3), 2.5)) == [0, 0, 1]


def test_square(m: ModuleType) -> None:
    assert dr.square(3) == 9 and dr.square(-1.5) == 2.25
    assert entries(dr.square(m.Array3f(1, -2, 3))) == [1, 4, 9]
    assert entries(dr.square(m.Complex2f(1, 2))) == [-3, 4]
    assert entries(dr.square(m.Matrix2f(1, 2, 3, 4))) == [[7, 10], [15, 22]]
    with pytest.warns(DeprecationWarning):
        assert dr.sqr(4) == 16
