/*
 * axes.h -- axes of arrays change places, in memory
 *
 * Requires the graph lock; results are owned by the caller. Meaning as in jit.h.
 */
#ifndef TRACE_ARRAY_AXES_H
#define TRACE_ARRAY_AXES_H

#include "recording/symsize.h"
#include "trace/graph/node.h"

/** 'symsizes': rows, columns and items as sizes, while a function is recorded. */
VarId axes_transpose(ThreadState *ts, VarId id, const JitTranspose *axes,
                      const SymSize symsizes[3]);

#endif
