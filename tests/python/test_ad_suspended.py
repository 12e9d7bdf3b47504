"""Loops, conditionals and calls where derivatives are suspended; functions of drjit.ad
that change their arguments in place.

What a caller has stays tracked, and bodies may resume. Expected values are those of
NumPy, or of the formula.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array3f64, Float64, TensorXf64, UInt

MODES = ["symbolic", "evaluated"]


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def tracked(*values: float) -> Float64:
    x = Float64(*values)
    dr.enable_grad(x)
    return x


def loop(mode: str, body: Callable[..., Any], *states: Any, count: int = 2) -> Any:
    return dr.while_loop(
        (UInt(0), *states),
        lambda i, *states: i < count,
        lambda i, *states: (i + 1, *body(*states)),
        mode=mode,
    )[1:]


def branch(mode: str, mask: Any, yes: Any, no: Any, *args: Any) -> Any:
    return dr.if_stmt(args, mask, yes, no, mode=mode)


def call(mode: str, functions: Any, index: Any, *args: Any) -> Any:
    with dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, mode == "symbolic"):
        return dr.switch(index, functions, *args)


# ---------------------------------------------------------------- suspended


@pytest.mark.parametrize("mode", MODES)
def test_callers_stay_tracked(mode: str) -> None:
    x, y = tracked(1, 2, 3), tracked(4, 5, 6)
    with dr.suspend_grad():
        _, same, double = loop(
            mode, lambda s, a, b: (s + a, a, b * 2), Float64(0), x, x
        )
        assert same is x and not dr.grad_enabled(x, same, double)
        given = branch(mode, x > 1, lambda a: a, lambda a: a, x)
        one, two = branch(mode, x > 1, lambda a, b: (b, a), lambda a, b: (a, b), x, y)
        called = call(mode, [lambda a: a, lambda a: a * 2], UInt(0, 1, 1), x)
    assert dr.grad_enabled(x) and dr.grad_enabled(given) and dr.grad_enabled(same)
    for other in (double, one, two, called):
        assert not dr.grad_enabled(other)
    nested = [x, {"x": Array3f64(x, 1, 2)}]
    with dr.suspend_grad(x):
        loop(mode, lambda tree: (tree,), nested)
    assert dr.grad_enabled(nested[0]) and dr.grad_enabled(nested[1])
    dr.backward(nested[0] * same + given)
    assert np.allclose(x.grad, [3, 5, 7])


@pytest.mark.parametrize("mode", MODES)
def test_detached_in_the_body(mode: str) -> None:
    x = tracked(1, 2, 3)
    (out,) = loop(mode, lambda a: (dr.detach(a),), x)
    assert not dr.grad_enabled(out)


def square(x: Any) -> Any:
    with dr.resume_grad():
        dr.backward(x * x)
    return x


def twice(x: Any) -> Any:
    with dr.resume_grad():
        dr.backward(2 * x)
    return x


@pytest.mark.parametrize("mode", MODES)
def test_bodies_that_resume(mode: str) -> None:
    def check(expected: Any, run: Any, *values: float) -> None:
        x = tracked(*(values or (1, 2, 3)))
        with dr.suspend_grad():
            run(x)
        assert dr.grad_enabled(x) and np.allclose(x.grad, expected)

    check([4, 8, 12], lambda x: loop(mode, lambda a: (square(a),), x))
    check([4, 8, 12], lambda x: loop(mode, lambda s: (square(x) + s,), Float64(0)))
    check([0, 4, 6], lambda x: branch(mode, x > 1, square, lambda a: a, x))
    check([0, 4, 6], lambda x: branch(mode, x > 1, lambda: square(x), lambda: x))
    check([2, 4, 6], lambda x: call(mode, [twice, square], UInt(0, 1, 1), x))
    check(
        [0, 8, 12],
        lambda x: loop(
            mode, lambda a: (branch(mode, a > 1, square, lambda a: a, a),), x
        ),
    )
    check(
        [8, 16, 24],
        lambda x: loop(mode, lambda a: loop(mode, lambda b: (square(b),), a), x),
    )

    def by_name(x: Any) -> Any:
        with dr.resume_grad(x):
            dr.backward(x * x)
        return x

    check([4, 8, 12], lambda x: loop(mode, lambda a: (by_name(a),), x))

    def gathers(x: Any, i: Any) -> Any:
        with dr.resume_grad():
            dr.backward(2 * dr.gather(Float64, x, i))
        return x, i

    check([4, 8, 0], lambda x: loop(mode, gathers, x, UInt(0, 1, 1)))


@pytest.mark.parametrize("mode", MODES)
def test_bodies_that_resume_and_add_to_an_array(mode: str) -> None:
    x, total = tracked(1, 2, 3), dr.zeros(Float64, 3)

    def body(x: Any) -> Any:
        with dr.resume_grad():
            dr.scatter_add(total, x * x, dr.arange(UInt, 3))
        return (x,)

    with dr.suspend_grad():
        loop(mode, body, x)
        assert not dr.grad_enabled(total) and not dr.grad_enabled(2 * total)
    dr.backward(total)
    assert np.allclose(total, [2, 8, 18]) and np.allclose(x.grad, [4, 8, 12])


@pytest.mark.parametrize("mode", MODES)
def test_path_replay(mode: str) -> None:
    """A sum of powers: a pass without derivatives, then one that has them."""
    s, n = tracked(0.5, 0.3, 0.9), UInt(3, 4, 0)

    def replay(i: Any, t: Any, rest: Any) -> Any:
        with dr.resume_grad():
            dr.backward(s / dr.detach(s) * rest)
        t = t * dr.detach(s)
        return i + 1, t, rest - t

    with dr.suspend_grad():
        _, _, total = dr.while_loop(
            (UInt(0), Float64(1), Float64(0)),
            lambda i, t, total: i < n,
            lambda i, t, total: (i + 1, t * s, total + t * s),
            mode=mode,
        )
        dr.while_loop(
            (UInt(0), Float64(1), total), lambda i, t, rest: i < n, replay, mode=mode
        )
    powers = [(0.5, 3), (0.3, 4), (0.9, 0)]
    expected = [sum(k * v ** (k - 1) for k in range(1, n + 1)) for v, n in powers]
    assert np.allclose(s.grad, expected)


# ---------------------------------------------------------------- in place


def changes(state: dict[str, Any], more: list[Any], vector: Any, count: Any) -> Any:
    state["a"] *= 2
    count += 1
    more[0] = more[0] + state["a"]
    more.append(None)
    dr.scatter_add(more[0], Float64(1), UInt(0))
    vector.x += state["a"]
    return dr.sum(more[0] * more[0] * state["a"] * vector.x * Float64(count))


def changed(a: Any, b: Any, x: Any) -> Any:
    a = 2 * a
    b = b + a + [1, 0, 0]
    return np.sum(b * b * a * (x + a))


def quotients(arrays: list[Any], which: int, eps: float = 1e-6) -> Any:
    found = []
    for k in range(3):
        both = []
        for step in (eps, -eps):
            own = [array.copy() for array in arrays]
            own[which][k] += step
            both.append(changed(*own))
        found.append((both[0] - both[1]) / (2 * eps))
    return found


def test_functions_that_change_their_arguments() -> None:
    a, b, x = np.array([1.0, 2, 3]), np.array([4.0, 5, 6]), np.array([0.1, 0.2, 0.3])
    args = {"a": Float64(a)}, [Float64(b)], Array3f64(x, 1, 2), UInt(0)
    value, found = dr.ad.value_and_grad(changes)(*args)
    assert np.allclose(value, changed(a, b, x))
    for which, own in enumerate((found[0]["a"], found[1][0], found[2].x)):
        assert np.allclose(own, quotients([a, b, x], which), rtol=1e-6)
    dr.check_grad(changes, *args)
    assert np.all(args[0]["a"].numpy() == a) and len(args[1]) == 1
    assert np.all(args[1][0].numpy() == b) and np.all(args[2].x.numpy() == x)
    assert args[3] == 0 and not dr.grad_enabled(args)


def test_in_place_in_all_functions() -> None:
    def loss(z: Any) -> Any:
        z *= 2
        return dr.sum(z * z * z)

    def tensor_loss(t: Any) -> Any:
        t[0, 1] = 5
        t += 1
        return dr.sum(t * t)

    z, one = Float64(1, 2, 3), Float64(1, 1, 1)
    assert np.allclose(dr.ad.gradient(loss)(z), [24, 96, 216])
    assert np.allclose(dr.ad.jvp(loss, (z,), (one,))[1], 336)
    assert np.allclose(dr.ad.hvp(loss, (z,), (one,))[1][0], [48, 96, 144])
    _, back = dr.ad.vjp(loss, z)
    assert np.allclose(back(Float64(2))[0], [48, 192, 432])
    t = TensorXf64([[1, 2], [3, 4]])
    assert np.allclose(dr.ad.gradient(tensor_loss)(t), [[4, 0], [8, 10]])
    dr.check_grad(loss, z)
    dr.check_grad(tensor_loss, t)
    assert np.allclose(z, [1, 2, 3]) and np.allclose(t, [[1, 2], [3, 4]])
