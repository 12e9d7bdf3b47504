"""Recordings of frozen functions as libraries in C: what inputs and outputs are called.

``_core`` knows them by paths in the tuples that :mod:`drjit._freeze` makes:

    inputs    ([0] args, [1] kwargs, [2] closure, [3] state, [4] gradients)
    outputs   ([0] result, [1] what has changed); with derivatives, the result is
              ([0] result, [1] gradients)

Users know them by the names of parameters.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from drjit import _core

_STEP = re.compile(r"\[(\d+)\](.*)", re.DOTALL)
_KEY = re.compile(r"\[(\w+)\](.*)", re.DOTALL)


class Recorded(NamedTuple):
    """A recording, and what else is known of it."""

    recording: Any
    tracked: list[str]  # paths of its inputs that have derivatives
    prints: bool  # evaluated arrays
    instances: bool  # it has looked at the instances of a class


class Names:
    """The names of a function's inputs and outputs; ``tracked`` has the paths of those
    inputs that have derivatives."""

    def __init__(self, function: Callable[..., Any], tracked: list[str]) -> None:
        self._parameters: list[str] = []
        self._rest = "args"
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            parameters = {}.values()  # a builtin
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = parameter.name
            elif parameter.kind is not parameter.KEYWORD_ONLY:
                self._parameters.append(parameter.name)
        self._tracked = tracked

    def _argument(self, path: str) -> str:
        number, rest = _split(path)
        if number < len(self._parameters):
            return self._parameters[number] + rest
        return f"{self._rest}[{number - len(self._parameters)}]{rest}"

    def input(self, path: str) -> str:
        """What stands at a path of the inputs."""
        part, rest = _split(path)
        if part == 0:
            return self._argument(rest)
        if part == 1:
            key = _KEY.fullmatch(rest)
            return key[1] + key[2] if key else f"kwargs{rest}"
        if part == 4:
            return self._gradient(rest)
        return ("closure" if part == 2 else "state") + rest

    def _gradient(self, path: str) -> str:
        number, rest = _split(path)
        return f"grad_{self.input(self._tracked[number])}{rest}"

    def output(self, path: str, changed: list[str]) -> str:
        """What stands at a path of the outputs; ``changed`` has the paths of inputs."""
        part, rest = _split(path)
        if part == 1:
            number, rest = _split(rest)
            return f"new_{self.input(changed[number])}{rest}"
        if self._tracked:
            part, rest = _split(rest)
            if part == 1:
                return self._gradient(rest)
        return f"result{rest}"


def _split(path: str) -> tuple[int, str]:
    """The first step of a path, and the rest."""
    step = _STEP.match(path)
    return (int(step[1]), step[2]) if step else (0, path)


def export(
    path: str | os.PathLike[str], functions: list[tuple[Recorded, str, Names]]
) -> None:
    """Write recordings to a folder, as one library."""
    rows = []
    for recorded, name, names in functions:
        _check(recorded, name)
        inputs, extents, outputs, sizes, changed = recorded.recording.paths()
        rows.append(
            (
                recorded.recording,
                name,
                [names.input(path) for path in inputs + extents],
                [names.output(path, changed) for path in outputs + sizes],
            )
        )
    _core._freeze_export(os.fsencode(path), rows)


def _check(recorded: Recorded, name: str) -> None:
    why = (
        "it prints evaluated arrays"
        if recorded.prints
        else "it depends on the instances of a class"
        if recorded.instances
        else None
    )
    if why:
        raise RuntimeError(
            f"drjit.FrozenFunction.export(): '{name}' cannot be exported: {why}"
        )
