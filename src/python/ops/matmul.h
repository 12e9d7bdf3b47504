/*
 * matmul.h -- the products of matrices, vectors and tensors
 */
#ifndef PYTHON_MATMUL_H
#define PYTHON_MATMUL_H

#include "python/object/array.h"

/** a @ b of two arrays of several values each; 'at', 'bt': of transposed tensors. New
 *  reference; NULL: exception; Py_NotImplemented if shapes or kinds do not combine, or
 *  one is not an array. */
PyObject *matmul_apply(State *state, PyObject *const *args, bool at, bool bt);

#endif
