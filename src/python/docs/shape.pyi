"""Docstrings of functions written in C: shape."""

def shape(arg, /):
    """The shape of an array, tensor, sequence or number.

    Args:
        arg (array | tensor | sequence | number): what to ask. Components with one entry
            count as long as the others.

    Returns:
        tuple[int, ...]: the size of each axis, outermost first: components of a nested
        array, then lanes. ``()`` for a number.

    Raises:
        RuntimeError: components have different sizes, none of which is 1.
        TypeError: ``arg`` is nothing of these.

    Example:
        >>> dr.shape(Array3f(1, [2, 3], 4)), dr.shape([[1, 2], [3, 4]]), dr.shape(5)
        ((3, 2), (2, 2), ())

    See also:
        :func:`drjit.width`, :func:`drjit.reshape`
    """

def width(*args):
    """The number of lanes of arrays and PyTrees.

    Args:
        *args (array | tensor | PyTree): what to look into. A tensor has a lane for each
            of its entries. What is not an array counts as 1.

    Returns:
        int: the common number of lanes; 0 if there is an empty array, or no argument.

    Raises:
        RuntimeError: arrays have different numbers of lanes, neither of which is 1.

    Evaluation:
        Nothing is evaluated.

    Example:
        >>> dr.width(Array3f(1, [2, 3], 4)), dr.width({"a": Float(1, 2, 3), "b": 5})
        (2, 3)

    See also:
        :func:`drjit.shape`, :func:`drjit.opaque_width`
    """

def opaque_width(arg, /):
    """The number of lanes of an array, as an array that kernels read from memory.

    A program that computes with ``len(x)`` as a number needs another kernel for each
    size; one that computes with this does not. A function that is being frozen gets the
    size of the call that it is replayed for.

    Args:
        arg (array | tensor): just-in-time compiled array.

    Returns:
        integer array: ``UInt`` with one entry.

    Raises:
        TypeError: ``arg`` is not a just-in-time compiled array.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.sum(x) / dr.opaque_width(x)
        [2]

    See also:
        :func:`drjit.width`, :func:`drjit.opaque`
    """

def ravel(array, order="A"):
    """The entries of an array or tensor as a flat array.

    Args:
        array (array | tensor | number): what to flatten. A flat array is returned
            itself, as is a number.
        order (str): ``"F"``: the components of a lane follow each other, x y z x y z;
            ``"C"``: first all of one component, x x y y z z. ``"A"`` is ``"F"`` for
            arrays and ``"C"`` for tensors, the only one that these have.

    Returns:
        array: the flat array type of the entries; of a tensor, its storage.

    Raises:
        RuntimeError: another ``order``, or ``"F"`` for a tensor.
        TypeError: the input is neither array nor number.

    Derivative:
        The gradient, rearranged in the same way.

    Evaluation:
        Nested arrays are written to memory with the next kernel.

    Example:
        >>> v = Array2f([1, 2, 3], [10, 20, 30])
        >>> dr.ravel(v)
        [1, 10, 2, 20, 3, 30]
        >>> dr.ravel(v, order="C")
        [1, 2, 3, 10, 20, 30]

    See also:
        :func:`drjit.unravel`, :func:`drjit.reshape`
    """

def unravel(dtype, array, order="A"):
    """A nested array from the entries of a flat one: the inverse of ``ravel()``.

    Args:
        dtype (type): array type of the result. Its number of components must be fixed;
            for ``ArrayXf`` and tensors there is :func:`drjit.reshape`.
        array (array): flat array, whose number of entries is a multiple of the number
            of components.
        order (str): order of the entries in ``array``, as in :func:`drjit.ravel`.

    Returns:
        array: an instance of ``dtype``.

    Raises:
        RuntimeError: the entries cannot be divided among the components, or another
            ``order``.
        TypeError: another type, or ``array`` is not flat.

    Derivative:
        The gradient, rearranged in the same way.

    Evaluation:
        ``array`` is evaluated. The reads are traced.

    Example:
        >>> dr.unravel(Array2f, Float(1, 10, 2, 20, 3, 30))
        [[1, 10],
         [2, 20],
         [3, 30]]

    See also:
        :func:`drjit.ravel`, :func:`drjit.reshape`
    """

def slice(value, index=0):
    """Select lanes of all arrays of a PyTree: ``value[..., index]``.

    Args:
        value (array | PyTree): where to select. Tensors, and what has no dynamic axis,
            are returned as they are; for tensors there is :func:`drjit.take`.
        index (int | integer array): with an ``int``, which may count from the end, the
            axis is removed: numbers and arrays of ``drjit.scalar`` remain. With an
            array it stays, with a lane for each index.

    Returns:
        number | array | PyTree: the selection. With an array as ``index`` it has the
        type of ``value``.

    Raises:
        IndexError: an ``int`` is out of bounds. Entries of arrays are unchecked, as in
            :func:`drjit.gather`.

    Derivative:
        With an array as ``index``, that of :func:`drjit.gather`. Numbers are detached.

    Evaluation:
        ``value`` is evaluated. With an ``int``, waits for it.

    Example:
        >>> points = {"position": Array2f([1, 2], [3, 4]), "mass": Float(5, 6)}
        >>> dr.slice(points, 1)
        {'position': [2, 4], 'mass': 6.0}
        >>> dr.slice(points, UInt(1, 1))["mass"]
        [6, 6]

    See also:
        :func:`drjit.gather`, :func:`drjit.take`
    """

def compress(arg, /):
    """The positions of the set entries of a mask, in order.

    Args:
        arg (mask): flat mask.

    Returns:
        integer array: ``UInt``, as many as entries are set; empty if none is.

    Raises:
        RuntimeError: ``arg`` is an array of another type, or is not flat.
        TypeError: ``arg`` is not an array.

    Evaluation:
        Evaluates ``arg`` and waits for it, as the number of positions is the size of
        the result.

    Example:
        >>> x = Float(3, -1, 5, -2, 7)
        >>> index = dr.compress(x > 0)
        >>> index, dr.gather(Float, x, index)
        ([0, 2, 4], [3, 5, 7])

    See also:
        :func:`drjit.scatter_inc`, :func:`drjit.count`
    """
