"""Traversals in bodies, whose constructs go on with what was differentiated there.

A body differentiates a loss and returns something that depends on what the loss depends
on: an input as it is, a state that goes round. Afterwards the result is differentiated,
so that the gradient is that of the sum of all losses, in all modes. The reference are
difference quotients of that sum, computed by NumPy.
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
START = np.array([0.5, 1.2, 2.0, 0.75])
ROUNDS = np.array([2, 3, 1, 0])  # iterations of each lane


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def quotients(total: Callable[[Any], Any]) -> Any:
    """Of a function of each lane by its own entry, in fourth order."""
    h = 1e-3
    near, far = (
        (total(START + k * h) - total(START - k * h)) / (2 * k * h) for k in (1, 2)
    )
    return (4 * near - far) / 3


def check(program: Callable[[Any, Any], Any], total: Any, mode: Any) -> None:
    """``program(w, mode)`` returns what is left to be differentiated, of w = 2 x."""
    x = Float64(START)
    dr.enable_grad(x)
    dr.backward(program(x * 2, mode))
    assert np.allclose(
        x.grad.numpy(), quotients(lambda x: total(2 * x)), rtol=1e-9, atol=1e-9
    )


def back(loss: Any) -> None:
    dr.backward(loss)


# ---------------------------------------------------------------- calls


def returns_it(a: Any) -> Any:
    back(dr.sin(a))
    return a


def returns_more(a: Any) -> Any:
    back(a * a)
    return a * 3


def returns_twice(a: Any) -> Any:
    back(a * a)
    back(dr.exp(a))
    return a * a


def returns_all(a: Any) -> Any:
    return dr.cos(a)


INDEX = np.array([0, 1, 2, 0])


def call(w: Any, mode: Any) -> Any:
    functions = [returns_it, returns_more, returns_twice, returns_all]
    return dr.switch(UInt(INDEX), functions, w, mode=mode)


def call_total(w: Any) -> Any:
    lanes = [np.sin(w) + w, w * w + 3 * w, 2 * w * w + np.exp(w), np.cos(w)]
    return np.choose(INDEX, lanes)


def masked(w: Any, mode: Any) -> Any:
    def given(function: Any) -> Any:
        return lambda a, active: function(a)

    active = dr.arange(UInt, 4) != 1
    functions = [given(f) for f in (returns_it, returns_more, returns_twice)]
    return dr.switch(UInt(INDEX), functions, w, active, mode=mode) + w


def masked_total(w: Any) -> Any:
    return np.where(np.arange(4) != 1, call_total(w), 0) + w


def out_of_range(w: Any, mode: Any) -> Any:
    return dr.switch(UInt(INDEX), [returns_it, returns_more], w, mode=mode) + w


def out_of_range_total(w: Any) -> Any:
    return np.where(INDEX < 2, call_total(w), 0) + w


def two_calls(w: Any, mode: Any) -> Any:
    first = call(w, mode)
    return first + dr.switch(UInt(INDEX), [returns_it] * 3, first / 4, mode=mode)


def two_calls_total(w: Any) -> Any:
    lanes = [w, 3 * w, w * w]
    first = np.choose(INDEX, lanes)
    return call_total(w) + np.sin(first / 4) + first / 4


def nested(w: Any, mode: Any) -> Any:
    def outer(a: Any) -> Any:
        back(dr.sin(a))
        b = dr.switch(UInt(1), [returns_it, returns_more], a, mode=mode)
        b += dr.if_stmt((a,), a > 2, returns_it, returns_more, mode=mode)
        return a + b

    return dr.switch(UInt(INDEX), [outer, returns_it, outer], w, mode=mode)


def nested_total(w: Any) -> Any:
    inner = w * w + 3 * w + np.where(w > 2, np.sin(w) + w, w * w + 3 * w)
    return np.where(INDEX == 1, np.sin(w) + w, np.sin(w) + w + inner)


class Scaled(dr.Instance):  # type: ignore[name-defined, misc]
    def __init__(self, factor: float) -> None:
        self.factor = Float64(factor)

    def apply(self, a: Any) -> Any:
        back(self.factor * dr.sin(a))
        return a


def methods(w: Any, mode: Any) -> Any:
    one, two = Scaled(2), Scaled(5)
    with dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, mode == "symbolic"):
        return dr.array_t(Scaled)(one, two, one, two).apply(w)


def methods_total(w: Any) -> Any:
    return np.array([2, 5, 2, 5]) * np.sin(w) + w


# ---------------------------------------------------------------- conditionals


def conditional(w: Any, mode: Any) -> Any:
    return dr.if_stmt((w,), w > 2, returns_it, returns_twice, mode=mode)


def conditional_total(w: Any) -> Any:
    return np.where(w > 2, np.sin(w) + w, 2 * w * w + np.exp(w))


# ---------------------------------------------------------------- loops


def loop(w: Any, mode: Any) -> Any:
    def body(a: Any, s: Any, i: Any) -> Any:
        back(dr.sin(a) * (i + 1))
        return a, s + a * a, i + 1

    rounds = UInt(ROUNDS)
    a, s, _ = dr.while_loop(
        (w, Float64(0), UInt(0)),
        lambda a, s, i: i < rounds,
        body,
        mode=mode,
        max_iterations=3,
    )
    return a + s


def loop_total(w: Any) -> Any:
    return np.sin(w) * ROUNDS * (ROUNDS + 1) / 2 + w + ROUNDS * w * w


def in_loop(w: Any, mode: Any) -> Any:
    """A call in a loop that leaves its state alone."""

    def body(a: Any, s: Any, i: Any) -> Any:
        functions = [returns_it, returns_more]
        return a, s + dr.switch(i & 1, functions, a, mode=mode), i + 1

    rounds = UInt(ROUNDS)
    state = (w, Float64(0), UInt(0))
    a, s, _ = dr.while_loop(
        state, lambda a, s, i: i < rounds, body, mode=mode, max_iterations=3
    )
    return a + s


def in_loop_total(w: Any) -> Any:
    even, odd = (ROUNDS + 1) // 2, ROUNDS // 2
    return w + even * (np.sin(w) + w) + odd * (w * w + 3 * w)


PROGRAMS = [
    (call, call_total),
    (masked, masked_total),
    (out_of_range, out_of_range_total),
    (two_calls, two_calls_total),
    (nested, nested_total),
    (methods, methods_total),
    (conditional, conditional_total),
    (loop, loop_total),
    (in_loop, in_loop_total),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_result_depends_on_input(program: Any, mode: str) -> None:
    check(*program, mode)


# ---------------------------------------------------------------- states that change


def test_state_that_goes_round() -> None:
    """In a loop that runs at once, each iteration's loss goes on to those before it."""

    def program(w: Any, mode: Any) -> Any:
        def body(a: Any, i: Any) -> Any:
            back(dr.sin(a))
            back(a * a)
            return a * 1.5, i + 1

        rounds = UInt(ROUNDS)
        return dr.while_loop((w, UInt(0)), lambda a, i: i < rounds, body, mode=mode)[0]

    def total(w: Any) -> Any:
        found = np.zeros(4)
        a = w.copy()
        for k in range(3):
            found += np.where(k < ROUNDS, np.sin(a) + a * a, 0)
            a = np.where(k < ROUNDS, a * 1.5, a)
        return found + a

    check(program, total, "evaluated")
    x = Float64(START)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match="cannot wait until that is complete"):
        program(x * 2, "symbolic")


@pytest.mark.parametrize("compress", [True, False])
def test_state_and_parameter(compress: bool) -> None:
    """A simulation whose steps' losses have a parameter, and all steps before them."""
    p = Float64(0.3)
    dr.enable_grad(p)

    def body(a: Any, i: Any) -> Any:
        a = a + p * dr.sin(a)
        dr.backward(a * a, dr.ADFlag.ClearVertices)  # the result has these edges, too
        return a, i + 1

    rounds = UInt(ROUNDS)
    with dr.scoped_set_flag(dr.JitFlag.CompressLoops, compress):
        a, _ = dr.while_loop(
            (Float64(START), UInt(0)), lambda a, i: i < rounds, body, mode="evaluated"
        )
    back(dr.sin(a))

    def total(p: float) -> Any:
        found = np.zeros(4)
        a = START.copy()
        for k in range(3):
            a = np.where(k < ROUNDS, a + p * np.sin(a), a)
            found += np.where(k < ROUNDS, a * a, 0)
        return (found + np.sin(a)).sum()

    h = 1e-3
    near, far = (
        (total(0.3 + k * h) - total(0.3 - k * h)) / (2 * k * h) for k in (1, 2)
    )
    assert np.allclose(p.grad.numpy(), (4 * near - far) / 3, rtol=1e-9)


def test_tracked_anew_in_each_iteration() -> None:
    """What a body tracks itself ends with the state of the next iteration: the gradient
    of that is there while the iteration runs."""
    seen = []

    def body(a: Any, i: Any) -> Any:
        back(a * a * (i + 1))
        seen.append(dr.grad(a).numpy())
        a = dr.detach(a) + 1
        dr.enable_grad(a)
        return a, i + 1

    a = Float64(1, 2)
    dr.enable_grad(a)
    last, _ = dr.while_loop((a, UInt(0)), lambda a, i: i < 3, body, mode="evaluated")
    assert np.array_equal(seen, [[2, 4], [8, 12], [18, 24]])
    assert np.array_equal(a.grad, [2, 4])
    back(last)
    assert np.array_equal(a.grad, [2, 4])


# ---------------------------------------------------------------- lanes


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("call", MODES)
@pytest.mark.parametrize("mode", MODES)
def test_call_in_a_loop_with_fewer_lanes(mode: str, call: str, forward: bool) -> None:
    """Functions of evaluated calls have lanes of their own, also where a traversal in
    the loop's body goes through them; lanes that are done have no part in it."""
    if mode == "symbolic" and call == "evaluated":
        return  # nothing can be evaluated there
    x, p = Float64(1, 2, 3, 4), Float64(10, 20)
    dr.enable_grad(x, p)
    rounds = np.array([1, 2, 0, 1])

    def body(i: Any, s: Any) -> Any:
        functions = [
            lambda a: a * dr.gather(Float64, p, UInt(0)),
            lambda a: a * a * dr.gather(Float64, p, UInt(1)),
        ]
        y = dr.switch(UInt(0, 1, 0, 1), functions, x, mode=call)
        if not forward:
            dr.backward(y)
            return i + 1, s
        return i + 1, s + dr.forward_to(y, flags=dr.ADFlag.ClearInterior)

    if forward:
        dr.set_grad((x, p), (Float64(1, 2, 3, 4), Float64(1)))
    _, s = dr.while_loop(
        (UInt(0), dr.zeros(Float64, 4)), lambda i, s: i < UInt(rounds), body, mode=mode
    )
    if forward:
        once = np.array([10 + 1, 2 * 2 * 20 * 2 + 4, 0, 2 * 4 * 20 * 4 + 16])
        assert np.array_equal(s, rounds * once)
    else:
        assert np.array_equal(x.grad, rounds * np.array([10, 80, 10, 160]))
        assert np.array_equal(p.grad, [1, 2 * 4 + 16])


# ---------------------------------------------------------------- exceptions


@pytest.mark.parametrize("mode", MODES)
def test_exception_in_a_function(mode: str) -> None:
    """Nothing goes on, and the next call works."""
    x = Float64(START)
    dr.enable_grad(x)
    w = x * 2

    def raises(a: Any) -> Any:
        back(a)
        raise KeyError("own")

    with pytest.raises((KeyError, RuntimeError)):
        dr.switch(UInt(INDEX), [returns_it, raises, returns_it], w, mode=mode)
    assert not np.any(x.grad.numpy())
    del raises
    gc.collect()
    dr.backward(call(w, mode))
    assert np.allclose(x.grad, quotients(lambda x: call_total(2 * x)), rtol=1e-9)


class Fails(dr.CustomOp):  # type: ignore[name-defined, misc]
    def eval(self, a: Any) -> Any:
        return a + 0

    def backward(self) -> None:
        raise KeyError("of a callback")


def test_exception_behind_a_function() -> None:
    """What goes on at the end of a call raises: that is the exception."""
    x = Float64(START)
    dr.enable_grad(x)
    w = dr.custom(Fails, x)
    with pytest.raises((KeyError, RuntimeError)) as raised:
        dr.switch(UInt(INDEX), [returns_it] * 3, w, mode="evaluated")
    chain = [raised.value, raised.value.__cause__]
    assert any(isinstance(error, KeyError) for error in chain)
