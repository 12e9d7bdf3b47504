"""What the namespace offers: ``__array_namespace_info__()``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import drjit as dr

from . import _types as t


class Info:
    """Answers about the namespace: capabilities, devices, types of entries."""

    def capabilities(self) -> dict[str, Any]:
        """Masks are no indices; sizes may depend on entries."""
        return {"boolean indexing": False, "data-dependent shapes": True}

    def default_device(self) -> str:
        """Where the backend of ``drjit.auto`` computes."""
        return str(dr.auto.ad.TensorXf().device)

    def devices(self) -> list[str]:
        """There is one: that of the backend."""
        return [self.default_device()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The types of entries that creation functions choose by themselves."""
        t.check_device("default_dtypes", device)
        return {
            "real floating": t.DEFAULT_FLOAT,
            "complex floating": None,
            "integral": t.DEFAULT_INT,
            "indexing": t.DEFAULT_INT,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The types of entries of a kind, or of several, by name."""
        t.check_device("dtypes", device)
        return {
            name: dtype
            for name, dtype in t.NAMES.items()
            if kind is None or t.isdtype(dtype, kind)
        }


def __array_namespace_info__() -> Info:
    """Capabilities, devices and types of entries of the namespace."""
    return Info()


VERSIONS = ("2021.12", "2022.12", "2023.12")

# The methods of tensors, which src/python/index/index_members.c passes on.


def __array_namespace__(self: Any, /, *, api_version: Any = None) -> ModuleType:
    """The namespace, if it is asked for in a version that it has."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"drjit.ArrayBase.__array_namespace__(): version {api_version!r} of the "
            f"standard, expected one of {', '.join(VERSIONS)}"
        )
    return sys.modules[__package__]


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The array, if it is on that device."""
    if device != self.device or stream is not None:
        raise ValueError(
            f"drjit.ArrayBase.to_device(): device {device!r} with stream {stream!r}, "
            f"expected {self.device!r} and None"
        )
    return self
