"""Local memory: arrays that each lane has for itself.

A ``Local`` is a PyTree of the extension's local arrays, one for each array in an entry.
So loops, conditionals and calls carry it as they carry other structures.
"""

from __future__ import annotations

import importlib
import sys
from typing import Generic, TypeVar

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_core: Any = importlib.import_module("drjit._core")

T = TypeVar("T")


def _leaves(operation: str, tree: Any) -> list[Any]:
    nodes = _core._tree_nodes(operation, tree)
    return [node for node, keys in nodes if keys is None]


def _structure(operation: str, tree: Any) -> list[Any]:
    """The classes and keys of containers, None for leaves."""
    nodes = _core._tree_nodes(operation, tree)
    return [None if keys is None else (type(node), list(keys)) for node, keys in nodes]


class Local(Generic[T]):
    """A buffer of entries of type ``T`` that each lane has for itself.

    ``Local(other)`` is a copy of another one; :py:func:`alloc_local` makes the first.
    ``len(buffer)`` is the number of entries; ``buffer[i]`` and ``buffer[i] = value``
    read and write without a mask. A buffer can be part of the state of a loop, of
    arguments and results of conditionals and calls. It exists within a kernel only: it
    cannot be evaluated.
    """

    DRJIT_STRUCT = {"entries": object, "written": object}  # noqa: RUF012

    entries: Any
    written: Any  # in debug mode: which entries have been; None: not watched

    def __init__(self, arg: Local[T]) -> None:
        if not isinstance(arg, Local):
            raise TypeError(
                f"drjit.Local(): 'arg' is of type {type(arg).__name__}, expected a "
                "drjit.Local to copy; alloc_local() makes a new one"
            )
        self.entries = _core._tree_map("Local", lambda leaf: leaf.copy(), arg.entries)
        self.written = arg.written and arg.written.copy()

    def read(self, index: Any, active: Any = True) -> T:
        """Return the entries at ``index``, in each lane that of its own buffer.

        ``index`` is an integer or an array of them, and ``active`` a mask. Lanes that
        it switches off get 0, as do positions beyond the end; ``JitFlag.Debug`` reports
        those. Entries that have not been written are 0. They are reported, too, on
        ``sys.stderr``, if the flag was set when the buffer was made, and that without a
        value.
        """
        if self.written is not None and dr.flag(dr.JitFlag.Debug):
            self._check(index, active)
        result: T = _core._tree_map(
            "Local.read", lambda leaf: leaf.read(index, active), self.entries
        )
        return result

    def write(self, value: T, index: Any, active: Any = True) -> None:
        """Set the entries at ``index`` to ``value`` in lanes where ``active`` is set.

        Positions beyond the end are not written; ``JitFlag.Debug`` reports them. Raises
        ``TypeError`` if the value has another structure than an entry.
        """
        if _structure("Local.write", self.entries) != _structure("Local.write", value):
            raise TypeError(
                f"drjit.Local.write(): 'value' is of type {type(value).__name__}, "
                "expected the structure of an entry"
            )
        targets = _leaves("Local.write", self.entries)
        before = [target.copy() for target in targets]
        try:
            for target, part in zip(
                targets, _leaves("Local.write", value), strict=True
            ):
                target.write(part, index, active)
            if self.written is not None:
                self.written.write(True, index, active)
        except BaseException:
            for target, former in zip(targets, before, strict=True):
                target.assign(former)
            raise

    def _check(self, index: Any, active: Any) -> None:
        """Report lanes that read what has not been written."""
        from .._text import recorded

        lanes = ~self.written.read(index, active) & (index < len(self)) & active
        frame: Any = sys._getframe(1)
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        recorded.report(
            "Local.read",
            f"drjit.Local.read(): uninitialized read from {{index}} ({place})\n",
            (),
            {"index": index},
            20,
            lanes,
            sys.stderr.write,
        )

    def __getitem__(self, arg: Any, /) -> T:
        """Read the entries at ``arg``."""
        return self.read(arg)

    def __setitem__(self, arg0: Any, arg1: T, /) -> None:
        """Write the entries at ``arg0``."""
        self.write(arg1, arg0)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(_leaves("Local.__len__", self.entries)[0])


def alloc_local(dtype: type[T], size: int, value: T | None = None) -> Local[T]:
    """Return a buffer of ``size`` entries that each lane has for itself.

    ``dtype`` is an array type that is not a tensor, or the class of a PyTree of such,
    of which :py:func:`zeros` can make an instance. All entries are copies of ``value``,
    an instance of it; 0 if it is not given. Dynamic nested arrays (``ArrayXf``) need a
    ``value``: all entries have as many components. Buffers live in the registers or the
    stack of a kernel, up to 65,536 bytes each. Raises ``TypeError`` for other types,
    ``ValueError`` where another number of components than these or 1 is written.
    """
    if not isinstance(dtype, type):
        raise TypeError(f"drjit.alloc_local(): 'dtype' is {dtype!r}, expected a type")

    def allocate(leaf: Any) -> Any:
        return _core._alloc_local(type(leaf), size, leaf)

    made: Local[T] = Local.__new__(Local)
    made.written = None
    if issubclass(dtype, dr.ArrayBase):
        made.entries = _core._alloc_local(dtype, size, value)
        return _watched(made, value, dtype, size)
    model = dr.zeros(dtype) if value is None else value
    if type(model) is not dtype:
        raise TypeError(
            f"drjit.alloc_local(): 'value' is of type {type(model).__name__}, expected "
            f"{dtype.__name__}"
        )
    leaves = _leaves("alloc_local", model)
    if not leaves or not all(isinstance(leaf, dr.ArrayBase) for leaf in leaves):
        raise TypeError(
            f"drjit.alloc_local(): 'dtype' is {dtype.__name__}, expected a PyTree of "
            "just-in-time compiled arrays"
        )
    made.entries = _core._tree_map("alloc_local", allocate, model)
    return _watched(made, value, type(leaves[0]), size)


def _watched(made: Local[T], value: Any, array: Any, size: int) -> Local[T]:
    """In debug mode, watch which entries have a value."""
    if dr.flag(dr.JitFlag.Debug):
        mask = dr.mask_t(dr.leaf_t(array))
        made.written = _core._alloc_local(mask, size, value is not None)
    return made
