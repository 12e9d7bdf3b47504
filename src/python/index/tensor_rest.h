/*
 * tensor_rest.h -- the entries of a tensor that an assignment leaves as they are
 */
#ifndef PYTHON_TENSOR_REST_H
#define PYTHON_TENSOR_REST_H

#include "python/index/tensor_select.h"

/** An array of the size of 'target', the storage of a tensor, that has the entries of
 *  it which the selection leaves out; the others are about to be written. For a write
 *  of 'value' to an array that somebody else has as well, most often the value itself
 *  (t[:, 1:] += 1): copying all of it first would take as long as the write.
 *  0: there is no need, it does not pay, or the core has failed, as the write will. */
VarIndex tensor_rest_copy(const Selection *s, const Array *tensor, VarIndex value);

#endif
