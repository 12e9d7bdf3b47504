"""Recordings of random stateful programs as libraries in C: see state_exports.py for
what is compared, state_programs.py for what the programs do.

STATE_EXPORTS is the number of programs, STATE_SEED where they begin; STATE_FEATURES and
STATE_WITHOUT as in test_freeze_state.py. See 'make fuzz'.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import drjit as dr
import pytest
from hypothesis import given, seed
from state_exports import Exports
from state_programs import Program, programs
from state_worlds import Difference, compare
from test_export import needs_tools
from test_freeze_state import configured, report

COUNT = int(os.environ.get("STATE_EXPORTS", "40"))
SEED = int(os.environ.get("STATE_SEED", "0"))
PART = 20  # programs of a test
LIBRARIES = 2  # of a program, at most


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    return Exports(tmp_path_factory.mktemp("exports"), LIBRARIES)


EXPORTED = """\
import drjit as dr
from drjit.llvm.ad import Float, TensorXf, UInt
k, table = 2.0, {"a b": TensorXf([1, 2, 3, 4], (2, 2)), "c": UInt(1, 2)}
@freeze
def f(x, y=Float(4, 5)):
    table["c"] += 1
    return dr.sin(x) * k + y, table["a b"] + 1, dr.sum(x), dr.width(x)
for n in (2, 3):
    X = dr.arange(Float, n) + 1
    dr.enable_grad(X)
    R = call(lambda: f(X, X) if n == 3 else f(X))
"""


@needs_tools
def test_recordings_are_exported(exports: Exports) -> None:
    before = exports.counts["exported"]
    counts = compare(EXPORTED, ("exported",), exports=exports)
    assert counts["calls"] == exports.counts["exported"] - before == 2


@needs_tools
@pytest.mark.parametrize("entry", range(4))
def test_other_inputs_of_exports_are_seen(
    exports: Exports, monkeypatch: pytest.MonkeyPatch, entry: int
) -> None:
    """Each array that goes in counts."""
    own = Exports._compare

    def changed(self: Any, folder: Path, function: Any, before: Any, call: Any) -> None:
        arrays = [path for path in before if hasattr(before[path], "dtype")]
        assert len(arrays) >= 4
        before[arrays[entry]] = before[arrays[entry]] + 1
        own(self, folder, function, before, call)

    monkeypatch.setattr(Exports, "_compare", changed)
    with pytest.raises(Difference, match="AssertionError: .* is .*, expected "):
        compare(EXPORTED, ("exported",), exports=exports)


@needs_tools
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("dr.print('{}', y)", "it prints evaluated arrays"),
        (
            "dr.if_stmt((x,), x > 0, lambda x: (dr.print('{}', x), x)[1], "
            "lambda x: x, mode='symbolic')",
            "a kernel of it prints",
        ),
    ],
)
def test_refused_exports_are_counted(
    exports: Exports, statement: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "import drjit as dr\nfrom drjit.llvm import Float\n@freeze\ndef f(x):\n"
    text += f"    y = x + 1\n    dr.eval(y)\n    {statement}\n    return y\n"
    before = exports.counts[f"refused: {reason}"]
    compare(text + "call(lambda: f(Float(1, 2)))", ("exported",), exports=exports)
    assert exports.counts[f"refused: {reason}"] == before + 1
    capfd.readouterr()


@needs_tools
@pytest.mark.parametrize("part", range(max(1, COUNT // PART)))
def test_exports(part: int, exports: Exports) -> None:
    """Libraries give what frozen functions have given when they were recorded."""
    failed: list[tuple[Program, tuple[str, ...], Difference, Exports]] = []
    before = exports.counts["exported"]

    @seed(SEED * 1000 + part)
    @configured(min(PART, COUNT))
    @given(programs())
    def run(program: Program) -> None:
        gc.freeze()
        ways = ("exported",)
        try:
            compare(program.text(), ways, program.eager, exports)
        except Difference as difference:
            failed[:] = [(program, ways, difference, exports)]
            raise

    try:
        run()
    except Difference:
        pytest.fail(report(*failed[0]), pytrace=False)
    print(dict(exports.counts))
    assert exports.counts["exported"] > before or COUNT < PART
    gc.unfreeze()
    gc.collect()
    assert dr._core._ad_node_count() == 0
