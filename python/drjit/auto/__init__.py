"""The array types of the best backend there is: ``llvm``, or what was set.

``drjit.set_backend`` changes which; names are looked up each time.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_ORDER = ("llvm", "scalar")
_chosen: str | None = None


def _module() -> ModuleType:
    """The module that the names of this one stand for."""
    global _chosen
    if _chosen is None:
        for name in _ORDER:
            try:
                importlib.import_module("drjit." + name)
            except RuntimeError:
                continue  # the backend cannot be initialised on this machine
            _chosen = name
            break
    assert _chosen is not None  # drjit.scalar works everywhere
    return importlib.import_module("drjit." + _chosen)


def set_backend(arg: str | dr.JitBackend, /) -> None:
    """Choose the backend of ``drjit.auto``: ``'llvm'``, ``'scalar'``, a ``JitBackend``.

    Raises ``ValueError`` for other names, ``RuntimeError`` if there is no such backend.
    """
    global _chosen
    names = {dr.JitBackend.LLVM: "llvm", dr.JitBackend.CUDA: "cuda",
             dr.JitBackend.Invalid: "scalar"}  # fmt: skip
    name = names.get(arg, "") if isinstance(arg, dr.JitBackend) else arg
    if name not in ("cuda", "llvm", "scalar"):
        raise ValueError(
            f"drjit.set_backend(): the argument is {arg!r}, expected 'cuda', 'llvm', "
            "'scalar' or a JitBackend"
        )
    if name == "cuda":
        raise RuntimeError(
            "drjit.set_backend(): there is no CUDA backend in this version"
        )
    importlib.import_module("drjit." + name)
    _chosen = name


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(_module(), name)
    except AttributeError:
        raise AttributeError(f"module 'drjit.auto' has no attribute '{name}'") from None


def __dir__() -> list[str]:
    return sorted(set(dir(_module())))
