"""zeros(), ones(), full(), opaque(), empty(), arange(), linspace(), ..._like()."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest


def entries(value: Any) -> Any:
    """Nested lists of the entries of an array that is not a tensor."""
    if isinstance(value, dr.ArrayBase):
        return [entries(v) for v in value]
    return value


@pytest.mark.parametrize(("function", "value"), [(dr.zeros, 0), (dr.ones, 1)])
def test_constants(function: Any, value: int) -> None:
    assert entries(function(llvm.Float)) == [value]
    assert entries(function(llvm.Int, 3)) == [value] * 3
    assert entries(function(llvm.Bool, (2,))) == [bool(value)] * 2
    assert entries(function(llvm.Array2f, 3)) == [[value] * 3] * 2
    assert entries(function(llvm.Array2f, (2, 3))) == [[value] * 3] * 2
    assert entries(function(llvm.ArrayXf, (2, 3))) == [[value] * 3] * 2
    assert entries(function(llvm.ArrayXf, 3)) == [[value] * 3]
    assert entries(function(llvm.Matrix2f, (2, 2, 1))) == [[[value]] * 2] * 2
    assert entries(function(scalar.Array3f, 7)) == [value] * 3
    assert entries(function(scalar.ArrayXf, 4)) == [value] * 4
    assert entries(function(scalar.Array3f, (3,))) == [value] * 3
    assert entries(function(llvm.Float, [2])) == [value] * 2
    assert entries(function(llvm.Float, np.int64(2))) == [value] * 2
    assert entries(function(shape=2, dtype=llvm.Float)) == [value] * 2


def test_special_types(m: ModuleType) -> None:
    def pick(component: Any) -> Any:
        return component if m is scalar else component[0]

    assert [pick(c) for c in dr.ones(m.Complex2f)] == [1, 0]
    assert [pick(c) for c in dr.full(m.Quaternion4f, 2)] == [0, 0, 0, 2]
    assert [[pick(c) for c in row] for row in dr.full(m.Matrix2f, 2)] == [[2, 2]] * 2


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3), (1, 2, 3, 4, 5)])
def test_tensors(m: ModuleType, shape: tuple[int, ...]) -> None:
    tensor = dr.full(m.TensorXf, 2.5, shape)
    assert tensor.shape == shape
    assert list(tensor.array) == [2.5] * int(np.prod(shape))
    assert dr.zeros(m.TensorXf, 4).shape == (4,)


@pytest.mark.parametrize(
    ("cls", "shape"),
    [
        ("Float", ()),
        ("Float", (3, 2)),
        ("Array3f", (3,)),
        ("Array2f", (3, 100)),
        ("Array3f", (3, 2, 2)),
        ("ArrayXf", (3,)),
        ("Matrix2f", (2, 2)),
        ("Matrix2f", (2, 3, 4)),
    ],
)
def test_wrong_shapes(cls: str, shape: tuple[int, ...]) -> None:
    for function in (dr.zeros, dr.ones, dr.empty):
        with pytest.raises(RuntimeError, match="incompatible"):
            function(getattr(llvm, cls), shape)


@pytest.mark.parametrize("shape", [1.5, "a", None, -1, (-1,), ("a",), (1.5,)])
def test_bad_shapes(m: ModuleType, shape: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"drjit\.zeros"):
        dr.zeros(m.ArrayXf, shape)
    with pytest.raises((TypeError, ValueError), match=r"drjit\.full"):
        dr.full(m.TensorXf, 1, shape)


def test_too_large() -> None:
    with pytest.raises(RuntimeError):
        dr.zeros(llvm.Float, 2**40)
    with pytest.raises((MemoryError, OverflowError)):
        dr.zeros(scalar.ArrayXf, 2**62)
    with pytest.raises(OverflowError):
        dr.zeros(llvm.TensorXf, (2**40, 2**40))


def test_python_types() -> None:
    assert dr.zeros(int) == 0
    assert type(dr.ones(float, 5)) is float
    assert dr.ones(bool) is True
    assert dr.full(int, 1.5) == 1
    assert dr.empty(float) == 0.0
    assert dr.opaque(float, 2) == 2.0
    for dtype in (3, None, llvm.Float(1), object()):
        with pytest.raises(TypeError, match=r"drjit\.zeros"):
            dr.zeros(dtype)


def test_values() -> None:
    assert entries(dr.full(llvm.Float, value=2, shape=3)) == [2, 2, 2]
    assert entries(dr.full(llvm.Array2f, [1, 2], 2)) == [[1, 1], [2, 2]]
    assert entries(dr.full(llvm.Array2f, llvm.Array2f(1, 2), 2)) == [[1, 1], [2, 2]]
    assert entries(dr.full(llvm.Bool, 1)) == [True]
    for cls, value in ((llvm.Int, 1.5), (llvm.UInt, -1), (llvm.Float, "a")):
        with pytest.raises(TypeError):
            dr.full(cls, value)
    with pytest.raises(RuntimeError):
        dr.full(llvm.Float, llvm.Float(1, 2), 3)


def test_states() -> None:
    state = dr.VarState
    assert dr.zeros(llvm.Float, 3).state == state.Literal
    assert dr.full(llvm.Array3f, 2, 3).state == state.Literal
    assert dr.opaque(llvm.Float, 2).state == state.Evaluated
    assert dr.opaque(llvm.Array3f, [1, 2, 3], 3).state == state.Evaluated
    assert dr.opaque(llvm.TensorXf, 2, (2, 3)).state == state.Evaluated
    assert dr.empty(llvm.Float, 3).state == state.Undefined
    assert len(dr.empty(llvm.Float, 3)) == 3
    assert len(dr.empty(llvm.Float, 0)) == 0


@dataclass
class Point:
    x: llvm.Float = field(default_factory=llvm.Float)
    y: llvm.Array2f = field(default_factory=llvm.Array2f)
    n: int = 3


class Custom:
    DRJIT_STRUCT = {"x": llvm.Float, "point": Point}

    def __init__(self) -> None:
        self.x = llvm.Float()
        self.point = Point()


def test_structures() -> None:
    point = dr.ones(Point, 2)
    assert type(point) is Point
    assert entries(point.x) == [1, 1]
    assert entries(point.y) == [[1, 1], [1, 1]]
    assert point.n == 1
    custom = dr.full(Custom, 5, 2)
    assert type(custom) is Custom
    assert entries(custom.point.y) == [[5, 5], [5, 5]]
    again = dr.zeros_like(custom)
    assert entries(again.point.y) == [[0, 0], [0, 0]]


def test_subclass() -> None:
    class Mine(llvm.Float):  # type: ignore[misc]
        pass

    assert type(dr.zeros(Mine, 2)) is Mine
    assert type(dr.zeros_like(Mine(1, 2))) is Mine
    assert entries(dr.arange(Mine, 3)) == [0, 1, 2]


def test_like(m: ModuleType) -> None:
    tensor = dr.ones_like(m.TensorXf([[1, 2], [3, 4]]))
    assert tensor.shape == (2, 2)
    assert list(tensor.array) == [1] * 4
    assert entries(dr.zeros_like(llvm.Array3f([1, 2], 3, 4))) == [[0, 0], [0], [0]]
    assert entries(dr.zeros_like(scalar.ArrayXf(1, 2))) == [0, 0]
    assert entries(dr.ones_like(llvm.Complex2f(5, 6))) == [[1], [0]]
    assert len(dr.zeros_like(llvm.Float())) == 0
    assert dr.ones_like(3) == 1
    assert dr.ones_like(3.5) == 1.0
    assert dr.zeros_like(True) is False
    pair = dr.zeros_like([1, llvm.Float(1, 2)])
    assert pair[0] == 0
    assert entries(pair[1]) == [0, 0]
    assert dr.empty_like(llvm.Float(1, 2)).state == dr.VarState.Undefined


def test_like_numbers_of_numpy() -> None:
    tree = {
        "a": np.float32(3),
        "b": np.int64(4),
        "c": np.bool_(True),
        "d": llvm.Float(1, 2),
    }
    zeros, ones = dr.zeros_like(tree), dr.ones_like(tree)
    for key in "abc":
        assert type(zeros[key]) is type(ones[key]) is type(tree[key])
        assert zeros[key] == np.zeros_like(tree[key]) and ones[key] == 1
    assert entries(zeros["d"]) == [0, 0]
    assert type(dr.zeros_like(np.float16(2))) is np.float16
    with pytest.raises(
        TypeError, match=r"numpy\.ndarray, expected an array of Dr\.Jit"
    ):
        dr.zeros_like([np.ones(3)])


@pytest.mark.parametrize(
    "arguments", [(5,), (2, 5), (2, 9, 3), (9, 2, -3), (-3, 3), (0,), (3, 3), (1, 2, 5)]
)
@pytest.mark.parametrize("suffix", ["i", "i64", "f", "f64", "f16", "i8"])
def test_arange(arguments: tuple[int, ...], suffix: str) -> None:
    expected = np.arange(*arguments).tolist()
    leaf = getattr(llvm, f"TensorX{suffix}")
    assert list(dr.arange(leaf, *arguments).array) == expected
    assert list(dr.arange(getattr(scalar, f"ArrayX{suffix}"), *arguments)) == expected
    assert list(dr.arange(llvm.Int, *arguments)) == expected


def test_arange_arguments() -> None:
    assert list(dr.arange(dtype=llvm.Int, size=3)) == [0, 1, 2]
    assert list(dr.arange(llvm.Int, start=1, stop=4)) == [1, 2, 3]
    assert list(dr.arange(llvm.Int, 1, 4, step=2)) == [1, 3]
    start = 2**33
    assert list(dr.arange(llvm.UInt64, start, start + 2)) == [start, start + 1]
    assert list(dr.arange(llvm.Float64, start, start + 2)) == [start, start + 1]
    for arguments in ((9, 2), (-3,), (2, 9, -1)):
        with pytest.raises(RuntimeError, match="the size is negative"):
            dr.arange(llvm.Int, *arguments)
    with pytest.raises(ValueError, match="'step' is 0"):
        dr.arange(llvm.Int, 0, 5, 0)
    for cls, stop in ((llvm.UInt8, 300), (llvm.UInt, 2**33), (llvm.Int, 2**80)):
        with pytest.raises(OverflowError):
            dr.arange(cls, 0, stop, stop - 1)
    with pytest.raises(OverflowError):
        dr.arange(llvm.UInt, -3, 3)
    for cls in (llvm.Bool, llvm.Array3f, llvm.ArrayXf, scalar.Array3f, float, 3):
        with pytest.raises(TypeError, match=r"drjit\.arange\(\): "):
            dr.arange(cls, 3)
    with pytest.raises(TypeError):
        dr.arange(llvm.Float, 0, 1, 0.25)
    with pytest.raises(TypeError):
        dr.arange(llvm.Float)


def test_arange_is_exact_beyond_single_precision() -> None:
    start = 2**24 - 1
    expected = np.arange(start, start + 5).astype(np.float32).tolist()
    assert list(dr.arange(llvm.Float, start, start + 5)) == expected


@pytest.mark.parametrize("num", [0, 1, 2, 5, 100])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("suffix", ["f16", "f", "f64"])
def test_linspace(m: ModuleType, num: int, endpoint: bool, suffix: str) -> None:
    found = list(
        dr.linspace(getattr(m, f"TensorX{suffix}"), -1, 2.5, num, endpoint).array
    )
    expected = np.linspace(-1, 2.5, num, endpoint)
    tolerance = {"f16": 2e-3, "f": 1e-6, "f64": 1e-14}[suffix]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_linspace_arguments() -> None:
    assert list(dr.linspace(llvm.Float, start=0, stop=1, num=3)) == [0, 0.5, 1]
    assert list(dr.linspace(llvm.Float, 0, 1, 2, endpoint=False)) == [0, 0.5]
    with pytest.raises(ValueError, match="num"):
        dr.linspace(llvm.Float, 0, 1, -1)
    for cls in (llvm.Int, llvm.Array3f, float):
        with pytest.raises(TypeError, match=r"drjit\.linspace\(\): "):
            dr.linspace(cls, 0, 1, 3)
    with pytest.raises(TypeError):
        dr.linspace(llvm.Float, 0, 1)


def test_linspace_asks_no_more_after_an_error() -> None:
    """With a wrong dtype, 'endpoint' was asked for its truth during the exception."""
    asked = []

    class Endpoint:
        def __bool__(self) -> bool:
            asked.append(self)
            return True

    with pytest.raises(TypeError, match=r"drjit\.linspace\(\): "):
        dr.linspace(llvm.Bool, 0, 1, 3, Endpoint())
    assert not asked


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full", "opaque"])
def test_shapes_of_numpy(name: str) -> None:
    function = getattr(dr, name)
    value = (3,) if name in ("full", "opaque") else ()
    for shape in (np.array([2, 3]), [np.int64(2), np.uint8(3)], llvm.UInt(2, 3)):
        assert function(llvm.TensorXf, *value, shape).shape == (2, 3)
        assert function(scalar.TensorXf, *value, shape).shape == (2, 3)
        assert function(llvm.Array2f, *value, shape).shape == (2, 3)
    for shape in (np.array(4), np.int64(4), np.array([4])):
        assert len(function(llvm.Float, *value, shape)) == 4
    for shape in (np.array([2.0]), np.array([[1, 2]]), "2", 1.5, None):
        with pytest.raises(TypeError):
            function(llvm.Float, *value, shape)


@dataclass
class Ray:
    o: llvm.Array3f
    t: llvm.Float
    label: str
    count: int = 7
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    ray: Ray
    active: llvm.Bool


@dataclass(slots=True, kw_only=True)
class Slotted:
    x: llvm.Float
    late: llvm.Float = field(init=False)


class Sphere:
    DRJIT_STRUCT = {"center": llvm.Array2f, "radius": llvm.Float}

    def __init__(self, center: Any, radius: Any) -> None:
        raise AssertionError("nobody calls this")


class Faulty:
    DRJIT_STRUCT = {"x": llvm.Float}

    def __init__(self) -> None:
        raise TypeError("a fault of the constructor's own")


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full", "opaque"])
def test_structures_without_defaults(name: str) -> None:
    value = (1,) if name in ("full", "opaque") else ()

    def make(cls: Any) -> Any:
        return getattr(dr, name)(cls, *value, 2)

    def check(array: Any) -> None:
        assert dr.width(array) == 2
        if name != "empty":
            expected = 0 if name == "zeros" else 1
            assert np.all(llvm.TensorXf(array).numpy() == expected)

    ray = make(Ray)
    assert type(ray) is Ray and (ray.label, ray.tags) == ("", [])
    check(ray.o)
    check(ray.t)
    frozen = make(Frozen)
    check(frozen.ray.o)
    assert type(frozen) is Frozen and type(frozen.active) is llvm.Bool
    slotted = make(Slotted)
    check(slotted.x)
    check(slotted.late)
    sphere = make(Sphere)
    assert type(sphere) is Sphere
    check(sphere.center)
    check(sphere.radius)
    with pytest.raises(TypeError, match="Faulty could not be constructed") as info:
        make(Faulty)
    assert "own" in str(info.value.__cause__)


def test_fields_that_change_are_seen() -> None:
    """What is known of the fields of a class is kept until they are others."""

    class Struct:
        DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"a": llvm.Float, "b": llvm.Int}

    def types(cls: Any = Struct) -> list[type]:
        made = dr.zeros(cls, 2)
        return [type(getattr(made, name)) for name in cls.DRJIT_STRUCT]

    for _ in range(2):
        assert types() == [llvm.Float, llvm.Int]
    Struct.DRJIT_STRUCT["a"] = llvm.UInt
    assert types() == [llvm.UInt, llvm.Int]
    Struct.DRJIT_STRUCT = {"b": llvm.Int, "a": llvm.UInt}
    assert types() == [llvm.Int, llvm.UInt]
    Struct.DRJIT_STRUCT = {"c": llvm.Array2f}
    assert types() == [llvm.Array2f]
    gone = weakref.ref(Struct)
    del Struct, types
    gc.collect()
    assert gone() is None
