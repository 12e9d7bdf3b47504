"""Slices of tensors, read and written: as NumPy does, whatever rows are like."""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import (
    TensorXf,
    TensorXf16,
    TensorXf64,
    TensorXi,
    TensorXu64,
    UInt,
    ad,
)
from engine_util import printed

TYPES = {
    np.float32: TensorXf,
    np.float64: TensorXf64,
    np.float16: TensorXf16,
    np.int32: TensorXi,
    np.uint64: TensorXu64,
}
LARGEST = [2000, 70, 24, 12]  # extents of tensors of 1 to 4 dimensions


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    ndim = int(rng.integers(1, 5))
    shape = [int(rng.integers(1, LARGEST[ndim - 1])) for _ in range(ndim)]
    if rng.integers(3) == 0:
        shape[-1] = int(rng.choice([15, 16, 17, 31, 32, 48, 64, 100]))
    return tuple(shape)


def random_key(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[slice, ...]:
    key = []
    for size in shape:
        a, b = sorted(int(k) for k in rng.integers(0, size + 1, 2))
        key.append(
            [
                slice(None),
                slice(a, b),
                slice(a, None),
                slice(None, b),
                slice(a, b, int(rng.integers(1, 4))),
                slice(1, -1),
            ][rng.integers(6)]
        )
    return tuple(key)


def numbers(entry: Any, shape: tuple[int, ...], period: int) -> Any:
    count = np.arange(int(np.prod(shape))) % period
    return count.astype(entry).reshape(shape)


@pytest.mark.parametrize("entry", list(TYPES))
@pytest.mark.parametrize("seed", range(60))
def test_random(entry: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    key = random_key(rng, shape)
    a = numbers(entry, shape, 251)
    value = numbers(entry, a[key].shape, 119)
    t = TYPES[entry](a)
    assert np.array_equal(t[key].numpy(), a[key])
    b, u = a.copy(), TYPES[entry](a)
    b[key] = value
    u[key] = TYPES[entry](value)
    assert np.array_equal(u.numpy(), b)
    b[key] += a[key]
    u[key] += t[key]
    assert np.array_equal(u.numpy(), b)
    both = dr.concat((t, u), axis=len(shape) - 1)
    assert np.array_equal(both.numpy(), np.concatenate((a, b), axis=-1))


def test_entries_of_two_sizes() -> None:
    """In one kernel: packets have fewer lanes."""
    a = numbers(np.float32, (37, 41), 1000)
    single, double = TensorXf(a), TensorXf64(a.astype(np.float64))
    mixed = TensorXf64(single[1:, :-3]) * 2 + double[1:, :-3]
    assert np.array_equal(mixed.numpy(), a[1:, :-3].astype(np.float64) * 3)
    double[1:, :-3] = mixed + TensorXf64(single[:-1, 3:])
    want = a.astype(np.float64)
    want[1:, :-3] = want[1:, :-3] * 3 + a[:-1, 3:]
    assert np.array_equal(double.numpy(), want)


PROGRAM = """
import drjit as dr
from drjit.llvm import Float, TensorXf, UInt
a = TensorXf(dr.sin(dr.arange(Float, 19 * 7 * 23)), (19, 7, 23))
b = TensorXf(dr.cos(dr.arange(Float, 19 * 7 * 23)), (19, 7, 23))
a[1:, 1:-1, :-3] += b[:-1, 2:, 3:] * 0.3
b[::2, 1:] = a[1::2, :-1][:1] + 0.1
c = dr.concat((a[:, 1], b[:, 2]), axis=1)
for t in (a, b, c):
    print(dr.reinterpret_array(UInt, t.array).numpy().tolist())
"""


def test_engines_agree() -> None:
    texts = printed(PROGRAM, isas=True)
    assert all(text == texts[0] for text in texts)


LARGE = [
    ((512, 256), (1, 0)),
    ((1000, 136), (1, 0)),
    ((16, 8200), (1, 0)),
    ((3, 256, 512), (0, 2, 1)),
    ((20, 40, 512), (2, 0, 1)),
    ((512, 20, 40), (1, 2, 0)),
    ((2, 3, 64, 512), (0, 1, 3, 2)),
    ((20, 40, 512), (2, 1, 0)),  # in no two groups of axes
    ((700, 201), (1, 0)),  # columns that are not whole tiles
    ((8, 32768), (1, 0)),  # few rows
]


@pytest.mark.parametrize("entry", list(TYPES))
@pytest.mark.parametrize("shape, order", LARGE)
def test_large_transposes(entry: Any, shape: Any, order: Any) -> None:
    """In tiles, where there are some."""
    a = numbers(entry, shape, 2039)
    found = dr.transpose(TYPES[entry](a), order)
    assert np.array_equal(found.numpy(), a.transpose(order))


@pytest.mark.parametrize("shape, order", LARGE)
def test_gradients_of_large_transposes(shape: Any, order: Any) -> None:
    rng = np.random.default_rng(2)
    x = ad.TensorXf(numbers(np.float32, shape, 2039))
    weights = rng.normal(size=[shape[k] for k in order]).astype(np.float32)
    dr.enable_grad(x)
    y = dr.transpose(x, order)
    dr.set_grad(y, ad.TensorXf(weights))
    dr.backward_to(x)
    back = np.argsort(order)
    assert np.array_equal(x.grad.numpy(), weights.transpose(back))
    dr.set_grad(x, ad.TensorXf(weights.transpose(back)))
    y = dr.transpose(x, order)
    assert np.array_equal(dr.forward_to(y).numpy(), weights)


def test_large_transposes_elsewhere() -> None:
    """In recorded bodies, and in frozen functions, which serve other sizes."""
    a = numbers(np.float32, (256, 512), 2039)

    other = TensorXf(a)
    start = UInt(0), dr.zeros(TensorXf, (512, 256))

    def body(i: UInt, total: Any) -> tuple[UInt, Any]:
        return i + 1, total + dr.moveaxis(other, 0, 1)

    total = dr.while_loop(start, lambda i, _: i < 4, body)[1]
    assert np.array_equal(total.numpy(), 4 * a.T)
    frozen = dr.freeze(lambda t: dr.moveaxis(t, 0, 1) + 1)
    for rows, columns in ((256, 512), (512, 1024), (300, 1000), (40, 24)):
        t = numbers(np.float32, (rows, columns), 2039)
        assert np.array_equal(frozen(TensorXf(t)).numpy(), t.T + 1)
