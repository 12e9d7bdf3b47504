"""What programs ask of a GPU: launches and kernels, here and in the published package.

The published package's CUDA backend runs on a look-alike of the driver, which executes
its PTX on the CPU and counts (tests/cuda/peer); times there mean nothing. Ours counts
with `dr.kernel_history()`, on the CPU. The programs are those of tests/cuda/peer. Does
nothing but say so where there is no look-alike, or no backend for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timing import emit

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "tests" / "cuda" / "peer"
# bench/run_python.py sets it to the look-alike of its build folder.
LIBRARY = "BENCH_LIBCUDA"

PROGRAMS = (
    "optimisation", "frozen", "many_kernels", "loop_evaluated", "loop_compressed",
    "switch_evaluated", "sums_of_integers", "scans", "compress", "sorting",
    "matrix_products", "backward_loop", "scatter_reduce_local", "tensors",
)  # fmt: skip


def skip(why: str) -> None:
    """Print that there is no result, and why."""
    print(json.dumps({"measure": "cuda_peer", "case": "-", "error": f"skipped: {why}"}))


def side(library: str) -> tuple[str, list[str]]:
    """The backend of the package that is imported, and options of child.py."""
    import drjit as dr

    if hasattr(dr, "c_api"):  # ours
        return "llvm", []
    return "cuda", ["--counts", library]


def run(library: str) -> list[dict[str, Any]]:
    """The lines of child.py."""
    backend, options = side(library)
    command = [sys.executable, str(PEER / "child.py"), *options, backend, *PROGRAMS]
    env = dict(os.environ, DRJIT_LIBCUDA_PATH=library)
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if len(rows) < 1 + 2 * len(PROGRAMS):
        tail = " / ".join(done.stderr.strip().splitlines()[-3:])[-300:]
        rows.append({"end": "-", "error": f"status {done.returncode}: {tail}"})
    return rows


def measure_cuda_peer(argument: str) -> None:
    """Launches and kernels of some programs: their numbers."""
    usual = ROOT / "build/tests/cuda/peer/libcuda_sim.so"
    library = os.environ.get(LIBRARY, str(usual))
    if not Path(library).exists():
        skip(f"there is no {Path(library).name} in the build folder")
        return
    for row in run(library):
        if "error" in row:
            skip(f"{row['end']}: {row['error']}")
        for name, unit in (("launches", "launches"), ("modules", "kernels")):
            if "counts" in row and "end" in row:
                emit("cuda_peer", f"{row['end']} {unit}", [row["counts"][name]], 1, "")


MEASURES: dict[str, Callable[[str], None]] = {"cuda_peer": measure_cuda_peer}
