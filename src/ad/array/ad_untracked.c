/*
 * ad_untracked.c -- see ad_untracked.h
 */
#include "ad/array/ad_untracked.h"

#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_rule.h"
#include "base/error.h"

bool ad_untracked_matters(VarId result, uint64_t target, bool *possible)
{
    const AdThread *own = thread_self.ad;
    if (!own || !own->open_count)
        return false;
    state_lock();
    bool matters = var_get(result)->type >= VarTypeFloat16 && ad_open_in_loop();
    *possible = !ad_scope_refuses() && ad_graph_is_plain(target);
    state_unlock();
    return matters;
}

bool ad_untracked_begin(VarId result, uint64_t *target, NodeId *before)
{
    *before = 0;
    if (!ad_open_in_order())
        return true;
    *before = ad_graph_new_for(result);
    TRY(*before && ad_scope_admit(*before), false);
    *target = (uint64_t) *before << 32 | ad_var_index(*target);
    return true;
}

void ad_untracked_mark(NodeId before)
{
    EdgeId e = before ? ad_graph_node(before)->out : 0;
    if (e)
        ad_graph_edge(e)->before = true;
    if (before)
        ad_graph_unref(before);
}
