/*
 * ad_cut.c -- see ad_cut.h
 */
#include "ad/ad_cut.h"

#include "ad/ad_operation.h"
#include "ad/ad_rule.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

bool ad_cut_is_inside(const AdOpen *open, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    bool family = node->flags & NODE_INNER && node->label == open->t->family;
    return (node->serial >= open->border || family) && !(node->flags & NODE_ENTRY);
}

typedef struct Cut {
    AdOpen *open;
    NodeId *stack;
    uint32_t depth, capacity;
    uint64_t *seen;    /* a bit for each node */
    uint64_t *outside; /* results of operations on whole arrays, and what is before */
    uint64_t *entries; /* the template's own: those of regions around it are outside */
    NodeId bits;       /* for how many nodes there are bits */
    NodeId *whole;     /* such results */
    uint32_t whole_count, whole_capacity;
} Cut;

static bool bit(const uint64_t *bits, NodeId id)
{
    return bits[id / 64] >> id % 64 & 1;
}
static void set_bit(uint64_t *bits, NodeId id)
{
    bits[id / 64] |= 1ull << id % 64;
}

static bool cut_push(Cut *c, uint64_t *bits, NodeId id)
{
    if (bit(bits, id))
        return true;
    TRY(vec_reserve(&c->stack, &c->capacity, c->depth + 1, sizeof(NodeId)), false);
    set_bit(bits, id);
    c->stack[c->depth++] = id;
    return true;
}

static bool is_inner(const Cut *c, NodeId id)
{
    return id < c->bits && ad_cut_is_inside(c->open, id) && !bit(c->outside, id);
}

static AdMovesKind moves_kind(const AdEdge *e)
{
    return ((const AdMoves *) (uintptr_t) e->held)->kind;
}

bool ad_cut_adds_to(const void *payload, uint32_t input)
{
    const AdEntry *entry = &((const AdTemplate *) payload)->entries[input];
    return entry->array && !entry->written;
}

/* Into a region, where it is accessed so? */
static bool into_array(const AdEdge *e)
{
    const AdOperation *op = ad_operation_of(e->held);
    return op->adds == ad_cut_adds_to &&
           ((const AdTemplate *) op->payload)->entries[e->slot].array;
}

/* One entry that is read is a value of all lanes. */
static bool by_position(const AdEdge *e)
{
    if (e->rule == RULE_INTO)
        return into_array(e);
    return e->rule == RULE_MOVES && e->operand == 0 &&
           (moves_kind(e) == MOVES_WRITE ||
            (moves_kind(e) == MOVES_READ && ad_graph_node(e->source)->size != 1));
}

bool ad_cut_is_whole(NodeId id)
{
    EdgeId in = ad_graph_node(id)->in;
    const AdEdge *e = in ? ad_graph_edge(in) : NULL;
    return e && e->rule == RULE_MOVES && moves_kind(e) == MOVES_WHOLE;
}

/* Call 'visit' for each node of the bodies that can be reached. */
static bool cut_walk(Cut *c, uint64_t *seen, bool (*visit)(Cut *c, NodeId id))
{
    while (c->depth) {
        NodeId id = c->stack[--c->depth];
        TRY(visit(c, id), false);
        for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
            NodeId source = ad_graph_edge(e)->source;
            if (is_inner(c, source))
                TRY(cut_push(c, seen, source), false);
        }
    }
    return true;
}

/* The state of a loop that has this entry, NULL: it is none. */
static const AdEntry *find_state(const AdTemplate *t, NodeId node)
{
    for (uint32_t k = 0; k < t->state_count; k++) {
        uint32_t entry = t->states[k].entry;
        if (entry && t->entries[entry - 1].node == node)
            return &t->entries[entry - 1];
    }
    return NULL;
}

/* What an edge from an entry comes from instead: a state that is accessed by position
 * is the array that it was before the loop. 0: it stays. */
static NodeId array_behind(const Cut *c, const AdEdge *edge)
{
    if (!by_position(edge))
        return 0;
    const AdEntry *entry = find_state(c->open->t, edge->source);
    return entry && entry->outer ? entry->outer_node : 0;
}

/* Edges that come from outside come from entries. */
static bool cut_edges(Cut *c, NodeId id)
{
    ad_graph_set_label(id, NULL);
    ad_graph_node(id)->flags |= NODE_INNER;
    ad_graph_node(id)->label = c->open->t->family;
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        NodeId outer = edge->source;
        if (outer >= c->bits || bit(c->entries, outer))
            outer = array_behind(c, edge);
        if (!outer || is_inner(c, outer))
            continue;
        AdEntry *entry = ad_region_find_entry(c->open->t, outer, by_position(edge));
        TRY(entry, false);
        ad_graph_set_source(e, entry->node);
    }
    return true;
}

static bool push_roots(Cut *c, uint64_t *seen)
{
    const AdTemplate *t = c->open->t;
    for (uint32_t i = 0; i < t->body_count; i++)
        for (uint32_t k = 0; k < t->n_out; k++) {
            NodeId id = ad_var_node(t->bodies[i].outputs[k]);
            if (id && is_inner(c, id))
                TRY(cut_push(c, seen, id), false);
        }
    for (uint32_t i = 0; i < t->array_count; i++)
        TRY(cut_push(c, seen, t->arrays[i].node), false);
    return true;
}

static bool note_whole(Cut *c, NodeId id)
{
    if (!ad_cut_is_whole(id))
        return true;
    TRY(vec_reserve(&c->whole, &c->whole_capacity, c->whole_count + 1, sizeof(NodeId)),
        false);
    c->whole[c->whole_count++] = id;
    return true;
}

/* It cannot depend on what differs from iteration to iteration, or call to call. */
static bool check_outside(Cut *c, NodeId id)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in)
        if (bit(c->entries, ad_graph_edge(e)->source))
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "region '%s': the derivative of an operation on whole "
                             "arrays in its body is not available",
                             c->open->t->name);
    return true;
}

bool ad_cut(AdOpen *open)
{
    NodeId end = ad_graph_end();
    size_t words = (size_t) end / 64 + 1;
    uint64_t *all = alloc_zero(words, sizeof(uint64_t));
    uint64_t *outside = alloc_zero(words, sizeof(uint64_t));
    Cut c = { .open = open,
              .bits = end,
              .seen = alloc_zero(words, sizeof(uint64_t)),
              .outside = alloc_zero(words, sizeof(uint64_t)),
              .entries = alloc_zero(words, sizeof(uint64_t)) };
    bool ok = all && outside && c.seen && c.outside && c.entries;
    for (uint32_t i = 0; ok && i < open->t->entry_count; i++)
        set_bit(c.entries, open->t->entries[i].node);
    ok = ok && push_roots(&c, all) && cut_walk(&c, all, note_whole);
    for (uint32_t i = 0; i < c.whole_count && ok; i++)
        ok = cut_push(&c, outside, c.whole[i]) && cut_walk(&c, outside, check_outside);
    alloc_free(c.outside);
    c.outside = outside;
    ok = ok && push_roots(&c, c.seen) && cut_walk(&c, c.seen, cut_edges);
    alloc_free(c.stack);
    alloc_free(c.seen);
    alloc_free(c.outside);
    alloc_free(c.entries);
    alloc_free(c.whole);
    alloc_free(all);
    return ok;
}
