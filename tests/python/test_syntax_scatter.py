"""Arrays that are scattered to in functions under ``@dr.syntax``."""

from __future__ import annotations

import textwrap
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float, UInt
from region_util import define

SCATTERS = """
    def f(n, a, b, c):
        k = UInt(0)
        while k < n:
            if k > 0:
                SCATTER(a, Float(1), k)
            elif n > 1:
                SCATTER(value=Float(10), index=k, target=b)
            k += 1
        if n == 2:
            dr.scatter(c, Float(5), n)
        return a, b, c
"""


@pytest.mark.parametrize("name", ["dr.scatter_add", "drjit.scatter_add", "add_to"])
@pytest.mark.parametrize("symbolic", [True, False])
def test_arrays_that_are_scattered_to_are_the_callers(
    name: str, symbolic: bool
) -> None:
    """They are not part of a state, whatever else refers to their variables."""
    text = SCATTERS.replace("SCATTER", name)
    names = {"dr": dr, "drjit": dr, "add_to": dr.scatter_add}
    function = define(textwrap.dedent(text), Float=Float, UInt=UInt, **names)
    zeros = [dr.zeros(Float, 4) for _ in range(3)]  # one literal
    numbers = dr.arange(Float, 4)
    same = Float(numbers)
    modes = (dr.JitFlag.SymbolicLoops, dr.JitFlag.SymbolicConditionals)
    with (
        dr.scoped_set_flag(modes[0], symbolic),
        dr.scoped_set_flag(modes[1], symbolic),
    ):
        a, b, c = dr.syntax(function)(UInt(1, 2, 3), zeros[0], zeros[1], numbers)
    assert a is zeros[0] and b is zeros[1] and c is numbers
    found = [list(array) for array in (*zeros, numbers, same)]
    assert found == [
        [0, 2, 1, 0],
        [20, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 1, 5, 3],
        [0, 1, 2, 3],
    ]


def test_other_functions_of_that_name_may_change_their_arguments() -> None:
    class Other:
        def scatter(self, target: Any, value: Any, index: Any) -> None:
            target += value

    text = """
    def f(other, a, x):
        if x > 1:
            other.scatter(a, x, 0)
        return a
    """
    a = dr.syntax(define(textwrap.dedent(text)))(
        Other(), Float(10, 20, 30), Float(1, 2, 3)
    )
    assert list(a) == [10, 22, 33]
