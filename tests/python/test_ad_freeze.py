"""Frozen functions and derivatives: those of inputs, and those within the function.

The reference is the function, called as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import drjit as dr
import pytest


def _listed(array: Any) -> list[Any]:
    return list(array)


def gradient_of(call: Callable[[Any], Any], leaf: bool) -> list[Any]:
    ad = dr.llvm.ad
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
    ad = dr.llvm.ad

    @dr.freeze
    def f(y: Any) -> None:
        dr.backward(dr.sum(y * y))

    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    for k in range(1, 4):
        f(x)
        assert _listed(dr.grad(x)) == [2 * k, 4 * k, 6 * k]


def test_results_are_detached() -> None:
    ad = dr.llvm.ad

    @dr.freeze
    def f(y: Any) -> Any:
        return y * 2

    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    for _ in range(2):
        assert not dr.grad_enabled(f(x))
        assert dr.grad_enabled(x)


def test_optimisation_step() -> None:
    ad = dr.llvm.ad

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
