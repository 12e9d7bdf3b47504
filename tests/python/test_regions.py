"""Loops, conditionals and masks, compared with NumPy and plain Python.

They are private (``drjit._regions``); the public functions are built on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm
from drjit.llvm import Array3f, Bool, Float, Int, Matrix2f, TensorXf, UInt
from region_util import Boom, collatz, collatz_steps, if_stmt, mandelbrot, while_loop

# ------------------------------------------------------------------------- loops


@pytest.mark.parametrize("size", [1, 5, 16, 17, 1000])
def test_collatz(mode: str, size: int) -> None:
    last, steps = collatz(dr.arange(UInt, size) + 1)
    expected = [collatz_steps(i + 1) for i in range(size)]
    assert steps.numpy().tolist() == expected
    assert np.all(last.numpy() == 1) and dr.width(last) == size


def test_mandelbrot(mode: str) -> None:
    width, height, limit = 37, 23, 50
    x, y = np.meshgrid(np.linspace(-2, 1, width), np.linspace(-1, 1, height))
    zx, zy, n = np.zeros_like(x), np.zeros_like(x), np.zeros(x.shape, np.uint32)
    for _ in range(limit):
        active = zx * zx + zy * zy < 4
        next_x, next_y = zx * zx - zy * zy + x, 2 * (zx * zy) + y
        zx, zy = np.where(active, next_x, zx), np.where(active, next_y, zy)
        n += active
    found = mandelbrot(width, height, limit).numpy()
    # Contraction is off and both sides round alike, except for linspace.
    assert np.count_nonzero(found != n.ravel()) <= 3
    assert found.max() == limit and found.min() < 5


def test_no_iterations(mode: str) -> None:
    start = dr.arange(Float, 7)
    x, n = while_loop(
        (start, UInt(3)), lambda x, n: x > 100, lambda x, n: (x + 1, n + 1)
    )
    assert x.numpy().tolist() == list(range(7)) and set(n.numpy()) == {3}


def test_literal_false(mode: str) -> None:
    def body(x: Any) -> tuple[Any]:
        return (x + 1,)

    start = dr.arange(Float, 4)
    (x,) = while_loop((start,), lambda x: Bool(False), body)
    assert x.numpy().tolist() == [0, 1, 2, 3]


def test_uniform_condition(mode: str) -> None:
    x, n = while_loop(
        (dr.arange(Float, 5), UInt(0)),
        lambda x, n: n < 4,
        lambda x, n: (x * 2, n + 1),
    )
    assert x.numpy().tolist() == [0, 16, 32, 48, 64] and set(n.numpy()) == {4}
    assert dr.width(n) in (1, 5)


def test_opaque_condition(mode: str) -> None:
    count = dr.opaque(UInt, 3)
    (n,) = while_loop((UInt(0),), lambda n: n < count, lambda n: (n + 1,))
    assert n.numpy().tolist() == [3]


@pytest.mark.parametrize("inner_changes_size", [False, True])
def test_nested_loops(mode: str, inner_changes_size: bool) -> None:
    size = 33

    def outer(i: Any, total: Any) -> tuple[Any, ...]:
        start = UInt(0) if inner_changes_size else dr.zeros(UInt, size)
        _, total = while_loop(
            (start, total), lambda j, _: j < i, lambda j, t: (j + 1, t + i * j)
        )
        return i - 1, total

    lanes = dr.arange(UInt, size) % 9
    i, total = while_loop((lanes, UInt(0)), lambda i, _: i > 0, outer)
    expected = [
        sum(a * b for a in range(1, n % 9 + 1) for b in range(a)) for n in range(size)
    ]
    assert total.numpy().tolist() == expected and not np.any(i.numpy())


def test_loop_in_a_condition(mode: str) -> None:
    """While the largest power of two up to n is above 4, halve n."""

    def cond(n: Any) -> Any:
        (power,) = while_loop((UInt(1),), lambda p: 2 * p <= n, lambda p: (2 * p,))
        return power > 4

    (n,) = while_loop((dr.arange(UInt, 60),), cond, lambda n: (n // 2,))
    expected = []
    for i in range(60):
        while i >= 8:
            i //= 2
        expected.append(i)
    assert n.numpy().tolist() == expected


def test_three_levels(mode: str) -> None:
    def count(depth: int, n: Any, total: Any) -> Any:
        def body(i: Any, total: Any) -> tuple[Any, ...]:
            inner = count(depth - 1, i, total) if depth else total + 1
            return i + 1, inner

        return while_loop((UInt(0), total), lambda i, _: i < n, body)[1]

    n = dr.arange(UInt, 6)
    total = count(2, n, dr.zeros(UInt, 6)).numpy()
    expected = [
        sum(1 for i in range(n) for j in range(i) for _ in range(j)) for n in range(6)
    ]
    assert total.tolist() == expected


def test_many_states(mode: str) -> None:
    count = 100
    state = tuple(Float(i) + dr.arange(Float, 3) for i in range(count))

    def body(n: Any, *state: Any) -> tuple[Any, ...]:
        return (n + 1, *state[1:], state[0])

    result = while_loop((UInt(0), *state), lambda n, *_: n < 37, body)
    for i in range(count):
        assert result[1 + i].numpy().tolist() == [
            (i + 37) % count + k for k in range(3)
        ]


def test_all_types(mode: str) -> None:
    names = ["Int8", "UInt8", "Int16", "UInt16", "Int", "UInt", "Int64", "UInt64"]
    names += ["Float16", "Float", "Float64"]
    types = [getattr(llvm, name) for name in names if hasattr(llvm, name)]
    assert len(types) >= 9
    lanes = dr.arange(UInt, 20)
    state = (UInt(0), Bool(False), *[t(lanes) for t in types])

    def body(n: Any, flag: Any, *values: Any) -> tuple[Any, ...]:
        return (n + 1, ~flag, *[v + 1 for v in values])

    def cond(n: Any, *_: Any) -> Any:
        return n < lanes

    n, flag, *values = while_loop(state, cond, body)
    assert flag.numpy().tolist() == [bool(i % 2) for i in range(20)]
    for value in values:
        assert value.numpy().tolist() == [2 * i for i in range(20)]
    assert [type(v) for v in values] == types


@dataclass
class Particle:
    position: Array3f = field(default_factory=Array3f)
    age: UInt = field(default_factory=UInt)


class Record:
    DRJIT_STRUCT = {"a": Float, "b": Array3f}

    def __init__(self) -> None:
        self.a = Float()
        self.b = Array3f()


def test_trees_as_state(mode: str) -> None:
    record = Record()
    record.a, record.b = Float(1), Array3f(1, 2, 3)
    particle = Particle(Array3f(dr.arange(Float, 4), 0, 1), UInt(0))
    state = ({"p": particle, "r": record}, [Float(0), (Int(1), None)])

    def cond(tree: Any, _: Any) -> Any:
        return tree["p"].age < 3

    def body(tree: Any, rest: Any) -> tuple[Any, ...]:
        assert isinstance(tree["p"], Particle) and isinstance(tree["r"], Record)
        tree["p"].position += tree["r"].b
        tree["p"].age += 1
        tree["r"].a *= 2
        rest[0] += rest[1][0]
        return tree, rest

    tree, rest = while_loop(state, cond, body)
    assert tree["p"].position.numpy().tolist() == [
        [3, 4, 5, 6], [6, 6, 6, 6], [10, 10, 10, 10],
    ]  # fmt: skip
    assert set(tree["r"].a.numpy()) == {8} and set(rest[0].numpy()) == {3}
    assert rest[1][1] is None and set(rest[1][0].numpy()) == {1}
    # What is changed in place is the caller's.
    assert tree is state[0] and tree["p"] is particle and tree["r"] is record


def test_matrices_as_state(mode: str) -> None:
    step = Matrix2f([[1, 1], [1, 0]])
    n = dr.arange(UInt, 12)

    def body(i: Any, m: Any) -> tuple[Any, ...]:
        return i + 1, m @ step

    _, m = while_loop((UInt(0), dr.identity(Matrix2f)), lambda i, _: i < n, body)
    found = m.numpy()
    for i in range(12):
        power = np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), i)
        assert np.array_equal(found[..., i], power)


def test_tensors_and_dynamic_arrays(mode: str) -> None:
    t = TensorXf(np.arange(6, dtype=np.float32).reshape(2, 3))
    a = llvm.ArrayXf([1, 2, 3, 4])

    def body(n: Any, t: Any, a: Any) -> tuple[Any, ...]:
        assert t.shape == (2, 3) and len(a) == 4
        return n + 1, t * 2, a + a[0]

    _, t, a = while_loop((UInt(0), t, a), lambda n, *_: n < 3, body)
    assert t.shape == (2, 3) and t.numpy().tolist() == [[0, 8, 16], [24, 32, 40]]
    assert a.numpy()[:, 0].tolist() == [8, 9, 10, 11]


def test_subclasses_stay(mode: str) -> None:
    class Mine(Array3f):
        pass

    def body(n: Any, v: Any) -> tuple[Any, ...]:
        assert type(v) is Mine
        v += 1
        return n + 1, v

    _, v = while_loop((UInt(0), Mine(1)), lambda n, _: n < 2, body)
    assert type(v) is Mine and v.numpy().ravel().tolist() == [3, 3, 3]


def test_unchanged_and_constant_states(mode: str) -> None:
    size = 10
    fixed, constant = dr.arange(Float, size), Float(2)
    state = (UInt(0), fixed, constant, Float(0), dr.zeros(Float, size))

    def body(n: Any, f: Any, c: Any, total: Any, unused: Any) -> tuple[Any, ...]:
        return n + 1, f, c, total + f * c, unused + 1

    n, f, c, total, unused = while_loop(state, lambda n, *_: n < 3, body)
    if mode == "symbolic":
        assert f.index == fixed.index and c.index == constant.index
    assert total.numpy().tolist() == [6.0 * i for i in range(size)]
    assert f.numpy().tolist() == list(range(size)) and set(c.numpy()) == {2}
    assert set(unused.numpy()) == {3} and set(n.numpy()) == {3}


def test_swap(mode: str) -> None:
    n = dr.arange(UInt, 9)
    i, a, b = while_loop(
        (UInt(0), Float(1), dr.arange(Float, 9) + 2),
        lambda i, *_: i < n,
        lambda i, a, b: (i + 1, b, a),
    )
    for k in range(9):
        assert (a.numpy()[k], b.numpy()[k]) == (
            (1, k + 2) if k % 2 == 0 else (k + 2, 1)
        )


def test_states_become_copies_of_one_that_never_changes(mode: str) -> None:
    lanes = dr.arange(UInt, 7)
    _, a, b = while_loop(
        (lanes % 3, lanes + 10, lanes * 2),
        lambda n, *_: n > 0,
        lambda n, a, b: (n - 1, b, b),
    )
    assert a.numpy().tolist() == [2 * i if i % 3 else i + 10 for i in range(7)]
    assert b.numpy().tolist() == [2 * i for i in range(7)]


def test_the_body_is_traced_once() -> None:
    calls = 0

    def body(n: Any, f: Any) -> tuple[Any, ...]:
        nonlocal calls
        calls += 1
        return n + dr.select(f > 0, UInt(1), UInt(2)), f

    (n, _) = while_loop((dr.zeros(UInt, 50), Float(1)), lambda n, _: n < 1000, body)
    assert set(n.numpy()) == {1000} and calls == 1


def test_results_are_used_later(mode: str) -> None:
    last, steps = collatz(dr.arange(UInt, 10) + 1)
    a = steps * 2 + last
    (b,) = while_loop((a,), lambda x: x < 100, lambda x: (x + 7,))
    expected = []
    for i in range(10):
        x = collatz_steps(i + 1) * 2 + 1
        while x < 100:
            x += 7
        expected.append(x)
    assert b.numpy().tolist() == expected


# ------------------------------------------------------------------- side effects


def test_scatter_reduce(mode: str) -> None:
    size = 40
    histogram = dr.zeros(UInt, 8)
    lanes = dr.arange(UInt, size)

    def body(i: Any) -> tuple[Any]:
        dr.scatter_reduce(dr.ReduceOp.Add, histogram, UInt(1), i & 7)
        return (i + 3,)

    while_loop((lanes,), lambda i: i < size, body)
    expected = np.zeros(8, int)
    for i in range(size):
        for k in range(i, size, 3):
            expected[k & 7] += 1
    assert histogram.numpy().tolist() == expected.tolist()


def test_target_as_state(mode: str) -> None:
    size = 40
    start = dr.zeros(UInt, 8)
    lanes = dr.arange(UInt, size)

    def body(i: Any, histogram: Any) -> tuple[Any, ...]:
        dr.scatter_reduce(dr.ReduceOp.Add, histogram, UInt(1), i & 7)
        return i + 5, histogram

    _, histogram = while_loop((lanes, start), lambda i, _: i < size, body)
    expected = np.zeros(8, int)
    for i in range(size):
        for k in range(i, size, 5):
            expected[k & 7] += 1
    assert histogram.numpy().tolist() == expected.tolist()


def test_scatter_inc(mode: str) -> None:
    size = 30
    counter, written = dr.opaque(UInt, 0), dr.zeros(UInt, 200)
    lanes = dr.arange(UInt, size)

    def body(i: Any) -> tuple[Any]:
        slot = dr.scatter_inc(counter, UInt(0))
        dr.scatter(written, lanes + 1, slot)
        return (i + 1,)

    while_loop((UInt(0),), lambda i: i < (lanes % 5), body)
    total = sum(k % 5 for k in range(size))
    assert counter.numpy().tolist() == [total]
    found = written.numpy()
    assert not np.any(found[total:])
    often = np.bincount(found[:total], minlength=size + 1)[1:]
    assert often.tolist() == [k % 5 for k in range(size)]


def test_target_and_state_start_with_the_same_literal(mode: str) -> None:
    """Equal literals are one variable, and yet a state and a target of writes."""
    counter = UInt(0)

    def body(i: Any) -> tuple[Any]:
        dr.scatter_add(counter, UInt(1), i & 0)
        return (i + 1,)

    (i,) = while_loop((UInt(0),), lambda i: i < dr.arange(UInt, 5), body)
    assert i.numpy().tolist() == [0, 1, 2, 3, 4] and counter.numpy().tolist() == [10]


def test_gather(mode: str) -> None:
    """Pointer chasing: follow a permutation until the start is reached again."""
    size = 64
    permutation = np.random.default_rng(1).permutation(size).astype(np.uint32)
    table, lanes = UInt(permutation), dr.arange(UInt, size)

    def body(at: Any, n: Any) -> tuple[Any, ...]:
        return dr.gather(UInt, table, at), n + 1

    at, n = while_loop(
        (dr.gather(UInt, table, lanes), UInt(1)), lambda at, _: at != lanes, body
    )
    expected = []
    for i in range(size):
        k, steps = permutation[i], 1
        while k != i:
            k, steps = permutation[k], steps + 1
        expected.append(steps)
    assert n.numpy().tolist() == expected


def test_inactive_lanes_do_not_access_memory(mode: str) -> None:
    """Positions of lanes that have left the loop are far outside."""
    source = dr.arange(Float, 10)
    lanes = dr.arange(UInt, 20)

    def body(i: Any, total: Any) -> tuple[Any, ...]:
        total = total + dr.gather(Float, source, i)
        return dr.select(i == 9, UInt(0x3FFFFFFF), i + 1), total

    _, total = while_loop((lanes, Float(0)), lambda i, _: i < 10, body)
    assert total.numpy().tolist() == [
        float(sum(range(min(i, 10), 10))) for i in range(20)
    ]


def test_random_walk_with_many_effects(mode: str) -> None:
    size, bins = 100, 16
    visits = [dr.zeros(UInt, bins) for _ in range(3)]

    def body(n: Any, seed: Any) -> tuple[Any, ...]:
        seed = seed * 1664525 + 1013904223
        for k in range(3):
            dr.scatter_add(visits[k], n + k, (seed >> (8 * k)) & (bins - 1))
        return n + 1, seed

    lanes = dr.arange(UInt, size)
    while_loop((UInt(0), lanes), lambda n, _: n < lanes % 7, body)
    expected = np.zeros((3, bins), np.uint32)
    for i in range(size):
        seed = i
        for n in range(i % 7):
            seed = (seed * 1664525 + 1013904223) % 2**32
            for k in range(3):
                expected[k, (seed >> (8 * k)) & (bins - 1)] += n + k
    assert [v.numpy().tolist() for v in visits] == expected.tolist()


# ---------------------------------------------------------------- conditionals


def test_if(mode: str) -> None:
    x = dr.arange(Float, 20) - 10
    result = if_stmt(x < 0, (x,), lambda x: x * x, lambda x: dr.sqrt(x), "root")
    expected = np.arange(20, dtype=np.float32) - 10
    expected = np.where(expected < 0, expected**2, np.sqrt(np.maximum(expected, 0)))
    assert np.array_equal(result.numpy(), expected)


def test_if_gives_trees(mode: str) -> None:
    x = dr.arange(Float, 4)

    def true_fn(x: Any, v: Any) -> Any:
        v.x += 1
        return {"a": Particle(v, UInt(1)), "b": (x, None)}

    def false_fn(x: Any, v: Any) -> Any:
        v *= 2
        return {"a": Particle(v, UInt(2)), "b": (x + 1, None)}

    v = Array3f(1, 2, 3)
    tree = if_stmt(x > 1, (x, v), true_fn, false_fn)
    assert tree["a"].age.numpy().tolist() == [2, 2, 1, 1]
    assert set(tree["a"].position.x.numpy()) == {2}
    assert tree["a"].position.y.numpy().tolist() == [4, 4, 2, 2]
    assert tree["b"][0].numpy().tolist() == [1, 2, 2, 3] and tree["b"][1] is None
    # An array that both sides change in place, and return, is the caller's.
    assert tree["a"].position is v


@pytest.mark.parametrize("value", [False, True])
def test_literal_condition(mode: str, value: bool) -> None:
    target = dr.zeros(UInt, 1)

    def side(n: int) -> Callable[..., Any]:
        def function(x: Any) -> Any:
            dr.scatter(target, UInt(n), UInt(0))
            return x + n

        return function

    x = dr.arange(UInt, 3)
    result = if_stmt(Bool(value), (x,), side(10), side(20))
    n = 10 if value else 20
    assert result.numpy().tolist() == [n, n + 1, n + 2]
    assert target.numpy().tolist() == [n]


def test_effects_of_sides(mode: str) -> None:
    even, odd = dr.zeros(UInt, 10), dr.zeros(UInt, 10)
    i = dr.arange(UInt, 10)
    result = if_stmt(
        i % 2 == 0,
        (i,),
        lambda i: dr.scatter(even, i + 1, i),
        lambda i: dr.scatter(odd, i + 1, i),
    )
    assert result is None
    assert even.numpy().tolist() == [1, 0, 3, 0, 5, 0, 7, 0, 9, 0]
    assert odd.numpy().tolist() == [0, 2, 0, 4, 0, 6, 0, 8, 0, 10]


def test_unchanged_outputs_keep_their_identity() -> None:
    x, y = dr.arange(Float, 5), dr.arange(Float, 5) * 3
    a, b = if_stmt(x > 2, (x, y), lambda x, y: (x, y + 1), lambda x, y: (x, y))
    assert a.index == x.index
    assert b.numpy().tolist() == [0, 3, 6, 10, 13]


def test_nested_conditionals(mode: str) -> None:
    x = dr.arange(Int, 30)

    def outer(x: Any) -> Any:
        return if_stmt(x % 2 == 0, (x,), lambda x: x * 10, lambda x: -x)

    result = if_stmt(x % 3 == 0, (x,), outer, lambda x: x)
    expected = [(i * 10 if i % 2 == 0 else -i) if i % 3 == 0 else i for i in range(30)]
    assert result.numpy().tolist() == expected


def test_conditional_in_loop(mode: str) -> None:
    target = dr.zeros(UInt, 50)
    lanes = dr.arange(UInt, 50)

    def true_fn(n: Any, steps: Any) -> Any:
        dr.scatter_add(target, UInt(1), lanes)
        return 3 * n + 1, steps + 1

    def body(n: Any, steps: Any) -> tuple[Any, ...]:
        result: tuple[Any, ...] = if_stmt(
            n % 2 == 1, (n, steps), true_fn, lambda n, steps: (n // 2, steps + 1)
        )
        return result

    _, steps = while_loop((lanes + 1, UInt(0)), lambda n, _: n != 1, body)
    assert steps.numpy().tolist() == [collatz_steps(i + 1) for i in range(50)]
    odd = []
    for i in range(50):
        n, count = i + 1, 0
        while n != 1:
            count += n % 2
            n = 3 * n + 1 if n % 2 else n // 2
        odd.append(count)
    assert target.numpy().tolist() == odd


def test_loop_in_conditional(mode: str) -> None:
    x = dr.arange(UInt, 40)
    result = if_stmt(x >= 20, (x + 1,), lambda x: collatz(x)[1], lambda x: x * 1000)
    expected = [collatz_steps(i + 1) if i >= 20 else (i + 1) * 1000 for i in range(40)]
    assert result.numpy().tolist() == expected


def test_deep_nesting(mode: str) -> None:
    def build(depth: int, x: Any) -> Any:
        if depth == 0:
            return x + 1
        if depth % 2:
            return if_stmt(
                x % 2 == 0, (x,), lambda x: build(depth - 1, x), lambda x: x + 3
            )
        n, x = while_loop(
            (UInt(0), x),
            lambda n, x: n < 1 + x % 2,
            lambda n, x: (n + 1, build(depth - 1, x)),
        )
        return x

    def plain(depth: int, x: int) -> int:
        if depth == 0:
            return x + 1
        if depth % 2:
            return plain(depth - 1, x) if x % 2 == 0 else x + 3
        n = 0
        while n < 1 + x % 2:
            n, x = n + 1, plain(depth - 1, x)
        return x

    depth = 4 if mode == "evaluated" else 9
    found = build(depth, dr.arange(UInt, 50)).numpy().tolist()
    assert found == [plain(depth, i) for i in range(50)]


# ----------------------------------------------------------------------- masks


def test_masks_of_conditionals(mode: str) -> None:
    """Those around a conditional count, too, for reads and for writes."""
    target, i = dr.zeros(UInt, 8), dr.arange(UInt, 8)

    def inner() -> Any:
        dr.scatter(target, i, i)
        return dr.gather(UInt, i, i)

    def outer() -> Any:
        return if_stmt(i < 6, (), inner, lambda: UInt(9)), dr.gather(UInt, i, i)

    first, second = if_stmt(i > 2, (), outer, lambda: (UInt(10), UInt(11)))
    assert target.numpy().tolist() == [0, 0, 0, 3, 4, 5, 0, 0]
    assert first.numpy().tolist() == [10, 10, 10, 3, 4, 5, 9, 9]
    assert second.numpy().tolist() == [11, 11, 11, 3, 4, 5, 6, 7]
    assert dr.gather(UInt, i, i).numpy().tolist() == list(range(8))


def test_masks_restrict_regions(mode: str) -> None:
    target, i = dr.zeros(UInt, 8), dr.arange(UInt, 8)

    def body(n: Any) -> tuple[Any, ...]:
        dr.scatter_add(target, UInt(1), i)
        return (n + 1,)

    def side() -> None:
        while_loop((UInt(0),), lambda n: n < i, body)

    if_stmt(i >= 4, (), side, lambda: None)
    assert target.numpy().tolist() == [0, 0, 0, 0, 4, 5, 6, 7]


def test_masks_end_with_exceptions(mode: str) -> None:
    i = dr.arange(UInt, 4)

    def side() -> None:
        raise Boom

    with pytest.raises(Boom):
        if_stmt(i > 2, (), side, side)
    assert dr.gather(UInt, i, i).numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("literal", [True, False])
def test_states_that_begin_as_one_variable(literal, mode):
    """A write to one of them is none to the other."""

    def body(k, a, b):
        before = dr.gather(UInt, b, UInt(1)) + dr.gather(UInt, b, UInt(2))
        dr.scatter(a, k + 5 + before, UInt(0))
        return k + 1, a, b

    a = dr.zeros(UInt, 4) if literal else dr.opaque(UInt, 0, 4)
    k, a, b = while_loop((dr.zeros(UInt, 4), a, UInt(a)), lambda k, a, b: k < 3, body)
    assert k.numpy().tolist() == [3, 3, 3, 3]
    assert a.numpy().tolist() == [7, 0, 0, 0]
    assert b.numpy().tolist() == [0, 0, 0, 0]
