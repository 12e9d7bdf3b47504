"""Arrays without entries that are tracked: what is made of them is tracked as well, and
gradients of what stands beside them are those of an array with entries of which none
counts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import (
    Array3f,
    Bool,
    Complex2f,
    Float,
    Float16,
    Float64,
    Int,
    TensorXf,
    UInt,
)

NONE = np.zeros(0)


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    yield
    assert dr._core._ad_node_count() == before  # type: ignore[attr-defined]


def empty(dtype: Any = Float) -> Any:
    x = dr.zeros(dtype, 0)
    dr.enable_grad(x)
    assert dr.grad_enabled(x)
    return x


def no_positions() -> Any:
    return dr.zeros(UInt, 0)


def scattered(x: Any, function: Any) -> Any:
    target = Float(1, 2)
    function(target, x, no_positions())
    return target


def in_place(x: Any) -> Any:
    y = Float(x)
    y += 1
    y *= 2
    return y


# What may be made of an array without entries, and of one w with an entry.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, w: x * x,
    "with a number": lambda x, w: 2 / x,
    "with what is tracked": lambda x, w: x * w,
    "sine": lambda x, w: dr.sin(x),
    "negative": lambda x, w: -x,
    "power": lambda x, w: x**2,
    "fma": lambda x, w: dr.fma(x, x, w),
    "select": lambda x, w: dr.select(x > 0, x, 1),
    "in place": lambda x, w: in_place(x),
    "sum": lambda x, w: dr.sum(x),
    "sum and more": lambda x, w: dr.sum(x * w) + 3,
    "product of all": lambda x, w: dr.prod(x),
    "largest": lambda x, w: dr.minimum(dr.max(x), 1),
    "mean": lambda x, w: dr.mean(x),
    "dot product": lambda x, w: dr.dot(x, x),
    "prefix sum": lambda x, w: dr.cumsum(x),
    "blocks": lambda x, w: dr.block_sum(x, 2),
    "sorted": lambda x, w: dr.sort(x),
    "gather nothing": lambda x, w: dr.gather(Float, w, no_positions()),
    "gather from nothing": lambda x, w: dr.gather(Float, x, no_positions()),
    "gather points": lambda x, w: dr.gather(Array3f, x, no_positions()),
    "scatter": lambda x, w: scattered(x, dr.scatter),
    "scatter_add": lambda x, w: scattered(x, dr.scatter_add),
    "concat": lambda x, w: dr.concat((Float(1, 2), x)),
    "concat with nothing": lambda x, w: dr.concat((x, Float())),
    "reverse": lambda x, w: dr.reverse(x),
    "tile": lambda x, w: dr.tile(x, 3),
    "repeat": lambda x, w: dr.repeat(x, 3),
    "copy": lambda x, w: dr.copy(x),
    "constructor": lambda x, w: Float(x),
    "double precision": lambda x, w: Float64(x),
    "half precision": lambda x, w: Float16(x),
    "component": lambda x, w: Array3f(x, 1, 2),
    "norm": lambda x, w: dr.norm(Array3f(x, 1, 2)),
    "ravel": lambda x, w: dr.ravel(Array3f(x, x, x)),
    "unravel": lambda x, w: dr.unravel(Array3f, x),
    "complex": lambda x, w: (Complex2f(x, x) * Complex2f(x, x)).real,
    "tensor": lambda x, w: TensorXf(x),
    "tensor of rows": lambda x, w: TensorXf(x, (2, 0, 3)),
    "tensor, broadcast": lambda x, w: TensorXf(x, (2, 0, 3)) * TensorXf([1, 2, 3]),
    "tensor, reduced": lambda x, w: dr.sum(TensorXf(x, (2, 0, 3)), axis=1),
    "tensor, selected": lambda x, w: TensorXf(x, (2, 0, 3))[0],
    "tensor, storage": lambda x, w: TensorXf(x, (2, 0)).array,
    "tensor, axes": lambda x, w: dr.moveaxis(TensorXf(x, (2, 0)), 0, 1),
    "tensor, take": lambda x, w: dr.take(TensorXf(x, (2, 0)), 0, axis=0),
    "tensor, stack": lambda x, w: dr.stack((TensorXf(x), TensorXf(x))),
    "tensor, reshape": lambda x, w: dr.reshape(TensorXf, x, (0, 2)),
    "matrices": lambda x, w: TensorXf(x, (2, 0)) @ TensorXf(x, (0, 3)),
    "matrices without rows": lambda x, w: TensorXf(x, (0, 2)) @ TensorXf([[1], [2]]),
    "replace_grad": lambda x, w: dr.replace_grad(x, x * 2),
    "replace_grad of one": lambda x, w: dr.replace_grad(Float(1), x * 2),
    "conditional": lambda x, w: dr.if_stmt((x,), x > 0, lambda x: x * x, dr.sin),
    "call": lambda x, w: dr.switch(no_positions(), [lambda x: x * x, dr.sin], x),
    "custom": lambda x, w: dr.custom(Product, x, w),
    "custom, of numbers": lambda x, w: dr.custom(Product, x, Float(2)),
    "frozen": lambda x, w: frozen(x, w)[0],
    "frozen, nothing": lambda x, w: frozen(x, w)[1],
}


class Product(dr.CustomOp):
    def eval(self, a: Any, b: Any) -> Any:
        self.a, self.b = a, b
        return a * b

    def forward(self) -> None:
        a, b = self.grad_in("a"), self.grad_in("b")
        self.set_grad_out(a * self.b + self.a * b)

    def backward(self) -> None:
        g = self.grad_out()
        self.set_grad_in("a", g * self.b)
        self.set_grad_in("b", dr.sum(g * self.a))


@dr.freeze
def frozen(x: Any, w: Any) -> Any:
    return dr.sum(x * w) + 3, x * 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_made_of_it(name: str) -> None:
    function = FUNCTIONS[name]
    for _ in range(3):  # a frozen function is recorded, and repeated
        x, w = empty(), Float(2)
        dr.enable_grad(w)
        y = function(x, w)
        assert dr.grad_enabled(y)
        dr.backward(dr.sum(dr.sum(y) if dr.is_vector_v(y) else y))
        assert np.array_equal(dr.grad(x), NONE)
        assert np.all(dr.grad(w).numpy() == 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_are_zero(name: str) -> None:
    function = FUNCTIONS[name]
    x, w = empty(), Float(2)
    dr.enable_grad(w)
    y = function(x, w)
    dr.forward(x)
    for part in dr.grad(y) if dr.is_vector_v(y) else [dr.grad(y)]:
        assert np.all(part.numpy() == 0)
    dr.set_grad(x, 3)
    y = function(x, w)
    assert np.all(np.array(dr.ravel(dr.forward_to(y))) == 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_suspended(name: str) -> None:
    x, w = empty(), Float(2)
    with dr.suspend_grad(x):
        assert not dr.grad_enabled(FUNCTIONS[name](x, w))
    with dr.suspend_grad():
        assert not dr.grad_enabled(FUNCTIONS[name](x, w))


def test_what_has_no_derivative() -> None:
    x = empty()
    for y in (x > 0, Int(x), dr.detach(x), dr.detach(x) * 2, dr.isnan(x)):
        assert not dr.grad_enabled(y)
    assert not dr.grad_enabled(dr.any(x > 0), dr.all(x > 0))


@dr.freeze
def with_inner(x: Any, w: Any) -> Any:
    z, u = dr.detach(x) * 1, dr.detach(x) * 3
    dr.enable_grad(z, u)
    return z * 2, u, w * w * u


def test_frozen_results_of_what_is_tracked_within() -> None:
    """Beside one that can be seen, there is one that only its results show."""
    for k in range(3):
        x, w = dr.arange(Float64, 3) + k, dr.opaque(Float64, 2)
        dr.enable_grad(w)
        found = with_inner(x, w)
        assert dr.grad_enabled(*found[:1]) and dr.grad_enabled(found[1])
        dr.backward(found[0], dr.ADFlag.ClearNone)
        dr.backward(found[2])
        assert np.allclose(w.grad, np.sum(4 * 3 * (np.arange(3) + k)))
        assert np.allclose(found[1].grad, 4)
    assert with_inner.n_recordings == 1


def test_gradients_are_set() -> None:
    x = empty()
    dr.set_grad(x, 3)
    dr.accum_grad(x, Float())
    assert np.array_equal(x.grad, NONE)
    with pytest.raises(RuntimeError, match="has 2 entries, expected 0 or 1"):
        dr.set_grad(x, Float(1, 2))
    dr.clear_grad(x)
    assert dr.grad_enabled(x)


def test_it_stays_tracked() -> None:
    x = empty()
    x.label = "nothing"
    dr.eval(x)
    dr.schedule(x)
    dr.make_opaque(x)
    assert x.numpy().shape == (0,) and str(x) == "[]" and list(x) == []
    assert dr.shape(x) == (0,) and x.state == dr.VarState.Invalid
    assert dr.grad_enabled(x) and dr.grad_enabled(copy.copy(x), copy.deepcopy(x))
    dr.disable_grad(x)
    assert not dr.grad_enabled(x)
    dr.set_grad_enabled(x, True)
    assert dr.grad_enabled(x)


def test_scopes() -> None:
    x = dr.zeros(Float, 0)
    with dr.suspend_grad():
        dr.enable_grad(x)
        assert not dr.grad_enabled(x)
    dr.enable_grad(x)
    with dr.suspend_grad(), dr.resume_grad(x):
        assert dr.grad_enabled(x * 2, dr.sum(x))
    y = dr.sum(x)
    with dr.isolate_grad():
        dr.backward(y * 2)
    assert np.array_equal(x.grad, NONE)


def test_second_derivatives() -> None:
    x, w = empty(), Float64(2)
    dr.enable_grad(w)
    y = dr.sum(x) + w**3
    dr.backward(y, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
    slope = dr.grad(w)
    assert np.isclose(slope[0], 12) and np.array_equal(dr.grad(x), NONE)
    dr.clear_grad(w)
    dr.backward(slope)
    assert np.isclose(dr.grad(w)[0], 12)


# Derivatives with respect to w of constructs whose bodies use nothing beside.
@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_in_bodies(mode: str) -> None:
    x, n = empty(), UInt(0, 0)

    def through_loop(w: Any) -> Any:
        def body(k: Any, s: Any) -> Any:
            return k + 1, s * w + dr.sum(x)

        one = dr.ones(Float64, 2)
        return dr.while_loop((n, one), lambda k, s: k < 3, body, mode=mode)[1]

    def through_conditional(w: Any) -> Any:
        sides = (lambda w: w * w + dr.sum(x)), (lambda w: w + dr.sum(x * x))
        return dr.if_stmt((w,), w > 1, *sides, mode=mode)

    def through_call(w: Any) -> Any:
        functions = [lambda w: w * w + dr.sum(x), lambda w: Float64(dr.sum(x * 2))]
        return dr.switch(UInt(0, 1), functions, w, mode=mode)

    point = np.array([0.7, 2.0])
    step = 1e-6
    for function in (through_loop, through_conditional, through_call):
        w = Float64(point)
        dr.enable_grad(w)
        dr.backward(function(w))
        with dr.suspend_grad():
            ends = [function(Float64(point + s)).numpy() for s in (-step, step)]
        quotient = (ends[1] - ends[0]) / (2 * step)
        assert np.allclose(dr.grad(w), quotient, rtol=1e-6)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_as_state(mode: str) -> None:
    x = empty()

    def body(k: Any, s: Any) -> Any:
        return k + 1, s * 2

    _, s = dr.while_loop((no_positions(), x), lambda k, s: k < 3, body, mode=mode)
    assert dr.grad_enabled(s)
    dr.backward(dr.sum(s))
    assert np.array_equal(x.grad, NONE)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_traversals_in_bodies(mode: str) -> None:
    x = empty()

    def body(k: Any) -> Any:
        dr.backward(dr.sum(x * x))
        return (k + 1,)

    dr.while_loop((UInt(0, 0),), lambda k: k < 2, body, mode=mode)
    assert np.array_equal(x.grad, NONE)


def test_masks_and_slices_write_nothing() -> None:
    t = TensorXf(empty(), (0, 3))
    t[:, 0] = 1
    t[...] = 2
    assert dr.grad_enabled(t) and dr.grad_enabled(t[..., 0])
    x = empty()
    x[Bool()] = 3
    x[no_positions()] = 3
    assert dr.grad_enabled(x) and len(x) == 0
