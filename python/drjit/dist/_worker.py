"""What runs in workers: ``run`` repeats a recording with the inputs of a task.

No code comes with a task but the recording, which is checked as it is read
(:mod:`drjit._freeze.portable`).
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import drjit as dr
from drjit import _core
from drjit._freeze.load import LoadedFunction
from drjit._freeze.portable import unpack
from drjit.config import VERSION

# Of these messages.
PROTOCOL = 1

# What workers keep: functions, and values that several tasks have in common.
_MOST_FUNCTIONS, _MOST_VALUES = 32, 4

# What a task comes to: what is DONE has the pickled result, MISSING the digests of what
# the worker does not have, others a text (FAILED: also the pickled exception, or None).
DONE, MISSING, UNFIT, REFUSED, FAILED = range(5)
Answer = tuple[int, str, Any]  # with the worker


class Blob(NamedTuple):
    """Bytes that several tasks have in common; ``data`` may be left out, for workers
    that know them."""

    digest: bytes
    data: bytes | None


class Task(NamedTuple):
    """What a worker is told."""

    version: str
    protocol: int
    flags: int  # that were set when it was recorded
    function: Blob  # a portable form
    common: Blob  # pickled arguments
    inputs: bytes  # a pickled function and its arguments, which give the others


class _Store:
    """Values by the digest of the bytes that they are made of; old ones go."""

    def __init__(self, make: Callable[[bytes], Any], most: int) -> None:
        self._make, self._most = make, most
        self._known: OrderedDict[bytes, Any] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, blob: Blob) -> Any:
        """Raises ``LookupError`` if it is not there."""
        with self._lock:
            if blob.digest in self._known:
                self._known.move_to_end(blob.digest)
                return self._known[blob.digest]
        if blob.data is None:
            raise LookupError(blob.digest)
        value = self._make(blob.data)
        with self._lock:
            self._known[blob.digest] = value
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return value


class Unfit(RuntimeError):
    """No recording fits, or it cannot be repeated here."""


class _Function(LoadedFunction):
    """A function that tells errors of its own from those that it repeats."""

    def _call_plain(self, call: Any) -> None:
        try:
            super()._call_plain(call)
        except RuntimeError as error:
            raise Unfit(str(error)) from None


def _load(form: bytes) -> _Function:
    parts = unpack(form, None, None, True, "drjit.dist: the recording of a task")
    return _Function("a task", *parts, {"state_fn": None, "backend": None})


_functions = _Store(_load, _MOST_FUNCTIONS)
_values = _Store(pickle.loads, _MOST_VALUES)


def where() -> str:
    """This process in messages."""
    return f"process {os.getpid()} on {os.uname().nodename}"


def run(*message: Any) -> Answer:
    """Perform a task."""
    try:
        task = Task(*message)
        if (task.version, task.protocol) != (VERSION, PROTOCOL):
            text = f"has version {VERSION} of drjit-c, the caller {task.version}"
            return REFUSED, where(), text
        _set_flags(task.flags)
        return _run(Blob(*task.function), Blob(*task.common), task.inputs)
    except Unfit as error:
        return UNFIT, where(), str(error)
    except Exception as error:
        import traceback

        return FAILED, where(), (traceback.format_exc(), _pickled(error))


def _set_flags(wanted: int) -> None:
    """Recordings belong to flags."""
    different = _core._flags() ^ wanted
    if different:
        for flag in dr.JitFlag:
            if different & flag.value:
                dr.set_flag(flag, bool(wanted & flag.value))


def _pickled(error: Exception) -> bytes | None:
    """An exception, if it can be pickled and comes back."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return None
    return data


def _run(function: Blob, common: Blob, inputs: bytes) -> Answer:
    missing = []
    found = []
    for store, blob in ((_functions, function), (_values, common)):
        try:
            found.append(store.find(blob))
        except LookupError:
            missing.append(blob.digest)
    if missing:
        return MISSING, where(), missing
    call, values = found
    make, *given = pickle.loads(inputs)
    result = call(*make(*given), *values)
    return DONE, where(), pickle.dumps(result, protocol=5)


def indices(dtype: Any, start: int, size: int) -> tuple[Any]:
    """The indices of a block."""
    found = dr.arange(dtype, size) + dtype(start)
    dr.make_opaque(found)
    return (found,)


def item(value: Any) -> tuple[Any]:
    """An item that comes as it is. Its literals are in memory, so that a recording
    serves other values, too."""
    dr.make_opaque(value)
    return (value,)


def start(threads: int) -> None:
    """Prepare a process that is a worker of ours: Ctrl-C is for the caller, who ends
    it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    dr.set_thread_count(threads)


def call(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What Ray is told to call: it takes functions of Python, and none of C."""
    return f(*args, **kwargs)
