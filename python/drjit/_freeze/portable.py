"""Frozen functions as bytes: the portable form, of which files and pickles consist.

It is what the core makes of recordings (``_core._freeze_save()``), with a note in JSON
that says what belongs to Python (:mod:`drjit._freeze.rows`), followed by a signature of
32 bytes: BLAKE2b (RFC 7693) of all that, with the key that the user gives, if any.
Without a key, the signature is a hash of the content, which names it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

from drjit import _core, _family
from drjit._enums import JitBackend
from drjit._freeze.function import FrozenFunction
from drjit._freeze.rows import NAMED, Rows, find, put_rows, read_by_name, take_row

_VERSION = 5
_TOLD = {"name": str, "closure": bool, "state": bool}  # of a function, beside these

SIGNATURE = 32  # bytes
_LONGEST_KEY = 64

# What has been read: the note, (key, recording) of each recording with the latest last,
# and for each the text of code_of() with the rows of its inputs.
Parts = tuple[dict[str, Any], list[tuple[Any, Any]], list[tuple[str, Rows]]]


# ---------------------------------------------------------------- signatures


def _signature(block: bytes, key: bytes | None) -> bytes:
    return hashlib.blake2b(block, digest_size=SIGNATURE, key=key or b"").digest()


def check_key(key: Any, function: str) -> None:
    """Raise an error unless this is a key, or none."""
    if key is None:
        return
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(
            f"drjit.{function}: 'key' is of type {type(key).__name__}, expected bytes"
        )
    if not 0 < len(key) <= _LONGEST_KEY:
        raise ValueError(
            f"drjit.{function}: 'key' has {len(key)} bytes, expected 1 to "
            f"{_LONGEST_KEY}"
        )


def _opened(form: bytes, key: bytes | None, what: str) -> bytes:
    """The block of a form whose signature is right. ``what`` begins messages."""
    block, found = form[:-SIGNATURE], form[-SIGNATURE:]
    if hmac.compare_digest(found, _signature(block, key)):
        return block
    why = "is damaged, or was signed with a key, which has to be given as 'key'"
    if key is not None:
        why = "is damaged, or was signed with another key"
        if hmac.compare_digest(found, _signature(block, None)):
            why = "was not signed with a key"
    raise RuntimeError(f"{what} {why}")


# ---------------------------------------------------------------- bytes


def code_of(function: Any, state_fn: Any, rows: Rows) -> str:
    """A text for a function that was recorded, and for what the inputs, of which these
    are the rows, have it call."""
    from drjit._freeze.digest import digest

    kinds = (*NAMED, types.ModuleType, Enum)
    things = {}
    for row in rows:
        thing = row[2] if row[0] == "fields" else None
        if row[0] in ("value", "object"):
            thing = row[1]() if row[0] == "object" else row[1]
        if isinstance(thing, kinds):
            things[id(thing)] = thing
    return digest(function, state_fn, *things.values())


def _without_names(recording: Any) -> Rows:
    """The rows of its inputs without what the function has read by name, if that has no
    part in results."""
    rows: Rows = recording.rows[0]
    named = read_by_name(rows)
    first, end = named.start, named.stop
    nodes = [pair >> 32 for pair in recording.repeated]
    nodes += [number - 1 for number in recording.objects[1]]
    arrays = any(row[0] in ("array", "entries") for row in rows[first:end])
    if arrays or max(nodes, default=0) >= first:
        return rows
    return [*rows[:first], ("value", None), *rows[end:]]


def pack(
    frozen: FrozenFunction,
    recordings: list[Any],
    key: bytes | None,
    names: bool = True,
) -> bytes:
    """Recordings of a function in their portable form, the latest last. ``names``: with
    what it has read by name, where that can be left out.

    Raises ``TypeError`` and ``RuntimeError`` as ``FrozenFunction.save()`` does.
    """
    if frozen._domains:
        raise RuntimeError(
            f"drjit.freeze(): save(): recordings of '{frozen.__name__}' depend on "
            "instances that are entries of arrays, which are those of this process"
        )
    inputs = [recording.rows[0] for recording in recordings]
    closure = frozen._names is not None or frozen._closure is not None
    if closure and not names:
        short = [_without_names(recording) for recording in recordings]
        if not any(a is b for a, b in zip(inputs, short, strict=True)):
            inputs, closure = short, False
    note = {
        "version": _VERSION,
        "name": frozen.__name__,
        "closure": closure,
        "state": frozen._state_fn is not None,
        "recordings": [
            {
                "inputs": put_rows(rows, "input"),
                "variables": recording.rows[1],
                "outputs": put_rows(recording.output_rows, "result"),
                "repeated": recording.repeated,
                "changes": recording.changes,
                "objects": recording.objects,
                "sizes": recording.sizes,
                "suspended": recording.suspended,
                "code": frozen._code_of(recording, recording.rows[0]),
            }
            for recording, rows in zip(recordings, inputs, strict=True)
        ],
    }
    block = _core._freeze_save(recordings, json.dumps(note).encode())
    return bytes(block + _signature(block, key))


def unpack(
    form: bytes,
    key: bytes | None,
    backend: JitBackend | None,
    unordered: bool,
    what: str,
) -> Parts:
    """What a form consists of. ``what`` begins messages: which form it is.

    ``unordered``: sets are equal in any order of iteration.
    """
    block = _opened(form, key, what)
    try:
        _, data = _core._freeze_inspect(block)
    except RuntimeError as error:
        raise RuntimeError(f"{what}: {error}") from None
    try:
        return _parts(block, json.loads(data), backend, unordered)
    except _Version:
        raise RuntimeError(f"{what} was written by another version") from None
    except (ImportError, AttributeError, KeyError) as error:
        raise RuntimeError(
            f"{what} needs something that is not there: {error}"
        ) from error
    except (RuntimeError, TypeError, ValueError, LookupError, OverflowError) as error:
        raise RuntimeError(f"{what} is not well-formed: {error}") from error


class _Version(Exception):
    """Of a note."""


def _parts(
    block: bytes, note: dict[str, Any], backend: JitBackend | None, unordered: bool
) -> Parts:
    """See `unpack()`."""
    if note.get("version") != _VERSION:
        raise _Version
    codes = [
        (entry["code"], [take_row(row) for row in entry["inputs"]])
        for entry in note["recordings"]
    ]
    found = [
        _core._freeze_load(
            block,
            number,
            _family.number_of(backend),
            (
                codes[number][1],
                [tuple(row) for row in entry["variables"]],
                [take_row(row) for row in entry["outputs"]],
                entry["repeated"],
            ),
            [tuple(row) for row in entry["changes"]],
            tuple(entry["objects"]),
            tuple(entry["sizes"]),
            entry["suspended"],
            unordered,
        )
        for number, entry in enumerate(note["recordings"])
    ]
    told = {key: kind(note[key]) for key, kind in _TOLD.items()}
    return told, found, codes


def adopt(frozen: FrozenFunction, parts: Parts, source: str) -> int:
    """Give a function the recordings of its code. How many are of other code?"""
    _, found, codes = parts
    pairs = zip(found, codes, strict=True)
    same = [
        pair for pair, (code, rows) in pairs if frozen._code_of(pair[1], rows) == code
    ]
    frozen._adopt(source, same)
    return len(found) - len(same)


# ---------------------------------------------------------------- pickles and copies


def _name_of(frozen: FrozenFunction) -> str | None:
    """The name by which another process finds a frozen function, or the function that
    it is made of; or None."""
    function = frozen._function
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str):
        try:
            if _function_of(find(f"{module}:{name}")) is function:
                return f"{module}:{name}"
        except (ImportError, AttributeError):
            pass
    return None


def _function_of(thing: Any) -> Any:
    return thing._function if isinstance(thing, FrozenFunction) else thing


def _settings(frozen: FrozenFunction) -> dict[str, Any]:
    return {
        "state_fn": frozen._state_fn,
        "limit": frozen._kept.limit,
        "warn_after": frozen._warn_after,
        "backend": frozen._backend,
        "auto_opaque": frozen._auto_opaque,
        "enabled": frozen.enabled,
        "allow_reads": frozen._allow_reads,
        "strict": frozen._strict,
    }


def reduce(frozen: FrozenFunction) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """For pickle: the function by its name if it has one, and recordings.

    Recordings that only this process can use stay behind if there is a name: the
    function is recorded anew where they are needed.
    """
    from drjit._freeze.load import LoadedFunction

    settings: dict[str, Any] | None = _settings(frozen)
    name = None if isinstance(frozen, LoadedFunction) else _name_of(frozen)
    recordings = frozen._kept.all()
    if name is None:
        if not recordings:
            raise TypeError(
                f"drjit.freeze(): '{frozen.__name__}' cannot be pickled: it is not "
                "found under its name in its module, and there is no recording of it"
            )
        form = pack(frozen, recordings, None)
        _check_closure(frozen, recordings[-1])
        return arrive, (None, form, settings, frozen.enabled)
    try:
        form = pack(frozen, recordings, None) if recordings else b""
    except (TypeError, RuntimeError):
        form = b""
    if isinstance(find(name), FrozenFunction):  # it is frozen there, too
        settings = None
    return arrive, (name, form, settings, frozen.enabled)


def _check_closure(frozen: FrozenFunction, recording: Any) -> None:
    from drjit._freeze.fit import closure_of

    try:
        closure_of(recording.rows[0])
    except LookupError:
        raise TypeError(
            f"drjit.freeze(): '{frozen.__name__}' cannot be pickled: it reads arrays "
            "from its closure or from globals, which have to be arguments, and is not "
            "found under its name in its module"
        ) from None


def arrive(
    name: str | None, form: bytes, settings: dict[str, Any] | None, enabled: bool
) -> FrozenFunction:
    """For pickle: a frozen function from what ``reduce()`` gives.

    It has its function if that is found by its name and has the same code as where the
    recordings were made. Otherwise it repeats the recordings. ``settings``: None if the
    name is that of a frozen function, which has them.
    """
    from drjit._freeze.load import LoadedFunction

    what = "drjit.freeze(): the pickle of a frozen function"
    thing = _found(name, form, what) if name else None
    if settings is None and isinstance(thing, FrozenFunction):
        settings = _settings(thing)
    elif settings is None:
        thing, settings = None, {"state_fn": None, "backend": None}
    if thing is not None:
        made = FrozenFunction(_function_of(thing), **{**settings, "enabled": enabled})
        if not form:
            return made
        parts = unpack(form, None, settings["backend"], False, what)
        if not adopt(made, parts, "a pickle"):
            return made
    parts = unpack(form, None, settings["backend"], True, what)
    loaded = LoadedFunction("a pickle", *parts, settings)
    loaded.enabled = enabled
    return loaded


def _found(name: str, form: bytes, what: str) -> Any:
    """The function of this name; None if it is not there, and not needed."""
    try:
        thing = find(name)
        if callable(_function_of(thing)):
            return thing
        reason = "there is something else"
    except (ImportError, AttributeError) as error:
        reason = str(error)
    if form:
        return None
    raise RuntimeError(
        f"{what} needs the function '{name}', which is not here: {reason}"
    )


def copy(frozen: FrozenFunction) -> FrozenFunction:
    """Another function with the same recordings. Those that cannot be saved stay
    behind: they are made anew."""
    from drjit._freeze.load import LoadedFunction

    if isinstance(frozen, LoadedFunction):
        make, arguments = reduce(frozen)
        return make(*arguments)  # type: ignore[no-any-return]
    made = FrozenFunction(frozen._function, **_settings(frozen))
    recordings = frozen._kept.all()
    try:
        form = pack(frozen, recordings, None) if recordings else b""
    except (TypeError, RuntimeError):
        return made
    if form:
        what = "drjit.freeze(): a copy"
        adopt(made, unpack(form, None, frozen._backend, False, what), "a copy")
    return made
