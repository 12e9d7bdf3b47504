"""What tests of derivatives share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm.ad import Float64

WEIGHTS = Float64(1, 1.3, 0.7, 0.9)
DIRECTION = np.array([1, -0.5, 0.25, 0.7]), np.array([0.3])


def gradients(
    program: Callable[..., Any], x: Any, p: Any, tracked: bool
) -> tuple[Any, ...]:
    """Of the weighted sum of four results, in reverse; with derivatives if tracked."""
    dr.enable_grad(x, p)
    loss = dr.sum(program(x, p) * WEIGHTS)
    dr.set_grad(loss, 1)
    dr.enqueue(dr.ADMode.Backward, loss)
    flags = dr.ADFlag.CreateGraph * tracked | dr.ADFlag.ClearVertices
    dr.traverse(dr.ADMode.Backward, flags)
    found: tuple[Any, ...] = dr.grad((x, p))
    dr.clear_grad((x, p))
    return found


def check_second_order(program: Callable[..., Any], x: Any, p: Any) -> None:
    """Reverse over reverse and forward over reverse of a function of four numbers and
    one, against quotients of its gradients."""

    def moved(step: float) -> list[Any]:
        where = Float64(x.numpy() + step * DIRECTION[0]), p + step * DIRECTION[1][0]
        return [g.numpy() for g in gradients(program, *where, False)]

    def quotients(step: float) -> list[Any]:
        return [
            (a - b) / (2 * step) for a, b in zip(moved(step), moved(-step), strict=True)
        ]

    narrow, wide = quotients(1e-4), quotients(2e-4)
    expected = [(4 * a - b) / 3 for a, b in zip(narrow, wide, strict=True)]
    x, p = Float64(x), Float64(p)
    found = gradients(program, x, p, True)
    product = dr.sum(found[0] * Float64(DIRECTION[0])) + dr.sum(
        found[1] * Float64(DIRECTION[1])
    )
    dr.set_grad((x, p), (Float64(DIRECTION[0]), Float64(DIRECTION[1])))
    dr.enqueue(dr.ADMode.Backward, *found)
    dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
    for g, e in zip(found, expected, strict=True):
        assert np.allclose(dr.grad(g).numpy(), e, rtol=1e-7, atol=1e-7)
    dr.clear_grad((x, p, found))
    dr.backward(product)
    for v, e in zip((x, p), expected, strict=True):
        assert np.allclose(v.grad.numpy(), e, rtol=1e-7, atol=1e-7)


def check_second_derivatives(function: Any, args: tuple[Any, ...]) -> None:
    """Hessian times vector against a difference quotient of gradients."""
    tangents = [
        np.random.default_rng(k).normal(size=np.shape(a.numpy()))
        for k, a in enumerate(args)
    ]

    def moved(step: float) -> list[Any]:
        pairs = zip(args, tangents, strict=True)
        return [type(a)(a.numpy() + step * t) for a, t in pairs]

    step = 1e-5
    ends = [dr.ad.gradient(function)(*moved(side * step)) for side in (-1, 1)]
    given = tuple(type(a)(t) for a, t in zip(args, tangents, strict=True))
    _, found = dr.ad.hvp(function, args, given)
    for low, high, product in zip(*ends, found, strict=True):
        quotient = (high.numpy() - low.numpy()) / (2 * step)
        assert np.allclose(product.numpy(), quotient, rtol=1e-6, atol=1e-7)
