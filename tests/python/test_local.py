"""alloc_local and Local."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Array3f, ArrayXf, Bool, Float, TensorXf, UInt


@dataclass
class Item:
    key: UInt
    point: Array3f


def values(array: Any) -> Any:
    return array.numpy().tolist()


def test_reads_and_writes() -> None:
    buffer = dr.alloc_local(Float, 3)
    assert isinstance(buffer, dr.Local) and len(buffer) == 3
    i = UInt(0, 1, 2, 1)
    buffer[i] = Float(1, 2, 3, 4)
    assert values(buffer[1]) == [0, 2, 0, 4] and values(buffer[UInt(0)]) == [1, 0, 0, 0]
    buffer.write(Float(9), 1, active=Bool(True, False, True, True))
    assert values(buffer.read(1)) == [9, 2, 9, 9]
    assert values(buffer.read(1, active=Bool(True, False, True, False))) == [9, 0, 9, 0]
    assert values(buffer[UInt(0, 1, 2, 3)]) == [1, 2, 3, 0]


def test_initial_values_and_copies() -> None:
    first = dr.alloc_local(UInt, 2, value=UInt(7))
    second = dr.Local(first)
    second[0] = 1
    assert values(first[0] + UInt(0, 0)) == [7, 7]
    assert values(second[0] + second[1] + UInt(0, 0)) == [8, 8]


def test_structures() -> None:
    value = Item(UInt(5), Array3f(1, 2, 3))
    for buffer in (dr.alloc_local(Item, 4), dr.alloc_local(Item, 4, value)):
        empty = buffer[2]
        assert type(empty) is Item
        buffer[1] = Item(UInt(1, 2), Array3f([3, 4], 5, 6))
        read = buffer[1]
        assert values(read.key) == [1, 2] and values(read.point.x) == [3, 4]
        assert set(values(read.point.z)) == {6}
    assert set(values(buffer[2].point.y)) == {2} and set(values(buffer[2].key)) == {5}


def test_a_sort_in_each_lane() -> None:
    """Insertion sort of numbers that differ between lanes, in one kernel."""
    lanes, n = 50, 8
    start = dr.arange(UInt, lanes) * 2654435761

    def fill(i: Any, seed: Any, buffer: Any) -> Any:
        buffer[i] = seed >> 24
        return i + 1, seed * 1664525 + 1013904223, buffer

    def outer(i: Any, buffer: Any) -> Any:
        def inner(j: Any, buffer: Any) -> Any:
            a, b = buffer[j - 1], buffer[j]
            buffer.write(b, j - 1, a > b)
            buffer.write(a, j, a > b)
            return j - 1, buffer

        _, buffer = dr.while_loop((i, buffer), lambda j, _: j > 0, inner)
        return i + 1, buffer

    buffer = dr.alloc_local(UInt, n)
    _, _, buffer = dr.while_loop(
        (dr.zeros(UInt, lanes), start, buffer), lambda i, *_: i < n, fill
    )
    _, buffer = dr.while_loop((UInt(1), buffer), lambda i, _: i < n, outer)
    columns = [values(buffer[k]) for k in range(n)]

    seeds = values(start)
    for lane in range(lanes):
        seed, expected = seeds[lane], []
        for _ in range(n):
            expected.append(seed >> 24)
            seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        assert [column[lane] for column in columns] == sorted(expected)


def test_conditionals_and_calls() -> None:
    buffer = dr.alloc_local(UInt, 2)
    i = UInt(0, 1, 0)

    def write(k: int) -> Any:
        def side(buffer: Any) -> Any:
            buffer[i] = UInt(k)
            return buffer

        return side

    same = dr.if_stmt((buffer,), i > 0, write(1), write(2))
    assert same is buffer
    assert values(buffer[0]) == [2, 0, 2] and values(buffer[1]) == [0, 1, 0]
    result = dr.switch(i, [write(3), write(4)], buffer)
    assert values(result[0]) == [3, 0, 3] and values(result[1]) == [0, 4, 0]
    assert values(buffer[0]) == [2, 0, 2]


def test_wrong_arguments() -> None:
    for wrong in (3, None, "Float"):
        with pytest.raises(TypeError, match="'dtype' is"):
            dr.alloc_local(wrong, 4)
    for cls in (int, dr.scalar.Array3f, TensorXf, ArrayXf, list):
        with pytest.raises(TypeError):
            dr.alloc_local(cls, 4)
    with pytest.raises(TypeError, match="'value' is of type int, expected Item"):
        dr.alloc_local(Item, 4, 3)
    for size in (-1, 1.5, "x"):
        with pytest.raises((TypeError, ValueError)):
            dr.alloc_local(Float, size)
    with pytest.raises(TypeError, match="to copy"):
        dr.Local(3)
    buffer = dr.alloc_local(Item, 2)
    buffer[0] = Item(UInt(1, 2), Array3f(1))
    for value in (3, (UInt(1), Array3f(1)), [UInt(1)]):
        with pytest.raises(TypeError, match="expected the structure of an entry"):
            buffer[0] = value
    with pytest.raises((TypeError, RuntimeError)):
        buffer[0] = Item(UInt(7), "x")
    assert values(buffer[0].key) == [1, 2]
    flat = dr.alloc_local(Float, 2)
    with pytest.raises(TypeError, match=r"^drjit\.Local\.read\(\): 'index'"):
        flat[-1]
    with pytest.raises(TypeError, match=r"^drjit\.Local\.write\(\): 'index'"):
        flat[-1] = 1


def test_a_function_that_returns_its_buffer_from_a_conditional() -> None:
    """Lanes that have not returned get a buffer of their own, not that of others."""
    total = dr.zeros(UInt, 1)

    @dr.syntax
    def collect(n: Any, i: Any, v: Any) -> Any:
        if n == 3:
            dr.scatter_add(total, n, 0, n < v[0] + 4)
        elif n == 4:
            v[0] = 9
            return i, v
        return i + 1, v

    @dr.syntax
    def run(n: Any) -> Any:
        v = dr.alloc_local(UInt, 4)
        k, i = UInt(n), UInt(n)
        while k > 0:
            k -= 1
            i, v = collect(n, i, v)
        return i, v[0]

    i, first = run(dr.arange(UInt, 6))
    assert values(i) == [0, 2, 4, 6, 4, 10] and values(first) == [0, 0, 0, 0, 9, 0]
    assert values(total) == [9]


@pytest.mark.parametrize("debug", [True, False])
def test_reads_of_what_was_not_written(
    debug: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Debug mode reports them, with positions and the line."""
    with dr.scoped_set_flag(dr.JitFlag.Debug, debug):
        buffer = dr.alloc_local(Item, 4)
        full = dr.alloc_local(UInt, 4, value=UInt(7))
        i = UInt(0, 1, 2, 3)
        buffer.write(Item(i + 1, Array3f(1, 2, 3)), i & 1, active=i < 3)

        def body(k: Any, total: Any, buffer: Any) -> Any:
            total += buffer.read(i & 1, active=i != 2).key + full[k]
            return k + 1, total, buffer

        _, total, buffer = dr.while_loop(
            (UInt(0), UInt(0), buffer), lambda k, *_: k < 2, body
        )
        copied = dr.Local(buffer)
        assert values(total) == [16, 18, 14, 14]
        assert values(copied[i].key) == [1, 2, 0, 0]
    text = capsys.readouterr().err
    line = body.__code__.co_firstlineno + 1
    assert (f"read from [1, 1] ({__file__}:{line})" in text) is debug
    assert (f"uninitialized read from [2, 3] ({__file__}:" in text) is debug
    assert text.count("\n") == 2 * debug


def test_buffers_with_and_without_a_value_agree_in_debug_mode() -> None:
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        buffer = dr.if_stmt(
            (UInt(0, 1),),
            UInt(0, 1) == 0,
            lambda i: dr.alloc_local(UInt, 2, value=UInt(7)),
            lambda i: dr.alloc_local(UInt, 2),
        )
        assert values(buffer.read(0, active=Bool(True, False))) == [7, 0]


@dataclass
class Hit:
    t: Float
    p: Array3f


def _closest(mode: str) -> list[Any]:
    """A list of the two nearest, kept by loops, conditionals and calls in all modes."""
    i = dr.arange(UInt, 6)
    hits = dr.alloc_local(Hit, 2, Hit(Float(100), Array3f(0)))

    def put(hits: Any, k: Any, t: Any, p: Any) -> Any:
        hits[k] = Hit(t, p)
        return hits

    def shift(hits: Any, k: Any, t: Any, p: Any) -> Any:
        hits[1] = hits[0]
        hits[k] = Hit(t, p)
        return hits

    def body(n: Any, hits: Any) -> Any:
        t = Float((n * 7 + i * 3) % 11)
        p = Array3f(Float(n), Float(i), t)
        first, second = t < hits[0].t, t < hits[1].t
        changed = dr.switch(
            dr.select(first, UInt(0), UInt(1)),
            [shift, put],
            hits,
            dr.select(first, UInt(0), UInt(1)),
            t,
            p,
            mode=mode,
        )
        hits = dr.if_stmt(
            (hits, changed),
            first | second,
            lambda hits, changed: changed,
            lambda hits, changed: hits,
            mode=mode,
        )
        return n + 1, hits

    n, hits = dr.while_loop((UInt(i % 4), hits), lambda n, hits: n < 6, body, mode=mode)
    return [hits[0].t, hits[1].t, hits[0].p, hits[1].p]


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_structures_in_all_modes(mode: str) -> None:
    found = _closest(mode)
    for i in range(6):
        times = sorted(((n * 7 + i * 3) % 11, n) for n in range(i % 4, 6))[:2]
        for k, (t, n) in enumerate(times):
            assert found[k][i] == t
            assert [c[i] for c in found[2 + k]] == [n, i, t]


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_buffers_of_different_lengths(mode: str) -> None:
    """Sides and functions return buffers of equal lengths, as all modes need them."""
    a, b, i = dr.alloc_local(UInt, 2), dr.alloc_local(UInt, 3), dr.arange(UInt, 4)
    with pytest.raises(RuntimeError):
        dr.if_stmt((a, b), i > 1, lambda a, b: a, lambda a, b: b, mode=mode)
    with pytest.raises(RuntimeError):
        dr.switch(i % 2, [lambda a, b: a, lambda a, b: b], a, b, mode=mode)
    with pytest.raises(RuntimeError):
        dr.while_loop((i, a), lambda i, a: i < 6, lambda i, a: (i + 1, b), mode=mode)


def test_a_call_that_no_lane_makes() -> None:
    a = dr.alloc_local(UInt, 2, UInt(5))

    def write(a: Any, x: Any) -> Any:
        a[0] = x
        return a

    r = dr.switch(UInt(7, 8), [write, write], a, UInt(1, 2), mode="evaluated")
    assert list(dr.zeros(UInt, 2) + r[0]) == [0, 0]
    assert list(dr.zeros(UInt, 2) + r[1]) == [0, 0]


def test_what_was_never_written_is_a_literal() -> None:
    number, zeros = dr.alloc_local(Float, 4, Float(3)), dr.alloc_local(Array3f, 2)
    for found, right in ((number[1], 3), (number.read(UInt(9)), 0), (zeros[0].y, 0)):
        assert found.state == dr.VarState.Literal and values(found) == [right]
    assert values(number.read(UInt(0, 4, 3))) == [3, 0, 3]
    assert values(number.read(0, Bool(True, False))) == [3, 0]
    number[1] = Float(5, 6)
    assert values(number[1]) == [5, 6] and values(number[0]) == [3, 3]


@pytest.mark.parametrize("in_call", [False, True])
def test_what_was_never_written_in_some_lanes(in_call: bool) -> None:
    """The side knows the position, of as many lanes as there are, but not its mask."""
    lanes = dr.arange(UInt, 8)

    def function(n: Any) -> Any:
        buffer = dr.alloc_local(Float, 4, Float(7))
        sides = (lambda x: x), (lambda x: buffer[(n ^ n) + 1] + 0 * x)
        return dr.if_stmt((Float(n),), n % 3 == 0, *sides, mode="symbolic")

    found = (
        dr.switch(lanes & 1, [function, function], lanes, mode="symbolic")
        if in_call
        else function(lanes)
    )
    k = np.arange(8)
    assert values(found) == np.where(k % 3 == 0, k, 7).tolist()


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_entries_with_a_number_of_components_of_their_own(mode: str) -> None:
    lanes = dr.arange(UInt, 3)
    buffer = dr.alloc_local(ArrayXf, 4, ArrayXf(1, 2))

    def body(i: Any, buffer: Any) -> Any:
        buffer[i] = ArrayXf(Float(i), Float(lanes)) + buffer[i]
        return i + 1, buffer

    _, buffer = dr.while_loop(
        (UInt(0), buffer), lambda i, _: i < lanes + 1, body, mode=mode
    )
    for k in range(4):
        right = [[1 + k if k <= n else 1, 2 + n if k <= n else 2] for n in range(3)]
        assert np.array_equal(np.array(buffer[k]).T, right)
    buffer.write(ArrayXf(7), 3)  # one for all components, as elsewhere
    assert type(buffer[3]) is ArrayXf and values(dr.ravel(buffer[3])) == [7] * 6
    with pytest.raises(ValueError, match="'value' has 3 components, expected 1 or 2"):
        buffer[0] = ArrayXf(1, 2, 3)
    assert values(buffer[0][1]) == [2, 3, 4]
    for without in (None, ArrayXf()):
        with pytest.raises(TypeError, match="expected a 'value' with one component"):
            dr.alloc_local(ArrayXf, 4, without)


@dataclass
class Row:
    name: Any
    data: ArrayXf


def test_structures_with_dynamic_arrays() -> None:
    buffer = dr.alloc_local(Row, 2, Row(UInt(1), ArrayXf(1, 2, 3)))
    buffer[0] = Row(UInt(5), ArrayXf(Float(4, 5), 6, 7))
    entry = buffer[0]
    assert isinstance(entry, Row) and values(entry.name) == [5]
    assert np.array_equal(np.array(entry.data), [[4, 5], [6, 6], [7, 7]])
    assert np.array_equal(np.array(buffer[1].data), [[1, 1], [2, 2], [3, 3]])
