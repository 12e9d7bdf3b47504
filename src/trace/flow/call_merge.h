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

/** A variable of the first callable of a group that stands for a value in the table. */
typedef struct CallSlot {
    VarId var;
    uint32_t word; /* relative to the callable's offset */
} CallSlot;

/** Callables that become one. */
typedef struct CallGroup {
    uint32_t leader;                 /* the first of them, which stands for all */
    uint32_t first_slot, slot_count; /* in CallGroups.slots */
    uint32_t words;                  /* that each callable has in the table */
} CallGroup;

/** All arrays are owned. */
typedef struct CallGroups {
    CallGroup *group;
    uint32_t count;
    uint32_t *group_of; /* callable -> group */
    uint32_t *offset;   /* callable -> first word of its values */
    CallSlot *slots;
    uint32_t slot_count, slot_capacity;
    uint32_t words;     /* of the table, 0: none is needed */
    uint32_t *table;    /* contents; words of arrays are 0 for now */
    ExtraSource *sources; /* arrays whose entry goes to the table; borrowed */
    uint32_t source_count, source_capacity;
} CallGroups;

/** Group the callables of a call; without 'merge', each is on its own. */
bool call_merge(const Call *call, bool merge, CallGroups *groups);
void call_merge_free(CallGroups *groups);

#endif
