"""Objects of users' classes as arguments of functions and constructors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array2f, ArrayXf, Bool, Float, Float64, TensorXf, UInt


class Asked:
    """Says what it was asked."""

    def __drjit_function__(self, name: str, args: tuple[Any, ...]) -> Any:
        return name, args


class Silent:
    def __drjit_function__(self, name: str, args: tuple[Any, ...]) -> Any:
        return NotImplemented


class Failing:
    def __drjit_function__(self, name: str, args: tuple[Any, ...]) -> Any:
        raise ZeroDivisionError(name)


class Sequence(Asked):
    """Could be converted, too."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return range(2)[i]


ONE = """abs acos acosh asin asinh atan atanh brev cbrt ceil cos cosh erf
    erfinv exp exp2 floor isfinite isinf isnan lgamma log log2 log2i lzcnt popcnt rcp
    round rsqrt sin sinh sqrt tan tanh trunc tzcnt""".split()
TWO = "atan2 copysign maximum minimum mul_hi mul_wide power step".split()


def test_names() -> None:
    """All elementwise functions are in these lists."""
    for name in (*ONE, *TWO, "fma", "select", "sincos", "sincosh", "hypot"):
        assert callable(getattr(dr, name)), name


@pytest.mark.parametrize("cls", [Asked, Sequence])
def test_one_argument(cls: Any) -> None:
    x = cls()
    for name in ONE:
        assert getattr(dr, name)(x) == (name, (x,))
    assert dr.sincos(x) == (("sin", (x,)), ("cos", (x,)))
    assert dr.sincosh(x) == (("sinh", (x,)), ("cosh", (x,)))


@pytest.mark.parametrize(
    "other", [2, 1.5, Float(1, 2), Array2f(1), ArrayXf(1), Silent()]
)
@pytest.mark.parametrize("cls", [Asked, Sequence])
def test_several_arguments(cls: Any, other: Any) -> None:
    x = cls()
    for name in TWO:
        function = getattr(dr, name)
        for args in ((x, other), (other, x)):
            found, given = function(*args)
            assert found == name
            assert all(a is b for a, b in zip(given, args, strict=True))
    for args in ((x, other, 1), (other, 1, x), (1, x, other)):
        found, given = dr.fma(*args)
        assert found == "fma"
        assert all(a is b for a, b in zip(given, args, strict=True))
    found, given = dr.select(Bool(True), x, other)
    assert found == "select" and given[1] is x and given[2] is other


def test_order() -> None:
    """The first that has an answer gives it."""
    first, second = Asked(), Asked()
    assert dr.maximum(first, second) == ("maximum", (first, second))
    silent = Silent()
    assert dr.maximum(silent, second)[1] == (silent, second)
    with pytest.raises(ZeroDivisionError, match="minimum"):
        dr.minimum(Failing(), first)
    with pytest.raises(ZeroDivisionError, match="fma"):
        dr.fma(Float(1), Failing(), 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dr.tanh(Silent()),
        lambda: dr.maximum(Silent(), 1),
        lambda: dr.maximum(Float(1), Silent()),
        lambda: dr.fma(Silent(), Float(1), Float(1)),
        lambda: dr.isnan(Silent()),
        lambda: dr.step(Float(1), Silent()),
        lambda: dr.copysign(Float(1), Silent()),
        lambda: dr.power(Float(1), Silent()),
        lambda: dr.atan2(object(), Float(1)),
    ],
)
def test_no_answer(call: Callable[[], Any]) -> None:
    """Everything is as if the method were not there."""
    with pytest.raises((TypeError, RuntimeError)):
        call()


def test_others_are_not_asked() -> None:
    assert dr.maximum(Fraction(1, 2), 1) == 1
    assert dr.maximum(np.float32(3), Float(1)).numpy().tolist() == [3]
    assert dr.maximum([1, 5], Array2f(3)).numpy().tolist() == [[3], [5]]

    class Instance:
        def __init__(self) -> None:
            self.__drjit_function__ = lambda name, args: 1

    with pytest.raises(TypeError):
        dr.tanh(Instance())  # the class counts, as for operators


class Matrix:
    """Says what array it is."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __drjit_array__(self) -> Any:
        return self.array


def test_arrays() -> None:
    x = Float64(1, 2, 3)
    dr.enable_grad(x)
    y = Float(Matrix(x))
    assert y.numpy().tolist() == [1, 2, 3]
    dr.backward(y * 2)
    assert dr.grad(x).numpy().tolist() == [2, 2, 2]
    t = TensorXf(Matrix(TensorXf([[1, 2], [3, 4]])))
    assert t.shape == (2, 2)
    assert Array2f(Matrix(Array2f(1, 2))).numpy().tolist() == [[1], [2]]
    assert Array2f(Matrix(Float(1)), 2).numpy().tolist() == [[1], [2]]
    assert dr.gather(Float, Float(Matrix(UInt(5))), UInt(0))[0] == 5
    with pytest.raises(TypeError, match=r"__drjit_array__\(\) returned an object of"):
        Float(Matrix("x"))
    with pytest.raises(TypeError, match="2 dimensions"):
        Float(Matrix(TensorXf([[1, 2]])))
    with pytest.raises(AttributeError, match="no such thing"):
        Float(Matrix.__new__(Broken))


class Broken(Matrix):
    def __drjit_array__(self) -> Any:
        raise AttributeError("no such thing")


def test_references() -> None:
    x = Asked()
    before = sys.getrefcount(x)
    for _ in range(10):
        dr.tanh(x)
        dr.fma(Float(1), x, 2)
        dr.maximum(x, Silent())
    assert sys.getrefcount(x) == before
