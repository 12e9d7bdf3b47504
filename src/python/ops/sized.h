/*
 * sized.h -- sizes beside arrays: what kernels of a recording compute with
 */
#ifndef PYTHON_SIZED_H
#define PYTHON_SIZED_H

#include "python/ops/apply.h"

/** The operands of an operation in a general recording: arrays of one entry, which hold
 *  what a size is, stand for those sizes that can be one beside the other operands
 *  (new references; '*which' becomes the operation to perform). False: exception. */
bool sized_open(State *state, Apply *which, int arity, PyObject *const *args,
                PyObject **opened);

#endif
