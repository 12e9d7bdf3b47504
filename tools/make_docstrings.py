#!/usr/bin/env python3
"""Write the docstrings of what the extension 'drjit._core' has as a C header.

    make_docstrings.py HEADER

The sources are src/python/docs/*.pyi: declarations of Python with the parameters, their
defaults, and a docstring. Each gives a macro: DOC_gather for a function, DOC_Event for
a class, DOC_ArrayBase_numpy for a method or property. The text of a function and of a
method begins with its signature in the form that CPython takes it from
(``inspect.signature``, ``help``). CPython evaluates the defaults, in the module
``drjit`` by name, so a member of an enumeration stands there as
``drjit.ReduceMode.Auto``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src/python/docs"
PACKAGE = ROOT / "python/drjit"

# Enumerations that defaults refer to.
ENUMERATION = re.compile(r"\b([A-Z]\w+)\.(?=[A-Z])")


def documented(
    body: list[ast.stmt], prefix: str = ""
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """The declarations in a module or class, with the names of their macros."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from documented(node.body, f"{node.name}_")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node


def signature(node: ast.FunctionDef) -> str:
    """The parameters as CPython reads them: '$self' is left out of what it shows."""
    text = ENUMERATION.sub(r"drjit.\1.", ast.unparse(node.args))
    if text == "self" or text.startswith("self, "):
        rest = text.removeprefix("self").removeprefix(", ")
        text = "$self" if not rest else f"$self, {rest}"
        text = text if "/" in rest else text.replace("$self", "$self, /", 1)
    else:
        text = f"$module, {text}" if "/" in text else f"$module, /, {text}"
        text = text.removesuffix(", ")
    return f"{node.name}({text})\n--\n\n"


def is_property(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Is it an attribute, which has no parameters?"""
    return any(ast.unparse(mark) == "property" for mark in node.decorator_list)


def text_of(node: ast.ClassDef | ast.FunctionDef) -> str:
    """What CPython gets: the signature, if it has one, and the docstring."""
    doc = ast.get_docstring(node)
    if doc is None:
        raise SystemExit(f"make_docstrings.py: {node.name} has no docstring")
    if isinstance(node, ast.FunctionDef) and not is_property(node):
        return signature(node) + doc
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            head = signature(method).replace("__init__(", f"{node.name}(", 1)
            return head.replace("$self, /, ", "").replace("$self, ", "") + doc
    return doc


def literal(text: str) -> str:
    """A string of C, a line for each line."""
    lines = []
    for line in text.split("\n"):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?")
        lines.append(f'    "{escaped}\\n"')
    return " \\\n".join(lines).removesuffix('\\n"') + '"'


def sources() -> dict[str, ast.ClassDef | ast.FunctionDef]:
    """What is documented for the extension, by the names of the macros."""
    found: dict[str, ast.ClassDef | ast.FunctionDef] = {}
    for source in sorted(SOURCES.glob("*.pyi")):
        tree = ast.parse(source.read_text(encoding="utf-8"), source.name)
        found.update(documented(tree.body))
    return {name: node for name, node in found.items() if "__init__" not in name}


def python_docstrings() -> dict[str, str]:
    """Docstrings of the functions and classes of 'drjit' that are written in Python."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    found = {}
    tables = [node for node in tree.body if isinstance(node, ast.Assign)]
    for node in tables:
        if ast.unparse(node.targets[0]) in ("_FUNCTIONS", "_VALUES"):
            for module, names in ast.literal_eval(ast.unparse(node.value)).items():
                path = PACKAGE / (module.replace(".", "/") + ".py")
                path = path if path.exists() else path.with_suffix("") / "__init__.py"
                inside = ast.parse(path.read_text(encoding="utf-8")).body
                for public, declaration in documented(inside):
                    if public in names.split():
                        found[public] = ast.get_docstring(declaration) or ""
    return found


def read_docstrings() -> dict[str, str]:
    """Docstrings of the functions of drjit and of its classes, by name."""
    nodes = sources().items()
    texts = {name: ast.get_docstring(node) or "" for name, node in nodes}
    return texts | python_docstrings()


def quoted(doc: str, indent: str) -> str:
    """A docstring as the body of a declaration has it."""
    lines = doc.replace("\\", "\\\\").split("\n")
    body = "\n".join(indent + line if line else "" for line in lines).strip()
    return f'{indent}"""{body}\n{indent}"""\n'


def with_docstring(text: str, doc: str) -> str:
    """The declaration of a class, or of a function, whose overloads share the text."""
    if not doc:
        return text
    if text.startswith("class "):
        return text.replace(":\n", ":\n" + quoted(doc, "    "), 1)
    return text.replace(": ...\n", ":\n" + quoted(doc, "    "), 1)


def with_members(text: str, cls: str, docs: dict[str, str]) -> str:
    """A class with the docstrings of its methods and properties, each once."""
    begin = text.index(f"class {cls}")
    end = text.find("\nclass ", begin) + 1 or len(text)
    body = text[begin:end]
    for name, doc in docs.items():
        member, own = name.removeprefix(cls + "_"), name.startswith(cls + "_")
        found = (
            re.search(rf"^    def {member}\(.*: \.\.\.\n", body, re.M) if own else None
        )
        if found:
            head = found[0].removesuffix(" ...\n") + "\n"
            body = body.replace(found[0], head + quoted(doc, " " * 8), 1)
    return text[:begin] + body + text[end:]


def header() -> str:
    """The header, declarations in the order of their files."""
    out = ["/* Written by tools/make_docstrings.py. */"]
    for name, node in sources().items():
        out.append(f"#define DOC_{name} \\\n{literal(text_of(node))}")
    return "\n".join(out) + "\n"


def main() -> None:
    """Write the header that the command line names."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    Path(sys.argv[1]).write_text(header(), encoding="utf-8")


if __name__ == "__main__":
    main()
