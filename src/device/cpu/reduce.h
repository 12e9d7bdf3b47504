/*
 * reduce.h -- block reductions and dot products
 *
 * Order of summation: see the head of reduce.c and docs/dev/threads.md. It depends on
 * the number of entries only, never on threads, vector width or engine.
 */
#ifndef DEVICE_CPU_REDUCE_H
#define DEVICE_CPU_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

/** Reduce in[0 ... size-1] (size > 0) in host memory to out[0] at once, in the calling
 *  thread, with the same bits. False: memory is out. */
bool reduce_now(ReduceOp op, VarType type, const void *in, size_t size, void *out);
/** The same for 'count' blocks, and the dot product of two arrays (of one entry, or
 *  'size'), where a block, or 'size', is at most REDUCE_SMALL. */
enum { REDUCE_SMALL = 1 << 16 };
void reduce_small(ReduceOp op, VarType type, const void *in, size_t block, size_t count,
                  void *out);
void reduce_small_dot(VarType type, const void *a, bool a_scalar, const void *b,
                      bool b_scalar, size_t size, void *out);

#endif
