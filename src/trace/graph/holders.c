/*
 * holders.c -- see holders.h
 */
#include "trace/graph/holders.h"

#include "trace/graph/state.h"

void (*holders_of_derivatives)(Holders *h);

void holders_add_operands(Holders *h, const Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    holders_add_all(h, ids, count);
    const Extra *extra = extra_find(v);
    if (!extra)
        return;
    holders_add(h, extra->expanded);
    holders_add_all(h, extra->values.ids, extra->values.count);
}

void holders_add_queues(Holders *h)
{
    for (const ThreadState *ts = state.threads; ts; ts = ts->next) {
        holders_add_all(h, ts->scheduled, ts->scheduled_count);
        holders_add_all(h, ts->effects, ts->effect_count);
        holders_add_all(h, ts->masks, ts->mask_count);
    }
    if (holders_of_derivatives)
        holders_of_derivatives(h);
}
