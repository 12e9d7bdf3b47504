"""The type stubs accept correct programs, reject wrong ones, and fit the package.

Programs in typing_good/ have to pass mypy --strict; they are executed, too, and each
annotated variable must have the type that the stubs promise. In typing_bad/, exactly
the lines marked ``# error`` have to be rejected.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import drjit
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = Path(drjit.__file__).parent
GOOD = sorted((HERE / "typing_good").glob("*.py"))
BAD = sorted((HERE / "typing_bad").glob("*.py"))

mypy = pytest.importorskip("mypy", reason="the type checker is not installed")


def error_lines(output: str) -> dict[tuple[str, int], str]:
    """What a type checker said, by file name and line."""
    found = {}
    for line in output.splitlines():
        match = re.match(r"\s*(.+?\.py):(\d+)(?::\d+)?(?: -|:) error: (.*)", line)
        if match:
            found[Path(match[1]).name, int(match[2])] = match[3]
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what mypy keeps from one run to the next."""
    return tmp_path_factory.mktemp("mypy")


def run_mypy(files: list[Path], cache: Path) -> dict[tuple[str, int], str]:
    """Check files against the stubs of the package under test."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", ""]
    result = subprocess.run(
        [*command, "--cache-dir", str(cache), *map(str, files)],
        capture_output=True,
        text=True,
        cwd=cache,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""},
        check=False,
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    errors = error_lines(result.stdout)
    assert bool(errors) == (result.returncode == 1), result.stdout
    return errors


def marked_lines(files: list[Path]) -> Iterator[tuple[str, int]]:
    """The lines of files that are marked as wrong."""
    for path in files:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.endswith("# error"):
                yield path.name, number


def test_correct_programs_are_accepted(cache: Path) -> None:
    """No complaint about any program of typing_good/."""
    assert len(GOOD) >= 3
    assert run_mypy(GOOD, cache) == {}


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_wrong_lines_are_rejected(path: Path, cache: Path) -> None:
    """The marked lines of a program of typing_bad/ are rejected, and no others."""
    marked = list(marked_lines([path]))
    assert len(marked) > 5
    assert sorted(run_mypy([path], cache)) == marked


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_values_have_the_declared_types(path: Path) -> None:
    """A correct program runs, and its variables are of the annotated classes."""
    variables = runpy.run_path(str(path))
    checked = 0
    for name, annotation in variables["__annotations__"].items():
        if isinstance(annotation, type):
            checked += 1
            value = variables[name]
            assert type(value) is annotation or annotation is tuple, name
    assert checked > 0


def test_basedpyright_agrees() -> None:
    """A second type checker accepts the correct programs and the stubs.

    All but one: it does not solve type variables with constraints (generic.py) against
    the parameters of a generic class, which mypy does for each constraint in turn.
    """
    programs = [str(path) for path in GOOD if path.name != "generic.py"]
    result = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", *programs],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
        check=False,
    )
    assert error_lines(result.stdout) == {}, result.stdout + result.stderr
    assert "0 errors" in result.stdout, result.stdout + result.stderr


def test_stubs_fit_the_package() -> None:
    """What the stubs declare exists, and the array types are all declared."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "tools/make_stubs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_module_contents() -> None:
    from drjit import config, llvm, scalar

    for module, names in ((llvm, ["PCG32", "Philox4x32", "Event"]),
                          (scalar, ["PCG32", "Philox4x32"])):  # fmt: skip
        for name in names:
            assert name in vars(module) and name in dir(module)
            assert name in module.__all__
            assert getattr(module, name).__module__ == module.__name__
    assert {"PCG32", "Philox4x32"} <= set(dir(drjit.auto))
    assert re.fullmatch(r"(GNU|Clang) \d+\.\d+.*", config.CXX_COMPILER)
    assert re.fullmatch(r"3\.\d+\.\d+.*", config.PYTHON_VERSION)
    assert "config" in dir(drjit)
