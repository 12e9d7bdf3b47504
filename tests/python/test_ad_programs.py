"""Random programs under ``@dr.syntax``, differentiated: loops, conditionals, calls,
gathers and scatters, nested in each other.

Gradients of the symbolic program are compared with those of the evaluated one, which
has no derivatives of loops and conditionals but of what they have computed, and with
those that are had without a tape. Forward and reverse mode agree: u (J v) = (u J) v.
Numbers stay in [-2, 2], so that nothing blows up.

AD_PROGRAMS is the number of programs, AD_SEED where they begin; see 'make fuzz'.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64, UInt
from region_util import define

COUNT = int(os.environ.get("AD_PROGRAMS", "300"))
SEED = int(os.environ.get("AD_SEED", "0"))
PART = 50  # programs of a test

LANES = 5
X = Float64(0.5, -1.2, 1.7, 0.31, -0.4)
P = Float64(0.8)
TABLE = Float64(0.3, -0.6, 1.1, 0.9)

NAMES = ["a", "b", "c"]
EXPRESSIONS = [
    "{f} * {f}",
    "{f} + {f}",
    "{f} - {f} * p",
    "dr.sin({f}) + {f}",
    "dr.cos({f} * {f})",
    "dr.exp(-{f} * {f})",
    "dr.fma({f}, {f}, p)",
    "dr.sqrt(dr.abs({f}) + 1)",
    "{f} / (dr.abs({f}) + 1)",
    "dr.atan2({f}, dr.abs({f}) + 1)",
    "dr.maximum({f}, {f})",
    "dr.select({b}, {f}, {f})",
    "dr.abs({f})",
    "dr.gather(Float64, table, {u} & 3) * {f}",
    "dr.gather(Float64, x, {u} % 5)",
    "dr.gather(Float64, p, UInt(0)) + {f}",
    "dr.detach({f}) * {f}",
    "dr.replace_grad({f}, {f})",
    "p",
    "x",
    "Float64(0.25)",
]
CONDITIONS = ["{f} > {k}", "{f} < {f}", "({u} & 1) == 0", "{u} > 2"]
SQUASH = "2 * dr.tanh({})"


class Program:
    """The text of a function of x (an entry for each lane), p (one) and a table."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.fuel = 12
        self.loops = 0
        self.counters: list[str] = []
        lines = self.block(1, 0)
        self.text = "\n".join(
            [
                "def f(x, p, table):",
                "    lane = dr.arange(UInt, 5)",
                "    a, b, c = x, x * p, Float64(0.5)",
                "    out = table * p",
                *lines,
                "    return a + 2 * b - c, out * out",
                "",
            ]
        )

    def fill(self, text: str) -> str:
        for hole, give in (
            ("{f}", lambda: self.random.choice([*NAMES, *NAMES, "x", "p"])),
            ("{g}", lambda: self.random.choice([*NAMES, "p"])),
            ("{u}", lambda: self.random.choice(["lane", "(lane + 1)", *self.counters])),
            ("{b}", lambda: self.fill(self.random.choice(CONDITIONS))),
            ("{k}", lambda: str(self.random.choice([-0.5, 0.1, 0.6, 1.3]))),
        ):
            while hole in text:
                text = text.replace(hole, give(), 1)
        return text

    def expression(self) -> str:
        return SQUASH.format(self.fill(self.random.choice(EXPRESSIONS)))

    def call(self) -> str:
        """An expression of what callables are given."""
        while True:
            text = self.random.choice(EXPRESSIONS)
            if not re.search(r"\bx\b|{u}|{b}", text):
                text = self.fill(text.replace("{f}", "{g}"))
                return SQUASH.format(text)

    def block(self, indent: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(indent, depth)
        return lines

    def statement(self, indent: int, depth: int) -> list[str]:
        self.fuel -= 1
        pad = "    " * indent
        kind = self.random.random()
        target = self.random.choice(NAMES)
        if self.fuel < 0 or depth > 2 or kind < 0.35:
            return [f"{pad}{target} = {self.expression()}"]
        if kind < 0.45:
            place = self.fill("{u} & 3")
            return [f"{pad}dr.scatter_add(out, {self.expression()}, {place})"]
        if kind < 0.65:
            lines = [
                f"{pad}if {self.fill('{b}')}:",
                *self.block(indent + 1, depth + 1),
            ]
            if self.random.random() < 0.6:
                lines += [f"{pad}else:", *self.block(indent + 1, depth + 1)]
            return lines
        if kind < 0.75:
            first, second = self.call(), self.call()
            arguments = ", ".join(NAMES)
            return [
                f"{pad}{target} = dr.switch({self.fill('{u}')} & 1, "
                f"[lambda {arguments}: {first}, lambda {arguments}: {second}], "
                f"{arguments})"
            ]
        self.loops += 1
        counter = f"i{self.loops}"
        lines = [f"{pad}{counter} = UInt(0)"]
        bound = self.random.choice(["3", "(lane % 4)", "(lane & 1) + 1"])
        test = f"{counter} < {bound}"
        if self.random.random() < 0.3:
            test = f"({test}) & ({self.fill('{b}')})"
        lines.append(f"{pad}while {test}:")
        self.counters.append(counter)
        lines += self.block(indent + 1, depth + 1)
        self.counters.pop()
        return [*lines, f"{pad}    {counter} += 1"]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    limit = dr.ad.tape_limit()
    yield
    dr.ad.set_tape_limit(limit)
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def inputs() -> list[Any]:
    own = [Float64(X), Float64(P), Float64(TABLE)]
    dr.enable_grad(own)
    return own


def seeds(arrays: Any, offset: int) -> list[Any]:
    return [
        Float64(*[1 + 0.37 * ((k + n + offset) % 5) for k in range(dr.width(array))])
        for n, array in enumerate(arrays)
    ]


def reverse(function: Any, symbolic: bool) -> tuple[list[Any], list[Any]]:
    own = inputs()
    with (
        dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, symbolic),
        dr.scoped_set_flag(dr.JitFlag.SymbolicConditionals, symbolic),
        dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, symbolic),
    ):
        results = function(*own)
    values = [result.numpy() for result in results]
    for result, seed in zip(results, seeds(results, 0), strict=True):
        dr.set_grad(result, seed)
        dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward)
    return values, [array.grad.numpy() for array in own]


def forward(function: Any) -> float:
    own = inputs()
    results = function(*own)
    for array, seed in zip(own, seeds(own, 2), strict=True):
        dr.set_grad(array, seed)
    dr.enqueue(dr.ADMode.Backward, *results)
    dr.traverse(dr.ADMode.Forward)
    return sum(
        float(np.dot(seed.numpy(), dr.grad(result).numpy()))
        for result, seed in zip(results, seeds(results, 0), strict=True)
    )


def check(number: int) -> None:
    text = Program(number).text
    function = dr.syntax(define(text, dr=dr, Float64=Float64, UInt=UInt))
    try:
        values, found = reverse(function, True)
        expected_values, expected = reverse(function, False)
        limit = dr.ad.tape_limit()
        dr.ad.set_tape_limit(0)
        without = reverse(function, True)[1]
        dr.ad.set_tape_limit(limit)
        along = sum(
            float(np.dot(seed.numpy(), gradient))
            for seed, gradient in zip(seeds(inputs(), 2), found, strict=True)
        )
        tangent = forward(function)
    except Exception as error:
        raise AssertionError(f"program {number}:\n{text}") from error
    for a, b in zip(values, expected_values, strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-12), f"values, {number}:\n{text}"
    for a, b, c in zip(found, expected, without, strict=True):
        scale = 1e-10 * max(1.0, np.abs(b).max())
        assert np.allclose(a, b, rtol=1e-9, atol=scale), f"{a} {b}, {number}:\n{text}"
        assert np.allclose(a, c, rtol=1e-9, atol=scale), f"{a} {c}, {number}:\n{text}"
    assert abs(along - tangent) <= 1e-9 * max(1.0, abs(along)), f"{number}:\n{text}"


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, PART))
def test_programs(first: int) -> None:
    for number in range(first, min(first + PART, SEED + COUNT)):
        check(number)
