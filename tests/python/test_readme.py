"""Every Python program of the README runs and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs() -> list[tuple[str, str]]:
    """The Python blocks of the README, each with the plain block after it."""
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    followers = [*blocks[1:], ("", "")]
    return [
        (text, output if kind == "text" else "")
        for (language, text), (kind, output) in zip(blocks, followers, strict=True)
        if language == "python"
    ]


def test_there_are_programs() -> None:
    """The README has Python programs at all."""
    assert len(programs()) >= 2


@pytest.mark.parametrize(("program", "output"), programs())
def test_program_runs(program: str, output: str) -> None:
    """A program runs by itself and prints what stands below it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == output
