"""Docstrings of functions written in C: what ``drjit.detail`` offers."""

def _any_symbolic(tree, /):
    """Does an array in a PyTree depend on code that is being recorded?

    Args:
        tree (PyTree): arrays and other objects.

    Returns:
        bool: is there an array in the state ``VarState.Symbolic``?

    Example:
        >>> dr.detail.any_symbolic([Float(1, 2), 3])
        False

    See also:
        :class:`drjit.VarState`
    """

def _block_mkperm(values, block_size, bucket_count):
    """Return the permutation that groups equal keys within blocks of an array.

    The grouping is stable: entries with equal keys keep their order.

    Args:
        values (UInt32 array): keys, each below ``bucket_count``.
        block_size (int): entries of a block, a divisor of the size.
        bucket_count (int): number of different keys.

    Returns:
        UInt32 array: for each place of the grouped array, the index of the entry that
        belongs there. Entries stay in their block.

    Raises:
        TypeError: ``values`` is not an array of 32-bit unsigned integers.
        ValueError: a key is too large, or a number is out of range.
        RuntimeError: ``block_size`` does not divide the size.

    Evaluation:
        Evaluates ``values``, checks it, and computes the result at once.

    Example:
        >>> dr.detail.block_mkperm(UInt(2, 0, 1, 0), block_size=4, bucket_count=3)
        [1, 3, 2, 0]

    See also:
        :func:`drjit.argsort`
    """

def _can_scatter_reduce(dtype, op, /):
    """Can :func:`drjit.scatter_reduce` apply an operation to arrays of a type?

    Args:
        dtype (type): the type of the target.
        op (ReduceOp): the operation.

    Returns:
        bool: ``False`` also for operations that the type does not have.

    Raises:
        TypeError: ``dtype`` is not an array type.

    Example:
        >>> dr.detail.can_scatter_reduce(Float, dr.ReduceOp.Add)
        True
        >>> dr.detail.can_scatter_reduce(Float, dr.ReduceOp.And)
        False

    See also:
        :class:`drjit.ReduceOp`
    """

def _check_compatibility(arg0, arg1, width_consistency, name, /):
    """Check that two PyTrees have the same structure and types.

    Numbers and other Python objects have to be equal, and dynamic arrays need the same
    number of components.

    Args:
        arg0, arg1 (PyTree): what to compare.
        width_consistency (bool): arrays also need the same number of lanes, or one of
            the two has one.
        name (str): what messages call the PyTrees.

    Raises:
        RuntimeError: they differ; the message names the first place, as in
            ``state[0]``.

    Example:
        >>> dr.detail.check_compatibility([Float(1)], [UInt(1)], False, "state")
        Traceback (most recent call last):
        RuntimeError: drjit.detail.check_compatibility(): inconsistent types for field
            'state[0]' ('drjit.llvm.ad.Float' and 'drjit.llvm.ad.UInt')
    """

def _collect_indices(tree, /):
    """Return the numbers of all variables in a PyTree, in order.

    Args:
        tree (PyTree): arrays and other objects.

    Returns:
        list[int]: ``x.index`` of each flat array, with ``x.index_ad`` in the upper 32
        bits.

    Example:
        >>> x, p = Float(1, 2), Array3f(1, 2, 3)
        >>> len(dr.detail.collect_indices([x, p]))
        4
        >>> dr.detail.collect_indices(x) == [x.index]
        True
    """

def _launch_stats():
    """Return how many kernels were launched, and how they were found.

    Returns:
        tuple[int, int, int]: launches, those whose code was read from disk, and those
        that were compiled, since the process began. The remaining ones were found in
        memory.

    Example:
        >>> before, *_ = dr.detail.launch_stats()
        >>> _ = dr.eval(dr.sqrt(Float(1, 4)))
        >>> launches, from_disk, compiled = dr.detail.launch_stats()
        >>> launches - before
        1

    See also:
        :func:`drjit.kernel_history`
    """

def _llvm_version():
    """Return the version of libLLVM, which is loaded if need be.

    Returns:
        tuple[int, int, int]: major and minor version, and patch level.

    Raises:
        RuntimeError: there is no libLLVM.

    Example:
        >>> dr.detail.llvm_version()  # doctest: +SKIP
        (15, 0, 7)
    """

def _malloc_clear_statistics():
    """Begin a new measurement for :func:`drjit.detail.malloc_watermark`.

    Example:
        >>> dr.detail.malloc_clear_statistics()
    """

def _malloc_watermark(backend, /):
    """Return the most memory that arrays have used at any time.

    Args:
        backend (JitBackend): whose memory.

    Returns:
        int: bytes, since the process began or the last
        :func:`drjit.detail.malloc_clear_statistics`. Memory that is kept for later
        arrays does not count.

    Raises:
        TypeError: ``backend`` is not a ``JitBackend``.

    Example:
        >>> x = dr.opaque(Float, 1, 1000)
        >>> dr.detail.malloc_watermark(dr.JitBackend.LLVM) >= 4000
        True
    """

def _reduce_identity(dtype, op, size=1, /):
    """Return an array of the neutral element of an operation.

    Args:
        dtype (type): a flat array type.
        op (ReduceOp): the operation.
        size (int): the number of entries.

    Returns:
        array: a literal.

    Raises:
        TypeError: ``dtype`` is not a flat array type.
        RuntimeError: the operation is not defined for the type.

    Example:
        >>> dr.detail.reduce_identity(Float, dr.ReduceOp.Min, 2)
        [inf, inf]

    See also:
        :class:`drjit.ReduceOp`
    """

def _reset(tree, /):
    """Return a copy of a PyTree with empty arrays.

    Args:
        tree (PyTree): arrays; other objects are kept as they are.

    Returns:
        PyTree: of the structure of ``tree``. Its arrays are in the state
        ``VarState.Invalid``.

    Example:
        >>> dr.detail.reset({"x": Float(1, 2), "n": 3})
        {'x': [], 'n': 3}
    """
