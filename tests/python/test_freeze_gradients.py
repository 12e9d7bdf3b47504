"""Derivatives in functions that ``drjit.freeze`` records, and through them: they are
repeated for other sizes, with the bits of the function itself.

The reference is the function, called with the same inputs. ``n_recordings`` tells
which calls were repeated: one recording does for all sizes, or two if kernels compute
with the size; in the second one they read it.
"""

from __future__ import annotations

import collections
import copy
import gc
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array3f, Float, Float16, Float64, TensorXf, UInt

Program = Callable[[Float, Float], Any]
SIZES = (12, 8, 20, 6, 300, 14)


def ramp(size: int, dtype: Any = Float) -> Any:
    x = dtype(dr.arange(dtype, size) * 0.5 + 1)
    dr.eval(x)
    return x


def bits(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in bits(part)]
    if isinstance(value, dr.ArrayBase):
        numbers = np.array(value.numpy())
        return [(numbers.shape, numbers.tobytes())]
    return [value]


# ---------------------------------------------------------------- programs


def add_up(x: Float, p: Float) -> Float:
    total = dr.zeros(Float, 5)
    dr.scatter_add(total, x * x * p, UInt(x) % 5)
    return dr.sum(total * total)


def permute(x: Float, p: Float) -> Float:
    other = dr.zeros(Float, dr.width(x))
    dr.scatter(other, x * x * p, dr.reverse(dr.arange(UInt, dr.width(x))))
    return dr.sum(other * other * x)


def replace_half(x: Float, p: Float) -> Float:
    other = x * p
    dr.scatter(other, p, dr.arange(UInt, dr.width(x) // 2))
    return dr.sum(other * x)


def shift(x: Float, p: Float) -> Float:
    i = dr.arange(UInt, dr.width(x) - 1)
    y = x * p
    return dr.sum(dr.square(dr.gather(Float, y, i + 1) - dr.gather(Float, y, i)))


def table(x: Float, p: Float) -> Float:
    """Blocks have a sum each, which all of their entries look up."""
    sums = dr.block_sum(x * p, 2)
    return dr.sum(dr.gather(Float, sums, dr.arange(UInt, dr.width(x)) // 2) * x)


def vectors(x: Float, p: Float) -> Float:
    v = Array3f(x, x * p, 1)
    points = dr.gather(Array3f, dr.ravel(v), dr.arange(UInt, dr.width(x)))
    return dr.sum(dr.dot(dr.normalize(v), points))


def called(x: Float, p: Float) -> Float:
    functions = [lambda x, p: x * p, lambda x, p: dr.sin(x) + p]
    return dr.sum(dr.switch(UInt(x) % 2, functions, x, p))


@dr.syntax
def chosen(x: Float, p: Float) -> Float:
    if x > 3 * p:
        y = x * x * p
    else:
        y = dr.sin(x) * p
    return dr.sum(y)


@dr.syntax
def powers(x: Float, p: Float) -> Float:
    i, y = UInt(0), Float(x)
    while i < 4:
        y = y * p + x
        i += 1
    return dr.sum(y)


@dr.syntax
def bounded(x: Float, p: Float) -> Float:
    i, y = UInt(0), Float(x)
    while dr.hint(i < UInt(x) % 5, max_iterations=8):
        y = dr.sin(y * p) + dr.gather(Float, x, i)
        i += 1
    return dr.sum(y)


@dr.syntax
def nested(x: Float, p: Float) -> Float:
    i, y = UInt(0), Float(x)
    while i < 3:
        if y > p:
            j = UInt(0)
            while j < i:
                y = dr.sin(y) * p + x
                j += 1
        else:
            y = dr.replace_grad(y, x)
        i += 1
    return dr.sum(y)


@dr.syntax
def rewritten(x: Float, p: Float) -> Float:
    """A loop in a loop overwrites what both have written."""
    i, y, out = UInt(0), Float(x), x * p
    lane = dr.arange(UInt, dr.width(x))
    while i < 3:
        j = UInt(0)
        while dr.hint(j < i, max_iterations=4):
            dr.scatter(out, y * p, lane, y > 1)
            y = dr.sin(y) + p
            j += 1
        i += 1
    return dr.sum(dr.square(out))


@dr.syntax
def local(x: Float, p: Float) -> Float:
    i, y, seen = UInt(0), Float(x), dr.alloc_local(Float, 4, value=Float(p))
    while i < 4:
        seen[i] = y * p
        y = dr.sin(y) + seen[i]
        i += 1
    return dr.sum(y + seen[2])


class Halve(dr.CustomOp):
    """Whose gradients have one entry where those that it is given do."""

    def eval(self, x: Float) -> Any:
        return x * 0.5

    def forward(self) -> None:
        self.set_grad_out(self.grad_in("x") * 0.5)

    def backward(self) -> None:
        self.set_grad_in("x", self.grad_out() * 0.5)


def within(x: Float, p: Float) -> Float:
    """A gradient that is used as a value, whose derivative is of second order."""
    y = x * x * x * p
    dr.set_grad(x, 1)
    dr.enqueue(dr.ADMode.Forward, x)
    dr.traverse(dr.ADMode.Forward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearEdges)
    slope = dr.grad(y, preserve_type=True)
    dr.clear_grad((x, y))
    return dr.sum(dr.square(slope))


# The number of recordings, at most.
PROGRAMS: dict[str, tuple[Program, int]] = {
    "sum": (lambda x, p: dr.sum(dr.square(x - p)), 1),
    "mean": (lambda x, p: dr.mean(dr.square(x - p)), 1),
    "each": (lambda x, p: dr.square(x - p) * p, 1),
    "offset": (lambda x, p: dr.sum(dr.detach(x) + p), 1),
    "counted": (lambda x, p: dr.sum(dr.detach(x) + p) * 0.1 + p * p * p, 1),
    "prod": (lambda x, p: dr.prod(x * 0.01 + p), 1),
    "max": (lambda x, p: dr.max(x * p), 1),
    "nothing": (lambda x, p: dr.sum(x * 0 * p), 1),
    "gather": (lambda x, p: dr.sum(dr.gather(Float, x * p, UInt(x) % 6)), 1),
    "gather_one": (lambda x, p: dr.sum(dr.gather(Float, p, UInt(x) * 0) * x), 1),
    "shift": (shift, 1),
    "table": (table, 1),
    "vectors": (vectors, 1),
    "scatter_add": (add_up, 1),
    "scatter": (permute, 2),
    "overwrite": (replace_half, 1),
    "select": (lambda x, p: dr.sum(dr.select(x > 3, x * p, dr.sin(x))), 1),
    "minimum": (lambda x, p: dr.sum(dr.minimum(x, p) * dr.maximum(x, p)), 1),
    "block_sum": (lambda x, p: dr.sum(dr.square(dr.block_sum(x * p, 2))), 1),
    "block_max": (lambda x, p: dr.block_reduce(dr.ReduceOp.Max, x * p, 2), 1),
    "cumsum": (lambda x, p: dr.sum(dr.square(dr.cumsum(x * p))), 1),
    "block_prefix": (lambda x, p: dr.square(dr.block_prefix_sum(x * p, 2)), 1),
    "dot": (lambda x, p: dr.dot(x, x * p), 1),
    "norm": (lambda x, p: dr.norm(x * p), 1),
    "var": (lambda x, p: dr.var(x * p), 2),
    "repeat": (lambda x, p: dr.square(dr.repeat(x * p, 3)), 1),
    "tile": (lambda x, p: dr.square(dr.tile(x * p, 3)), 2),
    "reverse": (lambda x, p: dr.sum(dr.reverse(x * p) * x), 2),
    "reverse_zeros": (lambda x, p: dr.reverse(x * 0) * p + x, 2),
    "sort": (lambda x, p: dr.sort(x * p) * dr.arange(Float, dr.width(x)), 1),
    "twice": (lambda x, p: dr.sum(x * dr.sum(x * p)), 1),
    "replace": (lambda x, p: dr.sum(dr.replace_grad(x * 2, p)), 1),
    "custom": (lambda x, p: dr.sum(dr.custom(Halve, x + p) * 3), 1),
    "tensor": (lambda x, p: TensorXf(x * p, (dr.width(x) // 2, 2)) * 2, 1),
    "rows": (
        lambda x, p: dr.sum(TensorXf(x * p, (dr.width(x) // 2, 2)), axis=1),
        1,
    ),
    "switch": (called, 1),
    "if": (chosen, 1),
    "while": (powers, 1),
    "bounded": (bounded, 1),
    "nested": (nested, 1),
    "rewritten": (rewritten, 1),
    "second": (within, 1),
    "local": (local, 1),
}


def reverse(function: Program) -> Program:
    def gradients(x: Float, p: Float) -> Any:
        x, p = Float(x), Float(p)
        dr.enable_grad(x, p)
        y = function(x, p)
        dr.backward(y)
        return dr.detach(y), dr.grad(x), dr.grad(p)

    return gradients


def forward(function: Program) -> Program:
    def derivative(x: Float, p: Float) -> Any:
        x, p = Float(x), Float(p)
        dr.enable_grad(x, p)
        dr.set_grad(x, dr.detach(x) * 0.5)
        dr.set_grad(p, 1)
        y = function(x, p)
        return dr.detach(y), dr.forward_to(y)

    return derivative


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("make", [reverse, forward])
def test_within(make: Callable[[Program], Program], name: str) -> None:
    function, most = PROGRAMS[name]
    plain = make(function)
    frozen = dr.freeze(plain, warn_after=1000)
    for size in SIZES:
        inputs = ramp(size), dr.opaque(Float, 0.75)
        assert bits(frozen(*inputs)) == bits(plain(*inputs)), size
    assert frozen.n_recordings <= most, frozen.explain()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "second"])
@pytest.mark.parametrize("make", [reverse, forward])
def test_through(make: Callable[[Program], Program], name: str) -> None:
    function, most = PROGRAMS[name]
    frozen = dr.freeze(function, warn_after=1000)
    plain, through = make(function), make(frozen)
    for size in SIZES:
        inputs = ramp(size), dr.opaque(Float, 0.75)
        assert bits(through(*inputs)) == bits(plain(*inputs)), size
    derivatives = frozen._derivatives
    most += most > 1  # the first gradient is a literal, which is put into memory
    for recorded in (frozen, derivatives.pull, derivatives.push):
        assert recorded.n_recordings <= most, recorded.explain()


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_entries(name: str) -> None:
    """What has one entry is never taken for what has many, or the other way round."""
    function, _ = PROGRAMS[name]
    for first in (2, 4, 12):
        plain = reverse(function)
        frozen = dr.freeze(plain, warn_after=1000)
        for size in (first, 12, 2, 4, 1):
            inputs = ramp(size), dr.opaque(Float, 0.75)
            try:
                expected = bits(plain(*inputs))
            except (RuntimeError, TypeError, ValueError) as error:
                with pytest.raises(type(error)):
                    frozen(*inputs)
                continue
            assert bits(frozen(*inputs)) == expected, (first, size)


def test_one_block() -> None:
    """Of blocks that become a single one, there is a recording of their own."""
    plain = reverse(lambda x, p: dr.sum(dr.block_sum(dr.detach(x), 3) + p))
    frozen = dr.freeze(plain)
    for size in (6, 9, 3, 30, 3):
        inputs = ramp(size), dr.opaque(Float, 0.75)
        assert bits(frozen(*inputs)) == bits(plain(*inputs))
    assert frozen.n_recordings == 2


@pytest.mark.parametrize("dtype", [Float16, Float, Float64])
@pytest.mark.parametrize("factor", [0.0, 0.1, 0.3, 1.0, 1.1, -1.0, -0.7])
def test_counted(dtype: Any, factor: float) -> None:
    """A gradient with one entry counts for many, and is rounded as if the number of
    these was no size."""

    def plain(x: Any, p: Any) -> Any:
        p = dtype(p)
        dr.enable_grad(p)
        y = dr.sum(dr.detach(x) + p) * factor + p * p * p
        dr.backward(y + (dr.detach(x) * p + p) * factor)
        return dr.grad(p)

    frozen = dr.freeze(plain)
    for size in (12, 7, 33, 100, 57, 1001, 13):
        inputs = ramp(size, dtype), dr.opaque(dtype, 0.7312)
        assert bits(frozen(*inputs)) == bits(plain(*inputs)), size
    assert frozen.n_recordings == 1


def test_sizes_that_agree_by_chance() -> None:
    """A gradient has to have the size of its variable, each time."""

    def plain(x: Float, z: Float) -> Any:
        x = Float(x)
        dr.enable_grad(x)
        y = dr.gather(Float, x, dr.arange(UInt, dr.width(x) // 2)) * 2
        dr.set_grad(y, dr.gather(Float, z, dr.arange(UInt, dr.width(z) // 3)))
        dr.enqueue(dr.ADMode.Backward, y)
        dr.traverse(dr.ADMode.Backward)
        return dr.grad(x)

    frozen = dr.freeze(plain)
    for first, second in ((12, 18), (16, 24), (20, 30)):
        inputs = ramp(first), ramp(second)
        assert bits(frozen(*inputs)) == bits(plain(*inputs))
    assert frozen.n_recordings == 1
    with pytest.raises(RuntimeError, match="the gradient has 10 entries, expected 8"):
        frozen(ramp(16), ramp(30))


def test_optimiser() -> None:
    """Steps of an optimisation, for other data each time."""

    def plain(state: dict[str, Float], x: Float, y: Float) -> Float:
        a, b = Float(state["a"]), Float(state["b"])
        dr.enable_grad(a, b)
        loss = dr.mean(dr.square(dr.fma(x, a, b) - y))
        dr.backward(loss)
        for name, parameter in (("a", a), ("b", b)):
            gradient = dr.grad(parameter)
            state["m" + name] = 0.9 * state["m" + name] + 0.1 * gradient
            state["v" + name] = 0.99 * state["v" + name] + 0.01 * dr.square(gradient)
            step = state["m" + name] / (dr.sqrt(state["v" + name]) + 1e-8)
            state[name] = dr.detach(parameter) - 0.01 * step
        return dr.detach(loss)

    frozen = dr.freeze(plain)
    states = []
    for step in (plain, frozen):
        state = {name: dr.opaque(Float, 0) for name in ("a", "b", "ma", "mb")}
        state |= {name: dr.opaque(Float, 1) for name in ("va", "vb")}
        for size in SIZES:
            x = ramp(size) / size
            y = 3 * x + 1
            dr.eval(x, y)
            step(state, x, y)
            dr.eval(state)
        states.append(bits(list(state.values())))
    assert states[0] == states[1]
    assert frozen.n_recordings == 1


def test_in_bodies() -> None:
    """dr.backward() in a recorded loop adds to gradients of variables from outside."""

    @dr.syntax
    def plain(x: Float, p: Float) -> Any:
        x, p = Float(x), Float(p)
        dr.enable_grad(x, p)
        i = UInt(0)
        while i < 3:
            dr.backward(dr.square(x) * p + dr.gather(Float, x, i))
            i += 1
        return dr.grad(x), dr.grad(p)

    frozen = dr.freeze(plain, warn_after=1000)
    for size in SIZES:
        inputs = ramp(size), dr.opaque(Float, 0.75)
        for found, expected in zip(frozen(*inputs), plain(*inputs), strict=True):
            assert dr.allclose(found, expected), size
    assert frozen.n_recordings == 1, frozen.explain()


# ---------------------------------------------------------------- from further back


def forward_of_square(u: Float64) -> Float64:
    flags = dr.ADFlag.ClearVertices | dr.ADFlag.AllowNoGrad
    return dr.detach(dr.forward_to(u * u, flags=flags))


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("loaded", [False, True])
def test_tangents_from_further_back(depth: int, loaded: bool, tmp_path: Any) -> None:
    """The function is called where there are some, and repeated where there is none."""
    frozen = dr.freeze(forward_of_square, warn_after=1000)
    x = ramp(4, Float64)
    dr.enable_grad(x)
    u = x
    for _ in range(depth):
        u = dr.sin(u) + u
    if loaded:
        for at_u in (0, 1):
            dr.set_grad(u, at_u) if at_u else dr.clear_grad(u)
            frozen(u)
        frozen.save(tmp_path / "f")
        frozen = dr.load_frozen(tmp_path / "f", forward_of_square)
    for at_x, at_u in ((0, 0), (0, 2), (0, 0), (3, 0), (3, 2), (0, 0), (0, 2), (5, 0)):
        seen = []
        for function in (forward_of_square, frozen):
            dr.clear_grad((x, u))
            if at_x and depth:
                dr.set_grad(x, at_x)
            if at_u:
                dr.set_grad(u, at_u)
            with dr.isolate_grad():
                result = function(u)
            seen.append(bits((result, x.grad, u.grad)))
        slope = np.ones(4)
        value = x.numpy()
        for _ in range(depth):
            slope, value = slope * (np.cos(value) + 1), np.sin(value) + value
        expected = 2 * value * (slope * at_x * (depth > 0) + at_u)
        assert seen[0] == seen[1]
        assert np.allclose(result.numpy(), expected, rtol=1e-12)
    assert frozen.n_recordings == 2 - loaded


def test_a_cycle_of_two_calls_is_collected() -> None:
    """An object that the function reads has what depends on two of its calls."""

    class Box:
        k: Any = None

    def calls(count: int) -> None:
        box, a = Box(), dr.opaque(Float, 2)
        dr.enable_grad(a)

        @dr.freeze
        def f(a: Float) -> Any:
            a += 1
            return box.k

        for _ in range(count):
            f(a)
        assert f.n_recordings == 1
        box.k = a

    for count in (1, 2, 3):
        calls(count)
        gc.collect()
        gc.collect()
        assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


held: Any = None


def test_what_has_changed_is_named_without_reading_it() -> None:
    """Its derivative is recorded, where arrays cannot be read."""
    global held

    def function(x: Any) -> Any:
        return (x + 1) * held[0]

    frozen = dr.freeze(function)
    x = Float(1, 2, -3)
    dr.enable_grad(x)
    held = collections.deque([dr.opaque(Float, 2), 1.0])
    first = frozen(x)
    held = copy.copy(held)
    second = frozen(x)
    with pytest.raises(RuntimeError, match="'held', deque then, has changed since"):
        dr.forward(x)
    assert list(first) == list(second) == [4, 6, -4]
    held = None


factor: Any = None


@pytest.mark.parametrize("named", [False, True])
def test_literals_that_are_tracked(named: bool) -> None:
    """They are inputs like others, also those that are read by name."""
    global factor
    frozen = dr.freeze(
        (lambda x: x * factor) if named else (lambda x, factor: x * factor)
    )
    for i in range(4):
        factor = dr.full(Float, 0.25 + i, 3 if i % 2 else 1)
        dr.enable_grad(factor)
        x = dr.opaque(Float, 1 + i, 3)
        result = frozen(x) if named else frozen(x, factor)
        assert list(result) == [(1 + i) * (0.25 + i)] * 3
        dr.backward(dr.sum(result * result))
        # d/df of 3 (x f)^2, in one entry or three
        slope = 2 * (1 + i) ** 2 * (0.25 + i)
        assert list(factor.grad) == ([slope] * 3 if i % 2 else [3 * slope])
    assert frozen.n_recordings > 0
    factor = None
