"""Array types that compute at once, on values inside the Python objects."""

from ._core import _publish

_publish(__name__, globals())
del _publish

Int16 = UInt16 = int  # there are no arrays of these, but for the numbers they do

_GENERATORS = ("PCG32", "Philox4x32")
__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
__all__ += _GENERATORS


def __getattr__(name: str) -> object:
    """The random number generators are made when they are first used."""
    if name not in _GENERATORS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import sys

    from ._prng import make

    globals().update(make(sys.modules[__name__]))
    return globals()[name]
