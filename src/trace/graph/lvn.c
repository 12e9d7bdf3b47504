/*
 * lvn.c -- see lvn.h
 */
#include "trace/graph/lvn.h"

#include "base/alloc.h"

enum { SMALLEST = 1024 };
#define LARGEST (1u << 31) /* twice as many would not be countable */

LvnTable lvn_table;

bool lvn_grow(void)
{
    if (lvn_table.capacity >= LARGEST)
        return false;
    uint32_t larger = lvn_table.capacity ? lvn_table.capacity * 2 : SMALLEST;
    VarId *heads = alloc_zero(larger, sizeof(VarId));
    if (!heads)
        return false;
    for (uint32_t i = 0; i < lvn_table.capacity; ++i) {
        for (VarId id = lvn_table.heads[i], next; id; id = next) {
            Var *v = var_get(id);
            VarId *head = &heads[v->hash & (larger - 1)];
            next = v->same_hash;
            v->same_hash = *head;
            *head = id;
        }
    }
    alloc_free(lvn_table.heads);
    lvn_table.heads = heads;
    lvn_table.capacity = larger;
    return true;
}

void lvn_free(void)
{
    if (lvn_table.count)
        return;
    alloc_free(lvn_table.heads);
    lvn_table = (LvnTable) { 0 };
}
