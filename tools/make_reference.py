#!/usr/bin/env python3
"""Write the reference of the Python package, docs/python/*.md, from its docstrings.

    make_reference.py           write the pages
    make_reference.py --check   say which are out of date

docs/python/pages.toml says which name is on which page; docs/dev/docstrings.md has the
form of docstrings. The package has to be importable (``make docs`` sees to it).
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/python"
SECTIONS = {
    "Args": "Parameters",
    "Returns": "Returns",
    "Raises": "Raises",
    "Derivative": "Derivative",
    "Evaluation": "Evaluation",
    "Source": "Source",
    "Example": "Example",
    "See also": "See also",
}
HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):$")
ROLE = re.compile(r":(?:func|class|attr|meth|mod|data):`~?([\w.]+)`")

# Classes that the modules of arrays have, and where one of each is.
IN_MODULES = {
    "Event": "drjit.llvm",
    "PCG32": "drjit.llvm",
    "Philox4x32": "drjit.llvm",
    "Texture": "drjit._texture",
}


@dataclass(frozen=True)
class Page:
    """A page of the reference."""

    file: str
    title: str
    text: str
    module: str  # of the names: 'drjit', 'drjit.opt', ...
    names: tuple[str, ...]

    def value(self, name: str) -> Any:
        """What a name of the page stands for."""
        return getattr(importlib.import_module(IN_MODULES.get(name, self.module)), name)


def read_pages() -> list[Page]:
    """The table of pages."""
    table = tomllib.loads((FOLDER / "pages.toml").read_text(encoding="utf-8"))
    return [
        Page(
            file,
            row["title"],
            row.get("text", "").strip(),
            "drjit" + ("." + row["module"] if "module" in row else ""),
            tuple(row["names"].split()),
        )
        for file, row in table.items()
    ]


def places(pages: list[Page]) -> dict[str, str]:
    """Where the text on each name is: 'drjit.gather' -> 'memory.md#gather'."""
    found = {}
    for page in pages:
        for name in page.names:
            found[f"{page.module}.{name}"] = f"{page.file}.md#{name.lower()}"
    return found


def sections(doc: str) -> list[tuple[str, list[str]]]:
    """A docstring in parts: ("", its text), then the name and lines of each section."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in inspect.cleandoc(doc).split("\n"):
        heading = HEADING.match(line)
        if heading:
            parts.append((heading[1], []))
        else:
            parts[-1][1].append(line)
    return [(name, inspect.cleandoc("\n" + "\n".join(lines)).split("\n"))
            for name, lines in parts]  # fmt: skip


def items(lines: list[str]) -> list[tuple[str, str]]:
    """The entries of a section: 'name (type): text', the text on several lines."""
    found: list[tuple[str, str]] = []
    for line in lines:
        match = re.match(
            r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)(?: \((.*?)\))?: ?(.*)$", line
        )
        if match and line[0] != " ":
            kind = f" ({match[2]})" if match[2] else ""
            found.append((match[1], f"{kind}: {match[3]}"))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".rstrip())
    return found


def signature(value: Any, name: str) -> str:
    """The call, without annotations; "" if it is not one."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    if plain and plain[0].name in ("self", "cls"):
        del plain[0]
    text = str(found.replace(parameters=plain, return_annotation=found.empty))
    return name + re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text).replace("Ellipsis", "...")


def own_members(cls: type) -> dict[str, Any]:
    """Public methods and properties of a class, and of private ones that it extends."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        private = base.__module__.rpartition(".")[2].startswith("_")
        if base is cls or (private and base.__module__.startswith("drjit")):
            found |= vars(base)
    found = {name: getattr(value, "__func__", value) for name, value in found.items()}
    return {
        name: value
        for name, value in sorted(found.items())
        if name[0] != "_"
        and not isinstance(value, type)
        and (callable(value) or inspect.isdatadescriptor(value))
        and not inspect.ismemberdescriptor(value)
        and not issubclass(cls, enum.Enum)
    }


class Writer:
    """Turns docstrings into Markdown, with links between the pages."""

    def __init__(self, pages: list[Page]) -> None:
        self.places = places(pages)

    def inline(self, text: str) -> str:
        """Markdown of a piece of text."""

        def link(match: re.Match[str]) -> str:
            name = match[1]
            full = name if name.startswith("drjit") else f"drjit.{name}"
            place = self.places.get(full) or self.places.get(full.rpartition(".")[0])
            return f"[`{name}`]({place})" if place else f"`{name}`"

        return ROLE.sub(link, text).replace("``", "`")

    def body(self, doc: str) -> list[str]:
        """Markdown of a docstring."""
        out: list[str] = []
        for name, lines in sections(doc):
            if name:
                out += [f"**{SECTIONS[name]}**", ""]
            if name in ("Args", "Raises"):
                for entry, text in items(lines):
                    out.append(f"- `{entry}`{self.inline(text)}")
            elif name == "Example":
                out += ["```python", *lines, "```"]
            else:
                out += [self.inline(line) for line in lines]
            out.append("")
        return out

    def members(self, cls: type, name: str) -> list[str]:
        """Methods and properties of a class. Enumerations list theirs in the text."""
        out = []
        for member, value in own_members(cls).items():
            doc = inspect.getdoc(value) or ""
            call = signature(value, member) if callable(value) else member
            out += [f"### `{name}.{call or member}`", "", *self.body(doc)]
        return out

    def entry(self, page: Page, name: str) -> list[str]:
        """The text on one name."""
        value = page.value(name)
        out = [f"## {name}", ""]
        aliases = ("types", "typing")  # whose signature depends on the interpreter
        own = callable(value) and type(value).__module__ not in aliases
        call = signature(value, f"{page.module}.{name}") if own else ""
        if isinstance(value, type) and issubclass(value, enum.Enum):
            call = ""
        if call:
            out += ["```python", call, "```", ""]
        if isinstance(value, int | float) or value is None:
            return [*out, f"`{value!r}`", ""]
        out += self.body(inspect.getdoc(value) or "")
        if isinstance(value, type):
            out += self.members(value, name)
        return out

    def page(self, page: Page) -> str:
        """A whole page."""
        index = " · ".join(f"[{name}](#{name.lower()})" for name in page.names)
        out = [f"# {page.title}", ""]
        out += [page.text, ""] if page.text else []
        out += [index, ""]
        for name in page.names:
            out += self.entry(page, name)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"

    def index(self, pages: list[Page]) -> str:
        """The page with all names."""
        out = [
            "# Python reference",
            "",
            "Written by `make docs` from the docstrings, which `help()` shows, too.",
            "Examples follow `import drjit as dr`, `from drjit.llvm.ad import *`.",
            "",
            *(f"- [{page.title}]({page.file}.md)" for page in pages),
            "",
            "## All names",
            "",
        ]
        names = sorted(self.places.items(), key=lambda row: row[0].lower())
        out += [f"[`{name}`]({place})" for name, place in names]
        return "\n".join(out) + "\n"


def written() -> dict[str, str]:
    """All pages: file -> text."""
    pages = read_pages()
    writer = Writer(pages)
    texts = {f"{page.file}.md": writer.page(page) for page in pages}
    return texts | {"README.md": writer.index(pages)}


def main() -> int:
    """Do what the head of this file says."""
    stale = []
    for name, text in written().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if sys.argv[1:] != ["--check"]:
                path.write_text(text, encoding="utf-8")
    if sys.argv[1:] == ["--check"]:
        for name in stale:
            print(
                f"make_reference.py: docs/python/{name} is out of date: run 'make docs'"
            )
        return 1 if stale else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
