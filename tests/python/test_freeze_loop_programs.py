"""Random programs with evaluated loops as frozen functions: loops in each other, with
numbers of iterations that depend on data, on loops around, and on the call. Bodies
change several states, scatter to an array from outside, evaluate on the way, take sums
of states, and use counters after their loops.

Each call has other inputs, of another size. What a frozen function gives has the bits
of the function; so has what is saved and loaded.

FREEZE_PROGRAMS is the number of programs, FREEZE_SEED where they begin; see 'make
fuzz'.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Float, UInt

COUNT = int(os.environ.get("FREEZE_PROGRAMS", "150"))
SEED = int(os.environ.get("FREEZE_SEED", "0"))
PART = 50  # programs of a test
CALLS = 7

EXPRESSIONS = [
    "dr.sin({v} + {w})",
    "{v} * 0.5 + {w} * 0.25",
    "{v} - x * 0.1",
    "dr.select({v} > {w}, {v}, x * 0.5)",
    "{v} + Float({c}) * 0.125",
    "dr.gather(Float, x, {c} % dr.opaque_width(x)) * 0.5 + {v} * 0.5",
    "dr.gather(Float, Float([1, 2, 3]), {c} % 3) + {v} * 0.5",
    "dr.cos({v}) + dr.sum({w}) * 0.001",
    "dr.minimum({v}, dr.max({w}))",
    "x * 0.75",
]
OUTER = ["k", "(k + 1)", "5", "(k % 4 + 2)"]
INNER = ["2", "({c} % 3)", "(k % 4)", "((k + {c}) % 4)", "k"]


class Program:
    """The text of a function of x, k (small numbers) and four counters."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.loops = self.temporaries = 0
        self.fuel = 14
        body = self.block(1, 0, ["lane"])
        self.text = "\n".join(
            [
                "def f(x, k, counts):",
                "    lane = dr.arange(UInt, dr.width(x))",
                "    a, b = x * 1, x * 0.5",
                *body,
                *self.loop(1, 0, ["lane"]),
                "    return a, b, counts",
            ]
        )

    def state(self) -> str:
        return self.random.choice("ab")

    def expression(self, counters: list[str]) -> str:
        text = self.random.choice(EXPRESSIONS)
        counter = self.random.choice(counters)
        return text.format(v=self.state(), w=self.state(), c=counter)

    def block(self, indent: int, depth: int, counters: list[str]) -> list[str]:
        count = self.random.randint(1, 4)
        lines = [self.statement(indent, depth, counters) for _ in range(count)]
        return [line for several in lines for line in several]

    def statement(self, indent: int, depth: int, counters: list[str]) -> list[str]:
        pad, kind = "    " * indent, self.random.random()
        self.fuel -= 1
        if kind < 0.3 and depth < 3 and self.fuel > 0:
            return self.loop(indent, depth, counters)
        if kind < 0.4:
            place = f"({self.random.choice(counters)} + lane) & 3"
            return [f"{pad}dr.scatter_add(counts, UInt(1), {place})"]
        target = self.state()
        if kind < 0.48:
            self.temporaries += 1
            name = f"t{self.temporaries}"
            return [
                f"{pad}{name} = {self.expression(counters)}",
                f"{pad}dr.eval({name})",
                f"{pad}{target} = {target} * 0.5 + {name}",
            ]
        if kind < 0.53:
            return [f"{pad}a, b = b, a"]
        if kind < 0.58:
            return [f"{pad}{target} += 0.25"]
        return [f"{pad}{target} = {self.expression(counters)}"]

    def loop(self, indent: int, depth: int, counters: list[str]) -> list[str]:
        pad = "    " * indent
        self.loops += 1
        name, counter = f"body{self.loops}", f"i{self.loops}"
        states = self.random.choice(["a, b", "a, b", "a", "b"])
        bound = self.random.choice(INNER if depth else OUTER)
        bound = bound.format(c=self.random.choice(counters))
        condition = f"{counter} < {bound}"
        if self.random.random() < 0.4:
            limit = self.random.choice([-0.5, 0, 0.3, 0.7])
            condition = f"({condition}) & ({states[-1]} > {limit})"
        lines = [f"{pad}def {name}({states}, {counter}):"]
        if len(states) == 1:  # the other one is that from outside
            other = "b" if states == "a" else "a"
            lines = [f"{pad}outer{self.loops} = {other}", *lines]
            lines.append(f"{pad}    {other} = outer{self.loops} * 1")
        lines += [
            *self.block(indent + 1, depth + 1, [*counters, counter]),
            f"{pad}    return {states}, {counter} + 1",
            f"{pad}{states}, {counter} = dr.while_loop(({states}, UInt(0)),",
            f"{pad}    lambda {states}, {counter}: {condition}, {name},",
            f"{pad}    mode='evaluated')",
        ]
        for use in ("Float({}) * 0.125", "dr.sum({}) * 0.01"):
            if self.random.random() < 0.15:
                target = self.state()
                lines.append(f"{pad}{target} = {target} + {use.format(counter)}")
        return lines


class Plain:
    """A function without implicit inputs: those of another process are not found."""

    def __init__(self, number: int) -> None:
        names: dict[str, Any] = {"dr": dr, "Float": Float, "UInt": UInt}
        exec(Program(number).text, names)
        self._function = names["f"]

    def __call__(self, *inputs: Any) -> Any:
        return self._function(*inputs)


def inputs(draw: random.Random) -> tuple[Float, UInt]:
    size = draw.choice((2, 5, 9, 40))
    numbers = np.random.default_rng(draw.randrange(1000))
    many = numbers.integers(0, 7, size)
    k = UInt(many if draw.random() < 0.5 else np.full(size, many[0]))
    return Float(numbers.uniform(-1, 1, size)), k


def called(function: Callable[..., Any], x: Float, k: UInt) -> list[Any]:
    counts = dr.opaque(UInt, 0, 4)
    found = function(Float(x), k, counts)
    arrays = [np.array(array) for array in (*found, counts)]
    return [(array.shape, array.tobytes()) for array in arrays]


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, PART))
def test_loop_programs(first: int, tmp_path: Path) -> None:
    repeated = 0
    for number in range(first, min(first + PART, SEED + COUNT)):
        draw, plain = random.Random(number), Plain(number)
        frozen = dr.freeze(plain, warn_after=1000)
        for _ in range(CALLS):
            x, k = inputs(draw)
            expected, before = called(plain, x, k), frozen.n_recordings
            assert called(frozen, x, k) == expected, (number, frozen.explain())
            repeated += 0 < before == frozen.n_recordings
            if not frozen.n_recordings:
                continue
            frozen.save(tmp_path / "kept")
            loaded = dr.load_frozen(tmp_path / "kept", plain)
            assert called(loaded, x, k) == expected, (number, loaded.explain())
            assert loaded.n_recordings == 0, number
    assert repeated > CALLS * min(PART, COUNT) // 4
