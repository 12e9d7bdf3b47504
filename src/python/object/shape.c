/*
 * shape.c -- see shape.h
 */
#include "python/object/shape.h"

#include "python/object/error.h"

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
        const Leaf index = array_leaves(a)[i];
        size_t size = 0;
        if (index)
            size = peek ? leaf_peek_size(index) : leaf_size(index);
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
    error_raise(PyExc_RuntimeError, operation, &self, 1,
                "the input is ragged (i.e., it does not have a consistent size)");
    return false;
}

bool shape_width(Array *a, size_t *width, const char *operation)
{
    return get_width(a, false, width, operation);
}

bool shape_peek(Array *a, size_t *width, const char *operation)
{
    return get_width(a, true, width, operation);
}

PyObject *shape_extents(size_t ndim, const size_t *extents)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t) ndim);
    for (size_t i = 0; i < ndim && tuple; i++) {
        PyObject *extent = PyLong_FromSize_t(extents[i]);
        if (extent)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t) i, extent);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *shape_of_array(Array *a, const char *operation)
{
    const TypeInfo *info = a->info;
    const bool tensor = info->kind == KIND_TENSOR;
    size_t shape[TENSOR_MAX_DIMS], width = 0, ndim = 0;
    if (tensor) {
        ndim = array_tensor(a)->ndim;
        memcpy(shape, array_tensor(a)->shape, ndim * sizeof(size_t));
    } else {
        for (int i = 0; i < info->ndim; i++)
            shape[ndim++] =
                info->dims[i] == DYNAMIC ? array_count(a) : (size_t) info->dims[i];
        if (info->jit) {
            if (!shape_width(a, &width, operation))
                return NULL;
            shape[ndim++] = width;
        }
    }
    return shape_extents(ndim, shape);
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
