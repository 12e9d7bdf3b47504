"""The array types of ``drjit.llvm`` with derivatives."""

import sys

from .._core import _publish
from .._prng import make as _make

_publish(__name__, globals())

globals().update(_make(sys.modules[__name__]))
del _make, _publish, sys

__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
