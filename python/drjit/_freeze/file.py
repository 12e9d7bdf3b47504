"""Recordings of frozen functions in files: ``FrozenFunction.save``, ``load_frozen``.

A file has the portable form (:mod:`drjit._freeze.portable`), and nothing else.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, NoReturn

from drjit._enums import JitBackend
from drjit._freeze.portable import Parts, check_key, unpack


def name_of(file: Any) -> str:
    """A file in messages."""
    if isinstance(file, (str, os.PathLike)):
        return f"'{os.fspath(file)}'"
    return "the file"


def _refuse(path: Any, function: str, method: str) -> NoReturn:
    raise TypeError(
        f"drjit.{function}: 'path' is of type {type(path).__name__}, expected a str, a "
        f"path, or a binary file that has {method}()"
    )


def _path(path: Any) -> str | None:
    """A path as a text; None if it is something else."""
    found = os.fspath(path) if isinstance(path, os.PathLike) else path
    return found if isinstance(found, str) else None


def write(path: Any, form: bytes) -> None:
    """All of a file, or nothing."""
    text = _path(path)
    try:
        if text is not None:
            _replace(text, form)
        elif callable(getattr(path, "write", None)):
            path.write(form)
        else:
            _refuse(path, "freeze(): save()", "write")
    except OSError as error:
        raise type(error)(
            f"drjit.freeze(): save(): cannot write {name_of(path)}: {error.strerror}"
        ) from error


def _replace(path: str, form: bytes) -> None:
    handle, temporary = tempfile.mkstemp(
        dir=os.path.dirname(path) or ".", prefix=os.path.basename(path)
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(form)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _read(path: Any) -> bytes:
    text = _path(path)
    try:
        if text is not None:
            with open(text, "rb") as file:
                return file.read()
        if not callable(getattr(path, "read", None)):
            _refuse(path, "load_frozen()", "read")
        form = path.read()
    except OSError as error:
        raise type(error)(
            f"drjit.load_frozen(): cannot read {name_of(path)}: {error.strerror}"
        ) from error
    if isinstance(form, bytes):
        return form
    raise TypeError(
        f"drjit.load_frozen(): 'path' is a file whose read() gives "
        f"{type(form).__name__}, expected bytes"
    )


def load(
    path: Any, key: bytes | None, backend: JitBackend | None, unordered: bool
) -> Parts:
    """What a file consists of, see `drjit._freeze.portable.unpack()`."""
    check_key(key, "load_frozen()")
    form = _read(path)
    return unpack(
        form, key, backend, unordered, f"drjit.load_frozen(): {name_of(path)}"
    )
