/*
 * call_merge.h -- callables that are the same, give or take values
 *
 * Callables that differ in literals, or in arrays of one entry that they read, become
 * one that reads these values from a table of words, at an offset that belongs to the
 * instance. Values that are the same in all of them stay what they are.
 *
 *     call_merge()         finds callables that are the same, and makes the table
 *     call_merge_apply()   has one callable of each kind read it and drops the others
 *
 * Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_MERGE_H
#define TRACE_FLOW_CALL_MERGE_H

#include "trace/flow/call.h"

/** A callable, and what it has in common with others. */
typedef struct CallMember {
    bool used;       /* an instance has it (the caller's to set) */
    uint32_t leader; /* the first callable of its kind, which stands for all */
    uint32_t number; /* of its kind */
    uint32_t offset; /* of its values in the table */
    uint32_t *words; /* what it computes, but for the values */
    VarIds values;   /* borrowed; each once */
    uint32_t *place; /* leader: 1 + word of a value behind the offset; 0: all members
                        have the same */
    uint32_t word_count, word_capacity;
    uint32_t size;   /* words of it in the table */
} CallMember;

typedef struct CallMerge {
    ThreadState *ts;
    Call *call;
    CallMember *members; /* one for each callable that was recorded */
    uint32_t count, kinds;
    VarIds values;       /* in the table, each at its first word; borrowed */
    VarId table, data;   /* the table and a pointer to it; owned; 0: none is needed */
} CallMerge;

/** Begin with all callables of a call, which outlives the merge; none is used yet.
 *  False: memory is out, nothing has to be released. */
bool call_merge_begin(CallMerge *m, ThreadState *ts, Call *call);
/** Find those that are the same; without 'merge', there are none. */
bool call_merge(CallMerge *m, bool merge);
/** Leave one callable of each kind in the call. 'offset' stands for that of an instance
 *  in the callables. */
bool call_merge_apply(CallMerge *m, VarId offset);
void call_merge_end(CallMerge *m);

/** A table of words with these literals and entries of arrays, each at its first word
 *  (0: none begins here). If there are arrays, it remembers the list (Extra.values). */
VarId call_merge_table(ThreadState *ts, JitBackend backend, const VarIds *values);

#endif
