"""Attributes of objects that are not PyTrees: read freely, changed outside only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array3f, Bool, Float, Int, UInt

MODES = ["symbolic", "evaluated"]


class Plain:
    def __init__(self) -> None:
        self.value = Int(0)
        self.wide = dr.opaque(Int, 5, 3)
        self.point = Array3f(1, 2, 3)
        self.items = [Int(1), {"key": Int(2)}]
        self.memory = dr.zeros(UInt, 4)
        self.number = 0
        self.self = self
        self.late: Any = None


class Holder:
    def __init__(self) -> None:
        self.inner = Plain()


class Struct:
    DRJIT_STRUCT = {"x": Int}

    def __init__(self, x: Any = 0) -> None:
        self.x = x
        self.other = Int(1)


@dataclasses.dataclass
class Fields:
    x: Any

    def __post_init__(self) -> None:
        self.other = Int(1)


class Slots:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = Int(0)


def in_place(o: Any, x: Any) -> None:
    o.value += 1


def replaced(o: Any, x: Any) -> None:
    o.value = o.value + x


def constant(o: Any, x: Any) -> None:
    o.value = Int(7)


def other_type(o: Any, x: Any) -> None:
    o.value = 3


def evaluated(o: Any, x: Any) -> None:
    o.wide += 1


def component(o: Any, x: Any) -> None:
    o.point.y += 1


def entry(o: Any, x: Any) -> None:
    o.items[0] += x


def deep_entry(o: Any, x: Any) -> None:
    o.items[1]["key"] = x


CHANGES: list[tuple[Callable[[Any, Any], None], str]] = [
    (in_place, "value"),
    (replaced, "value"),
    (constant, "value"),
    (other_type, "value"),
    (evaluated, "wide"),
    (component, "point"),
    (entry, r"items\[0\]"),
    (deep_entry, r"items\[1\]\['key'\]"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("side", [0, 1])
def test_changes_in_conditionals(mode: str, side: int) -> None:
    for change, name in CHANGES:

        def yes(x: Any, o: Any, change: Any = change) -> Any:
            change(o, x)
            return x

        sides = [yes, lambda x, o: x]
        x = Int(0, 1, 2)
        with pytest.raises(
            RuntimeError,
            match=rf"if_stmt\(\): 'o\.{name}' was changed, which .* '.*Plain' only",
        ):
            dr.if_stmt(
                (x, Plain()),
                x > 0,
                sides[side],
                sides[1 - side],
                mode=mode,
                arg_labels=("x", "o"),
            )
        with pytest.raises(RuntimeError, match=rf"'args\[1\]\.inner\.{name}' was ch"):
            dr.if_stmt(
                (x, Holder()),
                x > 0,
                lambda x, h, yes=yes: yes(x, h.inner),
                lambda x, h: x,
                mode=mode,
            )


@pytest.mark.parametrize("mode", MODES)
def test_changes_in_loops(mode: str) -> None:
    for change, name in CHANGES:

        def body(x: Any, o: Any, change: Any = change) -> Any:
            change(o, x)
            return x + 1, o

        with pytest.raises(RuntimeError, match=rf"'state\[1\]\.{name}' was changed"):
            dr.while_loop((Int(0, 1, 2), Plain()), lambda x, o: x < 3, body, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_attributes_beside_the_fields(mode: str) -> None:
    for cls in (Struct, Fields):

        def fine(x: Any, o: Any) -> Any:
            o.x += x
            return x + 1, o

        def wrong(x: Any, o: Any) -> Any:
            o.other += x
            return x + 1, o

        o: Any = cls(Int(0))
        result = dr.while_loop((Int(0, 1), o), lambda x, o: x < 3, fine, mode=mode)
        assert result[1] is o and list(o.x) == [3, 3]
        with pytest.raises(RuntimeError, match=r"'state\[1\]\.other' was changed"):
            dr.while_loop((Int(0, 1), o), lambda x, o: x < 3, wrong, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_what_may_happen_to_attributes(mode: str) -> None:
    """They are read, scattered to, made when they are needed; numbers are counted."""
    o, slots = Plain(), Slots()

    def body(x: Any, o: Any, slots: Any) -> Any:
        o.number += 1
        if o.late is None:
            o.late = Int(5)
        dr.scatter_add(o.memory, 1, x)
        return x + UInt(o.value + slots.value) + 1, o, slots

    x, r, s = dr.while_loop(
        (UInt(0, 1, 2), o, slots), lambda x, o, s: x < 3, body, mode=mode
    )
    assert r is o and s is slots and list(x) == [3, 3, 3]
    assert list(o.memory) == [1, 2, 3, 0] and list(o.late) == [5]
    assert o.number == (1 if mode == "symbolic" else 3)


def test_a_side_that_all_lanes_take() -> None:
    """Nothing is wrong with it. With the other one there is."""

    def side(x: Any, o: Any) -> Any:
        o.value = o.value + x
        return x

    def other(x: Any, o: Any) -> Any:
        return x

    for yes in (True, False):
        o, sides = Plain(), (side, other) if yes else (other, side)
        dr.if_stmt((Int(1, 2), o), Bool(yes), *sides)
        assert list(o.value) == [1, 2]
        with pytest.raises(RuntimeError, match=r"'args\[1\]\.value' was changed"):
            dr.if_stmt((Int(1, 2), o), Bool(not yes), *sides)


def test_what_a_body_has_left_behind_may_be_replaced() -> None:
    """A value that nobody can use is stored each time that the function is called."""

    class Tracer:
        def __init__(self) -> None:
            self.last: Any = None

        @dr.syntax
        def run(self, x: Any) -> Any:
            while x < 3:
                x += 1
                self.last = x * 2
            return x

    tracer = Tracer()
    for _ in range(3):
        assert list(tracer.run(Int(0, 5))) == [3, 5]
    with pytest.raises(RuntimeError, match="symbolic"):
        str(tracer.last)


def test_methods_under_syntax() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = UInt(0)
            self.scale = Float(2)

        @dr.syntax
        def wrong(self, x: Any) -> Any:
            if x > 1:
                self.count = self.count + 1
            return x

        @dr.syntax
        def right(self, x: Any) -> Any:
            count = self.count
            if x > 1:
                x *= self.scale
                count += 1
            self.count = count
            return x

    counter = Counter()
    assert list(counter.right(Float(1, 2))) == [1, 4]
    assert list(counter.count) == [0, 1]
    with pytest.raises(RuntimeError, match=r"if_stmt\(\): 'self\.count' was changed"):
        counter.wrong(Float(1, 2))


def test_many_attributes() -> None:
    """A look at a few dozen objects costs little, and arrays come first."""
    holder = Plain()
    holder.items = [Plain() for _ in range(1000)]

    def side(x: Any, o: Any) -> Any:
        o.value += 1
        return x

    with pytest.raises(RuntimeError, match="value' was changed"):
        dr.if_stmt((Int(1, 2), holder), Int(1, 2) > 1, side, lambda x, o: x)
