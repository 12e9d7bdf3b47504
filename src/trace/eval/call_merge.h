/*
 * call_merge.h -- callables that are the same, give or take values
 *
 * Callables whose Programs differ in literals, or in arrays of one entry that they
 * read, become one that reads these values from a table of words, at an offset that
 * belongs to the instance. Values that are the same in all of them stay what they are.
 */
#ifndef TRACE_EVAL_CALL_MERGE_H
#define TRACE_EVAL_CALL_MERGE_H

#include "trace/eval/assemble_call.h"
#include "trace/graph/call_info.h"
#include "trace/graph/node.h"

/** Which callables become one. All arrays are owned. */
typedef struct CallGroups {
    uint32_t count;
    uint32_t *group_of;   /* callable -> group */
    uint32_t *leader;     /* group -> the callable that stands for it */
    uint32_t *offset;     /* callable -> first word of its values */
    CallSlot *slots;      /* 'callable' is a group here */
    uint32_t slot_count, slot_capacity;
    uint32_t words;       /* of the table, 0: none is needed */
    uint32_t *table;      /* contents; words of arrays are 0 for now */
    struct CallCopy {
        VarId var;
        uint32_t word;
    } *copies;            /* entries of arrays that go to the table */
    uint32_t copy_count, copy_capacity;
} CallGroups;

/** Group the callables of a preview as described above. */
bool call_merge_groups(const struct CallPreview *preview, CallGroups *groups);
/** Each of so many callables is on its own. */
bool call_merge_none(uint32_t count, CallGroups *groups);
void call_merge_free(CallGroups *groups);

#endif
