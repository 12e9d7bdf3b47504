"""sin, exp and their kin of all types, against Python's math and cmath.

Accuracy to the last place is tests/c/test_math.c's and tests/accuracy's affair; here it
is what arrays, numbers, complex numbers and quaternions make of the functions.
"""

from __future__ import annotations

import cmath
import itertools
import math
import random
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar

# Name -> an interval of arguments.
REAL = {
    "sin": (-9, 9),
    "cos": (-9, 9),
    "tan": (-1.5, 1.5),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-9, 9),
    "sinh": (-9, 9),
    "cosh": (-9, 9),
    "tanh": (-9, 9),
    "asinh": (-9, 9),
    "acosh": (1, 99),
    "atanh": (-0.99, 0.99),
    "exp": (-20, 20),
    "exp2": (-20, 20),
    "log": (1e-3, 99),
    "log2": (1e-3, 99),
    "cbrt": (-9, 9),
    "erf": (-3, 3),
    "lgamma": (0.1, 50),
}
COMPLEX = [
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sqrt",
]
ACCURACY = {"f16": 2e-3, "f": 3e-7, "f64": 1e-15}


def reference(name: str) -> Any:
    if name == "exp2":
        return lambda x: 2.0**x
    if name == "cbrt":
        return lambda x: math.copysign(abs(x) ** (1 / 3), x)
    return getattr(math, name)


def complex_array(values: list[complex], suffix: str = "f64") -> Any:
    cls = getattr(llvm, "Complex2" + suffix)
    return cls([z.real for z in values], [z.imag for z in values])


def to_complex(value: Any) -> list[complex]:
    return [complex(a, b) for a, b in zip(value[0], value[1], strict=True)]


# ------------------------------------------------------------------ real numbers


@pytest.mark.parametrize("suffix", ["f16", "f", "f64"])
@pytest.mark.parametrize("name", REAL)
def test_values(m: ModuleType, name: str, suffix: str) -> None:
    low, high = REAL[name]
    if suffix == "f16":
        low, high = max(low, -9), min(high, 9)  # results are within the range
    values = [low + (high - low) * i / 16 for i in range(17)]
    cls = getattr(m, "ArrayX" + suffix)
    x = cls(values)
    result = getattr(dr, name)(x)
    assert type(result) is cls
    found = np.ravel([np.ravel(entry) for entry in result])
    given = [float(np.ravel(entry)[0]) for entry in x]  # rounded to the type
    expected = [reference(name)(v) for v in given]
    tolerance = ACCURACY[suffix] * 2
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=6e-8)


@pytest.mark.parametrize("name", REAL)
def test_python_numbers(name: str) -> None:
    function = getattr(dr, name)
    low, high = REAL[name]
    value = (low + 2 * high) / 3
    assert type(function(value)) is float
    assert function(value) == pytest.approx(reference(name)(value), rel=3e-16)
    assert function(1 if name != "atanh" else 0) == pytest.approx(
        reference(name)(1 if name != "atanh" else 0), rel=3e-16, abs=1e-16
    )
    assert function(np.float64(value)) == function(value)


@pytest.mark.parametrize("name", [*REAL, "erfinv", "digamma"])
def test_same_bits_everywhere(name: str) -> None:
    """Literals, numbers of drjit.scalar and kernels."""
    low, high = REAL.get(name, (-0.9, 0.9))
    function = getattr(dr, name)
    value = low + 0.3 * (high - low)
    literal = function(llvm.Float64(value))
    assert literal.state == dr.VarState.Literal
    traced = function(dr.opaque(llvm.Float64, value))
    assert (
        literal[0]
        == traced[0]
        == function(value)
        == function(scalar.Array1f64(value))[0]
    )


def test_erfinv(m: ModuleType) -> None:
    for x in (-0.999, -0.3, 1e-10, 0.5, 0.99999):
        result = dr.erfinv(m.Array1f64(x))
        value = float(np.ravel(list(result))[0])
        assert math.erf(value) == pytest.approx(x, rel=1e-14)
    assert dr.erfinv(1) == math.inf
    assert dr.erfinv(-1) == -math.inf
    assert math.isnan(dr.erfinv(2))


def test_pairs() -> None:
    for name, first, second in (("sincos", "sin", "cos"), ("sincosh", "sinh", "cosh")):
        for x in (llvm.Float(0.3, 2), scalar.Array2f(0.3, 2), llvm.Array2f(1, 2)):
            a, b = getattr(dr, name)(x)
            assert type(a) is type(b) is type(x)
            assert dr.all(a == getattr(dr, first)(x), axis=None)
            assert dr.all(b == getattr(dr, second)(x), axis=None)
        a, b = getattr(dr, name)(0.3)
        assert a == getattr(dr, first)(0.3)
        assert b == getattr(dr, second)(0.3)


def test_two_operands(m: ModuleType) -> None:
    for y, x in itertools.product((-2.0, -0.0, 0.0, 3.0, math.inf), repeat=2):
        expected = math.atan2(y, x)
        assert dr.atan2(y, x) == pytest.approx(expected, rel=3e-16)
        result = dr.atan2(m.Array1f64(y), x)
        assert float(np.ravel(list(result))[0]) == pytest.approx(expected, rel=3e-16)
    assert dr.hypot(3, 4) == 5.0
    assert dr.hypot(a=3.0, b=4.0) == 5.0


@pytest.mark.parametrize("name", [*REAL, "erfinv", "sincos", "sincosh"])
@pytest.mark.parametrize("cls", [llvm.UInt, llvm.Bool, llvm.Array3i])
def test_not_for_integers(name: str, cls: Any) -> None:
    with pytest.raises(RuntimeError, match="not supported"):
        getattr(dr, name)(cls(1))


@pytest.mark.parametrize("name", [*REAL, "erfinv"])
def test_not_for_others(name: str) -> None:
    with pytest.raises(TypeError, match=f"drjit.{name}"):
        getattr(dr, name)("x")
    with pytest.raises(TypeError):
        getattr(dr, name)()


def test_matrices_by_entry() -> None:
    result = dr.exp(llvm.Matrix2f64(0, 1, 2, 3))
    assert result[1][0][0] == pytest.approx(math.exp(2))


# ------------------------------------------------------------------ powers


def test_any_exponent(m: ModuleType) -> None:
    x = m.Array2f64(2, 9)
    assert [float(np.ravel(v)[0]) for v in x**0.5] == [math.sqrt(2), 3]
    assert [float(np.ravel(v)[0]) for v in 2**x] == [4, 512]
    assert [float(np.ravel(v)[0]) for v in x ** m.Array2f64(-1, 1.5)] == [0.5, 27]
    x **= 0.5
    assert float(np.ravel(x[1])[0]) == 3


def test_power_special() -> None:
    x = llvm.Float64(-8, 0, math.inf, 1, -1)
    result = list(x ** llvm.Float64(3, -2.5, 0.5, math.nan, math.inf))
    assert result == [-512, math.inf, math.inf, 1, 1]
    assert math.isnan(list(llvm.Float64(-8) ** (1 / 3))[0])
    assert dr.power(2, 0.5) == math.sqrt(2)
    assert math.isnan(dr.power(-8.0, 1 / 3))


def test_power_of_integers() -> None:
    assert list(llvm.Int(2, 9) ** 0.5) == pytest.approx([math.sqrt(2), 3])
    assert list(llvm.Int(2) ** llvm.Int(3)) == [8]


def test_power_of_matrix() -> None:
    with pytest.raises(RuntimeError, match="not supported"):
        llvm.Matrix2f(1, 2, 3, 4) ** 0.5


# ------------------------------------------------------------------ complex numbers


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name: str) -> None:
    rng = random.Random(name)
    values = [complex(rng.uniform(-4, 4), rng.uniform(-4, 4)) for _ in range(300)]
    values += [complex(x, y) for x in (-2.5, 0.5, 2) for y in (1e-9, -1e-9)]
    function, expected = getattr(dr, name), getattr(cmath, name)
    for z, result in zip(
        values, to_complex(function(complex_array(values))), strict=True
    ):
        assert abs(result - expected(z)) <= 4e-15 * abs(expected(z)), z
        single = function(scalar.Complex2f64(z))
        assert complex(single.real, single.imag) == result


@pytest.mark.parametrize(
    "name", [n for n in COMPLEX if n not in ("log", "atanh", "atan")]
)
def test_complex_far(name: str) -> None:
    values = [complex(x, y) for x in (-300, 0.25, 300) for y in (-200, 200)]
    function, expected = getattr(dr, name), getattr(cmath, name)
    for z, result in zip(
        values, to_complex(function(complex_array(values))), strict=True
    ):
        wanted = expected(z)
        assert abs(result - wanted) <= 1e-13 * abs(wanted), (z, result, wanted)


def test_complex_base_2() -> None:
    values = [complex(0.3, -2), complex(-1.5, 0.25)]
    for z, a, b in zip(
        values,
        to_complex(dr.exp2(complex_array(values))),
        to_complex(dr.log2(complex_array(values))),
        strict=True,
    ):
        assert a == pytest.approx(2**z, rel=1e-15)
        assert b == pytest.approx(cmath.log(z) / math.log(2), rel=1e-15)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_cuts(name: str) -> None:
    """On a branch cut the sign of zero says from which side."""
    for x, y in itertools.product((-2.0, 2.0), (0.0, -0.0)):
        for z in (complex(x, y), complex(y, x)):
            try:
                wanted = getattr(cmath, name)(z)
            except ValueError:  # a pole
                continue
            found = getattr(dr, name)(scalar.Complex2f64(z))
            result = complex(found.real, found.imag)
            assert abs(result - wanted) <= 4e-15 * max(abs(wanted), 1e-15), z


def test_complex_power() -> None:
    a, b = complex(1, 2), complex(0.5, -0.75)
    result = to_complex(complex_array([a]) ** complex_array([b]))[0]
    assert result == pytest.approx(a**b, rel=1e-14)
    result = to_complex(complex_array([a]) ** 0.5)[0]
    assert result == pytest.approx(a**0.5, rel=1e-14)
    assert to_complex(complex_array([0j]) ** 0.5) == [0]


def test_lgamma_beside_its_minimum() -> None:
    """There, neighbours differ by less than the rounding error of a pair."""
    minimum = 1.4616321449683622
    found = float.fromhex("0x1.76310877317c3p+0")
    rng = np.random.default_rng(1)
    x = minimum + 10 ** rng.uniform(-12, -2.5, 100000)
    for start, direction in (([found, *x], 9), (2 * minimum - x, 0)):
        steps = dr.lgamma(llvm.Float64(np.nextafter(start, direction)))
        assert dr.all(steps >= dr.lgamma(llvm.Float64(start)))


def test_digamma() -> None:
    """Values known in closed form, poles, zeros from both sides."""
    euler = 0.5772156649015329
    known = {
        1: -euler,
        2: 1 - euler,
        0.5: -euler - 2 * math.log(2),
        -0.5: 0.03648997397857652056,  # 2 - euler - 2 log(2), where doubles cancel
        0.25: -euler - math.pi / 2 - 3 * math.log(2),
        1e300: math.log(1e300),
        math.inf: math.inf,
        0.0: -math.inf,
        -1.0: math.nan,
        -math.inf: math.nan,
    }
    result = dr.digamma(llvm.Float64(list(known)))
    np.testing.assert_allclose(result, list(known.values()), rtol=1e-15)
    assert dr.digamma(-0.0) == math.inf
    for zero in (1.4616321449683623, -0.5040830082644554, -9.702672540001864):
        around = [np.nextafter(zero, -99), np.nextafter(zero, 99)]
        below, above = dr.digamma(llvm.Float64(around))
        assert -1e-13 < below < 0 < above < 1e-13


@pytest.mark.parametrize("name", ["cbrt", "erf", "erfinv", "lgamma", "digamma"])
@pytest.mark.parametrize("cls", [llvm.Complex2f, llvm.Quaternion4f, scalar.Complex2f])
def test_real_functions_only(name: str, cls: Any) -> None:
    with pytest.raises(RuntimeError, match="not supported"):
        getattr(dr, name)(cls(1))


def test_arg() -> None:
    assert dr.arg(-3) == math.pi
    assert dr.arg(2.5) == 0
    assert dr.arg(1 + 2j) == cmath.phase(1 + 2j)
    assert list(dr.arg(llvm.Float(-1, 0, 1))) == pytest.approx([math.pi, 0, 0])
    assert list(dr.arg(llvm.Complex2f64(-1, -2))) == pytest.approx(
        [cmath.phase(-1 - 2j)]
    )
    with pytest.raises(TypeError, match=r"drjit\.arg"):
        dr.arg(llvm.Quaternion4f(1))
    with pytest.raises(TypeError, match=r"drjit\.arg"):
        dr.arg("x")


# ------------------------------------------------------------------ quaternions


@pytest.mark.parametrize("name", [*COMPLEX, "exp2", "log2"])
def test_quaternion_in_a_plane(name: str) -> None:
    """(0, v, 0, w) behaves like the complex number w + i v."""
    z = complex(0.4, 0.7)
    expected = getattr(dr, name)(scalar.Complex2f64(z))
    result = getattr(dr, name)(scalar.Quaternion4f64(0, z.imag, 0, z.real))
    assert list(result) == pytest.approx(
        [0, expected.imag, 0, expected.real], rel=1e-14
    )


def test_quaternion_inverse_functions() -> None:
    q = llvm.Quaternion4f64(0.1, -0.2, 0.3, 0.4)
    for there, back in (
        ("exp", "log"),
        ("log", "exp"),
        ("sin", "asin"),
        ("tan", "atan"),
        ("sinh", "asinh"),
    ):
        result = getattr(dr, back)(getattr(dr, there)(q))
        assert [x[0] for x in result] == pytest.approx([x[0] for x in q], rel=1e-13)


def test_quaternion_real() -> None:
    result = dr.exp(scalar.Quaternion4f64(0, 0, 0, 2))
    assert list(result) == [0, 0, 0, math.exp(2)]
    result = dr.log(scalar.Quaternion4f64(0, 0, 0, -1))
    assert list(result) == pytest.approx([math.pi, 0, 0, 0])


def test_quaternion_power() -> None:
    q = dr.normalize(scalar.Quaternion4f64(0.1, -0.2, 0.3, 0.4))
    half = q**0.5
    assert list(half * half) == pytest.approx(list(q), rel=1e-14)


# ------------------------------------------------------------------ rotations


def random_rotation(rng: random.Random) -> Any:
    return dr.normalize(scalar.Quaternion4f64(*[rng.gauss(0, 1) for _ in range(4)]))


def test_rotate() -> None:
    axis = scalar.Array3f64(0, 0.6, 0.8)
    q = dr.rotate(scalar.Quaternion4f64, axis, 0.5)
    expected = [0, 0.6 * math.sin(0.25), 0.8 * math.sin(0.25), math.cos(0.25)]
    assert list(q) == pytest.approx(expected)
    with pytest.raises(TypeError, match=r"drjit\.rotate"):
        dr.rotate(scalar.Matrix4f64, axis, 0.5)
    with pytest.raises(TypeError, match=r"drjit\.rotate"):
        dr.rotate(scalar.Quaternion4f64, scalar.Array2f64(1, 0), 0.5)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1.0, 3.0])
def test_slerp(angle: float) -> None:
    axis = scalar.Array3f64(0, 0.6, 0.8)
    rng = random.Random(1)
    a = random_rotation(rng)
    b = dr.rotate(scalar.Quaternion4f64, axis, angle) * a
    for t in (0, 0.25, 1):
        expected = dr.rotate(scalar.Quaternion4f64, axis, angle * t) * a
        for other in (b, -b):
            assert list(dr.slerp(a, other, t)) == pytest.approx(
                list(expected), rel=1e-14
            )
    with pytest.raises(TypeError, match=r"drjit\.slerp"):
        dr.slerp(axis, axis, 0.5)


def test_euler_angles() -> None:
    rng = random.Random(2)
    for _ in range(20):
        angles = [rng.uniform(-3, 3), rng.uniform(-1.5, 1.5), rng.uniform(-3, 3)]
        q = dr.euler_to_quat(scalar.Array3f64(*angles))
        turns = [
            dr.rotate(scalar.Quaternion4f64, scalar.Array3f64(*axis), angle)
            for axis, angle in zip(np.eye(3).tolist(), angles, strict=True)
        ]
        assert list(q) == pytest.approx(list(turns[2] * turns[1] * turns[0]), rel=1e-14)
        assert list(dr.quat_to_euler(q)) == pytest.approx(angles, rel=1e-12)


@pytest.mark.parametrize("pitch", [-math.pi / 2, math.pi / 2])
def test_euler_angles_locked(pitch: float) -> None:
    q = dr.euler_to_quat(scalar.Array3f64(0.4, pitch, 0.3))
    again = dr.euler_to_quat(dr.quat_to_euler(q))
    sign = math.copysign(1, sum(a * b for a, b in zip(q, again, strict=True)))
    assert [sign * x for x in again] == pytest.approx(list(q), abs=1e-7)
    with pytest.raises(TypeError, match=r"drjit\.quat_to_euler"):
        dr.quat_to_euler(scalar.Array3f(1))
    with pytest.raises(TypeError, match=r"drjit\.euler_to_quat"):
        dr.euler_to_quat(scalar.Array2f(1))


@pytest.mark.parametrize("angle", [0.0, 1e-10, 0.5, 2.0, math.pi])
def test_unit_angle(angle: float) -> None:
    a = scalar.Array3f64(1, 0, 0)
    b = scalar.Array3f64(math.cos(angle), math.sin(angle), 0)
    assert dr.unit_angle(a, b) == pytest.approx(angle, rel=1e-15, abs=1e-16)
    with pytest.raises(TypeError, match=r"drjit\.unit_angle"):
        dr.unit_angle(1.0, 2.0)


# ------------------------------------------------------------------ angles, domains


def test_degrees() -> None:
    assert dr.rad2deg(math.pi) == 180
    assert dr.deg2rad(180) == math.pi
    assert list(dr.rad2deg(llvm.Float(math.pi))) == pytest.approx([180])
    assert type(dr.deg2rad(llvm.Array2f16(90))) is llvm.Array2f16


def test_sphdir() -> None:
    theta, phi = 0.5, 0.7
    expected = [
        math.cos(phi) * math.sin(theta),
        math.sin(phi) * math.sin(theta),
        math.cos(theta),
    ]
    result = dr.sphdir(theta, phi)
    assert type(result) is scalar.Array3f64
    assert list(result) == pytest.approx(expected)
    for angle in (llvm.Float64(theta), theta):
        traced = dr.sphdir(angle, llvm.Float64(phi))
        assert type(traced) is llvm.Array3f64
        assert [x[0] for x in traced] == pytest.approx(expected)


def test_safe_functions(m: ModuleType) -> None:
    for function, domain in (
        (dr.safe_sqrt, (0, 4)),
        (dr.safe_asin, (-1, 1)),
        (dr.safe_acos, (-1, 1)),
    ):
        inner = getattr(dr, function.__name__[5:])
        for x in (domain[0] - 1, *domain, 0.25):
            inside = (
                max(x, domain[0])
                if function is dr.safe_sqrt
                else min(max(x, domain[0]), domain[1])
            )
            assert function(float(x)) == inner(float(inside))
            result = function(m.Array1f64(x))
            assert float(np.ravel(list(result))[0]) == inner(float(inside))
        for nothing in (math.nan, m.Array1f64(math.nan), m.Array1f(math.nan)):
            assert dr.all(dr.isnan(function(nothing)), axis=None)


def test_safe_functions_are_for_real_numbers(m: ModuleType) -> None:
    """The root of -1 is i, which limits for each component do not say."""
    for function in (dr.safe_sqrt, dr.safe_asin, dr.safe_acos):
        plain = function.__name__[5:]
        for cls in (m.Complex2f, m.Complex2f64, m.Quaternion4f):
            with pytest.raises(TypeError) as caught:
                function(cls(-1))
            message = str(caught.value)
            assert message.startswith(f"drjit.{function.__name__}(")
            assert f"drjit.{plain}()" in message and cls.__name__ in message


# ------------------------------------------------------------------ colors


def test_srgb() -> None:
    values = [-0.5, 0.0, 0.001, 0.0031308, 0.5, 1.0, 2.0]

    def encode(x: float) -> float:
        return 12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055

    linear = llvm.Float64(values)
    clipped = [encode(min(max(x, 0), 1)) for x in values]
    assert list(dr.linear_to_srgb(linear)) == pytest.approx(clipped)
    signed = [math.copysign(encode(abs(x)), x) for x in values]
    encoded = dr.linear_to_srgb(linear, clip=False)
    assert list(encoded) == pytest.approx(signed)
    assert list(dr.srgb_to_linear(encoded, clip=False)) == pytest.approx(
        values, abs=1e-9
    )
    assert list(dr.srgb_to_linear(llvm.Float64(-1, 2))) == pytest.approx([0, 1])
    assert dr.linear_to_srgb(0.5) == pytest.approx(encode(0.5))
    assert dr.srgb_to_linear(0.01) == pytest.approx(0.01 / 12.92)


def test_oklab() -> None:
    # Values of the source's table: white, and the primaries to three places.
    for rgb, lab in (
        ((1, 1, 1), (1.0, 0.0, 0.0)),
        ((1, 0, 0), (0.628, 0.225, 0.126)),
        ((0, 1, 0), (0.866, -0.234, 0.179)),
        ((0, 0, 1), (0.452, -0.032, -0.312)),
    ):
        result = dr.linear_srgb_to_oklab(scalar.Array3f64(*rgb))
        assert list(result) == pytest.approx(lab, abs=6e-4)
        assert list(dr.oklab_to_linear_srgb(result)) == pytest.approx(rgb, abs=1e-6)


def test_oklab_shapes() -> None:
    color = [0.2, 0.5, 0.7]
    expected = list(dr.linear_srgb_to_oklab(scalar.Array3f64(*color)))
    rgba = dr.linear_srgb_to_oklab(llvm.Array4f64(*color, 0.3))
    assert [x[0] for x in rgba] == pytest.approx([*expected, 0.3])
    tensor = dr.linear_srgb_to_oklab(llvm.TensorXf64(color * 2, (2, 3)))
    assert tensor.shape == (2, 3)
    assert list(tensor.array) == pytest.approx(expected * 2)
    with_alpha = llvm.TensorXf64([*color, 0.3], (1, 4))
    assert list(dr.linear_srgb_to_oklab(with_alpha).array) == pytest.approx(
        [*expected, 0.3]
    )
    for wrong in (llvm.Array2f(1), llvm.TensorXf([1, 2], (1, 2)), llvm.Float(1, 2, 3)):
        with pytest.raises(RuntimeError, match="3 .* or 4"):
            dr.linear_srgb_to_oklab(wrong)
    for wrong in (1.0, llvm.Array3i(1), llvm.Matrix3f(1)):
        with pytest.raises(TypeError, match=r"drjit\.oklab_to_linear_srgb"):
            dr.oklab_to_linear_srgb(wrong)
