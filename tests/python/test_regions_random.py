"""Random programs with nested loops, conditionals, calls and local arrays: each traced,
and interpreted by plain Python one lane after the other.
"""

from __future__ import annotations

import random
from typing import Any

import drjit as dr
import pytest
import region_util
from drjit.llvm import UInt
from region_util import if_stmt, while_loop

SLOTS, LENGTH, LANES, DEPTH = 4, 3, 37, 3

# A statement is a tuple (kind, ...); operands are numbers of variables.
OPERATIONS = ("add", "sub", "mul", "xor", "min")
Statement = tuple[Any, ...]


# Where local arrays are used.
NOWHERE, OUTSIDE, CALLABLES = range(3)


def random_block(r: random.Random, depth: int, local: int) -> list[Statement]:
    return [random_statement(r, depth, local) for _ in range(r.randint(1, 4))]


def random_statement(r: random.Random, depth: int, local: int) -> Statement:
    a, b, c = (r.randrange(SLOTS) for _ in range(3))
    kinds = ["compute"] * 3 + ["constant", "scatter", "gather"]
    kinds += ["read", "write"] if local else []
    kinds += ["loop", "if", "call"] * 2 if depth else []
    kind = r.choice(kinds)
    if kind == "compute":
        return kind, r.choice(OPERATIONS), a, b, c
    if kind in ("constant", "scatter", "gather", "read", "write"):
        return kind, a, b, r.randrange(1, 100)
    if kind == "loop":
        return kind, a, r.randint(1, 4), random_block(r, depth - 1, local)
    if kind == "if":
        blocks = [random_block(r, depth - 1, local) for _ in range(2)]
        return kind, a, b, *blocks
    inside = local if local == CALLABLES else NOWHERE
    return kind, a, [random_block(r, depth - 1, inside) for _ in range(r.randint(1, 3))]


# --------------------------------------------------------------- one lane in Python


def compute(op: str, a: int, b: int) -> int:
    results = {"add": a + b, "sub": a - b, "mul": a * b, "xor": a ^ b, "min": min(a, b)}
    return results[op] % 2**32


def run_plain(
    block: list[Statement],
    v: list[int],
    target: list[int],
    local: list[int],
    crossing: bool,
) -> None:
    """'crossing': local arrays are inputs and outputs of calls."""
    for kind, *s in block:
        if kind == "compute":
            v[s[3]] = compute(s[0], v[s[1]], v[s[2]])
        elif kind == "constant":
            v[s[0]] = s[2]
        elif kind == "scatter":
            target[v[s[0]] % len(target)] += v[s[1]]
        elif kind == "gather":
            v[s[0]] = SOURCE[v[s[1]] % len(SOURCE)]
        elif kind == "read":
            v[s[0]] = local[v[s[1]] % LENGTH]
        elif kind == "write":
            local[v[s[0]] % LENGTH] = v[s[1]]
        elif kind == "loop":
            for _ in range(v[s[0]] % (s[1] + 1)):
                run_plain(s[2], v, target, local, crossing)
        elif kind == "if":
            side = s[2] if v[s[0]] < v[s[1]] else s[3]
            run_plain(side, v, target, local, crossing)
        else:
            number = v[s[0]] % (len(s[1]) + 1)
            if number:
                run_plain(s[1][number - 1], v, target, local, crossing)
            else:
                v[:] = [0] * SLOTS
                local[:] = [0] * LENGTH if crossing else local


SOURCE = [pow(3, k, 2**31) for k in range(16)]

# ------------------------------------------------------------------------- traced


class Tracer:
    """Traces blocks: variables, the lane and perhaps the local array in a tuple."""

    def __init__(self, local: int) -> None:
        self.local = local
        self.source = UInt(SOURCE)
        self.target = dr.zeros(UInt, 8)

    def run(self, block: list[Statement], state: tuple[Any, ...]) -> tuple[Any, ...]:
        for kind, *s in block:
            state = getattr(self, kind)(state, *s)
        return state

    def set(self, state: tuple[Any, ...], slot: int, value: Any) -> tuple[Any, ...]:
        return (*state[:slot], value, *state[slot + 1 :])

    def compute(self, v: Any, op: str, a: int, b: int, c: int) -> Any:
        operations = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "xor": lambda a, b: a ^ b,
            "min": dr.minimum,
        }
        return self.set(v, c, operations[op](v[a], v[b]))

    def constant(self, v: Any, a: int, b: int, value: int) -> Any:
        return self.set(v, a, UInt(value))

    def scatter(self, v: Any, a: int, b: int, value: int) -> Any:
        # Lanes count: what is the same in all of them has to be written by each.
        number = v[b] + (v[SLOTS] & 0)
        dr.scatter_add(self.target, number, v[a] & 7)
        return v

    def gather(self, v: Any, a: int, b: int, value: int) -> Any:
        return self.set(v, a, dr.gather(UInt, self.source, v[b] & 15))

    def read(self, v: Any, a: int, b: int, value: int) -> Any:
        return self.set(v, a, v[SLOTS + 1].read(v[b] % LENGTH))

    def write(self, v: Any, a: int, b: int, value: int) -> Any:
        v[SLOTS + 1].write(v[b], v[a] % LENGTH)
        return v

    def loop(self, v: Any, a: int, most: int, block: list[Statement]) -> Any:
        def body(n: Any, *v: Any) -> tuple[Any, ...]:
            return (n - 1, *self.run(block, v))

        state = (v[a] % (most + 1), *v)
        return while_loop(state, lambda n, *_: n > 0, body)[1:]

    def if_(self, v: Any, a: int, b: int, *blocks: list[Statement]) -> Any:
        def side(block: list[Statement]) -> Any:
            return lambda *v: self.run(block, v)

        return if_stmt(v[a] < v[b], v, side(blocks[0]), side(blocks[1]))

    def call(self, v: Any, a: int, blocks: list[list[Statement]]) -> Any:
        def function(block: list[Statement]) -> Any:
            return lambda *v: self.run(block, v)

        number = v[a] % (len(blocks) + 1) - 1  # the largest number calls nothing
        args = v if self.local == CALLABLES else v[: SLOTS + 1]
        result = dr.switch(number, [function(b) for b in blocks], *args)
        return (*result[:SLOTS], v[SLOTS], *result[SLOTS + 1 :], *v[len(args) :])


setattr(Tracer, "if", Tracer.if_)


def check(seed: int, local: int) -> None:
    r = random.Random(seed)
    block = random_block(r, DEPTH, local)
    start = [[r.randrange(2**32) for _ in range(LANES)] for _ in range(SLOTS)]
    target = [0] * 8
    expected = []
    for lane in range(LANES):
        v = [column[lane] for column in start]
        run_plain(block, v, target, [7] * LENGTH, local == CALLABLES)
        expected.append(v)
    t = Tracer(local)
    state: tuple[Any, ...] = tuple(UInt(column) for column in start)
    state += (dr.arange(UInt, LANES),)
    if local:
        state += (dr.alloc_local(UInt, LENGTH, value=7),)
    result = t.run(block, state)[:SLOTS]
    found = [a.numpy() for a in result]
    for lane in range(LANES):
        values = [int(a[lane if len(a) > 1 else 0]) for a in found]
        assert values == expected[lane], (seed, lane)
    assert t.target.numpy().tolist() == [n % 2**32 for n in target], seed


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(mode: str, seed: int) -> None:
    check(seed, NOWHERE)


# The last two: results of regions were computed once more in callables.
@pytest.mark.parametrize("seed", [*range(1000, 1060), 223552, 315295])
def test_random_programs_with_local_arrays(mode: str, seed: int) -> None:
    check(seed, OUTSIDE)


@pytest.mark.parametrize("seed", range(3000, 3060))
def test_random_programs_with_local_arrays_in_calls(mode: str, seed: int) -> None:
    check(seed, CALLABLES)


@pytest.mark.parametrize("seed", range(2000, 2060))
def test_random_programs_with_lanes_taken_out(seed: int) -> None:
    with (
        dr.scoped_set_flag(region_util.MODES, False),
        dr.scoped_set_flag(dr.JitFlag.CompressLoops),
    ):
        check(seed, NOWHERE)
