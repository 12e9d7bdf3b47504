"""Propagating derivatives forward and in reverse."""

from __future__ import annotations

import drjit
from drjit import _core
from drjit._enums import ADFlag

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
    bits = int(flags)
    if bits & ~31:
        raise ValueError(
            f"drjit.{function}(): 'flags' is {flags}, expected a combination of "
            "drjit.ADFlag"
        )
    return bits


def traverse(mode: Any, flags: Any = ADFlag.Default) -> None:
    """Propagate gradients through what :func:`drjit.enqueue` has selected.

    Gradients are computed with ordinary traced operations and added to those that
    arrays have already. Most programs call :func:`drjit.backward`,
    :func:`drjit.forward`, :func:`drjit.backward_to` or :func:`drjit.forward_to`, which
    do both steps.

    After an exception, in a custom operation for example, nothing is selected any more,
    and arrays where the traversal would have ended keep the gradients computed so far.

    Args:
        mode (ADMode): ``ADMode.Forward`` goes from inputs to results,
            ``ADMode.Backward`` from results to inputs.
        flags (ADFlag): what to clear on the way, see :class:`drjit.ADFlag`. By default,
            the edges that were passed and the gradients of all arrays but those where
            the traversal ends.

    Raises:
        TypeError: ``mode`` is neither of the two, or ``flags`` not an integer.
        ValueError: ``flags`` has bits that are not in ``ADFlag``.

    Derivative:
        Gradients are detached unless ``flags`` has ``ADFlag.CreateGraph``.

    Evaluation:
        Traced. Only under ``JitFlag.Debug`` gradients are evaluated, to find those that
        are infinite or NaN.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> y = x * x
        >>> dr.set_grad(x, 1)
        >>> dr.enqueue(dr.ADMode.Forward, x)
        >>> dr.traverse(dr.ADMode.Forward)
        >>> y.grad
        [6]

    See also:
        :func:`drjit.enqueue`, :func:`drjit.forward`, :func:`drjit.backward`
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


def _without_derivatives(kind: Any) -> str:
    """Arrays of this type are never tracked: which type of array is."""
    if not dr.is_float_v(kind):
        return "arrays of this type have no derivatives, expected floats"
    other: Any = dr.diff_array_t(kind)
    wanted = f"a {other.__module__}.{other.__name__}"
    if other is kind:  # those of drjit.scalar
        wanted = "an array of drjit.llvm.ad"
    return (
        f"arrays of this type have no derivatives, expected {wanted} that depends on "
        "what drjit.enable_grad() was called for"
    )


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
        where = f"drjit.{function}(<{kind.__module__}.{kind.__name__}>): "
        if not dr.is_diff_v(kind) or not dr.is_float_v(kind):
            raise RuntimeError(where + _without_derivatives(kind))
        raise RuntimeError(
            f"{where}the array is not tracked, since it depends on nothing that "
            "drjit.enable_grad() was called for, or on what is suspended; "
            "drjit.explain_grad() says where derivatives got lost, and with "
            "ADFlag.AllowNoGrad that is not an error"
        )
    if mode is dr.ADMode.Backward:
        # In the body of a loop, conditional or call: what is from before it has a
        # gradient of its own there.
        arg = _core._enter(arg)
    if not _core._has_grad(arg):
        _seed(arg)
    _core._enqueue(function, mode, arg)
    dr.traverse(mode, bits)


def forward_from(arg: Any, flags: Any = ADFlag.Default) -> None:
    """Propagate derivatives from an array to everything that depends on it.

    The gradient with which it begins is 1, unless one was set with
    :func:`drjit.set_grad`. A complex number, vector or matrix has this gradient in each
    component that is tracked, so that of a complex number is ``1 + 1j``. Afterwards,
    the gradients of results are those of all lanes; intermediate ones and that of
    ``arg`` are gone, and the edges have been cleared, so a second call finds nothing
    (see :class:`drjit.ADFlag`).

    Args:
        arg (array): a tracked array.
        flags (ADFlag): what to clear, and whether gradients are tracked themselves.

    Raises:
        TypeError: ``arg`` is not an array.
        RuntimeError: ``arg`` is not tracked. With ``ADFlag.AllowNoGrad`` the call does
            nothing then.

    Evaluation:
        Traced.

    Example:
        >>> t, frequency = Float(0, 1, 2), Float(2)
        >>> dr.enable_grad(frequency)
        >>> wave = dr.sin(frequency * t)
        >>> dr.forward_from(frequency)
        >>> wave.grad
        [0, -0.416147, -1.30729]

    See also:
        :func:`drjit.forward_to`, :func:`drjit.backward`, :func:`drjit.ad.jvp`
    """
    _start("forward_from", dr.ADMode.Forward, arg, flags)


def forward(arg: Any, flags: Any = ADFlag.Default) -> None:
    """Propagate derivatives from an array to all that depends on it.

    Another name of :func:`drjit.forward_from`, which explains it.

    Args:
        arg (array): a tracked array.
        flags (ADFlag): what to clear, and whether gradients are tracked themselves.

    Raises:
        TypeError: ``arg`` is not an array.
        RuntimeError: ``arg`` is not tracked, and ``flags`` has no
            ``ADFlag.AllowNoGrad``.

    Example:
        >>> x = Float(0, 1)
        >>> dr.enable_grad(x)
        >>> y, z = dr.exp(x), x * x
        >>> dr.forward(x)
        >>> y.grad, z.grad
        ([1, 2.71828], [0, 2])

    See also:
        :func:`drjit.forward_to`, :func:`drjit.backward`
    """
    _start("forward", dr.ADMode.Forward, arg, flags)


def backward_from(arg: Any, flags: Any = ADFlag.Default) -> None:
    """Propagate derivatives from an array to everything that it depends on.

    The gradient with which it begins is 1, unless one was set with
    :func:`drjit.set_grad`; so an array of results counts as their sum. A complex
    number, vector or matrix has this gradient in each component that is tracked, so
    that of a complex number is ``1 + 1j``. Afterwards, the gradients of inputs have
    been *added* to what they were; intermediate ones and that of ``arg`` are gone, and
    the edges have been cleared, so a second call finds nothing and warns (see
    :class:`drjit.ADFlag`).

    Args:
        arg (array): a tracked array, often a loss with one entry.
        flags (ADFlag): what to clear, and whether gradients are tracked themselves.

    Raises:
        TypeError: ``arg`` is not an array.
        RuntimeError: ``arg`` is not tracked. With ``ADFlag.AllowNoGrad`` the call does
            nothing then.

    Evaluation:
        Traced. If nothing was evaluated since the inputs, one kernel computes the
        program and its derivative.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.enable_grad(x)
        >>> loss = dr.sum(x * x)
        >>> dr.backward_from(loss)
        >>> x.grad
        [2, 4, 6]

    See also:
        :func:`drjit.backward_to`, :func:`drjit.forward`,
        :func:`drjit.ad.value_and_grad`
    """
    _start("backward_from", dr.ADMode.Backward, arg, flags)


def backward(arg: Any, flags: Any = ADFlag.Default) -> None:
    """Propagate derivatives from an array to all that it depends on.

    Another name of :func:`drjit.backward_from`, which explains it.

    Args:
        arg (array): a tracked array, often a loss with one entry.
        flags (ADFlag): what to clear, and whether gradients are tracked themselves.

    Raises:
        TypeError: ``arg`` is not an array.
        RuntimeError: ``arg`` is not tracked, and ``flags`` has no
            ``ADFlag.AllowNoGrad``.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.enable_grad(x)
        >>> dr.backward(dr.sum(dr.sin(x) * x))
        >>> x.grad
        [1.38177, 0.0770037, -2.82886]

    See also:
        :func:`drjit.backward_to`, :func:`drjit.forward`, :func:`drjit.explain_grad`
    """
    _start("backward", dr.ADMode.Backward, arg, flags)


def _reach(function: str, look: Any, go: Any, args: tuple[Any, ...], flags: Any) -> Any:
    """Propagate to certain arrays: find what leads to them, then go the other way."""
    bits = _flags(function, flags)
    if not dr.grad_enabled(*args) and not bits & dr.ADFlag.AllowNoGrad:
        if len(args) == 1 and dr.is_array_v(args[0]) and not dr.is_diff_v(args[0]):
            kind = type(args[0])
            raise RuntimeError(
                f"drjit.{function}(<{kind.__module__}.{kind.__name__}>): "
                + _without_derivatives(kind)
            )
        raise RuntimeError(
            f"drjit.{function}(): the arguments are not tracked, since they depend on "
            "nothing that drjit.enable_grad() was called for, or on what is suspended; "
            "with ADFlag.AllowNoGrad that is not an error"
        )
    _core._enqueue(function, look, *args)
    dr.traverse(go, bits)
    return dr.grad(args) if len(args) != 1 else dr.grad(args[0])


def forward_to(*args: Any, flags: Any = ADFlag.Default) -> Any:
    """Propagate tangents to these arrays only, and return them.

    The tangents of inputs are set before, with :func:`drjit.set_grad`. The function
    looks for what the arguments depend on and passes that part of the graph alone: the
    gradients of other results stay as they are.

    Args:
        *args: PyTrees, at least one tracked array among them.
        flags (ADFlag): what to clear, and whether gradients are tracked themselves.

    Returns:
        PyTree: the gradients of the argument, or a tuple of them for several arguments.

    Raises:
        RuntimeError: no argument is tracked. With ``ADFlag.AllowNoGrad`` the result is
            zero then.

    Evaluation:
        Traced.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> y, z = x * x, dr.exp(x)
        >>> dr.set_grad(x, 1)
        >>> dr.forward_to(y)
        [6]

    See also:
        :func:`drjit.backward_to`, :func:`drjit.forward_from`
    """
    return _reach("forward_to", dr.ADMode.Backward, dr.ADMode.Forward, args, flags)


def backward_to(*args: Any, flags: Any = ADFlag.Default) -> Any:
    """Propagate gradients back to these arrays only, and return them.

    The gradients of results are set before, with :func:`drjit.set_grad`. The function
    looks for what depends on the arguments and passes that part of the graph alone: the
    gradients of other inputs stay as they are.

    Args:
        *args: PyTrees, at least one tracked array among them.
        flags (ADFlag): what to clear, and whether gradients are tracked themselves.

    Returns:
        PyTree: the gradients of the argument, or a tuple of them for several arguments.

    Raises:
        RuntimeError: no argument is tracked. With ``ADFlag.AllowNoGrad`` the result is
            zero then.

    Evaluation:
        Traced.

    Example:
        >>> x, w = Float(3), Float(5)
        >>> dr.enable_grad(x, w)
        >>> y = x * w
        >>> dr.set_grad(y, 1)
        >>> dr.backward_to(x)
        [5]

    See also:
        :func:`drjit.forward_to`, :func:`drjit.backward_from`
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
    """Combine the value of one array with the derivative of another.

    With it, an operation whose derivative is zero or unwanted gets one that an
    optimiser can use.

    Args:
        arg0 (array | float | PyTree): where values come from.
        arg1 (array | float | PyTree): where derivatives come from. Both are promoted to
            one type and broadcast; PyTrees have one structure.

    Returns:
        array | PyTree: values of ``arg0``. Numbers are returned as they are if both
        arguments are.

    Raises:
        TypeError: the types have no type in common.
        RuntimeError: sizes or shapes do not fit.
        ValueError: the PyTrees differ in structure.

    Derivative:
        That of ``arg1``; none with respect to ``arg0``.

    Example:
        >>> x = Float(1.3, 2.8)
        >>> dr.enable_grad(x)
        >>> y = dr.replace_grad(dr.round(x), x)  # rounds, with the slope 1
        >>> dr.backward(y * y)
        >>> y, x.grad
        ([1, 3], [2, 6])

    See also:
        :func:`drjit.detach`, :func:`drjit.custom`
    """
    if dr.is_array_v(arg0) or dr.is_array_v(arg1):
        return _replace(arg0, arg1)
    return _core._tree_map("replace_grad", _replace, arg0, arg1)


def relative_grad(arg: Any, /) -> Any:
    """Return the value 1 with the derivative of the logarithm: ``arg / detach(arg)``.

    Multiplying by it inserts the derivative of ``log(arg)`` into a computation without
    changing values: the score of a probability density, for example.

    Args:
        arg (float array | float): the density. Of a matrix, the result is the identity,
            with the derivative of ``arg @ inverse``.

    Returns:
        array | float: ones of the type and shape of ``arg``; for a number, ``1.0``.

    Raises:
        TypeError: ``arg`` is not a float array or a number.

    Derivative:
        ``1 / arg`` times that of ``arg``; 0 where ``arg`` is 0.

    Example:
        >>> x = Float(2, 4, 0)
        >>> dr.enable_grad(x)
        >>> one = dr.relative_grad(x)
        >>> dr.backward(one)
        >>> one, x.grad
        ([1, 1, 1], [0.5, 0.25, 0])

    See also:
        :func:`drjit.replace_grad`
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
