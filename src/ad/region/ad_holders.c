/*
 * ad_holders.c -- variables that the graph of derivatives holds; see
 * trace/graph/holders.h
 *
 * Gradients of nodes, and what edges hold. Several edges may share what they hold,
 * which is counted once: meanwhile, the highest bit of its count says that it has been.
 * What custom operations of users hold is not known here: it is held by the user.
 */
#include "ad/region/ad_holders.h"

#include "ad/region/ad_cut.h"
#include "ad/rule/ad_rule.h"

#define COUNTED (UINT32_C(1) << 31)

static void add_leaves(Holders *h, const uint64_t *leaves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        holders_add(h, ad_var_index(leaves[i]));
}

/* As template_free() lets go of them. */
static void add_template(Holders *h, const AdTemplate *t)
{
    for (uint32_t i = 0; i < t->body_count; i++) {
        const AdBodyTemplate *body = &t->bodies[i];
        if (body->outputs != t->untracked)
            add_leaves(h, body->outputs, t->n_out);
        holders_add(h, body->active);
    }
    for (uint32_t k = 0; k < t->state_count; k++) {
        holders_add(h, t->states[k].placeholder);
        holders_add(h, t->states[k].initial);
    }
    const VarId others[] = { t->condition, t->mask, t->around, t->testing };
    holders_add_all(h, others, sizeof(others) / sizeof(others[0]));
    holders_add_all(h, t->inputs.ids, t->inputs.count);
    holders_add_all(h, t->placeholders.ids, t->placeholders.count);
}

static void add_operation(Holders *h, const AdOperation *op)
{
    add_leaves(h, op->in, op->n_in);
    add_leaves(h, op->out, op->n_out);
    add_leaves(h, op->leaves, op->leaf_count);
    if (op->arrival == ad_cut_arrival && op->payload)
        add_template(h, op->payload);
}

static void add_several(Holders *h, const AdEdge *edge)
{
    AdHeld *held = (AdHeld *) (uintptr_t) edge->held;
    if (held->count & COUNTED)
        return;
    add_leaves(h, held->leaves, held->count);
    if (edge->rule == RULE_INTO || edge->rule == RULE_OUT_OF)
        add_operation(h, ad_operation_of(edge->held));
    held->count |= COUNTED;
}

void ad_holders_add(Holders *h)
{
    for (NodeId id = 1; id < ad_graph_node_end; id++)
        if (ad_graph_has_node(id))
            holders_add(h, ad_var_index(ad_graph_node(id)->grad));
    for (EdgeId id = 1; id < ad_graph_edge_end; id++) {
        const AdEdge *edge = ad_graph_edge(id);
        if (!ad_graph_has_edge(id))
            continue;
        if (ad_graph_holds_several(edge->rule))
            add_several(h, edge);
        else
            holders_add(h, ad_var_index(edge->held));
    }
    for (EdgeId id = 1; id < ad_graph_edge_end; id++)
        if (ad_graph_has_edge(id) && ad_graph_holds_several(ad_graph_edge(id)->rule))
            ((AdHeld *) (uintptr_t) ad_graph_edge(id)->held)->count &= ~COUNTED;
}
