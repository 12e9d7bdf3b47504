"""Docstrings of functions written in C: memory."""

def slice_index(dtype, shape, indices):
    """Where the entries of a selection lie in a tensor's storage.
    dtype is a one-dimensional UInt32 array type, shape the extents of a hypothetical
    tensor, and indices the comma-separated parts of tensor[...] as a tuple: integers,
    slices, integer arrays, Ellipsis, None. Returns the shape of the selection and the
    positions of its entries in C order."""

def gather(dtype, source, index, active=True, mode=ReduceMode.Auto, shape=None):
    """Read entries of an array at given indices: ``source[index]``.

    Lanes with ``active`` unset read nothing and get zero. Indices beyond the end are
    undefined behaviour of the program unless ``JitFlag.Debug`` is set, which reports
    them and reads zero. A ``source`` with one entry gives that entry for every index.

    Args:
        dtype (type): type of the result: that of ``source``, or a nested type such as
            ``Array3f``, of which index ``i`` gets the entries ``3*i`` to ``3*i + 2`` of
            a flat ``source``. Structures are gathered field by field.
        source (array | tensor | PyTree): what to read from.
        index (integer array | int): indices of entries, one for each lane. Negative
            ones are not counted from the end.
        active (mask | bool): lanes that read.
        mode (ReduceMode): how the derivative adds up in reverse mode; see
            :class:`drjit.ReduceMode`.
        shape (tuple[int, ...] | None): shape of the result if ``dtype`` is a tensor.

    Returns:
        array | PyTree: an instance of ``dtype`` with as many lanes as ``index``.

    Raises:
        TypeError: ``dtype`` and ``source`` do not fit, or ``index`` is not an integer.

    Derivative:
        Forward mode gathers the tangent. Reverse mode adds the gradient to that of
        ``source`` at the same indices: :func:`drjit.scatter_add` in ``mode``.

    Evaluation:
        ``source`` is evaluated unless it is a literal. The read itself is traced.

    Example:
        >>> source = Float(10, 20, 30)
        >>> dr.gather(Float, source, UInt(2, 0, 2))
        [30, 10, 30]
        >>> dr.gather(Array2f, Float(0, 1, 2, 3), UInt(1, 0))
        [[2, 3],
         [0, 1]]

    See also:
        :func:`drjit.scatter`, :func:`drjit.take`, :func:`drjit.slice`
    """

def scatter(target, value, index, active=True, mode=ReduceMode.Auto):
    """Write target[index] = value where 'active' is set. If a position occurs more than
    once, one of the values wins. Positions are only checked if JitFlag.Debug is set.
    The mode is ReduceMode.Auto unless given."""

def scatter_reduce(op, target, value, index, active=True, mode=ReduceMode.Auto):
    """Update target[index] = op(target[index], value) atomically where 'active' is set."""

def scatter_add(target, value, index, active=True, mode=ReduceMode.Auto):
    """The same as scatter_reduce(ReduceOp.Add, ...)."""

def scatter_add_kahan(target_1, target_2, value, index, active=True):
    """Add to target_1 and collect the rounding errors in target_2: the sum of both is the
    compensated result."""

def scatter_inc(target, index, active=True):
    """Add 1 to target[index] (UInt32) atomically and return what was there before."""

def scatter_exch(target, value, index, active=True):
    """Replace target[index] atomically and return what was there before (0 where not
    active)."""

def scatter_cas(target, compare, value, index, active=True):
    """Replace target[index] atomically where it equals 'compare'. Returns a tuple (what
    was there before, mask of the lanes that replaced)."""

def slice(value, index=0):
    """Select entries along the trailing dynamic axis of all arrays of a PyTree: with an
    int the axis is removed (numbers and drjit.scalar arrays), with an integer array the
    result has the type of the input."""
