"""What goes wrong with tasks."""

from __future__ import annotations

import operator
from typing import Any


def positive(value: Any, name: str, where: str) -> int:
    """A number that is an argument: an integer of at least 1. Raises errors as the
    function ``where``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(
            f"drjit.dist.{where}: '{name}' is of type {type(value).__name__}, expected "
            "an int"
        )
    number = operator.index(value)
    if number < 1:
        raise ValueError(
            f"drjit.dist.{where}: '{name}' is {number}, expected at least 1"
        )
    return number


class TaskError(RuntimeError):
    """A task failed in a worker. The cause (``__cause__``) is the exception there, if
    it could be sent.

    Attributes:
        number (int): of the block or item.
        traceback (str): that of the worker.

    Args:
        message (str): what went wrong.
        number (int): of the block or item.
        traceback (str): that of the worker.

    Example:
        >>> error = dr.dist.TaskError("block 3: out of memory", 3)
        >>> error.number
        3

    See also:
        :func:`drjit.dist.map`, :func:`drjit.dist.sum`
    """

    def __init__(self, message: str, number: int, traceback: str = "") -> None:
        super().__init__(message)
        self.number = number
        self.traceback = traceback

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.number, self.traceback)


class BrokenExecutorError(RuntimeError):
    """The executor broke, such as by the death of a worker.

    It is not a :class:`drjit.dist.Pool`, whose processes are replaced. What was given
    as ``finished`` has the results that were there: the same call with another executor
    goes on from these.

    Example:
        >>> issubclass(dr.dist.BrokenExecutorError, RuntimeError)
        True

    See also:
        :func:`drjit.dist.map`, :func:`drjit.dist.sum`
    """
