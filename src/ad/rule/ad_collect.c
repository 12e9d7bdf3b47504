/*
 * ad_collect.c -- what would go if certain references went: for collectors of cycles
 *
 * An object may hold variables and belong to a custom operation on which these depend:
 * a cycle that counting references does not end. A collector that knows the references
 * by such objects asks here which operations only they keep. The answer is what
 * dropping them would do (ad_graph.c), done with counts in a table.
 */
#include "ad/rule/ad_operation.h"
#include "ad/rule/ad_rule.h"
#include "base/alloc.h"
#include "base/table.h"
#include "base/vec.h"

typedef struct Trial {
    Table
        dropped;  /* references that would go, by node and by what several edges hold */
    NodeId *gone; /* nodes without references, whose edges are yet to be looked at */
    uint32_t count, capacity;
    void (*release)(void *payload); /* of the operations asked for */
    void (*note)(void *context, void *payload);
    void *context;
} Trial;

/* One more reference to that would go; how many there are then, 0: out of memory. */
static uint32_t drop(Trial *t, uint64_t key)
{
    const uintptr_t count = (uintptr_t) table_get(&t->dropped, &key, sizeof(key)) + 1;
    TRY(table_put(&t->dropped, &key, sizeof(key), (void *) count), 0);
    return (uint32_t) count;
}

static bool drop_node(Trial *t, NodeId id)
{
    const uint32_t count = drop(t, (uint64_t) id << 1 | 1); /* no address is odd */
    TRY(count, false);
    return count < ad_graph_node(id)->refs ||
           vec_push(&t->gone, &t->count, &t->capacity, id);
}

static bool drop_leaf(Trial *t, uint64_t leaf)
{
    return !ad_var_node(leaf) || drop_node(t, ad_var_node(leaf));
}

static bool drop_leaves(Trial *t, const uint64_t *leaves, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        TRY(drop_leaf(t, leaves[i]), false);
    return true;
}

static bool drop_operation(Trial *t, AdOperation *op)
{
    TRY(drop_leaves(t, op->in, op->n_in) && drop_leaves(t, op->out, op->n_out), false);
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++)
        TRY(!op->givers[i] || drop_node(t, op->givers[i]), false);
    if (op->custom.release == t->release)
        t->note(t->context, op->payload);
    return true;
}

static bool drop_held(Trial *t, uint8_t rule, uint64_t held)
{
    if (!ad_graph_holds_several(rule))
        return drop_leaf(t, held);
    AdHeld *several = (AdHeld *) (uintptr_t) held;
    const uint32_t count = drop(t, held);
    TRY(count, false);
    if (count < several->refs)
        return true;
    TRY(drop_leaves(t, several->leaves, several->count), false);
    return (rule != RULE_INTO && rule != RULE_OUT_OF) ||
           drop_operation(t, ad_operation_of(held));
}

static bool drop_edges(Trial *t, NodeId id)
{
    TRY(drop_leaf(t, ad_graph_node(id)->grad), false);
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        TRY(drop_node(t, edge->source) && drop_held(t, edge->rule, edge->held), false);
    }
    return true;
}

bool ad_custom_released_with(size_t n, const uint64_t *indices,
                             void (*release)(void *payload),
                             void (*note)(void *context, void *payload), void *context)
{
    Trial t = { .release = release, .note = note, .context = context };
    state_lock();
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = drop_leaf(&t, indices[i]);
    while (ok && t.count)
        ok = drop_edges(&t, t.gone[--t.count]);
    state_unlock();
    table_free(&t.dropped);
    alloc_free(t.gone);
    return ok;
}
