"""The marker that stands for a variable without a value."""

from __future__ import annotations


class Unbound:
    """What ``@drjit.syntax`` passes in the place of a variable that is not assigned.

    Loops and conditionals hand it through. It never reaches the user's code: before
    that runs, a variable that has it is deleted, so that Python raises its own error.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<'{self.name}' is not assigned>"


# The extension knows the class by this name.
Unbound.__name__ = "<unbound>"
