"""One side of the comparison: runs programs and prints a line of JSON for each.

    python child.py [--counts LIBRARY] {cuda,llvm} PROGRAM ...

The backend's module has the types. A line says that a program begins, so that what has
run is known if the process dies. Counts are those of the driver's look-alike, or those
of `dr.kernel_history()`: what the program did itself, without reading its results.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

import programs


class Counts:
    """What the package asks of its device: both sides have launches, kernels, bytes."""

    def __init__(self, dr: Any, library: str | None) -> None:
        self.dr = dr
        self.driver = ctypes.CDLL(library) if library else None
        if not self.driver:
            dr.set_flag(dr.JitFlag.KernelHistory, True)

    def take(self) -> dict[str, Any]:
        """Counts since the last call."""
        if self.driver:
            buffer = ctypes.create_string_buffer(4096)
            self.driver.cudaSimCounts(buffer, ctypes.c_size_t(len(buffer)), 1)
            counts: dict[str, Any] = json.loads(buffer.value)
            return counts
        history = self.dr.kernel_history()
        jit = [e for e in history if e["type"] == self.dr.KernelType.JIT]
        return {
            "launches": len(history),
            "jit": len(jit),
            "modules": sum(not e["cache_hit"] for e in jit),
        }


def run(dr: Any, m: Any, program: programs.Program, counts: Counts) -> dict[str, Any]:
    """The line of a program."""
    row: dict[str, Any] = {"end": program.name}
    counts.take()
    start = time.perf_counter()
    try:
        results = program.function(dr, m, m.ad)
        dr.eval(results)
        dr.sync_thread()
        row["seconds"] = time.perf_counter() - start
        row["counts"] = counts.take()
        row["values"] = {
            name: [programs.type_of(dr, value), list(programs.flat(dr, value))]
            for name, value in results.items()
        }
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"[:600]
        row["trace"] = traceback.format_exc(limit=-2)[:1500]
    return row


def main() -> None:
    """Run the programs that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("backend")
    parser.add_argument("--counts")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what programs print is not among the results

    def say(row: dict[str, Any]) -> None:
        out.write(json.dumps(row) + "\n")
        out.flush()

    import drjit as dr

    m = importlib.import_module(f"drjit.{options.backend}")
    start = time.perf_counter()
    dr.eval(dr.arange(m.UInt, 10) * 3)
    dr.sync_thread()
    counts = Counts(dr, options.counts)
    everything = programs.load()
    seconds = time.perf_counter() - start
    say({"start": dr.__version__, "seconds": seconds, "counts": counts.take()})
    for name in options.programs:
        say({"begin": name})
        say(run(dr, m, everything[name], counts))
    sys.stderr.flush()
    os._exit(0)  # a broken context cannot be taken down in order


if __name__ == "__main__":
    main()
