/*
 * product.h -- a @ b of whatever can be multiplied
 */
#ifndef PYTHON_PRODUCT_H
#define PYTHON_PRODUCT_H

#include "python/type/state.h"

/** a @ b; beside a single value it is a * b. 'at', 'bt': of transposed tensors. At
 *  least one is an array. New reference; NULL: exception; Py_NotImplemented if they do
 *  not combine. */
PyObject *product_apply(State *state, PyObject *const *args, bool at, bool bt);

#endif
