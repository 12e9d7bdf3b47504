"""Gradients are the same bits on every engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import drjit as dr
import test_ad_loops as loops
import test_ad_rules as rules

def write(name, array):
    leaves = dr._ad.check._leaves(dr.grad(array))
    print(name, [leaf.numpy().tobytes().hex() for leaf in leaves])

def show(name, fn, args):
    inputs = dr.detach(args)
    dr.enable_grad(inputs)
    result = fn(*inputs)
    for array in inputs:
        dr.set_grad(array, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
    write(name, result)
    dr.clear_grad((inputs, result))
    for leaf in result if isinstance(result, tuple) else [result]:
        dr.set_grad(leaf, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward)
    for array in inputs:
        write(name, array)

for name, loop in loops.LOOPS.items():
    show(name, lambda x, p: loop(x, p, "symbolic"), (loops.X, loops.P))
for name, fn in rules.MEMORY.items():
    show(name, fn, (rules.FLAT,))
for name, fn in rules.CONTROL.items():
    show(name, lambda x, p: fn(x, p, "symbolic"), (rules.FLAT, dr.llvm.ad.Float64(0.7)))
"""


def run_with(**variables: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert result.stdout.count("\n") > 100
    return result.stdout


def test_engines_agree() -> None:
    """The engine of this run, LLVM if it is there, and the reference."""
    expected = run_with(DRJIT_CPU_ENGINE="interp")
    assert run_with() == expected
    assert run_with(DRJIT_CPU_ENGINE="llvm") == expected
