"""Exceptions that are of several classes.

Where a built-in class says best what is wrong, but programs written for the published
package catch another one, the package raises a class that is both. Programs name the
built-in classes only, so that they run with either package; tracebacks and ``repr()``
show these as the built-in class that says it best (``IndexError: ...``). They have no
other name that could be imported.
"""

import builtins


class _Both:
    """First base of these classes, in front of the built-in one they are shown as."""

    def __reduce__(self) -> tuple[object, ...]:
        """For pickles, which would look for the class where it is shown."""
        reduced = super().__reduce__()
        assert isinstance(reduced, tuple)
        _, args, *state = reduced
        return _make, (_NAMES[type(self)], args), *state


def _make(name: str, args: tuple[object, ...]) -> _Both:
    made: _Both = globals()[name](*args)
    return made


class AttributeError(  # noqa: A001
    _Both, builtins.AttributeError, RuntimeError, TypeError
):
    """An attribute that arrays of this type do not have."""


class IndexError(_Both, builtins.IndexError, RuntimeError, TypeError):  # noqa: A001
    """A key of a tensor that is out of range."""


class OverflowError(_Both, builtins.OverflowError, RuntimeError):  # noqa: A001
    """A number that is out of range for the entries of an array."""


class AxisError(_Both, ValueError, builtins.IndexError, RuntimeError):
    """An axis lies outside of its array, or occurs twice."""


class ShapeError(_Both, ValueError, TypeError, RuntimeError):
    """The number, sizes or shapes of the arguments do not fit together."""


_NAMES: dict[type[object], str] = {
    cls: cls.__name__
    for cls in (AttributeError, IndexError, OverflowError, AxisError, ShapeError)
}
for _cls in _NAMES:
    _shown = _cls.__mro__[2]  # the first built-in class, behind _Both
    _cls.__module__, _cls.__name__ = _shown.__module__, _shown.__name__
    _cls.__qualname__ = _shown.__qualname__
del _cls, _shown
