"""Constructors: arrays from numbers, sequences, other arrays; copies and pickles."""

from __future__ import annotations

import copy
import gc
import math
import pickle
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest

SUFFIXES = {
    "b": np.bool_,
    "i8": np.int8,
    "u8": np.uint8,
    "i": np.int32,
    "u": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "f": np.float32,
    "f64": np.float64,
}

INTEGERS = [suffix for suffix in SUFFIXES if suffix[0] in "iu"]


def lanes(array: Any) -> list[list[Any]]:
    """The entries of each component of a nested array with leaves."""
    return [list(component) for component in array]


# ------------------------------------------------------------------------ numbers


@pytest.mark.parametrize("suffix", list(SUFFIXES))
def test_one_number(m: ModuleType, suffix: str) -> None:
    array = getattr(m, f"Array3{suffix}")(True)
    expected = SUFFIXES[suffix](1).item()
    for component in array:
        value = component if m is scalar else component[0]
        assert value == expected
        assert type(value) is type(expected)


@pytest.mark.parametrize("suffix", list(SUFFIXES))
def test_entries_keep_their_value(m: ModuleType, suffix: str) -> None:
    dtype = SUFFIXES[suffix]
    values: list[Any]
    if suffix == "b":
        values = [True, False, False, True]
    elif suffix in INTEGERS:
        info = np.iinfo(dtype)
        values = [int(info.min), int(info.max), 0, 1]
    else:
        values = [0.1, -2.5, math.inf, float(np.finfo(dtype).tiny)]
    array = getattr(m, f"ArrayX{suffix}")(values)
    found = [component if m is scalar else component[0] for component in array]
    assert found == [dtype(v).item() for v in values]


@pytest.mark.parametrize("suffix", INTEGERS)
def test_integers_that_do_not_fit(m: ModuleType, suffix: str) -> None:
    cls = getattr(m, f"Array2{suffix}")
    info = np.iinfo(SUFFIXES[suffix])
    for value in (int(info.max) + 1, int(info.min) - 1, 10**30, -(10**30)):
        for arguments in ((value,), (value, 0), ([0, value],)):
            with pytest.raises(TypeError, match="could not initialize") as error:
                cls(*arguments)
            assert isinstance(error.value.__cause__, OverflowError)


def test_number_alone_is_converted(m: ModuleType) -> None:
    assert m.Array2i(1.9).x == (1 if m is scalar else llvm.Int(1))
    with pytest.raises(TypeError):
        m.Array2i(1.9, 2)
    with pytest.raises(TypeError):
        m.Array2b(1, 0)
    with pytest.raises(TypeError):
        m.Array2i(math.nan)
    with pytest.raises(TypeError):
        m.Array2f("1")
    with pytest.raises(TypeError):
        m.Array2f(None)


def test_float_overflow(m: ModuleType) -> None:
    assert scalar.Array1f(1e300).x == math.inf
    with pytest.raises(TypeError) as error:
        m.Array2f(10**400)
    assert isinstance(error.value.__cause__, OverflowError)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, np.uint8, np.bool_])
def test_numpy_scalars(m: ModuleType, kind: Any) -> None:
    array = m.Array3f(kind(1), 2, 3)
    assert [c if m is scalar else c[0] for c in array] == [1, 2, 3]
    assert llvm.Float(kind(1))[0] == 1
    assert list(llvm.Float([kind(1), 2])) == [1, 2]


def test_half_is_rounded_once() -> None:
    # Rounding to single precision first would give another tie.
    value = 1 + 2.0**-11 + 2.0**-40
    assert llvm.Float16(value)[0] == float(np.float16(value))
    assert scalar.Array1f16(value).x == float(np.float16(value))


# ------------------------------------------------------------------------ sequences


@pytest.mark.parametrize(
    "make",
    [list, tuple, iter, lambda v: (x for x in v), lambda v: dict.fromkeys(v), np.array],
)
def test_leaf_from_iterables(make: Any) -> None:
    assert list(llvm.Float(make([3.0, 1.0, 2.0]))) == [3, 1, 2]
    assert list(llvm.Int(make([3, 1, 2]))) == [3, 1, 2]


def test_leaf_of_several_arguments() -> None:
    assert list(llvm.Float(1, 2.5, True)) == [1, 2.5, 1]
    assert list(llvm.Int(range(5))) == [0, 1, 2, 3, 4]
    assert list(llvm.Bool(True, False)) == [True, False]
    assert list(llvm.Float({4.0})) == [4]


def test_empty(m: ModuleType) -> None:
    assert len(llvm.Float()) == 0
    assert len(llvm.Float([])) == 0
    assert llvm.Float([]).index == 0
    assert len(m.ArrayXf()) == 0
    assert len(m.Array0f()) == 0 and len(m.Array0f([])) == 0
    entry: Any = m.Float(1)
    for wrong in (1, entry, [1]):
        with pytest.raises(TypeError, match=r"1 elements, expected 0"):
            m.Array0f(wrong)
    assert m.TensorXf().shape == (0,)
    assert list(scalar.Array3f()) == [0, 0, 0]


def test_nested(m: ModuleType) -> None:
    array = llvm.Array3f([1, 2], 3, [5, 6])
    assert lanes(array) == [[1, 2], [3], [5, 6]]
    assert lanes(llvm.Array3f([[1, 2], 3, [5, 6]])) == [[1, 2], [3], [5, 6]]
    assert list(scalar.Array3f([1, 2, 3])) == [1, 2, 3]
    rows = m.Array22f([1, 2], 3)
    assert [[c if m is scalar else c[0] for c in row] for row in rows] == [
        [1, 2],
        [3, 3],
    ]


@pytest.mark.parametrize("arguments", [(1, 2), (1, 2, 3, 4), ([1, 2],), ([],)])
def test_wrong_size(m: ModuleType, arguments: tuple[Any, ...]) -> None:
    count = len(arguments[0]) if len(arguments) == 1 else len(arguments)
    text = rf"Array3f.__init__\(\): the input has {count} elements, expected 3"
    with pytest.raises(TypeError, match=text):
        m.Array3f(*arguments)


def test_sequence_that_contains_itself(m: ModuleType) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for cls in (m.ArrayXf, m.Array1f, m.Matrix2f):
        with pytest.raises(TypeError):
            cls(cycle)
    with pytest.raises((TypeError, RecursionError)):
        m.TensorXf(cycle)
    with pytest.raises(TypeError):
        llvm.Float(cycle)


def test_items_are_taken_first() -> None:
    class Clearing(float):
        def __float__(self) -> float:
            values.clear()
            return 7.0

    class Index:
        def __index__(self) -> int:
            values.clear()
            return 8

    values: list[Any] = [1.0, Index(), 3.0]
    assert list(llvm.Float(values)) == [1, 8, 3]
    values = [1.0, Index(), 3.0]
    assert [c[0] for c in llvm.Array3f(values)] == [1, 8, 3]
    values = [[1.0, Index()], [2.0, 3.0]]
    assert llvm.TensorXf(values).shape == (2, 2)


def test_errors_of_user_code_are_chained() -> None:
    class Broken:
        def __iter__(self) -> Iterator[float]:
            raise ZeroDivisionError("mine")

    class Late:
        def __iter__(self) -> Iterator[float]:
            yield 1.0
            raise ZeroDivisionError("mine")

    class Liar:
        def __len__(self) -> int:
            return 100

        def __getitem__(self, i: int) -> float:
            if i > 2:
                raise IndexError
            return float(i)

    class BadIndex:
        def __index__(self) -> int:
            raise ZeroDivisionError("mine")

    for value in (Broken(), Late(), [BadIndex()], BadIndex()):
        with pytest.raises(TypeError) as error:
            llvm.Float(value)
        assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert list(llvm.Float(Liar())) == [0, 1, 2]

    class Interrupted:
        def __iter__(self) -> Iterator[float]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        llvm.Float(Interrupted())


def test_large_list() -> None:
    values = [float(i) for i in range(100_000)]
    assert llvm.Float(values)[99_999] == 99_999
    array = llvm.Float64(values)
    assert array[54_321] == 54_321


# ------------------------------------------------------------------------ arrays


# From which family to which: none, and neither conversion of ad to ad, is left out.
FAMILY_PAIRS = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1)]


@pytest.mark.parametrize("source", list(SUFFIXES))
@pytest.mark.parametrize("target", list(SUFFIXES))
@pytest.mark.parametrize("families", FAMILY_PAIRS)
def test_between_types(source: str, target: str, families: tuple[int, int]) -> None:
    modules = (scalar, llvm, llvm.ad)
    values = [True, False, True] if source == "b" else [0, 1, 100]
    array = getattr(modules[families[0]], f"Array3{source}")(values)
    other = getattr(modules[families[1]], f"Array3{target}")(array)
    found = [c if families[1] == 0 else c[0] for c in other]
    assert found == [SUFFIXES[target](SUFFIXES[source](v)).item() for v in values]


def test_leaf_to_scalar_and_back() -> None:
    array = llvm.Float(1, 2, 3)
    assert list(scalar.ArrayXf(array)) == [1, 2, 3]
    assert list(scalar.ArrayXi(array)) == [1, 2, 3]
    assert list(scalar.Array3f(array)) == [1, 2, 3]
    assert list(llvm.Int(scalar.ArrayXf(1.5, -2.5))) == [1, -2]
    assert list(scalar.Array3f(llvm.Float(7))) == [7, 7, 7]
    with pytest.raises(TypeError, match="2 entries"):
        scalar.Array3f(llvm.Array3f([1, 2], 3, 4))


def test_broadcast_of_components() -> None:
    assert lanes(llvm.Array2f(llvm.Float(1, 2))) == [[1, 2], [1, 2]]
    row = llvm.Array22f(llvm.Array2f(1, 2))
    assert [[c[0] for c in r] for r in row] == [[1, 2], [1, 2]]
    column = llvm.Array34f(llvm.Array3f(1, 2, 3))
    assert [[c[0] for c in r] for r in column] == [[1] * 4, [2] * 4, [3] * 4]
    with pytest.raises(TypeError, match="2 elements, expected 3"):
        llvm.Array3f(llvm.Array2f(1, 2))
    with pytest.raises(TypeError):
        llvm.Float(llvm.Array3f(1, 2, 3))


def test_copy_on_write() -> None:
    a = llvm.Float(1, 2, 3)
    b = llvm.Float(a)
    assert a.index == b.index != 0
    b[0] = 5
    assert a.index != b.index
    assert list(a) == [1, 2, 3]
    assert list(b) == [5, 2, 3]
    v = llvm.Array2f(a, b)
    w = llvm.Array2f(v)
    w.x = 0
    assert lanes(v) == [[1, 2, 3], [5, 2, 3]]


# ------------------------------------------------------------------------ special types


def rows(matrix: Any, m: ModuleType) -> list[list[float]]:
    return [[c if m is scalar else c[0] for c in row] for row in matrix]


def test_matrix(m: ModuleType) -> None:
    assert rows(m.Matrix2f(3), m) == [[3, 0], [0, 3]]
    for arguments in ((1, 2, 3, 4), ([1, 2], [3, 4]), ([[1, 2], [3, 4]],)):
        assert rows(m.Matrix2f(*arguments), m) == [[1, 2], [3, 4]]
    assert rows(m.Matrix4f(*range(16)), m) == np.arange(16.0).reshape(4, 4).tolist()
    assert rows(m.Matrix2f(m.Array22f([1, 2], [3, 4])), m) == [[1, 2], [3, 4]]
    assert rows(m.Array22f(m.Matrix2f(1, 2, 3, 4)), m) == [[1, 2], [3, 4]]
    with pytest.raises(TypeError):
        m.Matrix2f(1, 2, 3)
    with pytest.raises(TypeError):
        m.Matrix2f(m.Array2f(1, 2))


def test_matrix_of_another_size(m: ModuleType) -> None:
    small = m.Matrix2f(1, 2, 3, 4)
    expected = np.eye(4)
    expected[:2, :2] = [[1, 2], [3, 4]]
    assert rows(m.Matrix4f(small), m) == expected.tolist()
    assert rows(m.Matrix2f(m.Matrix4f(small)), m) == [[1, 2], [3, 4]]
    assert rows(m.Matrix3f64(m.Matrix4f(2)), m) == (2 * np.eye(3)).tolist()


def test_complex(m: ModuleType) -> None:
    def parts(value: Any) -> list[float]:
        return [c if m is scalar else c[0] for c in value]

    assert parts(m.Complex2f(3)) == [3, 0]
    assert parts(m.Complex2f(1, 2)) == [1, 2]
    assert parts(m.Complex2f(1 + 2j)) == [1, 2]
    assert parts(m.Complex2f(np.complex64(1 + 2j))) == [1, 2]
    assert parts(m.Complex2f(m.Array2f(1, 2))) == [1, 2]
    assert parts(m.Complex2f64(m.Complex2f(1, 2))) == [1, 2]
    assert lanes(llvm.Complex2f(llvm.Float(1, 2))) == [[1, 2], [0]]
    for value in (1j, [1, 2, 3]):
        with pytest.raises(TypeError):
            m.Array2f(value)
    with pytest.raises(TypeError):
        m.Complex2f(1j, 2)


def test_quaternion(m: ModuleType) -> None:
    def parts(value: Any) -> list[float]:
        return [c if m is scalar else c[0] for c in value]

    assert parts(m.Quaternion4f(3)) == [0, 0, 0, 3]
    assert parts(m.Quaternion4f(1, 2, 3, 4)) == [1, 2, 3, 4]
    assert parts(m.Array4f(m.Quaternion4f(1, 2, 3, 4))) == [1, 2, 3, 4]
    with pytest.raises(TypeError):
        m.Quaternion4f(m.Complex2f(1, 2))


# ------------------------------------------------------------------------ tensors


def as_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """Without the conversions to NumPy, which have tests of their own."""
    return np.array(list(tensor.array), dtype=np.float64).reshape(tensor.shape)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (1, 2, 3), (2, 0), (0, 3), ()])
def test_tensor_from_lists(m: ModuleType, shape: tuple[int, ...]) -> None:
    values = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
    tensor = m.TensorXf(values.tolist())
    expected = shape if 0 not in shape[:-1] else (0,)
    assert tensor.shape == expected
    assert len(tensor.array) == values.size
    assert as_numpy(tensor).ravel().tolist() == values.ravel().tolist()


@pytest.mark.parametrize(
    "value", [[[1, 2], [3]], [[1, 2], 3], [1, [2]], [[[]], []], [[], [1]]]
)
def test_ragged_tensor(m: ModuleType, value: Any) -> None:
    with pytest.raises(TypeError, match="ragged"):
        m.TensorXf(value)


def test_tensor_with_shape(m: ModuleType) -> None:
    storage = m.Float if m is not scalar else m.ArrayXf
    for tensor in (
        m.TensorXf([1, 2, 3, 4], (2, 2)),
        m.TensorXf(array=storage(1, 2, 3, 4), shape=(2, 2)),
        m.TensorXf(storage(1, 2, 3, 4), shape=[2, 2]),
    ):
        assert tensor.shape == (2, 2)
        assert as_numpy(tensor).tolist() == [[1, 2], [3, 4]]
    assert m.TensorXf(storage(), (0, 3)).shape == (0, 3)
    with pytest.raises(TypeError, match=r"4 entries, expected 6"):
        m.TensorXf([1, 2, 3, 4], (2, 3))
    for shape in ((-1,), ("a",), 4, (2**40, 2**40)):
        with pytest.raises((TypeError, OverflowError)):
            m.TensorXf([1, 2, 3, 4], shape)
    with pytest.raises(TypeError, match="reshape"):
        m.TensorXf(m.TensorXf([1, 2]), (2, 1))
    with pytest.raises(TypeError, match="'foo'"):
        m.TensorXf([1], foo=1)
    with pytest.raises(TypeError):
        m.TensorXf(shape=(1,))


def test_tensor_without_axes(m: ModuleType) -> None:
    single = m.TensorXf(5)
    assert [c if m is scalar else c[0] for c in m.Array3f(single, 2, 3)] == [5, 2, 3]
    assert [c if m is scalar else c[0] for c in m.Array2i(single)] == [5, 5]
    assert rows(m.Matrix2f(single), m) == [[5, 0], [0, 5]]
    assert list(llvm.Float(single)) == [5]


def test_tensor_from_arrays() -> None:
    array = llvm.Array3f([1, 2], 3, [4, 5])
    tensor = llvm.TensorXf(array)
    assert as_numpy(tensor).tolist() == [[1, 2], [3, 3], [4, 5]]
    flipped = llvm.TensorXf(array, flip_axes=True)
    assert as_numpy(flipped).tolist() == [[1, 3, 4], [2, 3, 5]]
    matrix = llvm.Matrix2f([1, 2], 3, 4, 5)
    lane, row, column = np.meshgrid(range(2), range(2), range(2), indexing="ij")
    values = np.array([[[1, 2], [3, 3]], [[4, 4], [5, 5]]])
    assert as_numpy(llvm.TensorXf(matrix)).tolist() == values.tolist()
    expected = values[column, row, lane]
    found = as_numpy(llvm.TensorXf(matrix, flip_axes=True))
    assert found.tolist() == expected.tolist()
    assert lanes(llvm.Array3f(tensor)) == [[1, 2], [3, 3], [4, 5]]
    assert list(scalar.TensorXf(tensor).array) == [1, 2, 3, 3, 4, 5]
    assert list(llvm.TensorXi(scalar.TensorXf(tensor)).array) == [1, 2, 3, 3, 4, 5]
    mixed = llvm.TensorXf([[1, 2], llvm.Float(3, 4), llvm.TensorXf([5, 6])])
    assert as_numpy(mixed).tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(TypeError, match="is ragged"):
        llvm.TensorXf(llvm.Array2f([1, 2], [1, 2, 3]))
    with pytest.raises(TypeError, match="dimensions, expected"):
        llvm.Float(mixed)


# ------------------------------------------------------------------------ classes


def test_keywords(m: ModuleType) -> None:
    with pytest.raises(TypeError, match="no argument named"):
        m.Array3f(x=1)


def test_subclass() -> None:
    class Named(llvm.Array2f):  # type: ignore[misc]
        def __init__(self, *args: Any, name: str = "") -> None:
            super().__init__(*args)
            self.name = name

    value = Named(1, 2, name="n")
    assert lanes(value) == [[1], [2]]
    for other in (copy.copy(value), copy.deepcopy(value)):
        assert type(other) is Named
        assert other.name == "n"
        assert lanes(other) == [[1], [2]]
    with pytest.raises(TypeError):
        dr.ArrayBase()


@pytest.mark.parametrize(
    "value",
    [
        llvm.Float(1, 2, 3),
        llvm.Float(4),
        llvm.Float(),
        llvm.Array3f([1, 2], 3, 4),
        llvm.ArrayXb([True, False], True),
        llvm.TensorXf([[1, 2], [3, 4]]),
        llvm.TensorXi([[]]),
        scalar.Array3f(1, 2, 3),
        scalar.ArrayXu64(2**64 - 1),
        scalar.TensorXf16([[1, 2]]),
        scalar.Matrix2f64(1, 2, 3, 4),
    ],
)
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, "pickle"])
def test_copies(value: Any, how: Any) -> None:
    other = pickle.loads(pickle.dumps(value)) if how == "pickle" else how(value)
    assert type(other) is type(value)
    assert other is not value
    assert other.shape == value.shape
    assert str(other) == str(value)


@pytest.mark.parametrize(
    "state",
    [
        None,
        (),
        (None, (), None),
        (None, (b"abc",), None),
        ((2,), (b"abcd",), None),
        (None, (b"abcd", b"abcd"), None),
        (None, ("abcd",), None),
        (None, [b"abcd"], None),
        ((2**62, 2**62), (b"abcd",), None),
        ((-1,), (b"abcd",), None),
        (("a",), (b"abcd",), None),
        (None, ((b"abcd", 0),), None),
        (None, ((b"abcd", -1),), None),
        (None, ((b"abcd", 2**32),), None),
        (None, ((b"abcd", 2.0),), None),
        (None, ((b"abc", 2),), None),
        (None, ((b"abcdabcd", 1),), None),
        (None, ((b"abcd",),), None),
        (None, ((None, 1),), None),
        (None, (memoryview(b"abcdefgh")[::2],), None),
    ],
)
def test_damaged_pickles(m: ModuleType, state: Any) -> None:
    for cls in (m.Array3f, m.TensorXf, m.Matrix2f):
        with pytest.raises(ValueError, match="the state is another object"):
            cls().__setstate__(state)
    with pytest.raises(ValueError, match="the state is another object"):
        m.Array1b().__setstate__((None, (b"\x02",), None))


def test_pickles_keep_states() -> None:
    """Literals stay literals, of any size, and what is in memory stays there."""
    for value in (llvm.Float(2), dr.full(llvm.UInt, 7, 10**6), dr.zeros(llvm.Bool, 5)):
        data = pickle.dumps(value, 5)
        assert len(data) < 200
        other = pickle.loads(data)
        assert other.state == dr.VarState.Literal
        assert len(other) == len(value) and dr.all(other == value)
    for value in (dr.opaque(llvm.Float, 2), dr.opaque(llvm.Int8, 3, 5000)):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            other = pickle.loads(pickle.dumps(value, protocol))
            assert other.state == dr.VarState.Evaluated
            assert dr.all(other == value)


class Reduced(llvm.Float):
    """With a pickle of its own."""

    def __reduce__(self) -> Any:
        return Reduced, (7,)


def test_own_pickles() -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(Reduced(1, 2, 3), protocol))
        assert type(other) is Reduced and list(other) == [7]


def address(memory: Any) -> int:
    return int(np.asarray(memory).ctypes.data)


def test_pickles_without_copies() -> None:
    """Protocol 5 with buffers out of band: entries are never copied."""
    value = llvm.ArrayXf(dr.arange(llvm.Float, 5000), dr.arange(llvm.Float, 5000) + 1)
    dr.eval(value)
    own = address(value[1].numpy())
    buffers: list[Any] = []
    data = pickle.dumps([value, llvm.Float(1, 2)], 5, buffer_callback=buffers.append)
    assert len(data) < 400
    assert len(buffers) == 2
    raw = [buffer.raw() for buffer in buffers]
    assert all(view.readonly and view.nbytes == 20000 for view in raw)
    if value[1].__dlpack_device__()[0] == 1:  # where the host can read
        assert address(raw[1]) == own
    sent = [bytearray(view) for view in raw]
    other, small = pickle.loads(data, buffers=sent)
    assert list(small) == [1, 2]
    np.frombuffer(sent[1], np.float32)[7] = 100  # what arrives is this memory
    assert other[1][7] == 100
    assert dr.count(other[1] != value[1])[0] == 1
    other[0] += 1  # it is not written to the buffer
    assert np.frombuffer(sent[0], np.float32)[1] == 1
    assert other[0][1] == 2
    del other
    gc.collect()
    dr.eval(llvm.Float(1) + 1)  # memory that nobody uses any more is given back
    sent[0].extend(b"x")
    apart = memoryview(bytearray(20001))[1:]  # entries cannot be there
    moved, _ = pickle.loads(data, buffers=[apart, apart])
    assert dr.all(moved == 0, axis=None)


def test_flip_axes() -> None:
    # As published: the axes of a tensor or a foreign array in opposite order.
    data = np.arange(12, dtype=np.float32)
    for name, extents in (("Array3f", (4, 3)), ("Array4f", (3, 4)), ("ArrayXf", (6, 2)),
                          ("Matrix2f", (3, 2, 2)), ("Float", (12,))):  # fmt: skip
        cls = getattr(llvm, name)
        array = data.reshape(extents)
        for source in (llvm.TensorXf(data, extents), array):
            flipped = cls(source, flip_axes=True)
            assert type(flipped) is cls
            assert np.array_equal(llvm.TensorXf(flipped).numpy(), array.T)
        plain = cls(llvm.TensorXf(array.T.ravel(), array.T.shape), flip_axes=False)
        assert np.array_equal(llvm.TensorXf(plain).numpy(), array.T)
    for vector in (llvm.Array3f([1, 2, 3], flip_axes=True),
                   llvm.Array3f(1, 2, 3, flip_axes=True)):  # fmt: skip
        assert dr.all(vector == llvm.Array3f(1, 2, 3), axis=None)
    matrix = scalar.Array22f(scalar.TensorXf([1, 2, 3, 4], (2, 2)), flip_axes=True)
    assert matrix[0][1] == 3 and matrix[1][0] == 2
    with pytest.raises(TypeError, match="expected 3"):
        llvm.Array3f(llvm.TensorXf(range(6), (3, 2)), flip_axes=True)
    with pytest.raises(TypeError, match="'flip_axes' is not a bool"):
        llvm.Array3f(1, flip_axes=1)
    with pytest.raises(TypeError, match="no argument named 'flip'"):
        llvm.Array3f(1, flip=True)


def test_lanes_in_front() -> None:
    """What has the lanes in the first axis is refused with a hint that works."""
    for cls, shape in ((llvm.Array3f, (5, 3)), (llvm.Matrix2f, (5, 2, 2))):
        array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        with pytest.raises(TypeError, match="(Components come first|Lanes come last)"):
            cls(array)
        assert np.array_equal(cls(np.moveaxis(array, 0, -1))[1], array[:, 1].T)
    with pytest.raises(TypeError, match=r"'\.T' fits"):
        llvm.Array3f(np.zeros((5, 3)))
    for wrong in (np.zeros((5, 2)), np.zeros((5, 3, 3))):
        with pytest.raises(TypeError) as caught:
            llvm.Array3f(wrong)
        assert "fits" not in str(caught.value)
