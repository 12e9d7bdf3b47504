/*
 * ad_active.c -- see ad_active.h
 *
 * A walk from what is tracked outside, along edges, into regions by their entries and
 * out by their outputs, and round with the states of loops, until nothing is new. Then
 * one back from the outputs drops the edges that come from what was not reached.
 *
 * Results of a region do not all depend on all that it is given, so its operation is no
 * node like others: the walk goes through its template. One of a derivative may share
 * nodes with that of another region, and then it is as if both had been reached.
 */
#include "ad/region/ad_active.h"

#include "ad/graph/ad_set.h"
#include "ad/region/ad_cut.h"
#include "ad/rule/ad_operation.h"
#include "ad/rule/ad_rule.h"
#include "base/alloc.h"
#include "base/vec.h"

typedef struct Reach {
    AdTemplate *t;
    AdSet seen;
    uint32_t walked; /* of them */
    NodeId *inner;   /* operations that are regions in the body, and were reached */
    uint32_t inner_count, inner_capacity;
    uint8_t *kept; /* by place in the set: the walk back has come by */
    NodeId *stack; /* ... and is to go on from here */
    uint32_t depth, capacity;
} Reach;

static bool reached(const Reach *r, NodeId id)
{
    return ad_set_has(&r->seen, id);
}

static bool reach_push(Reach *r, NodeId id)
{
    return ad_set_put(&r->seen, id);
}

/* ---------------------------------------------------------------- regions */

/* The template of an operation; NULL: it is not that of a region. */
static AdTemplate *template_at(NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    bool is_operation = node->flags & NODE_OPERATION && node->in;
    return is_operation ? ad_cut_region(ad_graph_edge(node->in)) : NULL;
}

/* The entry of a loop's state that changes; 0: it has none. */
static NodeId carried_entry(const AdTemplate *t, uint32_t k)
{
    const AdState *s = t->kind == REGION_LOOP ? &t->states[k] : NULL;
    return s && s->entry && s->changes ? t->entries[s->entry - 1].node : 0;
}

/* Does this output of a region depend on what was reached? In lanes that never enter a
 * loop, a state is what it was before. */
static bool output_reached(const Reach *r, const AdTemplate *t, uint32_t port)
{
    if (port >= t->tracked_count)
        return reached(r, t->arrays[port - t->tracked_count].node);
    uint32_t k = t->tracked[port];
    NodeId entry = carried_entry(t, k);
    bool found = entry && reached(r, entry);
    for (uint32_t i = 0; i < t->body_count && !found; i++) {
        NodeId output = ad_var_node(t->bodies[i].outputs[k]);
        found = output && reached(r, output);
    }
    return found;
}

/* ---------------------------------------------------------------- there */

static bool reach_all(Reach *r)
{
    while (r->walked < r->seen.count) {
        NodeId id = r->seen.nodes[r->walked++];
        if (template_at(id)) {
            TRY(vec_push(&r->inner, &r->inner_count, &r->inner_capacity, id), false);
            continue;
        }
        for (EdgeId e = ad_graph_node(id)->out; e; e = ad_graph_edge(e)->next_out) {
            const AdEdge *edge = ad_graph_edge(e);
            const AdTemplate *into = ad_cut_region(edge);
            TRY(!into || reach_push(r, into->entries[edge->port].node), false);
            TRY(reach_push(r, edge->target), false);
        }
    }
    return true;
}

/* States that are reached begin the next iteration so. */
static bool reach_states(Reach *r, const AdTemplate *t)
{
    for (uint32_t k = 0; k < t->state_count; k++) {
        NodeId entry = carried_entry(t, k);
        NodeId output = entry ? ad_var_node(t->bodies[0].outputs[k]) : 0;
        if (output && reached(r, output))
            TRY(reach_push(r, entry), false);
    }
    return true;
}

/* Where an array that was reached is written to, so is what it was before: the next
 * iteration begins with it. If a region in the body has written to it, that is to be
 * looked for in there. */
static bool reach_before_edge(Reach *r, const AdEdge *edge)
{
    const AdTemplate *inner = edge->rule == RULE_OUT_OF ? ad_cut_region(edge) : NULL;
    if (inner && edge->port >= inner->tracked_count)
        return reach_push(r, edge->source) &&
               reach_push(r, inner->arrays[edge->port - inner->tracked_count].node);
    return edge->rule != RULE_MOVES || edge->port != 0 || reach_push(r, edge->source);
}

static bool reach_before(Reach *r, const AdTemplate *t)
{
    for (uint32_t i = 0; i < t->array_count; i++) {
        NodeId node = t->arrays[i].node;
        EdgeId e = reached(r, node) ? ad_graph_node(node)->in : 0;
        for (; e; e = ad_graph_edge(e)->next_in)
            TRY(reach_before_edge(r, ad_graph_edge(e)), false);
    }
    return true;
}

/* The same for what a region in the body is given. */
static bool reach_written(Reach *r, NodeId id, const AdTemplate *t)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEntry *entry = &t->entries[ad_graph_edge(e)->port];
        if (entry->written && reached(r, entry->node))
            TRY(reach_push(r, ad_graph_edge(e)->source), false);
    }
    return true;
}

static bool reach_outputs(Reach *r, NodeId id)
{
    const AdTemplate *t = template_at(id);
    for (EdgeId e = ad_graph_node(id)->out; e; e = ad_graph_edge(e)->next_out) {
        const AdEdge *edge = ad_graph_edge(e);
        if (!reached(r, edge->target) && output_reached(r, t, edge->port))
            TRY(reach_push(r, edge->target), false);
    }
    return reach_states(r, t) && reach_before(r, t) && reach_written(r, id, t);
}

/* What iterations before have written to an array is tracked for all that one knows, if
 * there is a loop around: that one finds out. */
static bool is_tracked(const AdEntry *entry)
{
    bool written = entry->access == ACCESS_WRITE && ad_open_in_loop();
    return entry->outer && (!entry->before || written);
}

static bool reach(Reach *r)
{
    const AdTemplate *t = r->t;
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (is_tracked(&t->entries[i]))
            TRY(reach_push(r, t->entries[i].node), false);
    while (r->walked < r->seen.count) {
        TRY(reach_all(r) && reach_states(r, t) && reach_before(r, t), false);
        for (uint32_t i = 0; i < r->inner_count; i++)
            TRY(reach_outputs(r, r->inner[i]), false);
    }
    return true;
}

/* ---------------------------------------------------------------- and back */

static bool keep(Reach *r, NodeId id)
{
    uint8_t *kept = &r->kept[ad_set_find(&r->seen, id)];
    if (*kept)
        return true;
    *kept = true;
    return vec_push(&r->stack, &r->depth, &r->capacity, id);
}

/* Go back from outputs and arrays that were reached. Others are plain. */
static bool keep_ends(Reach *r, AdTemplate *t)
{
    for (uint32_t i = 0; i < t->body_count; i++)
        for (uint32_t k = 0; k < t->n_out; k++) {
            uint64_t *output = &t->bodies[i].outputs[k];
            NodeId node = ad_var_node(*output);
            if (node && reached(r, node)) {
                TRY(keep(r, node), false);
            } else if (node) {
                *output = ad_var_index(*output);
                ad_graph_unref(node);
            }
        }
    for (uint32_t i = 0; i < t->array_count; i++) {
        NodeId node = t->arrays[i].node;
        if (reached(r, node))
            TRY(keep(r, node), false);
        while (!reached(r, node) && ad_graph_node(node)->in)
            ad_graph_drop_edge(ad_graph_node(node)->in);
    }
    for (uint32_t k = 0; k < t->state_count; k++) {
        AdState *s = &t->states[k];
        s->active = s->entry && reached(r, t->entries[s->entry - 1].node);
    }
    return true;
}

/* A region in the body: what it is given that was not reached is not tracked. Where its
 * bodies are part of another one, which may be given something else, they stay. */
static bool keep_region(Reach *r, AdTemplate *t, NodeId id)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        if (reached(r, edge->source))
            continue;
        AdEntry *entry = &t->entries[edge->port];
        entry->outer = 0;
        entry->outer_node = 0;
    }
    return t->block || keep_ends(r, t);
}

static bool keep_reached(Reach *r)
{
    TRY(r->kept = alloc_zero(r->seen.count + 1, sizeof(uint8_t)), false);
    TRY(keep_ends(r, r->t), false);
    while (r->depth) {
        NodeId id = r->stack[--r->depth];
        AdTemplate *t = template_at(id);
        TRY(!t || keep_region(r, t, id), false);
        ad_graph_keep_edges(id, &r->seen);
        for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in)
            TRY(keep(r, ad_graph_edge(e)->source), false);
    }
    return true;
}

bool ad_active_keep(AdTemplate *t)
{
    Reach r = { .t = t, .seen = ad_set_begin() };
    bool ok = reach(&r) && keep_reached(&r);
    alloc_free(r.seen.nodes);
    alloc_free(r.inner);
    alloc_free(r.kept);
    alloc_free(r.stack);
    return ok;
}
