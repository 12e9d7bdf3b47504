/*
 * call_merge.h -- callables that are the same, give or take values
 *
 * Callables that differ in literals, or in arrays of one entry that they read, become
 * one that reads these values from a table of words, at an offset that belongs to the
 * instance. Values that are the same in all of them stay what they are.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_MERGE_H
#define TRACE_FLOW_CALL_MERGE_H

#include "trace/flow/call.h"

/** Find callables that are the same, among those that are used, and make the table of a
 *  call; without 'merge', there are none. */
bool call_merge(ThreadState *ts, Call *call, bool merge);
/** Have the first callable of each kind read the table, and drop the others. 'offset'
 *  stands for that of an instance in the callables. */
bool call_merge_apply(ThreadState *ts, Call *call, VarId offset);

/** A table of words with these literals and entries of arrays, each at its first word
 *  (0: none begins here). If there are arrays, it remembers the list (Extra.values). */
VarId call_merge_table(ThreadState *ts, uint8_t device, const VarIds *values);

#endif
