"""t[key] = value where the storage has to stay for somebody else: the value is computed
from it, or it belongs to another tensor as well. The reference is NumPy.

Entries that are left out are copied without the others, if that is worth it
(``tensor_rest.c``); the kernel history tells.
"""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import TensorXf

SHAPES: tuple[tuple[int, ...], ...] = (
    (70001,),
    (300, 260),
    (1, 70000),
    (257, 1, 260),
    (40, 41, 42),
    (2, 3, 110, 111),
    (9, 10),
)


def tensor(shape: tuple[int, ...], seed: int = 0) -> tuple[TensorXf, Any]:
    numbers = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    array = TensorXf(numbers.copy())  # whose memory it may share
    dr.eval(array)
    return array, numbers


def draw_key(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Mostly slices that leave little out."""
    key: list[Any] = []
    for extent in shape[: rng.integers(1, len(shape) + 1)]:
        kind = rng.integers(0, 12)
        begin, end = rng.integers(0, 4, 2)
        if kind == 0:
            key.append(int(rng.integers(-extent, extent)))
        elif kind == 1:
            key.append(slice(None, None, int(rng.choice([-1, 2, 3]))))
        elif kind == 2:
            key.append(slice(extent // 2, None))
        else:
            key.append(slice(int(begin), -int(end) if end else None))
    if rng.integers(0, 4) == 0:
        key.insert(int(rng.integers(0, len(key) + 1)), None)
    return tuple(key)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_keys(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    for seed in range(25):
        key = draw_key(rng, shape)
        (a, x), (b, y) = tensor(shape, seed), tensor(shape, seed + 1000)
        other = TensorXf(a)
        a[key] += b[key] * 2
        expected = x.copy()
        expected[key] += y[key] * 2
        assert np.array_equal(a.numpy(), expected), key
        assert np.array_equal(other.numpy(), x), key
        a[key] = 3
        expected[key] = 3
        a[key] *= a[key]
        expected[key] *= expected[key]
        assert np.array_equal(a.numpy(), expected), key


def test_shifted() -> None:
    """The value reads entries that are written."""
    (a, x), (b, y) = tensor((300, 260)), tensor((300, 260), 1)
    for _ in range(3):
        a[:, 1:] += a[:, :-1]
        x[:, 1:] = x[:, 1:] + x[:, :-1]
        a[1:] -= b[:-1] * a[:-1]
        x[1:] = x[1:] - y[:-1] * x[:-1]
        a[1:-1, 1:-1] = a[2:, 1:-1] + a[:-2, 1:-1]
        x[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1]
        a /= 2
        x /= np.float32(2)
    assert np.array_equal(a.numpy(), x)


def commands(function: Any) -> tuple[int, int]:
    """How many arrays a function copies, and how many kernels it launches."""
    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.eval(function())
        dr.sync_thread()
        types = [entry["type"] for entry in dr.kernel_history()]
    return types.count(dr.KernelType.Memcpy), types.count(dr.KernelType.JIT)


def test_copies() -> None:
    (a, _), (b, _) = tensor((300, 260)), tensor((300, 260), 1)

    def write(key: Any) -> Any:
        a[key] += b[key]
        return a

    assert commands(lambda: write((slice(None), slice(1, None)))) == (0, 2)
    assert commands(lambda: write((slice(2, -3), slice(1, -1)))) == (0, 5)
    assert commands(lambda: write(slice(200, None))) == (1, 1)  # few entries
    assert commands(lambda: write(slice(None, None, -1))) == (1, 1)  # is not a box


def test_alone() -> None:
    """Nobody else has the storage: it is written to where it is."""
    (a, x), (b, y) = tensor((300, 260)), tensor((300, 260), 1)
    a, x = a * 2, x * 2  # in memory of its own
    dr.eval(a)

    def write() -> Any:
        a[:, 1:] = b[:, 1:]
        return a

    assert commands(write) == (0, 1)
    x[:, 1:] = y[:, 1:]
    assert np.array_equal(a.numpy(), x)


def test_gradients() -> None:
    (a, _), (b, _) = tensor((300, 260)), tensor((300, 260), 1)
    dr.enable_grad(a, b)
    c = TensorXf(a)
    c[:, 1:] += c[:, :-1] * b[:, 1:]
    dr.backward(dr.sum(c, axis=None))
    grad = np.ones((300, 260), np.float32)
    grad[:, :-1] += b.numpy()[:, 1:]
    assert np.allclose(a.grad.numpy(), grad)
    grad = np.zeros((300, 260), np.float32)
    grad[:, 1:] = a.numpy()[:, :-1]
    assert np.allclose(b.grad.numpy(), grad)


@pytest.mark.parametrize("calls", [1, 3])
def test_frozen(calls: int) -> None:
    @dr.freeze
    def step(a: TensorXf, b: TensorXf) -> TensorXf:
        a = TensorXf(a)
        a[:, 1:] += b[:, :-1]
        return a

    for seed in range(calls):
        (a, x), (b, y) = tensor((300, 260), seed), tensor((300, 260), seed + 9)
        result = step(a, b)
        expected = x.copy()
        expected[:, 1:] += y[:, :-1]
        assert np.array_equal(result.numpy(), expected)
        assert np.array_equal(a.numpy(), x)
