"""``FrozenFunction.export``: texts of users are text, whatever they are.

Keys of dictionaries, names of attributes and functions get into comments and names of
the C that is written. A compiler says whether it is C, the program that is built
whether it still computes what it should.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float
from drjit.llvm.ad import Float as ADFloat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("cc", "c++", "make", "ld", "objcopy"))),
    reason="compilers and binutils are needed",
)

KEYS = [
    "layers/*/w",
    "*/ int injected; /*",
    "*/",
    "/*",
    "/",
    "*",
    "a//b",
    "// c",
    "end\\",
    "splice\\\n*/ int spliced;",
    "*\\\n/ int split;",
    "new\nline */",
    "\r\n#define float int\n",
    "\n#error no",
    "??/",
    "??/\n*/ int trigraph;",
    "*??/\n/ int joined;",
    "???/",
    'quote"',
    "it's",
    '"); return 1; ("',
    "%s%n%d",
    "$(shell touch injected)",
    "`touch injected`",
    "@NAME@",
    "größe",
    "größe ",
    "数",
    "\u202e reversed \u2066",
    "\U0001f600",
    "\ud800",
    "zero\0byte",
    "\x7f\x80\xff\x1b[31m",
    "",
    " ",
    "_",
    "__",
    "9lives",
    "int",
    "class",
    "co_await",
    "char8_t",
    "wchar_t",
    "size_t",
    "float",
    "uint32_t",
    "NULL",
    "EOF",
    "INT8_MAX",
    "EXPORTED_API",
    "NASTY_H",
    "NASTY_SUCCESS",
    "M_PIf",
    "_Bool",
    "_Generic",
    "linux",
    "stdin",
    "errno",
    "bool",
    "a.b",
    "a b",
    "a_b",
    "a-b",
    "a_b_size",
    "a_b_2",
    "a b_size",
    "none",
    "input_3",
    "k" * 5000,
    "k" * 5001,
    "*/" * 5000,
    "é" * 5000,
]

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
LANGUAGES = [
    ["cc", "-std=c99", "-x", "c"],
    ["cc", "-std=c11", "-Wtrigraphs", "-trigraphs", "-x", "c"],
    ["cc", "-std=c2x", "-x", "c"],
    ["c++", "-std=c++17", "-x", "c++"],
    ["c++", "-std=c++20", "-x", "c++"],
]


def run(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def opaque(size: int, scale: float = 1) -> Float:
    x = (dr.arange(Float, size) + 1) * scale
    dr.make_opaque(x)
    return x


def nasty(d: dict[str, Float], x: Float, **rest: Float) -> dict[str, Float]:
    total = sum(d.values(), Float(0))
    d["*/ changed /*"] = x + 1
    return {"sum */": total, "??/": total * x, "int": x, **dict(list(d.items())[:2])}


def check_texts(folder: Path) -> None:
    """All is ASCII, and comments begin and end where they should."""
    assert not (folder / "injected").exists()
    for path in folder.iterdir():
        if path.is_dir():
            continue
        text = path.read_text(encoding="ascii")
        if path.suffix in (".c", ".h", ".S"):
            assert not re.search(r"\\$|\?\?|\r", text, re.MULTILINE), path
            opened = False
            for mark in re.findall(r"/\*|\*/", text):
                assert (mark == "/*") is not opened, path
                opened = not opened
            assert not opened


@needs_tools
def test_nasty_keys(tmp_path: Path) -> None:
    frozen = dr.freeze(nasty)
    inputs = {key: opaque(5, k) for k, key in enumerate(KEYS)}
    inputs["*/ changed /*"] = opaque(5)
    inputs["literal */ int literal;"] = Float(2)
    inputs["same */ int same;"] = inputs["*/"]
    named = {key: opaque(1) for key in KEYS if key.isidentifier() and len(key) < 100}
    frozen(inputs, opaque(5), **named)
    frozen.export(tmp_path)
    check_texts(tmp_path)
    header = (tmp_path / "nasty.h").read_text(encoding="ascii")
    for comment in (
        r"d[layers/\*\/w]: w2, lane by lane",
        r"d[gr\u00f6\u00dfe]: w2, lane by lane",
        r"d[\ud800]: w2, lane by lane".replace("\\", 2 * "\\"),
        r"d[end\\]: w2, lane by lane",
        r"d[literal *\/ int literal;]: part of the function, as a value "
        "(float, bits 0x40000000)",
        f"d[{'k' * 198}...: w2, lane by lane",
    ):
        assert f"/* {comment} */" in header, comment
    fields = re.findall(r"^    (?:const )?float \*(\w+);", header, re.MULTILINE)
    assert len(fields) == len(set(fields)) == len(KEYS) + len(named) + 2 + 6
    assert max(map(len, fields)) <= 70
    assert {"d_layers_w", "d_a_b_2", "d_int", "x", "int_", "NULL_"} <= set(fields)
    for language in LANGUAGES:
        run([*language, *STRICT, "nasty.h"], cwd=tmp_path)
    for language in LANGUAGES[:2]:
        run([*language, *STRICT, "nasty_example.c"], cwd=tmp_path)
    flags = ["CFLAGS=-O0 -Wall -Wextra -Werror", "LOOP_OPTIMIZATION=-O0"]
    run(["make", "-j2", "-C", str(tmp_path), *flags])
    assert not (tmp_path / "injected").exists()
    # The example fills each array with 1/64, 2/64, ...; one is in the sum twice.
    text = run([str(tmp_path / "nasty_example")])
    found = re.search(r"^result_sum: 5 entries (.*)$", text, re.MULTILINE)
    assert found
    sums = [float(word) for word in found[1].split()]
    assert sums == pytest.approx([(i + 1) / 64 * (len(KEYS) + 2) + 2 for i in range(4)])


OWN = ["-std=c11", "-D_GNU_SOURCE", "-DEXPORTED_ISA=avx2", "-Iruntime"]


@pytest.mark.parametrize(
    "name",
    [
        "status",
        "data",
        "out",
        "given",
        "i",
        "size",
        "x_error",
        "_private",
        # Almost names of the runtime, of the system or of guards of their headers.
        "Buffers",
        "buffer",
        "exported_",
        "errors",
        "owns",
        "Exported",
        "OP_ADDED",
        "jits",
        "base_error",
        "export_runtime_exported",
        "_stdio",
        "stdint",
        "time_s",
    ],
)
@needs_tools
def test_names_of_functions(tmp_path: Path, name: str) -> None:
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    frozen.export(tmp_path, name)
    for language in LANGUAGES:
        run([*language, *STRICT, f"{name}.h"], cwd=tmp_path)
    run([*LANGUAGES[0], *STRICT, f"{name}_example.c"], cwd=tmp_path)
    for file in (f"{name}.c", f"{name}_library.c"):
        run(["cc", *OWN, *STRICT[:3], "-fsyntax-only", file], cwd=tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "a*/",
        "a\n",
        "9a",
        "../a",
        "a/b",
        "größe",
        "int",
        "size_t",
        "co_await",
        "_Bool",
        "a;",
        "$a",
        "@NAME@",
    ],
)
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    with pytest.raises(RuntimeError, match=r"(?s)'name' is .*an identifier of C"):
        frozen.export(tmp_path, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["write", "free", "printf", "exp", "pthread_create"])
def test_functions_of_the_c_library_are_refused(tmp_path: Path, name: str) -> None:
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    with pytest.raises(RuntimeError, match=f"'name' is \"{name}\", which the C libra"):
        frozen.export(tmp_path, name)
    assert not list(tmp_path.iterdir())
    frozen.export(tmp_path, f"my_{name}")


RUNTIME = {
    "a function": ("error_set", "error_set"),
    "a static function": ("transfer_fill", "transfer_fill"),
    "a variable": ("cpu_kinds", "cpu_kinds"),
    "a variable of an instruction set": ("lanes_avx512", "lanes_avx512"),
    "a type": ("Buffer", "Buffer"),
    "a pointer to a function": ("LaneFn", "LaneFn"),
    "a tag": ("JitRecording", "JitRecording"),
    "an enumerator": ("COMMAND_LAUNCH", "COMMAND_LAUNCH"),
    "an enumerator of a table": ("OP_ADD", "OP_ADD"),
    "a macro": ("TRY", "TRY"),
    "a guard": ("BASE_ERROR_H", "BASE_ERROR_H"),
    "a macro of all libraries": ("EXPORTED_API", "EXPORTED_API"),
    "a table of all libraries": ("own_kernels", "own_kernels"),
    "a type of the system": ("time_t", "time_t"),
    "a macro of the system": ("offsetof", "offsetof"),
    "tables": ("own", "own_inputs"),
    "the number of threads": ("exported", "exported_set_threads"),
    "an enumerator of the library": ("Jit_error", "JIT_ERROR_ARGUMENT"),
}


@pytest.mark.parametrize("what", RUNTIME)
def test_names_of_the_runtime_are_refused(tmp_path: Path, what: str) -> None:
    name, twice = RUNTIME[what]
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    message = f"'name' is \"{name}\", with which '{twice}' would be declared twice, exp"
    with pytest.raises(RuntimeError, match=message):
        frozen.export(tmp_path, name)
    assert not list(tmp_path.iterdir())


def sorts(x: Float) -> list[Float]:
    """Takes along all parts of the runtime that one function can."""
    place = dr.compress(x > 2)
    out = dr.zeros(Float, dr.width(x))
    dr.scatter_reduce(dr.ReduceOp.Max, out, x, dr.llvm.UInt(x) % 3)
    sorted_ = dr.sort(dr.gather(Float, x, place))
    square = dr.llvm.TensorXf(x, (4, 4))
    return [sorted_, dr.sin(out), (square @ square).array, dr.cumsum(x)]


def exported(folder: Path, name: str) -> None:
    frozen = dr.freeze(sorts)
    frozen(opaque(16))
    frozen.export(folder, name)


@needs_tools
def test_no_name_of_the_runtime_is_missed(tmp_path: Path) -> None:
    """What occurs anywhere in the sources, or when macros are expanded, and can be the
    name of a function: a compiler knows none of these."""
    exported(tmp_path, "f")
    sources = sorted((tmp_path / "runtime").rglob("*.[chd]*"))
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    headers = sorted(str(path) for path in sources if path.suffix == ".h")
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (tmp_path / "Makefile").read_text())[0]
    macros = [f"-D{name}_ISA={isa}" for name in ("EXPORTED", "LANES", "REDUCE", "GEMM")]
    compiler = ["cc", "-std=c11", "-D_GNU_SOURCE", *macros, "-Iruntime"]
    includes = "".join(f'#include "{name}"\n' for name in headers)
    (tmp_path / "all.c").write_text(f'{includes}#include "f.c"\n', encoding="utf-8")
    text += run([*compiler, "-I.", "-E", "all.c"], cwd=tmp_path)
    words = sorted(set(re.findall(r"\b[A-Za-z]\w*\b", text)) - {"f"})
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    allowed = []
    for word in words:
        with pytest.raises(RuntimeError) as found:
            frozen.export(tmp_path / "f.h" / "folder", word)
        if "cannot create directory" in str(found.value):
            allowed.append(word)
    assert len(allowed) > 500 and {"size", "count"} <= {*allowed}
    assert len(words) - len(allowed) > 2000
    declared = "".join(f"struct all *{word}(struct all *);\n" for word in allowed)
    (tmp_path / "all.c").write_text(includes + declared, encoding="utf-8")
    run([*compiler, "-fsyntax-only", "all.c"], cwd=tmp_path)


@needs_tools
def test_no_symbol_of_the_runtime_is_missed(tmp_path: Path) -> None:
    exported(tmp_path, "f_q7")
    flags = ["CFLAGS=-O0", "LOOP_OPTIMIZATION=-O0"]
    run(["make", "-j2", "-C", str(tmp_path), *flags, "libf_q7.so"])
    objects = [str(path) for path in (tmp_path / "runtime").rglob("*.o")]
    symbols = set(re.findall(r" [BCDRTV] (\w+)$", run(["nm", "-g", *objects]), re.M))
    assert len(symbols) > 100
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    for symbol in sorted(symbols):
        with pytest.raises(RuntimeError) as found:
            frozen.export(tmp_path / "f_q7.h" / "folder", symbol)
        assert "would be declared twice" in str(found.value), symbol


def test_what_names_are_part_of(tmp_path: Path) -> None:
    """Other identifiers than those that derived[] of export_symbol.c lists have to be
    added there."""
    frozen = dr.freeze(sorts)
    frozen(opaque(16))
    frozen.export(tmp_path, "f_q7")
    found = set()
    for path in tmp_path.glob("f_q7*.[chS]"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r'"[^"]*"', "", text)
        found |= set(re.findall(r"\b\w*f_q7\w*", text, re.IGNORECASE))
    table = Path(__file__).parents[2] / "src/export/export_symbol.c"
    rows = re.findall(r'{ "(\w*)", "(\w*)", (\w+), (\w+), ', table.read_text("utf-8"))
    listed = {
        before + ("F_Q7" if upper == "true" else "f_q7") + after
        for before, after, upper, _ in rows
    }
    local = {"f_q7_in", "f_q7_out", "f_q7_status"}  # to functions of the example
    plain = {re.sub(r"(?<=_)\d+$", "", name) for name in found}
    constant = {"f_q7_constant_"}  # it has none
    assert plain - local == listed - constant


@needs_tools
def test_attributes_and_derivatives(tmp_path: Path) -> None:
    class Model:
        DRJIT_STRUCT = {"w */ int w;": ADFloat, "b": ADFloat}

        def __init__(self) -> None:
            setattr(self, "w */ int w;", ADFloat(opaque(3)))
            self.b = ADFloat(opaque(3, 2))

    def evaluate(model: Model, more: dict[str, ADFloat]) -> dict[str, ADFloat]:
        return {"*/": getattr(model, "w */ int w;") * more["*/ k"] + model.b}

    evaluate.__doc__ = "*/ int documented;"
    evaluate.__qualname__ = "*/ int qualified;"
    model, k = Model(), ADFloat(opaque(3, 3))
    dr.enable_grad(getattr(model, "w */ int w;"), k)
    inputs = (model, {"*/ k": k})
    dr.freeze(evaluate).export(tmp_path, adjoint=inputs, tangent=inputs)
    check_texts(tmp_path)
    for language in LANGUAGES:
        run([*language, *STRICT, "evaluate.h"], cwd=tmp_path)
    run([*LANGUAGES[0], *STRICT, "evaluate_example.c"], cwd=tmp_path)


@needs_tools
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.text(
            st.sampled_from('*/\\?"\n\r@$%_ aZ9é\u202e\0(){};#')
            | st.characters(exclude_categories=()),
            max_size=12,
        ),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
def test_any_keys(tmp_path: Path, keys: list[str]) -> None:
    frozen = dr.freeze(lambda d: {key: 1 - x for key, x in d.items()})
    frozen({key: opaque(3, k + 1) for k, key in enumerate(keys)})
    frozen.export(tmp_path, "f")
    check_texts(tmp_path)
    run([*LANGUAGES[0], *STRICT, "f.h"], cwd=tmp_path)
    run([*LANGUAGES[3], *STRICT, "f.h"], cwd=tmp_path)
    run([*LANGUAGES[0], *STRICT, "f_example.c"], cwd=tmp_path)
