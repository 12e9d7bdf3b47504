"""Random stateful programs give frozen what they give plain: see state_programs.py for
what they do, and state_worlds.py for how they are run and compared.

Hypothesis draws them, and makes those that fail smaller; then each piece is dropped
that a failure does not need. What is printed runs by itself.

STATE_PROGRAMS is the number of programs, STATE_SEED where they begin; STATE_FEATURES
and STATE_WITHOUT name features, separated by commas, that they are to have or not. Two
more can be left out: 'identity', whether arrays are the same object, and
'hidden_array', arrays that a C callable keeps or finds. See 'make fuzz'.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import drjit as dr
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from state_exports import Exports
from state_programs import Program, programs
from state_worlds import Difference, alone, check, compare, explanations

# Statements of which each does something else in another world.
DIFFERENT = {
    "result": "call(lambda: 1 if __w__ else 2)",
    "type": "call(lambda: 1 if __w__ else True)",
    "type of a number": "G = 1 if __w__ else 1.0",
    "sign": "G = 0.0 if __w__ else -0.0",
    "bits": "G = Float(1) if __w__ else Float(1.0000001)",
    "integers": "G = UInt(1, 2 if __w__ else 3)",
    "size": "G = dr.full(Float, 2, 3 if __w__ else 1)",
    "array type": "G = Float(1) if __w__ else UInt(1)",
    "shape": "G = TensorXf([1, 2], (2, 1) if __w__ else (1, 2))",
    "component": "G = Array3f(1, 2, 3 if __w__ else 4)",
    "list": "G = [1, 2] if __w__ else [2, 1]",
    "list type": "G = [1, 2] if __w__ else (1, 2)",
    "dict order": "G = {'a': 1, 'b': 1} if __w__ else {'b': 1, 'a': 1}",
    "set order": "G = {0, 8} if __w__ else {8, 0}",
    "deque": "G = collections.deque([1], maxlen=2 if __w__ else 3)",
    "default": "G = collections.defaultdict(int if __w__ else float)",
    "attribute": "G = types.SimpleNamespace(k=1 if __w__ else 2)",
    "module": "G = types.ModuleType('a')\nG.k = 1 if __w__ else 2",
    "class": "class G:\n    k = 1 if __w__ else 2",
    "slot": "class S:\n    __slots__ = 'k'\nG = S()\nG.k = 1 if __w__ else 2",
    "numpy": "G = np.array([1, 2 if __w__ else 3])",
    "numpy type": "G = np.array([1, 2], np.int8 if __w__ else np.uint8)",
    "bytes": "G = bytearray(1 if __w__ else 2)",
    "cell": "G = (lambda k: lambda: k)(1 if __w__ else 2)",
    "default argument": "def G(k=1 if __w__ else 2): pass",
    "function attribute": "def G(): pass\nG.calls = 1 if __w__ else 2",
    "partial": "G = functools.partial(len, k=1 if __w__ else 2)",
    "cache": "G = functools.lru_cache(lambda: 1)\nif __w__: G()",
    "generator": "G = (k for k in [1])\nif __w__: next(G)",
    "iterator": "G = iter([1, 2])\nif __w__: next(G)",
    "random": "G = dr.rng(1 if __w__ else 2)",
    "error type": "call(lambda: [][0] if __w__ else {}[0])",
    "error text": "call(lambda: {}[1 if __w__ else 2])",
    "error kept": "G = ValueError(1 if __w__ else 2)",
    "tracked": "G = Float64(1)\nif __w__: dr.enable_grad(G)",
    "gradient": "G = Float64(1)\ndr.enable_grad(G)\ndr.set_grad(G, 2 if __w__ else 3)",
    "alias": "G = Float(1)\nH = G if __w__ else Float(G)",
    "alias in list": "G = Float(1)\nH = [G, G if __w__ else Float(G)]",
    "alias of lists": "G = [1]\nH = G if __w__ else [1]",
    "result twice": "x = Float(1)\ncall(lambda: (x, x if __w__ else Float(x)))",
    "result of before": "x = Float(1)\nfor k in range(2):\n"
    "    call(lambda: x if __w__ else x + 0)",
    "frozen attribute": "@freeze\ndef f(x): pass\nf.calls = 1 if __w__ else 2",
}
HEAD = """\
import collections, functools, types
import drjit as dr
import numpy as np
from drjit.llvm.ad import Array3f, Float, Float64, TensorXf, UInt
__w__ = freeze.__self__.way == "plain"
"""

COUNT = int(os.environ.get("STATE_PROGRAMS", "500"))
SEED = int(os.environ.get("STATE_SEED", "0"))
PART = 50  # programs of a test


@pytest.fixture(autouse=True, scope="module")
def little_garbage() -> Iterator[None]:
    """Collections, of which recordings make one each, look at these programs only."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def report(
    program: Program,
    ways: tuple[str, ...],
    found: Difference,
    exports: Exports | None = None,
) -> str:
    """The smallest program that fails likewise, and what it shows."""
    latest = found

    def fails(text: str) -> bool:
        nonlocal latest
        difference = check(text, ways, program.eager, exports)
        latest = difference or latest
        return difference is not None

    text = program.shrink(fails)
    return f"{latest}\n\n{alone(text)}"


def configured(count: int) -> settings:
    """That many programs, the same ones each time, and no files."""
    return settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("what", DIFFERENT)
def test_differences_are_seen(what: str) -> None:
    with pytest.raises(Difference):
        compare(HEAD + DIFFERENT[what])
    compare(HEAD + DIFFERENT[what].replace("__w__", "True"))


@pytest.mark.parametrize("array", ["Float(2)", "UInt(3)", "dr.full(Float, 0.1, 2)"])
def test_states_of_arrays_are_not_seen(array: str) -> None:
    """A literal counts as what is in memory, and is not a literal afterwards."""
    text = f"G = {array}\nH = G.state\ncall(lambda: 1)\nI = G.state == H\n"
    text += "if __w__: dr.make_opaque(G)\ndel H"
    compare(HEAD + text)
    with pytest.raises(Difference):
        compare(HEAD + text + "\nH = G.state == dr.VarState.Literal")


def test_calls_are_repeated_and_kept() -> None:
    """Otherwise there would be nothing to see."""
    text = "@freeze\ndef f(x, k):\n    return x * k\n"
    text += "for n in (3, 4, 5): call(lambda: f(dr.opaque(Float, 2, n), 3.0))"
    counts = compare(HEAD + text, ("frozen", "kept"))
    assert counts == {"calls": 6, "repeated": 2, "loaded": 3}


@pytest.mark.parametrize("part", range(max(1, COUNT // PART)))
def test_programs(part: int) -> None:
    failed: list[tuple[Program, tuple[str, ...], Difference]] = []
    repeated = 0

    @seed(SEED * 1000 + part)
    @configured(min(PART, COUNT))
    @given(programs())
    def run(program: Program) -> None:
        nonlocal repeated
        gc.freeze()
        ways = ("frozen", "kept") if program.only_arguments else ("frozen",)
        try:
            counts = compare(program.text(), ways, program.eager)
            repeated += counts["repeated"]
        except Difference as difference:
            failed[:] = [(program, ways, difference)]
            raise

    try:
        run()
    except Difference:
        pytest.fail(report(*failed[0]), pytrace=False)
    assert repeated > 0 or COUNT < PART
    gc.unfreeze()
    gc.collect()
    assert dr._core._ad_node_count() == 0


@pytest.mark.parametrize("part", range(max(1, COUNT // (10 * PART))))
def test_unknown_values(part: int) -> None:
    """What reads values that nobody sees may be wrong until the next check: it says
    so."""
    failed: list[tuple[Program, tuple[str, ...], Difference]] = []

    @seed(SEED * 1000 + part)
    @configured(min(PART, COUNT))
    @given(programs(unknown=True))
    def run(program: Program) -> None:
        gc.freeze()
        text = program.text()
        difference = check(text, ("frozen",), program.eager)
        if difference is None:
            return
        said = explanations(text, program.eager)
        if not any("not certain: " in line for line in said):
            failed[:] = [(program, ("frozen",), difference)]
            raise difference

    try:
        run()
    except Difference as difference:
        program, _, _ = failed[0]
        pytest.fail(f"{difference}\n\n{alone(program.text())}", pytrace=False)
