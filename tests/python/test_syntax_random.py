"""Random functions under ``@dr.syntax`` do on numbers what they do without it, errors
included: loops, conditionals and jumps, and what arrays cannot do: variables that are
not assigned, ``:=``, ``del``, closures, exceptions. (Arrays: test_syntax_programs.py.)
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import pytest
from region_util import define

NAMES = list("abcxy")
LANES = [0, 1, 3, 4, 7, -2]
COUNT = 60  # programs for each test


@contextlib.contextmanager
def context() -> Iterator[None]:
    yield


class Program:
    """The text of a function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fuel = 14
        self.count = 0
        lines = [
            f"    {name} = n + {place}"
            for place, name in enumerate(NAMES)
            if self.random.random() < 0.6
        ]
        lines += ["    def g(): return a + 1", "    h = lambda z: b + z"]
        lines += self.block(1, False, 0)
        self.text = "\n".join(["def f(n):", *lines, f"    return {self.name()}", ""])

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
            f"({self.name()} := {self.name()} + 1)",
            f"sum([{self.name()} for _ in (1, 2)])",
            "g()",
            "h(1)",
        ]
        return self.random.choice(choices)

    def condition(self) -> str:
        if self.below(0.15):
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
            test = f"{i} < 4"
            if self.below(0.5):
                test += f" and {self.condition()}"
            lines = [f"{pad}{i} = n * 0", f"{pad}while {test}:", f"{pad}    {i} += 1"]
            lines += self.block(*inner)
        elif kind < 0.93:
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
        if kind < 0.25:
            return f"del {self.name()}"
        if kind < 0.28:
            return f"raise KeyError({self.expression()})"
        if kind < 0.34:
            values = f"{self.expression()}, {self.expression()}"
            return f"{self.name()}, {self.name()} = {values}"
        return f"{self.name()} = {self.expression()}"


def outcome(function: Callable[[Any], Any], n: int) -> Any:
    try:
        return function(n)
    except (NameError, KeyError) as error:
        return "NameError" if isinstance(error, NameError) else "KeyError"


@pytest.mark.parametrize("first", range(0, 4 * COUNT, COUNT))
def test_numbers(first: int) -> None:
    for seed in range(first, first + COUNT):
        text = Program(seed).text
        function = define(text, context=context)
        decorated = dr.syntax(function)
        for n in LANES:
            assert outcome(decorated, n) == outcome(function, n), text
