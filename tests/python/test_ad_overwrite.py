"""Derivatives of recorded regions that overwrite arrays, read what they write to, or
write to an array on both sides of a conditional."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from ad_util import check_second_order, gradients
from drjit.llvm.ad import Array3f64, Float64, UInt

X = Float64(0.3, 1.2, -0.4, 0.9)
P = Float64(0.8)
LANE = dr.arange(UInt, 4)
STARTS = ["tracked", "plain"]


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


# Writes of an iteration, or of a side: to three entries of 'out' for each lane.


def moving(out: Any, v: Any, y: Any, k: Any) -> None:
    dr.scatter(out, v, LANE * 3 + k % 3)


def two(out: Any, v: Any, y: Any, k: Any) -> None:
    dr.scatter(out, v, LANE * 3)
    dr.scatter(out, v * y, LANE * 3 + (k & 1))


def mixed(out: Any, v: Any, y: Any, k: Any) -> None:
    dr.scatter(out, v, LANE * 3 + (k & 1))
    dr.scatter_add(out, y, LANE * 3)


def read(out: Any, v: Any, y: Any, k: Any) -> None:
    """What it reads is the content from before, also of what other lanes write."""
    v = v * dr.gather(Float64, out, (LANE * 3 + k + 2) % 12)
    dr.scatter(out, v, LANE * 3 + k % 2)


def read_and_add(out: Any, v: Any, y: Any, k: Any) -> None:
    v = v * dr.gather(Float64, out, (LANE * 3 + k + 1) % 12)
    dr.scatter_add(out, v, LANE * 3 + k % 2)


def masked(out: Any, v: Any, y: Any, k: Any) -> None:
    dr.scatter(out, v, LANE * 3 + k % 2, y > 0.4)


def packet(out: Any, v: Any, y: Any, k: Any) -> None:
    dr.scatter(out, Array3f64(v, y, v * y), LANE)


ITERATED = [moving, two, mixed, masked, packet]
READING = [read, read_and_add]
WRITES = [*ITERATED, *READING]


def begin(x: Any, start: str) -> Any:
    if start == "plain":
        return dr.full(Float64, 0.5, 12)
    return dr.gather(Float64, x * 2 + 1, dr.arange(UInt, 12) & 3)


def end(out: Any, y: Any) -> Any:
    return dr.sum(out * dr.sin(out) * dr.arange(Float64, 12)) + y


def loop(write: Callable[..., None], start: str, times: Any, **options: Any) -> Any:
    def program(x: Any) -> Any:
        out = begin(x, start)

        def body(y: Any, k: Any) -> Any:
            write(out, dr.sin(y) * x, y, k)
            return y * 0.9 + 0.1 * x, k + 1

        y, _ = dr.while_loop(
            (x, UInt(0)), lambda y, k: k < times, body, mode="symbolic", **options
        )
        return end(out, y)

    return program


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("write", ITERATED)
@pytest.mark.parametrize("bound", [None, 7, 5000])
def test_loops(write: Any, start: str, bound: int | None) -> None:
    options = {} if bound is None else {"max_iterations": bound}
    for times in (UInt(0), UInt(1), UInt(5), UInt(3, 2, 1, 0), dr.opaque(UInt, 7)):
        program = loop(write, start, times, **options)
        dr.check_grad(program, X)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("write", ITERATED)
def test_loops_by_parts(write: Any, start: str) -> None:
    limit = dr.ad.tape_limit()
    dr.ad.set_tape_limit(0)
    try:
        program = loop(write, start, UInt(7, 4, 3, 0))
        dr.check_grad(program, X)
    finally:
        dr.ad.set_tape_limit(limit)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("write", READING)
def test_iterations_would_read_what_there_was_before(write: Any, start: str) -> None:
    x = Float64(X)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match=r"written to \(.*\) was read \("):
        loop(write, start, UInt(3))(x)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("bound", [None, -1])
def test_sums_that_overwrite(start: str, bound: int | None) -> None:
    def program(x: Any) -> Any:
        out = begin(x, start)

        def body(y: Any, k: Any) -> Any:
            dr.scatter(out, x * k, LANE * 3 + (k & 1))
            return y + x, k + 1

        options = {} if bound is None else {"max_iterations": bound}
        y, _ = dr.while_loop(
            (x, UInt(0)), lambda y, k: k < 5, body, mode="symbolic", **options
        )
        return end(out, y)

    dr.check_grad(program, X)


@pytest.mark.parametrize("write", [moving, two, mixed, masked, packet])
def test_modes_agree(write: Any) -> None:
    """Loops that run at once give the same gradients."""

    def gradient(mode: str) -> Any:
        x = Float64(X)
        dr.enable_grad(x)
        out = begin(x, "tracked")

        def body(out: Any, y: Any, k: Any) -> Any:
            write(out, dr.sin(y) * x, y, k)
            return out, y * 0.9, k + 1

        out, y, _ = dr.while_loop(
            (out, x * 1, UInt(0)),
            lambda out, y, k: k < UInt(5, 3, 1, 0),
            body,
            mode=mode,
        )
        dr.backward(end(out, y))
        return x.grad.numpy()

    np.testing.assert_allclose(gradient("symbolic"), gradient("evaluated"), rtol=1e-13)


# Regions in the body add to what the body overwrites.


def add_in_a_loop(out: Any, y: Any, k: Any) -> None:
    def body(z: Any, j: Any) -> Any:
        dr.scatter_add(out, dr.sin(z) * y, LANE * 3 + (k + j) % 3)
        return z * 1.1, j + 1

    dr.while_loop((y * 1, UInt(0)), lambda z, j: j < 2, body, mode="symbolic")


def add_in_sides(out: Any, y: Any, k: Any) -> None:
    def side(factor: float) -> Callable[[Any], Any]:
        def run(y: Any) -> Any:
            dr.scatter_add(out, y * y * factor, LANE * 3 + (k + 1) % 3)
            return y

        return run

    dr.if_stmt((y,), (LANE + k) % 2 == 0, side(1.5), side(0.5), mode="symbolic")


def add_in_callables(out: Any, y: Any, k: Any) -> None:
    def add(y: Any, k: Any, lane: Any) -> Any:
        dr.scatter_add(out, y * y, lane * 3 + k % 3)
        return y

    def none(y: Any, k: Any, lane: Any) -> Any:
        return y * 2

    dr.switch((LANE + k) % 2, [add, none], y, k, LANE)


def add_in_two(out: Any, y: Any, k: Any) -> None:
    """A loop in a side."""

    def side(y: Any) -> Any:
        add_in_a_loop(out, y, k)
        dr.scatter_add(out, y, LANE * 3)
        return y

    dr.if_stmt((y,), y > 0.1, side, lambda y: y, mode="symbolic")


ADDITIONS = [add_in_a_loop, add_in_sides, add_in_callables, add_in_two]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("order", ["before", "behind", "both"])
@pytest.mark.parametrize("add", ADDITIONS)
def test_regions_add(add: Callable[..., None], order: str, start: str) -> None:
    def write(out: Any, v: Any, y: Any, k: Any) -> None:
        if order != "behind":
            dr.scatter(out, v, LANE * 3 + k % 3)
        add(out, v + y, k)
        if order != "before":
            dr.scatter(out, v * y, LANE * 3 + (k + 1) % 3, y > 0.41)

    for times in (UInt(5), UInt(3, 2, 1, 0), dr.opaque(UInt, 7)):
        dr.check_grad(loop(write, start, times), X)


@pytest.mark.parametrize("start", STARTS)
def test_inner_regions_that_overwrite(start: str) -> None:
    def write(out: Any, v: Any, y: Any, k: Any) -> None:
        def body(y: Any, j: Any) -> Any:
            dr.scatter(out, y * y, LANE * 3 + j)
            return dr.sin(y), j + 1

        def first(y: Any) -> Any:
            dr.scatter(out, y * y, LANE * 3 + k % 3)
            return y

        def second(y: Any) -> Any:
            dr.scatter(out, dr.cos(y), LANE * 3 + (k + 1) % 3)
            dr.scatter(out, y, LANE * 3 + k % 3)
            return y

        dr.while_loop((v, UInt(0)), lambda y, j: j < 2, body, mode="symbolic")
        dr.if_stmt((y,), (LANE + k) % 2 == 0, first, second, mode="symbolic")
        dr.scatter(out, v * y, LANE * 3 + (k + 2) % 3, y > 0.41)

    dr.check_grad(loop(write, start, UInt(5, 4, 3, 0)), X)
    check_second_order(of_two(write, start, UInt(3, 2, 1, 0)), X, P)


def four(out: Any, y: Any) -> Any:
    """A result for each lane that depends on all entries."""
    a, b, c = (dr.gather(Float64, out, LANE * 3 + i) for i in range(3))
    return a * dr.sin(b) * y + c * a


def of_two(write: Any, start: str, times: Any) -> Callable[..., Any]:
    """A loop, as a function of four numbers and one."""

    def program(x: Any, p: Any) -> Any:
        out = begin(x, start)

        def body(y: Any, k: Any) -> Any:
            write(out, dr.sin(y) * x * p, y, k)
            return y * 0.9 + 0.1 * x * y * p, k + 1

        y, _ = dr.while_loop(
            (x, UInt(0)), lambda y, k: k < times, body, mode="symbolic"
        )
        return four(out, y)

    return program


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("write", ITERATED)
@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_second_order(write: Any, start: str, limit: int) -> None:
    before = dr.ad.tape_limit()
    dr.ad.set_tape_limit(limit)
    try:
        for n in (0, 1, 5):
            for times in (UInt(n), UInt(n, n // 2, 1, 0)):
                check_second_order(of_two(write, start, times), X, P)
    finally:
        dr.ad.set_tape_limit(before)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("write", [moving, two, mixed, masked])
def test_third_order(write: Any, start: str) -> None:
    program = of_two(write, start, UInt(3, 2, 1, 0))

    def first(x: Any, p: Any) -> Any:
        return gradients(program, x, p, True)[0]

    check_second_order(first, X, P)


# ---------------------------------------------------------------- conditionals


def conditional(
    first: str, second: str, start: str, extra: str, mode: Any
) -> Callable[..., Any]:
    """Both sides write to an argument."""
    index = UInt(1, 3, 0, 2)

    def put(op: str, out: Any, value: Any, index: Any) -> None:
        if op == "write":
            dr.scatter(out, value, index)
        else:
            dr.scatter_add(out, value, index)

    def side(op: str, function: Callable[..., Any], offset: int) -> Any:
        def run(out: Any, y: Any) -> Any:
            v = function(y)
            if extra == "read":
                v = v * dr.gather(Float64, out, (index + offset) & 3)
            put(op, out, v, index)
            if extra == "twice":
                put(op, out, v * y, index)
            return out, y * offset

        return run

    def program(x: Any) -> Any:
        out = x * 2 + 1 if start == "tracked" else dr.full(Float64, 0.5, 4)
        out, y = dr.if_stmt(
            (out, x * 1.5),
            x > 0.5,
            side(first, lambda y: y * y, 1),
            side(second, dr.sin, 2),
            mode=mode,
        )
        return out * dr.sin(out + 1) + y

    return program


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("extra", ["once", "twice", "read"])
@pytest.mark.parametrize("first", ["write", "add"])
@pytest.mark.parametrize("second", ["write", "add"])
def test_both_sides(first: str, second: str, extra: str, start: str, mode: str) -> None:
    dr.check_grad(conditional(first, second, start, extra, mode), X)


@pytest.mark.parametrize("write", [True, False])
def test_one_side_reads_what_the_other_one_writes_to(write: bool) -> None:
    def program(x: Any) -> Any:
        index = UInt(1, 3, 0, 2)

        def first(out: Any, y: Any) -> Any:
            if write:
                dr.scatter(out, y * y, index)
            else:
                dr.scatter_add(out, y * y, index)
            return out, y

        def second(out: Any, y: Any) -> Any:
            return out, y * dr.gather(Float64, out, (index + 2) & 3)

        out, y = dr.if_stmt(
            (x * 2 + 1, x * 1.5), x > 0.5, first, second, mode="symbolic"
        )
        return out * dr.sin(out) + y

    dr.check_grad(program, X)


def test_extremes_on_both_sides_are_refused() -> None:
    x = Float64(X)
    dr.enable_grad(x)

    def side(out: Any) -> Any:
        dr.scatter_reduce(dr.ReduceOp.Max, out, x, LANE)
        return out

    with pytest.raises(RuntimeError, match="both sides have written to"):
        dr.if_stmt((x * 2,), x > 0.5, side, side, mode="symbolic")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("write", [moving, two, mixed, masked, packet])
def test_second_order_of_conditionals(write: Any, start: str) -> None:
    def program(x: Any, p: Any) -> Any:
        def first(out: Any, x: Any) -> Any:
            write(out, dr.sin(x) * x * p, x, UInt(1))
            write(out, x * p * x, x, UInt(2))
            return out

        def second(out: Any, x: Any) -> Any:
            write(out, dr.cos(x) * x * p, x, UInt(0))
            return out

        out = begin(x, start)
        out = dr.if_stmt((out, x), x > 0.5, first, second, mode="symbolic")
        return four(out, x)

    check_second_order(program, X, P)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("second", [dr.scatter, dr.scatter_add])
@pytest.mark.parametrize("first", [dr.scatter, dr.scatter_add])
@pytest.mark.parametrize("nested", [False, True])
def test_sides_that_write_to_a_state(
    nested: bool, first: Any, second: Any, start: str
) -> None:
    """Of a loop: each as it was before the conditional. The first may do so in a loop,
    since there is no copy of the state for one in the second."""

    def side(scatter: Any, offset: int) -> Any:
        def write(out: Any, y: Any, k: Any) -> Any:
            scatter(out, y * y + offset, LANE * 3 + (k + offset) % 3)
            return out, dr.sin(y), k + 1

        def run(out: Any, y: Any, k: Any) -> Any:
            if offset or not nested:
                return write(out, y, k)[:2]
            more = lambda out, y, j: j < 2  # noqa: E731
            return dr.while_loop((out, y, UInt(0)), more, write, mode="symbolic")[:2]

        return run

    def program(x: Any) -> Any:
        def body(out: Any, y: Any, k: Any) -> Any:
            condition = (LANE + k) % 2 == 0
            sides = side(first, 0), side(second, 1)
            out, y = dr.if_stmt((out, y, k), condition, *sides, mode="symbolic")
            return out, y * 0.9, k + 1

        out, y, _ = dr.while_loop(
            (begin(x, start), x, UInt(0)),
            lambda out, y, k: k < UInt(4, 3, 2, 1),
            body,
            mode="symbolic",
        )
        return end(out, y)

    dr.check_grad(program, X)
