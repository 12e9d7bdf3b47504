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
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from drjit import _core, _freeze_sizes
from drjit._ad.modes import traverse
from drjit._ad.scopes import isolate_grad
from drjit._enums import ADMode, JitBackend, JitFlag, LogLevel, VarState
from drjit._freeze_ad import (
    Call,
    Derivatives,
    Ends,
    gradient_of,
    leaves,
    tracked_positions,
)
from drjit._freeze_implicit import Implicit

_LITERAL_NOTE = (
    "While traversing the frozen function input, new literal variables have\n"
    "been discovered which changed from one call to another. These will be made\n"
    "opaque, and the input will be traversed again. This will incur some\n"
    "overhead. To prevent this, make those variables opaque in beforehand. Below,\n"
    "a list of variables that changed will be shown."
)

# Of the inputs of a call.
_PARTS = {
    "[0]": "args",
    "[1]": "kwargs",
    "[2]": "closure",
    "[3]": "state",
    "[4]": "gradients",
}

_WARNING = (
    "The frozen function has been recorded {} times, this indicates a problem\n"
    "with how the frozen function is being called. For example, calling it\n"
    "with changing python values such as an index. For more information about\n"
    "which variables changed set the log level to ``LogLevel::Debug``."
)

# Recordings for inputs that differ in sizes only: more are dropped.
_SIZES = 8

# Inputs that differ in more than literals, of which it is known which of these change:
# more are forgotten.
_FORMS = 256

_METHODS = (staticmethod, classmethod)

# Enumerators are slow to look at.
_WARN, _INFO, _DEBUG = (
    level.value for level in (LogLevel.Warn, LogLevel.Info, LogLevel.Debug)
)
_LLVM = JitBackend.LLVM.value

# 'noted': of the function that this thread records, if it does, what it has printed,
# and the instances that it has looked at.
_local = threading.local()


def named(path: str) -> str:
    """A path in the inputs in the words of the user: "args[1]", "kwargs['c'].z"."""
    return _PARTS.get(path[:3], "") + path[3:]


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
    ) -> None:
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
        implicit = Implicit(function, _unwrap)
        self._implicit: Callable[[], Any] | None = implicit if implicit else None
        self._recordings: dict[Any, list[Any]] = {}  # by key, the latest first
        self._recent: Any = None  # the one that fitted the last time
        self._forms: dict[Any, _Form] = {}
        self._domains: dict[tuple[int, int], Any] = {}  # what recordings depend on
        self._general = False  # kernels read sizes from memory from the start
        self._last: Recorded | None = None
        self._described: dict[str, str] | None = None  # inputs of the latest recording
        self._why = "the function was not called yet"
        self._unfit: Any = None  # a recording, if that is why
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
        self._last = self._described = self._unfit = self._recent = None
        self.n_recordings = 0

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
            self._implicit is not None,
            self._state_fn is not None,
        )

    def _adopt(self, path: Any, found: list[tuple[Any, Any]]) -> None:
        """Take recordings that were loaded."""
        for key, recording in found:
            self._recordings[key] = [recording, *self._recordings.pop(key, [])]
            self._last = Recorded(recording, None, False, False)
        self._why = f"it was loaded from '{path}'"
        self._unfit = None

    def explain(self) -> str:
        """The latest recording as text, and why it was made."""
        text = "no recording\n"
        if self._last is not None:
            text = self._last.recording.text()
        return f"{text}recorded because {self._reason()}\n"

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

    def _call(self, inputs: tuple[Any, Any, Any, Any]) -> Any:
        """A call that the recording of the last one does not fit."""
        try:
            result = self._repeat(inputs)
        except RecursionError as error:
            path = _find_cycle(inputs)
            if path is None:
                raise
            raise RecursionError(
                f"drjit.freeze(): {named(path)} contains itself, expected "
                "inputs without cycles"
            ) from error
        if type(result) is not _core._Snapshot:
            return result
        args, kwargs, *_ = inputs
        return self._miss(result, inputs, args, kwargs)

    def _check_domains(self) -> None:
        """Drop the recordings if instances have come or gone."""
        seen = list(self._domains.values())
        if any(domain.objects() is not objects for domain, objects in seen):
            self._recordings.clear()
            self._domains.clear()
            self._recent = None

    def _around(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """What the function reads from its closure and globals, and its state."""
        return (
            None if self._implicit is None else self._implicit(),
            None if self._state_fn is None else self._state_fn(*args, **kwargs),
        )

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
        )

    def _freeze_like(self, function: Callable[..., Any]) -> FrozenFunction:
        """A function of explicit inputs, frozen as this one is."""
        frozen = self._fresh(function)
        frozen._implicit = None
        return frozen

    def _repeat(self, inputs: tuple[Any, ...]) -> Any:
        """The result of a recording that fits; without one, the inputs' snapshot."""
        result = self._find(inputs)
        if type(result) is not _Printed:
            return result
        self._recent = None  # each result of it has to come here
        for show, settings, values in result.prints:
            show(settings, values)
        return result.result

    def _miss(
        self, snapshot: Any, inputs: tuple[Any, ...], args: Any, kwargs: Any
    ) -> Any:
        if snapshot.tracked:
            return self._call_tracked(inputs, args, kwargs)
        return self._call_plain(snapshot, inputs, self._function, args, kwargs)

    def _call_plain(
        self,
        snapshot: Any,
        inputs: tuple[Any, ...],
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """The result of ``function(*args, **kwargs)``, which is recorded if need be."""
        literals = snapshot.literals
        if literals and self._settle_literals(snapshot, literals):
            result = self._repeat(inputs)
            if type(result) is not _core._Snapshot:
                return result
            snapshot = result
        return self._record(snapshot, inputs, function, args, kwargs)

    def _call_tracked(self, inputs: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
        """A call with inputs that have derivatives.

        These stay outside: the function sees arrays of the same values with a graph of
        its own, and gradients that it leaves in them are outputs of the recording. What
        it returns or changes depends on the inputs by one operation.
        """
        call = Call(inputs)
        rows = _core._freeze_detach(inputs)
        try:
            # Where nothing is tracked at present, these are arrays like others.
            seen = [row for row in rows if _core.grad_enabled(row[1])]
            before = [gradient_of(copy) for _, copy, _ in seen]
            where = tuple(position for *_, position in seen)
            full = (*inputs, before, where)
            found = self._repeat(full)
            if type(found) is _core._Snapshot:
                given = (inputs, seen, before, args, kwargs)
                found = self._call_plain(found, full, self._run_tracked, given, {})
            result, after, ends = found
        finally:
            _core._freeze_attach(rows)
        for (_, copy, _), old, new in zip(seen, before, after, strict=True):
            _give_gradient(copy, old, new)
        outputs = ends.find(result, inputs)
        if outputs:
            self._derivatives.attach(call, ends, outputs)
        return result

    def _run_tracked(
        self,
        inputs: tuple[Any, ...],
        seen: list[Any],
        gradients: list[Any],
        args: Any,
        kwargs: Any,
    ) -> tuple[Any, list[Any], Ends]:
        """The result and gradients of the inputs, detached, and what was tracked."""
        for (array, *_), gradient in zip(seen, gradients, strict=True):
            _core.enable_grad(array)
            if gradient is not None:
                _core.set_grad(array, gradient)
        tracked = {position: _core.copy(array) for array, _, position in seen}
        with isolate_grad():
            result = self._function(*args, **kwargs)
        after = [gradient_of(array) for array in tracked.values()]
        # Before an input among them is detached.
        in_result = tracked_positions(leaves(result))
        changed = tuple(
            position
            for _, copy, position in _core._freeze_detach(inputs)
            if not (position in tracked and _same(copy, tracked[position]))
        )
        return _core.detach(result), after, Ends(in_result, changed)

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
        if not _core._logs(_INFO):
            return
        print(_LITERAL_NOTE)
        for number, old, new in changed:
            where = named(snapshot.path(number))
            print(
                f"{where}: The literal value of this variable changed from {old:#x} to "
                f"{new:#x}"
            )

    def _record(
        self,
        snapshot: Any,
        inputs: tuple[Any, ...],
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> Any:
        known = self._note_reason(snapshot)
        if self.n_recordings >= self._warn_after:
            self._warn()
        if self._described is not None or _core._logs(_DEBUG):
            self._list_changes(inputs)
        # Kernels know sizes as long as these do not change.
        general = self._general or known
        try:
            return self._record_once(
                snapshot, inputs, function, args, kwargs, general, False
            )
        except _freeze_sizes.WantsNumbers:
            pass
        return self._record_once(
            snapshot, inputs, function, args, kwargs, general, True
        )

    def _record_once(
        self,
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
        _core._freeze_start(snapshot, backend, general, self._allow_reads, numbers)
        noted: _Noted = ([], [])
        _local.noted = noted
        sizes: list[Any] = []
        # What the function leaves behind: its result, and the same as it is kept.
        left: list[Any] = []
        try:
            left.append(function(*args, **kwargs))
            sizes = _freeze_sizes.settle([left, inputs, noted])
            # What is tracked here depends on what has become so within.
            tracked = _core.grad_enabled(left)
            left.append(_core.detach(left[0]) if tracked else left[0])
            recording = _core._freeze_stop(
                snapshot,
                inputs,
                _Printed(left[1], noted[0]) if noted[0] else left[1],
                left[1],
            )
        except BaseException as error:
            sizes = sizes or _core._sizes_alive() or []
            try:
                _freeze_sizes.explain(error, snapshot, inputs, noted)
            finally:
                _core._freeze_abort()
            raise
        finally:
            _local.noted = None
            _freeze_sizes.release([left, inputs, noted], sizes)
        if isinstance(recording, str):
            self._why = f"recordings of the function cannot be repeated: {recording}"
            self._unfit = None
            return left[0]
        self._keep(snapshot, inputs, recording, noted)
        return left[1]

    def _keep(
        self, snapshot: Any, inputs: tuple[Any, ...], recording: Any, noted: _Noted
    ) -> None:
        prints, domains = noted
        if domains:
            self._domains.update({(id(d), id(seen)): (d, seen) for d, seen in domains})
        key = snapshot.key
        known = self._recordings.pop(key, None)  # to the end: the oldest ones go first
        kept = known[: _SIZES - 1] if known else ()
        self._recordings[key] = [recording, *kept]
        self.n_recordings += 1
        if self._limit is not None:
            self._drop(self._limit)
        self._recent = None if prints or self._limit == 0 else recording
        where = inputs[5] if len(inputs) > 4 else ()
        tracked = list(map(snapshot.leaf_path, where)) if where else []
        self._last = Recorded(recording, tracked, bool(prints), bool(domains))

    def _drop(self, limit: int) -> None:
        """Forget the oldest recordings, if there are too many."""
        while self.n_cached_recordings > limit:
            oldest = next(iter(self._recordings))
            self._recordings[oldest].pop()
            if not self._recordings[oldest]:
                del self._recordings[oldest]

    def _reason(self) -> str:
        return self._why + (f":\n{self._unfit.text()}" if self._unfit else "")

    def _note_reason(self, snapshot: Any) -> bool:
        """Why no recording fits. Are there any with this key?"""
        known = self._recordings.get(snapshot.key)
        if known:
            self._why = "the sizes, contents or flags do not fit"
            self._unfit = known[0]
        else:
            self._why = "there was none for inputs of such types, structure and values"
            self._unfit = None
        return bool(known)

    def _warn(self) -> None:
        if not _core._logs(_WARN):
            return
        print(_WARNING.format(self.n_recordings + 1), file=sys.stderr)

    def _list_changes(self, inputs: tuple[Any, ...]) -> None:
        """With log level Debug, what is different from the latest recording."""
        if not _core._logs(_DEBUG):
            self._described = None
            return
        before, now = self._described, _describe(inputs)
        self._described = now
        if before is None:
            return
        print(f"{getattr(self, '__name__', 'The function')} is recorded again:")
        changed = False
        for path in {**before, **now}:
            old, new = before.get(path, "not there"), now.get(path, "not there")
            if old != new:
                print(f"    {named(path)}: {old} before, {new} now")
                changed = True
        if not changed:
            print("    contents of arrays, or other values with the same text")


def _same(a: Any, b: Any) -> bool:
    """Are two arrays the same variables, with the same derivatives?"""
    return all(
        (x.index, x.index_ad) == (y.index, y.index_ad)
        for x, y in zip(_core._leaves(a), _core._leaves(b), strict=True)
    )


def _give_gradient(array: Any, before: Any, after: Any) -> None:
    """Let an input have the gradient that the function has left, and go on from it."""
    if before is not None:
        _core.set_grad(array, 0 if after is None else after)
    elif after is not None:
        product = array * after
        _core.set_grad(product, 1)
        _core.enqueue(ADMode.Backward, product)
        traverse(ADMode.Backward)


def _describe(inputs: tuple[Any, ...]) -> dict[str, str]:
    """What recordings are chosen by, as texts, by path."""
    from drjit._text.nodes import paths

    return {
        path: type(item).__name__ if kind == "open" else _describe_leaf(item)
        for path, (kind, item, *_) in paths("freeze", inputs)
    }


def _describe_leaf(item: Any) -> str:
    name = type(item).__name__
    if not isinstance(item, _core.ArrayBase):
        text = repr(item)
        return f"{name} {text if len(text) < 60 else text[:57] + '...'}"
    if not _core.is_jit_v(item):
        return f"{name} {item}"
    if item.state == VarState.Literal:
        return f"{name}, literal {item}"
    if _core.is_tensor_v(item):
        return f"{name} of shape {item.shape}"
    return f"{name} of {_core.width(item)} entries"


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


def _unwrap(value: Any) -> Any:
    """The function of a frozen one."""
    return value._function if isinstance(value, FrozenFunction) else value


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
) -> Any:
    """Record what a function does the first time, and repeat it without calling it.

    A decorator. Inputs are the arguments, what ``state_fn`` returns (called with the
    same arguments), and the arrays and plain values that the function reads from
    closures and globals; all of them PyTrees. A recording serves all calls with inputs
    of the same structure and types, with equal values of what is no array, and with
    arrays of other sizes, as far as the function does not depend on these. What it
    scatters to or replaces among its inputs is written back, as if it had been called.

    ``limit``: recordings that are kept at most, the latest ones. ``warn_after``: print
    a warning from that many recordings on. ``backend``: where there are no inputs to
    tell. ``auto_opaque``: literals that change from call to call become arrays in
    memory; if it is False, all are from the start. ``enabled``: False calls the
    function as if it was not decorated; so does clearing ``JitFlag.KernelFreezing``.
    ``allow_reads``: reading entries of arrays (``x[0]``, ``bool(x)``, ``x.numpy()``) is
    no error: a recording serves the calls in which they are the same.
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
        )
        return outer(frozen) if outer else frozen

    return decorate if f is None else decorate(f)
