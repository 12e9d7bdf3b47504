"""Docstrings of functions written in C: creation."""

def zeros(dtype, shape=1):
    """Create an array, tensor or structure of zeros (False for masks).

    Args:
        dtype (type): type of the result: an array, tensor, structure (whose fields are
            filled one by one), or one of Python's numbers.
        shape (int | sequence[int]): an integer is the number of lanes; of a tensor, it
            is that of the entries on its only axis, and of an array with a variable
            number of components (``ArrayXf``) that of the components. A sequence has
            all extents, lanes last: those that ``dtype`` fixes have to agree. Python's
            numbers ignore it, and containers and strings become empty ones.

    Returns:
        array | PyTree | number: a literal: it takes no memory until it is written to.

    Raises:
        RuntimeError: ``shape`` does not agree with ``dtype``, or has more than 2^32 - 1
            entries.
        ValueError: an extent is negative.
        TypeError: ``dtype`` is not a type, or ``shape`` does not consist of integers.

    Example:
        >>> dr.zeros(Array2f, 3)
        [[0, 0],
         [0, 0],
         [0, 0]]
        >>> dr.zeros(TensorXf, (2, 3)).shape
        (2, 3)

    See also:
        :func:`drjit.zeros_like`, :func:`drjit.full`, :func:`drjit.empty`
    """

def ones(dtype, shape=1):
    """Create an array, tensor or structure of ones (True for masks).

    Every entry of a matrix is one, and a complex number or quaternion is real;
    :func:`drjit.identity` makes identity matrices.

    Args:
        dtype (type): type of the result, as in :func:`drjit.zeros`.
        shape (int | sequence[int]): the number of lanes, or all extents, as there.

    Returns:
        array | PyTree | number: a literal: it takes no memory until it is written to.

    Raises:
        RuntimeError: ``shape`` does not agree with ``dtype``.

    Example:
        >>> dr.ones(Float, 3)
        [1, 1, 1]
        >>> dr.ones(Matrix2f)
        [[[1, 1],
          [1, 1]]]

    See also:
        :func:`drjit.ones_like`, :func:`drjit.full`, :func:`drjit.identity`
    """

def empty(dtype, shape=1):
    """Create an array, tensor or structure whose contents are undefined.

    Meant for a target that is about to be overwritten as a whole, by
    :func:`drjit.scatter` say: it saves filling the memory first.

    Args:
        dtype (type): type of the result, as in :func:`drjit.zeros`.
        shape (int | sequence[int]): the number of lanes, or all extents, as there.

    Returns:
        array | PyTree | number: memory is allocated when it is first written to or
        read. Numbers of Python are zero.

    Raises:
        RuntimeError: ``shape`` does not agree with ``dtype``.

    Example:
        >>> target = dr.empty(Float, 3)
        >>> dr.scatter(target, Float(1, 2, 3), UInt(2, 1, 0))
        >>> target
        [3, 2, 1]

    See also:
        :func:`drjit.empty_like`, :func:`drjit.zeros`, :func:`drjit.scatter`
    """

def full(dtype, value, shape=1):
    """Create an array, tensor or structure whose entries all have a given value.

    Args:
        dtype (type): type of the result, as in :func:`drjit.zeros`.
        value (number | array | sequence): the value, which is converted to the type of
            the entries. An array of one lane is repeated; a sequence has the components
            of a nested array.
        shape (int | sequence[int]): the number of lanes, or all extents, as in
            :func:`drjit.zeros`.

    Returns:
        array | PyTree | number: a literal if the value is a number: it takes no memory,
        and the number becomes part of the kernels. :func:`drjit.opaque` avoids that.

    Raises:
        TypeError: the value cannot become an entry: a float that of an integer array,
            say.
        RuntimeError: ``shape`` does not agree with ``dtype``, or an array as ``value``
            has neither one lane nor those of ``shape``.

    Derivative:
        An array as ``value`` gets the sum of the gradients of its copies.

    Example:
        >>> dr.full(Float, 2.5, 3)
        [2.5, 2.5, 2.5]
        >>> dr.full(Array3f, (1, 2, 3), 2)
        [[1, 2, 3],
         [1, 2, 3]]

    See also:
        :func:`drjit.full_like`, :func:`drjit.opaque`, :func:`drjit.zeros`
    """

def opaque(dtype, value, shape=1):
    """Create an array of a given value that kernels read from memory.

    The value of a literal (:func:`drjit.full`, ``Float(2)``) is part of the kernels
    that use it, so another value means another kernel, which has to be compiled. With
    an opaque array, the same kernel serves all values.

    Args:
        dtype (type): type of the result, as in :func:`drjit.zeros`.
        value (number | array | sequence): the value, as in :func:`drjit.full`.
        shape (int | sequence[int]): the number of lanes, or all extents, as in
            :func:`drjit.zeros`.

    Returns:
        array | PyTree | number: an evaluated array of just-in-time compiled types;
        otherwise the same as :func:`drjit.full`.

    Raises:
        TypeError: the value cannot become an entry.
        RuntimeError: ``shape`` does not agree with ``dtype`` or with the value.

    Derivative:
        An array as ``value`` gets the sum of the gradients of its copies.

    Evaluation:
        Takes memory, and fills it, at once.

    Example:
        >>> dr.full(Float, 2).state, dr.opaque(Float, 2).state
        (VarState.Literal, VarState.Evaluated)

    See also:
        :func:`drjit.make_opaque` (of what exists), :func:`drjit.full`
    """

def zeros_like(arg, /):
    """Create zeros (False for masks) with the type and shape of something.

    Args:
        arg (array | PyTree | number): what to imitate, leaf by leaf. Leaves that are
            neither arrays nor numbers (strings) are handed on as they are.

    Returns:
        array | PyTree | number: literals, not tracked.

    Raises:
        TypeError: a leaf is an array of another framework.

    Derivative:
        None: the result does not depend on the entries of ``arg``.

    Example:
        >>> dr.zeros_like(Float(1, 2))
        [0, 0]
        >>> dr.zeros_like({"a": Int(3), "b": 1.5})
        {'a': [0], 'b': 0.0}

    See also:
        :func:`drjit.zeros`, :func:`drjit.full_like`
    """

def ones_like(arg, /):
    """Create ones (True for masks) with the type and shape of something.

    Args:
        arg (array | PyTree | number): what to imitate, as in :func:`drjit.zeros_like`.

    Returns:
        array | PyTree | number: literals, not tracked.

    Derivative:
        None: the result does not depend on the entries of ``arg``.

    Example:
        >>> dr.ones_like(Int(1, 2))
        [1, 1]

    See also:
        :func:`drjit.ones`, :func:`drjit.full_like`
    """

def empty_like(arg, /):
    """Create undefined contents with the type and shape of something.

    Args:
        arg (array | PyTree | number): what to imitate, as in :func:`drjit.zeros_like`.

    Returns:
        array | PyTree | number: as from :func:`drjit.empty`.

    Derivative:
        None: the result does not depend on the entries of ``arg``.

    Example:
        >>> dr.empty_like(Array3f([1, 2], 3, 4)).shape
        (3, 2)

    See also:
        :func:`drjit.empty`, :func:`drjit.zeros_like`
    """

def full_like(arg, value, /):
    """Create entries of a given value with the type and shape of something.

    Args:
        arg (array | PyTree | number): what to imitate, as in :func:`drjit.zeros_like`.
        value (number): the value of all entries.

    Returns:
        array | PyTree | number: literals, not tracked.

    Raises:
        TypeError: the value cannot become an entry of each leaf; arrays cannot.

    Derivative:
        None: the result does not depend on the entries of ``arg``.

    Example:
        >>> dr.full_like(Float(1, 2), 0.5)
        [0.5, 0.5]

    See also:
        :func:`drjit.full`, :func:`drjit.zeros_like`
    """
