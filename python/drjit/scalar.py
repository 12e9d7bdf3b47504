"""Array types that compute at once, on values inside the Python objects."""

import sys

from ._core import _publish
from ._prng import make as _make

_publish(__name__, globals())

Int16 = UInt16 = int  # there are no arrays of these, but for the numbers they do

globals().update(_make(sys.modules[__name__]))
del _make, _publish, sys

__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
