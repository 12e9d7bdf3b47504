#!/usr/bin/env python3
"""Check the direction of includes: only downwards, and never in a circle.

The library is cut into layers (docs/dev/architecture.md), one folder of ``src`` each. A
file may include headers of its own layer and of the ones below. Public headers know
nothing of ``src``. The Python extension in ``src/python`` is a user of the library like
any other: it sees its own headers and the public ones, and nothing sees it. Prints
``file:line: message`` for each violation and exits with status 1.
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

# From the bottom up. "ir" is what the layers from the engines on have in common:
# operations, types and Programs.
LAYERS = ["base", "ir", "runtime", "engine", "kernel", "trace", "api"]
# Beside the layers, on top of the public headers.
EXTENSION = "python"

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
    """The layer a file belongs to; None for public headers."""
    if path.is_relative_to(PUBLIC):
        return None
    return path.relative_to(SRC).parts[0]


def resolve(file: Path, text: str) -> Path | None:
    """Find an included file: relative to src/ or include/, as the house style wants."""
    for folder in (SRC, PUBLIC):
        if (folder / text).is_file():
            return folder / text
    return None


def read_includes(file: Path, errors: list[str]) -> Iterator[Include]:
    """Yield the includes of a file, reporting those that cannot be resolved."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        text = match.group(1) or match.group(2)
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
    if other is None or own == other == EXTENSION:
        return None
    if own == EXTENSION:
        return where + f"the extension includes {name(include.target)}, not public"
    if other not in LAYERS:
        return where + f"includes the unknown layer '{other}'"
    if LAYERS.index(other) > LAYERS.index(own):
        return where + f"layer '{own}' includes '{other}', which is above it"
    return None


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
        if file.suffix in (".c", ".h", ".def")
    ]
    for file in files:
        own = layer(file)
        if own is not None and own not in [*LAYERS, EXTENSION]:
            errors.append(f"{name(file)}:1: unknown layer '{own}', see LAYERS")
            continue
        graph[file] = list(read_includes(file, errors))
        for include in graph[file]:
            message = check_direction(file, include)
            if message:
                errors.append(message)
    errors += find_cycles(graph)
    for error in errors:
        print(error)
    count = sum(len(includes) for includes in graph.values())
    print(f"lint_layers: {len(files)} files, {count} includes, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
