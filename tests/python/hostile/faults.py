"""Ways to let the n-th allocation fail: those of Python, and those of the core.

A source of faults has ``begin(n)``, from which on its n-th step fails, and ``end()``,
which says whether that step was reached.
"""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import drjit as dr


class Source(Protocol):
    def begin(self, n: int) -> None: ...
    def end(self) -> bool: ...


class Missing(Exception):
    """This interpreter, or build, does not have such a source: the text says why."""


# Makes functions and a class, without the package, while one allocation after the other
# fails. CPython 3.12 and 3.13 release what a function has not been given yet.
PROBE = """
import _testcapi
def run():
    class Plain:
        def method(self):
            return [lambda: self]
    return Plain().method()
for n in range(40):
    _testcapi.set_nomemory(n, n + 1)
    try:
        run()
    except MemoryError:
        pass
    _testcapi.remove_mem_hooks()
"""


def crashes_by_itself() -> bool:
    """Does this interpreter crash where the memory of a function is out?"""
    command = [sys.executable, "-c", PROBE]
    return subprocess.run(command, capture_output=True, check=False).returncode < 0


class PythonFaults:
    """Requests for Python's memory: some in a row fail, from the n-th on.

    What Python keeps for reuse (lists of free tuples and floats, say) takes no request.
    There are no windows without an end: CPython 3.11 repeats for ever what it fails to
    do at the beginning of an ``except``.
    """

    def __init__(self, in_a_row: int = 1) -> None:
        try:
            module = importlib.import_module("_testcapi")
        except ImportError as error:
            raise Missing("this interpreter comes without _testcapi") from error
        self._set, self._remove = module.set_nomemory, module.remove_mem_hooks
        self._in_a_row, self._n = in_a_row, 0

    def begin(self, n: int) -> None:
        self._n = n
        self._set(n - 1, n - 1 + self._in_a_row)

    def end(self) -> bool:
        """Requests are not told: we make some ourselves, and see which ones fail."""
        done = 0
        try:
            for _ in range(self._n + self._in_a_row):
                bytes(1000)
                done += 1
        except MemoryError:
            pass
        self._remove()
        return done == 0 or done == self._n + self._in_a_row


class CoreFaults:
    """Allocations, file operations and loader calls of the core, if it counts them."""

    def __init__(self) -> None:
        folder = Path(str(dr._core.__file__)).parent
        library = ctypes.CDLL(str(next(folder.glob("libdrjit-core.so*"))))
        if not hasattr(library, "alloc_fail_at"):
            raise Missing("the core was built without -Dhostile=true")
        self._fail_at, self._steps = library.alloc_fail_at, library.alloc_steps
        self._fail_at.argtypes, self._fail_at.restype = [ctypes.c_uint64], None
        self._steps.argtypes, self._steps.restype = [], ctypes.c_uint64
        self._n = 0

    def begin(self, n: int) -> None:
        self._n = n
        self._fail_at(n)

    def end(self) -> bool:
        reached: bool = self._steps() >= self._n
        self._fail_at(0)
        return reached
