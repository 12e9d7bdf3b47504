/*
 * construct.c -- see construct.h
 */
#include "python/flow/construct.h"

#include "python/base/error.h"
#include "python/convert/promote.h"
#include "python/memory/access.h"
#include "python/tree/compatible.h"

bool construct_mode(const char *operation, PyObject *object, Mode *mode)
{
    static const char *const names[] = { [MODE_SCALAR] = "scalar",
                                         [MODE_SYMBOLIC] = "symbolic",
                                         [MODE_EVALUATED] = "evaluated" };
    *mode = MODE_AUTO;
    if (!object || object == Py_None)
        return true;
    for (int i = MODE_SCALAR; PyUnicode_Check(object) && i <= MODE_EVALUATED; i++)
        if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0)
            *mode = (Mode) i;
    return *mode != MODE_AUTO ||
           error_raise(PyExc_RuntimeError, operation, NULL, 0,
                       "'mode' is %R, expected None, \"scalar\", \"symbolic\", or "
                       "\"evaluated\"",
                       object);
}

bool construct_labels(const char *operation, const char *parameter, PyObject *object,
                      PyObject *labelled, PyObject **labels)
{
    *labels = NULL;
    if (!object || object == Py_None)
        return true;
    PyObject *tuple = PyUnicode_Check(object) ? NULL : PySequence_Tuple(object);
    Py_ssize_t count = tuple ? PyTuple_GET_SIZE(tuple) : 0, i = 0;
    while (i < count && PyUnicode_Check(PyTuple_GET_ITEM(tuple, i)))
        ++i;
    if (!tuple || i < count) {
        PyErr_Clear();
        Py_XDECREF(tuple);
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'%s' is %R, expected a sequence of str", parameter, object);
    }
    if (count && labelled && PyTuple_Check(labelled) &&
        PyTuple_GET_SIZE(labelled) != count) {
        Py_DECREF(tuple);
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "'%s' has %zd entries, expected %zd, one for each "
                           "variable",
                           parameter, count, PyTuple_GET_SIZE(labelled));
    }
    if (count)
        *labels = tuple;
    else
        Py_DECREF(tuple);
    return true;
}

bool construct_callable(const char *operation, const char *parameter, PyObject *object)
{
    return PyCallable_Check(object) ||
           error_raise(PyExc_TypeError, operation, NULL, 0,
                       "'%s' is %R, expected a callable", parameter, object);
}

Condition construct_condition(State *state, PyObject *object)
{
    const TypeInfo *info = array_check(state, object) ? ((Array *) object)->info : NULL;
    if (!info)
        return promote_number(object) == OPERAND_BOOL ? CONDITION_BOOL
                                                      : CONDITION_OTHER;
    if (!type_is_mask(info))
        return CONDITION_OTHER;
    if (!info->jit)
        return CONDITION_BOOL;
    return info->kind == KIND_FLAT || info->kind == KIND_TENSOR ? CONDITION_ARRAY
                                                                : CONDITION_OTHER;
}

bool construct_is_empty(PyObject *condition)
{
    const uint32_t id = array_index((Array *) condition);
    return !id || jit_var_peek_size(id) == 0;
}

uint32_t construct_mask(PyObject *condition)
{
    const Array *array = (const Array *) condition;
    return construct_is_empty(condition)
               ? jit_var_bool((JitBackend) array->info->backend, false)
               : jit_var_inc_ref(array_index(array));
}

static PyObject *without_entries(void *context, PyObject *const *leaves)
{
    (void) context;
    const Array *array = array_of(leaves[0]);
    if (!array || !array->info->jit)
        return Py_NewRef(leaves[0]);
    Array *result = access_make(Py_TYPE(leaves[0]), array->info, array);
    if (result && !(result = array_set_none(result, (int) array_count(array),
                                            array_leaves(array))))
        error_from_core(NULL, NULL, 0);
    return (PyObject *) result;
}

PyObject *construct_without_entries(State *state, const char *operation,
                                    PyObject *tree)
{
    return tree_map(state, operation, &tree, 1, without_entries, NULL);
}

uint32_t construct_lanes(State *state, const char *operation, PyObject *mask)
{
    const TypeInfo *info = array_check(state, mask) ? ((Array *) mask)->info : NULL;
    if (!info || !info->jit || info->kind != KIND_FLAT || !type_is_mask(info)) {
        error_raise(PyExc_TypeError, operation, NULL, 0,
                    "the mask is of type %s, expected a just-in-time compiled Bool",
                    Py_TYPE(mask)->tp_name);
        return 0;
    }
    const uint32_t id = array_index((Array *) mask);
    if (!id)
        error_raise(PyExc_ValueError, operation, NULL, 0,
                    "the mask is empty, expected at least one entry");
    return jit_var_inc_ref(id);
}

bool construct_label(const char *operation, PyObject *object, const char **label)
{
    *label = NULL;
    if (!object || object == Py_None)
        return true;
    if (!PyUnicode_Check(object))
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'label' is of type %s, expected a str",
                           Py_TYPE(object)->tp_name);
    *label = PyUnicode_AsUTF8(object);
    return *label;
}

bool construct_set(JitFlag flag, bool value)
{
    const bool before = jit_flag(flag);
    jit_set_flag(flag, value);
    return before;
}

PyObject *construct_refuse(const char *operation, const char *what, PyObject *found)
{
    PyObject *cls = tree_class_name(found);
    if (cls && PyBool_Check(found))
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "%s is a Python 'bool', which the modes 'symbolic' and "
                    "'evaluated' cannot use, expected a Jit-compiled 1D Boolean array; "
                    "compute it from arrays, or leave out 'mode'",
                    what);
    else if (cls)
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "the type of %s (%U) is not supported, expected a "
                    "Jit-compiled 1D Boolean array, a Python 'bool', or a Boolean "
                    "tensor",
                    what, cls);
    Py_XDECREF(cls);
    return NULL;
}
