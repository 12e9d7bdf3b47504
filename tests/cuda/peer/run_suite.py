"""Runs test files of tests/python on the published package's CUDA backend.

    python tests/cuda/peer/run_suite.py --peer PYTHON [--names] FILE ...

FILE is the stem of a file: `test_sorting`. The peer's environment needs NumPy, pytest,
pytest-xdist (a test that ends the process fails alone) and pytest-timeout. Each file
runs twice: on its LLVM backend, and on its CUDA backend with the look-alike of the
driver. Many tests are about what the published package does not have, or about
messages of ours; what concerns the look-alike and the simulator are those that pass on
one backend only: --names lists them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SECONDS = 20  # of a test
FILE_SECONDS = 240

Outcomes = dict[str, str]  # of a test: "" if it has passed, or why not


def outcomes(path: Path) -> Outcomes:
    """What a file of results says."""
    found: Outcomes = {}
    for case in xml.parse(path).iter("testcase"):
        failures = [child for child in case if child.tag in ("failure", "error")]
        if case.find("skipped") is None:
            why = (failures[0].get("message") or "error") if failures else ""
            found[str(case.get("name"))] = why
    return found


def run(python: str, library: Path, backend: str, name: str) -> Outcomes:
    """Run a file of tests on a backend of the peer."""
    with tempfile.TemporaryDirectory() as home:
        results = Path(home) / "results.xml"
        command = [
            python, "-m", "pytest", "-q", "--noconftest", "-p", "suite",
            "-p", "no:cacheprovider", "-n", "1", "--max-worker-restart", "1000",
            "--timeout", str(SECONDS), f"--junitxml={results}",
            str(ROOT / "tests" / "python" / f"{name}.py"),
        ]  # fmt: skip
        env = dict(
            os.environ,
            HOME=home,
            CUDA_PEER_BACKEND=backend,
            DRJIT_LIBCUDA_PATH=str(library),
            PYTHONPATH=f"{HERE}:{ROOT / 'tests' / 'python'}",
            PYTHONDONTWRITEBYTECODE="1",
        )
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=FILE_SECONDS
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: {backend}: no end after {FILE_SECONDS} s")
            return {}
        if not results.exists():
            print(f"{name}: {backend}: {done.stdout[-300:]}{done.stderr[-300:]}")
            return {}
        return outcomes(results)


def main() -> int:
    """Run the files, print how many tests pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--peer", default=os.environ.get("DRJIT_PEER"), required=False)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--names", action="store_true", help="tests that differ")
    options = parser.parse_args()
    if not options.peer:
        sys.exit("run_suite.py: name the interpreter of the peer (--peer, DRJIT_PEER)")
    for name in options.files:
        if not (ROOT / "tests" / "python" / f"{name}.py").exists():
            sys.exit(f"run_suite.py: there is no tests/python/{name}.py")
    library = Path(options.build).resolve() / "tests/cuda/peer/libcuda_sim.so"
    if not library.exists():
        sys.exit(f"run_suite.py: there is no {library}; build it first (make)")
    heads = ("tests", "llvm", "cuda", "only llvm", "only cuda")
    print(" " * 28 + "".join(f"{head:>11}" for head in heads))
    for name in options.files:
        llvm = run(options.peer, library, "llvm", name)
        cuda = run(options.peer, library, "cuda", name)
        worse = [t for t in cuda if cuda[t] and not llvm.get(t, "-")]
        better = [t for t in cuda if not cuda[t] and llvm.get(t, "-")]
        passed = [sum(not why for why in side.values()) for side in (llvm, cuda)]
        figures = (len(cuda), *passed, len(worse), len(better))
        print(f"{name:28}" + "".join(f"{n:>11}" for n in figures), flush=True)
        if options.names:
            for test in worse:
                print(f"    {test}: {' '.join(cuda[test].split())[:160]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
