"""Which states of a recorded loop are tracked is known when its body is complete.

Those that no tracked value reaches come out untracked and are not part of the
derivative: also where they meet tracked ones in conditionals, calls and loops of the
body, whose results do not all depend on all that these are given.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Bool, Float64, UInt

SIDE = Bool(True, False, True, False)
WHICH = UInt(0, 1, 1, 0)
STATES = 4
LANES = 8


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()  # what an exception refers to
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def loop(
    states: Any, body: Callable[..., Any], times: int, mode: Any = "symbolic"
) -> Any:
    """The states after that many iterations of ``body(*states)``."""
    return dr.while_loop(
        (UInt(0), *states),
        lambda i, *states: i < times,
        lambda i, *states: (i + 1, *body(*states)),
        mode=mode,
        max_iterations=times,
    )[1:]


def enabled(values: Any) -> list[bool]:
    return [dr.grad_enabled(value) for value in values]


# ------------------------------------------------------------------- what is tracked


def plain(x: Any, s: Any, u: Any, p: Any, mode: str) -> Any:
    return x * s + p, s * 0.5, u


def in_loop(x: Any, s: Any, u: Any, p: Any, mode: str) -> Any:
    x, s, u = loop((x, s, u), lambda x, s, u: (x * s, s + u, u), 2, mode)
    return x + p, s, u


def in_side(x: Any, s: Any, u: Any, p: Any, mode: str) -> Any:
    return dr.if_stmt(
        (x, s, u),
        SIDE,
        lambda x, s, u: (dr.sin(x * s), s + 1, u),
        lambda x, s, u: (x + p, s * u, u),
        mode=mode,
    )


def in_call(x: Any, s: Any, u: Any, p: Any, mode: str) -> Any:
    functions = [
        lambda x, s, u: (dr.sin(x * s), s + 1, u),
        lambda x, s, u: (x + p, s * u, u),
    ]
    return dr.switch(WHICH, functions, x, s, u, mode=mode)


def deep(x: Any, s: Any, u: Any, p: Any, mode: str) -> Any:
    return loop((x, s, u), lambda x, s, u: in_side(x, s, u, p, mode), 2, mode)


BODIES = [plain, in_loop, in_side, in_call, deep]


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("body", BODIES)
def test_results_of_untracked_states_are_untracked(body: Any, mode: str) -> None:
    p = Float64(0.25)
    start = Float64(0.5, 1, 1.5, 2), Float64(0.9), Float64(0.8)
    dr.enable_grad(p)
    states = loop(start, lambda x, s, u: body(x, s, u, p, mode), 3, mode)
    assert enabled(states) == [True, False, False]
    dr.backward(states[0])

    def value(p: float) -> float:
        y = loop(start, lambda x, s, u: body(x, s, u, Float64(p), mode), 3, mode)
        return float(np.sum(y[0].numpy()))

    slope = (value(0.25 + 1e-6) - value(0.25 - 1e-6)) / 2e-6
    assert np.allclose(p.grad.numpy(), slope, rtol=1e-7)


def test_what_goes_round() -> None:
    """A state is reached by way of others, as many iterations as it takes."""
    p = Float64(2)
    dr.enable_grad(p)

    def body(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a * b, b + c, c * p, d * 0.5

    start = Float64(1, 2), Float64(1), Float64(1), Float64(1)
    assert enabled(loop(start, body, 3)) == [True, True, True, False]
    assert (
        enabled(loop(start, lambda *s: (s[1], s[2], s[3], s[3] + 1), 3)) == [False] * 4
    )


def test_an_array_that_is_written_with_untracked_values() -> None:
    p = Float64(2)
    dr.enable_grad(p)

    def body(x: Any, s: Any, array: Any) -> Any:
        dr.scatter(array, s, UInt(0, 1))
        return x * p, s + 1, array

    x, s, array = loop((Float64(1, 2), Float64(3, 4), dr.zeros(Float64, 2)), body, 3)
    assert enabled((x, s, array)) == [True, False, False]
    assert np.allclose(array.numpy(), [5, 6])
    dr.backward(x)
    assert np.allclose(p.grad.numpy(), 3 * 4 * 3)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("is_state", [False, True])
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("scatter", [dr.scatter, dr.scatter_add])
def test_arrays_that_the_loop_makes_tracked(
    scatter: Any, reads: bool, is_state: bool, mode: str
) -> None:
    """What an iteration writes is what the next one overwrites: an array that is not
    tracked before the loop is not an exception. A loop that runs at once reads what the
    last iteration has written, which a recorded one cannot."""
    p = Float64(2)
    dr.enable_grad(p)

    def body(x: Any, s: Any, array: Any) -> Any:
        if reads:
            x = x + dr.gather(Float64, array, UInt(1, 0))
        scatter(array, s * p, UInt(0, 1))
        return x, s + 1, array

    def run() -> Any:
        x, s, array = Float64(1, 2), Float64(3, 4), dr.zeros(Float64, 2)
        if is_state:
            x, _, array = loop((x, s, array), body, 3, mode)
        else:
            x, _ = loop((x, s), lambda x, s: body(x, s, array)[:2], 3, mode)
        return x if reads else array

    if scatter is dr.scatter_add:
        expected = [4 + 4 + 5, 3 + 3 + 4] if reads else [3 + 4 + 5, 4 + 5 + 6]
    else:
        expected = [4 + 5, 3 + 4] if reads else [5, 6]
    if mode == "symbolic" and reads:
        with pytest.raises(RuntimeError, match="was read"):
            run()
        return
    result = run()
    dr.forward(p)
    assert np.allclose(result.grad.numpy(), expected)
    dr.clear_grad(p)
    result = run()
    dr.backward(result)
    assert np.allclose(p.grad.numpy(), sum(expected))


@pytest.mark.parametrize("how", ["loop", "side"])
@pytest.mark.parametrize("is_state", [False, True])
@pytest.mark.parametrize("tracked", [False, True])
def test_arrays_that_regions_in_the_loop_write_to(
    tracked: bool, is_state: bool, how: str
) -> None:
    p = Float64(2)
    index = UInt(0, 1, 2, 3)

    def write(s: Any, array: Any) -> Any:
        dr.scatter(array, s * p, index)
        return s, array

    def region(s: Any, array: Any, how: str, mode: Any) -> Any:
        if how == "loop":
            return loop((s, array), lambda s, a: (write(s, a)[0] + 1, a), 2, mode)
        other = lambda s, array: (s, array)  # noqa: E731
        return dr.if_stmt((s, array), SIDE, write, other, mode=mode)

    def run(mode: Any) -> Any:
        array, s = dr.zeros(Float64, 4), Float64(3, 4, 5, 6)
        dr.set_grad_enabled(array, tracked)

        def body(s: Any, a: Any) -> Any:
            s, _ = region(s, a, how, mode)
            return s + 1, a

        if is_state:
            return loop((s, array), body, 3, mode)[1]
        loop((s,), lambda s: body(s, array)[:1], 3, mode)
        return array

    dr.enable_grad(p)
    found = {}
    for mode in ("symbolic", "evaluated"):
        result = run(mode)
        dr.forward(p)
        tangent = result.grad.numpy()
        dr.clear_grad(p)
        result = run(mode)
        dr.backward(result * Float64(1, 2, 3, 4))
        found[mode] = tangent, p.grad.numpy()
        dr.clear_grad(p)
        assert np.allclose(np.dot(tangent, [1, 2, 3, 4]), found[mode][1])
    for symbolic, evaluated in zip(*found.values(), strict=True):
        assert np.allclose(symbolic, evaluated)


# ------------------------------------------------------------------------ what it costs


def made(body: Any, times: int) -> tuple[int, int, list[int]]:
    """Nodes of a loop, and in the kernels of its derivative by ``p`` the writes to a
    tape and the states of the last loop."""
    p, start = (
        dr.opaque(Float64, 0.25),
        (dr.opaque(Float64, 0.5, 4), Float64(0.9, 1, 1, 1)),
    )
    dr.enable_grad(p)
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    x = loop(start, lambda x, s: body(x, s, p), times)[0]
    nodes = dr._core._ad_node_count() - before  # type: ignore[attr-defined]
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.backward(x)
        dr.eval(p.grad)
        kernels = dr.kernel_history([dr.KernelType.JIT])
    text = "".join(kernel["ir"].getvalue() for kernel in kernels)
    lines = text.splitlines()
    loops = [line.count("%") - 1 for line in lines if "region loop" in line]
    return nodes, text.count("scatter.write"), loops


def test_an_untracked_state_has_no_tape_and_no_adjoint() -> None:
    """The product needs s and, for the unused derivative with respect to s, x."""
    nodes, writes, loops = made(lambda x, s, p: (x * s + p, s * 0.999), 5000)
    assert writes == 1
    assert loops[-1] == 3  # what is left, the adjoint of x, the sum for p
    # The result, the operation, entries of both states and of p; x * s, the sum.
    assert nodes == 7
    nodes, writes, loops = made(lambda x, s, p: (dr.sin(x * s) + p, s), 5000)
    assert writes == 1
    assert loops[-1] == 3
    nodes, _, loops = made(lambda x, s, p: (x + p * s, s * 0.999), 5000)
    assert loops[-1] == 3  # x is only added to: s, the counter, the sum for p


# ------------------------------------------------------------------------- any program


class Program:
    """A random loop with four states, of which some are tracked, or become so."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.steps = [self.step(depth=2) for _ in range(3)]
        self.tracked = [self.rng.random() < 0.25 for _ in range(STATES)]
        self.uses_parameter = self.rng.random() < 0.5
        self.at = self.rng.randrange(STATES)

    def step(self, depth: int) -> Any:
        """A function of a list of states and the mode."""
        rng = self.rng
        k, other = rng.randrange(STATES), rng.randrange(STATES)
        kind = rng.choice(["sin", "product", "sum", "side", "call", "loop", "loop"])
        if kind in ("side", "call", "loop") and depth:
            inner = [self.step(depth - 1) for _ in range(rng.randint(1, 3))]
            others = [self.step(depth - 1) for _ in range(rng.randint(1, 2))]
            return self.region(kind, depth, inner, others)

        def apply(s: list[Any], mode: str) -> list[Any]:
            s = list(s)
            if kind == "product":
                s[k] = s[k] * s[other] * 0.5
            elif kind == "sum":
                s[k] = s[k] * 0.75 + s[other] * 0.5
            else:
                s[k] = dr.sin(s[k] + s[other])
            return s

        return apply

    def region(self, kind: str, depth: int, inner: Any, others: Any) -> Any:
        def run(steps: Any, s: Any, mode: str) -> Any:
            for step in steps:
                s = step(s, mode)
            return tuple(s)

        def apply(s: Any, mode: str) -> Any:
            one = lambda *s: run(inner, s, mode)  # noqa: E731
            two = lambda *s: run(others, s, mode)  # noqa: E731
            which = s[-1] >> depth & 1  # some lanes of both, also within a call
            if kind == "side":
                return dr.if_stmt(tuple(s), which == 0, one, two, mode=mode)
            if kind == "call":
                return dr.switch(which, [one, two], *s, mode=mode)
            return loop(s, one, 2, mode)

        return apply

    def run(self, start: Any, p: Any, mode: str) -> Any:
        def body(*s: Any) -> Any:
            s = list(s)
            for step in self.steps:
                s = list(step(s, mode))
            if self.uses_parameter:
                s[self.at] = s[self.at] * 0.5 + p
            return s

        lanes = dr.arange(UInt, LANES)
        return loop((*start, lanes), body, STATES + 1, mode)[:STATES]

    def inputs(self) -> tuple[Any, Any]:
        start = [Float64(np.linspace(0.3, 0.9, LANES) + 0.1 * k) for k in range(STATES)]
        p = Float64(0.4)
        for x, tracked in zip(start, self.tracked, strict=True):
            dr.set_grad_enabled(x, tracked)
        dr.enable_grad(p)
        return start, p

    def gradients(self, mode: str, second: bool) -> tuple[list[bool], list[Any]]:
        start, p = self.inputs()
        results = self.run(start, p, mode)
        found = enabled(results)
        inputs = [x for x in start if dr.grad_enabled(x)] + [p]
        loss = sum(dr.sum(dr.square(y) * (k + 1)) for k, y in enumerate(results))
        if not dr.grad_enabled(loss):
            return found, []
        flags = (
            dr.ADFlag.CreateGraph | dr.ADFlag.Default if second else dr.ADFlag.Default
        )
        dr.backward(loss, flags)
        gradients = [dr.grad(x) for x in inputs]
        if second:
            squares = sum(dr.sum(dr.square(g)) for g in gradients)
            dr.clear_grad(inputs)
            dr.backward(squares)
            gradients += [dr.grad(x) for x in inputs]
        return found, [dr.detach(g).numpy() for g in gradients]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    found, gradients = program.gradients("symbolic", seed % 3 == 0)
    expected, others = program.gradients("evaluated", seed % 3 == 0)
    assert found == expected
    for a, b in zip(gradients, others, strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(60, 80))
def test_random_programs_against_differences(seed: int) -> None:
    program = Program(seed)
    tracked = [k for k in range(STATES) if program.tracked[k]]

    def loss(p: Any, *inputs: Any) -> Any:
        start = dr.detach(program.inputs()[0])
        for k, x in zip(tracked, inputs, strict=True):
            start[k] = x
        return program.run(start, p, "symbolic")

    start, p = program.inputs()
    inputs = [dr.detach(start[k]) for k in tracked]
    dr.check_grad(loss, dr.detach(p), *inputs)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("times", [0, 1, 3])
def test_values_that_stay_with_derivatives_that_do_not(
    times: int, forward: bool
) -> None:
    """The state is the same literal in each iteration, and the core leaves it out; its
    derivative is multiplied by the slope of the square, with a lane that has none."""
    p = Float64(0.8) + dr.zeros(Float64, 3)
    most = UInt(0, times, times + 1)
    x = Float64(0.5, -1.2, 1.7)
    dr.enable_grad(x)

    def turn(i: Any, b: Any, p: Any) -> Any:
        return i + 1, dr.square(dr.replace_grad(p, b)), p

    for end, powers in ((UInt(times), [times] * 3), (most, most.numpy())):
        start = dr.replace_grad(dr.square(Float64(0.8)), x)
        _, y, _ = dr.while_loop(
            (UInt(0), start, p), lambda i, *_, end=end: i < end, turn, mode="symbolic"
        )
        if forward:
            dr.forward(x)
        else:
            dr.backward(y)
        found = dr.grad(y if forward else x)
        assert np.allclose(found, np.float64(1.6) ** np.array(powers, float))
        dr.clear_grad(x)
