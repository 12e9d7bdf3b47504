"""Docstrings of functions written in C: linalg."""

def dot(a, b, /):
    """Inner product: the sum of the products of corresponding entries.

    Nested arrays, tensors and matrices are summed along their first axis only, flat
    arrays over their lanes. Complex numbers and quaternions count as vectors of their
    components, without conjugation.

    Args:
        a, b (array | sequence): operands of one shape, which are promoted; lists of
            numbers may stand in for arrays. A flat array with one lane is repeated.

    Returns:
        array | number: a lane for each lane of nested arrays; one lane for flat ones.
        Products of nested arrays are added by fused multiply-additions.

    Raises:
        TypeError: an operand is neither an array nor a sequence.
        RuntimeError: the sizes differ, or the operands are masks.

    Derivative:
        ``b`` with respect to ``a``, and ``a`` with respect to ``b``.

    Example:
        >>> dr.dot(Array3f(1, 2, 3), Array3f(4, 5, 6))
        [32]
        >>> dr.dot(Float(1, 2, 3), Float(4, 5, 6))
        [32]

    See also:
        :func:`drjit.abs_dot`, :func:`drjit.squared_norm`, :func:`drjit.matmul`
    """

def matmul(A, B, At=False, Bt=False):
    """Product of matrices, of a matrix and a vector, or of two vectors: ``A @ B``.

    Of two tensors, and of a tensor and a NumPy array, it is that of ``numpy.matmul``:
    the last two axes are multiplied, and axes before them are broadcast as batches; a
    tensor of one axis is a row on the left, a column on the right.

    Arrays of fixed extents are classified by these: (n, n, ...) is a matrix, be it
    ``Matrix3f`` or ``Array33f``, and (n, ...) a vector. Two vectors have their inner
    product. A number, or an array without fixed extents, scales the other operand.

    Args:
        A, B (array | tensor): factors. Two tensors need entries of one type; masks have
            no product.
        At (bool): transpose the last two axes of ``A``, without a copy. Both factors
            are tensors, and ``A`` has at least 2 axes.
        Bt (bool): the same for ``B``.

    Returns:
        array | tensor: half precision is summed up in single precision for tensors.

    Raises:
        TypeError: there is no product of these types, or ``At`` or ``Bt`` is set for
            others than two tensors.
        ValueError: the shapes of two tensors do not go together, or one with fewer than
            two axes is to be transposed.

    Derivative:
        ``grad @ B.T`` with respect to ``A``, and ``A.T @ grad`` with respect to ``B``,
        summed over axes that were broadcast.

    Evaluation:
        Evaluates tensors, and launches a kernel for their product.

    Example:
        >>> Matrix2f(1, 2, 3, 4) @ Array2f(1, 2)
        [[5, 11]]
        >>> a = TensorXf([[1, 2], [3, 4]])
        >>> dr.matmul(a, a, Bt=True)
        [[5, 11],
         [11, 25]]

    See also:
        :func:`drjit.dot`, :func:`drjit.transpose`
    """
