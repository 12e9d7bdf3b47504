"""Sizes in functions that ``drjit.freeze`` records: whatever is repeated for other ones
has to give what the function itself gives.

The reference is the function, called with the same inputs. ``n_recordings`` tells
which calls were repeated.
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import threading
from collections.abc import Callable
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array2f, Array3f, Float, TensorXf, UInt


def flat(size: int) -> Float:
    if size == 0:
        return Float()
    x = dr.arange(Float, size) * 0.5 + 1
    dr.eval(x)
    return x


def tensor(*shape: int) -> TensorXf:
    return TensorXf(flat(math.prod(shape)), shape)


def listed(value: Any) -> Any:
    if isinstance(value, dr.ArrayBase):
        if dr.is_tensor_v(value):
            return tuple(value.shape), list(value.array)
        if dr.depth_v(value) > 1:
            return [listed(entry) for entry in value]
        return list(value)
    if isinstance(value, (tuple, list)):
        return [listed(entry) for entry in value]
    return value


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives; of an error, its class."""
    try:
        return listed(function(*args))
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error)


# ---------------------------------------------------------------- flat arrays


def half(x: Float) -> Any:
    return dr.zeros(Float, dr.width(x) // 2) + 1


def quarter(x: Float) -> Any:
    return dr.arange(UInt, dr.width(x) // 4)


# One recording, or two if kernels compute with the size: in the second one they read
# it. None: as many as there are sizes, at most.
FLAT: dict[str, tuple[Callable[[Float], Any], int | None]] = {
    "vanishes": (lambda x: UInt(x) * 0, 1),
    "folds": (lambda x: dr.zeros(Float, dr.width(x)) + 3, 1),
    "uniform": (lambda x: dr.gather(Float, dr.ones(Float, 7), UInt(x) % 7), 1),
    "empty": (lambda x: dr.concat([x, dr.opaque(Float, 3, 2), x]), 2),
    "sort": (lambda x: dr.sort(-x), 1),
    "prefix": (lambda x: dr.cumsum(dr.cumsum(dr.sin(x))), 1),
    "block_prefix": (lambda x: dr.cumsum(dr.block_prefix_sum(dr.sin(x), 2)), 1),
    "argsort": (lambda x: dr.argsort(-x), 1),
    "tile": (lambda x: dr.tile(x, 3), 2),
    "repeat": (lambda x: dr.repeat(x, 3), 1),
    "reverse": (lambda x: dr.reverse(x), 2),
    "linspace": (lambda x: x * dr.linspace(Float, 0, 1, dr.width(x)), 2),
    "open": (lambda x: dr.linspace(Float, 1, 7, dr.width(x), endpoint=False), 2),
    "factor": (lambda x: x * dr.width(x), 2),
    "divisor": (lambda x: x / dr.width(x), 2),
    "remainder": (lambda x: UInt(x) % dr.width(x), 2),
    "below": (lambda x: x < x.shape[0], 2),
    "minimum": (lambda x: dr.minimum(UInt(x), dr.width(x) - 1), 2),
    "length": (lambda x: x * len(x), None),
    "from_one": (lambda x: x[1:], 1),
    "to_last": (lambda x: x[:-1] + x[1:], 1),
    "steps": (lambda x: x[::3], None),
    "backwards": (lambda x: x[::-1], 2),
    "few": (lambda x: x[2:4], 1),
    "store": (lambda x: stored(x), 2),
    "unravel": (lambda x: dr.unravel(Array2f, x), 1),
    "ravel": (lambda x: dr.ravel(Array2f(x, x + 1)), 1),
    "ravel_c": (lambda x: dr.ravel(Array2f(x, x + 1), order="C"), 2),
    "reshape": (lambda x: dr.reshape(TensorXf, x, (2, -1)), 1),
    "tensor": (lambda x: TensorXf(x), 1),
    "rows": (lambda x: TensorXf(Array3f(x, 1, 2)), 2),
    "columns": (lambda x: TensorXf(Array3f(x, 1, 2), flip_axes=True), 1),
    "number": (lambda x: (dr.width(x), x.shape, dr.width(x) * 2 + 1, len(x.shape)), 1),
    "opaque": (lambda x: dr.opaque(Float, 2, dr.width(x)) + x, 1),
    "half": (half, None),
    "quarter": (quarter, None),
    "isinstance": (lambda x: isinstance(dr.width(x), int), 1),
    "format": (lambda x: f"{dr.width(x):4d} {round(dr.width(x)) + 1}", None),
}


def stored(x: Float) -> Float:
    y = Float(x)
    y[1:] = 7
    y[-1:] = 3
    return y


@pytest.mark.parametrize("name", FLAT)
def test_flat(name: str) -> None:
    function, expected = FLAT[name]
    frozen = dr.freeze(function, warn_after=1000)
    sizes = (64, 96, 8, 4, 64, 1000, 12, 40000)
    for size in sizes:
        assert listed(frozen(flat(size))) == listed(function(flat(size))), (
            size,
            frozen.explain(),
        )
    assert frozen.n_recordings <= (expected or len(set(sizes))), frozen.explain()
    for size in (1, 3, 2, 5, 10, 0, 1, 7):
        assert outcome(frozen, flat(size)) == outcome(function, flat(size)), (
            size,
            frozen.explain(),
        )


def test_sizes_of_one_entry_or_none() -> None:
    """What has no more than one entry is not taken for something that always has."""
    for function in (half, quarter):
        for first in (1, 2, 3, 4, 7):
            frozen = dr.freeze(function)
            for size in (first, 10, first, 3, 40):
                assert outcome(frozen, flat(size)) == outcome(function, flat(size))


def test_equal_literals() -> None:
    """A literal that is an input is none of those that happen to be equal."""

    @dr.freeze
    def f(zeros: UInt, x: Float) -> UInt:
        return UInt(dr.gather(Float, x, dr.compress(x > 2))) * 0

    for size in (13, 20, 9, 13):
        args = dr.zeros(UInt, 10), flat(size)
        assert listed(f(*args)) == listed(f._function(*args)), f.explain()


def test_results_of_compress() -> None:
    @dr.freeze
    def f(x: Float) -> Any:
        kept = dr.gather(Float, x, dr.compress(x > 2))
        return (
            kept[1:],
            dr.reshape(TensorXf, kept, (-1, 1)),
            dr.width(kept),
            dr.zeros(Float, dr.width(kept) * 2),
        )

    for size in (13, 20, 9, 30):
        assert listed(f(flat(size))) == listed(f._function(flat(size)))
    assert f.n_recordings == 1


def test_numbers_are_plain_in_the_end() -> None:
    @dr.freeze
    def f(x: Float, out: list[Any]) -> Any:
        out[0] = dr.width(x)
        return x.shape

    for size in (5, 6, 7):
        out: list[Any] = [None]
        assert f(flat(size), out) == (size,)
        assert out[0] == size
    assert type(f(flat(9), [None])[0]) is int


# ---------------------------------------------------------------- tensors


def assigned(t: TensorXf) -> TensorXf:
    u = TensorXf(t)
    u[:, 1] = 7
    u[0] = 3
    u[-1] = u[1]
    return u


def normalized(t: TensorXf) -> TensorXf:
    return t / dr.sum(t, axis=1, keepdims=True)


# Functions of a tensor of shape (n, 3): recordings for several n.
ROWS: dict[str, tuple[Callable[[TensorXf], Any], int | None]] = {
    "add": (lambda t: t + t * 2, 1),
    "sin": (lambda t: dr.sin(t), 1),
    "select": (lambda t: dr.select(t > 5, t, 0), 1),
    "vanish": (lambda t: dr.sum(t * 0), 1),
    "sum": (lambda t: dr.sum(t), 1),
    "all": (lambda t: dr.sum(t, axis=None), 1),
    "sum_last": (lambda t: dr.sum(t, axis=-1), 1),
    "sum_first": (lambda t: dr.sum(t, axis=0), 2),
    "max": (lambda t: dr.max(t, axis=1, keepdims=True), 1),
    "mean": (lambda t: (dr.mean(t, axis=1), dr.mean(t, axis=None)), 2),
    "var": (lambda t: dr.var(t, axis=1), 1),
    "normalized": (normalized, 2),
    "prefix": (lambda t: dr.cumsum(t, axis=1), 1),
    "column": (lambda t: t[:, 1], 1),
    "row": (lambda t: (t[0], t[-1]), 2),
    "slices": (lambda t: (t[1:], t[:-1], t[2:4], t[:, 1:]), 1),
    "backwards": (lambda t: t[::-1, ::-1], 2),
    "difference": (lambda t: t[1:] - t[:-1], 1),
    "newaxis": (lambda t: (t[:, None], t[None], t[..., None]), 1),
    "outer": (lambda t: t[:, 0][:, None] * t[:, 1][None, :], 2),
    "columns": (lambda t: t[:, UInt(0, 2, 2)], 1),
    "take": (lambda t: dr.take(t, UInt(0, 2, 1), axis=1), None),
    "assign": (assigned, 2),
    "flatten": (lambda t: (dr.reshape(t, (-1,)), dr.ravel(t), t.array), 1),
    "reshape": (lambda t: dr.reshape(t, (t.shape[1], t.shape[0])), 1),
    "rebuild": (lambda t: TensorXf(t.array * 2, t.shape), 1),
    "zeros": (lambda t: dr.zeros(TensorXf, (2, t.shape[0])), 1),
    "full": (lambda t: dr.full(TensorXf, 3, t.shape) + dr.ones(TensorXf, t.shape), 1),
    "like": (lambda t: dr.zeros_like(t) + dr.full_like(t, 2), 1),
    "arange": (lambda t: dr.arange(TensorXf, t.shape[0]), 1),
    "linspace": (lambda t: dr.linspace(TensorXf, 0, 3, t.shape[0]), 2),
    "transpose": (lambda t: (t.T, dr.transpose(t)), 2),
    "moveaxis": (lambda t: dr.moveaxis(t[None], 0, 2), 2),
    "concat": (lambda t: (dr.concat([t, t * 2]), dr.concat([t, t], axis=1)), 2),
    "stack": (lambda t: dr.stack([t, t + 1]), 2),
    "axes": (lambda t: dr.squeeze(dr.expand_dims(t, 1)), 1),
    "reverse": (lambda t: (dr.reverse(t), dr.reverse(t, axis=1)), 2),
    "tile": (lambda t: (dr.tile(t, 2), dr.repeat(t, 2, axis=0)), 2),
    "sort": (lambda t: dr.sort(-t, axis=1), 1),
    "argmax": (lambda t: dr.argmax(t, axis=1), 1),
    "matmul": (lambda t: t @ dr.transpose(t), 2),
    "shapes": (lambda t: (t.shape, dr.shape(t), t.ndim, t.shape[0] + 1), 1),
    "length": (lambda t: t * len(t), None),
    "evaluated": (lambda t: (lambda u: (dr.eval(u), u[1:])[1])(t + 1), 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    function, expected = ROWS[name]
    frozen = dr.freeze(function, warn_after=1000)
    many = (4, 6, 10, 4, 101, 5)
    for n in many:
        assert outcome(frozen, tensor(n, 3)) == outcome(function, tensor(n, 3)), (
            n,
            frozen.explain(),
        )
    assert frozen.n_recordings <= (expected or len(set(many))), frozen.explain()
    others = [(3, 3), (2, 3), (1, 3), (0, 3), (8, 4), (5, 5), (7, 4), (3, 3), (5, 3)]
    for shape in others:
        assert outcome(frozen, tensor(*shape)) == outcome(function, tensor(*shape)), (
            shape,
            frozen.explain(),
        )


def test_the_reference_gives_values() -> None:
    """The comparisons above are not of errors."""
    for function, _ in ROWS.values():
        assert not isinstance(outcome(function, tensor(6, 3)), type)


def test_several_tensors() -> None:
    @dr.freeze
    def f(image: TensorXf, kernel: TensorXf, bias: Float) -> Any:
        return image * kernel + bias[0:1], image.shape, kernel.shape

    @dr.freeze
    def g(image: TensorXf, weights: TensorXf, x: Float) -> Any:
        return image * weights, x + weights.array

    for h, w in ((6, 8), (7, 8), (5, 9), (12, 3)):
        args = tensor(h, w, 3), tensor(3), flat(5)
        assert listed(f(*args)) == listed(f._function(*args))
        args = tensor(h, w), tensor(w), flat(w)
        assert listed(g(*args)) == listed(g._function(*args))
    assert f.n_recordings <= 3 and g.n_recordings <= 4


def test_shapes_that_agree_by_chance() -> None:
    @dr.freeze
    def f(a: TensorXf, b: TensorXf) -> TensorXf:
        return a + b

    shapes = [((4, 3), (4, 3)), ((6, 3), (6, 1)), ((6, 3), (1, 3)), ((6, 3), (3,))]
    shapes += [((5, 3), (7, 3)), ((3, 3), (3, 3)), ((4, 1), (1, 4)), ((4, 1), (1, 5))]
    for one, other in [*shapes, *shapes[::-1]]:
        args = tensor(*one), tensor(*other)
        assert outcome(f, *args) == outcome(f._function, *args), (one, other)


def test_tensors_that_are_no_inputs() -> None:
    table = TensorXf([[1, 2, 3], [4, 5, 6]])

    @dr.freeze
    def f(t: TensorXf) -> TensorXf:
        return t + TensorXf([[1, 2, 3]]) + table[1]

    for n in (4, 5, 9):
        assert listed(f(tensor(n, 3))) == listed(f._function(tensor(n, 3)))
    assert f.n_recordings == 1


def test_tensors_in_loops() -> None:
    @dr.freeze
    def f(t: TensorXf) -> tuple[TensorXf, ...]:
        return dr.while_loop(
            (t, UInt(0)), lambda t, i: i < 3, lambda t, i: (t * 2 + t.shape[1], i + 1)
        )[:1]

    for n in (4, 6, 9):
        assert listed(f(tensor(n, 3))) == listed(f._function(tensor(n, 3)))
    assert f.n_recordings <= 2


def test_results_are_inputs_again() -> None:
    @dr.freeze
    def step(t: TensorXf) -> TensorXf:
        return t[1:] + t[:-1]

    t, expected = tensor(20, 3), tensor(20, 3)
    for _ in range(12):
        t, expected = step(t), step._function(expected)
    assert listed(t) == listed(expected)
    assert step.n_recordings == 1


def test_two_threads_record_with_one_tensor() -> None:
    @dr.freeze
    def other(t: TensorXf) -> TensorXf:
        return t[1:] * 3

    @dr.freeze
    def f(t: TensorXf) -> Any:
        before = t[1:]
        thread = threading.Thread(target=lambda: other(t))
        thread.start()
        thread.join()
        return before, t[:-1], t.shape, dr.zeros(TensorXf, t.shape)

    for n in (4, 6, 9, 4):
        t = tensor(n, 3)
        assert listed(f(t)) == listed(f._function(t)), f.explain()
        assert listed(other(t)) == listed(other._function(t))


# ---------------------------------------------------------------- random programs


def random_tensors(seed: int) -> Callable[..., Any]:
    """A function of two tensors of shape (n, 3) and an array of n entries."""
    draw = random.Random(seed)
    steps = [(draw.random(), draw.random(), draw.random()) for _ in range(8)]

    def program(a: TensorXf, b: TensorXf, x: Float) -> list[Any]:
        values: list[TensorXf] = [a, b]

        def pick(number: float) -> TensorXf:
            return values[int(number * len(values))]

        for what, one, two in steps:
            t, u = pick(one), pick(two)
            n = t.shape[0]
            if what < 0.2:
                value = t * u + 1 if t.shape == u.shape else t * 2
            elif what < 0.3:
                value = t[1:] if n > 4 else t + 1
            elif what < 0.4:
                value = dr.concat([t, u]) if n < 40 else t - 1
            elif what < 0.5:
                value = t - dr.max(t, axis=1, keepdims=True)
            elif what < 0.6:
                value = t[::-1]
            elif what < 0.7:
                column = dr.arange(TensorXf, n) / n
                value = t * column[:, None]
            elif what < 0.75:
                value = dr.transpose(dr.transpose(t) * 0.5)
            elif what < 0.8:
                value = dr.reshape(dr.repeat(t.array, 2), (-1, 3))
            elif what < 0.85:
                value = t + dr.zeros(TensorXf, t.shape) + dr.sum(x)
            elif what < 0.9:
                index = UInt(t.array) % dr.width(x)
                value = TensorXf(dr.gather(Float, x, index), t.shape)
            elif what < 0.95:
                dr.eval(t)
                value = t[:, UInt(2, 0, 1)]
            else:
                value = t[: n // 2] if n >= 4 else t
            values.append(dr.clip(value, -1000, 1000))
        last = values[-1]
        return [last, dr.sum(last, axis=1), last.shape, values[-2][0]]

    return program


@pytest.mark.parametrize("seed", range(300))
def test_random_tensors(seed: int) -> None:
    program = random_tensors(seed)
    frozen = dr.freeze(program, warn_after=1000)
    draw = random.Random(seed + 1000)
    for _ in range(5):
        n = draw.choice((1, 2, 3, 5, 6, 9, 16, 21))
        m = draw.choice((n, n, n, 7, 1))
        args = tensor(n, 3), tensor(m, 3) - 4, flat(draw.choice((n, 4, 30)))
        assert outcome(frozen, *args) == outcome(program, *args), frozen.explain()


def test_errors_of_its_own() -> None:
    """They are no reason to call a function once more."""

    @dr.freeze
    def f(x: Float) -> Float:
        print("called")
        if dr.width(x) + 1 > 3:
            raise ValueError("too long")
        return x

    with (
        pytest.raises(ValueError, match="too long"),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        f(flat(9))
    assert out.getvalue() == "called\n"
