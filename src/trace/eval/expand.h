/*
 * expand.h -- private copies of scatter targets (ReduceModeExpand)
 *
 * A scatter-reduction in this mode goes to a hidden array with one copy of the target
 * for each worker, which needs no atomic operations:
 *
 *     index' = index + worker * stride
 *
 * The first copy starts with the content of the target, the others with the neutral
 * element. Once no write to them is queued any more they are combined in a fixed order
 * into the target and dropped. Until then the target counts as having one more pending
 * write. Requires the graph lock.
 */
#ifndef TRACE_EVAL_EXPAND_H
#define TRACE_EVAL_EXPAND_H

#include "trace/graph/state.h"

/** Scatter-reductions of a recorded body: what the caller has asked for, beside
 *  operation and mode in Var.aux, until the outermost region is complete
 *  (region_expand.h). */
enum {
    EXPAND_IF_IT_PAYS = 1 << 16,
    EXPAND_ALWAYS = 1 << 17,
    EXPAND_FLAGS = EXPAND_IF_IT_PAYS | EXPAND_ALWAYS
};

/** Copies are a multiple of this many entries apart: no workers share a cache line, and
 *  there is a whole number of packets (op_is_packet()) between them. */
enum { EXPAND_LINE = 192 };

/** Would private copies of this target pay for a reduction of this many values? */
bool expand_pays(const Var *target, uint64_t values);
/** Can there be copies on its device, and an index reach all of their entries? */
bool expand_fits(const Var *target);
/** The distance of copies in entries. */
uint64_t expand_stride(const Var *target);
/** The hidden array of a target for this operation (borrowed), made if need be; it has
 *  to fit. 0: error recorded. */
VarId expand_get(ThreadState *ts, VarId target, ReduceOp op);
/** Memory for copies; the lock may be released meanwhile. NULL: error recorded. */
Buffer *expand_memory(ThreadState *ts, VarId target);
/** Make the hidden array, in this memory, which is taken over, for a target that has
 *  none and nothing queued, but for writes that are going to be replaced by such that
 *  go to the copies. */
VarId expand_make(ThreadState *ts, VarId target, ReduceOp op, Buffer *memory);
/** The hidden array if there is one, else 0. */
VarId expand_copies_of(VarId target);
/** Fold the copies into their target; no write to them is pending. */
bool expand_collapse(ThreadState *ts, VarId target);
/** The same for all targets whose copies have no pending writes. */
bool expand_collapse_idle(ThreadState *ts);

#endif
