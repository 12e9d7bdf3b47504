"""Repeats the random calls of calls.py, and looks for what they leave behind.

    python tests/python/fuzz/leaks.py --seed 1 --calls 500 [--first 0]

With a debug build of Python, every lost reference is seen; otherwise lost objects and
variables. Exit status 1 if a call leaks.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import sys
import warnings
from typing import Any

import calls
import drjit as dr
import meter
import numpy as np
import values
from values import Context


def once(seed: str, index: int, only: str | None = None) -> None:
    rng = random.Random(f"{seed}:{index}")
    try:
        name, function, positional, keywords = calls.make_call(rng)
        Context.arguments = positional
        calls.use(function(*positional, **keywords))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        pass
    finally:
        Context.arguments = ()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--calls", type=int, default=200)
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    dr.set_log_level(dr.LogLevel.Disable)
    # NumPy, if not a debug build itself, does not take part in counting references.
    values.USE_NUMPY = not hasattr(sys, "gettotalrefcount")
    flags = [(flag, dr.flag(flag)) for flag in dr.JitFlag]
    for name in ("kernel_history", "set_flag", "set_label"):
        calls.FUNCTIONS.pop(name, None)
    found = 0
    watched: list[Any] = [
        dr.llvm.Float,
        dr.scalar.Array3f,
        dr.llvm.TensorXf,
        None,
        True,
    ]
    watched += [dr.ArrayBase, dr.ReduceOp.Add, int, dr.llvm, dr]
    for index in range(arguments.first, arguments.first + arguments.calls):
        stdout, sys.stdout = sys.stdout, io.StringIO()
        try:
            step = meter.growth(lambda i=index: once(arguments.seed, i), watched, 4)
        finally:
            sys.stdout = stdout
        for flag, on in flags:
            if dr.flag(flag) != on:
                dr.set_flag(flag, on)
        if meter.leaks(step):
            found += 1
            call = calls.make_call(random.Random(f"{arguments.seed}:{index}"))
            where = calls.describe(call, index, arguments.seed)
            print([round(s, 1) for s in step], where, flush=True)
    print(found, "leaks")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
