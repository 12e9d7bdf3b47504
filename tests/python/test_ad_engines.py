"""Gradients are the same bits on every engine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import warnings
warnings.simplefilter("ignore")
import drjit as dr
from drjit._ad.check import _leaves
import ad_util
import test_ad_checkpoints as checkpoints
import test_ad_coverage as coverage
import test_ad_loops as loops
import test_ad_rules as rules
import test_ad_table as table
import test_ad_writes as writes

found = []  # names and leaves; one kernel computes many

def note(name, array):
    found.extend((name, leaf) for leaf in _leaves(dr.grad(array)))

def write():
    dr.eval([leaf for _, leaf in found])
    for name, leaf in found:
        print(name, leaf.numpy().tobytes().hex())
    found.clear()

def one(leaf):
    return leaf if isinstance(leaf, (tuple, list)) else [leaf]

def show(name, fn, args):
    inputs = dr.detach(args)
    dr.enable_grad(inputs)
    result = fn(*inputs)
    for array in inputs:
        dr.set_grad(array, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
    note(name, result)
    dr.clear_grad((inputs, result))
    for leaf in one(result):
        dr.set_grad(leaf, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward)
    for array in inputs:
        note(name, array)

def show_second(name, row, kind):
    inputs = table.inputs_of(row, kind)
    dr.enable_grad(inputs)
    result = row.function(*inputs)
    dr.set_grad(result, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
    first = dr.grad(inputs[0])
    dr.clear_grad((inputs, result))
    if dr.grad_enabled(first):
        dr.set_grad(first, 1)
        dr.enqueue(dr.ADMode.Backward, first)
        dr.traverse(dr.ADMode.Backward)
        note(name + " again", inputs[0])

def show_twice(name, fn):
    x, p = dr.detach((loops.X, loops.P))
    found = ad_util.gradients(fn, x, p, True)
    dr.backward(found[0])
    note(name + " twice", (x, p))

for name, row in table.TABLE.items():
    for kind in table.TYPES.values():
        show(name, row.function, table.inputs_of(row, kind))
        show_second(name, row, kind)
write()
for name, loop in loops.LOOPS.items():
    show(name, lambda x, p: loop(x, p, "symbolic"), (loops.X, loops.P))
dr.ad.set_tape_limit(0)
show_twice("loop", checkpoints.alone(7))
show_twice("local array", checkpoints.with_local_array(7, 3))
show_twice("loop in a loop", checkpoints.powers_within("loop", 7, None))
for name, fn in rules.MEMORY.items():
    show(name, fn, (rules.FLAT,))
for name, fn in rules.CONTROL.items():
    show(name, lambda x, p: fn(x, p, "symbolic"), (rules.FLAT, dr.llvm.ad.Float64(0.7)))
write()
for seed in range(40):
    program = writes.Program(seed)
    if writes.is_recorded(program):
        show(f"writes {seed}", program, (writes.X,))
        write()
if len(sys.argv) > 2:
    for name, (fn, args) in coverage.ROWS.items():
        show(name, fn, args)
    write()
"""


def run_with(*arguments: str, **variables: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert result.stdout.count("\n") > 400
    return result.stdout


# Entries are broadcast twice: two scatter-additions into one array; or a sum is one. In
# what order lanes add is left open (docs/dev/threads.md).
UNORDERED = (
    "var of axes",
    "std of axes",
    "expand_dims",
    "newaxis",
    "sum in mode symbolic",
)


def check(found: str, expected: str) -> None:
    for a, b in zip(found.splitlines(), expected.splitlines(), strict=True):
        if a.startswith(UNORDERED):
            numbers = [
                np.frombuffer(bytes.fromhex(line.split()[-1])) for line in (a, b)
            ]
            np.testing.assert_allclose(*numbers, rtol=1e-14)
        else:
            assert a == b


def test_engines_agree() -> None:
    """The engine of this run and the reference."""
    check(run_with("all"), run_with("all", DRJIT_CPU_ENGINE="interp"))


@pytest.mark.parametrize("engine", ["llvm", "native"])
def test_other_engines_agree(engine: str) -> None:
    """LLVM if it is there, and machine code without AVX-512."""
    if engine == "native" and platform.machine() != "x86_64":
        pytest.skip("there is no machine code of our own")
    other = {"DRJIT_NATIVE_ISA": "avx2"} if engine == "native" else {}
    found = run_with(DRJIT_CPU_ENGINE=engine, **other)
    check(found, run_with(DRJIT_CPU_ENGINE="interp"))
