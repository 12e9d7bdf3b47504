/*
 * ad_placeholder.c -- see ad_placeholder.h
 */
#include "ad/region/ad_placeholder.h"

#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_rule.h"
#include "base/error.h"
#include "base/vec.h"

/* ---------------------------------------------------------------- entries */

static void set_outer(AdEntry *entry, uint64_t outer)
{
    entry->outer_node = ad_var_node(outer);
    entry->outer = ad_graph_node(entry->outer_node)->serial;
    entry->held = true;
    ad_graph_ref(entry->outer_node);
}

void ad_placeholder_set_outer(AdTemplate *t, uint32_t which, uint64_t outer)
{
    if (ad_scope_gives(outer))
        set_outer(&t->entries[which], outer);
}

static NodeId new_entry(AdTemplate *t, VarId like)
{
    TRY(vec_reserve(&t->entries, &t->entry_capacity, t->entry_count + 1,
                    sizeof(AdEntry)),
        0);
    NodeId node = ad_graph_new_for(like);
    TRY(node, 0);
    ad_graph_node(node)->flags |= NODE_ENTRY;
    ad_size_note_always(node, like);
    t->entries[t->entry_count++] = (AdEntry){ .node = node, .placeholder = true };
    return node;
}

NodeId ad_placeholder_entry(AdTemplate *t, VarId like)
{
    NodeId node = new_entry(t, like);
    return node && (ad_scope_refuses() || ad_scope_admit(node)) ? node : 0;
}

uint64_t ad_placeholder_input(AdTemplate *t, uint64_t outer, VarId placeholder)
{
    NodeId node = new_entry(t, ad_var_index(outer));
    TRY(node, 0);
    AdEntry *entry = &t->entries[t->entry_count - 1];
    const bool tracked = !ad_graph_is_plain(outer), gives = ad_scope_gives(outer);
    entry->suspended = tracked && !gives && t->kind == REGION_LOOP;
    if (tracked && !entry->suspended)
        set_outer(entry, outer);
    bool ok = ad_scope_refuses() ||
              (tracked && !gives && !entry->suspended ? ad_scope_suspend(node)
                                                      : ad_scope_admit(node));
    TRY(ok, 0);
    ad_graph_ref(node);
    return (uint64_t) node << 32 | placeholder;
}

uint64_t ad_placeholder_state(AdTemplate *t, uint64_t initial, VarId placeholder,
                              bool differentiated)
{
    TRY(vec_reserve(&t->states, &t->state_capacity, t->state_count + 1,
                    sizeof(AdState)),
        0);
    uint64_t leaf = placeholder;
    AdState own = { .placeholder = placeholder, .initial = ad_var_index(initial) };
    if (differentiated) {
        TRY(leaf = ad_placeholder_input(t, initial, placeholder), 0);
        own.entry = t->entry_count;
        t->entries[own.entry - 1].state = 1 + t->state_count;
    }
    var_inc(own.placeholder);
    var_inc(own.initial);
    t->states[t->state_count++] = own;
    return leaf;
}

bool ad_placeholder_own_node(uint64_t *leaf)
{
    NodeId id = ad_var_node(*leaf);
    NodeId own = ad_graph_new_like(id);
    TRY(own, false);
    *leaf = (uint64_t) own << 32 | ad_var_index(*leaf);
    bool ok = ad_graph_new_edge(id, own, RULE_IDENTITY, 0, 0);
    ad_graph_unref(id);
    return ok;
}

/* ---------------------------------------------------------------- suspended states */

/* The entry of a placeholder of a region that is being recorded. */
static AdEntry *find_entry(NodeId id)
{
    const AdThread *t = thread_self.ad;
    if (!(ad_graph_node(id)->flags & NODE_ENTRY))
        return NULL;
    for (uint32_t i = t->open_count; i > t->derived_open; i--) {
        AdEntry *found = ad_template_entry_of(t->open[i - 1].t, id);
        if (found)
            return found;
    }
    return NULL;
}

/* The suspended state that an entry, or what it stands for, is; NULL: it is not one. */
static AdEntry *suspended(AdEntry *entry)
{
    while (entry && !entry->suspended)
        entry = entry->outer ? find_entry(entry->outer_node) : NULL;
    return entry;
}

static bool is_named(NodeId id, size_t n, const uint64_t *indices)
{
    for (size_t i = 0; i < n; i++)
        if (ad_var_node(indices[i]) == id)
            return true;
    return n == 0;
}

bool ad_placeholder_resume(size_t n, const uint64_t *indices)
{
    const AdThread *t = thread_self.ad;
    bool any = false;
    for (uint32_t i = t->derived_open; i < t->open_count; i++) {
        const AdTemplate *own = t->open[i].t;
        for (uint32_t k = 0; k < own->entry_count; k++) {
            AdEntry *hidden = suspended(&own->entries[k]);
            if (hidden && is_named(own->entries[k].node, n, indices))
                any = hidden->lifted = true;
        }
    }
    return any;
}

static void mark_edges(NodeId from, uint64_t serial)
{
    for (EdgeId e = ad_graph_node(from)->out; e; e = ad_graph_edge(e)->next_out)
        if (ad_graph_node(ad_graph_edge(e)->target)->serial >= serial)
            ad_graph_edge(e)->resumed = true;
}

void ad_placeholder_resumed(uint64_t serial)
{
    const AdThread *t = thread_self.ad;
    for (uint32_t i = t->derived_open; i < t->open_count; i++) {
        const AdTemplate *own = t->open[i].t;
        for (uint32_t k = 0; k < own->entry_count; k++) {
            const AdEntry *hidden = suspended(&own->entries[k]);
            if (hidden && hidden->lifted)
                mark_edges(own->entries[k].node, serial);
        }
    }
}

/* How many edges that leave the node were resumed, and how many were not? */
static void count_edges(NodeId from, size_t *resumed, size_t *others)
{
    *resumed = *others = 0;
    for (EdgeId e = ad_graph_node(from)->out; e; e = ad_graph_edge(e)->next_out)
        ++*(ad_graph_edge(e)->resumed ? resumed : others);
}

static bool refuse(const AdTemplate *t, const char *what)
{
    return error_set(JIT_ERROR_STATE,
                     "ad_var_loop_end(): '%s': the body tracks a state again that is "
                     "suspended by name around the loop, and %s; expected a scope that "
                     "suspends in the body instead, or suspends everything",
                     t->name, what);
}

bool ad_placeholder_pass(const AdTemplate *t, uint32_t which, NodeId operation)
{
    const AdEntry *entry = &t->entries[which];
    AdEntry *outer = entry->outer ? find_entry(entry->outer_node) : NULL;
    const AdEntry *hidden = suspended(outer);
    if (!hidden || !hidden->lifted)
        return true;
    size_t resumed, others;
    count_edges(entry->node, &resumed, &others);
    const bool changes =
        t->kind == REGION_LOOP && entry->state && t->states[entry->state - 1].changes;
    if (!resumed)
        return true;
    if (others || changes)
        return refuse(t, "a construct in it uses it where it is resumed as well as "
                         "where it is not");
    for (EdgeId e = ad_graph_node(operation)->in; e; e = ad_graph_edge(e)->next_in)
        if (ad_graph_edge(e)->port == which)
            ad_graph_edge(e)->resumed = true;
    return true;
}

bool ad_placeholder_settle(AdTemplate *t, uint32_t k, bool alone, uint64_t initial)
{
    const AdState *s = &t->states[k];
    AdEntry *entry = s->entry ? &t->entries[s->entry - 1] : NULL;
    if (!entry || !entry->suspended || !entry->lifted)
        return true;
    size_t resumed, others;
    count_edges(entry->node, &resumed, &others);
    if (!resumed)
        return true;
    if (!alone)
        return refuse(t, "changes it");
    for (EdgeId e = ad_graph_node(entry->node)->out, next; e; e = next) {
        next = ad_graph_edge(e)->next_out;
        if (!ad_graph_edge(e)->resumed)
            ad_graph_drop_edge(e);
    }
    set_outer(entry, initial);
    return true;
}

bool ad_placeholder_may_wait(const AdTemplate *t, const AdEntry *entry)
{
    return !entry->suspended || !entry->lifted ||
           refuse(t, "a traversal in it comes to it");
}
