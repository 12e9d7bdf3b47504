"""Random programs as frozen functions: recorded once, they do for other inputs, of
other sizes, what the functions do. Programs with control flow are those of
test_ad_programs.py, with reductions those of test_fold_programs.py; derivatives are
taken within the frozen function, and through it; and what is saved and loaded does the
same.

FREEZE_PROGRAMS is the number of programs of each kind, FREEZE_SEED where they begin;
see 'make fuzz'.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64, UInt
from region_util import define
from test_ad_programs import Program
from test_fold_programs import text_of

COUNT = int(os.environ.get("FREEZE_PROGRAMS", "150"))
SEED = int(os.environ.get("FREEZE_SEED", "0"))
PART = 10  # programs of a test
CALLS = 4

Function = Callable[..., Any]


def flow(number: int) -> Function:
    """A function of an entry for each lane, a number and a table to three results."""
    text = Program(number).text.replace("(UInt, 5)", "(UInt, dr.width(x))")
    own = dr.syntax(define(text, dr=dr, Float64=Float64, UInt=UInt))

    def function(x: Any, p: Any, table: Any) -> list[Any]:
        out, late = table * p, table + p
        own.__globals__.update(whole=x, out=out, late=late)
        result = own(x, p, table)
        for name in ("whole", "out", "late"):
            del own.__globals__[name]
        return [result + x, out * out, late * late]

    return function


def fold(number: int) -> Function:
    """A function as in test_fold_programs.py; its table is not used."""
    names: dict[str, Any] = {"dr": dr, "Float64": Float64}
    exec(text_of(number).replace("len(x)", "dr.width(x)"), names)

    def function(x: Any, p: Any, table: Any) -> list[Any]:
        loss, a, b = names["f"](x, p, dr.detach(x) * 3)
        return [loss, a, b]

    return function


def with_gradients(function: Function) -> Function:
    """A function to the results of another one, and the gradients of its arguments."""

    def differentiate(*inputs: Any) -> list[Any]:
        own = [Float64(array) for array in inputs]
        dr.enable_grad(own)
        results = function(*own)
        dr.set_grad(results, [dr.detach(result) + 1 for result in results])
        dr.enqueue(dr.ADMode.Backward, results)
        dr.traverse(dr.ADMode.Backward)
        return [dr.detach(results), dr.grad(own)]

    return differentiate


def flat(results: Any) -> list[Any]:
    if isinstance(results, (list, tuple)):
        return [array for result in results for array in flat(result)]
    return [results.numpy()]


class Plain:
    """A function without implicit inputs: those of another process are not found."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, *inputs: Any) -> Any:
        return self._function(*inputs)


def kept(function: Function, path: Path) -> Function:
    """A frozen function that is saved and loaded before each call."""
    plain = Plain(function)
    frozen = dr.freeze(plain, warn_after=1000)

    def call(*inputs: Any) -> Any:
        frozen(*inputs)
        frozen.save(path)
        loaded = dr.load_frozen(path, plain)
        found = loaded(*inputs)
        assert loaded.n_recordings == 0
        return found

    return call


def check(make: Callable[[int], Function], number: int, path: Path) -> None:
    """Derivatives, within the frozen function and through it, are recorded for no more
    sizes than the values are, and for blocks that become a single one."""
    draw = random.Random(number)
    function = make(number)
    plain = with_gradients(function)
    frozen = dr.freeze(function, warn_after=1000)
    ways = {
        # Lanes that add to one entry do so in any order, here as there.
        "values": (
            function,
            dr.freeze(function, warn_after=1000),
            1e-12 if make is flow else 0.0,
        ),
        "kept": (
            function,
            kept(function, path),
            1e-12 if make is flow else 0.0,
        ),
        "within": (plain, dr.freeze(plain, warn_after=1000), 1e-9),
        "through": (plain, with_gradients(frozen), 1e-9),
    }
    for _ in range(CALLS):
        size = draw.choice((5, 10, 35, 300))
        numbers = np.random.default_rng(draw.randrange(1000))
        inputs = [Float64(numbers.uniform(-1.5, 1.5, n)) for n in (size, 1, 4)]
        for way, (expected, found, error) in ways.items():
            where = f"{way}, {make.__name__} {number}, {size} lanes"
            try:
                pairs = zip(flat(expected(*inputs)), flat(found(*inputs)), strict=True)
            except Exception as exception:
                raise AssertionError(where) from exception
            for a, b in pairs:
                scale = error * np.abs(a[np.isfinite(a)]).max(initial=1.0)
                same = np.allclose(a, b, rtol=error, atol=scale, equal_nan=True)
                assert same, f"{where}: {a} {b}"
    most = ways["values"][1].n_recordings + (make is fold)
    for recorded in (ways["within"][1], frozen, frozen._derivatives.pull):
        assert recorded.n_recordings <= most, (number, recorded.explain())


@pytest.mark.parametrize("make", [flow, fold])
@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, PART))
def test_programs(make: Callable[[int], Function], first: int, tmp_path: Path) -> None:
    for number in range(first, min(first + PART, SEED + COUNT)):
        check(make, number, tmp_path / "kept")
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]
