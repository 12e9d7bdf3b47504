"""``FrozenFunction.export``: what is exported, built and called has the bits of the
plain function, for other sizes and any number of threads.

export_programs.py has the functions, and exports them in a process of its own for each
instruction set.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import drjit as dr
import export_programs
import numpy as np
import pytest
from drjit.llvm import Float, UInt
from drjit.llvm.ad import Float as ADFloat
from drjit.llvm.ad import UInt as ADUInt

HERE = Path(__file__).parent
TYPES = {
    "bool": ctypes.c_bool,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
WARNINGS = "-Wall -Wextra -Werror"
FIELD = re.compile(r"^    (?:const )?(\w+) (\*?)(\w+);", re.MULTILINE)

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("cc", "make", "ld", "objcopy", "nm"))),
    reason="a compiler and binutils are needed",
)


def isas() -> list[str]:
    """What this CPU can run."""
    flags = Path("/proc/cpuinfo").read_text(encoding="ascii")
    return [
        isa
        for isa, flag in (("avx2", "avx2"), ("avx512", "avx512bw"))
        if re.search(rf"\b{flag}\b", flags)
    ]


def run(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Library:
    """An exported function that was built."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        header = (folder / f"{name}.h").read_text(encoding="utf-8")
        self.core = ctypes.CDLL(str(folder / f"lib{name}.so"))
        self.inputs = self._struct(header, "inputs")
        self.outputs = self._struct(header, "outputs")
        self._function("_error").restype = ctypes.c_char_p

    def _function(self, suffix: str) -> Any:
        return getattr(self.core, self.name + suffix)

    def _struct(self, header: str, which: str) -> Any:
        pattern = rf"struct {self.name}_{which} {{\n(.*?)\n}};"
        body = re.search(pattern, header, re.DOTALL)
        assert body
        fields = [
            (field, ctypes.POINTER(TYPES[kind]) if star else ctypes.c_size_t)
            for kind, star, field in FIELD.findall(body[1])
            if kind != "int"  # a struct without fields has one: 'none'
        ]
        return type(which, (ctypes.Structure,), {"_fields_": fields})

    def status(self, inputs: Any, outputs: Any) -> int:
        return int(self._function("")(ctypes.byref(inputs), ctypes.byref(outputs)))

    def error(self) -> str:
        return str(self._function("_error")().decode())

    def threads(self, count: int) -> None:
        assert self._function("_set_threads")(count) == 0

    def shutdown(self) -> None:
        self._function("_shutdown")()

    def given(self, arrays: dict[str, Any]) -> Any:
        """The inputs, with arrays of NumPy as their memory."""
        inputs = self.inputs()
        for field, kind in self.inputs._fields_:
            if kind is not ctypes.c_size_t:
                setattr(inputs, field, arrays[field].ctypes.data_as(kind))
            elif field in arrays:
                setattr(inputs, field, int(arrays[field]))
            else:
                setattr(inputs, field, arrays[field.removesuffix("_size")].size)
        return inputs

    def call(self, arrays: dict[str, Any], room: dict[str, Any]) -> dict[str, Any]:
        """The outputs, in memory of the caller where there is room."""
        inputs, outputs = self.given(arrays), self.outputs()
        for field, array in room.items():
            kind = dict(self.outputs._fields_)[field]
            setattr(outputs, field, array.ctypes.data_as(kind))
            setattr(outputs, field + "_size", array.size)
        assert self.status(inputs, outputs) == 0, self.error()
        libc = ctypes.CDLL(None)
        found = {}
        for field, kind in self.outputs._fields_:
            if kind is ctypes.c_size_t:
                if not field.endswith("_size"):
                    found[field] = np.array(getattr(outputs, field))
                continue
            size = getattr(outputs, field + "_size")
            pointer = getattr(outputs, field)
            found[field] = (
                np.ctypeslib.as_array(pointer, (size,)).copy()
                if size
                else np.zeros(0, np.uint8)
            )
            if field not in room:
                libc.free(pointer)
        return found


def bits(array: Any) -> bytes:
    return bytes(np.ascontiguousarray(array).tobytes())


class Builds:
    """Builds libraries; the objects of the runtime are compiled once for each set."""

    def __init__(self, folder: Path) -> None:
        self.objects = folder / "objects"

    def build(self, folder: Path, name: str, isa: str) -> Library:
        self.make(folder, isa, f"lib{name}.so")
        return Library(folder, name)

    def make(self, folder: Path, isa: str, *targets: str) -> None:
        kept = self.objects / isa
        for source in kept.rglob("*.o"):
            target = folder / source.relative_to(kept)
            if target.parent.is_dir():
                shutil.copy(source, target)
        # The flags of a library that was built with others do not matter: bits are
        # those of the order of operations.
        flags = [f"CFLAGS=-O1 {WARNINGS}", "LOOP_OPTIMIZATION=-O1"]
        run(["make", "-j2", "-C", str(folder), *flags, *targets])
        for source in (folder / "runtime").rglob("*.o"):
            target = kept / source.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return Builds(tmp_path_factory.mktemp("builds"))


@pytest.fixture(scope="module", params=isas())
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """An instruction set, and a folder with all functions for it."""
    folder = tmp_path_factory.mktemp(request.param)
    environment = os.environ | {"DRJIT_NATIVE_ISA": request.param}
    program = str(HERE / "export_programs.py")
    run([sys.executable, program, str(folder)], env=environment)
    return request.param, folder


def check(library: Library, file: Path, given_room: bool) -> None:
    arrays = dict(np.load(file))
    inputs = {k[3:]: v for k, v in arrays.items() if k.startswith("in_")}
    before = {k: bits(v) for k, v in inputs.items()}
    wanted = {k[4:]: v for k, v in arrays.items() if k.startswith("out_")}
    # Which extents are fields depends on what they are.
    fields = dict(library.outputs._fields_)
    wanted = {k: v for k, v in wanted.items() if k in fields or "_shape_" not in k}
    if ".refused" in file.name:
        assert library.status(library.given(inputs), library.outputs()) == 1
        assert "the sizes do not fit" in library.error()
        return
    room = {k: np.empty_like(v) for k, v in wanted.items() if v.ndim and v.size}
    room = room if given_room else {}
    found = library.call(inputs, room)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].size == value.size, name
        assert bits(found[name]) == bits(value), name
    assert {k: bits(v) for k, v in inputs.items()} == before


@needs_tools
@pytest.mark.parametrize("name", export_programs.PROGRAMS)
def test_same_bits(exported: tuple[str, Path], builds: Builds, name: str) -> None:
    isa, folder = exported
    library = builds.build(folder / name, name, isa)
    files = sorted((folder / name).glob("*.npz"))
    assert len(files) == len(export_programs.SIZES)
    for threads in (1, 2, 5):
        library.threads(threads)
        for file in files:
            check(library, file, threads == 2)
    library.shutdown()
    check(library, folder / name / f"{export_programs.SIZES[1]}.served.npz", True)
    library.shutdown()


# ------------------------------------------------------------------- one function


def reads(x: Float) -> Float:
    return x + 1 if x[1] > 0 else x


def halves(x: Float) -> Float:
    return dr.while_loop((x,), lambda x: x > 1, lambda x: (x / 2,), mode="evaluated")[0]


@needs_tools
def test_contents(tmp_path: Path, builds: Builds) -> None:
    """Entries that the function has read have to be what they were."""
    frozen = dr.freeze(reads, allow_reads=True)
    frozen(Float(7, 3, 5))
    frozen.export(tmp_path)
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    library = builds.build(tmp_path, "reads", isa)
    x = np.array([1, 3, 4, 5, 6], np.float32)
    assert (library.call({"x": x}, {})["result"] == x + 1).all()
    x[1] = 4
    assert library.status(library.given({"x": x}), library.outputs()) == 1
    assert library.error() == (
        "reads(): 'x', i0[1] is not what it was when the function was recorded"
    )
    library.shutdown()


def neighbours(x: Float, index: UInt) -> Float:
    return dr.gather(Float, x, index, index < dr.width(x)) * 2


@needs_tools
def test_indices_that_are_known(tmp_path: Path, builds: Builds) -> None:
    """Kernels do not read them, so the function does."""
    index = dr.arange(UInt, 50) + 1
    dr.eval(index)
    frozen = dr.freeze(neighbours)
    frozen(dr.arange(Float, 50), index)
    frozen.export(tmp_path)
    assert "entry i is i + 1" in (tmp_path / "neighbours.h").read_text()
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    library = builds.build(tmp_path, "neighbours", isa)
    given = {"x": np.arange(50, dtype=np.float32)}
    given["index"] = np.arange(1, 51, dtype=np.uint32)
    found = library.call(given, {})["result"]
    assert (found == np.append(given["x"][1:] * 2, 0)).all()
    given["index"][7] = 3
    assert library.status(library.given(given), library.outputs()) == 1
    assert library.error() == (
        "neighbours(): entry 7 of 'index' is 3, expected 8, as when it was recorded"
    )
    library.shutdown()


def sums(x: Float, index: UInt) -> Float:
    result = dr.zeros(Float, 7)
    dr.scatter_add(result, x * 2, index, x > 0.25)
    return result


@needs_tools
def test_sums_in_order(tmp_path: Path, builds: Builds) -> None:
    """With JitFlag.Deterministic the bits are those of the library."""
    with dr.scoped_set_flag(dr.JitFlag.Deterministic):
        frozen = dr.freeze(sums)
        frozen(Float(1, 2, 3), UInt(0, 1, 1))
        frozen.export(tmp_path)
        isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
        library = builds.build(tmp_path, "sums", isa)
        for size in (100, 70_000):
            x = np.random.default_rng(size).random(size, np.float32)
            index = np.arange(size, dtype=np.uint32) * 5 % 7
            found = library.call({"x": x, "index": index}, {})["result"]
            assert bits(found) == bits(sums(Float(x), UInt(index)))
    library.shutdown()


@needs_tools
def test_loops_with_an_iteration_at_least(tmp_path: Path, builds: Builds) -> None:
    """The state comes from the input if there is no iteration, which is another
    recording."""
    frozen = dr.freeze(halves)
    x = np.array([9, 0.5, 3], np.float32)
    frozen(Float(x))
    frozen.export(tmp_path)
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    library = builds.build(tmp_path, "halves", isa)
    for factor in (1, 0.25, 1000):  # four iterations, two, and fourteen
        found = library.call({"x": x * np.float32(factor)}, {})["result"]
        assert bits(found) == bits(np.array(halves(Float(x * np.float32(factor)))))
    x /= 10
    assert library.status(library.given({"x": x}), library.outputs()) == 1
    assert "is not what it was" in library.error()
    library.shutdown()


def axpy(x: Float, y: Float, scale: Float) -> Float:
    return dr.sin(x) * scale + y


def recorded(function: Any, *inputs: Any) -> Any:
    frozen = dr.freeze(function)
    dr.make_opaque(*inputs)
    frozen(*inputs)
    return frozen


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, builds: Builds) -> Library:
    folder = tmp_path_factory.mktemp("axpy")
    x, y = dr.arange(Float, 100), dr.arange(Float, 100) * 2
    recorded(axpy, x, y, Float(3)).export(folder)
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (folder / "Makefile").read_text())[0]
    builds.make(folder, isa, "all")
    return Library(folder, "axpy")


def columns(n: int) -> dict[str, Any]:
    return {
        "x": np.linspace(0, 1, n, dtype=np.float32),
        "y": np.ones(n, np.float32),
        "scale": np.full(1, 3, np.float32),
    }


def expected(arrays: dict[str, Any]) -> Any:
    return np.array(axpy(*(Float(arrays[name]) for name in ("x", "y", "scale"))))


@needs_tools
def test_nothing_else_is_needed(small: Library) -> None:
    folder = Path(small.core._name).parent
    needed = run(["readelf", "-d", small.core._name])
    assert set(re.findall(r"NEEDED.*\[(.*)\]", needed)) <= {
        "libc.so.6",
        "libm.so.6",
        "libpthread.so.0",
        "ld-linux-x86-64.so.2",
    }
    public = {"axpy", "axpy_error", "axpy_set_threads", "axpy_shutdown"}
    for command in (
        ["nm", "-D", "--defined-only", "libaxpy.so"],
        ["nm", "-g", "--defined-only", "libaxpy.a"],
    ):
        listing = run(command, cwd=folder)
        assert set(re.findall(r" [A-Z] (\w+)", listing)) == public
    assert "result: 100 entries" in run([str(folder / "axpy_example")])


@needs_tools
def test_what_the_caller_gives(small: Library) -> None:
    arrays = columns(100)
    inputs, outputs = small.given(arrays), small.outputs()
    assert small._function("")(None, ctypes.byref(outputs)) == 1
    assert small.error() == "axpy(): a struct is NULL"
    inputs.y_size = 99
    assert small.status(inputs, outputs) == 1
    assert small.error() == "axpy(): 'y' has 99 entries, expected 100, as 'x'"
    inputs.x_size = inputs.y_size = 1
    assert small.status(inputs, outputs) == 1
    assert small.error() == "axpy(): the sizes do not fit: 'w2 >= 2' does not hold"
    inputs.x_size = inputs.y_size = 1 << 32
    assert small.status(inputs, outputs) == 1
    assert "expected fewer than 2^32" in small.error()
    inputs.x_size = inputs.y_size = 100
    inputs.scale = None
    assert small.status(inputs, outputs) == 1
    assert small.error() == "axpy(): 'scale' is NULL"
    assert not outputs.result


@needs_tools
def test_room_and_overlap(small: Library) -> None:
    arrays, result = columns(100), np.zeros(99, np.float32)
    inputs, outputs = small.given(arrays), small.outputs()
    outputs.result = result.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    outputs.result_size = 99
    assert small.status(inputs, outputs) == 1
    assert small.error() == "axpy(): 'result' has room for 99 entries, needed are 100"
    assert outputs.result_size == 100
    outputs.result = inputs.x
    assert small.status(inputs, outputs) == 1
    assert small.error() == "axpy(): the memory of 'result' overlaps that of 'x'"
    assert not result.any()


@needs_tools
@pytest.mark.parametrize("n", [2, 15, 16, 33, 1000, 4097])
def test_the_end_of_a_page(small: Library, n: int) -> None:
    """Nothing is read after an input that ends where a page does, nor written after
    an output."""
    arrays = columns(n)
    wanted = expected(arrays)
    libc = ctypes.CDLL(None, use_errno=True)
    size = (n * 4 + 4095) // 4096 * 4096
    pages = {}
    for name in ("x", "y", "result"):
        memory = mmap.mmap(-1, size + 4096)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        end = ctypes.c_void_p(start + size)
        assert libc.mprotect(end, ctypes.c_size_t(4096), 0) == 0
        place = (ctypes.c_float * n).from_buffer(memory, size - 4 * n)
        pages[name] = np.ctypeslib.as_array(place)
    for name in ("x", "y"):
        pages[name][:] = arrays[name]
    given = {"x": pages["x"], "y": pages["y"], "scale": arrays["scale"]}
    found = small.call(given, {"result": pages["result"]})
    assert bits(found["result"]) == bits(wanted)


@needs_tools
def test_calls_side_by_side(small: Library) -> None:
    arrays = columns(100_000)
    wanted, failed = bits(expected(arrays)), []

    def call() -> None:
        for _ in range(20):
            if bits(small.call(arrays, {})["result"]) != wanted:
                failed.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


DRIVER = r"""
#include "axpy.h"
#include "square.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    float x[3] = { 1, 2, 3 }, y[3] = { 4, 5, 6 }, scale[1] = { 0 }, room[3];
    struct axpy_inputs in = { x, 3, y, 3, scale };
    struct axpy_outputs out = { room, 3 };
    if (axpy(&in, &out)) return 1;
    struct square_inputs next = { room, 3 };
    struct square_outputs last = { NULL, 0 };
    if (square(&next, &last)) return 2;
    printf("%g %g %g\n", last.result[0], last.result[1], last.result[2]);
    free(last.result);
    axpy_shutdown();
    square_shutdown();
    return 0;
}
"""


@needs_tools
def test_two_in_one_program(small: Library, builds: Builds, tmp_path: Path) -> None:
    """Names of the one are not those of the other: a program in C99, and in C++."""
    first = Path(small.core._name).parent
    recorded(dr.square, Float(1, 2, 3)).export(tmp_path, "square")
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    builds.make(tmp_path, isa, "libsquare.a")
    (tmp_path / "driver.c").write_text(DRIVER, encoding="utf-8")
    flags = ["-pthread", "-Wall", "-Wextra", "-Werror", f"-I{first}", "-I."]
    libraries = [str(first / "libaxpy.a"), "libsquare.a", "-lm"]
    languages = [["cc", "-std=c99", "-pedantic"]]
    if shutil.which("c++"):
        languages.append(["c++", "-std=c++17", "-x", "c++"])
    for compiler in languages:
        run(
            [*compiler, *flags, "driver.c", "-x", "none", *libraries, "-o", "driver"],
            cwd=tmp_path,
        )
        assert run([str(tmp_path / "driver")]) == "16 25 36\n"


# -------------------------------------------------------------------------- names


def fields(folder: Path, name: str) -> list[str]:
    header = (folder / f"{name}.h").read_text(encoding="utf-8")
    body = header[header.index("/** What goes in.") : header.rindex("/** Compute.")]
    return [field for _, star, field in FIELD.findall(body) if star]


def test_names(tmp_path: Path) -> None:
    class Model:
        DRJIT_STRUCT = {"weights": Float}

        def __init__(self) -> None:
            self.weights = Float(1, 2, 3)

    @dr.freeze
    def evaluate(model: Model, *rest: Any, int: Float) -> Any:
        model.weights = model.weights + 1
        return rest[0]["a b"] * int, [model.weights * 2]

    for _ in range(2):
        evaluate(Model(), {"a b": Float(1, 2, 3)}, int=Float(3, 4, 5))
    evaluate.export(tmp_path)
    assert fields(tmp_path, "evaluate") == [
        "model_weights",
        "rest_0_a_b",
        "int_",
        "result_0",
        "result_1_0",
        "new_model_weights",
    ]


def test_gradients_of_inputs(tmp_path: Path, builds: Builds) -> None:
    @dr.freeze
    def loss(x: ADFloat, y: Float) -> ADFloat:
        result = dr.sum(dr.square(x) * ADFloat(y))
        dr.backward(result)
        return result

    x, y = ADFloat(1, 2, 3), Float(4, 5, 6)
    dr.enable_grad(x)
    loss(x, y)
    loss.export(tmp_path)
    assert fields(tmp_path, "loss") == ["x", "y", "result", "grad_x"]
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    library = builds.build(tmp_path, "loss", isa)
    columns = {"x": [1, 2, 3], "y": [4, 5, 6]}
    arrays = {name: np.array(values, np.float32) for name, values in columns.items()}
    found = library.call(arrays, {})
    assert found["result"].tolist() == [4 + 20 + 54]
    assert found["grad_x"].tolist() == [8, 20, 36]


# --------------------------------------------------------------------- derivatives


class Layer:
    DRJIT_STRUCT = {"weight": ADFloat, "bias": ADFloat}

    def __init__(self, weight: ADFloat, bias: ADFloat) -> None:
        self.weight, self.bias = weight, bias


def forward(layer: Layer, x: ADFloat, i: ADUInt) -> dict[str, Any]:
    y = dr.gather(ADFloat, layer.weight, i) * dr.sin(x) + layer.bias
    return {"y": y, "loss": dr.sum(dr.square(y)), "i": i + 1}


def layer_of(n: int) -> tuple[Layer, ADFloat, ADUInt]:
    weight = ADFloat(export_programs.floats(n))
    layer = Layer(weight, ADFloat(export_programs.floats(1)))
    x = ADFloat(export_programs.floats(n, 1))
    dr.enable_grad(layer, x)
    return layer, x, ADUInt(export_programs.order(n))


def columns_of(given: tuple[Layer, ADFloat, ADUInt]) -> dict[str, Any]:
    """The inputs as fields."""
    layer, x, i = given
    arrays = {"layer_weight": layer.weight, "layer_bias": layer.bias, "x": x, "i": i}
    return {name: np.array(dr.detach(array)) for name, array in arrays.items()}


INPUTS = ("layer_weight", "layer_bias", "x", "i")
RESULTS = ("result_y", "result_loss", "result_i")
TRACKED = ("grad_layer_weight", "grad_layer_bias", "grad_x")
DEPENDENT = ("grad_result_y", "grad_result_loss")


def seeds(names: tuple[str, ...], arrays: dict[str, Any]) -> dict[str, Any]:
    """Gradients that go in, for arrays of these names."""
    sizes = [np.size(arrays[name.removeprefix("grad_")]) for name in names]
    return {
        name: export_programs.floats(size, 7 + k)
        for k, (name, size) in enumerate(zip(names, sizes, strict=True))
    }


def propagated(
    function: Any, n: int, mode: dr.ADMode, given: dict[str, Any]
) -> dict[str, Any]:
    """The gradients that come out, through the graph, for those that go in."""
    inputs = layer_of(n)
    result = function(*inputs)
    layer, x, _ = inputs
    tracked = dict(zip(TRACKED, (layer.weight, layer.bias, x), strict=True))
    made = dict(zip(DEPENDENT, (result["y"], result["loss"]), strict=True))
    start, end = (made, tracked) if mode == dr.ADMode.Backward else (tracked, made)
    for name, array in start.items():
        dr.set_grad(array, ADFloat(given[name]))
    dr.enqueue(mode, list(start.values()))
    dr.traverse(mode, dr.ADFlag.ClearEdges)  # results on the way keep theirs
    return {name: np.array(dr.grad(array)) for name, array in end.items()}


class Derivative(Library):
    """Another function of a library."""

    def __init__(self, folder: Path, name: str, mode: str) -> None:
        super().__init__(folder, name)
        header = (folder / f"{name}.h").read_text(encoding="utf-8")
        self.name = f"{name}_{mode}"
        self.inputs = self._struct(header, "inputs")
        self.outputs = self._struct(header, "outputs")

    def error(self) -> str:
        name = self.name.rpartition("_")[0]
        return str(getattr(self.core, f"{name}_error")().decode())


MODES = {
    "adjoint": (dr.ADMode.Backward, DEPENDENT, TRACKED),
    "tangent": (dr.ADMode.Forward, TRACKED, DEPENDENT),
}


@needs_tools
@pytest.mark.parametrize("modes", [("adjoint",), ("tangent",), ("adjoint", "tangent")])
def test_derivatives(tmp_path: Path, builds: Builds, modes: tuple[str, ...]) -> None:
    """Bits of derivatives through the frozen function, for other sizes, too."""
    recorded = layer_of(50)
    frozen = dr.freeze(forward)
    frozen.export(tmp_path, **dict.fromkeys(modes, recorded))
    assert frozen.n_recordings == 0
    assert not np.array(recorded[1].grad).any()
    expected = [*INPUTS, *RESULTS]
    for mode in modes:
        _, given, found = MODES[mode]
        expected += [*INPUTS, *given, *found]
    assert fields(tmp_path, "forward") == expected
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    library = builds.build(tmp_path, "forward", isa)
    for n in (1000, 50, 70001):
        inputs = layer_of(n)
        arrays = columns_of(inputs)
        primal = library.call(arrays, {})
        for name, value in forward(*inputs).items():
            assert bits(primal[f"result_{name}"]) == bits(np.array(dr.detach(value)))
        for mode in modes:
            check_derivative(Derivative(tmp_path, "forward", mode), mode, n, arrays)
    library.shutdown()


@needs_tools
def test_derivatives_of_what_is_one_array(tmp_path: Path, builds: Builds) -> None:
    """An array that is given twice, or has one node, has one gradient."""

    def power(x: ADFloat, y: ADFloat, z: ADFloat) -> ADFloat:
        return x * x * y + 3 * z

    x = ADFloat(1, 2, 3)
    dr.enable_grad(x)
    dr.freeze(power).export(tmp_path, adjoint=(x, x, ADFloat(x)))
    assert fields(tmp_path, "power") == [
        "x",
        "result",
        "x",
        "grad_result",
        "grad_x",
    ]
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    builds.build(tmp_path, "power", isa)
    arrays = {"x": [1, 2, 4], "grad_result": [1, 1, 2]}
    given = {name: np.array(values, np.float32) for name, values in arrays.items()}
    found = Derivative(tmp_path, "power", "adjoint").call(given, {})
    assert found["grad_x"].tolist() == [6, 15, 102]


def check_derivative(
    library: Derivative, mode: str, n: int, arrays: dict[str, Any]
) -> None:
    direction, given, _ = MODES[mode]
    like = arrays | {"result_y": arrays["x"], "result_loss": 0}
    gradients = seeds(given, like)
    wanted = propagated(dr.freeze(forward), n, direction, gradients)
    for threads in (1, 3):
        assert library.core.forward_set_threads(threads) == 0
        found = library.call(arrays | gradients, {})
        assert {k: bits(v) for k, v in found.items()} == {
            k: bits(v) for k, v in wanted.items()
        }
    # And of the plain function.
    for name, value in propagated(forward, n, direction, gradients).items():
        assert np.allclose(found[name], value, rtol=1e-4, atol=1e-4), name


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_that_there_are_not(tmp_path: Path, mode: str) -> None:
    frozen = dr.freeze(axpy)
    x = Float(1, 2)
    text = f"'{mode}' has arguments .* expected some with gradients enabled"
    with pytest.raises(RuntimeError, match=text):
        frozen.export(tmp_path, **{mode: (x, x, Float(3))})
    with pytest.raises(TypeError, match=f"'{mode}' is of type Float, expected a tuple"):
        frozen.export(tmp_path, **{mode: x})
    assert not list(tmp_path.iterdir())


def test_derivatives_of_one_recording(tmp_path: Path) -> None:
    frozen = dr.freeze(axpy)
    x, y, scale = ADFloat(1, 2), Float(3, 4), Float(5)
    dr.enable_grad(x)
    with pytest.raises(ValueError, match="'adjoint' and 'tangent' have different arg"):
        frozen.export(tmp_path, adjoint=(x, y, scale), tangent=(ADFloat(x), y, scale))
    with pytest.raises(ValueError, match="'adjoint' and 'tangent' have different arg"):
        frozen.export(tmp_path, adjoint=(x, y, scale), tangent=(x, y))
    assert not list(tmp_path.iterdir())


def test_equal_names_and_literals(tmp_path: Path) -> None:
    @dr.freeze
    def f(x: list[Float], x_0: Float, x_0_size: Float, scale: Float) -> Float:
        return x[0] + x_0 + x_0_size * scale

    a, b, c = Float(1, 2), Float(3, 4), Float(5, 6)
    f([a], b, c, Float(2))
    f.export(tmp_path)
    assert fields(tmp_path, "f") == ["x_0", "x_0_2", "x_0_size_2", "result"]
    header = (tmp_path / "f.h").read_text(encoding="utf-8")
    assert "/* scale: part of the function, as a value (float, bits 0x40000000) */" in (
        header
    )


# ------------------------------------------------------------------------- errors


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x: x + 1)
    with pytest.raises(RuntimeError, match="no recording of this process: call"):
        frozen.export(tmp_path)
    frozen(Float(1, 2))
    with pytest.raises(RuntimeError, match=r"'name' is \"<lambda>\", expected an id"):
        frozen.export(tmp_path)
    with pytest.raises(RuntimeError, match="'name' is \"while\", expected an id"):
        frozen.export(tmp_path, "while")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RuntimeError, match="cannot create directory"):
        frozen.export(tmp_path / "file" / "folder", "f")
    with pytest.raises(TypeError):
        frozen.export(3, "f")  # type: ignore[arg-type]


def prints(x: Float) -> Float:
    y = x + 1
    dr.eval(y)
    dr.print("{}", y)
    return y


def reports(x: Float) -> Float:
    def body(x: Float) -> Float:
        dr.print("{}", x)
        return x + 1

    return dr.if_stmt((x,), x > 0, body, lambda x: x, mode="symbolic")


class Shape(dr.Instance):
    def area(self, scale: Float) -> Float:
        return scale * 2


def looks(x: Float) -> Float:
    return dr.array_t(Shape)(Shape()).area(x)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (prints, "it prints evaluated arrays"),
        (reports, "a kernel of it prints"),
        (looks, "it depends on the instances of a class"),
    ],
)
def test_what_has_no_place_in_c(
    tmp_path: Path, function: Any, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    frozen = dr.freeze(function, allow_reads=True)
    x = Float(8, 9)
    dr.eval(x)
    frozen(x)
    assert frozen.n_recordings == 1
    message = rf"export\(\): '{function.__name__}' cannot be exported: {why}"
    with pytest.raises(RuntimeError, match=message):
        frozen.export(tmp_path)
    assert not list(tmp_path.iterdir())
    capfd.readouterr()


def test_other_engines(tmp_path: Path) -> None:
    program = (
        "import drjit as dr; from drjit.llvm import Float\n"
        "f = dr.freeze(lambda x: x + 1); f(Float(1, 2))\n"
        f"f.export({str(tmp_path)!r}, 'f')"
    )
    environment = os.environ | {"DRJIT_CPU_ENGINE": "interp"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 1
    assert "not made by the engine 'native'" in done.stderr
    assert not list(tmp_path.iterdir())
