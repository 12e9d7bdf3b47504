"""Components that go to one array are computed once: ravel, concat, ..."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import (
    Array2f,
    Array3b,
    Array3f,
    Array3f16,
    Array3f64,
    Array3i,
    Array3u8,
    Array4f,
    Float,
    Matrix3f,
    TensorXf,
    UInt,
)
from engine_util import printed

N = 1000


def launches(fn: Callable[[], Any]) -> tuple[Any, int]:
    """The evaluated result, and how many kernels that took."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        result = fn()
        dr.eval(result)
        return result, len(dr.kernel_history([dr.KernelType.JIT]))


def run(v: Any) -> Any:
    """Components that all depend on one loop."""
    t, n = type(v), len(v)

    def body(i: UInt, v: Any) -> tuple[UInt, Any]:
        return i + 1, t(*[v[(k + 1) % n] * 0.5 + 1 for k in range(n)])

    return dr.while_loop((UInt(0), v), lambda i, v: i < 10, body)[1]


def start(t: Any, n: int = N) -> Any:
    v = t(*[dr.arange(Float, n) + k for k in range(dr.size_v(t))])
    dr.eval(v)
    return v


def expected(n: int = N, k: int = 3) -> np.ndarray:
    v = [np.arange(n) + float(j) for j in range(k)]
    for _ in range(10):
        v = [v[(j + 1) % k] * 0.5 + 1 for j in range(k)]
    return np.array(v, dtype=np.float32)


def flat(result: Any) -> Any:
    return result.array if dr.is_tensor_v(result) else result


def scattered(v: Any) -> Any:
    target = dr.zeros(Float, len(v) * dr.width(v))
    dr.scatter(target, v, dr.arange(UInt, dr.width(v)))
    return target


# What is made of the components, and the order of these in it.
WAYS: dict[str, tuple[Callable[[Any], Any], Literal["C", "F"]]] = {
    "ravel": (dr.ravel, "F"),
    "ravel C": (lambda v: dr.ravel(v, order="C"), "C"),
    "image": (lambda v: dr.reshape(TensorXf, v, (dr.width(v) // 10, 10, len(v))), "F"),
    "tensor": (TensorXf, "C"),
    "flipped": (lambda v: TensorXf(v, flip_axes=True), "F"),
    "concat": (lambda v: dr.concat(list(v)), "C"),
    "stack": (lambda v: dr.stack(list(v)), "C"),
    "last axis": (lambda v: dr.stack(list(v), axis=-1), "F"),
    "scatter": (scattered, "F"),
}
CASES = pytest.mark.parametrize("way", list(WAYS))


@CASES
@pytest.mark.parametrize("t", [Array2f, Array3f, Array4f])
def test_the_loop_runs_once(way: str, t: Any) -> None:
    fn, order = WAYS[way]
    v = start(t)
    result, count = launches(lambda: fn(run(v)))
    assert count == 1
    want = expected(k=len(v)).ravel(order=order)
    assert np.allclose(flat(result).numpy(), want, rtol=1e-6)


def test_of_many_components() -> None:
    """Nine of them: more than one packet, or none."""
    x = dr.arange(Float, N)
    v = Array3f(x, x + 1, x + 2)
    rows = [Array3f(dr.sin(v) * (k + 1)) for k in range(3)]
    result, count = launches(
        lambda: dr.ravel(Matrix3f(*[c for row in rows for c in row]))
    )
    assert count == 1
    want = np.array([[c.numpy() for c in row] for row in rows])
    assert np.array_equal(result.numpy(), want.transpose(2, 1, 0).ravel())


@CASES
def test_frozen(way: str) -> None:
    fn, order = WAYS[way]
    frozen = dr.freeze(lambda v: fn(run(v)))
    for n in (N, 2 * N, 500, N):
        result, count = launches(partial(frozen, start(Array3f, n)))
        want = expected(n).ravel(order=order)
        assert np.allclose(flat(result).numpy(), want, rtol=1e-6)
        assert count == 1
    assert frozen.n_recordings <= 2


@CASES
@pytest.mark.parametrize("forward", [False, True])
def test_derivatives(way: str, forward: bool) -> None:
    fn, order = WAYS[way]
    weights = np.random.default_rng(1).normal(size=3 * N).astype(np.float32)
    v = start(Array3f)
    dr.enable_grad(v)
    factor = np.array([1, 2, 4], dtype=np.float32)
    w = Array3f(*[c * float(f) for c, f in zip(v, factor, strict=True)])
    y = flat(fn(w))
    if forward:
        parts = weights.reshape(3, N)
        dr.set_grad(v, Array3f(*[Float(p) for p in parts]))
        found = dr.forward_to(y).numpy()
        want = (parts * factor[:, None]).ravel(order=order)
    else:
        dr.set_grad(y, Float(weights))
        dr.backward_to(v)
        found = v.grad.numpy()
        want = weights.reshape((3, N), order=order) * factor[:, None]
    assert np.array_equal(found, want)


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("t", [Array3f16, Array3f64, Array3i, Array3b, Array3u8])
def test_entry_types(t: Any, order: Literal["C", "F"]) -> None:
    """Also of components that are literals, and of one entry."""
    leaf, bits = dr.value_t(t), dr.arange(UInt, N) & 1
    is_mask = dr.is_mask_v(leaf)
    x = bits == 1 if is_mask else leaf(bits)
    y, one = x if is_mask else x + x, dr.opaque(leaf, 1)
    for parts in ([x, y, x], [x, leaf(1), y], [one, x, leaf(0)]):
        result, count = launches(partial(dr.ravel, t(*parts), order=order))
        assert count == 1
        want = np.array([np.broadcast_to(p.numpy(), N) for p in parts])
        assert np.array_equal(result.numpy(), want.ravel(order=order))


def test_what_is_written_later() -> None:
    """Writes to the result come after those that complete it."""
    orders: list[Literal["C", "F"]] = ["C", "F"]
    for order in orders:
        x = dr.arange(Float, N)
        flat = dr.ravel(Array3f(x, x + 1, x + 2), order=order)
        dr.scatter(flat, dr.full(Float, -1, N), 3 * dr.arange(UInt, N) + 1)
        parts = np.arange(N) + np.arange(3)[:, None]
        want = parts.ravel(order=order)
        want[1::3] = -1
        assert np.array_equal(flat.numpy(), want)
        again = dr.ravel(dr.unravel(Array3f, flat))
        assert np.array_equal(again.numpy(), want)


def test_in_a_body_that_runs_at_once() -> None:

    def body(i: UInt, total: Float) -> tuple[UInt, Float]:
        small = dr.ravel(Array3f(i, i + 1, 2))
        return i + 1, total + dr.gather(Float, small, 1)

    start = UInt(0), dr.zeros(Float, 5)
    total = dr.while_loop(start, lambda i, _: i < 4, body, mode="evaluated")[1]
    assert np.array_equal(total.numpy(), np.full(5, 1 + 2 + 3 + 4))


PROGRAM = """
import drjit as dr
from drjit.llvm.ad import Array3f, Float, TensorXf, UInt
x = dr.arange(Float, 77) * 0.37
v = Array3f(dr.sin(x), dr.cos(x), x * 2)
for r in (dr.ravel(v), dr.ravel(v, order="C"), TensorXf(v).array,
          dr.stack(list(v), axis=-1).array, dr.concat([v.x, v.y, v.x])):
    print(dr.reinterpret_array(UInt, r).numpy().tolist())
"""


def test_engines_agree() -> None:
    texts = printed(PROGRAM, isas=True)
    assert all(text == texts[0] for text in texts)
