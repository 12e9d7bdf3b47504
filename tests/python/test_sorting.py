"""Sorting against NumPy and Python, and binary search."""

from __future__ import annotations

import math
from typing import Any

import drjit as dr
import numpy as np
import pytest

NAN, INF = math.nan, math.inf

KINDS = ["b", "i8", "u8", "i", "u", "i64", "u64", "f16", "f", "f64"]
DTYPES = {
    "b": np.bool_, "i8": np.int8, "u8": np.uint8, "i": np.int32, "u": np.uint32,
    "i64": np.int64, "u64": np.uint64, "f16": np.float16, "f": np.float32,
    "f64": np.float64,
}  # fmt: skip


def flat(m: Any, kind: str) -> Any:
    """The 1D dynamic array type of a module: kind is 'f', 'f64', 'u', ..."""
    if m is dr.scalar:
        return getattr(m, "ArrayX" + kind)
    names = {"f": "Float", "f64": "Float64", "f16": "Float16", "i": "Int", "u": "UInt"}
    names |= {"b": "Bool", "i8": "Int8", "u8": "UInt8", "i64": "Int64", "u64": "UInt64"}
    return getattr(m, names[kind])


def stable(ref: Any, descending: bool) -> Any:
    """Stable sorting permutation along the last axis, without special numbers."""
    if not descending:
        return np.argsort(ref, axis=-1, kind="stable")
    # Reversing an array sorted from its end keeps the order of equal entries.
    size = ref.shape[-1]
    backwards = np.argsort(ref[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return size - 1 - backwards


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 2, 17, 1000])
def test_sort_1d(m: Any, kind: str, descending: bool, size: int) -> None:
    rng = np.random.default_rng(size)
    low = 0 if kind in ("b", "u8", "u", "u64") else -30
    ref = rng.integers(low, 30, size).astype(DTYPES[kind])
    x = flat(m, kind)(ref.tolist())
    order = stable(ref, descending)
    result = dr.sort(x, descending=descending)
    assert type(result) is flat(m, kind)
    assert list(result) == ref[order].tolist()
    index = dr.argsort(x, descending=descending)
    assert type(index) is flat(m, "u")
    assert list(index) == order.tolist()
    assert list(x) == ref.tolist()


@pytest.mark.parametrize("descending", [False, True])
def test_sort_wide_range(m: Any, descending: bool) -> None:
    for kind in ("i", "u", "i64", "u64"):
        info = np.iinfo(DTYPES[kind])
        entries = [info.max, 0, info.min, 1, info.max - 1]
        result = dr.sort(flat(m, kind)(entries), descending=descending)
        assert list(result) == sorted(entries, reverse=descending)
    entries = [1e30, -1e30, 0, INF, -INF, 1e-30]
    result = dr.sort(flat(m, "f64")(entries), descending=descending)
    assert list(result) == sorted(entries, reverse=descending)


@pytest.mark.parametrize("kind", ["f16", "f", "f64"])
def test_sort_nan(m: Any, kind: str) -> None:
    # NaN counts as larger than everything else.
    x = flat(m, kind)([NAN, 1, INF, NAN, -INF, 2])
    result = list(dr.sort(x))
    assert result[:4] == [-INF, 1, 2, INF] and all(math.isnan(k) for k in result[4:])
    result = list(dr.sort(x, descending=True))
    assert result[2:] == [INF, 2, 1, -INF] and all(math.isnan(k) for k in result[:2])
    assert list(dr.argsort(x)) == [4, 1, 5, 2, 0, 3]
    assert list(dr.argsort(x, descending=True)) == [0, 3, 2, 5, 1, 4]


def test_sort_signed_zeros(m: Any) -> None:
    # Equal, so that they keep their order. (The published package puts -0 first.)
    x = flat(m, "f")([0.0, -0.0, 1, -0.0, 0.0])
    assert list(dr.argsort(x)) == [0, 1, 3, 4, 2]
    assert list(dr.argsort(x, descending=True)) == [2, 0, 1, 3, 4]


@pytest.mark.parametrize("kind", ["f", "i", "b"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 4), (4, 1), (2, 1, 3)])
def test_sort_tensor(m: Any, kind: str, descending: bool, shape: Any) -> None:
    rng = np.random.default_rng(3)
    ref = rng.integers(0, 2 if kind == "b" else 5, shape).astype(DTYPES[kind])
    t = getattr(m, "TensorX" + kind)(ref)
    for axis in range(-len(shape), len(shape)):
        moved = np.moveaxis(ref, axis, -1)
        order = np.moveaxis(stable(moved, descending), -1, axis)
        result = dr.sort(t, axis=axis, descending=descending)
        assert type(result) is type(t) and tuple(result.shape) == shape
        want = np.take_along_axis(ref, order, axis)
        assert list(result.array) == want.ravel().tolist()
        index = dr.argsort(t, axis=axis, descending=descending)
        assert type(index) is m.TensorXu and tuple(index.shape) == shape
        assert list(index.array) == order.ravel().tolist()


def test_sort_nothing(m: Any) -> None:
    x = flat(m, "f")()
    assert len(dr.sort(x)) == 0 and type(dr.sort(x)) is flat(m, "f")
    assert len(dr.argsort(x)) == 0 and type(dr.argsort(x)) is flat(m, "u")
    t = m.TensorXf(np.zeros((0, 3), np.float32))
    for axis in (0, 1):
        assert dr.sort(t, axis=axis).shape == (0, 3)
        index = dr.argsort(t, axis=axis)
        assert index.shape == (0, 3) and type(index) is m.TensorXu


def test_sort_returns_a_copy(m: Any) -> None:
    for x in (flat(m, "f")(1, 2), flat(m, "f")(1)):
        y = dr.sort(x)
        y += 1
        assert list(x)[0] == 1


def test_sort_errors(m: Any) -> None:
    for fn in (dr.sort, dr.argsort):
        for bad in ([3, 1], 5, None, m.Array3f(1), m.Complex2f(1)):
            with pytest.raises((TypeError, RuntimeError)):
                fn(bad)
        with pytest.raises(RuntimeError, match="out of bounds"):
            fn(m.TensorXf([[1, 2]]), axis=2)
        with pytest.raises(TypeError):
            fn(m.TensorXf([[1, 2]]), axis=None)
        with pytest.raises(IndexError):
            fn(m.TensorXf(1))


# --------------------------------------------------------------------- binary search


def test_binary_search_python() -> None:
    for start, end in [(0, 5), (0, 8), (3, 4), (7, 7), (-5, 5), (0, 1000)]:
        for limit in range(start - 1, min(end, start + 40) + 2):
            calls = []

            def pred(k: int, limit: int = limit, calls: list[int] = calls) -> bool:
                calls.append(k)
                return k < limit

            got = dr.binary_search(start, end, pred)
            assert type(got) is int
            assert got == min(max(limit, start), end)
            want = int(math.log2(end - start) + 1) if end > start else 0
            assert len(calls) == want
            assert all(start <= k <= end for k in calls)


def test_binary_search_arrays(m: Any) -> None:
    entries = [1, 3, 5, 7, 9, 100, 100]
    wanted = [0, 1, 4, 5, 20, 100, 1000]
    data = flat(m, "f")(entries)
    x = flat(m, "f")(wanted)

    def pred(k: Any) -> Any:
        return dr.gather(flat(m, "f"), data, flat(m, "u")(k)) < x

    got = dr.binary_search(0, len(entries) - 1, pred)
    assert type(got) is flat(m, "i")
    ref = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
    assert list(got) == ref.tolist()


def test_binary_search_wide() -> None:
    limit = dr.llvm.Int64(5, 2**40 + 3)
    got = dr.binary_search(0, 2**41, lambda k: dr.llvm.Int64(k) < limit)
    assert type(got) is dr.llvm.Int64 and list(got) == [5, 2**40 + 3]
    limit64 = dr.llvm.Int64(5, 2**31 - 2)
    got = dr.binary_search(0, 2**31 - 1, lambda k: dr.llvm.Int64(k) < limit64)
    assert list(got) == [5, 2**31 - 2]


def test_binary_search_errors(m: Any) -> None:
    with pytest.raises((TypeError, AssertionError)):
        dr.binary_search(0.0, 5, lambda k: True)
    with pytest.raises((TypeError, AssertionError)):
        dr.binary_search(0, flat(m, "u")(5), lambda k: True)

    def fail(k: Any) -> bool:
        raise KeyError("from the predicate")

    with pytest.raises(KeyError, match="from the predicate"):
        dr.binary_search(0, 5, fail)
