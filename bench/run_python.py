"""Runs the benchmarks of the Python package against the published one, side by side.

    python bench/run_python.py [--release | --ours PYTHON] [--peer PYTHON] [MEASURE ...]

Both sides run `python_bench.py`, each in its own environment: ours is this interpreter
with the package of the build folder (BUILD/py), unless one is named. --release makes
one in `.venv-release` with the wheel of dist/ ('make wheel'), which is what compares
with the wheel of the published package. Rounds, ratios, results and all other options
are those of run.py; the files of results end in -python, or in -python-release.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cuda_peer
from run import (
    GROWTH,
    HERE,
    ROOT,
    Goal,
    Harness,
    Measure,
    Run,
    benchmark,
    core_bench,
    options_of,
    peer_python,
)

AD_GROWTH = ("10000", "100000", "1000000", "10000000")

MEASURES = (
    Measure("import", (Run("import"),)),
    Measure("trace", (Run("trace"),)),
    Measure("growth", tuple(Run("growth", n, peer=len(n) < 6) for n in GROWTH)),
    Measure("launch", (Run("launch"),)),
    Measure("first", (Run("first", "SEED"),)),
    Measure("footprint", (Run("footprint"),)),
    Measure("tensor", (Run("tensor"),)),
    Measure("numpy", (Run("numpy"),)),
    Measure("sort", (Run("sort"),)),
    Measure("tree", (Run("tree"),)),
    Measure("flow", (Run("flow"),)),
    Measure("decoration", (Run("decoration"),)),
    Measure("instances", (Run("instances"),)),
    Measure("freeze", (Run("freeze"),)),
    Measure("freeze first", (Run("freeze first", "SEED"),)),
    Measure("freeze step", (Run("freeze step"),)),
    Measure("ad chain", (Run("ad chain"),)),
    # The peer dies of a graph of 100,000 nodes.
    Measure(
        "ad growth", tuple(Run("ad growth", n, peer=len(n) < 6) for n in AD_GROWTH)
    ),
    Measure("ad trace", (Run("ad trace"),)),
    Measure("ad footprint", (Run("ad footprint"),)),
    Measure("ad first", (Run("ad first", "SEED"),)),
    Measure("ad repeated", (Run("ad repeated"),)),
    Measure("arithmetic", (Run("arithmetic"),), parallel=True),
    Measure("axpy", (Run("axpy"),), parallel=True),
    Measure("scatter", (Run("scatter"),), parallel=True),
    Measure("reduce", (Run("reduce"),), parallel=True),
    Measure("fuse", (Run("fuse"),), parallel=True),
    Measure("ordered", (Run("ordered", peer=False),), parallel=True),
    Measure("random", (Run("random"),), parallel=True),
    Measure("matmul", (Run("matmul"),), parallel=True),
    Measure("mandelbrot", (Run("mandelbrot"),), parallel=True),
    Measure("ad kernel", (Run("ad kernel"),), parallel=True),
    Measure("ad gather", (Run("ad gather"),), parallel=True),
    Measure("ad loop", (Run("ad loop"),), parallel=True),
    Measure("ad network", (Run("ad network"),), parallel=True),
    Measure("blas", (Run("blas", peer=False),), parallel=True),
    Measure("cuda_peer", (Run("cuda_peer"),)),
)

GOALS = (
    Goal("import", "import*", 0.3),
    Goal("import", "llvm above bare", 20, absolute=True),
    Goal("trace", "Float", 0.45),
    Goal("trace", "Array3f", 0.25),
    Goal("trace", "Matrix4f @", 0.15),
    Goal("launch", "10 ops", 0.7),
    Goal("launch", "*", 0.3),
    Goal("first", "*", 0.05),
    Goal("footprint", "*", 0.7),
    Goal("tensor", "*", 0.5),
    Goal("numpy", "*", 1.0),
    Goal("sort", "*", 1.0),
    Goal("tree", "schedule 500 dataclasses", 60, absolute=True),
    Goal("tree", "*", 1.0),
    Goal("flow", "trace a loop of 1,000 arrays", 0.3),
    Goal("flow", "trace 200*", 0.3),
    Goal("flow", "trace *", 0.4),
    Goal("flow", "*, coherent", 0.9),
    Goal("flow", "*, incoherent", 0.6),
    Goal("flow", "an evaluated iteration", 0.5),
    Goal("decoration", "*", 5, absolute=True),
    Goal("instances", "*", 0.1),
    Goal("freeze", "1 arrays", 0.3),
    Goal("freeze", "100 arrays", 0.2),
    Goal("freeze", "*", 0.15),
    Goal("freeze first", "*, over not frozen", 1.2, absolute=True),
    Goal("freeze step", "frozen", 0.5),
    Goal("mandelbrot", "first frame", 0.1),
    Goal("mandelbrot", "another frame", 0.5),
    Goal("ad chain", "*", 0.4),
    Goal("ad trace", "no gradient, over plain", 1.1, absolute=True),
    Goal("ad trace", "gradient, over plain", 2.5, absolute=True),
    Goal("ad trace", "*gradient", 0.4),
    Goal("ad footprint", "*", 0.6),
    Goal("ad first", "*", 0.02),
    Goal("ad repeated", "growth", 1, absolute=True),
    Goal("ad kernel", "*, over primal", 3, absolute=True),
    Goal("ad kernel", "*, reverse", 0.9),
    Goal("ad gather", "*", 0.6),
    Goal("ad loop", "*, reverse", 0.7),
    Goal("ad network", "*", 0.7),
    Goal("arithmetic", "*", 1.0),
    Goal("axpy", "*", 1.0),
    Goal("scatter", "*", 1.0),
    Goal("reduce", "*", 1.0),
    Goal("fuse", "sum((x - y)^2)", 0.45),
    Goal("fuse", "mean and variance", 0.4),
    Goal("fuse", "histogram", 0.6),
    Goal("fuse", "compress*", 0.4),
    Goal("fuse", "sum of 1,000", 0.6),
    Goal("fuse", "*", 0.5),
    Goal("ordered", "*, over without", 2, absolute=True),
    Goal("random", "*", 1 / 1.5),
    Goal("matmul", "*", 1.0),
    Goal("blas", "drjit 1024", 1 / 0.9, own_case="NumPy 1024"),
)


def release_python() -> str:
    """The interpreter of an environment with the wheel of dist/."""
    python = str(ROOT / ".venv-release" / "bin" / "python")
    if not Path(python).exists():
        venv = [sys.executable, "-m", "venv", str(ROOT / ".venv-release")]
        subprocess.run(venv, check=True)
    install = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*install, "numpy"], check=True)
    # The version is the same after each change.
    wheel = ["--no-index", "--no-deps", "--find-links", str(ROOT / "dist"), "drjit-c"]
    subprocess.run([*install, "--force-reinstall", *wheel], check=True)
    return python


def main() -> int:
    """Measure the Python package."""
    parser = options_of((__doc__ or "").splitlines()[0])
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--ours", help="Python with our package")
    side.add_argument("--release", action="store_true", help="the wheel of dist/")
    options = parser.parse_args()
    ours = release_python() if options.release else options.ours
    if not ours:
        package = Path(options.build).resolve() / "py"
        if not (package / "drjit").is_dir():
            sys.exit(f"run_python.py: there is no package in {package}")
        ours = sys.executable
        # `env` sets it for our side alone: the peer must not see our package.
        command = ["env", f"PYTHONPATH={package}", ours]
    else:
        command = [ours]
    os.environ.pop("PYTHONPATH", None)
    driver = Path(options.build).resolve() / "tests/cuda/peer/libcuda_sim.so"
    os.environ[cuda_peer.LIBRARY] = str(driver)
    script = str(HERE / "python_bench.py")
    peer = [peer_python(options.peer), script]
    harness = Harness([*command, script], peer, core_bench(options))
    suffix = "-python-release" if options.release else "-python"
    benchmark(options, harness, MEASURES, GOALS, suffix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
