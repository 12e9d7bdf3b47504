/*
 * shape.c -- see shape.h
 */
#include "python/shape/shape.h"

#include "python/base/error.h"

/* False without an exception if the sizes do not fit. With 'peek', nothing depends on
 * them. */
static bool find_width(const Array *a, bool peek, size_t *width)
{
    const size_t n = array_count(a);
    *width = a->info->jit ? 0 : a->info->dynamic ? n : 1;
    if (!a->info->jit)
        return true;
    bool wide = false;
    for (size_t i = 0; i < n; i++) {
        const VarIndex index = array_leaves(a)[i];
        size_t size = 0;
        if (index)
            size = peek ? var_peek_size(index) : var_size(index);
        if (size != 1 && wide && size != *width)
            return false;
        if (size != 1 || !wide)
            *width = size;
        wide |= size != 1;
    }
    return true;
}

static bool get_width(Array *a, bool peek, size_t *width, const char *operation)
{
    if (find_width(a, peek, width))
        return true;
    PyObject *self = (PyObject *) a;
    return error_raise(
        PyExc_RuntimeError, operation, &self, 1,
        "the input is ragged (i.e., it does not have a consistent size)");
}

bool shape_width(Array *a, size_t *width, const char *operation)
{
    return get_width(a, false, width, operation);
}

bool shape_peek(Array *a, size_t *width, const char *operation)
{
    return get_width(a, true, width, operation);
}

VarIndex shape_widest(const Array *a, size_t width)
{
    const bool records = size_is_recording();
    VarIndex found = 0;
    for (size_t i = 0; a->info->jit && i < array_count(a); i++) {
        const VarIndex var = array_leaves(a)[i];
        if (!var || var_peek_size(var) != width)
            continue;
        if (!records)
            return var;
        if (found && width > 1) /* that both are so wide is assumed from now on */
            size_compare(JitSizeEqual, size_of_variable(found), size_of_variable(var));
        found = found ? found : var;
    }
    return found;
}

bool shape_get(Array *a, Extents *shape, const char *operation)
{
    const TypeInfo *info = a->info;
    if (info->kind == KIND_TENSOR) {
        extents_of(a, shape);
        return true;
    }
    extents_set_numbers(shape, 0, NULL);
    for (int i = 0; i < info->ndim; i++)
        extents_append(shape, extent_of(info->dims[i] == DYNAMIC
                                            ? array_count(a)
                                            : (size_t) info->dims[i]));
    size_t width;
    if (!info->jit)
        return true;
    if (!shape_peek(a, &width, operation))
        return false;
    extents_append(shape, extent_of_leaf(shape_widest(a, width), width));
    return true;
}

PyObject *shape_of_array(Array *a, const char *operation)
{
    Extents shape;
    return shape_get(a, &shape, operation) ? extents_tuple(a->info->state, &shape)
                                           : NULL;
}

bool shape_lanes(Array *a, size_t *lanes, const char *operation)
{
    if (a->info->jit)
        return shape_width(a, lanes, operation);
    PyObject *shape = shape_of_array(a, operation);
    if (!shape)
        return false;
    Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    *lanes = ndim ? PyLong_AsSize_t(PyTuple_GET_ITEM(shape, ndim - 1)) : 1;
    Py_DECREF(shape);
    return true;
}
