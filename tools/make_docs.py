#!/usr/bin/env python3
"""Write docs/reference.md from the comments of the public C headers.

A documentation comment stands at the start of a line and covers the declarations up to
the next blank line or documentation comment, so related functions can share one. Each
exported function needs such a comment; ones that lack it are listed and the exit status
is 1. ``--check`` writes nothing and also fails when docs/reference.md is out of date.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "include/drjit-core"
NAMES = (
    "types.h",
    "jit.h",
    "history.h",
    "region.h",
    "freeze.h",
    "texture.h",
    "ad.h",
)
HEADERS = [FOLDER / name for name in NAMES]
OUTPUT = ROOT / "docs/reference.md"

SECTION = re.compile(r"^/\* -{10,} (.+) \*/$")
FUNCTION = re.compile(r"\b((?:jit|ad)_\w+)\(")

# An enumeration is a list of X(E, name, value), of flags X(E, name, bit, default), and
# ends at the line that makes it one.
LIST = re.compile(
    r"^#define \w+_LIST\(X, E\)((?:.*\\\n)+.*\n)(?:^#define JIT_FLAG.*\n)*"
    r"(?:^#if(?:.*\n)*?^JIT_BITS\((\w+)\)|JIT_ENUM\((\w+), .*\)(?:\nJIT_BITS.*)?)\n",
    re.MULTILINE,
)
ROW = re.compile(r"X\(E, (\w+), (\w+)(, \d)?\)")

# Headings of some headers begin with a word that says what they are about.
SUBJECT = {"ad.h": "derivatives"}

PREAMBLE = """\
# Reference of the C interface

Written by `make docs` from the comments of `types.h`, `jit.h`, `history.h`, `region.h`,
`freeze.h`, `texture.h` and `ad.h` (derivatives) in `include/drjit-core`: edit those,
not this one.
The conventions on ownership, errors and threads stand at the top of `jit.h`, those on
tracked variables at the top of `ad.h`.
"""


@dataclass
class Entry:
    """A documentation comment and the declarations that it covers."""

    comment: str
    code: list[str] = field(default_factory=list)

    def functions(self) -> list[str]:
        """Names of the exported functions declared here."""
        text = "\n".join(line for line in self.code)
        declarations = re.findall(r"JIT_EXPORT[^;]*;", text)
        found = (FUNCTION.search(declaration) for declaration in declarations)
        return [match.group(1) for match in found if match]


@dataclass
class Section:
    """A part of a header under one heading; 'text' is its introduction."""

    title: str
    text: str = ""
    entries: list[Entry] = field(default_factory=list)


def comment_text(lines: list[str]) -> str:
    """Strip the decoration of a comment and join its lines."""
    text = " ".join(re.sub(r"^\s*(/\*\*?|\*(?!/))?\s?", "", line) for line in lines)
    return re.sub(r"\s+", " ", text.replace("*/", "")).strip()


def enumeration(found: re.Match[str]) -> str:
    """A list of enumerators as C has them."""
    enum = found[2] or found[3]
    rows = re.sub(r" *\\$", "", found[1], flags=re.MULTILINE).strip("\n")
    flags = [row[1] for row in ROW.finditer(rows) if row[3] == ", 1"]

    def enumerator(row: re.Match[str]) -> str:
        return f"{enum}{row[1]} = {'1 << ' if row[3] else ''}{row[2]},"

    rows = ROW.sub(enumerator, rows)
    if flags:
        rows += f"\n    {enum}Default ="
        for flag in flags:
            item = f" {enum}{flag}{' |' if flag != flags[-1] else ''}"
            fits = len(rows.split("\n")[-1] + item) <= 88
            rows += item if fits else f"\n       {item}"
    return f"typedef enum {enum} {{\n{rows}\n}} {enum};\n"


def parse(source: str) -> list[Section]:
    """Cut a header into sections and entries."""
    source = LIST.sub(enumeration, source)
    sections: list[Section] = []
    entry: Entry | None = None
    depth = 0  # of braces: a blank line within a struct does not end an entry
    lines = iter(source.split("\n"))
    for line in lines:
        heading = SECTION.match(line)
        if heading:
            sections.append(Section(heading.group(1)))
            entry = None
        elif not sections or line.startswith(("#", "JIT_C_")):
            continue
        elif line.startswith("/*"):
            block = [line]
            while "*/" not in block[-1]:
                block.append(next(lines))
            if line.startswith("/**"):
                entry = Entry(comment_text(block))
                sections[-1].entries.append(entry)
            else:
                sections[-1].text += comment_text(block)
                entry = None
        elif not line.strip():
            if depth == 0:
                entry = None
        elif line.startswith("static inline"):
            # A small function with its body: only the declaration is of interest.
            if entry is None:
                entry = Entry("")
                sections[-1].entries.append(entry)
            entry.code.append(line.removeprefix("static inline ") + ";")
            while line != "}":
                line = next(lines)
        elif line != "}" and not line.startswith("extern"):
            if entry is None:
                entry = Entry("")
                sections[-1].entries.append(entry)
            entry.code.append(line)
            depth += line.count("{") - line.count("}")
    return sections


def render(sections: list[Section]) -> str:
    """The sections as Markdown."""
    out = [PREAMBLE]
    for section in sections:
        if not section.entries:
            continue
        out.append(f"## {section.title[0].upper() + section.title[1:]}\n")
        if section.text:
            out.append(section.text + "\n")
        for entry in section.entries:
            code = "\n".join(entry.code).replace("JIT_EXPORT ", "")
            if code:
                out.append(f"```c\n{code}\n```\n")
            if entry.comment:
                out.append(entry.comment + "\n")
    return "\n".join(out)


def main() -> int:
    """Check the comments and write, or with --check compare, the reference."""
    sources = [header.read_text(encoding="utf-8") for header in HEADERS]
    sections = []
    for header, source in zip(HEADERS, sources, strict=True):
        for section in parse(source):
            if header.name in SUBJECT:
                section.title = f"{SUBJECT[header.name]}: {section.title}"
            sections.append(section)
    entries = [entry for section in sections for entry in section.entries]
    bare = [f for entry in entries if not entry.comment for f in entry.functions()]
    count = sum(len(entry.functions()) for entry in entries)
    declared = len(re.findall(r"^JIT_EXPORT", "\n".join(sources), re.MULTILINE))
    for function in bare:
        print(f"make_docs: {function}() has no comment")
    if count != declared:
        print(f"make_docs: found {count} of {declared} declarations")
        return 1
    text = render(sections)
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(text, encoding="utf-8")
    elif not OUTPUT.exists() or OUTPUT.read_text(encoding="utf-8") != text:
        print(f"{OUTPUT.relative_to(ROOT)} is out of date: run 'make docs'")
        return 1
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
