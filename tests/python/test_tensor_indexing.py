"""t[key], t[key] = value, t.mT and slice_index(), compared with NumPy."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]


def tensor_of(m: ModuleType, values: Array) -> Any:
    shape = tuple(int(n) for n in values.shape)
    return m.TensorXf(values.ravel().tolist(), shape) if shape else m.TensorXf(1)


def numpy_of(tensor: Any) -> Array:
    return np.array(list(tensor.array), dtype=np.float64).reshape(tensor.shape)


def index_of(m: ModuleType, values: Any) -> Any:
    return m.Int(values) if m is not scalar else m.ArrayXi(values)


def sample(*shape: int) -> Array:
    return np.arange(math.prod(shape), dtype=np.float64).reshape(shape)


BASIC_KEYS: list[Any] = [
    0,
    -1,
    (0, 1),
    (0, 1, 2),
    (-1, -1, -1),
    ...,
    (),
    None,
    (..., 0),
    (0, ...),
    (slice(None), None, 0),
    (None, ..., None),
    slice(0, 1),
    slice(None, None, -1),
    (slice(None), slice(None, None, -1)),
    (slice(None), slice(2, 0, -1), slice(1, None, 2)),
    slice(5, 9),
    (slice(None), slice(0, 0)),
    (0, slice(None), slice(3, None, -2)),
    (1, None, slice(None), 2),
    np.int64(1),
]


@pytest.mark.parametrize("key", BASIC_KEYS, ids=repr)
def test_read(m: ModuleType, key: Any) -> None:
    values = sample(2, 3, 4)
    found = tensor_of(m, values)[key]
    assert type(found) is m.TensorXf
    expected = values[key]
    assert found.shape == expected.shape
    assert numpy_of(found).tolist() == expected.tolist()


@pytest.mark.parametrize("key", BASIC_KEYS, ids=repr)
def test_write(m: ModuleType, key: Any) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    tensor[key] = -1
    values[key] = -1
    assert numpy_of(tensor).tolist() == values.tolist()
    block = sample(*values[key].shape) + 100
    tensor[key] = tensor_of(m, block) if block.ndim else 100
    values[key] = block if block.ndim else 100
    assert numpy_of(tensor).tolist() == values.tolist()


def extents(rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(0, 4)] * rank)


def part(extent: int) -> st.SearchStrategy[Any]:
    bound = st.none() | st.integers(-6, 6)
    step = st.none() | st.integers(-3, 3).filter(bool)
    slices = st.builds(slice, bound, bound, step)
    return slices | st.integers(-extent, extent - 1) if extent else slices


@st.composite
def selections(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    shape = draw(st.integers(1, 4).flatmap(extents))
    count = draw(st.integers(0, len(shape)))
    front = draw(st.integers(0, count))
    key: list[Any] = [draw(part(n)) for n in shape[:front]]
    back = [draw(part(n)) for n in shape[len(shape) - (count - front) :]]
    key += [Ellipsis, *(back if count > front else [])]
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    return shape, tuple(key)


@pytest.mark.parametrize("m", [scalar, llvm, llvm.ad])
@settings(max_examples=60, deadline=None)
@given(selections())
def test_random(
    m: ModuleType, selection: tuple[tuple[int, ...], tuple[Any, ...]]
) -> None:
    shape, key = selection
    values = sample(*shape)
    tensor = tensor_of(m, values)
    found = tensor[key]
    assert found.shape == values[key].shape
    assert numpy_of(found).tolist() == values[key].tolist()
    tensor[key] = -1
    values[key] = -1
    assert numpy_of(tensor).tolist() == values.tolist()


ARRAY_KEYS: list[Any] = [
    ([1, 0, 1],),
    ([-1, 0],),
    ([0, 1], [2, 0]),
    ([0, 1], slice(None), [3, 1]),
    (slice(None), [0, 2], [1, 1]),
    ([0, 1], slice(None, None, -1)),
    ([1], [0, 1, 2]),
    (slice(None), [2, 1, 0], None),
    (None, [0, 1]),
    (..., [3, 0]),
    ([1, 0], ..., [0, 3]),
    ([],),
]


@pytest.mark.parametrize("key", ARRAY_KEYS, ids=repr)
def test_index_arrays(m: ModuleType, key: tuple[Any, ...]) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    ours = tuple(index_of(m, k) if isinstance(k, list) else k for k in key)
    theirs = tuple(np.array(k, int) if isinstance(k, list) else k for k in key)
    assert numpy_of(tensor[ours]).tolist() == values[theirs].tolist()
    tensor[ours] = -1
    values[theirs] = -1
    assert numpy_of(tensor).tolist() == values.tolist()


def test_index_arrays_with_integers(m: ModuleType) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    first, last = index_of(m, [0, 1]), index_of(m, [1, 2])
    assert (
        numpy_of(tensor[first, 0, last]).tolist() == values[[0, 1], 0, [1, 2]].tolist()
    )
    # An integer is not paired with index arrays: the axes stay in their order.
    assert numpy_of(tensor[0, :, last]).tolist() == values[0][:, [1, 2]].tolist()


def test_index_tensors(m: ModuleType) -> None:
    values = sample(3, 4)
    key = np.array([[0, 2], [1, 1]])
    column = np.array([[1], [3]])
    tensor = tensor_of(m, values)
    found = tensor[m.TensorXu(key.tolist())]
    assert numpy_of(found).tolist() == values[key].tolist()
    found = tensor[m.TensorXi(key.tolist()), m.TensorXi64(column.tolist())]
    assert numpy_of(found).tolist() == values[key, column].tolist()


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (5, IndexError),
        (-3, IndexError),
        ((0, 0, 0, 0), IndexError),
        ((..., ...), IndexError),
        ((0, 0, 9), IndexError),
        (10**30, IndexError),
        ("a", TypeError),
        (1.5, TypeError),
        (True, TypeError),
        ([0, 1], TypeError),
        (((0, 1),), TypeError),
        (slice(None, None, 0), ValueError),
        (slice("a"), TypeError),
    ],
    ids=repr,
)
def test_invalid_keys(m: ModuleType, key: Any, error: type[Exception]) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    with pytest.raises(error):
        tensor[key]
    with pytest.raises(error):
        tensor[key] = 1
    assert numpy_of(tensor).tolist() == values.tolist()


def test_invalid_index_arrays(m: ModuleType) -> None:
    tensor = tensor_of(m, sample(2, 3, 4))
    with pytest.raises(
        IndexError, match="index 7 is out of bounds for axis 0 with size 2"
    ):
        tensor[index_of(m, [7])]
    with pytest.raises(IndexError, match="index array 1 has another size"):
        tensor[index_of(m, [0, 1]), index_of(m, [0, 1, 2])]
    for key in (m.Array2u(0, 1) if m is not scalar else m.Array22f(1), m.ArrayXf(1.0)):
        with pytest.raises(TypeError, match="the key is of type"):
            tensor[key]


def test_index_arrays_in_host_memory(m: ModuleType) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    wrong: list[tuple[Any, int]] = [
        (scalar.ArrayXu(1, 2), 2),
        (scalar.ArrayXi(-3, 1), -3),
        (scalar.ArrayXi64(0, 1 << 32), 1 << 32),
        (scalar.TensorXu([0, 9]), 9),
    ]
    for key, found in wrong:
        message = f"index {found} is out of bounds for axis 0 with size 2"
        with pytest.raises(IndexError, match=message):
            tensor[key]
        with pytest.raises(IndexError, match=message):
            tensor[key] = 1
    assert numpy_of(tensor).tolist() == values.tolist()
    found = numpy_of(tensor[scalar.ArrayXi(-1, 0)])
    assert found.tolist() == values[[-1, 0]].tolist()


@pytest.mark.parametrize(
    "value",
    [[1, 2, 3, 4], [[1], [2], [3]], [[5]], 7, [[[1, 2, 3, 4]]], [[1, 2, 3, 4]] * 3],
)
def test_broadcast_of_values(m: ModuleType, value: Any) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    tensor[1] = value
    values[1] = np.array(value)
    assert numpy_of(tensor).tolist() == values.tolist()
    tensor[0] = m.TensorXi(value)
    values[0] = np.array(value)
    assert numpy_of(tensor).tolist() == values.tolist()


def test_values_that_do_not_fit(m: ModuleType) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    wrong: list[Any] = [[1, 2], [[1, 2, 3]], [[[[1]], [[2]]]]]
    for value in wrong:
        with pytest.raises(ValueError, match=r"the value has shape \(.*\), expected"):
            tensor[0] = value
    unsuitable: list[Any] = ["a", None, [[1], 2], object()]
    for value in unsuitable:
        with pytest.raises(TypeError):
            tensor[0] = value
    assert numpy_of(tensor).tolist() == values.tolist()
    integers = m.TensorXi([1, 2])
    with pytest.raises(TypeError):
        integers[0] = 1.5
    with pytest.raises(TypeError):
        del integers[0]


def test_flat_values(m: ModuleType) -> None:
    values = sample(2, 3, 4)
    tensor = tensor_of(m, values)
    flat = m.Float(range(12)) if m is not scalar else m.ArrayXf(range(12))
    tensor[1] = flat
    values[1] = np.arange(12).reshape(3, 4)
    assert numpy_of(tensor).tolist() == values.tolist()
    tensor[0] = tensor[1]
    tensor[:, 0] = tensor[:, 2]
    values[0] = values[1]
    values[:, 0] = values[:, 2]
    assert numpy_of(tensor).tolist() == values.tolist()
    tensor[::-1] = tensor
    assert numpy_of(tensor).tolist() == values[::-1].tolist()


def test_keys_that_change_the_tensor(m: ModuleType) -> None:
    class Evil:
        def __index__(self) -> int:
            tensor.__init__([1.0])
            return 1

    class Values:
        def __iter__(self) -> Any:
            tensor.__init__([1.0])
            return iter([1.0, 2.0, 3.0])

    tensor = m.TensorXf([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(RuntimeError, match="changed its shape"):
        tensor[Evil(), slice(0, 2)]
    tensor = m.TensorXf([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(RuntimeError, match="changed its size"):
        tensor[1] = Values()


def test_masks(m: ModuleType) -> None:
    values = sample(2, 3)
    tensor = tensor_of(m, values)
    assert numpy_of(tensor[tensor > 2]).tolist() == values.tolist()
    tensor[tensor > 2] = 0
    values[values > 2] = 0
    assert numpy_of(tensor).tolist() == values.tolist()
    tensor[tensor > 1] += 5
    values[values > 1] += 5
    assert numpy_of(tensor).tolist() == values.tolist()


def test_identity_and_copies(m: ModuleType) -> None:
    tensor = tensor_of(m, sample(2, 3))
    assert tensor[:] is tensor
    other = tensor[...]
    other[0] = 9
    assert numpy_of(tensor).tolist() == sample(2, 3).tolist()
    alias = tensor
    tensor[0, 0] = 5
    assert numpy_of(alias)[0, 0] == 5


def test_storage_is_a_view(m: ModuleType) -> None:
    tensor = tensor_of(m, sample(2, 3))
    storage = tensor.array
    assert type(storage) is (m.Float if m is not scalar else m.ArrayXf)
    storage[4] = 100
    assert numpy_of(tensor)[1, 1] == 100
    tensor[0, 0] = 50
    assert storage[0] == 50
    del tensor
    assert storage[4] == 100


def test_entries_are_lazy() -> None:
    tensor = llvm.TensorXf([[1, 2], [3, 4]])
    entry = tensor[1, 0]
    assert entry.shape == ()
    assert entry.item() == 3
    assert tensor[...].array.index == tensor.array.index


def test_iteration(m: ModuleType) -> None:
    values = sample(2, 3)
    rows = list(tensor_of(m, values))
    assert [numpy_of(row).tolist() for row in rows] == values.tolist()
    assert len(tensor_of(m, values)) == 2


@pytest.mark.parametrize("shape", [(2, 3), (1, 4), (2, 3, 4), (2, 0), (2, 1, 2, 3)])
def test_transpose(m: ModuleType, shape: tuple[int, ...]) -> None:
    values = sample(*shape)
    tensor = tensor_of(m, values)
    expected = np.swapaxes(values, -1, -2)
    assert tensor.mT.shape == expected.shape
    assert numpy_of(tensor.mT).tolist() == expected.tolist()
    if len(shape) == 2:
        assert numpy_of(tensor.T).tolist() == values.T.tolist()
    else:
        with pytest.raises(TypeError, match="expected 2"):
            _ = tensor.T
    with pytest.raises(TypeError, match="at least 2"):
        _ = m.TensorXf([1, 2]).mT


@pytest.mark.parametrize("dtype", [llvm.UInt, scalar.ArrayXu])
def test_slice_index(dtype: Any) -> None:
    shape, index = dr.slice_index(
        dtype=dtype, shape=(10, 1), indices=(slice(0, 10, 2), 0)
    )
    assert shape == (5,)
    assert list(index) == [0, 2, 4, 6, 8]
    assert type(index) is dtype
    places = np.arange(24).reshape(2, 3, 4)
    for key in BASIC_KEYS:
        parts = key if isinstance(key, tuple) else (key,)
        shape, index = dr.slice_index(dtype, (2, 3, 4), parts)
        assert shape == places[key].shape
        assert list(index) == places[key].ravel().tolist()


def test_slice_index_arguments() -> None:
    for dtype in (llvm.Int, llvm.Float, llvm.UInt64, llvm.Array3u, scalar.Array3u, int):
        with pytest.raises(TypeError, match="dtype"):
            dr.slice_index(dtype, (2,), (0,))
    for arguments in (([2], (0,)), ((2,), 0), (("a",), (0,)), ((2.5,), (0,))):
        with pytest.raises(TypeError):
            dr.slice_index(llvm.UInt, *arguments)
    with pytest.raises(ValueError, match="extent -"):
        dr.slice_index(llvm.UInt, (-2,), (0,))
    large = (2**20, 2**20)
    assert dr.slice_index(llvm.UInt, large, (0,))[0] == (2**20,)
    for dtype in (llvm.UInt, scalar.ArrayXu):
        with pytest.raises(OverflowError):
            dr.slice_index(dtype, large, (slice(None), 0))
    with pytest.raises(OverflowError):
        dr.slice_index(llvm.UInt, (2**40, 2**40), (slice(None), 0))


def test_errors_of_two_classes() -> None:
    tensor = llvm.TensorXf(range(6), (2, 3))
    for other in (IndexError, RuntimeError):
        for key in ((slice(None), 9), (0, 0, 0), (..., ...)):
            with pytest.raises(other) as info:
                dr.slice_index(llvm.UInt, (2, 3), key)
            assert type(info.value).__name__ == "IndexError"
    for other in (IndexError, TypeError):
        with pytest.raises(other, match="out of bounds"):
            tensor[9]
        with pytest.raises(other, match="indices, expected at most"):
            tensor[0, 0, 0] = 1
