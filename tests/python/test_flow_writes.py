"""Bodies that read and write one array, that change one of several names of an array,
and that raise after they have written: all modes do what Python does, or say that they
do not.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array2f, Array2u, Bool, Float, Int, TensorXf, TensorXu, UInt

MODES = ["symbolic", "evaluated"]
LANE = dr.arange(UInt, 4)


def loop(body: Callable[..., Any], *state: Any, mode: str, turns: int = 3) -> Any:
    """The state after some turns of a body that gets the turn, too."""

    def turn(i: Any, *state: Any) -> Any:
        return (i + 1, *body(i, *state))

    found = dr.while_loop((UInt(0), *state), lambda i, *_: i < turns, turn, mode=mode)
    return found[1:]


def test_a_write_of_no_lane_leaves_the_target_as_it_is() -> None:
    """It is the same array, so that a conditional may pass it through in any size."""
    for mask in (Bool(False), Bool(True) & False):
        target = dr.arange(UInt, 20)
        dr.eval(target)
        other = UInt(target)
        for write in (dr.scatter, dr.scatter_add):
            write(target, LANE, LANE, mask)
        assert target.index == other.index

        def side(target: Any, lane: Any, mask: Any = mask) -> Any:
            return target, dr.if_stmt(
                (lane,),
                (lane < 9) & mask,
                lambda lane: (dr.scatter(target, lane, lane), lane + 1)[1],
                lambda lane: lane + 2,
            )

        found = dr.if_stmt((target, LANE), LANE > 1, side, lambda a, b: (a, b))
        assert list(found[0]) == list(range(20)) and list(found[1]) == [0, 1, 4, 5]


# ---------------------------------------------------------------- reads, then writes


def gather_first(buffer: Any, i: Any) -> Any:
    found = dr.gather(Float, buffer, LANE)
    dr.scatter(buffer, found * 2 + 1, LANE)


def gather_a_copy(buffer: Any, i: Any) -> Any:
    found = dr.gather(Float, dr.detach(buffer), 3 - LANE)
    dr.scatter(buffer, found + 1, LANE)


def compute_first(buffer: Any, i: Any) -> Any:
    found = buffer + 1
    dr.scatter(buffer, found, LANE)


def exchange(buffer: Any, i: Any) -> Any:
    found = dr.gather(Float, buffer, LANE)
    dr.scatter_add(buffer, found, LANE)


def entries(buffer: Any, i: Any) -> Any:
    buffer[LANE] = buffer[3 - LANE] + 1


def in_an_inner_loop(buffer: Any, i: Any) -> Any:
    def inner(k: Any, total: Any) -> Any:
        return k + 1, total + dr.gather(Float, buffer, LANE)

    _, total = dr.while_loop((UInt(0), Float(0)), lambda k, _: k < 2, inner)
    dr.scatter(buffer, total + 1, LANE)


def in_a_side(buffer: Any, i: Any) -> Any:
    found = dr.gather(Float, buffer, LANE)

    def side(found: Any) -> Any:
        dr.scatter(buffer, found + 1, LANE)
        return found

    dr.if_stmt((found,), LANE > 1, side, lambda found: found)


def within_a_side(buffer: Any, i: Any) -> Any:
    def side(k: Any) -> Any:
        found = dr.gather(Float, buffer, LANE)
        dr.scatter(buffer, found + 1, LANE)
        return k

    dr.if_stmt((LANE,), LANE > 1, side, lambda k: k)


def within_two_sides(buffer: Any, i: Any) -> Any:
    def side(k: Any) -> Any:
        within_a_side(buffer, i)
        return k

    dr.if_stmt((LANE,), LANE > 0, side, lambda k: k)


READERS = [
    gather_first, gather_a_copy, compute_first, exchange, entries, in_an_inner_loop,
    in_a_side, within_a_side, within_two_sides,
]  # fmt: skip
STARTS = {
    "literal": lambda: dr.zeros(Float, 4),
    "array": lambda: Float(1, 2, 3, 4),
    "computed": lambda: Float(1, 2, 3, 4) * 2,
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("is_state", [False, True])
@pytest.mark.parametrize("body", READERS)
def test_recorded_loops_refuse_what_they_would_read(
    body: Any, is_state: bool, start: str
) -> None:
    buffer = STARTS[start]()
    before = list(buffer)
    with pytest.raises(
        RuntimeError, match=r"written to \(.*\.py:\d+\) was read \(.*:\d"
    ):
        if is_state:
            loop(lambda i, b: (body(b, i), (b,))[1], buffer, mode="symbolic")
        else:
            loop(lambda i: (body(buffer, i), ())[1], mode="symbolic")
    assert list(buffer) == before


@pytest.mark.parametrize("body", [gather_first, gather_a_copy, compute_first, exchange])
def test_evaluated_loops_see_what_was_written(body: Any) -> None:
    expected = np.float32([1, 2, 3, 4])
    for _ in range(3):
        expected = {
            gather_first: expected * 2 + 1,
            gather_a_copy: expected[::-1] + 1,
            compute_first: expected + 1,
            exchange: expected * 2,
        }[body]
    buffer = Float(1, 2, 3, 4)
    with dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, False):
        loop(lambda i: (body(buffer, i), ())[1], mode="evaluated")
        state = loop(
            lambda i, b: (body(b, i), (b,))[1], Float(1, 2, 3, 4), mode="evaluated"
        )
    assert list(buffer) == list(expected) and list(state[0]) == list(expected)


# Functions that read an array as a whole, or entries of it on the host: what they give
# is not part of the loop.
WHOLE: dict[str, Callable[[Any], Any]] = {
    "sum": dr.sum,
    "max": dr.max,
    "mean": dr.mean,
    "block_sum": lambda b: dr.sum(dr.block_sum(b, 2)),
    "block_reduce": lambda b: dr.max(dr.block_reduce(dr.ReduceOp.Max, b, 2)),
    "cumsum": dr.cumsum,
    "prefix_reduce": lambda b: dr.prefix_reduce(dr.ReduceOp.Max, b),
    "dot": lambda b: dr.dot(b, b) / 100,
    "squared_norm": lambda b: dr.squared_norm(b) / 100,
    "sort": dr.sort,
    "argsort": lambda b: Float(dr.argsort(b)),
    "compress": lambda b: Float(len(dr.compress(b > 2))),
    "components": lambda b: dr.sum(Array2f(b, b)),
    "tensor": lambda b: dr.sum(TensorXf(b, (2, 2)), axis=None).array,
    "columns": lambda b: dr.max(TensorXf(b, (2, 2)), axis=0).array[0],
    "rows": lambda b: dr.cumsum(TensorXf(b, (2, 2)), axis=0).array[3],
    "product": lambda b: (TensorXf(b, (2, 2)) @ TensorXf(b, (2, 2))).array[0] / 100,
    "tile": lambda b: dr.gather(Float, dr.tile(b, 2), LANE + 1),
    "repeat": lambda b: dr.gather(Float, dr.repeat(b, 2), LANE + 1),
    "concat": lambda b: dr.gather(Float, dr.concat([b, b]), LANE + 1),
    "shrink": lambda b: dr.reshape(b, 2, shrink=True)[1],
    "ravel": lambda b: dr.gather(Float, dr.ravel(Array2f(b, b)), LANE),
    "cast": lambda b: Float(Int(b)),
    "copy": lambda b: dr.sum(Float(b)),
    "reinterpret": lambda b: Float(dr.reinterpret_array(UInt, b) >> 23),
    "isfinite": lambda b: dr.select(dr.isfinite(b), 1.0, 2.0) + b * 0,
    "select": lambda b: dr.select(True, b, b),
    "entry": lambda b: b[2],
    "slice": lambda b: dr.slice(b, 2),
    "list": lambda b: sum(b),
    "numpy": lambda b: Float(np.array(b)),
    "pickle": lambda b: pickle.loads(pickle.dumps(b)),
    "bool": lambda b: 1.0 if (b > 3)[0] else 2.0,
}


@pytest.mark.parametrize("name", WHOLE)
def test_recorded_loops_refuse_what_is_read_as_a_whole(name: str) -> None:
    buffer = Float(1, 2, 3, 4)

    def body(i: Any) -> Any:
        found = WHOLE[name](buffer)
        dr.scatter_add(buffer, found + Float(0), LANE)
        return ()

    with pytest.raises(RuntimeError, match="was read|is symbolic|writes to it"):
        loop(body, mode="symbolic")
    assert list(buffer) == [1, 2, 3, 4]
    expected = Float(1, 2, 3, 4)
    for _ in range(3):
        dr.scatter_add(expected, WHOLE[name](expected) + Float(0), LANE)
    if name not in ("tile", "repeat", "concat", "ravel"):  # lanes that there are not
        loop(body, mode="evaluated")
        assert list(buffer) == list(expected)


# Ways to a copy of an array; it has the array's variable.
COPIES: dict[str, Callable[[Any], Any]] = {
    "constructor": lambda b: UInt(b),
    "twice": lambda b: UInt(UInt(b)),
    "copy": dr.copy,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "tree": lambda b: dr.copy({"b": [b]})["b"][0],
    "detach": dr.detach,
    "detach to plain": lambda b: UInt(dr.detach(b, preserve_type=False)),
    "plus": lambda b: +b,
    "component": lambda b: Array2u(b, 1).x,
    "tensor": lambda b: TensorXu(b).array,
    "tensor of a shape": lambda b: TensorXu(b, (2, 2)).array,
    "other family": lambda b: UInt(dr.llvm.UInt(b)),
    "state": lambda b: dr.while_loop(
        (UInt(b), UInt(0)), lambda c, k: k < 1, lambda c, k: (c, k + 1)
    )[0],
    "side": lambda b: dr.if_stmt((LANE,), LANE >= 0, lambda i: UInt(b), lambda i: b),
    "argument of sides": lambda b: (
        dr.if_stmt((b,), LANE > 1, lambda c: c + 1, lambda c: c + 1) - 1
    ),
    "callable": lambda b: dr.switch(LANE % 2, [lambda b: b, lambda b: b], b),
}

# Arrays that are in memory, not computed yet, and literals.
SOURCES: dict[str, Callable[[Any], Any]] = {
    "memory": lambda u: UInt(dr.opaque(UInt, 5, 4) + u * 0),
    "computed": lambda u: u + 1,
    "zeros": lambda u: dr.zeros(UInt, 4),
    "full": lambda u: dr.full(UInt, 3, 4),
    "counter": lambda u: dr.arange(UInt, 4),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_a_read(name: str, source: str) -> None:
    """Recorded loops refuse to write to what was copied; evaluated ones do it."""
    places = np.array([1, 0, 3, 2], dtype=np.uint32)

    def run(mode: str, in_body: bool) -> tuple[Any, Any]:
        target = SOURCES[source](dr.opaque(UInt, 0, 4) + LANE)
        if source == "memory":
            dr.eval(target)
        wanted = target.numpy().copy() if source == "memory" else None
        if wanted is None:
            wanted = SOURCES[source](dr.opaque(UInt, 0, 4) + LANE).numpy().copy()

        def body(i: Any) -> Any:
            value = COPIES[name](target) if in_body else i
            dr.scatter_add(target, value + 1, UInt(places))
            return (i + 1,)

        def condition(i: Any) -> Any:
            return i < 2 if in_body else i < COPIES[name](target) % 4 + 1

        dr.while_loop((dr.zeros(UInt, 4),), condition, body, mode=mode)
        turn, active = np.zeros(4, np.uint32), np.full(4, True)
        while True:
            active &= turn < (2 if in_body else wanted % 4 + 1)
            if not active.any():
                return target.numpy(), wanted
            value = wanted.copy() if in_body else turn
            np.add.at(wanted, places[active], (value + 1)[active])
            turn[active] += 1

    for in_body in (True, False):
        found, wanted = run("evaluated", in_body)
        np.testing.assert_array_equal(found, wanted)
        with pytest.raises(RuntimeError, match="was read .* in the same recorded loop"):
            run("symbolic", in_body)


@pytest.mark.parametrize("source", SOURCES)
def test_copies_that_are_no_reads_of_the_target(source: str) -> None:
    """Of other arrays, from before the loop, and of what the body made."""
    target, other = SOURCES[source](LANE), SOURCES[source](LANE)
    before = UInt(target)

    def body(i: Any) -> Any:
        dr.scatter_add(target, before + i + UInt(other) + UInt(UInt(i) + 1), LANE)
        return (i + 1,)

    wanted = 5 * other.numpy() + 4
    dr.while_loop((dr.zeros(UInt, 4),), lambda i: i < 2, body, mode="symbolic")
    np.testing.assert_array_equal(target.numpy(), wanted)


def test_what_is_read_as_a_whole_and_not_written() -> None:
    buffer, other = Float(1, 2, 3, 4), Float(0, 0, 0, 0)

    def body(i: Any) -> Any:
        dr.scatter_add(other, dr.sum(buffer) + buffer[1], LANE)
        return ()

    loop(body, mode="symbolic")
    assert list(other) == [36] * 4


def test_what_recorded_loops_may_do() -> None:
    """Two arrays that are equal, a copy from before, and writes that nobody reads."""
    a, b = dr.zeros(Float, 4), dr.zeros(Float, 4)
    old, new = Float(1, 2, 3, 4), Float(1, 2, 3, 4)
    copy = Float(new)

    def body(i: Any) -> Any:
        dr.scatter(b, dr.gather(Float, a, LANE) + i, LANE)
        dr.scatter(new, dr.gather(Float, copy, LANE) + old, LANE)
        return ()

    loop(body, mode="symbolic")
    assert list(a) == [0] * 4 and list(b) == [2] * 4 and list(new) == [2, 4, 6, 8]
    loop(lambda i: (dr.scatter_add(a, 1, LANE), ())[1], mode="symbolic")
    gather_first(a, 0)  # the loop is over
    assert list(a) == [7] * 4


# ---------------------------------------------------------------- writes, then reads


@pytest.mark.parametrize("start", STARTS)
def test_evaluated_sides_come_one_after_the_other(start: str) -> None:
    buffer = STARTS[start]()
    before = buffer.numpy().copy()

    def first(i: Any) -> Any:
        dr.scatter(buffer, Float(5), i)
        return dr.gather(Float, buffer, 3 - i) + dr.sum(buffer)

    def second(i: Any) -> Any:
        total = dr.sum(buffer)
        dr.scatter_add(buffer, Float(1), 0)
        return dr.gather(Float, buffer, i) + total

    found = dr.if_stmt((LANE,), LANE > 1, first, second, mode="evaluated")
    between = np.concatenate((before[:2], [5, 5]))
    behind = between + [2, 0, 0, 0]
    expected = np.concatenate((behind[:2], between[1::-1])) + between.sum()
    np.testing.assert_allclose(found.numpy(), expected)
    np.testing.assert_allclose(buffer.numpy(), behind)


def test_evaluated_arguments_are_written_and_read() -> None:
    def side(a: Any, i: Any) -> Any:
        dr.scatter(a, Float(5), i)
        return a, dr.gather(Float, a, i)

    a, v = dr.if_stmt(
        (Float(1, 2, 3, 4), LANE),
        LANE > 1,
        side,
        lambda a, i: (a, dr.gather(Float, a, i)),
        mode="evaluated",
    )
    assert list(a) == [1, 2, 5, 5] and list(v) == [1, 2, 5, 5]


def writes_once(a: Any, i: Any) -> Any:
    dr.scatter(a, Float(9), i)
    return a, Float(i)


def writes_twice(a: Any, i: Any) -> Any:
    dr.scatter(a, Float(5), i)
    found = dr.gather(Float, a, i)
    dr.scatter(a, found + 1, i)
    return a, found


def writes_thrice(a: Any, i: Any) -> Any:
    a, found = writes_twice(a, i)
    found += dr.gather(Float, a, i)
    dr.scatter_add(a, Float(1), i)
    return a, found


def test_evaluated_arguments_are_read_between_writes() -> None:
    """Of two sides that write, the second one cannot do that."""

    def nothing(a: Any, i: Any) -> Any:
        return a, Float(i)

    sides = {
        nothing: ([1, 2, 3, 4], [0, 1, 2, 3]),
        writes_once: ([9] * 4, [0, 1, 2, 3]),
        writes_twice: ([6] * 4, [5] * 4),
        writes_thrice: ([7] * 4, [11] * 4),
    }
    for first, second in itertools.product(sides, repeat=2):
        a = Float(1, 2, 3, 4)
        call = dr.if_stmt, (a, LANE), LANE > 1, first, second
        if first is not nothing and second in (writes_twice, writes_thrice):
            with pytest.raises(RuntimeError, match="must not read what it writes"):
                call[0](*call[1:], mode="evaluated")
            assert list(a) == [1, 2, 3, 4]
            continue
        found, values = call[0](*call[1:], mode="evaluated")
        rows = zip(sides[second], sides[first], strict=True)
        expected = [no[:2] + yes[2:] for no, yes in rows]
        assert found is a and [list(found), list(values)] == expected


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("how", ["switch", "if"])
def test_a_function_that_raises_takes_writes_back(
    how: str, start: str, mode: str, reads: bool
) -> None:
    buffer, other = STARTS[start](), Float(7, 8)
    before, copy = list(buffer), Float(buffer)

    def first(i: Any) -> Any:
        dr.scatter(buffer, Float(5), i)
        dr.scatter_add(other, Float(5), 0)
        if reads and mode == "evaluated":
            assert list(buffer) != before and list(other) != [7, 8]
            dr.scatter(buffer, Float(6), i)
        return i

    def second(i: Any) -> Any:
        raise KeyError

    with pytest.raises(KeyError):
        if how == "switch":
            dr.switch(LANE & 1, [first, second], LANE, mode=mode)
        else:
            dr.if_stmt((LANE,), LANE > 0, first, second, mode=mode)
    assert list(buffer) == before and list(copy) == before and list(other) == [7, 8]


# ---------------------------------------------------------------- names of one array


def add_in_place(i: Any, a: Any, b: Any) -> Any:
    a += b
    return a, b


def test_two_names_in_a_loop() -> None:
    a = Float(1, 2)
    with pytest.raises(RuntimeError, match=r"'state\[1\]' and 'state\[2\]' are one"):
        loop(add_in_place, a, a, mode="symbolic")
    assert list(a) == [1, 2]
    x, y = loop(add_in_place, a, a, mode="evaluated")
    assert x is a and y is a and list(a) == [8, 16]
    for mode in MODES:  # in place, but of two arrays; one array, but not in place
        x, y = loop(add_in_place, Float(1, 2), Float(1, 2), mode=mode)
        assert list(x) == [4, 8] and list(y) == [1, 2]
        a = Float(1, 2)
        x, y = loop(lambda i, x, y: (x + y, y), a, a, mode=mode)
        assert list(x) == [4, 8] and y is a and list(a) == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_other_names_of_a_state(mode: str) -> None:
    array, holder = Float(1, 2), {"x": Float(1, 2)}
    vector = Array2f(1, 2)

    def closure(i: Any, a: Any) -> Any:
        a += array
        return (a,)

    def held(i: Any, a: Any) -> Any:
        a += holder["x"]
        return (a,)

    def part(i: Any, a: Any, v: Any) -> Any:
        a += 1
        return a, v

    for body, state, other in (
        (closure, (array,), "'array' of a function"),
        (held, (holder["x"],), r"'holder\['x'\]' of a function"),
        (part, (vector.x, vector), r"'state\[2\]'"),
    ):
        with pytest.raises(RuntimeError, match=rf"'state\[1\]' and {other} are one"):
            loop(body, *state, mode=mode)  # type: ignore[arg-type]
    assert list(array) == [1, 2] and list(holder["x"]) == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_two_names_in_conditionals_and_calls(mode: str) -> None:
    def side(a: Any, b: Any) -> Any:
        a += b
        return a, b

    def none(a: Any, b: Any) -> Any:
        return a, b

    a = Float(1, 2, 3, 4)
    x, y = dr.if_stmt((a, a), LANE > 1, side, none, mode=mode)
    assert x is a and y is a and list(a) == [1, 2, 6, 8]
    x, y = dr.switch(LANE & 1, [none, side], a, a, mode=mode)
    assert list(x) == list(y) == [1, 4, 6, 16] and list(a) == [1, 2, 6, 8]

    def outside(x: Any) -> Any:
        x += a
        return x

    with pytest.raises(
        RuntimeError, match=r"'args\[0\]' and 'a' of a function are one"
    ):
        dr.if_stmt((a,), LANE > 1, outside, lambda x: x, mode=mode)


# ---------------------------------------------------------------- targets of syntax

COUNT: Any = None
TABLE: Any = None
MODULE = ModuleType("MODULE")


class Fields:
    DRJIT_STRUCT = {"n": Int}
    total: Any = None

    def __init__(self) -> None:
        self.n = Int(0)


SHARED = Fields()


@dr.syntax
def global_in_a_loop(x: Any, mode: str) -> Any:
    global COUNT
    COUNT = Int(0)
    while dr.hint(x > COUNT, mode=mode):
        COUNT = COUNT + 1
    return COUNT


@dr.syntax
def global_in_a_side(x: Any, mode: str) -> Any:
    global COUNT
    COUNT = Int(0)
    if dr.hint(x > 0, mode=mode):
        COUNT += x
    return COUNT


@dr.syntax
def global_that_is_new(x: Any, mode: str) -> Any:
    global FRESH
    if dr.hint(x > 0, mode=mode):
        FRESH = x
    else:
        FRESH = Int(0)
    return FRESH  # type: ignore[name-defined]


@dr.syntax
def entry_of_a_global(x: Any, mode: str) -> Any:
    while dr.hint(TABLE["n"] < x, mode=mode):
        TABLE["n"] += 1
    return TABLE["n"]


@dr.syntax
def attribute_of_a_global(x: Any, mode: str) -> Any:
    if dr.hint(x > 0, mode=mode):
        SHARED.n = x
    return SHARED.n


def nonlocal_of_a_function(x: Any, mode: str) -> Any:
    n, parts = Int(0), [Int(0)]

    @dr.syntax
    def inner(x: Any) -> None:
        nonlocal n
        if dr.hint(x > 0, mode=mode):
            n = x
            parts[0] = x

    inner(x)
    assert list(n) == list(parts[0])
    return n


TARGETS = [
    global_in_a_loop, global_in_a_side, global_that_is_new, entry_of_a_global,
    attribute_of_a_global, nonlocal_of_a_function,
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", TARGETS)
def test_targets_that_others_see(function: Any, mode: str) -> None:
    global TABLE
    TABLE = {"n": Int(0)}
    SHARED.n = Int(0)
    assert list(function(Int(0, 1, 5), mode)) == [0, 1, 5]


@pytest.mark.parametrize("mode", MODES)
def test_an_error_leaves_a_global_as_it_was(mode: str) -> None:
    @dr.syntax
    def function(x: Any) -> None:
        global COUNT
        if dr.hint(x > 0, mode=mode):
            COUNT = x * 2
            raise KeyError

    global COUNT
    COUNT = Int(7)
    with pytest.raises(KeyError):
        function(Int(0, 1))
    assert list(COUNT) == [7]


@pytest.mark.parametrize("mode", MODES)
def test_targets_that_cannot_be_a_state(mode: str) -> None:
    class Plain:
        total: Any = Int(0)

    plain = Plain()
    MODULE.n = Int(0)  # type: ignore[attr-defined]

    @dr.syntax
    def of_a_module(x: Any) -> None:
        if dr.hint(x > 0, mode=mode):
            MODULE.n = x  # type: ignore[attr-defined]

    @dr.syntax
    def of_a_class(x: Any) -> None:
        if dr.hint(x > 0, mode=mode):
            Plain.total = x

    @dr.syntax
    def of_an_object(x: Any) -> None:
        if dr.hint(x > 0, mode=mode):
            plain.total = x

    for function, name in (
        (of_a_module, r"MODULE\.n"), (of_a_class, r"Plain\.total"),
        (of_an_object, r"plain\.total"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"'{name}' was changed"):
            function(Int(0, 1, 5))


def test_a_tensor_that_is_written_to() -> None:
    t = TensorXf(np.arange(4, dtype=np.float32).reshape(2, 2))

    def body(i: Any) -> Any:
        t[0] = t[1] + 1
        return ()

    with pytest.raises(RuntimeError, match="was read"):
        loop(body, mode="symbolic")
    assert t.numpy().tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("start", STARTS)
def test_an_evaluated_loop_that_raises_takes_writes_back(start: str) -> None:
    buffer, vector = STARTS[start](), Array2f([1, 2], [3, 4])
    before, copy = list(buffer), Float(buffer)

    def body(i: Any) -> Any:
        dr.scatter(buffer, Float(9), i)
        dr.scatter_add(vector, Array2f(1, 1), i & 1)
        if i[0] == 2:
            assert list(buffer)[:3] == [9, 9, 9]
            raise KeyError
        return ()

    with pytest.raises(KeyError):
        loop(body, mode="evaluated", turns=4)
    assert list(buffer) == before and list(copy) == before
    assert vector.numpy().tolist() == [[1, 2], [3, 4]]


# ---------------------------------------------------------------- no lanes, no axes


@pytest.mark.parametrize("mode", MODES)
def test_constructs_without_lanes(mode: str) -> None:
    def none(kind: Any = Float) -> Any:
        return dr.zeros(kind, 0)

    i, v, k = dr.while_loop(
        (none(UInt), none(Array2f), UInt(3)),
        lambda i, *_: i < i,
        lambda i, v, k: (i + i, v + v, k + 1),
        mode=mode,
    )
    assert len(i) == 0 and dr.width(v) == 0 and list(k) == [3]
    x = dr.if_stmt((none(),), none() > none(), lambda x: x * x, lambda x: x, mode=mode)
    assert len(x) == 0
    x, n = dr.switch(none(UInt), [lambda x: (x * x, 3)] * 2, none(), mode=mode)
    assert len(x) == 0 and n == 3
    size = r"the size of state variable 'rv' of type '.*Float' changed from 0 to 1, wh"
    with pytest.raises(RuntimeError, match=size):
        dr.if_stmt((), none() > none(), none, lambda: Float(1), mode=mode)
    with pytest.raises(RuntimeError, match=r"'state\[1\]' .* is uninitialized"):
        loop(lambda _, x: (x,), Float(), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_tensors_without_axes_get_some(mode: str) -> None:
    table = TensorXf(np.arange(6, dtype=np.float32).reshape(2, 3))

    def in_place(i: Any, t: Any) -> Any:
        t += table
        return (t,)

    for body in (in_place, lambda i, t: (t + table,)):
        one = TensorXf(np.float32(1))
        (t,) = loop(body, one, mode=mode)
        assert (t.numpy() == 1 + 3 * table.numpy()).all()
    t = dr.if_stmt(
        (table, TensorXf(np.float32(1))),
        table > 2,
        lambda t, s: t,
        lambda t, s: s,
        mode=mode,
    )
    assert t.numpy().tolist() == [[1, 1, 1], [3, 4, 5]]


def test_a_number_selects_nobody() -> None:
    assert dr.switch(1, [lambda x: x, lambda x: x + 1], 3, active=False) is None


def test_writes_of_two_threads_come_in_order() -> None:
    array = dr.opaque(Float, 0, 4)
    queued, done = threading.Event(), threading.Event()

    def first() -> None:
        dr.scatter(array, Float(12), UInt(0))
        queued.set()
        done.wait()

    thread = threading.Thread(target=first)
    thread.start()
    queued.wait()
    dr.scatter_add(array, Float(1), UInt(0))
    found = array.numpy()
    done.set()
    thread.join()
    assert found[0] == 13


# ---------------------------------------------------------------- plain fields


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Record:
    x: Any
    name: str = "name"
    number: int = 3
    color: Color = Color.RED
    function: Any = len
    nothing: None = None


def test_plain_fields_are_kept() -> None:
    a, b = Record(Float(1, 2, 3)), Record(Float(4, 5, 6))
    for found, x in (
        (dr.gather(Record, a, UInt(2, 0)), [3, 1]),
        (dr.select(Bool(True, False, True), a, b), [1, 5, 3]),
    ):
        assert list(found.x) == x
        assert dataclasses.replace(found, x=0) == Record(0)
    dr.scatter(a, Record(Float(9)), UInt(1))
    dr.scatter_add(a, Record(Float(1)), UInt(0), dr.ReduceMode.Local)
    assert list(a.x) == [2, 9, 3] and dataclasses.replace(a, x=0) == Record(0)
    assert dr.select(Bool(True, False), [1, "a"], [1, "a"]) == [1, "a"]
    with pytest.raises(RuntimeError, match="two different objects"):
        dr.select(Bool(True, False), ["a"], ["b"])


def test_an_engine_that_is_not_there_is_the_error() -> None:
    text = (
        "import drjit as dr\nfrom drjit.llvm import Float\n"
        "x = dr.arange(Float, 9)\n"
        "for f in (lambda: dr.sum(x), lambda: dr.sin(x) + dr.sum(x)):\n"
        "    try: dr.eval(f())\n"
        "    except RuntimeError as error: print('bogus' in str(error))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "DRJIT_CPU_ENGINE": "bogus"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["True", "True"]
