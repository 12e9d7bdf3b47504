"""Local arrays, calls and reports, compared with NumPy and plain Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm
from drjit._flow import regions
from drjit.llvm import Array3f, Bool, Float, Float64, Int, TensorXf, UInt
from region_util import (
    Boom,
    check_that_all_is_well,
    collatz,
    collatz_steps,
    eight,
    finish,
    if_stmt,
    while_loop,
)

# ------------------------------------------------------------------ local arrays


def test_local_entries() -> None:
    i = dr.arange(UInt, 10)
    a = dr.alloc_local(Float, 4)
    assert len(a) == 4
    a.write(Float(i), i % 4)
    a.write(Float(100), UInt(0), active=i > 5)
    values = [a.read(UInt(k)).numpy().tolist() for k in range(4)]
    expected = np.zeros((4, 10))
    for k in range(10):
        expected[k % 4, k] = k
        if k > 5:
            expected[0, k] = 100
    assert values == expected.tolist()


def test_local_values_and_versions() -> None:
    a = dr.alloc_local(UInt, 3, value=7)
    before = a.read(UInt(1))
    a.write(UInt(dr.arange(UInt, 5)), UInt(1))
    after, other = a.read(UInt(1)), a.read(UInt(2))
    assert set(before.numpy()) == {7} and set(other.numpy()) == {7}
    assert after.numpy().tolist() == [0, 1, 2, 3, 4]


def test_local_positions_outside() -> None:
    i = dr.arange(UInt, 8)
    a = dr.alloc_local(Float, 4, value=1)
    a.write(Float(5), i)
    assert a.read(i).numpy().tolist() == [5, 5, 5, 5, 0, 0, 0, 0]


def test_local_structured_entries() -> None:
    i = dr.arange(UInt, 6)
    a = dr.alloc_local(Array3f, 2, value=Array3f(1, 2, 3))
    a.write(Array3f(Float(i), 0, -1), UInt(1))
    first, second = a.read(UInt(0)), a.read(UInt(1))
    assert isinstance(first, Array3f)
    assert first.y.numpy().tolist() in ([2], [2] * 6)
    assert second.x.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert set(second.z.numpy()) == {-1}


def test_bubble_sort(mode: str) -> None:
    """Each lane sorts numbers of its own."""
    lanes, length = 20, 8
    numbers = np.random.default_rng(2).integers(0, 100, (length, lanes))
    a = dr.alloc_local(UInt, length)
    for k in range(length):
        a.write(UInt(numbers[k].astype(np.uint32)), UInt(k))

    def compare(j: Any, i: Any, a: Any) -> tuple[Any, ...]:
        x, y = a.read(j), a.read(j + 1)
        swap = x > y
        a.write(y, j, swap)
        a.write(x, j + 1, swap)
        return j + 1, i, a

    def outer(i: Any, a: Any) -> tuple[Any, ...]:
        _, _, a = while_loop(
            (UInt(0), i, a), lambda j, i, a: j < length - 1 - i, compare
        )
        return i + 1, a

    _, a = while_loop((UInt(0), a), lambda i, a: i < length, outer)
    found = np.array([a.read(UInt(k)).numpy() for k in range(length)])
    assert np.array_equal(found, np.sort(numbers, axis=0))


PUSH, ADD, MULTIPLY, DUPLICATE, STOP = range(5)


def run_program(program: list[tuple[int, int]]) -> int:
    stack: list[int] = []
    for op, value in program:
        if op == PUSH:
            stack.append(value)
        elif op == DUPLICATE:
            stack.append(stack[-1])
        elif op in (ADD, MULTIPLY):
            b, a = stack.pop(), stack.pop()
            stack.append((a + b if op == ADD else a * b) % 2**32)
    return stack[-1]


def random_program(generator: np.random.Generator) -> list[tuple[int, int]]:
    program, depth = [(PUSH, int(generator.integers(100)))], 1
    for _ in range(int(generator.integers(1, 15))):
        op = int(generator.integers(PUSH, STOP))
        if op in (ADD, MULTIPLY) and depth < 2:
            op = PUSH
        depth += 1 if op in (PUSH, DUPLICATE) else -1
        program.append((op, int(generator.integers(100)) if op == PUSH else 0))
    return [*program, (STOP, 0)]


def test_stack_machine(mode: str) -> None:
    """Each lane interprets a program of its own, with a stack in local memory."""
    generator = np.random.default_rng(3)
    programs = [random_program(generator) for _ in range(50)]
    starts = np.cumsum([0, *map(len, programs[:-1])]).astype(np.uint32)
    flat = np.array(sum(programs, []), np.uint32)
    ops, values = UInt(flat[:, 0].copy()), UInt(flat[:, 1].copy())

    def compute(op: Any, stack: Any, top: Any) -> Any:
        b, a = stack.read(top - 1), stack.read(top - 2)
        stack.write(dr.select(op == ADD, a + b, a * b), top - 2)
        return stack, top - 1

    def push(value: Any, stack: Any, top: Any) -> Any:
        stack.write(value, top)
        return stack, top + 1

    def body(pc: Any, stack: Any, top: Any) -> tuple[Any, ...]:
        op, value = dr.gather(UInt, ops, pc), dr.gather(UInt, values, pc)
        value = dr.select(op == DUPLICATE, stack.read(top - 1), value)
        stack, top = if_stmt(
            (op == ADD) | (op == MULTIPLY),
            (op, value, stack, top),
            lambda op, value, stack, top: compute(op, stack, top),
            lambda op, value, stack, top: push(value, stack, top),
        )
        return pc + 1, stack, top

    def cond(pc: Any, stack: Any, top: Any) -> Any:
        return dr.gather(UInt, ops, pc) != STOP

    state = (UInt(starts), dr.alloc_local(UInt, 16), UInt(0))
    _, stack, top = while_loop(state, cond, body)
    result = stack.read(top - 1).numpy()
    assert result.tolist() == [run_program(p) for p in programs]


def test_local_arrays_of_conditionals(mode: str) -> None:
    i = dr.arange(UInt, 6)
    a = dr.alloc_local(UInt, 2, value=1)

    def true_fn(a: Any) -> Any:
        a.write(i, UInt(0))
        return a

    b = if_stmt(i > 2, (a,), true_fn, lambda a: a)
    assert b is a and b.read(UInt(0)).numpy().tolist() == [1, 1, 1, 3, 4, 5]


def test_local_arrays_are_read_behind_effects(mode: str) -> None:
    """The array comes out of a conditional with effects, and there are later ones."""
    i = dr.arange(UInt, 7)
    target, other = dr.zeros(UInt, 7), dr.zeros(UInt, 7)

    def true_fn(a: Any) -> Any:
        a.write(i, i % 3)
        dr.scatter_add(target, i, i)
        return a

    a = dr.alloc_local(UInt, 3, value=7)
    a = if_stmt(i < 4, (a,), true_fn, lambda a: a)
    read = a.read(i % 3)
    dr.scatter_add(other, read, i)
    assert read.numpy().tolist() == [0, 1, 2, 3, 7, 7, 7]
    assert target.numpy().tolist() == [0, 1, 2, 3, 0, 0, 0]
    assert other.numpy().tolist() == [0, 1, 2, 3, 7, 7, 7]


def test_wrong_local_arrays() -> None:
    for wrong in (dr.scalar.Array3f, TensorXf):
        with pytest.raises(TypeError, match="compiled array type that is not a tensor"):
            dr.alloc_local(wrong, 4)
    with pytest.raises(TypeError, match="expected a 'value' with one component"):
        dr.alloc_local(llvm.ArrayXf, 4)
    for wrong in (float, "x", None):
        with pytest.raises(TypeError, match="expected a (PyTree of just|type)"):
            dr.alloc_local(wrong, 4)
    for length, kind in ((-1, ValueError), ("x", TypeError), (0, RuntimeError)):
        with pytest.raises(kind):
            dr.alloc_local(Float, length)
    with pytest.raises(RuntimeError):
        dr.alloc_local(Float, 1 << 40)
    with pytest.raises(TypeError):
        dr.alloc_local(Float, 4, value="x")
    a = dr.alloc_local(Float, 4)
    for index in (None, "x", 1.5j):
        with pytest.raises(TypeError):
            a.read(index)
        with pytest.raises(TypeError):
            a.write(Float(1), index)
    for call in (lambda: a.write("x", 0), lambda: a.read(), lambda: a.read(0, None)):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: a.read(UInt()), lambda: a.read(0, Bool())):
        with pytest.raises((ValueError, RuntimeError)):
            call()
    with pytest.raises(TypeError):
        dr.Local()
    assert set(a.read(UInt(0)).numpy()) == {0}


# ----------------------------------------------------------------------- calls


def test_call_of_eight(mode: str) -> None:
    size = 100
    number = dr.arange(UInt, size) * 7 % 10  # 8 and 9 call nothing
    x, y = dr.arange(Int, size), Int(3)
    a, b = dr.switch(number, eight(), x, y)
    for i in range(size):
        n = i * 7 % 10
        expected = eight()[n](i, 3) if n < 8 else (0, 0)
        assert (a.numpy()[i], b.numpy()[i]) == expected


def test_callables_replace_what_the_call_was_given(mode: str) -> None:
    number, mask = dr.arange(UInt, 6) % 2, dr.arange(UInt, 6) < 5

    def function(k: int) -> Callable[[Any], Any]:
        def run(x: Any, active: Any) -> Any:
            nonlocal number, mask
            number &= 0
            mask &= False
            dr.eval([UInt(range(10 + i)) for i in range(20)])  # takes over what is free
            return x + k

        return run

    found = dr.switch(number, [function(100), function(200)], UInt(1), mask)
    assert found.numpy().tolist() == [101, 201, 101, 201, 101, 0]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize(
    "mask", [None, Bool(True), Bool(False), [True, False, True, True, False]]
)
def test_several_kinds(mask: Any, one: bool, debug: bool) -> None:
    """Callables of several kinds, with values of their own; sizes of 1 and 5."""
    factors, terms = [2, 3, 4, 1], [0, 1, 2, -7]
    functions = [
        lambda x, active, k=k: x * factors[k] + terms[k] if terms[k] else x * factors[k]
        for k in range(4)
    ]
    active = Bool(mask) if isinstance(mask, list) else mask
    host = np.ones(5, bool) if mask is None else np.array(active) & np.ones(5, bool)
    for index in (UInt(1), dr.opaque(UInt, 3), UInt(3, 0, 1, 2, 1)):
        x = Float(5) if one else dr.arange(Float, 5)
        which = np.array(index) + np.zeros(5, int)
        expected = np.array(x) * np.array(factors)[which] + np.array(terms)[which]
        expected = np.where(host, expected, 0)
        with dr.scoped_set_flag(dr.JitFlag.Debug, debug):
            for mode in ("symbolic", "evaluated"):
                given = True if active is None else active
                found = dr.switch(index, functions, x, given, mode=mode)
                assert np.all(np.array(found) == expected)


def test_call_with_a_mask(mode: str) -> None:
    i = dr.arange(UInt, 12)
    target = dr.zeros(UInt, 12)

    def function(k: int) -> Callable[[Any], Any]:
        def run(x: Any, active: Any) -> Any:
            dr.scatter(target, x + k, x)
            return x * k

        return run

    functions = [function(k) for k in (10, 20, 30)]
    result = dr.switch(i % 3, functions, i, i >= 6)
    expected = [(10, 20, 30)[k % 3] for k in range(12)]
    assert result.numpy().tolist() == [
        k * expected[k] if k >= 6 else 0 for k in range(12)
    ]
    assert target.numpy().tolist() == [
        k + expected[k] if k >= 6 else 0 for k in range(12)
    ]


def test_call_in_loop_and_loop_in_call(mode: str) -> None:
    def triple(n: Any) -> Any:
        return 3 * n + 1

    def count(n: Any) -> Any:
        return collatz(n)[1]

    size = 30

    def body(n: Any, steps: Any) -> tuple[Any, ...]:
        return dr.switch(n % 2, [lambda n: n // 2, triple], n), steps + 1

    lanes = dr.arange(UInt, size) + 1
    _, steps = while_loop((lanes, UInt(0)), lambda n, _: n != 1, body)
    expected = [collatz_steps(i + 1) for i in range(size)]
    assert steps.numpy().tolist() == expected
    found = dr.switch(lanes % 2, [count, lambda n: n * 100], lanes).numpy()
    assert found.tolist() == [
        (i + 1) * 100 if (i + 1) % 2 else expected[i] for i in range(size)
    ]


def test_nested_calls(mode: str) -> None:
    def inner(x: Any) -> Any:
        return dr.switch(x % 2, [lambda x: x + 1, lambda x: x * 2], x)

    x = dr.arange(UInt, 20)
    result = dr.switch(x % 3, [inner, lambda x: x, lambda x: inner(x + 1)], x)

    def plain(x: int) -> int:
        return x * 2 if x % 2 else x + 1

    expected = [(plain(i), i, plain(i + 1))[i % 3] for i in range(20)]
    assert result.numpy().tolist() == expected


def test_recursion_has_an_end() -> None:
    def function(x: Any) -> Any:
        return dr.switch(x - 1, [function, function], x)

    with pytest.raises(RuntimeError, match="nested"):
        dr.switch(dr.arange(UInt, 3) - 1, [function, function], dr.arange(UInt, 3))
    check_that_all_is_well()


def test_arguments_are_results_beside_effects(mode: str) -> None:
    """What is the same in all callables leaves the call, but effects need it, too."""
    a, b, c = dr.arange(UInt, 7) + 5, 11 - dr.arange(UInt, 7), dr.arange(UInt, 7) * 3
    target = dr.zeros(UInt, 8)

    def same(*values: Any) -> Any:
        return values

    def write(a: Any, b: Any, c: Any) -> Any:
        dr.scatter_add(target, c, a & 7)
        return a, b, c

    def callee(*values: Any) -> Any:
        return if_stmt(values[0] < values[1], values, same, write)

    results = dr.switch(a % 3 - 1, [same, callee], a, b, c)
    expected = [0] * 8
    for i in range(7):
        if (i + 5) % 3 == 2 and i + 5 >= 11 - i:
            expected[(i + 5) & 7] += 3 * i
    called = np.array([(i + 5) % 3 != 0 for i in range(7)])
    for result, value in zip(results, (a, b, c), strict=True):
        assert np.array_equal(result.numpy(), value.numpy() * called)
    assert target.numpy().tolist() == expected


def test_effects_only(mode: str) -> None:
    target = dr.zeros(UInt, 2)
    i = dr.arange(UInt, 10)
    result = dr.switch(
        i % 3 - 1,
        [
            lambda i: dr.scatter_add(target, i, 0),
            lambda i: dr.scatter_add(target, i, 1),
        ],
        i,
    )
    assert result is None
    assert target.numpy().tolist() == [1 + 4 + 7, 2 + 5 + 8]


def test_nobody_calls(mode: str) -> None:
    x = dr.arange(UInt, 4)
    result = dr.switch(dr.full(UInt, 2, 4), [lambda x: x + 1, lambda x: x + 2], x)
    assert result.numpy().tolist() in ([0, 0, 0, 0], [0])


def test_wrong_calls() -> None:
    x = dr.arange(UInt, 4)
    with pytest.raises(RuntimeError, match="unsigned integer array"):
        dr.switch(Int(1), [lambda: None])
    with pytest.raises(RuntimeError, match="'targets' is empty"):
        dr.switch(x, [])
    with pytest.raises(TypeError, match="sequence of callables"):
        dr.switch(x, 3)
    with pytest.raises(RuntimeError, match=r"from '\S+.UInt' to '\S+.Float'"):
        dr.switch(x, [lambda: UInt(1), lambda: Float(1)])
    with pytest.raises(RuntimeError, match="size of state variable 'result'"):
        dr.switch(x, [lambda: (x, x), lambda: (x,)])
    assert dr.switch(x, [lambda: 1, lambda: 1]) == 1
    with pytest.raises(RuntimeError, match="'int' changed from '1' to '2'"):
        dr.switch(x, [lambda: 1, lambda: 2])
    with pytest.raises(TypeError, match="expected a callable"):
        dr.switch(x, [None], x)
    assert dr.switch(x, [lambda x: x], 3) == 3
    check_that_all_is_well()


# --------------------------------------------------------------------- reports


def collect(records: list[Any]) -> Callable[[list[Any], int], None]:
    return lambda found, lost: records.append((found, lost))


def test_report_in_a_loop(mode: str) -> None:
    found: list[Any] = []
    lanes = dr.arange(UInt, 20)

    def body(i: Any) -> tuple[Any]:
        regions.report(collect(found), i, Float(lanes) / 2, mask=lanes % 5 == 0)
        return (i + 1,)

    while_loop((UInt(0),), lambda i: i < lanes % 4, body)
    finish()
    records = sorted(r for records, _ in found for r in records)
    expected = [(k, i, k / 2) for k in range(0, 20, 5) for i in range(k % 4)]
    assert records == expected and all(lost == 0 for _, lost in found)
    if mode != "evaluated":
        assert found == [(expected, 0)]


def test_report_types_and_limits() -> None:
    found: list[Any] = []
    i = dr.arange(UInt, 100)
    regions.report(
        collect(found),
        Bool(i % 2 == 1),
        llvm.Int8(-1),
        Float64(i),
        mask=i > 90,
        limit=3,
    )
    finish()
    assert found == [([(91, True, -1, 91), (92, False, -1, 92), (93, True, -1, 93)], 6)]


def test_reports_release_what_they_hold() -> None:
    class Function:
        def __call__(self, records: list[Any], lost: int) -> None:
            raise Boom

    gc.collect()
    before = sum(isinstance(o, Function) for o in gc.get_objects())
    function = Function()
    with pytest.raises(RuntimeError):  # sizes that do not fit
        regions.report(function, dr.arange(UInt, 3), dr.arange(UInt, 4))
    references = sys.getrefcount(function)
    unraisable = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        regions.report(function, dr.arange(UInt, 3))
        assert sys.getrefcount(function) == references + 1
        finish()
        dr.sync_thread()
        Float(0)
    finally:
        sys.unraisablehook = hook
    assert len(unraisable) == 1 and unraisable[0].exc_type is Boom
    unraisable.clear()
    assert sys.getrefcount(function) == references
    assert before == 0


@dataclass
class Hit:
    distance: Any = 0
    point: Any = None


def test_results_are_any_trees(mode: str) -> None:
    """Dictionaries, nested PyTrees, dataclasses and None, as arguments and results."""
    number, x = UInt(0, 1, 2, 0, 7), Float(1, 2, 3, 4, 5)

    def function(k: int) -> Callable[[Any, Any], Any]:
        def run(hit: Hit, extra: Any) -> Any:
            point = Array3f(hit.distance, k, extra["a"][0])
            return {"hit": Hit(hit.distance * k, point), "rest": [(UInt(k), None)]}

        return run

    args = Hit(x), {"a": [x + 1], "b": None}
    found = dr.switch(number, [function(k) for k in (2, 3, 4)], *args)
    assert list(found) == ["hit", "rest"] and isinstance(found["hit"], Hit)
    assert found["hit"].distance.numpy().tolist() == [2, 6, 12, 8, 0]
    assert found["hit"].point.numpy().tolist() == [
        [1, 2, 3, 4, 0],
        [2, 3, 4, 2, 0],
        [2, 3, 4, 5, 0],
    ]
    ((k, nothing),) = found["rest"]
    assert isinstance(found["rest"], list) and nothing is None
    assert k.numpy().tolist() == [2, 3, 4, 2, 0]


def test_numbers_begin_at_0(mode: str) -> None:
    number = UInt(0, 1, 2, 0xFFFFFFFF)
    results = dr.switch(number, [lambda: UInt(10), lambda: UInt(11)])
    assert results.numpy().tolist() == [10, 11, 0, 0]


@pytest.mark.parametrize(
    "outputs",
    [
        (UInt(1), Float(1)),
        ({"a": UInt(1)}, {"b": UInt(1)}),
        ([UInt(1)], (UInt(1),)),
        (UInt(1), None),
        (1, 2),
    ],
)
def test_results_that_do_not_fit(mode: str, outputs: Any) -> None:
    functions = [lambda value=value: value for value in outputs]
    with pytest.raises(RuntimeError, match="variable 'result'.* changed from"):
        dr.switch(UInt(0, 1), functions)
    check_that_all_is_well()
