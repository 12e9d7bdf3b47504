"""Docstrings of functions written in C: types."""

def replace_type_t(arg, type, /):
    """Same shape with entries of another VarType."""

def reinterpret_array_t(arg, type, /):
    """Same shape with entries of another VarType of the same size."""

def replace_shape_t(arg, shape, kind=None, /):
    """Same entries with another shape (-1: dynamic) and kind ("array", "matrix",
    "complex", "quaternion")."""

def expr_t(*args):
    """Result type of an arithmetic expression of these arrays or types."""

def is_array_v(arg, /):
    """Is it an array or tensor, or such a type?"""

def is_mask_v(arg, /):
    """Are the entries booleans?"""

def is_half_v(arg, /):
    """Are the entries half precision numbers?"""

def is_float_v(arg, /):
    """Are the entries floating point numbers?"""

def is_integral_v(arg, /):
    """Are the entries integers?"""

def is_arithmetic_v(arg, /):
    """Are the entries numbers (not booleans)?"""

def is_signed_v(arg, /):
    """Are the entries signed?"""

def is_unsigned_v(arg, /):
    """Are the entries unsigned integers or booleans?"""

def is_dynamic_v(arg, /):
    """Is there an extent that the type leaves open?"""

def is_jit_v(arg, /):
    """Is the computation traced by a just-in-time compiler?"""

def is_diff_v(arg, /):
    """Does the type track derivatives?"""

def is_vector_v(arg, /):
    """Is it an array with plain vector semantics?"""

def is_complex_v(arg, /):
    """Is it a complex number type?"""

def is_matrix_v(arg, /):
    """Is it a matrix type?"""

def is_quaternion_v(arg, /):
    """Is it a quaternion type?"""

def is_tensor_v(arg, /):
    """Is it a tensor type?"""

def is_special_v(arg, /):
    """Is it a matrix, complex number or quaternion type?"""

def is_struct_v(arg, /):
    """Is it a class with DRJIT_STRUCT? (A data class is not.)"""

def type_v(arg, /):
    """Entry type (a VarType)."""

def backend_v(arg, /):
    """Backend (a JitBackend)."""

def size_v(arg, /):
    """First extent; -1 if dynamic, 1 if no array."""

def depth_v(arg, /):
    """Number of nested extents; 0 if no array."""

def itemsize_v(arg, /):
    """Bytes of an entry."""

def value_t(arg, /):
    """Type of arg[0]; the argument's own type if it is not an array."""

def mask_t(arg, /):
    """Type of comparison results."""

def scalar_t(arg, /):
    """Python type of the entries."""

def array_t(arg, /):
    """Plain array type with the same contents."""

def leaf_t(arg, /):
    """The innermost type that is still an array."""

def matrix_t(arg, /):
    """Matrix type of the same size, or None."""

def tensor_t(arg, /):
    """Tensor type with the same entries, or None."""

def detached_t(arg, /):
    """The same type without derivatives."""

def diff_array_t(arg, /):
    """The same type with derivatives."""

def int_array_t(arg, /):
    """Same shape, signed integers of the same size."""

def uint_array_t(arg, /):
    """Same shape, unsigned integers of the same size."""

def float_array_t(arg, /):
    """Same shape, floating point numbers of the same size."""

def int8_array_t(arg, /):
    """Same shape, entries int8."""

def uint8_array_t(arg, /):
    """Same shape, entries uint8."""

def int32_array_t(arg, /):
    """Same shape, entries int32."""

def uint32_array_t(arg, /):
    """Same shape, entries uint32."""

def int64_array_t(arg, /):
    """Same shape, entries int64."""

def uint64_array_t(arg, /):
    """Same shape, entries uint64."""

def float16_array_t(arg, /):
    """Same shape, entries float16."""

def float32_array_t(arg, /):
    """Same shape, entries float32."""

def float64_array_t(arg, /):
    """Same shape, entries float64."""
