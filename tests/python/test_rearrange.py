"""Functions that rearrange entries, and regular sequences and grids, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import drjit as dr
import numpy as np
import pytest


def flat(m: Any, kind: str) -> Any:
    """The 1D dynamic array type of a module: kind is 'f', 'f64', 'u', ..."""
    return getattr(m, "ArrayX" + kind) if m is dr.scalar else leaf(m, kind)


def leaf(m: Any, kind: str) -> Any:
    names = {"f": "Float", "f64": "Float64", "f16": "Float16", "i": "Int", "u": "UInt"}
    names |= {"b": "Bool", "i8": "Int8", "u8": "UInt8", "i64": "Int64", "u64": "UInt64"}
    return getattr(m, names[kind])


def tensor(m: Any, shape: tuple[int, ...], kind: str = "f") -> tuple[Any, Any]:
    """A tensor of distinct numbers, and the same as a NumPy array."""
    count = int(np.prod(shape))
    dtypes = {"f": np.float32, "f64": np.float64, "i": np.int32, "u": np.uint32}
    if kind == "b":
        ref = (np.arange(count) % 3 == 0).reshape(shape)
    else:
        ref = np.arange(count).astype(dtypes[kind]).reshape(shape)
    return getattr(m, "TensorX" + kind)(ref), ref


def check(value: Any, ref: Any) -> None:
    """Equal shape and equal entries."""
    ref = np.asarray(ref)
    assert tuple(value.shape) == ref.shape
    got = value.array if dr.is_tensor_v(value) else value
    assert list(got) == ref.ravel().tolist()


# ------------------------------------------------------------- sequences and grids


@pytest.mark.parametrize("kind", ["f", "f64"])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(m: Any, kind: str, endpoint: bool) -> None:
    for start, stop, num in [(0, 1, 5), (-1, 3, 8), (2.5, -7, 100), (0, 1, 0)]:
        x = dr.linspace(flat(m, kind), start, stop, num, endpoint)
        ref = np.linspace(start, stop, num, endpoint=endpoint)
        assert type(x) is flat(m, kind)
        np.testing.assert_allclose(
            list(x), ref, rtol=1e-6 if kind == "f" else 1e-14, atol=1e-6
        )


@pytest.mark.parametrize("kind", ["f", "f64"])
def test_linspace_ends_exactly(m: Any, kind: str) -> None:
    for num in range(2, 200):
        x = dr.linspace(flat(m, kind), -1, 3, num)
        assert (x[0], x[num - 1]) == (-1, 3)


def test_linspace_single_entry(m: Any) -> None:
    assert list(dr.linspace(flat(m, "f"), 3, 5, 1)) == [3]
    assert list(dr.linspace(flat(m, "f"), 3, 5, 1, endpoint=False)) == [3]


def test_linspace_other_types(m: Any) -> None:
    half = dr.linspace(flat(m, "f16"), 0, 1, 101)
    assert type(half) is flat(m, "f16")
    assert list(half) == np.linspace(0, 1, 101).astype(np.float16).tolist()
    t = dr.linspace(m.TensorXf, 0, 1, 5)
    assert type(t) is m.TensorXf and t.shape == (5,)


def test_linspace_errors(m: Any) -> None:
    for dtype in (flat(m, "i"), m.Array3f, float, 3):
        with pytest.raises(TypeError, match="linspace"):
            dr.linspace(dtype, 0, 1, 5)
    with pytest.raises(TypeError, match="linspace"):
        dr.linspace(flat(m, "f"), 0, 1, 5.5)
    with pytest.raises(TypeError, match="linspace"):
        dr.linspace(flat(m, "f"), m.Array3f(1), 1, 5)
    with pytest.raises((TypeError, ValueError), match="linspace"):
        dr.linspace(flat(m, "f"), 0, 1, -1)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(3,), (3, 4), (1, 5), (2, 3, 4), (2, 1, 3, 2)])
def test_meshgrid(m: Any, indexing: Any, sizes: tuple[int, ...]) -> None:
    axes = [np.arange(n, dtype=np.float32) * 2 + n for n in sizes]
    result = dr.meshgrid(*[flat(m, "f")(list(a)) for a in axes], indexing=indexing)
    ref = np.meshgrid(*axes, indexing=indexing)
    assert isinstance(result, tuple) and len(result) == len(ref)
    for x, y in zip(result, ref, strict=True):
        assert type(x) is flat(m, "f")
        assert list(x) == y.ravel().tolist()


def test_meshgrid_corner_cases(m: Any) -> None:
    assert dr.meshgrid() == ()
    x, y = dr.meshgrid(flat(m, "u")(), flat(m, "u")(1, 2))
    assert len(x) == 0 and len(y) == 0
    for args in [(flat(m, "u")(1), flat(m, "f")(1)), (1, 2), (m.Array3f(1),) * 2]:
        with pytest.raises(Exception, match="meshgrid"):
            dr.meshgrid(*args)
    with pytest.raises(Exception, match="meshgrid"):
        dr.meshgrid(flat(m, "u")(1), flat(m, "u")(1), indexing="ji")


# -------------------------------------------------------------------------- joining


@pytest.mark.parametrize("kind", ["b", "i8", "u8", "i", "u64", "f16", "f", "f64"])
def test_concat_1d(m: Any, kind: str) -> None:
    dtype = flat(m, kind)
    one, zero = (True, False) if kind == "b" else (1, 0)
    parts = [[one, zero, one], [zero], [], [one, one]]
    x = dr.concat([dtype(part) for part in parts])
    assert type(x) is dtype
    assert list(x) == [1, 0, 1, 0, 1, 1]


def test_concat_1d_more(m: Any) -> None:
    dtype = flat(m, "f")
    assert len(dr.concat([dtype(), dtype()])) == 0
    assert list(dr.concat((dtype(1, 2),))) == [1, 2]
    assert list(dr.concat([dtype(1, 2), dtype(3)], axis=-1)) == [1, 2, 3]
    assert list(dr.concat([dtype(1, 2), dtype(3)], axis=None)) == [1, 2, 3]
    source = dtype(1, 2)
    copy = dr.concat([source])
    copy += 1
    assert list(source) == [1, 2]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (1, 4, 1, 2)])
@pytest.mark.parametrize("kind", ["f", "b"])
def test_concat_tensor(m: Any, shape: tuple[int, ...], kind: str) -> None:
    for axis in range(-len(shape), len(shape)):
        grown = list(shape)
        grown[axis] += 3
        a, ra = tensor(m, shape, kind)
        b, rb = tensor(m, tuple(grown), kind)
        grown[axis] = 0
        c, rc = tensor(m, tuple(grown), kind)
        check(
            dr.concat([a, b, c, a], axis=axis), np.concatenate([ra, rb, rc, ra], axis)
        )
    check(dr.concat([a, b], axis=None), np.concatenate([ra, rb], None))


def test_concat_nested(m: Any) -> None:
    if m is not dr.scalar:
        x = m.ArrayXf([[1, 2], [3, 4]])
        y = m.ArrayXf([[5, 6]])
        assert np.array_equal(np.array(dr.concat([x, y])), [[1, 2], [3, 4], [5, 6]])
        # The first component is as wide as the others.
        a, b = m.Array2f(0, [1, 2]), m.Array2f([3], [4])
        c = dr.concat([a, b], axis=-1)
        assert type(c) is m.Array2f
        assert list(c[0]) == [0, 0, 3] and list(c[1]) == [1, 2, 4]
    with pytest.raises(RuntimeError):
        dr.concat([m.Array3f(1), m.Array3f(2)])


def test_concat_errors(m: Any) -> None:
    a, _ = tensor(m, (2, 3))
    b, _ = tensor(m, (2, 4))
    for bad in ([1, 2], a, [flat(m, "f")(1), flat(m, "i")(1)], "ab", [a, 3]):
        with pytest.raises(TypeError):
            dr.concat(bad)
    with pytest.raises(RuntimeError):
        dr.concat([])
    for bad in ([a, tensor(m, (2,))[0]], [a, b]):
        with pytest.raises(ValueError, match="concat"):
            dr.concat(bad)
    for axis in (2, -3):
        with pytest.raises(IndexError, match="out of bounds"):
            dr.concat([a, a], axis=axis)
    with pytest.raises(IndexError, match="out of bounds"):
        dr.concat([flat(m, "f")(1)], axis=1)


def test_stack(m: Any) -> None:
    for shape in [(), (3,), (2, 3), (2, 3, 4)]:
        a, ra = tensor(m, shape)
        for axis in range(-len(shape) - 1, len(shape) + 1):
            check(dr.stack([a, a + 1], axis=axis), np.stack([ra, ra + 1], axis))


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "column_stack"])
def test_stack_family(m: Any, name: str) -> None:
    for shape in [(), (3,), (2, 3), (2, 3, 4)]:
        a, ra = tensor(m, shape)
        inputs = [a, a + 1, a + 2]
        ref = getattr(np, name)([ra, ra + 1, ra + 2])
        check(getattr(dr, name)(inputs), ref)
    plain = [flat(m, "f")([1, 2]), flat(m, "f")([3, 4])]
    check(getattr(dr, name)(plain), getattr(np, name)([[1, 2], [3, 4]]))
    with pytest.raises(RuntimeError, match=name):
        getattr(dr, name)([])


def test_stack_mixed(m: Any) -> None:
    a, ra = tensor(m, (3,))
    b, rb = tensor(m, (3, 2))
    check(dr.column_stack([a, b]), np.column_stack([ra, rb]))
    c, rc = tensor(m, (2, 3))
    check(dr.vstack([a, c]), np.vstack([ra, rc]))
    check(dr.row_stack([a, c]), np.vstack([ra, rc]))


def test_stack_errors(m: Any) -> None:
    a, _ = tensor(m, (2, 3))
    b, _ = tensor(m, (3, 2))
    with pytest.raises(ValueError, match="same shape"):
        dr.stack([a, b])
    with pytest.raises(ValueError, match="out of bounds"):
        dr.stack([a, a], axis=3)
    with pytest.raises(ValueError, match="vstack"):
        dr.vstack([a, b])
    for axis in (0, 1):
        plain = [flat(m, "f")([1, 2]), flat(m, "f")([3, 4])]
        check(dr.stack(plain, axis), np.stack([[1, 2], [3, 4]], axis))
    for bad in (a, [1], [m.Complex2f(1)], [a, tensor(m, (2, 3), "i")[0]]):
        with pytest.raises(TypeError, match="stack"):
            dr.stack(bad)


# ------------------------------------------------------------ axes of size 1, splits


def test_expand_dims(m: Any) -> None:
    a, ra = tensor(m, (2, 3))
    for axis in [0, 1, 2, -1, -3, (0, -1), (1, 2), (-1, 0), [0]]:
        check(dr.expand_dims(a, axis), np.expand_dims(ra, axis))
    check(dr.expand_dims(a, ()), ra)
    for bad in (3, -4, (0, 0)):
        with pytest.raises(ValueError, match="expand_dims"):
            dr.expand_dims(a, bad)
    for args in [(flat(m, "f")(1), 0), (m.Array3f(1), 0), (a, 1.5)]:
        with pytest.raises(TypeError, match="expand_dims"):
            dr.expand_dims(*args)


def test_squeeze(m: Any) -> None:
    a, ra = tensor(m, (1, 2, 1, 3, 1))
    for axis in [None, 0, 2, -1, (0, 2), (-1, 0)]:
        check(dr.squeeze(a, axis), np.squeeze(ra, axis))
    one, rone = tensor(m, (1, 1))
    check(dr.squeeze(one), np.squeeze(rone))
    for bad in (1, 5, -6, (0, 0)):
        with pytest.raises(ValueError, match="squeeze"):
            dr.squeeze(a, bad)
    with pytest.raises(TypeError, match="squeeze"):
        dr.squeeze(flat(m, "f")(1))


def test_split(m: Any) -> None:
    a, ra = tensor(m, (4, 6, 2))
    for axis, sections in itertools.product(
        (0, 1, 2, -1, -2), (1, 2, [1], [1, 2], [], [2, 1], [-1], [1, 99])
    ):
        parts = dr.split(a, sections, axis=axis)
        ref = np.split(ra, sections, axis)
        assert isinstance(parts, list) and len(parts) == len(ref)
        for x, y in zip(parts, ref, strict=True):
            check(x, y)


def test_array_split(m: Any) -> None:
    a, ra = tensor(m, (4, 7))
    for axis, sections in itertools.product((0, 1, -1), (1, 2, 3, 5, 9, [2, 3])):
        ref = np.array_split(ra, sections, axis)
        for x, y in zip(dr.array_split(a, sections, axis=axis), ref, strict=True):
            check(x, y)


def test_split_errors(m: Any) -> None:
    a, _ = tensor(m, (4, 7))
    for fn in (dr.split, dr.array_split):
        for bad in (0, -1):
            with pytest.raises(ValueError, match="split"):
                fn(a, bad)
        with pytest.raises(TypeError, match="split"):
            fn(a, 1.5)
        with pytest.raises(TypeError, match="split"):
            fn(flat(m, "f")(1), 1)
        with pytest.raises(IndexError, match="split"):
            fn(a, 1, axis=2)
    with pytest.raises(ValueError, match="equal"):
        dr.split(a, 3)


# ------------------------------------------------------------------ moving of entries


def test_reverse_arrays(m: Any) -> None:
    for kind in ("f", "i", "b", "u64"):
        entries = [True, False, False] if kind == "b" else [1, 0, 0]
        x = dr.reverse(flat(m, kind)(entries))
        assert type(x) is flat(m, kind) and list(x) == [0, 0, 1]
    assert list(dr.reverse(flat(m, "f")(5))) == [5]
    assert len(dr.reverse(flat(m, "f")())) == 0
    assert list(dr.reverse(flat(m, "f")(1, 2), axis=-1)) == [2, 1]
    assert np.array_equal(np.array(dr.reverse(m.Array3f(1, 2, 3))).ravel(), [3, 2, 1])
    x = dr.reverse(m.Matrix2f(1, 2, 3, 4))
    assert type(x) is m.Matrix2f
    assert np.array_equal(np.array(x).ravel(), [3, 4, 1, 2])
    if m is not dr.scalar:
        x = dr.reverse(m.ArrayXf([[1, 2], [3, 4]]), axis=1)
        assert np.array_equal(np.array(x), [[2, 1], [4, 3]])


def test_reverse_tensors(m: Any) -> None:
    for shape in [(3,), (2, 3), (2, 3, 4), (1, 5), (3, 0)]:
        a, ra = tensor(m, shape)
        for axis in range(-len(shape), len(shape)):
            check(dr.reverse(a, axis), np.flip(ra, axis))


def test_reverse_sequences() -> None:
    assert dr.reverse([1, 2, 3]) == [3, 2, 1]
    assert dr.reverse((1, "a")) == ("a", 1)
    assert dr.reverse([]) == []
    for bad in (5, {1: 2}, None):
        with pytest.raises(TypeError, match="reverse"):
            dr.reverse(bad)
    with pytest.raises(IndexError, match="reverse"):
        dr.reverse([1, 2], axis=1)
    with pytest.raises(IndexError, match="reverse"):
        dr.reverse(dr.scalar.ArrayXf(1), axis=1)


def test_reverse_is_a_copy(m: Any) -> None:
    for x in (flat(m, "f")(1), tensor(m, (1, 1))[0] + 1):
        y = dr.reverse(x)
        y += 1
        first = x.array if dr.is_tensor_v(x) else x
        assert list(first) == [1]


@pytest.mark.parametrize(
    "shape", [(), (3,), (2, 3), (2, 3, 4), (2, 1, 3, 1, 2), (2, 0)]
)
@pytest.mark.parametrize("kind", ["f", "b"])
def test_transpose(m: Any, shape: tuple[int, ...], kind: str) -> None:
    a, ra = tensor(m, shape, kind)
    check(dr.transpose(a), np.transpose(ra))
    for axes in itertools.permutations(range(len(shape))):
        check(dr.transpose(a, axes), np.transpose(ra, axes))
    check(dr.transpose(a, [k - len(shape) for k in range(len(shape))]), ra)


def test_transpose_errors(m: Any) -> None:
    a, _ = tensor(m, (2, 3))
    for bad in ((0,), (0, 0), (0, 2), (0, 1, 2)):
        with pytest.raises(ValueError, match="transpose"):
            dr.transpose(a, bad)
    for bad in (flat(m, "f")(1), m.Matrix2f(1), 5):
        with pytest.raises(TypeError, match="transpose"):
            dr.transpose(bad)
    with pytest.raises(TypeError, match="transpose"):
        dr.transpose(a, 1)


def test_moveaxis(m: Any) -> None:
    a, ra = tensor(m, (2, 3, 4, 5))
    for s, d in itertools.product(range(-4, 4), repeat=2):
        check(dr.moveaxis(a, s, d), np.moveaxis(ra, s, d))
    for s, d in [((0, 1), (-1, 0)), ((3, 0), (0, 1)), ([2], [0]), ((), ())]:
        check(dr.moveaxis(a, s, d), np.moveaxis(ra, s, d))
    for s, d in [(0, 4), (-5, 0), ((0, 0), (1, 2)), ((0, 1), (1,)), ((0, 1), (1, 1))]:
        with pytest.raises(ValueError):
            dr.moveaxis(a, s, d)
    with pytest.raises(TypeError, match="moveaxis"):
        dr.moveaxis(flat(m, "f")(1), 0, 0)


def test_swapaxes(m: Any) -> None:
    a, ra = tensor(m, (2, 3, 4))
    for s, d in itertools.product(range(-3, 3), repeat=2):
        check(dr.swapaxes(a, s, d), np.swapaxes(ra, s, d))
    with pytest.raises(IndexError, match="swapaxes"):
        dr.swapaxes(a, 0, 3)
    with pytest.raises(TypeError, match="swapaxes"):
        dr.swapaxes(m.Array3f(1), 0, 0)


@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
def test_too_many_entries(m: Any) -> None:
    # Without data: an array of more than 2^32 - 1 entries would not fit.
    grid = [flat(m, "u")(list(range(2000)))] * 3
    with pytest.raises(ValueError, match="32-bit"):
        dr.meshgrid(*grid)
    a, _ = tensor(m, (2, 3))
    with pytest.raises(ValueError, match="32-bit"):
        dr.upsample(a, scale_factor=[70000, 70000])


# ------------------------------------------------------------------------- selection


@pytest.mark.parametrize("kind", ["f", "b"])
def test_take(m: Any, kind: str) -> None:
    a, ra = tensor(m, (3, 4, 5), kind)
    for axis in (0, 1, 2, -1, -2):
        for k in (0, 2, -1, -3):
            check(dr.take(a, k, axis), np.take(ra, k, axis))
        index = [0, 2, 1, 2]
        for dtype in (flat(m, "u"), flat(m, "i"), flat(m, "i64")):
            check(dr.take(a, dtype(index), axis), np.take(ra, index, axis))
        check(dr.take(a, index, axis), np.take(ra, index, axis))
        signed = [-1, 0, -3]
        check(dr.take(a, flat(m, "i")(signed), axis), np.take(ra, signed, axis))
        check(dr.take(a, signed, axis), np.take(ra, signed, axis))
        plane = np.array([[0, 1], [2, 2]], dtype=np.int32)
        check(dr.take(a, m.TensorXi(plane), axis), np.take(ra, plane, axis))


def test_take_corner_cases(m: Any) -> None:
    a, ra = tensor(m, (3, 4))
    # One entry in an array removes the axis, one in a sequence does not.
    check(dr.take(a, flat(m, "u")(1)), ra[1])
    check(dr.take(a, [1]), ra[[1]])
    check(dr.take(a, [], 1), ra[:, :0])
    check(dr.take(a, index=1, axis=1), ra[:, 1])
    v, rv = tensor(m, (6,))
    check(dr.take(v, flat(m, "u")(4, 1)), rv[[4, 1]])


def test_take_errors(m: Any) -> None:
    a, _ = tensor(m, (3, 4))
    for bad in (3, -4, [0, 3]):
        with pytest.raises(IndexError, match="out of bounds"):
            dr.take(a, bad)
    with pytest.raises(IndexError, match="out of bounds"):
        dr.take(a, 0, axis=2)
    for bad in (1.5, flat(m, "f")(1), "a", m.Array3u(1)):
        with pytest.raises(TypeError, match="take"):
            dr.take(a, bad)
    for bad in (flat(m, "f")(1), [1, 2], m.Array3f(1)):
        with pytest.raises(TypeError, match="take"):
            dr.take(bad, 0)


def interp(ref: Any, pos: Any, axis: int) -> Any:
    """Linear interpolation of NumPy arrays that extrapolates."""
    size = ref.shape[axis]
    base = np.clip(np.floor(pos), 0, size - 2).astype(int)
    shape = [1] * ref.ndim
    weight = np.asarray(pos - base, dtype=np.float64)
    if weight.ndim:
        shape[axis] = -1
        weight = weight.reshape(shape)
    a = np.take(ref, base, axis).astype(np.float64)
    b = np.take(ref, base + 1, axis).astype(np.float64)
    return a * (1 - weight) + b * weight


def test_take_interp(m: Any) -> None:
    rng = np.random.default_rng(1)
    ref = rng.random((3, 4, 5)).astype(np.float32)
    a = m.TensorXf(ref)
    for axis in (0, 1, 2, -1, -2):
        for pos in (0.0, 0.5, 1, 1.75, -0.5, 7.25):
            got = dr.take_interp(a, pos, axis)
            want = interp(ref, pos, axis)
            assert got.shape == want.shape
            np.testing.assert_allclose(np.array(got), want, rtol=1e-5, atol=1e-6)
        for kind in ("f", "f64", "f16"):
            many = np.array([0.5, 1.25, 0, -0.5, 2.5, 9])
            got = dr.take_interp(a, flat(m, kind)(many.tolist()), axis)
            want = interp(ref, many, axis)
            assert got.shape == want.shape and type(got) is m.TensorXf
            np.testing.assert_allclose(np.array(got), want, rtol=1e-5, atol=1e-5)


def test_take_interp_types(m: Any) -> None:
    for kind, want in [("f16", 2.5), ("f64", 2.5), ("i", 2), ("u", 2)]:
        dtype = getattr(m, "TensorX" + kind)
        got = dr.take_interp(dtype([1, 4]), 0.5)
        assert type(got) is dtype and got.shape == () and got.array[0] == want
    a, ra = tensor(m, (3, 2))
    check(dr.take_interp(a, flat(m, "f")(0.5)), [1, 2])
    check(dr.take_interp(a, m.TensorXf([0.5])), [[1, 2]])
    check(dr.take_interp(a, flat(m, "u")(1, 2)), ra[[1, 2]])
    assert np.isnan(np.array(dr.take_interp(a, float("nan")))).all()
    assert np.isnan(np.array(dr.take_interp(a, flat(m, "f")(float("nan"), 0)))[0]).all()


def test_take_interp_errors(m: Any) -> None:
    a, _ = tensor(m, (1, 2))
    with pytest.raises(RuntimeError, match="take_interp"):
        dr.take_interp(a, 0.5)
    with pytest.raises(RuntimeError, match="take_interp"):
        dr.take_interp(a, 0.5, axis=2)
    with pytest.raises(TypeError, match="take_interp"):
        dr.take_interp(flat(m, "f")(1, 2), 0.5)
    for bad in ("a", m.Array3f(0), None):
        with pytest.raises(TypeError, match="take_interp"):
            dr.take_interp(a, bad, axis=1)


def test_upsample_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match=r"drjit.upsample\(\)") as seen:
        dr.upsample(dr.llvm.TensorXf([1, 2]), shape=[4])
    assert seen[0].filename == __file__


@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
def test_upsample(m: Any) -> None:
    a, ra = tensor(m, (2, 3, 2))
    for factors in [(2, 2, 1), (1, 1, 3), (3,), (1, 2), ()]:
        ref = ra
        for axis, n in enumerate(factors):
            ref = np.repeat(ref, n, axis)
        check(dr.upsample(a, scale_factor=list(factors)), ref)
        check(dr.upsample(a, shape=list(ref.shape)), ref)
    for args in [
        {},
        {"shape": [3]},
        {"shape": [1]},
        {"shape": [4], "scale_factor": [2]},
        {"scale_factor": 2},
        {"scale_factor": [0]},
        {"scale_factor": [1.5]},
        {"scale_factor": [1, 1, 1, 1]},
    ]:
        with pytest.raises(TypeError, match="upsample"):
            dr.upsample(a, **args)
    with pytest.raises(TypeError, match="upsample"):
        dr.upsample(flat(m, "f")(1), scale_factor=[2])
