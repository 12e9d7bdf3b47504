/*
 * call_info.h -- what a region of kind CALL has beside its lists
 */
#ifndef TRACE_GRAPH_CALL_INFO_H
#define TRACE_GRAPH_CALL_INFO_H

#include <stdbool.h>

#include "trace/graph/var.h"

/** A variable that stands for a value in the table. */
typedef struct CallSlot {
    uint32_t callable;
    VarId var;
    uint32_t word; /* relative to the instance's offset */
} CallSlot;

/** What a region of kind CALL has beside its lists (owned by the region). */
typedef struct CallInfo {
    CallSlot *slots;       /* by callable and variable */
    uint32_t slot_count;
    uint32_t offset_state; /* STATE that is the offset, if there are slots */
} CallInfo;

void call_info_free(CallInfo *info);
/** Put slots into the order that call_info_find() needs. */
void call_info_sort(CallSlot *slots, uint32_t count);
/** NULL if this variable is itself in this callable. */
const CallSlot *call_info_find(const CallInfo *info, uint32_t callable, VarId var);
/** Is it a slot in any callable? */
bool call_info_is_slot(const CallInfo *info, VarId var);

#endif
