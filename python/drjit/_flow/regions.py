"""Local arrays and reports as the core has them.

Private. What is public is built on this.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_core: Any = importlib.import_module("drjit._core")

Local = _core._Local


def report(
    function: Callable[[list[tuple[Any, ...]], int], object],
    *values: Any,
    mask: Any = None,
    limit: int | None = None,
    operation: str = "_flow.regions.report",
) -> None:
    """Have kernels report values: ``function(records, lost)`` after each launch.

    Each record is a tuple of a lane and the values of all leaves of ``values`` there,
    ordered by lane, and in the order of execution within a lane. There are at most
    ``limit`` of them, and ``lost`` further ones. Only lanes of ``mask`` (``None``: all)
    report. The function is called between two instructions of the main thread.
    ``operation`` is the function on whose behalf errors are raised.
    """
    _core._report(operation, function, mask, values, limit)
