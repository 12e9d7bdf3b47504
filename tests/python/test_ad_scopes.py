"""Scopes in the bodies of loops, conditionals and calls that name what is suspended.

A state of a loop, or an argument of a call, is another variable in the body than it is
outside, recorded or not. What is expected is what straight-line programs give in which
a copy by dr.detach() takes the place of what a scope suspends.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64, UInt

MODES = ["symbolic", "evaluated"]
X, W = np.array([0.5, 1.5]), np.array([1.1, 1.2])


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def gradients(program: Callable[[Any, Any], Any], forward: bool) -> list[Any]:
    """Of the sum of its results by x and w."""
    found = []
    x, w = Float64(X), Float64(W)
    dr.enable_grad(x, w)
    if not forward:
        dr.backward(program(x, w))
        return [x.grad.numpy(), w.grad.numpy()]
    for given in ((1, 0), (0, 1)):
        x, w = Float64(X), Float64(W)
        dr.enable_grad(x, w)
        dr.set_grad((x, w), given)
        found.append(dr.forward_to(program(x, w)).numpy())
    return found


def compare(
    program: Callable[[Any, Any], Any], plain: Callable[[Any, Any], Any]
) -> None:
    for forward in (False, True):
        found, expected = gradients(program, forward), gradients(plain, forward)
        assert np.allclose(found, expected, rtol=1e-12), (forward, found, expected)


def loop(body: Any, mode: Any, *states: Any) -> Any:
    """The first state after three iterations."""
    return dr.while_loop(
        (UInt(0), *states),
        lambda i, *states: i < 3,
        lambda i, *states: (i + 1, *body(*states)),
        mode=mode,
    )[1]


def unroll(body: Any, *states: Any) -> Any:
    for _ in range(3):
        states = body(*states)
    return states[0]


d: Any = dr.detach


@pytest.mark.parametrize("mode", MODES)
def test_a_state_that_changes(mode: Any) -> None:
    def named(x: Any, w: Any, inside: bool) -> Any:
        def body(s: Any) -> Any:
            with dr.suspend_grad(s if inside else x):
                weight = s * w * x
            return (weight + s * 0.5,)

        return loop(body, mode, x)

    compare(
        lambda x, w: named(x, w, True),
        lambda x, w: unroll(lambda s: (d(s) * w * x + s * 0.5,), x),
    )
    compare(
        lambda x, w: named(x, w, False),
        lambda x, w: unroll(lambda s: (s * w * d(x) + s * 0.5,), x),
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_state_that_stays(mode: Any) -> None:
    def named(x: Any, w: Any, inside: bool) -> Any:
        def body(s: Any, y: Any) -> Any:
            with dr.suspend_grad(y if inside else x):
                weight = s * y * x
            return weight + s * y, y

        return loop(body, mode, w, x)

    compare(
        lambda x, w: named(x, w, True),
        lambda x, w: unroll(lambda s: (s * d(x) * x + s * x,), w),
    )
    compare(
        lambda x, w: named(x, w, False),
        lambda x, w: unroll(lambda s: (s * x * d(x) + s * x,), w),
    )


@pytest.mark.parametrize("mode", MODES)
def test_only_a_state_counts(mode: Any) -> None:
    def program(x: Any, w: Any) -> Any:
        def body(s: Any) -> Any:
            with dr.suspend_grad(), dr.resume_grad(s):
                weight = s * w * x
            return (weight + s * 0.5,)

        return loop(body, mode, x)

    compare(program, lambda x, w: unroll(lambda s: (s * d(w) * d(x) + s * 0.5,), x))


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_in_such_a_scope(mode: Any) -> None:
    """Its state is tracked by what the body makes of it."""

    def program(x: Any, w: Any) -> Any:
        def body(s: Any) -> Any:
            with dr.suspend_grad(s):
                inner = loop(lambda t: (t * w + t,), mode, s)
            return (0.1 * inner + s,)

        return loop(body, mode, x)

    def plain(x: Any, w: Any) -> Any:
        return unroll(lambda s: (0.1 * unroll(lambda t: (t * w + t,), d(s)) + s,), x)

    compare(program, plain)


@pytest.mark.parametrize("mode", MODES)
def test_a_scope_around(mode: Any) -> None:
    """A state that it suspends is not tracked before the loop."""

    def program(x: Any, w: Any) -> Any:
        with dr.suspend_grad(x):
            return loop(lambda s: (s * w + s,), mode, x)

    compare(program, lambda x, w: unroll(lambda s: (s * w + s,), d(x)))


@pytest.mark.parametrize("mode", MODES)
def test_only_what_a_scope_around_resumes_counts(mode: Any) -> None:
    def program(x: Any, w: Any) -> Any:
        with dr.suspend_grad(), dr.resume_grad(x):
            return loop(lambda s: (s * x * w + s,), mode, x)

    compare(program, lambda x, w: unroll(lambda s: (s * x * d(w) + s,), x))


@pytest.mark.parametrize("mode", MODES)
def test_calls_in_such_a_scope(mode: Any) -> None:
    def program(x: Any, w: Any) -> Any:
        with dr.suspend_grad(), dr.resume_grad(x):
            return dr.switch(
                UInt(0, 1), [lambda s, t: s * t, lambda s, t: s * s], x, w, mode=mode
            )

    compare(program, lambda x, w: dr.select(dr.arange(UInt, 2) == 0, x * d(w), x * x))


@pytest.mark.parametrize("mode", MODES)
def test_a_state_that_stays_is_the_variable_afterwards(mode: Any) -> None:
    x, w = Float64(X), Float64(W)
    dr.enable_grad(x, w)

    def body(i: Any, s: Any, y: Any) -> Any:
        dr.backward(y * y)
        dr.backward(y * i)
        return i + 1, s * w, y

    _, s, y = dr.while_loop((Float64(1), w, x), lambda i, s, y: i < 4, body, mode=mode)
    once = 3 * 2 * X + 6
    assert np.allclose(x.grad.numpy(), once)
    dr.backward(y * X)
    assert np.allclose(x.grad.numpy(), once + X)
    dr.backward(s)
    assert np.allclose(w.grad.numpy(), 4 * W**3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("resume", [False, True])
def test_arguments_of_calls(mode: Any, inside: bool, resume: bool) -> None:
    def program(x: Any, w: Any) -> Any:
        def one(s: Any, t: Any) -> Any:
            named = s if inside else x
            with dr.suspend_grad(*([] if resume else [named])):
                with dr.resume_grad(named, when=resume):
                    return s * t

        return dr.switch(UInt(0, 1), [one, lambda s, t: s * s * t], x, w, mode=mode)

    def plain(x: Any, w: Any) -> Any:
        if resume:
            first = x * d(w) if inside else d(x * w)
        else:
            first = d(x) * w if inside else x * w
        return dr.select(dr.arange(UInt, 2) == 0, first, x * x * w)

    compare(program, plain)


@pytest.mark.parametrize("mode", MODES)
def test_arguments_of_conditionals(mode: Any) -> None:
    """They are what they are outside."""

    def program(x: Any, w: Any) -> Any:
        def one(s: Any) -> Any:
            with dr.suspend_grad(x):
                return s * w

        return dr.if_stmt((x,), x < 1, one, lambda s: s * s * w, mode=mode)

    compare(program, lambda x, w: dr.select(x < 1, d(x) * w, x * x * w))
