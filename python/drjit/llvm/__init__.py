"""Array types that trace their computation and run it on the CPU."""

from .._core import _publish

_publish(__name__, globals())
del _publish

_GENERATORS = ("PCG32", "Philox4x32")
__all__ = [name for name in globals() if name[0] != "_"]  # noqa: PLE0605
__all__ += _GENERATORS


def __getattr__(name: str) -> object:
    """The random number generators are made when they are first used."""
    if name not in _GENERATORS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import sys

    from .._prng import make

    globals().update(make(sys.modules[__name__]))
    return globals()[name]
