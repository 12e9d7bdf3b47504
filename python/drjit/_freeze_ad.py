"""Derivatives through a frozen function, which is one operation of the graph.

The function is called anew to record its derivative, with the inputs of the call that
is differentiated. Derivatives are frozen functions of their own: of these inputs, and
of the gradients that come in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import drjit
from drjit import _core
from drjit._ad.custom import CustomOp, custom

dr: Any = drjit

_ISOLATE = 2  # ADScopeIsolate


def leaves(tree: Any) -> list[Any]:
    """The leaves of a PyTree, in the order in which their positions count."""
    nodes = _core._tree_nodes("freeze", tree)
    return [leaf for leaf, keys in nodes if keys is None]


def _copy(leaf: Any) -> Any:
    return _core.copy(leaf) if isinstance(leaf, _core.ArrayBase) else leaf


def tracked_positions(leaves: list[Any]) -> tuple[int, ...]:
    """Where the arrays are that are tracked."""
    return tuple(
        position
        for position, leaf in enumerate(leaves)
        if isinstance(leaf, _core.ArrayBase) and _core.grad_enabled(leaf)
    )


def gradient_of(array: Any) -> Any:
    """The gradient of an array, None if it has none."""
    return _core.grad(array) if _core._has_grad(array) else None


class Ends(NamedTuple):
    """The outputs of a call that are tracked: their positions."""

    result: tuple[int, ...]
    inputs: tuple[int, ...]  # of arrays that the function has changed

    def find(self, result: Any, inputs: Any) -> list[Any]:
        in_result, in_inputs = leaves(result), leaves(inputs)
        found = [in_result[k] for k in self.result]
        return found + [in_inputs[k] for k in self.inputs]


class Call:
    """A call to differentiate. No PyTree, so its arrays are no inputs of operations."""

    def __init__(self, inputs: Any) -> None:
        # args, kwargs, closure, state
        self.inputs = _core._tree_map("freeze", _copy, inputs)
        all_leaves = leaves(self.inputs)
        self.where = tracked_positions(all_leaves)
        self.tracked = [all_leaves[k] for k in self.where]
        self.before = [gradient_of(array) for array in self.tracked]


class Derivatives:
    """What is recorded of a function to differentiate it.

    ``around(args, kwargs)`` gives what the function reads besides its arguments,
    ``freeze`` makes a frozen function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        around: Callable[[Any, Any], tuple[Any, Any]],
        freeze: Callable[[Callable[..., Any]], Any],
    ) -> None:
        self._function = function
        self._around = around
        self.pull = freeze(self._pull)
        self.push = freeze(self._push)

    def attach(self, call: Call, ends: Ends, outputs: list[Any]) -> None:
        """Have outputs of a call depend on its tracked inputs."""
        made = custom(_Operation, self, call, ends, call.tracked, outputs)
        for array, tracked in zip(outputs, made, strict=True):
            if not _core.grad_enabled(array):  # it may be an input, in another place
                _core._set_leaves(array, _core._leaves(tracked))

    def _pull(
        self, inputs: Any, where: tuple[int, ...], ends: Ends, gradients: list[Any]
    ) -> Any:
        """The gradients of the inputs, given those of outputs (None: there is none)."""
        some = [k for k, gradient in enumerate(gradients) if gradient is not None]

        def run(*arrays: Any) -> list[Any]:
            outputs = self._run(inputs, where, ends, arrays)
            return [outputs[k] for k in some]

        all_leaves = leaves(inputs)
        pull = dr.ad.vjp(run, *(all_leaves[k] for k in where))[1]
        return pull([gradients[k] for k in some])

    def _push(
        self, inputs: Any, where: tuple[int, ...], ends: Ends, tangents: list[Any]
    ) -> Any:
        """The derivatives of the outputs, given those of inputs (None: zero)."""

        def run(*arrays: Any) -> list[Any]:
            return self._run(inputs, where, ends, arrays)

        all_leaves = leaves(inputs)
        arrays = [all_leaves[k] for k in where]
        tangents = [
            array * 0 if tangent is None else tangent
            for array, tangent in zip(arrays, tangents, strict=True)
        ]
        return dr.ad.jvp(run, arrays, tangents)[1]

    def _run(
        self, inputs: Any, where: tuple[int, ...], ends: Ends, arrays: tuple[Any, ...]
    ) -> list[Any]:
        """Call the function with these arrays at their positions: its outputs."""
        args, kwargs, closure, state, before = with_leaves(inputs, where, arrays)
        now = (args, kwargs, *self._around(args, kwargs))
        with _holding(now[2:], (closure, state)):
            all_leaves = leaves(now)
            seen = [all_leaves[k] for k in where]
            for array, gradient in zip(seen, before, strict=True):
                if gradient is not None:
                    _core.set_grad(array, gradient)
            _core._scope_enter(_ISOLATE, ())
            try:
                result = self._function(*args, **kwargs)
            finally:
                # Gradients that it leaves were given to the inputs by the call itself.
                _core._scope_leave(_ISOLATE, False)
            outputs = [_core.copy(array) for array in ends.find(result, now)]
        _core.clear_grad(arrays)
        return outputs


def with_leaves(tree: Any, where: tuple[int, ...], arrays: Iterable[Any]) -> Any:
    """A PyTree of its own, with other leaves at some positions."""
    others = dict(zip(where, arrays, strict=True))
    positions = itertools.count()

    def choose(leaf: Any) -> Any:
        return _copy(others.get(next(positions), leaf))

    return _core._tree_map("freeze", choose, tree)


@contextmanager
def _holding(now: Any, then: Any) -> Iterator[None]:
    """Let the arrays of a PyTree have the values of another one meanwhile."""
    pairs = [
        (array, value)
        for array, value in zip(leaves(now), leaves(then), strict=True)
        if isinstance(array, _core.ArrayBase)
    ]
    before = [_core.copy(array) for array, _ in pairs]
    for array, value in pairs:
        array.__init__(value)
    try:
        yield
    finally:
        for (array, _), value in zip(pairs, before, strict=True):
            array.__init__(value)


class _Operation(CustomOp):
    """A call of a frozen function."""

    keeps_constants = True  # but for 'tracked', which are arguments of eval()

    def eval(
        self,
        derivatives: Derivatives,
        call: Call,
        ends: Ends,
        tracked: list[Any],
        outputs: list[Any],
    ) -> list[Any]:
        self.derivatives, self.call, self.ends = derivatives, call, ends
        self.tracked = tracked
        return outputs

    def name(self) -> str:
        return "Frozen function"

    def _differentiate(self, function: Any, gradients: list[Any]) -> list[Any]:
        call = self.call
        inputs = (*call.inputs, call.before)
        inputs = with_leaves(inputs, call.where, self.tracked)
        return list(function(inputs, call.where, self.ends, gradients))

    def backward(self) -> None:
        pairs = zip(self._result, self.grad_out(), strict=True)
        gradients = [grad if self._out.has(array) else None for array, grad in pairs]
        found = self._differentiate(self.derivatives.pull, gradients)
        self.set_grad_in("tracked", found)

    def forward(self) -> None:
        pairs = zip(self._arguments["tracked"], self.grad_in("tracked"), strict=True)
        tangents = [grad if self._in.has(array) else None for array, grad in pairs]
        self.set_grad_out(self._differentiate(self.derivatives.push, tangents))
