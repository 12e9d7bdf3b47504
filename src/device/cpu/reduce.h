/*
 * reduce.h -- block reductions and dot products as stream work
 *
 * Order of summation: see the head of reduce.c and docs/dev/threads.md. It depends on
 * the number of entries only, never on threads, vector width or engine.
 */
#ifndef DEVICE_CPU_REDUCE_H
#define DEVICE_CPU_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/stream.h"
#include "drjit-core/jit.h"

/** Is this reduction defined for the type? Add, Mul, Min, Max: integers and floats;
 *  And, Or: integers and Bool. */
bool reduce_supported(ReduceOp op, VarType type);
/** Neutral element as bits, zero-extended. False if not supported. Identity: 0. */
bool reduce_identity(ReduceOp op, VarType type, uint64_t *bits);
/** Reduce blocks of 'block' entries of in[0 ... size-1] ('block' divides 'size') to
 *  out[0 ... size/block-1], same type. Queued; false only if memory is out. 'history'
 *  (may be NULL) is called with the run time in ns when done. */
bool reduce_submit(Stream *stream, ReduceOp op, VarType type, Buffer *in, size_t size,
                   size_t block, Buffer *out,
                   void (*history)(void *payload, uint64_t ns), void *payload);
/** Reduce in[0 ... size-1] (size > 0) in host memory to out[0] at once, in the calling
 *  thread, with the same bits. False: memory is out. */
bool reduce_now(ReduceOp op, VarType type, const void *in, size_t size, void *out);
/** out[0] = sum of a[i] * b[i] with fused multiply-adds. Floats (f16 computes in f32).
 *  An operand whose flag is set has one entry that is used for all i. */
bool reduce_dot_submit(Stream *stream, VarType type, Buffer *a, bool a_scalar,
                       Buffer *b, bool b_scalar, size_t size, Buffer *out,
                       void (*history)(void *payload, uint64_t ns), void *payload);

#endif
