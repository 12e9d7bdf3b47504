"""Products with small matrices: values, bits and derivatives against NumPy, evaluated
and recorded.
"""

from __future__ import annotations

from itertools import product as combinations
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit._matvec import one_network, product
from drjit.llvm.ad import Float, Float16, Float64, UInt
from engine_util import printed

ROWS, COLUMNS, OFFSET, LANES = 5, 3, 2, 37
TYPES = {
    Float16: (np.float16, 2e-3),
    Float: (np.float32, 2e-6),
    Float64: (float, 1e-15),
}


def numbers(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


WEIGHTS = numbers(OFFSET + ROWS * COLUMNS + 2)
MATRIX = WEIGHTS[OFFSET : OFFSET + ROWS * COLUMNS].reshape(ROWS, COLUMNS)
VECTOR, BIAS = numbers(COLUMNS, LANES, seed=2), numbers(ROWS, seed=3)


def multiply(w: Any, x: Any, bias: Any = None, transpose: bool = False) -> list[Any]:
    return product(w, OFFSET, ROWS, COLUMNS, transpose, list(x), bias)


def inputs() -> tuple[Any, list[Any]]:
    w, x = Float64(WEIGHTS), [Float64(row) for row in VECTOR]
    dr.enable_grad(w, x)
    return w, x


def gradients(w: Any, x: list[Any]) -> tuple[Any, Any]:
    gradient = dr.grad(w).numpy()
    inner = slice(OFFSET, OFFSET + ROWS * COLUMNS)
    assert not np.delete(gradient, inner).any()
    return gradient[inner].reshape(ROWS, COLUMNS), np.array([dr.grad(v) for v in x])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "shape", [(1, 2), (3, 5), (16, 16), (13, 300), (33, 31), (2, 1)]
)
@pytest.mark.parametrize("transpose", [False, True])
def test_values(kind: Any, shape: tuple[int, int], transpose: bool) -> None:
    entry, tolerance = TYPES[kind]
    rows, columns = shape
    n, m = (rows, columns) if transpose else (columns, rows)
    w = numbers(rows * columns + 3).astype(entry)
    b = numbers(m + 1, seed=3).astype(entry)
    a = w[3:].reshape(shape).astype(float)
    a = a.T if transpose else a
    for lanes in (1, 5, 16, 1000):
        x = numbers(n, lanes, seed=2).astype(entry)
        found = product(
            kind(w), 3, rows, columns, transpose, [kind(v) for v in x], kind(b), 1
        )
        expected = a @ x.astype(float) + b[1:, None].astype(float)
        bound = tolerance * (abs(a) @ abs(x).astype(float) + 1)
        assert (abs(np.array(found, dtype=float) - expected) <= bound).all()
    assert type(found[0]) is kind and len(found) == m


def test_the_sum_is_rounded_once() -> None:
    """1 + 2^-11 is not an f16, so each sum of two would be rounded to 1."""
    small = 2.0**-11
    y = product(Float16([1, small, small]), 0, 1, 3, False, [Float16(1)] * 3)
    assert y[0] == 1 + 2 * small
    a = np.float32(1 + 2.0**-23)
    fused = product(Float([a, a]), 0, 1, 2, False, [Float(a), Float(-1)])
    assert fused[0] == np.float32(np.float64(a) * a) - a


def test_one_entry_and_one_lane_stand_for_all() -> None:
    w, x = inputs()
    y = multiply(w, [x[0], Float64(2), Float64(3)])
    wide = np.stack([VECTOR[0], np.full(LANES, 2), np.full(LANES, 3)])
    assert np.allclose(y, MATRIX @ wide, rtol=1e-14)
    dr.backward(sum(dr.sum(v) for v in y))
    found, _ = gradients(w, x)
    assert np.allclose(found, np.ones((ROWS, LANES)) @ wide.T, rtol=1e-13)
    assert np.allclose(
        product(dr.full(Float64, 2, 15), 0, 5, 3, False, [Float64(1)] * 3), 6
    )
    one = Float64(3)
    dr.enable_grad(one)
    y = product(one, 0, 1, 1, False, [x[0]])
    assert np.allclose(y[0], 3 * VECTOR[0])
    dr.backward(dr.sum(y[0]))
    assert np.allclose(one.grad, VECTOR[0].sum(), rtol=1e-13)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
def test_reverse(transpose: bool, deterministic: bool) -> None:
    a = MATRIX.T if transpose else MATRIX
    g = numbers(len(a), LANES, seed=4)
    v = numbers(a.shape[1], LANES, seed=5)
    w, b = Float64(WEIGHTS), Float64(numbers(len(a), seed=6))
    x = [Float64(row) for row in v]
    dr.enable_grad(w, x, b)
    with dr.scoped_set_flag(dr.JitFlag.Deterministic, deterministic):
        y = multiply(w, x, b, transpose)
        dr.backward(sum(dr.sum(p * Float64(q)) for p, q in zip(y, g, strict=True)))
        found, to_x = gradients(w, x)
    expected = g @ v.T
    assert np.allclose(found, expected.T if transpose else expected, rtol=1e-12)
    assert np.allclose(to_x, a.T @ g, rtol=1e-12)
    assert np.allclose(b.grad, g.sum(axis=1), rtol=1e-12)


def test_forward() -> None:
    w, x = inputs()
    b = Float64(BIAS)
    dr.enable_grad(b)
    dw, dx, db = (
        numbers(len(WEIGHTS), seed=7),
        numbers(COLUMNS, LANES, seed=8),
        BIAS * 2,
    )
    change = dw[OFFSET : OFFSET + ROWS * COLUMNS].reshape(ROWS, COLUMNS)
    for part in combinations([False, True], repeat=3):
        if not any(part):
            continue
        y = multiply(w, x, b)
        expected = 0 * (MATRIX @ VECTOR)
        dr.clear_grad([w, x, b])
        if part[0]:
            dr.set_grad(w, Float64(dw))
            expected = expected + change @ VECTOR
        if part[1]:
            dr.set_grad(x, [Float64(row) for row in dx])
            expected = expected + MATRIX @ dx
        if part[2]:
            dr.set_grad(b, Float64(db))
            expected = expected + db[:, None]
        assert np.allclose(dr.forward_to(y), expected, rtol=1e-12)


def test_sums_of_half_precision_do_not_stall() -> None:
    """Half precision has no number between 2048 and 2050."""
    w = Float16([0.0, 0.0])
    dr.enable_grad(w)
    x = dr.full(Float16, 0.125, 30_000)
    y = product(w, 0, 1, 2, False, [x, dr.opaque(Float16, 1, 30_000)])
    dr.backward(dr.sum(Float(y[0])))
    assert np.array_equal(dr.grad(w), [3750, 30000])


def test_layers_share_an_array_of_gradients() -> None:
    """What is computed apart is differentiated apart."""
    w = Float16(numbers(12).astype(np.float16))
    dr.enable_grad(w)
    x = [dr.full(Float16, 0.5, 1000), dr.full(Float16, 0.25, 1000)]
    once = []
    for _ in range(2):
        with one_network():
            hidden = product(w, 0, 2, 2, False, x, w, 4)
            (y,) = product(w, 6, 1, 2, False, hidden)
        once.append(dr.sum(Float(y)))
    dr.backward(once[0])
    first = dr.grad(w).numpy().astype(float)
    dr.backward(once[1])
    assert np.allclose(dr.grad(w), 2 * first, rtol=1e-3)
    a, b = w.numpy()[:4].reshape(2, 2).astype(float), w.numpy()[6:8].astype(float)
    expected = np.zeros(12)
    expected[:4] = 1000 * np.outer(b, [0.5, 0.25]).ravel()
    expected[4:6] = 1000 * b
    expected[6:8] = 1000 * (a @ [0.5, 0.25] + w.numpy()[4:6])
    assert np.allclose(first, expected, rtol=5e-3, atol=1)


def test_second_derivatives() -> None:
    t = numbers(len(WEIGHTS), seed=9)
    change = t[OFFSET : OFFSET + ROWS * COLUMNS].reshape(ROWS, COLUMNS)
    x = [Float64(row) for row in VECTOR]

    def loss(w: Any, x: Any) -> Any:
        return sum(dr.sum(v * v * v) for v in multiply(w, x))

    _, second = dr.ad.hvp(lambda w: loss(w, x), (Float64(WEIGHTS),), (Float64(t),))
    y = MATRIX @ VECTOR
    found = second[0].numpy()[OFFSET : OFFSET + ROWS * COLUMNS]
    expected = (6 * y * (change @ VECTOR)) @ VECTOR.T
    assert np.allclose(found.reshape(ROWS, COLUMNS), expected, rtol=1e-11)
    directions = [Float64(row) for row in numbers(COLUMNS, LANES, seed=8)]
    _, second = dr.ad.hvp(
        lambda *x: loss(Float64(WEIGHTS), x), tuple(x), tuple(directions)
    )
    expected = MATRIX.T @ (6 * y * (MATRIX @ np.array(directions)))
    assert np.allclose(np.array(second), expected, rtol=1e-11)


def layers(w: Any, x: Any) -> Any:
    return [dr.tanh(v) for v in multiply(w, multiply(w, x), None, True)]


def reference(steps: int) -> tuple[Any, Any]:
    """Gradients of the sum of what ``steps`` double layers give."""
    states = [VECTOR]
    for _ in range(steps):
        states.append(np.tanh(MATRIX.T @ (MATRIX @ states[-1])))
    g, total = np.ones_like(VECTOR), np.zeros_like(MATRIX)
    for k in reversed(range(steps)):
        g = g * (1 - states[k + 1] ** 2)
        total += MATRIX @ states[k] @ g.T + MATRIX @ g @ states[k].T
        g = MATRIX.T @ (MATRIX @ g)
    return total, g


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("bound", [None, 3])
def test_loops(mode: str, bound: int | None) -> None:
    w, x = inputs()
    result = dr.while_loop(
        (UInt(0), *x),
        lambda i, *x: i < 3,
        lambda i, *x: (i + 1, *layers(w, x)),
        mode=mode,
        max_iterations=bound,
    )
    dr.backward(sum(dr.sum(v) for v in result[1:]))
    for found, expected in zip(gradients(w, x), reference(3), strict=True):
        assert np.allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("shared", [False, True])
def test_bias(mode: str, shared: bool) -> None:
    """In a loop, in an array of its own or after the matrix, in both directions."""
    b, steps = numbers(COLUMNS, seed=6) / 2, 2
    start = OFFSET + ROWS * COLUMNS if shared else 1
    w = Float64(np.concatenate([WEIGHTS[: OFFSET + ROWS * COLUMNS], b]))
    bias = w if shared else Float64(np.concatenate([[7.0], b]))
    x = [Float64(row) for row in VECTOR]
    dr.enable_grad(w, bias, x)

    def body(i: Any, *x: Any) -> tuple[Any, ...]:
        hidden = product(w, OFFSET, ROWS, COLUMNS, False, list(x))
        y = product(w, OFFSET, ROWS, COLUMNS, True, hidden, bias, start)
        return i + 1, *(dr.tanh(v) for v in y)

    result = dr.while_loop(
        (UInt(0), *x), lambda i, *x: i < steps, body, mode=mode, max_iterations=steps
    )
    dr.backward(sum(dr.sum(v) for v in result[1:]))

    states = [VECTOR]
    for _ in range(steps):
        states.append(np.tanh(MATRIX.T @ (MATRIX @ states[-1]) + b[:, None]))
    g, total, to_bias = np.ones_like(VECTOR), np.zeros_like(MATRIX), np.zeros(COLUMNS)
    for k in reversed(range(steps)):
        g = g * (1 - states[k + 1] ** 2)
        to_bias += g.sum(axis=1)
        total += MATRIX @ states[k] @ g.T + MATRIX @ g @ states[k].T
        g = MATRIX.T @ (MATRIX @ g)
    found = dr.grad(w).numpy()[OFFSET : OFFSET + ROWS * COLUMNS]
    assert np.allclose(found.reshape(ROWS, COLUMNS), total, rtol=1e-11)
    assert np.allclose(dr.grad(bias).numpy()[start:], to_bias, rtol=1e-11)
    assert np.allclose(np.array([dr.grad(v) for v in x]), g, rtol=1e-11)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_conditionals(mode: str) -> None:
    w, x = inputs()
    y = dr.if_stmt(
        tuple(x),
        x[0] > 0,
        lambda *x: tuple(layers(w, x)),
        lambda *x: tuple(2 * v for v in x),
        mode=mode,
    )
    dr.backward(sum(dr.sum(v) for v in y))
    found, to_x = gradients(w, x)
    active = VECTOR[0] > 0
    whole = reference(1)
    kept = VECTOR * active  # other lanes add nothing
    g = (1 - np.tanh(MATRIX.T @ (MATRIX @ VECTOR)) ** 2) * active
    assert np.allclose(found, MATRIX @ kept @ g.T + MATRIX @ g @ kept.T, rtol=1e-12)
    assert np.allclose(to_x, np.where(active, whole[1], 2), rtol=1e-12)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_calls(mode: str) -> None:
    w, x = inputs()
    which = np.arange(LANES) % 3
    y = dr.switch(
        UInt(which),
        [
            lambda *x: tuple(layers(w, x)),
            lambda *x: tuple(layers(w, x)),
            lambda *x: tuple(v * v for v in x),
        ],
        *x,
        mode=mode,
    )
    dr.backward(sum(dr.sum(v) for v in y))
    found, to_x = gradients(w, x)
    active = which < 2
    kept = VECTOR * active
    g = (1 - np.tanh(MATRIX.T @ (MATRIX @ VECTOR)) ** 2) * active
    assert np.allclose(found, MATRIX @ kept @ g.T + MATRIX @ g @ kept.T, rtol=1e-12)
    assert np.allclose(to_x, np.where(active, reference(1)[1], 2 * VECTOR), rtol=1e-12)


def test_many_lanes_share_copies() -> None:
    """With enough lanes, several threads add to their own copies."""
    lanes = 200_000
    x = numbers(COLUMNS, lanes, seed=5)
    w = Float64(WEIGHTS)
    dr.enable_grad(w)

    def double(*x: Any) -> tuple[Any, ...]:
        return tuple(dr.tanh(v) for v in multiply(w, x, None))[:COLUMNS]

    y = dr.while_loop(
        (UInt(0), *(Float64(v) for v in x)),
        lambda i, *x: i < 2,
        lambda i, *x: (i + 1, *double(*x)),
        max_iterations=2,
    )
    dr.backward(sum(dr.sum(v) for v in y[1:]))
    found, _ = gradients(w, [])
    total, states = np.zeros_like(MATRIX), [x]
    for _ in range(2):
        states.append(np.tanh(MATRIX @ states[-1])[:COLUMNS])
    g = np.ones_like(x)
    for k in (1, 0):
        inner = np.zeros((ROWS, lanes))
        inner[:COLUMNS] = g * (1 - states[k + 1] ** 2)
        total += inner @ states[k].T
        g = MATRIX.T @ inner
    assert np.allclose(found, total, rtol=1e-9)


def test_second_derivatives_of_loops() -> None:
    t = numbers(len(WEIGHTS), seed=9)

    def loss(w: Any, mode: str) -> Any:
        result = dr.while_loop(
            (UInt(0), *(Float64(row) for row in VECTOR)),
            lambda i, *x: i < 2,
            lambda i, *x: (i + 1, *layers(w, x)),
            mode=mode,
            max_iterations=2,
        )
        return sum(dr.sum(v * v) for v in result[1:])

    found = [
        dr.ad.hvp(lambda w, m=mode: loss(w, m), (Float64(WEIGHTS),), (Float64(t),))[1][
            0
        ]
        for mode in ("symbolic", "evaluated")
    ]
    step = 1e-5
    sides = []
    for sign in (1, -1):
        w = Float64(WEIGHTS + sign * step * t)
        dr.enable_grad(w)
        dr.backward(loss(w, "evaluated"))
        sides.append(dr.grad(w).numpy())
    expected = (sides[0] - sides[1]) / (2 * step)
    assert np.allclose(found[0], found[1], rtol=1e-11)
    assert np.allclose(found[0], expected, rtol=1e-5, atol=1e-5)


def test_frozen_functions() -> None:
    @dr.freeze
    def step(w: Any, x: list[Any]) -> tuple[Any, Any]:
        dr.enable_grad(w)
        loss = sum(dr.sum(v * v) for v in multiply(w, x))
        dr.backward(loss)
        return dr.grad(w), loss

    for lanes in (10, 20, 33):
        x = numbers(COLUMNS, lanes, seed=lanes)
        gradient, _ = step(Float64(WEIGHTS), [Float64(row) for row in x])
        inner = gradient.numpy()[OFFSET : OFFSET + ROWS * COLUMNS]
        expected = 2 * (MATRIX @ x) @ x.T
        assert np.allclose(inner.reshape(ROWS, COLUMNS), expected, rtol=1e-11)
    assert step.n_recordings == 1
    with pytest.raises(Exception, match="out of bounds for an array with 16 entries"):
        step(Float64(WEIGHTS[:16]), [Float64(row) for row in VECTOR])


def test_a_loop_whose_state_is_the_array() -> None:
    """The matrix changes from iteration to iteration, which a recorded loop refuses."""
    w, x = Float64(WEIGHTS), [Float64(row) for row in VECTOR]

    def body(i: Any, w: Any, total: Any) -> tuple[Any, ...]:
        total = total + sum(multiply(w, x))
        return i + 1, w * 0.5, total

    state = (UInt(0), w, dr.zeros(Float64, LANES))
    _, _, total = dr.while_loop(state, lambda i, w, t: i < 3, body, mode="evaluated")
    assert np.allclose(total, (MATRIX @ VECTOR).sum(axis=0) * 1.75, rtol=1e-13)
    with pytest.raises(RuntimeError, match="scattered to as an array with 19 entries"):
        dr.while_loop(state, lambda i, w, t: i < 3, body, mode="symbolic")


PROGRAM = """
import numpy as np, drjit as dr
from drjit.llvm.ad import *
from drjit._matvec import one_network, product
rng = np.random.default_rng(1)
dr.set_thread_count(0)
for T in (Float16, Float, Float64):
    for rows, columns, transpose in ((5, 3, False), (16, 20, True), (7, 33, False)):
        w = T(rng.standard_normal(rows * columns + 1))
        n = rows if transpose else columns
        x = [T(rng.standard_normal(500)) for _ in range(n)]
        x[0] = T(np.where(np.arange(500) % 50, 1, np.nan))
        dr.enable_grad(w, x)
        y = product(w, 1, rows, columns, transpose, x)
        dr.backward(sum(dr.sum(Float64(v)) for v in y[:2]))
        for v in (*y, *(dr.grad(v) for v in x)):
            v = v.numpy()
            print(np.where(np.isnan(v), 0, v).tobytes().hex())
"""


def test_engines_agree() -> None:
    texts = printed(PROGRAM, isas=True)
    assert len(texts[0]) > 10_000 and all(text == texts[0] for text in texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 4), "5 times 4 entries from position 0 on are out of bounds"),
        ((5, 5, 3), "out of bounds for an array with 19 entries"),
        ((20, 1, 1), "out of bounds for an array with 19 entries"),
        ((0, 0, 3), "has 0 rows and 3 columns, expected 1 to 8192"),
        ((0, 3, 9000), "has 3 rows and 9000 columns, expected 1 to 8192"),
    ],
)
def test_matrices_that_are_none(arguments: tuple[int, int, int], message: str) -> None:
    offset, rows, columns = arguments
    with pytest.raises(Exception, match=message):
        product(Float(WEIGHTS), offset, rows, columns, False, [Float(1)] * columns)


def test_vectors_that_do_not_fit() -> None:
    w = Float(WEIGHTS)
    with pytest.raises(ValueError, match="'x' has 2 components, expected 3"):
        product(w, 0, 5, 3, False, [Float(1)] * 2)
    with pytest.raises(TypeError, match="a component of 'x' is"):
        product(w, 0, 5, 3, False, [Float(1), Float64(1), Float(1)])
    with pytest.raises(TypeError, match="expected a flat array"):
        product([1, 2], 0, 1, 2, False, [Float(1)] * 2)
    with pytest.raises(RuntimeError, match="sizes|entries"):
        product(w, 0, 5, 3, False, [Float(1, 2), Float(1, 2, 3), Float(1)])
    with pytest.raises(Exception, match="uint32, expected a floating point type"):
        product(UInt(1, 2), 0, 1, 2, False, [UInt(1)] * 2)
