/*
 * axes.h -- axes of arrays change places, in memory
 *
 * Requires the graph lock; results are owned by the caller. Meaning as in jit.h.
 */
#ifndef TRACE_ARRAY_AXES_H
#define TRACE_ARRAY_AXES_H

#include "recording/width.h"
#include "trace/graph/node.h"

/** 'widths': rows, columns and items as sizes, while a function is recorded. */
VarId axes_transpose(ThreadState *ts, VarId id, const JitTranspose *axes,
                      const Width widths[3]);

#endif
