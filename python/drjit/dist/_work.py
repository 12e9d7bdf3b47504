"""What the caller has of a function that workers repeat: its recordings."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable
from typing import Any

from drjit import _core
from drjit._enums import JitFlag
from drjit._freeze.call import ONLY_NOW
from drjit._freeze.fit import closure_of
from drjit._freeze.function import FrozenFunction
from drjit._freeze.load import LoadedFunction
from drjit._freeze.portable import pack
from drjit._freeze.rows import read_by_name
from drjit.config import VERSION
from drjit.dist._worker import PROTOCOL, Blob

# Recordings that workers get of one function; those that serve the latest inputs.
_MOST_RECORDINGS = 8

# Arguments of fewer bytes go with each task, larger ones once to each worker.
_SMALL = 4096

# Functions, of which it is known what was made of them.
_MOST_KNOWN = 64


@functools.lru_cache(_MOST_KNOWN)
def _made(make: Callable[[Any], Any], f: Any) -> Any:
    return make(f)


def cached(make: Callable[[Any], Any], f: Any) -> Any:
    """``make(f)``; the same for the same function, so that it is recorded once."""
    return _made(make, f) if _is_hashable(f) else make(f)


def _is_hashable(f: Any) -> bool:
    try:
        hash(f)
    except TypeError:
        return False
    return True


def _fresh(f: Any) -> FrozenFunction:
    """A function whose recordings are made for workers only: all are known here."""
    if not isinstance(f, FrozenFunction):
        return FrozenFunction(f, None, None, 10, None, True, True, False, False)
    made = f._fresh(f._function)
    made._kept.limit = None  # workers need what is recorded
    return made


def _freeze(f: Any, operation: str) -> FrozenFunction:
    if isinstance(f, LoadedFunction):
        return f
    if not callable(f):
        raise TypeError(
            f"drjit.dist.{operation}(): 'f' is of type {type(f).__name__}, expected a "
            "function"
        )
    if isinstance(f, FrozenFunction) and f._state_fn is not None:
        raise TypeError(
            f"drjit.dist.{operation}(): '{f.__name__}' has a state_fn: give the state "
            "as an argument"
        )
    return cached(_fresh, f)  # type: ignore[no-any-return]


class Work:
    """A function and the arguments that all calls have in common."""

    def __init__(self, f: Any, common: tuple[Any, ...], operation: str) -> None:
        self.operation = operation
        self.frozen = _freeze(f, operation)
        self.common = common
        self._recordings: list[Any] = []
        self._names: Any = None  # what the function read by name when these were made
        self._function: Blob | None = None
        data = pickle.dumps(common, protocol=5)
        self._values = Blob(hashlib.blake2b(data, digest_size=32).digest(), data)
        if isinstance(f, LoadedFunction):
            self._recordings = f._kept.all()

    # ------------------------------------------------------------------ calls here

    def call(self, *inputs: Any) -> Any:
        """Call the function here; what was recorded, or repeated, is for workers."""
        self._check_state()
        result = self._call(inputs)
        _core.eval(result)
        if not isinstance(self.frozen, LoadedFunction):
            self._note(self.frozen._kept.recent[0])
        return result

    def _call(self, inputs: tuple[Any, ...]) -> Any:
        frozen = self.frozen
        for _ in range(3):
            result = frozen(*inputs, *self.common)
            if not frozen._refused:
                break
            if ONLY_NOW not in frozen._why:  # otherwise, the next call can be repeated
                raise self._error(frozen._reason())
        last = frozen._last
        if last is not None and (last.prints or last.instances):
            what = "prints arrays" if last.prints else "depends on instances of classes"
            raise self._error(f"it {what}")
        return result

    def _error(self, why: str) -> RuntimeError:
        return RuntimeError(
            f"drjit.dist.{self.operation}(): workers cannot repeat "
            f"'{self.frozen.__name__}': {why}"
        )

    def _check_state(self) -> None:
        where = f"drjit.dist.{self.operation}()"
        if _core.flag(JitFlag.FreezingScope) or _core.flag(JitFlag.SymbolicScope):
            raise RuntimeError(
                f"{where}: cannot be called in a frozen function, or in a recorded "
                "loop, conditional or call"
            )
        if not _core.flag(JitFlag.KernelFreezing) or not self.frozen.enabled:
            raise RuntimeError(
                f"{where}: functions have to be recorded for workers, but "
                "JitFlag.KernelFreezing is off, or the frozen function is not enabled"
            )

    def _note(self, recording: Any) -> None:
        if any(each is recording for each in self._recordings):
            return
        if self.frozen._names is not None:
            try:
                closure_of(recording.rows[0])
            except LookupError:
                raise self._error(
                    "it reads arrays from its closure or from globals, which have to "
                    "be among its arguments ('args')"
                ) from None
        rows = recording.rows[0]
        names = [rows[k] for k in read_by_name(rows)]
        if names != self._names:  # which workers do not compare
            self._recordings, self._names = [], names
        self._recordings = [*self._recordings[1 - _MOST_RECORDINGS :], recording]
        self._function = None

    # ------------------------------------------------------------------ messages

    def function(self) -> Blob:
        """What workers need to repeat it."""
        if self._function is None:
            form = pack(self.frozen, self._recordings, None, names=False)
            self._function = Blob(form[-32:], form)
        return self._function

    def message(self, inputs: bytes, complete: bool) -> tuple[Any, ...]:
        """A task; ``complete``: for a worker that does not know what tasks have in
        common."""
        blobs = []
        for blob in (self.function(), self._values):
            small = blob is self._values and len(blob.data or b"") < _SMALL
            wanted = small or complete
            blobs.append(tuple(blob if wanted else blob._replace(data=None)))
        return VERSION, PROTOCOL, _core._flags(), *blobs, inputs
