"""``drjit.freeze``: inputs that contain themselves.

The reference is the plain function, called with inputs of the same structure.
"""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import drjit as dr
import pytest
from drjit.llvm import Float, UInt
from drjit.llvm.ad import Float as Tracked


def ramp(size: int) -> Float:
    x = dr.arange(Float, size) * 0.5 + 1
    dr.eval(x)
    return x


@dataclass(eq=False)
class Node:
    value: Float
    parent: Any = None
    children: list[Any] = field(default_factory=list)


class Linked:
    DRJIT_STRUCT = {"value": Float, "next": object}

    def __init__(self) -> None:
        self.value = Float()
        self.next: Any = None


def looped(n: int) -> Any:
    made: list[Any] = [ramp(n)]
    made.append(made)
    return made


def keyed(n: int) -> Any:
    made: dict[str, Any] = {"x": ramp(n), "in": [ramp(n) * 2]}
    made["in"] += [made, made["in"]]
    dr.eval(made["x"], made["in"][0])
    return made


def tree(n: int) -> Any:
    root = Node(ramp(n))
    for k in range(3):
        child = Node(ramp(n) + k, root)
        dr.eval(child.value)
        root.children.append(child)
    return root


def linked(n: int) -> Any:
    first, second = Linked(), Linked()
    first.value, second.value = ramp(n), ramp(n) * 3
    dr.eval(second.value)
    first.next, second.next = second, first
    return first


def mutual(n: int) -> Any:
    a: list[Any] = [ramp(n)]
    b = (a, ramp(n) + 1)
    dr.eval(b[1])
    a.append(b)
    return a, b


def add_looped(x: Any) -> Any:
    return x[0] + x[1][1][0]


def add_keyed(x: Any) -> Any:
    return x["x"] + x["in"][1]["in"][2][0]


def add_tree(x: Any) -> Any:
    return sum((c.value * c.parent.value for c in x.children), Float(0))


def add_linked(x: Any) -> Any:
    return x.value - x.next.next.next.value


def add_mutual(x: Any) -> Any:
    return x[0][1][0][0] * x[1][1] + x[1][0][0]


CASES = [
    (looped, add_looped),
    (keyed, add_keyed),
    (tree, add_tree),
    (linked, add_linked),
    (mutual, add_mutual),
]


@pytest.mark.parametrize(("make", "function"), CASES)
def test_cycles(make: Callable[[int], Any], function: Callable[[Any], Any]) -> None:
    """One recording serves all of the same structure, whichever objects they are."""
    frozen = dr.freeze(function)
    for n in (3, 3, 5, 40):
        one = make(n)
        for _ in range(2):
            assert list(frozen(one)) == list(function(one))
        assert list(frozen(copy.copy(one))) == list(function(one))
    # A copy of what contains itself contains the original, but a tuple is not copied.
    assert frozen.n_recordings == (1 if make is mutual else 2), frozen.explain()


def test_as_keyword_and_global() -> None:
    frozen = dr.freeze(lambda *, x: x[0] + reached[0])
    reached = looped(3)
    for k in range(3):
        reached[0] = ramp(3) * k
        dr.eval(reached[0])
        x = looped(3)
        assert list(frozen(x=x)) == [i * (k + 1) for i in (1, 1.5, 2)]
    assert frozen.n_recordings <= 2


def test_where_a_cycle_leads() -> None:
    """Other containers around it are another structure."""

    def first(x: Any) -> Any:
        return x[1][1][0]

    frozen = dr.freeze(first)
    inner: list[Any] = [ramp(3)]
    outer: list[Any] = [ramp(3) * 10, inner]
    dr.eval(outer[0])
    inner.append(outer)  # two levels
    assert list(frozen(outer)) == [10, 15, 20]
    inner[1] = inner  # one
    assert list(frozen(outer)) == [1, 1.5, 2]
    inner[1] = [ramp(3) * 7]  # none
    assert list(frozen(outer)) == [7, 10.5, 14]
    assert frozen.n_recordings == 3
    for target, expected in ((outer, 10), (inner, 1)):
        inner[1] = target
        assert frozen(outer)[0] == expected
    assert frozen.n_recordings == 3


def test_changes() -> None:
    """What the function does to them is done again."""

    def move(x: Any, total: Any) -> Any:
        x[1][0] = x[0] + 1
        x[1][1][2] = x[0] * 2
        dr.scatter_add(total, x[0], UInt(0, 0, 0))
        return x[2] + 0.5

    frozen = dr.freeze(move)
    for k in range(4):
        found = []
        for function in (frozen, move):
            x: list[Any] = [ramp(3) * k]
            x += [x, ramp(3)]
            total = dr.zeros(Float, 2)
            dr.make_opaque(x[0], x[2], total)
            found.append(
                [list(function(x, total)), list(x[0]), list(x[2]), list(total)]
            )
            assert x[1] is x and len(x) == 3
        assert found[0] == found[1]
    assert frozen.n_recordings == 1, frozen.explain()


def test_cycles_that_are_changed() -> None:
    calls = Mock()

    def close(x: Any) -> Any:
        calls()
        x[1] = x
        return x[0] + 1

    def open_(x: Any) -> Any:
        x[1] = x[0] * 2
        return x[0] + 1

    frozen, opened = dr.freeze(close), dr.freeze(open_)
    for _ in range(3):
        x: list[Any] = [ramp(2), None]
        assert list(frozen(x)) == [2, 2.5] and x[1] is x
        x = looped(2)
        assert list(opened(x)) == [2, 2.5] and list(x[1]) == [2, 3]
    assert calls.call_count == 3 and "the function changes" in frozen.explain()
    assert opened.n_recordings == 1


def test_results() -> None:
    """One that contains itself is not made again: the function is called."""

    def same(x: Any) -> Any:
        return x

    def fresh(x: Any) -> Any:
        made: list[Any] = [x[0] + 1]
        made.append(made)
        return made

    for function in (same, fresh):
        frozen = dr.freeze(function)
        for _ in range(3):
            x = looped(3)
            result = frozen(x)
            assert result[1] is result and (result is x) is (function is same)
            assert list(result[0]) == list(function(x)[0])
        assert frozen.n_recordings == 0
        assert "a result, or what it changes, contains itself" in frozen.explain()


def test_nothing_is_kept_alive() -> None:
    frozen = dr.freeze(add_tree)
    root = tree(3)
    gone = weakref.ref(root), weakref.ref(root.children[1])
    frozen(root)
    frozen(root)
    del root
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    frozen(tree(3))
    assert frozen.n_recordings == 1


def test_what_is_not_possible(tmp_path: Path) -> None:
    """Derivatives of what contains itself, and files with it."""

    @dr.freeze
    def f(x: Any, y: Any = None) -> Any:
        return x[0] * 2 if y is None else y["a"][0]

    x: list[Any] = [Tracked(1, 2)]
    x.append(x)
    dr.enable_grad(x[0])
    found = f(x)
    assert list(found) == [2, 4] and dr.grad_enabled(found)
    assert "args[0][1] contains itself, and an input has derivatives" in f.explain()
    y: dict[str, Any] = {"a": [Tracked(1, 2)]}
    y["a"].append(y)
    dr.enable_grad(y["a"][0])
    assert list(f(1, y=y)) == [1, 2]
    assert "kwargs['y']['a'][1] contains itself" in f.explain()
    assert dr.grad_enabled(x[0]) and dr.grad_enabled(y["a"][0])
    f(looped(3))
    with pytest.raises(TypeError, match=r"'args\[0\]\[1\]' cannot be saved: it is a"):
        f.save(tmp_path / "f")


def test_deep_and_wide() -> None:
    """Other walks than that of inputs still refuse cycles."""
    with pytest.raises(RecursionError):
        dr.eval(looped(3))
    deep: list[Any] = [ramp(3)]
    for _ in range(900):
        deep = [deep]
    inner = deep
    while isinstance(inner[0], list):
        inner = inner[0]
    inner.append(deep)
    frozen = dr.freeze(lambda x: x)
    assert "contains itself" in (frozen(deep), frozen.explain())[1]
    first = dr.freeze(lambda x, y: y + 1)
    assert list(first(deep, ramp(2))) == list(first(deep, ramp(2))) == [2, 2.5]
    assert first.n_recordings == 1
