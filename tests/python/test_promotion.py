"""Which type an operation on operands of different types computes in."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest

# Entry types in promotion order, as the documentation lists them.
ORDER = ["Bool", "Int8", "UInt8", "Int", "UInt", "Int64", "UInt64",
         "Float16", "Float", "Float64"]  # fmt: skip
SUFFIX = dict(
    zip(
        ORDER, ["b", "i8", "u8", "i", "u", "i64", "u64", "f16", "f", "f64"], strict=True
    )
)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations(ORDER, 2)), ids=str)
def test_entry_types(a: str, b: str) -> None:
    """The larger one in the order wins, for flat and nested arrays and tensors."""
    for x, y in ((a, b), (b, a)):
        result = getattr(llvm, x)(1) * getattr(llvm, y)(1)
        assert type(result) is getattr(llvm, b)
        for m in (scalar, llvm):
            nested = [getattr(m, "Array3" + SUFFIX[t])(1) for t in (x, y)]
            assert type(nested[0] * nested[1]) is getattr(m, "Array3" + SUFFIX[b])
            tensors = [
                getattr(m, "TensorX" + SUFFIX[t])([t == "Bool" or 1], (1,))
                for t in (x, y)
            ]
            assert type(tensors[0] * tensors[1]) is getattr(m, "TensorX" + SUFFIX[b])


@pytest.mark.parametrize("name", ORDER)
def test_python_numbers_adapt(name: str) -> None:
    """An int keeps any number type, a float any float type."""
    x = getattr(llvm, name)(1)
    assert type(x * 1) is (llvm.Int if name == "Bool" else type(x))
    is_float = name.startswith("Float")
    assert type(x * 1.5) is (type(x) if is_float else llvm.Float)
    if name != "Bool":
        assert type(x + True) is type(x)


def test_values_are_converted() -> None:
    assert list(llvm.UInt(7) - llvm.Int(8)) == [4294967295]
    assert list(llvm.Int64(7) * llvm.Float16(1.5)) == [10.5]
    assert list(llvm.Bool(True, False) + llvm.Float(2.5)) == [3.5, 2.5]
    assert list(llvm.Int(-1) + llvm.Float64(0.5)) == [-0.5]


# Shapes: alignment at the front, dynamic wins.
SHAPES = [
    ("Float", "Array3f", "Array3f"),
    ("Array3f", "Array33f", "Array33f"),
    ("Array3f", "Array34f", "Array34f"),
    ("Array33f", "Array334f", "Array334f"),
    ("Array4f", "Array443f", "Array443f"),
    ("Array3f", "ArrayXf", "ArrayXf"),
    ("Array1f", "Array4f", "Array4f"),
    ("Float", "Matrix3f", "Matrix3f"),
    ("Matrix3f", "Matrix34f", "Matrix34f"),
    ("Float", "Complex2f", "Complex2f"),
    ("Array2f", "Complex2f", "Complex2f"),
    ("Array4f", "Quaternion4f", "Quaternion4f"),
    ("Float64", "Quaternion4f16", "Quaternion4f64"),
    ("Float64", "Matrix3f", "Matrix3f64"),
    ("Matrix3f16", "Matrix3f", "Matrix3f"),
    ("Int", "Complex2f", "Complex2f"),
    ("Float", "Matrix4f64", "Matrix4f64"),
    ("Float", "TensorXf", "TensorXf"),
    ("TensorXi", "TensorXf16", "TensorXf16"),
]


@pytest.mark.parametrize(("a", "b", "expected"), SHAPES)
def test_shapes(a: str, b: str, expected: str) -> None:
    x = getattr(llvm, a)([1], (1,)) if "Tensor" in a else getattr(llvm, a)(1)
    y = getattr(llvm, b)([1], (1,)) if "Tensor" in b else getattr(llvm, b)(1)
    assert type(x + y) is getattr(llvm, expected)
    assert type(y + x) is getattr(llvm, expected)


INCOMPATIBLE = [
    ("Array2f", "Array3f"), ("Array3f", "Array43f"), ("Array3f", "Complex2f"),
    ("Matrix2f", "Matrix3f"), ("Matrix3f", "Array33f"), ("Matrix3f", "Array3f"),
    ("Complex2f", "Quaternion4f"), ("Complex2f", "Matrix2f"),
    ("Array3f", "TensorXf"), ("Quaternion4f", "TensorXf"), ("Array0f", "Array3f"),
    ("ArrayXf", "Array33f"), ("ArrayXf", "Complex2f"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), INCOMPATIBLE)
def test_incompatible(m: ModuleType, a: str, b: str) -> None:
    def make(name: str) -> Any:
        cls = getattr(m, name)
        if "Tensor" in name:
            return cls([1], (1,))
        return cls() if name == "Array0f" else cls(1)

    x, y = make(a), make(b)
    for left, right in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match=r"drjit\.add\(.*incompatible arguments"):
            left + right


def test_families() -> None:
    assert type(scalar.Array3f(1) + llvm.Float(1, 2)) is llvm.Array3f
    assert type(scalar.Array3i(1) + llvm.Array3f(1)) is llvm.Array3f
    assert type(scalar.Matrix2f(1) * llvm.Float(1, 2)) is llvm.Matrix2f
    assert type(scalar.Complex2f(1, 2) * llvm.Complex2f(1, 2)) is llvm.Complex2f
    assert type(scalar.ArrayXf(1, 2) * llvm.ArrayXf(2)) is llvm.ArrayXf
    assert type(scalar.TensorXf([1, 2], (2,)) * llvm.Float(2)) is llvm.TensorXf
    product = scalar.Array3f(1, 2, 3) * llvm.Float(10, 20)
    assert [list(v) for v in product] == [[10, 20], [20, 40], [30, 60]]


SEQUENCES: list[tuple[Any, Any, type[Any], Any]] = [
    (llvm.Float(1), [1, 2], llvm.Float, [2, 3]),
    (llvm.Int(1), [1.5, 2], llvm.Float, [2.5, 3]),
    (llvm.Int(1), (True, 2), llvm.Int, [2, 3]),
    (llvm.Bool(True), [1, 2], llvm.Int, [2, 3]),
    (llvm.Float(1), [[1, 2, 3], [4, 5, 6]], llvm.Array2f, [[2, 3, 4], [5, 6, 7]]),
    (llvm.Float(1), [llvm.Float(1, 2), 2], llvm.Array2f, [[2, 3], [3]]),
    (llvm.Int(1), [llvm.Float(1), 2], llvm.Array2f, [[2], [3]]),
    (llvm.Array3f(1), [1, 2, 3], llvm.Array3f, [[2], [3], [4]]),
    (llvm.Complex2f(1, 2), [1, 2], llvm.Complex2f, [[2], [4]]),
    (scalar.Array3f(1), [1, 2, 3], scalar.Array3f, [2, 3, 4]),
    (scalar.Array3i(1), [1.5, 2, 3], scalar.Array3f, [2.5, 3, 4]),
    (scalar.ArrayXf(1, 2), [1, 2], scalar.ArrayXf, [2, 4]),
    (llvm.Float(1), range(3), llvm.Float, [1, 2, 3]),
]


@pytest.mark.parametrize("case", SEQUENCES, ids=[str(i) for i in range(len(SEQUENCES))])
def test_sequences(case: tuple[Any, Any, type[Any], Any]) -> None:
    array, other, cls, expected = case
    for result in (array + other, other + array):
        assert type(result) is cls
        nested = [list(v) if isinstance(v, dr.ArrayBase) else v for v in result]
        assert nested == expected


def test_sequences_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match="incompatible"):
        scalar.Array3f(1) + [1, 2]
    with pytest.raises(RuntimeError, match="an operand is of type"):
        llvm.Array3f(1) + [1, 2]
    with pytest.raises(RuntimeError, match="incompatible"):
        llvm.Array3f(1) + [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(TypeError):
        llvm.Float(1) + [[1, 2], [3]]
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises((RecursionError, TypeError)):
        llvm.Float(1) + deep


DTYPES = {
    np.bool_: "Bool", np.int8: "Int8", np.uint8: "UInt8", np.int32: "Int",
    np.uint32: "UInt", np.int64: "Int64", np.uint64: "UInt64",
    np.float16: "Float16", np.float32: "Float", np.float64: "Float64",
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays(dtype: type[Any]) -> None:
    """An array counts with its dtype, not as a Python number."""
    ones = np.ones(3, dtype)
    name = DTYPES[dtype]
    for own in ("UInt8", "Int", "Float"):
        wins = max(own, name, key=ORDER.index)
        result = getattr(llvm, own)(1) + ones
        assert type(result) is getattr(llvm, wins)
        assert list(result) == [2, 2, 2]


def test_numpy_array_shapes() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = llvm.Float(1) + x
    assert type(result) is llvm.Array2f
    assert [list(v) for v in result] == (x + 1).tolist()
    assert list(llvm.Float(1) + np.float32(2).reshape(())) == [3]
    with pytest.raises(RuntimeError, match="incompatible"):
        llvm.Array3f(1) + x
    with pytest.raises(RuntimeError, match="incompatible"):
        llvm.Float(1) + np.ones((2, 3, 4), np.float32)


def test_tensor_with_numpy() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = llvm.TensorXf([1, 2, 3], (3,)) + x
    assert type(result) is llvm.TensorXf
    assert dr.shape(result) == (2, 3)
    assert list(result.array) == (np.array([1, 2, 3]) + x).ravel().tolist()


def test_buffers() -> None:
    import array

    result = llvm.Float(1) + memoryview(array.array("d", [1, 2]))
    assert type(result) is llvm.Float64
    assert list(result) == [2, 3]


def test_three_operands() -> None:
    assert type(dr.fma(1, 2.5, llvm.Int(1))) is llvm.Float
    assert type(dr.fma(llvm.Float(1), llvm.Array3i(1), 1)) is llvm.Array3f
    assert type(dr.fma(llvm.Float(1), llvm.Float16(1), llvm.Float64(1))) is llvm.Float64


def test_select_promotes_the_mask() -> None:
    mask = llvm.Array3b(True, False, True)
    result = dr.select(mask, llvm.Float(1, 2), 5)
    assert type(result) is llvm.Array3f
    assert [list(v) for v in result] == [[1, 2], [5, 5], [1, 2]]
    assert type(dr.select(mask, 1, 2)) is llvm.Array3i
    assert type(dr.select(llvm.Bool(True), 1, 2.5)) is llvm.Float
    assert type(dr.select(llvm.Bool(True), True, False)) is llvm.Bool
    assert type(dr.select(scalar.Array3b(True), llvm.Float(1), 2)) is llvm.Array3f
    assert type(dr.select(True, llvm.Float(1), llvm.Float64(2))) is llvm.Float64
    assert list(dr.select(llvm.Int(1, 0), 2, 3)) == [2, 3]
    with pytest.raises(RuntimeError, match="incompatible"):
        dr.select(mask, llvm.Array2f(1), 2)


class Endless:
    """No length, and every index is valid."""

    def __getitem__(self, index: int) -> int:
        return index


class Shrinking:
    """Empties the list that holds it while it is looked at."""

    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner

    @property
    def __array_interface__(self) -> dict[str, Any]:
        self.owner.clear()
        raise AttributeError

    def __float__(self) -> float:
        return 1.0


def test_hostile_sequences() -> None:
    with pytest.raises(TypeError):
        llvm.Float(1) + Endless()
    owner: list[Any] = []
    owner += [Shrinking(owner), Shrinking(owner), 1]
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        llvm.Float(1) + owner
    assert owner == []


class Counting:
    """A foreign array that counts how often it is asked."""

    def __init__(self, data: Any) -> None:
        self.data, self.asked = data, 0


class CountingDLPack(Counting):
    def __dlpack__(self, **_: Any) -> Any:
        self.asked += 1
        return self.data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class CountingNumber(Counting):
    @property
    def __array_interface__(self) -> dict[str, Any]:
        self.asked += 1
        return {"shape": (), "typestr": "<f4", "version": 3}

    def __float__(self) -> float:
        return float(self.data)


class CountingIndex(Counting):
    def __index__(self) -> int:
        self.asked += 1
        return int(self.data)


class CountingSequence(Counting):
    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, i: int) -> Any:
        self.asked += i == 0
        return float(self.data[i])


if sys.version_info >= (3, 12):

    class CountingBuffer(Counting):
        def __buffer__(self, flags: int) -> memoryview:
            self.asked += 1
            return memoryview(self.data)

    BUFFERS: list[type[Counting]] = [CountingBuffer]
else:
    BUFFERS = []


def mixed_operations() -> list[Callable[[Any, Any], Any]]:
    return [
        lambda a, b: a + b,
        lambda a, b: b - a,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a**b,
        lambda a, b: b**a,
        lambda a, b: a < b,
        dr.minimum,
        dr.copysign,
        lambda a, b: dr.fma(a, b, a),
        lambda a, b: dr.select(a > 2, a, b),
        lambda a, b: dr.select(a > 2, b, a),
        lambda a, b: dr.expr_t(a, b)(0),
    ]


@pytest.mark.parametrize("cls", [CountingDLPack, CountingSequence, *BUFFERS])
@pytest.mark.parametrize("entry", [np.float32, np.int32])
def test_foreign_operands_are_asked_once(cls: type[Counting], entry: Any) -> None:
    arrays: dict[Any, list[Any]] = {
        np.float32: [llvm.Float(1, 2, 3), llvm.TensorXf([1, 2, 3]), llvm.Array3f(1)],
        np.int32: [llvm.Int(1, 2, 3), llvm.Array3i(1, 2, 3)],
    }
    for a in arrays[entry]:
        for number, operation in enumerate(mixed_operations()):
            data = np.array([3, 2, 1], dtype=entry)
            foreign = cls(data)
            plain = [float(x) for x in data]
            other = plain if cls is CountingSequence else memoryview(data)
            try:
                expected = operation(a, other)
            except TypeError:  # a division of integers
                with pytest.raises(TypeError):
                    operation(a, foreign)
                continue
            result = operation(a, foreign)
            assert foreign.asked == 1, number
            assert type(result) is type(expected), number
            assert str(result) == str(expected), number


@pytest.mark.parametrize("cls", [CountingNumber, CountingIndex])
def test_foreign_numbers_are_asked_once(cls: type[Counting]) -> None:
    number = 2.0 if cls is CountingNumber else 2
    for a in (llvm.Float(1, 2, 3), llvm.Array3f(1), llvm.Complex2f(1, 2), llvm.Int(4)):
        for operation in mixed_operations():
            results = []
            for b in (number, foreign := cls(number)):
                try:
                    results.append(str(operation(a, b)))
                except (TypeError, RuntimeError) as error:
                    results.append(str(type(error)))
            assert results[0] == results[1]
            assert foreign.asked <= 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_exceptions_of_foreign_operands_are_passed_on(error: Any) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error("from inside")

    def other(*_: Any) -> Any:
        raise AssertionError("nobody is to be asked any more")

    body = {"__radd__": other, "__rsub__": other}
    classes = [
        type("A", (), {**body, "__array_interface__": property(fail)}),
        type("B", (), {**body, "__dlpack__": fail}),
        type("C", (), {**body, "__dlpack__": property(fail)}),
        type("D", (), {**body, "__float__": fail}),
        type("E", (), {**body, "__len__": fail, "__getitem__": fail}),
        type("F", (), {**body, "__len__": lambda _: 3, "__getitem__": fail}),
    ]
    if sys.version_info >= (3, 12):
        classes.append(type("G", (), {**body, "__buffer__": fail}))
    for cls in classes:
        for operand in (cls(), [1.0, cls()]):
            for operation in (lambda a, b: a + b, lambda a, b: b - a, dr.minimum):
                with pytest.raises(error, match="from inside"):
                    operation(llvm.Float(1), operand)


def test_attribute_errors_mean_no_array() -> None:
    def absent(_: Any) -> Any:
        raise AttributeError

    for name in ("__array_interface__", "__dlpack__"):
        cls = type(
            "Absent", (), {name: property(absent), "__radd__": lambda s, a: "theirs"}
        )
        assert llvm.Float(1) + cls() == "theirs"
        with pytest.raises(TypeError):
            llvm.Float(1) * cls()


def test_foreign_operands_of_unusual_entries() -> None:
    a = llvm.Complex2f(1, 2)
    for scalar_number in (np.complex64(1j), np.array(1j)):
        assert str(a * scalar_number) == "[-2+1j]"
    assert str(a + np.array([1j, 2])) == "[1+3j,\n 3+2j]"
    assert list(llvm.Float(1) + np.array([1, 2], dtype=object)) == [2, 3]
    assert list(llvm.Float(1) + np.array([1, 2], dtype=">f4")) == [2, 3]
    with pytest.raises(RuntimeError, match="numpy.ndarray"):
        llvm.Array3f(1) + np.zeros((4, 2), dtype=np.float32)


def test_operands_are_released() -> None:
    data = np.array([1, 2, 3], dtype=np.float32)
    before = sys.getrefcount(data)
    for operation in mixed_operations():
        operation(llvm.Float(1, 2, 3), data)
    with pytest.raises(RuntimeError):
        llvm.Float(1, 2) + data
    assert sys.getrefcount(data) == before
