"""What the tests of loops, conditionals and calls share."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import drjit as dr
from drjit.llvm import Float, Float64, UInt

MODES = dr.JitFlag.SymbolicLoops | dr.JitFlag.SymbolicConditionals
MODES |= dr.JitFlag.SymbolicCalls


def while_loop(state: Any, cond: Any, body: Any, name: str | None = None) -> Any:
    return dr.while_loop(state, cond, body, label=name)


def if_stmt(
    cond: Any, args: Any, true_fn: Any, false_fn: Any, name: str | None = None
) -> Any:
    return dr.if_stmt(args, cond, true_fn, false_fn, label=name)


_numbers = itertools.count()


def define(text: str, name: str = "f", **names: Any) -> Any:
    """What 'name' is after running a text, which dr.syntax() and tracebacks find."""
    file = f"<text {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names[name]


class Boom(Exception):
    pass


def raises_at(point: int) -> Callable[[int], None]:
    def check(here: int) -> None:
        if here == point:
            raise Boom

    return check


def collatz_steps(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def collatz(n: Any) -> Any:
    def body(n: Any, steps: Any) -> tuple[Any, ...]:
        return dr.select((n & 1) == 1, 3 * n + 1, n >> 1), steps + 1

    return while_loop((n, UInt(0)), lambda n, _: n != 1, body, "collatz")


def mandelbrot(width: int, height: int, limit: int) -> Any:
    x, y = dr.meshgrid(
        dr.linspace(Float64, -2, 1, width), dr.linspace(Float64, -1, 1, height)
    )

    def body(zx: Any, zy: Any, n: Any) -> tuple[Any, ...]:
        return zx * zx - zy * zy + x, 2 * (zx * zy) + y, n + 1

    def cond(zx: Any, zy: Any, n: Any) -> Any:
        return (zx * zx + zy * zy < 4) & (n < limit)

    return while_loop((Float64(0), Float64(0), UInt(0)), cond, body)[2]


def eight() -> list[Callable[[Any, Any], Any]]:
    def function(k: int) -> Callable[[Any, Any], Any]:
        def run(x: Any, y: Any) -> Any:
            for _ in range(k):
                x = x * y + k
            return x, y - k

        return run

    return [function(k) for k in range(8)]


def finish() -> None:
    """Wait for all kernels, and for what they report."""
    dr.eval()
    dr.sync_thread()
    Float(0)


def check_that_all_is_well() -> None:
    """Tracing goes on as if nothing had happened: no mask, scope or queue is left."""
    i = dr.arange(UInt, 6)
    target = dr.zeros(UInt, 6)
    dr.scatter(target, i + 1, i)
    assert target.numpy().tolist() == [1, 2, 3, 4, 5, 6]
    assert collatz(i + 1)[1].numpy().tolist() == [0, 1, 7, 2, 5, 8]
    assert not dr._core._is_recording()  # type: ignore[attr-defined]
    assert dr.gather(UInt, target, i).numpy().tolist() == [1, 2, 3, 4, 5, 6]
