/*
 * finite.h -- debug mode: the first value of a launch that is not finite
 *
 * When a launch has ended, its results and the arrays that it has scattered to are
 * searched for infinities and NaN. For the first one, its lane is computed once more
 * (kernel/origin.h), and a warning names the operation that made it. Values that are
 * dropped on the way are none of its business, and neither are infinities that were
 * given to the launch, in literals or arrays: they can be meant.
 */
#ifndef TRACE_EVAL_FINITE_H
#define TRACE_EVAL_FINITE_H

#include "trace/eval/assemble.h"

/** Is a launch of this assembly to be looked at? Asked before, so that everything that
 *  it reads can be retained. Requires the graph lock. */
bool finite_watches(const ThreadState *ts, const Assembly *b);
/** The launch was submitted, its outputs are in the variables, and the assembly is
 *  retained: wait for it, and look. The lock is released meanwhile. */
void finite_check(ThreadState *ts, const Assembly *b);

#endif
