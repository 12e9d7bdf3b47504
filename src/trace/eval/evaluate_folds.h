/*
 * evaluate_folds.h -- reductions that wait (fold.h) are performed because of something
 * else than their result
 *
 * The graph lock may be released on the way.
 */
#ifndef TRACE_EVAL_EVALUATE_FOLDS_H
#define TRACE_EVAL_EVALUATE_FOLDS_H

#include "trace/graph/state.h"

/** Those that a variable needs. */
bool evaluate_folds_below(ThreadState *ts, VarId id);
/** Those that read an array, which is about to be changed in place. */
bool evaluate_folds_of(ThreadState *ts, VarId array);

#endif
