"""NVIDIA's assembler takes every text that we write.

    assemble.py [FOLDER...] [--write-ptx PROGRAM [--seed S] [--count N]]
                [--dump PROGRAM,...] [--cache FOLDER] [--arch 50,75,...] [--report]

The texts are the .ptx files of the folders; those that the program write_ptx makes, of
chosen Programs, and of N random ones, for each architecture; and those of all kernels
that the programs of --dump run on the engine 'ptx-sim'. Texts that are too long are
left out: the assembler takes more than linear time.

Every file is assembled for its own architecture and all later ones of the list;
texts that differ in their names and targets only count as one. What has passed is
remembered in the cache, by a hash of text, architecture and assembler's version.

--report shows what each text needs of a machine as a table: registers of a thread,
bytes of stack and spills, bytes of machine code, milliseconds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import toolkit

MOST_SHOWN = 5
MOST_BYTES = 1 << 20
FEW, MANY = 40, 1000  # random Programs


@dataclass(frozen=True)
class Job:
    """A text to be assembled for an architecture."""

    name: str
    text: str
    arch: int

    def key(self) -> str:
        """What the cache knows it by: names of kernels do not matter."""
        assembler = toolkit.assembler_for(self.arch)
        version = assembler.version if assembler else "?"
        text = re.sub(r"\bdrjit_[0-9a-f]+", "drjit", self.text)
        text = toolkit.retarget(text, self.arch)
        return hashlib.blake2b(f"{version} {text}".encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What became of a job: an error, or what the kernel needs."""

    job: Job
    error: str
    usage: toolkit.Usage | None


def assemble(job: Job) -> Outcome:
    """Assemble one text."""
    assembler = toolkit.assembler_for(job.arch)
    assert assembler
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "code.cubin"
        try:
            said = assembler.assemble(job.text, job.arch, cubin)
        except toolkit.Refused as refused:
            return Outcome(job, str(refused), None)
        return Outcome(job, "", toolkit.usage_of(said, cubin))


def find_jobs(folders: list[Path], archs: list[int]) -> dict[str, Job]:
    """The different texts of some folders, for each architecture that can run them."""
    jobs: dict[str, Job] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.ptx")):
            size = path.stat().st_size
            if size > MOST_BYTES:
                print(f"{path.stem} is left out: {size >> 20} MiB")
                continue
            text = path.read_text(encoding="utf-8")
            for arch in archs:
                if arch >= toolkit.target_of(text):
                    job = Job(path.stem, text, arch)
                    jobs.setdefault(job.key(), job)
    return jobs


def write_texts(options: argparse.Namespace, archs: list[int], folder: str) -> None:
    """Have the program write its texts into a folder."""
    command = [options.write_ptx, folder, "--sm", ",".join(map(str, archs))]
    command += ["--seed", str(options.seed), "--count", str(options.count)]
    subprocess.run(command, check=True)


def dump_texts(programs: list[str], folder: str) -> None:
    """Run tests on the engine whose kernels are PTX, which it keeps in a folder."""
    engine = {"DRJIT_TEST_ENGINE": "ptx-sim", "DRJIT_PTX_DUMP": folder}
    for program in programs:
        subprocess.run(
            [program],
            env={**os.environ, **engine, "DRJIT_CACHE_DIR": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def read_cache(path: Path | None) -> set[str]:
    """Keys of what has passed before."""
    return set(path.read_text().split()) if path and path.exists() else set()


def report(outcomes: list[Outcome]) -> None:
    """Print a table, the largest kernels first."""
    print(f"{'text':32} {'sm':>4} {'reg':>4} {'stack':>6} {'spill':>6} "
          f"{'code':>8} {'ms':>8}")  # fmt: skip
    rows = [(o.job, o.usage) for o in outcomes if o.usage]
    for job, use in sorted(rows, key=lambda row: (-row[1].code, row[0].arch)):
        print(f"{job.name:32} {job.arch:4} {use.registers:4} {use.stack:6} "
              f"{use.spills:6} {use.code:8} {use.time:8.1f}")  # fmt: skip


def show_errors(failed: list[Outcome]) -> None:
    """Print what is wrong with the first of the texts that were refused."""
    for outcome in failed[:MOST_SHOWN]:
        job = outcome.job
        print(f"\n{job.name} for sm_{job.arch}:\n{outcome.error}", file=sys.stderr)
        lines = toolkit.retarget(job.text, job.arch).splitlines()
        for number in re.findall(r", line (\d+);", outcome.error)[:MOST_SHOWN]:
            print(f"    {number}: {lines[int(number) - 1].strip()}", file=sys.stderr)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--write-ptx", type=Path, help="program that makes more texts")
    parser.add_argument("--dump", default="", help="programs whose kernels are texts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--count", type=int, default=MANY if toolkit.takes_all() else FEW
    )
    parser.add_argument("--cache", type=Path, help="folder of what has passed")
    parser.add_argument("--arch", default="", help="architectures: 50,75,...")
    parser.add_argument("--report", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Assemble what is new; the exit status."""
    options = parse()
    wanted = [int(arch) for arch in options.arch.split(",") if arch]
    archs = toolkit.usable(wanted or toolkit.ARCHITECTURES)
    jobs = find_jobs(options.folders, archs)
    if options.write_ptx:
        with tempfile.TemporaryDirectory() as folder:
            write_texts(options, archs, folder)
            jobs |= find_jobs([Path(folder)], archs)
    if options.dump:
        with tempfile.TemporaryDirectory() as folder:
            dump_texts(options.dump.split(","), folder)
            few = archs if toolkit.takes_all() else archs[-1:]
            jobs |= find_jobs([Path(folder)], few)
    if not jobs:
        print("assemble.py: there are no .ptx files to assemble", file=sys.stderr)
        return 1
    cache = options.cache / "passed.txt" if options.cache else None
    known = set() if options.report else read_cache(cache)
    new = {key: job for key, job in jobs.items() if key not in known}
    begin = time.monotonic()
    outcomes = toolkit.side_by_side(assemble, new.values())
    if options.report:
        report(outcomes)
    failed = [outcome for outcome in outcomes if outcome.error]
    show_errors(failed)
    if cache:
        options.cache.mkdir(parents=True, exist_ok=True)
        with cache.open("a") as file:
            file.writelines(o.job.key() + "\n" for o in outcomes if not o.error)
    print(f"{len(jobs)} texts: {len(jobs) - len(new)} known, "
          f"{len(new) - len(failed)} assembled in {time.monotonic() - begin:.0f} s, "
          f"{len(failed)} refused")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
