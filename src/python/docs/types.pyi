"""Docstrings of functions written in C: types."""

def replace_type_t(arg, type, /):
    """The array type of the same shape with other entries.

    Args:
        arg (array | type): an array, or its type.
        type (VarType): type of the new entries.

    Returns:
        type: the array type. What is not an array gives its own type.

    Raises:
        TypeError: there is no such array type (there are no matrices of integers), or
            ``type`` is not a :class:`drjit.VarType`.

    Example:
        >>> dr.replace_type_t(Array3f, dr.VarType.Int32)
        <class 'drjit.llvm.ad.Array3i'>

    See also:
        :func:`drjit.type_v`, :func:`drjit.int32_array_t`, :func:`drjit.replace_shape_t`
    """

def reinterpret_array_t(arg, type, /):
    """The array type to which the bits of an array can be reinterpreted.

    That is the type of the same shape with other entries. They should have as many
    bytes as those of ``arg``, which :func:`drjit.reinterpret_array` checks.

    Args:
        arg (array | type): an array, or its type.
        type (VarType): type of the new entries.

    Returns:
        type: the array type. What is not an array gives its own type.

    Raises:
        TypeError: there is no such array type, or ``type`` is not a
            :class:`drjit.VarType`.

    Example:
        >>> bits_t = dr.reinterpret_array_t(Float, dr.VarType.UInt32)
        >>> dr.reinterpret_array(bits_t, Float(1)) == 0x3F800000
        [True]

    See also:
        :func:`drjit.reinterpret_array`, :func:`drjit.replace_type_t`
    """

def replace_shape_t(arg, shape, kind=None, /):
    """The array type with the same entries and another shape.

    Args:
        arg (array | type): an array, or its type.
        shape (tuple[int, ...]): the size of each axis, -1 where it is dynamic; the last
            one is that of the lanes.
        kind (str | None): ``"array"``, ``"matrix"``, ``"complex"`` or ``"quaternion"``.
            ``None`` keeps that of ``arg``; of a tensor, it asks for an array.

    Returns:
        type: the array type. What is not an array gives its own type.

    Raises:
        TypeError: there is not an array type of this shape.
        ValueError: another ``kind``.

    Example:
        >>> dr.replace_shape_t(Float, (4, -1))
        <class 'drjit.llvm.ad.Array4f'>
        >>> dr.replace_shape_t(Float, (2, 2, -1), "matrix")
        <class 'drjit.llvm.ad.Matrix2f'>

    See also:
        :func:`drjit.replace_type_t`, :func:`drjit.value_t`, :func:`drjit.array_t`
    """

def expr_t(*args):
    """The type of an arithmetic expression of these arrays, numbers or types.

    Args:
        *args (array | number | type): the operands.

    Returns:
        type | None: the type to which all operands are promoted: the larger shape, and
        the entries that come last in :class:`drjit.VarType`. Python's numbers adapt to
        the arrays. ``None`` without operands.

    Raises:
        TypeError: the types do not combine.

    Example:
        >>> dr.expr_t(Array3f, Float64)
        <class 'drjit.llvm.ad.Array3f64'>
        >>> dr.expr_t(UInt, 3), dr.expr_t(UInt, 3.5)
        (<class 'drjit.llvm.ad.UInt'>, <class 'drjit.llvm.ad.Float'>)

    See also:
        :func:`drjit.replace_type_t`, :class:`drjit.VarType`
    """

def is_array_v(arg, /):
    """Is it an array or tensor, or a type of these?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``False`` for numbers, sequences and arrays of other libraries.

    Example:
        >>> dr.is_array_v(Float), dr.is_array_v(TensorXf([1])), dr.is_array_v([1])
        (True, True, False)

    See also:
        :func:`drjit.is_tensor_v`, :func:`drjit.is_jit_v`
    """

def is_mask_v(arg, /):
    """Are the entries booleans?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for masks, ``bool``, and their types.

    Example:
        >>> dr.is_mask_v(Float(1, 2) > 1), dr.is_mask_v(True), dr.is_mask_v(UInt)
        (True, True, False)

    See also:
        :func:`drjit.mask_t`, :func:`drjit.is_arithmetic_v`
    """

def is_half_v(arg, /):
    """Are the entries half precision floats?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for arrays of ``float16``, and their types.

    Example:
        >>> dr.is_half_v(Float16), dr.is_half_v(Float)
        (True, False)

    See also:
        :func:`drjit.is_float_v`, :func:`drjit.float16_array_t`
    """

def is_float_v(arg, /):
    """Are the entries floats?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for arrays of floats of any precision, ``float``, and their
        types.

    Example:
        >>> dr.is_float_v(Array3f), dr.is_float_v(1.5), dr.is_float_v(UInt)
        (True, True, False)

    See also:
        :func:`drjit.is_half_v`, :func:`drjit.is_integral_v`,
        :func:`drjit.float_array_t`
    """

def is_integral_v(arg, /):
    """Are the entries integers?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for arrays of integers, ``int``, and their types. Booleans are no
        integers here.

    Example:
        >>> dr.is_integral_v(UInt), dr.is_integral_v(3), dr.is_integral_v(Bool)
        (True, True, False)

    See also:
        :func:`drjit.is_signed_v`, :func:`drjit.is_arithmetic_v`
    """

def is_arithmetic_v(arg, /):
    """Are the entries numbers?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for integers and floats, ``False`` for booleans.

    Example:
        >>> dr.is_arithmetic_v(Float), dr.is_arithmetic_v(3), dr.is_arithmetic_v(Bool)
        (True, True, False)

    See also:
        :func:`drjit.is_mask_v`, :func:`drjit.is_float_v`
    """

def is_signed_v(arg, /):
    """Can the entries be negative?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for floats and signed integers, Python's numbers included.

    Example:
        >>> dr.is_signed_v(Int), dr.is_signed_v(Float), dr.is_signed_v(UInt)
        (True, True, False)

    See also:
        :func:`drjit.is_unsigned_v`, :func:`drjit.int_array_t`
    """

def is_unsigned_v(arg, /):
    """Are the entries unsigned integers or booleans?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for these, and for ``bool``.

    Example:
        >>> dr.is_unsigned_v(UInt), dr.is_unsigned_v(Bool), dr.is_unsigned_v(Int)
        (True, True, False)

    See also:
        :func:`drjit.is_signed_v`, :func:`drjit.uint_array_t`
    """

def is_dynamic_v(arg, /):
    """Does the type leave the size of an axis open?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for all just-in-time compiled arrays, whose lanes are such an
        axis, and for tensors.

    Example:
        >>> import drjit.scalar
        >>> dr.is_dynamic_v(Array3f), dr.is_dynamic_v(drjit.scalar.Array3f)
        (True, False)

    See also:
        :func:`drjit.size_v`, :func:`drjit.width`
    """

def is_jit_v(arg, /):
    """Are operations traced, and compiled just in time?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for the arrays of ``drjit.llvm`` and ``drjit.llvm.ad``, ``False``
        for those of ``drjit.scalar``.

    Example:
        >>> import drjit.scalar
        >>> dr.is_jit_v(Float), dr.is_jit_v(drjit.scalar.ArrayXf), dr.is_jit_v(1.5)
        (True, False, False)

    See also:
        :func:`drjit.backend_v`, :func:`drjit.is_diff_v`
    """

def is_diff_v(arg, /):
    """Can arrays of the type have derivatives?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for all types of modules named ``ad``, those of integers and
        masks included.

    Example:
        >>> dr.is_diff_v(Float), dr.is_diff_v(dr.detached_t(Float))
        (True, False)

    See also:
        :func:`drjit.detached_t`, :func:`drjit.diff_array_t`, :func:`drjit.grad_enabled`
    """

def is_vector_v(arg, /):
    """Is it an array of components without special arithmetic?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for ``Array3f``, ``ArrayXf`` and the like; ``False`` for arrays
        of lanes alone (``Float``), matrices, complex numbers, quaternions and tensors.

    Example:
        >>> dr.is_vector_v(Array3f), dr.is_vector_v(Float), dr.is_vector_v(Complex2f)
        (True, False, False)

    See also:
        :func:`drjit.is_special_v`, :func:`drjit.depth_v`
    """

def is_complex_v(arg, /):
    """Is it a complex number?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for ``Complex2f`` and the like. Python's ``complex`` is none of
        these.

    Example:
        >>> dr.is_complex_v(Complex2f), dr.is_complex_v(Array2f)
        (True, False)

    See also:
        :func:`drjit.is_special_v`, :func:`drjit.real`
    """

def is_matrix_v(arg, /):
    """Is it a matrix?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for ``Matrix3f`` and the like.

    Example:
        >>> dr.is_matrix_v(Matrix3f), dr.is_matrix_v(Array33f)
        (True, False)

    See also:
        :func:`drjit.is_special_v`, :func:`drjit.matrix_t`
    """

def is_quaternion_v(arg, /):
    """Is it a quaternion?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for ``Quaternion4f`` and the like.

    Example:
        >>> dr.is_quaternion_v(Quaternion4f), dr.is_quaternion_v(Array4f)
        (True, False)

    See also:
        :func:`drjit.is_special_v`, :func:`drjit.quat_to_matrix`
    """

def is_tensor_v(arg, /):
    """Is it a tensor?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` for ``TensorXf`` and the like.

    Example:
        >>> dr.is_tensor_v(TensorXf), dr.is_tensor_v(ArrayXf)
        (True, False)
    """

def is_special_v(arg, /):
    """Is it a complex number, quaternion or matrix?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``True`` where multiplication is not that of each component.

    Example:
        >>> dr.is_special_v(Matrix3f), dr.is_special_v(Array3f)
        (True, False)

    See also:
        :func:`drjit.is_vector_v`, :func:`drjit.array_t`
    """

def is_struct_v(arg, /):
    """Is it a class with ``DRJIT_STRUCT``, or an instance of one?

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        bool: ``False`` for data classes, though they are [PyTrees](../pytrees.md) as
        well.

    Example:
        >>> class Ray:
        ...     DRJIT_STRUCT = {"o": Array3f, "d": Array3f}
        >>> dr.is_struct_v(Ray), dr.is_struct_v(Ray()), dr.is_struct_v(Array3f)
        (True, True, False)

    See also:
        :func:`drjit.zeros`, :func:`drjit.is_array_v`
    """

def type_v(arg, /):
    """The type of the entries.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        VarType: the type; ``VarType.Void`` if ``arg`` is not an array.

    Example:
        >>> dr.type_v(Array3f), dr.type_v(UInt(1)), dr.type_v(1.5)
        (VarType.Float32, VarType.UInt32, VarType.Void)

    See also:
        :func:`drjit.scalar_t`, :func:`drjit.replace_type_t`, :func:`drjit.itemsize_v`
    """

def backend_v(arg, /):
    """The backend that computes with arrays of the type.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        JitBackend: the backend; ``JitBackend.Invalid`` for ``drjit.scalar`` and what is
        not an array.

    Example:
        >>> dr.backend_v(Float), dr.backend_v(1.5)
        (JitBackend.LLVM, JitBackend.Invalid)

    See also:
        :func:`drjit.is_jit_v`, :func:`drjit.has_backend`
    """

def size_v(arg, /):
    """The size of the first axis that the type states.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        int: the number of components; ``drjit.Dynamic`` (-1) where the type leaves it
        open, 0 for tensors, 1 for what is not an array.

    Example:
        >>> dr.size_v(Array3f), dr.size_v(Float) == dr.Dynamic, dr.size_v(5)
        (3, True, 1)

    See also:
        :func:`drjit.depth_v`, :func:`drjit.shape`, :func:`drjit.width`
    """

def depth_v(arg, /):
    """The number of axes that the type states.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        int: axes, that of the lanes included; 0 for tensors and for what is not an
        array.

    Example:
        >>> dr.depth_v(Float), dr.depth_v(Array3f), dr.depth_v(Matrix3f), dr.depth_v(5)
        (1, 2, 3, 0)

    See also:
        :func:`drjit.size_v`, :func:`drjit.shape`
    """

def itemsize_v(arg, /):
    """The size of an entry in bytes.

    Args:
        arg (array | type): an array, or its type.

    Returns:
        int: bytes; 1 for masks.

    Raises:
        TypeError: ``arg`` is not an array.

    Example:
        >>> dr.itemsize_v(Float), dr.itemsize_v(Array3f64), dr.itemsize_v(Bool)
        (4, 8, 1)

    See also:
        :func:`drjit.type_v`
    """

def value_t(arg, /):
    """The type of ``arg[0]``.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: that of the components, or Python's number type if these are the entries.
        What is not an array gives its own type.

    Example:
        >>> dr.value_t(Array3f), dr.value_t(Float)
        (<class 'drjit.llvm.ad.Float'>, <class 'float'>)

    See also:
        :func:`drjit.leaf_t`, :func:`drjit.scalar_t`
    """

def mask_t(arg, /):
    """The type of comparisons of such arrays.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: the mask type of the same shape; ``bool`` if ``arg`` is not an array.

    Example:
        >>> dr.mask_t(Array3f)
        <class 'drjit.llvm.ad.Array3b'>

    See also:
        :func:`drjit.is_mask_v`, :func:`drjit.select`
    """

def scalar_t(arg, /):
    """The Python type of an entry.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: ``bool``, ``int`` or ``float``. What is not an array gives its own type.

    Example:
        >>> dr.scalar_t(Matrix3f), dr.scalar_t(UInt)
        (<class 'float'>, <class 'int'>)

    See also:
        :func:`drjit.value_t`, :func:`drjit.type_v`
    """

def array_t(arg, /):
    """The plain array type with the same contents.

    That is an array without the special arithmetic of matrices, complex numbers and
    quaternions; of a tensor, the type of its storage.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: the array type. What is not an array gives its own type.

    Example:
        >>> dr.array_t(Matrix3f), dr.array_t(TensorXf)
        (<class 'drjit.llvm.ad.Array33f'>, <class 'drjit.llvm.ad.Float'>)

    See also:
        :func:`drjit.matrix_t`, :func:`drjit.tensor_t`, :func:`drjit.is_special_v`
    """

def leaf_t(arg, /):
    """The innermost type that is still an array.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: the array of lanes of a just-in-time compiled type, however deep that is
        nested. What is not an array gives its own type.

    Example:
        >>> dr.leaf_t(Matrix3f)
        <class 'drjit.llvm.ad.Float'>

    See also:
        :func:`drjit.value_t`, :func:`drjit.scalar_t`
    """

def matrix_t(arg, /):
    """The matrix type that goes with a vector of this size.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type | None: the matrix type; ``None`` if there is none.

    Example:
        >>> dr.matrix_t(Array3f), dr.matrix_t(Float)
        (<class 'drjit.llvm.ad.Matrix3f'>, None)

    See also:
        :func:`drjit.array_t`, :func:`drjit.is_matrix_v`
    """

def tensor_t(arg, /):
    """The tensor type with the same entries.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type | None: the tensor type; ``None`` if ``arg`` is not an array.

    Example:
        >>> dr.tensor_t(Array3f), dr.tensor_t(UInt)
        (<class 'drjit.llvm.ad.TensorXf'>, <class 'drjit.llvm.ad.TensorXu'>)

    See also:
        :func:`drjit.array_t`, :func:`drjit.is_tensor_v`
    """

def detached_t(arg, /):
    """The same type without derivatives.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: that of the module without ``ad``. What is not an array gives its own
        type.

    Example:
        >>> dr.detached_t(Float)
        <class 'drjit.llvm.Float'>

    See also:
        :func:`drjit.diff_array_t`, :func:`drjit.detach`, :func:`drjit.is_diff_v`
    """

def diff_array_t(arg, /):
    """The same type with derivatives.

    Args:
        arg (object): an array, a type, or anything else.

    Returns:
        type: that of the module ``ad``. Types of ``drjit.scalar``, which has none, and
        of what is not an array are returned as they are.

    Example:
        >>> dr.diff_array_t(dr.detached_t(Float))
        <class 'drjit.llvm.ad.Float'>

    See also:
        :func:`drjit.detached_t`, :func:`drjit.is_diff_v`
    """

def int_array_t(arg, /):
    """The array type of the same shape with signed integers of the same size.

    Args:
        arg (array | type): an array, or its type.

    Returns:
        type: the array type.

    Raises:
        TypeError: ``arg`` is not an array, or there is no such type, as for matrices
            and half precision.

    Example:
        >>> dr.int_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3i'>

    See also:
        :func:`drjit.uint_array_t`, :func:`drjit.int32_array_t`
    """

def uint_array_t(arg, /):
    """The array type of the same shape with unsigned integers of the same size.

    Args:
        arg (array | type): an array, or its type.

    Returns:
        type: the array type.

    Raises:
        TypeError: ``arg`` is not an array, or there is no such type, as for matrices
            and half precision.

    Example:
        >>> dr.uint_array_t(Float64)
        <class 'drjit.llvm.ad.UInt64'>

    See also:
        :func:`drjit.int_array_t`, :func:`drjit.uint32_array_t`,
        :func:`drjit.reinterpret_array`
    """

def float_array_t(arg, /):
    """The array type of the same shape with floats of the same size.

    Args:
        arg (array | type): an array, or its type.

    Returns:
        type: the array type.

    Raises:
        TypeError: ``arg`` is not an array, or no floats have the size of its entries,
            as for masks.

    Example:
        >>> dr.float_array_t(UInt64)
        <class 'drjit.llvm.ad.Float64'>

    See also:
        :func:`drjit.float32_array_t`, :func:`drjit.is_float_v`
    """

def int8_array_t(arg, /):
    """The array type of the same shape with signed 8-bit integers.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``int`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for matrices and complex numbers.

    Example:
        >>> dr.int8_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3i8'>
    """

def int32_array_t(arg, /):
    """The array type of the same shape with signed 32-bit integers.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``int`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for matrices and complex numbers.

    Example:
        >>> dr.int32_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3i'>

    See also:
        :func:`drjit.int_array_t`, :func:`drjit.uint32_array_t`,
        :func:`drjit.replace_type_t`
    """

def int64_array_t(arg, /):
    """The array type of the same shape with signed 64-bit integers.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``int`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for matrices and complex numbers.

    Example:
        >>> dr.int64_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3i64'>
    """

def uint8_array_t(arg, /):
    """The array type of the same shape with unsigned 8-bit integers.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``int`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for matrices and complex numbers.

    Example:
        >>> dr.uint8_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3u8'>
    """

def uint32_array_t(arg, /):
    """The array type of the same shape with unsigned 32-bit integers.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``int`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for matrices and complex numbers.

    Example:
        >>> dr.uint32_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3u'>

    See also:
        :func:`drjit.uint_array_t`, :func:`drjit.int32_array_t`,
        :func:`drjit.replace_type_t`
    """

def uint64_array_t(arg, /):
    """The array type of the same shape with unsigned 64-bit integers.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``int`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for matrices and complex numbers.

    Example:
        >>> dr.uint64_array_t(Array3f)
        <class 'drjit.llvm.ad.Array3u64'>
    """

def float16_array_t(arg, /):
    """The array type of the same shape with half precision floats.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``float`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type, as for complex numbers.

    Example:
        >>> dr.float16_array_t(Array3u)
        <class 'drjit.llvm.ad.Array3f16'>
    """

def float32_array_t(arg, /):
    """The array type of the same shape with single precision floats.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``float`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type.

    Example:
        >>> dr.float32_array_t(Array3u)
        <class 'drjit.llvm.ad.Array3f'>

    See also:
        :func:`drjit.float_array_t`, :func:`drjit.replace_type_t`
    """

def float64_array_t(arg, /):
    """The array type of the same shape with double precision floats.

    Args:
        arg (array | type | object): an array, or its type.

    Returns:
        type: the array type; ``float`` if ``arg`` is not an array.

    Raises:
        TypeError: there is no such type.

    Example:
        >>> dr.float64_array_t(Array3u)
        <class 'drjit.llvm.ad.Array3f64'>
    """
