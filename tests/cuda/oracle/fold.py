"""NVIDIA's constant folder computes the bits that our interpreter does.

    fold.py WRITE_FOLDS [--arch NN,...] [--values N] [--report] [--update]

The kernels that the program write_folds writes store zeros where an operation on
literals gives what is expected, and the assembler folds what it can at compile time. So
the machine code of a store shows RZ exactly where NVIDIA agrees. Another constant is a
disagreement, and a failure; what is computed at run time has not been folded, and says
nothing.

folds.txt lists the forms that are known to fold for all values, or for some: one that
stops to do so is noticed. With fewer than 100 values, forms that fold for some are not
looked at. --update writes the file anew (with PTX_ALL=1, which asks for 100 values and
all architectures).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import toolkit

KNOWN = Path(__file__).with_name("folds.txt")
ALL_VALUES = 100
GROUPS = 12  # of kernels that are assembled as one module

STORE = re.compile(
    r"^(?:@!?U?P\w+ )?STG\.E(?P<size>\S*) "
    r"(?:desc\[UR\d+\])?\[R\d+(?:\.64)?(?:\+(?P<offset>0x[0-9a-f]+))?\], (?P<what>\w+)"
)
JUMP = re.compile(r"^(?:@!?U?P\w+ )?(?:CALL|BRA|RET|BSYNC|BSSY|WARPSYNC)")
BYTES = {".U8": 1, ".U16": 2, "": 4, ".64": 8}
# Ways to put a constant into a register, and the constant.
CONSTANTS = (
    re.compile(r"^U?MOV (?P<to>U?R\d+), (?P<value>U?RZ|0x[0-9a-f]+)$"),
    re.compile(r"^IMAD\.MOV\.U32 (?P<to>R\d+), RZ, RZ, (?P<value>RZ|-?0x[0-9a-f]+)$"),
    re.compile(r"^CS2R(?:\.32)? (?P<to>R\d+), (?P<value>SRZ)$"),
    re.compile(r"^HFMA2(?:\.MMA)? (?P<to>R\d+), -RZ, RZ, (?P<value>.+, .+)$"),
    re.compile(r"^U?MOV\.64 (?P<to>U?R\d+), (?P<value>RZ|0x[0-9a-f]+)$"),
    re.compile(r"^U?PRMT (?P<to>U?R\d+), (?P<value>RZ), 0x\d+, RZ$"),
)
# Instructions that are used for that, and what tells that an operand is no constant.
MOVES = re.compile(r"^U?(?:MOV|IMAD|CS2|HFMA2|PRMT|LOP3|IADD3|SEL|SHF|VIADD)")
OPERAND = re.compile(r"U?R\d|U?P\d|c\[|SR_|\[")
ZEROS = ("RZ", "URZ", "SRZ", "0x0", "0, 0")


@dataclass(frozen=True)
class Result:
    """What became of the values of a form for an architecture, as their numbers."""

    form: str
    arch: int
    agreed: frozenset[int]
    differed: frozenset[int]
    values: int

    def extent(self) -> str:
        """How many values were folded, in a word."""
        if len(self.agreed) == self.values:
            return "all"
        return "some" if self.agreed else "none"


def constant_of(line: str) -> str | None:
    """The constant that an instruction puts into its register, if it does.

    A move of nothing but constants that is not one of the known ways gives the
    instruction itself, which is no zero: it is reported, and to be added to them.
    """
    for pattern in CONSTANTS:
        if match := pattern.match(line):
            return match["value"]
    operands = line.partition(", ")[2]
    unknown = MOVES.match(line) and operands and not OPERAND.search(operands)
    return line if unknown else None


def destinations(line: str) -> list[str]:
    """The registers that an instruction writes (two if it is 64 bits wide)."""
    match = re.match(r"^(?:@!?U?P\w+ )?(?P<name>\S+) (?:U?P\d, )?(?P<to>U?R\d+)", line)
    if not match or match["name"].startswith(("ST", "RED", "BRA")):
        return []
    wide = re.search(r"\.64|\.WIDE|^D[A-Z]|^CS2R$|F64", match["name"])
    first = match["to"]
    number = int(first.lstrip("UR"))
    return [first, first.rstrip("0123456789") + str(number + 1)] if wide else [first]


def scan(code: list[str]) -> tuple[set[int], set[int]]:
    """Numbers of the values that agree, and of those that differ, in a kernel.

    Kernels are straight lines up to their exit, but for calls of subroutines, after
    which nothing is known.
    """
    known: dict[str, str] = {}
    agreed: set[int] = set()
    differed: set[int] = set()
    for line in code:
        if JUMP.match(line):
            known.clear()
        store = STORE.match(line)
        if store:
            size = BYTES[store["size"]]
            number = int(store["offset"] or "0", 16) // size
            low = store["what"]
            parts = [low]
            if size == 8 and low != "RZ":
                parts.append(f"R{int(low[1:]) + 1}")
            values = [known.get(part, "RZ" if part == "RZ" else "?") for part in parts]
            if "?" not in values:
                (agreed if set(values) <= set(ZEROS) else differed).add(number)
        for register in destinations(line):
            known.pop(register, None)
        if constant := constant_of(line):
            for register in destinations(line):
                known[register] = constant
    return agreed, differed - agreed


def join(paths: list[Path]) -> tuple[str, dict[str, str]]:
    """One module with the kernels of several files; their names to those of forms."""
    bodies, forms = [], {}
    head = ""
    for path in paths:
        text = path.read_text()
        head, entry, body = text.partition(".visible")
        bodies.append(entry + body)
        forms[text.split(".entry ")[1].split("(")[0]] = path.stem
    return head + "\n".join(bodies), forms


def examine(job: tuple[list[Path], int], values: int) -> list[Result]:
    """Assemble and look at some kernels."""
    paths, arch = job
    text, forms = join(paths)
    assembler = toolkit.assembler_for(arch)
    assert assembler
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "code.cubin"
        assembler.assemble(text, arch, cubin)
        listings = toolkit.disassemble(cubin)
    results = []
    for name, form in forms.items():
        agreed, differed = map(frozenset, scan(listings[name]))
        results.append(Result(form, arch, agreed, differed, values))
    return results


def read_known() -> dict[tuple[str, int], str]:
    """Extent of folding of forms for architectures, as committed; others do not."""
    known = {}
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    for line in lines:
        if line and not line.startswith("#"):
            form, *extents = line.split()
            for extent in extents:
                arch, _, word = extent.partition(":")
                known[form, int(arch)] = word
    return known


def write_known(results: list[Result]) -> None:
    """Write the committed file anew."""
    lines = [
        "# Forms that NVIDIA's assembler folds, for all values that are tried or for"
    ]
    lines += ["# some: fold.py --update writes this file."]
    for form in sorted({result.form for result in results}):
        extents = [
            f"{r.arch}:{r.extent()}"
            for r in results
            if r.form == form and r.extent() != "none"
        ]
        if extents:
            lines.append(" ".join([form, *extents]))
    KNOWN.write_text("\n".join(lines) + "\n")


def complaints(results: list[Result]) -> list[str]:
    """What is wrong: disagreements, and forms that do not fold any more."""
    known = read_known()
    order = ("none", "some", "all")
    found = []
    for result in results:
        where = f"{result.form} for sm_{result.arch}"
        if result.differed:
            numbers = ", ".join(map(str, sorted(result.differed)[:8]))
            found.append(
                f"{where}: NVIDIA's folder gives other bits: samples {numbers}"
            )
        before = known.get((result.form, result.arch), "none")
        if before == "some" and result.values < ALL_VALUES:
            continue
        if order.index(result.extent()) < order.index(before):
            found.append(
                f"{where}: {len(result.agreed)} of {result.values} values fold; it "
                f"was '{before}' (--update if the assembler has changed)"
            )
    return found


def report(results: list[Result]) -> None:
    """Print how many values fold, for each form and architecture."""
    archs = sorted({result.arch for result in results})
    print(f"{'form':24}" + "".join(f"{f'sm_{arch}':>8}" for arch in archs))
    for form in sorted({result.form for result in results}):
        row = {r.arch: len(r.agreed) for r in results if r.form == form}
        print(f"{form:24}" + "".join(f"{row[arch]:8}" for arch in archs))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("write_folds", type=Path)
    few, many = ("90", 10), ("80,90,120", ALL_VALUES)
    archs, values = many if toolkit.takes_all() else few
    parser.add_argument("--arch", default=archs)
    parser.add_argument("--values", type=int, default=values)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--update", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Compare; the exit status."""
    options = parse()
    archs = toolkit.usable(int(arch) for arch in options.arch.split(","))
    toolkit.disassembler()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [options.write_folds, folder, "--values", str(options.values)], check=True
        )
        files = sorted(Path(folder).glob("*.ptx"))
        # Those that take long are side by side in the alphabet: deal them out.
        groups = [files[i::GROUPS] for i in range(GROUPS)]
        jobs = [(group, arch) for group in groups for arch in archs]
        work = partial(examine, values=options.values)
        results = [r for some in toolkit.side_by_side(work, jobs) for r in some]
    if options.report:
        report(results)
    if options.update:
        write_known(results)
    wrong = complaints(results)
    for line in wrong:
        print(line, file=sys.stderr)
    for arch in archs:
        of_arch = [result.extent() for result in results if result.arch == arch]
        counts = [of_arch.count(extent) for extent in ("all", "some", "none")]
        print(
            f"sm_{arch}: {len(of_arch)} forms of {options.values} values: "
            f"{counts[0]} fold and agree, {counts[1]} for some values, "
            f"{counts[2]} do not fold"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
