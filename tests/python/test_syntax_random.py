"""Random functions with loops, conditionals and jumps, under ``@dr.syntax``.

On numbers they do what they do without the decorator, including errors; on arrays, in
each mode, what they do on the number in each lane.
"""

from __future__ import annotations

import contextlib
import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Int

NAMES = list("abcxy")
LANES = [0, 1, 3, 4, 7, -2]
COUNT = 60  # programs for each test


@contextlib.contextmanager
def context() -> Iterator[None]:
    yield


class Program:
    """The text of a function. Without 'plain' it also does what arrays cannot do:
    variables that are not assigned, ``:=``, ``del``, closures, exceptions."""

    def __init__(self, seed: int, plain: bool) -> None:
        self.random = random.Random(seed)
        self.plain = plain
        self.fuel = 14
        self.count = 0
        lines = [
            f"    {name} = n + {place}"
            for place, name in enumerate(NAMES)
            if plain or self.random.random() < 0.6
        ]
        if not plain:
            lines += ["    def g(): return a + 1", "    h = lambda z: b + z"]
        lines += self.block(1, False, 0)
        result = "a + b * 3 + c * 5 + x * 7 + y * 11" if plain else self.name()
        self.text = "\n".join(["def f(n):", *lines, f"    return {result}", ""])

    def name(self) -> str:
        return self.random.choice(NAMES)

    def below(self, share: float) -> bool:
        return self.random.random() < share

    def expression(self) -> str:
        choices = [
            self.name(),
            f"{self.name()} + {self.name()}",
            f"{self.name()} * 2 - {self.random.randint(0, 5)}",
            f"{self.name()} - {self.name()}",
            f"n + {self.random.randint(0, 3)}",
        ]
        if not self.plain:
            choices += [
                f"({self.name()} := {self.name()} + 1)",
                f"sum([{self.name()} for _ in (1, 2)])",
                "g()",
                "h(1)",
            ]
        return self.random.choice(choices)

    def condition(self) -> str:
        if not self.plain and self.below(0.15):
            return f"(w := {self.name()} + 1) > {self.name()}"
        operator = self.random.choice(["<", ">", "==", "!="])
        other = self.random.choice([*NAMES, "n", "3", "7"])
        return f"{self.random.choice([*NAMES, 'n'])} {operator} {other}"

    def block(self, indent: int, loop: bool, depth: int) -> list[str]:
        lines = []
        for _ in range(self.random.randint(1, 4)):
            lines += self.statement(indent, loop, depth)
        return lines

    def statement(self, indent: int, loop: bool, depth: int) -> list[str]:
        self.fuel -= 1
        pad = "    " * indent
        kind = self.random.random()
        if self.fuel < 0 or depth > 4 or kind < 0.35:
            return [pad + self.simple(loop, depth)]
        inner = indent + 1, True, depth + 1
        same = indent + 1, loop, depth + 1
        if kind < 0.65:
            lines = [f"{pad}if {self.condition()}:", *self.block(*same)]
            if self.below(0.3):
                lines += [f"{pad}elif {self.condition()}:", *self.block(*same)]
            if self.below(0.5):
                lines += [f"{pad}else:", *self.block(*same)]
            return lines
        self.count += 1
        if kind < 0.85:
            i = f"i{self.count}"
            test = f"({i} < 4) & ({self.condition()})" if self.plain else f"{i} < 4"
            if not self.plain and self.below(0.5):
                test += f" and {self.condition()}"
            lines = [f"{pad}{i} = n * 0", f"{pad}while {test}:", f"{pad}    {i} += 1"]
            lines += self.block(*inner)
        elif kind < 0.93 or self.plain:
            lines = [f"{pad}for k{self.count} in range(3):", *self.block(*inner)]
        elif kind < 0.97:
            return [f"{pad}with context():", *self.block(*same)]
        else:
            end = [f"{pad}finally:", f"{pad}    {self.name()} = n"]
            return [f"{pad}try:", *self.block(*same), *end]
        if self.below(0.25):
            lines += [f"{pad}else:", *self.block(*same)]
        return lines

    def simple(self, loop: bool, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.12 and loop:
            return self.random.choice(["break", "continue"])
        if kind < 0.2 and depth:
            return f"return {self.expression()}"
        if kind < 0.25 and not self.plain:
            return f"del {self.name()}"
        if kind < 0.28 and not self.plain:
            return f"raise KeyError({self.expression()})"
        if kind < 0.34:
            values = f"{self.expression()}, {self.expression()}"
            return f"{self.name()}, {self.name()} = {values}"
        return f"{self.name()} = {self.expression()}"


def make(seed: int, plain: bool) -> Callable[[Any], Any]:
    text = Program(seed, plain).text
    file = f"<program {seed} {plain}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"context": context}
    exec(compile(text, file, "exec"), space)
    function: Callable[[Any], Any] = space["f"]
    return function


def outcome(function: Callable[[Any], Any], n: int) -> Any:
    try:
        return function(n)
    except (NameError, KeyError) as error:
        return "NameError" if isinstance(error, NameError) else "KeyError"


@pytest.mark.parametrize("first", range(0, 4 * COUNT, COUNT))
def test_numbers(first: int) -> None:
    for seed in range(first, first + COUNT):
        function = make(seed, False)
        decorated = dr.syntax(function)
        for n in LANES:
            assert outcome(decorated, n) == outcome(function, n), Program(
                seed, False
            ).text


@pytest.mark.parametrize("symbolic", [True, False])
def test_arrays(symbolic: bool) -> None:
    flags = dr.JitFlag.SymbolicLoops | dr.JitFlag.SymbolicConditionals
    for seed in range(COUNT):
        function = make(seed, True)
        with dr.scoped_set_flag(flags, symbolic):
            result = dr.zeros(Int, len(LANES)) + dr.syntax(function)(Int(LANES))
            found = list(result)
        expected = [(function(n) + 2**31) % 2**32 - 2**31 for n in LANES]
        assert found == expected, Program(seed, True).text
