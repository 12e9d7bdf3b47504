"""Random programs on whole arrays have the bits that they have with NumPy: traced,
evaluated after each statement, and as frozen functions, for arrays of several sizes.
See array_programs.py for what they consist of.

ARRAY_PROGRAMS is the number of programs, ARRAY_SEED where they begin; see 'make fuzz'.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import drjit as dr
import pytest
from array_programs import Inputs, Program, Refused, defined, run

COUNT = int(os.environ.get("ARRAY_PROGRAMS", "300"))
SEED = int(os.environ.get("ARRAY_SEED", "0"))
PART = 50  # programs of a test
CALLS = 3
PARTS = range(SEED, SEED + COUNT, PART)


def numbers_of(first: int) -> range:
    return range(first, min(first + PART, SEED + COUNT))


def same(function: Callable[..., Any], expected: Any, given: Inputs, text: str) -> bool:
    """Compare; False: it is refused."""
    where = f"{[array.shape for array in given[:5]]}, alias {given.alias}:\n{text}"
    try:
        found = run(function, given, False)
    except Refused:
        return False
    except Exception as error:
        raise AssertionError(where) from error
    for name, value in expected.items():
        assert found[name] == value, f"{name} of {where}"
    return True


@pytest.mark.parametrize("first", PARTS)
@pytest.mark.parametrize("eager", [False, True])
def test_programs(first: int, eager: bool) -> None:
    refused = calls = 0
    for number in numbers_of(first):
        program, draw = Program(number), random.Random(number)
        text = program.text(eager)
        function, reference = defined(text, False), defined(text, True)
        for _ in range(CALLS):
            given = Inputs.random(draw)
            expected = run(reference, given, True)
            refused += not same(function, expected, given, f"# {number}\n{text}")
            calls += 1
    assert refused <= calls / 2 or COUNT < PART


@pytest.mark.parametrize("first", PARTS)
def test_frozen(first: int) -> None:
    """Each size comes twice, with other contents."""
    repeated = 0
    for number in numbers_of(first):
        text, draw = Program(number).text(), random.Random(number)
        reference = defined(text, True)
        function = dr.freeze(defined(text, False), warn_after=1000)
        for _ in range(CALLS):
            for given in Inputs.random(draw).twice(draw):
                expected = run(reference, given, True)
                before = function.n_recordings
                if not same(function, expected, given, f"# {number}\n{text}"):
                    break
                repeated += 0 < before == function.n_recordings
    assert repeated > PART or COUNT < PART


def test_wrong_results_are_seen() -> None:
    text = Program(0).text()
    for wrong in ("u + 1", "q.u * 2", "-f", "t[1:]"):
        changed = text.replace("return u,", f"return {wrong},")
        given = Inputs.random(random.Random(4))
        assert len(given.u) and given.f.any()
        expected = run(defined(text, True), given, True)
        with pytest.raises(AssertionError, match="u of"):
            same(defined(changed, False), expected, given, text)
