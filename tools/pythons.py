#!/usr/bin/env python3
"""Install and test the package with every CPython on this machine.

    pythons.py                      all versions of 3.10 or newer
    pythons.py 3.10 3.13            these only
    pythons.py --list               say which there are
    pythons.py --tests none         install, look at each public name, run no tests;
                                    'ends' (the default) runs the quick Python tests,
                                    but for those of what is computed, with the oldest
                                    and the newest version, 'all' with each

Interpreters are looked for in ~/.pyenv/versions (or $PYENV_ROOT), in /opt/python, where
images for manylinux have them, and on the path; of each version the newest release is
taken. Each gets a fresh environment in
build-pythons/VERSION, into which pip installs the clone. All share one build folder,
in which meson compiles the core library once and the extension for each version, with
few optimisations. The tests use what was installed.

build-pythons/meson-logs/testlog.json gets a line for each installation, each look at
the names and each file of tests, in the form that meson gives to its own; a line is
written as soon as its result is there. Exit status 1 if one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-pythons"
LOG = BUILD / "meson-logs/testlog.json"
TESTS = ROOT / "tests/python"
OLDEST = (3, 10)

# Tests of what is computed, by the same few calls into the core: one version finds what
# any does, and "make test" runs them.
SAME = frozenset(
    """ad_engines ad_programs array_programs chains dda deterministic hashgrid matvec
    nn_networks opt resample texture texture_mip""".split()
)
# What only other tests need: type checkers, Jupyter, what draws, clusters.
ELSEWHERE = (
    "basedpyright", "cloudpickle", "dask", "ipykernel", "matplotlib", "mypy", "nbclient"
)  # fmt: skip

# Release level and number count, so that a release is newer than its candidates. Of an
# environment, the interpreter that it was made from.
ASK = """
import sys, sysconfig, importlib.util, os
print(sys.implementation.name)
print(getattr(sys, "_base_executable", sys.executable))
print(*sys.version_info[:3], sys.hexversion)
print(int(bool(sysconfig.get_config_var("Py_GIL_DISABLED"))))
header = os.path.join(sysconfig.get_path("include"), "Python.h")
print(int(os.path.exists(header)))
print(int(importlib.util.find_spec("ensurepip") is not None))
"""

# What a program may look at, with warnings as errors. A free-threaded interpreter says
# that it takes its lock back.
LOOK = """
import importlib, sys
import drjit
assert drjit.__file__.startswith(sys.prefix), drjit.__file__
modules = '''drjit drjit.ad drjit.array_api drjit.auto drjit.auto.ad drjit.config
    drjit.dda drjit.detail drjit.dist drjit.hashgrid drjit.interop drjit.llvm
    drjit.llvm.ad drjit.nn drjit.opt drjit.random drjit.scalar'''.split()
count, wrong = 0, []
for name in modules:
    module = importlib.import_module(name)
    for public in dir(module):
        if public[0] == "_":
            continue
        count += 1
        try:
            getattr(module, public)
        except Exception as error:
            wrong.append(f"{name}.{public}: {error!r}")
x = drjit.llvm.ad.Float([1, 2, 3])
drjit.enable_grad(x)
drjit.backward(drjit.sum(x * x))
if [*x.grad] != [2, 4, 6]:
    wrong.append(f"the gradient of a sum of squares is {x.grad}")
print(*wrong, f"{count} names in {len(modules)} modules", sep="\\n")
sys.exit(1 if wrong else 0)
"""
WARNINGS = ["-W", "error", "-W", "ignore:The global interpreter lock"]


@dataclass(frozen=True)
class Interpreter:
    """One that is on this machine."""

    executable: str
    release: str  # such as 3.12.1
    number: int  # sys.hexversion
    free_threaded: bool

    @property
    def version(self) -> str:
        """What is installed once: such as 3.12, or 3.13t without the lock."""
        major, minor, _ = self.release.split(".")
        return f"{major}.{minor}" + ("t" if self.free_threaded else "")

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return BUILD / self.version

    @property
    def python(self) -> str:
        """The interpreter of the environment."""
        return str(self.folder / "bin/python")


def ask(executable: Path) -> Interpreter | None:
    """The interpreter behind a path, if it is one that the package is for."""
    try:
        answer = subprocess.run(
            [executable, "-I", "-c", ASK],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None  # a shim of a version that is not there, for example
    implementation, base, numbers, free_threaded, header, pip = answer
    *release, number = map(int, numbers.split())
    if implementation != "cpython" or tuple(release) < OLDEST:
        return None
    found = Interpreter(base, ".".join(map(str, release)), number, free_threaded == "1")
    for what, there in (("Python.h", header), ("ensurepip", pip)):
        if there != "1":
            print(f"pythons.py: {base} ({found.version}) is left out: it has no {what}")
            return None
    return found


def candidates() -> Iterator[Path]:
    """Paths that may be those of interpreters."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob("versions/*/bin/python3"))
    yield from sorted(Path("/opt/python").glob("cp*/bin/python3"))
    named = re.compile(r"python3(\.\d+t?)?")
    for folder in os.get_exec_path():
        if Path(folder).is_dir():
            yield from sorted(
                path for path in Path(folder).iterdir() if named.fullmatch(path.name)
            )


def find() -> list[Interpreter]:
    """The newest release of each version, the oldest version first."""
    newest: dict[str, Interpreter] = {}
    for path in dict.fromkeys(path.resolve() for path in candidates()):
        found = ask(path)
        if found and (
            found.version not in newest or found.number > newest[found.version].number
        ):
            newest[found.version] = found
    return sorted(newest.values(), key=lambda one: (one.number, one.free_threaded))


def record(name: str, passed: bool, seconds: float) -> bool:
    """Write a result down."""
    result = "OK" if passed else "FAIL"
    with LOG.open("a", encoding="utf-8") as file:
        line = {"name": name, "result": result, "duration": round(seconds, 2)}
        print(json.dumps(line), file=file)
    print(f"{name:40} {result:8} {seconds:6.1f} s", flush=True)
    return passed


def step(name: str, *commands: list[str], cwd: Path = ROOT) -> bool:
    """Run commands, one after the other; show what the one says that fails."""
    begin = time.monotonic()
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for unwanted in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        environment.pop(unwanted, None)
    for command in commands:
        result = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            print(*command, result.stdout[-8000:], sep="\n")
            return record(name, False, time.monotonic() - begin)
    if result.stdout.count("\n") == 1:
        print(end=result.stdout)
    return record(name, True, time.monotonic() - begin)


def install(one: Interpreter) -> bool:
    """Install the package with pip as a user does, but for the folder and for settings
    that make the compiler faster."""
    pip = [one.python, "-m", "pip", "install", "-q", "."]
    pip += ["--config-settings", f"build-dir={BUILD / 'objects'}"]
    pip += ["--config-settings", "setup-args=-Db_lto=false"]
    pip += ["--config-settings", "setup-args=-Doptimization=1"]
    return step(
        f"python {one.version}: install",
        [one.executable, "-m", "venv", "--clear", str(one.folder)],
        pip,
    )


def look(one: Interpreter) -> bool:
    """Look at every public name, in an interpreter that has not used any."""
    command = [one.python, "-I", *WARNINGS, "-c", LOOK]
    return step(f"python {one.version}: public names", command, cwd=one.folder)


def quick_tests() -> list[Path]:
    """The files of tests that tests/python/meson.build calls quick."""
    text = (TESTS / "meson.build").read_text(encoding="utf-8")
    listed = re.search(r"python_quick_tests = \[(.*?)\]", text, re.S)
    assert listed, "tests/python/meson.build has another form than expected"
    names = [name for name in re.findall(r"'(\w+)'", listed[1]) if name not in SAME]
    return [TESTS / f"test_{name}.py" for name in names]


def requirements() -> list[str]:
    """What these tests need."""
    text = (ROOT / "tools/requirements-test.txt").read_text(encoding="utf-8")
    return [line for line in text.split() if not line.startswith(ELSEWHERE)]


def test(one: Interpreter) -> bool:
    """Run the quick tests with the installed package: one result for each file."""
    name = f"python {one.version}: what tests need"
    if not step(name, [one.python, "-m", "pip", "install", "-q", *requirements()]):
        return False
    report = one.folder / "tests.xml"
    environment = {
        **os.environ,
        "DRJIT_CACHE_DIR": str(one.folder / "cache"),
        "DRJIT_LOG_LEVEL": "warn",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DRJIT_TEST_FEW": "1",
    }
    environment.pop("PYTHONPATH", None)
    # Files go to the workers as a whole, since what is slow is often in a fixture.
    command = [one.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    command += ["-n", str(min(4, os.cpu_count() or 1)), "--dist=loadfile"]
    command += [f"--junitxml={report}", *map(str, quick_tests())]
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    passed = [record(*row) for row in results(one, report)].count(False) == 0
    if status != 0 and passed:  # it has not come to the tests, or not to their end
        return record(f"python {one.version}: pytest", False, 0)
    return passed


def results(one: Interpreter, report: Path) -> Iterator[tuple[str, bool, float]]:
    """Name, success and seconds of each file of tests."""
    failed: dict[str, bool] = {}
    seconds: dict[str, float] = {}
    cases = ElementTree.parse(report).iter("testcase") if report.exists() else []
    for case in cases:
        place = case.get("classname") or case.get("name") or ""
        found = re.search(r"\btest_(\w+)", place)
        file = found[1] if found else place
        bad = case.find("failure") is not None or case.find("error") is not None
        failed[file] = failed.get(file, False) or bad
        seconds[file] = seconds.get(file, 0.0) + float(case.get("time") or 0)
    for file in sorted(failed):
        yield f"python {one.version}: {file}", not failed[file], seconds[file]


def main() -> int:
    """Do what the head of this file says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tests", choices=["none", "ends", "all"], default="ends")
    options = parser.parse_args()
    found = [
        one for one in find() if not options.versions or one.version in options.versions
    ]
    for one in found:
        print(f"CPython {one.release:8} {one.version:6} {one.executable}")
    missing = {*options.versions} - {one.version for one in found}
    if missing or not found:
        wanted = ", ".join(sorted(missing)) or "of 3.10 or newer"
        print(f"pythons.py: found no CPython {wanted} that has headers and ensurepip")
        return 1
    if len(found) == 1:
        print(f"found one version only, {found[0].version}: no other is checked")
    if options.list:
        return 0
    shutil.rmtree(BUILD / "objects", ignore_errors=True)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.write_text("", encoding="utf-8")
    works = [one for one in found if install(one) and look(one)]
    ends = found if options.tests == "all" else [found[0], found[-1]]
    tested = [] if options.tests == "none" else dict.fromkeys(ends)
    passed = [test(one) for one in tested if one in works]
    return 0 if all(passed) and works == found else 1


if __name__ == "__main__":
    sys.exit(main())
