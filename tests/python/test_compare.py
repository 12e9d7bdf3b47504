"""Classification of floats, clipping, and approximate comparison."""

from __future__ import annotations

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
    names |= {"b": "Bool", "i64": "Int64"}
    return getattr(m, names[kind])


SPECIAL = [0.0, -0.0, 1.5, -2, INF, -INF, NAN, -NAN, 6e-8]


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
@pytest.mark.parametrize("kind", ["f16", "f", "f64"])
@pytest.mark.parametrize("fast_math", [False, True])
def test_classify(m: Any, name: str, kind: str, fast_math: bool) -> None:
    ref = getattr(np, name)(SPECIAL)
    with dr.scoped_set_flag(dr.JitFlag.FastMath, fast_math):
        x = flat(m, kind)(SPECIAL)
        got = getattr(dr, name)(x)
        assert type(got) is flat(m, "b") and list(got) == ref.tolist()
        # Not only of stored, but also of computed numbers.
        y = flat(m, kind)([0.0, 1, INF]) * flat(m, kind)([INF, INF, -1])
        want = getattr(np, name)([NAN, INF, -INF])
        assert list(getattr(dr, name)(y)) == want.tolist()
    got = getattr(dr, name)(getattr(m, "TensorX" + kind)(SPECIAL))
    assert type(got) is m.TensorXb and list(got.array) == ref.tolist()


def test_classify_other_types(m: Any) -> None:
    assert np.array(dr.isnan(m.Array3f(1, NAN, 2))).ravel().tolist() == [0, 1, 0]
    got = dr.isinf(m.Complex2f(1, INF))
    assert type(got) is m.Array2b and np.array(got).ravel().tolist() == [0, 1]
    got = dr.isnan(m.Matrix2f(1, NAN, 2, 3))
    assert np.array(got).ravel().tolist() == [0, 1, 0, 0]
    for x in (flat(m, "i")(1, 2), flat(m, "b")(True, False)):
        assert list(dr.isnan(x)) == [False, False] == list(dr.isinf(x))
        assert list(dr.isfinite(x)) == [True, True]
    assert dr.isnan(NAN) is True and dr.isnan(1) is False
    assert dr.isinf(-INF) is True and dr.isfinite(NAN) is False
    assert dr.isfinite(3) is True and dr.isinf(True) is False


def test_classify_sequences() -> None:
    assert dr.isnan([1.0, NAN]) == [False, True]
    assert dr.isfinite((1, INF)) == [True, False]
    assert dr.isnan(np.array([1, NAN])).tolist() == [False, True]
    assert dr.isinf(np.array([1, -INF, NAN])).tolist() == [False, True, False]
    assert dr.isfinite(np.array([1, -INF, NAN])).tolist() == [True, False, False]
    for fn in (dr.isnan, dr.isinf, dr.isfinite):
        for bad in ("a", None, object()):
            with pytest.raises(TypeError):
                fn(bad)


@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
def test_clip(m: Any) -> None:
    x = flat(m, "f")(-5, 0.5, 7)
    for fn in (dr.clip, dr.clamp):
        assert list(fn(x, 0, 2)) == [0, 0.5, 2]
        assert list(fn(x, flat(m, "f")(0, 1, 2), 9)) == [0, 1, 7]
        assert list(fn(x, 2, 1)) == [2, 2, 2]
        assert fn(5, 1, 3) == 3 and fn(-1.5, 0.0, 1.0) == 0
    assert list(dr.clip(value=x, min=0, max=2)) == [0, 0.5, 2]


# ------------------------------------------------------------- approximate comparison


@pytest.mark.parametrize(
    "kind,rtol,atol", [("f16", 1e-1, 1e-2), ("f", 1e-3, 1e-5), ("f64", 1e-5, 1e-8)]
)
def test_allclose_defaults(m: Any, kind: str, rtol: float, atol: float) -> None:
    dtype = flat(m, kind)
    assert dr.allclose(dtype(1000), dtype(1000 * (1 + 0.9 * rtol)))
    assert not dr.allclose(dtype(1000), dtype(1000 * (1 + 1.2 * rtol)))
    assert dr.allclose(dtype(0.9 * atol), dtype(0))
    assert not dr.allclose(dtype(1.1 * atol), dtype(0))


def test_allclose_arguments(m: Any) -> None:
    x = flat(m, "f")(1, 2, 4)
    t = m.TensorXf([[1, 2], [3, 4]])
    pairs: list[tuple[Any, Any]] = [
        (x, x), (x, [1, 2, 4]), ((1, 2, 4), x), (x * 0 + 3, 3), (t, t),
        (t, np.array([[1, 2], [3, 4]], np.float32)), (1, 1), ([1, [2, 3]], (1, [2, 3])),
        (m.Array3f(1, 2, 3), m.Array3f(1, 2, 3)), (m.Array3f(1, 2, 3), [1, 2, 3]),
        (m.Matrix2f(1, 2, 3, 4), m.Matrix2f(1, 2, 3, 4)), ([x, x], [x, x]),
        (m.Complex2f(1, 2), m.Complex2f(1, 2)), (True, True), (1, np.float64(1)),
        (m.Quaternion4f(1, 2, 3, 4), m.Quaternion4f(1, 2, 3, 4)),
        (np.array([1.0, 2]), np.array([1.0, 2])), (flat(m, "i")(1, 2), [1, 2]),
    ]  # fmt: skip
    for a, b in pairs:
        assert bool(dr.allclose(a, b)) is True
    for a, b in [(x, x + 1), (x, 3), (t, t + 1), (1, 2), ([1, 2], [1, 3]), ([x], [2])]:
        assert bool(dr.allclose(a, b)) is False


def test_allclose_of_matrices(m: Any) -> None:
    x, entries = m.Matrix2f(1, 2, 3, 4), [[1, 2], [3, 4]]
    for y in (entries, np.array(entries, np.float32), np.array(entries), (x + 0)):
        assert bool(dr.allclose(x, y)) and bool(dr.allclose(y, x))
        assert not dr.allclose(x + 1, y)
    assert dr.allclose(m.Quaternion4f(1, 2, 3, 4), [1, 2, 3, 4])
    got = x + entries
    assert type(got) is m.Matrix2f and np.array(got).ravel().tolist() == [2, 4, 6, 8]


def test_allclose_returns_bool(m: Any) -> None:
    assert dr.allclose(flat(m, "f")(1, 2), flat(m, "f")(1, 2)) is True
    assert dr.allclose(m.TensorXf([1, 2]), m.TensorXf([1, 3])) is False


def test_allclose_tolerances(m: Any) -> None:
    a, b = flat(m, "f")(1), flat(m, "f")(1.25)
    assert not dr.allclose(a, b)
    assert dr.allclose(a, b, rtol=0.3) and not dr.allclose(a, b, rtol=0.1)
    assert dr.allclose(a, b, atol=0.3) and not dr.allclose(a, b, 0, 0.2)
    assert dr.allclose(1, 1.25, atol=0.3) and not dr.allclose(1, 1.25, rtol=0.1)
    # The second argument scales the relative tolerance.
    assert dr.allclose(a, b, 0.2, 0) and not dr.allclose(b, a, 0.2, 0)


def test_allclose_special_numbers(m: Any) -> None:
    dtype = flat(m, "f")
    for a, b, want in [
        (INF, INF, True), (-INF, -INF, True), (INF, -INF, False), (1, INF, False),
        (INF, 1, False), (NAN, NAN, False), (1, NAN, False), (0.0, -0.0, True),
    ]:  # fmt: skip
        assert np.allclose(a, b) is want
        assert bool(dr.allclose(dtype(a), dtype(b))) is want
        assert bool(dr.allclose(a, b)) is want
    assert dr.allclose(dtype(NAN, 1), dtype(NAN, 1), equal_nan=True)
    assert not dr.allclose(dtype(NAN, 1), dtype(NAN, 2), equal_nan=True)
    assert not dr.allclose(dtype(NAN), dtype(1), equal_nan=True)
    assert dr.allclose(NAN, NAN, equal_nan=True)


def test_allclose_integers_and_masks(m: Any) -> None:
    u, i, b = flat(m, "u"), flat(m, "i"), flat(m, "b")
    assert dr.allclose(u(1, 2), u(2, 1), atol=1)
    assert not dr.allclose(u(1, 2), u(2, 1))
    assert not dr.allclose(i(-(2**31)), i(2**31 - 1))
    assert dr.allclose(b(True, False), b(True, False))
    assert not dr.allclose(b(True, False), b(True, True))


def test_allclose_sizes(m: Any) -> None:
    dtype = flat(m, "f")
    assert dr.allclose(dtype(), dtype()) and dr.allclose([], [])
    assert dr.allclose(dtype(1), dtype(1, 1, 1))
    assert dr.allclose([1], [1, 1])
    for a, b in [
        ([1, 2], [1, 2, 3]),
        (dtype(1, 2), dtype(1, 2, 3)),
        (dtype(1, 2), dtype()),
    ]:
        with pytest.raises((RuntimeError, ValueError)):
            dr.allclose(a, b)


def test_allclose_errors() -> None:
    for a, b in [({"a": 1}, {"a": 1}), ("a", "a"), (None, None)]:
        with pytest.raises(TypeError):
            dr.allclose(a, b)


def test_assert_allclose(m: Any) -> None:
    dtype = flat(m, "f")
    x = dtype(1, 2, 4)
    assert dr.assert_allclose(x, x) is None
    dr.assert_allclose(dtype(NAN), dtype(NAN), equal_nan=True)
    with pytest.raises(AssertionError) as caught:
        dr.assert_allclose(x, dtype(1, 2, 5), err_msg="my text")
    text = str(caught.value)
    assert text.startswith("my text\n")
    assert "rtol=0.001" in text and "1 / 3" in text and "[1, 2, 5]" in text
    assert "absolute difference: 1\n" in text and "relative difference: 0.2\n" in text
    for a, b in [
        (x, x + 1),
        (m.TensorXf([[1, 2]]), m.TensorXf([[1, 3]])),
        (m.Array3f(1), m.Array3f(2)),
        (1, 2),
        ([1, 2], [1, 3]),
        (dtype(1), dtype(NAN)),
        (dtype(INF), dtype(1)),
        (flat(m, "i")(1), flat(m, "i")(2)),
    ]:
        with pytest.raises(AssertionError, match="tolerance"):
            dr.assert_allclose(a, b)
    with pytest.raises((RuntimeError, ValueError)):
        dr.assert_allclose([1, 2], [1, 2, 3])
