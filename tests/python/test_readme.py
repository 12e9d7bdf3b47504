"""Every Python program of the README runs and prints what the README says."""

from __future__ import annotations

import documents
import pytest

PROGRAMS = documents.blocks(documents.README, "python")


def test_there_are_programs() -> None:
    """The README has Python programs at all."""
    assert len(PROGRAMS) >= 2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda block: block.place)
def test_program_runs(program: documents.Block) -> None:
    """A program runs by itself and prints what stands below it."""
    printed, trace = documents.run(program, {"__name__": "__main__"})
    assert printed == (program.output or ""), trace
