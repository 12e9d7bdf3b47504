/*
 * reshape.h -- flattening nested arrays, and the reverse
 */
#ifndef PYTHON_RESHAPE_H
#define PYTHON_RESHAPE_H

#include "python/object/array.h"

/** 'A', 'C' or 'F' ('A' if object is NULL). False: exception. */
bool reshape_order(const char *operation, PyObject *object, char *order);

/** The entries as a flat array: a flat array itself, a tensor's storage as a view, else
 * a new one. */
Array *reshape_ravel(State *state, const char *operation, Array *a, char order);

/** A nested array with that many leaves from a flat one with the same entries. */
Array *reshape_unravel(const char *operation, PyTypeObject *cls, const TypeInfo *info,
                       size_t leaves, Array *flat, char order);

/** reshape(), in reshape_any.c. */
PyObject *reshape_function(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names);

#endif
