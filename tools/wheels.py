#!/usr/bin/env python3
"""Build what a release consists of: a source distribution, a wheel for each CPython.

    wheels.py               all versions of 3.10 or newer that tools/pythons.py finds
    wheels.py 3.10 3.13     these only

To be run with the interpreter of .venv-wheel, as 'make wheels' does; pip fetches what
it builds with. Leaves in dist/ the files and SHA256SUMS, for 'sha256sum -c'. A wheel
gets the oldest manylinux tag that auditwheel finds it to fit, which depends on the C
library of this machine: the oldest one is to be had in an image for manylinux, whose
interpreters in /opt/python are found. Each wheel is installed without a network, and
every public name looked at. The core library is compiled once, in build-wheels/.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pythons import LOOK, ROOT, WARNINGS, Interpreter, find

BUILD = ROOT / "build-wheels"
DIST = ROOT / "dist"


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command that finds the tools beside this interpreter; stop if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=cwd, env=environment, check=False)
    if done.returncode:
        words = " ".join(map(str, command))[:200]
        raise SystemExit(f"wheels.py: exit status {done.returncode} of: {words}")


def only_file(folder: Path) -> Path:
    """The file in a folder that has had one thing written into it."""
    (file,) = folder.iterdir()
    return file


def sdist() -> Path:
    """What git has of the last commit, as an archive."""
    folder = BUILD / "sdist"
    folder.mkdir()
    settings = {"build-dir": str(BUILD / "sdist-objects")}
    program = f"import mesonpy; mesonpy.build_sdist({str(folder)!r}, {settings!r})"
    run(sys.executable, "-c", program)
    return only_file(folder)


def wheel(one: Interpreter) -> Path:
    """A wheel for an interpreter, with the tag of the systems that it runs on."""
    raw, repaired = (BUILD / f"{name}-{one.version}" for name in ("raw", "wheel"))
    pip = [one.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(raw), "."]
    run(*pip, "--config-settings", f"build-dir={BUILD / 'objects'}")
    repair = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto"]
    run(*repair, "-w", repaired, only_file(raw))
    return only_file(repaired)


def check(one: Interpreter, file: Path) -> None:
    """Install a wheel and look at what it has."""
    if not re.search(r"-manylinux_\d+_\d+_", file.name):
        raise SystemExit(f"wheels.py: {file.name} has no tag of manylinux")
    folder = BUILD / f"installed-{one.version}"
    python = folder / "bin/python"
    run(one.executable, "-m", "venv", "--clear", folder)
    run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", file)
    run(python, "-I", *WARNINGS, "-c", LOOK, cwd=folder)


def main() -> int:
    """Build, check, and only then replace what is in dist/."""
    wanted = sys.argv[1:]
    found = [one for one in find() if not wanted or one.version in wanted]
    missing = {*wanted} - {one.version for one in found}
    if missing or not found:
        print(f"wheels.py: found no CPython {', '.join(sorted(missing)) or '>= 3.10'}")
        return 1
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    files = [sdist()]
    for one in found:
        print(f"wheels.py: CPython {one.release}", flush=True)
        files.append(wheel(one))
        check(one, files[-1])
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    sums = []
    for file in files:
        sums.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
        shutil.copy(file, DIST)
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print(*sums, sep="", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
