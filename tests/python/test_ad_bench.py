"""Values and derivatives of the objectives of ADBench (adbench.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import adbench
import drjit as dr
import drjit.ad
import numpy as np
import pytest
from drjit.llvm.ad import Float64, TensorXf64

PARAMETERS = {
    adbench.Mixture: ("alphas", "means", "factors"),
    adbench.Bundle: ("cameras", "points", "weights"),
    adbench.Hand: ("pose",),
}


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    yield
    assert dr._core._ad_node_count() == before  # type: ignore[attr-defined]


def arrays_of(problem: Any) -> list[Any]:
    """Its parameters, of NumPy or of Dr.Jit."""
    return [getattr(problem, name) for name in PARAMETERS[type(problem)]]


def with_arrays(problem: Any, arrays: list[Any]) -> Any:
    names = PARAMETERS[type(problem)]
    assert {f.name for f in fields(problem)} >= set(names)
    return replace(problem, **dict(zip(names, arrays, strict=True)))


def tracked(problem: Any) -> tuple[Any, list[Any]]:
    kind = Float64 if isinstance(problem, adbench.Hand) else TensorXf64
    arrays = [kind(a) for a in arrays_of(problem)]
    dr.enable_grad(arrays)
    return with_arrays(problem, arrays), arrays


def quotient(
    fn: Callable[[Any], Any], problem: Any, direction: list[Any], step: float = 1e-4
) -> Any:
    """Of fourth order, along a direction."""
    total = 0
    for k, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
        moved = [
            a + k * step * d
            for a, d in zip(arrays_of(problem), direction, strict=True)
        ]  # fmt: skip
        total = total + weight * fn(with_arrays(problem, moved))
    return total / (12 * step)


def directions(problem: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=a.shape) for a in arrays_of(problem)]


@pytest.mark.parametrize(("n", "d", "k"), [(1, 2, 1), (20, 2, 5), (50, 8, 3)])
def test_mixture(n: int, d: int, k: int) -> None:
    problem = adbench.make_mixture(n, d, k)
    value, gradient = adbench.mixture_numpy(problem)
    along = directions(problem, 0)
    expected = sum(float((g * v).sum()) for g, v in zip(gradient, along, strict=True))
    slope = quotient(lambda p: adbench.mixture_numpy(p)[0], problem, along)
    assert np.isclose(slope, expected, rtol=1e-8)  # the formulas, first of all
    own, arrays = tracked(problem)
    result = adbench.mixture_drjit(own)
    np.testing.assert_allclose(result.numpy(), value, rtol=1e-13)
    dr.backward(result)
    for a, g in zip(arrays, gradient, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), g, rtol=1e-11, atol=1e-11)


def test_hessian_of_mixture() -> None:
    problem = adbench.make_mixture(12, 3, 2)
    along = directions(problem, 1)
    own, arrays = tracked(problem)
    tangents = tuple(TensorXf64(v) for v in along)
    gradient, product = dr.ad.hvp(
        lambda *a: adbench.mixture_drjit(with_arrays(own, list(a))),
        tuple(dr.detach(arrays)), tangents,
    )  # fmt: skip
    formulas = adbench.mixture_numpy(problem)[1]
    for g, expected in zip(gradient, formulas, strict=True):
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-11, atol=1e-11)
    for i, h in enumerate(product):
        expected = quotient(
            lambda p, i=i: adbench.mixture_numpy(p)[1][i], problem, along
        )
        np.testing.assert_allclose(h.numpy(), expected, rtol=1e-7, atol=1e-8)


RESIDUALS = {
    "bundle": (
        adbench.make_bundle(3, 5, 40), adbench.bundle_numpy, adbench.bundle_drjit
    ),
    "hand": (adbench.make_hand(30, 12), adbench.hand_numpy, adbench.hand_drjit),
}  # fmt: skip


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals(name: str) -> None:
    """Jacobian times vector forward, vector times Jacobian in reverse."""
    problem, numpy_version, drjit_version = RESIDUALS[name]
    values = numpy_version(problem)
    own, arrays = tracked(problem)
    result = list(drjit_version(own))
    for found, expected in zip(result, values, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
    weights = np.random.default_rng(5).normal(size=values.shape)
    for seed in range(3):
        along = directions(problem, seed)
        for a, v in zip(arrays, along, strict=True):
            dr.set_grad(a, type(a)(v))
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
        forward = np.array([r.grad.numpy() for r in result])
        expected = quotient(numpy_version, problem, along)
        np.testing.assert_allclose(forward, expected, rtol=1e-8, atol=1e-8)
        dr.clear_grad((arrays, result))
        for r, w in zip(result, weights, strict=True):
            dr.set_grad(r, Float64(w))
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
        reverse = sum(
            float((a.grad.numpy() * v).sum())
            for a, v in zip(arrays, along, strict=True)
        )  # fmt: skip
        dr.clear_grad((arrays, result))
        # The dot product test: both are w J v.
        assert abs(reverse - (weights * forward).sum()) < 1e-12 * abs(weights).sum()


@pytest.mark.parametrize("name", RESIDUALS)
def test_jacobian(name: str) -> None:
    """By columns and by rows."""
    problem, _, drjit_version = RESIDUALS[name]
    own, arrays = tracked(problem)
    result = list(drjit_version(own))
    parameter, entry = arrays[0], result[1]
    size, rows = int(np.prod(arrays_of(problem)[0].shape)), range(0, dr.width(entry), 5)
    columns = []
    for k in range(size):
        unit = np.zeros(size)
        unit[k] = 1
        shaped = unit.reshape(arrays_of(problem)[0].shape)
        dr.set_grad(parameter, type(parameter)(shaped))
        dr.enqueue(dr.ADMode.Backward, entry)
        dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
        columns.append(entry.grad.numpy())
        dr.clear_grad((arrays, result))
    for row in rows:
        unit = np.zeros(dr.width(entry))
        unit[row] = 1
        dr.set_grad(entry, Float64(unit))
        dr.enqueue(dr.ADMode.Backward, entry)
        dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
        found = parameter.grad.numpy().ravel()
        np.testing.assert_allclose(
            found, [column[row] for column in columns], rtol=1e-12, atol=1e-13
        )
        dr.clear_grad((arrays, result))
