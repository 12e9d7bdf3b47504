/*
 * spent.h -- what nobody needs any more once a group has been evaluated
 *
 * A variable is spent if all references to it are those of roots of the group, which
 * let go of their operands, and of other variables that are spent. It is safe to leave
 * one out that is: where a region refers to a variable, that is not spent.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_EVAL_SPENT_H
#define TRACE_EVAL_SPENT_H

#include "trace/eval/schedule.h"
#include "trace/graph/marks.h"

/** Of all variables below the roots, how many references go away; marks_return() takes
 *  them back. NULL: out of memory. */
Marks *spent_count(const Group *group);
static inline bool spent_is(const Marks *counts, VarId id)
{
    return marks_get(counts, id) == var_get(id)->refs;
}

#endif
