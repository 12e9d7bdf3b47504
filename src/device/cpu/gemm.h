/*
 * gemm.h -- batched matrix products as stream work
 *
 * Order of summation: see the head of gemm.c and docs/dev/threads.md. It depends on k
 * only, never on threads, vector width or engine.
 */
#ifndef DEVICE_CPU_GEMM_H
#define DEVICE_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/stream.h"
#include "drjit-core/jit.h"

/** Is the product defined for the type? Integers and floats. */
bool gemm_supported(VarType type);
/** out[b] = op(a[b]) @ op(b[b]) for all entries of the batch, contiguous. 'shape' has
 *  been checked against the sizes of the buffers, its strides are set, and m, n, k and
 *  all extents are positive; it is copied. Queued; false only if memory is out.
 *  'history' (may be NULL) is called with the run time in ns when done. */
bool gemm_submit(Stream *stream, VarType type, const JitGemm *shape, Buffer *a,
                 Buffer *b, Buffer *out, void (*history)(void *payload, uint64_t ns),
                 void *payload);

#endif
