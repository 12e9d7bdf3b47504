/*
 * matrix.h -- products with small matrices that all lanes share
 *
 * Requires the graph lock; results are owned by the caller. Meaning of the arguments as
 * in jit.h. The matrix stands row by row from an entry of an array on.
 */
#ifndef TRACE_ARRAY_MATRIX_H
#define TRACE_ARRAY_MATRIX_H

#include "trace/graph/node.h"

/** The product with a vector in each lane, of as many entries as there are columns
 *  (rows, if it is transposed); 'add' is added, if it is not NULL. One variable for
 *  each entry of the result. */
bool matrix_multiply(ThreadState *ts, const JitMatrix *a, const VarId *x,
                     const VarId *add, VarId *out);
/** To the matrix each lane adds an outer product: to entry (i, k), left[i] * right[k].
 *  The variable that was written. */
VarId matrix_add_outer(ThreadState *ts, const JitMatrix *a, const VarId *left,
                       const VarId *right, VarId mask);

#endif
