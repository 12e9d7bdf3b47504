/*
 * call_merge.h -- callables that are the same, give or take values
 *
 * Callables that differ in literals, or in arrays of one entry that they read, become
 * one that reads these values from a table of words, at an offset that belongs to the
 * instance. Values that are the same in all of them stay what they are.
 *
 * A callable is compared with those before as soon as it is complete. If it is like one
 * of them, only its values are kept, so thousands of them take no more room than one.
 * This is put off (until 'settle') where variables of the body may still change: where
 * it has effects, or something in it can be evaluated while others are recorded.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_MERGE_H
#define TRACE_FLOW_CALL_MERGE_H

#include "trace/flow/call.h"

/** Add a callable that is complete: the call's outputs, the body's effects and scope.
 *  These references are taken over in any case. False: out of memory. */
bool call_merge_add(Call *call, RecordedBody *body);
/** Compare what has been put off, among the callables that are used. */
bool call_merge_settle(Call *call);
/** Make the table of the call's values. */
bool call_merge(ThreadState *ts, Call *call);
/** Have the body of each kind that is used read the table, and drop the others.
 *  'offset' stands for that of an instance's data in the callables. */
bool call_merge_apply(ThreadState *ts, Call *call, VarId offset);
/** Release what belongs to the comparison. */
void call_merge_free(Call *call);

/** What a callable has in the place of a variable that the body of its kind has, as far
 *  as this is a value or from outside. */
CallValue call_merge_value(const Call *call, const Callable *callable, VarId id);
static inline bool call_merge_same(const CallValue *a, const CallValue *b)
{
    return a->bits == b->bits && a->array == b->array;
}

/** A table of words with these literals and entries of arrays, each at its first word
 *  (0: none begins here). If there are arrays, it remembers the list (Extra.values). */
VarId call_merge_table(ThreadState *ts, uint8_t device, const VarIds *values);

#endif
