"""``drjit.profile``: what each line of a program costs."""

from __future__ import annotations

import os
import sys
import time

import drjit as dr
from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_SPANS = 1_000_000  # intervals that the trace file has at most


def _folders() -> tuple[str, ...]:
    """Where lines are part of the line that called them: this package and others."""
    import sysconfig

    found = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    found.append(os.path.dirname(dr.__file__))
    both = (path for folder in found for path in (folder, os.path.realpath(folder)))
    return tuple(path + os.sep for path in both)


class Line:
    """The costs of a line of a program, as :class:`drjit.profile` found them."""

    __slots__ = (
        "file", "number", "hits", "host_time", "launches", "kernel_time",
        "compile_time", "bytes",
    )  # fmt: skip

    def __init__(self, file: str, number: int) -> None:
        self.file = file
        self.number = number
        self.hits = self.launches = self.bytes = 0
        self.host_time = self.kernel_time = self.compile_time = 0.0

    @property
    def text(self) -> str:
        """The line itself, without what it is indented by."""
        import linecache

        return linecache.getline(self.file, self.number).strip()

    @property
    def name(self) -> str:
        """File and number of the line, as messages and labels have them."""
        return f"{os.path.basename(self.file)}:{self.number}"


class profile:
    """Find out which lines of a program take the time, kernels included.

    Within the ``with`` block, each line of the calling thread is timed that belongs to
    the program: lines of this package, of the standard library and of installed
    packages count as part of the line that called them. Printing the object shows a
    table, most expensive lines first. Each launch belongs to the line that enqueued it,
    although it may run while the program goes on; a line that waits for a result has
    the waiting as its own time.

    Timing costs about a microsecond a line, and arrays that are made meanwhile carry
    the line as their label. Loops that are recorded run once.

    Args:
        limit (int): number of lines that the table shows.

    Raises:
        RuntimeError: a debugger or another profiler follows the thread already
            (``sys.settrace``).

    Example:
        >>> with dr.profile() as p:
        ...     x = dr.sin(dr.arange(Float, 1000))
        ...     y = x[999]  # waits
        >>> sum(line.launches for line in p.lines)
        1

    See also:
        :func:`drjit.kernel_history`, :class:`drjit.profile_range`
    """

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit
        #: The lines that have run (:class:`Line`), most expensive ones first.
        self.lines: list[Line] = []
        #: The launches, as :func:`drjit.kernel_history` gives them.
        self.launches: list[dict[str, Any]] = []
        self._lines: dict[tuple[str, int], Line] = {}
        self._spans: list[tuple[Line, float, float]] = []
        self._own: dict[str, bool] = {}  # does a file belong to the program?
        self._others = _folders()
        self._current: Line | None = None
        self._since = 0.0

    def __enter__(self) -> profile:
        if sys.gettrace() is not None:
            raise RuntimeError(
                "drjit.profile(): sys.settrace() is in use by a debugger, a coverage "
                "tool or drjit.JitFlag.Debug, expected that nothing follows this thread"
            )
        self._flag = dr.flag(dr.JitFlag.KernelHistory)
        dr.set_flag(dr.JitFlag.KernelHistory, True)
        dr.kernel_history_clear()
        frame: FrameType | None = sys._getframe(1)
        while frame:
            frame.f_trace = self._trace_line
            frame = frame.f_back
        self._since = time.perf_counter()
        sys.settrace(self._trace_call)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.settrace(None)
        self._leave(time.perf_counter())
        _core._set_source(None, 0)
        frame: FrameType | None = sys._getframe(1)
        while frame:
            frame.f_trace = None
            frame = frame.f_back
        dr.sync_thread()
        self.launches = dr.kernel_history()
        dr.set_flag(dr.JitFlag.KernelHistory, self._flag)
        self._add_launches()
        self.lines = sorted(
            self._lines.values(),
            key=lambda line: max(line.host_time, line.kernel_time),
            reverse=True,
        )

    # ------------------------------------------------------------ while it runs

    def _is_own(self, file: str) -> bool:
        own = self._own.get(file)
        if own is None:
            own = not file.startswith(("<frozen", *self._others))
            own = own and not os.path.realpath(file).startswith(self._others)
            self._own[file] = own
        return own

    def _leave(self, now: float) -> None:
        line = self._current
        if line is not None:
            line.host_time += (now - self._since) * 1e3
            if len(self._spans) < _SPANS:
                self._spans.append((line, self._since, now))
        self._current = None

    def _enter(self, frame: FrameType, number: int, hits: int) -> None:
        key = (frame.f_code.co_filename, number)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(*key)
        line.hits += hits
        _core._set_source(os.path.basename(key[0]), number)
        self._current = line
        self._since = time.perf_counter()

    def _trace_call(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._trace_line if self._is_own(frame.f_code.co_filename) else None

    def _trace_line(self, frame: FrameType, event: str, arg: object) -> Any:
        now = time.perf_counter()
        if event == "line":
            self._leave(now)
            if self._is_own(frame.f_code.co_filename):
                self._enter(frame, frame.f_lineno, 1)
        elif event == "return":
            self._leave(now)
            caller = frame.f_back
            while caller and not self._is_own(caller.f_code.co_filename):
                caller = caller.f_back
            if caller:
                self._enter(caller, caller.f_lineno, 0)
        return self._trace_line

    def _add_launches(self) -> None:
        by_name = {line.name: line for line in self._lines.values()}
        for entry in self.launches:
            line = by_name.get(entry["source"] or "")
            if line is not None:
                line.launches += 1
                line.kernel_time += entry["execution_time"]
                line.bytes += entry["bytes_read"] + entry["bytes_written"]
                line.compile_time += entry.get("codegen_time", 0)
                line.compile_time += entry.get("backend_time", 0)

    # ------------------------------------------------------------ what it shows

    def _rows(self) -> list[tuple[str, ...]]:
        head = ("line", "hits", "host ms", "launches", "kernel ms", "compile ms", "")
        rows: list[tuple[str, ...]] = [head]
        for line in self.lines[: self.limit]:
            rows.append(
                (
                    line.name,
                    str(line.hits),
                    f"{line.host_time:.3f}",
                    str(line.launches),
                    f"{line.kernel_time:.3f}",
                    f"{line.compile_time:.3f}",
                    line.text[:60],
                )
            )
        return rows

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        out = []
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [
                cell.rjust(w) for cell, w in zip(row[1:-1], widths[1:-1], strict=True)
            ]
            out.append("  ".join([*cells, row[-1]]).rstrip())
        host = sum(line.host_time for line in self.lines)
        kernels = sum(entry["execution_time"] for entry in self.launches)
        out.append(
            f"{host:.3f} ms on the host, {kernels:.3f} ms in {len(self.launches)} "
            "launches"
        )
        return "\n".join(out)

    def _repr_html_(self) -> str:
        from .notebook import table

        return table(self._rows())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a timeline that Perfetto and ``chrome://tracing`` show.

        Lines are on one row, launches on another.

        Args:
            path (str): name of the file, JSON in the trace event format.
        """
        import json

        events = [
            {
                "name": line.name,
                "ph": "X",
                "pid": 0,
                "tid": 0,
                "ts": start * 1e6,
                "dur": (end - start) * 1e6,
                "args": {"text": line.text},
            }
            for line, start, end in self._spans
        ]
        for entry in self.launches:
            duration = entry["execution_time"] * 1e3
            events.append(
                {
                    "name": f"{entry['type'].name}, n={entry['size']}",
                    "ph": "X",
                    "pid": 0,
                    "tid": 1,
                    "ts": entry["end_time"] * 1e3 - duration,
                    "dur": duration,
                    "args": {"source": entry["source"], "hash": entry.get("hash")},
                }
            )
        for tid, name in enumerate(("lines", "launches")):
            about = {"ph": "M", "pid": 0, "tid": tid, "args": {"name": name}}
            events.append({"name": "thread_name", **about})
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)
