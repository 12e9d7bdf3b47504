"""Derivatives of functions: products with Jacobians and Hessians.

The functions take a function and its arguments, PyTrees, whose float arrays with
derivatives are what is differentiated. They leave gradients of the caller's arrays
alone. Each call traces the function once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit
from drjit import _core

dr: Any = drjit


def _tracked(tree: Any) -> Any:
    """The tree with arrays of its own, which are tracked."""
    copy = dr.detach(tree)
    dr.enable_grad(copy)
    return copy


def _ended(result: Any) -> Any:
    """The tree with arrays of its own, which nothing depends on."""

    def end(leaf: Any) -> Any:
        if dr.is_array_v(leaf) and dr.grad_enabled(leaf):
            return dr.replace_grad(dr.detach(leaf), leaf)
        return leaf

    return _core._tree_map("ad", end, result)


def _propagate(mode: Any, inputs: Any, flags: Any) -> None:
    """Pass what depends on the inputs only.

    The function may use other arrays that are tracked and have gradients.
    """
    dr.enqueue(dr.ADMode.Forward, inputs)
    dr.traverse(mode, flags)


def jvp(fn: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """Result and directional derivative (Jacobian times vector).

    ``args`` and ``tangents`` are tuples of one structure. Returns the result of
    ``fn(*args)`` and its derivative in the direction of ``tangents``.
    """
    inputs = _tracked(tuple(args))
    result = _ended(fn(*inputs))
    dr.set_grad(inputs, tuple(tangents))
    _propagate(dr.ADMode.Forward, inputs, dr.ADFlag.Default)
    return dr.detach(result), dr.grad(result)


def vjp(fn: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Result and a function for the reverse derivative (vector times Jacobian).

    Returns the result of ``fn(*args)`` and a function of a gradient of the result,
    which gives a tuple of the gradients of the arguments. It can be called repeatedly.
    """
    inputs = _tracked(args)
    result = _ended(fn(*inputs))

    def pull(gradient: Any) -> Any:
        if dr.grad_enabled(result):  # else it is constant
            dr.set_grad(result, gradient)
            _propagate(dr.ADMode.Backward, inputs, dr.ADFlag.ClearVertices)
        gradients = dr.grad(inputs)
        dr.clear_grad(inputs)
        return gradients

    return dr.detach(result), pull


def value_and_grad(fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the result of ``fn`` and its gradients by all arguments.

    ``fn`` returns one array, the sum of whose entries is differentiated: a loss. The
    gradients are a tuple, or that of the only argument.
    """

    def call(*args: Any) -> tuple[Any, Any]:
        inputs = _tracked(args)
        result = fn(*inputs)
        if dr.grad_enabled(result):  # else it is constant
            dr.set_grad(result, 1)
            _propagate(dr.ADMode.Backward, inputs, dr.ADFlag.Default)
        gradients = dr.grad(inputs)
        return dr.detach(result), gradients if len(args) != 1 else gradients[0]

    return call


def gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives the gradients of :func:`value_and_grad` only."""
    both = value_and_grad(fn)
    return lambda *args: both(*args)[1]


def hvp(fn: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """Gradient and Hessian times vector, by reverse over forward.

    ``args`` and ``tangents`` are tuples of one structure, ``fn`` as in
    :func:`value_and_grad`. Returns two tuples.
    """
    inputs = _tracked(tuple(args))
    result = _ended(fn(*inputs))
    dr.set_grad(inputs, tuple(tangents))
    flags = dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices
    _propagate(dr.ADMode.Forward, inputs, flags)
    directional = dr.grad(result)
    # A gradient that is tracked by the variable it belongs to would keep itself alive.
    dr.clear_grad((inputs, result))
    found = []
    for loss in (result, directional):
        if dr.grad_enabled(loss):  # else it is constant
            dr.set_grad(loss, 1)
            _propagate(dr.ADMode.Backward, inputs, dr.ADFlag.ClearVertices)
        found.append(dr.grad(inputs))
        dr.clear_grad(inputs)
    return found[0], found[1]


def tape_limit() -> int:
    """Bytes that the reverse derivative of a recorded loop may take for its states."""
    return int(_core._tape_limit())


def set_tape_limit(limit: int) -> None:
    """Set the number of bytes of :func:`tape_limit`, for all threads.

    At first it is a quarter of the machine's memory. Loops that would need more compute
    states again from checkpoints: each of n iterations is run O(log n) times.
    """
    _core._set_tape_limit(limit)
