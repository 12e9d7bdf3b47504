/*
 * reduce.c -- sum, prod, min, max, all, any, none: arguments, and Python's own values
 *
 *     number            itself
 *     array             reduce_array.c
 *     tensor            reduce_tensor.c
 *     other iterable    folded from left to right with the operator; with axis=None its
 *                       elements are reduced first
 */
#include "python/reduce/reduce.h"

#include <math.h>

#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/docstrings.h"
#include "python/memory/access.h"
#include "python/type/enums.h"

/* ---------------------------------------------------------------- arguments */

bool reduce_strategy(const char *operation, PyObject *mode, Strategy *strategy)
{
    *strategy = STRATEGY_AUTO;
    if (!mode || mode == Py_None)
        return true;
    if (PyUnicode_Check(mode)) {
        *strategy = STRATEGY_EVALUATED;
        if (PyUnicode_CompareWithASCIIString(mode, "evaluated") == 0)
            return true;
        *strategy = STRATEGY_SYMBOLIC;
        if (PyUnicode_CompareWithASCIIString(mode, "symbolic") == 0)
            return true;
    }
    return error_raise(
        PyUnicode_Check(mode) ? PyExc_RuntimeError : PyExc_TypeError, operation, NULL,
        0, "'mode' is %R, expected \"symbolic\", \"evaluated\" or None", mode);
}

static bool select_axis(const Reduction *r, PyObject *value, PyObject *number,
                        size_t ndim, bool *axes)
{
    Py_ssize_t axis = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (axis == -1 && PyErr_Occurred())
        return false;
    /* A tensor without axes has, for this purpose, one: reducing a number gives itself.
     */
    Py_ssize_t limit = ndim ? (Py_ssize_t) ndim : 1;
    if (axis < -limit || axis >= limit)
        return error_raise_both(
            "AxisError", r->operation, &value, 1,
            "'axis' is %zd, which is out of bounds for an input with %zu "
            "axes",
            axis, ndim);
    if (ndim)
        axes[axis < 0 ? axis + limit : axis] = true;
    return true;
}

bool reduce_axes(const Reduction *r, PyObject *value, size_t ndim, bool fallback_all,
                 bool *axes)
{
    memset(axes, 0, ndim * sizeof(*axes));
    if (r->axis == Py_None || (r->axis == Py_Ellipsis && fallback_all)) {
        for (size_t i = 0; i < ndim; i++)
            axes[i] = true;
        return true;
    }
    if (r->axis == Py_Ellipsis) {
        if (ndim)
            axes[0] = true;
        return true;
    }
    if (PyIndex_Check(r->axis))
        return select_axis(r, value, r->axis, ndim, axes);
    bool ok = PyTuple_Check(r->axis);
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(r->axis); i++) {
        PyObject *item = PyTuple_GET_ITEM(r->axis, i);
        if (!PyIndex_Check(item))
            ok = false;
        else if (!select_axis(r, value, item, ndim, axes))
            return false;
    }
    if (!ok)
        error_raise(PyExc_RuntimeError, r->operation, &value, 1,
                    "'axis' is %R, expected an int, a tuple of ints, None, or ...",
                    r->axis);
    return ok;
}

bool reduce_check_type(const Reduction *r, PyObject *value, const TypeInfo *info)
{
    bool bitwise = r->op == ReduceOpAnd || r->op == ReduceOpOr;
    bool ok =
        type_is_mask(info) ? bitwise : !r->masks && !(bitwise && type_is_float(info));
    if (!ok)
        error_raise(PyExc_RuntimeError, r->operation, &value, 1,
                    "entries of this type cannot be reduced by this operation");
    return ok;
}

PyObject *reduce_identity_number(ReduceOp op)
{
    switch (op) {
    case ReduceOpAdd:
        return PyLong_FromLong(0);
    case ReduceOpMul:
        return PyLong_FromLong(1);
    case ReduceOpMin:
        return PyFloat_FromDouble(INFINITY);
    case ReduceOpMax:
        return PyFloat_FromDouble(-INFINITY);
    default:
        return PyBool_FromLong(op == ReduceOpAnd);
    }
}

/* ---------------------------------------------------------------- sequences */

PyObject *reduce_objects(State *state, ReduceOp op, PyObject *a, PyObject *b)
{
    switch (op) {
    case ReduceOpAdd:
        return PyNumber_Add(a, b);
    case ReduceOpMul:
        return PyNumber_Multiply(a, b);
    case ReduceOpAnd:
        return PyNumber_And(a, b);
    case ReduceOpOr:
        return PyNumber_Or(a, b);
    default:
        break;
    }
    const char *name = op == ReduceOpMin ? "minimum" : "maximum";
    PyObject *function = PyObject_GetAttrString(state->module, name);
    PyObject *result =
        function ? PyObject_CallFunctionObjArgs(function, a, b, NULL) : NULL;
    Py_XDECREF(function);
    return result;
}

static PyObject *reduce_any(const Reduction *r, PyObject *value);

/* A number of Python that is not a truth value. */
static bool is_number(PyObject *item)
{
    return PyFloat_Check(item) || (PyLong_Check(item) && !PyBool_Check(item));
}

static PyObject *fold(const Reduction *r, PyObject *iterator)
{
    PyObject *result = NULL, *item;
    while ((item = PyIter_Next(iterator))) {
        if (r->masks && is_number(item))
            Py_SETREF(item, error_raise(PyExc_RuntimeError, r->operation, NULL, 0,
                                        "an element is of type %s, expected a mask",
                                        Py_TYPE(item)->tp_name));
        else if (r->axis == Py_None)
            Py_SETREF(item, reduce_any(r, item));
        if (!item) {
            Py_XDECREF(result);
            return NULL;
        }
        if (result) {
            PyObject *combined = reduce_objects(r->state, r->op, result, item);
            Py_DECREF(item);
            Py_SETREF(result, combined);
            if (!result)
                return NULL;
        } else {
            result = item;
        }
    }
    if (PyErr_Occurred())
        Py_CLEAR(result);
    else if (!result)
        result = reduce_identity_number(r->op);
    return result;
}

/* Axes of a Python iterable: 0, None, or the default. */
static bool sequence_axis(const Reduction *r, PyObject *value)
{
    if (r->axis == Py_None || r->axis == Py_Ellipsis)
        return true;
    bool first = false;
    if (PyIndex_Check(r->axis)) {
        PyObject *zero = PyLong_FromLong(0);
        int equal = zero ? PyObject_RichCompareBool(r->axis, zero, Py_EQ) : -1;
        Py_XDECREF(zero);
        if (equal < 0)
            return false;
        first = equal;
    }
    if (!first)
        error_raise(PyExc_RuntimeError, r->operation, &value, 1,
                    "'axis' is %R, expected 0 or None for a Python iterable", r->axis);
    return first;
}

static PyObject *reduce_iterable(const Reduction *r, PyObject *value)
{
    bool refused =
        PyUnicode_Check(value) || PyBytes_Check(value) || PyDict_Check(value);
    PyObject *iterator = refused ? NULL : PyObject_GetIter(value);
    if (!iterator)
        return error_raise(value == Py_None ? PyExc_TypeError : PyExc_RuntimeError,
                           r->operation, &value, 1,
                           "expected an array, a tensor, an iterable, or a number that "
                           "the reduction applies to");
    PyObject *result = NULL;
    if (r->keepdims)
        error_raise(PyExc_RuntimeError, r->operation, &value, 1,
                    "'keepdims=True' is possible for arrays and tensors only");
    else if (sequence_axis(r, value) && Py_EnterRecursiveCall(" in a reduction") == 0) {
        result = fold(r, iterator);
        Py_LeaveRecursiveCall();
        if (!result)
            error_raise(PyExc_RuntimeError, r->operation, &value, 1,
                        "the elements could not be combined");
    }
    Py_DECREF(iterator);
    return result;
}

static PyObject *reduce_any(const Reduction *r, PyObject *value)
{
    if (array_check(r->state, value)) {
        Array *array = (Array *) value;
        if (!reduce_check_type(r, value, array->info))
            return NULL;
        return array->info->kind == KIND_TENSOR ? reduce_tensor(r, array)
                                                : reduce_array(r, array);
    }
    bool bitwise = r->op == ReduceOpAnd || r->op == ReduceOpOr;
    bool is_bool = PyBool_Check(value), is_int = size_is_int(value);
    if (bitwise ? is_bool || (is_int && !r->masks)
                : (is_int && !is_bool) || PyFloat_Check(value))
        return Py_NewRef(value);
    return reduce_iterable(r, value);
}

/* ---------------------------------------------------------------- functions */

/* v: value, axis, mode, keepdims */
static PyObject *start(PyObject *module, const char *operation, ReduceOp op, bool masks,
                       PyObject *const *v)
{
    Reduction r = {
        .state = state_of_module(module),
        .operation = operation,
        .op = op,
        .masks = masks,
        .axis = v[1] ? v[1] : Py_Ellipsis,
    };
    if (!reduce_strategy(operation, v[2], &r.strategy) ||
        !arguments_bool(operation, "keepdims", v[3], false, &r.keepdims))
        return NULL;
    return reduce_any(&r, v[0]);
}

static const char *const parameters[] = { "op", "value", "axis", "mode", "keepdims" };

static PyObject *general(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    static const Signature signature = { "reduce", parameters, 5, 2, 0 };
    PyObject *v[5];
    long op;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !enum_read(state_of_module(module), "reduce", "ReduceOp", v[0], ReduceOpCount,
                   &op))
        return NULL;
    if (op == ReduceOpIdentity)
        return error_raise(PyExc_RuntimeError, "reduce", &v[1], 1,
                           "'op' is ReduceOp.Identity, which does not combine entries");
    return start(module, "reduce", (ReduceOp) op, false, v + 1);
}

static PyObject *arithmetic(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names, const char *operation, ReduceOp op)
{
    const Signature signature = { operation, parameters + 1, 4, 1, 0 };
    PyObject *v[4];
    return arguments_parse(&signature, args, nargs, names, v)
               ? start(module, operation, op, false, v)
               : NULL;
}

static PyObject *logical(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names, const char *operation, ReduceOp op)
{
    static const char *const logical_parameters[] = { "value", "axis", "keepdims" };
    const Signature signature = { operation, logical_parameters, 3, 1, 0 };
    PyObject *v[4];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    v[3] = v[2];
    v[2] = NULL; /* no 'mode' */
    return start(module, operation, op, true, v);
}

#define REDUCTION(kind, function, operation, op)                              \
    static PyObject *function(PyObject *module, PyObject *const *args,        \
                              Py_ssize_t n, PyObject *names)                  \
    {                                                                         \
        return kind(module, args, n, names, operation, op);                   \
    }
REDUCTION(arithmetic, sum, "sum", ReduceOpAdd)
REDUCTION(arithmetic, prod, "prod", ReduceOpMul)
REDUCTION(arithmetic, minimum, "min", ReduceOpMin)
REDUCTION(arithmetic, maximum, "max", ReduceOpMax)
REDUCTION(logical, all, "all", ReduceOpAnd)
REDUCTION(logical, any, "any", ReduceOpOr)

static PyObject *none(PyObject *module, PyObject *const *args, Py_ssize_t n,
                      PyObject *names)
{
    PyObject *found = logical(module, args, n, names, "none", ReduceOpOr);
    PyObject *result = NULL;
    if (found)
        result = PyBool_Check(found) ? PyBool_FromLong(found == Py_False)
                                     : PyNumber_Invert(found);
    Py_XDECREF(found);
    return result;
}

#define FAST METH_FASTCALL | METH_KEYWORDS
#define AXES                                                                         \
    "'axis' is an int, a tuple of ints, or None for all; the default is all axes\n"   \
    "of a tensor and the first one of everything else. With keepdims=True, reduced\n" \
    "axes stay with extent 1. The trailing axis of a just-in-time compiled array is\n" \
    "never removed.\n"
#define MODE                                                                         \
    "mode=\"evaluated\" computes the input and runs a reduction on it, \"symbolic\"\n" \
    "traces atomic scatters, None chooses."

/* ---------------------------------------------------------------- properties */

static const TypeInfo *array_class(State *state, const char *operation,
                                   PyObject *object)
{
    const TypeInfo *info =
        PyType_Check(object) ? type_of_class(state, (PyTypeObject *) object) : NULL;
    if (!info)
        error_raise(PyExc_TypeError, operation, &object, 1, "expected an array type");
    return info;
}

static PyObject *can_scatter_reduce(PyObject *module, PyObject *args)
{
    static const char operation[] = "detail.can_scatter_reduce";
    State *state = state_of_module(module);
    PyObject *type, *op_object;
    long op;
    if (!PyArg_ParseTuple(args, "OO:can_scatter_reduce", &type, &op_object))
        return NULL;
    const TypeInfo *info = array_class(state, operation, type);
    if (!info ||
        !enum_read(state, operation, "ReduceOp", op_object, ReduceOpCount, &op))
        return NULL;
    return PyBool_FromLong(
        !info->jit || jit_can_scatter_reduce((JitBackend) info->backend,
                                             (VarType) info->entry, (ReduceOp) op));
}

static PyObject *reduce_identity(PyObject *module, PyObject *args)
{
    static const char operation[] = "detail.reduce_identity";
    State *state = state_of_module(module);
    PyObject *type, *op_object;
    Py_ssize_t size = 1;
    long op;
    uint64_t bits;
    if (!PyArg_ParseTuple(args, "OO|n:reduce_identity", &type, &op_object, &size))
        return NULL;
    const TypeInfo *info = array_class(state, operation, type);
    if (!info ||
        !enum_read(state, operation, "ReduceOp", op_object, ReduceOpCount, &op))
        return NULL;
    if (!access_is_flat(info))
        return error_raise(PyExc_TypeError, operation, &type, 1,
                           "expected a flat array type, found %s", info->name);
    if (size < 0)
        return error_raise(PyExc_ValueError, operation, &type, 1,
                           "the size is %zd, expected 0 or more", size);
    if (!jit_reduce_identity((VarType) info->entry, (ReduceOp) op, &bits))
        return error_from_core(operation, &type, 1);
    if (info->jit) {
        VarIndex var =
            size ? reduce_identity_variable(info, (ReduceOp) op,
                                            extent_of((size_t) size))
                 : 0;
        return var || !size ? (PyObject *) array_new_leaf(info, var)
                             : error_from_core(operation, &type, 1);
    }
    Array *result = array_new_dynamic(info, (size_t) size);
    for (Py_ssize_t i = 0; result && i < size; i++)
        memcpy((char *) array_data(result) + (size_t) i * info->entry_size, &bits,
               info->entry_size);
    return (PyObject *) result;
}

PyMethodDef reduce_functions[] = {
    { "reduce", METHOD(general), FAST, DOC_reduce },
    { "sum", METHOD(sum), FAST, DOC_sum },
    { "prod", METHOD(prod), FAST, DOC_prod },
    { "min", METHOD(minimum), FAST, DOC_min },
    { "max", METHOD(maximum), FAST, DOC_max },
    { "all", METHOD(all), FAST, DOC_all },
    { "any", METHOD(any), FAST, DOC_any },
    { "none", METHOD(none), FAST, DOC_none },
    { "prefix_reduce", METHOD(prefix_reduce), FAST, DOC_prefix_reduce },
    { "block_reduce", METHOD(prefix_block_reduce), FAST, DOC_block_reduce },
    { "block_sum", METHOD(prefix_block_sum), FAST, DOC_block_sum },
    { "block_prefix_reduce", METHOD(prefix_block), FAST, DOC_block_prefix_reduce },
    { "compress", prefix_compress, METH_O, DOC_compress },
    { "_can_scatter_reduce", can_scatter_reduce, METH_VARARGS,
      DOC__can_scatter_reduce },
    { "_reduce_identity", reduce_identity, METH_VARARGS, DOC__reduce_identity },
    { NULL, NULL, 0, NULL },
};
