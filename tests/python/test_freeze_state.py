"""Random stateful programs give frozen what they give plain: see state_programs.py for
what they do, and state_worlds.py for how they are run and compared.

STATE_PROGRAMS is the number of programs, STATE_SEED where they begin; STATE_FEATURES
and STATE_WITHOUT name features, separated by commas, that they are to have or not. See
'make fuzz'.
"""

from __future__ import annotations

import gc
import os

import drjit as dr
import pytest
from state_programs import Program
from state_worlds import Difference, alone, check, compare

COUNT = int(os.environ.get("STATE_PROGRAMS", "500"))
SEED = int(os.environ.get("STATE_SEED", "0"))
PART = 25  # programs of a test


def report(program: Program, ways: tuple[str, ...], found: Difference) -> str:
    """The smallest program that fails likewise, and what it shows."""
    latest = found

    def fails(text: str) -> bool:
        nonlocal latest
        difference = check(text, ways, program.eager)
        latest = difference or latest
        return difference is not None

    text = program.shrink(fails)
    return f"program {program.number}, {latest}\n\n{alone(text)}"


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, PART))
def test_programs(first: int) -> None:
    for number in range(first, min(first + PART, SEED + COUNT)):
        program = Program(number)
        ways = ("frozen", "kept") if program.only_arguments else ("frozen",)
        try:
            compare(program.text(), ways, program.eager)
        except Difference as difference:
            pytest.fail(report(program, ways, difference), pytrace=False)
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]
