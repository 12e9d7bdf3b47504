"""Random programs under ``@dr.syntax``, differentiated: loops, conditionals, calls,
gathers and scatters, ``break``, ``continue`` and ``return``, nested in each other.

Gradients of the symbolic program are compared with those of the evaluated one, which
has no derivatives of loops and conditionals but of what they have computed, and with
those that are had without a tape, or with some. Forward and reverse mode agree:
u (J v) = (u J) v. Of every fourth program, so are second derivatives: those of the
gradient along a direction, in either mode. Numbers stay in [-2, 2], so that nothing
blows up.

AD_PROGRAMS is the number of programs, AD_SEED where they begin; see 'make fuzz'.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Iterator
from textwrap import dedent, indent
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
    "dr.gather(Float64, {s}, {u} & 3) * {f}",
    "dr.gather(Float64, whole, {u} % 5)",
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
    """The text of a function of x (an entry for each lane), p (one) and a table. It
    adds to 'out', and then reads that and adds to 'late'. It overwrites 'over' and
    'fresh', in which each lane has three entries, if that is wanted."""

    def __init__(self, number: int, overwrites: bool = True) -> None:
        self.random = random.Random(number)
        self.overwrites = overwrites
        self.fuel = 12
        self.loops = 0
        self.target, self.sources = "out", ["table"]
        self.leaves = self.random.random() < 0.4  # break, continue, return
        self.returns = False  # then what follows is in a conditional
        self.counters: list[str] = []
        lines = self.block(1, 0)
        if self.random.random() < 0.4:
            self.fuel = 5
            # A body does not read what it has written to.
            self.target, self.sources = "late", ["table", "out"][: 2 - self.returns]
            lines += self.block(1, 0)
        self.text = "\n".join(
            [
                "def f(x, p, table):",
                "    lane = dr.arange(UInt, 5)",
                "    a, b, c = x, x * p, Float64(0.5)",
                *lines,
                "    return a + 2 * b - c",
                "",
            ]
        )

    def fill(self, text: str) -> str:
        for hole, give in (
            ("{f}", lambda: self.random.choice([*NAMES, *NAMES, "x", "p"])),
            ("{u}", lambda: self.random.choice(["lane", "(lane + 1)", *self.counters])),
            ("{b}", lambda: self.fill(self.random.choice(CONDITIONS))),
            ("{k}", lambda: str(self.random.choice([-0.5, 0.1, 0.6, 1.3]))),
            ("{s}", lambda: self.random.choice(self.sources)),
        ):
            while hole in text:
                text = text.replace(hole, give(), 1)
        return text

    def expression(self) -> str:
        return SQUASH.format(self.fill(self.random.choice(EXPRESSIONS)))

    def call(self) -> str:
        """An expression of what callables are given, and of what is around them that
        is not a value of a lane."""
        counters, self.counters = self.counters, []
        text = self.expression()
        self.counters = counters
        return text

    def block(self, indent: int, depth: int, loop: bool = False) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(indent, depth, loop)
        return lines

    def scatter(self) -> str:
        if self.random.random() < 0.4 or not self.overwrites:
            place = self.fill("(lane + {u}) & 3")
            return f"dr.scatter_add({self.target}, {self.expression()}, {place})"
        place = self.fill("3 * lane + {u} % 3")
        function = self.random.choice(["scatter", "scatter", "scatter_add"])
        mask = self.random.choice(["", "", self.fill(", {b}")])
        target = self.random.choice(["over", "fresh"])
        return f"dr.{function}({target}, {self.expression()}, {place}{mask})"

    def leave(self, indent: int, loop: bool) -> list[str]:
        """A jump that some lanes make, or values that they return."""
        kind = self.random.choice(["break", "continue"] * loop + ["return"])
        if kind == "return":
            self.returns = True
            kind = f"return {self.expression()}"
        pad = "    " * indent
        return [f"{pad}if {self.fill('{b}')}:", f"{pad}    {kind}"]

    def function(self, indent: int, depth: int) -> list[str]:
        """A call of one of two functions with bodies of their own, which may have loops
        and write."""
        pad = "    " * indent
        target = self.random.choice(NAMES)
        counters, leaves = self.counters, self.leaves
        index = self.fill("{u}")
        self.counters, self.leaves = [], False
        self.loops += 1
        lines, names = [], []
        for side in "gh":
            names.append(f"{side}{self.loops}")
            lines += [
                f"{pad}@dr.syntax",
                f"{pad}def {names[-1]}(a, b, c, x, lane):",
                *self.block(indent + 1, depth + 1),
                f"{pad}    return {self.random.choice(NAMES)}",
            ]
        self.counters, self.leaves = counters, leaves
        call = f"dr.switch({index} & 1, [{', '.join(names)}], a, b, c, x, lane)"
        return [*lines, f"{pad}{target} = {call}"]

    def statement(self, indent: int, depth: int, loop: bool) -> list[str]:
        self.fuel -= 1
        pad = "    " * indent
        kind = self.random.random()
        target = self.random.choice(NAMES)
        if self.fuel < 0 or depth > 2 or kind < 0.33:
            return [f"{pad}{target} = {self.expression()}"]
        if kind < 0.43:
            return [pad + self.scatter()]
        if kind < 0.48:
            if self.leaves and depth:
                return self.leave(indent, loop)
            return [f"{pad}{target} = {self.expression()}"]
        if kind < 0.65:
            lines = [
                f"{pad}if {self.fill('{b}')}:",
                *self.block(indent + 1, depth + 1, loop),
            ]
            if self.random.random() < 0.6:
                lines += [f"{pad}else:", *self.block(indent + 1, depth + 1, loop)]
            return lines
        if kind < 0.71:
            first, second = self.call(), self.call()
            arguments = ", ".join([*NAMES, "x", "lane"])
            return [
                f"{pad}{target} = dr.switch({self.fill('{u}')} & 1, "
                f"[lambda {arguments}: {first}, lambda {arguments}: {second}], "
                f"{arguments})"
            ]
        if kind < 0.76:
            return self.function(indent, depth)
        self.loops += 1
        counter = f"i{self.loops}"
        lines = [f"{pad}{counter} = UInt(0)"]
        bound = self.random.choice(["3", "(lane % 4)", "(lane & 1) + 1"])
        test = f"{counter} < {bound}"
        if self.random.random() < 0.3:
            test = f"({test}) & ({self.fill('{b}')})"
        lines.append(f"{pad}while {test}:")
        self.counters.append(counter)
        lines += [f"{pad}    {counter} += 1", *self.block(indent + 1, depth + 1, True)]
        self.counters.pop()
        return lines


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    limit = dr.ad.tape_limit()
    yield
    dr.ad.set_tape_limit(limit)
    gc.collect()  # functions that were defined, which have arrays as globals
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


def run(text: str, own: list[Any], symbolic: bool = True) -> list[Any]:
    """What the program returns, and makes of its arrays."""
    out, late = own[2] * own[1], own[2] + own[1]
    names = {"dr": dr, "Float64": Float64, "UInt": UInt, "whole": own[0]}
    over = dr.gather(Float64, out, dr.arange(UInt, 3 * LANES) & 3)
    fresh = dr.full(Float64, 0.5, 3 * LANES)
    names |= {"out": out, "late": late, "over": over, "fresh": fresh}
    with (
        dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, symbolic),
        dr.scoped_set_flag(dr.JitFlag.SymbolicConditionals, symbolic),
        dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, symbolic),
    ):
        result = dr.syntax(define(text, **names))(*own)
    arrays = [array * array * own[1] for array in (out, late, over, fresh)]
    return [result + own[0], *arrays]  # in all lanes


def reverse(text: str, symbolic: bool) -> tuple[list[Any], list[Any]]:
    own = inputs()
    results = run(text, own, symbolic)
    values = [result.numpy() for result in results]
    for result, seed in zip(results, seeds(results, 0), strict=True):
        dr.set_grad(result, seed)
        dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward)
    return values, [array.grad.numpy() for array in own]


def forward(text: str) -> float:
    own = inputs()
    results = run(text, own)
    for array, seed in zip(own, seeds(own, 2), strict=True):
        dr.set_grad(array, seed)
    dr.enqueue(dr.ADMode.Backward, *results)
    dr.traverse(dr.ADMode.Forward)
    return sum(
        float(np.dot(seed.numpy(), dr.grad(result).numpy()))
        for result, seed in zip(results, seeds(results, 0), strict=True)
    )


def dot(arrays: Any, offset: int) -> Any:
    return sum(
        (dr.sum(a * s) for a, s in zip(arrays, seeds(arrays, offset), strict=True)),
        Float64(0),
    )


def second(text: str, symbolic: bool, mode: Any) -> list[Any]:
    """The derivative of the gradient along a direction: in reverse mode the gradient of
    a product with it; forward the product of that with another direction."""
    own = inputs()
    loss = dot(run(text, own, symbolic), 0)
    flags = dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices
    dr.set_grad(loss, 1)
    dr.enqueue(dr.ADMode.Backward, loss)
    dr.traverse(dr.ADMode.Backward, flags)
    product = dot([dr.grad(array) for array in own], 2)
    for array in own:
        dr.clear_grad(array)
    if not dr.grad_enabled(product):
        return [np.zeros(dr.width(array)) for array in own]
    if mode is dr.ADMode.Backward:
        dr.backward(product)
        return [array.grad.numpy() for array in own]
    for array, seed in zip(own, seeds(own, 3), strict=True):
        dr.set_grad(array, seed)
    dr.enqueue(dr.ADMode.Backward, product)
    dr.traverse(dr.ADMode.Forward)
    for array in own:
        dr.clear_grad(array)
    return [dr.grad(product).numpy()]


def check_second(number: int, text: str) -> None:
    try:
        found = second(text, True, dr.ADMode.Backward)
        expected = second(text, False, dr.ADMode.Backward)
        tangent = second(text, True, dr.ADMode.Forward)[0]
    except Exception as error:
        raise AssertionError(f"second derivatives, {number}:\n{text}") from error
    own = [Float64(a) for a in found]
    along = float(dot(own, 3)[0])
    size = max(1.0, *(np.abs(a).max() for a in expected))
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=1e-8, atol=1e-9 * size), (
            f"second derivatives, {a} {b}, {number}:\n{text}"
        )
    if tangent.any() or along:
        assert abs(float(tangent[0]) - along) <= 1e-8 * size, f"{number}:\n{text}"


def check(text: str, number: int) -> None:
    """With a limit of the tape that is chosen by the number."""
    limit = dr.ad.tape_limit()
    try:
        values, found = reverse(text, True)
        expected_values, expected = reverse(text, False)
        dr.ad.set_tape_limit(random.Random(number).choice([0, 200, 400, 800]))
        without = reverse(text, True)[1]
        dr.ad.set_tape_limit(limit)
        along = sum(
            float(np.dot(seed.numpy(), gradient))
            for seed, gradient in zip(seeds(inputs(), 2), found, strict=True)
        )
        tangent = forward(text)
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
        text = Program(number).text
        check(text, number)
        if number % 4 == 0:
            check_second(number, text)


# What random programs have found.
FOUND = {
    # It is known that no lane enters the loop, which would give the state an entry for
    # each lane.
    "a loop that nobody enters": """
        b = 2 * dr.tanh(p)
        while (i < 3) & (p < c):
            i += 1
            b = 2 * dr.tanh(dr.gather(Float64, table, lane & 3) * b)
        """,
    # A state that is only read has as many entries as it likes.
    "table in a state": """
        while i < (lane & 1) + 1:
            i += 1
            j = UInt(0)
            while j < 3:
                j += 1
                c = dr.gather(Float64, table, i & 3) * c
        """,
    # The second side's derivative has a part of that of the conditional in it, which
    # follows the write of the first side.
    "sides that write to one array": """
        if lane > 1:
            dr.scatter_add(out, x * x, lane & 3)
        else:
            if x < 0.5:
                b = x * p
                dr.scatter_add(out, x * b, lane & 3)
            c = b * b
        """,
    # The derivative of the gradient comes to the conditional again, where no gradient
    # arrives at the loop: its array of zeros is not added to the one that is there.
    "a loop that no gradient reaches": """
        a, b = x, x * p
        if (lane & 1) == 0:
            if x < p:
                while (i < 3) & (((lane + 1) & 1) == 0):
                    i += 1
                    c = 2 * dr.tanh(dr.gather(Float64, whole, i % 5))
                place = 3 * lane + (lane + 1) % 3
                dr.scatter_add(over, 2 * dr.tanh(c / (dr.abs(c) + 1)), place, c < a)
            else:
                a = 2 * dr.tanh(Float64(0.25))
            c = 2 * dr.tanh(dr.select((lane + 1) > 2, a, x))
            a = 2 * dr.tanh(dr.atan2(a, dr.abs(c) + 1))
        b = a + 2 * b - 2 * c
        """,
    # The core finds that the state stays, once it knows that c is a number.
    "a condition that is never true": """
        a, b = x, x * p
        while i < (lane % 4):
            i += 1
            if c < c:
                a = 2 * dr.tanh(x)
        place = 3 * lane + (lane + 1) % 3
        dr.scatter_add(fresh, 2 * dr.tanh(a - b * p), place)
        """,
    # Forward derivatives of the gradient do not need those of the array.
    "writes after a return": """
        while i < lane % 4:
            i += 1
            j = UInt(0)
            while j < 3:
                j += 1
                if lane > 2:
                    return x * x
                dr.scatter_add(out, dr.tanh(c - b), (lane + j) & 3)
                c = p
        """,
    # The numbers of its writes are none.
    "an inner loop that never runs": """
        if lane > 1:
            while (i < lane) & (x > 3):
                i += 1
                dr.scatter(over, x * p, lane)
        """,
    # The derivative's loop has a condition that is a literal.
    "a loop that never runs": """
        while (i < lane) & (c < c):
            i += 1
            dr.scatter_add(out, dr.gather(Float64, table, lane & 3) * p, lane & 3)
        """,
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    lines = ["def f(x, p, table):", "    lane, i = dr.arange(UInt, 5), UInt(0)"]
    lines += ["    b, c = x, Float64(0.5)", indent(dedent(FOUND[name]), "    ")]
    text = "\n".join([*lines, "    return b + c", ""])
    for number in range(4):
        check(text, number)
    check_second(0, text)
