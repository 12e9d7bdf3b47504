"""Text of values that do not exist yet: what recorded loops and functions print.

Kernels report such values for a number of lanes. From these, arrays are made of the
types that the values had when the program was recorded, and shown as others are.
"""

from __future__ import annotations

import importlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import drjit as dr

from .._flow import regions
from .._freeze import ad, call, function
from . import printing

_core: Any = importlib.import_module("drjit._core")


class _Template(NamedTuple):
    """Stands for an array: its class, and its components if it is nested."""

    cls: Any
    components: list[Any] | None  # of _Template

    def fill(self, columns: Iterator[Any]) -> Any:
        """Make an array of the next columns of values."""
        if self.components is not None:
            return self.cls(*[part.fill(columns) for part in self.components])
        if dr.is_tensor_v(self.cls):
            return self.cls(dr.array_t(self.cls)(next(columns)))
        return self.cls(next(columns))


class _Holder:
    """A template as a leaf of a PyTree: a named tuple would be a container."""

    def __init__(self, template: _Template) -> None:
        self.template = template


def _template(x: Any) -> _Template:
    flat = dr.depth_v(x) == 1 or dr.is_tensor_v(x)
    return _Template(
        type(x), None if flat else [_template(x[i]) for i in range(len(x))]
    )


def report(
    operation: str,
    fmt: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: int,
    active: Any,
    write: Callable[[str], object],
) -> None:
    """Have kernels report what ``fmt`` refers to, and give the text to ``write``.

    It happens for each launch in which a lane of ``active`` gets here, which then shows
    at most ``limit`` lanes (all if negative).
    """
    values = printing.values_of(operation, fmt, args, kwargs)
    arrays: list[Any] = []

    def hold(leaf: Any) -> Any:
        if not dr.is_array_v(leaf) or isinstance(leaf, type) or not dr.is_jit_v(leaf):
            return leaf
        arrays.append(leaf)
        return _Holder(_template(leaf))

    held = _core._tree_map(operation, hold, values)

    def text_of(records: list[tuple[Any, ...]]) -> str:
        columns = iter(zip(*records, strict=True))
        lanes = list(next(columns))

        def fill(leaf: Any) -> Any:
            return leaf.template.fill(columns) if type(leaf) is _Holder else leaf

        with call.aside():  # it may have been called in the midst of anything
            made = _core._tree_map(operation, fill, held)
            return printing.compose(operation, fmt, made, limit, lanes)

    def show(records: list[tuple[Any, ...]], lost: int) -> None:
        if records:
            write(text_of(records))
        if lost:
            warnings.warn(
                f"drjit.{operation}(): symbolic print statement only captured "
                f"{len(records)} of {len(records) + lost} available outputs; specify "
                "'limit' to capture more, and add the field '{thread_id}' to show the "
                "array index of each",
                RuntimeWarning,
                stacklevel=2,
            )

    if active is not False and not ad.is_again():
        regions.report(
            show,
            *arrays,
            mask=None if active is True else active,
            limit=None if limit < 0 else limit,
            operation=operation,
        )


def report_failures(
    operation: str,
    cond: Any,
    fmt: str | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: int,
    backtrace: tuple[int, int],
) -> None:
    """Have kernels report lanes for which an assertion fails, on ``sys.stderr``.

    ``backtrace``: how many of the calls that led here are shown, and how many of the
    last ones are not.
    """
    depth, skip = backtrace
    stack = traceback.extract_stack()
    here = [frame.filename == __file__ or frame.name == operation for frame in stack]
    own = [module.__file__ for module in (function, ad, call)]
    stack = traceback.StackSummary.from_list(
        frame for frame in stack[: here.index(True)] if frame.filename not in own
    )
    shown = stack[: len(stack) - skip][-depth:] if depth > 0 else []
    lines = "".join(traceback.format_list(shown))

    def write(text: str) -> None:
        sys.stderr.write(f"Assertion failure{text}\n{lines}")

    text = f": {fmt}" if fmt else "!"
    report(operation, text, args, kwargs, limit, ~cond, write)
