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

#include "device/command.h"
#include "trace/eval/assemble.h"

/** Is a launch of this assembly to be looked at? Asked before, so that everything that
 *  it reads can be retained. Requires the graph lock. */
bool finite_watches(const ThreadState *ts, const Assembly *b);
/** The launch was submitted, its outputs are in the variables, and the assembly is
 *  retained: wait for it, and look. The lock is released meanwhile. */
void finite_check(ThreadState *ts, const Assembly *b);

/** What a command reads, to be looked at after it. */
typedef struct FiniteInputs {
    Slot slots[4]; /* with references */
    uint32_t count;
} FiniteInputs;

/** Is the result of a command to be looked at? */
bool finite_wants(const ThreadState *ts, VarType type);
/** Note what a command reads, before it is submitted; or variables in memory. */
void finite_hold(FiniteInputs *inputs, const Command *command);
void finite_hold_vars(FiniteInputs *inputs, const VarId *ids, uint32_t count);
/** The result of what has read these is a variable: wait for it, and look; let go of
 *  them. The result can be 0. The lock is released meanwhile. */
void finite_check_result(ThreadState *ts, VarId result, FiniteInputs *inputs);

#endif
