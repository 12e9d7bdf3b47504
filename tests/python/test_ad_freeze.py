"""Frozen functions and derivatives: those of inputs, and those within the function.

The reference is the function, called as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import drjit as dr
import pytest
from drjit.llvm import ad


def _listed(array: Any) -> list[Any]:
    return list(array)


def gradient_of(call: Callable[[Any], Any], leaf: bool) -> list[Any]:
    found = []
    for size in (4, 8, 4):
        x = dr.arange(ad.Float, size) + 1
        dr.eval(x)
        dr.enable_grad(x)
        call(x if leaf else dr.square(x) * 2)
        found.append(_listed(dr.grad(x)))
    return found


@pytest.mark.parametrize("leaf", [True, False])
def test_gradients_of_inputs(leaf: bool) -> None:
    def f(y: Any) -> None:
        dr.backward(dr.sum(dr.sin(y) * y))

    frozen = dr.freeze(f)
    assert gradient_of(frozen, leaf) == gradient_of(f, leaf)
    assert frozen.n_recordings <= 2


def test_gradients_accumulate() -> None:
    @dr.freeze
    def f(y: Any) -> None:
        dr.backward(dr.sum(y * y))

    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    for k in range(1, 4):
        f(x)
        assert _listed(dr.grad(x)) == [2 * k, 4 * k, 6 * k]


def test_gradients_that_are_literals() -> None:
    def f(y: Any) -> None:
        dr.backward(dr.sum(y * 2))

    assert gradient_of(dr.freeze(f), True) == gradient_of(f, True)


def test_optimisation_step() -> None:
    @dataclass
    class Model:
        p: ad.Float
        v: ad.Float

    def step(model: Model, target: Any) -> Any:
        dr.enable_grad(model.p)
        loss = dr.sum(dr.square(model.p - target))
        dr.backward(loss)
        model.v = model.v * 0.9 + dr.grad(model.p)
        model.p = dr.detach(model.p) - model.v * 0.1
        return loss

    def run(call: Callable[..., Any]) -> Any:
        model = Model(dr.zeros(ad.Float, 10), dr.zeros(ad.Float, 10))
        target = dr.arange(ad.Float, 10)
        dr.make_opaque(model, target)
        losses = [_listed(dr.detach(call(model, target))) for _ in range(6)]
        return losses, _listed(model.p)

    frozen = dr.freeze(step)
    assert run(frozen) == run(step)
    assert frozen.n_recordings == 1


# ---------------------------------------------------------- derivatives through results


@dataclass
class Pair:
    a: ad.Float
    b: ad.TensorXf


@dr.syntax
def _loop(x: Any) -> Any:
    k = dr.zeros(ad.UInt, dr.width(x))
    y = ad.Float(x)
    while k < 3:
        y = y * x + 1
        k += 1
    return y


def _changes(x: Any, y: Any) -> Any:
    x *= y
    return dr.sin(x)


def _scatters(x: Any, y: Any) -> Any:
    dr.scatter_reduce(dr.ReduceOp.Add, x, y * y, dr.arange(ad.UInt, dr.width(y)) // 2)


def _structure(x: Any, y: Any) -> Any:
    tensor = ad.TensorXf(x * y, (2, dr.width(x) // 2))
    return {"pair": Pair(x * 2, dr.sum(tensor, axis=0)), "plain": 3, "same": y}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "product": lambda x, y: dr.sin(x) * y,
    "sum": lambda x, y: dr.sum(dr.square(x) * y),
    "several": lambda x, y: (x * y, dr.exp(-x), dr.detach(y), None),
    "structure": _structure,
    "gather": lambda x, y: dr.gather(
        ad.Float, x * y, dr.arange(ad.UInt, dr.width(x)) // 2
    ),
    "loop": lambda x, y: _loop(x) + y,
    "one": lambda x, y: x * 2,
    "none": lambda x, y: dr.detach(x) * 2,
    "itself": lambda x, y: (x, [y]),
    "changes": _changes,
    "scatters": _scatters,
    "evaluated": lambda x, y: (lambda z: (dr.eval(z), z * z)[1])(x * y),
}


def _inputs(size: int) -> tuple[Any, Any]:
    x = dr.arange(ad.Float, size) / 10 + 0.5
    y = 2 - dr.arange(ad.Float, size) / 20
    dr.eval(x, y)
    return x, y


def _floats(tree: Any) -> list[Any]:
    nodes = dr._core._tree_nodes("test", tree)
    return [leaf for leaf, keys in nodes if keys is None and dr.is_float_v(leaf)]


def _weighted(tree: Any) -> Any:
    """A number that depends on all entries of a PyTree in different ways."""
    total = ad.Float(0)
    for k, leaf in enumerate(_floats(tree)):
        flat = ad.Float(dr.ravel(leaf))
        total += dr.sum(flat * flat * (k + 1))
    return total


def _reverse(function: Callable[..., Any], size: int) -> Any:
    starts = _inputs(size)
    dr.enable_grad(*starts)
    x, y = (ad.Float(start * 1.5) for start in starts)
    result = function(x, y)
    enabled = [dr.grad_enabled(leaf) for leaf in _floats((result, x, y))]
    loss = _weighted((result, x))
    dr.backward(loss)
    return enabled, [_listed(dr.grad(start)) for start in starts], _listed(loss)


def _forward(function: Callable[..., Any], size: int) -> Any:
    starts = _inputs(size)
    dr.enable_grad(*starts)
    dr.set_grad(starts[0], 1)
    dr.set_grad(starts[1], dr.arange(ad.Float, size))
    x, y = (ad.Float(start * 1.5) for start in starts)
    result = function(x, y)
    loss = _weighted((result, x))
    dr.enqueue(dr.ADMode.Forward, *starts)
    dr.traverse(dr.ADMode.Forward)
    return _listed(dr.grad(loss))


def _about(expected: Any) -> Any:
    """Gradients are multiplied in another order than without the operation."""
    if isinstance(expected, (list, tuple)) and isinstance(expected[0], float):
        return pytest.approx(expected, rel=1e-6)
    if isinstance(expected, (list, tuple)):
        return type(expected)(map(_about, expected))
    return expected


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("derivative", [_reverse, _forward])
def test_derivatives_through(name: str, derivative: Callable[..., Any]) -> None:
    function = FUNCTIONS[name]
    frozen = dr.freeze(function, warn_after=100)
    for size in (4, 4, 10, 2, 4):
        assert derivative(frozen, size) == _about(derivative(function, size)), size
    before = frozen.n_recordings
    derivative(frozen, 10)
    assert frozen.n_recordings == before


def test_derivatives_call_the_function_once_each() -> None:
    calls = Mock()

    @dr.freeze
    def f(x: Any) -> Any:
        calls()
        return dr.sin(x) * x

    for _ in range(4):
        x = _inputs(5)[0]
        dr.enable_grad(x)
        dr.backward(f(x))
        assert dr.allclose(dr.grad(x), dr.sin(dr.detach(x)) + x * dr.cos(dr.detach(x)))
    assert calls.call_count == 2


def test_derivatives_of_derivatives() -> None:
    frozen = dr.freeze(lambda x: x * x * x)

    def second(f: Callable[[Any], Any], x: Any) -> Any:
        slope = dr.ad.gradient(lambda x: dr.sum(f(x)))
        return dr.ad.gradient(lambda x: dr.sum(slope(x) * x))(x)

    for _ in range(3):
        x = _inputs(4)[0]
        assert dr.allclose(second(frozen, x), 9 * x * x)
    x = _inputs(4)[0]
    gradient, product = dr.ad.hvp(lambda x: dr.sum(frozen(x)), (x,), (ad.Float(1),))
    assert dr.allclose(gradient[0], 3 * x * x) and dr.allclose(product[0], 6 * x)


def test_derivatives_are_those_of_the_call() -> None:
    # What the function reads has changed by the time it is differentiated.
    weight = ad.Float(2, 3)
    state = {"bias": ad.Float(1, 1)}
    dr.make_opaque(weight, state)
    frozen = dr.freeze(lambda x: x * x * weight + x * state["bias"])
    for k in range(3):
        start = ad.Float(1, 2)
        dr.enable_grad(start)
        x = ad.Float(start)
        y = frozen(x)
        expected = 2 * dr.detach(start) * weight + state["bias"]
        dr.eval(expected)
        weight += 1
        state["bias"] = state["bias"] * 2 + k
        x += 100
        dr.eval(weight, state)
        after = _listed(weight), _listed(state["bias"])
        dr.backward(dr.sum(y))
        assert _listed(dr.grad(start)) == _listed(expected)
        assert (_listed(weight), _listed(state["bias"])) == after


def test_derivatives_of_methods_and_closures() -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = ad.Float(1, 2, 3)
            dr.enable_grad(self.weight)

        @dr.freeze(state_fn=lambda self, x: self.weight)
        def apply(self, x: Any) -> Any:
            return self.weight * self.weight * x

    model = Model()
    for k in range(1, 4):
        dr.clear_grad(model.weight)
        dr.backward(dr.sum(model.apply(ad.Float(k, 1, 1))))
        assert _listed(dr.grad(model.weight)) == [2 * k, 4, 6]
    scale = ad.Float(3)
    dr.enable_grad(scale)
    closed = dr.freeze(lambda x: x * scale * scale)
    for k in range(1, 4):
        dr.clear_grad(scale)
        dr.backward(dr.sum(closed(ad.Float(k, 1))))
        assert _listed(dr.grad(scale)) == [6 * (k + 1)]


def test_one_array_twice() -> None:
    frozen = dr.freeze(lambda x, y: x * y)
    for other in (False, True):
        x = ad.Float(1, 2, 3)
        dr.enable_grad(x)
        y = ad.Float(x) if other else x
        dr.backward(dr.sum(frozen(x, y)))
        assert _listed(dr.grad(x)) == [2, 4, 6]


def test_suspended_derivatives() -> None:
    frozen = dr.freeze(lambda x: x * x)
    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    for _ in range(2):
        with dr.suspend_grad():
            assert not dr.grad_enabled(frozen(x))
        assert dr.grad_enabled(frozen(x))
        assert dr.grad_enabled(x)


def test_inputs_that_become_tracked() -> None:
    def f(x: Any) -> Any:
        dr.enable_grad(x)
        return x * x

    frozen = dr.freeze(f)
    for k in range(3):
        x = ad.Float(1, 2, 3) + k
        dr.backward(dr.sum(frozen(x)))
        assert _listed(dr.grad(x)) == [2 * k + 2, 2 * k + 4, 2 * k + 6]
    assert frozen.n_recordings == 1


def test_gradients_and_results() -> None:
    # A loss that is differentiated within, and a result that is outside.
    def f(x: Any) -> Any:
        dr.backward(dr.sum(dr.square(x)))
        return x * x * x

    def run(f: Callable[[Any], Any]) -> list[Any]:
        found = []
        for _ in range(3):
            x = ad.Float(1, 2, 3)
            dr.enable_grad(x)
            dr.backward(dr.sum(f(x)))
            found.append(_listed(dr.grad(x)))
        return found

    assert run(dr.freeze(f)) == run(f) == [[5, 16, 33]] * 3


def test_a_derivative_that_fails() -> None:
    probe = Mock()

    def f(x: Any) -> Any:
        probe()
        return dr.sin(x)

    frozen = dr.freeze(f)
    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    y = frozen(x)
    probe.side_effect = ZeroDivisionError("once more")
    dr.set_grad(x, 1)
    with pytest.raises(ZeroDivisionError):  # reverse mode was recorded with the call
        dr.forward_to(y, flags=dr.ADFlag.ClearVertices)
    probe.side_effect = None
    dr.clear_grad((x, y))
    dr.set_grad(x, 1)
    derivative = dr.forward_to(y, flags=dr.ADFlag.ClearVertices)
    assert dr.allclose(derivative, dr.cos(dr.detach(x)))
    dr.clear_grad((x, y))
    dr.backward(dr.sum(y))
    assert dr.allclose(dr.grad(x), dr.cos(dr.detach(x)))


def test_frozen_functions_within() -> None:
    inner = dr.freeze(lambda x: dr.sin(x) * 2)
    outer = dr.freeze(lambda x: inner(x) * inner(x + 1))
    for f in (outer, outer):
        x = _inputs(4)[0]
        dr.enable_grad(x)
        dr.backward(dr.sum(f(x)))
        p = dr.detach(x)
        expected = 4 * (dr.cos(p) * dr.sin(p + 1) + dr.sin(p) * dr.cos(p + 1))
        assert dr.allclose(dr.grad(x), expected)
