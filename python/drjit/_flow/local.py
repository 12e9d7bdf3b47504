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
    """A buffer of entries that each lane has for itself, within a kernel.

    ``len(buffer)`` is the number of entries, ``buffer[i]`` reads one and
    ``buffer[i] = value`` writes one. A buffer can be part of the state of loops, and of
    the arguments and results of conditionals and calls, which copy it. It lives in the
    registers or the stack of a kernel and ends with that; it cannot be evaluated.

    Args:
        arg (Local): the buffer to copy. :func:`drjit.alloc_local` makes new ones.

    Raises:
        TypeError: ``arg`` is not a buffer.

    Derivative:
        Entries carry derivatives, from what is written to what is read.

    Example:
        >>> stack = dr.alloc_local(UInt, 4)
        >>> stack[0] = UInt(5, 6)  # two lanes
        >>> former = dr.Local(stack)
        >>> stack.write(9, 0, active=Bool(True, False))
        >>> stack[0], former[0], len(stack)
        ([9, 6], [5, 6], 4)

    See also:
        :func:`drjit.alloc_local`, :func:`drjit.while_loop`
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
        """Read entries: each lane that of its own buffer.

        Args:
            index (integer array | int): which entry. Negative ones do not count from
                the end.
            active (mask | bool): lanes that read. The others get 0.

        Returns:
            array | PyTree: an entry; 0 beyond the end, and where nothing has been
            written and there was no initial value. ``JitFlag.Debug`` reports both with
            the line of the program; the latter if the flag was set when the buffer was
            made, too.
        """
        if self.written is not None and dr.flag(dr.JitFlag.Debug):
            self._check(index, active)
        result: T = _core._tree_map(
            "Local.read", lambda leaf: leaf.read(index, active), self.entries
        )
        return result

    def write(self, value: T, index: Any, active: Any = True) -> None:
        """Write entries: each lane that of its own buffer.

        Args:
            value (array | PyTree): what to write, of the structure of an entry. Numbers
                and arrays of other types are converted.
            index (integer array | int): which entry. Beyond the end nothing is written,
                which ``JitFlag.Debug`` reports.
            active (mask | bool): lanes that write.

        Raises:
            TypeError: ``value`` has another structure than an entry.
            ValueError: ``value`` has neither as many components as an entry nor 1.
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
        """Read an entry; see :meth:`drjit.Local.read`."""
        return self.read(arg)

    def __setitem__(self, arg0: Any, arg1: T, /) -> None:
        """Write an entry; see :meth:`drjit.Local.write`."""
        self.write(arg1, arg0)

    def __len__(self) -> int:
        """The number of entries."""
        return len(_leaves("Local.__len__", self.entries)[0])


def alloc_local(dtype: type[T], size: int, value: T | None = None) -> Local[T]:
    """Make a buffer of entries that each lane has for itself, within a kernel.

    For stacks, lists of the nearest, or sorting: positions are computed while the
    kernel runs. [Control flow](../flow.md#local-memory) has an example with a loop.

    Args:
        dtype (type): type of an entry: a just-in-time compiled array type other than a
            tensor, or the class of a PyTree of such.
        size (int): number of entries, 1 or more. Arrays of entries have at most 65,536
            bytes for each lane.
        value (array | PyTree | None): what all entries are at first; 0 if it is not
            given. ``ArrayXf`` and the like need one, which says how many components
            entries have.

    Returns:
        Local: the buffer.

    Raises:
        TypeError: ``dtype`` is of another kind, or ``value`` of another type.
        RuntimeError: ``size`` is 0 or too large.
        ValueError: ``size`` is negative.

    Derivative:
        Entries carry derivatives, from what is written to what is read.

    Example:
        >>> squares = dr.alloc_local(Float, 3)
        >>> for i in range(3):
        ...     squares[i] = Float(1, 2) * i**2
        >>> squares[UInt(2, 1)]  # entry 2 of the first lane, 1 of the second
        [4, 2]

    See also:
        :class:`drjit.Local`, :func:`drjit.while_loop`
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
