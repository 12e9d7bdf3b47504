/*
 * lanes.h -- the entries of a leaf: a[i] = ..., a[slice], a[indices]
 */
#ifndef PYTHON_LANES_H
#define PYTHON_LANES_H

#include "python/shape/extent.h"

static inline size_t lanes_count(const Array *leaf)
{
    const VarIndex index = array_var(leaf);
    return index ? var_size(index) : 0;
}

/* Setters: 0, or -1 with an exception and the leaf as it was. */

/** a[i] = value; i has been checked. */
int lanes_set_entry(Array *a, size_t i, PyObject *value);

PyObject *lanes_get_slice(Array *a, PyObject *slice);
int lanes_set_slice(Array *a, PyObject *slice, PyObject *value);

/** 'indices' is a flat array of integers; negative ones count from the end. */
PyObject *lanes_get(Array *a, Array *indices);
int lanes_set(Array *a, Array *indices, PyObject *value);

/** i < 0 ? i + extent : i, as UInt32, of an Int32 variable (consumed). 0: the core's
 *  error is set. */
VarIndex lanes_wrap(JitBackend backend, VarIndex index, Extent extent);

#endif
