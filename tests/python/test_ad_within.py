"""Forward traversals in bodies; seeds of components; custom operations with inputs
that are suspended; sums of what was broadcast.

Expected values are those of the formula, of NumPy, or (seeds, scopes) of the published
package 1.4.0.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import (
    Array3f64,
    ArrayXf64,
    Complex2f64,
    Float,
    Float64,
    Int,
    Matrix2f64,
    Quaternion4f64,
    TensorXf,
    TensorXf64,
    UInt,
)

MODES = ["symbolic", "evaluated"]
KEEP = dr.ADFlag.ClearNone


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    Scaled.parameter = None
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def tracked(*values: float) -> Float64:
    x = Float64(*values)
    dr.enable_grad(x)
    return x


def loop(mode: str, body: Callable[..., Any], *states: Any, count: int = 2) -> Any:
    """The first state, which begins with zeros."""
    return dr.while_loop(
        (UInt(0), Float64(0, 0, 0), *states),
        lambda i, *states: i < count,
        lambda i, *states: (i + 1, *body(*states)),
        mode=mode,
    )[1]


def call(mode: str, functions: Any, *args: Any) -> Any:
    with dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, mode == "symbolic"):
        return dr.switch(UInt(0, 1, 1), functions, *args)


# ---------------------------------------------------------------- forward, in bodies


@pytest.mark.parametrize("flags", [dr.ADFlag.Default, dr.ADFlag.ClearVertices, KEEP])
@pytest.mark.parametrize("mode", MODES)
def test_tangents_of_what_is_outside(mode: str, flags: Any) -> None:
    x = tracked(1, 2, 3)
    y = x * x
    dr.set_grad(x, 1)

    def to(value: Any) -> Any:
        return dr.forward_to(value, flags=flags)

    assert np.all(loop(mode, lambda s: (s + to(y),)) == [4, 8, 12])
    assert np.all(loop(mode, lambda s, y: (s + to(y), y), y) == [4, 8, 12])
    assert np.all(loop(mode, lambda s, y: (s + to(3 * y), y), y) == [12, 24, 36])
    assert np.all(loop(mode, lambda s, x: (s + to(x * x), x), x) == [4, 8, 12])

    def nested(s: Any) -> Any:
        z = x * y
        return (
            dr.if_stmt(
                (s,), x > 1, lambda s: s + to(z) + to(y), lambda s: s, mode=mode
            ),
        )

    assert np.all(loop(mode, nested) == [0, 32, 66])
    zero = Float64(0, 0, 0)
    found = dr.if_stmt((zero,), x > 1, lambda s: s + to(y), lambda s: s, mode=mode)
    assert np.all(found == [0, 4, 6])
    assert np.all(call(mode, [lambda y: -y, lambda y: to(y)], y) == [-1, 4, 6])
    assert np.all(call(mode, [lambda x: -x, lambda x: to(x * x)], x) == [-1, 4, 6])
    assert np.all(x.grad == 1)


@pytest.mark.parametrize("mode", MODES)
def test_tangents_through_regions_and_operations(mode: str) -> None:
    class Square(dr.CustomOp):
        def eval(self, a: Any) -> Any:
            self.a = a
            return a * a

        def forward(self) -> None:
            self.set_grad_out(2 * self.a * self.grad_in("a"))

    x = tracked(1, 2, 3)
    dr.set_grad(x, 1)
    y = dr.custom(Square, x)
    z = dr.while_loop(
        (UInt(0), x), lambda i, x: i < 2, lambda i, x: (i + 1, x * x), mode="symbolic"
    )[1]
    assert np.all(loop(mode, lambda s: (s + dr.forward_to(y),), count=1) == [2, 4, 6])
    assert np.all(
        loop(mode, lambda s: (s + dr.forward_to(z),), count=1) == [4, 32, 108]
    )

    def gathers(s: Any, i: Any) -> Any:
        return s + dr.forward_to(dr.gather(Float64, y, i)), i

    assert np.all(loop(mode, gathers, UInt(2, 1, 0)) == [12, 8, 4])


@pytest.mark.parametrize("mode", MODES)
def test_seeds_that_a_body_sets(mode: str) -> None:
    x, w = tracked(1, 2, 3), tracked(5, 5, 5)

    def seeds(s: Any) -> Any:
        y = x * x * w
        dr.set_grad(x, s + 2)
        return (s + dr.forward_to(y),)

    expected = np.zeros(3)
    for _ in range(2):
        expected += 10 * np.array([1, 2, 3]) * (expected + 2)
    assert np.all(loop(mode, seeds) == expected)

    def begins(x: Any) -> Any:
        z = x * x
        dr.forward(x)
        return dr.grad(z)

    dr.clear_grad(x)
    for mask in (x > 1, x > 5):
        found = dr.if_stmt((x,), mask, begins, lambda x: 4 * dr.detach(x), mode=mode)
        own = np.array([1, 2, 3])
        assert np.all(found == np.where(mask.numpy(), 2 * own, 4 * own))


def test_tangents_that_cannot_be_had() -> None:
    x = tracked(1, 2, 3)
    y = dr.sum(x * x)
    dr.set_grad(x, 1)
    with pytest.raises(RuntimeError, match="operation on whole arrays"):
        loop("symbolic", lambda s: (s + dr.forward_to(y),))

    def changes(s: Any, x: Any) -> Any:
        x = x * x
        return s + dr.forward_to(x), x

    with pytest.raises(RuntimeError, match="a state which the loop changes"):
        loop("symbolic", changes, x)
    assert np.all(x.grad == 1) and np.all(dr.forward_to(y) == 12)


def test_isolated() -> None:
    """What is outside stays what it was."""
    x = tracked(3)
    y = x * x
    with dr.isolate_grad():
        z = y * y
        dr.forward(y)
        assert z.grad == 18 and y.grad == 1
    dr.clear_grad(y)
    dr.backward(y)
    assert x.grad == 6


def chain(x: Any, isolate: bool, count: int = 2) -> list[Any]:
    """Tangents of results that depend on x by what is from before a scope, and by what
    is from before one around."""
    table = dr.zeros(Float64, 6)
    dr.scatter(table, x * x, UInt(5, 0, 2))
    u = dr.gather(Float64, table, UInt(5, 0, 2)) * dr.sin(x)
    v, _ = dr.while_loop((u, UInt(0)), lambda u, i: i < 2, lambda u, i: (u * x, i + 1))
    w = dr.custom(Doubled, v)
    found = []
    with dr.isolate_grad(when=isolate):
        a = w * u
        found.append(forward_to(a))
        with dr.isolate_grad(when=isolate):
            b = a * v + dr.sum(u)
            found += [forward_to(b) for _ in range(count)]
        found.append(forward_to(v))
        found.append(forward_to(dr.exp(a)))
    found.append(forward_to(b * x))
    return [np.broadcast_to(g.numpy(), 3) for g in found]


def forward_to(y: Any) -> Any:
    tangent = dr.forward_to(y, flags=dr.ADFlag.ClearInterior)
    dr.clear_grad(y)  # else the next traversal adds to it, or goes on with it
    return tangent


class Doubled(dr.CustomOp):  # type: ignore[name-defined, misc]
    def eval(self, x: Any) -> Any:
        return x * 2

    def forward(self) -> None:
        self.set_grad_out(self.grad_in("x") * 2)


def test_tangents_from_before_a_scope() -> None:
    def results(x: Any) -> list[Any]:
        u = x * x * np.sin(x)
        v = u * x * x
        a = 2 * v * u
        b = a * v + u.sum()
        return [a, b, b, v, np.exp(a), b * x]

    def tangents(isolate: bool) -> list[Any]:
        x = tracked(0.3, 0.7, 0.5)
        dr.set_grad(x, Float64(1, -2, 0.5))
        found = chain(x, isolate)
        assert np.array_equal(x.grad, [1, -2, 0.5])
        return found

    x, h = np.array([0.3, 0.7, 0.5]), 1e-3
    step = h * np.array([1, -2, 0.5])
    near, far = (
        [
            (a - b) / (2 * k * h)
            for a, b in zip(results(x + k * step), results(x - k * step), strict=True)
        ]
        for k in (1, 2)
    )
    expected = [(4 * a - b) / 3 for a, b in zip(near, far, strict=True)]
    assert np.allclose(tangents(True), expected, rtol=1e-8, atol=1e-10)
    assert np.array_equal(tangents(True), tangents(False))


def test_gradients_from_before_a_scope_stay() -> None:
    """Those that a traversal goes by, be they added to or not."""

    def add(x: Any, u: Any, isolate: bool) -> list[float]:
        with dr.isolate_grad(when=isolate):
            return [forward_to(u * 3)[0], forward_to(u * 5 + x)[0]]

    for at_x, at_u in ((1, 10), (0, 10), (1, 0)):
        x = tracked(2)
        u = x * x
        if at_x:
            dr.set_grad(x, at_x)
        if at_u:
            dr.set_grad(u, at_u)
        both = 4 * at_x + at_u
        assert add(x, u, True) == [3 * both, 5 * both + at_x]
        assert x.grad == at_x and u.grad == at_u
        assert add(x, u, False)[0] == 3 * both


@pytest.mark.parametrize("mode", MODES)
def test_gradients_from_before_a_body_stay(mode: Any) -> None:
    x = tracked(2)
    u = x * x
    dr.set_grad((x, u), (1, 10))
    s = loop(mode, lambda s: (s * 100 + dr.forward_to(u * 3),))
    assert np.all(s == 4242)
    assert u.grad == 10 and x.grad == 1
    c = call(mode, [lambda: dr.forward_to(u * 3), lambda: dr.forward_to(u * 5)])
    assert np.array_equal(c, [42, 70, 70])
    assert u.grad == 10 and x.grad == 1


# ---------------------------------------------------------------- seeds


def test_each_component_is_a_seed() -> None:
    def forward(a: Any, square: Any, *parts: str) -> Any:
        dr.enable_grad(*(getattr(a, part) for part in parts)) if parts else (
            dr.enable_grad(a)
        )
        b = square(a)
        dr.forward_from(a)
        return b.grad.numpy().ravel()

    def backward(a: Any, *parts: str) -> Any:
        dr.enable_grad(*(getattr(a, part) for part in parts)) if parts else (
            dr.enable_grad(a)
        )
        dr.backward_from(a * a)
        return a.grad.numpy().ravel()

    def times(a: Any) -> Any:
        return a * a

    c, q = (1, 2), (1, 2, 3, 4)
    assert np.all(forward(Complex2f64(*c), times) == -2 + 6j)
    assert np.all(forward(Complex2f64(*c), times, "imag") == -4 + 2j)
    assert np.all(backward(Complex2f64(*c)) == 6 - 2j)
    assert np.all(backward(Complex2f64(*c), "real") == 6)
    assert np.all(forward(Quaternion4f64(*q), times) == [10, 12, 14, -4])
    assert np.all(forward(Quaternion4f64(*q), times, "y") == [0, 8, 0, -4])
    assert np.all(backward(Quaternion4f64(*q)) == [6, 4, 2, 20])
    assert np.all(backward(Quaternion4f64(*q), "y") == [0, 4, 0, 0])
    m = Matrix2f64(1, 2, 3, 4)
    assert np.all(forward(m, lambda m: m @ m) == [7, 9, 11, 13])
    assert np.all(forward(Array3f64(1, 2, 3), times, "x", "z") == [2, 0, 6])
    x, q = tracked(2), Quaternion4f64(1, 2, 3, 4)
    q.y, q.z = x * 3, Float64(x)
    dr.backward_from(q)
    assert x.grad == 4


# ---------------------------------------------------------------- custom operations


class Scaled(dr.CustomOp):
    """x times a parameter that is not an argument."""

    parameter: Any = None

    def eval(self, x: Any) -> Any:
        self.x = x
        self.add_input(Scaled.parameter)
        return x * dr.detach(Scaled.parameter)

    def forward(self) -> None:
        p = Scaled.parameter
        self.set_grad_out(self.grad_in("x") * dr.detach(p) + dr.grad(p) * self.x)

    def backward(self) -> None:
        p = Scaled.parameter
        self.set_grad_in("x", self.grad_out() * dr.detach(p))
        dr.accum_grad(p, self.grad_out() * self.x)


@pytest.mark.parametrize("forward", [True, False])
def test_inputs_that_are_suspended(forward: bool) -> None:
    def run(suspended: str, resumed: str | None = None, late: bool = False) -> Any:
        arrays = {"p": tracked(3), "x": tracked(5)}
        Scaled.parameter, x = arrays["p"], arrays["x"]
        if late:
            y = dr.custom(Scaled, x)
        with dr.suspend_grad(*(arrays[name] for name in suspended)):
            if resumed is not None:
                with dr.resume_grad(*(arrays[name] for name in resumed)):
                    y = dr.custom(Scaled, x)
            elif not late:
                y = dr.custom(Scaled, x)
            elif not forward:
                dr.backward(y)
        if forward:
            dr.set_grad(Scaled.parameter, 1)
            dr.set_grad(x, 10)
            dr.enqueue(dr.ADMode.Forward, Scaled.parameter, x)
            dr.traverse(dr.ADMode.Forward)
            return dr.grad(y)[0]
        if not late:
            dr.backward(y)
        return dr.grad(Scaled.parameter)[0], dr.grad(x)[0]

    both, by_x, by_p = (35, 30, 5) if forward else ((5, 3), (0, 3), (5, 0))
    assert run("p") == by_x and run("x") == by_p
    assert run("", "p") == by_p and run("", "x") == by_x and run("", "") == both
    if not forward:  # the traversal's scope is not that of the operation
        assert run("p", late=True) == both


class Careless(dr.CustomOp):  # type: ignore[name-defined, misc]
    """Its backward() has gradients for what never gets them."""

    target: Any = None

    def eval(self, x: Any) -> Any:
        return x * 2

    def backward(self) -> None:
        self.set_grad_in("x", self.grad_out() * 2)
        target = Careless.target
        with dr.suspend_grad(*([target] if dr.grad_enabled(target) else [])):
            dr.accum_grad(target, self.grad_out())


def test_gradients_that_are_lost() -> None:
    """Nothing is said of what was suspended around the operation; of others it is."""
    x, p = tracked(5), tracked(3)
    plain = Float64(1)
    for target, around, warns in (
        (p, (p,), False),  # it is suspended where the operation was made
        (p, (plain,), True),  # in backward() only
        (plain, (p,), True),  # it is not tracked
        (plain, (), True),
    ):
        Careless.target = target
        with dr.suspend_grad(*around, when=bool(around)):
            y = dr.custom(Careless, x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dr.backward(y)
        assert ["gradient is lost" in str(w.message) for w in caught] == [True] * warns
    assert x.grad == 8 and p.grad == 0
    Careless.target = None


def test_a_frozen_function_warns_once() -> None:
    """It is called again for its derivative, and has said what there is to say."""
    plain = dr.opaque(Float64, 1)

    def careless(x: Any) -> Any:
        dr.accum_grad(plain, x)
        y = x * x
        dr.backward(y)
        dr.backward(y)
        return x * 3

    for function in (careless, dr.freeze(careless)):
        x = tracked(5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = function(x)
            dr.backward(y)
        text = [str(w.message) for w in caught]
        assert len(text) == 2 and "gradient is lost" in text[0]
        assert "no gradient goes on from here" in text[1]
        assert x.grad == 13


# ---------------------------------------------------------------- broadcast

SHAPES = [
    ((3, 4), (3, 1)),
    ((3, 4), (1, 4)),
    ((3, 4), (1, 1)),
    ((3, 4), (4,)),
    ((2, 3, 4), (2, 1, 4)),
    ((2, 3, 4), (1, 3, 1)),
    ((2, 3, 4, 5), (1, 3, 1, 5)),
    ((2, 3, 4, 5), (2, 1, 4, 1)),
    ((2, 1, 4), (1, 3, 1)),
    ((2, 3, 4, 2, 3), (1, 3, 1, 2, 1)),
]


def summed(g: Any, shape: Any) -> Any:
    g = g.reshape(-1, *g.shape[g.ndim - len(shape) :]).sum(0)
    axes = tuple(k for k, n in enumerate(shape) if n == 1)
    return g.sum(axes, keepdims=True).reshape(shape)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast(shapes: Any) -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.normal(size=shape) for shape in shapes)
    w = rng.normal(size=np.broadcast_shapes(*shapes))
    x, y = TensorXf64(a), TensorXf64(b)
    dr.enable_grad(x, y)
    dr.backward(dr.sum(x * y * y * TensorXf64(w)))
    assert np.allclose(x.grad, summed(w * b * b + 0 * a, a.shape))
    assert np.allclose(y.grad, summed(2 * w * a * b, b.shape))
    dr.set_grad((x, y), (2, 3))
    assert np.allclose(dr.forward_to(x * y * y), 2 * b * b + 6 * a * b + 0 * w)
    _, second = dr.ad.hvp(
        lambda y: dr.sum(x * y * y * y), (TensorXf64(b),), (TensorXf64(b * 0 + 1),)
    )
    assert np.allclose(second[0], summed(6 * a * b + 0 * w, b.shape))


@pytest.mark.parametrize("shape", [(700, 1), (1, 700), (700,), (1, 700, 1)], ids=str)
def test_sums_of_what_was_broadcast_have_one_order(shape: Any) -> None:
    rng = np.random.default_rng(3)
    big = rng.normal(size=(300, 700, 3) if len(shape) == 3 else (700, 700))
    wide = TensorXf(big.astype(np.float32))
    threads, found = dr.thread_count(), set()
    try:
        for count in (threads, 0, 1, 3, threads):
            dr.set_thread_count(count)
            x = TensorXf(dr.ones(Float, 700), shape)
            dr.enable_grad(x)
            dr.backward(dr.sum(wide * x * 0.37))
            found.add(x.grad.numpy().tobytes())
    finally:
        dr.set_thread_count(threads)
    assert len(found) == 1
    expected = summed(0.37 * big, shape)
    assert np.allclose(
        np.frombuffer(found.pop(), np.float32), expected.ravel(), 1e-3, 1e-3
    )


def test_tiled() -> None:
    x = tracked(1, 2, 3)
    dr.backward(dr.tile(x, 4) * dr.arange(Float64, 12))
    assert np.all(x.grad == [18, 22, 26])


# ---------------------------------------------------------------- relative


def test_relative_grad() -> None:
    def push(x: Any) -> Any:
        dr.enable_grad(x)
        y = dr.relative_grad(x)
        dr.forward(x)
        return y.numpy(), y.grad.numpy()

    for x, slope in (
        (Float64(2, -4, 0), [0.5, -0.25, 0]),
        (TensorXf64([[1, 2], [4, 0]]), [[1, 0.5], [0.25, 0]]),
        (ArrayXf64([[1, 2], [4, 0]]), [[1, 0.5], [0.25, 0]]),
    ):
        value, found = push(x)
        assert np.all(value == 1) and np.all(found == slope)
    value, found = push(Complex2f64(1, 2))
    assert np.all(value == 1) and np.allclose(found, (1 + 1j) / (1 + 2j))
    assert np.all(push(Quaternion4f64(0, 0, 0, 0))[1] == 0)
    x = tracked(2)
    dr.backward(dr.relative_grad(x * x))
    assert x.grad == 1 and dr.relative_grad(3) == 1
    for wrong in (Int(3), (x,), "x"):
        with pytest.raises(TypeError, match=r"relative_grad\(\): 'arg' is of type"):
            dr.relative_grad(wrong)
