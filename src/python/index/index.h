/*
 * index.h -- a[i], a[slice], a[mask], v.xy, and the same as targets
 *
 * tensor.c does the tensors: slice_index() and what is built on it.
 */
#ifndef PYTHON_INDEX_H
#define PYTHON_INDEX_H

#include "python/array/array.h"

/** a[i] for an integer i (negative counts from the end): a Python number for a FLAT, a
 *  view for a nested array, a tensor with one dimension less. */
PyObject *index_get_item(Array *a, Py_ssize_t i);
int index_set_item(Array *a, Py_ssize_t i, PyObject *value);

/** Raise the TypeError about a value that cannot be assigned to components or entries
 *  of an array. Returns -1. */
int index_fail_value(const Array *a, PyObject *value);

/** Is it a number of the wrong kind for entries of 'info'? a[0] = 1.5 is refused for
 *  integers, though Int(1.5) is not. May set the exception that says why. */
bool index_refuses(const TypeInfo *info, PyObject *value);

PyObject *tensor_get(Array *tensor, PyObject *key);
int tensor_set(Array *tensor, PyObject *key, PyObject *value);

/** A new tensor with the last two of its (at least two) axes exchanged. */
Array *tensor_transpose(Array *tensor);

/** Make what copies.c needs. */
bool copies_bind(State *state);

/** a[mask] = value. -1: exception. */
int index_set_masked(Array *a, PyObject *mask, PyObject *value);

#endif
