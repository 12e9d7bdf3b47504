"""Recordings of frozen functions as libraries in C: what inputs and outputs are called.

``_core`` knows them by paths in the tuples that :mod:`drjit._freeze` makes:

    inputs    ([0] args, [1] kwargs, [2] closure, [3] state, [4] gradients)
    outputs   ([0] result, [1] what has changed); with derivatives, the result is
              ([0] result, [1] gradients)

Users know them by the names of parameters.
"""

from __future__ import annotations

import inspect
import operator
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


class DerivativeNames(Names):
    """Those of a derivative of it, a function of

        ([0] ([0] inputs, [1] .., [2] .., [3] gradients), ...)

    whose result are gradients. ``given`` and ``found`` are what the arrays are called
    whose gradients go in, and come out."""

    def __init__(self, names: Names, given: list[str], found: list[str]) -> None:
        self._names = names
        self._given = given
        self._found = found

    def input(self, path: str) -> str:
        argument, rest = _split(_split(path)[1])
        if argument == 0:
            return self._names.input(rest)
        number, rest = _split(rest)
        return f"grad_{self._given[number]}{rest}"

    def output(self, path: str, changed: list[str]) -> str:
        number, rest = _split(_split(path)[1])
        return f"grad_{self._found[number]}{rest}"


def _split(path: str) -> tuple[int, str]:
    """The first step of a path, and the rest."""
    step = _STEP.match(path)
    return (int(step[1]), step[2]) if step else (0, path)


class Differentiated(Derivatives):
    """Derivatives of a frozen function that was called once, which are recorded on
    demand."""

    seen: tuple[Call, Ends, list[Any]] | None = None

    def attach(self, call: Call, ends: Ends, outputs: list[Any]) -> None:
        self.seen = call, ends, outputs

    def record(self, mode: str) -> Recorded:
        """Record the derivative of the call as a traversal would, with gradients in
        memory."""
        assert self.seen is not None
        call, ends, outputs = self.seen
        derivative, like = {
            "adjoint": (self.pull, outputs),
            "tangent": (self.push, call.tracked),
        }[mode]
        tracked = [_core.detach(array) for array in call.tracked]
        inputs = with_leaves((*call.inputs, call.before), call.where, tracked)
        gradients = [dr.zeros(type(array), dr.shape(array)) for array in like]
        for gradient in gradients:
            dr.make_opaque(gradient)
        derivative._general = True
        derivative(inputs, call.where, ends, gradients)
        recorded: Recorded = derivative._last_recorded()
        return recorded


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


def with_derivatives(
    frozen: Any, name: str, modes: dict[str, tuple[Any, ...]]
) -> list[tuple[Recorded, str, Names]]:
    """Record a function that was not called yet, and derivatives of it: 'adjoint',
    'tangent' or both, with the arguments for these."""
    arguments = _arguments_of(modes)
    derivatives = Differentiated(frozen._function, frozen._around, frozen._freeze_like)
    frozen._derivatives, frozen._general = derivatives, True
    result = frozen(*_core._tree_map("freeze", _copy_tracked, arguments))
    functions = latest(frozen, name)
    names = functions[0][2]
    if derivatives.seen is None:
        raise RuntimeError(
            f"drjit.FrozenFunction.export(): '{next(iter(modes))}' has arguments for "
            "which the result has no derivatives, expected some with gradients enabled"
        )
    call, ends, _ = derivatives.seen
    inputs, outputs = _leaf_paths(call.inputs), _leaf_paths(result)
    tracked = [names.input(inputs[k]) for k in call.where]
    made = [f"result{outputs[k]}" for k in ends.result]
    made += [f"new_{names.input(inputs[k])}" for k in ends.inputs]
    for mode in modes:
        given, found = (made, tracked) if mode == "adjoint" else (tracked, made)
        own = DerivativeNames(names, given, found)
        functions.append((derivatives.record(mode), f"{name}_{mode}", own))
    return functions


def _arguments_of(modes: dict[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    """The arguments that are given for one or more derivatives."""
    for mode, arguments in modes.items():
        if not isinstance(arguments, (tuple, list)):
            raise TypeError(
                f"drjit.FrozenFunction.export(): '{mode}' is of type "
                f"{type(arguments).__name__}, expected a tuple of arguments"
            )
    first, *others = map(tuple, modes.values())
    for other in others:
        if len(other) != len(first) or not all(map(operator.is_, first, other)):
            raise ValueError(
                "drjit.FrozenFunction.export(): 'adjoint' and 'tangent' have different "
                "arguments, expected the same objects"
            )
    return first


def _plain(text: str) -> str:
    """A text that UTF-8 and C can have: keys may have lone surrogates, and zeros."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


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
                [_plain(names.input(path)) for path in inputs + extents],
                [_plain(names.output(path, changed)) for path in outputs + sizes],
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
