"""Frozen functions that come from a file: ``load_frozen``.

What reads files is imported when it is needed: this module is among those that the
first look at the package loads.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, BinaryIO

from drjit._enums import JitBackend
from drjit._freeze.ad import Derivatives
from drjit._freeze.call import Invocation
from drjit._freeze.function import FrozenFunction, freeze


def _no_function(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "drjit.load_frozen(): what was loaded without its function can only be "
        "repeated, which is not possible here: JitFlag.KernelFreezing is off, or "
        "another frozen function, or a loop, conditional or call, is being recorded"
    )


class LoadedFunction(FrozenFunction):
    """Recordings without a function: inputs that fit none are an error."""

    def __init__(
        self,
        source: str,
        note: dict[str, Any],
        found: list[tuple[Any, Any]],
        codes: list[tuple[str, Any]],
        settings: dict[str, Any],
    ) -> None:
        """``source``: where it comes from, for messages. ``settings``: 'state_fn' and
        'backend' of :func:`drjit.freeze`, and others, which do not matter."""
        from drjit._freeze.fit import closure_of

        state_fn, backend = settings["state_fn"], settings["backend"]
        super().__init__(
            _no_function, state_fn, None, 10, backend, True, True, False, False
        )
        self.__name__ = self.__qualname__ = note["name"]
        self._names = None
        self._unordered = True
        if note["state"] and state_fn is None:
            raise ValueError(
                f"drjit.load_frozen(): '{note['name']}' was recorded with a state_fn, "
                "which has to be given here, too"
            )
        if note["closure"]:
            try:
                values = closure_of(found[-1][1].rows[0])
            except LookupError:
                raise ValueError(
                    f"drjit.load_frozen(): '{note['name']}' reads arrays from its "
                    "closure or from globals: they have to be arguments, or the "
                    "function has to be given as 'f'"
                ) from None
            self._closure = values
        self._adopt(source, found)
        pairs = zip(found, codes, strict=True)
        self._codes = {id(recording): code for (_, recording), (code, _) in pairs}

    def _code_of(self, recording: Any, rows: list[Any]) -> str:
        return self._codes[id(recording)]

    @functools.cached_property
    def _derivatives(self) -> Derivatives:
        return Derivatives(self._underivable, self._around, self._freeze_like)

    def _underivable(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"drjit.load_frozen(): derivatives of '{self.__name__}' need the function, "
            "which has to be given as 'f'"
        )

    def _call_plain(self, call: Invocation) -> None:
        from drjit._freeze.fit import explain

        recordings = self._kept.all()
        opaque = _literals_to_store(call.snapshot, recordings)
        if opaque:
            call.snapshot.make_opaque(opaque)
            if call.repeat():
                return
        snapshot = call.snapshot
        if snapshot.key in self._recordings:
            self._note_reason(snapshot)
            why = self._reason()
        else:
            why = explain(snapshot, recordings)
        raise RuntimeError(
            f"drjit.load_frozen(): no recording of '{self.__name__}' fits: {why}"
        )


def _literals_to_store(snapshot: Any, recordings: list[Any]) -> list[int]:
    """Literals that are in memory in a recording which fits otherwise."""
    now = snapshot.rows[1]
    for recording in reversed(recordings):
        then = recording.rows[1]
        if len(now) == len(then) and all(
            x[2] and x[4] == y[4] for x, y in zip(now, then, strict=True) if y[2]
        ):
            pairs = enumerate(zip(now, then, strict=True), 1)
            return [number for number, (x, y) in pairs if x[2] and not y[2]]
    return []


def load_frozen(
    path: str | os.PathLike[str] | BinaryIO,
    f: Callable[..., Any] | None = None,
    *,
    key: bytes | None = None,
    state_fn: Callable[..., Any] | None = None,
    limit: int | None = None,
    warn_after: int = 10,
    backend: JitBackend | None = None,
    auto_opaque: bool = True,
    enabled: bool = True,
    allow_reads: bool = False,
    strict: bool = False,
) -> Any:
    """Load a frozen function from a file that its ``save()`` has written.

    Without ``f``, the result can only repeat the recordings in the file: no code of the
    function is needed, and there are no derivatives. Plain values of closures and
    globals are those of the latest recording. With ``f``, it is ``dr.freeze(f, ...)``
    that has these recordings already; those of other code are left out, because the
    function, or something that it calls, was edited or the version of Python is
    another.

    The file may come from another machine, and from an earlier version that records the
    same operations. Load only files that you trust, or files that were signed with a
    key: damage is found, but the kernels of a file can access memory as any program.
    [Freezing](../freezing.md#keeping-recordings) has the details.

    Args:
        path (str | os.PathLike | BinaryIO): the file, or an open binary file that holds
            nothing else.
        f (callable | None): the function, for inputs that fit no recording.
        key (bytes | None): the key that was given to ``save()``, of 1 to 64 bytes.
        state_fn (callable | None): as when the function was frozen.
        limit (int | None): see :func:`drjit.freeze`, as for all that follow.
        warn_after (int): when warnings begin.
        backend (JitBackend | None): the backend of functions without inputs that tell.
        auto_opaque (bool): what is done with literals.
        enabled (bool): ``False`` calls ``f``.
        allow_reads (bool): permit reading entries.
        strict (bool): a call that cannot be repeated is an error.

    Returns:
        callable: the frozen function.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: the file is damaged, signed with another key, signed although no
            key is given, or not signed although one is; or it was written by another
            version. When called without ``f``: no recording fits, for the reason that
            the error gives.

    Derivative:
        With ``f`` only.

    Example:
        >>> import os, tempfile
        >>> @dr.freeze
        ... def scale(x):
        ...     return 2 * x
        >>> scale(Float(1, 2, 3))
        [2, 4, 6]
        >>> path = os.path.join(tempfile.mkdtemp(), "scale")
        >>> scale.save(path)
        >>> dr.load_frozen(path)(Float(10, 20))
        [20, 40]

    See also:
        :func:`drjit.freeze`
    """
    from drjit._freeze.file import load, name_of
    from drjit._freeze.portable import adopt

    parts = load(path, key, backend, unordered=f is None)
    if f is None:
        settings = {"state_fn": state_fn, "backend": backend}
        return LoadedFunction(name_of(path), *parts, settings)
    made = freeze(
        f,
        state_fn=state_fn,
        limit=limit,
        warn_after=warn_after,
        backend=backend,
        auto_opaque=auto_opaque,
        enabled=enabled,
        allow_reads=allow_reads,
        strict=strict,
    )
    frozen = made if isinstance(made, FrozenFunction) else made.__func__
    others = adopt(frozen, parts, name_of(path))
    if others:
        frozen._note_other_code(name_of(path), others, len(parts[1]))
    return made
