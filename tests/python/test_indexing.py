"""a[key], v.xyw, views, iteration and the members of arrays that are not tensors."""

from __future__ import annotations

import typing
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest


def lanes(array: Any) -> list[list[Any]]:
    return [list(component) for component in array]


def flat(array: Any) -> list[Any]:
    """Entries of a vector: of its components' first lane, in a jit family."""
    return [c if isinstance(c, (int, float, bool)) else c[0] for c in array]


# ------------------------------------------------------------------------ leaves


def test_read_entry() -> None:
    a = llvm.Float(1, 2, 3)
    assert [a[0], a[2], a[-1], a[-3], a[np.int64(1)]] == [1, 3, 3, 1, 2]
    assert type(a[0]) is float
    assert type(llvm.Int(5)[0]) is int
    assert llvm.Bool(True, False)[0] is True
    assert a[0,] == 1
    assert a[()] is a
    assert llvm.UInt64(2**64 - 1)[0] == 2**64 - 1
    assert (a * 2)[1] == 4


@pytest.mark.parametrize("i", [3, -4, 100])
def test_bounds(i: int) -> None:
    a, v = llvm.Float(1, 2, 3), scalar.Array3f(1, 2, 3)
    text = rf"index {i} is out of bounds for axis 0 with size 3"
    for target in (a, v, llvm.Array3f(1)):
        with pytest.raises(IndexError, match=text):
            target[i]
        with pytest.raises(IndexError, match=text):
            target[i] = 1
    assert list(a) == [1, 2, 3]
    with pytest.raises(IndexError):
        a[10**30]


@pytest.mark.parametrize("key", [1.0, True, None, "a", ..., [0], 1j])
def test_invalid_keys(m: ModuleType, key: Any) -> None:
    for a in (llvm.Float(1, 2, 3), m.Array3f(1, 2, 3), m.Matrix2f(1)):
        with pytest.raises(TypeError, match=r"__getitem__\(\): "):
            a[key]
        with pytest.raises(TypeError, match=r"__setitem__\(\): "):
            a[key] = 0
        with pytest.raises(TypeError):
            del a[0]


def test_one_entry_repeats() -> None:
    a = llvm.Float(3)
    assert a[5] == a[-2] == 3
    assert list(a[llvm.UInt(4, 7)]) == [3, 3]
    assert list(a) == [3]
    assert scalar.ArrayXf(3)[1] == 3
    with pytest.raises(IndexError):
        a[2] = 5


@pytest.mark.parametrize(
    "key",
    [
        slice(1, 4),
        slice(None, None, -1),
        slice(None, None, 2),
        slice(4, 0, -3),
        slice(5, 9),
        slice(-2, None),
        slice(0, 0),
    ],
)
def test_slices(m: ModuleType, key: slice) -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    for a in (llvm.Float(values), scalar.ArrayXf(values)):
        assert list(a[key]) == values[key]
        expected = np.array(values)
        expected[key] = 9
        a[key] = 9
        assert list(a) == expected.tolist()
        expected[key] = np.arange(len(values[key]))
        if len(values[key]):
            a[key] = list(range(len(values[key])))
        assert list(a) == expected.tolist()
    with pytest.raises(ValueError, match="slice step"):
        a[::0]


def test_slice_needs_as_many_values() -> None:
    a = llvm.Float(1, 2, 3)
    with pytest.raises(ValueError, match="2 values"):
        a[:] = [1, 2]
    assert list(a) == [1, 2, 3]
    assert a[:] is a


def test_values_that_change_the_array() -> None:
    class Values:
        def __iter__(self) -> Any:
            a.__init__(1.0)
            return iter([1.0, 2.0])

    a = llvm.Float(1, 2, 3)
    with pytest.raises(RuntimeError, match="changed its size"):
        a[1:] = Values()


def test_write_entry() -> None:
    a = llvm.Float(1, 2, 3)
    b = a
    a[0] = 7
    a[-1] = llvm.Int(9)
    assert list(b) == [7, 2, 9]
    lazy = llvm.Float(1, 2, 3) + 1
    lazy[1] = 0
    assert list(lazy) == [2, 0, 4]
    literal = dr.zeros(llvm.Int, 4)
    literal[2] = 5
    assert list(literal) == [0, 0, 5, 0]
    mask = llvm.Bool(True, True)
    mask[0] = False
    assert list(mask) == [False, True]
    for value in (1.5, "a", None, [1], 2**40):
        with pytest.raises(TypeError, match="could not initialize"):
            literal[0] = value
    assert list(literal) == [0, 0, 5, 0]


@pytest.mark.parametrize("index_type", ["UInt", "Int", "UInt64", "Int64"])
def test_index_arrays(index_type: str) -> None:
    cls = getattr(llvm, index_type)
    a = llvm.Float(1, 2, 3)
    assert list(a[cls(2, 0, 0)]) == [3, 1, 1]
    assert list(a[cls()]) == []
    a[cls(0, 2)] = llvm.Float(5, 6)
    assert list(a) == [5, 2, 6]
    a[cls(1)] = 0
    assert list(a) == [5, 0, 6]
    with pytest.raises(IndexError, match="index 5"):
        a[cls(5)]
    with pytest.raises(ValueError, match="3 values"):
        a[cls(0, 1)] = [1, 2, 3]


def test_negative_index_arrays() -> None:
    a = llvm.Float(1, 2, 3)
    assert list(a[llvm.Int(-1, 0, -3)]) == [3, 1, 1]
    a[llvm.Int(-1)] = 9
    assert list(a) == [1, 2, 9]
    s = scalar.ArrayXf(1, 2, 3)
    assert list(s[scalar.ArrayXi(-1, 0)]) == [3, 1]
    s[scalar.ArrayXi(-1, 0)] = [8, 9]
    assert list(s) == [9, 2, 8]
    with pytest.raises(IndexError):
        s[scalar.ArrayXi(3)]
    assert list(a[scalar.ArrayXu(0, 1)]) == [1, 2]
    with pytest.raises(TypeError):
        a[llvm.Float(1)]
    with pytest.raises(TypeError):
        llvm.Array3f(1)[llvm.UInt(1)]


def test_masks() -> None:
    a = llvm.Float(1, 2, 3)
    copied = a[a > 1]
    assert list(copied) == [1, 2, 3]
    copied[0] = 5
    assert a[0] == 1
    a[a > 1] = 0
    assert list(a) == [1, 0, 0]
    a[a > 0] += 4
    assert list(a) == [5, 0, 0]
    v = llvm.Array2f([1, 2], [3, 4])
    v[v > 2] = -1
    assert lanes(v) == [[1, 2], [-1, -1]]
    v[llvm.Bool(True, False)] = 7
    assert lanes(v) == [[7, 2], [7, -1]]
    s = scalar.Array3f(1, 2, 3)
    s[s > 1] = 0
    assert list(s) == [1, 0, 0]
    unchanged = llvm.Int(1, 2)
    with pytest.raises(TypeError):
        unchanged[llvm.Bool(True, False)] = 1.5
    assert list(unchanged) == [1, 2]


# ------------------------------------------------------------------------ components


def test_views(m: ModuleType) -> None:
    matrix = m.Matrix2f(1, 2, 3, 4)
    row = matrix[1]
    row[0] = 9
    assert flat(matrix[1]) == [9, 4]
    matrix[0][1] = 8
    assert flat(matrix[0]) == [1, 8]
    matrix[0, 0] = 7
    assert flat(matrix[0]) == [7, 8]
    matrix[1] = 5
    assert flat(matrix[1]) == [5, 5]
    del matrix
    assert flat(row) == [5, 5]


def test_views_of_leaves() -> None:
    v = llvm.Array3f([1, 2], 3, 4)
    v[0][1] = 7
    assert v[0, 1] == 7
    x = v.x
    x += 1
    assert lanes(v) == [[2, 8], [3], [4]]
    x = x + 1
    assert lanes(v) == [[2, 8], [3], [4]]
    v.x += 1
    assert lanes(v)[0] == [3, 9]
    other = v
    v[1] = llvm.Float(5, 6)
    assert lanes(other) == [[3, 9], [5, 6], [4]]


def test_component_of_itself() -> None:
    v = llvm.Array2f(1, 2)
    v[0] = v[1]
    assert flat(v) == [2, 2]
    v = llvm.Array2f(1, 2)
    v.xy = v.yx
    assert flat(v) == [2, 1]
    matrix = scalar.Matrix2f(1, 2, 3, 4)
    matrix[0] = matrix[1]
    assert [list(row) for row in matrix] == [[3, 4], [3, 4]]


def test_slices_of_components(m: ModuleType) -> None:
    v = m.Array4f(1, 2, 3, 4)
    assert type(v[0:2]) is m.Array2f
    assert flat(v[::-1]) == [4, 3, 2, 1]
    assert type(v[0:0]) is m.Array0f
    v[1:3] = [8, 9]
    assert flat(v) == [1, 8, 9, 4]
    v[:] = 2
    assert flat(v) == [2, 2, 2, 2]
    with pytest.raises(ValueError, match="3 values"):
        v[0:2] = [1, 2, 3]
    with pytest.raises(TypeError):
        m.Matrix2f(1)[0:1]
    assert v[:] is v


def test_refused_values(m: ModuleType) -> None:
    v = m.Array3i(1, 2, 3)
    for value in (1.5, "a", None, 2**40, np.float32(1.5)):
        with pytest.raises(TypeError, match="could not initialize"):
            v[0] = value
        with pytest.raises(TypeError, match="could not initialize"):
            v.x = value
    assert flat(v) == [1, 2, 3]
    v[0] = np.int16(7)
    assert flat(v) == [7, 2, 3]


# ------------------------------------------------------------------------ names


def test_named_components(m: ModuleType) -> None:
    v = m.Array4f(1, 2, 3, 4)
    assert flat([v.x, v.y, v.z, v.w]) == [1, 2, 3, 4]
    v.y = 9
    assert flat(v) == [1, 9, 3, 4]
    assert flat([m.Quaternion4f(1, 2, 3, 4).w]) == [4]
    with pytest.raises(RuntimeError, match=r"\.w: there is no such component"):
        _ = m.Array3f(1).w
    with pytest.raises(RuntimeError, match=r"\.x: there is no such component"):
        _ = m.ArrayXf(1).x
    with pytest.raises(RuntimeError):
        _ = m.Complex2f(1).x
    with pytest.raises(RuntimeError):
        m.Matrix2f(1).x = 1
    with pytest.raises(AttributeError):
        del v.x


@pytest.mark.parametrize("names", ["xy", "zyx", "xxyy", "xz", "yyyyyy"])
def test_swizzles(m: ModuleType, names: str) -> None:
    v = m.Array3f(1, 2, 3)
    swizzled = getattr(v, names)
    suffix = str(len(names)) if len(names) <= 4 else "X"
    assert type(swizzled) is getattr(m, f"Array{suffix}f")
    assert flat(swizzled) == ["xyz".index(c) + 1 for c in names]


def test_swizzles_are_copies(m: ModuleType) -> None:
    v = m.Array3f(1, 2, 3)
    swizzled = v.xy
    swizzled.x = 9
    assert flat(v) == [1, 2, 3]
    v.zx = (7, 8)
    assert flat(v) == [8, 2, 7]
    v.yz = 5
    assert flat(v) == [8, 5, 5]
    v.xy = m.Array2f(1, 2)
    assert flat(v) == [1, 2, 5]


@pytest.mark.parametrize("names", ["xyzw", "xw", "q", "xq", "", "x" * 17, "wx", "xy "])
def test_no_swizzle(m: ModuleType, names: str) -> None:
    v = m.Array3f(1, 2, 3)
    with pytest.raises(AttributeError):
        getattr(v, names)
    with pytest.raises(AttributeError):
        setattr(v, names, 1)
    assert not hasattr(m.Matrix2f(1), "xy")
    assert not hasattr(m.ArrayXf(1, 2), "xy")


def test_gradients_of_what_has_none(m: ModuleType) -> None:
    assert type(m.Array3f(1, 2, 3).grad) is m.Array3f
    assert flat(m.Array3f(1, 2, 3).grad) == [0, 0, 0]
    assert m.TensorXf([[1, 2]]).grad.shape == (1, 2)
    assert flat(llvm.Float(1, 2).grad) == [0, 0] == flat(llvm.Int(1, 2).grad)
    assert type(llvm.Int(1).grad) is llvm.Int and flat(m.ArrayXf(1, 2).grad) == [0, 0]


def test_real_and_imaginary(m: ModuleType) -> None:
    c = m.Complex2f(1, 2)
    assert flat([c.real, c.imag]) == [1, 2]
    c.real = 7
    c.imag = 8
    assert flat(c) == [7, 8]
    q = m.Quaternion4f(1, 2, 3, 4)
    assert flat([q.real]) == [4]
    assert flat(q.imag) == [1, 2, 3]
    part = q.imag
    part *= 2
    assert flat(q.imag) == [1, 2, 3] and flat(part) == [2, 4, 6]
    q.imag = [5, 6, 7]
    assert flat(q) == [5, 6, 7, 4]
    v = m.Array2f(1, 2)
    assert v.real is v
    assert flat(v.imag) == [0, 0]
    with pytest.raises(AttributeError):
        v.real = 1


# ------------------------------------------------------------------------ members


def test_shape() -> None:
    assert llvm.Float(1, 2, 3).shape == (3,)
    assert llvm.Array3f([1, 2], 3, 4).shape == (3, 2)
    assert llvm.Matrix2f(1).shape == (2, 2, 1)
    assert llvm.Matrix44f(1).shape == (4, 4, 4, 1)
    assert llvm.ArrayXf([1, 2], 3).shape == (2, 2)
    assert llvm.Array3f().shape == (3, 0)
    assert scalar.Array3f(1).shape == (3,)
    assert scalar.Matrix2f(1).shape == (2, 2)
    assert scalar.ArrayXf(1, 2).shape == (2,)
    for array in (llvm.Float(1), llvm.Array3f(1), scalar.Matrix2f(1), llvm.Matrix2f(1)):
        assert array.ndim == len(array.shape)
    with pytest.raises(RuntimeError, match="ragged"):
        _ = llvm.Array3f([1, 2], [1, 2, 3], 1).shape


def test_length_and_iteration(m: ModuleType) -> None:
    assert len(m.Array3f(1)) == 3
    assert len(m.Matrix4f(1)) == 4
    assert len(m.ArrayXf(1, 2)) == 2
    assert len(llvm.Float(1, 2)) == 2
    assert flat(reversed(m.Array3f(1, 2, 3))) == [3, 2, 1]
    assert flat(m.Array3f(1, 2, 3)) == [1, 2, 3]
    assert 2.0 in llvm.Float(1, 2)
    assert 5.0 not in llvm.Float(1, 2)
    a = llvm.Float(1, 2, 3)
    seen = []
    for value in a:
        seen.append(value)
        a[2] = 9
    assert seen == [1, 2, 3]
    x, y = m.Array2f(1, 2)
    assert flat([x, y]) == [1, 2]


def test_array(m: ModuleType) -> None:
    v = m.Array2f(1, 2)
    assert v.array is v
    matrix = m.Matrix2f(1, 2, 3, 4)
    plain = matrix.array
    assert type(plain) is m.Array22f
    plain[0] = 0
    assert flat(matrix[0]) == [1, 2]
    assert type(m.Quaternion4f(1).array) is m.Array4f


def test_transpose(m: ModuleType) -> None:
    matrix = m.Matrix3f(*range(9))
    expected = np.arange(9).reshape(3, 3).T.tolist()
    assert [flat(row) for row in matrix.T] == expected
    assert [flat(row) for row in matrix.mT] == expected
    for other in (m.Array22f(1), m.Array2f(1), m.Complex2f(1), llvm.Float(1)):
        with pytest.raises(TypeError, match="expected a matrix or a tensor"):
            _ = other.T


def test_trace_members() -> None:
    a = llvm.Float(1, 2)
    state = dr.VarState
    assert a.index > 0
    assert a.index_ad == 0
    assert llvm.Array2f(1).index == 0
    assert a.state == state.Evaluated
    assert (a + 1).state == state.Unevaluated
    assert llvm.Float(1).state == state.Literal
    assert llvm.Array2f(a, 1).state == state.Mixed
    assert llvm.Float().state == state.Invalid
    assert scalar.Array2f(1).state == state.Invalid
    a.label = "mine"
    assert a.label == "mine"
    v = llvm.Array2f(a + 2, a + 3)
    v.label = "v"
    assert [v.x.label, v.y.label] == ["v_0", "v_1"]
    with pytest.raises(TypeError):
        a.label = 5


def test_item(m: ModuleType) -> None:
    assert llvm.Float(2).item() == 2.0
    assert llvm.Bool(True).item() is True
    assert m.Array1f(4).item() == 4
    assert m.TensorXf([[3]]).item() == 3
    assert type(m.TensorXi([[3]]).item()) is int
    for value in (m.Array2f(1), llvm.Float(1, 2), llvm.Float(), m.TensorXf([])):
        with pytest.raises(RuntimeError, match="expected exactly one"):
            value.item()


def test_generic_alias() -> None:
    alias = dr.ArrayBase[int, str]
    assert typing.get_origin(alias) is dr.ArrayBase
    assert typing.get_args(alias) == (int, str)


def test_no_new_attributes(m: ModuleType) -> None:
    with pytest.raises(AttributeError):
        m.Array3f(1).foo = 1
    with pytest.raises(AttributeError):
        m.Array3f(1).shape = (1,)


def nested(cls: Any) -> tuple[Any, Any]:
    """An array with entries 0, 1, ... and the same in NumPy."""
    lanes = (4,) if dr.is_jit_v(cls) else ()
    sizes = {"Array3f": (3,), "Matrix3f": (3, 3), "Matrix4f": (4, 4), "ArrayXf": (5,),
             "Array4f": (4,), "Array44f": (4, 4), "Array22f": (2, 2)}  # fmt: skip
    shape = sizes[cls.__name__] + lanes
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    module = llvm if lanes else scalar
    return cls(module.TensorXf(data.ravel().copy(), shape)), data


def as_numpy(value: Any) -> Any:
    module = llvm if dr.is_jit_v(value) else scalar
    return module.TensorXf(value).numpy()


KEYS: list[tuple[Any, tuple[Any, ...]]] = [
    (llvm.Array3f, np.s_[:, 1:3]),
    (llvm.Array3f, np.s_[:-1, 1:100:2]),
    (llvm.Array3f, np.s_[::-1, ::-1]),
    (llvm.Array3f, np.s_[1:2, :2]),
    (llvm.Array3f, np.s_[:, :]),
    (llvm.Array4f, np.s_[::2, 1:]),
    (llvm.ArrayXf, np.s_[1:4, 2:]),
    (llvm.Matrix3f, np.s_[:, 1]),
    (llvm.Matrix3f, np.s_[:, -1]),
    (llvm.Matrix3f, np.s_[1:, 0]),
    (llvm.Matrix3f, np.s_[:, 1, 1:]),
    (llvm.Matrix3f, np.s_[2, :, 1:]),
    (llvm.Matrix3f, np.s_[:, :, :]),
    (llvm.Matrix3f, np.s_[:, ::-1]),
    (llvm.Matrix4f, np.s_[1:3, 2:]),
    (llvm.Matrix4f, np.s_[:3, :3, 1:]),
    (scalar.Matrix3f, np.s_[:, 1]),
    (scalar.Matrix3f, np.s_[::2, 1]),
    (scalar.Matrix4f, np.s_[1:, 1:]),
    (scalar.Array44f, np.s_[:3, ::-1]),
]


@pytest.mark.parametrize(("cls", "key"), KEYS)
def test_slices_of_several_axes(cls: Any, key: tuple[Any, ...]) -> None:
    array, data = nested(cls)
    selected = array[key]
    assert np.array_equal(as_numpy(selected), data[key])
    assert np.array_equal(as_numpy(array), data)
    array[key] = -1
    data[key] = -1
    # An array whose lanes are all equal may have one.
    assert np.array_equal(np.broadcast_to(as_numpy(array), data.shape), data)
    array, data = nested(cls)
    array[key] = selected * 10
    data[key] *= 10
    assert np.array_equal(as_numpy(array), data)


def test_slices_of_several_axes_types() -> None:
    matrix, _ = nested(llvm.Matrix3f)
    assert type(matrix[:, 1]) is llvm.Array3f and type(matrix[:, :]) is llvm.Matrix3f
    assert type(matrix[:2, :2]) is llvm.Array22f
    # One entry of each component: an array with one lane.
    vector, data = nested(llvm.Array3f)
    assert vector[:, 1].shape == (3, 1)
    assert np.array_equal(as_numpy(vector[:, 1]).ravel(), data[:, 1])
    vector[:, 1] = llvm.Array3f(7, 8, 9)
    data[:, 1] = [7, 8, 9]
    assert np.array_equal(as_numpy(vector), data)
    # A part is written to in the array that it is a part of.
    rows = matrix[0]
    rows[:2, 1:3] = llvm.Array2f([5, 6], [7, 8])
    assert list(matrix[0][0]) == [0, 5, 6, 3] and list(matrix[0][1]) == [4, 7, 8, 7]


def test_slices_of_several_axes_fail() -> None:
    matrix, data = nested(llvm.Matrix3f)
    for key in (np.s_[:, 3], np.s_[:, 0, 9]):
        with pytest.raises(IndexError):
            matrix[key]
        with pytest.raises(IndexError):
            matrix[key] = 1
    for key in (np.s_[:, 0, 0, 0], np.s_[..., 1], np.s_[:, None], np.s_[:, "x"]):
        with pytest.raises(TypeError):
            matrix[key]
        with pytest.raises(TypeError):
            matrix[key] = 1
    with pytest.raises(ValueError, match="found 2 values, expected 3"):
        matrix[:, 1] = [1, 2]
    with pytest.raises(TypeError):  # nothing of it happens
        matrix[:, 1] = [1, 2, "x"]
    assert np.array_equal(as_numpy(matrix), data)


def test_errors_of_two_classes() -> None:
    vector, number, complex_number = llvm.Array2f(1, 2), llvm.Int(1), llvm.Complex2f(1)
    for other in (RuntimeError, OverflowError):
        with pytest.raises(other, match="out of range") as info:
            number + 2**40
        assert type(info.value).__name__ == "OverflowError"
        with pytest.raises(other):
            dr.fma(llvm.UInt(5), -1, 0)
    for other in (RuntimeError, AttributeError):
        with pytest.raises(other, match=r"Array2f\.z: there is no such component"):
            _ = vector.z
        with pytest.raises(other):
            vector.w = 1
    assert not hasattr(vector, "z") and not hasattr(number, "x")
    for other in (TypeError, AttributeError):
        with pytest.raises(other, match=r"\.imag: only complex numbers"):
            vector.imag = 4
        with pytest.raises(other, match="expected a matrix or a tensor"):
            _ = vector.T
    assert not hasattr(complex_number, "mT")
    with pytest.raises(AttributeError):
        _ = vector.xz


def test_lists_as_keys() -> None:
    """The message says what an index array is."""
    for cls in (llvm.Float, llvm.Array3f):
        with pytest.raises(TypeError, match="type list, .*; an index array is of a"):
            cls(1)[[0, 1]]
