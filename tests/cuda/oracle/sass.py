"""The machine code of typical kernels is what we mean it to be.

    sass.py WRITE_PTX [--arch NN,...] [--report]

Of kernels that the program write_ptx makes of the Programs in chosen.c, the assembler's
machine code shows:

* no multiplication and addition is fused: every addition of the text is there, and as
  many FFMA (DFMA) as the text has fma (twice as many where a loop is turned around);
* no instruction flushes subnormal numbers (.FTZ);
* nothing is spilled, and there is local memory only where the Program has an array;
* arrays that are streamed, and packets, are read and written 16 bytes at a time.

Divisions and roots become sequences with fused and flushing operations of their own,
and are exempt from the first two.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import toolkit

# Kernels with an access of 16 bytes, as parts of names of instructions.
WIDE = {
    "axpy": ("LDG.E.128", "STG.E.128"),
    "axpy_f64": ("LDG.E.128", "STG.E.128"),
    "packet": ("LDG.E.128",),
}
LOCAL = {"local"}
# Their conditions are computed before the loop and at its end.
LOOPS = {"mandelbrot"}
DIVISIONS = re.compile(r"\b(?:div|rcp|sqrt)\.rn\.f")


@dataclass(frozen=True)
class Kernel:
    """A kernel as text and as machine code."""

    name: str
    arch: int
    text: str
    code: tuple[str, ...]
    usage: toolkit.Usage

    def in_text(self, instruction: str) -> int:
        """How often an instruction (a pattern) occurs in the text."""
        return len(re.findall(rf"\s{instruction}\s", self.text))

    def in_code(self, name: str) -> int:
        """How often an instruction whose name begins like this occurs in the code."""
        pattern = re.compile(rf"(?:@!?U?P\w+ )?{re.escape(name)}(?![A-Z0-9])")
        return sum(bool(pattern.match(line)) for line in self.code)


def load(path: Path, arch: int) -> Kernel:
    """Assemble a file."""
    text = path.read_text()
    assembler = toolkit.assembler_for(arch)
    assert assembler
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "code.cubin"
        said = assembler.assemble(text, arch, cubin)
        (code,) = toolkit.disassemble(cubin).values()
        usage = toolkit.usage_of(said, cubin)
    return Kernel(path.stem.rsplit("_", 1)[0], arch, text, tuple(code), usage)


def fusions(kernel: Kernel, kind: str, letter: str) -> list[str]:
    """What tells that operations of a type are fused; `letter` begins their names."""
    fused, adds = kernel.in_code(f"{letter}FMA"), kernel.in_code(f"{letter}ADD")
    meant = kernel.in_text(rf"fma\.rn\.{kind}")
    most = 2 * meant if kernel.name in LOOPS else meant
    wanted = kernel.in_text(rf"(?:add|sub)\.rn\.{kind}")
    found = []
    if not meant <= fused <= most:
        found.append(f"{fused} {letter}FMA for {meant} fma")
    if adds < wanted:
        found.append(f"{adds} {letter}ADD for {wanted} additions")
    return found


def complaints(kernel: Kernel) -> list[str]:
    """What is not as it should be."""
    found = []
    if not DIVISIONS.search(kernel.text):
        found += fusions(kernel, "f32", "F")
        found += fusions(kernel, "f64", "D")
        if any(".FTZ" in line for line in kernel.code):
            found.append("an instruction flushes subnormal numbers")
    if kernel.usage.spills:
        found.append(f"{kernel.usage.spills} bytes are spilled")
    if bool(kernel.usage.stack) != (kernel.name in LOCAL):
        found.append(f"{kernel.usage.stack} bytes of local memory")
    for access in WIDE.get(kernel.name, ()):
        if not any(access in line for line in kernel.code):
            found.append(f"no {access}")
    return [f"{kernel.name} for sm_{kernel.arch}: {what}" for what in found]


def report(kernels: list[Kernel]) -> None:
    """Print what there is of each kernel."""
    print(f"{'kernel':12} {'sm':>4} {'code':>6} {'reg':>4} {'stack':>6} {'FFMA':>5} "
          f"{'fma':>4} {'DFMA':>5} {'fma':>4}")  # fmt: skip
    for k in kernels:
        print(f"{k.name:12} {k.arch:4} {len(k.code):6} {k.usage.registers:4} "
              f"{k.usage.stack:6} {k.in_code('FFMA'):5} "
              f"{k.in_text('fma.rn.f32'):4} {k.in_code('DFMA'):5} "
              f"{k.in_text('fma.rn.f64'):4}")  # fmt: skip


def main() -> int:
    """Look at all; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("write_ptx", type=Path)
    parser.add_argument("--arch", default="80,90,120" if toolkit.takes_all() else "90")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    archs = toolkit.usable(int(arch) for arch in options.arch.split(","))
    toolkit.disassembler()
    with tempfile.TemporaryDirectory() as folder:
        listed = ",".join(map(str, archs))
        subprocess.run([options.write_ptx, folder, "--sm", listed], check=True)
        paths = sorted(Path(folder).glob("*.ptx"))
        jobs = [(path, toolkit.target_of(path.read_text())) for path in paths]
        kernels = toolkit.side_by_side(lambda job: load(*job), jobs)
    if options.report:
        report(kernels)
    wrong = [line for kernel in kernels for line in complaints(kernel)]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(kernels)} kernels, {len(wrong)} complaints")
    return 1 if wrong or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
