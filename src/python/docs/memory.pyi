"""Docstrings of functions written in C: memory."""

def gather(dtype, source, index, active=True, mode=ReduceMode.Auto, shape=None):
    """Read entries of an array at given indices: ``source[index]``.

    Lanes with ``active`` unset read nothing and get zero. Indices beyond the end are
    undefined behaviour of the program unless ``JitFlag.Debug`` is set, which reports
    them and reads zero. A ``source`` with one entry gives that entry for every index.
    Tensors are read by indexing them, ``tensor[...]``, or by :func:`drjit.take`.

    Args:
        dtype (type): type of the result: that of ``source``, or a nested type such as
            ``Array3f``, of which index ``i`` gets the entries ``3*i`` to ``3*i + 2`` of
            a flat ``source``. Structures are gathered field by field.
        source (array | PyTree): what to read from: a flat array, or an instance of
            ``dtype``.
        index (integer array | int): indices of entries, one for each lane. Negative
            ones are not counted from the end.
        active (mask | bool): lanes that read.
        mode (ReduceMode): how the derivative adds up in reverse mode; see
            :class:`drjit.ReduceMode`.
        shape (tuple[int, ...] | None): for a ``dtype`` whose number of components is
            dynamic (``ArrayXf``), the shape of the result: components, lanes.

    Returns:
        array | PyTree: an instance of ``dtype`` with as many lanes as ``index``. What
        is not an array in a structure is returned as it is.

    Raises:
        TypeError: ``dtype`` and ``source`` do not fit, or ``index`` does not convert to
            ``UInt``.
        RuntimeError: ``source`` is a tensor or empty, ``shape`` is missing, or
            ``index`` and ``active`` have different sizes.

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
    """Write values to an array at given indices: ``target[index] = value``.

    The target is changed in place; copies made of it before keep their entries. Where
    several lanes write to one entry, one of them wins; which one is unspecified.
    Indices beyond the end are undefined behaviour of the program unless
    ``JitFlag.Debug`` is set, which reports them and does not write.

    Args:
        target (array | PyTree): flat array, or a nested array or structure, which is
            written component by component. Tensors are written by assigning to
            ``tensor[...]``.
        value (array | PyTree | number): values of the target's type, one for each lane.
            A nested value (``Array3f``) goes to a flat target as the entries ``3*i`` to
            ``3*i + 2`` for index ``i``. One value serves all lanes.
        index (integer array | int): indices of entries, one for each lane. Negative
            ones are not counted from the end.
        active (mask | bool): lanes that write.
        mode (ReduceMode): ``Permute`` promises that each entry is written exactly once,
            so that derivatives need not keep the old entries. The other modes are for
            reductions.

    Raises:
        TypeError: ``value`` cannot be written to a target of this type.
        RuntimeError: ``value``, ``index`` and ``active`` have different sizes, none of
            which is 1; or ``target`` is a tensor.

    Derivative:
        Of ``value``: reverse mode gathers the gradient of ``target`` at ``index``. Of
        the old entries of ``target``: overwritten ones get zero.

    Evaluation:
        The write is traced, and part of the next kernel. Reading ``target`` sees it.

    Example:
        >>> target = dr.zeros(Float, 5)
        >>> dr.scatter(target, Float(1, 2, 3), UInt(4, 0, 1))
        >>> target
        [2, 3, 0, 0, 1]

    See also:
        :func:`drjit.gather`, :func:`drjit.scatter_reduce`, :func:`drjit.scatter_exch`
    """

def scatter_reduce(op, target, value, index, active=True, mode=ReduceMode.Auto):
    """Combine values with entries of an array at given indices.

    That is ``target[index] = op(target[index], value)``. All lanes count, also those
    that meet at one entry. They arrive in any order, so sums and products of floats may
    differ in their last digits from run to run. ``JitFlag.Deterministic`` gives them
    [a fixed order](../reductions.md#sums-by-index-in-a-fixed-order).

    Args:
        op (ReduceOp): the operation. ``And`` and ``Or`` are for integers and masks, the
            others for numbers. ``Identity`` makes it a :func:`drjit.scatter`. ``Min``
            and ``Max`` ignore NaN where they have a number.
        target (array | PyTree): flat array, or a nested array or structure, which is
            updated component by component.
        value (array | PyTree | number): values, one for each lane, or one for all; see
            :func:`drjit.scatter`.
        index (integer array | int): indices of entries, one for each lane; unchecked
            unless ``JitFlag.Debug`` is set.
        active (mask | bool): lanes that take part.
        mode (ReduceMode): how lanes that meet are combined. The result is the same, the
            time is not; see :class:`drjit.ReduceMode`.

    Raises:
        TypeError: ``op`` is not a :class:`drjit.ReduceOp`, or the types do not fit.
        RuntimeError: the operation is not defined for these entries, sizes do not fit,
            ``target`` is a tensor, or ``mode`` is ``ReduceMode.Permute``.

    Derivative:
        ``Add``, ``Min``, ``Max`` and ``Identity`` have one, also with respect to the
        old entries of ``target``. Of a minimum or maximum, every value that equals the
        result gets the gradient. Other operations on tracked operands are an error.

    Evaluation:
        Traced, and part of the next kernel. Reading ``target`` sees the result.

    Example:
        >>> highest = dr.zeros(Float, 2)
        >>> dr.scatter_reduce(dr.ReduceOp.Max, highest, Float(3, 8, 5), UInt(0, 1, 0))
        >>> highest
        [5, 8]

    See also:
        :func:`drjit.scatter_add`, :func:`drjit.reduce`, :func:`drjit.block_reduce`
    """

def scatter_add(target, value, index, active=True, mode=ReduceMode.Auto):
    """Add values to entries of an array: ``target[index] += value``.

    It is :func:`drjit.scatter_reduce` with ``ReduceOp.Add``: lanes that meet at one
    entry are all added, in any order unless ``JitFlag.Deterministic`` is set.

    Args:
        target (array | PyTree): what to add to.
        value (array | PyTree | number): what to add, one for each lane or one for all.
        index (integer array | int): indices of entries, one for each lane; unchecked
            unless ``JitFlag.Debug`` is set.
        active (mask | bool): lanes that take part.
        mode (ReduceMode): how lanes that meet are combined.

    Raises:
        TypeError: the types do not fit.
        RuntimeError: sizes do not fit, ``target`` holds masks, or ``mode`` is
            ``ReduceMode.Permute``.

    Derivative:
        Reverse mode gathers the gradient of ``target`` at ``index``. The old entries of
        ``target`` keep theirs.

    Evaluation:
        Traced, and part of the next kernel. Reading ``target`` sees the sums.

    Example:
        >>> histogram = dr.zeros(UInt, 4)
        >>> dr.scatter_add(histogram, 1, UInt(0, 2, 2, 3, 2))
        >>> histogram
        [1, 0, 3, 1]

    See also:
        :func:`drjit.scatter_add_kahan`, :func:`drjit.scatter_inc`,
        :func:`drjit.block_sum`
    """

def scatter_add_kahan(target_1, target_2, value, index, active=True):
    """Add values to entries of an array, and what rounding loses to those of another.

    ``target_1 + target_2`` is the compensated sum. It is worth it where many small
    values meet at one entry. Lanes that meet are not combined first, so it is slower
    than :func:`drjit.scatter_add`.

    Args:
        target_1 (float array): flat array that gets the sums.
        target_2 (float array): another flat array of the same type and size, which gets
            the rounding errors. Both start as zero for a new sum.
        value (float array | float): what to add, one for each lane or one for all.
        index (integer array | int): indices of entries, one for each lane; unchecked
            unless ``JitFlag.Debug`` is set.
        active (mask | bool): lanes that take part.

    Raises:
        ValueError: both targets are the same array.
        RuntimeError: the targets are not flat just-in-time compiled arrays of floats of
            one size, or ``JitFlag.Deterministic`` is set.

    Derivative:
        That of :func:`drjit.scatter_add` to ``target_1``; nothing flows from ``value``
        to ``target_2``.

    Evaluation:
        Traced, and part of the next kernel. Reading a target sees the sums.

    Source:
        Neumaier, *Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
        Summen*, ZAMM 54, 1974.

    Example:
        >>> total, rest = dr.zeros(Float, 1), dr.zeros(Float, 1)
        >>> dr.scatter_add_kahan(total, rest, dr.full(Float, 0.1, 1000), UInt(0))
        >>> total + rest
        [100]

    See also:
        :func:`drjit.scatter_add`
    """

def scatter_inc(target, index, active=True):
    """Add 1 to entries of an array, and return what was there before.

    Lanes that meet at one entry get different numbers, in any order. So a single
    counter gives each lane a place of its own in a list whose length is not known in
    advance; where the order matters, use :func:`drjit.compress`.

    Args:
        target (integer array): flat just-in-time compiled array of unsigned 32-bit
            integers.
        index (integer array | int): indices of counters, one for each lane; unchecked
            unless ``JitFlag.Debug`` is set.
        active (mask | bool): lanes that count. The others get 0.

    Returns:
        integer array: ``UInt``, the entries before this lane. It can be used in the
        kernel that counts only: evaluate it along with that (:func:`drjit.eval`) if it
        is needed later.

    Raises:
        RuntimeError: ``target`` has another type, or a result is used after the kernel
            that computed it.

    Evaluation:
        Traced, and part of the next kernel. Reading ``target`` sees the new counts.

    Example:
        >>> values = Float(3, -1, 5, -2, 7)
        >>> wanted, counter, found = values > 0, dr.zeros(UInt, 1), dr.zeros(Float, 5)
        >>> place = dr.scatter_inc(counter, UInt(0), wanted)
        >>> dr.scatter(found, values, place, wanted)
        >>> counter, dr.sort(found)
        ([3], [0, 0, 3, 5, 7])

    See also:
        :func:`drjit.compress`, :func:`drjit.scatter_add`, :func:`drjit.reshape`
    """

def scatter_exch(target, value, index, active=True):
    """Write values to entries of an array, and return what was there before.

    Each exchange is atomic. Lanes that meet at one entry do it one after the other, in
    any order: every value but the last is returned to some lane.

    Args:
        target (array): flat just-in-time compiled array.
        value (array | number): values of the target's type, one for each lane or one
            for all.
        index (integer array | int): indices of entries, one for each lane; unchecked
            unless ``JitFlag.Debug`` is set.
        active (mask | bool): lanes that exchange. The others get 0.

    Returns:
        array: the former entries. They can be used in the kernel that exchanges only:
        evaluate them along with it (:func:`drjit.eval`) if they are needed later.

    Raises:
        RuntimeError: ``target`` is of another kind, an operand is tracked, or a result
            is used after the kernel that computed it.

    Derivative:
        None: tracked operands are an error, see :func:`drjit.detach`.

    Evaluation:
        Traced, and part of the next kernel. Reading ``target`` sees the new entries.

    Example:
        >>> target = Float(1, 2, 3)
        >>> dr.scatter_exch(target, Float(9, 8), UInt(0, 2))
        [1, 3]
        >>> target
        [9, 2, 8]

    See also:
        :func:`drjit.scatter_cas`, :func:`drjit.scatter`
    """

def scatter_cas(target, compare, value, index, active=True):
    """Write values to entries of an array that have an expected value.

    An atomic compare-and-swap: where ``target[index] == compare``, the entry becomes
    ``value``. Entries are compared bit by bit. If several lanes expect the same value
    of one entry and write others, one of them succeeds.

    Args:
        target (array): flat just-in-time compiled array.
        compare (array | number): the expected values, one for each lane or one for all.
        value (array | number): what to write.
        index (integer array | int): indices of entries, one for each lane; unchecked
            unless ``JitFlag.Debug`` is set.
        active (mask | bool): lanes that take part.

    Returns:
        tuple[array, mask]: the former entries, and which lanes wrote; 0 and ``False``
        where not active. They can be used in the kernel that swaps only: evaluate them
        along with it (:func:`drjit.eval`) if they are needed later.

    Raises:
        RuntimeError: ``target`` is of another kind, an operand is tracked, or a result
            is used after the kernel that computed it.

    Derivative:
        None: tracked operands are an error, see :func:`drjit.detach`.

    Evaluation:
        Traced, and part of the next kernel. Reading ``target`` sees the new entries.

    Example:
        >>> state = UInt(0, 1, 0)
        >>> dr.scatter_cas(state, compare=0, value=9, index=UInt(0, 1, 2))
        ([0, 1, 0], [True, False, True])
        >>> state
        [9, 1, 9]

    See also:
        :func:`drjit.scatter_exch`
    """

def slice_index(dtype, shape, indices):
    """Where the entries of ``tensor[indices]`` are in the storage of a tensor.

    Args:
        dtype (type): type of the positions: a flat array type of unsigned 32-bit
            integers (``UInt``).
        shape (tuple[int, ...]): shape of the tensor, which need not exist.
        indices (tuple): what is between the brackets: integers, slices, integer arrays,
            ``Ellipsis`` and ``None``. Negative ones count from the end.

    Returns:
        tuple[tuple[int, ...], integer array]: the shape of the selection, and the
        positions of its entries, in C order.

    Raises:
        IndexError: an integer is out of bounds (entries of arrays are not checked), or
            there are more indices than axes.
        TypeError: another ``dtype``, or ``indices`` is not a tuple.

    Example:
        >>> dr.slice_index(UInt, (3, 4), (1, slice(None, None, 2)))
        ((2,), [4, 6])

    See also:
        :func:`drjit.take`, :func:`drjit.gather`
    """
