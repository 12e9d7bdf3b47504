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

__all__ = [
    "gradient",
    "hvp",
    "jvp",
    "set_tape_limit",
    "tape_limit",
    "value_and_grad",
    "vjp",
]


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


def _check_tuples(operation: str, args: Any, tangents: Any) -> None:
    """An array is a sequence of its entries, too, so that the mistake has no error."""
    for name, found in (("args", args), ("tangents", tangents)):
        if not isinstance(found, tuple | list):
            raise TypeError(
                f"drjit.ad.{operation}(): {name!r} is of type {type(found).__name__}, "
                "expected a tuple; that of one argument x is (x,)"
            )


def jvp(fn: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """Compute a function and its derivative in a direction: Jacobian times vector.

    One forward traversal. The caller's arrays and their gradients stay as they are; the
    function gets copies of its arguments.

    Args:
        fn (callable): a function of the arguments that returns a PyTree.
        args (tuple): its arguments, PyTrees.
        tangents (tuple): the direction, in the structure of ``args``.

    Returns:
        tuple: the result of ``fn(*args)`` and its derivative, two PyTrees of one
        structure.

    Raises:
        TypeError: ``args`` or ``tangents`` is neither a tuple nor a list.
        ValueError: ``tangents`` has another structure than ``args``.

    Derivative:
        Both results are tracked if ``fn`` depends on something that is tracked outside.

    Example:
        >>> dr.ad.jvp(lambda x, y: x * y, (Float(2), Float(3)), (Float(1), Float(0)))
        ([6], [3])

    See also:
        :func:`drjit.ad.vjp`, :func:`drjit.forward`
    """
    _check_tuples("jvp", args, tangents)
    call = _Call(fn, tuple(args))
    tangent = call.push(tuple(tangents))
    return call.value(), tangent


def vjp(fn: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Compute a function, and return a function for its reverse derivative.

    The function that is returned takes a gradient of the result and gives those of the
    arguments: vector times Jacobian. It can be called any number of times, for the rows
    of a Jacobian for example; each call is one reverse traversal.

    Args:
        fn (callable): a function of the arguments that returns a PyTree.
        *args: its arguments, PyTrees. It gets copies.

    Returns:
        tuple: the result of ``fn(*args)``, and a function of a PyTree in its structure
        that returns a tuple, the gradients of the arguments.

    Derivative:
        The results are tracked if ``fn`` depends on something that is tracked outside.

    Example:
        >>> y, pull = dr.ad.vjp(lambda x, y: (x * y, x + y), Float(2), Float(3))
        >>> pull((1, 0))
        ([3], [2])
        >>> pull((0, 1))
        ([1], [1])

    See also:
        :func:`drjit.ad.jvp`, :func:`drjit.ad.value_and_grad`
    """
    call = _Call(fn, args)
    return call.value(), lambda gradient: call.pull(call.result, gradient)


def value_and_grad(fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Make a function that returns the result of ``fn`` and its gradients.

    Each call traces ``fn`` once and runs one reverse traversal. The caller's arrays and
    their gradients stay as they are.

    Args:
        fn (callable): a function that returns one array, a loss. Of an array with
            several entries, the sum is differentiated.

    Returns:
        callable: a function of the same positional arguments. It returns a tuple: the
        result, and the gradient with respect to the argument or, for several arguments,
        a tuple of gradients. These have the structure of the arguments, with zeros for
        integers and what the result does not depend on.

    Derivative:
        Both are tracked if ``fn`` depends on something that is tracked outside, so
        calls nest.

    Example:
        >>> loss = lambda v: dr.squared_norm(v - Array3f(1, 2, 3))
        >>> value, gradient = dr.ad.value_and_grad(loss)(Array3f(0, 0, 0))
        >>> value, gradient
        ([14], [[-2, -4, -6]])

    See also:
        :func:`drjit.ad.gradient`, :func:`drjit.backward`
    """

    def differentiate(*args: Any) -> tuple[Any, Any]:
        call = _Call(fn, args)
        gradients = call.pull(call.result, 1, keep=False)
        return call.value(), gradients if len(args) != 1 else gradients[0]

    return differentiate


def gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that returns the gradients of ``fn``.

    Args:
        fn (callable): a function that returns one array, as for
            :func:`drjit.ad.value_and_grad`.

    Returns:
        callable: a function of the same positional arguments that returns the gradient
        with respect to the argument or, for several arguments, a tuple of gradients.

    Derivative:
        They are tracked if ``fn`` depends on something that is tracked outside: second
        derivatives are gradients of gradients.

    Example:
        >>> slope = dr.ad.gradient(lambda x: x * x * x)
        >>> slope(Float(1, 2, 3))
        [3, 12, 27]
        >>> dr.ad.gradient(slope)(Float(1, 2, 3))
        [6, 12, 18]

    See also:
        :func:`drjit.ad.value_and_grad`, :func:`drjit.ad.hvp`
    """
    both = value_and_grad(fn)
    return lambda *args: both(*args)[1]


def hvp(fn: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """Compute a gradient and the product of the Hessian with a vector.

    Reverse mode over forward mode: it costs a few times as much as the function,
    whatever the number of parameters.

    Args:
        fn (callable): a function that returns one array, as for
            :func:`drjit.ad.value_and_grad`.
        args (tuple): its arguments, PyTrees.
        tangents (tuple): the vector, in the structure of ``args``.

    Returns:
        tuple: two tuples in the structure of ``args``, the gradient and the product.

    Raises:
        TypeError: ``args`` or ``tangents`` is neither a tuple nor a list.
        ValueError: ``tangents`` has another structure than ``args``.

    Derivative:
        Both are tracked if ``fn`` depends on something that is tracked outside.

    Example:
        >>> dr.ad.hvp(lambda x: dr.sum(x * x * x), (Float(1, 2),), (Float(1, 0),))
        (([3, 12],), ([6, 0],))

    See also:
        :func:`drjit.ad.gradient`, :func:`drjit.ad.jvp`
    """
    _check_tuples("hvp", args, tangents)
    call = _Call(lambda *inputs: jvp(fn, inputs, tangents), tuple(args))
    first, second = (call.pull(result, 1) for result in call.result)
    return first, second


def tape_limit() -> int:
    """Return the memory that the reverse derivative of a recorded loop may take.

    Returns:
        int: bytes; at first a quarter of the machine's memory.

    Example:
        >>> dr.ad.tape_limit() > 0
        True

    See also:
        :func:`drjit.ad.set_tape_limit`
    """
    return int(_core._tape_limit())


def set_tape_limit(limit: int) -> None:
    """Limit the memory that the reverse derivative of a recorded loop may take.

    Such a derivative writes the states of all iterations to a tape. Loops whose tape
    would be larger compute states again from checkpoints: each of n iterations runs
    O(log n) times. The limit is one for all threads.

    Args:
        limit (int): bytes.

    Raises:
        TypeError: ``limit`` is not an integer, or negative.

    Example:
        >>> before = dr.ad.tape_limit()
        >>> dr.ad.set_tape_limit(1 << 30)
        >>> dr.ad.tape_limit()
        1073741824
        >>> dr.ad.set_tape_limit(before)

    See also:
        :func:`drjit.ad.tape_limit`, :func:`drjit.while_loop`
    """
    _core._set_tape_limit(limit)
