"""Docstrings of functions written in C: bits of integers, kinds of floats."""

def popcnt(arg, /):
    """Number of bits that are set.

    Args:
        arg (integer array | int): a Python integer counts as 32 bits without sign.

    Returns:
        array | int: counts, in the type of ``arg``.

    Raises:
        OverflowError: a Python integer is negative, or does not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.popcnt(UInt(0, 7, 256))
        [0, 3, 1]

    See also:
        :func:`drjit.lzcnt`, :func:`drjit.tzcnt`, :func:`drjit.count` (of masks)
    """

def lzcnt(arg, /):
    """Number of leading zero bits: those above the highest bit that is set.

    Args:
        arg (integer array | int): a Python integer counts as 32 bits without sign.

    Returns:
        array | int: counts, in the type of ``arg``; the width of the type (32, say) for
        zero.

    Raises:
        OverflowError: a Python integer is negative, or does not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.lzcnt(UInt(0, 1, 2**31))
        [32, 31, 0]

    See also:
        :func:`drjit.tzcnt`, :func:`drjit.log2i`, :func:`drjit.popcnt`
    """

def tzcnt(arg, /):
    """Number of trailing zero bits: those below the lowest bit that is set.

    Args:
        arg (integer array | int): a Python integer counts as 32 bits without sign.

    Returns:
        array | int: counts, in the type of ``arg``; the width of the type (32, say) for
        zero.

    Raises:
        OverflowError: a Python integer is negative, or does not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.tzcnt(UInt(0, 1, 24))
        [32, 0, 3]

    See also:
        :func:`drjit.lzcnt`, :func:`drjit.popcnt`
    """

def brev(arg, /):
    """Reverse the order of the bits.

    Args:
        arg (integer array | int): a Python integer counts as 32 bits without sign.

    Returns:
        array | int: in the type of ``arg``.

    Raises:
        OverflowError: a Python integer is negative, or does not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.brev(UInt8(1, 6))  # 00000110 -> 01100000
        [128, 96]

    See also:
        :func:`drjit.popcnt`
    """

def mul_hi(a, b, /):
    """Upper half of the bits of the product of two integers.

    Args:
        a, b (integer array | int): factors, which are broadcast and promoted. Python
            integers count as 32 bits.

    Returns:
        array | int: in the common type of the factors.

    Raises:
        OverflowError: two Python integers do not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.mul_hi(UInt(2**31), 6)  # 6 * 2**31 = 3 * 2**32
        [3]

    See also:
        :func:`drjit.mul_wide`
    """

def mul_wide(a, b, /):
    """Product of two integers of 32 bits with all of its 64 bits.

    Args:
        a, b (int32 or uint32 array | int): factors, which are broadcast and promoted.

    Returns:
        array | int: integers of 64 bits, signed as the common type of the factors is.

    Raises:
        RuntimeError: the entries have another width.
        OverflowError: two Python integers do not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.mul_wide(UInt(2**31), 4)
        [8589934592]

    See also:
        :func:`drjit.mul_hi`
    """

def log2i(arg, /):
    """Logarithm to the base 2, rounded down: the position of the highest bit set.

    Args:
        arg (integer array | int): positive integers. A Python integer counts as 32 bits
            without sign.

    Returns:
        array | int: in the type of ``arg``. Zero gives -1, which is the largest number
        of an unsigned type. Signed integers count as unsigned ones of the same bits.

    Raises:
        OverflowError: a Python integer is negative, or does not fit into 32 bits.

    Derivative:
        None: integers have no derivatives.

    Example:
        >>> dr.log2i(UInt(1, 8, 9))
        [0, 3, 3]

    See also:
        :func:`drjit.lzcnt`, :func:`drjit.log2`
    """

def reinterpret_array(dtype, value, /):
    """Take the bits of an array as those of another type of the same size.

    Args:
        dtype (type): type of the result: the shape and module of ``value``, and entries
            of the same number of bytes.
        value (array): array of numbers; masks are not possible.

    Returns:
        array: ``dtype``, with the bits of ``value``.

    Raises:
        RuntimeError: ``dtype`` and ``value`` differ in shape, module or size of
            entries.
        TypeError: ``value`` is not an array.

    Derivative:
        None: the result is detached, even if it is a float of a float.

    Example:
        >>> dr.reinterpret_array(UInt, Float(1))  # 0x3f800000
        [1065353216]

    See also:
        :func:`drjit.reinterpret_array_t`
    """

def isnan(arg, /):
    """Say which entries are NaN (not a number).

    Args:
        arg (array | number | sequence): complex numbers and quaternions are looked at
            component by component; integers and masks are never NaN.

    Returns:
        mask | bool | list: a mask in the shape of ``arg``; lists for Python sequences,
        and NumPy arrays for NumPy arrays.

    Raises:
        TypeError: ``arg`` is something else, such as Python's ``complex``.

    Derivative:
        None: the result is a mask.

    Example:
        >>> dr.isnan(Float(1, dr.nan, dr.inf))
        [False, True, False]

    See also:
        :func:`drjit.isinf`, :func:`drjit.isfinite`
    """

def isinf(arg, /):
    """Say which entries are infinite, of either sign.

    Args:
        arg (array | number | sequence): complex numbers and quaternions are looked at
            component by component; integers and masks are never infinite.

    Returns:
        mask | bool | list: a mask in the shape of ``arg``; lists for Python sequences,
        and NumPy arrays for NumPy arrays.

    Raises:
        TypeError: ``arg`` is something else, such as Python's ``complex``.

    Derivative:
        None: the result is a mask.

    Example:
        >>> dr.isinf(Float(1, dr.nan, -dr.inf))
        [False, False, True]

    See also:
        :func:`drjit.isnan`, :func:`drjit.isfinite`
    """

def isfinite(arg, /):
    """Say which entries are neither infinite nor NaN.

    Args:
        arg (array | number | sequence): complex numbers and quaternions are looked at
            component by component; integers and masks are always finite.

    Returns:
        mask | bool | list: a mask in the shape of ``arg``; lists for Python sequences,
        and NumPy arrays for NumPy arrays.

    Raises:
        TypeError: ``arg`` is something else, such as Python's ``complex``.

    Derivative:
        None: the result is a mask.

    Example:
        >>> dr.isfinite(Float(1, dr.nan, dr.inf))
        [True, False, False]

    See also:
        :func:`drjit.isnan`, :func:`drjit.isinf`
    """
