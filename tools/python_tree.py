#!/usr/bin/env python3
"""Make the package 'drjit' importable from a build folder.

    python_tree.py FOLDER EXTENSION LIBRARY STAMP

Fills FOLDER/drjit with links: to the Python files of the source tree, which can be
edited without a new build therefore, to the extension module and to the library. The
type stubs are generated there. The build runs this (python/meson.build); STAMP is its
output.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import make_stubs

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "python" / "drjit"
SUFFIXES = {".py", ".pyi", ".typed"}
LIBRARY = "libdrjit-core.so"


def wanted_links(extension: Path, library: Path) -> dict[Path, Path]:
    """Where each link of the package (relative to it) shall point."""
    links = {
        path.relative_to(SOURCE): path
        for path in SOURCE.rglob("*")
        if path.suffix in SUFFIXES
    }
    links[Path(extension.name)] = extension
    # The extension was linked against one of the names that the library goes by.
    for path in library.parent.glob(LIBRARY + ".*"):
        if path.is_file():
            links[Path(path.name)] = path
    return links


def update(package: Path, links: dict[Path, Path]) -> None:
    """Make the links, and remove what is neither wanted nor generated."""
    generated = set(make_stubs.file_names())
    for path in sorted(package.rglob("*"), reverse=True):
        if "__pycache__" in path.parts:
            continue
        if path.is_dir() and not path.is_symlink():
            if not any(name.parts[0] == path.name for name in links):
                shutil.rmtree(path)
        elif (name := path.relative_to(package)) not in links and (
            name.as_posix() not in generated
        ):
            path.unlink()
    for name, target in links.items():
        link = package / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and link.readlink() == target:
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def main() -> int:
    """Do what the head of this file says."""
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    folder, extension, library, stamp = (
        Path(argument).absolute() for argument in sys.argv[1:]
    )
    package = folder / "drjit"
    package.mkdir(parents=True, exist_ok=True)
    update(package, wanted_links(extension, library))
    make_stubs.write(package)
    stamp.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
