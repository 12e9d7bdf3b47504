"""ravel, unravel, reshape, tile and repeat against NumPy's functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar
from drjit.llvm import ad

STATIC = {
    "Array1f": (1,),
    "Array2f": (2,),
    "Array3f": (3,),
    "Array4f": (4,),
    "Matrix2f": (2, 2),
    "Matrix3f": (3, 3),
    "Array43f": (4, 3),
    "Array34f": (3, 4),
    "Array334f": (3, 3, 4),
    "Matrix43f": (4, 4, 3),
    "Complex2f": (2,),
    "Quaternion4f": (4,),
}


@dataclass
class Pair:
    a: llvm.Float = field(default_factory=llvm.Float)
    b: llvm.Array2f = field(default_factory=llvm.Array2f)


def flat(m: ModuleType) -> Any:
    return m.ArrayXf if m is scalar else m.Float


def rows(a: Any) -> list[Any]:
    return [list(a[i]) for i in range(len(a))]


def leaf_entries(value: Any, shape: tuple[int, ...]) -> Any:
    """Entries read one leaf after the other, without ravel()."""
    if len(shape) == 1:
        return np.array(list(value))
    return np.stack([leaf_entries(value[i], shape[1:]) for i in range(shape[0])])


# ------------------------------------------------------------------ ravel, unravel


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize("order", ["A", "C", "F"])
@pytest.mark.parametrize("width", [1, 5])
def test_ravel_and_unravel(name: str, order: str, width: int) -> None:
    shape = (*STATIC[name], width)
    data = np.arange(np.prod(shape), dtype=np.float32)
    numpy_order: Any = "C" if order == "C" else "F"
    expected = data.reshape(shape, order=numpy_order)
    cls = getattr(llvm, name)
    value = dr.unravel(cls, llvm.Float(data.tolist()), order)
    assert type(value) is cls
    np.testing.assert_array_equal(leaf_entries(value, shape), expected)
    again = dr.ravel(value, order)
    assert type(again) is llvm.Float
    assert list(again) == data.tolist()


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize("order", ["A", "C", "F"])
def test_ravel_and_unravel_numbers(name: str, order: str) -> None:
    shape = STATIC[name]
    data = np.arange(np.prod(shape), dtype=np.float32)
    numpy_order: Any = "C" if order == "C" else "F"
    cls = getattr(scalar, name)
    value = dr.unravel(cls, scalar.ArrayXf(data.tolist()), order)
    np.testing.assert_array_equal(
        leaf_entries(value, shape), data.reshape(shape, order=numpy_order)
    )
    assert list(dr.ravel(value, order)) == data.tolist()


def test_ravel_of_mixed_sizes() -> None:
    value = llvm.Array3f([1, 2], 5, [3, 4])
    assert list(dr.ravel(value)) == [1, 5, 3, 2, 5, 4]
    assert list(dr.ravel(value, "C")) == [1, 2, 5, 5, 3, 4]
    assert list(dr.ravel(llvm.ArrayXf([1, 2], 3))) == [1, 3, 2, 3]
    assert list(dr.ravel(llvm.Array2b(True, [False, True]))) == [
        True,
        False,
        True,
        True,
    ]


def test_ravel_returns_what_is_flat(m: ModuleType) -> None:
    x = flat(m)([1, 2])
    assert dr.ravel(x) is x
    assert dr.ravel(5) == 5
    tensor = m.TensorXf([1, 2, 3, 4], (2, 2))
    storage = dr.ravel(tensor)
    assert list(storage) == [1, 2, 3, 4]
    dr.scatter(storage, 9, 1)
    assert list(tensor.array) == [1, 9, 3, 4]
    with pytest.raises(RuntimeError, match="tensors have 'C' only"):
        dr.ravel(tensor, "F")


def test_ravel_of_nothing() -> None:
    assert list(dr.ravel(llvm.Array0f())) == []
    assert list(dr.ravel(llvm.ArrayXf())) == []
    assert list(dr.ravel(llvm.Array2f())) == []
    assert dr.unravel(llvm.Array2f, llvm.Float()).shape == (2, 0)


def test_ravel_rejects() -> None:
    with pytest.raises(RuntimeError, match="'order' is 'X'"):
        dr.ravel(llvm.Array2f(1, 2), "X")
    with pytest.raises(TypeError, match="'order' is 5"):
        dr.ravel(llvm.Array2f(1, 2), 5)
    with pytest.raises(TypeError, match="expected an array"):
        dr.ravel("abc")
    with pytest.raises(RuntimeError):
        dr.ravel(llvm.Array2f([1, 2], [1, 2, 3]))


@pytest.mark.parametrize(
    "dtype, value, error",
    [
        (llvm.Array3f, llvm.Float(1, 2, 3, 4), RuntimeError),
        (llvm.Array3f, llvm.TensorXf([1, 2, 3], (3,)), TypeError),
        (llvm.Array3f, llvm.Array3f(1), TypeError),
        (llvm.Array3f, [1, 2, 3], TypeError),
        (llvm.ArrayXf, llvm.Float(1), TypeError),
        (llvm.TensorXf, llvm.Float(1), TypeError),
        (float, llvm.Float(1), TypeError),
        (scalar.Array3f, scalar.ArrayXf(range(6)), RuntimeError),
    ],
)
def test_unravel_rejects(dtype: Any, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"drjit\.unravel\("):
        dr.unravel(dtype, value)


def test_unravel_of_flat_types() -> None:
    x = llvm.Float(1, 2)
    assert dr.unravel(llvm.Float, x) is x


def test_ravel_is_traced() -> None:
    x = llvm.Array3f(dr.arange(llvm.Float, 4), 1, 2)
    dr.eval()
    before = dr.detail.launch_stats()[0]
    y = dr.ravel(x * 2)
    assert dr.detail.launch_stats()[0] == before
    assert list(y) == [0, 2, 4, 2, 2, 4, 4, 2, 4, 6, 2, 4]


# ------------------------------------------------------------------ reshape


@pytest.mark.parametrize("shape", [6, (6,), [2, 3], (3, -1), -1, (1, 6, 1), (2, 3, 1)])
def test_reshape_tensors(m: ModuleType, shape: Any) -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = m.TensorXf(data.ravel().tolist(), data.shape)
    expected = data.reshape(shape)
    for result in (dr.reshape(value, shape), dr.reshape(m.TensorXf, value, shape)):
        assert type(result) is m.TensorXf
        assert result.shape == expected.shape
        assert list(result.array) == data.ravel().tolist()
    result = dr.reshape(value=value, shape=shape, order="C")
    assert result.shape == expected.shape


def test_reshape_copies_tensors(m: ModuleType) -> None:
    value = m.TensorXf([1, 2], (2,))
    other = dr.reshape(value, (1, 2))
    dr.scatter(other.array, 9, 0)
    assert list(value.array) == [1, 2]
    assert list(other.array) == [9, 2]


def test_reshape_to_a_number_and_nothing(m: ModuleType) -> None:
    assert dr.reshape(m.TensorXf([5], (1,)), ()).shape == ()
    assert dr.reshape(m.TensorXf([], (0,)), (3, 0)).shape == (3, 0)


@pytest.mark.parametrize("shape", [(4, -1), (5,), (), (-2, 3), (-1, -1), (0, -1)])
def test_reshape_to_wrong_shapes(m: ModuleType, shape: Any) -> None:
    value = m.TensorXf(range(6), (2, 3))
    with pytest.raises(RuntimeError, match=r"drjit\.reshape\("):
        dr.reshape(value, shape)


@pytest.mark.parametrize("shape", ["6", 1.5, None, (1.5,), ("a",)])
def test_reshape_to_no_shapes(shape: Any) -> None:
    with pytest.raises(TypeError):
        dr.reshape(llvm.TensorXf([1], (1,)), shape)
    with pytest.raises(OverflowError):
        dr.reshape(llvm.TensorXf([1], (1,)), (2**40, 2**40))


def test_reshape_orders() -> None:
    tensor = llvm.TensorXf([1, 2], (2,))
    with pytest.raises(RuntimeError, match="tensors have 'C' only"):
        dr.reshape(tensor, (2, 1), order="F")
    with pytest.raises(RuntimeError, match="'order' is 'X'"):
        dr.reshape(tensor, (2, 1), order="X")


def test_reshape_between_nested_arrays() -> None:
    """The API reference has this example with the 'C' and 'F' results exchanged."""
    value = llvm.Array2f([1, 2, 3], [4, 5, 6])
    data = np.array(rows(value))
    for order in ("C", "F"):
        result = dr.reshape(llvm.Array3f, value, (3, -1), order=order)
        numpy_order: Any = order
        expected = data.ravel(numpy_order).reshape((3, 2), order=numpy_order)
        assert rows(result) == expected.tolist()
    assert rows(dr.reshape(llvm.Array3f, value, (3, 2))) == rows(
        dr.reshape(llvm.Array3f, value, (3, 2), "F")
    )
    assert list(dr.reshape(llvm.Float, value, -1, order="C")) == [1, 2, 3, 4, 5, 6]
    dynamic = dr.reshape(llvm.ArrayXf, llvm.Float(range(6)), (3, -1))
    assert rows(dynamic) == [[0, 3], [1, 4], [2, 5]]


def test_reshape_between_tensors_and_arrays(m: ModuleType) -> None:
    tensor = m.TensorXf(range(4), (2, 2))
    assert list(dr.reshape(flat(m), tensor, -1)) == [0, 1, 2, 3]
    again = dr.reshape(m.TensorXf, flat(m)(range(4)), (2, 2))
    assert again.shape == (2, 2)
    assert list(again.array) == [0, 1, 2, 3]
    converted = dr.reshape(m.TensorXi, tensor, (4,))
    assert type(converted) is m.TensorXi
    assert list(converted.array) == [0, 1, 2, 3]


def test_reshape_tensor_into_leaves() -> None:
    """Without 'order', the components are filled in Fortran order."""
    tensor = llvm.TensorXf(range(6), (2, 3))
    value = dr.reshape(llvm.Array2f, tensor, (2, -1))
    assert rows(value) == [[0, 2, 4], [1, 3, 5]]
    assert rows(dr.reshape(llvm.Array2f, tensor, (2, 3))) == rows(value)
    back = dr.reshape(llvm.TensorXf, value, (2, 3))
    assert list(back.array) == list(range(6))


def test_reshape_sequences() -> None:
    assert dr.reshape(llvm.TensorXf, [1, 2, 3, 4], (2, 2)).shape == (2, 2)


def test_reshape_same_shape_and_others() -> None:
    value = llvm.Array2f([1, 2, 3], [4, 5, 6])
    assert rows(dr.reshape(value, (2, 3))) == rows(value)
    assert rows(dr.reshape(value, (2, -1))) == rows(value)
    for shape in ((3, 2), -1, 6):
        with pytest.raises(RuntimeError, match="cannot have this shape"):
            dr.reshape(value, shape)
    assert rows(dr.reshape(llvm.Array2f, llvm.Float(range(4)), 4)) == [[0, 2], [1, 3]]
    with pytest.raises(RuntimeError, match="cannot have this shape"):
        dr.reshape(llvm.Array2f, llvm.Float(range(4)), (1, 4))
    with pytest.raises(RuntimeError, match="4 entries, expected 2"):
        dr.reshape(llvm.Float(range(4)), 2)


def test_reshape_trees() -> None:
    tree = [llvm.Float(range(4)), "a", 5]
    result = dr.reshape(tree, 4)
    assert list(result[0]) == [0, 1, 2, 3]
    assert result[1:] == ["a", 5]
    assert dr.reshape("a", 4) == "a"
    with pytest.raises(TypeError, match="cannot become"):
        dr.reshape(tuple, tree, 4)


def test_shrink(m: ModuleType) -> None:
    cls = flat(m)
    x = cls(range(4))
    assert list(dr.reshape(x, 2, shrink=True)) == [0, 1]
    assert list(dr.reshape(x, 0, shrink=True)) == []
    assert list(dr.reshape(x, -1, shrink=True)) == [0, 1, 2, 3]
    assert list(dr.reshape(cls, x, 3, shrink=True)) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="cannot shrink 4 entries to 5"):
        dr.reshape(x, 5, shrink=True)
    tensor = dr.reshape(m.TensorXf(range(6), (2, 3)), (1, 3), shrink=True)
    assert tensor.shape == (1, 3)
    assert list(tensor.array) == [0, 1, 2]


def test_shrink_to_another_type(m: ModuleType) -> None:
    data = np.arange(12).reshape(3, 4)
    for shape in ((2, 3), (0, 3), (12,)):
        found = dr.reshape(m.TensorXf, m.TensorXi(data), shape, shrink=True)
        assert type(found) is m.TensorXf and found.shape == shape
        assert list(found.array) == data.ravel()[: math.prod(shape)].tolist()
    found = dr.reshape(flat(m), m.TensorXi(data), 5, shrink=True)
    assert list(found) == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="cannot shrink 12 entries to 15"):
        dr.reshape(m.TensorXf, m.TensorXi(data), (3, 5), shrink=True)
    with pytest.raises(RuntimeError, match="no extent in place of -1"):
        dr.reshape(m.TensorXf, m.TensorXi(data), (5, -1), shrink=True)


@pytest.mark.parametrize("order", ["F", "C"])
def test_shrink_nested_arrays_to_another_type(order: Any) -> None:
    """The first entries in the given order."""
    data = np.arange(12).reshape(3, 4)
    x = llvm.Array3i(*data.tolist())
    drawn = data.ravel(order)
    for shape in ((2, 3), (2, 1), (2, 6)):
        wanted = drawn[: math.prod(shape)].reshape(shape, order=order)
        for cls in (llvm.Array2f, llvm.ArrayXf, llvm.Array2i):
            found = dr.reshape(cls, x, shape, order, shrink=True)
            assert type(found) is cls and rows(found) == wanted.tolist()
    assert list(dr.reshape(llvm.Float, x, 5, order, True)) == drawn[:5].tolist()


def test_shrinking_to_another_type_has_a_derivative() -> None:
    x = ad.Array2f([1, 2, 3], [4, 5, 6])
    dr.enable_grad(x)
    y = dr.reshape(ad.TensorXf64, dr.ravel(x, order="C"), (2, 2), shrink=True)
    dr.backward(dr.sum(y.array * ad.Float64(1, 2, 3, 4)))
    assert rows(x.grad) == [[1, 2, 3], [4, 0, 0]]


def test_shrink_trees() -> None:
    tree = (llvm.Float(range(4)), llvm.Array2f(range(4), 5), {"a": llvm.Int(range(4))})
    for value in (tree, dr.reshape(tuple, tree, 4, shrink=True)):
        result = dr.reshape(value, 2, shrink=True)
        assert list(result[0]) == [0, 1]
        assert rows(result[1]) == [[0, 1], [5]]
        assert list(result[2]["a"]) == [0, 1]
    pair = Pair(llvm.Float(1, 2), llvm.Array2f([3, 4], [5, 6]))
    pair = dr.reshape(pair, 1, shrink=True)
    assert (list(pair.a), rows(pair.b)) == ([1], [[3], [5]])
    assert rows(dr.reshape(llvm.Array2f([1, 2], [3, 4]), (2, 1), shrink=True)) == [
        [1],
        [3],
    ]


# ------------------------------------------------------------------ tile, repeat


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_tile_and_repeat(m: ModuleType, count: int) -> None:
    data = np.array([1, 2, 3], dtype=np.float32)
    x = flat(m)(data.tolist())
    assert list(dr.tile(x, count)) == np.tile(data, count).tolist()
    assert list(dr.repeat(x, count)) == np.repeat(data, count).tolist()
    assert type(dr.tile(x, count)) is type(x)


def test_tile_and_repeat_once(m: ModuleType) -> None:
    x = flat(m)(1, 2)
    assert dr.tile(x, 1) is x
    assert dr.repeat(x, 1) is x


def test_tile_and_repeat_trees() -> None:
    tree = [llvm.Array2f([1, 2], 3), {"a": llvm.Bool(True, False)}, "b", 5]
    tiled, repeated = dr.tile(tree, 2), dr.repeat(tree, 2)
    assert list(dr.ravel(tiled[0], "C")) == [1, 2, 1, 2, 3, 3, 3, 3]
    assert list(dr.ravel(repeated[0], "C")) == [1, 1, 2, 2, 3, 3, 3, 3]
    assert list(tiled[1]["a"]) == [True, False] * 2
    assert list(repeated[1]["a"]) == [True, True, False, False]
    assert tiled[2:] == repeated[2:] == ["b", 5]
    assert rows(dr.tile(llvm.Array2f(1, 2), 3)) == [[1] * 3, [2] * 3]
    assert list(dr.repeat(scalar.Array2f(1, 2), 3)) == [1, 2]


@pytest.mark.parametrize("name", ["tile", "repeat"])
def test_tile_and_repeat_reject(name: str) -> None:
    function = getattr(dr, name)
    with pytest.raises(ValueError, match="'count' is -1"):
        function(llvm.Float(1), -1)
    with pytest.raises(TypeError, match="expected an int"):
        function(llvm.Float(1), 1.5)
    tensor = llvm.TensorXf([1], (1,))
    with pytest.raises(ValueError, match="'count' is -1"):
        function(tensor, -1)
    with pytest.raises(ValueError, match="negative entries|'count' is -2"):
        function(tensor, [-2])
    with pytest.raises(TypeError):
        function(tensor, [1.5])
    with pytest.raises(TypeError):
        function(tensor, "2")
    with pytest.raises(RuntimeError, match="2\\^32"):
        function(llvm.Float(range(4)), 2**31)


def tensor_of(m: ModuleType, shape: tuple[int, ...]) -> tuple[Any, Any]:
    data = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    return m.TensorXf(data.ravel(), shape), data


SHAPES = [(), (1,), (3,), (2, 3), (1, 3), (3, 1), (2, 1, 3), (0, 2), (2, 0)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "count", [0, 1, 2, (), (2,), (3, 2), (1, 2), (2, 1), (1, 1), (2, 1, 3), (0, 2)]
)
def test_tile_tensors(m: ModuleType, shape: tuple[int, ...], count: Any) -> None:
    tensor, data = tensor_of(m, shape)
    expected = data if count == 1 else np.tile(data, count)
    tiled = dr.tile(tensor, count)
    assert type(tiled) is m.TensorXf
    assert tiled.shape == expected.shape and np.array_equal(tiled.numpy(), expected)


def test_tile_counts(m: ModuleType) -> None:
    tensor, data = tensor_of(m, (2, 3))
    for count in (np.array([2, 3]), [np.int64(2), 3], m.TensorXi([2, 3]).array):
        assert np.array_equal(dr.tile(tensor, count).numpy(), np.tile(data, (2, 3)))
    assert dr.tile(tensor, 1) is tensor and dr.tile(tensor, (1, 1)) is tensor
    array = flat(m)(1, 2)
    assert list(dr.tile(array, (3,))) == [1, 2] * 3
    assert dr.tile(array, ()) is array
    tiled = dr.tile([array, 5], (2, 2))
    assert type(tiled[0]) is m.TensorXf and tiled[1] == 5
    assert np.array_equal(tiled[0].numpy(), [[1, 2, 1, 2]] * 2)
    with pytest.raises(TypeError, match="one dynamic axis"):
        dr.tile(llvm.Array2f(1, 2), (2, 2))


@pytest.mark.parametrize("shape", [s for s in SHAPES if s])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_repeat_tensors(m: ModuleType, shape: tuple[int, ...], count: int) -> None:
    tensor, data = tensor_of(m, shape)
    for axis in [None, *range(-len(shape), len(shape))]:
        expected = np.repeat(data, count, axis)
        repeated = dr.repeat(tensor, count, axis)
        assert type(repeated) is m.TensorXf and repeated.shape == expected.shape
        assert np.array_equal(repeated.numpy(), expected)


def test_repeat_counts(m: ModuleType) -> None:
    tensor, data = tensor_of(m, (2, 3))
    index = dr.uint32_array_t(flat(m))
    for axis, counts in ((0, [2, 1]), (1, [0, 3, 1]), (None, [1, 0, 2, 0, 5, 1])):
        for given in (counts, np.array(counts), index(counts)):
            repeated = dr.repeat(tensor, given, axis=axis)
            assert np.array_equal(repeated.numpy(), np.repeat(data, counts, axis))
    array = flat(m)(range(50))
    counts = [k % 4 for k in range(50)]
    assert list(dr.repeat(array, counts)) == np.repeat(range(50), counts).tolist()
    assert list(dr.repeat(array, 2, axis=0)) == np.repeat(range(50), 2).tolist()
    assert len(dr.repeat(array, [0] * 50)) == 0
    with pytest.raises(ValueError, match="2 entries, expected 50"):
        dr.repeat(array, [1, 2])
    with pytest.raises(IndexError, match="out of bounds"):
        dr.repeat(array, 2, axis=1)
    with pytest.raises(IndexError, match="out of bounds"):
        dr.repeat(tensor, 2, axis=2)
    with pytest.raises(TypeError, match="expected integers"):
        dr.repeat(array, array)
    with pytest.raises(ValueError, match="has negative entries"):
        dr.repeat(array, dr.int32_array_t(flat(m))([-1] * 50))


def test_repeat_nested() -> None:
    vector = llvm.Array2f([1, 2, 3], 5)
    assert rows(dr.repeat(vector, [1, 0, 2])) == [[1, 3, 3], [5, 5, 5]]
    assert rows(dr.repeat(vector, 2, axis=-1)) == [[1, 1, 2, 2, 3, 3], [5]]
    tree = dr.repeat({"a": llvm.Float(1, 2), "b": None}, [2, 1])
    assert list(tree["a"]) == [1, 1, 2] and tree["b"] is None


@pytest.mark.parametrize("name", ["Array3f", "Matrix2f", "Complex2f", "Array34f"])
@pytest.mark.parametrize("order", ["A", "C", "F"])
def test_reshape_between_tensors_and_nested(
    m: ModuleType, name: str, order: str
) -> None:
    # The default is Fortran order wherever a nested array is on either side; tensors
    # themselves are read in C order.
    name = "Array4f" if name == "Array3f" and m is scalar else name  # an even number
    cls = getattr(m, name)
    extents = STATIC[name] + ((4,) if m is not scalar else ())
    data = np.arange(np.prod(extents), dtype=np.float32)
    numpy_order: Any = "C" if order == "C" else "F"
    expected = data.reshape(extents, order=numpy_order)
    if order != "F":
        tensors = [m.TensorXf(data, extents), m.TensorXf(data, (2, data.size // 2))]
        for tensor in [*tensors, m.TensorXf(data, (data.size,))]:
            for shape in (extents, -1, data.size, (*extents[:-1], -1)):
                made = dr.reshape(cls, tensor, shape, order=order)
                assert type(made) is cls and made.shape == extents
                assert np.array_equal(m.TensorXf(made).numpy(), expected)
    nested = cls(m.TensorXf(expected.ravel(), extents))
    for shape in ((data.size,), -1, (2, -1), (-1, 1, 2), extents):
        made = dr.reshape(m.TensorXf, nested, shape, order=order)
        assert type(made) is m.TensorXf
        assert np.array_equal(made.array.numpy(), data)
        assert made.shape == data.reshape(shape).shape


def test_reshape_shapes() -> None:
    value = llvm.Array2f([1, 2, 3], [4, 5, 6])
    assert rows(dr.reshape(llvm.Array3f, value, -1)) == [[1, 5], [4, 3], [2, 6]]
    tensor = llvm.TensorXf(range(6), (6,))
    for shape in (np.array([2, 3]), np.array([2, -1]), llvm.UInt(2, 3), [2, 3]):
        assert dr.reshape(tensor, shape).shape == (2, 3)
    assert dr.reshape(tensor, np.array(6)).shape == (6,)
    with pytest.raises(RuntimeError, match="cannot be divided|cannot have"):
        dr.reshape(llvm.Array4f, tensor, -1)
    with pytest.raises(TypeError, match="an integer or a sequence of integers"):
        dr.reshape(tensor, 1.5)
