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
from typing import Any

import drjit
from drjit import _core
from drjit._freeze import Recorded
from drjit._freeze_ad import Call, Derivatives, Ends, with_leaves

dr: Any = drjit

_STEP = re.compile(r"\[(\d+)\](.*)", re.DOTALL)
_KEY = re.compile(r"\[(\w+)\](.*)", re.DOTALL)


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


class AdjointNames(Names):
    """Those of its adjoint, a function of

        ([0] ([0] inputs, [1] .., [2] .., [3] gradients of outputs), ...)

    whose result are gradients. ``tracked`` and ``outputs`` are what the arrays are
    called that have these gradients."""

    def __init__(self, names: Names, tracked: list[str], outputs: list[str]) -> None:
        self._names = names
        self._inputs = tracked
        self._outputs = outputs

    def input(self, path: str) -> str:
        argument, rest = _split(_split(path)[1])
        if argument == 0:
            return self._names.input(rest)
        number, rest = _split(rest)
        return f"grad_{self._outputs[number]}{rest}"

    def output(self, path: str, changed: list[str]) -> str:
        number, rest = _split(_split(path)[1])
        return f"grad_{self._inputs[number]}{rest}"


def _split(path: str) -> tuple[int, str]:
    """The first step of a path, and the rest."""
    step = _STEP.match(path)
    return (int(step[1]), step[2]) if step else (0, path)


class Adjoint(Derivatives):
    """Derivatives of a frozen function that record the adjoint of a call at once."""

    seen: tuple[Call, Ends] | None = None

    def attach(self, call: Call, ends: Ends, outputs: list[Any]) -> None:
        inputs = (*call.inputs, call.before)
        tracked = [_core.detach(array) for array in call.tracked]
        gradients = [dr.zeros(type(array), dr.shape(array)) for array in outputs]
        for gradient in gradients:
            dr.make_opaque(gradient)
        self.pull._general = True
        self.pull(with_leaves(inputs, call.where, tracked), call.where, ends, gradients)
        self.seen = call, ends


def _leaf_paths(tree: Any) -> list[str]:
    """Paths as those of the core: keys are not quoted."""
    from drjit._text.nodes import paths

    found = [path for path, event in paths("freeze", tree) if event.kind == "leaf"]
    return [path.replace("'", "") for path in found]


def _copy_tracked(leaf: Any) -> Any:
    """An array with derivatives of its own, if it has some."""
    if not isinstance(leaf, _core.ArrayBase):
        return leaf
    copy = _core.detach(_core.copy(leaf))
    if _core.grad_enabled(leaf):
        _core.enable_grad(copy)
    return copy


def latest(frozen: Any, name: str) -> list[tuple[Recorded, str, Names]]:
    """The latest recording of a function, which has to be there."""
    recorded = frozen._last_recorded()
    return [(recorded, name, Names(frozen._function, recorded.tracked or []))]


def with_adjoint(
    frozen: Any, name: str, arguments: tuple[Any, ...]
) -> list[tuple[Recorded, str, Names]]:
    """Record a function that was not called yet, and its adjoint."""
    if not isinstance(arguments, (tuple, list)):
        raise TypeError(
            "drjit.FrozenFunction.export(): 'adjoint' is of type "
            f"{type(arguments).__name__}, expected a tuple of arguments"
        )
    adjoint = Adjoint(frozen._function, frozen._around, frozen._freeze_like)
    frozen._derivatives, frozen._general = adjoint, True
    arguments = _core._tree_map("freeze", _copy_tracked, tuple(arguments))
    result = frozen(*arguments)
    ((recorded, _, names),) = latest(frozen, name)
    if adjoint.seen is None:
        raise RuntimeError(
            "drjit.FrozenFunction.export(): 'adjoint' has arguments for which the "
            "result has no derivatives, expected some with gradients enabled"
        )
    call, ends = adjoint.seen
    inputs, outputs = _leaf_paths(call.inputs), _leaf_paths(result)
    adjoint_names = AdjointNames(
        names,
        [names.input(inputs[k]) for k in call.where],
        [f"result{outputs[k]}" for k in ends.result]
        + [f"new_{names.input(inputs[k])}" for k in ends.inputs],
    )
    return [
        (recorded, name, names),
        (adjoint.pull._last_recorded(), f"{name}_adjoint", adjoint_names),
    ]


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
