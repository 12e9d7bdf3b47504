"""Small wrong programs, and the whole message of each: mistakes.txt has both.

Each program is a file 'program.py' by itself, with the names of PRELUDE. A message is
what Python would end the traceback with, and all that was printed before. A mistake
that gives no error says so. After a change of messages that is meant, run

    python tests/python/test_mistakes.py --update

and review the difference: a message says what was found, what was expected, and what
to do.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from drjit import _bool_hint

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "mistakes.txt"
PRELUDE = """\
import drjit as dr
from drjit.llvm import Array2f, Array3f, Bool, Float, Int, Matrix3f, TensorXf, UInt, ad
"""
BEGIN, MESSAGE = "==== ", "----\n"


@dataclass(frozen=True)
class Mistake:
    """A section of the file: what is wrong, the program, and its message."""

    title: str
    program: str
    message: str

    def __str__(self) -> str:
        return f"{BEGIN}{self.title}\n{self.program}{MESSAGE}{self.message}"


def read() -> tuple[str, list[Mistake]]:
    """The lines before the first mistake, and the mistakes."""
    head, *sections = GOLDEN.read_text(encoding="utf-8").split("\n" + BEGIN)
    mistakes = []
    for section in sections:
        title, rest = section.split("\n", 1)
        program, _, message = rest.partition(MESSAGE)
        mistakes.append(Mistake(title, program, message.strip("\n") + "\n"))
    return head, mistakes


def run(program: str) -> str:
    """What this program prints and raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE, names)
    file = "program.py"
    lines = program.splitlines(keepends=True)
    linecache.cache[file] = (len(program), None, lines, file)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            try:
                exec(compile(program, file, "exec", dont_inherit=True), names)
            except Exception as error:
                printed.write(traceback.format_exception_only(error)[-1])
            else:
                printed.write("no error\n")
    return re.sub(r"\br\d+\b", "r#", printed.getvalue())


HEAD, MISTAKES = read() if GOLDEN.exists() else ("", [])


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_message(mistake: Mistake) -> None:
    got = run(mistake.program)
    expected = mistake.message
    if sys.version_info < (3, 11) and "^" in expected:
        # No positions: the remedies of all operators at once.
        expected = expected.split("; ")[0]
        assert _bool_hint.ANYWHERE in got
        got = got.split("; ")[0]
    assert got == expected


def test_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an expression cannot be found, the message has the remedies of all."""
    program = "x = Float(1, 2)\ny = x > 1 and x < 2\n"
    assert "write '(x > 1) & (x < 2)'" in run(program)
    monkeypatch.setattr(_bool_hint, "_position", lambda frame: None)
    got = run(program)
    assert got.endswith(f"expected 1; {_bool_hint.REDUCE}; {_bool_hint.ANYWHERE}\n")
    monkeypatch.undo()
    for text in ("x = (", "", "\n\n\n", "x\n" * 9):  # changed since it was imported
        lines = text.splitlines(keepends=True)
        monkeypatch.setattr(linecache, "getlines", lambda *_, got=lines: got)
        assert run(program).startswith(got.split("; ")[0])


def test_enough() -> None:
    assert len(MISTAKES) >= 50
    assert len({mistake.title for mistake in MISTAKES}) == len(MISTAKES)


def update() -> None:
    """Write the messages of today into the file."""
    sections = [str(Mistake(m.title, m.program, run(m.program))) for m in MISTAKES]
    GOLDEN.write_text(HEAD + "\n" + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
