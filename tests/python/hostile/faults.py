"""Ways to let the n-th allocation fail: those of Python, and those of the core.

A source of faults has ``begin(n)``, from which on its n-th step fails, and ``end()``,
which says whether that step was reached.
"""

from __future__ import annotations

import ctypes
import importlib
from pathlib import Path
from typing import Protocol

import drjit as dr


class Source(Protocol):
    def begin(self, n: int) -> None: ...
    def end(self) -> bool: ...


class Missing(Exception):
    """This interpreter, or build, does not have such a source: the text says why."""


class PythonFaults:
    """Requests for Python's memory: so many in a row fail, from the n-th on.

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
