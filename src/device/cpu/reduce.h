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

#endif
