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


def nested_loops(x: Float, k: Float) -> Any:
    return counted(k, lambda y, i: counted(Float(2), lambda z, j: (z + 1,), y)[:1], x)


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


def sizes_in_body(x: Float, k: Float) -> Any:
    return counted(k, lambda y, i: (y + dr.width(dr.compress(y > 2)),), x)


def derivatives(x: Float, k: Float) -> Any:
    y = Tracked(x)
    dr.enable_grad(y)
    z, i = counted(k, lambda z, i: (z * 1.5 + 0.5,), y)
    dr.backward(dr.sum(z * z))
    return dr.grad(y), z, i


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
    (nested_loops, False),
    (single_iterations_kept, False),
    (counts_in_python, False),
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
    for k in (count, 1000, 2, 7):
        args = ramp(6), dr.opaque(Float, k, 6)
        assert str(frozen(*args)) == str(swaps(*args))
    assert frozen.n_recordings == 1
    assert "again while" in frozen.explain()
    assert frozen.explain().count("launch") == 2  # the condition, and the block


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
        (nested_loops, "within another one"),
        (single_iterations_kept, "of one iteration"),
        (counts_in_python, "iterations of an evaluated loop are different"),
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


def test_many_iterations() -> None:
    """Iterations that are like the block leave nothing behind."""
    frozen = dr.freeze(swaps)
    args = ramp(6), dr.opaque(Float, 3000, 6)
    assert str(frozen(*args)) == str(swaps(*args))
    assert len(frozen.explain().splitlines()) < 40


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
