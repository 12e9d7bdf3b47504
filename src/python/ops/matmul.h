/*
 * matmul.h -- matrix, vector and tensor products
 */
#ifndef PYTHON_MATMUL_H
#define PYTHON_MATMUL_H

#include "python/object/array.h"

/** a @ b without transposition. New reference; NULL: exception; Py_NotImplemented if
 *  shapes or kinds do not combine. At least one is an array. */
PyObject *matmul_apply(State *state, PyObject *a, PyObject *b);

#endif
