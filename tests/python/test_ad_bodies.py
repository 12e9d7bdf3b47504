"""Reverse traversals in bodies: what crosses the border of a construct waits.

The gradient of a body's loss is compared with that of a program which adds the losses
up in an array, and is differentiated after the construct.
"""

from __future__ import annotations

import gc
import os
import platform
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Bool, Float, Float16, Float64, UInt

MODES = ["symbolic", "evaluated"]
LANES = 4
TIMES = UInt(2, 3, 1, 0)  # iterations of each lane


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()  # what an exception refers to
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def repeat(body: Callable[[Any], Any], mode: Any, times: Any = TIMES) -> None:
    def once(i: Any) -> tuple[Any]:
        body(i)
        return (i + 1,)

    dr.while_loop((UInt(0),), lambda i: i < times, once, mode=mode)


def choose(condition: Any, yes: Any, no: Any, mode: Any) -> None:
    """Two sides that return nothing of interest."""

    def side(function: Any) -> Any:
        def run(k: Any) -> Any:
            function()
            return k

        return run

    dr.if_stmt((UInt(0),), condition, side(yes), side(no), mode=mode)


class Inputs:
    """What is tracked: a value of each lane, one of all, an array, and a result."""

    def __init__(self, kind: Any = Float64) -> None:
        self.x = kind(0.5, 1.2, 2.0, 0.75)
        self.p = dr.opaque(kind, 0.875)
        self.a = kind(1, 0.5, 0.25, 2, 1.5)
        dr.enable_grad(self.x, self.p, self.a)
        self.y = self.x * self.p

    def gradients(self) -> list[Any]:
        assert not np.any(dr.grad(self.y).numpy())
        return [dr.grad(v).numpy() for v in (self.x, self.p, self.a)]


class Sums:
    """The reference: losses add up, and are differentiated in the end."""

    def __init__(self, kind: Any = Float64) -> None:
        self.kind = kind
        self.out = dr.zeros(kind, LANES)

    def add(self, loss: Any) -> None:
        dr.scatter_add(self.out, self.kind(loss), dr.arange(UInt, LANES))

    def end(self) -> None:
        if dr.grad_enabled(self.out):
            dr.backward(self.out)


class Backward:
    """What is tested: each loss is differentiated where it is computed. Losses may have
    computations in common, so their edges stay."""

    def add(self, loss: Any) -> None:
        if dr.grad_enabled(loss):
            dr.backward(loss, dr.ADFlag.ClearVertices)

    def end(self) -> None:
        pass


def loop(v: Inputs, add: Any, mode: Any) -> None:
    repeat(lambda i: add(v.x * v.x * Float64(i + 1) + dr.sin(v.p * v.x)), mode)


def interior(v: Inputs, add: Any, mode: Any) -> None:
    repeat(lambda i: add(v.y * v.y + v.y * Float64(i)), mode)


def position(v: Inputs, add: Any, mode: Any) -> None:
    repeat(lambda i: add(dr.gather(Float64, v.a, i + TIMES - 1) ** 2 * v.x), mode)


def conditional(v: Inputs, add: Any, mode: Any) -> None:
    choose(
        TIMES > 1, lambda: add(v.x * v.y), lambda: add(dr.exp(v.y) * v.p), mode
    )  # fmt: skip


def call(v: Inputs, add: Any, mode: Any) -> None:
    def function(factor: float) -> Any:
        def run(x: Any, y: Any) -> Any:
            add(x * y * factor)
            return x

        return run

    if mode == "symbolic":
        dr.switch(TIMES & 1, [function(2), function(3)], v.x, v.y, mode=mode)
    else:  # functions see their lanes only
        even = (TIMES & 1) == 0
        choose(even, lambda: add(v.x * v.y * 2), lambda: add(v.x * v.y * 3), mode)


def nested(v: Inputs, add: Any, mode: Any) -> None:
    def body(i: Any) -> None:
        z = v.y * dr.gather(Float64, v.a, i)
        choose(
            Float64(i) < v.x, lambda: add(z * z), lambda: add(z * 3 + v.p * v.x), mode
        )
        repeat(lambda k: add(z * v.x * Float64(k)), mode, i)
        add(z)

    repeat(body, mode)


def loop_behind_it(v: Inputs, add: Any, mode: Any) -> None:
    """The derivative of a loop of the outer body, in the inner one: a loop in it."""

    def body(i: Any) -> None:
        z = dr.while_loop(
            (v.y, UInt(0)), lambda z, k: k < 3,
            lambda z, k: (z * v.x + dr.gather(Float64, v.a, k) * z, k + 1), mode=mode,
        )[0]  # fmt: skip
        choose(i > 0, lambda: add(z), lambda: add(z * 0.5), mode)

    repeat(body, mode)


def states(v: Inputs, add: Any, mode: Any) -> None:
    """Unchanged states stand for what they were; others are detached in time."""

    def inner(i: Any, t: Any, x: Any, p: Any) -> Any:
        add(x * p * t)
        return i + 1, t + 1, x, p

    def outer(i: Any, t: Any, x: Any, p: Any) -> Any:
        t = dr.while_loop(
            (UInt(0), t, x, p), lambda i, t, x, p: i < 2, inner, mode=mode
        )[1]
        add(x * t)
        return i + 1, dr.detach(t) * 0.5, x, p

    dr.while_loop(
        (UInt(0), Float64(1), v.x, v.p), lambda i, *_: i < TIMES, outer, mode=mode
    )


PROGRAMS: dict[str, Any] = {
    f.__name__: f
    for f in (
        loop, interior, position, conditional, call, nested, loop_behind_it, states
    )
}  # fmt: skip


def run(program: Any, mode: Any, reference: bool = False) -> list[Any]:
    v, sink = Inputs(), Sums() if reference else Backward()
    program(v, sink.add, mode)
    sink.end()
    return v.gradients()


def check(program: Any, mode: Any) -> None:
    for found, expected in zip(
        run(program, mode), run(program, mode, True), strict=True
    ):
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_contributions_wait(name: str, mode: str) -> None:
    check(PROGRAMS[name], mode)


@pytest.mark.parametrize("mode", MODES)
def test_values_by_hand(mode: str) -> None:
    """x² times the iteration, of iterations 1 to 3, 2 to 3 and 3."""
    x = Float(1, 2, 3)
    dr.enable_grad(x)

    def body(i: Any) -> tuple[Any]:
        dr.backward(x * x * Float(i))
        return (i + 1,)

    dr.while_loop((UInt(1, 2, 3),), lambda i: i < 4, body, mode=mode)
    assert dr.all(x.grad == Float(12, 20, 18))
    p = dr.opaque(Float, 2)
    dr.enable_grad(p)

    def shared(i: Any) -> tuple[Any]:
        dr.backward(p * p * Float(i))
        return (i + 1,)

    dr.while_loop((UInt(1, 2, 3),), lambda i: i < 4, shared, mode=mode)
    assert p.grad[0] == 4 * (1 + 2 + 3 + 2 + 3 + 3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [Float16, Float, Float64])
def test_types(kind: Any, mode: str) -> None:
    v = Inputs(kind)
    repeat(lambda i: dr.backward(v.x * v.p * kind(i + 1)), mode)
    sums = np.array([3, 6, 1, 0])
    assert np.array_equal(dr.grad(v.x).numpy(), 0.875 * sums)
    assert np.allclose(dr.grad(v.p).numpy(), v.x.numpy() @ sums, rtol=2e-3)


def test_one_value_of_each_lane() -> None:
    """Recorded, what has one entry is a value of each lane; else it is one value."""
    for mode, factor in (("symbolic", 6), ("evaluated", 3)):
        p = dr.opaque(Float64, 2)
        dr.enable_grad(p)
        repeat(lambda i, p=p: dr.backward(p * p), mode)
        assert p.grad[0] == 4 * factor


@pytest.mark.parametrize("mode", MODES)
def test_sums_of_a_side(mode: str) -> None:
    """What one value of all lanes gets from two traversals, one after the other."""
    p, x = dr.opaque(Float64, 2), Float64(1, 2, 3)
    dr.enable_grad(p)

    def side() -> None:
        dr.backward(p * x)
        assert mode == "symbolic" or p.grad[0] == 4
        dr.backward(p * 10)

    choose(Bool(True, False, True), side, lambda: None, mode)
    assert p.grad[0] == (24 if mode == "symbolic" else 14)


@pytest.mark.parametrize("mode", MODES)
def test_several_constructs_come_by_one_variable(mode: str) -> None:
    x = Float64(1, 2, 3)
    dr.enable_grad(x)
    y = x * x

    def body(k: Any) -> Any:
        dr.backward(y * 2)
        return (k + 1,)

    def side(k: Any) -> Any:
        dr.backward(y * 10)
        return k

    dr.while_loop((UInt(0),), lambda k: k < UInt(1, 2, 3), body, mode=mode)
    dr.if_stmt((UInt(0),), x > 1, side, lambda k: k, mode=mode)
    assert dr.all(x.grad == Float64(2, 14, 16) * 2 * x)


@pytest.mark.parametrize("mode", MODES)
def test_a_variable_from_outside_itself(mode: str) -> None:
    x = Float64(0.5, 1.2, 2.0, 0.75)
    dr.enable_grad(x)
    y = x * x
    dr.set_grad(y, 10)
    repeat(lambda i: dr.backward(y), mode)
    assert np.allclose(x.grad.numpy(), 2 * x.numpy() * (10 + TIMES.numpy()))


@pytest.mark.parametrize("mode", MODES)
def test_a_side_without_lanes(mode: str) -> None:
    p = dr.opaque(Float64, 2)
    dr.enable_grad(p)
    nobody = Bool(False, False, False)
    choose(nobody, lambda: dr.backward(p * p), lambda: None, mode)
    assert p.grad[0] == 0


def test_functions_of_an_evaluated_call() -> None:
    """The first one's traversal leaves the edges that the second one's goes by."""
    x = Float64(1, 2, 3)
    dr.enable_grad(x)
    y = x * x

    def function(factor: float) -> Any:
        def run(y: Any) -> Any:
            dr.backward(y * factor)
            return y

        return run

    for mode in MODES:
        dr.switch(UInt(0, 1, 0), [function(1), function(10)], y * 1, mode=mode)
        assert dr.all(x.grad == Float64(2, 40, 6))
        dr.clear_grad(x)
        y = x * x


@pytest.mark.parametrize("mode", MODES)
def test_gradients_that_were_there(mode: str) -> None:
    """They stay with inputs, and go on with what comes to results."""
    v = Inputs()
    dr.set_grad(v.x, 100)
    dr.set_grad(v.y, 10)
    repeat(lambda i: dr.backward(v.x + v.y), mode)
    times = TIMES.numpy()
    assert np.allclose(dr.grad(v.x).numpy(), 100 + times + (10 + times) * 0.875)


@pytest.mark.parametrize("mode", MODES)
def test_accum_grad_waits(mode: str) -> None:
    v = Inputs()
    choose(
        Bool(True, True, True, True),
        lambda: dr.accum_grad(v.x, v.x * 2), lambda: None, mode,
    )  # fmt: skip
    assert np.allclose(dr.grad(v.x).numpy(), 2 * v.x.numpy())
    dr.backward(v.y)
    assert np.allclose(dr.grad(v.x).numpy(), 2 * v.x.numpy() + 0.875)


@pytest.mark.parametrize("mode", MODES)
def test_a_scope_around(mode: str) -> None:
    """It keeps back what the loop has let go."""
    x = Float64(1, 2, 3)
    dr.enable_grad(x)
    y = x * x
    with dr.isolate_grad():
        z = y * 2
        repeat(lambda i: dr.backward(z * z), mode, UInt(3, 2, 1))
        assert dr.all(x.grad == 0)
        assert dr.all(dr.grad(y) == Float64(24, 64, 72))
    assert dr.all(x.grad == Float64(48, 256, 432))
    assert dr.all(dr.grad(y) == 0)


def test_a_scope_keeps_what_was_made_in_it_tracked() -> None:
    x = Float64(1, 2, 3)
    dr.enable_grad(x)
    with dr.suspend_grad(), dr.resume_grad(x):
        with dr.isolate_grad():
            y = x * x
        assert dr.grad_enabled(y)
        z = y * x
    assert dr.grad_enabled(z)
    dr.backward(z)
    assert dr.all(x.grad == 3 * x * x)


@pytest.mark.parametrize("mode", MODES)
def test_the_loop_has_a_derivative_as_well(mode: str) -> None:
    x = Float64(0.5, 1.2, 2.0, 0.75)
    dr.enable_grad(x)

    def body(i: Any, s: Any) -> Any:
        dr.backward(x * dr.detach(s))
        return i + 1, s * x

    start = (UInt(0), Float64(2, 2, 2, 2))
    s = dr.while_loop(start, lambda i, s: i < TIMES, body, mode=mode)[1]
    v, n = x.numpy(), TIMES.numpy()
    expected = sum((k < n) * 2 * v**k for k in range(3))
    assert np.allclose(x.grad.numpy(), expected)
    dr.clear_grad(x)
    dr.backward(s)
    assert np.allclose(x.grad.numpy(), 2 * n * v ** np.maximum(n - 1, 0))


def test_an_exception_leaves_gradients_as_they_were() -> None:
    x = Float64(1, 2, 3)
    dr.enable_grad(x)
    dr.set_grad(x, 7)

    def fail(i: Any) -> None:
        dr.backward(x * x)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        repeat(fail, "symbolic", UInt(3, 2, 1))
    assert dr.all(x.grad == 7)

    def go_on(i: Any) -> None:
        with pytest.raises(ValueError, match="no"):
            choose(i > 0, lambda: fail(i), lambda: None, "symbolic")
        dr.backward(x * x)

    repeat(go_on, "symbolic", UInt(3, 2, 1))
    assert dr.all(x.grad == 7 + 2 * x * Float64(3, 2, 1))


OUTSIDE = r"a\d+, which lies outside the loop, conditional or call being recorded"


def fails(message: str, body: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        repeat(body, "symbolic")
    found: BaseException | None = caught.value
    texts = []
    while found:
        texts.append(str(found))
        found = found.__cause__
    assert any(message in text for text in texts), texts


@pytest.mark.parametrize("which", [0, 1])
def test_gradients_stay_where_one_of_several_cannot_wait(which: int) -> None:
    """Those of arrays that the inner loop adds to, also of the ones after it."""
    arrays = [Float64(1, 2), Float64(3, 4)]
    dr.enable_grad(arrays)
    for a in arrays:
        dr.set_grad(a, 5)

    def body(i: Any) -> tuple[Any]:
        dr.grad(arrays[which])
        total = dr.while_loop(
            (UInt(0), Float64(0, 0)),
            lambda j, total: j < 2,
            lambda j, total: (
                j + 1,
                total + sum(dr.gather(Float64, a, UInt(0, 1)) for a in arrays),
            ),
        )[1]
        dr.backward(total)
        return (i + 1,)

    with pytest.raises(RuntimeError, match="the body asks for it as well"):
        dr.while_loop((UInt(0, 0),), lambda i: i < 3, body, mode="symbolic")
    for a in arrays:
        assert np.allclose(a.grad.numpy(), 5)


def test_what_cannot_wait() -> None:
    v = Inputs()
    x, z = v.x, v.x * v.x

    def look(i: Any) -> None:
        dr.backward(x * x)
        dr.grad(x)

    def clear(i: Any) -> None:
        dr.clear_grad(x)
        dr.backward(x * x)

    def again(i: Any) -> None:
        dr.backward(x * x, dr.ADFlag.Default | dr.ADFlag.CreateGraph)

    def around(i: Any) -> None:
        own = Float64(i)
        dr.enable_grad(own)
        y = own * x
        choose(i > 1, lambda: dr.backward(y), lambda: None, "symbolic")

    def around_set(i: Any) -> None:
        y = x * x
        dr.set_grad(y, 2)
        choose(i > 1, lambda: dr.backward(y * y), lambda: None, "symbolic")

    fails("adds to the gradient of", look)
    fails("the body asks for it as well", clear)
    fails("the body asks for it as well", lambda i: dr.set_grad(x, 1))
    fails("CreateGraph", again)
    fails("whole arrays", lambda i: dr.backward(dr.sum(x) * Float64(i)))
    fails("a body around has made it", around)
    fails("one was set in a body around", around_set)
    dr.set_grad(z, 1)
    dr.enqueue(dr.ADMode.Backward, z)
    fails("enqueued outside", lambda i: dr.traverse(dr.ADMode.Backward))
    dr.set_grad(z, 0)
    assert np.all(np.concatenate(v.gradients()) == 0)


def test_a_state_that_changes_cannot_wait() -> None:
    x = Float64(0.5, 1.2, 2.0, 0.75)
    dr.enable_grad(x)

    def body(i: Any, s: Any) -> Any:
        dr.backward(x * s)
        return i + 1, x * s

    for start in (Float64(1), x):
        with pytest.raises(RuntimeError, match="a state which the loop changes"):
            dr.while_loop(
                (UInt(0), start), lambda i, s: i < TIMES, body, mode="symbolic"
            )
    assert dr.all(x.grad == 0)

    def twice(i: Any, s: Any) -> Any:
        start = (UInt(0), s)
        s = dr.while_loop(start, lambda i, s: i < 2, body, mode="symbolic")[1]
        return i + 1, s

    with pytest.raises(RuntimeError, match="a state which the loop changes"):
        dr.while_loop(
            (UInt(0), Float64(1)), lambda i, s: i < TIMES, twice, mode="symbolic"
        )
    assert dr.all(x.grad == 0)


class Meddler(dr.CustomOp):
    """Begins a traversal of its own in its derivative."""

    def eval(self, y: Any, other: Any) -> Any:
        self.other = other
        return 2 * y

    def backward(self) -> None:
        dr.backward(self.other.value * self.other.value)
        self.set_grad_in("y", 2 * self.grad_out())


class Hidden:
    value: Any


def test_the_derivative_of_a_body_keeps_to_itself() -> None:
    """Its traversals have nowhere to put what is not the body's."""
    other, x = Hidden(), Float64(1, 2, 3)
    other.value = Float64(1, 2, 3)
    dr.enable_grad(x, other.value)
    y = dr.while_loop(
        (x, UInt(0)), lambda y, i: i < 2,
        lambda y, i: (dr.custom(Meddler, y * y, other), i + 1), mode="symbolic",
        max_iterations=2,
    )[0]  # fmt: skip
    with pytest.raises(RuntimeError) as caught:
        dr.backward(y)
    assert "within the derivative of a loop" in str(caught.getrepr())
    assert dr.all(other.value.grad == 0)


# ---------------------------------------------------------------- random programs


def random_expression(rng: random.Random, values: list[Any]) -> Any:
    a, b = rng.choice(values), rng.choice(values)
    return rng.choice(
        [lambda: a * b, lambda: a + b, lambda: dr.sin(a), lambda: a - 0.5 * b]
    )()


def random_body(
    rng: random.Random, values: list[Any], add: Any, i: Any, v: Inputs, depth: int,
    mode: str,
) -> None:  # fmt: skip
    """Statements that compute values, differentiate some, or nest. What is drawn
    depends on the seed only."""
    values = list(values)
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(6 if depth else 3)
        if kind == 0:
            values.append(random_expression(rng, values))
        elif kind == 1:
            values.append(dr.gather(Float64, v.a, (i + rng.randrange(9)) % 5))
        elif kind == 2:
            add(random_expression(rng, values))
        elif kind == 3:
            seeds = rng.random(), rng.random()
            choose(
                (i + TIMES) % 3 > rng.randrange(3),
                *(
                    lambda s=s: random_body(
                        random.Random(s), values, add, i, v, depth - 1, mode
                    )
                    for s in seeds
                ),
                mode,
            )
        elif kind == 4:
            seed = rng.random()
            repeat(
                lambda k, s=seed: random_body(
                    random.Random(s), [*values, Float64(k)], add, k, v, depth - 1, mode
                ),
                mode, (TIMES + i) % 3,
            )  # fmt: skip
        else:
            start = random_expression(rng, values)
            values.append(
                dr.while_loop(
                    (start, UInt(0)),
                    lambda y, k: k < 2,
                    lambda y, k: (dr.sin(y) * v.p, k + 1),
                    mode=mode,
                )[0]  # fmt: skip
            )
    add(random_expression(rng, values))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, mode: str) -> None:
    def program(v: Inputs, add: Any, mode: Any) -> None:
        def body(i: Any) -> None:
            values = [v.x, v.y, v.p * v.x, Float64(i + 1)]
            random_body(random.Random(seed), values, add, i, v, 2, mode)

        repeat(body, mode)

    check(program, mode)


# ---------------------------------------------------------------- engines

ENGINES = """
import sys
sys.path.insert(0, sys.argv[1])
import test_ad_bodies as bodies
for name, program in bodies.PROGRAMS.items():
    for gradient in bodies.run(program, "symbolic"):
        print(name, gradient.tobytes().hex())
"""


def output(engine: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", ENGINES, str(Path(__file__).parent)],
        env={**os.environ, "DRJIT_ENGINE": engine},
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def test_engines_agree() -> None:
    interp = output("interp")
    assert interp.count("\n") == 3 * len(PROGRAMS)
    assert output("llvm") == interp
    if platform.machine() == "x86_64":
        assert output("native") == interp


def track_in_loop(x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        y = dr.detach(x) * 2
        dr.enable_grad(y)
        dr.backward(y * y)
        return i + 1, y * 0.5 + dr.grad(y)

    return dr.while_loop((UInt(0), x), lambda i, x: i < 3, body, mode="symbolic")[1]


def track_in_side(x: Any) -> Any:
    def side(x: Any) -> Any:
        y = x * 2
        dr.enable_grad(y)
        inner = dr.while_loop(
            (UInt(0), y), lambda i, y: i < 2, lambda i, y: (i + 1, y * y),
            mode="symbolic",
        )[1]  # fmt: skip
        dr.backward(inner)
        return y + dr.grad(y)

    return dr.if_stmt((x,), x > 1, side, lambda x: x, mode="symbolic")


def track_in_call(x: Any) -> Any:
    def function(x: Any) -> Any:
        y = x * 2
        dr.enable_grad(y)
        dr.backward(y * y * y)
        return y + dr.grad(y)

    return dr.switch(UInt(0, 1, 0, 1), [function, lambda x: x], x)


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("function", [track_in_loop, track_in_side, track_in_call])
def test_what_a_body_tracks_ends_with_it(function: Any, around: bool) -> None:
    """Also where nothing else is tracked, and regions are not followed."""
    other = Float64(1)
    dr.set_grad_enabled(other, around)
    x = Float64(0.5, 1.5, 2, 3)
    y = function(x)
    assert not dr.grad_enabled(y)
    v = x.numpy()
    if function is track_in_loop:
        expected = 125 * v
    elif function is track_in_side:
        expected = np.where(v > 1, 2 * v + 4 * (2 * v) ** 3, v)
    else:
        expected = np.where([True, False, True, False], 2 * v + 3 * (2 * v) ** 2, v)
    assert np.allclose(y.numpy(), expected)


def cubes(mode: str, kind: str, tracked: bool) -> Any:
    """Sums of the slopes of x^3 that bodies find by themselves, as x goes up by one."""

    def slope(x: Any) -> Any:
        y = x * 1
        dr.enable_grad(y)
        dr.backward(y * y * y)
        return y.grad

    def side(x: Any, total: Any) -> Any:
        return x + 1, total + slope(x)

    def once(i: Any, x: Any, total: Any) -> Any:
        if kind == "itself":
            dr.enable_grad(x)
            dr.backward(x * x * x)
            return i + 1, x + 1, total + x.grad
        if kind == "side":
            return i + 1, *dr.if_stmt((x, total), x > 0, side, side, mode=mode)
        if kind == "call":
            return i + 1, *dr.switch(UInt(0, 1), [side, side], x, total, mode=mode)
        if kind == "loop":
            _, x, total = dr.while_loop(
                (UInt(0), x, total),
                lambda j, *_: j < 1,
                lambda j, x, total: (j + 1, *side(x, total)),
                mode=mode,
            )
            return i + 1, x, total
        return i + 1, *side(x, total)

    other, x = Float64(2), Float64(0.5, 1.5)
    dr.set_grad_enabled(other, tracked)
    start = (UInt(0, 0), x, dr.zeros(Float64, 2))
    return dr.while_loop(start, lambda i, *_: i < 3, once, mode=mode)[1:]


@pytest.mark.parametrize("kind", ["plain", "itself", "side", "call", "loop"])
@pytest.mark.parametrize("tracked", [False, True])
def test_enable_grad_of_an_untracked_state(tracked: bool, kind: str) -> None:
    """In the body of a recorded loop each state may be tracked. If it turns out that it
    is not, all is as if it had not been so in the body."""
    x, total = cubes("symbolic", kind, tracked)
    assert not dr.grad_enabled(x) and not dr.grad_enabled(total)
    v = np.array([0.5, 1.5])
    assert np.allclose(x.numpy(), v + 3)
    assert np.allclose(total.numpy(), sum(3 * (v + k) ** 2 for k in range(3)))


def tracked_at_once(p: Any, x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        y = x * 2
        dr.enable_grad(y)
        return i + 1, y.grad + x * p

    return symbolic_loop(body, x)[0]


def tracked_in_two_steps(p: Any, x: Any) -> Any:
    def body(i: Any, a: Any, b: Any) -> Any:
        dr.enable_grad(a)
        return i + 1, b + a.grad, x * p

    return symbolic_loop(body, x, x * 0)[0]


def tracked_around(p: Any, x: Any) -> Any:
    """The inner loop knows of nothing that is tracked."""

    def body(i: Any, x: Any, y: Any) -> Any:
        def inner(j: Any, y: Any) -> Any:
            z = y * x
            dr.enable_grad(z)
            return j + 1, y * x + z.grad

        return i + 1, x * p, symbolic_loop(inner, y)[0]

    return symbolic_loop(body, x, x)[1]


def tracked_in_the_body_around(p: Any, x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        u = x * 1
        dr.enable_grad(u)

        def inner(j: Any, y: Any) -> Any:
            z = y * 2
            dr.enable_grad(z)
            return j + 1, z * u

        y = symbolic_loop(inner, dr.full(Float64, 1, 2))[0]
        dr.backward(y)
        return i + 1, x + u.grad

    return symbolic_loop(body, x)[0]


def tracked_in_a_side(p: Any, x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        def side(x: Any) -> Any:
            y = x * 2
            dr.enable_grad(y)
            return x * p + y.grad

        other = lambda x: x  # noqa: E731
        return i + 1, dr.if_stmt((x,), x > 1, side, other, mode="symbolic")

    return symbolic_loop(body, x)[0]


def symbolic_loop(body: Any, *states: Any) -> Any:
    return dr.while_loop(
        (UInt(0), *states), lambda i, *_: i < 3, body, mode="symbolic"
    )[1:]


TRACKED = [
    tracked_at_once,
    tracked_in_two_steps,
    tracked_around,
    tracked_in_the_body_around,
    tracked_in_a_side,
]


@pytest.mark.parametrize("program", TRACKED)
def test_enable_grad_of_what_turns_out_to_be_tracked(program: Any) -> None:
    """It was not a leaf: its gradient would have had to go on."""
    p, x = Float64(2), Float64(0.5, 1.5)
    dr.enable_grad(p)
    with pytest.raises(RuntimeError, match=r"enable_grad\(\).*detach"):
        program(p, x)
    p, x = Float64(2), Float64(0.5, 1.5)
    dr.enable_grad(p)
    y = symbolic_loop(lambda i, x: (i + 1, x * p), x)[0]  # all is as it was
    dr.backward(y)
    assert np.allclose(p.grad.numpy(), 12 * (0.5 + 1.5))


def test_enable_grad_of_a_tracked_state_does_nothing() -> None:
    p, x = Float64(2), Float64(0.5, 1.5)
    dr.enable_grad(p)

    def real(i: Any, x: Any) -> Any:
        y = x * p  # tracked in any case: nothing happens
        dr.enable_grad(y)
        return i + 1, y

    y = dr.while_loop((UInt(0), x), lambda i, x: i < 3, real, mode="symbolic")[1]
    dr.backward(y)
    assert np.allclose(p.grad.numpy(), 12 * (0.5 + 1.5))
