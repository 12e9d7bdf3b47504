#!/usr/bin/env python3
"""Run the core's tests of a build for another CPU, with one engine after the other.

    aarch64_tests.py BUILD                  the quick ones, and those of SLOW
    aarch64_tests.py BUILD sort eval        these only
    aarch64_tests.py --jobs 4 BUILD         four at the same time

DRJIT_TEST_ENGINE chooses one engine. Programs that name their engines themselves, or
need none, run once. Prints a table, and ends with status 1 if a test failed or was
skipped, ran out of time, or did not come to run with its engine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENGINES = ("interp", "llvm")
PATIENCE = 4  # times the limits of tests/meson.build

# Of the suite 'slow'. What is left out compares engines that only x86-64 has, or
# repeats on other devices what these do.
SLOW = """gemm llvm math memops primitives scale""".split()

# They name their engines, or are about parts that no engine has to do with; fuzz_replay
# compiles thousands of kernels, which takes libLLVM hours under emulation.
ONCE = frozenset(
    """base cache disk disk_demand disk_folder engine_calls engine_regions export_name
    fuzz_fused fuzz_replay gemm golden interp interp_calls interp_memory
    interp_regions legalise legalise_flow llvm llvm_object lookup mkperm ordered pages
    primitives print_log runtime stream tier transfer verify x86""".split()
)


@dataclass
class Outcome:
    """What became of one program."""

    result: str
    seconds: float


def tests(build: Path, wanted: list[str]) -> list[str]:
    """The names of the tests to run, as meson orders them."""
    command = ["meson", "introspect", "--tests", str(build)]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    suites = {test["name"]: test["suite"] for test in listed}
    unknown = [name for name in [*wanted, *SLOW] if name not in suites]
    if unknown:
        sys.exit(f"aarch64_tests.py: there is no test {', '.join(unknown)}")
    if wanted:
        return wanted
    return [
        name
        for name, places in suites.items()
        if name in SLOW or any(place.endswith(":quick") for place in places)
    ]


def run(build: Path, engine: str, names: list[str], jobs: int) -> dict[str, Outcome]:
    """Run tests with an engine; one that did not come to its end has no outcome."""
    command = ["meson", "test", "-C", str(build), "--no-rebuild", "--print-errorlogs"]
    command += ["--logbase", engine, "--num-processes", str(jobs)]
    command += ["--timeout-multiplier", str(PATIENCE), *names]
    environment = dict(os.environ, DRJIT_TEST_ENGINE=engine, DRJIT_CPU_ENGINE=engine)
    environment["DRJIT_TEST_EMULATED"] = "1"  # tests/c/emulated.h
    log = build / f"meson-logs/{engine}.json"
    log.unlink(missing_ok=True)
    print(f"{engine}: {len(names)} tests", flush=True)
    subprocess.run(command, env=environment, check=False)
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {row["name"].split(" / ")[-1]: outcome(row, engine) for row in rows}


def outcome(row: dict[str, Any], engine: str) -> Outcome:
    """What a line of meson's log says."""
    result, said = row["result"], row.get("stdout", "") + row.get("stderr", "")
    if result == "OK" and f"engine {engine}  skipped" in said:
        result = "NO ENGINE"
    return Outcome(result, row["duration"])


def show(names: list[str], found: dict[str, dict[str, Outcome]]) -> int:
    """Print the table; how many programs did not pass."""
    width = max(map(len, names))
    print("\n" + "test".ljust(width), *(f"{engine:>20}" for engine in found))
    failed = 0
    for name in names:
        cells = []
        for position, outcomes in enumerate(found.values()):
            if position and name in ONCE:
                cells.append("")
                continue
            one = outcomes.get(name, Outcome("MISSING", 0))
            failed += one.result != "OK"
            cells.append(f"{one.result} {one.seconds:7.1f} s")
        print(name.ljust(width), *(f"{cell:>20}" for cell in cells))
    for engine, outcomes in found.items():
        passed = sum(one.result == "OK" for one in outcomes.values())
        seconds = sum(one.seconds for one in outcomes.values())
        print(f"{engine}: {passed} of {len(outcomes)} passed, {seconds:.0f} s")
    return failed


def main() -> int:
    """Do what the head of this file says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("tests", nargs="*", metavar="TEST")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    only = os.environ.get("DRJIT_TEST_ENGINE")
    engines = [only] if only else list(ENGINES)
    names = tests(options.build, options.tests)
    found: dict[str, dict[str, Outcome]] = {}
    for engine in engines:
        chosen = [name for name in names if not found or name not in ONCE]
        if chosen:
            found[engine] = run(options.build, engine, chosen, options.jobs)
    return 1 if show(names, found) else 0


if __name__ == "__main__":
    sys.exit(main())
