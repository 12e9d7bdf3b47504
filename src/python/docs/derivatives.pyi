"""Docstrings of functions written in C: derivatives."""

def enable_grad(*args):
    """Track derivatives with respect to the arrays in these PyTrees.

    From here on, operations that use these arrays also record how their results
    depend on them, so that gradients can be propagated. The arrays become inputs of
    the graph of derivatives; their values do not change. A tracked array is the
    variable that it is now: ``x += 1`` makes ``x`` a result that is computed from it.

    Args:
        *args: PyTrees. Float arrays of types with derivatives (``drjit.llvm.ad``)
            are tracked; those that are tracked already, integers, masks, arrays of
            other types and other objects are left alone. Within
            :class:`drjit.suspend_grad`, nothing happens.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.enable_grad(x)
        >>> dr.backward(x * x)
        >>> x.grad
        [2, 4, 6]

    See also:
        :func:`drjit.detach`, :func:`drjit.backward`, :func:`drjit.grad_enabled`
    """

def disable_grad(*args):
    """Stop tracking derivatives with respect to the arrays in these PyTrees.

    The arrays are replaced in place by ones that are not tracked and have no gradient.
    What was computed from them before keeps its own place in the graph.

    Args:
        *args: PyTrees. What is not tracked is left alone.

    Example:
        >>> x = Float(1, 2)
        >>> dr.enable_grad(x)
        >>> dr.disable_grad(x)
        >>> dr.grad_enabled(x)
        False

    See also:
        :func:`drjit.enable_grad`, :func:`drjit.detach`
    """

def set_grad_enabled(arg, value, /):
    """Call :func:`drjit.enable_grad` or :func:`drjit.disable_grad`.

    Args:
        arg (PyTree): the arrays.
        value (bool): ``True`` enables, ``False`` disables.

    Raises:
        TypeError: ``value`` is not a ``bool``.

    Example:
        >>> x = Float(1, 2)
        >>> dr.set_grad_enabled(x, True)
        >>> dr.grad_enabled(x)
        True
    """

def grad_enabled(*args):
    """Is an array in these PyTrees tracked?

    It is if :func:`drjit.enable_grad` was called for it or for something that it
    depends on, and if it is not suspended by :class:`drjit.suspend_grad` here.

    Args:
        *args: PyTrees.

    Returns:
        bool: ``False`` also if there are no arrays.

    Example:
        >>> x = Float(1, 2)
        >>> dr.enable_grad(x)
        >>> dr.grad_enabled(2 * x), dr.grad_enabled(UInt(x))
        (True, False)
    """

def detach(arg, preserve_type=True):
    """Return a copy of a PyTree whose arrays are not tracked.

    The copy has the same values, counts as a constant in what is computed from it,
    and shares memory with the original. Containers are new.

    Args:
        arg (PyTree): arrays; other objects are kept as they are.
        preserve_type (bool): if ``False``, arrays get the type without derivatives
            (:func:`drjit.detached_t`).

    Returns:
        PyTree: of the structure of ``arg``.

    Derivative:
        Zero: the result is detached.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> dr.backward(dr.detach(x) * x)
        >>> x.grad
        [3]

    See also:
        :class:`drjit.suspend_grad`, :func:`drjit.replace_grad`
    """

def grad(arg, preserve_type=True):
    """Return the gradients of the arrays in a PyTree.

    Args:
        arg (PyTree): arrays.
        preserve_type (bool): if ``False``, gradients have the type without
            derivatives.

    Returns:
        PyTree: of the structure of ``arg``; gradients have the types and shapes of
        their arrays. They are zero where no gradient has arrived and for what is not
        tracked; for objects that are not arrays, there is the number 0.

    Derivative:
        The result is detached unless the traversal had ``ADFlag.CreateGraph``.

    Example:
        >>> p = {"scale": Float(2), "offset": Float(1, 2)}
        >>> dr.enable_grad(p)
        >>> dr.backward(p["scale"] * p["offset"])
        >>> dr.grad(p)
        {'scale': [3], 'offset': [2, 2]}

    See also:
        :func:`drjit.set_grad`, :func:`drjit.clear_grad`
    """

def set_grad(target, source):
    """Replace the gradients of the arrays in a PyTree.

    This is how a traversal gets seeds other than 1: gradients of inputs before a
    forward traversal, of results before a reverse one.

    Args:
        target (PyTree): tracked arrays. Those that are not tracked are left alone.
        source (PyTree | array | float): the gradients, in the structure of
            ``target``. They are converted to its types and broadcast to its sizes; an
            array with one entry gets the sum of a longer gradient, one that occurs
            several times the sum of its gradients.

    Raises:
        ValueError: the structures differ.
        RuntimeError: a gradient has neither one entry nor as many as its array.
        TypeError: a gradient cannot be converted.
        RuntimeWarning: no array is tracked, so gradients other than zero are lost. It
            is a warning.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.enable_grad(x)
        >>> y = x * x
        >>> dr.set_grad(y, Float(1, 0, 10))
        >>> dr.backward(y)
        >>> x.grad
        [2, 0, 60]

    See also:
        :func:`drjit.accum_grad`, :func:`drjit.backward_to`, :func:`drjit.forward_to`
    """

def accum_grad(target, source):
    """Add to the gradients of the arrays in a PyTree.

    Args:
        target (PyTree): tracked arrays. Those that are not tracked are left alone.
        source (PyTree | array | float): what to add, in the structure of ``target``;
            converted and broadcast as by :func:`drjit.set_grad`, which lists the
            errors, too.

    Example:
        >>> x = Float(1, 2)
        >>> dr.enable_grad(x)
        >>> dr.set_grad(x, 1)
        >>> dr.accum_grad(x, Float(0, 5))
        >>> x.grad
        [1, 6]

    See also:
        :func:`drjit.set_grad`, :func:`drjit.clear_grad`
    """

def clear_grad(arg, /):
    """Forget the gradients of the arrays in a PyTree.

    The arrays stay tracked. Gradients add up over traversals, so this belongs between
    two that are to be independent.

    Args:
        arg (PyTree): arrays; other objects are left alone.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> dr.backward(2 * x)
        >>> dr.clear_grad(x)
        >>> dr.backward(10 * x)
        >>> x.grad
        [10]

    See also:
        :func:`drjit.set_grad`, :func:`drjit.detach`
    """

def enqueue(mode, *args):
    """Select what the next :func:`drjit.traverse` of this thread passes.

    Functions such as :func:`drjit.backward` call it themselves.

    Args:
        mode (ADMode): ``ADMode.Forward`` selects all that depends on the arrays,
            ``ADMode.Backward`` all that they depend on. The traversal may go in the
            other direction, as :func:`drjit.backward_to` has it.
        *args: PyTrees. Arrays that are not tracked select nothing.

    Raises:
        TypeError: ``mode`` is not an ``ADMode``.
        RuntimeError: ``mode`` is ``ADMode.Primal``.

    Example:
        >>> x = Float(3)
        >>> dr.enable_grad(x)
        >>> y = x * x
        >>> dr.set_grad(y, 1)
        >>> dr.enqueue(dr.ADMode.Backward, y)
        >>> dr.traverse(dr.ADMode.Backward)
        >>> x.grad
        [6]

    See also:
        :func:`drjit.traverse`, :class:`drjit.ADMode`
    """
