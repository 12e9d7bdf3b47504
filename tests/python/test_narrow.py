"""Chains of operations on 8-bit integers and half precision, which code keeps in wider
lanes, compared with NumPy: what is above a value's bits must never show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Bool, Float, Float16, Int, Int8, Int64, UInt8

N = 5003
INTEGERS: list[tuple[Any, Any]] = [(Int8, np.int8), (UInt8, np.uint8)]

# What becomes of c = a * b + a, of which the upper bits are anything.
USERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "itself": (lambda c, b: c, lambda c, b: c),
    "chain": (lambda c, b: c + c * c - b, lambda c, b: c + c * c - b),
    "not zero": (lambda c, b: c != 0, lambda c, b: c != 0),
    "Bool": (lambda c, b: Bool(c), lambda c, b: c.astype(bool)),
    "order": (lambda c, b: c > b, lambda c, b: c > b),
    "Float": (lambda c, b: Float(c), lambda c, b: c.astype(np.float32)),
    "Int": (lambda c, b: Int(c), lambda c, b: c.astype(np.int32)),
    "Int64": (lambda c, b: Int64(c * b), lambda c, b: (c * b).astype(np.int64)),
    "UInt8": (lambda c, b: UInt8(c) // 3, lambda c, b: c.astype(np.uint8) // 3),
    "Int8": (lambda c, b: dr.abs(Int8(c)), lambda c, b: np.abs(c.astype(np.int8))),
    "right": (lambda c, b: c >> 1, lambda c, b: c >> 1),
    "left": (lambda c, b: (c << 3) + b, lambda c, b: (c << 3) + b),
    "by": (lambda c, b: 1 << (c & 7), lambda c, b: b.dtype.type(1) << (c & 7)),
    "least": (lambda c, b: dr.minimum(c, b), lambda c, b: np.minimum(c, b)),
    "bits": (lambda c, b: c & b | 5, lambda c, b: c & b | 5),
    "negative": (lambda c, b: -c, lambda c, b: -c),
    "select": (
        lambda c, b: dr.select(b > 3, c * b, c),
        lambda c, b: np.where(b > 3, c * b, c),
    ),
}


def both(result: Any, expected: Any) -> None:
    assert np.array_equal(np.array(result), expected)


@pytest.mark.parametrize(("cls", "dtype"), INTEGERS)
@pytest.mark.parametrize("name", USERS)
def test_integers(cls: Any, dtype: Any, name: str) -> None:
    random = np.random.default_rng(1)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    a, b = random.integers(least, most, (2, N), dtype=dtype, endpoint=True)
    ours, numpy = USERS[name]
    with np.errstate(over="ignore"):
        expected = numpy(a * b + a, b)
    x, y = cls(a), cls(b)
    both(ours(x * y + x, y), expected)
    c = x * y + x
    result = ours(c, y)  # beside another user
    dr.eval(c, result)
    both(result, expected)


def test_integers_in_loop() -> None:
    a = np.arange(N).astype(np.int8)
    k, v = dr.while_loop(
        (Int(0), Int8(a)), lambda k, v: k < 5, lambda k, v: (k + 1, v * v + Int8(a))
    )
    expected = a
    with np.errstate(over="ignore"):
        for _ in range(5):
            expected = expected * expected + a
    both(v, expected)


def test_halves() -> None:
    random = np.random.default_rng(2)
    a, b = random.standard_normal((2, N)).astype(np.float16)
    x, y = Float16(a), Float16(b)
    product = x * y
    ratio = product / y
    total = ratio + product
    chosen = dr.select(product > 0, total, ratio)
    wide = Float(total) + 1
    dr.eval(product, ratio, total, chosen, wide)
    both(product, a * b)
    both(ratio, a * b / b)
    both(total, a * b / b + a * b)
    both(chosen, np.where(a * b > 0, a * b / b + a * b, a * b / b))
    both(wide, (a * b / b + a * b).astype(np.float32) + 1)
    both((x * y + x) * y - x, (a * b + a) * b - a)
