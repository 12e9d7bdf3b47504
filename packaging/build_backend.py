"""What pip calls to build the package: meson-python, in a folder with a known name.

Left alone, meson-python builds in a new folder of the source tree, '.mesonpy-' and some
letters, which stays for good if the build is cut off. Here it builds in the folder
build-pip/PYTHON/meson, which is removed in the end, and before the next build if one
was cut off. Who names a folder (--config-settings build-dir=...) keeps it. Editable
installations need their folder, and get it from meson-python.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mesonpy
from mesonpy import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

ROOT = Path(__file__).resolve().parent.parent
Settings = dict[str, Any]


@contextmanager
def build_folder(settings: Settings | None) -> Iterator[Settings]:
    """The settings, with a build folder that is empty now and gone afterwards.

    A second build for the same Python waits: it would take the folder away.
    """
    settings = settings or {}
    if "build-dir" in settings or "builddir" in settings:
        yield settings
        return
    parent = ROOT / "build-pip" / (sys.implementation.cache_tag or sys.platform)
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / "meson"
    lock = os.open(parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            shutil.rmtree(folder)
        try:
            yield {**settings, "build-dir": str(folder)}
        finally:
            if folder.exists():
                shutil.rmtree(folder)
    finally:
        os.close(lock)


def _build(function: Callable[..., str], *arguments: Any, settings: Any) -> str:
    with build_folder(settings) as used:
        return function(*arguments, used)


def build_sdist(directory: str, config_settings: Settings | None = None) -> str:
    """Leave a source distribution in a folder; its name."""
    return _build(mesonpy.build_sdist, directory, settings=config_settings)


def build_wheel(
    directory: str,
    config_settings: Settings | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Leave a wheel in a folder; its name."""
    return _build(mesonpy.build_wheel, directory, settings=config_settings)
