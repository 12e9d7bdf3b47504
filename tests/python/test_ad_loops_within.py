"""Reverse derivatives of loops within recordings, where nothing can be evaluated: tapes
and checkpoints in local arrays, bounds that kernels check."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64, UInt
from test_ad_loops import P, X, repeat


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def powers_within(kind: str, count: Any, bound: int | None) -> Callable[..., Any]:
    """A loop of 'count' iterations in a recorded construct."""

    def inner(x: Any, p: Any, count: Any) -> Any:
        options = {} if bound is None else {"max_iterations": bound}
        return dr.while_loop(
            (x, UInt(0)),
            lambda y, i: i < count,
            lambda y, i: (dr.sin(y * p) + x, i + 1),
            mode="symbolic",
            label="l",
            **options,
        )[0]

    def in_loop(x: Any, p: Any) -> Any:
        return dr.while_loop(
            (x, UInt(0)),
            lambda y, i: i < 2,
            lambda y, i: (y * 0.5 + inner(y, p, count), i + 1),
            mode="symbolic",
        )[0]

    def in_side(x: Any, p: Any) -> Any:
        return dr.if_stmt(
            (x,), x > 0.6, lambda x: inner(x, p, count), lambda x: x * p,
            mode="symbolic",
        )  # fmt: skip

    def in_callable(x: Any, p: Any) -> Any:
        targets = [inner, lambda x, p, count: x * p]
        index = UInt(0, 1, 0, 1)
        return dr.switch(index, targets, x, p, UInt(count), mode="symbolic")

    return {"loop": in_loop, "side": in_side, "callable": in_callable}[kind]


KINDS = ["loop", "side", "callable"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", [None, 40, 3000, 10**6])  # a tape, or none
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 13, 40])
def test_within_a_recording(kind: str, bound: int | None, count: int) -> None:
    for n in (UInt(count), dr.opaque(UInt, count), UInt(count, 1, 0, count // 2)):
        dr.check_grad(powers_within(kind, n, bound), X, P)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", [0, 1, 4, 2000])
def test_bounds_within_a_recording(kind: str, bound: int) -> None:
    """What is computed from a wrong gradient is an error as well."""
    first = 10**6 if kind == "side" else min(3, bound)  # it does not come there
    count = UInt(first, min(2, bound), bound + 1, 0)
    x, z = Float64(X), dr.zeros(Float64, 4)
    dr.enable_grad(x)
    dr.backward(powers_within(kind, count, bound)(x, P))
    found = rf"loop 'l' has run for \d+ iterations, its 'max_iterations' is {bound}"
    dr.scatter_add(z, x.grad, UInt(0, 1, 2, 3))
    for array in (x.grad, x.grad * 2, z):
        with pytest.raises(RuntimeError, match=found):
            array.numpy()
    x = Float64(X)  # the next one is not affected
    count[2] = bound
    dr.enable_grad(x)
    dr.backward(powers_within(kind, count, bound)(x, P))
    assert np.all(np.isfinite(x.grad.numpy()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", [None, 300])
def test_within_a_recording_the_time_is_not_quadratic(kind: str, bound: Any) -> None:
    """2,000 iterations would be computed 2 million times, for each of 4096 lanes."""
    count = 2000 if bound is None else bound
    p = Float64(1.0)
    dr.enable_grad(p)
    x = dr.linspace(Float64, 0, 1, 4096)
    if kind == "callable":
        x = x[dr.arange(UInt, 4)]
    start = time.perf_counter()
    dr.backward(powers_within(kind, UInt(count), bound)(x, p))
    dr.eval(p.grad)
    dr.sync_thread()
    assert time.perf_counter() - start < 20


# 400: a few checkpoints, 900: none
@pytest.mark.parametrize("length", [1, 2, 7, 60, 400, 900])
@pytest.mark.parametrize("bound", [None, 12])
def test_local_arrays_in_the_state(length: int, bound: int | None) -> None:
    def loop(x: Any, p: Any) -> Any:
        def turn(a: Any, z: Any, j: Any) -> Any:
            entry = a[j % length]
            a[j % length] = dr.sin(entry + z * p)
            return a, z * 0.5 + entry * x, j + 1

        options = {} if bound is None else {"max_iterations": bound}
        a, z, _ = dr.while_loop(
            (dr.alloc_local(Float64, length, value=x), x, UInt(0)),
            lambda a, z, j: j < UInt(12, 5, 1, 0),
            turn,
            **options,
        )
        return z + a[0] * a[length - 1]

    dr.check_grad(loop, X, P)


def test_many_bounded_loops_in_one_kernel() -> None:
    """What lanes can have of local arrays is not exceeded by tapes."""

    def body(y: Any, i: Any) -> Any:
        for _ in range(12):
            y, _ = dr.while_loop(
                (y, UInt(0)),
                lambda y, i: i < 3,
                lambda y, i: (dr.sin(y) * 1.1, i + 1),
                max_iterations=1500,
            )
        return y

    dr.check_grad(lambda x: repeat(x, body, "symbolic"), X)
