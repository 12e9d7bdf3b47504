/*
 * distance.c -- see distance.h
 */
#include "trace/graph/distance.h"

#include "base/error.h"

enum { MOST_DEPTH = 8, MOST = 1 << 24 /* of what is noted */ };

static bool is_index(const Var *v)
{
    return (v->type == VarTypeUInt32 || v->type == VarTypeInt32) && var_lanes(v) > 1;
}

/* Is it x and a number, of as many entries as x? */
static bool is_sum(const Var *v, VarId *x, uint32_t *number)
{
    for (uint32_t k = v->op == OP_SUB; k < 2; ++k) {
        const Var *literal = var_get(v->dep[k]);
        *x = v->dep[1 - k];
        *number = (uint32_t) literal->value.literal;
        if (literal->op == OP_LITERAL && var_lanes_of(*x) == var_lanes(v))
            return true;
    }
    return false;
}

bool distance_find(VarId id, Distance *found)
{
    *found = (Distance) { 0 };
    for (uint32_t depth = 0; depth < MOST_DEPTH && is_index(var_get(id)); ++depth) {
        const Var *v = var_get(id);
        uint32_t number = 0;
        switch (v->op) {
        case OP_COUNTER:
            return true;
        case OP_EVALUATED:
            found->number += distance_of(v->aux);
            found->array = id;
            return v->aux != 0;
        case OP_ADD:
        case OP_SUB:
            TRY(is_sum(v, &id, &number), false);
            found->number += v->op == OP_ADD ? number : 0 - number;
            break;
        case OP_BITCAST:
        case OP_CAST:
            id = v->dep[0];
            break;
        default:
            return false;
        }
    }
    return false;
}

/* The lowest bit says that there is a note. While a function is recorded, an array may
 * be an input, of which nothing is known. */
uint32_t distance_note(VarId id)
{
    Distance d;
    TRY(is_index(var_get(id)) && distance_find(id, &d), 0);
    const int32_t number = (int32_t) d.number;
    if ((d.array && var_table.recordings) || number <= -MOST || number >= MOST)
        return 0;
    return d.number << 1 | 1;
}
