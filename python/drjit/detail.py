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

__all__ = [
    "any_symbolic", "block_mkperm", "can_scatter_reduce", "check_compatibility",
    "collect_indices", "cuda_compute_capability", "cuda_version", "launch_stats",
    "leak_warnings", "llvm_version", "malloc_clear_statistics", "malloc_watermark",
    "new_scope", "reduce_identity", "reset", "scope", "scoped_rtld_deepbind",
    "set_leak_warnings", "set_scope", "traverse_py_cb_ro", "traverse_py_cb_rw",
]  # fmt: skip

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
    """Call a function with the number of each variable in an object's attributes.

    This is what C++ calls for an object of Python.

    Args:
        arg (object): an object whose attributes are PyTrees.
        callback (callable): ``callback(index, "", "")``. ``index`` is ``x.index`` of a
            flat array, with ``x.index_ad`` in the upper 32 bits.

    Raises:
        TypeError: ``callback`` is not callable.

    Example:
        >>> class State:
        ...     def __init__(self):
        ...         self.x, self.y = Float(1, 2), [UInt(3), "text"]
        >>> found = []
        >>> dr.detail.traverse_py_cb_ro(State(), lambda index, *_: found.append(index))
        >>> len(found)
        2

    See also:
        :func:`drjit.detail.traverse_py_cb_rw`, :func:`drjit.detail.collect_indices`
    """
    for value in _attributes("traverse_py_cb_ro", arg, callback):
        _core._traverse_indices(value, callback, False)


def traverse_py_cb_rw(arg: Any, callback: Any, /) -> None:
    """Replace each variable in an object's attributes by what a function returns.

    Arrays are changed in place.

    Args:
        arg (object): an object whose attributes are PyTrees.
        callback (callable): ``callback(index, "", "")``, as for
            :func:`drjit.detail.traverse_py_cb_ro`. It returns the index of a variable
            of the same type that is not tracked, or has the node that was given.

    Raises:
        TypeError: ``callback`` is not callable, or returns something else than an
            integer.
        ValueError: it returns the index of something else. Arrays before have been
            changed.

    Example:
        >>> class State:
        ...     def __init__(self):
        ...         self.x = Float(1, 2)
        >>> state, other = State(), Float(7, 8)
        >>> dr.detail.traverse_py_cb_rw(state, lambda index, *_: other.index)
        >>> state.x
        [7, 8]

    See also:
        :func:`drjit.detail.traverse_py_cb_ro`
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
    """Have variables reported that are still referenced after Python has freed
    everything.

    They go to the log (level ``Warn``) at the end of the process. Off by default, since
    references that do no harm are reported, too.

    Args:
        arg (bool): on or off.

    Raises:
        TypeError: ``arg`` is not a ``bool``.

    Example:
        >>> dr.detail.set_leak_warnings(True)
        >>> dr.detail.leak_warnings()
        True
        >>> dr.detail.set_leak_warnings(False)

    See also:
        :func:`drjit.detail.leak_warnings`, :func:`drjit.whos`
    """
    _core._set_leak_warnings(arg)


def leak_warnings() -> bool:
    """Are leaked variables reported at the end of the process?

    Returns:
        bool: what :func:`drjit.detail.set_leak_warnings` has set.

    Example:
        >>> dr.detail.leak_warnings()
        False
    """
    return bool(_core._leak_warnings())


def scope(backend: Any) -> int:
    """Return the number of the current scope of this thread.

    Equal expressions of one scope share a variable; those of different scopes do not.

    Args:
        backend (JitBackend): whose scope.

    Returns:
        int: the number.

    Raises:
        RuntimeError: the backend is not available.

    Example:
        >>> dr.detail.scope(dr.JitBackend.LLVM) >= 0
        True

    See also:
        :func:`drjit.detail.new_scope`, :func:`drjit.detail.set_scope`
    """
    return int(_core._scope(backend))


def new_scope(backend: Any) -> int:
    """Begin a new scope of this thread, and return its number.

    Expressions from before are not found equal to those that follow.

    Args:
        backend (JitBackend): whose scope.

    Returns:
        int: the number.

    Raises:
        RuntimeError: the backend is not available.

    Example:
        >>> a, b = Float(1, 2), Float(3, 4)
        >>> x = a + b
        >>> y = a + b
        >>> scope = dr.detail.new_scope(dr.JitBackend.LLVM)
        >>> z = a + b
        >>> x.index == y.index, x.index == z.index
        (True, False)

    See also:
        :func:`drjit.detail.scope`, :func:`drjit.detail.set_scope`
    """
    return int(_core._new_scope(backend))


def set_scope(backend: Any, scope: int) -> None:
    """Go back to a scope of this thread.

    Args:
        backend (JitBackend): whose scope.
        scope (int): a number that :func:`drjit.detail.new_scope` or
            :func:`drjit.detail.scope` has returned.

    Raises:
        RuntimeError: there was no such scope, or the backend is not available.

    Example:
        >>> outer = dr.detail.scope(dr.JitBackend.LLVM)
        >>> inner = dr.detail.new_scope(dr.JitBackend.LLVM)
        >>> dr.detail.set_scope(dr.JitBackend.LLVM, outer)
        >>> dr.detail.scope(dr.JitBackend.LLVM) == outer
        True
    """
    _core._set_scope(backend, scope)


def cuda_version() -> tuple[int, int]:
    """Return the version of the CUDA driver.

    Returns:
        tuple[int, int]: ``(0, 0)``, since this version has no CUDA backend.

    Example:
        >>> dr.detail.cuda_version()
        (0, 0)
    """
    return (0, 0)


def cuda_compute_capability() -> int:
    """Return the compute capability of the current GPU.

    Returns:
        int: never, since this version has no CUDA backend.

    Raises:
        RuntimeError: always.

    Example:
        >>> dr.detail.cuda_compute_capability()
        Traceback (most recent call last):
        RuntimeError: drjit.detail.cuda_compute_capability(): there is no CUDA ...
    """
    raise RuntimeError(
        "drjit.detail.cuda_compute_capability(): there is no CUDA backend in this "
        "version"
    )


class scoped_rtld_deepbind:
    """Import extension modules so that they prefer their own symbols, in a ``with``
    block.

    On Linux, libraries that are loaded inside get the flag ``RTLD_DEEPBIND``.
    Elsewhere, the block has no effect.

    Example:
        >>> with dr.detail.scoped_rtld_deepbind():
        ...     import math  # an extension module
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
