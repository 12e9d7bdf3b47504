/*
 * trait.c -- questions about types: is_*_v, size_v, ..., value_t, replace_type_t, ...
 *
 * All take an array, an array class, or anything else ("no array": false, or the type
 * itself). The yes/no traits and the type mappings are rows of tables; one
 * vectorcall function serves each table by row number.
 */
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/object/array.h"
#include "python/object/enums.h"
#include "python/object/error.h"
#include "python/object/size.h"
#include "python/object/tables.h"
#include "python/tree/tree.h"

/* The class an argument stands for: itself if it is a class. Borrowed. */
static PyTypeObject *class_of(PyObject *arg)
{
    return PyType_Check(arg) ? (PyTypeObject *) arg
           : size_is(arg)    ? &PyLong_Type
                             : Py_TYPE(arg);
}

static const TypeInfo *info_of(PyObject *module, PyObject *arg)
{
    return type_of_class(state_of_module(module), class_of(arg));
}

/* The class of a descriptor (new reference): Python's own for leaves of
 * drjit.scalar. */
static PyObject *class_object(const TypeInfo *t)
{
    if (t->jit || t->kind != KIND_LEAF)
        return Py_XNewRef((PyObject *) type_class(t));
    return Py_NewRef((PyObject *) (type_is_mask(t)    ? &PyBool_Type
                                   : type_is_float(t) ? &PyFloat_Type
                                                      : &PyLong_Type));
}

static PyObject *class_by_id(const TypeInfo *like, unsigned id)
{
    return class_object(&like->state->types[id]);
}

/* ---------------------------------------------------------------- yes or no */

enum { OF_BOOL = 1, OF_INT = 2, OF_FLOAT = 4 }; /* also true of Python's scalars */

static unsigned python_scalar(PyTypeObject *cls)
{
    return cls == &PyBool_Type    ? OF_BOOL
           : cls == &PyLong_Type  ? OF_INT
           : cls == &PyFloat_Type ? OF_FLOAT
                                  : 0;
}

static bool is_array(const TypeInfo *t) { return t; }
static bool is_half(const TypeInfo *t) { return t->entry == VarTypeFloat16; }
static bool is_integral(const TypeInfo *t)
{
    return !type_is_float(t) && !type_is_mask(t);
}
static bool is_arithmetic(const TypeInfo *t) { return !type_is_mask(t); }
static bool is_signed(const TypeInfo *t) { return type_is_signed(t->entry); }
static bool is_unsigned(const TypeInfo *t) { return !type_is_signed(t->entry); }
static bool is_jit(const TypeInfo *t) { return t->jit; }
static bool is_diff(const TypeInfo *t) { return t->diff; }
static bool is_vector(const TypeInfo *t) { return t->kind == KIND_ARRAY; }
static bool is_complex(const TypeInfo *t) { return t->kind == KIND_COMPLEX; }
static bool is_matrix(const TypeInfo *t) { return t->kind == KIND_MATRIX; }
static bool is_quaternion(const TypeInfo *t) { return t->kind == KIND_QUATERNION; }
static bool is_tensor(const TypeInfo *t) { return t->kind == KIND_TENSOR; }

static bool is_dynamic(const TypeInfo *t)
{
    return t->jit || t->dynamic || t->kind == KIND_TENSOR;
}

static PyObject *answer(PyObject *module, PyObject *arg,
                        bool (*holds)(const TypeInfo *), unsigned scalars)
{
    const TypeInfo *t = info_of(module, arg);
    return PyBool_FromLong(t ? holds(t)
                             : (python_scalar(class_of(arg)) & scalars) != 0);
}

#define TRAIT(name, holds, scalars)                            \
    static PyObject *name##_v(PyObject *module, PyObject *arg) \
    {                                                          \
        return answer(module, arg, holds, scalars);            \
    }

TRAIT(is_array, is_array, 0)
TRAIT(is_mask, type_is_mask, OF_BOOL)
TRAIT(is_half, is_half, 0)
TRAIT(is_float, type_is_float, OF_FLOAT)
TRAIT(is_integral, is_integral, OF_INT)
TRAIT(is_arithmetic, is_arithmetic, OF_INT | OF_FLOAT)
TRAIT(is_signed, is_signed, OF_INT | OF_FLOAT)
TRAIT(is_unsigned, is_unsigned, OF_BOOL)
TRAIT(is_dynamic, is_dynamic, 0)
TRAIT(is_jit, is_jit, 0)
TRAIT(is_diff, is_diff, 0)
TRAIT(is_vector, is_vector, 0)
TRAIT(is_complex, is_complex, 0)
TRAIT(is_matrix, is_matrix, 0)
TRAIT(is_quaternion, is_quaternion, 0)
TRAIT(is_tensor, is_tensor, 0)
TRAIT(is_special, type_is_special, 0)
#undef TRAIT

static PyObject *is_struct_v(PyObject *module, PyObject *arg)
{
    return PyBool_FromLong(
        class_defines(class_of(arg), state_of_module(module)->str_struct));
}

/* ---------------------------------------------------------------- numbers */

static PyObject *type_v(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return enum_make(state_of_module(module), "VarType", t ? t->entry : VarTypeVoid);
}

static PyObject *backend_v(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return enum_make(state_of_module(module), "JitBackend",
                     t ? t->backend : JitBackendNone);
}

static PyObject *size_v(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return PyLong_FromLong(!t                        ? 1
                           : t->kind == KIND_TENSOR ? 0
                           : t->kind == KIND_LEAF   ? DYNAMIC
                                                    : t->dims[0]);
}

static PyObject *depth_v(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return PyLong_FromLong(!t || t->kind == KIND_TENSOR ? 0 : t->ndim + t->jit);
}

static PyObject *itemsize_v(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t)
        return error_raise(PyExc_TypeError, "itemsize_v", &arg, 1,
                           "expected a Dr.Jit array or array type");
    return PyLong_FromLong(t->entry_size);
}

/* ---------------------------------------------------------------- type -> type */

static PyObject *scalar_class(const TypeInfo *t)
{
    return Py_NewRef((PyObject *) (type_is_mask(t)    ? &PyBool_Type
                                   : type_is_float(t) ? &PyFloat_Type
                                                      : &PyLong_Type));
}

static PyObject *value_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t)
        return Py_NewRef((PyObject *) class_of(arg));
    return t->ndim == 0 ? scalar_class(t) : class_by_id(t, t->value);
}

static PyObject *mask_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return t ? class_by_id(t, t->mask) : Py_NewRef((PyObject *) &PyBool_Type);
}

static PyObject *scalar_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return t ? scalar_class(t) : Py_NewRef((PyObject *) class_of(arg));
}

static PyObject *array_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (t)
        return class_by_id(t, t->array);
    /* Classes derived from drjit.Instance know the arrays of their objects. */
    PyObject *cls = (PyObject *) class_of(arg);
    PyObject *method = PyObject_GetAttrString(cls, "_drjit_array_t");
    if (!method && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return Py_NewRef(cls);
    }
    PyObject *found = method ? PyObject_CallNoArgs(method) : NULL;
    Py_XDECREF(method);
    return found;
}

/* The innermost type that is still an array. */
static PyObject *leaf_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t)
        return Py_NewRef((PyObject *) class_of(arg));
    if (t->jit)
        return class_by_id(t, t->leaf);
    while (t->ndim > 1)
        t = &t->state->types[t->value];
    return class_by_id(t, t->array);
}

static PyObject *class_or_none(const TypeInfo *t, unsigned id)
{
    return id == TYPE_NONE ? Py_NewRef(Py_None) : class_by_id(t, id);
}

static PyObject *matrix_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t || t->kind == KIND_COMPLEX || t->kind == KIND_QUATERNION || t->ndim == 0)
        Py_RETURN_NONE;
    int8_t square[] = {t->dims[0], t->dims[0], 0};
    return class_or_none(t, t->ndim == 1
                                ? type_find(t->family, KIND_MATRIX, 2, square, t->entry)
                                : type_find(t->family, KIND_MATRIX, t->ndim, t->dims,
                                            t->entry));
}

static PyObject *tensor_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t)
        Py_RETURN_NONE;
    return class_or_none(t, type_find(t->family, KIND_TENSOR, 0, NULL, t->entry));
}

/* A class that is one of its kind already stays as it is, also if a user derived it. */
static PyObject *detached_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg), *found = t ? type_detached(t) : NULL;
    return found == t ? Py_NewRef((PyObject *) class_of(arg)) : class_object(found);
}

static PyObject *diff_array_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg), *found = t ? type_diff(t) : NULL;
    return found == t ? Py_NewRef((PyObject *) class_of(arg)) : class_object(found);
}

static PyObject *no_such_type(const char *operation, PyObject *arg, const char *wanted)
{
    return error_raise(PyExc_TypeError, operation, &arg, 1,
                       "there is no array type of this shape with entries of type %s",
                       wanted);
}

static PyObject *with_entry(PyObject *module, PyObject *arg, const char *operation,
                            VarType entry)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t)
        return Py_NewRef((PyObject *) (entry == VarTypeBool     ? &PyBool_Type
                                       : entry >= VarTypeFloat16 ? &PyFloat_Type
                                                                 : &PyLong_Type));
    uint16_t id = t->entry == entry
                      ? t->id
                      : type_find(t->family, t->kind, t->ndim, t->dims, entry);
    return id == TYPE_NONE ? no_such_type(operation, arg, type_entry_name(entry))
                           : class_by_id(t, id);
}

#define SIZED(name, entry)                                           \
    static PyObject *name##_array_t(PyObject *module, PyObject *arg) \
    {                                                                \
        return with_entry(module, arg, #name "_array_t", entry);     \
    }

SIZED(int8, VarTypeInt8)
SIZED(uint8, VarTypeUInt8)
SIZED(int32, VarTypeInt32)
SIZED(uint32, VarTypeUInt32)
SIZED(int64, VarTypeInt64)
SIZED(uint64, VarTypeUInt64)
SIZED(float16, VarTypeFloat16)
SIZED(float32, VarTypeFloat32)
SIZED(float64, VarTypeFloat64)
#undef SIZED

/* Signed integers, unsigned ones, or floats of the same size. */
static PyObject *same_size(PyObject *module, PyObject *arg, const char *operation,
                           char nature)
{
    const TypeInfo *t = info_of(module, arg);
    VarType entry = t ? type_entry_find(nature, t->entry_size) : VarTypeVoid;
    if (entry == VarTypeVoid)
        return error_raise(
            PyExc_TypeError, operation, &arg, 1,
            "expected an array type with entries that have a counterpart "
            "of the same size");
    return with_entry(module, arg, operation, entry);
}

static PyObject *int_array_t(PyObject *module, PyObject *arg)
{
    return same_size(module, arg, "int_array_t", 'i');
}

static PyObject *uint_array_t(PyObject *module, PyObject *arg)
{
    return same_size(module, arg, "uint_array_t", 'u');
}

static PyObject *float_array_t(PyObject *module, PyObject *arg)
{
    return same_size(module, arg, "float_array_t", 'f');
}

static bool read_entry(PyObject *module, const char *operation, PyObject *arg,
                       VarType *entry)
{
    long value;
    if (!enum_read(state_of_module(module), operation, "VarType", arg, VarTypeCount,
                   &value))
        return false;
    *entry = (VarType) value;
    return true;
}

static PyObject *replace_type_t(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    VarType entry;
    if (n != 2)
        return error_raise(PyExc_TypeError, "replace_type_t", args, n,
                           "expected (type, VarType)");
    if (!read_entry(module, "replace_type_t", args[1], &entry))
        return NULL;
    return info_of(module, args[0])
               ? with_entry(module, args[0], "replace_type_t", entry)
               : Py_NewRef(args[0]);
}

static PyObject *reinterpret_array_t(PyObject *module, PyObject *const *args,
                                     Py_ssize_t n)
{
    VarType entry;
    if (n != 2)
        return error_raise(PyExc_TypeError, "reinterpret_array_t", args, n,
                           "expected (type, VarType)");
    if (!read_entry(module, "reinterpret_array_t", args[1], &entry))
        return NULL;
    return with_entry(module, args[0], "reinterpret_array_t", entry);
}

/* The kind a shape is to have: as named, else that of the old type. */
static bool read_kind(const TypeInfo *t, PyObject *name, Kind *kind)
{
    static const char *const names[KIND_COUNT] = {
        [KIND_ARRAY] = "array", [KIND_MATRIX] = "matrix",
        [KIND_COMPLEX] = "complex", [KIND_QUATERNION] = "quaternion",
    };
    *kind = t->kind == KIND_LEAF || t->kind == KIND_TENSOR ? KIND_ARRAY : t->kind;
    if (!name || name == Py_None)
        return true;
    for (int i = 0; i < KIND_COUNT && PyUnicode_Check(name); i++)
        if (names[i] && PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            *kind = i;
            return true;
        }
    error_raise(PyExc_ValueError, "replace_shape_t", NULL, 0,
                "'kind' is %R, expected \"array\", \"matrix\", \"complex\" or "
                "\"quaternion\"",
                name);
    return false;
}

static bool read_dims(PyObject *shape, int8_t dims[4], int *ndim)
{
    PyObject *items = PySequence_Tuple(shape); /* __index__ may change a list */
    if (!items) {
        error_raise(PyExc_TypeError, "replace_shape_t", &shape, 1,
                    "expected a tuple as 'shape'");
        return false;
    }
    bool ok = PyTuple_GET_SIZE(items) <= 4;
    *ndim = ok ? (int) PyTuple_GET_SIZE(items) : 0;
    for (int i = 0; ok && i < *ndim; i++) {
        long extent = PyLong_AsLong(PyTuple_GET_ITEM(items, i));
        ok = extent >= DYNAMIC && extent < 128 && !PyErr_Occurred();
        dims[i] = (int8_t) (ok ? extent : 0);
    }
    Py_DECREF(items);
    if (!ok)
        error_raise(PyExc_ValueError, "replace_shape_t", NULL, 0,
                    "'shape' is %R, expected at most 4 extents, each -1 (dynamic) or "
                    "more",
                    shape);
    return ok;
}

static PyObject *replace_shape_t(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n < 2 || n > 3)
        return error_raise(PyExc_TypeError, "replace_shape_t", args, n,
                           "expected (type, shape) or (type, shape, kind)");
    const TypeInfo *t = info_of(module, args[0]);
    if (!t)
        return Py_NewRef(args[0]);
    int8_t dims[4];
    int ndim;
    Kind kind;
    if (!read_dims(args[1], dims, &ndim) ||
        !read_kind(t, n == 3 ? args[2] : NULL, &kind))
        return NULL;
    if (t->jit && ndim && dims[ndim - 1] == DYNAMIC)
        ndim--; /* the lanes are not an extent over leaves */
    if (ndim == 0 && t->jit)
        kind = KIND_LEAF;
    uint16_t id = ndim <= 3 && (ndim || t->jit)
                      ? type_find(t->family, kind, ndim, dims, t->entry)
                      : TYPE_NONE;
    if (id == TYPE_NONE)
        return error_raise(PyExc_TypeError, "replace_shape_t", args, 1,
                           "there is no such array type of shape %R", args[1]);
    return class_by_id(t, id);
}

/* ---------------------------------------------------------------- promotion */

/* The operand class of an argument of expr_t; -1 if it has none, -2: exception. */
static int class_of_value(State *state, PyObject *arg)
{
    PyTypeObject *cls = class_of(arg);
    const TypeInfo *t = type_of_class(state, cls);
    if (t)
        return t->id;
    if (!PyType_Check(arg))
        return promote_class(arg);
    unsigned scalar = python_scalar(cls);
    return scalar == OF_BOOL    ? OPERAND_BOOL
           : scalar == OF_INT   ? OPERAND_INT
           : scalar == OF_FLOAT ? OPERAND_FLOAT
                                : -1;
}

static PyObject *python_class(int operand)
{
    return Py_NewRef((PyObject *) (operand == OPERAND_BOOL  ? &PyBool_Type
                                   : operand == OPERAND_INT ? &PyLong_Type
                                                            : &PyFloat_Type));
}

/* Whether there are sequences among the arguments, whose entries join those of the
 * others, and no types. */
static bool needs_values(PyObject *const *args, Py_ssize_t n)
{
    bool sequence = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyType_Check(args[i]))
            return false;
        if (!array_of(args[i]) && promote_number(args[i]) < 0)
            sequence = true;
    }
    return sequence;
}

/* Two operand classes together; -1: they do not combine. 'a' is -1 if there is none. */
static int join(State *state, int a, int b)
{
    if (a == -1)
        return b;
    if (a >= TYPE_COUNT && b >= TYPE_COUNT)
        return a > b ? a : b;
    const TypeInfo *t = promote_pair(state, a, b);
    return t ? t->id : -1;
}

/* Beside types, lists and tuples stand for their entries. */
static int argument_class(State *state, PyObject *arg)
{
    if (!PyTuple_Check(arg) && !PyList_Check(arg))
        return class_of_value(state, arg);
    PyObject *items = PySequence_Tuple(arg); /* a list may be changed meanwhile */
    int result = items ? -1 : -2;
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items); i++) {
        int operand = class_of_value(state, PyTuple_GET_ITEM(items, i));
        result = operand < 0 ? operand : join(state, result, operand);
        if (result < 0)
            break;
    }
    Py_XDECREF(items);
    return result;
}

static bool is_one_class(PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 1; i < n; i++)
        if (class_of(args[i]) != class_of(args[0]))
            return false;
    return true;
}

static PyObject *common_class(State *state, PyObject *const *args, Py_ssize_t n)
{
    if (n == 2 && needs_values(args, n)) {
        const TypeInfo *info;
        Promotion found = promote_operands(state, "expr_t", args, n, &info);
        if (found == PROMOTION_ERROR)
            return NULL;
        if (found == PROMOTION_FOUND)
            return class_object(info);
    }
    int result = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int operand = argument_class(state, args[i]);
        if (operand == -2)
            return NULL;
        if (operand == -1)
            return error_raise(PyExc_TypeError, "expr_t", args, n,
                               "argument %zd is of type %s, expected an array or a "
                               "number",
                               i + 1, Py_TYPE(args[i])->tp_name);
        result = join(state, result, operand);
        if (result == -1)
            return error_raise(PyExc_TypeError, "expr_t", args, n,
                               "the types do not combine");
    }
    return result >= TYPE_COUNT ? python_class(result)
                                : class_object(&state->types[result]);
}

static PyObject *expr_t(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    State *state = state_of_module(module);
    if (n == 0)
        Py_RETURN_NONE;
    if (is_one_class(args, n))
        return Py_NewRef((PyObject *) class_of(args[0]));
    PyObject **operands = PyMem_Malloc((size_t) n * sizeof(PyObject *));
    if (!operands)
        return PyErr_NoMemory();
    PyObject *result = NULL;
    if (operand_open(state, args, n, operands)) {
        result = common_class(state, operands, n);
        operand_close(operands, n);
    }
    PyMem_Free(operands);
    return result;
}

#define V(name, doc) {#name "_v", name##_v, METH_O, #name "_v(arg, /)\n--\n\n" doc}
#define T(name, doc) {#name, name, METH_O, #name "(arg, /)\n--\n\n" doc}

PyMethodDef trait_functions[] = {
    V(is_array, "Is it an array or tensor, or such a type?"),
    V(is_mask, "Are the entries booleans?"),
    V(is_half, "Are the entries half precision numbers?"),
    V(is_float, "Are the entries floating point numbers?"),
    V(is_integral, "Are the entries integers?"),
    V(is_arithmetic, "Are the entries numbers (not booleans)?"),
    V(is_signed, "Are the entries signed?"),
    V(is_unsigned, "Are the entries unsigned integers or booleans?"),
    V(is_dynamic, "Is there an extent that the type leaves open?"),
    V(is_jit, "Is the computation traced by a just-in-time compiler?"),
    V(is_diff, "Does the type track derivatives?"),
    V(is_vector, "Is it an array with plain vector semantics?"),
    V(is_complex, "Is it a complex number type?"),
    V(is_matrix, "Is it a matrix type?"),
    V(is_quaternion, "Is it a quaternion type?"),
    V(is_tensor, "Is it a tensor type?"),
    V(is_special, "Is it a matrix, complex number or quaternion type?"),
    V(is_struct, "Is it a class with DRJIT_STRUCT? (A data class is not.)"),
    { "type_v", type_v, METH_O, "type_v(arg, /)\n--\n\nEntry type (a VarType)." },
    { "backend_v", backend_v, METH_O,
      "backend_v(arg, /)\n--\n\nBackend (a JitBackend)." },
    { "size_v", size_v, METH_O,
      "size_v(arg, /)\n--\n\nFirst extent; -1 if dynamic, 1 if no array." },
    { "depth_v", depth_v, METH_O,
      "depth_v(arg, /)\n--\n\nNumber of nested extents; 0 if no array." },
    { "itemsize_v", itemsize_v, METH_O,
      "itemsize_v(arg, /)\n--\n\nBytes of an entry." },
    T(value_t, "Type of arg[0]; the argument's own type if it is no array."),
    T(mask_t, "Type of comparison results."),
    T(scalar_t, "Python type of the entries."),
    T(array_t, "Plain array type with the same contents."),
    T(leaf_t, "The innermost type that is still an array."),
    T(matrix_t, "Matrix type of the same size, or None."),
    T(tensor_t, "Tensor type with the same entries, or None."),
    T(detached_t, "The same type without derivatives."),
    T(diff_array_t, "The same type with derivatives."),
    T(int_array_t, "Same shape, signed integers of the same size."),
    T(uint_array_t, "Same shape, unsigned integers of the same size."),
    T(float_array_t, "Same shape, floating point numbers of the same size."),
    T(int8_array_t, "Same shape, entries int8."),
    T(uint8_array_t, "Same shape, entries uint8."),
    T(int32_array_t, "Same shape, entries int32."),
    T(uint32_array_t, "Same shape, entries uint32."),
    T(int64_array_t, "Same shape, entries int64."),
    T(uint64_array_t, "Same shape, entries uint64."),
    T(float16_array_t, "Same shape, entries float16."),
    T(float32_array_t, "Same shape, entries float32."),
    T(float64_array_t, "Same shape, entries float64."),
    { "replace_type_t", METHOD(replace_type_t), METH_FASTCALL,
      "replace_type_t(arg, type, /)\n--\n\nSame shape with entries of another "
      "VarType." },
    { "reinterpret_array_t", METHOD(reinterpret_array_t), METH_FASTCALL,
      "reinterpret_array_t(arg, type, /)\n--\n\nSame shape with entries of another "
      "VarType "
      "of the same size." },
    { "replace_shape_t", METHOD(replace_shape_t), METH_FASTCALL,
      "replace_shape_t(arg, shape, kind=None, /)\n--\n\nSame entries with another "
      "shape (-1: "
      "dynamic) and kind (\"array\", \"matrix\", \"complex\", \"quaternion\")." },
    { "expr_t", METHOD(expr_t), METH_FASTCALL,
      "expr_t(*args)\n--\n\nResult type of an arithmetic expression of these arrays or "
      "types." },
    { NULL, NULL, 0, NULL },
};
