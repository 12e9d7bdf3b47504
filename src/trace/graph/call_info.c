/*
 * call_info.c -- see call_info.h
 */
#include "trace/graph/call_info.h"

#include <stdlib.h>

#include "base/alloc.h"

void call_info_free(CallInfo *info)
{
    if (!info)
        return;
    alloc_free(info->slots);
    alloc_free(info);
}

static int compare_slots(const void *a, const void *b)
{
    const CallSlot *x = a, *y = b;
    if (x->callable != y->callable)
        return x->callable < y->callable ? -1 : 1;
    return x->var < y->var ? -1 : x->var > y->var;
}

void call_info_sort(CallSlot *slots, uint32_t count)
{
    qsort(slots, count, sizeof(CallSlot), compare_slots);
}

const CallSlot *call_info_find(const CallInfo *info, uint32_t callable, VarId var)
{
    CallSlot key = { callable, var, 0 };
    if (!info->slot_count)
        return NULL;
    return bsearch(&key, info->slots, info->slot_count, sizeof(CallSlot),
                   compare_slots);
}

bool call_info_is_slot(const CallInfo *info, VarId var)
{
    for (uint32_t i = 0; i < info->slot_count; ++i)
        if (info->slots[i].var == var)
            return true;
    return false;
}
