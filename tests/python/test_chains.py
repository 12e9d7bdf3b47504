"""Computations on the rows of matrices, whose launches are run on some rows after the
other: the bits are those of launches one by one, and values those of NumPy.

Whether launches are run together is tested in tests/c/test_chain.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Bool, Float, Float64, UInt32
from drjit.llvm.ad import Float64 as DiffFloat64
from drjit.llvm.ad import TensorXf64

LANES = 1_100_000  # enough to be shared by threads, with tiles
SHAPES = [1, 2, 3, 7, 64, 1000, 4096, 65535, 65536, 65537]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = dr.thread_count()
    dr.set_thread_count(2)
    yield
    dr.set_thread_count(before)


def row_of(size: int, length: int) -> Any:
    """The number of each lane's row."""
    return dr.arange(UInt32, size) // length


def softmax(x: Any, length: int) -> Any:
    """Softmax of rows."""
    row = row_of(len(x), length)
    most = dr.block_reduce(dr.ReduceOp.Max, x, length)
    e = dr.exp(x - dr.gather(type(x), most, row))
    return e / dr.gather(type(x), dr.block_sum(e, length), row)


def softmax_twice(x: Any, length: int) -> Any:
    """Softmax of the softmax."""
    return softmax(softmax(x, length) * 10, length)


def kept(x: Any, length: int) -> Any:
    """Softmax with all that it is made of."""
    row = row_of(len(x), length)
    most = dr.block_reduce(dr.ReduceOp.Max, x, length)
    e = dr.exp(x - dr.gather(type(x), most, row))
    total = dr.block_sum(e, length)
    return most, e, total, e / dr.gather(type(x), total, row)


def masked(x: Any, length: int) -> Any:
    """Rows of which every other one is left out."""
    row = row_of(len(x), length)
    active = (row & 1) == 0
    total = dr.block_sum(dr.select(x > 0, x, 0), length)
    return x - dr.gather(type(x), total, row, active)


def logsumexp(x: Any, length: int) -> Any:
    """Logarithm of the sum of exponentials."""
    most = dr.block_reduce(dr.ReduceOp.Max, x, length)
    e = dr.exp(x - dr.gather(type(x), most, row_of(len(x), length)))
    return most + dr.log(dr.block_sum(e, length))


def shifted(x: Any, length: int) -> Any:
    """The next row's sum: no chain is right."""
    rows = len(x) // length
    total = dr.block_sum(x * 2, length)
    row = row_of(len(x), length)
    return x - dr.gather(type(x), total, dr.select(row + 1 < rows, row + 1, 0))


def other_rows(x: Any, length: int) -> Any:
    """Sums of rows of another length: no chain is right."""
    total = dr.block_sum(x * 2, length)
    row = dr.minimum(row_of(len(x), length + 1), len(x) // length - 1)
    return x - dr.gather(type(x), total, row)


def backwards(x: Any, length: int) -> Any:
    """An array that is read from its end, after one that writes it."""
    y = x * 3
    total = dr.block_sum(y, length)
    dr.eval(y, total)
    last = len(x) - 1 - dr.arange(UInt32, len(x))
    return dr.gather(type(x), y, last) - dr.gather(
        type(x), total, row_of(len(x), length)
    )


def means(x: Any, length: int) -> Any:
    """Normalisation: the mean is computed from a sum of the row."""
    row = row_of(len(x), length)
    mean = dr.block_sum(x, length) / length
    apart = x - dr.gather(type(x), mean, row)
    variance = dr.block_sum(apart * apart, length) / length
    return apart * dr.gather(type(x), dr.rsqrt(variance + 1e-5), row)


FUNCTIONS = [
    softmax,
    softmax_twice,
    kept,
    masked,
    logsumexp,
    shifted,
    other_rows,
    backwards,
    means,
]


def run(function: Callable[..., Any], data: Any, kind: Any, length: int) -> list[Any]:
    """The results; the second run has its kernels at hand."""
    for _ in range(2):
        x = kind(data)
        dr.eval(x)
        results = function(x, length)
        dr.eval(results)
    results = results if isinstance(results, tuple) else (results,)
    return [np.array(result) for result in results]


def data_of(length: int, lanes: int = LANES) -> Any:
    """Rows of ``length`` numbers."""
    count = max(lanes // length, 2) * length
    return np.random.default_rng(length).standard_normal(count)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("length", SHAPES)
def test_same_bits(function: Callable[..., Any], length: int) -> None:
    """With launches one by one, and reductions apart from kernels."""
    data = data_of(length).astype(np.float32)
    together = run(function, data, Float, length)
    with dr.scoped_set_flag(dr.JitFlag.LaunchBlocking, True):
        one_by_one = run(function, data, Float, length)
        with dr.scoped_set_flag(dr.JitFlag.FuseReductions, False):
            apart = run(function, data, Float, length)
    for one, two, three in zip(together, one_by_one, apart, strict=True):
        assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("function", [softmax, kept, means])
def test_threads(function: Callable[..., Any], threads: int) -> None:
    """The number of threads makes no difference."""
    data = data_of(1000)
    expected = run(function, data, Float64, 1000)
    dr.set_thread_count(threads)
    for one, two in zip(run(function, data, Float64, 1000), expected, strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("length", [3, 1000, 4096])
def test_values(length: int) -> None:
    """Against NumPy."""
    data = data_of(length)
    rows = data.reshape(-1, length)
    e = np.exp(rows - rows.max(1, keepdims=True))
    expected = (e / e.sum(1, keepdims=True)).ravel()
    assert np.allclose(run(softmax, data, Float64, length)[0], expected)
    apart = rows - rows.mean(1, keepdims=True)
    expected = (apart / np.sqrt((apart**2).mean(1, keepdims=True) + 1e-5)).ravel()
    assert np.allclose(run(means, data, Float64, length)[0], expected)


def test_tensors() -> None:
    """Softmax as one would write it, with its derivative."""
    length = 1000
    data = data_of(length).reshape(-1, length)
    weights = np.cos(np.arange(data.size)).reshape(data.shape)
    e = np.exp(data - data.max(1, keepdims=True))
    y = e / e.sum(1, keepdims=True)
    slope = y * (weights - (weights * y).sum(1, keepdims=True))
    for _ in range(2):
        x = TensorXf64(data)
        dr.enable_grad(x)
        own = dr.exp(x - dr.detach(dr.max(x, axis=1, keepdims=True)))
        own /= dr.sum(own, axis=1, keepdims=True)
        loss = dr.sum(own * TensorXf64(weights))
        dr.backward(loss)
        assert np.allclose(np.array(dr.detach(own)), y)
        assert np.allclose(np.array(dr.grad(x)), slope, atol=1e-12)


def test_frozen() -> None:
    """Other numbers of rows, and rows of other lengths."""
    frozen = dr.freeze(softmax)
    for count, length in [(1100, 1000), (1100, 1000), (1300, 1000), (600, 2000)]:
        data = data_of(length, count * length)
        result = np.array(frozen(Float64(data), length))
        assert result.tobytes() == run(softmax, data, Float64, length)[0].tobytes()


def test_written_while_waiting() -> None:
    """What a gather that has not run reads stays as it was."""
    x = Float64(data_of(1000))
    total = dr.block_sum(x * 2, 1000)
    repeated = dr.gather(Float64, total, row_of(len(x), 1000))
    before = np.array(x).reshape(-1, 1000)
    dr.scatter(x, Float64(100), dr.arange(UInt32, 1000))
    dr.scatter(total, Float64(7), UInt32(0, 1, 2))
    found = np.array(repeated).reshape(before.shape)[:, 0]
    assert np.allclose(found, 2 * before.sum(1))
    assert np.array(total)[:3].tolist() == [7, 7, 7]


def test_array_waits_longer() -> None:
    """What was computed from a reduction that has been performed meanwhile."""
    x = Float64(data_of(1000))
    total = dr.block_sum(x * 2, 1000)
    mean = total / 1000
    repeated = dr.gather(Float64, mean, row_of(len(x), 1000))
    dr.eval(total)
    expected = np.array(x).reshape(-1, 1000).mean(1) * 2
    assert np.allclose(np.array(repeated).reshape(-1, 1000)[:, 7], expected)
    assert np.allclose(np.array(mean), expected)
    mean = dr.sqrt(dr.block_sum(x * x, 1000))
    repeated = dr.gather(Float64, mean, row_of(len(x), 1000))
    dr.eval(mean, repeated + mean[0], repeated)
    expected = np.sqrt((np.array(x).reshape(-1, 1000) ** 2).sum(1))
    assert np.allclose(np.array(repeated).reshape(-1, 1000)[:, 9], expected)


def test_in_bodies() -> None:
    """A reduction that waits can be read inside of a loop."""
    total = dr.block_sum(Float64(data_of(1000)) * 2, 1000)
    lane = dr.arange(UInt32, len(total))
    (_, found) = dr.while_loop(
        (UInt32(0), Float64(dr.zeros(Float64, len(total)))),
        lambda i, s: i < 2,
        lambda i, s: (i + 1, s + dr.gather(Float64, total, lane, Bool(True))),
    )
    assert np.allclose(np.array(found), 2 * np.array(total))


def test_derivative_of_rows() -> None:
    """Sums of rows that come back to them, differentiated."""
    length = 64
    x = DiffFloat64(data_of(length, 200_000))
    dr.enable_grad(x)
    row = row_of(len(x), length)
    total = dr.block_sum(dr.square(x), length)
    dr.backward(dr.sum(x * dr.gather(DiffFloat64, total, row)))
    rows = np.array(dr.detach(x)).reshape(-1, length)
    expected = (rows**2).sum(1, keepdims=True) + 2 * rows * rows.sum(1, keepdims=True)
    assert np.allclose(np.array(dr.grad(x)).reshape(rows.shape), expected)


@pytest.mark.parametrize("length", [512, 4096, 8192])
@pytest.mark.parametrize("size", [16384, 65536, 131072])
def test_blocks_of_two_lengths(length: int, size: int) -> None:
    """A kernel that reduces rows and the whole array cannot run on some rows only."""
    data = np.random.default_rng(size).integers(0, 100, size)
    total = (3 * data.reshape(-1, length)).sum(1, keepdims=True)
    expected = np.repeat(total, length, 1).ravel()
    for k in range(300):
        expected = (expected + data) ^ k
    for _ in range(4):
        x, busy = UInt32(data), dr.arange(UInt32, LANES)
        rows, every = dr.block_sum(x * 3, length), dr.sum(x * 3)
        y = dr.gather(UInt32, rows, row_of(size, length))
        for k in range(300):  # worth being shared, which the first one is not
            y, busy = (y + x) ^ k, (busy + 7) ^ k
        dr.eval(busy)  # after this, both wait
        dr.eval(rows, every, y)
        assert every[0] == int(total.sum())
        assert np.array_equal(np.array(y), expected)
