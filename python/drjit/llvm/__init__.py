"""Array types that trace their computation and run it on the CPU."""

from .. import _family
from .._core import _publish

_publish(__name__, globals())

__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
__all__ += _family.NAMES
__getattr__ = _family.finder(globals())
__dir__ = _family.lister(globals())
del _family, _publish
