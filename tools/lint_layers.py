#!/usr/bin/env python3
"""Check the direction of includes: only downwards, and never in a circle.

The library is cut into layers (docs/dev/architecture.md), one folder of ``src`` each;
some have rooms of their own. A file may include headers of its own room and of what
stands below it in LAYERS, unless only the rooms in KNOWN_BY know that; SEAMS are the
files that name what is above them. The plan of the native engine names no CPU. In
ORDERED rooms modules are in an order as well, and what derivatives may see of the
tracer is listed. Public headers know nothing of ``src``. The Python extension in
``src/python`` is a user of the library like any other: it sees its own headers and the
public ones, and nothing sees it. Its arrays hold more than variables of the library, so
only files in VARIABLES handle bare ones; backends stand in its table of types. The size
of a variable has accessors (var.h, node.h): the field itself is for those, and who
computes with a size takes it as a number. What depends on the operating system is in
``src/os``: its headers, its functions, and macros that tell systems apart, are refused
elsewhere, but for the files in SYSTEM_FILES. Stems of files are unique in the library,
as functions have them as their prefix.
Prints ``file:line: message`` for each violation and exits with status 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
PUBLIC = ROOT / "include"

# Rooms from the bottom up.
LAYERS = [
    "base",
    "os",
    "watch",
    "ir",
    "ptx",
    "lanes",
    "device/cpu/loops",
    "device",
    "device/cpu",
    "device/cpu/primitives",
    "device/cpu/launch",
    "engine",
    "engine/interp",
    "engine/native/run",
    "engine/native/plan",
    "engine/native/x86/asm",
    "engine/native/x86",
    "engine/native/x86/avx2",
    "engine/native/x86/avx512",
    "engine/native",
    "engine/llvm",
    "engine/ptx",
    "lower",
    "lower/math",
    "kernel",
    "recording",
    "export/runtime",
    "trace/graph",
    "trace/eval",
    "freeze",
    "trace/array",
    "trace/flow",
    "export",
    "api",
    "ad/graph",
    "ad/rule",
    "ad/array",
    "ad/debug",
    "ad/traverse",
    "ad/region",
    "ad/derive",
]
# Rooms of which the files are in an order, too: no two modules (sources with headers)
# include each other, be it by way of others.
ORDERED = ("ad/array", "ad/debug", "ad/region", "ad/derive")
# Derivatives stand on the public headers. This is what they see of the tracer besides,
# and what for; nothing else between src/ad and src/ir is their business.
DERIVATIVES = "ad"
DERIVATIVES_MAY_SEE = {
    "src/trace/graph/state.h": "the lock, and variables by number",
    "src/trace/graph/node.h": "reads that a recording notes; nodes made with the lock",
    "src/trace/graph/arith.h": "arithmetic with the lock",
    "src/trace/graph/mask.h": "the mask stack with the lock; masks of a size",
    "src/trace/graph/record.h": "bodies that are opened again",
    "src/trace/graph/holders.h": "variables that derivatives hold are counted",
    "src/trace/graph/extra.h": "why a result is not tracked, beside the variable",
    "src/trace/graph/local.h": "local arrays that begin as anything",
    "src/trace/graph/loop_array.h": "states of a loop that are arrays it writes to",
    "src/trace/graph/access.h": "launches that fail where a bound is exceeded",
    "src/trace/array/array.h": "a literal result with as many lanes as its region",
    "src/trace/flow/region_replay.h": "bodies that are recorded again",
    "src/trace/flow/cond.h": "conditionals made of these, with the lock",
    "src/trace/flow/call.h": "... and calls, on a device",
    "src/freeze/freezing.h": "sizes of gradients; what recordings of functions assume",
    "src/lower/math/derivative.h": "derivatives of functions are rows of their table",
    "src/lower/math/math.def": "... this one",
}
# Rooms that stand beside each other although one line is above the other.
STRANGERS = [
    ("engine/llvm", "engine/native"),
    ("engine/ptx", "engine/native"),
    ("engine/ptx", "engine/llvm"),
    ("engine/native/x86/avx512", "engine/native/x86/avx2"),
    # An assembler knows no plan. That no plan knows a CPU is their order in LAYERS.
    ("engine/native/x86/asm", "engine/native/plan"),
    ("engine/native/x86/asm", "engine/native/run"),
]
# Rooms, and those in them, that nobody else knows but what begins so: all others ask a
# struct of functions.
KNOWN_BY = {"device/cpu": ("device/cpu", "engine", "export", "api")}
# Seams: a table that lists what is above it, by file.
SEAMS = {
    "src/engine/engine.c": ("engine/interp", "engine/native", "engine/llvm"),
    "src/lower/legalise_rules.c": ("lower/math",),
    "src/device/device.c": ("device/cpu",),
    "src/device/cpu/cpu_device.c": ("device/cpu/primitives", "device/cpu/launch"),
    # Messages name what a user has given, not what stands for it.
    "src/python/base/error.c": ("python/convert",),
    # Slots of the classes.
    "src/python/type/type.c": ("python/array", "python/convert"),
}
# Beside the layers, on top of the public headers; its rooms from the bottom up.
EXTENSION = "python"
EXTENSION_LAYERS = [
    "python/base",
    "python/type",
    "python/array",
    "python/shape",
    "python/convert",
    "python/tree",
    "python/ad",
    "python/ops",
    "python/memory",
    "python/index",
    "python/reduce",
    "python/flow",
    "python/freeze",
    "python/control",
    "python",
]

# Files of the extension that handle bare variables: the layer below all others, control
# flow, and what is about no array (flags, events, source lines).
VARIABLES = re.compile(
    r"(var|jit|event|source|size|flattened_inputs|snapshot)\.[ch]|"
    r"frozen(_escapes|_keep|_match)?\.[ch]|array\.h"
)
VARIABLE = re.compile(r"\b(jit_var_\w+|var_jit|array_index)\(")
BACKEND = re.compile(r"\bJitBackendLLVM\b")

# The plan of the native engine is for any CPU, and names none.
PLAN = "engine/native/plan"
CPU = re.compile(r"x86|avx|\bforms_", re.IGNORECASE)

# The size of a variable: its field, which new nodes are initialised with; lanes that
# are computed with; numbers of which a recording has a term, by file.
FIELD = re.compile(r"(?<!\.)\bown_lanes\b|\bown_lanes\b(?! =)")
FIELD_FILES = ("src/trace/graph/var.h", "src/trace/graph/node.c")
LANES = r"\bvar_lanes(?:_of)?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
COMPUTED = re.compile(rf"[-+*/%]\s*{LANES}|{LANES}\s*[-+*/%]")
ENTRIES = re.compile(r"\bvar_entries\(")
ENTRIES_FILES = (
    "src/trace/graph/var.h",
    "src/trace/graph/pending.h",
    "src/trace/eval/expand.c",
    "src/trace/array/array.c",
    "src/trace/array/axes.c",
    "src/trace/array/bounds.c",
    "src/trace/array/matrix.c",
    "src/trace/array/memory.c",
    "src/trace/array/reduction.c",
)

# What belongs to an operating system: its headers, those of its functions that stand in
# headers of C or in pthread.h, and macros that tell systems apart. POSIX threads are
# for everybody.
SYSTEM_ROOM = "os"
SYSTEM = re.compile(
    r"^\s*#\s*include\s*<((?:sys|linux|mach)/[^>]+|"
    r"(?:dirent|dlfcn|elf|fcntl|ftw|glob|io|link|malloc|poll|pwd|sched|semaphore|"
    r"signal|spawn|strings|ucontext|unistd|utime|windows)\.h)>|"
    r"\b(clock_(?:gettime|getres|nanosleep)|nanosleep|fdopen|fileno|fopencookie|popen|"
    r"mkstemp|mkdtemp|realpath|pthread_(?:setname|getattr|setaffinity)_np|"
    r"pthread_(?:sigmask|kill)|sysconf|sched_yield)\(|"
    r"\b(__linux__|__APPLE__|__MACH__|__FreeBSD__|__unix__|_WIN32|_WIN64|_MSC_VER)\b"
)
SYSTEM_FILES = {
    "include/drjit-core/types.h": "how a library marks what it exports",
    "src/base/log.c": "strcasecmp()",
    "src/engine/llvm/llvm_object.c": "ELF, the format of the objects that it loads",
    "src/python/base/interrupt.c": "the extension sees public headers only",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(drjit-core/[^>]+)>)')


@dataclass(frozen=True)
class Include:
    """One include of a file of this project."""

    line: int
    target: Path


def name(path: Path) -> str:
    """The path as shown in messages."""
    return str(path.relative_to(ROOT))


def layer(path: Path) -> str | None:
    """The room a file belongs to; None for public headers."""
    if path.is_relative_to(PUBLIC):
        return None
    return str(path.parent.relative_to(SRC))


def in_extension(room: str | None) -> bool:
    """Is it the extension, or one of its rooms?"""
    return room is not None and room.split("/")[0] == EXTENSION


def resolve(file: Path, text: str) -> Path | None:
    """Find an included file: relative to src/ or include/, as the house style wants."""
    for folder in (SRC, PUBLIC):
        if (folder / text).is_file():
            return folder / text
    return None


# Headers that the build writes.
GENERATED = {"python/docstrings.h"}


def read_includes(file: Path, errors: list[str]) -> Iterator[Include]:
    """Yield the includes of a file, reporting those that cannot be resolved."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        text = match.group(1) or match.group(2)
        if text in GENERATED:
            continue
        target = resolve(file, text)
        if target is None:
            errors.append(
                f'{name(file)}:{number}: "{text}" is not found under src/ or include/'
            )
        else:
            yield Include(number, target)


def check_direction(file: Path, include: Include) -> str | None:
    """Say what is wrong with the direction of an include, if anything."""
    own, other = layer(file), layer(include.target)
    where = f"{name(file)}:{include.line}: "
    if own is None:
        if other is not None:
            return where + f"a public header includes {name(include.target)}"
        return None
    if other is None:
        return None
    if in_extension(own) and not in_extension(other):
        return where + f"the extension includes {name(include.target)}, not public"
    layers = EXTENSION_LAYERS if in_extension(own) else LAYERS
    if other not in layers:
        return where + f"includes the unknown room '{other}'"
    if other in SEAMS.get(name(file), ()):
        return None
    if layers.index(other) > layers.index(own):
        return where + f"'{own}' includes '{other}', which is above it"
    for known, by in KNOWN_BY.items():
        if other.startswith(known) and not own.startswith(by):
            return where + f"'{own}' includes '{other}', which KNOWN_BY does not allow"
    for one, another in STRANGERS:
        if own.startswith(one) and other.startswith(another):
            return where + f"'{own}' includes '{other}', which is beside it"
    return None


def check_variables(file: Path) -> Iterator[str]:
    """Yield a message for each bare variable in a file that works with leaves."""
    if not in_extension(layer(file)):
        return
    handles = layer(file) == "python/flow" or VARIABLES.fullmatch(file.name)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = None if handles else VARIABLE.search(line)
        if match:
            yield f"{name(file)}:{number}: {match[1]}() is for var.* and control flow"
        if file.stem != "type" and BACKEND.search(line):
            yield f"{name(file)}:{number}: the backend comes from the type"


def check_plan(file: Path) -> Iterator[str]:
    """Yield a message for each line of the native engine's plan that names a CPU."""
    if layer(file) != PLAN:
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = CPU.search(line)
        if match:
            yield f"{name(file)}:{number}: '{match[0]}' is for the folder of that CPU"


def check_system(file: Path) -> Iterator[str]:
    """Yield a message for what belongs to a system and stands in another room.

    A file of SYSTEM_FILES has something of the kind, or does not belong there."""
    if layer(file) == SYSTEM_ROOM:
        return
    found = 0
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = SYSTEM.search(line)
        if not match:
            continue
        found += 1
        if name(file) not in SYSTEM_FILES:
            what = next(group for group in match.groups() if group)
            yield f"{name(file)}:{number}: '{what}' is for src/os, or SYSTEM_FILES"
    if name(file) in SYSTEM_FILES and not found:
        yield f"{name(file)}:1: needs no exception in SYSTEM_FILES"


def check_sizes(file: Path) -> Iterator[str]:
    """Yield a message for each size of a variable that is used in another way."""
    own = name(file)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if own not in FIELD_FILES and FIELD.search(line):
            yield f"{own}:{number}: own_lanes is for var_lanes() and node_number()"
        if COMPUTED.search(line):
            yield f"{own}:{number}: lanes are compared; a number is node_number()"
        if own not in ENTRIES_FILES and ENTRIES.search(line):
            yield f"{own}:{number}: var_entries() is for those that ENTRIES_FILES lists"


def check_derivatives(file: Path, include: Include) -> str | None:
    """Say that derivatives see what is not their business, if they do."""
    own, other = layer(file), layer(include.target)
    if own is None or other is None or own.split("/")[0] != DERIVATIVES:
        return None
    below = LAYERS.index("lanes") <= LAYERS.index(other) <= LAYERS.index("api")
    if not below or name(include.target) in DERIVATIVES_MAY_SEE:
        return None
    return (
        f"{name(file)}:{include.line}: derivatives stand on jit.h: "
        f"{name(include.target)} is not in DERIVATIVES_MAY_SEE"
    )


def find_unseen(graph: dict[Path, list[Include]]) -> Iterator[str]:
    """Yield a message for each header that derivatives may see, and do not."""
    seen = {
        name(include.target)
        for file, includes in graph.items()
        if (layer(file) or "").split("/")[0] == DERIVATIVES
        for include in includes
    }
    for header in DERIVATIVES_MAY_SEE:
        if header not in seen:
            yield f"tools/lint_layers.py:1: no derivative includes {header}"


def modules_of(graph: dict[Path, list[Include]]) -> dict[Path, list[Include]]:
    """The includes of each source and its header together, within ORDERED rooms.

    A module stands for itself under the name of its header."""
    modules: dict[Path, list[Include]] = {}
    for file, includes in graph.items():
        if layer(file) not in ORDERED:
            continue
        own = file.with_suffix(".h")
        modules.setdefault(own, []).extend(
            include
            for include in includes
            if layer(include.target) == layer(file) and include.target != own
        )
    return modules


def find_equal_stems(files: list[Path]) -> Iterator[str]:
    """Yield a message for each stem that two pairs of source and header share."""
    seen: dict[str, Path] = {}
    for file in files:
        if layer(file) is None or in_extension(layer(file)):
            continue
        other = seen.setdefault(file.stem, file)
        if other.parent != file.parent:
            yield f"{name(file)}:1: the stem is that of {name(other)}, too"


def find_cycles(graph: dict[Path, list[Include]]) -> Iterator[str]:
    """Yield a message for each include that closes a circle (depth-first search)."""
    done: set[Path] = set()
    for root in sorted(graph):
        if root in done:
            continue
        chain = [root]
        pending = [iter(graph[root])]
        while chain:
            include = next(pending[-1], None)
            if include is None:
                done.add(chain.pop())
                pending.pop()
            elif include.target in chain:
                circle = [*chain[chain.index(include.target) :], include.target]
                text = " -> ".join(name(path) for path in circle)
                yield f"{name(chain[-1])}:{include.line}: circle of includes: {text}"
            elif include.target not in done:
                chain.append(include.target)
                pending.append(iter(graph.get(include.target, [])))


def main() -> int:
    """Check the whole tree."""
    errors: list[str] = []
    graph: dict[Path, list[Include]] = {}
    files = [
        file
        for folder in (SRC, PUBLIC)
        for file in sorted(folder.rglob("*"))
        if file.suffix in (".c", ".h", ".def", ".inc")
    ]
    for file in files:
        own = layer(file)
        if own is not None and own not in LAYERS + EXTENSION_LAYERS:
            errors.append(f"{name(file)}:1: unknown room '{own}', see LAYERS")
            continue
        errors += check_variables(file)
        errors += check_sizes(file)
        errors += check_plan(file)
        errors += check_system(file)
        graph[file] = list(read_includes(file, errors))
        for include in graph[file]:
            for check in (check_direction, check_derivatives):
                message = check(file, include)
                if message:
                    errors.append(message)
    errors += find_cycles(graph)
    errors += find_cycles(modules_of(graph))
    errors += find_unseen(graph)
    errors += find_equal_stems(files)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
