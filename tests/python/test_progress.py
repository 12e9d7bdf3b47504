"""A line about long compiles: on a terminal, and nowhere else."""

from __future__ import annotations

import errno
import os
import pty
import re
import subprocess
import sys

import pytest

# 160,000 operations take some 10 milliseconds with `native`.
PROGRAM = """
import sys
{before}
import drjit as dr
from drjit.llvm import Float
x = dr.arange(Float, 16)
for _ in range(40_000):
    x = dr.fma(dr.abs(x - 1), 0.5, x)
print(dr.sum(x))
{after}
"""
LINE = r"\r\033\[Kdrjit: compiling kernel [0-9a-f]{6} \(\d+,\d{3} operations, native\)"


def run(
    terminal: bool = True, before: str = "", after: str = "", **variables: str
) -> tuple[str, str]:
    """What a program writes to stdout, a pipe, and to stderr."""
    environment = {
        **os.environ,
        "TERM": "xterm",
        "DRJIT_CPU_ENGINE": "native",
        "DRJIT_PROGRESS": "1",
        **variables,
    }
    ends = pty.openpty() if terminal else os.pipe()
    program = PROGRAM.format(before=before, after=after)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=ends[1],
    ) as process:
        os.close(ends[1])
        error = b""
        while True:
            try:
                part = os.read(ends[0], 4096)
            except OSError as e:  # the end of a terminal
                assert e.errno == errno.EIO
                break
            if not part:
                break
            error += part
        os.close(ends[0])
        assert process.stdout is not None
        out = process.stdout.read()
    text = error.decode()
    if "DRJIT_CPU_ENGINE cannot be used" in text:
        pytest.skip("this CPU has no native engine")
    return out.decode(), text


def test_terminal() -> None:
    """The line is there, and gone before anything else is written."""
    out, error = run(after="raise SystemExit('the end')")
    assert re.match(LINE, error)
    last = error.rindex("operations")
    assert error[last:].endswith(" s\r\033[Kthe end\r\n")
    assert out == run(terminal=False)[0]


def test_pipe() -> None:
    assert run(terminal=False)[1] == ""


@pytest.mark.parametrize(
    "variables",
    [
        {"TERM": "dumb"},
        {"DRJIT_PROGRESS": "0"},
        {"DRJIT_PROGRESS": "100000"},
        {"DRJIT_LOG_LEVEL": "none"},
    ],
    ids=str,
)
def test_switched_off(variables: dict[str, str]) -> None:
    assert run(**variables)[1] == ""


@pytest.mark.parametrize("stream", ["None", "__import__('io').StringIO()"])
def test_another_stderr(stream: str) -> None:
    """A notebook and a test runner replace it: no line on the terminal behind."""
    assert run(before=f"sys.stderr = {stream}")[1] == ""
