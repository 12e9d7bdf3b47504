/*
 * combine.h -- entrywise folding of several arrays into one
 */
#ifndef DEVICE_CPU_PRIMITIVES_COMBINE_H
#define DEVICE_CPU_PRIMITIVES_COMBINE_H

#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

typedef struct CombineOp {
    /* acc[i] = op(acc[i], in[i]); f16 keeps 'acc' in f32 */
    void (*fold)(void *acc, const void *in, size_t count);
    uint32_t size; /* bytes of an entry in memory */
} CombineOp;

/** The operation for a type, NULL if it is not defined (rule: reduce.h). */
const CombineOp *combine_find(ReduceOp op, VarType type);
/** out[i] = in[i] op in[stride + i] op in[2 * stride + i] ..., from left to right.
 *  'out' may be 'in'. f16 is rounded once, at the end. */
void combine_run(const CombineOp *op, void *out, const void *in, size_t count,
                 size_t stride, uint32_t copies);

#endif
