"""NVIDIA's tools as oracles: where they are, and what they say of a text.

`ptxas` and `nvdisasm` are looked for in the site-packages of .venv (packages
nvidia-cuda-nvcc-cu12 and nvidia-cuda-nvdisasm), in PATH and in /usr/local/cuda/bin.
They are never shipped with the library.

Where there is none, a test is skipped (exit status 77, and a word); in continuous
integration, where the variable CI is "true", it fails. Tests take a part of what they
could; with the variable PTX_ALL, as in "make test SUITE=ptx", they take all.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn, TypeVar

ROOT = Path(__file__).resolve().parents[3]
ARCHITECTURES = (50, 75, 80, 90, 120)
SKIPPED = 77

T = TypeVar("T")
R = TypeVar("R")


def in_ci() -> bool:
    """Does this run in continuous integration, where nothing may be missing?"""
    return os.environ.get("CI", "") not in ("", "0", "false")


def takes_all() -> bool:
    """Is everything to be tested, or a part that takes seconds?"""
    return os.environ.get("PTX_ALL", "") not in ("", "0")


def lack(what: str) -> NoReturn:
    """End the test: `what` is not there."""
    if in_ci():
        sys.exit(f"{what}: it must be there in continuous integration (CI is set)")
    print(f"skipped: {what}")
    sys.exit(SKIPPED)


def package_folders() -> Iterator[Path]:
    """Yield the folders in which packages of NVIDIA may lie."""
    for base in (ROOT / ".venv" / "lib", Path(sys.prefix) / "lib"):
        yield from sorted(base.glob("python*/site-packages/nvidia"))


def find_tool(name: str) -> list[Path]:
    """All programs of this name, the preferred one first."""
    found = [
        path
        for folder in package_folders()
        for inner in ("cuda_nvcc/bin", "cu13/bin", "cu12/bin")
        if (path := folder / inner / name).exists()
    ]
    on_path = shutil.which(name)
    found += [Path(on_path)] if on_path else []
    toolkit = Path("/usr/local/cuda/bin") / name
    found += [toolkit] if toolkit.exists() else []
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Usage:
    """What a kernel needs of a machine.

    Registers are those of a thread; stack, spills and code are bytes; time is in
    milliseconds, as the assembler measured it.
    """

    registers: int
    stack: int
    spills: int
    code: int
    time: float


class Refused(Exception):
    """The assembler does not take a text; the message is its own."""


@dataclass(frozen=True)
class Assembler:
    """A `ptxas` and the architectures that it knows."""

    path: Path
    version: str
    architectures: frozenset[int]

    @staticmethod
    def at(path: Path) -> Assembler:
        """Ask a program what it can do."""
        text = run([path, "--version"]) + run([path, "--help"])
        version = re.search(r"V(\d+(?:\.\d+)+)", text)
        known = frozenset(int(number) for number in re.findall(r"'sm_(\d+)'", text))
        return Assembler(path, version.group(1) if version else "?", known)

    def assemble(self, text: str, arch: int, to: Path, strict: bool = True) -> str:
        """Write the machine code of a text for an architecture to a file.

        Returns what the assembler says about it (-v). Warnings count as errors if it is
        `strict`. Raises Refused if it does not take the text.
        """
        warnings = ["-Werror"] if strict else []
        done = subprocess.run(
            [self.path, "-v", *warnings, f"-arch=sm_{arch}", "-o", to, "-"],
            input=retarget(text, arch),
            capture_output=True,
            text=True,
            timeout=300,
        )
        said = done.stdout + done.stderr
        if done.returncode != 0:
            raise Refused(said.strip())
        return said


def run(command: list[str | Path]) -> str:
    """What a program writes to its output."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout


@cache
def assemblers() -> tuple[Assembler, ...]:
    """The assemblers of this machine."""
    return tuple(Assembler.at(path) for path in find_tool("ptxas"))


def assembler_for(arch: int) -> Assembler | None:
    """The first assembler that knows an architecture."""
    known = (a for a in assemblers() if arch in a.architectures)
    return next(known, None)


def usable(wanted: Iterable[int]) -> list[int]:
    """The architectures among `wanted` that can be assembled for; says which cannot."""
    wanted = list(wanted)
    if not assemblers():
        lack("there is no ptxas (package nvidia-cuda-nvcc-cu12)")
    for arch in wanted:
        if not assembler_for(arch):
            versions = ", ".join(a.version for a in assemblers())
            print(f"sm_{arch} is skipped: ptxas {versions} does not know it")
    found = [arch for arch in wanted if assembler_for(arch)]
    if not found or (in_ci() and len(found) < len(wanted)):
        lack(f"no ptxas knows all of {wanted}")
    return found


def target_of(text: str) -> int:
    """The architecture that a text is written for."""
    match = re.search(r"^\.target sm_(\d+)", text, re.MULTILINE)
    if not match:
        raise ValueError("there is no line '.target sm_...'")
    return int(match.group(1))


def retarget(text: str, arch: int) -> str:
    """The same text for another architecture, which may need a newer version of PTX."""
    text = re.sub(r"^\.target sm_\d+", f".target sm_{arch}", text, flags=re.MULTILINE)
    if arch >= 120:
        text = re.sub(r"^\.version 8\.[0-6]$", ".version 8.7", text, flags=re.MULTILINE)
    return text


def usage_of(said: str, cubin: Path) -> Usage:
    """What the assembler's words and its file tell of the resources of a kernel."""

    def number(pattern: str) -> int:
        return sum(int(value) for value in re.findall(pattern, said))

    time = re.search(r"Compile time = ([\d.]+) ms", said)
    return Usage(
        registers=number(r"Used (\d+) registers"),
        stack=number(r"(\d+) bytes stack frame"),
        spills=number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
        code=code_bytes(cubin.read_bytes()),
        time=float(time.group(1)) if time else 0.0,
    )


def code_bytes(elf: bytes) -> int:
    """The sizes of all sections with instructions of a 64-bit ELF file, together."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [
        struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)
    ]
    executable = 4
    return sum(section[5] for section in sections if section[2] & executable)


@cache
def disassembler() -> Path:
    """The `nvdisasm` of this machine; without one the test ends."""
    found = find_tool("nvdisasm")
    if not found:
        lack("there is no nvdisasm (package nvidia-cuda-nvdisasm)")
    return found[0]


def disassemble(cubin: Path) -> dict[str, list[str]]:
    """The instructions of each kernel of a file, one text each, without comments."""
    listing = run([disassembler(), "-c", cubin])
    kernels = {}
    for part in re.split(r"^\s*\.section\s+\.text\.", listing, flags=re.MULTILINE)[1:]:
        name = re.split(r"[,\s]", part, maxsplit=1)[0]
        lines = re.findall(r"^\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;", part, re.MULTILINE)
        kernels[name] = [re.sub(r"\s+", " ", line) for line in lines]
    return kernels


def side_by_side(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The results of `work` for all items, computed on all cores.

    The work is done by other processes, so threads suffice.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(work, items))
