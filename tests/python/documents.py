"""Pages of documentation as programs: their blocks, and how those are run.

A page is Markdown. A ``python`` block is run, and what it prints has to be what the
``text`` block after it says; a block without one has to print nothing. Blocks of a
page run in their order and share names. If a block raises, the output ends with the
line that Python would end its traceback with, so that a page can show errors.

A ``c`` or ``cpp`` block with a function ``main`` is a program by itself. Others stand
in the body of one; FRAMES has what is around them.

    python tests/python/documents.py PAGE            run the Python blocks of a page
    python tests/python/documents.py --write PAGE    put their output into the page
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
LANGUAGES = {"python", "c", "cpp", "sh", "text"}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# What is put around a block of C or C++ that is not a program: the end reports
# a reference that the block has forgotten.
FRAMES = {
    "c": """\
#include <drjit-core/ad.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    jit_init(JitBackendLLVM);
    {
%s
    }
    return jit_shutdown(0) == 0 ? 0 : 1;
}
""",
    "cpp": """\
#include <drjit-core/llvm.h>
#include <drjit/array.h>
#include <drjit/autodiff.h>
#include <drjit/call.h>
#include <drjit/complex.h>
#include <drjit/if_stmt.h>
#include <drjit/math.h>
#include <drjit/matrix.h>
#include <drjit/quaternion.h>
#include <drjit/random.h>
#include <drjit/tensor.h>
#include <drjit/texture.h>
#include <drjit/while_loop.h>
#include <cstdio>
#include <iostream>
#include <vector>

namespace dr = drjit;

int main()
{
    {
%s
    }
    return jit_shutdown(0) == 0 ? 0 : 1;
}
""",
}


# The targets of an assignment to several variables, or to the one in a tuple.
TARGETS = re.compile(r"^( *)(\w+(?:, \w+)+|\w+,) = ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: 'line' is the one after its fence, 'output' the text block below.

    'output' is None if there is none, or other text is in between.
    """

    page: Path
    line: int
    language: str
    text: str
    output: str | None = None

    @property
    def place(self) -> str:
        """Page and line, as editors and terminals understand them."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def program(self) -> str:
        """The source of a block of C or C++, as a compiler gets it."""
        if re.search(r"\bmain\(", self.text):
            return self.text
        body = f'#line {self.line} "{self.page.name}"\n{self.text}'
        return FRAMES[self.language] % body


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page that are in one of these languages (none given: in any)."""
    content = page.read_text(encoding="utf-8")
    found = []
    matches = list(FENCED.finditer(content))
    for match, follower in zip(matches, [*matches, None][1:], strict=True):
        language, text = match.groups()
        output = None
        if follower and follower.group(1) == "text" and language != "text":
            if not content[match.end() : follower.start()].strip():
                output = follower.group(2)
        line = content.count("\n", 0, match.start()) + 2
        if not languages or language in languages:
            found.append(Block(page, line, language, text, output))
    return found


def run(block: Block, names: dict[str, Any]) -> tuple[str, str]:
    """Run a Python block with these names: all that it printed, and a traceback or ''.

    Its file is called 'program.py' and begins with the block, so that line numbers in
    messages are those that a reader of the block counts.
    """
    file = "program.py"
    lines = block.text.splitlines(keepends=True)
    linecache.cache[file] = (len(block.text), None, lines, file)
    printed = io.StringIO()
    trace = ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(block.text, file, "exec", dont_inherit=True), names)
        except Exception as error:
            trace = traceback.format_exc()
            printed.write(traceback.format_exception_only(error)[-1])
    return printed.getvalue(), trace


def run_page(page: Path) -> list[tuple[Block, str, str]]:
    """Run the Python blocks of a page: each with what it printed and its traceback."""
    names = {"__name__": "__main__"}
    return [(block, *run(block, names)) for block in blocks(page, "python")]


def complaint(block: Block, printed: str, trace: str) -> str:
    """What is wrong with a block that printed this, '' if nothing is."""
    expected = block.output or ""
    if sys.version_info < (3, 11):  # ast.unparse() puts targets into parentheses
        expected = TARGETS.sub(r"\1(\2) = ", expected)
        # No places of expressions, so the remedies of all operators.
        if re.search(r"^ *\^+$", expected, re.MULTILINE) or "__bool__()" in expected:
            expected, printed = (s.split("; ")[0] for s in (expected, printed))
    if printed == expected:
        return ""
    return (
        f"{block.place}: the block does not print what the page says\n"
        f"--- the page\n{expected}--- printed\n{printed}{trace}"
    )


def write(page: Path) -> None:
    """Put the output of the Python blocks into a page."""
    content = page.read_text(encoding="utf-8")
    for block, printed, _ in run_page(page):
        old = f"```python\n{block.text}```\n"
        new = old
        if block.output is not None:
            old += f"\n```text\n{block.output}```\n"
        if printed:
            new += f"\n```text\n{printed}```\n"
        if content.count(old) != 1:
            sys.exit(f"{block.place}: the block does not stand there exactly once")
        content = content.replace(old, new)
    page.write_text(content, encoding="utf-8")


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--write"]:
        for name in arguments[1:]:
            write(Path(name).resolve())
        return 0
    bad = 0
    for name in arguments:
        for result in run_page(Path(name).resolve()):
            text = complaint(*result)
            if text:
                print(text)
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
