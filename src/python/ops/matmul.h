/*
 * matmul.h -- the products of matrices, vectors and tensors
 */
#ifndef PYTHON_MATMUL_H
#define PYTHON_MATMUL_H

#include "python/array/array.h"

/** The leaves of one side of a product of arrays: line i (of rows on the left, of
 *  columns on the right), term k, leaf s of an element. A step of 0 repeats. */
typedef struct Terms {
    const Array *array;
    size_t first, line, term, leaf;
} Terms;

/** Sums of n products for each row and column, in the type 'info', whose entries the
 *  arrays have: a product followed by fused multiply-adds. */
PyObject *matmul_sums(const TypeInfo *info, const Terms *a, const Terms *b, size_t n,
                      size_t rows, size_t columns, const char *operation,
                      PyObject *const *args);

/** a @ b of two arrays of several values each; 'at', 'bt': of transposed tensors. New
 *  reference; NULL: exception; Py_NotImplemented if shapes or kinds do not combine, or
 *  one is not an array. */
PyObject *matmul_apply(State *state, PyObject *const *args, bool at, bool bt);

#endif
