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
import importlib
import io
import linecache
import re
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import _bool_hint, llvm, scalar
from drjit.llvm import ad

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
    return re.sub(r"\b(r|\(a)\d+\b", r"\1#", printed.getvalue())


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
    if sys.version_info >= (3, 11):
        assert "write '(x > 1) & (x < 2)'" in run(program)
    monkeypatch.setattr(_bool_hint, "_position", lambda frame: None)
    got = run(program)
    assert got.endswith(f"expected 1; {_bool_hint.REDUCE}; {_bool_hint.ANYWHERE}\n")
    monkeypatch.undo()
    for text in ("x = (", "", "\n\n\n", "x\n" * 9):  # changed since it was imported
        lines = text.splitlines(keepends=True)
        monkeypatch.setattr(linecache, "getlines", lambda *_, got=lines: got)
        assert run(program).startswith(got.split("; ")[0])


def value(program: str, name: str) -> Any:
    """What a variable holds after a program that has no mistake."""
    names: dict[str, Any] = {}
    exec(PRELUDE + program, names)
    return np.array(names[name])


REMEDIES = [
    ("x = Float(1, 2, 3)\ny = (x > 1) & (x < 3)", [False, True, False]),
    ("x = Float(1, 2, 3)\ny = (0 < x) & (x < 3)", [True, True, False]),
    ("x = Float(1, 2, 3)\ny = ~(x > 1)", [True, False, False]),
    ("x = Float(1, 2, 3)\ny = dr.select(x > 1, x, -x)", [-1, 2, 3]),
    (
        "n, x = UInt(0), UInt(0)\n"
        "_, y = dr.while_loop((UInt(0), Float(0)), lambda i, x: i < 3,"
        " lambda i, x: (i + 1, x + Float(0.5)))",
        [1.5],
    ),
    (
        "c = UInt(0)\ny = dr.scatter_inc(c, UInt(0, 0, 0))\n"
        "dr.eval(y, c)\ny = dr.sort(y + 1)",
        [1, 2, 3],
    ),
]


@pytest.mark.parametrize("program, expected", REMEDIES)
def test_remedies(program: str, expected: list[Any]) -> None:
    """What messages say to write does what was meant."""
    np.testing.assert_array_equal(value(program, "y"), expected)


def test_syntax_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decorator that the message of 'if' names."""
    text = (
        f"{PRELUDE}\n@dr.syntax\ndef clip(x):\n    if x > 1:\n        x = Float(1)\n"
        "    return x\n"
    )
    (tmp_path / "clipping.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    clip = importlib.import_module("clipping").clip
    np.testing.assert_array_equal(clip(llvm.Float(0, 1, 2, 3)), [0, 1, 1, 1])


def test_kernel_history_stays() -> None:
    """A wrong argument does not empty the record."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(dr.opaque(llvm.Float, 1, 3) + 1)
        for wrong in ([3], [1, dr.KernelType.JIT], ["JIT"], dr.KernelType.JIT, 1):
            with pytest.raises(TypeError, match="sequence of drjit.KernelType"):
                dr.kernel_history(wrong)
        assert len(dr.kernel_history([dr.KernelType.JIT])) == 1


def test_jvp_takes_tuples_and_lists() -> None:
    x = ad.Float(2, 3)
    for kind in (tuple, list):
        value, tangent = dr.ad.jvp(lambda x: x * x, kind([x]), kind([ad.Float(1, 2)]))
        np.testing.assert_allclose(value, [4, 9])
        np.testing.assert_allclose(tangent, [4, 12])
    for wrong in ((x, (x,)), ((x,), x), ((x,), 1), ({"x": x}, (x,))):
        for function in (dr.ad.jvp, dr.ad.hvp):
            with pytest.raises(TypeError, match="expected a tuple"):
                function(lambda x: x * x, *wrong)


def test_copysign_without_signs() -> None:
    assert list(dr.copysign(-5, llvm.UInt(2))) == [5]
    assert list(dr.copysign(llvm.UInt(5), 2)) == [5]
    assert list(dr.copysign(llvm.Int(5), -2)) == [-5]
    for cls in (llvm.UInt, llvm.UInt8, llvm.UInt64, scalar.ArrayXu):
        with pytest.raises(OverflowError, match="-2 is out of range for the entries"):
            dr.copysign(cls(5), -2)


def test_norm_names_itself() -> None:
    for wrong in (3, 2.5, True, "a", None):
        for name in ("norm", "squared_norm"):
            error = rf"^drjit\.{name}\(<{type(wrong).__name__}>\): expected an array"
            with pytest.raises(TypeError, match=error):
                getattr(dr, name)(wrong)
    for integers in (llvm.Int(3, 4), llvm.Array3i(1), llvm.TensorXi([3, 4])):
        with pytest.raises(RuntimeError, match=r"^drjit\.norm\(.*expected floats"):
            dr.norm(integers)
        assert np.all(np.array(dr.squared_norm(integers)) in (3, 25))
    assert dr.norm([3, 4]) == dr.norm((3, 4)) == 5


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
