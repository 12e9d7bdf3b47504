"""Assertions on arrays, and the flag that turns them on."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest


@pytest.fixture
def debug() -> Iterator[None]:
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        yield


def message(function: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(AssertionError) as info:
        function(*args, **kwargs)
    return str(info.value)


def test_off_by_default(m: ModuleType) -> None:
    assert not dr.flag(dr.JitFlag.Debug)
    dr.assert_true(False, "{}")
    dr.assert_false(True)
    dr.assert_equal(1, 2)
    dr.assert_true(m.Array2b(False))


@pytest.mark.usefixtures("debug")
def test_booleans() -> None:
    dr.assert_true(True)
    dr.assert_false(False)
    assert message(dr.assert_true, False) == "Assertion failure!"
    assert message(dr.assert_false, True) == "Assertion failure!"
    text = message(dr.assert_true, False, "got {} and {b=}", 5, b=6)
    assert text == "Assertion failure: got 5 and b=6"
    # What is not raised is not formatted.
    dr.assert_true(True, "{")


@pytest.mark.usefixtures("debug")
def test_example_of_the_reference() -> None:
    x = dr.llvm.Float(1, -4, -2, 3)
    text = message(dr.assert_true, x >= 0, "Found negative values: {}", x)
    assert text == "Assertion failure: Found negative values: [-4, -2]"


@pytest.mark.usefixtures("debug")
def test_masks() -> None:
    m = dr.llvm
    x = m.Float(1, 2, 3)
    dr.assert_true(x > 0, "{}", x)
    dr.assert_false(x > 5, "{}", x)
    assert message(dr.assert_true, x > 1) == "Assertion failure!"
    text = message(dr.assert_true, x > 1, "{x} {}", 5, x=x)
    assert text == "Assertion failure: [1] 5"
    assert message(dr.assert_false, x > 1, "{}", x) == "Assertion failure: [2, 3]"
    assert message(dr.assert_true, m.Bool(False), "{}", x).endswith("[1, 2, 3]")
    # An array that is not of the size of the condition is shown in full.
    pair = m.Float(8, 9)
    assert message(dr.assert_true, x > 1, "{}", pair).endswith(": [8, 9]")
    dr.assert_true(m.Bool())


@pytest.mark.usefixtures("debug")
def test_nested_masks() -> None:
    m = dr.llvm
    value = m.Array3f(1, [2, 3, 5], 4)
    dr.assert_true(value > 0)
    text = message(dr.assert_true, value < 5, "{}", value)
    assert text == "Assertion failure: [[1, 5, 4]]"


@pytest.mark.usefixtures("debug")
def test_other_masks(m: ModuleType) -> None:
    dr.assert_true(m.Array3b(True, True, True))
    dr.assert_false(m.Array3b(False, False, False))
    value = m.ArrayXf([1])
    text = message(dr.assert_true, m.Array3b(True, False, True), "{}", value)
    assert text == f"Assertion failure: {value}"
    assert message(dr.assert_false, m.Array3b(True, False, True)).endswith("!")
    dr.assert_true(m.TensorXb([True, True]))
    text = message(dr.assert_true, m.TensorXb([True, False]), "{}", value)
    assert text == f"Assertion failure: {value}"


@pytest.mark.usefixtures("debug")
def test_scalar_lanes() -> None:
    m = dr.scalar
    x = m.ArrayXf([1, 2, 3])
    assert message(dr.assert_true, x > 1, "{}", x) == "Assertion failure: [1]"


@pytest.mark.usefixtures("debug")
def test_numpy_masks() -> None:
    dr.assert_true(np.array([True, True]))
    dr.assert_true(np.float64(1) == 1)
    assert message(dr.assert_true, np.array([True, False])) == "Assertion failure!"
    assert message(dr.assert_false, np.array([True, False])) == "Assertion failure!"


@pytest.mark.usefixtures("debug")
def test_limit() -> None:
    index = dr.arange(dr.llvm.Int, 30)
    short = "Assertion failure: [0, 1, 2, .. 24 skipped .., 27, 28, 29]"
    every = f"Assertion failure: {list(range(30))}"
    assert message(dr.assert_true, index < 0, "{}", index) == short
    assert message(dr.assert_true, index < 0, "{}", index, limit=30) == every
    assert message(dr.assert_equal, index, index + 1, "{}", index) == short
    assert message(dr.assert_equal, index, -1, "{}", index, limit=30) == every
    # assert_equal() shows three entries at either end.
    eight = dr.arange(dr.llvm.Int, 8)
    text = message(dr.assert_equal, eight, -1, "{}", eight)
    assert text == "Assertion failure: [0, 1, 2, .. 2 skipped .., 5, 6, 7]"


@pytest.mark.usefixtures("debug")
def test_equal(m: ModuleType) -> None:
    dr.assert_equal(1, 1)
    dr.assert_equal([1, "a"], [1, "a"])
    assert message(dr.assert_equal, 1, 2) == "Assertion failure!"
    assert message(dr.assert_equal, 1, 2, "oh {}", 3) == "Assertion failure: oh 3"
    for cls in (m.Array3f, m.Matrix2f, m.Complex2f, m.Array3i):
        dr.assert_equal(cls(1), cls(1))
        assert message(dr.assert_equal, cls(1), cls(2)) == "Assertion failure!"
    tensor = m.TensorXf([1, 2])
    dr.assert_equal(tensor, m.TensorXf([1, 2]))
    assert message(dr.assert_equal, tensor, 1).startswith("Assertion failure!")


@pytest.mark.usefixtures("debug")
def test_equal_lanes() -> None:
    x = dr.llvm.Float(1, 2, 3)
    text = message(dr.assert_equal, x, 1, "{} != 1", x)
    assert text == "Assertion failure: [2, 3] != 1"


@pytest.mark.usefixtures("debug")
def test_bad_arguments(m: ModuleType) -> None:
    for cond in (None, 1, "a", [True, False], m.Array3f(1)):
        with pytest.raises((TypeError, RuntimeError)):
            dr.assert_true(cond)
        with pytest.raises((TypeError, RuntimeError)):
            dr.assert_false(cond)
    with pytest.raises(TypeError):
        dr.assert_true(False, 5)
    with pytest.raises(RuntimeError, match="missing positional argument"):
        dr.assert_true(False, "{}")


@pytest.mark.usefixtures("debug")
def test_depth_and_skip_are_accepted() -> None:
    text = message(dr.assert_true, False, "x", tb_depth=1, tb_skip=2)
    assert text == "Assertion failure: x"
    text = message(dr.assert_false, True, "x", tb_depth=1, tb_skip=2)
    assert text == "Assertion failure: x"
    assert message(dr.assert_equal, 1, 2, "x", tb_skip=2) == "Assertion failure: x"
