"""``drjit.freeze(allow_reads=True)``: what is read decides which recording fits.

The reference is the plain function, called with the same inputs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array3f, Float, TensorXf, UInt


def ramp(size: int, start: float = 1.0) -> Float:
    x = dr.arange(Float, size) * 0.5 + start
    dr.eval(x)
    return x


def reads_an_entry(x: Float) -> Float:
    return x + 1 if x[0] > 1 else x - 1


def reads_the_last(x: Float) -> Float:
    return x * int(x[-1])


def reads_a_result(x: Float) -> Float:
    y = x * 2
    return y if dr.any(y > 6) else -y


def reads_twice(x: Float) -> Float:
    y = x * 2
    if dr.any(y > 6):
        y = dr.prefix_sum(y)
    dr.eval(y)
    return y + 1 if dr.all(y < 10) else y - 1


def reads_all(x: Float) -> Float:
    return x + sum(x)


def reads_text(x: Float) -> Float:
    return x + len(str(x))


def reads_numpy(x: Float) -> Float:
    return x + float(dr.abs(x).numpy().max())


def reads_a_count(x: Float) -> Float:
    kept = dr.gather(Float, x, dr.compress(x > 1.5))
    return kept + kept[0]


def reads_a_component(x: Float) -> Array3f:
    p = Array3f(x, 2, 3)
    return p * p.y[0] if p.x[0] > 0 else p


def reads_a_tensor(x: Float) -> TensorXf:
    t = TensorXf(x)
    return t * 2 if t[0].array[0] > 1 else t


def switches(x: Float) -> Float:
    functions = [lambda x: x * 2, lambda x: -x, lambda x: x + 7]
    index = UInt(dr.minimum(x, 2)) % 3
    return dr.switch(index, functions, x, mode="evaluated")


# How many recordings serve all of these inputs, where some of them share one.
INPUTS = [(4, 1), (4, 1), (4, 2), (10, 1), (4, 1), (1, 1), (10, 2), (4, 2), (4, 0.5)]
FUNCTIONS = [
    (reads_an_entry, 4),
    (reads_the_last, 6),
    (reads_a_result, 3),
    (reads_twice, 4),
    (reads_all, 6),
    (reads_text, 6),
    (reads_numpy, 6),
    (reads_a_count, 6),
    (reads_a_component, 4),
    (reads_a_tensor, 6),
    (switches, 6),
]


@pytest.mark.parametrize(
    ("function", "recordings"), FUNCTIONS, ids=[f.__name__ for f, _ in FUNCTIONS]
)
def test_reads(function: Callable[[Float], Any], recordings: int) -> None:
    if function is reads_numpy:
        pytest.importorskip("numpy")
    frozen = dr.freeze(function, allow_reads=True, warn_after=1000)
    for _ in range(2):
        for size, start in INPUTS:
            if function is reads_a_count and (size, start) == (1, 1):
                continue
            x = ramp(size, start)
            assert str(frozen(x)) == str(function(x))
    assert frozen.n_recordings <= recordings, frozen.explain()


def test_without_reads() -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        return x + 1 if x[0] > 1 else x - 1

    with pytest.raises(RuntimeError, match="__getitem__.*with 'allow_reads'"):
        f(ramp(4))
    assert f.n_recordings == 0


def test_explained() -> None:
    @dr.freeze(allow_reads=True)
    def f(x: Float) -> Float:
        y = x * 2
        dr.eval(y)
        return y + x[1] if y[2] > 1 else y + x[3]

    f(ramp(5))
    text = f.explain()
    assert "i0[1] after command 1" in text and "a1[2] after command 1" in text
    f(ramp(5, 2))
    assert "sizes, contents or flags do not fit" in f.explain()
    assert "not met the last time: a1[2]" in f.explain()


def test_bounds_of_entries() -> None:
    """An index that exists in some arrays is an error in others."""

    @dr.freeze(allow_reads=True)
    def f(x: Float) -> Float:
        return x + x[3] + dr.full(Float, 2, dr.width(x))[3]

    for size in (5, 8, 3, 8):
        if size == 3:
            with pytest.raises(IndexError):
                f(ramp(size))
        else:
            assert list(f(ramp(size))) == [v + 4.5 for v in ramp(size)]
    assert f.n_recordings == 1


def test_limit() -> None:
    """Of recordings that differ in contents, eight are kept: the latest ones."""

    @dr.freeze(allow_reads=True, warn_after=1000)
    def f(x: Float) -> Float:
        return x * int(x[0])

    for start in range(12):
        assert list(f(ramp(3, start))) == [v * start for v in ramp(3, start)]
    assert f.n_recordings == 12 and f.n_cached_recordings == 8
    f(ramp(3, 11))
    f(ramp(3, 4))
    assert f.n_recordings == 12
    f(ramp(3, 3))
    assert f.n_recordings == 13


def test_inputs_stay(capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that is given up halfway has changed nothing."""

    @dr.freeze(allow_reads=True)
    def f(x: Float, counts: UInt) -> Float:
        dr.scatter_add(counts, UInt(1), UInt(0, 1, 1))
        dr.eval(counts)
        y = dr.cumsum(x)
        return y + 1 if dr.all(y < 10) else y

    counts = UInt(0, 0, 0)
    dr.eval(counts)
    for k, start in enumerate((1, 5, 1, 5, 8), 1):
        f(ramp(4, start), counts)
        assert list(counts) == [k, 2 * k, 0]
    assert f.n_recordings == 2


def test_undefined() -> None:
    """There is memory to be read, whatever is in it."""

    @dr.freeze(allow_reads=True)
    def f(x: Float) -> Float:
        y = dr.empty(Float, dr.width(x))
        dr.eval(y)
        return x + (1 if y[0] == y[0] else 1.0)

    for size in (4, 4, 9):
        assert list(f(ramp(size))) == list(ramp(size) + 1)


def test_derivatives() -> None:
    from drjit.llvm.ad import Float as Tracked

    @dr.freeze(allow_reads=True)
    def f(x: Tracked) -> Tracked:
        loss = dr.sum(x * x)
        dr.backward(loss * 2 if loss[0] > 10 else loss)
        return loss

    for scale in (1, 1, 3, 1, 3):
        x = Tracked(1, 2) * scale
        dr.enable_grad(x)
        f(x)
        factor = 4 if scale == 3 else 2
        assert list(dr.grad(x)) == [factor * scale, 2 * factor * scale]
    assert f.n_recordings == 2


def random_program(seed: int) -> Callable[..., Any]:
    """A function that reads what it has computed, and goes on accordingly."""

    def program(x: Float, y: Float) -> list[Float]:
        draw = random.Random(seed)
        values = [x, y, x * y]
        for _ in range(8):
            a, b = draw.choice(values), draw.choice(values)
            kind = draw.randrange(6)
            if kind == 0:
                value = a + b if dr.any(a > b) else a - b
            elif kind == 1:
                value = a * (1 if a[0] > b[-1] else 2)
            elif kind == 2:
                kept = dr.gather(Float, b, dr.compress(a > 0))
                value = a + (kept[0] if dr.width(kept) else 0)
            elif kind == 3:
                value = dr.prefix_sum(a) if dr.sum(b)[0] > 3 else dr.sin(b)
            elif kind == 4:
                value = a + dr.max(b)
                dr.eval(value)
            else:
                value = dr.select(a > b, a, b)
            values.append(dr.clip(value, -50, 50))
        return values[-3:]

    return program


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    program = random_program(seed)
    frozen = dr.freeze(program, allow_reads=True, warn_after=1000)
    draw = random.Random(seed)
    for _ in range(10):
        size, start = draw.choice((1, 4, 30)), draw.choice((-2, 1, 2))
        args = ramp(size, start), ramp(size, -1)
        for found, expected in zip(frozen(*args), program(*args), strict=True):
            assert list(found) == list(expected), frozen.explain()
    assert frozen.n_recordings <= 10
