"""Exceptions that are of two kinds.

Where a built-in class says best what is wrong, but programs written for the published
package catch another one, the extension raises a class of the same name that is both.
"""

import builtins


class AttributeError(builtins.AttributeError, RuntimeError, TypeError):  # noqa: A001
    """An attribute that arrays of this type do not have."""


class IndexError(builtins.IndexError, RuntimeError, TypeError):  # noqa: A001
    """A key of a tensor that is out of range."""


class OverflowError(builtins.OverflowError, RuntimeError):  # noqa: A001
    """A number that is out of range for the entries of an array."""
