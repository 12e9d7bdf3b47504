"""Random regions, nested in each other, which overwrite and add to an array: their
derivatives are compared with difference quotients, and with those of the program whose
regions run at once.

AD_PROGRAMS is the number of programs, AD_SEED where they begin; see 'make fuzz'.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import ArrayXf64, Bool, Float64, UInt

COUNT = int(os.environ.get("AD_PROGRAMS", "200"))
SEED = int(os.environ.get("AD_SEED", "0"))
PART = 50  # programs of a test

X = Float64(0.3, 1.2, -0.4, 0.9)
LANE = dr.arange(UInt, 4)
CONSTANT = Float64(0.7)

VALUES: list[Callable[..., Any]] = [
    lambda x, y, k: dr.sin(y) * x,
    lambda x, y, k: y * y,
    lambda x, y, k: y * Float64(k + 1),
    lambda x, y, k: x,
    lambda x, y, k: CONSTANT,
]
CONDITIONS: list[Callable[..., Any]] = [
    lambda y, k, lane: y > 0.4,
    lambda y, k, lane: (lane + k) % 2 == 0,
    lambda y, k, lane: lane > 1,
]


class Program:
    """Each lane writes to three entries of an array, which is an argument of regions or
    what their bodies find where they were defined."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fuel = 12
        self.passes = self.random.random() < 0.4  # the array as an argument
        self.tracked = self.random.random() < 0.5  # before
        self.steps = [self.region(0)]
        if self.random.random() < 0.3:
            self.steps += [self.write(), self.region(0)]

    def block(self, depth: int) -> list[Any]:
        """Where the array is an argument, a body writes to it, or has a region that
        does, which is the first step: as it was before a write it does not exist."""
        steps: list[Any] = []
        for _ in range(self.random.randint(1, 3)):
            self.fuel -= 1
            choice = self.random.random()
            if depth < 4 and self.fuel > 0 and choice < 0.5:
                if not (self.passes and steps):
                    steps.append(self.region(depth))
                    if self.passes:
                        return [*steps, self.change()]
            elif choice < 0.9:
                steps.append(self.write())
            else:
                steps.append(self.change())
        return steps

    def change(self) -> Any:
        factor = self.random.choice([0.8, 1.1])
        return lambda out, x, y, k, lane, mode: (out, y * factor + 0.1 * x)

    def write(self) -> Any:
        chosen, offset = self.random.choice(VALUES), self.random.randrange(3)
        scatter = self.random.choice([dr.scatter, dr.scatter, dr.scatter_add])
        active = self.random.choice([None, None, *CONDITIONS])

        def step(out: Any, x: Any, y: Any, k: Any, lane: Any, mode: str) -> Any:
            mask = True if active is None else active(y, k, lane)
            scatter(out, chosen(x, y, k), lane * 3 + (k + offset) % 3, mask)
            return out, y

        return step

    def region(self, depth: int) -> Any:
        kinds = ["loop", "loop", "if", "if", "call"]
        kind = self.random.choice(kinds[:-1] if self.passes else kinds)
        first = self.block(depth + 1)
        second = self.block(depth + 1) if self.random.random() < 0.6 else []
        if kind == "loop":
            bound = self.random.choice([None, None, 4])
            return self.loop(self.random.randrange(4), first, bound)
        if kind == "call":
            return self.call(first, second)
        return self.conditional(self.random.choice(CONDITIONS), first, second)

    def loop(self, kind: int, steps: Any, bound: int | None) -> Any:
        options = {} if bound is None else {"max_iterations": bound}

        def step(out: Any, x: Any, y: Any, k: Any, lane: Any, mode: str) -> Any:
            times = [UInt(2), UInt(3), lane % 4, (lane + k) % 3][kind]

            def body(y: Any, j: Any, lane: Any, *given: Any) -> Any:
                found, y = run(steps, given[0] if given else out, x, y, j, lane, mode)
                return y, j + 1, lane, *([found] if given else [])

            found = dr.while_loop(
                (y, UInt(0), lane, *([out] if self.passes else [])),
                lambda y, j, *_: j < times,
                body,
                mode=mode,
                **options,
            )
            return found[3] if self.passes else out, found[0]

        return step

    def conditional(self, condition: Any, first: Any, second: Any) -> Any:
        def step(out: Any, x: Any, y: Any, k: Any, lane: Any, mode: str) -> Any:
            def side(steps: Any) -> Any:
                def body(y: Any, *given: Any) -> Any:
                    given_out = given[0] if given else out
                    found, y = run(steps, given_out, x, y, k, lane, mode)
                    return y, *([found] if given else [])

                return body

            found = dr.if_stmt(
                (y, *([out] if self.passes else [])),
                condition(y, k, lane),
                side(first),
                side(second),
                mode=mode,
            )
            return found[1] if self.passes else out, found[0]

        return step

    def call(self, first: Any, second: Any) -> Any:
        def step(out: Any, x: Any, y: Any, k: Any, lane: Any, mode: str) -> Any:
            def function(steps: Any) -> Any:
                def body(x: Any, y: Any, k: Any, lane: Any) -> Any:
                    return run(steps, out, x, y, k, lane, mode)[1]

                return body

            functions = [function(first), function(second)]
            return out, dr.switch((lane + k) % 2, functions, x, y, k, lane, mode=mode)

        return step

    def __call__(self, x: Any, mode: str = "symbolic") -> Any:
        out = dr.arange(Float64, 12) * 0.1 + 0.2
        if self.tracked:
            out = dr.gather(Float64, x * 2 + 1, dr.arange(UInt, 12) & 3)
        out, y = run(self.steps, out, x, x * 1, UInt(1), LANE, mode)
        return dr.tanh(0.2 * out) * dr.arange(Float64, 12), y


def run(steps: Any, out: Any, *rest: Any) -> Any:
    x, y, k, lane, mode = rest
    for step in steps:
        out, y = step(out, x, y, k, lane, mode)
    return out, y


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def gradient(program: Program, mode: str) -> Any:
    x = Float64(X)
    dr.enable_grad(x)
    out, y = program(x, mode)
    dr.backward(dr.sum(out) + dr.sum(y) + dr.sum(x))
    return x.grad.numpy()


def is_recorded(program: Program) -> bool:
    """Some cannot be, tracked or not: there is no copy of an array in a body."""
    try:
        program(X)
    except RuntimeError as error:
        assert re.search("cannot be read now|no memory for such a copy", str(error))
        return False
    return True


def are_small(results: Any) -> bool:
    """Else difference quotients do not tell anything about small entries beside."""
    return all(float(dr.max(dr.abs(result))[0]) < 1e4 for result in results)


def check(seed: int) -> bool:
    """Is there such a program?"""
    program = Program(seed)
    if not is_recorded(program):
        assert program.passes
        return False
    try:
        if are_small(program(X)):
            dr.check_grad(program, X)
        found = gradient(program, "symbolic")
        program.passes = False
        expected = gradient(program, "evaluated")
    except Exception as error:
        raise AssertionError(f"program {seed}: {error}") from None
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9), f"program {seed}"
    return True


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, PART))
def test_programs(first: int) -> None:
    seeds = range(first, min(first + PART, SEED + COUNT))
    assert sum(check(seed) for seed in seeds) > 0.7 * len(seeds)


# ---------------------------------------------------------------- by hand


def nest(times: int, body: Callable[..., Any], x: Any, y: Any, **options: Any) -> Any:
    """A loop whose body gets what it made of y, and the number of the iteration."""
    return dr.while_loop(
        (y, UInt(0)),
        lambda y, k: k < times,
        lambda y, k: (body(x, y, k), k + 1),
        mode="symbolic",
        **options,
    )[0]


@pytest.mark.parametrize("tracked", [False, True])
def test_lanes_that_overwrite_each_other(tracked: bool) -> None:
    """Lanes of one packet go through the iterations together, and only one of them
    writes in each."""

    def program(x: Any) -> Any:
        out = dr.gather(Float64, x * 2, LANE % 3) if tracked else dr.full(Float64, 1, 3)
        lane = dr.arange(UInt, 4)

        def inner(x: Any, y: Any, k: Any, j: Any) -> Any:
            dr.scatter(out, y * x, (k + 2 * j) % 3, lane == (k + j) % 4)
            dr.scatter_add(out, y * y, (k + j) % 3, lane == (k + 1) % 4)
            return y * 1.1

        def body(x: Any, y: Any, k: Any) -> Any:
            y = nest(3, lambda x, y, j: inner(x, y, k, j), x, y)
            dr.scatter(out, dr.sin(y), k % 2, lane == k % 3)
            return y

        y = nest(3, body, x, x)
        return dr.sum(out * dr.sin(out)) + dr.sum(y)

    dr.check_grad(program, X)


def test_frozen_functions() -> None:
    """The number of iterations of an inner loop has to be known there."""

    def gradient(x: Any) -> Any:
        x = Float64(x)
        dr.enable_grad(x)
        out = dr.full(Float64, 0.5, 4)

        def inner(x: Any, y: Any, k: Any) -> Any:
            dr.scatter(out, dr.sin(y) * x, LANE)
            return y * 1.1

        nest(2, lambda x, y, k: nest(3, inner, x, y), x, x * 1)
        dr.backward(dr.sum(out * out))
        return x.grad

    with pytest.raises(RuntimeError, match="'max_iterations' has to be known"):
        dr.freeze(gradient)(Float64(X))


def test_one_array_that_becomes_two() -> None:
    """They have one gradient outside, and different writes."""

    def program(x: Any) -> Any:
        first = x * 2
        second = Float64(first)

        def side(y: Any) -> Any:
            for array in (first, second):
                dr.scatter(array, y * y, LANE)
                dr.scatter(array, y, LANE, y > 0.5)
            return y

        dr.if_stmt((x,), x > 0, side, lambda y: y, mode="symbolic")
        return first * second

    dr.check_grad(program, X, mode=dr.ADMode.Forward)
    with pytest.raises(RuntimeError, match="where it is two arrays afterwards"):
        dr.check_grad(program, X, mode=dr.ADMode.Backward)


def test_what_is_not_tracked_in_the_end() -> None:
    """An array that was tracked for all one knew has no gradients, nor does what it is
    used for, and can be tracked later."""
    x, y = Float64(X), Float64(X)
    dr.enable_grad(x)
    out = dr.zeros(Float64, 4)

    def body(x: Any, y: Any, k: Any) -> Any:
        dr.scatter(out, CONSTANT, LANE, y > k)
        dr.scatter_add(out, y, LANE)
        return y * 2

    nest(3, body, x, y)
    assert not dr.grad_enabled(out)
    assert not dr.grad_enabled(out * 2)
    dr.backward(out * x)
    assert (x.grad.numpy() == out.numpy()).all()
    dr.enable_grad(out)
    dr.backward(out * 3)
    assert (out.grad.numpy() == 3).all()


@pytest.mark.parametrize("bound", [2, 3])
def test_an_inner_loop_that_exceeds_its_bound(bound: int) -> None:
    """The reverse loop keeps nothing, but numbers of writes depend on the bound."""
    x = Float64(X)
    dr.enable_grad(x)
    out = dr.zeros(Float64, 8)

    def inner(x: Any, y: Any, j: Any) -> Any:
        dr.scatter(out, x * (j + 1), LANE * 2 + (j & 1))
        return y

    def body(x: Any, y: Any, k: Any) -> Any:
        return nest(3, inner, x, y, max_iterations=bound)

    nest(2, body, x, x)
    if bound == 3:
        dr.backward(out)
        assert (x.grad.numpy() == 3 + 2).all()
    else:
        with pytest.raises(RuntimeError, match="for 3 iterations, its 'max_iterations"):
            dr.backward(out)
            dr.eval(x.grad)
            x.grad.numpy()


def test_more_writes_than_can_be_counted() -> None:
    """Bounds say how many there are at most, be they far from that."""
    out = dr.zeros(Float64, 4)

    def write(x: Any, y: Any, k: Any) -> Any:
        dr.scatter(out, x * y, LANE)
        return y * 1.1

    def around(body: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, y, k: nest(2, body, x, y, max_iterations=1 << 31)

    x = Float64(X)
    dr.enable_grad(x)
    nest(2, around(around(around(write))), x, x * 1)
    with pytest.raises(RuntimeError, match="more often than can be counted"):
        dr.backward(out)


def test_traversals_that_begin_in_a_body() -> None:
    """What a body has written cannot be read in it, nor who has written it last."""
    x, out = Float64(X), dr.zeros(Float64, 4)
    dr.enable_grad(x)

    def write(x: Any, y: Any, k: Any) -> Any:
        dr.scatter(out, x * y, LANE)
        return y * 1.1

    def body(x: Any, y: Any, k: Any) -> Any:
        y = nest(2, write, x, y)
        dr.set_grad(out, 1)
        dr.enqueue(dr.ADMode.Backward, out)
        dr.traverse(dr.ADMode.Backward)
        return y

    with pytest.raises(RuntimeError, match="overwrites an array.* a body is recorded"):
        nest(2, body, x, x * 1)


# ---------------------------------------------------------------- packets


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 16, 32, 63, 64, 65, 128])
@pytest.mark.parametrize("add", [False, True])
def test_components(count: int, add: bool) -> None:
    """Scatters and gathers of neighbours, of which one operation has up to 64."""
    rng = np.random.default_rng(count)
    start, weights = rng.random((count, 3)), rng.random(5 * count)
    index, mask = np.array([4, 0, 2]), np.array([True, True, False])
    values = dr.zeros(ArrayXf64, (count, 3))
    for k in range(count):
        values[k] = Float64(start[k])
    target = Float64(rng.random(5 * count))
    dr.enable_grad(values, target)
    out, w = Float64(target), Float64(weights)
    scatter = dr.scatter_add if add else dr.scatter
    scatter(out, values, UInt(index), Bool(mask))
    back = dr.gather(ArrayXf64, out * w, UInt(4, 4, 0, 1), shape=(count, 4))

    seeds = rng.random((count, 4))
    dr.set_grad(back, ArrayXf64([Float64(s) for s in seeds]))
    dr.enqueue(dr.ADMode.Backward, back)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
    expected = np.zeros((5, count))
    np.add.at(expected, [4, 4, 0, 1], seeds.T)
    expected *= weights.reshape(5, count)
    of_values = np.where(mask, expected[index].T, 0)
    of_target = expected.copy()
    if not add:
        of_target[index[mask]] = 0
    assert np.allclose(values.grad.numpy(), of_values, rtol=1e-12)
    assert np.allclose(target.grad.numpy(), of_target.ravel(), rtol=1e-12)

    dr.clear_grad((values, target))
    tangents = rng.random((count, 3))
    dr.set_grad(values, ArrayXf64([Float64(t) for t in tangents]))
    dr.forward_to(back, flags=dr.ADFlag.ClearVertices)
    moved = np.zeros((5, count))
    moved[index[mask]] = tangents.T[mask]
    moved *= weights.reshape(5, count)
    assert np.allclose(dr.grad(back).numpy(), moved[[4, 4, 0, 1]].T, rtol=1e-12)


def test_a_number_that_is_used_again() -> None:
    """What the body of an inner loop has computed is gone when the array gets its
    number, and was not the array that is written to."""
    assert not is_recorded(Program(718857))  # for want of memory
