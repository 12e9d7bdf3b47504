"""Docstrings of functions written in C: reductions."""

def reduce(op, value, axis=..., mode=None, keepdims=False):
    """Combine the entries of an array along axes with an operation.

    The last axis of a just-in-time compiled array, the one of its lanes, is never
    removed: the sum of a ``Float`` is a ``Float`` with one entry, which takes part in
    further computation without waiting for its value.

    Args:
        op (ReduceOp): the operation. ``And`` and ``Or`` are for integers and masks,
            the others for numbers. ``Identity`` combines nothing and is an error.
        value (array | tensor | sequence | number): what to reduce. A sequence or other
            iterable of Python has one axis, that of its elements.
        axis (int | tuple[int, ...] | None): axes, counted from the end if negative;
            ``None``: all. The default ``...`` stands for all axes of a tensor and for
            the first axis of everything else: the components of an ``Array3f``.
        mode (str | None): ``"symbolic"`` combines lanes by atomic operations
            (:func:`drjit.scatter_reduce`) in the kernel that computes them; the order
            of summation is then not fixed. ``"evaluated"`` has a fixed order. ``None``
            chooses.
        keepdims (bool): reduced axes stay with size 1. For tensors, and for the lanes
            of arrays.

    Returns:
        array | tensor | number: the entries that remain, of the type of the input's:
        they wrap around or overflow like these. Of no entries at all, what changes
        nothing: 0 for sums, 1 for products, infinity for minima.

    Raises:
        RuntimeError: the operation is not defined for these entries, another ``mode``,
            or ``keepdims`` where components are reduced.
        ValueError: an axis is out of bounds.
        TypeError: ``op`` is not a :class:`drjit.ReduceOp`, or ``value`` cannot be
            reduced.

    Derivative:
        As :func:`drjit.sum`, :func:`drjit.prod`, :func:`drjit.min` and
        :func:`drjit.max` have it.

    Evaluation:
        Traced along components. Along lanes, it is part of the kernel that computes
        the input [where possible](../reductions.md#when-does-it-run), or a kernel of
        its own. Nothing waits. In the body of a recorded loop, conditional or call
        there is no result along lanes: reduce before or after it.

    Example:
        >>> dr.reduce(dr.ReduceOp.Max, TensorXf([[1, 5], [7, 2]]), axis=0)
        [7, 5]
        >>> dr.reduce(dr.ReduceOp.Or, UInt(1, 4))
        [5]

    See also:
        :func:`drjit.block_reduce`, :func:`drjit.prefix_reduce`,
        :func:`drjit.scatter_reduce`
    """

def sum(value, axis=..., mode=None, keepdims=False):
    """Sum of the entries along axes.

    Lanes are added in a fixed order, the same for any number of threads, unless
    ``mode="symbolic"``. Half precision is added up in single precision there, and
    rounded once.

    Args:
        value (array | tensor | sequence | number): numbers. Sums of small integers wrap
            around: convert them first.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        array | tensor | number: the sums; 0 for no entries.

    Raises:
        RuntimeError: the input is a mask; see :func:`drjit.count`.
        ValueError: an axis is out of bounds.

    Derivative:
        1 for each entry.

    Evaluation:
        See :func:`drjit.reduce`.

    Example:
        >>> dr.sum(Float(1, 2, 3)), dr.sum(TensorXf([[1, 2], [3, 4]]), axis=0)
        ([6], [4, 6])
        >>> dr.sum(Array3f([1, 2], [3, 4], [5, 6]))  # x + y + z
        [9, 12]

    See also:
        :func:`drjit.mean`, :func:`drjit.cumsum`, :func:`drjit.block_sum`,
        :func:`drjit.dot`
    """

def prod(value, axis=..., mode=None, keepdims=False):
    """Product of the entries along axes.

    Args:
        value (array | tensor | sequence | number): numbers.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        array | tensor | number: the products; 1 for no entries.

    Raises:
        RuntimeError: the input is a mask.
        ValueError: an axis is out of bounds.

    Derivative:
        The product divided by the entry. Along lanes and axes of tensors, entries that
        are 0 get 0, even where all others are nonzero.

    Evaluation:
        See :func:`drjit.reduce`.

    Example:
        >>> dr.prod(Float(2, 3, 4))
        [24]

    See also:
        :func:`drjit.sum`, :func:`drjit.reduce`
    """

def min(value, axis=..., mode=None, keepdims=False):
    """Smallest entry along axes.

    Args:
        value (array | tensor | sequence | number): numbers. NaN is ignored where there
            are others.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        array | tensor | number: the minima; infinity for no entries, the largest number
        of the type for integers.

    Raises:
        RuntimeError: the input is a mask; see :func:`drjit.all`.
        ValueError: an axis is out of bounds.

    Derivative:
        1 for the smallest entry. Of several along lanes or axes of tensors, each gets
        it; of several components, the first.

    Evaluation:
        See :func:`drjit.reduce`.

    Example:
        >>> dr.min(Float(3, 1, 2)), dr.min(Array2f([1, 2], [3, 0]))
        ([1], [1, 0])

    See also:
        :func:`drjit.max`, :func:`drjit.argmin`, :func:`drjit.minimum`
    """

def max(value, axis=..., mode=None, keepdims=False):
    """Largest entry along axes.

    Args:
        value (array | tensor | sequence | number): numbers. NaN is ignored where there
            are others.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        array | tensor | number: the maxima; minus infinity for no entries, the smallest
        number of the type for integers.

    Raises:
        RuntimeError: the input is a mask; see :func:`drjit.any`.
        ValueError: an axis is out of bounds.

    Derivative:
        1 for the largest entry. Of several along lanes or axes of tensors, each gets
        it; of several components, the last.

    Evaluation:
        See :func:`drjit.reduce`.

    Example:
        >>> x = Float(3, 1, 2)
        >>> x / dr.max(x)
        [1, 0.333333, 0.666667]

    See also:
        :func:`drjit.min`, :func:`drjit.argmax`, :func:`drjit.maximum`
    """

def all(value, axis=..., keepdims=False):
    """Are all entries along axes true?

    A mask with one entry converts to ``bool``, so ``if dr.all(mask):`` works. It waits
    for the value; conditionals that need not wait are :func:`drjit.select` and
    :func:`drjit.if_stmt`.

    Args:
        value (mask | tensor | sequence | bool): truth values.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        mask | tensor | bool: the answers; ``True`` for no entries.

    Raises:
        RuntimeError: the input does not hold truth values.
        ValueError: an axis is out of bounds.

    Derivative:
        None: masks have no derivatives.

    Evaluation:
        See :func:`drjit.reduce`. Only a conversion to ``bool`` waits.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.all(x > 0), bool(dr.all(x > 1))
        ([True], False)

    See also:
        :func:`drjit.any`, :func:`drjit.none`, :func:`drjit.count`, :func:`drjit.all_or`
    """

def any(value, axis=..., keepdims=False):
    """Is any entry along axes true?

    Args:
        value (mask | tensor | sequence | bool): truth values.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        mask | tensor | bool: the answers; ``False`` for no entries.

    Raises:
        RuntimeError: the input does not hold truth values.
        ValueError: an axis is out of bounds.

    Derivative:
        None: masks have no derivatives.

    Evaluation:
        See :func:`drjit.reduce`. Only a conversion to ``bool`` waits.

    Example:
        >>> dr.any(Float(1, 2, 3) > 2), dr.any(TensorXf([[1, 3], [0, 2]]) > 2, axis=1)
        ([True], [True, False])

    See also:
        :func:`drjit.all`, :func:`drjit.none`, :func:`drjit.count`, :func:`drjit.any_or`
    """

def none(value, axis=..., keepdims=False):
    """Is no entry along axes true?

    Args:
        value (mask | tensor | sequence | bool): truth values.
        axis (int | tuple[int, ...] | None): axes; the default is all of a tensor and
            the first of everything else. See :func:`drjit.reduce`.
        keepdims (bool): reduced axes stay with size 1.

    Returns:
        mask | tensor | bool: the answers; ``True`` for no entries.

    Raises:
        RuntimeError: the input does not hold truth values.
        ValueError: an axis is out of bounds.

    Derivative:
        None: masks have no derivatives.

    Evaluation:
        See :func:`drjit.reduce`. Only a conversion to ``bool`` waits.

    Example:
        >>> dr.none(dr.isnan(Float(1, 2, 3)))
        [True]

    See also:
        :func:`drjit.all`, :func:`drjit.any`, :func:`drjit.none_or`
    """

def prefix_reduce(op, value, axis=0, exclusive=True, reverse=False):
    """Replace each entry by the reduction of those before it along an axis.

    Args:
        op (ReduceOp): the operation, as in :func:`drjit.reduce`.
        value (array | tensor | sequence): the entries.
        axis (int | tuple[int, ...]): the axis, counted from the end if negative; of
            several, one after the other.
        exclusive (bool): leave the entry itself out. The first one then becomes what
            changes nothing: 0 for sums, minus infinity for maxima.
        reverse (bool): reduce the entries behind it instead, from the end.

    Returns:
        array | tensor | list: as many entries as ``value``, of the same type.

    Raises:
        RuntimeError: the operation is not defined for these entries.
        ValueError: an axis is out of bounds.
        TypeError: ``value`` has no axis, or ``axis`` is not an integer.

    Derivative:
        Of sums: reverse mode is the sum from the other end. Other operations on tracked
        input are an error.

    Evaluation:
        Along lanes, like :func:`drjit.reduce`.

    Example:
        >>> x = Float(3, 1, 4, 1, 5)
        >>> dr.prefix_reduce(dr.ReduceOp.Max, x, exclusive=False)
        [3, 3, 4, 4, 5]
        >>> dr.prefix_reduce(dr.ReduceOp.Mul, x)
        [1, 3, 3, 12, 12]

    See also:
        :func:`drjit.cumsum`, :func:`drjit.prefix_sum`,
        :func:`drjit.block_prefix_reduce`
    """

def block_reduce(op, value, block_size, mode=None):
    """Reduce blocks of successive lanes of all arrays of a PyTree.

    Tensors are reshaped instead, and reduced along an axis.

    Args:
        op (ReduceOp): the operation, as in :func:`drjit.reduce`.
        value (array | PyTree): arrays whose lanes are reduced. Anything else in it is
            returned as it is.
        block_size (int): lanes of a block, 1 or more. The last block may be shorter.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose; see
            :func:`drjit.reduce`.

    Returns:
        array | PyTree: arrays of the same types with an entry for each block.

    Raises:
        RuntimeError: the operation is not defined for these entries, there is a tensor,
            or ``block_size`` is 0.
        ValueError: ``block_size`` is negative.

    Derivative:
        Within each block, that of :func:`drjit.sum`, :func:`drjit.prod`,
        :func:`drjit.min` or :func:`drjit.max` along lanes.

    Evaluation:
        Like :func:`drjit.reduce` along lanes.

    Example:
        >>> dr.block_reduce(dr.ReduceOp.Max, Float(1, 9, 3, 4, 5), 2)
        [9, 4, 5]
        >>> t = dr.arange(TensorXf, 16)  # blocks of 2 x 2 of a matrix
        >>> dr.sum(dr.reshape(t, (2, 2, 2, 2)), axis=(1, 3))
        [[10, 18],
         [42, 50]]

    See also:
        :func:`drjit.block_sum`, :func:`drjit.block_prefix_reduce`,
        :func:`drjit.scatter_reduce`
    """

def block_sum(value, block_size, mode=None):
    """Sums of blocks of successive lanes of all arrays of a PyTree.

    It is :func:`drjit.block_reduce` with ``ReduceOp.Add``.

    Args:
        value (array | PyTree): arrays whose lanes are added up.
        block_size (int): lanes of a block, 1 or more. The last block may be shorter.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None`` to choose; see
            :func:`drjit.reduce`.

    Returns:
        array | PyTree: arrays of the same types with an entry for each block.

    Raises:
        RuntimeError: there is a tensor or a mask, or ``block_size`` is 0.
        ValueError: ``block_size`` is negative.

    Derivative:
        1 for each entry of a block.

    Evaluation:
        Like :func:`drjit.reduce` along lanes.

    Example:
        >>> dr.block_sum(Float(1, 2, 3, 4, 5, 6), 2)
        [3, 7, 11]

    See also:
        :func:`drjit.repeat`, :func:`drjit.block_prefix_sum`
    """

def block_prefix_reduce(op, value, block_size, exclusive=True, reverse=False):
    """Prefix reductions that start anew with each block of lanes.

    Args:
        op (ReduceOp): the operation, as in :func:`drjit.reduce`.
        value (array | PyTree): arrays whose lanes are reduced. Anything else in it is
            returned as it is.
        block_size (int): lanes of a block, 1 or more. The last block may be shorter.
        exclusive (bool): leave the entry itself out. The first one of a block then
            becomes what changes nothing, 0 for sums.
        reverse (bool): reduce the entries behind each instead, from the end of its
            block.

    Returns:
        array | PyTree: arrays of the same types and sizes.

    Raises:
        RuntimeError: the operation is not defined for these entries, there is a tensor,
            or ``block_size`` is 0.
        ValueError: ``block_size`` is negative.

    Derivative:
        Of sums: reverse mode is the sum from the other end of the block. Other
        operations on tracked input are an error.

    Evaluation:
        Along lanes, like :func:`drjit.reduce`.

    Example:
        >>> dr.block_prefix_reduce(dr.ReduceOp.Max, Float(1, 3, 2, 5, 4, 6), 3, False)
        [1, 3, 3, 5, 5, 6]

    See also:
        :func:`drjit.prefix_reduce`, :func:`drjit.block_prefix_sum`
    """
