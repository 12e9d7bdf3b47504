"""The C and C++ programs of the documentation compile without warnings and run."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import documents
import drjit as dr
import pytest

# The reference shows declarations, which the header itself has.
PAGES = [documents.README, *documents.PAGES]
PAGES.remove(documents.ROOT / "docs" / "reference.md")
PROGRAMS = [block for page in PAGES for block in documents.blocks(page, "c", "cpp")]
COMPILERS = {"c": ("CC", "cc", "-std=c99"), "cpp": ("CXX", "c++", "-std=c++17")}
# What is linked against need not be complete: the sanitizers' libraries are preloaded.
FLAGS = "-O1 -Wall -Wextra -Werror -Wl,--allow-shlib-undefined".split()


def library() -> Path:
    """The library that the package brings along."""
    return next(Path(dr.__file__).parent.glob("libdrjit-core.so.*"))


def compiled(block: documents.Block, folder: Path) -> Path:
    """The program of a block."""
    variable, default, standard = COMPILERS[block.language]
    source = folder / f"program.{block.language}"
    source.write_text(block.program(), encoding="utf-8")
    # Compilers are not what is tested: they run without the sanitizers' libraries.
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(
        [
            *shlex.split(os.environ.get(variable, default)),
            *(standard, *FLAGS, f"-I{documents.ROOT / 'include'}"),
            *(str(source), str(library()), f"-Wl,-rpath,{library().parent}"),
            *("-lm", "-o", str(folder / "program")),
        ],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, f"{block.place}\n{done.stderr}"
    return folder / "program"


def test_there_are_programs() -> None:
    assert {"c", "cpp"} == {block.language for block in PROGRAMS}


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.place)
def test_program(block: documents.Block, tmp_path: Path) -> None:
    """A program ends well, without leaks, and prints what stands below it."""
    program = compiled(block, tmp_path)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}"
    assert block.output is None or done.stdout == block.output, block.place
