"""Type variables and aliases for annotations. The type stubs give them a meaning.

Variables have their texts in ``__doc__``, which help() and the reference read.
"""

import sys
from typing import Any, TypeAlias, TypeVar

from ._core import ArrayBase

SelfT = TypeVar("SelfT")
SelfT.__doc__ = "An array type itself."

SelfCpT = TypeVar("SelfCpT")
SelfCpT.__doc__ = "What combines with an array to an array of the same type."

ValT = TypeVar("ValT")
ValT.__doc__ = "The type of ``array[0]``."

ValCpT = TypeVar("ValCpT")
ValCpT.__doc__ = "What combines with ``array[0]`` to a value of the same type."

RedT = TypeVar("RedT")
RedT.__doc__ = "The type of ``drjit.sum(array)``."

MaskT = TypeVar("MaskT")
MaskT.__doc__ = "The type of ``array == array``."

PlainT = TypeVar("PlainT")
PlainT.__doc__ = "The plain type of an array: without tracking of derivatives."

T = TypeVar("T")
T.__doc__ = "Any type."

if sys.version_info >= (3, 11):
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")
else:
    Ts = TypeVar("Ts")
Ts.__doc__ = "The types of several arguments."

ArrayT = TypeVar("ArrayT", bound="ArrayBase[Any, Any, Any, Any, Any, Any]")
ArrayT.__doc__ = "Some array type."

AnyArray: TypeAlias = ArrayBase[Any, Any, Any, Any, Any, Any]
"""An array of whatever type."""
