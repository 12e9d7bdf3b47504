"""Derivatives of local arrays, against difference quotients and closed forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from ad_util import check_second_order
from drjit.llvm.ad import Array2f64, Float64, UInt

X = Float64(0.5, 1.2, 2.0, 0.73)
P = Float64(0.8)
TIMES = UInt(2, 3, 1, 0)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    limit = dr.ad.tape_limit()
    yield
    dr.ad.set_tape_limit(limit)
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def zeros(length: int = 2, value: Any = 0.0) -> Any:
    return dr.alloc_local(Float64, length, value=Float64(value))


def repeat(state: Any, body: Callable[..., Any]) -> Any:
    return dr.while_loop(
        (UInt(0), *state),
        lambda i, *rest: i < TIMES,
        lambda i, *rest: (i + 1, *body(i, *rest)),
        mode="symbolic",
    )[1:]


def straight(x: Any, p: Any) -> Any:
    local = zeros()
    local[0] = x * x
    local[1] = local[0] * p
    local[0] = local[1] + local[0]
    return local[0] * local[1]


def by_lane(x: Any, p: Any) -> Any:
    """Positions differ between lanes, and masks switch some off."""
    local = dr.alloc_local(Float64, 3, value=p)
    where = UInt(0, 1, 2, 1)
    local.write(dr.sin(x), where, x > 0.6)
    return local.read(where, x < 1.5) * x + local[1] ** 2


def filled(x: Any, p: Any) -> Any:
    local = dr.alloc_local(Float64, 3, value=x * p)
    return local[0] * local[2] + local[1]


def one_entry(x: Any, p: Any) -> Any:
    local = dr.alloc_local(Float64, 2, value=p * p)
    local[1] = x
    return local[0] * local[1]


def old_versions(x: Any, p: Any) -> Any:
    local = zeros(2, 0.5)
    local[0] = x
    before = dr.Local(local)
    local[0] = local[0] * p
    return local[0] * before[0] + before[1]


def vectors(x: Any, p: Any) -> Any:
    local = dr.alloc_local(Array2f64, 2, value=Array2f64(0))
    local[1] = Array2f64(x, x * p)
    return dr.dot(local[1], local[1]) + local[0].x


def in_conditional(x: Any, p: Any) -> Any:
    def side(x: Any) -> Any:
        local = zeros()
        local[1] = x * p
        return local[1] * x + local[0]

    return dr.if_stmt((x,), x > 0.6, side, lambda x: x * p, mode="symbolic")


def through_conditional(x: Any, p: Any) -> Any:
    local = zeros()
    local[0] = x * p

    def write(local: Any, x: Any) -> Any:
        local[1] = local[0] * x
        local[0] = dr.sin(x)
        return local

    local = dr.if_stmt((local, x), x > 0.6, write, lambda y, x: y, mode="symbolic")
    return local[0] * p + local[1]


def in_call(x: Any, p: Any) -> Any:
    def callee(x: Any) -> Any:
        local = zeros()
        local[0] = x * p
        return local[0] * x

    targets = [callee, lambda x: dr.sin(x)]
    return dr.switch(UInt(0, 1, 0, 1), targets, x, mode="symbolic")


def in_loop(x: Any, p: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        local = zeros()
        local[i & 1] = y * p
        return (y * x + local[0] - local[1] * y,)

    return repeat((x,), body)[0]


def as_state(x: Any, p: Any) -> Any:
    def body(i: Any, local: Any, y: Any) -> Any:
        local[i & 1] = y * x
        return local, y + local[0] * p

    return repeat((zeros(), Float64(1)), body)[1]


def as_state_that_is_needed(x: Any, p: Any) -> Any:
    def body(i: Any, local: Any, y: Any) -> Any:
        local[i & 1] = y * local[(i + 1) & 1] + x
        return local, y * local[0] + p

    local, y = repeat((zeros(2, 0.3), x), body)
    return y + local[1]


def from_outside(x: Any, p: Any) -> Any:
    """An array that the loop reads only."""
    local = zeros()
    local[0] = x
    local[1] = x * p
    return repeat((Float64(1),), lambda i, y: (y * local[i & 1] + p,))[0]


def integers(x: Any, p: Any) -> Any:
    """An array of positions, which the derivative needs."""

    def body(i: Any, local: Any, y: Any) -> Any:
        local[i & 1] = local[(i + 1) & 1] + i + 1
        return local, y * dr.gather(Float64, x, local[0] & 3) + p

    return repeat((dr.alloc_local(UInt, 2, value=UInt(0)), x), body)[1]


PROGRAMS = {
    f.__name__: f
    for f in (
        straight, by_lane, filled, one_entry, old_versions, vectors, in_conditional,
        through_conditional, in_call, in_loop, as_state, as_state_that_is_needed,
        from_outside, integers,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_order(name: str) -> None:
    dr.check_grad(PROGRAMS[name], X, P)
    dr.ad.set_tape_limit(0)
    dr.check_grad(PROGRAMS[name], X, P)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_order(name: str) -> None:
    check_second_order(PROGRAMS[name], X, P)


def test_closed_form() -> None:
    """1 + 3 x + 2 x^2 after three iterations."""
    x = Float64(X)
    dr.enable_grad(x)

    def body(i: Any, local: Any, y: Any) -> Any:
        local[i & 1] = y * x
        return i + 1, local, y + local[0]

    y = dr.while_loop(
        (UInt(0), zeros(), Float64(1)), lambda i, local, y: i < 3, body,
        mode="symbolic",
    )[2]  # fmt: skip
    v = X.numpy()
    assert np.allclose(y.numpy(), 1 + 3 * v + 2 * v**2)
    dr.backward(y)
    assert np.allclose(x.grad.numpy(), 3 + 4 * v)
