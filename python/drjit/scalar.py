"""Array types that compute at once, on values inside the Python objects."""

from ._core import _publish

_publish(__name__, globals())
del _publish
