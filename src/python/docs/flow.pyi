"""Docstrings of functions written in C: flow."""

def switch(index, targets, *args, mode=None, label=None, **kwargs):
    """Call a function that each lane selects: ``targets[index](*args, **kwargs)``.

    Each target is called once at most, with arrays for all lanes, however many lanes
    select it. The targets return PyTrees of one structure with arrays of the same
    types; their results are combined lane by lane. Everything in the results that is
    not a traced array has to be equal. Side effects such as scatters happen in the
    lanes of their target only.

    A mask as the last positional argument, or as the keyword argument ``active``,
    switches lanes off: these call nothing and get zeros. The targets find ``True``
    in its place. Lanes whose index is out of range are treated in the same way; under
    ``JitFlag.Debug`` a message on ``sys.stderr`` names the index and the source line.
    [Control flow](../flow.md#calls) has more examples.

    Args:
        index (UInt32 array | int): the target of each lane. An ``int`` simply calls
            ``targets[index]``.
        targets (sequence of callables): functions that take the same arguments. Under
            ``JitFlag.MergeFunctions``, those whose code is equal become one function
            of the kernel.
        *args: positional arguments, any PyTrees. Targets get containers of their own,
            so what they replace in these does not change the caller's.
        mode (str | None): ``"symbolic"`` traces each target and puts all of them into
            the kernel. ``"evaluated"`` sorts the lanes by target, evaluates the
            arguments and runs a kernel for each target that some lane selects.
            ``None`` follows ``JitFlag.SymbolicCalls``.
        label (str | None): a name for listings and messages.
        **kwargs: keyword arguments, treated as positional ones are.

    Returns:
        PyTree: the results of the selected targets, zero in lanes that are switched
        off.

    Raises:
        RuntimeError: the results do not fit together, or ``index``, ``targets`` or
            ``mode`` is not of the kinds above. In evaluated mode under
            ``JitFlag.Debug``, also an index that is out of range.
        TypeError: a target is not callable.
        IndexError: an ``int`` that is out of range.

    Derivative:
        In both directions, by a call with the same ``index``. Tracked arrays that the
        targets use without getting them as arguments receive gradients, too.

    Evaluation:
        Symbolic calls are traced. Targets cannot read array contents then.

    Example:
        >>> targets = [lambda x: x, lambda x: 10 * x]
        >>> dr.switch(UInt(0, 1, 1, 9), targets, Float(1, 2, 3, 4))
        [1, 20, 30, 0]

    See also:
        :func:`drjit.dispatch`, :func:`drjit.if_stmt`, :func:`drjit.func`
    """

def if_stmt(
    args,
    cond,
    true_fn,
    false_fn,
    arg_labels=(),
    rv_labels=(),
    label=None,
    mode=None,
    strict=True,
):
    """Take one of two sides in each lane: ``true_fn(*args)`` or ``false_fn(*args)``.

    With an array as condition both functions are called, once each, and their results
    are combined lane by lane. Unlike :func:`drjit.select`, which computes both values
    everywhere, a recorded conditional skips a side that no lane takes, and scatters
    happen in the lanes of their side only. ``if`` statements of functions that are
    decorated with :func:`drjit.syntax` become calls of this function.

    The functions work on the caller's containers, with new arrays in them. What both
    sides return in the place of an argument, perhaps changed in place, is the
    caller's object afterwards. If a function raises, the exception goes on, and
    everything is as it was before the call.

    Args:
        args (tuple): arguments of both functions, any PyTrees.
        cond (mask | bool): a one-dimensional mask array, a Boolean tensor, or a
            ``bool``, which calls one function as Python does.
        true_fn, false_fn (callable): functions of the arguments that return PyTrees
            of one structure with arrays of the same types. Arrays with one entry are
            broadcast.
        arg_labels, rv_labels (sequence of str): names of the arguments and of the
            results in messages.
        label (str | None): a name for listings and messages.
        mode (str | None): ``"symbolic"`` makes it a conditional of the kernel;
            ``"evaluated"`` evaluates ``cond``, computes both sides and selects;
            ``"scalar"`` is a conditional of Python, for which ``cond`` needs to be a
            ``bool`` or a mask with one entry. ``None`` means the last for a ``bool``,
            else ``JitFlag.SymbolicConditionals`` decides.
        strict (bool): values that are not traced arrays, such as Python numbers, have
            to be equal on both sides. If ``False``, that of ``false_fn`` is the
            result.

    Returns:
        PyTree: what the functions return, each lane from its side.

    Raises:
        TypeError: ``args`` is not a tuple.
        RuntimeError: the results differ in structure, types or sizes, or ``cond`` or
            ``mode`` is not of the kinds above.

    Derivative:
        In both directions, by a conditional with the same ``cond``: each lane has
        the derivative of its side.

    Evaluation:
        Symbolic conditionals are traced. The functions cannot read array contents
        then.

    Example:
        >>> x = Float(4, -1, 9)
        >>> dr.if_stmt((x,), x > 0, lambda x: dr.sqrt(x), lambda x: -x)
        [2, 1, 3]

    See also:
        :func:`drjit.syntax`, :func:`drjit.select`, :func:`drjit.while_loop`
    """

def while_loop(
    state,
    cond,
    body,
    labels=(),
    label=None,
    mode=None,
    strict=True,
    compress=None,
    max_iterations=None,
):
    """Repeat ``state = body(*state)`` in each lane while ``cond(*state)`` holds.

    Each lane runs as many iterations as its own condition asks for. ``while`` loops of
    functions that are decorated with :func:`drjit.syntax` become calls of this
    function. [Control flow](../flow.md) explains modes, states and common mistakes;
    [Derivatives](../derivatives.md#loops) what a loop costs in reverse mode.

    The functions work on the containers in the caller's ``state``, with new arrays in
    them. What the body changes in place has changed after the loop; what it replaces
    is a new object. Scatters happen in the lanes that are still in the loop. If a
    function raises, the exception goes on, and everything is as it was before the
    call.

    Args:
        state (tuple): everything that changes, any PyTrees.
        cond (callable): function of the state that returns a mask array with one
            entry for each lane, a Boolean tensor, or a ``bool``. It must not change
            anything.
        body (callable): function of the state that returns a tuple with the
            structure, types and sizes of ``state``. Arrays with one entry are
            broadcast.
        labels (sequence of str): names of the entries of ``state`` in messages.
        label (str | None): a name for listings and messages.
        mode (str | None): ``"symbolic"`` calls both functions with arrays that have
            no values yet, and makes a loop of the kernel; ``"evaluated"`` runs a
            kernel for each iteration; ``"scalar"`` is a loop of Python, for which the
            condition needs to be a ``bool`` or a mask with one entry. ``None`` means
            the last if ``cond`` returns a ``bool``, else ``JitFlag.SymbolicLoops``
            decides.
        strict (bool): objects that are not traced arrays, such as Python numbers, must
            not change. If ``False`` they may, once for all lanes and iterations.
        compress (bool | None): have an evaluated loop remove lanes that are done
            after each iteration, which pays if few lanes need most of the
            iterations. ``None`` follows ``JitFlag.CompressLoops``. It has no effect on
            other modes.
        max_iterations (int | None): an upper bound on the number of iterations, for
            derivatives in reverse mode, which then need not count them first; -1
            promises that floats are only added to. It does not end the loop: where
            more iterations run, the reverse traversal fails.

    Returns:
        tuple: the final state of each lane.

    Raises:
        TypeError: ``state`` is not a tuple, or ``max_iterations`` not an integer.
        ValueError: ``max_iterations`` is below -1.
        RuntimeError: what ``body`` returns does not fit ``state``, sizes do not fit
            that of the condition, or ``cond`` returns something else.

    Derivative:
        In both directions. Forward mode carries tangents along in the loop; reverse
        mode goes through the iterations from the last to the first, with states
        that were kept or are computed again.

    Evaluation:
        Symbolic loops are traced: the functions cannot read array contents.
        Evaluated ones evaluate the state in each iteration.

    Example:
        >>> i, x = dr.while_loop(
        ...     state=(UInt(0, 5), Float(1, 2)),
        ...     cond=lambda i, x: i < 8,
        ...     body=lambda i, x: (i + 1, 2 * x),
        ... )
        >>> x
        [256, 16]

    See also:
        :func:`drjit.syntax`, :func:`drjit.hint`, :func:`drjit.if_stmt`
    """
