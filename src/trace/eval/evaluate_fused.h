/*
 * evaluate_fused.h -- reductions (pending.h) that are performed because of something
 * else than their result, and those of a launch
 */
#ifndef TRACE_EVAL_EVALUATE_FUSED_H
#define TRACE_EVAL_EVALUATE_FUSED_H

#include "trace/eval/assemble.h"

/** Schedule those of the thread that wait: an evaluation is about to begin. False:
 *  out of memory. */
bool evaluate_fused_schedule(ThreadState *ts);
/** Perform them, unless an evaluation of the thread is under way. The lock may be
 *  released on the way. */
bool evaluate_fused_waiting(ThreadState *ts);
/** Perform those that a variable needs. The lock may be released on the way. */
bool evaluate_fused_below(ThreadState *ts, VarId id);
/** The same for those that read an array, which is about to be changed in place. */
bool evaluate_fused_of(ThreadState *ts, VarId array);

/** A reduction that waits, and a mean, say, that is computed from it, are evaluated
 *  before whatever needs them, also by index, so that all can be evaluated together. Is
 *  this one of them? Bodies have what they read in memory. */
bool evaluate_fused_may_wait(const ThreadState *ts, VarId source);

/** The fused reductions of an assembly whose outputs have memory, with slots of its
 *  launch. */
void evaluate_fused_place(const Assembly *assembly, FusedReduction *fused);
/** Submit the one reduction of an assembly that computes nothing, as a command of its
 *  own. */
bool evaluate_fused_submit(ThreadState *ts, const Assembly *assembly);

#endif
