"""A call of a frozen function that none of the latest recordings fits.

It is repeated by another one, or the function is called: to be recorded, or to be
checked against a recording. Whether it is, and what becomes of that, is up to
:class:`drjit._freeze.function.FrozenFunction`.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from drjit import _core
from drjit._enums import JitFlag
from drjit._freeze.ad import Run
from drjit._freeze.names import learn, listener
from drjit._freeze.reads import Found, walk
from drjit._freeze.sizes import WantsNumbers, explain, release, settle
from drjit._freeze.unsure import sets, unsure_of, unsure_of_names

# The next call can be repeated, or one elsewhere.
IN_BODY = "it is called within a loop or conditional that is evaluated"
ONLY_NOW = "its code was seen only now to read"

# 'noted': of the function that this thread records, if it does, what it has printed,
# and the instances that it has looked at.
_local = threading.local()


class _Print(NamedTuple):
    """What is called each time: a function, with settings and values."""

    show: Callable[[Any, Any], None]
    settings: Any
    values: Any


# What is noted of a function: what it has printed, (domain, instances) that it has
# looked at.
Noted = tuple[list[_Print], list[tuple[Any, Any]]]


class Printed(NamedTuple):
    """The result of a function that has printed evaluated arrays."""

    result: Any
    prints: list[_Print]


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is done within is not part of a function that is being recorded."""
    if not _core.flag(JitFlag.FreezingScope):
        yield
        return
    _core._freeze_pause()
    try:
        yield
    finally:
        _core._freeze_resume()


def note_print(show: Callable[[Any, Any], None], settings: Any, values: Any) -> None:
    """Have a function that is being recorded call ``show(settings, values)`` each time.

    ``values`` is a PyTree. The first call is made at once, what it does is not part of
    the recording. Those of repetitions come when everything else has been launched. To
    be saved, ``show`` has to be found by its name.
    """
    values = _core.copy(_core.detach(values))
    _core.eval(values)
    with aside():
        show(settings, values)
    _local.noted[0].append(_Print(show, settings, values))


def note_domain(domain: Any, objects: Any) -> None:
    """What this thread records depends on the instances of a domain."""
    noted = getattr(_local, "noted", None)
    if noted is not None:
        noted[1].append((domain, objects))


def refresh(reads: Any, part: Any) -> None:
    """Let the inputs be those that are there now."""
    now = NotImplemented if reads is None else reads.inputs()
    if now is not NotImplemented:
        part[0][:] = now


class Invocation:
    """``frozen`` is the function that was called; what is called in its place may be
    another one (``function``), and more may be among the inputs than these."""

    snapshot: Any = None  # of the inputs, for which there is no recording
    result: Any = None  # once there is one
    found: Found | None = None  # what it reads besides its arguments,
    reads: Any = None  # and where; None: nothing is looked at
    ran: tuple[Any, Any, Any] = ((), (), ())  # code, functions in C, formats
    flags = 0  # before it ran

    def __init__(self, frozen: Any, args: Any, kwargs: Any, state: Any) -> None:
        self.frozen, self.function = frozen, frozen._function
        self.args, self.kwargs, self.state = args, kwargs, state
        self.part = frozen._closure  # of the inputs: ([inputs], values)
        if frozen._names is not None:
            self.found = self._walk()
            self.reads = self.found.reads()
            self.part = self.found.inputs, self.found.values
        self.inputs: tuple[Any, ...] = (args, kwargs, self.part, state)

    def _walk(self) -> Found:
        roots = [
            (getattr(self.frozen, "__name__", "f"), self.frozen._function),
            ("args", self.args),
            ("kwargs", self.kwargs),
            ("state", self.state),
        ]
        return walk(self.frozen._names, roots)

    # ------------------------------------------------------------------ repeating

    def repeat(self) -> bool:
        """Is there a recording that fits? Else there is a snapshot of the inputs."""
        frozen = self.frozen
        before = [*self.found.inputs] if self.found else []
        found = frozen._find(self.inputs, frozen._unordered)
        if type(found) is _core._Snapshot:
            self.snapshot = found
            return False
        self.result, recording = found
        if self.found:
            self.reads.store(self.found.inputs, before)
            recording.reads = self.reads
        if frozen._kept.limit:
            frozen._kept.note_use(recording)
        if type(self.result) is Printed:  # each result of those has to come here
            for show, settings, values in self.result.prints:
                show(settings, values)
            self.result = self.result.result
        else:
            frozen._kept.prefer(recording)
        return True

    # ------------------------------------------------------------------ recording

    def call(self) -> None:
        self.result = self.function(*self.args, **self.kwargs)

    def record(self, settings: Any) -> tuple[Any, Noted]:
        """A recording of the call, or why there cannot be one; and what was noted.

        ``settings``: a recording that it is to be compared with; else, whether sizes
        that kernels compute with are in memory.
        """
        try:
            return self._record(settings, numbers=False)
        except WantsNumbers:
            return self._record(settings, numbers=True)

    def _record(self, settings: Any, numbers: bool) -> tuple[Any, Noted]:
        """``numbers``: sizes are ints meanwhile."""
        frozen = self.frozen
        noted: Noted = ([], [])
        sizes: list[Any] = []
        left: list[Any] = []  # what the function leaves behind
        run = self.function if type(self.function) is Run else None
        roots = [left, self.inputs, noted, run.left if run else None]
        begun = _core._freeze_start(
            self.snapshot, frozen._backend, settings, frozen._allow_reads, numbers
        )
        if not begun:
            self.call()
            return IN_BODY, noted
        try:
            _local.noted = noted
            left.append(self._listen())
            sizes = settle(roots)
            recording = self._look_again() or (run and run.refused)
            if not recording:
                result = Printed(left[0], noted[0]) if noted[0] else left[0]
                recording = _core._freeze_stop(
                    self.snapshot, self.inputs, self.reads, result, left[0]
                )
                del result
        except BaseException as error:
            try:
                sizes = sizes or _core._sizes_alive() or []
                refresh(self.reads, self.part)
                explain(error, self.snapshot, self.inputs, self.reads, noted)
            finally:
                _core._freeze_abort()
            raise
        finally:
            _local.noted = None
            release(roots, sizes)
        self.result = left[0]
        if isinstance(recording, str):
            _core._freeze_abort()
            return self._with_names(recording), noted
        if run:
            run.recorded = True
        return recording, noted

    def _listen(self) -> Any:
        """Call the function, and note what runs."""
        names = self.frozen._names
        if names is None:
            return self.function(*self.args, **self.kwargs)
        self.flags = _core._flags()
        ears = listener()
        try:
            result = ears.listen(self.function, self.args, self.kwargs)
        except BaseException:
            with contextlib.suppress(Exception):  # the function's own counts
                ran, _, formats = ears.heard()
                learn(names, ran, formats)
            raise
        self.ran = ears.heard()
        return result

    def _look_again(self) -> str | None:
        """What the function reads, now that it has run: why the call cannot be
        repeated."""
        if self.found is None:
            return None
        if _core._flags() != self.flags:
            return "the function changes flags"
        setting = next(filter(None, map(sets, self.ran[1])), None)
        if setting:
            return setting
        place = self.reads.changed()
        if place >= 0:
            return f"the function changes {self.found.labels[place]}"
        refresh(self.reads, self.part)
        if learn(self.frozen._names, self.ran[0], self.ran[2]):
            again = self._walk()
            if again.values[0] != self.found.values[0]:
                new = {*again.labels} - {*self.found.labels}
                return f"{ONLY_NOW} {', '.join(sorted(new)[:3])}"
            self.found, self.reads = again, again.reads()
        return None

    def unsure(self) -> list[str]:
        """What the call depends on that is not known to be the same the next time."""
        if self.found is None:
            return []
        found = [*self.found.unsure, *filter(None, map(unsure_of, self.ran[1]))]
        return list(dict.fromkeys([*found, *unsure_of_names(self.ran[0])]))

    def _with_names(self, reason: str) -> str:
        """A reason with a path in the inputs as the user knows it."""
        start, bracket, path = reason.partition("the function changes [")
        if start or not bracket:
            return reason
        path = f"[{path}"
        place = re.match(r"\[2\]\[0\]\[(\d+)\]", path)
        if place is None or self.found is None:
            from drjit._freeze.notes import named

            return f"the function changes {named(path)}"
        pairs = zip(self.found.rows, self.found.labels, strict=True)
        labels = [label for row, label in pairs if row[1]]
        return f"the function changes {labels[int(place[1])]}{path[place.end() :]}"


def find_cycle(tree: Any) -> str | None:
    """The path of the first node of a PyTree that is a node around it, too."""
    from drjit._text.nodes import paths

    for path, event in paths("freeze", tree):
        if event.kind == "leaf" and _core._is_container(event.item):
            return path
    return None
