"""Recorded loops that write tracked values to an array, and others that are not, which
overwrite what iterations before have written. None is an operand of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import pytest
from drjit.llvm.ad import Float64, UInt

X = Float64(0.3, 1.2, -0.4, 0.9)
LANE = dr.arange(UInt, 4)
CONSTANT = Float64(0.7)


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def place(k: Any, offset: int = 0) -> Any:
    """One of three entries of a lane."""
    return LANE * 3 + (k + offset) % 3


def add_twice(out: Any, y: Any, k: Any) -> None:
    def body(z: Any, j: Any) -> Any:
        dr.scatter_add(out, dr.sin(z) * y, place(k))
        return z * 1.1, j + 1

    dr.while_loop((y * 1, UInt(0)), lambda z, j: j < 2, body, mode="symbolic")


def write_in(side: Callable[..., None], y: Any, condition: Any) -> None:
    def run(y: Any) -> Any:
        side(y)
        return y

    dr.if_stmt((y,), condition, run, lambda y: y, mode="symbolic")


# Bodies that have derivatives.


def before(out: Any, y: Any, k: Any) -> None:
    dr.scatter(out, CONSTANT, place(k))
    dr.scatter(out, dr.sin(y), place(k, 1))


def before_and_behind(out: Any, y: Any, k: Any) -> None:
    dr.scatter(out, CONSTANT, place(k))
    dr.scatter(out, CONSTANT * 2, place(k, 2), y > 0.2)
    dr.scatter(out, dr.sin(y), place(k, 1))
    dr.scatter(out, CONSTANT * 3, place(0), y > 0.5)


def cleared(out: Any, y: Any, k: Any) -> None:
    dr.scatter(out, Float64(0), place(k))
    dr.scatter_add(out, dr.sin(y), place(k))


def apart(out: Any, y: Any, k: Any) -> None:
    dr.scatter(out, CONSTANT, LANE * 3)
    dr.scatter(out, dr.sin(y), LANE * 3 + 1)


def cleared_for_a_loop(out: Any, y: Any, k: Any) -> None:
    dr.scatter(out, Float64(0), place(k))
    add_twice(out, y, k)


def cleared_for_a_side(out: Any, y: Any, k: Any) -> None:
    dr.scatter(out, Float64(0), place(k))
    write_in(lambda y: dr.scatter_add(out, y * y, place(k)), y, y > 0.41)


def added(out: Any, y: Any, k: Any) -> None:
    dr.scatter_add(out, CONSTANT, place(k))
    dr.scatter(out, dr.sin(y), place(k, 1))


def both_in_a_side(out: Any, y: Any, k: Any) -> None:
    def side(y: Any) -> None:
        dr.scatter(out, CONSTANT, place(k))
        dr.scatter_add(out, y * y, place(k))

    write_in(side, y, y > 0.41)


def read_before(out: Any, y: Any, k: Any) -> None:
    v = dr.gather(Float64, out, place(k, 1))
    dr.scatter(out, CONSTANT, place(k, 2))
    dr.scatter(out, dr.sin(y) * v, place(k))


def in_a_side(out: Any, y: Any, k: Any) -> None:
    write_in(lambda y: dr.scatter(out, CONSTANT, place(k)), y, y > 0.41)
    dr.scatter(out, dr.sin(y), place(k, 1))


def in_the_other_side(out: Any, y: Any, k: Any) -> None:
    def first(y: Any) -> Any:
        dr.scatter(out, CONSTANT, place(k))
        return y

    def second(y: Any) -> Any:
        dr.scatter(out, y * y, place(k))
        return y

    dr.if_stmt((y,), (LANE + k) % 2 == 0, first, second, mode="symbolic")


def in_an_argument(out: Any, y: Any, k: Any) -> None:
    def first(out: Any, y: Any) -> Any:
        dr.scatter(out, y * y, place(k))
        return out, y

    def second(out: Any, y: Any) -> Any:
        dr.scatter(out, CONSTANT, place(k))
        return out, y

    dr.if_stmt((out, y), (LANE + k) % 2 == 0, first, second, mode="symbolic")


def in_a_callable(out: Any, y: Any, k: Any) -> None:
    def first(y: Any, k: Any) -> Any:
        dr.scatter(out, CONSTANT, place(k))
        return y

    def second(y: Any, k: Any) -> Any:
        dr.scatter(out, y * y, place(k))
        return y

    dr.switch((LANE + k) % 2, [first, second], y, k)


def in_a_loop(out: Any, y: Any, k: Any) -> None:
    def body(j: Any) -> Any:
        dr.scatter(out, CONSTANT, place(k + j))
        return (j + 1,)

    dr.while_loop((UInt(0),), lambda j: j < 2, body, mode="symbolic")
    dr.scatter(out, dr.sin(y), place(k))


RIGHT = [
    before,
    before_and_behind,
    cleared,
    apart,
    cleared_for_a_loop,
    cleared_for_a_side,
    added,
    both_in_a_side,
    in_a_side,
    in_the_other_side,
    in_an_argument,
    in_a_callable,
    in_a_loop,
]


# Bodies that write in a way that has no derivative.


def multiplied(out: Any, y: Any, k: Any) -> None:
    dr.scatter_reduce(dr.ReduceOp.Mul, out, CONSTANT, place(k))
    dr.scatter_add(out, dr.sin(y), place(k, 1))


def largest(out: Any, y: Any, k: Any) -> None:
    dr.scatter_reduce(dr.ReduceOp.Max, out, CONSTANT, place(k))
    dr.scatter_add(out, dr.sin(y), place(k, 1))


def exchanged(out: Any, y: Any, k: Any) -> None:
    dr.scatter_exch(out, CONSTANT, place(k))
    dr.scatter(out, dr.sin(y), place(k, 1))


def exchanged_in_a_callable(out: Any, y: Any, k: Any) -> None:
    def first(y: Any, k: Any) -> Any:
        dr.scatter_cas(out, Float64(0.5), CONSTANT, place(k))
        return y

    dr.switch((LANE + k) % 2, [first, lambda y, k: y], y, k)
    dr.scatter(out, dr.sin(y), place(k))


def suspended(out: Any, y: Any, k: Any) -> None:
    """In evaluated mode this cuts off what iterations before have added, everywhere."""
    with dr.suspend_grad():
        dr.scatter(out, CONSTANT, place(k))
    dr.scatter_add(out, dr.sin(y), place(k, 1))


HIDDEN = [multiplied, largest, exchanged, exchanged_in_a_callable, suspended]


def program(write: Callable[..., None], start: str = "plain") -> Callable[..., Any]:
    """What the loop makes of an array, and of a state."""

    def run(x: Any) -> Any:
        out = dr.arange(Float64, 12) * 0.1 + 0.2
        if start == "tracked":
            out = dr.gather(Float64, x * 2 + 1, dr.arange(UInt, 12) & 3)

        def body(y: Any, k: Any) -> Any:
            write(out, y, k)
            return y * 0.8 + 0.17, k + 1

        y, _ = dr.while_loop((x, UInt(0)), lambda y, k: k < 5, body, mode="symbolic")
        return out * dr.sin(out) * dr.arange(Float64, 12), y

    return run


@pytest.mark.parametrize("start", ["plain", "tracked"])
@pytest.mark.parametrize("write", RIGHT)
def test_gradients_are_right(write: Any, start: str) -> None:
    dr.check_grad(lambda x: program(write, start)(x)[0], X)


@pytest.mark.parametrize("start", ["plain", "tracked"])
def test_what_is_read_before_may_not_be_written(start: str) -> None:
    """It would be the content from before the loop."""
    x = Float64(X)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match=r"(?s)that is written to .* was read"):
        program(read_before, start)(x)


@pytest.mark.parametrize("write", [in_a_side, in_a_loop, in_a_callable])
def test_states(write: Any) -> None:
    """What a region in the body writes to a state of the loop."""

    def run(x: Any) -> Any:
        def body(out: Any, y: Any, k: Any) -> Any:
            write(out, y, k)
            return out, y * 0.8 + 0.17, k + 1

        out = dr.arange(Float64, 12) * 0.1 + 0.2
        out, _, _ = dr.while_loop(
            (out, x, UInt(0)), lambda out, y, k: k < 5, body, mode="symbolic"
        )
        return out * dr.sin(out) * dr.arange(Float64, 12)

    dr.check_grad(run, X)


def test_within_another_loop() -> None:
    """The array is written to in the outer body, then in the inner one."""

    def run(x: Any) -> Any:
        out = dr.full(Float64, 0.5, 12)

        def body(y: Any, k: Any) -> Any:
            dr.scatter(out, CONSTANT, place(k))
            add_twice(out, y * x, k)
            return y * 0.8 + 0.17, k + 1

        dr.while_loop((x, UInt(0)), lambda y, k: k < 4, body, mode="symbolic")
        return out * out

    dr.check_grad(run, X)


@pytest.mark.parametrize("write", HIDDEN)
@pytest.mark.parametrize("mode", [dr.ADMode.Backward, dr.ADMode.Forward])
def test_others_are_errors(write: Any, mode: Any) -> None:
    x = Float64(X)
    dr.enable_grad(x)
    out, y = program(write)(x)
    with pytest.raises(RuntimeError, match="nothing is tracked: there is no deriv"):
        if mode is dr.ADMode.Backward:
            dr.backward(out)
        else:
            dr.forward(x)
    del out, y


@pytest.mark.parametrize("write", HIDDEN)
def test_nobody_asks(write: Any) -> None:
    """Other results of the loop have derivatives."""
    dr.check_grad(lambda x: program(write)(x)[1], X)


@pytest.mark.parametrize("write", [*RIGHT, *HIDDEN])
def test_nothing_is_tracked(write: Any) -> None:
    """States are tracked in the body, as far as one knows, since something is."""
    x, other = Float64(X), Float64(1)
    expected = program(write)(x)[0].numpy()
    dr.enable_grad(other)
    assert (program(write)(x)[0].numpy() == expected).all()
    out = program(write)(x)[0]
    dr.backward(dr.sum(out) * other)
    assert other.grad == dr.sum(out)


def test_the_result_of_many_writes_is_what_it_was() -> None:
    """Values are those of the loop that runs at once."""
    for write in (before, before_and_behind, cleared):
        x = Float64(X)
        recorded = program(write)(x)[0]
        y, out = Float64(X), dr.arange(Float64, 12) * 0.1 + 0.2
        for k in range(5):
            write(out, y, UInt(k))
            y = y * 0.8 + 0.17
        expected = out * dr.sin(out) * dr.arange(Float64, 12)
        assert dr.allclose(recorded, expected)
