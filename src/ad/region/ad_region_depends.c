/*
 * ad_region_depends.c -- see ad_region_depends.h
 *
 * Each node of the bodies has a set of entries that it depends on, which is that of its
 * sources, in the order in which they were made. States of a loop go round.
 */
#include "ad/region/ad_region_depends.h"

#include <stdlib.h>
#include <string.h>

#include "ad/graph/ad_set.h"
#include "ad/rule/ad_operation.h"
#include "base/alloc.h"

typedef struct Place {
    uint64_t serial;
    uint32_t place;
} Place;

typedef struct Bits {
    const AdTemplate *t;
    AdSet nodes;
    uint64_t *sets; /* of entries, by place of the node */
    Place *order;
    uint32_t words;
} Bits;

static int compare(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

/* All that outputs depend on, in order. */
static bool collect(Bits *b)
{
    const AdTemplate *t = b->t;
    for (uint32_t i = 0; i < t->body_count; i++)
        for (uint32_t k = 0; k < t->n_out; k++)
            TRY(ad_set_put(&b->nodes, ad_var_node(t->bodies[i].outputs[k])), false);
    for (uint32_t i = 0; i < t->entry_count; i++)
        TRY(ad_set_put(&b->nodes, t->entries[i].node), false);
    for (uint32_t i = 0; i < b->nodes.count; i++)
        for (EdgeId e = ad_graph_node(b->nodes.nodes[i])->in; e;
             e = ad_graph_edge(e)->next_in)
            TRY(ad_set_put(&b->nodes, ad_graph_edge(e)->source), false);
    TRY(b->order = alloc_get((b->nodes.count + 1) * sizeof(Place)), false);
    for (uint32_t i = 0; i < b->nodes.count; i++)
        b->order[i] = (Place){ ad_graph_node(b->nodes.nodes[i])->serial, i };
    qsort(b->order, b->nodes.count, sizeof(Place), compare);
    return true;
}

static uint64_t *set_of(const Bits *b, NodeId id)
{
    return b->sets + (size_t) ad_set_find(&b->nodes, id) * b->words;
}

static bool unite(uint64_t *to, const uint64_t *from, uint32_t words)
{
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < words; i++) {
        fresh |= from[i] & ~to[i];
        to[i] |= from[i];
    }
    return fresh != 0;
}

/* An operation in the body, by this output. */
static void unite_operation(const Bits *b, uint64_t *to, const AdEdge *by)
{
    const AdDepends *d = ad_operation_of(by->held)->depends;
    for (EdgeId e = ad_graph_node(by->source)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        if (ad_depends(d, by->port, edge->port))
            unite(to, set_of(b, edge->source), b->words);
    }
}

static bool find_sets(Bits *b)
{
    TRY(collect(b), false);
    b->sets = alloc_zero((size_t) b->nodes.count * b->words + 1, sizeof(uint64_t));
    TRY(b->sets, false);
    for (uint32_t i = 0; i < b->t->entry_count; i++)
        ad_depends_set(set_of(b, b->t->entries[i].node), i);
    for (uint32_t i = 0; i < b->nodes.count; i++) {
        NodeId id = b->nodes.nodes[b->order[i].place];
        uint64_t *own = set_of(b, id);
        for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
            const AdEdge *edge = ad_graph_edge(e);
            if (ad_graph_node(edge->source)->flags & NODE_OPERATION)
                unite_operation(b, own, edge);
            else
                unite(own, set_of(b, edge->source), b->words);
        }
    }
    return true;
}

/* Of output 'k' of all bodies. In lanes that never enter a loop, a state is what it was
 * before. */
static void find_output(const Bits *b, uint32_t k, uint64_t *row)
{
    const AdTemplate *t = b->t;
    for (uint32_t i = 0; i < t->body_count; i++)
        if (ad_var_node(t->bodies[i].outputs[k]))
            unite(row, set_of(b, ad_var_node(t->bodies[i].outputs[k])), b->words);
    if (t->kind == REGION_LOOP && t->states[k].entry)
        ad_depends_set(row, t->states[k].entry - 1);
}

/* What a state depends on, its result does an iteration later. */
static bool go_round(const AdTemplate *t, AdDepends *all)
{
    bool fresh = false;
    for (uint32_t k = 0; k < t->n_out; k++)
        for (uint32_t s = 0; s < t->state_count; s++)
            if (s != k && t->states[s].entry &&
                ad_depends(all, k, t->states[s].entry - 1))
                fresh |=
                    unite(ad_depends_row(all, k), ad_depends_row(all, s), all->words);
    return fresh;
}

/* The rows of results that are tracked. NULL: they are the same. */
static AdDepends *choose(const AdTemplate *t, AdDepends *all, AdDepends *chosen)
{
    bool differ = false;
    for (uint32_t i = 0; i < t->tracked_count; i++) {
        const uint64_t *row = ad_depends_row(all, t->tracked[i]);
        memcpy(ad_depends_row(chosen, i), row, all->words * sizeof(uint64_t));
        differ |=
            memcmp(row, ad_depends_row(chosen, 0), all->words * sizeof(uint64_t)) != 0;
    }
    if (differ)
        return chosen;
    alloc_free(chosen);
    return NULL;
}

AdDepends *ad_region_depends(const AdTemplate *t, bool *ok)
{
    *ok = true;
    if (t->tracked_count < 2 || t->array_count || t->family_array_count)
        return NULL;
    Bits b = { .t = t, .nodes = ad_set_begin(), .words = (t->entry_count + 63) / 64 };
    AdDepends *all = ad_depends_new(t->entry_count, t->n_out);
    AdDepends *chosen = ad_depends_new(t->entry_count, t->tracked_count);
    *ok = all && chosen && find_sets(&b);
    for (uint32_t k = 0; *ok && k < t->n_out; k++)
        find_output(&b, k, ad_depends_row(all, k));
    while (*ok && t->kind == REGION_LOOP && go_round(t, all))
        continue;
    if (*ok) {
        chosen = choose(t, all, chosen);
    } else {
        alloc_free(chosen);
        chosen = NULL;
    }
    alloc_free(all);
    alloc_free(b.nodes.nodes);
    alloc_free(b.sets);
    alloc_free(b.order);
    return chosen;
}
