"""Every allocation fails once while small programs run (programs.py).

    python tests/python/hostile/disturb.py python|core [--only NAME] [--first N]

For n = 1, 2, 3, ... a program runs with the n-th allocation failing: of Python's memory
(that one only, and several from it on), or of the core's, if that was built to let them
fail. Then it has to raise MemoryError, or give the right result; after that it runs
undisturbed and has to give the right result. What a failure leaves behind is looked for
in the same way as in fuzz/leaks.py. Each program has a process of its own, at the end
of which nothing may be reported as leaked. Exit status 1 if something is wrong, 77 if
the allocations of this build cannot be made to fail.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))

import drjit as dr  # noqa: E402
import meter  # noqa: E402
from faults import (  # noqa: E402
    CoreFaults,
    Missing,
    PythonFaults,
    Source,
    crashes_by_itself,
)
from programs import PROGRAMS  # noqa: E402

MOST_STEPS = 20000
IN_A_ROW = (1, 5)  # requests for Python's memory that fail
# What CPython says where it had no memory to call our hook (refuse_unraisable).
UNRAISABLE = re.compile(
    r"^Exception ignored .*\n(Traceback .*\n(  .*\n)*)?MemoryError:? *\n", re.M
)
SKIPPED = 77  # for meson: a test that was skipped


class Wrong(Exception):
    """What this program must not do."""


def attempt(source: Source, function: Callable[[], Any], n: int) -> tuple[Any, bool]:
    """The result of the function, or its exception, and whether the n-th step came."""
    dr.flush_kernel_cache()  # so that kernels are compiled each time
    dr.flush_malloc_cache()
    result: Any = None
    source.begin(n)
    try:
        result = function()
    except BaseException as error:
        result = error
    reached = source.end()
    if isinstance(result, BaseException):
        result = result.with_traceback(None)  # which holds the program's arrays
    return result, reached


def check(source: Source, name: str, n: int) -> bool:
    """Disturb the n-th step of a program: is there such a step?"""
    function, expected = PROGRAMS[name].run, PROGRAMS[name].expected
    result, reached = attempt(source, function, n)
    if not isinstance(result, MemoryError) and result != expected:
        raise Wrong(f"{name}, n = {n}: {result!r} instead of {expected!r}")
    if isinstance(result, MemoryError) and not reached:
        raise Wrong(f"{name}, n = {n}: failed without a fault: {result!r}")
    del result
    again = function()
    if again != expected:
        raise Wrong(f"{name}, n = {n}: does not recover, {again!r} is not {expected!r}")
    return reached


def counts(source: Source, name: str) -> list[int]:
    """What may not grow: variables, and blocks of Python's memory."""
    if isinstance(source, PythonFaults) and PROGRAMS[name].interpreted:
        return []
    return [meter.variables(), sys.getallocatedblocks()]


def check_leaks(source: Source, name: str, n: int) -> None:
    """What has grown once is looked at more closely."""
    step = meter.growth(lambda: check(source, name, n))
    if meter.leaks(step):
        raise Wrong(f"{name}, n = {n}: leaves variables, blocks, references: {step}")


def disturb(source: Source, name: str, first: int) -> None:
    """Disturb the steps of a program, one after the other, until there are no more."""
    PROGRAMS[name].run()
    n = first
    while n < MOST_STEPS:
        print(n, flush=True)  # the last one is to be seen after a crash
        before = counts(source, name)
        if not check(source, name, n):
            break
        after = counts(source, name)
        if any(b > a for a, b in zip(before, after, strict=True)):
            check_leaks(source, name, n)
        n += 1
    if not first < n < MOST_STEPS:
        raise Wrong(f"{name}: {n} steps")


def run_program(kind: str, name: str, first: int) -> None:
    """In a process of its own."""
    dr.set_log_level(dr.LogLevel.Error)
    sys.unraisablehook = refuse_unraisable
    before = meter.snapshot([])[0]
    if kind == "core":
        sources: list[Source] = [CoreFaults()]
    else:
        sources = [PythonFaults(count) for count in IN_A_ROW]
    for source in sources:
        disturb(source, name, first)
    left = meter.snapshot([])[0] - before
    if left and counts(sources[0], name):
        raise Wrong(f"{name}: leaves {left} variables")
    if unraisable:
        raise Wrong(f"{name}: {unraisable}")


unraisable: list[str] = []


def refuse_unraisable(found: Any) -> None:
    """Where nobody can be told, it has to be for lack of memory, too."""
    if found.exc_type is not MemoryError:
        unraisable.append(f"{found.exc_value!r} in {found.object!r}")


def start(kind: str, name: str, first: int) -> tuple[str, bool]:
    """Run a program in a process: a line that says how it went, and if well."""
    command = [sys.executable, *dev(), __file__, kind, "--one", name, "--first", first]
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, errors="replace"
    )
    steps = result.stdout.split()
    said = UNRAISABLE.sub("", result.stderr)
    at = f"{name}: {max(map(int, steps), default=0)} steps"
    if result.returncode == 0 and not said:
        return at, True
    return f"{at}, status {result.returncode}, last {steps[-1:]}\n{said}", False


def dev() -> list[str]:
    return ["-X", "dev"] if sys.flags.dev_mode else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["python", "core"])
    parser.add_argument("--only", choices=list(PROGRAMS))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--one", choices=list(PROGRAMS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        faulthandler.enable()
        run_program(arguments.kind, arguments.one, arguments.first)
        return 0
    try:
        CoreFaults() if arguments.kind == "core" else PythonFaults()
    except Missing as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    names = [arguments.only] if arguments.only else list(PROGRAMS)
    if arguments.kind == "python" and crashes_by_itself():
        print("left out: this interpreter crashes where a function has no memory")
        names = [name for name in names if not PROGRAMS[name].interpreted]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(
            pool.map(lambda n: start(arguments.kind, n, arguments.first), names)
        )
    for text, _ in results:
        print(text)
    return 0 if all(ok for _, ok in results) else 1


if __name__ == "__main__":
    sys.exit(main())
