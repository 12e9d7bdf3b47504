"""Operations with several results, of which not each depends on each input: loops,
conditionals, calls, frozen functions.

A traversal from one result takes no notice of an input that it does not depend on: a
gradient that was set there by hand stays, and does not go on. The reference is the same
program in evaluated mode, or a function that is not frozen, whose graph has the
operations themselves.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64, UInt

COUNT = 4
KEEP = dr.ADFlag.ClearVertices


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


Table = list[list[int]]  # of each result, which inputs it is computed from


def step(table: Table, values: Any) -> Any:
    """Each depends on itself, and on what the table says."""
    return tuple(
        value * 0.9 + sum((dr.sin(values[i]) * (i + 1) for i in table[k]), Float64(0))
        for k, value in enumerate(values)
    )


def loop(table: Table, values: Any, mode: str) -> Any:
    """Long enough for what goes round to come to all that it reaches."""
    return dr.while_loop(
        (*values, UInt(0)),
        lambda *s: s[-1] < COUNT,
        lambda *s: (*step(table, s[:-1]), s[-1] + 1),
        mode=mode,
        max_iterations=COUNT,
    )[:-1]


def conditional(table: Table, values: Any, mode: str) -> Any:
    return dr.if_stmt(
        values,
        values[0] > 0.5,
        lambda *v: step(table, v),
        lambda *v: tuple(value * 2 for value in v),
        mode=mode,
    )


def call(table: Table, values: Any, mode: str) -> Any:
    functions = [lambda *v: step(table, v), lambda *v: v]
    return dr.switch(UInt(0, 1, 0), functions, *values, mode=mode)


def nested(table: Table, values: Any, mode: str) -> Any:
    def body(*s: Any) -> Any:
        return (*conditional(table, s[:-1], mode), s[-1] + 1)

    return dr.while_loop(
        (*values, UInt(0)),
        lambda *s: s[-1] < COUNT,
        body,
        mode=mode,
        max_iterations=COUNT,
    )[:-1]


def frozen(table: Table, values: Any, mode: str) -> Any:
    if mode == "evaluated":
        return step(table, values)
    function = dr.freeze(lambda *v: step(table, v))
    function(*values)
    return function(*values)


def frozen_loop(table: Table, values: Any, mode: str) -> Any:
    if mode == "evaluated":
        return loop(table, values, mode)
    return dr.freeze(lambda *v: loop(table, v, "symbolic"))(*values)


def in_frozen(table: Table, values: Any, mode: str) -> Any:
    """A frozen function in another one, in which an operation is one of several."""
    if mode == "evaluated":
        return step(table, step(table, values))
    inner = dr.freeze(lambda *v: step(table, v))
    return dr.freeze(lambda *v: inner(*inner(*v)))(*values)


PROGRAMS = [loop, conditional, call, nested, frozen, frozen_loop, in_frozen]


def numbers(rng: random.Random) -> Any:
    return Float64([rng.uniform(0.1, 1) for _ in range(3)])


def outcome(
    program: Callable[..., Any], table: Table, seed: int, forward: bool, mode: str
) -> list[Any]:
    """All gradients after a traversal from each result, or each input."""
    rng = random.Random(seed)
    starts = [numbers(rng) for _ in range(COUNT)]
    dr.enable_grad(starts)
    values = tuple(start * 2 for start in starts)
    results = program(table, values, mode)
    found = []
    for k in range(COUNT):
        for v in (*starts, *values, *results):
            dr.clear_grad(v)
        for v in results if forward else values:
            dr.set_grad(v, numbers(rng))
        root = values[k] if forward else results[k]
        dr.set_grad(root, numbers(rng))
        way = dr.ADMode.Forward if forward else dr.ADMode.Backward
        dr.enqueue(way, root)
        dr.traverse(way, KEEP)
        found.append([dr.grad(v).numpy() for v in (*starts, *values, *results)])
    return found


@pytest.mark.parametrize("forward", [False, True], ids=["reverse", "forward"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_random_tables(program: Any, forward: bool) -> None:
    for seed in range(6):
        rng = random.Random(seed)
        table = [
            [i for i in range(COUNT) if i != k and rng.random() < seed / 8]
            for k in range(COUNT)
        ]
        recorded = outcome(program, table, seed, forward, "symbolic")
        evaluated = outcome(program, table, seed, forward, "evaluated")
        assert np.allclose(recorded, evaluated, rtol=1e-10, atol=1e-12), (seed, table)


def test_gradient_of_another_input_stays() -> None:
    """What test_random_tables() compares, as numbers."""
    x, y = Float64(2), Float64(5)
    dr.enable_grad(x, y)
    u, v = x * 1, y * 1
    r, _ = dr.freeze(lambda u, v: (u * 2, v * 3))(u, v)
    dr.set_grad((u, v), (7, 8))
    dr.backward(r)
    assert v.grad == 8 and y.grad == 0 and x.grad == 9


def test_arrays_that_are_added_to() -> None:
    """Gradients of arrays that bodies read are added to in place: those that the result
    does not depend on stay."""

    def run(mode: str) -> Any:
        a, b = Float64(1, 2, 3), Float64(4, 5, 6)
        dr.enable_grad(a, b)
        c, d = a * 2, b * 3

        def body(i: Any, s: Any, t: Any) -> Any:
            return i + 1, s + dr.gather(Float64, c, i), t + dr.gather(Float64, d, i)

        state = (UInt(0, 1), Float64(0, 0), Float64(0, 0))
        _, s, t = dr.while_loop(
            state, lambda i, s, t: i < 3, body, mode=mode, max_iterations=3
        )
        dr.set_grad((c, d), (Float64(1, 2, 3), Float64(10, 20, 30)))
        dr.backward(s, KEEP)
        found = [v.grad.numpy() for v in (a, b, c, d)]
        dr.backward(t, KEEP)
        return [*found, *(v.grad.numpy() for v in (a, b, c, d))]

    # c: 1 + 1, 2 + 2, 3 + 2; d stays
    expected = [
        [4, 8, 10], [0, 0, 0], [0, 0, 0], [10, 20, 30],
        [4, 8, 10], [33, 66, 96], [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip
    assert np.array_equal(run("evaluated"), expected)
    assert np.array_equal(run("symbolic"), expected)


def test_edges_of_another_result_stay() -> None:
    x, y = Float64(2), Float64(5)
    dr.enable_grad(x, y)
    function = dr.freeze(lambda u, v: (u * v, v * 3, u * u))
    for mode in ("frozen", "loop"):
        dr.clear_grad((x, y))
        if mode == "frozen":
            results = function(x, y)
        else:
            results = dr.if_stmt(
                (x, y),
                x > 0,
                lambda u, v: (u * v, v * 3, u * u),
                lambda u, v: (u, v, v),
                mode="symbolic",
            )
        for k, expected in enumerate([(5, 2), (5, 5), (9, 5)]):
            dr.backward(results[k])
            assert (x.grad[0], y.grad[0]) == expected


def test_more_inputs_than_there_can_be() -> None:
    count = 65537
    values = [dr.opaque(Float64, 1) for _ in range(count)]
    dr.enable_grad(values)

    def add(x: Any) -> Any:
        for value in values:
            x = x + value
        return x

    x = Float64(1, 2)
    with pytest.raises(RuntimeError, match="expected at most 65536"):
        dr.if_stmt((x,), x > 1, add, lambda x: x, mode="symbolic")
