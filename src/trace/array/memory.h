/*
 * memory.h -- gathers, scatters and atomics as nodes
 *
 * Requires the graph lock; results are owned by the caller. Meaning of the arguments as
 * in jit.h; a mask of 0 stands for "always".
 */
#ifndef TRACE_ARRAY_MEMORY_H
#define TRACE_ARRAY_MEMORY_H

#include "trace/graph/access.h"

/** A pointer to an array in memory; 'write': for a queued write. */
VarId memory_pointer(ThreadState *ts, VarId array, bool write);
VarId memory_gather(ThreadState *ts, VarId source, VarId index, VarId mask);
/** The same from a variable as it is: loops that have it as a state do not take it for
 *  an array. */
VarId memory_pick(ThreadState *ts, VarId source, VarId index, VarId mask);
/** The same by a pointer to an array, where all operands are known to fit. */
VarId memory_read(ThreadState *ts, VarId pointer, VarType type, VarId index,
                  VarId mask);
bool memory_gather_packet(ThreadState *ts, uint32_t n, VarId source, VarId index,
                          VarId mask, VarId *out);
VarId memory_scatter(ThreadState *ts, VarId target, VarId value, VarId index,
                     VarId mask, ReduceOp op, ReduceMode mode);
VarId memory_scatter_packet(ThreadState *ts, uint32_t n, VarId target,
                            const VarId *values, VarId index, VarId mask, ReduceOp op,
                            ReduceMode mode);
/** '*target' is replaced by the variable that was written (the reference moves
 *  along). */
VarId memory_scatter_inc(ThreadState *ts, VarId *target, VarId index, VarId mask);
VarId memory_scatter_exch(ThreadState *ts, VarId *target, VarId value, VarId index,
                          VarId mask);
bool memory_scatter_cas(ThreadState *ts, VarId *target, VarId compare, VarId value,
                        VarId index, VarId mask, VarId out[2]);
bool memory_scatter_add_kahan(ThreadState *ts, VarId *sums, VarId *errors, VarId value,
                              VarId index, VarId mask);
/** Add outer products of vectors to the rows of a matrix from position 'index' on,
 *  which is known to be within the target: 'count' values, the first 'rows' of which
 *  are the left vector. The access has the target's device, and is finished. */
VarId memory_add_outer(Access *a, VarId target, const VarId *values, uint32_t rows,
                       uint32_t count, VarId index, VarId mask);
/** The variable to write to instead of 'id': itself (one more reference) in memory if
 *  nobody else holds it, else an evaluated copy. */
VarId memory_writable(ThreadState *ts, VarId id);
/** How many entries private copies of a target (expand.h) are apart: a UInt32, in
 *  memory where a recording is to serve other sizes. A new reference. */
VarId memory_copies_distance(ThreadState *ts, VarId target);
/** An index of packets of n entries into the copy that belongs to the worker of a lane,
 *  where copies are so far apart; a new reference. */
VarId memory_shift_index(ThreadState *ts, VarId index, VarId distance, uint32_t n);
/** A copy in memory of its own. */
VarId memory_duplicate(ThreadState *ts, VarId id);

#endif
