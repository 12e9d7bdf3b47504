"""A pytest plugin: test files of tests/python on the published package.

It stands for their conftest.py, which loads our library; run_suite.py runs it. With
CUDA_PEER_BACKEND=cuda, `drjit.cuda` stands for `drjit.llvm`.
"""

from __future__ import annotations

import importlib
import operator
import os
import sys
from collections.abc import Iterator
from types import ModuleType

import drjit as dr
import pytest

BACKEND = os.environ.get("CUDA_PEER_BACKEND", "cuda")
if BACKEND != "llvm":
    types = importlib.import_module(f"drjit.{BACKEND}")
    sys.modules["drjit.llvm"] = vars(dr)["llvm"] = types
    sys.modules["drjit.llvm.ad"] = types.ad


@pytest.fixture(params=["llvm", "llvm.ad"])
def m(request: pytest.FixtureRequest) -> ModuleType:
    """A module of array types, one after the other."""
    module: ModuleType = operator.attrgetter(request.param)(dr)
    return module


@pytest.fixture(params=["symbolic", "evaluated"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Control flow that is traced, and that is not."""
    flags = (
        dr.JitFlag.SymbolicLoops
        | dr.JitFlag.SymbolicCalls
        | dr.JitFlag.SymbolicConditionals
    )
    with dr.scoped_set_flag(flags, request.param == "symbolic"):
        yield request.param
