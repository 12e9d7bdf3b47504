/*
 * effects.h -- lists of queued effects: what they are for, and whose they are
 *
 * Each thread has a queue of effects (state.h). An evaluation takes such a list and
 * runs it (evaluate.c). Requires the graph lock.
 */
#ifndef TRACE_EVAL_EFFECTS_H
#define TRACE_EVAL_EFFECTS_H

#include "trace/graph/state.h"

/** Of queued effects, drop those whose arrays nobody can look at any more. The number
 *  that is left, at the start of the list. */
uint32_t effects_filter(VarId *ids, uint32_t count);

/** A thread that has queued writes into a variable, NULL if none has. */
ThreadState *effects_writer(VarId array);
/** The thread that has queued this effect, NULL if it is in no queue. */
ThreadState *effects_owner(VarId effect);
/** An array cannot be read because a body that is being recorded writes to it: record
 *  an error that says which, and where both is. */
bool effects_refuse_read(const ThreadState *ts, VarId array);

/** May there be regions that another thread has queued, or evaluates, and of which
 *  somebody holds results? */
bool effects_foreign_exist(const ThreadState *ts);
/** A region with effects that these variables and effects need a result of, but that is
 *  not one of the latter; 0 if there is none. False: out of memory. */
bool effects_find_foreign(const VarId *vars, uint32_t var_count, const VarId *effects,
                          uint32_t effect_count, VarId *region);

/** Are writes to this array kept by bodies all of which have values (of conditionals
 *  and calls that run at once)? */
bool effects_are_kept(const ThreadState *ts, VarId array);
/** Queue what the thread's bodies keep, all of which have values, in order; with
 *  copies of what is written to, in case that they are given up. What has been queued
 *  before is to be performed already. False: error recorded. */
bool effects_run_kept(ThreadState *ts);
/** The array is about to be written: the innermost body that keeps effects, if there is
 *  one, gets a copy of it, in case that it is given up. False: error recorded. */
bool effects_back_up(ThreadState *ts, VarId array);
/** See hooks.h. */
void effects_take_back(ThreadState *ts, const VarIds *pairs);

/** Has another thread queued writes to this array? */
bool effects_others_write(const ThreadState *ts, VarId array);

#endif
