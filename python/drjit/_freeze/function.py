"""Functions that are recorded once, and repeated without being called: ``freeze``.

``_core._FrozenFunctionBase`` does what is done each time: it finds the recording that
fits the inputs, repeats it, and puts the result together. Here is what is done when
there is none: which literals become opaque, whether the function is recorded
(:mod:`drjit._freeze.call`), what is kept, and warnings, if that happens too often.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any, BinaryIO, Literal, NamedTuple

from drjit import _core
from drjit._ad.scopes import isolate_grad
from drjit._enums import JitBackend, LogLevel
from drjit._freeze.ad import Call, Derivatives, Run, Traced, apply, part_paths
from drjit._freeze.call import IN_BODY, ONLY_NOW, Invocation, Noted, find_cycle, refresh
from drjit._freeze.kept import FIRST_CHECK, NEVER, UNASKED, Kept
from drjit._freeze.names import Names

# Reasons why a function cannot be repeated, of which each is logged once.
_REASONS = 100

# Inputs that differ in more than literals, of which it is known which of these change:
# more are forgotten.
_FORMS = 256

# Calls in a row that cannot be repeated for such reasons, after which few are recorded.
_REFUSALS = 3
_OF_STATE = ("the function changes", "the structure of the inputs", "it ")

_METHODS = (staticmethod, classmethod)

# Enumerators are slow to look at.
_WARN, _INFO, _DEBUG = (
    level.value for level in (LogLevel.Warn, LogLevel.Info, LogLevel.Debug)
)


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


class FrozenFunction(_core._FrozenFunctionBase):  # type: ignore[misc]
    """What :func:`drjit.freeze` makes of a function; it is called in the same way.

    ``n_recordings`` is how often the function was recorded, ``n_cached_recordings`` how
    many recordings are kept, and ``enabled = False`` switches recording off.
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
        self._kept = Kept(limit)
        self._recordings, self._recent = self._kept.by_key, self._kept.recent
        self._warn_after = warn_after
        self._backend = backend
        self._auto_opaque = auto_opaque
        self.enabled = enabled
        self._allow_reads = allow_reads
        self._names: Names | None = Names()  # that it reads; None: it reads nothing
        self._strict = strict
        self._domains: dict[tuple[int, int], Any] = {}  # what recordings depend on
        self._general = False  # kernels read sizes from memory from the start
        self._told: set[str] = set()  # why it is called each time, as logged
        self._forms: dict[Any, _Form] = {}
        self.clear()

    def _remember(self, recording: Any) -> None:
        """For ``_core._FrozenFunctionBase``: one that fitted is among the latest."""
        self._kept.prefer(recording)

    def clear(self) -> None:
        """Forget all recordings."""
        self._kept.clear()
        self._kept.differences = 0
        self._domains.clear()
        self._forms.clear()
        self._told.clear()
        self.__dict__.pop("_derivatives", None)
        self._tracks = False  # it tracks something by itself
        self._looks = False  # ... looks for tangents from further back than its inputs
        self._last: Recorded | None = None
        self._described: Any = None  # inputs of the latest recording, in words
        self._why = "the function was not called yet"
        self._refused = False  # that is why it is called each time
        self._unfit: Any = None  # a recording, if that is why
        self._refusals = 0  # calls in a row that could not be kept
        self._unsure: list[str] = []  # what may differ the next time
        self.n_recordings = 0

    @property
    def n_cached_recordings(self) -> int:
        """How many recordings are kept."""
        return len(self._kept)

    def save(
        self, path: str | os.PathLike[str] | BinaryIO, *, key: bytes | None = None
    ) -> None:
        """Write all recordings to a file, for :func:`drjit.load_frozen` in another
        process, of any machine with the same order of bytes.

        Args:
            path (str | os.PathLike | BinaryIO): the file, or an open binary file.
            key (bytes | None): signs the file (BLAKE2b with this key, 1 to 64 bytes),
                so that it loads only with the same key. Without one, it has a hash
                that finds damage.

        Raises:
            TypeError: a recording depends on an object that no other process can find.
            RuntimeError: there is no recording, or one depends on instances of classes
                or prints something.
        """
        from drjit._freeze.file import write
        from drjit._freeze.portable import check_key, pack

        check_key(key, "freeze(): save()")
        recordings = self._kept.all()
        if not recordings:
            raise RuntimeError(
                f"drjit.freeze(): save(): there is no recording of '{self.__name__}'"
            )
        write(path, pack(self, recordings, key))

    def __reduce__(self) -> Any:
        from drjit._freeze.portable import reduce

        return reduce(self)

    def __copy__(self) -> FrozenFunction:
        from drjit._freeze.portable import copy

        return copy(self)

    def __deepcopy__(self, memo: Any) -> FrozenFunction:
        return self.__copy__()

    def _code_of(self, recording: Any, rows: list[Any]) -> str:
        """A text for what was recorded: the code of the function, of what it may call,
        and of classes and functions among its inputs."""
        from drjit._freeze.portable import code_of

        return code_of(self._function, self._state_fn, rows)

    def _adopt(self, source: str, found: list[tuple[Any, Any]]) -> None:
        """Take recordings that were loaded."""
        for key, recording in found:
            self._kept.add(key, recording)
            recording.check = UNASKED if self._names is not None else NEVER
            self._last = Recorded(recording, None, False, False)
        self._tracks = self._looks = True  # perhaps
        self._why = f"it was loaded from {source}"
        self._unfit, self._refused = None, False

    def _note_other_code(self, source: str, count: int, total: int) -> None:
        """Recordings that were loaded are of other code."""
        self._why = f"{count} of {total} recordings in {source} are of other code"
        if _core._logs(_WARN):
            text = (
                f"drjit.load_frozen(): '{self.__name__}' is recorded anew: {self._why}"
            )
            print(text, file=sys.stderr)

    def explain(self) -> str:
        """Describe the latest recording, and say why it was made.

        Returns:
            str: conditions, arrays and commands of the recording, and what was
            different from earlier ones; or why the function is called each time.
        """
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
        bounds: Literal["pin", "check"] | None = None,
    ) -> None:
        """Write the latest recording to a folder, as a library in C.

        The folder gets a header, tables, the kernels as machine code, the sources of
        what runs them, a ``Makefile`` and an example. What ``make`` builds there needs
        the C library and a CPU with the same instructions, and computes the same bits;
        it serves the sizes that the recording serves. Inputs and outputs are fields of
        structures, named after parameters and paths; gradients begin with ``grad_``,
        what the function has changed in its inputs with ``new_``.

        Args:
            path (str | os.PathLike): the folder, which is made if need be.
            name (str | None): the name of the function in C, an identifier; by default
                that of this function.
            adjoint (tuple | None): arguments, of which some have derivatives. The
                function is recorded anew for these, and the library has a second
                function, ``NAME_adjoint``: it takes the inputs and the gradients of
                outputs (``grad_result``, ...), and gives those of the inputs.
            tangent (tuple | None): the same for forward mode: ``NAME_tangent`` takes
                the gradients of the inputs (``grad_x``, ...), and gives those of the
                outputs. If there are both, these are the arguments of ``adjoint``.
            bounds (str | None): how indices of gathers and scatters are kept within
                arrays. By default, that is up to the caller; the header says which
                inputs are accessed by index. ``"pin"``: inputs on which the sizes of
                such arrays depend need to have the sizes of the recording. ``"check"``:
                each index is checked, and the call returns an error; the recording has
                to be one that was made with ``JitFlag.Debug``, as those of ``adjoint``
                and ``tangent`` are.

        Raises:
            RuntimeError: there is no recording; it has kernels that were not made by
                the engine ``native``, prints, or depends on instances of classes;
                indices are to be checked and it was made without ``JitFlag.Debug``;
                ``name`` is not an identifier, or one that the C library or the sources
                declare; or a file cannot be written.
            ValueError: ``bounds`` is another text.
        """
        from drjit._freeze import export as library

        library.check_bounds(bounds)
        if name is None:
            name = getattr(self._function, "__name__", "function")
        wanted = {"adjoint": adjoint, "tangent": tangent}
        modes = {mode: given for mode, given in wanted.items() if given is not None}
        if modes:
            fresh = self._fresh(self._function, self._state_fn)
            with library.recording(bounds):
                functions = library.with_derivatives(fresh, name, modes)
        else:
            functions = library.latest(self, name)
        library.export(path, functions, bounds)

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
        call = Invocation(self, args, kwargs, state)
        if self._tracks or not call.repeat():
            self._call_tracked(call)
        return call.result

    def _check_domains(self) -> None:
        """Drop the recordings if instances have come or gone."""
        seen = list(self._domains.values())
        if any(domain.objects() is not objects for domain, objects in seen):
            self._kept.clear()
            self._domains.clear()

    def _around(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """What the function reads besides its arguments, and its state."""
        state = None if self._state_fn is None else self._state_fn(*args, **kwargs)
        return Invocation(self, args, kwargs, state).part, state

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
            self._kept.limit,
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

    def _call_plain(self, call: Invocation) -> None:
        """A call for which there is no recording."""
        literals = call.snapshot.literals
        if literals and self._settle_literals(call.snapshot, literals):
            if call.repeat():
                return
        if self._kept.is_hopeless():
            self._refuse(self._difference())
            call.call()
        elif self._refusals >= _REFUSALS and not self._tries_again():
            call.call()
        else:
            self._record(call)

    def _tries_again(self) -> bool:
        """Is this call recorded, although those before could not be kept?"""
        self._refusals += 1
        count = self._refusals
        return count & (count - 1) == 0 and count.bit_length() % 3 == 1

    def _call_tracked(self, call: Invocation) -> None:
        """A call that may have to do with derivatives.

        It is repeated, or recorded if need be, with the inputs as they are, between
        isolate_grad(). What the function has done to derivatives is done again then,
        and what it returns or changes depends on the inputs by one operation.
        """
        inputs = call.inputs
        try:
            tracked = Call(inputs, self._looks)
        except RecursionError as error:
            return self._call_cyclic(error, call)
        now = functools.partial(refresh, call.reads, call.part)
        run = Run(tracked, self._function, inputs, now)
        call.inputs, call.function = tracked.full(inputs), run
        with isolate_grad():
            known = call.snapshot is not None and call.inputs is inputs
            if known or not call.repeat():
                self._call_plain(call)
            found = call.result
            self._looks |= run.looked
            if run.called:
                call.result = run.left[0]
                if not (run.recorded and self._kept):
                    return None
            if type(found) is not Traced:
                return None
            call.result = found.result
            if not tracked.nodes:
                self._tracks = True
                self._recent.clear()
            derivatives = self._derivatives
            outputs = apply(derivatives, tracked, found, inputs, not run.called)
        derivatives.prepare(tracked, outputs, run.called)

    def _call_cyclic(self, error: RecursionError, call: Invocation) -> None:
        """A call with inputs that contain themselves, which cannot be copied."""
        path = find_cycle(call.inputs)
        if path is None:
            raise error
        if call.snapshot is not None and not call.snapshot.tracked:
            return self._call_plain(call)
        from drjit._freeze.notes import named

        with isolate_grad():
            call.call()
        self._refuse(f"{named(path)} contains itself, and an input has derivatives")

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
            from drjit._freeze import notes

            rows = [(snapshot.path(number), *bits) for number, *bits in changed]
            print(notes.literals(self.__name__, rows))

    def _record(self, call: Invocation) -> None:
        key = call.snapshot.key
        checked = self._kept.due(call.snapshot)
        if checked is not None:
            recording, noted = call.record(checked)
            if recording == IN_BODY or not self._kept.differs(checked, recording):
                return
            self._kept.remove(key, checked)
            self.__dict__.pop("_derivatives", None)
            self._why = "a check has found that it does something else"
            if self._kept.is_hopeless():
                self._unsure = call.unsure()
                self._kept.clear()
                return self._refuse(self._difference())
        else:
            known = self._note_reason(call.snapshot)
            self._note_changes(call.inputs, known)
            # Kernels know sizes as long as these do not change.
            recording, noted = call.record(self._general or known)
        if isinstance(recording, str):
            self._refusals += recording.startswith(_OF_STATE)
            self._refuse(recording)
        else:
            self._refusals = 0
            self._keep(call, recording, noted)
            self.n_recordings += checked is None  # else it takes the place of one

    def _difference(self) -> str:
        unsure = f" ({'; '.join(self._unsure[:3])})" if self._unsure else ""
        return f"checks have found that it does not do the same each time{unsure}"

    def _keep(self, call: Invocation, recording: Any, noted: Noted) -> None:
        prints, domains = noted
        self._domains.update({(id(d), id(seen)): (d, seen) for d, seen in domains})
        self._unsure = call.unsure()
        recording.check = UNASKED if self._names is not None else NEVER
        if self._unsure:
            recording.check = FIRST_CHECK
        self._kept.add(call.snapshot.key, recording)
        if not prints and self._kept.limit != 0:
            self._kept.prefer(recording)
        if self._kept.limit is not None:
            self._kept.limit_to(self._kept.limit)
        inputs = call.inputs
        tracked = part_paths(inputs[:4], inputs[5]) if len(inputs) > 4 else []
        self._last = Recorded(recording, tracked, bool(prints), bool(domains))

    def _refuse(self, reason: str) -> None:
        """What was recorded cannot be repeated."""
        self._why = f"it cannot be repeated: {reason}"
        self._unfit, self._refused = None, True
        text = f"drjit.freeze(): '{self.__name__}' cannot be repeated: {reason}"
        if reason == IN_BODY or reason.startswith(ONLY_NOW):  # the next call can be
            return
        if self._strict:
            raise RuntimeError(text)
        new = reason not in self._told and len(self._told) < _REASONS
        if new and _core._logs(_WARN):
            self._told.add(reason)
            print(text, file=sys.stderr)

    def _reason(self) -> str:
        return self._why + (f":\n{self._unfit.text()}" if self._unfit else "")

    def _note_reason(self, snapshot: Any) -> bool:
        """Why no recording fits. Are there any with this key?"""
        known = self._recordings.get(snapshot.key)
        self._refused = False
        self._unfit = known[0] if known else None
        self._why = "there was none for inputs of such types, structure and values"
        if known:
            self._why = "the sizes, contents or flags do not fit"
        return bool(known)

    def _note_changes(self, inputs: tuple[Any, ...], sizes: bool) -> None:
        """Say what is different from the latest recording: in a warning, if there are
        too many, and with log level Debug. Nothing is described before that."""
        debug, count = _core._logs(_DEBUG), self.n_recordings
        often = self._kept.limit != 0 and count >= self._warn_after
        wanted = debug or often or count + 1 == self._warn_after
        if not (wanted and _core._logs(_WARN)):
            self._described = None
            return
        from drjit._freeze import notes

        before, now = self._described, notes.describe(inputs)
        self._described = now
        changes = notes.differences(before or now, now, sizes)
        if often:
            text = notes.warning(self.__name__, count + 1, changes, self._why)
            print(text, file=sys.stderr)
        if debug and before is not None:
            print(f"{self.__name__} is recorded again:")
            for line in changes or ["contents of arrays, or values with the same text"]:
                print(f"    {line}")


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
    """Record what a function does the first time, and repeat it later without calling
    it.

    A decorator. In repetitions no Python code runs and nothing is traced: kernels are
    launched at once. Inputs are the arguments, what ``state_fn`` returns, and what the
    function reads from closures, globals and attributes of objects. A recording serves
    calls with inputs of the same structure and types, the same values of everything
    that is not an array, and arrays of other contents and, as far as the function does
    not depend on them, other sizes. Other inputs make a new recording. Changes of
    arrays among the inputs are repeated, too.

    A function that does more (it counts in a Python variable, or keeps arrays
    elsewhere) is called each time, with the right results; a line of the log says why.
    While a function is recorded it cannot read array contents.
    [Freezing](../freezing.md) explains all this.

    Args:
        f (callable | None): the function. With ``None``, which is ``@dr.freeze(...)``
            with parameters, a decorator is returned.
        state_fn (callable | None): a function of the same arguments whose result is a
            further input.
        limit (int | None): how many recordings are kept; those that were not used for
            longest are dropped. With 0, the function is called each time. ``None``: all
            are kept.
        warn_after (int): from this number of recordings on, each is a warning of the
            log that names the inputs which differ.
        backend (JitBackend | None): the backend of functions without inputs that tell.
        auto_opaque (bool): literals among the inputs that change from call to call
            become arrays in memory; if ``False``, all literals are from the start.
        enabled (bool): ``False`` calls the function as if it was not decorated, as does
            clearing ``JitFlag.KernelFreezing``.
        allow_reads (bool): permit reading entries (``x[0]``, ``bool(x)``,
            ``x.numpy()``): a recording then serves calls in which these entries are the
            same.
        strict (bool): a call that cannot be repeated is an error.

    Returns:
        callable: the frozen function. ``n_recordings`` says how often it was recorded,
        ``n_cached_recordings`` how many recordings are kept; ``clear()`` forgets them,
        ``explain()`` describes the latest one, ``save(path)`` writes them to a file,
        and ``export(folder)`` writes the latest as a library in C.

    Raises:
        TypeError: ``f`` is not callable, or a parameter is of another type.
        RuntimeError: when called: the function reads array contents, or cannot be
            repeated and is ``strict``.

    Derivative:
        In both directions; derivatives are recorded and repeated as well.

    Evaluation:
        Evaluates the inputs, and the results with the kernels of the recording.

    Example:
        >>> @dr.freeze
        ... def step(x, v):
        ...     print("called")
        ...     v = v - 0.1 * x
        ...     return x + 0.1 * v, v
        >>> x, v = dr.opaque(Float, 1, 3), dr.opaque(Float, 0, 3)
        >>> for _ in range(100):
        ...     x, v = step(x, v)
        called
        >>> step.n_recordings
        1

    See also:
        :func:`drjit.load_frozen`, :func:`drjit.make_opaque`
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
