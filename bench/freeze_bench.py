"""Measures of frozen functions, on the package that is imported.

Called by python_bench.py; see there.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import drjit as dr
from peer_bench import (
    LEAVES,
    Statement,
    make_leaves,
    random_statements,
    require,
    run_program,
)
from timing import clock, emit, seconds_of

CALLS = 20  # of a frozen function, for one time
PIXELS = 64 * 64
SAMPLES = 16
FIRST_CALLS = 40  # of functions of one length


@dataclass
class Ten:
    """Ten arrays."""

    a: Any
    b: Any
    c: Any
    d: Any
    e: Any
    f: Any
    g: Any
    h: Any
    i: Any
    j: Any


def arrays(count: int) -> list[Any]:
    made = [dr.arange(dr.llvm.Float, 16) + i for i in range(count)]
    dr.eval(made)
    return made


def measure_call(_argument: str) -> None:
    """A call of a function that has been recorded, by what its input consists of."""

    def run(call: Callable[[], Any], case: str) -> None:
        for _ in range(3):
            dr.eval(call())

        def work() -> None:
            for _ in range(CALLS):
                call()
            dr.sync_thread()

        emit("freeze", case, seconds_of(work), 1e6 / CALLS, "us")

    def plain(xs: Any) -> Any:
        return [x * 2 + 1 for x in xs]

    for count in (1, 100, 1000):
        inputs, frozen = arrays(count), dr.freeze(plain)
        run(partial(frozen, inputs), f"{count} arrays")
        require(dr.all(frozen(inputs)[-1] == plain(inputs)[-1]), "values differ")
    tens = [Ten(*arrays(10)) for _ in range(100)]
    frozen = dr.freeze(lambda ts: [t.a * 2 + t.j for t in ts])
    run(partial(frozen, tens), "100 dataclasses of 10 arrays")


# The statements of run_program() in peer_bench.py.
STATEMENTS = (
    "x + {y}",
    "x * {y}",
    "x - {y} * {c}",
    "dr.fma(x, {c}, {y})",
    "dr.select(x < {y}, x * {c}, {y})",
    "dr.minimum(x, {y}) + {c}",
)


def function_of(statements: list[Statement]) -> Callable[[list[Any]], Any]:
    """A function with these statements in its code."""
    names = ", ".join(f"y{k}" for k in range(LEAVES))
    lines = ["def function(ys):", f"    {names} = ys", "    x = y0"]
    for kind, other, c, store in statements:
        value = STATEMENTS[kind].format(y=f"y{other}", c=c)
        target = f"x = y{store}" if store < LEAVES else "x"
        lines.append(f"    {target} = {value}")
    space: dict[str, Any] = {"dr": dr}
    exec("\n".join([*lines, "    return x"]), space)
    made: Callable[[list[Any]], Any] = space["function"]
    return made


def first_call(operations: int, seed: int, frozen: bool) -> float:
    """Seconds until a function that is new has its result."""
    statements = random_statements(seed, operations)
    leaves = make_leaves(dr, dr.llvm.Float, 1000, seed)
    function = function_of(statements)
    call = dr.freeze(function) if frozen else function
    before = clock()
    result = call(leaves)
    dr.eval(result)
    dr.sync_thread()
    seconds = clock() - before
    expected = run_program(dr, statements, leaves)
    bits = [dr.reinterpret_array(dr.llvm.UInt, x) for x in (result, expected)]
    require(dr.all(bits[0] == bits[1]), "values differ")
    return seconds


def measure_first(argument: str) -> None:
    """The first call of a function whose kernel nobody has seen; frozen, and not."""
    seed = int(argument or 1) * 100000
    for operations in (10, 100, 1000):
        times: dict[bool, list[float]] = {False: [], True: []}
        for k in range(2 * FIRST_CALLS):
            frozen = bool(k % 2)
            times[frozen].append(first_call(operations, seed + k, frozen))
        medians = {way: statistics.median(each) for way, each in times.items()}
        case = f"{operations} ops"
        emit("freeze first", f"{case}, frozen", times[True], 1e6, "us")
        emit("freeze first", f"{case}, not frozen", times[False], 1e6, "us")
        ratio = medians[True] / medians[False]
        emit("freeze first", f"{case}, over not frozen", [ratio], 1, "ratio")


def render(color: Any, seed: Any) -> Any:
    """A picture of a soft ball, with samples that differ from call to call."""
    types = dr.llvm.ad
    index = dr.arange(types.UInt, PIXELS * SAMPLES)
    x = types.Float(index % 64) / 64 - 0.5
    y = types.Float(index // 64 % 64) / 64 - 0.5
    noise = dr.sin(types.Float(index + seed) * 12.9898) * 0.01
    ball = dr.exp(-8 * (x * x + y * y) + noise)
    picture = dr.zeros(types.Float, PIXELS)
    lane = index % PIXELS
    dr.scatter_reduce(
        dr.ReduceOp.Add, picture, ball * dr.gather(types.Float, color, lane), lane
    )
    return picture / SAMPLES


def step(state: dict[str, Any], target: Any, seed: Any) -> Any:
    """One step of Adam towards the target."""
    color = type(target)(state["color"])
    dr.enable_grad(color)
    loss = dr.sum(dr.square(render(color, seed) - target))
    dr.backward(loss)
    gradient = dr.grad(color)
    state["m"] = 0.9 * state["m"] + 0.1 * gradient
    state["v"] = 0.999 * state["v"] + 0.001 * gradient * gradient
    state["color"] = state["color"] - 0.01 * state["m"] / (dr.sqrt(state["v"]) + 1e-8)
    return dr.detach(loss)


def measure_step(_argument: str) -> None:
    """A step of an optimisation: render, derivatives, Adam; frozen, and not."""
    types = dr.llvm.ad
    for case, call in (("frozen", dr.freeze(step)), ("not frozen", step)):
        target = dr.full(types.Float, 0.5, PIXELS)
        state = {name: dr.zeros(types.Float, PIXELS) for name in ("color", "m", "v")}
        dr.make_opaque(state, target)
        count = 0

        def work(call: Any = call, state: Any = state, target: Any = target) -> None:
            nonlocal count
            count += 1
            loss = call(state, target, dr.opaque(types.UInt, count))
            dr.eval(loss, state)
            dr.sync_thread()

        for _ in range(4):
            work()
        emit("freeze step", case, seconds_of(work), 1e3, "ms")
        require(dr.all(dr.isfinite(state["color"])), "the colour is not finite")


MEASURES: dict[str, Callable[[str], None]] = {
    "freeze": measure_call,
    "freeze first": measure_first,
    "freeze step": measure_step,
}
