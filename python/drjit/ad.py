"""Derivatives of functions: products with Jacobians and Hessians.

The functions take a function and its arguments, PyTrees, whose float arrays with
derivatives are what is differentiated. The function gets copies, which it may change in
place; gradients of the caller's arrays are left alone. Each call traces the function
once.

They nest: where the function depends on something that is tracked already, an argument
or an array it reads from around it, what is returned is tracked, too.
"""

from __future__ import annotations

import drjit
from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

dr: Any = drjit


def _begin(leaf: Any) -> Any:
    """An array of our own that is tracked, and depends on what the array depends on."""
    if not dr.is_array_v(leaf):
        return leaf
    own = dr.detach(leaf)
    if dr.grad_enabled(leaf):
        return dr.replace_grad(own, leaf)
    dr.enable_grad(own)
    return own


def _end(leaf: Any) -> Any:
    """An array of our own, which nothing depends on."""
    if dr.is_array_v(leaf) and dr.grad_enabled(leaf):
        return dr.replace_grad(dr.detach(leaf), leaf)
    return leaf


class _Call:
    """A call of a function with inputs of our own."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.inputs = _core._tree_map("ad", _begin, args)
        # Copies: the function may change its arguments in place.
        self.result = _core._tree_map("ad", _end, fn(*dr.copy(self.inputs)))
        self._nested = dr.grad_enabled(args) or _core._depends_beyond(
            self.result, self.inputs
        )

    def propagate(self, mode: Any, given: Any, keep: bool = False) -> None:
        """Pass gradients, by what depends on the inputs only.

        The function may use other arrays that are tracked and have gradients. ``given``
        are the gradients that were set. ``keep``: there will be other traversals.
        """
        flags = dr.ADFlag.ClearVertices if keep else dr.ADFlag.Default
        if self._nested or dr.grad_enabled(given):
            flags = dr.ADFlag.ClearVertices | dr.ADFlag.CreateGraph
        dr.enqueue(dr.ADMode.Forward, self.inputs)
        dr.traverse(mode, flags)

    def pull(self, result: Any, gradient: Any, keep: bool = True) -> Any:
        """The gradients of the inputs, given that of a result."""
        if dr.grad_enabled(result):  # else it is constant
            _core._set_tracked_grad(result, gradient)
            self.propagate(dr.ADMode.Backward, gradient, keep)
        return self._take(self.inputs)

    def push(self, tangents: Any) -> Any:
        """The derivative of the result, given those of the inputs."""
        _core._set_tracked_grad(self.inputs, tangents)
        self.propagate(dr.ADMode.Forward, tangents)
        return self._take(self.result)

    def _take(self, tree: Any) -> Any:
        gradients = dr.grad(tree)
        # One that is tracked by the variable it belongs to would keep itself alive.
        dr.clear_grad((self.inputs, self.result))
        return gradients

    def value(self) -> Any:
        """The result, tracked if what is outside has derivatives."""
        return self.result if self._nested else dr.detach(self.result)


def jvp(fn: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """Result and directional derivative (Jacobian times vector).

    ``args`` and ``tangents`` are tuples of one structure. Returns the result of
    ``fn(*args)`` and its derivative in the direction of ``tangents``.
    """
    call = _Call(fn, tuple(args))
    tangent = call.push(tuple(tangents))
    return call.value(), tangent


def vjp(fn: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Result and a function for the reverse derivative (vector times Jacobian).

    Returns the result of ``fn(*args)`` and a function of a gradient of the result,
    which gives a tuple of the gradients of the arguments. It can be called repeatedly.
    """
    call = _Call(fn, args)
    return call.value(), lambda gradient: call.pull(call.result, gradient)


def value_and_grad(fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the result of ``fn`` and its gradients by all arguments.

    ``fn`` returns one array, the sum of whose entries is differentiated: a loss. The
    gradients are a tuple, or that of the only argument.
    """

    def differentiate(*args: Any) -> tuple[Any, Any]:
        call = _Call(fn, args)
        gradients = call.pull(call.result, 1, keep=False)
        return call.value(), gradients if len(args) != 1 else gradients[0]

    return differentiate


def gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives the gradients of :func:`value_and_grad` only."""
    both = value_and_grad(fn)
    return lambda *args: both(*args)[1]


def hvp(fn: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """Gradient and Hessian times vector, by reverse over forward.

    ``args`` and ``tangents`` are tuples of one structure, ``fn`` as in
    :func:`value_and_grad`. Returns two tuples.
    """
    call = _Call(lambda *inputs: jvp(fn, inputs, tangents), tuple(args))
    first, second = (call.pull(result, 1) for result in call.result)
    return first, second


def tape_limit() -> int:
    """Bytes that the reverse derivative of a recorded loop may take for its states."""
    return int(_core._tape_limit())


def set_tape_limit(limit: int) -> None:
    """Set the number of bytes of :func:`tape_limit`, for all threads.

    At first it is a quarter of the machine's memory. Loops that would need more compute
    states again from checkpoints: each of n iterations is run O(log n) times.
    """
    _core._set_tape_limit(limit)
