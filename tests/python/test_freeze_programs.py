"""Random programs as frozen functions: recorded once, they do for other inputs, of
other sizes, what the functions do. Programs with control flow are those of
test_ad_programs.py, with reductions those of test_fold_programs.py, and those with
matrices reduce, scan, sort and multiply tensors of all shapes; derivatives are taken
within the frozen function, and through it; and what is saved and loaded does the same.

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
from drjit.llvm.ad import Float64, TensorXf64, UInt
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
    # Loops in others have no bound, as they would need to overwrite an array.
    program = Program(number, overwrites=False)
    text = program.text.replace("(UInt, 5)", "(UInt, dr.width(x))")
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


# Of matrices a (n, m), b (m, k) and c (n, k): what becomes of one, and of which one. No
# extent of one is another one's, so that all are sizes of their own.
MATRICES = [
    ("{v}", "dr.sin({v}) + {v}"),
    ("{v}", "{v} * {v} - {v}"),
    ("{v}", "{v} / (1 + dr.sum({v} * {v}, axis=1, keepdims=True))"),
    ("{v}", "{v} - dr.mean({v}, axis=0, keepdims=True)"),
    ("{v}", "{v} + dr.sin(dr.max({v}, axis=1, keepdims=True))"),
    ("{v}", "dr.tanh({v} * dr.min({v}, axis=0, keepdims=True))"),
    ("{v}", "dr.sin(dr.cumsum({v}, axis=1))"),
    ("{v}", "dr.sin(dr.prefix_sum({v}, axis=0, reverse=True))"),
    ("{v}", "dr.sort({v} + 1, axis=1)"),
    ("{v}", "{v} + dr.std({v}, axis=None)"),
    ("{v}", "TensorXf64(dr.block_prefix_sum({v}.array, {v}.shape[1]), {v}.shape)"),
    (
        "{v}",
        "{v} + TensorXf64(dr.block_sum({v}.array, {v}.shape[1]), ({v}.shape[0], 1))",
    ),
    ("a", "dr.matmul(c, b, Bt=True)"),
    ("b", "dr.sin(dr.matmul(a, c, At=True))"),
    ("c", "a @ b"),
    ("c", "dr.sin(dr.matmul(a, dr.transpose(b), Bt=True))"),
    ("c", "c + dr.reshape(a @ dr.sum(b, axis=1), (-1, 1))"),
]


def matrices(number: int) -> Function:
    """A function of two matrices, and a number that is not used."""
    choices = random.Random(number)
    lines = ["def f(a, b):", "    c = a @ b"]
    for _ in range(choices.randint(3, 8)):
        name, text = choices.choice(MATRICES)
        name = name.format(v=choices.choice("abc"))
        lines.append(f"    {name} = {text.format(v=name)}")
    lines.append("    return dr.sum(a, axis=1), dr.sum(b, axis=0), c")
    names: dict[str, Any] = {"dr": dr, "TensorXf64": TensorXf64}
    exec("\n".join(lines), names)

    def function(a: Any, b: Any, table: Any) -> list[Any]:
        return [*names["f"](a, b), table * 2]

    return function


def arrays(draw: random.Random) -> tuple[Any, ...]:
    """Inputs of flow() and fold()."""
    size, entries = draw.choice((5, 10, 35, 300)), draw.choice((4, 9, 70, 200))
    numbers = np.random.default_rng(draw.randrange(1000))
    return tuple(Float64(numbers.uniform(-1.5, 1.5, n)) for n in (size, 1, entries))


def factors(draw: random.Random) -> tuple[Any, ...]:
    """Inputs of matrices()."""
    n, m, k = (
        draw.choice(sizes) for sizes in ((2, 3, 6, 80), (5, 7, 30, 110), (8, 9, 31, 13))
    )
    numbers = np.random.default_rng(draw.randrange(1000))
    shapes = ((n, m), (m, k))
    return (*(TensorXf64(numbers.uniform(-1, 1, s)) for s in shapes), Float64(1))


def with_gradients(function: Function) -> Function:
    """A function to the results of another one, and the gradients of its arguments."""

    def differentiate(*inputs: Any) -> list[Any]:
        own = [type(array)(array) for array in inputs]
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
    sizes than the values are, and once more: for blocks that become a single one, or
    where small arrays have private copies, whose distance kernels know at first."""
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
        inputs = factors(draw) if make is matrices else arrays(draw)
        for way, (expected, found, error) in ways.items():
            where = f"{way}, {make.__name__} {number}, {dr.shape(inputs[0])}"
            try:
                pairs = zip(flat(expected(*inputs)), flat(found(*inputs)), strict=True)
            except Exception as exception:
                raise AssertionError(where) from exception
            for a, b in pairs:
                scale = error * np.abs(a[np.isfinite(a)]).max(initial=1.0)
                same = np.allclose(a, b, rtol=error, atol=scale, equal_nan=True)
                assert same, f"{where}: {a} {b}"
    most = 2 if make is matrices else ways["values"][1].n_recordings + 1
    assert ways["values"][1].n_recordings <= most
    for recorded in (ways["within"][1], frozen, frozen._derivatives.pull):
        assert recorded.n_recordings <= most, (number, recorded.explain())


@pytest.mark.parametrize("make", [flow, fold, matrices])
@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, PART))
def test_programs(make: Callable[[int], Function], first: int, tmp_path: Path) -> None:
    for number in range(first, min(first + PART, SEED + COUNT)):
        check(make, number, tmp_path / "kept")
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]
