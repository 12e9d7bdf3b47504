/*
 * ad_untracked.c -- see ad_untracked.h
 */
#include "ad/array/ad_untracked.h"

#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_rule.h"
#include "base/error.h"

bool ad_untracked_matters(VarId result)
{
    const AdThread *own = thread_self.ad;
    if (!own || !own->open_count)
        return false;
    state_lock();
    bool matters = var_get(result)->type >= VarTypeFloat16 && ad_open_in_loop();
    state_unlock();
    return matters;
}

/* Have all writes to the array that were noted a place in the bodies that are open? */
static bool have_place(const AdThread *own, VarId variable)
{
    for (uint32_t i = 0; i < own->open_count; i++) {
        const AdOpen *open = &own->open[i];
        for (uint32_t k = 0; k < open->untracked_count; k++) {
            const AdUntracked *write = &open->untracked[k];
            bool here = write->body == open->body || open->straight;
            if (write->variable == variable && !(write->held && here))
                return false;
        }
    }
    return true;
}

/* A node for an array; 0: memory is out. */
static NodeId array_node(VarId array)
{
    const Var *v = var_get(array);
    return ad_graph_new_node(var_device(v)->backend, (VarType) v->type, v->size);
}

void ad_untracked_mark(NodeId before)
{
    EdgeId e = before ? ad_graph_node(before)->out : 0;
    if (e)
        ad_graph_edge(e)->slot = MOVES_BEFORE;
    if (before)
        ad_graph_unref(before);
}

/* The node of a write gets an edge from what was there before. */
static bool follow(AdUntracked *write, NodeId node, NodeId last)
{
    NodeId before = last ? 0 : array_node(write->variable);
    AdHeld *held = write->held;
    write->held = NULL;
    if (!last && !before) {
        ad_graph_drop_held(held);
        return false;
    }
    if (before)
        ad_graph_node(before)->serial = write->serial - 2;
    bool ok = ad_graph_new_edge(before ? before : last, node, RULE_MOVES, 0, 0,
                                (uintptr_t) held);
    ad_untracked_mark(before);
    return ok;
}

/* A write becomes part of the graph, behind '*last' (0: it is the first one), whose
 * place it takes. */
static bool track_write(AdOpen *open, AdUntracked *write, NodeId *last)
{
    NodeId node = array_node(write->variable);
    TRY(node, false);
    ad_graph_node(node)->serial = write->serial;
    const VarId variable = write->variable;
    bool ok = ad_scope_admit(node) && follow(write, node, *last) &&
              ad_open_add_write(open, (uint64_t) node << 32 | variable);
    write->variable = 0;
    *last = node;
    ad_graph_unref(node); /* the list holds it */
    return ok;
}

bool ad_untracked_find(VarId result, uint64_t *target, NodeId *before)
{
    AdThread *own = thread_self.ad;
    const VarId variable = ad_var_index(*target);
    NodeId last = 0;
    *before = 0;
    if (!ad_open_in_loop())
        return true;
    bool placed = have_place(own, variable);
    for (uint32_t i = 0; placed && i < own->open_count; i++) {
        AdOpen *open = &own->open[i];
        for (uint32_t k = 0; k < open->untracked_count; k++)
            if (open->untracked[k].variable == variable)
                TRY(track_write(open, &open->untracked[k], &last), false);
    }
    if (!last) {
        TRY(*before = array_node(result), false);
        if (!ad_scope_admit(*before))
            return false;
    }
    *target |= (uint64_t) (last ? last : *before) << 32;
    return true;
}
