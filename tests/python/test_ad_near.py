"""Gathers whose index is the number of the lane and another number: what comes back to
the source is read, not added by index, so no kernel scatters. Compared with NumPy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Bool, Float64, Int, UInt
from engine_util import printed


class Case(NamedTuple):
    lanes: int
    entries: int
    distance: int
    masked: bool = False  # by more than the ends of the array
    near: bool = True


CASES = {
    "all": Case(40, 40, 0, True),
    "the next ones": Case(39, 40, 1),
    "the ones before": Case(40, 40, -1),
    "far away": Case(100, 100, 60),
    "more lanes": Case(1000, 600, -17, True),
    "more entries": Case(600, 1000, 17, True),
    "many more entries": Case(100, 1000, 17, True, False),
    "all beyond": Case(50, 40, 45),
    "one entry": Case(10, 1, -3, False, False),
    "two": Case(2, 2, 1),
    "a large one": Case(20000, 20011, -3, True),
}


def numbers(count: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=count)


def index_of(case: Case, kind: str) -> Any:
    """The index, and the lanes that are inside."""
    lane = dr.arange(Int if kind == "int" else UInt, case.lanes)
    index = lane + case.distance if case.distance >= 0 else lane - -case.distance
    if kind in ("array", "later"):
        if kind == "later":
            index = index + 3
        index = UInt(index)
        dr.eval(index)
        if kind == "later":
            index = index - 3
    inside = (index >= 0) & (index < case.entries)
    if case.masked:
        inside &= lane % 3 != 1
    return index, inside


def places(case: Case) -> tuple[Any, Any]:
    """The same in NumPy: positions, and which lanes count."""
    lanes = np.arange(case.lanes)
    index = lanes + case.distance
    inside = (index >= 0) & (index < case.entries)
    return index, inside & (lanes % 3 != 1) if case.masked else inside


def reference(case: Case, x: Any, w: Any) -> tuple[Any, Any]:
    """sum(w y^2) of what is gathered: result, gradient."""
    index, inside = places(case)
    y = np.where(inside, x[np.clip(index, 0, case.entries - 1)], 0)
    grad = np.zeros(case.entries)
    np.add.at(grad, index[inside], 2 * (w * y)[inside])
    return (w * y * y).sum(), grad


def scatters(function: Callable[[], None]) -> bool:
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        function()
        programs = [e["ir"].read() for e in dr.kernel_history() if "ir" in e]
    return any("scatter" in program for program in programs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["uint", "int", "array", "later"])
@pytest.mark.parametrize("evaluated_mask", [False, True])
def test_values(name: str, kind: str, evaluated_mask: bool) -> None:
    case = CASES[name]
    x, w = numbers(case.entries, 1), numbers(case.lanes, 2)
    source, weights = Float64(x), Float64(w)
    index, inside = index_of(case, kind)
    dr.eval(weights, inside if evaluated_mask else weights)
    dr.enable_grad(source)
    y = dr.gather(Float64, source, index, inside)
    loss = dr.sum(y * y * weights)
    expected, grad = reference(case, x, w)
    assert np.allclose(loss, expected)

    def back() -> None:
        dr.backward(loss)
        dr.eval(source.grad)

    assert scatters(back) == (not case.near and case.entries > 1)
    assert np.allclose(source.grad, grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_forward_and_second(name: str) -> None:
    case = CASES[name]
    x, w, t = numbers(case.entries, 1), numbers(case.lanes, 2), numbers(case.entries, 3)
    index, inside = index_of(case, "uint")
    where, counts = places(case)

    source = Float64(x)
    dr.enable_grad(source)
    dr.set_grad(source, Float64(t))
    y = dr.gather(Float64, source, index, inside)
    dr.forward_to(y)
    picked = np.where(counts, t[np.clip(where, 0, case.entries - 1)], 0)
    assert np.allclose(y.grad, picked)

    # d/dx of sum(g t) where g is the gradient of sum(w y^3)
    source = Float64(x)
    dr.enable_grad(source)
    y = dr.gather(Float64, source, index, inside)
    flags = dr.ADFlag.ClearVertices | dr.ADFlag.CreateGraph
    dr.backward(dr.sum(Float64(w) * y * y * y), flags)
    first = source.grad
    z = np.where(counts, x[np.clip(where, 0, case.entries - 1)], 0)
    expected = np.zeros(case.entries)
    np.add.at(expected, where[counts], (3 * w * z * z)[counts])
    assert np.allclose(first, expected)
    second = Float64(first)
    dr.clear_grad(source)
    dr.backward(dr.sum(second * Float64(t)))
    expected = np.zeros(case.entries)
    np.add.at(expected, where[counts], (6 * w * z * picked)[counts])
    assert np.allclose(source.grad, expected)


def stencil(u: Any, distances: tuple[int, ...]) -> Any:
    n, lane = dr.width(u), dr.arange(UInt, dr.width(u))
    total = type(u)(0)
    for k, d in enumerate(distances):
        index = lane + d if d >= 0 else lane - -d
        total += (k + 1) * dr.gather(type(u), u, index, index < n)
    return total


def stencil_matrix(n: int, distances: tuple[int, ...]) -> Any:
    return sum(
        ((k + 1) * np.eye(n, k=d) for k, d in enumerate(distances)), np.zeros((n, n))
    )


def test_steps() -> None:
    """Several gathers from one array, step by step; a parameter of all steps."""
    n, steps, distances = 50, 7, (-7, -1, 0, 1, 7, 1)
    matrix, x, p = stencil_matrix(n, distances) / 40, numbers(n, 1), numbers(n, 2)
    u = [x]
    for _ in range(steps):
        u.append(matrix @ u[-1] * p + u[-1])
    g, of_p = 2 * u[-1], np.zeros(n)
    for k in reversed(range(steps)):
        of_p += g * (matrix @ u[k])
        g = matrix.T @ (g * p) + g

    a, b = Float64(x), Float64(p)
    dr.enable_grad(a, b)
    y = Float64(a)
    for _ in range(steps):
        y = stencil(y, distances) / 40 * b + y
        dr.eval(y)
    dr.backward(dr.sum(y * y))
    assert np.allclose(y, u[-1])
    assert np.allclose(a.grad, g)
    assert np.allclose(b.grad, of_p)


@pytest.mark.parametrize("weights", ["literal", "scalar", "array", "many", "negated"])
def test_products(weights: str) -> None:
    """Weights of a filter: each result is a factor of the same gradient."""
    n, x, v = 200, numbers(200, 1), numbers(200, 2)
    a, lane, total, grad = Float64(x), dr.arange(UInt, n), Float64(0), np.zeros(n)
    dr.enable_grad(a)
    parts = []
    for k in range(6):
        w = numbers(n, 7 + k) if weights in ("array", "many") else np.full(n, k - 2.5)
        w[3] = 0
        if weights == "literal":
            w[:] = k - 2.5
            factor: Any = k - 2.5
        elif weights == "scalar":
            w[:] = k - 2.5
            factor = dr.opaque(Float64, k - 2.5)
        else:
            factor = Float64(w)
        picked = dr.gather(Float64, a, lane + k, lane < n - k)
        if weights == "negated":
            w, picked = -w, -picked
        if weights == "many":
            w, picked = w * v * v, picked * Float64(v) * Float64(v)
        total += picked * factor
        parts.append(w)
    shifted = [np.concatenate([x[k:], np.zeros(k)]) for k in range(6)]
    y = sum(w * s for w, s in zip(parts, shifted, strict=True))
    for k, w in enumerate(parts):
        grad[k:] += (np.cos(y) * w)[: n - k]
    dr.backward(dr.sum(dr.sin(total)))
    assert np.allclose(total, y)
    assert np.allclose(a.grad, grad, rtol=1e-12, atol=1e-12)


PROGRAM = """
import drjit as dr
from drjit.llvm.ad import Float, UInt
n = 5000
u, lane = dr.sin(dr.arange(Float, n)), dr.arange(UInt, n)
dr.enable_grad(u)
y = Float(u)
for _ in range(3):
    total = Float(0)
    for k, d in enumerate((70, 1, 0, -1, -70)):
        index = lane + d if d >= 0 else lane - -d
        total += (k + 1) * dr.gather(Float, y, index, index < n)
        total += dr.cos(u + k) * dr.gather(Float, y, index, index < n - 5)
    y = dr.sin(total * 0.1)
dr.backward(dr.sum(y * y))
print(u.grad.numpy().tobytes().hex())
"""


def test_engines_agree() -> None:
    """Bit for bit: there is one order of summation."""
    assert len(set(printed(PROGRAM, isas=True))) == 1


@pytest.mark.parametrize("evaluated", [False, True])
def test_loops(evaluated: bool) -> None:
    """In bodies that are recorded, and in loops that the host runs."""
    n, steps = 60, 4
    matrix, x = stencil_matrix(n, (1, -2)) / 4, numbers(n, 1)
    expected = np.linalg.matrix_power(matrix, steps).T @ np.cos(np.arange(n))
    a, weights = Float64(x), dr.cos(dr.arange(Float64, n))
    index = dr.arange(UInt, n) + 1
    dr.eval(index)
    dr.enable_grad(a)
    if evaluated:
        y = Float64(a)
        for _ in range(steps):
            y = stencil(y, (1, -2)) / 4
    else:

        @dr.syntax
        def loop(y: Any, k: Any) -> Any:
            while dr.hint(k < steps, mode="evaluated", max_iterations=steps):
                y = (
                    dr.gather(Float64, y, index, index < n)
                    + 2 * dr.gather(Float64, y, index - 3, index >= 3)
                ) / 4
                k += 1
            return y

        y = loop(Float64(a), UInt(0))
    dr.backward(dr.sum(y * weights))
    assert np.allclose(a.grad, expected)


def test_body() -> None:
    """A recorded loop reads neighbours in an array from outside."""
    n, x = 30, numbers(33, 1)
    a = Float64(x)
    index = dr.arange(UInt, n) + 1
    dr.eval(index)
    dr.enable_grad(a)
    _, y = dr.while_loop(
        (UInt(0), Float64(0)),
        lambda k, y: k < 3,
        lambda k, y: (k + 1, y + dr.square(dr.gather(Float64, a, index + k - 1))),
        mode="symbolic",
        max_iterations=3,
    )
    dr.backward(dr.sum(y))
    expected = np.zeros(33)
    for k in range(3):
        np.add.at(expected, np.arange(n) + k, 2 * x[np.arange(n) + k])
    assert np.allclose(a.grad, expected)


# ---- what was known of an array does not outlive its content


def rewritten(how: str) -> tuple[Any, Any]:
    index = UInt(dr.arange(UInt, 64) + 1)
    dr.eval(index)
    new = np.arange(64, dtype=np.uint32)[::-1].copy()
    if how == "scatter":
        dr.scatter(index, UInt(new), dr.arange(UInt, 64))
    elif how == "entry":
        index[5] = 60
        new = np.arange(64, dtype=np.uint32) + 1
        new[5] = 60
    elif how == "add":
        dr.scatter_add(index, UInt(3), UInt(0))
        new = np.arange(64, dtype=np.uint32) + 1
        new[0] += 3
    return index, new


@pytest.mark.parametrize("how", ["scatter", "entry", "add"])
def test_written(how: str) -> None:
    index, new = rewritten(how)
    x = numbers(66, 1)
    source = Float64(x)
    dr.enable_grad(source)
    y = dr.gather(Float64, source, index)
    assert np.allclose(y, x[new])
    dr.backward(dr.sum(y * y))
    expected = np.zeros(66)
    np.add.at(expected, new, 2 * x[new])
    assert np.allclose(source.grad, expected)


# ---- recordings


def test_frozen() -> None:
    """Inputs that are such indices: others are another recording, which serves all."""

    @dr.freeze
    def gradient(x: Any, index: Any, mask: Any) -> Any:
        x = Float64(dr.detach(x))
        dr.enable_grad(x)
        y = dr.gather(Float64, x, index, mask)
        dr.backward(dr.sum(y * y * y))
        return dr.grad(x)

    def check(index: Any, where: Any, n: int) -> None:
        x = numbers(n, n)
        inside = where < n
        mask = Bool(inside)
        dr.eval(index, mask)
        expected = np.zeros(n)
        np.add.at(expected, where[inside], 3 * x[where[inside]] ** 2)
        assert np.allclose(gradient(Float64(x), index, mask), expected)

    for n in (40, 50, 41, 1000):
        check(dr.arange(UInt, n) + 1, np.arange(n) + 1, n)
        check(dr.arange(UInt, n - 2) + 2, np.arange(n - 2) + 2, n)
    shuffled = np.random.default_rng(3).integers(0, 40, 40)
    check(UInt(shuffled), shuffled, 40)
    for distance in range(1, 9):
        check(dr.arange(UInt, 40) + distance, np.arange(40) + distance, 40)
    check(UInt(np.arange(40) + 1), np.arange(40) + 1, 40)
    assert gradient.n_recordings <= 4


def test_frozen_inside() -> None:
    """Indices that the function makes are known for all sizes."""

    @dr.freeze
    def gradient(x: Any) -> Any:
        x = Float64(dr.detach(x))
        dr.enable_grad(x)
        index = dr.arange(UInt, dr.width(x)) + 2
        dr.eval(index)
        y = dr.gather(Float64, x, index, index < dr.width(x))
        dr.backward(dr.sum(y * y))
        return dr.grad(x)

    for n in (40, 50, 1000, 41):
        x = numbers(n, n)
        assert np.allclose(gradient(Float64(x)), np.where(np.arange(n) < 2, 0, 2 * x))
    assert gradient.n_recordings <= 2


@pytest.mark.parametrize("known_first", [False, True])
def test_checked(known_first: bool) -> None:
    """A recording is compared with another one: inputs may be known in one of the two
    calls only."""

    @dr.freeze
    def gathered(x: Any, index: Any) -> Any:
        return dr.gather(Float64, x, index)

    x = Float64(numbers(41, 1))
    known = dr.arange(UInt, 40) + 1
    dr.eval(known)
    indices = [UInt(np.arange(1, 41)), known, known, UInt(np.arange(1, 41)), known]
    if known_first:
        indices = indices[1:3] + indices[:1] + indices[2:]
    with dr.scoped_set_flag(dr.JitFlag.FreezingCheckAll, True):
        for index in indices:
            assert np.array_equal(gathered(x, index), x.numpy()[1:])
    assert gathered.n_recordings <= 2
