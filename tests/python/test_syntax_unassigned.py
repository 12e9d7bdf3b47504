"""Containers under ``@dr.syntax`` that some lanes do not assign."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Int


@dataclasses.dataclass
class Pair:
    x: Any
    y: Any


class Fields:
    DRJIT_STRUCT = {"x": Int, "y": Int}

    def __init__(self, x: Any = 0, y: Any = 0) -> None:
        self.x, self.y = x, y


@dataclasses.dataclass
class Squared:
    x: Any
    y: Any

    def __post_init__(self) -> None:
        self.square = self.x * self.y


CONTAINERS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: [x, y],
    lambda x, y: (x, (y, 1)),
    lambda x, y: {"x": x, "y": [y]},
    lambda x, y: [],
    lambda x, y: None,
    Pair,
    Fields,
    lambda x, y: [Pair(x, y), {}, Fields(x, y)],
]


@dr.syntax
def container_on_one_side(x: Any, make: Any, read: bool, side: bool) -> Any:
    y = x + 1
    if (x > 1) == side:
        pair = make(x, y)
        y = y * 2
    if read:
        return pair
    return y


@dr.syntax
def container_in_a_loop(x: Any, make: Any, read: bool, side: bool) -> Any:
    i = x * 0
    while i < x:
        i += 1
        if (i > 1) == side:
            pair = make(i, x)
    if read:
        return pair
    return i


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("function", [container_on_one_side, container_in_a_loop])
def test_containers_that_are_not_assigned_everywhere(function: Any, mode: bool) -> None:
    """They have no value then, and nothing happens if nobody reads them."""
    x = Int(0, 1, 2, 3)
    flags = dr.JitFlag.SymbolicLoops, dr.JitFlag.SymbolicConditionals
    with dr.scoped_set_flag(flags[0], mode), dr.scoped_set_flag(flags[1], mode):
        for make in CONTAINERS:
            for side in (True, False):
                found = function(x, make, False, side)
                if function is container_in_a_loop:
                    assert list(found) == [0, 1, 2, 3]
                else:
                    assert list(found) == [
                        (n + 1) * (2 if (n > 1) == side else 1) for n in range(4)
                    ]
                with pytest.raises(UnboundLocalError, match="'pair'"):
                    function(x, make, True, side)


def test_a_container_of_the_callers_that_is_not_assigned_everywhere() -> None:
    @dr.syntax
    def f(x: Any, held: Any, read: bool) -> Any:
        if x > 1:
            pair = held
        if read:
            return pair
        return x

    held = [Int(1, 2), {"a": Int(3)}]
    inside = list(held)
    f(Int(1, 2), held, False)
    assert held[0] is inside[0] and held[1] is inside[1]
    assert list(held[0]) == [1, 2] and list(held[1]["a"]) == [3]


def test_classes_that_want_numbers() -> None:
    """The marker cannot be in their place, so the conditional says what differs."""
    with pytest.raises(RuntimeError, match="'pair' changed from '.*Squared' to 'not"):
        container_on_one_side(Int(0, 2), Squared, False, True)
