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


@pytest.mark.parametrize(
    "name", ["status", "data", "out", "given", "i", "size", "x_error", "_private"]
)
@needs_tools
def test_names_of_functions(tmp_path: Path, name: str) -> None:
    frozen = dr.freeze(lambda x: x * 2)
    frozen(opaque(3))
    frozen.export(tmp_path, name)
    for language in LANGUAGES:
        run([*language, *STRICT, f"{name}.h"], cwd=tmp_path)
    run([*LANGUAGES[0], *STRICT, f"{name}_example.c"], cwd=tmp_path)
    own = ["-std=c11", "-D_GNU_SOURCE", "-DEXPORTED_ISA=avx2", "-Iruntime"]
    run(["cc", *own, *STRICT[:3], "-fsyntax-only", f"{name}.c"], cwd=tmp_path)


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
