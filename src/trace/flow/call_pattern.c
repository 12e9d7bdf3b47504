/*
 * call_pattern.c -- see call_pattern.h
 */
#include "trace/flow/call_pattern.h"

#include <string.h>

#include "base/error.h"

CallPattern *call_pattern_new(Arena *arena, uint32_t count, const uint32_t *numbers,
                              uint32_t number_count)
{
    CallPattern *p =
        arena_get(arena, sizeof(CallPattern) + count * sizeof(CallNode) +
                             ((size_t) number_count + count) * sizeof(uint32_t));
    TRY(p, NULL);
    p->count = count;
    p->outputs = 0;
    p->nodes = (CallNode *) (p + 1);
    p->numbers = (uint32_t *) (p->nodes + count);
    p->own = p->numbers + number_count;
    memcpy(p->numbers, numbers, number_count * sizeof(uint32_t));
    return p;
}

/* Put variables in the places of nodes. */
static inline bool place(CallPattern *p, uint32_t first, const VarId *ids,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t number = p->numbers[first + i];
        if (number >= p->count) { /* none */
            if (ids[i])
                return false;
            continue;
        }
        if (p->own[number] && p->own[number] != ids[i])
            return false;
        p->own[number] = ids[i];
    }
    return true;
}

/* The same operation, in a callable? Its operands are put in place. */
static inline bool fits_operation(CallPattern *p, const CallNode *node, uint32_t scope,
                                  const Var *v)
{
    static const uint64_t flags = UINT64_C(0xff) << 24;
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    return ((v->head ^ var_get(node->id)->head) & ~flags) == 0 && v->scope >= scope &&
           v->flags & VAR_SYMBOLIC && count == node->count &&
           place(p, node->operands, ids, count);
}

static inline bool fits_value(const Var *v, const Var *like)
{
    return call_is_value(v) && v->type == like->type && var_lanes(v) == var_lanes(like);
}

bool call_pattern_fits(CallPattern *p, uint32_t scope, const VarIds *outputs)
{
    memset(p->own, 0, p->count * sizeof(VarId));
    TRY(place(p, p->outputs, outputs->ids, outputs->count), false);
    for (uint32_t i = p->count; i--;) {
        const CallNode *node = &p->nodes[i];
        VarId own = p->own[i];
        TRY(own, false);
        if (node->kind == CALL_NODE_OPERATION)
            TRY(fits_operation(p, node, scope, var_get(own)), false);
        else if (node->kind == CALL_NODE_VALUE)
            TRY(fits_value(var_get(own), var_get(node->id)), false);
        else
            TRY(own == node->id, false);
    }
    return true;
}
