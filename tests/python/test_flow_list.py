"""What the documents promise of loops, conditionals and calls, point by point."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array3f, Float, UInt
from region_util import Boom, check_that_all_is_well, raises_at

MODES = ["symbolic", "evaluated"]
SECONDS = 20  # an interrupted loop takes less, on any machine

# ------------------------------------------------------------------- Ctrl-C


@pytest.fixture
def handlers() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def endless(mode: str) -> Any:
    """A loop that has an end, which nobody lives to see."""
    i, k = dr.while_loop(
        (UInt(1, 2), UInt(0)),
        lambda i, k: i > 0,
        lambda i, k: (i ^ 4, k + 1),
        mode=mode,
    )
    return k[0]


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_ends_a_loop(mode: str, handlers: None) -> None:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless(mode)
    timer.join()
    assert time.monotonic() - begin < SECONDS
    check_that_all_is_well()


# ----------------------------------------------------------------- messages


@dataclass
class Ray:
    o: Array3f
    t: list[Any]


def test_messages_name_the_variable_and_its_place() -> None:
    x = UInt(1, 2, 3)

    def ray() -> Ray:
        return Ray(Array3f(1, 2, 3), [Float(1), {"count": 2}])

    def change(value: Any) -> Callable[[Any, Any], Any]:
        def body(i: Any, r: Any) -> Any:
            r.t[1]["count"] = value
            return i + 1, r

        return body

    for value, text in (
        (3, "changed from '2' to '3'"),
        (Float(2), "'int' to '.*Float"),
    ):
        with pytest.raises(RuntimeError, match=rf"'ray\.t\[1\]\[count\]'.* {text}"):
            dr.while_loop(
                (x, ray()), lambda i, r: i < 5, change(value), labels=("i", "ray")
            )
        with pytest.raises(RuntimeError, match=rf"'rays\.t\[1\]\[count\]'.* {text}"):
            dr.if_stmt(
                (x, ray()),
                x > 1,
                lambda i, r: (i, r),
                change(value),
                rv_labels=("i", "rays"),
            )

    @dr.syntax
    def f(i: Any, some: Any) -> Any:
        while i < 5:
            some.t[1]["count"] = 7
            i += 1
        return some

    with pytest.raises(RuntimeError, match=r"'some\.t\[1\]\[count\]' of type 'int'"):
        f(x, ray())


def test_messages_name_the_construct() -> None:
    x, data = dr.arange(UInt, 4), dr.zeros(UInt, 4)
    dr.eval(data)

    def write(i: Any) -> Any:
        dr.scatter(data, i, i)
        return data + i

    with pytest.raises(RuntimeError, match="loop 'count up'"):
        dr.while_loop((x,), lambda i: i < 4, lambda i: (write(i),), label="count up")
    with pytest.raises(RuntimeError, match="conditional 'choose'"):
        dr.if_stmt((x,), x > 1, write, write, label="choose")
    with pytest.raises(RuntimeError, match="call 'several'"):
        dr.switch(x % 2, [write, write], x, label="several")
    with pytest.raises(RuntimeError, match="loop 'forever' is always true"):
        dr.while_loop(
            (x,), lambda i: dr.llvm.Bool(True), lambda i: (i,), label="forever"
        )
    check_that_all_is_well()


# --------------------------------------------------------------- exceptions


class Shape(dr.Instance):
    def __init__(self, size: int) -> None:
        self.size = size

    def area(self, x: Any, check: Any) -> Any:
        check(0)
        x.append(x[0])
        x[0] += self.size
        check(1)
        return x.pop() + x[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", range(12))
def test_an_exception_leaves_everything_as_before(mode: str, point: int) -> None:
    """Containers, arrays, memory, at each point of each body."""
    check = raises_at(point)
    i, memory = dr.arange(UInt, 4), dr.zeros(UInt, 4)
    state = {"x": [UInt(1, 2, 3, 4)], "p": Ray(Array3f(1, 2, 3), [UInt(5)])}
    before = [state["x"], state["x"][0], state["p"], state["p"].o, state["p"].t[0]]
    shapes = dr.array_t(Shape)(Shape(1), Shape(2), Shape(1), None)

    def side(s: Any) -> Any:
        check(2)
        s["x"][0] += 1
        s["p"].t[0] = s["p"].t[0] * 2
        check(3)
        s["p"].o.x += 1
        dr.scatter_add(memory, 1, i)
        check(4)
        return s

    def target(shape: Any, x: Any) -> Any:
        check(5)
        y = shape.size + x[0]
        check(6)
        return y

    def cond(k: Any, s: Any) -> Any:
        check(7)
        return k < 3

    def body(k: Any, s: Any) -> Any:
        check(8)
        s["x"].append(UInt(0))
        s = dr.if_stmt((s,), k > 0, side, side, mode=mode)
        check(9)
        s["x"][0] += shapes.area(list(s["x"]), check)
        s["x"][0] += dr.dispatch(shapes, target, s["x"])
        check(10)
        del s["x"][1]
        s["extra"] = check(11)
        del s["extra"]
        return k + 1, s

    flag = dr.JitFlag.SymbolicCalls
    with (
        dr.scoped_set_flag(flag, mode == "symbolic"),
        pytest.raises(Boom),
    ):
        dr.while_loop((UInt(0), state), cond, body, mode=mode)
    after = [state["x"], state["x"][0], state["p"], state["p"].o, state["p"].t[0]]
    assert all(a is b for a, b in zip(before, after, strict=True))
    assert list(state) == ["x", "p"] and len(state["x"]) == 1
    assert list(state["x"][0]) == [1, 2, 3, 4] and list(state["p"].t[0]) == [5]
    assert [c[0] for c in state["p"].o] == [1, 2, 3]
    if mode == "symbolic":  # nothing has run
        assert list(memory) == [0, 0, 0, 0]
    check_that_all_is_well()


# -------------------------------------------------------------------- flags


def test_the_flag_of_bodies_that_are_traced() -> None:
    """JitFlag.SymbolicScope is set while a body is traced, and by nobody else."""
    seen: list[bool] = []

    def note(x: Any) -> Any:
        seen.append(dr.flag(dr.JitFlag.SymbolicScope))
        return x + 1

    x = dr.arange(UInt, 4)
    for mode in MODES:
        del seen[:]
        dr.while_loop((x,), lambda x: x < 1, lambda x: (note(x),), mode=mode)
        dr.if_stmt((x,), x > 1, note, note, mode=mode)
        dr.switch(x % 2, [note, note], x, mode=mode)
        assert seen == [mode == "symbolic"] * 5
    assert not dr.flag(dr.JitFlag.SymbolicScope)


@pytest.mark.parametrize("mode", MODES)
def test_reorder_threads_in_bodies(mode: str) -> None:
    """A hint: the values are what they were."""
    x = dr.arange(UInt, 5)

    def body(x: Any, n: Any) -> Any:
        x, n = dr.reorder_threads(x % 2, 1, (x, n))
        return x + 1, n + x

    _, n = dr.while_loop((x, UInt(0)), lambda x, n: x < 4, body, mode=mode)
    assert list(n) == [6, 6, 5, 3, 0]
