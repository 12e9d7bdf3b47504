"""Derivatives of loops, recorded and evaluated, against difference quotients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array2f64, Bool, Float64, UInt

X = Float64(0.5, 1.2, 2.0, 0.73)
P = Float64(0.8)
TIMES = UInt(2, 3, 1, 0)  # iterations of each lane


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


@pytest.fixture
def no_tape() -> Iterator[None]:
    limit = dr.ad.tape_limit()
    dr.ad.set_tape_limit(0)
    yield
    dr.ad.set_tape_limit(limit)


def repeat(start: Any, body: Callable[..., Any], mode: Any, **options: Any) -> Any:
    """The state after ``TIMES`` iterations of ``body(state, i)``."""
    return dr.while_loop(
        (start, UInt(0)),
        lambda y, i: i < TIMES,
        lambda y, i: (body(y, i), i + 1),
        mode=mode,
        **options,
    )[0]


def polynomial(x: Any, p: Any, mode: Any, **options: Any) -> Any:
    return repeat(Float64(1), lambda y, i: y * x + p, mode, **options) * x


def total(x: Any, p: Any, mode: Any, **options: Any) -> Any:
    return repeat(Float64(0), lambda y, i: y + dr.sin(x * i) * p, mode, **options) * x


def vectors(x: Any, p: Any, mode: Any) -> Any:
    v = repeat(Array2f64(x, x * p), lambda v, i: Array2f64(v.y * p, v.x + v.y), mode)
    return dr.dot(v, v)


def exchanged(x: Any, p: Any, mode: Any) -> Any:
    a, b = repeat([x, x * p], lambda s, i: [s[1] * dr.cos(s[0]), s[0]], mode)
    return a + 2 * b


def same_twice(x: Any, p: Any, mode: Any) -> Any:
    def body(s: Any, i: Any) -> Any:
        t = s[0] * s[1] + p
        return [t, t]

    a, b = repeat([x, p], body, mode)
    return a + 2 * b


def one_from_another(x: Any, p: Any, mode: Any) -> Any:
    def body(s: Any, i: Any) -> Any:
        t = s[0] * s[1] + p
        return [t, t * t * p]

    a, b = repeat([x, p], body, mode)
    return a + 2 * b


def assigned(x: Any, p: Any, mode: Any) -> Any:
    return repeat(p, lambda a, i: x, mode) ** 2


def unchanged(x: Any, p: Any, mode: Any) -> Any:
    y, _, a, b = dr.while_loop(
        (Float64(0.5), UInt(0), x, p),
        lambda y, i, x, p: i < TIMES,
        lambda y, i, x, p: (y * x + p, i + 1, x, p),
        mode=mode,
    )
    return y * a * b


def until(x: Any, p: Any, mode: Any) -> Any:
    (y,) = dr.while_loop((x,), lambda y: y < 1.5, lambda y: (y * y + p,), mode=mode)
    return y


def never(x: Any, p: Any, mode: Any) -> Any:
    y, _ = dr.while_loop(
        (x, UInt(5)), lambda y, i: i < TIMES, lambda y, i: (y * p, i + 1), mode=mode
    )
    return y * y * p


def reading(x: Any, p: Any, mode: Any) -> Any:
    def body(y: Any, i: Any) -> Any:
        return y * dr.gather(Float64, x, (i + 1) & 3) + dr.gather(Float64, p, UInt(0))

    return repeat(x, body, mode)


def reading_a_state(x: Any, p: Any, mode: Any) -> Any:
    y, _, _ = dr.while_loop(
        (x * p, UInt(0), x),
        lambda y, i, x: i < TIMES,
        lambda y, i, x: (y * dr.gather(Float64, x, (i + 1) & 3), i + 1, x),
        mode=mode,
    )
    return y


def writing(x: Any, p: Any, mode: Any) -> Any:
    out = x * p

    def body(y: Any, i: Any) -> Any:
        dr.scatter_add(out, y * y, (i + 1) & 3)
        return y * p

    y = repeat(x, body, mode)
    return out * out + y


def adding_up(x: Any, p: Any, mode: Any) -> Any:
    out = p * 2  # one entry

    def body(y: Any, i: Any) -> Any:
        dr.scatter_add(out, y * y, UInt(0))
        return y * p

    y = repeat(x, body, mode)
    return out * y


def nested(x: Any, p: Any, mode: Any, most: int | None) -> Any:
    """A loop in a loop, which runs three times at most."""

    def body(y: Any, i: Any) -> Any:
        z, _ = dr.while_loop(
            (x * y, UInt(0)),
            lambda z, j: j < i + 1,
            lambda z, j: (z * dr.cos(y) + p, j + 1),
            mode=mode,
            max_iterations=most,
        )
        return y + z * p

    return repeat(x, body, mode) * x


def loop_in_loop(x: Any, p: Any, mode: Any) -> Any:
    return nested(x, p, mode, None)


def bounded_in_loop(x: Any, p: Any, mode: Any) -> Any:
    return nested(x, p, mode, 3)


def local_in_loop(x: Any, p: Any, mode: Any) -> Any:
    """A local array in the state of a loop in a loop."""

    def body(y: Any, i: Any) -> Any:
        def turn(a: Any, z: Any, j: Any) -> Any:
            entry = a[j % 3]
            a[j % 3] = dr.sin(entry + z * p)
            return a, z * 0.5 + entry * x, j + 1

        a = dr.alloc_local(Float64, 3, value=x)
        a, z, _ = dr.while_loop(
            (a, y, UInt(0)), lambda a, z, j: j < i + 4, turn, mode="symbolic"
        )
        return dr.sin(z) + a[0] * a[1]

    return repeat(x, body, mode)


def loop_in_evaluated_loop(x: Any, p: Any, mode: Any) -> Any:
    def body(y: Any, i: Any) -> Any:
        z, _ = dr.while_loop(
            (y, UInt(0)), lambda z, j: j < 2, lambda z, j: (z * p, j + 1), mode=mode
        )
        return dr.sin(z)

    return repeat(x, body, "evaluated")


def if_in_loop(x: Any, p: Any, mode: Any) -> Any:
    def body(y: Any, i: Any) -> Any:
        return dr.if_stmt(
            (y,), y > 0.7, lambda y: dr.sin(y) * p, lambda y: y * y + x, mode=mode
        )

    return repeat(x, body, mode)


def loop_in_if(x: Any, p: Any, mode: Any) -> Any:
    return dr.if_stmt(
        (x,), x > 0.6, lambda x: repeat(x, lambda y, i: y * y * p, mode),
        lambda x: x * p, mode=mode,
    )  # fmt: skip


def loop_in_call(x: Any, p: Any, mode: Any) -> Any:
    def callee(x: Any, p: Any) -> Any:
        return dr.while_loop(
            (x, UInt(0)), lambda y, i: i < 3, lambda y, i: (y * y * p, i + 1), mode=mode
        )[0]

    targets = [callee, lambda x, p: x * p]
    return dr.switch(UInt(0, 1, 0, 1), targets, x, p, mode=mode)


def call_in_loop(x: Any, p: Any, mode: Any) -> Any:
    def body(y: Any, i: Any) -> Any:
        return dr.switch(
            i & 1, [lambda y: y * y * p, lambda y: dr.sin(y) + p], y, mode=mode
        )

    return repeat(x, body, mode)


LOOPS = {
    f.__name__: f
    for f in (
        polynomial, total, vectors, exchanged, same_twice, one_from_another, assigned,
        unchanged, until, never, reading, reading_a_state, writing, adding_up,
        loop_in_loop, bounded_in_loop, local_in_loop, loop_in_evaluated_loop,
        if_in_loop, loop_in_if, loop_in_call, call_in_loop,
    )
}  # fmt: skip


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str, mode: str) -> None:
    dr.check_grad(lambda x, p: LOOPS[name](x, p, mode), X, P)


@pytest.mark.parametrize("name", LOOPS)
def test_without_a_tape(name: str, no_tape: None) -> None:
    dr.check_grad(lambda x, p: LOOPS[name](x, p, "symbolic"), X, P)


@pytest.mark.parametrize("name", LOOPS)
def test_without_optimisations(name: str) -> None:
    with dr.scoped_set_flag(dr.JitFlag.OptimizeLoops, False):
        dr.check_grad(lambda x, p: LOOPS[name](x, p, "symbolic"), X, P)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("name", LOOPS)
def test_second_order(name: str, mode: str) -> None:
    def loss(x: Any, p: Any) -> Any:
        return dr.sum(LOOPS[name](x, p, mode) * Float64(1, 1.3, 0.7, 0.9))

    direction = (Float64(1, -0.5, 0.25, 0.7), Float64(0.3))
    found, products = dr.ad.hvp(loss, (X, P), direction)
    gradient = dr.ad.gradient(loss)
    step = 1e-5
    above = gradient(X + step * direction[0], P + step * direction[1])
    below = gradient(X - step * direction[0], P - step * direction[1])
    here = gradient(X, P)
    for k in (0, 1):
        quotient = (above[k].numpy() - below[k].numpy()) / (2 * step)
        assert np.allclose(found[k].numpy(), here[k].numpy(), rtol=1e-13)
        assert np.allclose(products[k].numpy(), quotient, rtol=1e-6, atol=1e-6)


def test_third_order() -> None:
    x = Float64(0.5, 1.2)
    dr.enable_grad(x)
    y = dr.while_loop((x, UInt(0)), lambda y, i: i < 2, lambda y, i: (y * y, i + 1))[0]
    orders = []
    for _ in range(3):
        dr.set_grad(x, 1)
        dr.enqueue(dr.ADMode.Backward, y)
        dr.traverse(dr.ADMode.Forward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
        before, y = y, dr.grad(y)
        dr.clear_grad((x, before))
        orders.append(y.numpy())
    v = np.array([0.5, 1.2])
    assert np.allclose(orders, [4 * v**3, 12 * v**2, 24 * v])
    del before, y


def tracked_gradient(loss: Any, x: Any, p: Any) -> tuple[Any, Any]:
    """The gradient of a loss by x and p, which can be differentiated."""
    dr.set_grad(loss, 1)
    dr.enqueue(dr.ADMode.Backward, loss)
    flags = dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices
    dr.traverse(dr.ADMode.Backward, flags)
    found = dr.grad((x, p))
    dr.clear_grad((x, p))
    return found


DIRECTION = np.array([1, -0.5, 0.25, 0.7]), np.array([0.3])


def along(gradient: tuple[Any, Any]) -> Any:
    """Its derivative along DIRECTION, if it is a gradient."""
    return dr.sum(gradient[0] * Float64(DIRECTION[0])) + dr.sum(
        gradient[1] * Float64(DIRECTION[1])
    )


def quotients(function: Callable[..., Any], step: float = 1e-4) -> list[Any]:
    """What the results of a function of X and P differ by along DIRECTION: central
    differences, extrapolated."""

    def difference(h: float) -> list[Any]:
        up, down = (
            function(
                Float64(X.numpy() + s * h * DIRECTION[0]),
                Float64(P.numpy() + s * h * DIRECTION[1]),
            )
            for s in (1, -1)
        )
        return [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]

    return [
        (4 * a - b) / 3
        for a, b in zip(difference(step), difference(2 * step), strict=True)
    ]


def products(name: str, mode: str, order: int, x: Any, p: Any) -> list[Any]:
    """Derivatives of the gradient of a loop along DIRECTION, all in reverse mode."""
    x, p = Float64(x), Float64(p)
    dr.enable_grad(x, p)
    loss = dr.sum(LOOPS[name](x, p, mode) * Float64(1, 1.3, 0.7, 0.9))
    for _ in range(order - 1):
        loss = along(tracked_gradient(loss, x, p))
    if dr.grad_enabled(loss):
        dr.backward(loss)
    return [x.grad.numpy(), p.grad.numpy()]


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("name", LOOPS)
def test_reverse_over_reverse(name: str, mode: str) -> None:
    found = products(name, mode, 2, X, P)
    for a, b in zip(
        found, quotients(lambda x, p: products(name, mode, 1, x, p)), strict=True
    ):
        assert np.allclose(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", LOOPS)
def test_reverse_over_reverse_without_a_tape(name: str, no_tape: None) -> None:
    found = products(name, "symbolic", 2, X, P)
    for a, b in zip(found, products(name, "evaluated", 2, X, P), strict=True):
        assert np.allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", LOOPS)
def test_third_order_in_reverse_mode(name: str) -> None:
    found = products(name, "symbolic", 3, X, P)
    expected = products(name, "evaluated", 3, X, P)
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=1e-10, atol=1e-10)
    for a, b in zip(
        found, quotients(lambda x, p: products(name, "symbolic", 2, x, p)), strict=True
    ):
        assert np.allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOOPS)
def test_forward_over_reverse(name: str) -> None:
    """The product of second derivatives, and of third ones, with a direction."""

    def tangents(mode: str, order: int) -> list[Any]:
        x, p = Float64(X), Float64(P)
        dr.enable_grad(x, p)
        loss = dr.sum(LOOPS[name](x, p, mode) * Float64(1, 1.3, 0.7, 0.9))
        for _ in range(order - 2):
            loss = along(tracked_gradient(loss, x, p))
        found = tracked_gradient(loss, x, p)
        dr.set_grad(x, Float64(DIRECTION[0]))
        dr.set_grad(p, Float64(DIRECTION[1]))
        dr.enqueue(dr.ADMode.Backward, *found)
        dr.traverse(dr.ADMode.Forward)
        dr.clear_grad((x, p))
        return [dr.grad(g).numpy() for g in found]

    for order in (2, 3):
        for a, b, c in zip(
            tangents("symbolic", order),
            tangents("evaluated", order),
            products(name, "symbolic", order, X, P),
            strict=True,
        ):
            assert np.allclose(a, b, rtol=1e-10, atol=1e-10)
            assert np.allclose(a, c, rtol=1e-10, atol=1e-10)


def test_bounds() -> None:
    def bounded(bound: int) -> Callable[..., Any]:
        options = {"max_iterations": bound, "label": "l"}
        return lambda x, p: polynomial(x, p, "symbolic", **options)

    dr.check_grad(bounded(3), X, P)
    dr.check_grad(bounded(10), X, P)
    for bound in (0, 2):
        with pytest.raises(
            RuntimeError,
            match=rf"loop 'l' has run for 3 iterations, .* is {bound}",
        ):
            dr.check_grad(bounded(bound), X, P)


def test_bounds_without_a_tape(no_tape: None) -> None:
    def bounded(bound: int) -> Callable[..., Any]:
        return lambda x, p: polynomial(x, p, "symbolic", max_iterations=bound)

    dr.check_grad(bounded(3), X, P)
    with pytest.raises(RuntimeError, match=r"run for 3 iterations"):
        dr.check_grad(bounded(2), X, P)


def many(x: Any, p: Any, mode: str, n: int) -> Any:
    """A loop of up to n iterations with states of several types."""
    times = UInt(n, n // 3, 0, max(n, 1) - 1)

    def body(y: Any, z: Any, b: Any, i: Any) -> Any:
        return (
            dr.sin(y * x) + p * z * dr.select(b, Float64(0.1), Float64(0.2)),
            z * 0.99 + 0.01 * y + dr.gather(Float64, x, (i + 1) & 3) * 0.1,
            ~b,
            i + 1,
        )

    y, z, _, _ = dr.while_loop(
        (x, x * p, Bool(True), UInt(0)), lambda y, z, b, i: i < times, body, mode=mode
    )
    return y + z


def gradients_of_many(mode: str, n: int, limit: int | None = None) -> tuple[Any, int]:
    """Gradients, and how many kernels they took."""
    x, p = Float64(X), Float64(P)
    dr.enable_grad(x, p)
    before = dr.ad.tape_limit()
    if limit is not None:
        dr.ad.set_tape_limit(limit)
    try:
        y = many(x, p, mode, n)
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            dr.kernel_history_clear()
            dr.backward(y)
            found = [x.grad.numpy(), p.grad.numpy()]
            return found, len(dr.kernel_history([dr.KernelType.JIT]))
    finally:
        dr.ad.set_tape_limit(before)


BYTES = 4 * (8 + 8 + 1 + 4)  # that the states above take for one iteration


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 100])
def test_checkpoints(n: int) -> None:
    expected = gradients_of_many("evaluated", n)[0]
    for entries in (0, 1, 2, 5, int(2 * n**0.5), n, 2 * n + 2, 10 * n):
        found = gradients_of_many("symbolic", n, entries * BYTES)[0]
        for a, b in zip(found, expected, strict=True):
            assert np.allclose(a, b, rtol=1e-13, atol=1e-13)


def test_checkpoints_are_not_quadratic() -> None:
    """With room for one iteration a part of n iterations is cut in two, so there are
    n - 1 checkpoints in all, the last levels of which are single iterations."""
    for n in (16, 64, 256):
        kernels = gradients_of_many("symbolic", n, 0)[1]
        assert kernels <= 3 * n + 5  # checkpoints, tapes, the way back
    # With room for 2 sqrt(n) tape entries and as many checkpoints: one level of parts.
    n = 256
    kernels = gradients_of_many("symbolic", n, 70 * BYTES)[1]
    assert kernels <= 3 * 10 + 5
    assert gradients_of_many("symbolic", n, 2 * n * BYTES)[1] <= 5


@pytest.mark.parametrize("times", [300, 5000])  # a local array; one in memory
@pytest.mark.parametrize("bounded", [True, False])
def test_long_tapes(times: int, bounded: bool) -> None:
    """Short tapes are local arrays, which are written and read by one kernel."""
    x, p = Float64(X), Float64(P)
    dr.enable_grad(x, p)
    counts = UInt(times, 3, times - 1, 0)
    options = {"max_iterations": times} if bounded else {}
    y, _ = dr.while_loop(
        (x, UInt(0)),
        lambda y, i: i < counts,
        lambda y, i: (dr.sin(y) * x + p, i + 1),
        mode="symbolic", **options,
    )  # fmt: skip
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.backward(y)
        dr.eval(x.grad, p.grad)
        history = dr.kernel_history([dr.KernelType.JIT])
    # Counting; tape and reverse, or each; two contributions to a gradient are added up.
    in_lanes = times == 300
    expected = 2 if bounded or in_lanes else 3
    assert sum(k["size"] > 1 for k in history) == expected
    a, b = X.numpy(), float(P.numpy()[0])
    y, by_x, by_p = a, np.ones(4), np.zeros(4)
    for i in range(times):
        on = i < np.array([times, 3, times - 1, 0])
        by_x = np.where(on, np.cos(y) * by_x * a + np.sin(y), by_x)
        by_p = np.where(on, np.cos(y) * by_p * a + 1, by_p)
        y = np.where(on, np.sin(y) * a + b, y)
    assert np.allclose(x.grad.numpy(), by_x, rtol=1e-11)
    assert np.allclose(p.grad.numpy(), by_p.sum(), rtol=1e-11)


def test_promised_sums() -> None:
    dr.check_grad(lambda x, p: total(x, p, "symbolic", max_iterations=-1), X, P)
    with pytest.raises(RuntimeError, match=r"more than add to its states"):
        dr.check_grad(
            lambda x, p: polynomial(x, p, "symbolic", max_iterations=-1), X, P
        )


def test_sums_need_no_tape() -> None:
    def evaluations(loop: Callable[..., Any]) -> int:
        x = Float64(X)
        dr.enable_grad(x)
        y = loop(x, P, "symbolic")
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            dr.kernel_history_clear()
            dr.backward(y)
            return len(dr.kernel_history([dr.KernelType.JIT]))

    assert evaluations(total) == 0  # all is left to the kernel that wants the gradient
    assert evaluations(polynomial) > 0


def test_what_depends_on_nothing_is_not_tracked() -> None:
    x = Float64(X)
    dr.enable_grad(x)
    y, z, _ = dr.while_loop(
        (Float64(1), Float64(2), UInt(0)),
        lambda y, z, i: i < TIMES,
        lambda y, z, i: (y * x, z * 3, i + 1),
        mode="symbolic",
    )
    assert dr.grad_enabled(y)
    assert not dr.grad_enabled(z)


def test_types_without_derivatives_stay_plain() -> None:
    x = Float64(X)
    dr.enable_grad(x)
    y, _, z = dr.while_loop(
        (dr.llvm.Float64(1), dr.llvm.UInt(0), x),
        lambda y, i, z: i < dr.llvm.UInt(2, 3, 1, 0),
        lambda y, i, z: (y * 2, i + 1, z * z),
        mode="symbolic",
    )
    assert type(y) is dr.llvm.Float64
    assert np.allclose(y.numpy(), [4, 8, 2, 1])
    dr.backward(z)
    v = X.numpy()
    assert np.allclose(x.grad.numpy(), [4 * v[0] ** 3, 8 * v[1] ** 7, 2 * v[2], 1])


def test_suspended() -> None:
    x = Float64(X)
    dr.enable_grad(x)
    with dr.suspend_grad():
        y = polynomial(x, P, "symbolic")
    assert not dr.grad_enabled(y)


def test_in_an_isolated_scope() -> None:
    x = Float64(X)
    dr.enable_grad(x)
    y = x * 2
    with dr.isolate_grad():
        z = repeat(y, lambda z, i: z * z, "symbolic")
        dr.backward(z)
        assert np.all(x.grad.numpy() == 0)
    v = 2 * X.numpy()
    expected = 2 * np.array([4 * v[0] ** 3, 8 * v[1] ** 7, 2 * v[2], 1])
    assert np.allclose(x.grad.numpy(), expected)


def test_tape_limit() -> None:
    limit = dr.ad.tape_limit()
    assert limit > 1 << 20
    with pytest.raises(TypeError, match=r"ad\.set_tape_limit.*number of bytes"):
        dr.ad.set_tape_limit(-1)
    with pytest.raises(TypeError, match=r"ad\.set_tape_limit.*number of bytes"):
        dr.ad.set_tape_limit("many")  # type: ignore[arg-type]
    assert dr.ad.tape_limit() == limit


def test_masks_outside() -> None:
    """Lanes that a mask has kept out of a loop take no part in its derivative."""
    x = Float64(X)
    dr.enable_grad(x)
    out = dr.zeros(Float64, 4)

    def body(y: Any, i: Any) -> Any:
        dr.scatter_add(out, y, UInt(0, 1, 2, 3))
        return y * x

    def side(x: Any) -> Any:
        repeat(Float64(1), body, "symbolic")
        return x

    dr.if_stmt((x,), Bool(True, False, True, True), side, lambda x: x, mode="symbolic")
    dr.backward(out)
    assert np.allclose(x.grad.numpy(), [1, 0, 0, 0])


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_backward_within_a_body(mode: str) -> None:
    """The gradient of a loss of what is detached in the body, which is scattered."""
    lanes, out = UInt(0, 1, 2, 3), dr.zeros(Float64, 4)

    def body(i: Any, y: Any) -> Any:
        z = dr.detach(y)
        dr.enable_grad(z)
        dr.backward(dr.sin(z) * X * z)
        found = dr.detach(z.grad)
        dr.scatter_add(out, found, lanes)
        return i + 1, y * 0.5 + found

    y = dr.while_loop((UInt(0), X), lambda i, y: i < 3, body, mode=mode)[1]
    expected, v = np.zeros(4), X.numpy()
    for _ in range(3):
        found = X.numpy() * (np.cos(v) * v + np.sin(v))
        expected, v = expected + found, v * 0.5 + found
    assert np.allclose(out.numpy(), expected)
    assert np.allclose(y.numpy(), v)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_a_result_that_is_one_value_in_all_lanes(mode: str) -> None:
    """Both sides are the same number, which depends on other things in each."""
    p, q = Float64(0.8), Float64(0.8)
    dr.enable_grad(p, q)
    c = dr.if_stmt(
        (p,), UInt(0, 1, 2, 3) > 2, lambda c: dr.replace_grad(c, q), lambda c: c,
        mode=mode,
    )  # fmt: skip
    dr.backward(c * Float64(1, 2, 3, 4))
    assert p.grad[0] == 6
    assert q.grad[0] == 4


def test_a_side_that_is_left_out_writes_nothing() -> None:
    """What derivatives keep of the regions in it has no effects."""
    x, out = Float64(X), dr.zeros(Float64, 4)
    dr.enable_grad(x)

    def inner(x: Any) -> Any:
        y = repeat(x, lambda y, i: y * 2, "symbolic")
        dr.scatter_add(out, y, UInt(0, 1, 2, 3))
        return y

    def side(x: Any) -> Any:
        return dr.if_stmt((x,), x > 0.6, inner, lambda x: x, mode="symbolic")

    y = dr.if_stmt((x,), Bool(False), side, lambda x: x * x, mode="symbolic")
    assert np.all(out.numpy() == 0)
    dr.backward(y + out)
    assert np.allclose(x.grad.numpy(), 2 * X.numpy())


def test_writes_of_regions_in_regions() -> None:
    def program(x: Any, p: Any) -> Any:
        out, lanes = x * p, UInt(0, 1, 2, 3)

        def inner(y: Any) -> Any:
            def body(y: Any, i: Any) -> Any:
                dr.scatter_add(out, y * p, lanes)
                return y * y

            return repeat(y, body, "symbolic")

        def outer(y: Any) -> Any:
            dr.scatter_add(out, y * y, lanes)
            return dr.if_stmt((y,), y > 1, lambda y: y, inner, mode="symbolic")

        y = dr.if_stmt((x,), x < 1.5, outer, lambda y: y, mode="symbolic")
        return out * out + y

    dr.check_grad(program, X, P)


def test_operations_on_whole_arrays_are_refused() -> None:
    """One on a state needs a value that is not there yet."""
    x = Float64(X)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match=r"drjit\.sum\(.*cannot evaluate"):
        dr.while_loop(
            (x, UInt(0)), lambda y, i: i < TIMES,
            lambda y, i: (y * dr.sum(y), i + 1), mode="symbolic",
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["loop", "conditional"])
def test_an_array_that_goes_through_has_no_lanes(kind: str) -> None:
    """Its size is none of other results or of their gradients."""
    table, p = Float64(1, 2, 3, 4), dr.opaque(Float64, 0.8)
    dr.enable_grad(p)
    if kind == "loop":
        _, table, y = dr.while_loop(
            (UInt(0), table, dr.opaque(Float64, 0)),
            lambda i, table, y: i < 3,
            lambda i, table, y: (i + 1, table, y + p),
        )
    else:
        table, y = dr.if_stmt(
            (table, p),
            dr.opaque(UInt, 1) > 0,
            lambda table, p: (table, p * 3),
            lambda table, p: (table, p),
        )
    assert dr.width(y) == 1 and dr.width(table) == 4
    dr.backward(y)
    assert p.grad.numpy().tolist() == [3]


def test_lanes_of_effects_count() -> None:
    """The gradient of a value that is the same in all lanes is a sum over those that
    write, also if nothing else has an entry for each of them."""
    p, out = dr.opaque(Float64, 0.8), dr.zeros(Float64, 5)
    dr.enable_grad(p)

    def write(out: Any, p: Any) -> Any:
        dr.scatter_add(out, p, dr.arange(UInt, 5))
        return out

    on = dr.opaque(UInt, 1) > 0
    out = dr.if_stmt((out, p), on, write, lambda out, p: out)
    dr.backward(dr.sum(out))
    assert p.grad.numpy().tolist() == [5]


@pytest.mark.parametrize("bound", [None, 5])
@pytest.mark.parametrize("mode", ["Permute", "NoConflicts"])
def test_promises_about_gathers_hold_for_an_iteration(mode: str, bound: Any) -> None:
    """Each one reads all entries once, so that all of them together read them often."""
    table, lane, n = dr.zeros(Float64, 1 << 12), dr.arange(UInt, 1 << 12), 5
    weight = Float64(lane % 7 + 1)
    dr.enable_grad(table)

    def body(i: Any, y: Any) -> Any:
        place = (lane * 5 + i * 123) & 0xFFF
        read = dr.gather(Float64, table, place, mode=getattr(dr.ReduceMode, mode))
        return i + 1, y + read * weight

    y = dr.while_loop(
        (UInt(0), dr.zeros(Float64, 1 << 12)),
        lambda i, y: i < n, body, mode="symbolic", max_iterations=bound,
    )[1]  # fmt: skip
    dr.backward(y)
    expected = np.zeros(1 << 12)
    for i in range(n):
        np.add.at(expected, (lane.numpy() * 5 + i * 123) & 0xFFF, weight.numpy())
    assert np.array_equal(table.grad.numpy(), expected)


@pytest.mark.parametrize("kind", ["if", "call"])
def test_promises_about_gathers_are_those_of_a_side(kind: str) -> None:
    table, lane = dr.zeros(Float64, 1 << 12), dr.arange(UInt, 1 << 12)
    dr.enable_grad(table)

    def reads(shift: int) -> Callable[..., Any]:
        def side(lane: Any) -> Any:
            place = (lane * 5 + shift) & 0xFFF
            return dr.gather(Float64, table, place, mode=dr.ReduceMode.Permute)

        return side

    odd = lane & 1
    if kind == "if":
        y = dr.if_stmt((lane,), odd == 0, reads(0), reads(5), mode="symbolic")
    else:
        y = dr.switch(odd, [reads(0), reads(5)], lane)
    dr.backward(y)
    expected, place = np.zeros(1 << 12), lane.numpy() * 5
    np.add.at(expected, (place + 5 * (lane.numpy() & 1)) & 0xFFF, 1)
    assert np.array_equal(table.grad.numpy(), expected)
