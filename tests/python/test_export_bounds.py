"""``FrozenFunction.export``: indices that lie outside of arrays.

The header says what is accessed by index. ``bounds`` has the function refuse inputs of
other sizes, or check each index. The programs in C are built with AddressSanitizer; as
kernels are not instrumented, a page that must not be touched follows each input.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Float, UInt
from drjit.llvm.ad import Float as ADFloat
from drjit.llvm.ad import UInt as ADUInt

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("cc", "make", "ld", "objcopy"))),
    reason="a compiler and binutils are needed",
)
BOUNDS = (None, "pin", "check")

MAIN = """
#include "NAME.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FAR = 1 << 26 };

/* 'bytes' bytes at the end of a page, with nothing but forbidden ones after it. */
static void *at_the_end(size_t bytes, const void *data)
{
    char *memory = mmap(NULL, PAGE + FAR, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_READ | PROT_WRITE))
        exit(3);
    return memcpy(memory + PAGE - bytes, data, bytes);
}

int main(int argc, char **argv)
{
    float entries[1000];
    unsigned index[] = { 0, 5, 99 };
    for (int i = 0; i < 1000; ++i)
        entries[i] = (float) i;
    size_t size = (size_t) atoi(argv[argc - 2]);
    index[2] = (unsigned) atoi(argv[argc - 1]);
    struct NAME_inputs in = { 0 };
    struct NAME_outputs out = { 0 };
    in.table = at_the_end(size * sizeof(float), entries);
    in.table_size = size;
    in.index = at_the_end(sizeof(index), index);
    in.index_size = 3;
    int status = NAME(&in, &out);
    printf("%d %s\\n", status, NAME_error());
    for (size_t i = 0; !status && i < out.result_size; ++i)
        printf("%g\\n", out.result[i]);
    free(out.result);
    FREE
    NAME_shutdown();
    return 0;
}
"""


def reads(table: Float, index: UInt) -> Float:
    return dr.gather(Float, table, index) + 1


def reads_computed(table: Float, index: UInt) -> Float:
    """An array of the function's own is read, of the size of an input."""
    twice = table * 2
    dr.eval(twice)
    return dr.gather(Float, twice, index) / 2 + 1


def writes(table: Float, index: UInt) -> Float:
    dr.scatter_add(table, Float(1), index)
    return dr.gather(Float, table, index)


def walks(table: Float, index: UInt) -> Float:
    """In a loop, and a conditional in it."""

    def body(i: UInt, x: Float) -> tuple[UInt, Float]:
        x = dr.if_stmt(
            (i, x),
            i == 0,
            lambda i, x: x + dr.gather(Float, table, index),
            lambda i, x: x + 0.5,
        )
        return i + 1, x

    start = (dr.zeros(UInt, dr.width(index)), dr.zeros(Float, dr.width(index)))
    return dr.while_loop(start, lambda i, x: i < 3, body)[1]


FUNCTIONS = [reads, reads_computed, writes, walks]


def frozen_of(function: Callable[..., Any], bounds: str | None, size: int) -> Any:
    """Recorded for tables of a size, but general."""
    frozen = dr.freeze(function)
    with dr.scoped_set_flag(dr.JitFlag.Debug, bounds == "check"):
        for n in (3, 4):
            table = dr.arange(Float, size)
            dr.make_opaque(table)
            frozen(table, dr.opaque(UInt, 1, n))
    return frozen


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of what all libraries take along, once they have been compiled."""
    return tmp_path_factory.mktemp("objects")


def copy_objects(source: Path, target: Path) -> None:
    for file in source.rglob("*.o"):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)


def build(folder: Path, name: str, objects: Path) -> Path:
    header = (folder / f"{name}.h").read_text(encoding="utf-8")
    release = "free(out.new_table);" if "*new_table;" in header else ""
    main = MAIN.replace("NAME", name).replace("FREE", release)
    (folder / "main.c").write_text(main, encoding="utf-8")
    flags = "-O0 -Wall -Wextra -Werror -fsanitize=address"
    make = ["make", "-s", "-j2", "-C", str(folder), f"CFLAGS={flags}"]
    copy_objects(objects, folder / "runtime")
    subprocess.run([*make, "LOOP_OPTIMIZATION=-O0", f"lib{name}.a"], check=True)
    copy_objects(folder / "runtime", objects)
    program = folder / "program"
    sources = [str(folder / "main.c"), str(folder / f"lib{name}.a")]
    command = ["cc", *flags.split(), "-o", str(program), *sources, "-lpthread", "-lm"]
    subprocess.run(command, check=True)
    return program


def call(program: Path, size: int, index: int) -> list[str]:
    command = [str(program), str(size), str(index)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.splitlines()


def expected(size: int, index: int) -> list[float]:
    return list(np.arange(size, dtype=np.float32)[[0, 5, index]] + 1)


@needs_tools
@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_index_is_checked(tmp_path: Path, objects: Path, function: Any) -> None:
    frozen = frozen_of(function, "check", 100)
    assert frozen.n_recordings == 1
    frozen.export(tmp_path, bounds="check")
    program = build(tmp_path, function.__name__, objects)
    for size, index in ((100, 99), (6, 3), (1000, 999)):
        status, *entries = call(program, size, index)
        assert status == "0 "
        assert list(map(float, entries)) == expected(size, index)
    done = "written" if function is writes else "read"
    for size, index in ((100, 100), (6, 99), (50, 10_000_000)):
        [status] = call(program, size, index)
        message = (
            rf"1 {function.__name__}\(\): entry {index} is {done}, the size of the "
            rf"array is {size} \(.*\)"
        )
        assert re.fullmatch(message, status)


@needs_tools
@pytest.mark.parametrize("function", [reads_computed, writes])
def test_sizes_are_pinned(tmp_path: Path, objects: Path, function: Any) -> None:
    name = function.__name__
    frozen_of(function, "pin", 100).export(tmp_path, bounds="pin")
    program = build(tmp_path, name, objects)
    status, *entries = call(program, 100, 99)
    assert status == "0 "
    assert list(map(float, entries)) == expected(100, 99)
    for size in (99, 101, 6):
        assert call(program, size, 5) == [
            f"1 {name}(): 'table' has {size} entries, expected 100, as when it was "
            "recorded: arrays of its size are accessed by index"
        ]


# ----------------------------------------------------------------------- header


def used(folder: Path, name: str) -> dict[str, str]:
    """What the header says of each input."""
    header = (folder / f"{name}.h").read_text(encoding="utf-8")
    return dict(re.findall(r"\*(\w+); /\* \w+: w\d+, ([^*]*) \*/", header))


@pytest.mark.parametrize("bounds", BOUNDS)
def test_what_the_header_says(tmp_path: Path, bounds: Any) -> None:
    by_index, by_lane = "by index", "lane by lane"
    wanted = {
        reads: by_index,
        reads_computed: by_lane,  # what is accessed by index is an array of its own
        writes: "as a whole and by index",
        walks: by_index,
    }
    for function, how in wanted.items():
        folder, name = tmp_path / function.__name__, function.__name__
        frozen_of(function, bounds, 100).export(folder, bounds=bounds)
        assert used(folder, name) == {"table": how, "index": by_lane}
        header = (folder / f"{name}.h").read_text(encoding="utf-8")
        assert "Arrays that are accessed by index (w2)" in header
        assert ("nothing checks the indices" in header) == (bounds is None)
        assert ("which is checked" in header) == (bounds == "pin")
        assert (f"returns {name.upper()}_ARGUMENT" in header) == (bounds == "check")


def test_whole_arrays_and_lanes(tmp_path: Path) -> None:
    """Nothing is said of indices where there are none."""

    @dr.freeze
    def f(x: Float, y: Float) -> Float:
        return dr.prefix_sum(x) + y

    f(dr.opaque(Float, 1, 5), dr.opaque(Float, 1, 5))
    f.export(tmp_path, bounds="check")
    assert used(tmp_path, "f") == {"x": "as a whole", "y": "lane by lane"}
    header = (tmp_path / "f.h").read_text(encoding="utf-8")
    assert "accessed by index" not in header


# ------------------------------------------------------------------- derivatives


@needs_tools
def test_derivatives_are_checked(tmp_path: Path, objects: Path) -> None:
    def square(table: ADFloat, index: ADUInt) -> ADFloat:
        entries = dr.gather(ADFloat, table, index)
        return entries * entries

    table = ADFloat(dr.arange(Float, 100))
    dr.enable_grad(table)
    arguments = (table, ADUInt(0, 5, 99))
    dr.freeze(square).export(tmp_path, adjoint=arguments, bounds="check")
    assert not dr.flag(dr.JitFlag.Debug)
    header = (tmp_path / "square.h").read_text(encoding="utf-8")
    assert header.count("returns SQUARE_ARGUMENT") == 2
    program = build(tmp_path, "square", objects)
    assert call(program, 100, 99) == ["0 ", "0", "25", "9801"]
    [status] = call(program, 100, 100)
    assert status.startswith("1 square(): entry 100 is read, the size of the array is")


# ------------------------------------------------------------------------ errors


def test_checks_that_were_not_recorded(tmp_path: Path) -> None:
    frozen = frozen_of(reads, None, 10)
    message = "the recording of 'reads' has no checks of indices, expected one that was"
    with pytest.raises(RuntimeError, match=message):
        frozen.export(tmp_path, bounds="check")
    for wrong in ("none", 1, True):
        message = rf"export\(\): 'bounds' is {wrong!r}, expected None, 'pin' or 'check'"
        with pytest.raises(ValueError, match=message):
            frozen.export(tmp_path, bounds=wrong)
    assert not list(tmp_path.iterdir())


@needs_tools
def test_labels_in_messages(tmp_path: Path, objects: Path) -> None:
    """The name of an array can be any text."""

    @dr.freeze
    def f(table: Float, index: UInt) -> Float:
        dr.set_label(table, 'a "table"\\ ??/ */ %s')
        return dr.gather(Float, table, index)

    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        for n in (8, 9):
            f(dr.opaque(Float, 1, n), dr.opaque(UInt, 1, 3))
    f.export(tmp_path, bounds="check")
    [status] = call(build(tmp_path, "f", objects), 8, 8)
    assert status.startswith("1 f(): entry 8 is read, the size of the array is 8 (")
