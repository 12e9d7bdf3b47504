/*
 * ad_reach.c -- which inputs results depend on, whether on more than these, or on what
 * has a gradient
 */
#include "ad/graph/ad_hooks.h"
#include "ad/graph/ad_set.h"
#include "base/alloc.h"
#include "base/error.h"

static uint64_t serial_of(uint64_t leaf)
{
    return ad_graph_node(ad_var_node(leaf))->serial;
}

/* Inputs are the first nodes of the set. Which is the oldest? False: out of memory. */
static bool list_inputs(AdSet *s, size_t n, const uint64_t *inputs, uint64_t *oldest)
{
    *oldest = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        TRY(ad_set_put(s, ad_var_node(inputs[i])), false);
        if (ad_var_node(inputs[i]) && serial_of(inputs[i]) < *oldest)
            *oldest = serial_of(inputs[i]);
    }
    return true;
}

/* Is there a source among the edges that lead to a node which is older? The others are
 * listed. -1: out of memory. */
static int follow(AdSet *s, NodeId id, uint64_t oldest)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        NodeId source = ad_graph_edge(e)->source;
        if (ad_graph_node(source)->serial < oldest)
            return 1;
        TRY(ad_set_put(s, source), -1);
    }
    return 0;
}

static int depends(AdSet *s, size_t n_results, const uint64_t *results, size_t n_inputs,
                   const uint64_t *inputs)
{
    uint64_t oldest;
    TRY(list_inputs(s, n_inputs, inputs, &oldest), -1);
    uint32_t known = s->count;
    for (size_t i = 0; i < n_results; ++i) {
        TRY(ad_set_put(s, ad_var_node(results[i])), -1);
        if (ad_var_node(results[i]) && serial_of(results[i]) < oldest)
            return 1;
    }
    int found = 0;
    for (uint32_t i = known; !found && i < s->count; ++i)
        found = follow(s, s->nodes[i], oldest);
    return found;
}

int ad_depends_beyond(size_t n_results, const uint64_t *results, size_t n_inputs,
                      const uint64_t *inputs)
{
    state_lock();
    AdSet s = ad_set_begin();
    int found = depends(&s, n_results, results, n_inputs, inputs);
    state_unlock();
    alloc_free(s.nodes);
    return found;
}

/* What a walk from results has met: the first 'known' nodes in the set are inputs. */
typedef struct Reached {
    AdSet *set;
    uint32_t known;
    uint64_t oldest;
    bool *met;
    AdEdges through; /* of an operation */
} Reached;

static bool mark_node(Reached *m, NodeId id)
{
    if (ad_graph_node(id)->serial < m->oldest)
        return true;
    uint32_t place = ad_set_add(m->set, id);
    TRY(place != AD_SET_NONE, false);
    if (place < m->known)
        m->met[place] = true;
    return true;
}

/* The source of an edge, or what the result depends on by this operation. */
static bool mark_behind(Reached *m, const AdEdge *e)
{
    bool known = false;
    m->through.count = 0;
    if (ad_graph_node(e->source)->flags & NODE_OPERATION)
        TRY(ad_hooks.go_through(e, false, m->set->turn, &m->through, &known), false);
    if (!known)
        return mark_node(m, e->source);
    for (uint32_t i = 0; i < m->through.count; i++)
        TRY(mark_node(m, ad_graph_edge(m->through.edges[i])->source), false);
    return true;
}

static bool mark(AdSet *s, uint32_t known, uint64_t oldest, bool *met)
{
    Reached m = { .set = s, .known = known, .oldest = oldest, .met = met };
    bool ok = true;
    for (uint32_t i = known; ok && i < s->count; i++)
        for (EdgeId e = ad_graph_node(s->nodes[i])->in; ok && e;
             e = ad_graph_edge(e)->next_in)
            ok = mark_behind(&m, ad_graph_edge(e));
    alloc_free(m.through.edges);
    return ok;
}

bool ad_reached(size_t n_results, const uint64_t *results, size_t n_inputs,
                const uint64_t *inputs, bool *reached)
{
    bool *met = alloc_zero(n_inputs + 1, sizeof(*met));
    TRY(met, false);
    state_lock();
    AdSet s = ad_set_begin();
    uint64_t oldest;
    bool ok = list_inputs(&s, n_inputs, inputs, &oldest);
    uint32_t known = s.count;
    for (size_t i = 0; ok && i < n_results; i++)
        ok = ad_set_put(&s, ad_var_node(results[i]));
    ok = ok && mark(&s, known, oldest, met);
    for (size_t i = 0; ok && i < n_inputs; i++)
        reached[i] =
            ad_var_node(inputs[i]) && met[ad_set_add(&s, ad_var_node(inputs[i]))];
    state_unlock();
    alloc_free(s.nodes);
    alloc_free(met);
    return ok;
}

/* List what a node depends on. 1: there is a gradient; -1: out of memory. */
static int look_behind(AdSet *s, NodeId id)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        NodeId source = ad_graph_edge(e)->source;
        if (ad_graph_node(source)->grad)
            return 1;
        TRY(ad_set_put(s, source), -1);
    }
    return 0;
}

int ad_has_grad_behind(size_t n, const uint64_t *indices)
{
    state_lock();
    AdSet s = ad_set_begin();
    int found = 0;
    for (size_t i = 0; !found && i < n; i++)
        found = ad_set_put(&s, ad_var_node(indices[i])) ? 0 : -1;
    for (uint32_t i = 0; !found && i < s.count; i++)
        found = look_behind(&s, s.nodes[i]);
    state_unlock();
    alloc_free(s.nodes);
    return found;
}
