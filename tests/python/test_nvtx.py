"""Ranges for NVIDIA's profilers, with a collector that writes down what it is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

PROGRAM = """
import drjit as dr
from drjit.llvm import Float
with dr.profile_range("outer"):
    dr.profile_mark("point")
    for lanes in (10, 2_000_000):  # the threads of the pool share the latter
        x = dr.sin(dr.arange(Float, lanes))
        dr.eval(x)
        dr.sync_thread()
print("sum", dr.sum(x))
"""

RECORD = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int record(const char *kind, const char *name)
{
    FILE *file = fopen(getenv("EVENTS"), "a");
    fprintf(file, "%ld %s %s\\n", (long) gettid(), kind, name);
    return fclose(file);
}
"""

# What stands for NVIDIA's library, which a machine need not have.
LIBRARY = """
void nvtxMarkA(const char *name) { record("mark", name); }
int nvtxRangePushA(const char *name) { return record("push", name); }
int nvtxRangePop(void) { return record("pop", ""); }
"""

# What that library loads; the interface is that of the header.
COLLECTOR = """
#include <nvtx3/nvToolsExt.h>
static void NVTX_API mark(const char *name) { record("mark", name); }
static int NVTX_API push(const char *name) { return record("push", name); }
static int NVTX_API pop(void) { return record("pop", ""); }
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE_MarkA] = (NvtxFunctionPointer) mark;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer) push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer) pop;
    return 1;
}
"""


def build(folder: Path, text: str, include: str | None = None) -> Path:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    source, library = folder / "record.c", folder / "record.so"
    source.write_text("#define _GNU_SOURCE\n" + RECORD + text, encoding="utf-8")
    options = ["-shared", "-fPIC", *([f"-I{include}"] if include else [])]
    subprocess.run([compiler, *options, "-o", library, source], check=True)
    return library


def run(folder: Path, **variables: str) -> tuple[list[tuple[str, ...]], str]:
    """The events (thread, kind, name) of the program, and what went to stderr."""
    events = folder / "events.txt"
    environment = {**os.environ, "DRJIT_LOG_LEVEL": "warn", **variables}
    environment |= {"EVENTS": str(events), "DRJIT_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("sum [")
    lines = events.read_text().splitlines() if events.exists() else []
    return [tuple(line.split(" ", 2)) for line in lines], done.stderr


def check(events: list[tuple[str, ...]]) -> None:
    """All kinds of ranges are there, and those of each thread nest."""
    names = [name for _, kind, name in events if kind == "push"]
    for pattern in (
        "outer",
        "evaluate( r[0-9]+)?",
        r"compile [0-9a-f]{16} \([a-z]+\)",
        "kernel [0-9a-f]{16}",
    ):
        assert any(re.fullmatch(pattern, name) for name in names), (pattern, names)
    compiled = {name.split()[1] for name in names if name.startswith("compile")}
    assert {n.split()[1] for n in names if n.startswith("kernel")} <= compiled
    threads = {thread for thread, _, _ in events}
    for thread in threads:
        depth = 0
        for _, kind, _ in [event for event in events if event[0] == thread]:
            depth += {"push": 1, "pop": -1, "mark": 0}[kind]
            assert depth >= 0
        assert depth == 0
    main = [event[1:] for event in events if event[0] == events[0][0]]
    assert main[:2] == [("push", "outer"), ("mark", "point")]


def test_library(tmp_path: Path) -> None:
    """Events reach the functions of the library."""
    library = str(build(tmp_path, LIBRARY))
    attached = {"NVTX_INJECTION64_PATH": "collector.so", "DRJIT_LIBNVTX_PATH": library}
    events, errors = run(tmp_path, **attached)
    check(events)
    assert errors == ""


def test_no_collector(tmp_path: Path) -> None:
    """Nothing is loaded, and nobody is told."""
    library = str(build(tmp_path, LIBRARY))
    for path in ({}, {"NVTX_INJECTION64_PATH": ""}):
        assert run(tmp_path, DRJIT_LIBNVTX_PATH=library, **path) == ([], "")


def test_library_is_missing(tmp_path: Path) -> None:
    attached = {"NVTX_INJECTION64_PATH": "collector.so"}
    _, errors = run(tmp_path, DRJIT_LIBNVTX_PATH="/nonexistent", **attached)
    assert errors.count("NVTX_INJECTION64_PATH is set, but libnvtx3interop.so.1") == 1
    library = str(build(tmp_path, "void nvtxMarkA(void) { }"))
    _, errors = run(tmp_path, DRJIT_LIBNVTX_PATH=library, **attached)
    assert errors.count("the library lacks nvtxMarkA()") == 1


def test_collector(tmp_path: Path) -> None:
    """The same by way of NVIDIA's library, where that is installed."""
    found = find_library("nvtx3interop") or "/usr/local/cuda/lib64/libnvtx3interop.so.1"
    headers = [Path(p) for p in ("/usr/include", "/usr/local/cuda/include")]
    include = [str(p) for p in headers if (p / "nvtx3/nvToolsExt.h").exists()]
    if not include or not (Path(found).exists() or find_library("nvtx3interop")):
        pytest.skip("no libnvtx3interop.so.1 of CUDA with its header")
    collector = str(build(tmp_path, COLLECTOR, include[0]))
    events, errors = run(tmp_path, NVTX_INJECTION64_PATH=collector)
    assert errors == ""
    check(events)
