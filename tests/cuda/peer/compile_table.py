"""What the assembler makes of our kernels and of the published package's.

    python tests/cuda/peer/compile_table.py [--peer PYTHON] [--arch 90] [PROGRAM ...]

Both packages run the programs of measured.py; each PTX text is assembled, and the table
has, for each program and side: kernels, lines of PTX, milliseconds of `ptxas` (the best
of three), registers of the hungriest kernel, bytes of spills and stack, bytes of SASS.
Kernels that the published package keeps ready made are left out: only what is made of
the program counts. Prints Markdown.

Needs a peer (see run_peer.py), our package with the engine ptx-sim, and an assembler.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent / "oracle"))

import toolkit  # noqa: E402

ROUNDS = 3


@dataclass
class Total:
    """What the kernels of a program need together."""

    kernels: int = 0
    lines: int = 0
    time: float = 0.0
    registers: int = 0
    memory: int = 0  # bytes of stack and spills of a thread
    code: int = 0

    def cells(self) -> list[str]:
        """Of the table."""
        if not self.kernels:
            return ["-"] * 6
        return [
            str(self.kernels),
            str(self.lines),
            f"{self.time:.1f}",
            str(self.registers),
            str(self.memory),
            str(self.code),
        ]


def dump(python: str, backend: str, env: dict[str, str], folder: Path) -> None:
    """Run the programs on one side."""
    done = subprocess.run(
        [python, HERE / "measured.py", backend, folder],
        env=env, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        print(f"{python}: status {done.returncode}: {done.stderr[-500:]}")


def is_kernel(text: str) -> bool:
    """Is it made of a program? Those names are `drjit_` and a hash."""
    return bool(re.search(r"\.entry drjit_[0-9a-f]{16,}", text))


def measure(text: str, arch: int) -> toolkit.Usage:
    """Assemble a text some times; the least time."""
    assembler = toolkit.assembler_for(arch)
    assert assembler
    best = None
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        for _ in range(ROUNDS):
            usage = toolkit.usage_of(
                assembler.assemble(text, arch, cubin, strict=False), cubin
            )
            if best is None or usage.time < best.time:
                best = usage
    assert best
    return best


def total_of(folder: Path, arch: int) -> Total:
    """The kernels of a program."""
    total = Total()
    for path in sorted(folder.glob("*.ptx")):
        text = path.read_text()
        if not is_kernel(text):
            continue
        usage = measure(text, arch)
        total.kernels += 1
        total.lines += text.count("\n")
        total.time += usage.time
        total.registers = max(total.registers, usage.registers)
        total.memory += usage.stack + usage.spills
        total.code += usage.code
    return total


def table(ours: Path, peer: Path, names: list[str], arch: int) -> None:
    """Print a row for each program: ours, then the peer's in the same cells."""
    heads = ["kernels", "lines", "ptxas ms", "registers", "local", "SASS"]
    print("| program | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    for name in names:
        sides = [total_of(folder / name, arch).cells() for folder in (ours, peer)]
        cells = [f"{a} / {b}" for a, b in zip(*sides, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> int:
    """Run both sides, assemble, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--peer", default=os.environ.get("DRJIT_PEER", ""))
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    library = options.build / "tests/cuda/peer/libcuda_sim.so"
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as name:
        ours, peer = Path(name) / "ours", Path(name) / "peer"
        tree = options.build / "tests/python/far/py"
        dump(sys.executable, "llvm",
             dict(plain, PYTHONPATH=str(tree), DRJIT_CPU_ENGINE="ptx-sim",
                  DRJIT_CACHE_DIR=""), ours)  # fmt: skip
        home = Path(name) / "home"
        home.mkdir()
        if options.peer:
            look_alike = dict(plain, DRJIT_LIBCUDA_PATH=str(library), HOME=str(home))
            dump(options.peer, "cuda", look_alike, peer)
        names = options.programs or sorted(path.name for path in ours.iterdir())
        for side in (ours, peer):
            for path in sorted(side.glob("*/error.txt")):
                print(f"{side.name} {path.parent.name}: {path.read_text().strip()}")
        table(ours, peer, names, options.arch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
