"""The array types with derivatives of the backend that ``drjit.auto`` stands for."""

from __future__ import annotations

from types import ModuleType

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def _module() -> ModuleType | None:
    """The module that the names of this one stand for; drjit.scalar has none."""
    return getattr(dr.auto._module(), "ad", None)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    module = _module()
    if module is not None and hasattr(module, name):
        return getattr(module, name)
    reason = "" if module else ": drjit.scalar has no types with derivatives"
    raise AttributeError(f"module 'drjit.auto.ad' has no attribute '{name}'{reason}")


def __dir__() -> list[str]:
    module = _module()
    return sorted(dir(module)) if module else []
