/*
 * evaluate.h -- from the trace to running kernels
 *
 *     schedule.c   which variables and writes, in groups of one size
 *     assemble.c      one group -> Program and launch arguments
 *     evaluate.c   Program -> key -> kernel -> launch; results back into the variables
 *
 * Requires the graph lock, which is released while a kernel is compiled.
 */
#ifndef TRACE_EVAL_EVALUATE_H
#define TRACE_EVAL_EVALUATE_H

#include "trace/graph/state.h"

/** Evaluate all that this thread has scheduled, and its queued writes. */
bool evaluate_all(ThreadState *ts);
/** Would that do anything, wait for anything, or fail? */
static inline bool evaluate_is_needed(const ThreadState *ts)
{
    return ts->scheduled_count || ts->effect_count || ts->stolen || state.ended ||
           state.closing;
}
/** Is there nothing to schedule: a literal, or data without queued writes? */
static inline bool evaluate_is_done(const Var *v)
{
    return !(v->flags & (VAR_UNUSABLE | VAR_SYMBOLIC)) &&
           (v->op == OP_LITERAL || (v->op == OP_EVALUATED && !v->pending));
}
/** Have a variable computed by the thread's next evaluate_all(). '*scheduled' (may be
 *  NULL) tells whether there was something to do. Literals are left alone. */
bool evaluate_schedule(ThreadState *ts, VarId id, bool *scheduled);
/** The variable in memory: schedules and evaluates if need be, also literals and
 *  undefined arrays. 'id' itself becomes evaluated. Its pending writes are done,
 *  too. */
bool evaluate_var(ThreadState *ts, VarId id);
/** Run the queued writes into a variable, whichever thread queued them. */
bool evaluate_pending(ThreadState *ts, VarId id);
/** Run the queued writes of all threads. */
bool evaluate_effects(ThreadState *ts);
/** Put a literal or undefined variable into memory. */
bool evaluate_literal(ThreadState *ts, VarId id);
/** Text of the Program that evaluating this variable alone would compile. */
bool evaluate_program_text(ThreadState *ts, VarId id, Text *out);

#endif
