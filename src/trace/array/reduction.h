/*
 * reduction.h -- reductions and scans of variables, on the runtime's block primitives
 *
 * Requires the graph lock; results are owned by the caller. Meaning as in jit.h.
 */
#ifndef TRACE_ARRAY_REDUCTION_H
#define TRACE_ARRAY_REDUCTION_H

#include "recording/symsize.h"
#include "trace/graph/node.h"

/** An axis of (any, extent, stride) entries; 'symsizes': these two as sizes, while a
 *  function is recorded. */
typedef struct ReductionAxis {
    size_t extent, stride;
    SymSize symsizes[2];
} ReductionAxis;

VarId reduction_all(ThreadState *ts, VarId id);
VarId reduction_any(ThreadState *ts, VarId id);
/** 'symsize' is the block as a size, while a function is recorded
 *  (freezing_take_number()); FREEZING_LANES: it is all there are. */
VarId reduction_reduce(ThreadState *ts, ReduceOp op, VarId id, size_t block,
                       SymSize symsize, const char *function);
VarId reduction_axis(ThreadState *ts, ReduceOp op, VarId id, const ReductionAxis *axis,
                     const char *function);
VarId reduction_dot(ThreadState *ts, VarId a, VarId b);
/** The symbolic size of the extent may be FREEZING_LANES, as above. */
VarId reduction_prefix(ThreadState *ts, ReduceOp op, VarId id,
                       const ReductionAxis *axis, bool exclusive, bool reverse,
                       const char *function);
/** Sort blocks of 'block' entries (0: all); the entries or, with 'indices', where
 *  they stood. */
VarId reduction_sort(ThreadState *ts, VarId id, size_t block, SymSize symsize,
                     bool descending, bool indices);
/** 'spare' references to the mask are of somebody who does not need its entries. */
VarId reduction_compress(ThreadState *ts, VarId mask, uint32_t spare,
                         const char *function);

struct Command;
/** Submit a command that writes a number, to this slot, which the host needs: wait for
 *  it. The lock is released meanwhile. False: error recorded. */
bool reduction_count(ThreadState *ts, struct Command *command, uint32_t slot,
                     uint32_t *count, const char *function);

#endif
