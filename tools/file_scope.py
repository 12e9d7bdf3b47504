"""Identifiers that headers of C declare at file scope: macros, types, tags,
enumerators, variables and functions, those of the system's headers included.

The preprocessor reads the headers, so names that macros make are seen, too. What it
writes is taken apart without a grammar; in doubt a name is one more.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator

DEFINE = re.compile(r"^#\s*define\s+(\w+)", re.MULTILINE)
EXTERNAL = re.compile(r"^extern\b[^;{]*;", re.MULTILINE)
DIRECTIVE = re.compile(r"^#.*$", re.MULTILINE)
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|' r"'(?:\\.|[^'\\])*'")
TOKEN = re.compile(r"[A-Za-z_]\w*|[(){};*]")
TAGGED = ("struct", "union", "enum")


def preprocess(compiler: list[str], files: Iterable[str]) -> str:
    """What a compiler, given with its options, makes of files, macros included."""
    text = "".join(f'#include "{name}"\n' for name in files)
    command = [*compiler, "-w", "-E", "-dD", "-x", "c", "-"]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE)
    done.check_returncode()
    return done.stdout


def _is_declarator(scope: str, following: str) -> bool:
    """Does a parenthesis contain what is declared, as in "(*name)(int parameter)"?"""
    return scope in ("", "(*") and following == "*"


def declared(text: str) -> Iterator[str]:
    """The identifiers, of preprocessed text; some more than once."""
    yield from DEFINE.findall(text)
    tokens = TOKEN.findall(LITERAL.sub(" ", DIRECTIVE.sub(" ", text)))
    scopes = [""]  # "": that of the file; "(*", "enum", or another one
    before, tag = "", ""
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == "(":
            scopes.append("(*" if _is_declarator(scopes[-1], following) else "(")
        elif token == "{":
            scopes.append(tag if tag == "enum" else "{")
        elif token in ")}":
            scopes.pop()
        elif token not in "*;" and (
            scopes[-1] in ("", "(*", "enum") or before in TAGGED
        ):
            yield token
        if token in "(){};":
            tag = ""
        elif token in TAGGED:
            tag = token
        before = token


def identifiers(
    compiler: list[str], headers: Iterable[str], sources: Iterable[str]
) -> set[str]:
    """All that headers declare, and what sources declare as 'extern'; without names
    that begin with two underscores, which are the compiler's."""
    found = {*declared(preprocess(compiler, headers))}
    for text in EXTERNAL.findall(preprocess(compiler, sources)):
        found.update(declared(text))
    return {name for name in found if not name.startswith("__")}
