"""Arguments of conditionals and states of loops that are scattered to as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import UInt
from drjit.llvm.ad import Float64
from drjit.llvm.ad import UInt as UIntAD

MODES = ["symbolic", "evaluated"]
LANES = np.arange(4)


def array(*values: int) -> Any:
    made = UInt(*values)
    dr.eval(made)
    return made


def add(places: Callable[[Any], Any], value: Any = 1) -> Callable[..., Any]:
    def side(a: Any, i: Any) -> Any:
        dr.scatter_add(a, value, places(i))
        return a

    return side


def same(a: Any, i: Any) -> Any:
    return a


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("evaluated", [True, False])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_sides_that_write(mode: str, evaluated: bool, size: int) -> None:
    """One or both write to the argument; masks of lanes count, copies stay."""

    def wrap(i: Any) -> Any:
        return (3 * i + 1) % size

    i = dr.arange(UInt, 4)
    for yes, no in [(1, 0), (0, 1), (1, 1)]:
        a = dr.arange(UInt, size) * 5 if size > 1 else dr.opaque(UInt, 0)
        if evaluated:
            dr.eval(a)
        before, alias = UInt(a), a
        r = dr.if_stmt(
            (a, i),
            i > 1,
            add(wrap, 10) if yes else same,
            add(wrap, 100) if no else same,
            mode=mode,
        )
        expected = 5 * np.arange(size)
        np.add.at(
            expected, (3 * LANES + 1) % size, np.where(LANES > 1, 10 * yes, 100 * no)
        )
        assert r is a and alias is a
        assert list(r) == list(expected)
        assert list(before) == list(5 * np.arange(size))


@pytest.mark.parametrize("mode", MODES)
def test_a_write_is_lost_if_the_array_is_not_returned(mode: str) -> None:
    a, i = array(0, 0, 0, 0), dr.arange(UInt, 4)

    def side(a: Any, i: Any) -> Any:
        dr.scatter(a, i, i)

    assert dr.if_stmt((a, i), i > 1, side, lambda a, i: None, mode=mode) is None
    assert list(a) == [0, 0, 0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_containers(mode: str) -> None:
    a, b, i = array(0, 0, 0, 0), array(1, 2, 3, 4), dr.arange(UInt, 4)
    tree = {"list": [a, b]}

    def side(tree: Any, i: Any) -> Any:
        dr.scatter(tree["list"][1], i + 10, 3 - i)
        return tree, i

    r, j = dr.if_stmt((tree, i), i > 1, side, lambda t, i: (t, i + 1), mode=mode)
    assert r is tree and r["list"][0] is a and r["list"][1] is b
    assert list(b) == [13, 12, 3, 4] and list(a) == [0] * 4 and list(j) == [1, 2, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_read_before_the_write_is_there(mode: str) -> None:
    a, i = array(0, 2, 4, 6), dr.arange(UInt, 4)

    def side(a: Any, i: Any) -> Any:
        found = dr.gather(UInt, a, 3 - i)
        dr.scatter(a, i + 10, i)
        return found, a

    def other(a: Any, i: Any) -> Any:
        return dr.gather(UInt, a, i) + 1, a

    found, r = dr.if_stmt((a, i), i > 1, side, other, mode=mode)
    assert r is a
    assert list(a) == [0, 2, 12, 13] and list(found) == [1, 3, 2, 0]


@pytest.mark.parametrize("mode", MODES)
def test_results_of_atomic_operations(mode: str) -> None:
    """The false side's are made again, for the array of the true side."""
    a, i = array(0, 0), dr.arange(UInt, 6)

    def side(a: Any, i: Any) -> Any:
        where = UInt(0)
        return a, dr.scatter_inc(a, where, i < 8)

    r, number = dr.if_stmt((a, i), i > 1, side, side, mode=mode)
    dr.eval(r, number)
    assert r is a and list(a) == [6, 0]
    assert sorted(number) == list(range(6))


@pytest.mark.parametrize("mode", MODES)
def test_two_arrays_that_are_one_variable(mode: str) -> None:
    i, a = dr.arange(UInt, 4), array(0, 0, 0, 0)
    b = UInt(a)

    def yes(a: Any, b: Any, i: Any) -> Any:
        dr.scatter_add(a, 1, i)
        return a, b

    def no(a: Any, b: Any, i: Any) -> Any:
        dr.scatter_add(b, 2, i)
        return a, b

    a, b = dr.if_stmt((a, b, i), i > 1, yes, no, mode=mode)
    assert list(a) == [0, 0, 1, 1] and list(b) == [2, 2, 0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_what_cannot_be(mode: str) -> None:
    """A side that makes something else of the array, or, if it does not run at once,
    reads what it has written."""
    i = dr.arange(UInt, 4)
    write = add(lambda i: i)

    def read(a: Any, i: Any) -> Any:
        return write(a, i) + 1

    def swapped(a: Any, b: Any, i: Any) -> Any:
        return write(b, i), write(a, i)

    def straight(a: Any, b: Any, i: Any) -> Any:
        return write(a, i), write(b, i)

    a, b = array(1, 2, 3, 4), array(5, 6, 7, 8)
    for false_fn in (lambda a, i: a + 1, lambda a, i: i):
        with pytest.raises(RuntimeError, match="output 0 of one side is an array that"):
            dr.if_stmt((a, i), i > 1, write, false_fn, mode=mode, label="x")
    if mode == "evaluated":
        found = dr.if_stmt((array(1, 2, 3, 4), i), i > 1, read, same, mode=mode)
        written = write(array(1, 2, 3, 4), UInt(2, 3))
        assert list(found) == [1, 2, written[2] + 1, written[3] + 1]
    else:
        with pytest.raises(RuntimeError, match="cannot be read now"):
            dr.if_stmt((a, i), i > 1, read, same, mode=mode)
    with pytest.raises(RuntimeError, match="output 0 of one side is an array that"):
        dr.if_stmt((a, b, i), i > 1, straight, swapped, mode=mode)
    assert list(a) == [1, 2, 3, 4] and list(b) == [5, 6, 7, 8]


def test_one_copy_cannot_stand_for_two() -> None:
    """The sides disagree which of the results are one array."""
    i, a = dr.arange(UInt, 4), array(0, 0, 0, 0)

    def yes(a: Any, i: Any) -> Any:
        dr.scatter_add(a, 1, i)
        return a, UInt(a)

    def no(a: Any, i: Any) -> Any:
        before = UInt(a)
        dr.scatter_add(a, 2, i)
        return a, before

    with pytest.raises(RuntimeError, match="output 1 of one side is an array that"):
        dr.if_stmt((a, i), i > 1, yes, no)


# ------------------------------------------------------------------ in loops


def nested_if(sides: int, mode: str) -> Any:
    def body(j: Any, a: Any) -> Any:
        a = dr.if_stmt(
            (a, j),
            j % 2 == 0,
            add(lambda j: j % 4),
            add(lambda j: 3 - j % 4, 10) if sides == 2 else same,
            mode=mode,
        )
        return j + 1, a

    return body


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sides", [1, 2])
def test_a_conditional_in_a_loop(mode: str, sides: int) -> None:
    a, i = array(0, 0, 0, 0), dr.arange(UInt, 4)
    before = UInt(a)
    _, r = dr.while_loop((i, a), lambda j, a: j < 5, nested_if(sides, mode), mode=mode)
    expected = np.zeros(4, int)
    for lane in range(4):
        for j in range(lane, 5):
            if j % 2 == 0:
                expected[j % 4] += 1
            elif sides == 2:
                expected[3 - j % 4] += 10
    assert r is a and list(a) == list(expected) and list(before) == [0] * 4


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("depth", [2, 3])
def test_loops_in_loops(mode: str, depth: int) -> None:
    """Each hands the array on as its state."""
    i, a = dr.arange(UInt, 4), array(0, 0, 0, 0)

    def level(n: int, start: Any, a: Any) -> Any:
        def body(j: Any, a: Any) -> Any:
            if n > 1:
                a = level(n - 1, UInt(0), a)
            dr.scatter_add(a, n, j)
            return j + 1, a

        return dr.while_loop((start, a), lambda j, a: j < 3, body, mode=mode)[1]

    r = level(depth, i, a)
    expected = np.zeros(4, int)

    def count(n: int, start: int) -> None:
        for j in range(start, 3):
            expected[j] += n
            if n > 1:
                count(n - 1, 0)

    for lane in range(4):
        count(depth, lane)
    assert r is a and list(a) == list(expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_in_a_conditional(mode: str) -> None:
    i, a = dr.arange(UInt, 4), array(0, 0, 0, 0)

    def side(a: Any, i: Any) -> Any:
        def body(k: Any, a: Any) -> Any:
            dr.scatter_add(a, 1, k)
            return k + 1, a

        # An evaluated conditional keeps effects until both sides are traced.
        return dr.while_loop((i, a), lambda k, a: k < 4, body, mode="symbolic")[1]

    r = dr.if_stmt((a, i), i != 1, side, same, mode=mode)
    assert r is a and list(a) == [1, 1, 2, 3]


def test_values_of_the_state_in_an_inner_loop() -> None:
    """Lanes would have to see what others have written."""
    a, i = array(1, 2, 3, 4), dr.arange(UInt, 4)

    def body(j: Any, total: Any, a: Any) -> Any:
        def inner(k: Any, total: Any, a: Any) -> Any:
            total = total + a
            dr.scatter_add(a, 1, k)
            return k + 1, total, a

        _, total, a = dr.while_loop((UInt(0), total, a), lambda k, *_: k < 2, inner)
        return j + 1, total, a

    with pytest.raises(RuntimeError, match=r"written to \(.*\) was read \("):
        dr.while_loop((i, UInt(0), a), lambda j, *_: j < 4, body)
    assert list(a) == [1, 2, 3, 4]


def test_a_copy_of_a_state_from_before_a_write_cannot_be_written_to() -> None:
    a = array(0, 1, 2, 3)

    def body(j: Any, a: Any) -> Any:
        copy = UInt(a)
        dr.scatter_add(a, 1, j)
        dr.scatter_add(copy, 10, j)
        return j + 1, a

    with pytest.raises(RuntimeError, match="state of a loop as it was before the body"):
        dr.while_loop((UInt(0), a), lambda j, a: j < 3, body)
    assert list(a) == [0, 1, 2, 3]


def test_what_is_written_before_and_in_an_inner_construct_is_refused() -> None:
    """The inner one would have to know that nobody else holds the array."""
    i, a = dr.arange(UInt, 4), array(0, 0, 0, 0)

    def body(j: Any, a: Any) -> Any:
        dr.scatter_add(a, 1, j)
        return j + 1, dr.if_stmt((a, j), j > 1, add(lambda j: j), same)

    with pytest.raises(RuntimeError, match="cannot be read now"):
        dr.while_loop((i, a), lambda j, a: j < 3, body)
    assert list(a) == [0, 0, 0, 0]


# -------------------------------------------------------------- derivatives


def one_side(a: Any, i: Any, x: Any, mode: str) -> Any:
    def yes(a: Any, i: Any, x: Any) -> Any:
        dr.scatter(a, x * x, 3 - i)
        return a

    return dr.if_stmt((a, i, x), i > 1, yes, lambda a, i, x: a, mode=mode)


def other_side(a: Any, i: Any, x: Any, mode: str) -> Any:
    def no(a: Any, i: Any, x: Any) -> Any:
        found = dr.gather(Float64, a, i)
        dr.scatter_add(a, x * x * found, 3 - i)
        return a

    return dr.if_stmt((a, i, x), i > 1, lambda a, i, x: a, no, mode=mode)


def if_in_loop(a: Any, i: Any, x: Any, mode: str) -> Any:
    def body(j: Any, a: Any, x: Any) -> Any:
        def yes(a: Any, j: Any, x: Any) -> Any:
            dr.scatter_add(a, x * x * Float64(j), j % 4)
            return a

        a = dr.if_stmt((a, j, x), j % 2 == 0, yes, lambda a, j, x: a, mode=mode)
        return j + 1, a, x

    return dr.while_loop(
        (i, a, x), lambda j, a, x: j < 5, body, mode=mode, max_iterations=8
    )[1]


def loop_in_loop(a: Any, i: Any, x: Any, mode: str) -> Any:
    def body(j: Any, a: Any, x: Any) -> Any:
        def inner(k: Any, a: Any, x: Any) -> Any:
            dr.scatter_add(a, x * x * Float64(k), (k + j) % 4)
            return k + 1, a, x

        _, a, x = dr.while_loop(
            (UIntAD(0), a, x),
            lambda k, a, x: k < 3,
            inner,
            mode=mode,
            max_iterations=4,
        )
        return j + 1, a, x

    return dr.while_loop(
        (i, a, x), lambda j, a, x: j < 5, body, mode=mode, max_iterations=8
    )[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", [one_side, other_side, if_in_loop, loop_in_loop])
def test_derivatives(program: Any, mode: str) -> None:
    """Both modes of differentiation against central differences."""
    weights, at, step = np.array([1, 2, -3, 0.5]), np.array([0.3, 0.7, -0.2, 1.1]), 1e-6

    def value(x: Any) -> Any:
        return program(x * 3, dr.arange(UIntAD, 4), x, mode)

    def number(point: Any) -> float:
        return float(value(Float64(point)).numpy() @ weights)

    expected = [
        (number(at + step * d) - number(at - step * d)) / (2 * step) for d in np.eye(4)
    ]
    x = Float64(at)
    dr.enable_grad(x)
    dr.backward(dr.dot(value(x), Float64(weights)))
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-7)
    x = Float64(at)
    dr.enable_grad(x)
    y = value(x)
    dr.set_grad(x, Float64(1, 2, 3, 4))
    tangent = dr.forward_to(y).numpy() @ weights
    np.testing.assert_allclose(tangent, np.dot(expected, [1, 2, 3, 4]), atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loop", [False, True])
def test_derivatives_of_arrays_that_both_sides_write_to(mode: str, loop: bool) -> None:
    x = Float64(1, 2, 3, 4)
    dr.enable_grad(x)

    def side(a: Any, i: Any, x: Any) -> Any:
        dr.scatter_add(a, x, i % 4)
        return a

    def both(a: Any, i: Any, x: Any) -> Any:
        return dr.if_stmt((a, i, x), i % 2 == 0, side, side, mode=mode)

    def run() -> Any:
        i = dr.arange(UIntAD, 4)
        if not loop:
            return both(x * 2, i, x)
        return dr.while_loop(
            (i, x * 2, x),
            lambda i, a, x: i < 5,
            lambda i, a, x: (i + 1, both(a, i, x), x),
            mode=mode,
        )[1]

    y = run()
    dr.set_grad(y, Float64(1, 10, 100, 1000))
    dr.backward_to(x)
    expected = np.array([2.0, 20, 200, 2000])
    for k in range(4):
        for i in range(k, 5 if loop else k + 1):
            expected[k] += 10.0 ** (i % 4)
    assert list(x.grad) == list(expected)
    with dr.suspend_grad():
        assert list(both(x * 2, dr.arange(UIntAD, 4), x)) == [3, 6, 9, 12]


def test_a_write_without_derivative_hides_the_array() -> None:
    x = Float64(1, 2, 3, 4)
    dr.enable_grad(x)

    def side(a: Any, i: Any) -> Any:
        with dr.suspend_grad():
            dr.scatter_add(a, 1, i)
        return a

    i = dr.arange(UIntAD, 4)
    with pytest.raises(RuntimeError, match="its derivative is not available"):
        dr.if_stmt((x * 2, i), i > 1, side, lambda a, i: a)


@pytest.mark.parametrize("lanes", [4, 300])
def test_private_copies_beside_a_call(lanes: int) -> None:
    """A side that adds to an array, which gets copies for many lanes, and that has a
    call, whose table belongs to what is around."""

    def side(x: Any, table: Any, i: Any, out: Any) -> Any:
        y = dr.gather(Float64, table, i & 3) * x
        z = dr.switch(i & 1, [lambda y: y + 1, lambda y: y * 2], y)
        dr.scatter_add(out, y - z, i & 3)
        return y + z, table, i, out

    x = dr.arange(Float64, lanes) * 0.5
    args = (x, Float64(1, 2, 3, 4), dr.arange(UIntAD, lanes), Float64(1, 1, 1, 1) * 2)
    found, _, _, out = dr.if_stmt(
        args, x > 0.5, side, lambda x, table, i, out: (x, table, i, out)
    )
    number = np.arange(lanes)
    y = (number % 4 + 1) * number * 0.5
    z = np.where(number % 2, y * 2, y + 1)
    expected = np.full(4, 2.0)
    np.add.at(expected, number[2:] % 4, (y - z)[2:])
    assert np.allclose(out.numpy(), expected)
    assert np.allclose(found.numpy(), np.where(number > 1, y + z, number * 0.5))
