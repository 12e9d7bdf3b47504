"""``drjit.freeze``: evaluated loops, with as many iterations as each call needs.

The reference is the plain function, called with the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array3f, Float, UInt
from drjit.llvm.ad import Float as Tracked


def ramp(size: int, start: float = 1.0) -> Float:
    x = dr.arange(Float, size) * 0.5 + start
    dr.eval(x)
    return x


def loop(state: Any, cond: Callable[..., Any], body: Callable[..., Any]) -> Any:
    return dr.while_loop(state, cond, body, mode="evaluated")


def counted(k: Float, body: Callable[..., Any], *state: Any) -> Any:
    """Run the body k times, with a counter as the last state."""
    return loop(
        (*state, UInt(0)),
        lambda *state: Float(state[-1]) < k,
        lambda *state: (*body(*state), state[-1] + 1),
    )


# ------------------------------------------------------------------- functions


def halves(x: Float, k: Float) -> Any:
    return loop((UInt(0), x), lambda i, y: y > k, lambda i, y: (i + 1, y * 0.5))


def gathers(x: Float, k: Float) -> Any:
    def body(a: Float, i: UInt) -> Any:
        return (a + dr.gather(Float, x, i % 2 % dr.opaque_width(x)) * x,)

    return counted(k, body, Float(0)), x


def scatters_outside(x: Float, k: Float) -> Any:
    counts = dr.zeros(UInt, 5)

    def body(i: UInt) -> Any:
        dr.scatter_add(counts, UInt(1), i % 5)
        return ()

    return counts, counted(k, body)


def scatters_to_state(x: Float, k: Float) -> Any:
    counts = UInt(x)
    dr.eval(counts)

    def body(h: UInt, i: UInt) -> Any:
        dr.scatter_add(h, UInt(1), i % dr.opaque(UInt, 1))
        return (h,)

    return counted(k, body, counts)


def scatters_to_input(x: Float, k: Float) -> Any:
    def body(h: Float, i: UInt) -> Any:
        dr.scatter(h, Float(i), i % dr.opaque(UInt, 1))
        return (h,)

    return counted(k, body, x)


def swaps(x: Float, k: Float) -> Any:
    return counted(k, lambda a, b, i: (b, a + b * 0.5), x, x + 1)


def one_array_twice(x: Float, k: Float) -> Any:
    a, b, i = counted(k, lambda a, b, i: (b + 1, a + b * 0.5), x, x)
    return a + x, b, i


def initial_in_body(x: Float, k: Float) -> Any:
    y, i = loop(
        (x, UInt(0)),
        lambda y, i: (y < 100) & (Float(i) < k),
        lambda y, i: (y + x, i + 1),
    )
    return y * x, i


def two_loops(x: Float, k: Float) -> Any:
    y, i = counted(k, lambda y, i: (y + x,), x)
    z, j = counted(k * 2, lambda z, j: (z * 0.5,), y)
    dr.scatter(z, Float(7), UInt(0))
    return z, j, y, i, x


def several_kernels(x: Float, k: Float) -> Any:
    def body(y: Float, i: UInt) -> Any:
        s = dr.sum(y)
        dr.eval(s)
        return (y * 0.9 + s * 0.001 + dr.max(y) * 0.01,)

    return counted(k, body, x)


def constants(x: Float, k: Float) -> Any:
    return counted(k, lambda y, i: (y + dr.gather(Float, Float([1, 2, 3]), i % 3),), x)


def recorded_loop_inside(x: Float, k: Float) -> Any:
    def body(y: Float, i: UInt) -> Any:
        return dr.while_loop(
            (y, UInt(0)),
            lambda y, j: j < 3,
            lambda y, j: (y * 1.1, j + 1),
            mode="symbolic",
        )[:1]

    return counted(k, body, x)


def one_lane(x: Float, k: Float) -> Any:
    (j,) = loop((UInt(dr.max(k)),), lambda j: j > 0, lambda j: (j - 1,))
    return x + Float(j)


def nested_arrays(x: Float, k: Float) -> Any:
    return counted(k, lambda p, i: (p * 0.5 + p.yzx,), Array3f(x, 1, 2))


def prefix_sums(x: Float, k: Float) -> Any:
    return counted(k, lambda y, i: (dr.prefix_sum(y) * 0.1,), x)


def results_used(x: Float, k: Float) -> Any:
    y, i = counted(k, lambda y, i: (y * 2,), x)
    return dr.sum(y) + dr.gather(Float, y, i % 1), dr.compress(y > 3)


@dr.syntax
def written_plainly(x: Float, k: Float) -> Any:
    i = UInt(0)
    while dr.hint(Float(i) < k, mode="evaluated"):
        x = x + Float(i)
        i += 1
    return x, i


def makes_within(x: Float, k: Float) -> Any:
    """What the second iteration has made is used in the third one."""
    counts = dr.zeros(UInt, 5)

    def body(i: UInt) -> Any:
        def inner(j: UInt) -> Any:
            dr.scatter_add(counts, UInt(1), (i + j) % 5)
            return ()

        counted(Float(i), inner)
        return ()

    return counts, counted(k, body)


def single_iterations_kept(x: Float, k: Float) -> Any:
    kept = [x]

    def body(y: Float, i: UInt) -> Any:
        z = y + 1
        dr.eval(z)
        kept.append(z)
        return (z,)

    return counted(k, body, x), kept[-1]


def counts_in_python(x: Float, k: Float) -> Any:
    count = [0]

    def body(y: Float, i: UInt) -> Any:
        count[0] += 1
        return (y + count[0],)

    return counted(k, body, x)


def left_in_an_object(x: Float, k: Float) -> Any:
    """An array that is not a state, and is not computed before the loop is over."""
    held = [x * 2]

    def body(y: Float, i: UInt) -> Any:
        held[0] = held[0] + y
        return (y + 1,)

    y = counted(k, body, x)
    return y, held, dr.sum(held[0]), dr.repeat(held[0], 2), dr.tile(held[0] + 1, 2)


def left_by_an_inner_loop(x: Float, k: Float) -> Any:
    held = [x * 2]

    def inner(z: Float, j: UInt) -> Any:
        held[0] = held[0] * 1.5
        return (z + 1,)

    def body(y: Float, i: UInt) -> Any:
        counted(k - Float(i), inner, y)
        return (y + held[0],)

    return counted(k, body, x)


def sizes_in_body(x: Float, k: Float) -> Any:
    return counted(k, lambda y, i: (y + dr.width(dr.compress(y > 2)),), x)


def derivatives(x: Float, k: Float) -> Any:
    y = Tracked(x)
    dr.enable_grad(y)
    z, i = counted(k, lambda z, i: (z * 1.5 + 0.5,), y)
    dr.backward(dr.sum(z * z))
    return dr.grad(y), z, i


def of_one_entry(x: Float, k: Float) -> Any:
    """States have as many entries as without the decorator: the counter one, and the
    sum as many as there are lanes, after the first iteration."""
    y, s, same, i = loop(
        (x, Float(1), Float(2), UInt(1)),
        lambda y, s, same, i: i < 4,
        lambda y, s, same, i: (
            y * 0.5 + dr.sum(s) + dr.sum(same),
            s + y,
            same,
            i + dr.sum(i),
        ),
    )
    return y, s, same, i, dr.sum(i), dr.sum(same), k


# ------------------------------------------------------------- loops within others


def nested_loops(x: Float, k: Float) -> Any:
    return counted(k, lambda y, i: counted(Float(2), lambda z, j: (z + 1,), y)[:1], x)


def as_often_as_outside(x: Float, k: Float) -> Any:
    """The inner loop has no iteration at first, then one, then two, ..."""
    return counted(k, lambda y, i: counted(Float(i), lambda z, j: (z + x,), y)[:1], x)


def by_content(x: Float, k: Float) -> Any:
    def body(y: Float, i: UInt) -> Any:
        (z,) = loop((y,), lambda z: z > 1, lambda z: (z * 0.5,))
        return (z + y * 0.75 + Float(i % 3) * 2,)

    return counted(k, body, x)


def rarely(x: Float, k: Float) -> Any:
    """Most iterations have none of the inner loop."""

    def body(y: Float, i: UInt) -> Any:
        (z,) = loop((y,), lambda z: z > 40, lambda z: (z * 0.5,))
        return (z * 1.5 + 1,)

    return counted(k, body, x)


def three_deep(x: Float, k: Float) -> Any:
    def outer(y: Float, i: UInt) -> Any:
        def middle(y: Float, j: UInt) -> Any:
            y, m = counted(Float((i + j) % 3), lambda y, m: (y + Float(m) + 1,), y)
            return (y * 0.9,)

        return (counted(Float(i % 4), middle, y)[0] + 1,)

    return counted(k, outer, x)


def two_within(x: Float, k: Float) -> Any:
    """Which use what was computed before them, in the same iteration."""

    def body(y: Float, i: UInt) -> Any:
        t = y * 2
        dr.eval(t)
        a, j = counted(Float(i % 3), lambda a, j: (a + t,), t)
        b, j = counted(Float((i + 1) % 3), lambda b, j: (b + t * 0.5 + x,), y)
        return ((a + b) * 0.25 + Float(j),)

    return counted(k, body, x)


def in_the_condition(x: Float, k: Float) -> Any:
    def less(y: Float, i: UInt) -> Any:
        (z,) = loop((y,), lambda z: z > 1, lambda z: (z * 0.5,))
        return (Float(i) < k) & (z > 0)

    return loop((x, UInt(0)), less, lambda y, i: (y * 1.25 + 1, i + 1))


def scatters_from_within(x: Float, k: Float) -> Any:
    counts = dr.opaque(UInt, 0, 5)

    def body(y: Float, i: UInt) -> Any:
        def inner(z: Float) -> Any:
            dr.scatter_add(counts, UInt(1), UInt(z) % 5)
            return (z * 0.5,)

        (z,) = loop((y,), lambda z: z > 1, inner)
        return (z * 3 + 8 + Float(i % 4),)

    return counts, counted(k, body, x)


def copies_within(x: Float, k: Float) -> Any:
    """The first iteration of the inner loop is another one than the rest."""

    def body(h: Float, i: UInt) -> Any:
        def inner(z: Float, j: UInt) -> Any:
            dr.scatter_add(z, Float(j), j % dr.opaque(UInt, 1))
            return (z,)

        z, j = counted(Float(2 + i % 2), inner, h * 2)
        return (h * 0.5 + z * 0.1,)

    return counted(k, body, x)


def undefined_within(x: Float, k: Float) -> Any:
    """A state of the inner loop is undefined before it, and not used after it."""

    def body(y: Float, i: UInt) -> Any:
        none = dr.empty(Float, dr.width(y))
        y, z, j = counted(Float(2), lambda y, z, j: (y * 0.5, y), y, none)
        return (y + 1,)

    return counted(k, body, x)


def undefined_and_used(x: Float, k: Float) -> Any:
    def body(y: Float, i: UInt) -> Any:
        none = dr.empty(Float, dr.width(y))
        y, z, j = counted(Float(2), lambda y, z, j: (y * 0.5, y), y, none)
        return (y + z,)

    return counted(k, body, x)


def one_object(x: Float, k: Float) -> Any:
    """Without an iteration, what the inner loop gives is the array that went in."""

    def body(y: Float, i: UInt) -> Any:
        z, j = counted(Float(i % 2), lambda z, j: (z * 0.5,), y)
        z += 1
        return (y + z * 0.25,)

    return counted(k, body, x)


# 'shared': loops of several iterations are one recording for several lanes, and one for
# one lane; loops of one iteration or none have their own.
FUNCTIONS = [
    (halves, True),
    (gathers, True),
    (scatters_outside, True),
    (scatters_to_state, True),
    (scatters_to_input, True),
    (swaps, True),
    (one_array_twice, True),
    (initial_in_body, True),
    (two_loops, True),
    (several_kernels, True),
    (constants, True),
    (recorded_loop_inside, True),
    (one_lane, True),
    (nested_arrays, True),
    (prefix_sums, True),
    (results_used, True),
    (written_plainly, True),
    (of_one_entry, True),
    (nested_loops, True),
    (as_often_as_outside, True),
    (by_content, True),
    (rarely, True),
    (three_deep, True),
    (two_within, True),
    (in_the_condition, True),
    (scatters_from_within, True),
    (copies_within, True),
    (undefined_within, True),
    (undefined_and_used, False),
    (one_object, False),
    (makes_within, False),
    (single_iterations_kept, False),
    (counts_in_python, False),
    (left_in_an_object, False),
    (left_by_an_inner_loop, False),
    (sizes_in_body, False),
    (derivatives, False),
]


@pytest.mark.parametrize(
    ("function", "shared"), FUNCTIONS, ids=[f.__name__ for f, _ in FUNCTIONS]
)
def test_functions(function: Callable[..., Any], shared: bool) -> None:
    frozen = dr.freeze(function, warn_after=1000)
    for n in (4, 4, 9, 1, 4):
        for count in (5, 3, 0, 1, 12, 2):
            k = dr.opaque(Float, count, n)
            x, y = ramp(n), ramp(n)
            dr.make_opaque(x, y)
            assert str(frozen(x, k)) == str(function(y, k)), frozen.explain()
            assert str(x) == str(y)
    if shared:
        assert frozen.n_recordings <= 10, frozen.explain()
        assert frozen.n_cached_recordings == frozen.n_recordings


@pytest.mark.parametrize("count", [3, 40])
def test_shared(count: int) -> None:
    """A recording serves any number of iterations, from the different ones on."""
    frozen = dr.freeze(swaps)
    for k in (count, 1000, 2, 7, 1):
        args = ramp(6), dr.opaque(Float, k, 6)
        assert str(frozen(*args)) == str(swaps(*args))
    assert frozen.n_recordings == 1
    assert "again while" in frozen.explain()
    # The counter in memory, the condition, the first iteration, in which that becomes
    # wide, and the block.
    assert frozen.explain().count("launch") == 4


@pytest.mark.parametrize(
    "function",
    [
        by_content,
        as_often_as_outside,
        scatters_from_within,
        copies_within,
        in_the_condition,
        rarely,
    ],
)
def test_shared_within(function: Callable[..., Any]) -> None:
    """A recording serves any numbers of iterations of the inner loop, and of the outer
    one. Without any, it serves those that had such a one while it was recorded."""
    frozen = dr.freeze(function)
    for start, k in ((30, 9), (3, 4), (200, 30), (0.5, 7), (5000, 5), (20, 99), (1, 3)):
        x, y = ramp(6, start), ramp(6, start)
        k = dr.opaque(Float, k, 6)
        assert str(frozen(x, k)) == str(function(y, k))
    assert frozen.n_recordings == 1 + (function is rarely), frozen.explain()


def test_as_often_as_seen() -> None:
    """An inner loop without an iteration, where it had some: another recording, which
    serves both from then on, since it has met both."""

    def halve_twice(x: Float, k: Float) -> Any:
        def body(y: Float, i: UInt) -> Any:
            (z,) = loop((y,), lambda z: z > 10, lambda z: (z * 0.5,))
            return (z + 9,)

        return counted(k, body, x)

    frozen = dr.freeze(halve_twice)
    numbers = []
    for start in (100, 40, -50, 100, -90):
        args = ramp(6, start), dr.opaque(Float, 12, 6)
        assert str(frozen(*args)) == str(halve_twice(*args))
        numbers.append(frozen.n_recordings)
    assert numbers == [1, 1, 2, 2, 2], frozen.explain()
    assert " if a" in frozen.explain()


def test_flag() -> None:
    """Loops that a flag has evaluated, with lanes that could be taken out."""

    @dr.freeze
    def f(x: Float) -> Any:
        return dr.while_loop(
            (UInt(0), x), lambda i, y: y > 1, lambda i, y: (i + 1, y * 0.5)
        )

    with dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, False):
        for start in (30, 5, 100):
            for compress in (True, False):
                with dr.scoped_set_flag(dr.JitFlag.CompressLoops, compress):
                    x = ramp(50, start)
                    assert str(f(x)) == str(f._function(x))
    assert f.n_recordings == 2  # a recording belongs to its flags


def test_refused() -> None:
    """What cannot be repeated says so, and is called each time."""
    x, k = ramp(4), dr.opaque(Float, 4, 4)
    for function, reason in (
        (makes_within, "of one iteration"),
        (one_object, "iterations of an evaluated loop are different"),
        (single_iterations_kept, "of one iteration"),
        (counts_in_python, "iterations of an evaluated loop are different"),
        (left_in_an_object, "an object that is not a state"),
        (sizes_in_body, "read in its body"),
    ):
        frozen = dr.freeze(function)
        for count in (8, 9):
            k = dr.opaque(Float, count, 4)
            assert str(frozen(x, k)) == str(function(x, k))
        assert frozen.n_recordings == 0 and reason in frozen.explain()


def test_exceptions() -> None:
    """A loop that was left by an exception does not disturb later ones."""
    fail = True

    @dr.freeze(state_fn=lambda x, k: fail)
    def f(x: Float, k: Float) -> Any:
        def body(y: Float, i: UInt) -> Any:
            if fail:
                raise ValueError("mine")
            return (y + 1,)

        return counted(k, body, x)

    with pytest.raises(ValueError, match="mine"):
        f(ramp(4), dr.opaque(Float, 3, 4))
    fail = False
    for count in (3, 5):
        args = ramp(4), dr.opaque(Float, count, 4)
        assert str(f(*args)) == str(f._function(*args))
    assert f.n_recordings == 1


def test_exceptions_within() -> None:
    """A loop that its outer one has left is none of those that are recorded."""

    def f(x: Float, k: Float) -> Any:
        def inner(z: Float, j: UInt) -> Any:
            raise ValueError("mine")

        def body(y: Float, i: UInt) -> Any:
            try:
                counted(k, inner, y)
            except ValueError:
                y = y + 1
            return (y * 0.5,)

        return counted(k, body, x)

    frozen = dr.freeze(f)
    for count in (3, 5):
        args = ramp(4), dr.opaque(Float, count, 4)
        assert str(frozen(*args)) == str(f(*args))
    assert frozen.n_recordings == 0 and "did not end" in frozen.explain()


@pytest.mark.parametrize("function", [swaps, by_content, as_often_as_outside])
def test_many_iterations(function: Callable[..., Any]) -> None:
    """Iterations that are like the block leave nothing behind."""
    frozen = dr.freeze(function)
    count = 60 if function is as_often_as_outside else 3000
    args = ramp(6), dr.opaque(Float, count, 6)
    assert str(frozen(*args)) == str(function(*args))
    assert len(frozen.explain().splitlines()) < 90


# ------------------------------------------------------------------- exceptions


def writes(x: Float, k: Float, fail: bool) -> Any:
    def body(_: UInt) -> Any:
        for i in range(2):
            dr.scatter_add(x, Float(1), UInt(i))
            dr.eval(x)
        if fail:
            raise ValueError("within")
        return ()

    return counted(k, body)


def test_writes_before_an_exception() -> None:
    """The array is what it was, and the recording is given up."""
    frozen = dr.freeze(writes)
    x, k = ramp(4), dr.opaque(Float, 3)
    for _ in range(2):
        with pytest.raises(ValueError, match="within"):
            frozen(x, k, True)
        assert str(x) == str(ramp(4))
    frozen(x, k, False)
    assert list(x) == [4, 4.5, 2, 2.5]


@pytest.mark.parametrize("nested", [False, True])
def test_an_exception_that_is_caught(nested: bool) -> None:
    def f(x: Float, k: Float) -> Any:
        counts = dr.opaque(Float, 0, 4)

        def body(_: UInt) -> Any:
            writes(counts, k, False)
            raise ValueError("around")

        try:
            counted(k, body) if nested else writes(counts, k, True)
        except ValueError:
            pass
        return x + 1, counts

    frozen = dr.freeze(f)
    for count in (3, 5):
        found = frozen(ramp(4), dr.opaque(Float, count))
        assert str(found) == str((ramp(4) + 1, dr.zeros(Float, 4)))


# ------------------------------------------------------------------- calls


def test_evaluated_calls() -> None:
    """Which lanes call which function is a condition, or an error."""

    def f(i: UInt, x: Float) -> Float:
        functions = [lambda x: x * 2, lambda x: x + 3]
        result: Float = dr.switch(i, functions, x, mode="evaluated")
        return result

    frozen = dr.freeze(f, allow_reads=True)
    for lanes in ((0, 1, 1), (0, 1, 1), (1, 0, 1), (0, 1, 1), (0, 0, 0)):
        i, x = UInt(*lanes), ramp(3)
        assert list(frozen(i, x)) == list(f(i, x))
    assert frozen.n_recordings <= 4
    with pytest.raises(RuntimeError, match="with 'allow_reads'"):
        dr.freeze(f)(UInt(0, 1, 1), ramp(3))
