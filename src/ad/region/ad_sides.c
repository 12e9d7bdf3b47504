/*
 * ad_sides.c -- see ad_sides.h
 */
#include "ad/region/ad_sides.h"

#include "ad/region/ad_cut.h"
#include "ad/region/ad_writes.h"
#include "base/error.h"

/* The writes of a body to an array, each to what the one before has made. */
typedef struct Chain {
    NodeId first;  /* what the first one has made; 0: none is tracked */
    AdWrite write; /* the first one */
    bool plain;    /* all are scatters with Identity or Add, maybe in regions */
    bool closed;   /* the first one is a region that begins with nothing tracked */
} Chain;

static bool is_written_in(const AdOpen *open, NodeId node, uint32_t body)
{
    for (uint32_t i = 0; i < open->write_count; i++)
        if (open->writes[i].node == node &&
            (body == AD_CUT_ANY_BODY || open->writes[i].body == body))
            return true;
    return false;
}

/* From the last one back. */
static Chain find_chain(const AdOpen *open, uint32_t body, NodeId last)
{
    Chain c = { .first = last, .plain = true };
    while (c.first) {
        c.write = ad_writes_behind(c.first);
        c.plain &= ad_writes_are_plain(&c.write);
        c.closed = c.write.t && !c.write.entry;
        EdgeId e = c.write.before;
        if (!e || !is_written_in(open, ad_graph_edge(e)->source, body))
            break;
        c.first = ad_graph_edge(e)->source;
    }
    return c;
}

/* What was there before; 0: that is not tracked. */
static NodeId source_of(const Chain *c)
{
    const AdEdge *e = c->write.before ? ad_graph_edge(c->write.before) : NULL;
    return e && !ad_cut_is_before(e) ? e->source : 0;
}

/* Where there is no edge yet. */
static bool add_edge(NodeId last, const Chain *c)
{
    const AdWrite *w = &c->write;
    if (w->t) {
        EdgeId out = ad_graph_node(c->first)->in;
        AdOperation *op = ad_operation_of(ad_graph_edge(out)->held);
        return ad_operation_add_input(op, w->operation, last, w->entry - 1);
    }
    EdgeId value = ad_graph_node(c->first)->in;
    TRY(value, true);
    AdMoves *m = (AdMoves *) (uintptr_t) ad_graph_edge(value)->held;
    m->held.refs++;
    return ad_graph_new_edge(last, c->first, RULE_MOVES, 0, (uintptr_t) m);
}

/* From now on it is not only iterations before that have written to the array. */
static bool put_behind(NodeId last, const Chain *c)
{
    const AdWrite *w = &c->write;
    if (w->t) {
        AdEntry *entry = &w->t->entries[w->entry - 1];
        entry->before = false;
        entry->outer = ad_graph_node(last)->serial;
        entry->outer_node = last;
    }
    if (!w->before)
        return add_edge(last, c);
    if (!w->t)
        ad_graph_edge(w->before)->before = false;
    ad_graph_set_source(w->before, last);
    return true;
}

bool ad_sides_follow(const AdOpen *open, uint64_t leaf, NodeId last)
{
    Chain before = find_chain(open, AD_CUT_ANY_BODY, last);
    Chain c = find_chain(open, open->body, ad_var_node(leaf));
    if (before.plain && c.plain && !c.closed && source_of(&before) == source_of(&c))
        return put_behind(last, &c);
    return error_set(JIT_ERROR_UNSUPPORTED,
                     "ad_var_scatter(): r%u is an array that another body of "
                     "region '%s' has written to, other than by scatters with Identity "
                     "or Add: its derivative is not available; scatter to an array "
                     "that is not an argument",
                     ad_var_index(leaf), open->name);
}

/* Writes that were noted for one variable are to another one. */
static void rename_writes(AdOpen *open, VarId from, VarId to)
{
    for (uint32_t i = 0; i < open->write_count; i++)
        if (open->writes[i].variable == from)
            open->writes[i].variable = to;
    for (uint32_t i = 0; i < open->untracked_count; i++)
        if (open->untracked[i] == from)
            open->untracked[i] = to;
}

bool ad_sides_join(AdOpen *open, size_t k)
{
    uint64_t a = open->t->bodies[0].outputs[k], *b = &open->t->bodies[1].outputs[k];
    NodeId last = ad_var_node(a);
    Chain first = find_chain(open, 0, last);
    Chain second = find_chain(open, 1, ad_var_node(*b));
    bool ok = first.plain && second.plain && !(last && second.closed);
    bool joined = ok && last && source_of(&second) == last;
    if (!ok || (!joined && source_of(&first) != source_of(&second)))
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "ad_var_cond_end(): conditional '%s': output %zu is an array "
                         "that both sides have written to, other than by scatters with "
                         "Identity or Add: its derivative is not available; scatter to "
                         "an array that is not an argument",
                         open->t->name, k);
    if (!joined && last && second.first)
        TRY(put_behind(last, &second), false);
    rename_writes(open, ad_var_index(*b), ad_var_index(a));
    const uint64_t before = *b;
    *b = (before >> 32 << 32) | ad_var_index(a);
    var_inc(ad_var_index(a));
    var_dec(ad_var_index(before));
    return true;
}
