#!/usr/bin/env python3
"""Write the C++ functions that throw: checked_*.inc in include/drjit-core.

Each function that the C headers export gets an inline function of the same name and
parameters, which calls it and throws what it records as an error. Functions without a
result (releasing, setting) cannot fail, apart from those in ``PAIRS``; they, those of
the error record and those with variable arguments are used as they are.
``--check`` writes nothing and fails when a file is out of date.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "include/drjit-core"
NAMES = ("jit", "freeze", "history", "region", "texture", "ad")

DECLARATION = re.compile(r"^JIT_EXPORT ([^;]*);", re.MULTILINE)
PARTS = re.compile(r"(.*?)(\w+)\((.*)\)(?: JIT_PRINTF\(.*\))?", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PAIRS = ("jit_var_sincos", "jit_var_sincosh")
# Memory by kind, in both namespaces.
MALLOC = """\
inline void *jit_malloc(AllocType type, size_t size)
{
    const bool host = type == AllocType::Host || type == AllocType::HostAsync;
    return jit_malloc(host ? JitBackend::LLVM : JitBackend::CUDA, size);
}
"""
# Parameters that are sets of bits: C++ programs can give enumerators, too.
SETS = {
    "jit_init": ("JitBackend", "backends"),
    "jit_init_async": ("JitBackend", "backends"),
    "jit_set_flags": ("JitFlag", "flags"),
    "ad_traverse": ("ADFlag", "flags"),
}
# Functions that return 0 only with an error, which replaces the one recorded before:
# what programs call most while they trace. The others clear the record first.
SURE = (
    "jit_var_op",
    "jit_var_op_number",
    "jit_var_literal",
    "jit_var_cast",
    "jit_var_gather",
    "ad_var_op",
    "ad_var_cast",
    "ad_var_gather",
)
# Arguments that C++ programs may leave out.
DEFAULTS = {
    "jit_shutdown": {"light": "0"},
    "jit_var_literal": {"size": "1", "eval": "0"},
    "jit_var_mem_map": {"free": "0"},
}
PLAIN = ("jit_error", "jit_error_message", "jit_error_clear")
COLUMNS = 88

HEAD = """\
/*
 * drjit-core/{name} -- functions of C as C++ functions that throw
 *
 * Written by tools/make_checked.py: change {source}, which includes this, instead.
 * Every function has the name, parameters and result of the one in C, but throws a
 * drjit::Error (cxx.h) where that one records an error. It clears the thread's error
 * record first, unless its result says whether there is one. Programs that define
 * JIT_ERRORS_AS_VALUES before they include a header get the functions of C by their
 * plain names. drjit::c and drjit::checked always have both.
 */
#include <drjit-core/cxx.h>

namespace drjit {{

namespace c {{

{overloads}
}} /* namespace c */

namespace checked {{

"""

TAIL = """
}} /* namespace checked */
}} /* namespace drjit */

#if defined(JIT_ERRORS_AS_VALUES)
using namespace drjit::c;
#else
using namespace drjit::checked;
#endif
"""


def split(text: str) -> list[str]:
    """The parameters of a list: commas within parentheses do not separate."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def argument(parameter: str) -> str:
    """The name of a parameter."""
    pointer = re.search(r"\(\*(\w+)\)", parameter)
    found = pointer or re.search(r"(\w+)(?:\[\w*\])?$", parameter)
    assert found, parameter
    return found[1]


def take_apart(declaration: str) -> tuple[str, str, str]:
    """Result, name and parameters of a function."""
    found = PARTS.fullmatch(re.sub(r"\s+", " ", COMMENT.sub("", declaration)))
    assert found, declaration
    return found[1].strip(), found[2], found[3].strip()


def overload(declaration: str) -> str:
    """The function with enumerators for a set of bits, if it takes one."""
    result, name, inside = take_apart(declaration)
    if name == "jit_malloc":
        return MALLOC
    if name not in SETS:
        return ""
    enum, flags = SETS[name]
    arguments = ", ".join(map(argument, split(inside)))
    arguments = arguments.replace(flags, f"static_cast<uint32_t>({flags})")
    inside = inside.replace(f"uint32_t {flags}", f"{enum} {flags}")
    call = f"{'' if result == 'void' else 'return '}{name}({arguments});"
    return f"inline {result} {name}({inside})\n{{\n    {call}\n}}\n"


def wrapper(declaration: str) -> str:
    """The C++ function, or a declaration that it is the one of C, for one of C."""
    result, name, inside = take_apart(declaration)
    plain = result == "void" and name not in PAIRS
    if plain or name in PLAIN or "..." in inside:
        return f"using c::{name};\n"
    parameters = [] if inside == "void" else split(inside)
    defaults = DEFAULTS.get(name, {})
    given = [
        f"{parameter} = {defaults[argument(parameter)]}"
        if argument(parameter) in defaults
        else parameter
        for parameter in parameters
    ]
    head = f"inline {result}{'' if result.endswith('*') else ' '}{name}("
    head = "\n".join(
        textwrap.wrap(
            head + ", ".join(given) + ")",
            COLUMNS,
            subsequent_indent=" " * min(len(head), 30),
            break_long_words=False,
        )
    )
    call = f"c::{name}({', '.join(map(argument, parameters))})"
    if result == "void":
        lines = ["detail::begin();", f"{call};", "detail::raise_if_any();"]
        return f"{head}\n{{\n    " + "\n    ".join(lines) + "\n}\n"
    check = "sure" if name in SURE else "end"
    end = textwrap.wrap(
        f"return detail::{check}({call});",
        COLUMNS - 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
    )
    body = "\n    ".join(end if name in SURE else ["detail::begin();", *end])
    return f"{head}\n{{\n    {body}\n}}\n{overload(declaration)}"


def render(name: str) -> str:
    """The text for one header."""
    source = f"{name}.h"
    text = (FOLDER / source).read_text(encoding="utf-8")
    declarations = DECLARATION.findall(text)
    words = {
        "name": f"checked_{name}.inc",
        "source": source,
        "overloads": "".join(map(overload, declarations)),
    }
    head = HEAD.format(**words).replace(
        "namespace c {\n\n\n} /* namespace c */\n\n", ""
    )
    return head + "".join(map(wrapper, declarations)) + TAIL.format(**words)


def main() -> int:
    """Write, or with --check compare, the headers."""
    status = 0
    for name in NAMES:
        path = FOLDER / f"checked_{name}.inc"
        text = render(name)
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is out of date: run tools/make_checked.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
