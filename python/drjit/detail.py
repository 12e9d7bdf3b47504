"""Helpers that libraries built on Dr.Jit and test suites call as ``drjit.detail``.

Everything here may change between versions; programs should prefer the functions of
``drjit`` itself.
"""

from __future__ import annotations

import importlib
import sys
from types import TracebackType

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_core: Any = importlib.import_module("drjit._core")

_sort = _core._sort
_argsort = _core._argsort
_transpose = _core._transpose
any_symbolic = _core._any_symbolic
block_mkperm = _core._block_mkperm
can_scatter_reduce = _core._can_scatter_reduce
check_compatibility = _core._check_compatibility
collect_indices = _core._collect_indices
launch_stats = _core._launch_stats
llvm_version = _core._llvm_version
malloc_clear_statistics = _core._malloc_clear_statistics
malloc_watermark = _core._malloc_watermark
reduce_identity = _core._reduce_identity
reset = _core._reset


def _attributes(name: str, arg: Any, callback: Any) -> Any:
    if not callable(callback):
        raise TypeError(
            f"drjit.detail.{name}(): the callback is of type "
            f"{type(callback).__name__}, expected a callable"
        )
    return list(getattr(arg, "__dict__", {}).values())


def traverse_py_cb_ro(arg: Any, callback: Any, /) -> None:
    """Call ``callback(index, "", "")`` for each variable of an object's attributes.

    These are PyTrees. ``index`` is that of the variable, and of the derivative node in
    its upper half. What C++ calls for an object of Python.
    """
    for value in _attributes("traverse_py_cb_ro", arg, callback):
        _core._traverse_indices(value, callback, False)


def traverse_py_cb_rw(arg: Any, callback: Any, /) -> None:
    """The same, and the array becomes that of the index which the callback returns.

    It is a variable of the same type, and is not tracked or has the node that was
    given. Arrays are changed in place. ValueError for others, TypeError for what is not
    an integer; the arrays before it have been changed.
    """
    for value in _attributes("traverse_py_cb_rw", arg, callback):
        _core._traverse_indices(value, callback, True)


def __getattr__(name: str) -> Any:
    if name in ("clear_registry", "remove_instance"):
        return getattr(importlib.import_module("drjit._flow.instances"), name)
    if name == "copy":  # the one of the package, which imports this module
        return _core.copy
    raise AttributeError(f"module 'drjit.detail' has no attribute '{name}'")


def set_leak_warnings(arg: bool, /) -> None:
    """Report variables that still have references after Python has freed everything.

    They go to the log (level ``Warn``) at the end of the process. Off by default,
    since harmless references are also reported.

    Source: API reference, ``drjit.detail.set_leak_warnings``.
    """
    _core._set_leak_warnings(arg)


def leak_warnings() -> bool:
    """Are leak warnings enabled? See :py:func:`set_leak_warnings`.

    Source: API reference, ``drjit.detail.leak_warnings``.
    """
    return bool(_core._leak_warnings())


def scope(backend: Any) -> int:
    """The scope of this thread: see :py:func:`new_scope`.

    Source: published package, ``drjit.detail.scope``.
    """
    return int(_core._scope(backend))


def new_scope(backend: Any) -> int:
    """Begin a new scope, and return its number.

    Equal expressions of one scope are one variable, those of different scopes are
    never found equal.

    Source: published package, ``drjit.detail.new_scope``.
    """
    return int(_core._new_scope(backend))


def set_scope(backend: Any, scope: int) -> None:
    """Go back to a scope that there has been. Raises ``RuntimeError`` for others.

    Source: published package, ``drjit.detail.set_scope``.
    """
    _core._set_scope(backend, scope)


def cuda_version() -> tuple[int, int]:
    """``(major, minor)`` of the CUDA driver, ``(0, 0)`` where there is none.

    Source: API reference, ``drjit.detail.cuda_version``. This version has no CUDA
    backend.
    """
    return (0, 0)


def cuda_compute_capability() -> int:
    """Compute capability of the current GPU.

    Raises:
        RuntimeError: this version has no CUDA backend.
    """
    raise RuntimeError(
        "drjit.detail.cuda_compute_capability(): there is no CUDA backend in this "
        "version"
    )


class scoped_rtld_deepbind:
    """Context manager: import extensions so that they prefer their own symbols.

    On Linux, libraries loaded inside get the ``RTLD_DEEPBIND`` flag; elsewhere it does
    nothing.
    """

    _flags: int | None = None

    def __enter__(self) -> None:
        if sys.platform == "linux":
            import os

            self._flags = sys.getdlopenflags()
            sys.setdlopenflags(self._flags | os.RTLD_DEEPBIND)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._flags is not None:
            sys.setdlopenflags(self._flags)
            self._flags = None
