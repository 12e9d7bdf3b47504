/*
 * reduce.h -- block reductions and dot products
 *
 * Order of summation: see the head of reduce.c and docs/dev/threads.md. It depends on
 * the number of entries only, never on threads, vector width or engine.
 */
#ifndef DEVICE_CPU_PRIMITIVES_REDUCE_H
#define DEVICE_CPU_PRIMITIVES_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

/** Reduce in[0 ... size-1] (size > 0) in host memory to out[0] at once, in the calling
 *  thread, with the same bits. False: out of memory. */
bool reduce_now(ReduceOp op, VarType type, const void *in, size_t size, void *out);
/** Device.reduce, Device.dot. */
void reduce_small(ReduceOp op, VarType type, const void *in, size_t block, size_t count,
                  void *out);
void reduce_small_dot(VarType type, const void *a, bool a_scalar, const void *b,
                      bool b_scalar, size_t size, void *out);

/** Reduce 'count' blocks of up to LANES_CHUNK entries (reduce_lanes.h). */
struct LaneKernel;
void reduce_blocks(const struct LaneKernel *kernel, const char *in, size_t block,
                   size_t count, char *out);
/** The accumulators of the 'chunks' chunks of each of 'count' blocks, which are lost on
 *  the way, to its result. */
void reduce_finish(const struct LaneKernel *kernel, char *partials, size_t chunks,
                   size_t count, char *out);

#endif
