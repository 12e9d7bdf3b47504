"""What a program prints on each engine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

NATIVE = platform.machine() == "x86_64"


def printed(program: str, isas: bool = False) -> list[str]:
    """The output of a program of its own for each engine that this machine can have;
    'isas': and for instruction sets other than the best one."""
    cases = [("interp", ""), ("llvm", "")] + [("native", "")] * NATIVE
    if isas:
        cases += [("interp", "baseline")]
        cases += [("native", "avx2"), ("interp", "avx2")] * NATIVE
    texts = []
    for engine, isa in cases:
        env = {**os.environ, "DRJIT_CPU_ENGINE": engine}
        if isa:
            env |= {"DRJIT_NATIVE_ISA": isa, "DRJIT_INTERP_ISA": isa}
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    return texts
