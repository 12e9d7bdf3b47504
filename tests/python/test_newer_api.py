"""What versions after 1.4 of the published package have, and complex extremes."""

from __future__ import annotations

import cmath
import math
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar
from drjit.llvm import ad


def test_median() -> None:
    rng = np.random.default_rng(1)
    for shape in ((5,), (6,), (4, 3), (2, 3, 5)):
        n = rng.permutation(math.prod(shape)).reshape(shape).astype(np.float32)
        t = llvm.TensorXf(n)
        for axis in range(len(shape)):
            middle = np.sort(n, axis).take((shape[axis] - 1) // 2, axis)
            assert dr.median(t, axis).numpy().tolist() == middle.tolist()
        everything = np.sort(n.ravel())[(n.size - 1) // 2]
        assert dr.median(t, None).numpy().item() == everything
        kept = dr.median(t, 0, keepdims=True)
        assert kept.shape == (1, *shape[1:])
    assert dr.median(llvm.Int(4, 1, 3, 2))[0] == 2
    assert dr.median([3, 1, 2, 4]) == 2
    assert dr.median(llvm.Array3f([3, 1], [1, 5], [2, 4])).numpy().tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"drjit\.median\(\): .*empty"):
        dr.median(llvm.Float())
    with pytest.raises(IndexError, match=r"drjit\.median\(\): 'axis' is 1"):
        dr.median(llvm.Float(1, 2), 1)


def test_fmin_fmax() -> None:
    nan = math.nan
    a, b = llvm.Float(nan, 5, nan, 5), llvm.Float(5, nan, nan, 1)
    np.testing.assert_array_equal(dr.fmin(a, b).numpy(), [5, 5, nan, 1])
    np.testing.assert_array_equal(dr.fmax(a, b).numpy(), [5, 5, nan, 5])
    assert dr.fmin(4, 7) == 4 and dr.fmax(4, 7.5) == 7.5


def test_opaque_of_a_value() -> None:
    assert dr.opaque(llvm.Float(1)).state == dr.VarState.Evaluated
    value = llvm.Float(1), {"x": llvm.Array3f(0, 1, 0), "n": None, "s": "text"}
    copy = dr.opaque(value)
    assert copy[1]["n"] is None and copy[1]["s"] == "text"
    assert copy[1]["x"].x.index != copy[1]["x"].z.index
    assert copy[1]["x"].x.state == dr.VarState.Evaluated
    x = ad.Float(1, 2)
    dr.enable_grad(x)
    dr.backward(dr.opaque(x) * 3)
    assert x.grad.numpy().tolist() == [3, 3]
    assert dr.opaque(llvm.Float, 2, 3).numpy().tolist() == [2, 2, 2]


def test_names_of_numpy() -> None:
    x = llvm.Float(1, 2)
    assert dr.tile(x, reps=2).numpy().tolist() == [1, 2, 1, 2]
    assert dr.repeat(x, repeats=2).numpy().tolist() == [1, 1, 2, 2]
    with pytest.raises(TypeError):
        dr.tile(x, repeats=2)
    dr.flush_thread()
    assert len(dr.meshgrid(x)) == 1


def test_unravel_converts() -> None:
    got = dr.unravel(llvm.Array3f64, llvm.Float(1, 2, 3, 4, 5, 6))
    assert type(got) is llvm.Array3f64
    assert got.numpy().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert dr.unravel(ad.Array3f, llvm.Int(1, 2, 3)).numpy().tolist() == [[1], [2], [3]]


def test_flip_axes() -> None:
    m = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(
        llvm.Matrix4f(m, flip_axes=True).numpy(), llvm.Matrix4f(m.T.copy()).numpy()
    )
    v = np.array([1, 2, 3], np.float32)
    assert llvm.Array3f(v, flip_axes=True).numpy().tolist() == [[1], [2], [3]]
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(llvm.Array3f(rows, flip_axes=True).numpy(), rows.T)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: dr.sum(v, axis=3),
        lambda v: dr.prod(v, axis=-4),
        lambda v: dr.all(v > 0, axis=5),
        lambda v: dr.mean(v, axis=3),
        lambda v: dr.std(v, axis=3),
        lambda v: dr.argmax(v, axis=3),
        lambda v: dr.cumsum(v, axis=3),
        lambda v: dr.prefix_reduce(dr.ReduceOp.Add, v, axis=3),
        lambda v: dr.sort(v, axis=3),
        lambda v: dr.concat([v, v], axis=3),
    ],
)
def test_axis_errors(call: Any) -> None:
    with pytest.raises(ValueError, match=r"drjit\.\w+\(.*'axis' is .*out of") as info:
        call(llvm.TensorXf(np.zeros((2, 3))))
    assert isinstance(info.value, IndexError)


class Holder(dr.Instance):  # type: ignore[misc]
    def __init__(self, value: Any) -> None:
        self.value = value


def test_wide_attributes() -> None:
    small, large = Holder(5), Holder(1 << 40)
    holders = dr.array_t(Holder)(small, large)
    assert type(holders.value) is llvm.Int64
    assert holders.value.numpy().tolist() == [5, 1 << 40]
    large.value = 3_000_000_000
    assert holders.value.numpy().tolist() == [5, 3_000_000_000]
    large.value = 1 << 70
    with pytest.raises(OverflowError, match="the attribute 'value' .* 64 bits"):
        _ = holders.value


# -------------------------------------------------------------------- complex numbers

PARTS = [0.0, 1.0, -2.5, 3e30, -4e30, 1e-30, 1e38, -2e37, 1e-40]


@pytest.mark.parametrize("m", (llvm, scalar), ids=("llvm", "scalar"))
def test_complex_extremes(m: Any) -> None:
    functions: list[tuple[Any, Any]] = [
        (dr.abs, abs),
        (dr.norm, abs),
        (dr.sqrt, cmath.sqrt),
        (dr.rcp, lambda z: 1 / z),
        (dr.rsqrt, lambda z: 1 / cmath.sqrt(z)),
        (dr.log, cmath.log),
    ]
    for a in PARTS:
        for b in PARTS:
            z = complex(np.complex64(complex(a, b)))
            for function, reference in functions:
                if not z and function not in (dr.abs, dr.norm, dr.sqrt):
                    continue
                got = function(m.Complex2f(z))
                with np.errstate(over="ignore"):
                    want = complex(np.complex64(reference(z)))
                if function in (dr.abs, dr.norm):
                    value = got if isinstance(got, float) else got[0]
                else:
                    value = got.numpy().item()
                near = pytest.approx(want, rel=4e-6, abs=3e-45)
                assert value == want or value == near, (z, function)


def test_quaternion_extremes() -> None:
    for size in (1e30, 1e-30):
        q = llvm.Quaternion4f(3 * size, 0, 4 * size, 0)
        assert dr.abs(q)[0] == pytest.approx(5 * size, rel=1e-6)
        np.testing.assert_allclose((q / q).numpy().ravel(), [0, 0, 0, 1], atol=1e-6)
        np.testing.assert_allclose(
            (dr.rcp(q) * q).numpy().ravel(), [0, 0, 0, 1], atol=1e-6
        )
    half = dr.sqrt(llvm.Quaternion4f(0, 0, 0, -4))
    np.testing.assert_allclose((half * half).numpy().ravel(), [0, 0, 0, -4], atol=1e-6)


@pytest.mark.parametrize("function", (dr.abs, dr.sqrt, dr.rcp, dr.rsqrt))
def test_derivatives_of_complex_functions(function: Any) -> None:
    dr.check_grad(function, ad.Complex2f64(complex(0.3, 0.4)))
    dr.check_grad(function, ad.Quaternion4f64(0.3, 0.4, 0.5, -0.2))
    dr.check_grad(
        lambda z: ad.Complex2f64(complex(1, 2)) / z, ad.Complex2f64(complex(-0.6, 0.5))
    )
