"""Array types that compute at once, on values inside the Python objects."""

from . import _family
from ._core import _publish

_publish(__name__, globals())

Int16 = UInt16 = int  # there are no arrays of these, but for the numbers they do

__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
__all__ += _family.NAMES
__getattr__ = _family.finder(globals())
__dir__ = _family.lister(globals())
del _family, _publish
