"""Type variables and aliases for annotations. The type stubs give them a meaning."""

import sys
from typing import Any, TypeAlias, TypeVar

from ._core import ArrayBase

SelfT = TypeVar("SelfT")
"""An array type itself."""

SelfCpT = TypeVar("SelfCpT")
"""What combines with an array to an array of the same type."""

ValT = TypeVar("ValT")
"""The type of ``array[0]``."""

ValCpT = TypeVar("ValCpT")
"""What combines with ``array[0]`` to a value of the same type."""

RedT = TypeVar("RedT")
"""The type of ``drjit.sum(array)``."""

MaskT = TypeVar("MaskT")
"""The type of ``array == array``."""

PlainT = TypeVar("PlainT")
"""The plain type of an array: without tracking of derivatives."""

T = TypeVar("T")

if sys.version_info >= (3, 11):
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")
    """The types of several arguments."""
else:
    Ts = TypeVar("Ts")

ArrayT = TypeVar("ArrayT", bound="ArrayBase[Any, Any, Any, Any, Any, Any]")
"""Some array type."""

AnyArray: TypeAlias = ArrayBase[Any, Any, Any, Any, Any, Any]
"""An array of whatever type."""
