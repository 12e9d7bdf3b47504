"""Functions that are recorded once, and repeated without being called: ``freeze``.

``_core._Caller`` does what is done each time: it finds the recording that fits the
inputs, repeats it, and puts the result together. Here is what is done when there is
none: which literals become opaque, the function is called and recorded, and warnings,
if that happens too often.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from drjit import _core, _freeze_sizes
from drjit._ad.scopes import isolate_grad
from drjit._enums import JitBackend, JitFlag, LogLevel
from drjit._freeze_ad import Call, Derivatives, Run, Traced, apply, part_paths
from drjit._freeze_reads import Found, Names, learn, listener, unsure_of, walk

# Reasons why a function cannot be repeated, of which each is logged once.
_REASONS = 100

# Recordings for inputs that differ in sizes only: more are dropped.
_SIZES = 8

# Inputs that differ in more than literals, of which it is known which of these change:
# more are forgotten.
_FORMS = 256

# Recordings that are tried without a key.
_RECENT = 4

# Calls in a row that cannot be repeated for such reasons, after which few are recorded.
_REFUSALS = 3
_OF_STATE = ("the function changes", "the structure of the inputs", "it ")

_ONLY_NOW = "its code was seen only now to read"

_METHODS = (staticmethod, classmethod)

# Enumerators are slow to look at.
_WARN, _INFO, _DEBUG = (
    level.value for level in (LogLevel.Warn, LogLevel.Info, LogLevel.Debug)
)
_LLVM = JitBackend.LLVM.value

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
_Noted = tuple[list[_Print], list[tuple[Any, Any]]]


class _Printed(NamedTuple):
    """The result of a function that has printed evaluated arrays."""

    result: Any
    prints: list[_Print]


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is done within is no part of a function that is being recorded."""
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

    ``values`` is a PyTree. The first call is made at once, what it does is no part of
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


class _Look(NamedTuple):
    """What a function reads besides its arguments, at the time of a call."""

    found: Found | None  # None: nothing is looked at
    reads: Any  # the places
    part: Any  # of the inputs: ([inputs], values)

    def refresh(self) -> None:
        """Let the inputs be those that are there now."""
        if self.reads is not None:
            now = self.reads.inputs()
            if now is not NotImplemented:
                self.part[0][:] = now


class _Form:
    """Calls whose inputs differ in literals only: which of these change."""

    def __init__(self, literals: list[tuple[int, int, int]]) -> None:
        self.literals = {number: bits for number, bits, _ in literals}
        self.opaque: set[int] = set()

    def update(
        self, literals: list[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]:
        """Those that have changed for the first time: (number, old bits, new bits).

        Their sizes are as those of arrays.
        """
        changed = [
            (number, self.literals[number], bits)
            for number, bits, _ in literals
            if number not in self.opaque and self.literals[number] != bits
        ]
        self.opaque.update(number for number, *_ in changed)
        return changed


class Recorded(NamedTuple):
    """A recording, and what else is known of it."""

    recording: Any
    tracked: list[str] | None  # paths of its inputs that have derivatives; None: it
    # was loaded, and has no names
    prints: bool  # evaluated arrays
    instances: bool  # it has looked at the instances of a class


class FrozenFunction(_core._Caller):  # type: ignore[misc]
    """What :func:`drjit.freeze` makes of a function: call it like that one.

    ``n_recordings`` says how often the function was recorded, ``n_cached_recordings``
    how many recordings there are; ``clear()`` drops them; ``explain()`` says what the
    latest recording consists of, and why the last call was recorded anew.
    """

    _closure: Any = None  # of a function that was loaded without its code
    _unordered = False  # the same: its sets have the order of another process

    def __init__(
        self,
        function: Callable[..., Any],
        state_fn: Callable[..., Any] | None,
        limit: int | None,
        warn_after: int,
        backend: JitBackend | None,
        auto_opaque: bool,
        enabled: bool,
        allow_reads: bool,
        strict: bool,
    ) -> None:
        _check_numbers(limit, warn_after)
        self.__name__ = type(function).__name__  # unless it has one of its own
        functools.update_wrapper(self, function)
        self._function = function
        self._state_fn = state_fn
        self._limit = limit
        self._warn_after = warn_after
        self._backend = backend
        self._auto_opaque = auto_opaque
        self.enabled = enabled
        self._allow_reads = allow_reads
        self._names: Names | None = Names()  # that it reads; None: it reads nothing
        self._strict = strict
        self._recordings: dict[Any, list[Any]] = {}  # by key, the latest first
        self._recent: list[Any] = []  # those that fitted lately, the latest first
        self._forms: dict[Any, _Form] = {}
        self._domains: dict[tuple[int, int], Any] = {}  # what recordings depend on
        self._tracks = False  # it tracks something by itself
        self._general = False  # kernels read sizes from memory from the start
        self._last: Recorded | None = None
        self._described: Any = None  # inputs of the latest recording, in words
        self._why = "the function was not called yet"
        self._refused = False  # that is why it is called each time
        self._told: set[str] = set()  # why, as logged
        self._unfit: Any = None  # a recording, if that is why
        self._refusals = 0  # calls in a row that could not be kept
        self._unsure: list[str] = []  # what may differ the next time
        self._checks: dict[Any, int] = {}  # by key, the repetition behind which such a
        # recording is made anew
        self.n_recordings = 0

    @property
    def n_cached_recordings(self) -> int:
        return sum(map(len, self._recordings.values()))

    def clear(self) -> None:
        """Forget all recordings."""
        self._recordings.clear()
        self._domains.clear()
        self._forms.clear()
        self.__dict__.pop("_derivatives", None)
        self._recent.clear()
        self._told.clear()
        self._checks.clear()
        self._unsure = []
        self._last = self._described = self._unfit = None
        self.n_recordings = self._refusals = 0
        self._tracks = False

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all recordings to a file, from which :func:`drjit.load_frozen` has
        them in another process of the same user.

        Raises ``TypeError`` where they depend on an object that no other process can
        find, and ``RuntimeError`` if there are none, or no key to authenticate them.
        """
        from drjit import _freeze_file

        if self._domains:
            raise RuntimeError(
                f"drjit.freeze(): save(): recordings of '{self.__name__}' depend on "
                "instances that are entries of arrays, which are those of this process"
            )
        known = self._recordings.values()
        recordings = [recording for each in known for recording in reversed(each)]
        if not recordings:
            raise RuntimeError(
                f"drjit.freeze(): save(): there is no recording of '{self.__name__}'"
            )
        _freeze_file.save(
            path,
            self.__name__,
            recordings,
            self._code_of,
            self._names is not None or self._closure is not None,
            self._state_fn is not None,
        )

    def _code_of(self, recording: Any, rows: list[Any]) -> str:
        """A text for what was recorded: the code of the function, of what it may call,
        and of classes and functions among its inputs."""
        from drjit import _freeze_file

        return _freeze_file.code_of(self._function, self._state_fn, rows)

    def _adopt(self, path: Any, found: list[tuple[Any, Any]]) -> None:
        """Take recordings that were loaded."""
        for key, recording in found:
            self._recordings[key] = [recording, *self._recordings.pop(key, [])]
            self._last = Recorded(recording, None, False, False)
        self._tracks = True  # perhaps
        self._why = f"it was loaded from '{path}'"
        self._unfit, self._refused = None, False

    def _note_other_code(self, path: Any, count: int, total: int) -> None:
        """Recordings that were loaded are of other code."""
        self._why = f"{count} of {total} recordings in '{path}' are of other code"
        if _core._logs(_WARN):
            text = (
                f"drjit.load_frozen(): '{self.__name__}' is recorded anew: {self._why}"
            )
            print(text, file=sys.stderr)

    def explain(self) -> str:
        """The latest recording as text, and why it was made; or why the function is
        called each time."""
        text = "no recording\n"
        if self._last is not None:
            text = self._last.recording.text()
        what = "called each time" if self._refused else "recorded"
        unsure = "".join(f"not certain: {reason}\n" for reason in self._unsure)
        return f"{text}{what} because {self._reason()}\n{unsure}"

    def export(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        adjoint: tuple[Any, ...] | None = None,
        tangent: tuple[Any, ...] | None = None,
    ) -> None:
        """Write the latest recording to a folder, as a library in C.

        The folder ``path``, which is made if need be, gets a header, tables, the
        kernels as machine code, the sources of what runs them, a ``Makefile`` and an
        example.
        ``name`` is that of the function in C, an identifier (else that of this one).
        What ``make`` builds there needs the C library and a CPU with the same
        instructions, and computes the same bits; it serves the sizes that the recording
        serves. Inputs and outputs are fields of structs, named after parameters and
        paths; gradients begin with ``grad_``, what the function has changed in its
        inputs with ``new_``.

        With arguments as ``adjoint``, of which some have derivatives, the function is
        recorded anew for these, and the library has a second one, ``NAME_adjoint``: it
        takes the inputs and the gradients of outputs (``grad_result``, ...), and gives
        those of the inputs that have derivatives. With arguments as ``tangent``, it has
        ``NAME_tangent``, which takes the gradients of the inputs (``grad_x``, ...) and
        gives those of the outputs: forward mode. For both, these have to be the same.

        Raises RuntimeError if there is no recording, if it has kernels that were not
        made by the ``native`` engine, if there is no place for it in C (prints,
        instances of classes), if ``name`` is no identifier, or if a file cannot be
        written.
        """
        from drjit import _freeze_export

        if name is None:
            name = getattr(self._function, "__name__", "function")
        wanted = {"adjoint": adjoint, "tangent": tangent}
        modes = {mode: given for mode, given in wanted.items() if given is not None}
        if modes:
            fresh = self._fresh(self._function, self._state_fn)
            functions = _freeze_export.with_derivatives(fresh, name, modes)
        else:
            functions = _freeze_export.latest(self, name)
        _freeze_export.export(path, functions)

    def _last_recorded(self) -> Recorded:
        """The latest recording, which has to be there."""
        if self._last is None or self._last.tracked is None:
            raise RuntimeError(
                "drjit.FrozenFunction.export(): there is no recording of this process: "
                f"call the function first ({self._why})"
            )
        return self._last

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    # ------------------------------------------------------------------- calls

    def _call(self, args: Any, kwargs: Any, state: Any) -> Any:
        """A call that none of the latest recordings fits."""
        look = self._look(args, kwargs, state)
        inputs = (args, kwargs, look.part, state)
        snapshot = None
        if not self._tracks:
            found = self._repeat(look, inputs)
            if type(found) is not _core._Snapshot:
                return found
            snapshot = found
        return self._call_tracked(look, snapshot, inputs, args, kwargs)

    def _look(self, args: Any, kwargs: Any, state: Any) -> _Look:
        """What the function reads besides its arguments now."""
        if self._names is None:
            return _Look(None, None, self._closure)
        roots = [
            (getattr(self, "__name__", "f"), self._function),
            ("args", args),
            ("kwargs", kwargs),
            ("state", state),
        ]
        found = walk(self._names, roots)
        return _Look(found, _core._Reads(found.rows), (found.inputs, found.values))

    def _check_domains(self) -> None:
        """Drop the recordings if instances have come or gone."""
        seen = list(self._domains.values())
        if any(domain.objects() is not objects for domain, objects in seen):
            self._recordings.clear()
            self._domains.clear()
            self._recent.clear()

    def _around(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """What the function reads besides its arguments, and its state."""
        state = None if self._state_fn is None else self._state_fn(*args, **kwargs)
        return self._look(args, kwargs, state).part, state

    @functools.cached_property
    def _derivatives(self) -> Derivatives:
        return Derivatives(self._function, self._around, self._freeze_like)

    def _fresh(
        self,
        function: Callable[..., Any],
        state_fn: Callable[..., Any] | None = None,
    ) -> FrozenFunction:
        """Another function, frozen as this one is."""
        return FrozenFunction(
            function,
            state_fn,
            self._limit,
            self._warn_after,
            self._backend,
            self._auto_opaque,
            True,
            self._allow_reads,
            self._strict,
        )

    def _freeze_like(self, function: Callable[..., Any]) -> FrozenFunction:
        """A function of explicit inputs, frozen as this one is."""
        frozen = self._fresh(function)
        frozen._names = None
        frozen.__name__ = f"a derivative of {self.__name__}"
        return frozen

    def _repeat(self, look: _Look, inputs: tuple[Any, ...]) -> Any:
        """The result of a recording that fits; without one, the inputs' snapshot."""
        before = [*look.found.inputs] if look.found else []
        found = self._find(inputs, self._unordered)
        if type(found) is _core._Snapshot:
            return found
        result, recording = found
        if look.found:
            look.reads.store(look.found.inputs, before)
            recording.reads = look.reads
        if self._limit:
            self._move_to_end(recording)
        if type(result) is not _Printed:  # each result of those has to come here
            self._remember(recording)
            return result
        for show, settings, values in result.prints:
            show(settings, values)
        return result.result

    def _remember(self, recording: Any) -> None:
        """Try a recording first from now on."""
        others = [other for other in self._recent if other is not recording]
        self._recent[:] = [recording, *others[: _RECENT - 1]]
        if self._limit:
            for other in others[_RECENT - 1 :]:
                self._move_to_end(other)

    def _call_plain(
        self,
        look: _Look,
        snapshot: Any,
        inputs: tuple[Any, ...],
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """The result of ``function(*args, **kwargs)``, which is recorded if need be."""
        literals = snapshot.literals
        if literals and self._settle_literals(snapshot, literals):
            result = self._repeat(look, inputs)
            if type(result) is not _core._Snapshot:
                return result
            snapshot = result
        if self._refusals >= _REFUSALS and not self._tries_again():
            return function(*args, **kwargs)
        return self._record(look, snapshot, inputs, function, args, kwargs)

    def _tries_again(self) -> bool:
        """Is this call recorded, although those before could not be kept?"""
        self._refusals += 1
        count = self._refusals
        return count & (count - 1) == 0 and count.bit_length() % 3 == 1

    def _call_tracked(
        self,
        look: _Look,
        snapshot: Any,
        inputs: tuple[Any, ...],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """A call that may have to do with derivatives.

        It is repeated, or recorded if need be, with the inputs as they are, between
        isolate_grad(). What the function has done to derivatives is done again then,
        and what it returns or changes depends on the inputs by one operation.
        ``snapshot``: of the inputs, for which there is no recording; None: not known.
        """
        try:
            call = Call(inputs)
        except RecursionError as error:
            return self._call_cyclic(error, look, snapshot, inputs, args, kwargs)
        full = call.full(inputs)
        run = Run(call, self._function, inputs, look.refresh)
        outputs: list[Any] = []
        with isolate_grad():
            found = snapshot
            if found is None or full is not inputs:
                found = self._repeat(look, full)
            if type(found) is _core._Snapshot:
                found = self._call_plain(look, found, full, run, args, kwargs)
            if run.called and not (run.recorded and self._limit != 0):
                return run.left[0]
            if type(found) is not Traced:
                return found
            if not call.nodes:
                self._tracks = True
                self._recent.clear()
            outputs = apply(self._derivatives, call, found, inputs, not run.called)
        self._derivatives.prepare(call, outputs, run.called)
        return found.result

    def _call_cyclic(
        self,
        error: RecursionError,
        look: _Look,
        snapshot: Any,
        inputs: tuple[Any, ...],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """A call with inputs that contain themselves, which cannot be copied."""
        path = _find_cycle(inputs)
        if path is None:
            raise error
        if snapshot is not None and not snapshot.tracked:
            function = self._function
            return self._call_plain(look, snapshot, inputs, function, args, kwargs)
        from drjit._freeze_notes import named

        with isolate_grad():
            result = self._function(*args, **kwargs)
        self._refuse(f"{named(path)} contains itself, and an input has derivatives")
        return result

    def _settle_literals(
        self, snapshot: Any, literals: list[tuple[int, int, int]]
    ) -> bool:
        """Make literals opaque that change. Were there any?"""
        if not self._auto_opaque:
            snapshot.make_opaque([number for number, *_ in literals])
            return True
        key = snapshot.form
        form = self._forms.pop(key, None)  # to the end: the oldest ones go first
        self._forms[key] = form or _Form(literals)
        if form is None:
            if len(self._forms) > _FORMS:
                self._forms.pop(next(iter(self._forms)), None)
            return False
        changed = form.update(literals)
        if changed:
            self._note_literals(snapshot, changed)
        snapshot.make_opaque(sorted(form.opaque))
        return bool(form.opaque)

    def _note_literals(
        self, snapshot: Any, changed: list[tuple[int, int, int]]
    ) -> None:
        if _core._logs(_INFO):
            from drjit import _freeze_notes

            rows = [(snapshot.path(number), *bits) for number, *bits in changed]
            print(_freeze_notes.literals(self.__name__, rows))

    def _record(
        self,
        look: _Look,
        snapshot: Any,
        inputs: tuple[Any, ...],
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> Any:
        known = self._note_reason(snapshot)
        if known or snapshot.key not in self._recordings:
            self._note_changes(inputs, known)
        # Kernels know sizes as long as these do not change.
        general = self._general or known
        try:
            return self._record_once(
                look, snapshot, inputs, function, args, kwargs, general, False
            )
        except _freeze_sizes.WantsNumbers:
            pass
        return self._record_once(
            look, snapshot, inputs, function, args, kwargs, general, True
        )

    def _record_once(
        self,
        look: _Look,
        snapshot: Any,
        inputs: tuple[Any, ...],
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        general: bool,
        numbers: bool,
    ) -> Any:
        """``numbers``: sizes are ints while it is recorded."""
        backend = _LLVM if self._backend is None else self._backend.value
        noted: _Noted = ([], [])
        ran: Any = ((), ())
        sizes: list[Any] = []
        left: list[Any] = []  # what the function leaves behind
        run = function if type(function) is Run else None
        roots = [left, inputs, noted, run.left if run else None]
        _core._freeze_start(snapshot, backend, general, self._allow_reads, numbers)
        try:
            _local.noted = noted
            result, ran = self._listen(function, args, kwargs)
            left.append(result)
            del result
            sizes = _freeze_sizes.settle(roots)
            look, reason = self._look_again(look, inputs, ran)
            if reason is None and run:
                reason = run.refused
            unsure = _unsure(look, ran)
            recording = reason or _core._freeze_stop(
                snapshot,
                inputs,
                look.reads,
                _Printed(left[0], noted[0]) if noted[0] else left[0],
                left[0],
            )
        except BaseException as error:
            try:
                sizes = sizes or _core._sizes_alive() or []
                _freeze_sizes.explain(error, snapshot, inputs, look.reads, noted)
            finally:
                _core._freeze_abort()
            raise
        finally:
            _local.noted = None
            _freeze_sizes.release(roots, sizes)
        if isinstance(recording, str):
            _core._freeze_abort()
            self._refusals += recording.startswith(_OF_STATE)
            self._refuse(_with_names(recording, look))
            return left[0]
        self._refusals = 0
        if run:
            run.recorded = True
        self._keep(snapshot, inputs, recording, noted, unsure)
        return left[0]

    def _listen(
        self, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> tuple[Any, tuple[Any, Any]]:
        """The result, and what ran: code, and functions in C."""
        if self._names is None:
            return function(*args, **kwargs), ((), ())
        ears = listener()
        try:
            result = ears.listen(function, args, kwargs)
        except BaseException:
            with contextlib.suppress(Exception):  # the function's own counts
                learn(self._names, ears.heard()[0])
            raise
        return result, ears.heard()

    def _look_again(
        self, look: _Look, inputs: tuple[Any, ...], ran: tuple[Any, Any]
    ) -> tuple[_Look, str | None]:
        """What the function reads, and why the call cannot be repeated."""
        if look.found is None or self._names is None:
            return look, None
        place = look.reads.changed()
        if place >= 0:
            return look, f"the function changes {look.found.labels[place]}"
        look.refresh()
        codes, calls = ran
        if learn(self._names, codes):
            args, kwargs, _, state, *_ = inputs
            again = self._look(args, kwargs, state)
            assert again.found is not None
            if again.found.values[0] != look.found.values[0]:
                new = {*again.found.labels} - {*look.found.labels}
                more = ", ".join(sorted(new)[:3])
                return look, f"{_ONLY_NOW} {more}"
            look = _Look(again.found, again.reads, look.part)
        return look, None

    def _keep(
        self,
        snapshot: Any,
        inputs: tuple[Any, ...],
        recording: Any,
        noted: _Noted,
        unsure: list[str],
    ) -> None:
        prints, domains = noted
        if domains:
            self._domains.update({(id(d), id(seen)): (d, seen) for d, seen in domains})
        key = snapshot.key
        known = self._recordings.pop(key, [])  # to the end: the oldest ones go first
        due = [other for other in known if not other.left]
        if unsure:
            before = self._checks.pop(key, 0) if due else 0
            self._checks[key] = _next_check(before)
            recording.left = self._checks[key] - before
        for other in due:  # this one takes its place
            known.remove(other)
            self._recent[:] = [each for each in self._recent if each is not other]
            self.n_recordings -= 1
        self._recordings[key] = [recording, *known]
        self._forget(self._recordings[key], _SIZES)
        self.n_recordings += 1
        if not prints and self._limit != 0:
            self._remember(recording)
        if self._limit is not None:
            self._drop(self._limit)
        tracked = part_paths(inputs[:4], inputs[5]) if len(inputs) > 4 else []
        self._last = Recorded(recording, tracked, bool(prints), bool(domains))
        self._unsure = unsure

    def _refuse(self, reason: str) -> None:
        """What was recorded cannot be repeated."""
        self._why = f"it cannot be repeated: {reason}"
        self._unfit, self._refused = None, True
        text = f"drjit.freeze(): '{self.__name__}' cannot be repeated: {reason}"
        if reason.startswith(_ONLY_NOW):  # the next call can be
            return
        if self._strict:
            raise RuntimeError(text)
        new = reason not in self._told and len(self._told) < _REASONS
        if new and _core._logs(_WARN):
            self._told.add(reason)
            print(text, file=sys.stderr)

    def _move_to_end(self, recording: Any) -> None:
        """A recording was used: others go first."""
        for key, known in list(self._recordings.items()):
            if recording in known:
                self._recordings.pop(key, None)
                others = [other for other in known if other is not recording]
                self._recordings[key] = [recording, *others]

    def _drop(self, limit: int) -> None:
        """Forget the recordings that were not used for the longest time, if there are
        too many."""
        for recording in reversed(self._recent):
            self._move_to_end(recording)
        while self.n_cached_recordings > limit:
            oldest = next(iter(self._recordings))
            known = self._recordings[oldest]
            self._forget(known, len(known) - 1)
            if not known:
                del self._recordings[oldest]

    def _forget(self, known: list[Any], limit: int) -> None:
        """Forget the last ones of a list."""
        while len(known) > limit:
            oldest = known.pop()
            self._recent[:] = [other for other in self._recent if other is not oldest]

    def _reason(self) -> str:
        return self._why + (f":\n{self._unfit.text()}" if self._unfit else "")

    def _note_reason(self, snapshot: Any) -> bool:
        """Why no recording fits. Are there any with this key?"""
        all_known = self._recordings.get(snapshot.key, ())
        known = [other for other in all_known if other.left]
        self._refused = False
        if len(known) < len(all_known) and not known:
            self._why = "it is checked now and then, as something is not certain"
            self._unfit = None
        elif known:
            self._why = "the sizes, contents or flags do not fit"
            self._unfit = known[0]
        else:
            self._why = "there was none for inputs of such types, structure and values"
            self._unfit = None
        return bool(known)

    def _note_changes(self, inputs: tuple[Any, ...], sizes: bool) -> None:
        """Say what is different from the latest recording: in a warning, if there are
        too many, and with log level Debug. Nothing is described before that."""
        debug, count = _core._logs(_DEBUG), self.n_recordings
        often = self._limit != 0 and count >= self._warn_after
        wanted = debug or often or count + 1 == self._warn_after
        if not (wanted and _core._logs(_WARN)):
            self._described = None
            return
        from drjit import _freeze_notes

        before, now = self._described, _freeze_notes.describe(inputs)
        self._described = now
        changes = _freeze_notes.differences(before or now, now, sizes)
        if often:
            text = _freeze_notes.warning(self.__name__, count + 1, changes, self._why)
            print(text, file=sys.stderr)
        if debug and before is not None:
            print(f"{self.__name__} is recorded again:")
            for line in changes or ["contents of arrays, or values with the same text"]:
                print(f"    {line}")


def _detached(result: Any) -> Any:
    try:
        return _core.detach(result) if _core.grad_enabled(result) else result
    except RecursionError:  # it contains itself, which cannot be repeated
        return result


def _next_check(before: int) -> int:
    """2, 8, 64, 512, ..."""
    return {0: 2, 2: 8}.get(before, 8 * before)


def _unsure(look: _Look, ran: tuple[Any, Any]) -> list[str]:
    """What a recording depends on that is not known to be the same the next time."""
    if look.found is None:
        return []
    found = [*look.found.unsure, *filter(None, map(unsure_of, ran[1]))]
    return list(dict.fromkeys(found))


def _with_names(reason: str, look: _Look) -> str:
    """A reason with a path in the inputs as the user knows it."""
    start, bracket, path = reason.partition("the function changes [")
    if start or not bracket:
        return reason
    path = f"[{path}"
    place = re.match(r"\[2\]\[0\]\[(\d+)\]", path)
    if place is None or look.found is None:
        from drjit._freeze_notes import named

        return f"the function changes {named(path)}"
    pairs = zip(look.found.rows, look.found.labels, strict=True)
    labels = [label for row, label in pairs if row[1]]
    return f"the function changes {labels[int(place[1])]}{path[place.end() :]}"


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """What a node of a PyTree refers to, and how."""
    if isinstance(value, (list, tuple)):
        for k, entry in enumerate(value):
            yield f"[{k}]", entry
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield f"[{key!r}]", entry
    else:
        fields = getattr(type(value), "DRJIT_STRUCT", None)
        if not isinstance(fields, dict):
            fields = getattr(type(value), "__dataclass_fields__", {})
        for name in fields:
            if hasattr(value, name):
                yield f".{name}", getattr(value, name)


def _find_cycle(root: Any) -> str | None:
    """The path of the first node of a PyTree that is a node around it, too."""
    stack = [("", id(root), _children(root))]
    above, done = {id(root)}, set()
    while stack:
        path, number, children = stack[-1]
        step, child = next(children, ("", None))
        if not step:
            stack.pop()
            above.discard(number)
            done.add(number)
        elif id(child) in above:
            return path + step
        elif id(child) not in done:
            above.add(id(child))
            stack.append((path + step, id(child), _children(child)))
    return None


def _check_numbers(limit: Any, warn_after: Any) -> None:
    for name, value in (("limit", limit), ("warn_after", warn_after)):
        if value is None and name == "limit":
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(
                f"drjit.freeze(): '{name}' is of type {type(value).__name__}, expected "
                "an int"
            )
        if value < 0:
            raise ValueError(
                f"drjit.freeze(): '{name}' is {value}, expected at least 0"
            )


def freeze(
    f: Callable[..., Any] | None = None,
    *,
    state_fn: Callable[..., Any] | None = None,
    limit: int | None = None,
    warn_after: int = 10,
    backend: JitBackend | None = None,
    auto_opaque: bool = True,
    enabled: bool = True,
    allow_reads: bool = False,
    strict: bool = False,
) -> Any:
    """Record what a function does the first time, and repeat it without calling it.

    A decorator. Inputs are the arguments, what ``state_fn`` returns (called with the
    same arguments), and what the function reads from its closure, from globals, and as
    attributes of objects. A recording serves all calls with inputs of the same
    structure and types, with the same values of what is not an array, and with arrays
    of other sizes, as far as the function does not depend on these. What it scatters to
    or replaces among its inputs is written back, as if it had been called. A function
    that changes other values, or leaves arrays elsewhere, is called each time.

    ``limit``: recordings that are kept at most, those that were used last; 0: none is,
    the function is called each time. ``warn_after``: from that many recordings on, log
    a warning that names the inputs which differ from those of the one before.
    ``backend``: where there are no inputs to
    tell. ``auto_opaque``: literals that change from call to call become arrays in
    memory; if it is False, all are from the start. ``enabled``: False calls the
    function as if it was not decorated; so does clearing ``JitFlag.KernelFreezing``.
    ``allow_reads``: reading entries of arrays (``x[0]``, ``bool(x)``, ``x.numpy()``) is
    no error: a recording serves the calls in which they are the same. ``strict``: where
    a function cannot be repeated, so that it is called each time, the call is a
    RuntimeError that says why; else a line of the log does, and ``explain()``.
    """

    def decorate(function: Any) -> Any:
        outer = type(function) if isinstance(function, _METHODS) else None
        inner = function.__func__ if outer else function
        if not callable(inner):
            raise TypeError(
                f"drjit.freeze(): 'f' is of type {type(function).__name__}, expected a "
                "function"
            )
        frozen = FrozenFunction(
            inner,
            state_fn,
            limit,
            warn_after,
            backend,
            auto_opaque,
            enabled,
            allow_reads,
            strict,
        )
        return outer(frozen) if outer else frozen

    return decorate if f is None else decorate(f)
