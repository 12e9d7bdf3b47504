"""Fixtures that the tests of the Python package share.

With the environment variable DRJIT_TEST_AD, ``drjit.llvm`` stands for ``drjit.llvm.ad``
in all tests, and with DRJIT_TEST_FAR for ``drjit.cuda``, which far/ has. With
``DRJIT_TEST_FEW``, a third of the random programs is made, where
more would find little: with other versions of Python, and under the address sanitizer.
"""

from __future__ import annotations

import gc
import importlib.util
import operator
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import drjit as dr
import pytest

FEW = {"AD": 100, "FLOW": 100, "FOLD": 20, "FREEZE": 50, "STATE": 150}
if os.environ.get("DRJIT_TEST_FEW"):
    for kind, count in FEW.items():
        os.environ.setdefault(f"{kind}_PROGRAMS", str(count))

FAMILIES = ["scalar", "llvm", "llvm.ad"]
if os.environ.get("DRJIT_TEST_AD"):
    types: ModuleType = dr.llvm.ad
    vars(types)["ad"] = types
    sys.modules["drjit.llvm"] = vars(dr)["llvm"] = types
    FAMILIES.remove("llvm")

if os.environ.get("DRJIT_TEST_FAR"):
    # Its modules are the files of drjit.llvm, under another name.
    own = vars(dr)["host_llvm"] = dr.llvm
    spec = importlib.util.spec_from_file_location(
        "drjit.cuda", str(own.__file__), submodule_search_locations=own.__path__
    )
    assert spec and spec.loader
    far = sys.modules["drjit.cuda"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(far)
    vars(far)["ad"] = importlib.import_module("drjit.cuda.ad")
    vars(dr)["cuda"] = vars(dr)["llvm"] = sys.modules["drjit.llvm"] = far
    sys.modules["drjit.llvm.ad"] = far.ad

sys.path.insert(0, str(Path(__file__).parent))  # for what tests share

import region_util  # noqa: E402
from wrap_util import lib, nothing_left  # noqa: E402, F401


def pytest_collection_finish() -> None:
    """Collections within tests pass over what pytest and imported modules keep.

    There are many of them, and all tests in one process are five times as fast so.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def nothing_of_other_files() -> None:
    """Files that share an interpreter begin without the garbage of those before."""
    gc.collect()


@pytest.fixture(params=FAMILIES)
def m(request: pytest.FixtureRequest) -> ModuleType:
    """A module of array types, one after the other."""
    module: ModuleType = operator.attrgetter(request.param)(dr)
    return module


@pytest.fixture(params=["symbolic", "plain", "evaluated"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Control flow that is simplified, as it is written, and not traced as such."""
    optimise = dr.JitFlag.OptimizeLoops | dr.JitFlag.OptimizeCalls
    with (
        dr.scoped_set_flag(region_util.MODES, request.param != "evaluated"),
        dr.scoped_set_flag(optimise, request.param != "plain"),
    ):
        yield request.param
