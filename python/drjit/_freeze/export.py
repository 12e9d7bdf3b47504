"""Recordings of frozen functions as libraries in C: what inputs and outputs are called.

``_core`` knows them by paths in the tuples that :mod:`drjit._freeze` makes:

    inputs    ([0] args, [1] kwargs, [2] closure, [3] state, [4] gradients)
    outputs   ([0] result, [1] what has changed); with derivatives, the result is
              a drjit._freeze.ad.Traced

Users know them by the names of parameters.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import drjit
from drjit import _core
from drjit._freeze.ad import DEPENDENT, LEAF, Call, Derivatives, copied, part_paths
from drjit._freeze.function import Recorded
from drjit._signature import signature

dr: Any = drjit

# Those of JitExportBounds.
_BOUNDS = (None, "pin", "check")
_STEP = re.compile(r"\[(\d+)\](.*)", re.DOTALL)
# Fields of what such a call gives.
_RESULT, _GRADIENTS = ".result", ".gradients"
_KEY = re.compile(r"\[(\w+)\](.*)", re.DOTALL)


class Names:
    """The names of a function's inputs and outputs; ``tracked`` has the paths of those
    inputs that have derivatives."""

    def __init__(
        self, function: Callable[..., Any], tracked: list[str], traced: bool
    ) -> None:
        """``traced``: results are those of a call that has derivatives."""
        self._parameters: list[str] = []
        self._rest = "args"
        try:
            parameters = signature(function).parameters.values()
        except (TypeError, ValueError):
            parameters = {}.values()  # a builtin
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = parameter.name
            elif parameter.kind is not parameter.KEYWORD_ONLY:
                self._parameters.append(parameter.name)
        self._tracked, self._traced = tracked, traced

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
        if number >= len(self._tracked):  # of what has been tracked within
            return f"gradients[{number}]{rest}"
        return f"grad_{self.input(self._tracked[number])}{rest}"

    def output(self, path: str, changed: list[str]) -> str:
        """What stands at a path of the outputs; ``changed`` has the paths of inputs."""
        part, rest = _split(path)
        if part == 1:
            number, rest = _split(rest)
            return f"new_{self.input(changed[number])}{rest}"
        if self._traced:
            if rest.startswith(_GRADIENTS):
                return self._gradient(rest[len(_GRADIENTS) :])
            rest = rest[len(_RESULT) :]
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

    seen: tuple[Call, list[Any], list[Any]] | None = None

    def attach(self, call: Call, sources: list[Any], outputs: list[Any]) -> list[Any]:
        self.seen = call, [_core.detach(part) for part in sources], outputs
        return outputs

    def prepare(self, call: Call, outputs: list[Any], new: bool) -> None:
        """They are recorded on demand."""

    def record(self, mode: str) -> Recorded:
        """Record the derivative of the call as a traversal would, with gradients in
        memory."""
        assert self.seen is not None
        call, sources, outputs = self.seen
        derivative, like = {
            "adjoint": (self.pull, outputs),
            "tangent": (self.push, sources),
        }[mode]
        gradients = [dr.zeros(type(array), dr.width(array)) for array in like]
        for gradient in gradients:
            dr.make_opaque(gradient)
        derivative._general = True
        self.differentiate(derivative, call, [], gradients)
        recorded: Recorded = derivative._last_recorded()
        return recorded


def _copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with nodes of their own, one for what is one node or one array."""
    own: tuple[Any, ...] = copied(arguments, True)
    found: dict[int, Any] = {}
    nodes: dict[int, Any] = {}
    pairs = zip(_core._freeze_parts(arguments), _core._freeze_parts(own), strict=True)
    for k, (old, new) in enumerate(pairs):
        if _core.grad_enabled(old):
            if old.index_ad not in found:
                found[old.index_ad] = _core.detach(new)
                _core.enable_grad(found[old.index_ad])
            nodes[k] = found[old.index_ad]
    _core._freeze_set_nodes(own, nodes)
    return own


def latest(frozen: Any, name: str) -> list[tuple[Recorded, str, Names]]:
    """The latest recording of a function, which has to be there."""
    recorded = frozen._last_recorded()
    tracked = recorded.tracked or []
    traced = bool(tracked) or frozen._tracks
    return [(recorded, name, Names(frozen._function, tracked, traced))]


def with_derivatives(
    frozen: Any, name: str, modes: dict[str, tuple[Any, ...]]
) -> list[tuple[Recorded, str, Names]]:
    """Record a function that was not called yet, and derivatives of it: 'adjoint',
    'tangent' or both, with the arguments for these."""
    arguments = _arguments_of(modes)
    derivatives = Differentiated(frozen._function, frozen._around, frozen._freeze_like)
    frozen._derivatives, frozen._general = derivatives, True
    result = frozen(*_copies(arguments))
    functions = latest(frozen, name)
    names = functions[0][2]
    if derivatives.seen is None:
        raise RuntimeError(
            f"drjit.FrozenFunction.export(): '{next(iter(modes))}' has arguments for "
            "which the result has no derivatives, expected some with gradients enabled"
        )
    call = derivatives.seen[0]
    inputs, outputs = part_paths(call.inputs), part_paths(result)
    nodes = part_paths(call.inputs, call.where)
    tracked = [names.input(nodes[k]) for k in call.ends.sources]
    rows = [
        (row.kind, f"result{outputs[row.part]}")
        if row.result
        else (row.kind, f"new_{names.input(inputs[row.part])}")
        for row in call.ends.rows
    ]
    tracked += [name for kind, name in rows if kind == LEAF]
    made = [name for kind, name in rows if kind == DEPENDENT]
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


def check_bounds(bounds: str | None) -> None:
    """Is it one of those that there are?"""
    if bounds not in _BOUNDS:
        raise ValueError(
            f"drjit.FrozenFunction.export(): 'bounds' is {bounds!r}, expected None, "
            "'pin' or 'check'"
        )


def recording(bounds: str | None) -> AbstractContextManager[Any]:
    """What derivatives are recorded in: with checks, if these are wanted."""
    if bounds != "check":
        return nullcontext()
    scope: AbstractContextManager[Any] = dr.scoped_set_flag(dr.JitFlag.Debug, True)
    return scope


def _plain(text: str) -> str:
    """A text that UTF-8 and C can have: keys may have lone surrogates, and zeros."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def export(
    path: str | os.PathLike[str],
    functions: list[tuple[Recorded, str, Names]],
    bounds: str | None,
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
                _BOUNDS.index(bounds),
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
