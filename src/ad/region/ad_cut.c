/*
 * ad_cut.c -- see ad_cut.h
 */
#include "ad/region/ad_cut.h"

#include "ad/graph/ad_set.h"
#include "ad/rule/ad_operation.h"
#include "ad/rule/ad_rule.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

bool ad_cut_is_inside(const AdOpen *open, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    bool family = node->flags & NODE_INNER && ad_graph_family(id) == open->t->family;
    return (node->serial >= open->border || family) && !(node->flags & NODE_ENTRY);
}

enum {
    CUT_REACHED = 1, /* from the outputs, before anything is known */
    CUT_OUTSIDE = 2, /* a result of an operation on whole arrays, or before one */
    CUT_INSIDE = 4,  /* reached from the outputs, but not outside */
    CUT_ENTRY = 8    /* the template's own: those of regions around it are outside */
};

typedef struct Cut {
    AdOpen *open;
    AdSet set;      /* what has been met */
    uint8_t *marks; /* CUT_..., by place in the set */
    uint32_t mark_capacity;
    bool divided; /* what is outside is known */
    NodeId *stack;
    uint32_t depth, capacity;
    NodeId *whole; /* results of operations on whole arrays */
    uint32_t whole_count, whole_capacity;
} Cut;

static bool has_mark(const Cut *c, NodeId id, uint8_t mark)
{
    uint32_t place = ad_set_find(&c->set, id);
    return place != AD_SET_NONE && c->marks[place] & mark;
}

static bool set_mark(Cut *c, NodeId id, uint8_t mark)
{
    uint32_t before = c->set.count, place = ad_set_add(&c->set, id);
    TRY(place != AD_SET_NONE, false);
    if (c->set.count > before) {
        TRY(vec_reserve(&c->marks, &c->mark_capacity, c->set.count, sizeof(uint8_t)),
            false);
        c->marks[place] = 0;
    }
    c->marks[place] |= mark;
    return true;
}

static bool cut_push(Cut *c, uint8_t mark, NodeId id)
{
    return has_mark(c, id, mark) ||
           (set_mark(c, id, mark) && vec_push(&c->stack, &c->depth, &c->capacity, id));
}

static bool is_inner(const Cut *c, NodeId id)
{
    return ad_cut_is_inside(c->open, id) &&
           !(c->divided && has_mark(c, id, CUT_OUTSIDE));
}

static AdMovesKind moves_kind(const AdEdge *e)
{
    return ((const AdMoves *) (uintptr_t) e->held)->kind;
}

AdArrival ad_cut_arrival(const void *payload, uint32_t input)
{
    const AdEntry *entry = &((const AdTemplate *) payload)->entries[input];
    return !entry->array    ? ARRIVES_VALUE
           : entry->written ? ARRIVES_NEVER
                            : ARRIVES_ARRAY;
}

AdTemplate *ad_cut_region(const AdEdge *e)
{
    if (e->rule != RULE_INTO && e->rule != RULE_OUT_OF)
        return NULL;
    const AdOperation *op = ad_operation_of(e->held);
    return op->arrival == ad_cut_arrival ? op->payload : NULL;
}

/* How an operation accesses it; of a region, see ad_cut_arrival(). */
static AdArrival arrival_of(const AdEdge *e)
{
    const AdOperation *op = ad_operation_of(e->held);
    return op->arrival ? op->arrival(op->payload, e->port) : ARRIVES_VALUE;
}

bool ad_cut_is_before(const AdEdge *e)
{
    if (e->rule != RULE_INTO)
        return e->before;
    const AdTemplate *t = ad_cut_region(e);
    return t && arrival_of(e) != ARRIVES_VALUE && t->entries[e->port].before;
}

/* Is the target of an edge an array of this body? */
static bool is_array_of(const AdTemplate *t, NodeId target, uint32_t body)
{
    for (uint32_t i = 0; i < t->array_count; i++)
        if (t->arrays[i].node == target)
            return body == AD_CUT_ANY_BODY || t->arrays[i].body == body;
    return false;
}

/* Into a region in the body, which writes to it? */
static bool into_written(const AdTemplate *t, const AdEdge *e, uint32_t body)
{
    if (arrival_of(e) != ARRIVES_NEVER)
        return false;
    for (EdgeId o = ad_graph_node(e->target)->out; o; o = ad_graph_edge(o)->next_out)
        if (is_array_of(t, ad_graph_edge(o)->target, body))
            return true;
    return false;
}

bool ad_cut_is_written(const AdTemplate *t, NodeId entry, uint32_t body)
{
    for (EdgeId e = ad_graph_node(entry)->out; e; e = ad_graph_edge(e)->next_out) {
        const AdEdge *edge = ad_graph_edge(e);
        if (edge->rule == RULE_INTO ? into_written(t, edge, body)
                                    : is_array_of(t, edge->target, body))
            return true;
    }
    return false;
}

/* One entry that is read is a value of all lanes. */
static AdAccess access_of(const AdEdge *e)
{
    if (e->rule == RULE_INTO) {
        const AdArrival arrival = arrival_of(e);
        return arrival == ARRIVES_VALUE   ? ACCESS_VALUE
               : arrival == ARRIVES_NEVER ? ACCESS_WRITE
                                          : ACCESS_READ;
    }
    if (e->rule != RULE_MOVES || e->port != 0)
        return ACCESS_VALUE;
    if (moves_kind(e) == MOVES_WRITE)
        return ACCESS_WRITE;
    return moves_kind(e) == MOVES_READ && ad_graph_node(e->source)->size != 1
               ? ACCESS_READ
               : ACCESS_VALUE;
}

bool ad_cut_is_whole(NodeId id)
{
    EdgeId in = ad_graph_node(id)->in;
    const AdEdge *e = in ? ad_graph_edge(in) : NULL;
    return e && e->rule == RULE_MOVES && moves_kind(e) == MOVES_WHOLE;
}

/* Call 'visit' for each node of the bodies that can be reached. */
static bool cut_walk(Cut *c, uint8_t mark, bool (*visit)(Cut *c, NodeId id))
{
    while (c->depth) {
        NodeId id = c->stack[--c->depth];
        TRY(visit(c, id), false);
        for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
            NodeId source = ad_graph_edge(e)->source;
            if (is_inner(c, source) && !ad_cut_is_before(ad_graph_edge(e)))
                TRY(cut_push(c, mark, source), false);
        }
    }
    return true;
}

/* What an edge from an entry of the template comes from instead: a state that is
 * accessed by index is the array that it was before the loop. With 'before' there is
 * none that is tracked, and the edge is from what iterations write to it. 0: it
 * stays. */
static NodeId array_behind(const Cut *c, const AdEdge *edge, bool *before)
{
    if (access_of(edge) == ACCESS_VALUE)
        return 0;
    const AdTemplate *t = c->open->t;
    const AdEntry *entry = ad_template_entry_of(t, edge->source);
    if (!entry || !entry->state || t->kind != REGION_LOOP)
        return 0;
    *before = !entry->outer && t->states[entry->state - 1].array;
    return *before ? edge->source : entry->outer ? entry->outer_node : 0;
}

/* Edges that come from outside come from entries. */
static bool cut_edges(Cut *c, NodeId id)
{
    TRY(ad_graph_set_family(id, c->open->t->family), false);
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        NodeId outer = edge->source;
        bool before = ad_cut_is_before(edge);
        if (has_mark(c, outer, CUT_ENTRY))
            outer = array_behind(c, edge, &before);
        if (!outer || (is_inner(c, outer) && !before))
            continue;
        AdEntry *entry = ad_template_find_entry(c->open->t, outer, access_of(edge));
        TRY(entry, false);
        entry->before |= before;
        ad_graph_set_source(e, entry->node);
    }
    return true;
}

static bool push_roots(Cut *c, uint8_t mark)
{
    const AdTemplate *t = c->open->t;
    for (uint32_t i = 0; i < t->body_count; i++)
        for (uint32_t k = 0; k < t->n_out; k++) {
            NodeId id = ad_var_node(t->bodies[i].outputs[k]);
            if (id && is_inner(c, id))
                TRY(cut_push(c, mark, id), false);
        }
    for (uint32_t i = 0; i < t->array_count; i++)
        TRY(cut_push(c, mark, t->arrays[i].node), false);
    return true;
}

static bool note_whole(Cut *c, NodeId id)
{
    return !ad_cut_is_whole(id) ||
           vec_push(&c->whole, &c->whole_count, &c->whole_capacity, id);
}

/* It cannot depend on what differs from iteration to iteration, or call to call. */
static bool check_outside(Cut *c, NodeId id)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in)
        if (has_mark(c, ad_graph_edge(e)->source, CUT_ENTRY))
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "ad_var_loop_end(), ad_var_cond_end(), ad_var_call(): "
                             "region '%s': the derivative of an operation on whole "
                             "arrays in its body is not available",
                             c->open->t->name);
    return true;
}

/* Does an edge lead from here to what was walked? */
static bool is_used(const Cut *c, NodeId entry)
{
    for (EdgeId e = ad_graph_node(entry)->out; e; e = ad_graph_edge(e)->next_out)
        if (has_mark(c, ad_graph_edge(e)->target, CUT_INSIDE))
            return true;
    return false;
}

bool ad_cut(AdOpen *open)
{
    Cut c = { .open = open, .set = ad_set_begin() };
    bool ok = true;
    for (uint32_t i = 0; ok && i < open->t->entry_count; i++)
        ok = set_mark(&c, open->t->entries[i].node, CUT_ENTRY);
    ok = ok && push_roots(&c, CUT_REACHED) && cut_walk(&c, CUT_REACHED, note_whole);
    for (uint32_t i = 0; i < c.whole_count && ok; i++)
        ok = cut_push(&c, CUT_OUTSIDE, c.whole[i]) &&
             cut_walk(&c, CUT_OUTSIDE, check_outside);
    c.divided = true;
    ok = ok && push_roots(&c, CUT_INSIDE) && cut_walk(&c, CUT_INSIDE, cut_edges);
    for (uint32_t i = 0; ok && i < open->t->entry_count; i++)
        open->t->entries[i].used = is_used(&c, open->t->entries[i].node);
    alloc_free(c.stack);
    alloc_free(c.set.nodes);
    alloc_free(c.marks);
    alloc_free(c.whole);
    return ok;
}
