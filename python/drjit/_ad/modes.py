"""Propagating derivatives forward and in reverse."""

from __future__ import annotations

import drjit
from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit


def _flags(function: str, flags: Any) -> int:
    if isinstance(flags, bool) or not isinstance(flags, int):
        raise TypeError(
            f"drjit.{function}(): 'flags' is of type {type(flags).__name__}, expected "
            "a drjit.ADFlag"
        )
    if flags & ~31:
        raise ValueError(
            f"drjit.{function}(): 'flags' is {flags}, expected a combination of "
            "drjit.ADFlag"
        )
    return int(flags)


def traverse(mode: Any, flags: Any = 7) -> None:
    """Propagate gradients along the edges that were enqueued.

    Args:
        mode: ``ADMode.Forward`` (from inputs to results) or ``ADMode.Backward``.
        flags: what to clear, a combination of ``ADFlag``. By default the edges that
            were passed and the gradients of all nodes but those where the traversal
            ends. With ``ADFlag.CreateGraph`` gradients can be differentiated
            themselves.

    After an exception, in a custom operation or for want of memory, what was
    enqueued is forgotten, gradients of nodes where it would have ended are those
    computed so far, and the others are cleared as ``flags`` say.
    """
    if not isinstance(mode, dr.ADMode) or mode is dr.ADMode.Primal:
        raise TypeError(
            f"drjit.traverse(): 'mode' is {mode!r}, expected ADMode.Forward or "
            "ADMode.Backward"
        )
    _core._traverse(mode.value, _flags("traverse", flags))


def _seed(arg: Any) -> None:
    """The gradient 1 in each component that is tracked."""
    if not dr.is_special_v(arg):
        dr.set_grad(arg, 1)
        return
    for part in _core._leaves(arg):
        if dr.grad_enabled(part):
            dr.accum_grad(part, 1)


def _start(function: str, mode: Any, arg: Any, flags: Any) -> None:
    """Propagate from one array, whose gradient is 1 unless one was set."""
    bits = _flags(function, flags)
    if not dr.is_array_v(arg) or isinstance(arg, type):
        raise TypeError(
            f"drjit.{function}(): 'arg' is of type {type(arg).__name__}, expected an "
            "array"
        )
    if not dr.grad_enabled(arg):
        if bits & dr.ADFlag.AllowNoGrad:
            return
        kind = type(arg)
        raise RuntimeError(
            f"drjit.{function}(<{kind.__module__}.{kind.__name__}>): the array is not "
            "tracked, since it depends on nothing that drjit.enable_grad() was called "
            "for, or on what is suspended; drjit.explain_grad() says where derivatives "
            "got lost, and with ADFlag.AllowNoGrad that is not an error"
        )
    if mode is dr.ADMode.Backward:
        # In the body of a loop, conditional or call: what is from before it has a
        # gradient of its own there.
        arg = _core._enter(arg)
    if not _core._has_grad(arg):
        _seed(arg)
    _core._enqueue(function, mode, arg)
    dr.traverse(mode, bits)


def forward_from(arg: Any, flags: Any = 7) -> None:
    """Propagate derivatives from an array to all that depends on it.

    The gradient of ``arg`` is 1 unless one was set, in each component that is tracked:
    that of a complex number is 1 + 1j. RuntimeError if the array is not tracked, unless
    ``flags`` has ``ADFlag.AllowNoGrad``. See :func:`drjit.traverse`.
    """
    _start("forward_from", dr.ADMode.Forward, arg, flags)


def forward(arg: Any, flags: Any = 7) -> None:
    """The same as :func:`drjit.forward_from`."""
    _start("forward", dr.ADMode.Forward, arg, flags)


def backward_from(arg: Any, flags: Any = 7) -> None:
    """Propagate derivatives from an array to all that it depends on.

    The gradient of ``arg`` is 1 unless one was set, in each component that is tracked:
    that of a complex number is 1 + 1j. RuntimeError if the array is not tracked, unless
    ``flags`` has ``ADFlag.AllowNoGrad``. See :func:`drjit.traverse`.
    """
    _start("backward_from", dr.ADMode.Backward, arg, flags)


def backward(arg: Any, flags: Any = 7) -> None:
    """The same as :func:`drjit.backward_from`."""
    _start("backward", dr.ADMode.Backward, arg, flags)


def _reach(function: str, look: Any, go: Any, args: tuple[Any, ...], flags: Any) -> Any:
    """Propagate to certain arrays: find what leads to them, then go the other way."""
    bits = _flags(function, flags)
    if not dr.grad_enabled(*args) and not bits & dr.ADFlag.AllowNoGrad:
        raise RuntimeError(
            f"drjit.{function}(): the arguments are not tracked, since they depend on "
            "nothing that drjit.enable_grad() was called for, or on what is suspended; "
            "with ADFlag.AllowNoGrad that is not an error"
        )
    _core._enqueue(function, look, *args)
    dr.traverse(go, bits)
    return dr.grad(args) if len(args) != 1 else dr.grad(args[0])


def forward_to(*args: Any, flags: Any = 7) -> Any:
    """Propagate gradients that were set to these arrays or PyTrees, and return them.

    Gradients of inputs are set before, with :func:`drjit.set_grad`. Returns the
    gradients of the argument, or a tuple for several ones.
    """
    return _reach("forward_to", dr.ADMode.Backward, dr.ADMode.Forward, args, flags)


def backward_to(*args: Any, flags: Any = 7) -> Any:
    """Propagate gradients back to these arrays or PyTrees, and return them.

    Gradients of results are set before, with :func:`drjit.set_grad`. Returns the
    gradients of the argument, or a tuple for several ones.
    """
    return _reach("backward_to", dr.ADMode.Forward, dr.ADMode.Backward, args, flags)


def _replace(a: Any, b: Any) -> Any:
    if not dr.is_array_v(a) and not dr.is_array_v(b):
        return a
    # Both with one type and shape, without promoting to it what is not a number.
    try:
        common = dr.expr_t(a, b)
    except TypeError as error:
        raise TypeError(
            f"drjit.replace_grad(): types are {type(a).__name__} and "
            f"{type(b).__name__}, expected arrays or numbers that have a common type"
        ) from error
    if dr.is_tensor_v(common):
        shapes = dr.shape(a), dr.shape(b)
        try:
            a, b = a + dr.zeros(common, shapes[1]), b + dr.zeros(common, shapes[0])
        except RuntimeError as error:
            raise RuntimeError(
                f"drjit.replace_grad(): shapes are {shapes[0]} and {shapes[1]}, "
                "expected ones that can be broadcast"
            ) from error
        return _core._replace_grad(a, b)
    return _core._replace_grad(common(a), common(b))


def replace_grad(arg0: Any, arg1: Any, /) -> Any:
    """The values of ``arg0`` with the derivatives of ``arg1``.

    Arrays are promoted to one type; sizes are equal or 1. PyTrees have one structure.
    """
    if dr.is_array_v(arg0) or dr.is_array_v(arg1):
        return _replace(arg0, arg1)
    return _core._tree_map("replace_grad", _replace, arg0, arg1)


def relative_grad(arg: Any, /) -> Any:
    """The value 1 with the derivative of ``arg / detach(arg)``: that of the logarithm.

    ``arg`` is a float array or a number. Entries that are 0 have the derivative 0.
    TypeError for others.
    """
    if isinstance(arg, (int, float)):
        return 1.0
    if not dr.is_array_v(arg) or isinstance(arg, type) or not dr.is_float_v(arg):
        raise TypeError(
            f"drjit.relative_grad(): 'arg' is of type {type(arg).__name__}, expected a "
            "float array or a number"
        )
    kind, plain = type(arg), dr.detach(arg)
    if dr.is_matrix_v(arg):
        return dr.replace_grad(kind(1), arg @ dr.rcp(plain))
    special = dr.is_special_v(arg)
    one = kind(1) if special else dr.ones(kind, dr.shape(arg))
    zero = dr.squared_norm(plain) == 0 if special else plain == 0
    factor = dr.select(zero, kind(0), dr.rcp(dr.select(zero, one, plain)))
    return dr.replace_grad(one, arg * factor)
