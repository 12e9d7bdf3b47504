/*
 * trait.c -- questions about types: is_*_v, size_v, ..., value_t, replace_type_t, ...
 *
 * All take an array, an array class, or anything else ("no array": false, or the type
 * itself). The yes/no traits and the type mappings are rows of tables; one
 * vectorcall function serves each table by row number.
 */
#include "python/array/array.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/docstrings.h"
#include "python/shape/size.h"
#include "python/tree/tree.h"
#include "python/type/enums.h"

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

/* Python's class of such entries (new reference). */
static PyObject *class_of_entry(unsigned entry)
{
    return Py_NewRef((PyObject *) (entry == VarTypeBool      ? &PyBool_Type
                                   : entry >= VarTypeFloat16 ? &PyFloat_Type
                                                             : &PyLong_Type));
}

/* The class of a descriptor (new reference): Python's own for leaves of
 * drjit.scalar. */
static PyObject *class_object(const TypeInfo *t)
{
    return t->jit || t->kind != KIND_FLAT ? Py_XNewRef((PyObject *) type_class(t))
                                          : class_of_entry(t->entry);
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

#define TRAIT(name, holds, scalars)                                           \
    static PyObject *name##_v(PyObject *module, PyObject *arg)                \
    {                                                                         \
        const TypeInfo *t = info_of(module, arg);                             \
        return PyBool_FromLong(t ? (holds)                                    \
                                 : python_scalar(class_of(arg)) & (scalars)); \
    }
#include "python/ops/trait.def"
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
                           : t->kind == KIND_FLAT   ? DYNAMIC
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

static PyObject *value_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    if (!t)
        return Py_NewRef((PyObject *) class_of(arg));
    return t->ndim == 0 ? class_of_entry(t->entry) : class_by_id(t, t->value);
}

static PyObject *mask_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return t ? class_by_id(t, t->mask) : Py_NewRef((PyObject *) &PyBool_Type);
}

static PyObject *scalar_t(PyObject *module, PyObject *arg)
{
    const TypeInfo *t = info_of(module, arg);
    return t ? class_of_entry(t->entry) : Py_NewRef((PyObject *) class_of(arg));
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
        return class_of_entry(entry);
    uint16_t id = t->entry == entry
                      ? t->id
                      : type_find(t->family, t->kind, t->ndim, t->dims, entry);
    return id == TYPE_NONE ? no_such_type(operation, arg, type_entry_name(entry))
                           : class_by_id(t, id);
}

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

#define ENTRY(name, type)                                     \
    static PyObject *name(PyObject *module, PyObject *arg)    \
    {                                                         \
        return with_entry(module, arg, #name, VarType##type); \
    }
#define SIZED(name, nature)                                \
    static PyObject *name(PyObject *module, PyObject *arg) \
    {                                                      \
        return same_size(module, arg, #name, nature);      \
    }
#include "python/ops/trait.def"
#undef ENTRY
#undef SIZED

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
    *kind = t->kind == KIND_FLAT || t->kind == KIND_TENSOR ? KIND_ARRAY : t->kind;
    if (!name || name == Py_None)
        return true;
    for (int i = 0; i < KIND_COUNT && PyUnicode_Check(name); i++)
        if (names[i] && PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            *kind = i;
            return true;
        }
    return error_raise(PyExc_ValueError, "replace_shape_t", NULL, 0,
                       "'kind' is %R, expected \"array\", \"matrix\", \"complex\" or "
                       "\"quaternion\"",
                       name);
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
        kind = KIND_FLAT;
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

PyMethodDef trait_functions[] = {
#define OTHER(name) { #name, name, METH_O, DOC_##name },
#define TRAIT(name, holds, scalars) OTHER(name##_v)
#define ENTRY(name, type) OTHER(name)
#define SIZED(name, nature) OTHER(name)
#include "python/ops/trait.def"
    { "replace_type_t", METHOD(replace_type_t), METH_FASTCALL, DOC_replace_type_t },
    { "reinterpret_array_t", METHOD(reinterpret_array_t), METH_FASTCALL,
      DOC_reinterpret_array_t },
    { "replace_shape_t", METHOD(replace_shape_t), METH_FASTCALL, DOC_replace_shape_t },
    { "expr_t", METHOD(expr_t), METH_FASTCALL, DOC_expr_t },
    { NULL, NULL, 0, NULL },
};
