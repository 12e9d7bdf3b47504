"""Composite reductions, norms and dot products against NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import drjit as dr
import numpy as np
import pytest

NAN, INF = math.nan, math.inf


def flat(m: Any, kind: str) -> Any:
    """The 1D dynamic array type of a module: kind is 'f', 'f64', 'u', ..."""
    if m is dr.scalar:
        return getattr(m, "ArrayX" + kind)
    names = {"f": "Float", "f64": "Float64", "f16": "Float16", "i": "Int", "u": "UInt"}
    names |= {"b": "Bool", "i8": "Int8", "u8": "UInt8", "i64": "Int64", "u64": "UInt64"}
    return getattr(m, names[kind])


def close(value: Any, ref: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Equal but for rounding; a dynamic axis of one entry counts as none."""
    got = np.array(value)
    want = np.asarray(ref)
    if dr.is_array_v(value) and dr.is_tensor_v(value):
        assert tuple(value.shape) == want.shape
    np.testing.assert_allclose(got.ravel(), want.ravel(), rtol=rtol, atol=atol)


RNG = np.random.default_rng(7)
DATA = (RNG.random((3, 4, 5)) * 10 - 3).astype(np.float32)
AXES: list[Any] = [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (-1, 0), (0, 1, 2)]


# -------------------------------------------------------------------------- moments


@pytest.mark.parametrize("axis", [..., *AXES, ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_moments_of_tensors(m: Any, axis: Any, keepdims: bool) -> None:
    t = m.TensorXf(DATA)
    np_axis = None if axis is ... else axis
    kw: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    np_kw: dict[str, Any] = {"axis": np_axis, "keepdims": keepdims}
    close(dr.mean(t, **kw), DATA.mean(**np_kw))
    close(dr.var(t, **kw), DATA.var(**np_kw))
    close(dr.std(t, **kw), DATA.std(**np_kw))
    if axis != ():
        close(dr.var(t, ddof=1, **kw), DATA.var(ddof=1, **np_kw))
        close(dr.std(t, ddof=2, **kw), DATA.std(ddof=2, **np_kw))


@pytest.mark.parametrize("kind", ["f", "f64", "f16"])
def test_moments_of_arrays(m: Any, kind: str) -> None:
    entries = [1.5, -2, 4, 8, 0.25]
    x = flat(m, kind)(entries)
    rtol = 2e-3 if kind == "f16" else 1e-6
    for fn, ref in [(dr.mean, np.mean), (dr.var, np.var), (dr.std, np.std)]:
        result = fn(x)
        assert type(result) is (float if m is dr.scalar else flat(m, kind))
        close(result, ref(entries), rtol)
        close(fn(x, axis=0), ref(entries), rtol)
        close(fn(x, axis=None), ref(entries), rtol)
    close(dr.var(x, ddof=1), np.var(entries, ddof=1), rtol)


def test_moments_of_nested_arrays() -> None:
    ref = np.array([[1, 2, 4], [3, 4, 4.5]])
    x = dr.llvm.Array2f(ref)
    for axis in (0, 1, -1, None, (0, 1)):
        close(dr.mean(x, axis=axis), ref.mean(axis))
        close(dr.var(x, axis=axis), ref.var(axis))
        close(dr.std(x, axis=axis, ddof=1), ref.std(axis, ddof=1))
    close(dr.var(x), ref.var(0))
    # The first component is as wide as the second.
    ref = np.array([[3, 3], [3, 4]])
    x = dr.llvm.Array2f(3, [3, 4])
    close(dr.mean(x, axis=1), ref.mean(1))
    close(dr.mean(x, axis=None), ref.mean())
    close(dr.var(x, axis=None), ref.var())
    y = dr.scalar.Array3f(1, 2, 4)
    close(dr.var(y), np.var([1, 2, 4]))
    rows = np.array([[1, 2], [3, 5]])
    for dtype in (dr.scalar.Matrix2f, dr.llvm.Matrix2f):
        x = dtype(rows)
        for axis in (0, 1, None):
            close(dr.mean(x, axis=axis), rows.mean(axis))
            close(dr.var(x, axis=axis), rows.var(axis))


def test_moments_of_python_values(m: Any) -> None:
    assert dr.mean([1, 2, 6]) == 3 and dr.mean((1.5, 2.5)) == 2
    assert dr.mean(range(4)) == 1.5 and dr.mean(k for k in (1, 2)) == 1.5
    assert dr.mean(5) == 5 and dr.var(5.0) == 0 and dr.std(5) == 0
    assert dr.var([1, 2, 6]) == pytest.approx(np.var([1, 2, 6]))
    assert dr.std([1, 2, 6], ddof=1) == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert dr.mean([[1, 2], [3]], axis=None) == 2
    assert dr.var([[1, 2], [3]], axis=None) == pytest.approx(np.var([1, 2, 3]))
    x = flat(m, "f")(1, 2, 3)
    close(dr.mean([x, x + 2]), [2, 3, 4])
    close(dr.var([x, x + 2]), [1, 1, 1])


def test_moments_are_stable(m: Any) -> None:
    # The mean is far larger than the deviation; and half precision does not overflow.
    x = m.TensorXf([4097.0, 4098.0, 4099.0])
    close(dr.var(x), 2 / 3)
    half = flat(m, "f16")([1000.0] * 100)
    close(dr.mean(half), 1000)
    close(dr.var(half), 0)


def test_moments_of_nothing(m: Any) -> None:
    for empty in (flat(m, "f")(), m.TensorXf(np.zeros(0, np.float32)), []):
        close(dr.mean(empty), 0)
        assert np.isnan(np.array(dr.var(empty))).all()
    empty = m.TensorXf(np.zeros((0, 3), np.float32))
    assert dr.var(empty, axis=1).shape == (0,)
    assert dr.mean(empty, axis=0).shape == (3,)
    x = flat(m, "f")(1, 2)
    assert np.array(dr.var(x, ddof=2)).ravel().tolist() == [INF]
    assert np.array(dr.var(x, ddof=3)).ravel().tolist() == [INF]
    assert np.isnan(np.array(dr.var(flat(m, "f")(1), ddof=1))).all()
    assert dr.var([1, 2], ddof=2) == INF


def test_moments_errors(m: Any) -> None:
    for fn in (dr.mean, dr.var, dr.std):
        for bad in ("ab", {"a": 1}, None, object()):
            with pytest.raises(TypeError):
                fn(bad)
        for axis in (3, -4, (0, 3)):
            with pytest.raises(RuntimeError, match="out.of.bounds"):
                fn(m.TensorXf(DATA), axis=axis)
        with pytest.raises(Exception):  # noqa: B017
            fn(flat(m, "b")(True))
    if m is not dr.scalar:
        for bad in (m.Int(1, 2), m.TensorXi([1, 2]), m.Array2i(1, 2)):
            with pytest.raises((TypeError, RuntimeError)):
                dr.mean(bad)


@pytest.mark.parametrize("mode", [None, "evaluated", "symbolic"])
def test_moments_modes(mode: Any) -> None:
    x = dr.llvm.TensorXf(DATA)
    close(dr.mean(x, axis=1, mode=mode), DATA.mean(1))
    close(dr.var(x, axis=1, mode=mode), DATA.var(1))


@pytest.mark.parametrize("axis", [..., *AXES])
@pytest.mark.parametrize("keepdims", [False, True])
def test_count_of_tensors(m: Any, axis: Any, keepdims: bool) -> None:
    t = m.TensorXf(DATA) > 1
    ref = (DATA > 1).sum(axis=None if axis is ... else axis, keepdims=keepdims)
    got = dr.count(t, axis=axis, keepdims=keepdims)
    assert type(got) is m.TensorXu
    close(got, ref)


def test_count_of_arrays(m: Any) -> None:
    x = flat(m, "b")(True, False, True)
    got = dr.count(x)
    close(got, 2)
    assert type(got) is (int if m is dr.scalar else m.UInt)
    close(dr.count(flat(m, "b")()), 0)
    close(dr.count(m.Array3b(True, False, True)), 2)
    assert dr.count(True) == 1 and dr.count(False) == 0
    assert dr.count([True, False, True]) == 2 and dr.count([]) == 0
    close(dr.count([[True], [True, False]], axis=None), 2)
    if m is not dr.scalar:
        nested = m.Array3b([True, False], True, True)
        got = dr.count(nested)
        assert type(got) is m.UInt and list(got) == [3, 2]
        close(dr.count(nested, axis=None), 5)
        close(dr.count(nested, axis=1), [1, 2, 2])
        close(dr.count([m.Bool(True, False), m.Bool(True, True)]), [2, 1])


def test_count_errors(m: Any) -> None:
    for bad in (flat(m, "f")(1), 5, [1, 2], "a", None):
        with pytest.raises((TypeError, RuntimeError)):
            dr.count(bad)
    with pytest.raises(RuntimeError, match="out.of.bounds"):
        dr.count(m.TensorXf(DATA) > 1, axis=3)


# -------------------------------------------------------------------------- extrema


@pytest.mark.parametrize("kind", ["b", "i8", "u8", "i", "u", "i64", "f16", "f", "f64"])
def test_argmin_argmax(m: Any, kind: str) -> None:
    entries: list[Any] = [3, 1, 9, 1, 9, 2]
    if kind == "b":
        entries = [False, True, False, True]
    x = flat(m, kind)(entries)
    for fn, ref in [(dr.argmin, np.argmin), (dr.argmax, np.argmax)]:
        got = fn(x)
        assert type(got) is flat(m, "u") and list(got) == [ref(entries)]
        assert list(fn(x, axis=0)) == list(fn(x, axis=-1)) == [ref(entries)]


@pytest.mark.parametrize("fn", ["argmin", "argmax"])
def test_arg_extrema_of_tensors(m: Any, fn: str) -> None:
    ref = np.round(DATA)  # has ties
    t = m.TensorXf(ref)
    for axis in (0, 1, 2, -1, -3):
        for keepdims in (False, True):
            got = getattr(dr, fn)(t, axis=axis, keepdims=keepdims)
            want = getattr(np, fn)(ref, axis=axis, keepdims=keepdims)
            assert type(got) is m.TensorXu and tuple(got.shape) == want.shape
            assert np.array_equal(np.array(got), want)
    got = getattr(dr, fn)(t)
    assert type(got) is flat(m, "u") and list(got) == [getattr(np, fn)(ref)]
    got = getattr(dr, fn)(t, keepdims=True)
    assert got.shape == (1, 1, 1) and got.array[0] == getattr(np, fn)(ref)


def test_arg_extrema_and_nan(m: Any) -> None:
    for entries, lowest, highest in [
        ([NAN, 1, NAN, 0], 3, 0),
        ([0, 1, NAN, 2], 0, 2),
        ([NAN, NAN], 0, 0),
        ([NAN, INF], 1, 0),
        ([-INF, NAN], 0, 1),
        ([INF, INF], 0, 0),
        ([-INF, -INF], 0, 0),
    ]:
        x = flat(m, "f")(entries)
        assert list(dr.argmin(x)) == [lowest]
        assert list(dr.argmax(x)) == [highest]


def test_arg_extrema_of_nested_arrays(m: Any) -> None:
    x = m.Array3f(3, 1, 2)
    assert np.array(dr.argmin(x, axis=0)).ravel().tolist() == [1]
    assert np.array(dr.argmax(x, axis=-1 if m is dr.scalar else 0)).ravel() == [0]
    x = m.Array3f(NAN, 2, 2)
    assert np.array(dr.argmin(x, axis=0)).ravel().tolist() == [1]
    assert np.array(dr.argmax(x, axis=0)).ravel().tolist() == [0]
    if m is not dr.scalar:
        x = m.Array2f([1, 5], [2, 4])
        assert list(dr.argmin(x, axis=0)) == [0, 1]
        assert list(dr.argmax(x, axis=0)) == [1, 0]
        got = dr.argmax(x, axis=1)
        assert type(got) is m.Array2u and list(got[0]) == [1] and list(got[1]) == [1]


def test_arg_extrema_errors(m: Any) -> None:
    for fn in (dr.argmin, dr.argmax):
        with pytest.raises((ValueError, RuntimeError)):
            fn(flat(m, "f")())
        for bad in ([1, 2], 5, None, "a"):
            with pytest.raises(TypeError):
                fn(bad)
        with pytest.raises(IndexError):
            fn(m.TensorXf(DATA), axis=3)
        for axis in ((0, 1), ..., 1.5):
            with pytest.raises(TypeError):
                fn(m.TensorXf(DATA), axis=axis)


# --------------------------------------------------------------- norms, dot products


def test_dot_of_arrays(m: Any) -> None:
    for kind in ("f", "f64", "i", "u", "f16"):
        got = dr.dot(flat(m, kind)(1, 2, 3), flat(m, kind)(4, 5, 6))
        close(got, 32)
        close(dr.dot(flat(m, kind)(2), flat(m, kind)(4, 5, 6)), 30)
    close(dr.dot(m.Array3f(1, 2, 3), m.Array3f(4, 5, 6)), 32)
    close(dr.dot(m.Array3f(1, 2, 3), [4, 5, 6]), 32)
    close(dr.dot((4, 5, 6), m.Array3i(1, 2, 3)), 32)
    close(dr.dot(m.Array3f(1, 2, 3), m.Array3i(4, 5, 6)), 32)
    close(dr.dot(m.Complex2f(1, 2), m.Complex2f(3, 4)), 11)
    close(dr.dot(m.Quaternion4f(1, 2, 3, 4), m.Quaternion4f(1, 2, 3, 4)), 30)
    close(dr.dot(m.Matrix2f(1, 2, 3, 4), m.Matrix2f(1, 2, 3, 4)), [10, 20])
    close(dr.abs_dot(m.Array3f(1, 2, 3), m.Array3f(-4, -5, -6)), 32)
    close(dr.dot(m.TensorXf([1, 2, 3]), m.TensorXf([4, 5, 6])), 32)
    if m is not dr.scalar:
        a, b = m.Array2f([1, 2], [3, 4]), m.Array2f([5, 6], [7, 8])
        close(dr.dot(a, b), [26, 44])
        close(dr.dot([a.x, a.y], [b.x, b.y]), [26, 44])


def test_dot_of_python_values() -> None:
    assert dr.dot([1, 2], [3, 4]) == 11 and isinstance(dr.dot([1, 2], [3, 4]), int)
    assert dr.dot((1, 2.5), (3, 4)) == 13
    assert dr.dot([1, 2], [3]) == 9
    assert dr.abs_dot([1, 2], [-3, -4]) == 11


def test_dot_errors(m: Any) -> None:
    with pytest.raises(RuntimeError, match="sizes"):
        dr.dot([1, 2, 3], [3, 4])
    with pytest.raises(RuntimeError, match="sizes"):
        dr.dot(flat(m, "f")(1, 2, 3), flat(m, "f")(1, 2))
    with pytest.raises(RuntimeError, match="sizes|incompatible"):
        dr.dot(m.Array2f(1, 2), m.Array3f(1, 2, 3))
    for a, b in [(3, 4), (m.Array3f(1), 2), (flat(m, "f")(1), 2)]:
        for fn in (dr.dot, dr.abs_dot):
            with pytest.raises((TypeError, RuntimeError)):
                fn(a, b)
    with pytest.raises((TypeError, RuntimeError)):
        dr.dot(dr.llvm.Array3b(True), dr.llvm.Array3b(True))


def test_norms_of_tensors(m: Any) -> None:
    t = m.TensorXf(DATA)
    close(dr.squared_norm(t), (DATA**2).sum(), rtol=1e-4)
    close(dr.norm(t), np.sqrt((DATA**2).sum()), rtol=1e-4)
    for axis, keepdims in itertools.product(AXES, (False, True)):
        ref = (DATA**2).sum(axis, keepdims=keepdims)
        kw: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        close(dr.squared_norm(t, **kw), ref, rtol=1e-4)
        close(dr.norm(t, **kw), np.sqrt(ref), rtol=1e-4)


def test_norms_of_arrays(m: Any) -> None:
    close(dr.norm(flat(m, "f")(3, 4)), 5)
    close(dr.squared_norm(flat(m, "f")(3, 4)), 25)
    close(dr.norm(m.Array2f(3, 4)), 5)
    close(dr.norm(m.Array2f(3, 4), axis=None), 5)
    close(dr.squared_norm(m.Array2i(3, 4)), 25)
    close(dr.norm(m.Complex2f(3, 4)), 5)
    close(dr.norm(m.Complex2f(3, 4), axis=None), 5)
    close(dr.squared_norm(m.Quaternion4f(1, 2, 3, 4)), 30)
    close(dr.squared_norm(m.Quaternion4f(1, 2, 3, 4), axis=None), 30)
    close(dr.norm(flat(m, "f16")(3, 4)), 5)
    if m is not dr.scalar:
        x = m.Array2f([3, 6], [4, 8])
        close(dr.norm(x), [5, 10])
        close(dr.norm(x, axis=1), np.sqrt([45, 80]))
        close(dr.norm(x, mode="symbolic", axis=None), np.sqrt(125))
        close(dr.squared_norm([x.x, x.y]), [25, 100])


def test_norms_of_python_values() -> None:
    assert dr.norm([3, 4]) == 5 and dr.squared_norm((3, 4)) == 25
    for bad in (5, 2.5, None):
        for fn in (dr.norm, dr.squared_norm):
            with pytest.raises((TypeError, RuntimeError)):
                fn(bad)


# --------------------------------------------------------------- names of reductions


def test_prefix_sums(m: Any) -> None:
    x = flat(m, "f")(3, 1, 2)
    assert list(dr.cumsum(x)) == [3, 4, 6]
    assert list(dr.cumsum(x, reverse=True)) == [6, 3, 2]
    assert list(dr.prefix_sum(x)) == [0, 3, 4]
    assert list(dr.prefix_sum(x, axis=0, reverse=True)) == [3, 2, 0]
    t = m.TensorXf(DATA)
    for axis in (0, 1, 2, -1):
        want = DATA.astype(np.float64).cumsum(axis)
        close(dr.cumsum(t, axis=axis), want, rtol=1e-4, atol=1e-4)
        close(dr.prefix_sum(t, axis), want - DATA, rtol=1e-4, atol=1e-4)
    assert dr.cumsum([1, 2, 3]) == [1, 3, 6]
    assert dr.prefix_sum([1, 2, 3]) == [0, 1, 3]


def test_block_sums() -> None:
    x = dr.llvm.Float(1, 2, 3, 4)
    for mode in (None, "evaluated", "symbolic"):
        assert list(dr.block_sum(x, 2, mode)) == [3, 7]
    assert list(dr.block_prefix_sum(x, 2)) == [0, 1, 0, 3]
    assert list(dr.block_prefix_sum(x, 2, exclusive=False)) == [1, 3, 3, 7]
    got = dr.block_prefix_sum(x, block_size=2, exclusive=False, reverse=True)
    assert list(got) == [3, 2, 7, 4]
    a, b = dr.block_sum((x, x + 1), 4)
    assert list(a) == [10] and list(b) == [14]


@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
def test_nested_reductions(m: Any) -> None:
    x = m.Array3f(1, 2, 3)
    close(dr.sum_nested(x), 6)
    close(dr.prod_nested(x * 2), 48)
    close(dr.min_nested(x), 1)
    close(dr.max_nested(x), 3)
    close(dr.sum_nested(m.Matrix2f(1, 2, 3, 4)), 10)
    close(dr.sum_nested([flat(m, "f")(1, 2), x]), 9)
    close(dr.max_nested(m.TensorXf(DATA)), DATA.max())
    assert dr.sum_nested([1, [2, 3]]) == 6 and dr.sum_nested(5) == 5
    mask = x > 1
    for fn, want in [(dr.all_nested, False), (dr.any_nested, True)]:
        assert bool(fn(mask)) is want and bool(fn([mask, True])) is want
    assert not dr.none_nested(mask) and dr.none_nested([False, [x > 5]])
    assert dr.all_nested(True) and dr.all_nested([]) and not dr.any_nested([])
    assert dr.all_nested(m.Matrix2f(1) == m.Matrix2f(1))


@pytest.mark.parametrize("name", ["all", "any", "none", "sum", "prod", "min", "max"])
def test_nested_reductions_are_deprecated(name: str) -> None:
    logical = name in ("all", "any", "none")
    value = dr.llvm.Bool(True) if logical else dr.llvm.Float(1)
    message = rf"{name}_nested\(\) is deprecated, use drjit.{name}\(arg, axis=None\)"
    with pytest.warns(DeprecationWarning, match=message) as seen:
        getattr(dr, name + "_nested")(value)
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", ["all", "any", "none", "sum", "prod", "min", "max"])
@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
def test_nested_reductions_errors(name: str) -> None:
    for bad in ("ab", {"a": 1}, None):
        with pytest.raises(TypeError):
            getattr(dr, name + "_nested")(bad)
