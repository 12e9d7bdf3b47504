#!/usr/bin/env python3
"""Make the table of files that exported functions take along (src/export).

    make_runtime.py OUTPUT DEPFILE AVX2_FLAGS AVX512_FLAGS COMPILER...

ROOTS lists sources of the library by what needs them; what these include comes with
them. The files are put into C as text, so that the library needs no folder at run time.
So are the identifiers that they declare, which exported functions cannot have.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from file_scope import identifiers

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "src", ROOT / "include")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)

ROOTS = {
    "EXPORT_ALWAYS": """
        base/alloc.c base/error.c base/interrupt.c base/log.c base/text.c base/thread.c
        os/clock.c os/machine.c os/pages.c os/threads.c
        device/buffer.c device/collector.c device/command.c device/device.c
        device/outcome.c device/queue.c device/redo.c device/stream.c device/uses.c
        device/cpu/cpu_device.c device/cpu/cpu_hints.c device/cpu/cpu_job.c
        device/cpu/cpu_pages.c device/cpu/pool.c
        device/cpu/loops/reduce_lanes.c
        device/cpu/primitives/combine.c device/cpu/primitives/reduce.c
        device/cpu/primitives/reduce_columns.c device/cpu/primitives/scan.c
        device/cpu/primitives/scan_columns.c device/cpu/primitives/transfer.c
        device/cpu/launch/cpu_batch.c device/cpu/launch/cpu_chain.c
        device/cpu/launch/cpu_fused.c device/cpu/launch/cpu_fused_columns.c
        device/cpu/launch/cpu_group.c device/cpu/launch/cpu_launch.c
        device/cpu/launch/cpu_prints.c
        engine/native/run/native_launch.c
        export/runtime/exported.c export/runtime/exported_isa.c
        export/runtime/exported_profile.c
        recording/recording_repeat.c recording/recording_walk.c
        recording/symsize_values.c ir/reduce_rule.c ir/type.c
        """,
    "EXPORT_LANES": "lanes/lanes.c",
    "EXPORT_PERMUTATION": "device/cpu/primitives/mkperm.c",
    "EXPORT_SORT": "device/cpu/primitives/sort.c device/cpu/loops/sort_loops.c",
    "EXPORT_TRANSPOSE": "device/cpu/primitives/transpose.c",
    "EXPORT_ORDERED": """
        device/cpu/primitives/ordered.c device/cpu/loops/ordered_lanes.c
        export/runtime/exported_ordered.c
        """,
    "EXPORT_GEMM": """
        device/cpu/primitives/gemm.c device/cpu/loops/gemm_lanes.c
        export/runtime/exported_gemm.c
        """,
}
# What FUNCTION.c includes besides (src/export/export_source.c).
SYSTEM = ("math.h", "stdio.h", "stdlib.h", "string.h", "unistd.h")
OPTIONS = ("-std=c11", "-D_GNU_SOURCE")
ISA_MACROS = ("EXPORTED_ISA", "LANES_ISA", "REDUCE_ISA", "GEMM_ISA", "ORDERED_ISA")
# Compiled for the instruction set.
LOOPS = re.compile(r"lanes|\w+_lanes")
# Only C++ includes these; what is exported is C.
CPP = "drjit-core/checked_"
TEMPLATES = {"Makefile": "Makefile.in", ".pc.in": "name.pc.in"}


def find(name: str) -> Path | None:
    """A file of this project; None: of the system."""
    return next((f / name for f in FOLDERS if (f / name).is_file()), None)


def close(name: str, found: dict[str, str]) -> None:
    """Add a file, and what it includes."""
    path = find(name)
    if path is None or name in found or name.startswith(CPP):
        return
    found[name] = path.read_text(encoding="utf-8")
    for other in INCLUDE.findall(found[name]):
        close(other, found)


def literal(text: str) -> str:
    """A text as a string of C, in lines."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?")
    return "\n".join(f'      "{line}\\n"' for line in escaped.splitlines()) or '""'


def row(path: str, parts: str, role: str, text: str) -> str:
    """A row of the table."""
    return f'    {{ "{path}", {parts}, {role},\n{literal(text)} }},\n'


def role_of(name: str) -> str:
    """What a source is."""
    if not name.endswith(".c"):
        return "EXPORT_HEADER"
    return "EXPORT_LOOPS" if LOOPS.fullmatch(Path(name).stem) else "EXPORT_SOURCE"


def rows(texts: dict[str, str]) -> str:
    """All rows of the table; the texts of sources are left in 'texts'."""
    parts: dict[str, list[str]] = {}
    for part, names in ROOTS.items():
        found: dict[str, str] = {}
        for name in names.split():
            if find(name) is None:
                sys.exit(f"make_runtime.py: {name} is not there")
            close(name, found)
        texts |= found
        for name in found:
            parts.setdefault(name, []).append(part)
    text = "".join(
        row(name, " | ".join(parts[name]), role_of(name), texts[name])
        for name in sorted(texts)
    )
    for path, name in TEMPLATES.items():
        template = (ROOT / "src/export/runtime" / name).read_text(encoding="utf-8")
        text += row(path, "EXPORT_ALWAYS", "EXPORT_TEMPLATE", template)
    license_text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    return text + row("LICENSE", "EXPORT_ALWAYS", "EXPORT_HEADER", license_text)


def names(compiler: list[str], texts: dict[str, str]) -> str:
    """The identifiers at file scope, for either instruction set."""
    headers, sources = (
        sorted(name for name in texts if name.endswith(ending))
        for ending in (".h", ".c")
    )
    folders = [f"-I{folder}" for folder in FOLDERS]
    found: set[str] = set()
    for isa in ("avx2", "avx512"):
        macros = [f"-D{macro}={isa}" for macro in ISA_MACROS]
        command = [*compiler, *OPTIONS, *folders, *macros]
        found |= identifiers(command, [*headers, *SYSTEM], sources)
    return "\n" + "\n".join(sorted(found)) + "\n"


def main() -> int:
    output, depfile, avx2, avx512, *compiler = sys.argv[1:]
    texts: dict[str, str] = {}
    table = rows(texts)
    sources = " ".join(str(find(name)) for name in sorted(texts))
    Path(depfile).write_text(f"{output}: {sources}\n", encoding="utf-8")
    Path(output).write_text(
        "/* Made by tools/make_runtime.py. */\n"
        '#include "export/export_files.h"\n\n'
        f'const char export_flags_avx2[] = "{avx2}";\n'
        f'const char export_flags_avx512[] = "{avx512}";\n\n'
        f"const char export_names[] =\n{literal(names(compiler, texts))};\n\n"
        "const ExportFile export_files[] = {\n"
        f"{table}    {{ 0 }}\n}};\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
