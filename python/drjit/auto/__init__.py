"""The array types of the best backend there is, or of what was set.

``drjit.set_backend`` changes which; names are looked up each time.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import drjit as dr

from .._family import MODULES

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_chosen: str | None = None


def _module() -> ModuleType:
    """The module that the names of this one stand for."""
    global _chosen
    if _chosen is None:
        for name in MODULES:
            try:
                importlib.import_module(name)
            except RuntimeError:
                continue  # the backend cannot be initialised on this machine
            _chosen = name
            break
    assert _chosen is not None  # drjit.scalar works everywhere
    return importlib.import_module(_chosen)


def set_backend(arg: str | dr.JitBackend, /) -> None:
    """Choose the backend whose array types ``drjit.auto`` and ``drjit.auto.ad`` have.

    Names are looked up each time, so ``dr.auto.Float`` is the new type from here on;
    what was imported by name before stays what it was. Without a choice it is the best
    backend that works on this machine.

    Args:
        arg (str | JitBackend): ``"llvm"`` or ``"scalar"``; ``JitBackend.Invalid`` also
            means the latter.

    Raises:
        ValueError: there is no such name.
        RuntimeError: the backend is not part of this version, or cannot be used.

    Example:
        >>> import drjit.auto
        >>> dr.set_backend("scalar")
        >>> drjit.auto.Float
        <class 'float'>
        >>> dr.set_backend("llvm")
        >>> drjit.auto.Float
        <class 'drjit.llvm.Float'>

    See also:
        :func:`drjit.has_backend`, :class:`drjit.JitBackend`
    """
    global _chosen
    names = {each: each.name.lower() for each in dr.JitBackend}
    names[dr.JitBackend.Invalid] = "scalar"
    name = names[arg] if isinstance(arg, dr.JitBackend) else arg
    if name not in names.values():
        expected = ", ".join(map(repr, names.values()))
        raise ValueError(
            f"drjit.set_backend(): the argument is {arg!r}, expected a JitBackend or "
            f"one of {expected}"
        )
    if f"drjit.{name}" not in MODULES:
        raise RuntimeError(
            f"drjit.set_backend(): there is no {name.upper()} backend in this version"
        )
    importlib.import_module(f"drjit.{name}")
    _chosen = f"drjit.{name}"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(_module(), name)
    except AttributeError:
        raise AttributeError(f"module 'drjit.auto' has no attribute '{name}'") from None


def __dir__() -> list[str]:
    return sorted(set(dir(_module())))
