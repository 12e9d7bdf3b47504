#!/usr/bin/env python3
"""Check what the house style can have checked by a machine.

* lines have at most 88 columns, no tabs (Makefiles aside) and no trailing blanks;
* no marks of unfinished work are left behind;
* no comment or document has a phrase of tools/words.txt;
* files over 900 lines, docstrings aside, are named (a warning: it is where to look
  again);
* every header compiles alone: the library's as C11, public ones as C99 and C++17 (those
  of the extension only if the headers of Python are there);
* every source and test is listed in its meson.build;
* files that pages of docs/dev name exist;
* folders have at most the lines that tools/budget.txt gives them.

Prints ``file:line: message`` for each violation and exits with status 1.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [
    "src",
    "include",
    "python",
    "tests",
    "examples",
    "bench",
    "tools",
    "packaging",
]
SUFFIXES = {".c", ".h", ".cpp", ".py", ".pyi", ".sh", ".build", ".cmake", ".in"}
COLUMNS = 88
LINES = 900
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)

# Spelled so that this file does not find itself.
MARKS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")

# String literals, which tests compare, may hold any phrase: what stands between two
# double quotes of one line of C or Python is not looked at. Three of them begin a
# docstring, which is.
STRINGS = re.compile(r'"(?:\\.|[^"\\])*"')
LITERALS = {".c", ".h", ".cpp", ".py", ".pyi"}
# What a comment's next line begins with.
LEADER = " *#/"

# Names of files in documents; those in capitals stand for any.
SOURCE = re.compile(r"`((?:[a-z_]\w*/)*[a-z_]\w*\.(?:c|h|def|inc|py))`")
BUDGETED = {".c", ".h", ".def", ".inc", ".py"}

# Headers that hold C++: those of a folder, and of include/drjit-core these.
CPP_FOLDER = ROOT / "include/drjit"
CPP_HEADERS = {
    "array.h",
    "basic_array.h",
    "cuda.h",
    "cxx.h",
    "half.h",
    "llvm.h",
    "memory.h",
    "ops.h",
    "traits.h",
}
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def name(path: Path) -> str:
    """The path as shown in messages."""
    return str(path.relative_to(ROOT))


def project_files() -> Iterator[Path]:
    """Yield the files whose text is checked."""
    yield ROOT / "meson.build"
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def check_text(path: Path) -> Iterator[str]:
    """Yield what is wrong with the lines of a file."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        where = f"{name(path)}:{number}: "
        if len(line) > COLUMNS:
            yield where + f"{len(line)} columns, more than {COLUMNS}"
        if "\t" in line and path.stem != "Makefile":
            yield where + "a tab"
        if line != line.rstrip():
            yield where + "blanks at the end of the line"
        if MARKS.search(line):
            yield where + "a mark of unfinished work"
    if lines[-1] != "":
        yield f"{name(path)}:{len(lines)}: no newline at the end of the file"
    count = len(lines) - 1 - docstring_lines(path)
    if count > LINES:
        print(f"{name(path)}:1: warning: {count} lines, more than {LINES}")


def docstring_lines(path: Path) -> int:
    """Lines of a Python file that are docstrings, which make nothing harder to read."""
    if path.suffix != ".py":
        return 0
    count = 0
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            text = node.body[0]
            count += (text.end_lineno or text.lineno) - text.lineno + 1
    return count


def documents() -> Iterator[Path]:
    """Yield the files of which only the words are checked."""
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.md"))


def read_words() -> list[tuple[re.Pattern[str], str]]:
    """The phrases of tools/words.txt, with what to say instead of each."""
    words = []
    for line in (ROOT / "tools/words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            phrase, instead = line.split("\t")
            words.append((re.compile(phrase, re.IGNORECASE), instead))
    return words


def prose(path: Path) -> list[str]:
    """The lines of a file, without string literals."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in LITERALS:
        text = text.replace('"""', "")
    lines = text.split("\n")
    if path.suffix in LITERALS:
        lines = [STRINGS.sub('""', line) for line in lines]
    return lines


def check_words(path: Path, words: list[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    """Yield the phrases of a file that have a better wording."""
    lines = [line.strip(LEADER) for line in prose(path)]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    text = " ".join(lines)  # a phrase may go on in the next line
    for phrase, instead in words:
        for found in phrase.finditer(text):
            where = f"{name(path)}:{bisect_right(starts, found.start())}: "
            yield where + f"'{found[0]}', say instead: {instead}"


def compilers(header: Path) -> Iterator[list[str]]:
    """Yield the commands that have to accept a file with nothing but this header."""
    include = ["-I", str(ROOT / "include"), "-I", str(ROOT / "src")]
    c = (os.environ.get("CC") or shutil.which("cc") or "gcc").split()
    cpp = (os.environ.get("CXX") or shutil.which("c++") or "").split()
    if header.is_relative_to(ROOT / "src/python") or header.name == "python.h":
        folder = sysconfig.get_path("include")
        if not Path(folder, "Python.h").exists():
            return
        include += ["-isystem", folder]
    public = header.is_relative_to(ROOT / "include")
    holds_cpp = header.name in CPP_HEADERS or header.is_relative_to(CPP_FOLDER)
    if not (public and holds_cpp):
        if public:
            standard = ["-std=c99", "-pedantic"]
        else:
            standard = ["-std=c11", "-D_GNU_SOURCE"]
        yield [*c, "-x", "c", *standard, *WARNINGS, *include, "-"]
    if public and cpp:
        yield [*cpp, "-x", "c++", "-std=c++17", *WARNINGS, *include, "-"]


def check_header(header: Path) -> list[str]:
    """Compile a header by itself; say what the compiler said otherwise."""
    errors = []
    for command in compilers(header):
        result = subprocess.run(
            command,
            input=f'#include "{header}"\n',
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            errors.append(f"{name(header)}:1: does not compile alone\n{result.stderr}")
    return errors


def check_listed() -> Iterator[str]:
    """Yield sources and tests that the build does not know."""
    extension = ROOT / "src/python"
    for path in sorted((ROOT / "src").rglob("*.c")):
        base = extension if path.is_relative_to(extension) else ROOT / "src"
        sources = (base / "meson.build").read_text(encoding="utf-8")
        if f"'{path.relative_to(base)}'" not in sources:
            yield f"{name(path)}:1: not listed in {name(base)}/meson.build"
    for folder, build in (("tests/c", "tests"), ("tests/python", "tests/python")):
        tests = (ROOT / build / "meson.build").read_text(encoding="utf-8")
        for path in sorted((ROOT / folder).glob("test_*.*")):
            listed = f"'{path.stem.removeprefix('test_')}'" in tests
            if not listed and path.suffix != ".h":
                yield f"{name(path)}:1: not listed in {build}/meson.build"


def check_named() -> Iterator[str]:
    """Yield names of sources in the developers' pages that no file has."""
    folders = [ROOT / folder for folder in FOLDERS]
    known = {path.name for folder in folders for path in folder.rglob("*")}
    for page in sorted((ROOT / "docs/dev").glob("*.md")):
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            for found in SOURCE.findall(line):
                if Path(found).name not in known:
                    yield f"{name(page)}:{number}: there is no {found}"


def check_budget() -> Iterator[str]:
    """Yield folders that have grown beyond their lines."""
    for line in (ROOT / "tools/budget.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        folder, most = line.split()[:2]
        paths = (ROOT / folder).rglob("*")
        sources = [path for path in paths if path.suffix in BUDGETED]
        lines = sum(path.read_text("utf-8").count("\n") for path in sources)
        if lines > int(most):
            yield f"{folder}: {lines} lines, more than the {most} of tools/budget.txt"


def main() -> int:
    """Check the whole tree."""
    files = list(project_files())
    errors = [error for path in files for error in check_text(path)]
    words = read_words()
    for path in [*files, *documents()]:
        errors += check_words(path, words)
    errors += [*check_listed(), *check_named(), *check_budget()]
    headers = [
        path
        for path in files
        if path.suffix == ".h" and name(path).startswith(("src/", "include/"))
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(check_header, headers):
            errors += found
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
