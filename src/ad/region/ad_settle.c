/*
 * ad_settle.c -- see ad_settle.h
 */
#include "ad/region/ad_settle.h"

#include "ad/graph/ad_border.h"
#include "ad/region/ad_placeholder.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* A construct that is complete, and the one that keeps what waits: itself, or one
 * around it, whose border this is. */
typedef struct Closing {
    AdOpen *open, *kept;
    AdBorder border;
} Closing;

/* An entry of the loop: what it stands for, which for a state depends on the iteration.
 * False: out of memory. */
static bool add_behind_entry(AdSet *set, const AdTemplate *t, const AdEntry *entry)
{
    const uint64_t *outputs = t->bodies[0].outputs;
    return ad_set_put(set, entry->outer ? entry->outer_node : 0) &&
           ad_set_put(set, entry->state ? ad_var_node(outputs[entry->state - 1]) : 0);
}

/* A gradient is lost on its way to this node: an error if it is tracked. Nodes of
 * bodies that are still open may be so in name only, because a state is: then this is
 * about what the state was before. '*more': it would go on to the node's inputs. */
static bool lose(const Closing *c, NodeId node, bool *more)
{
    bool open = ad_border_stands_for(node, &(AdStandsFor){ 0 });
    *more = ad_graph_node(node)->flags & NODE_INNER;
    if (*more)
        return true;
    if (c->kept == c->open || (ad_border_is_outside(&c->border, node) && !open))
        return ad_border_refuse(node,
                                "it is that of a state which the loop changes, so "
                                "that it would have to go back through the "
                                "iterations before");
    *more = !open;
    AdWaiting *w = open ? ad_border_waiting(c->kept, node) : NULL;
    if (w)
        w->lost = true;
    return w || !open;
}

/* Gradients are lost on their way to the nodes in the set, and what those depend on. */
static bool lose_all(const Closing *c, AdSet *set)
{
    const AdTemplate *t = c->open->t;
    for (uint32_t i = 0; i < set->count; i++) {
        const AdEntry *entry = ad_template_entry_of(t, set->nodes[i]);
        if (entry) {
            TRY(add_behind_entry(set, t, entry), false);
            continue;
        }
        NodeId node = ad_border_receiver(set->nodes[i]);
        bool more;
        TRY(lose(c, node, &more), false);
        for (EdgeId e = ad_graph_node(node)->in; e && more;
             e = ad_graph_edge(e)->next_in)
            TRY(ad_set_put(set, ad_graph_edge(e)->source), false);
    }
    return true;
}

/* ... to this node; with 'all', to whatever the loop depends on. */
static bool note_lost(const Closing *c, NodeId id, bool all)
{
    const AdTemplate *t = c->open->t;
    AdSet set = ad_set_begin();
    bool ok = ad_set_put(&set, id);
    for (uint32_t i = 0; i < t->entry_count && all && ok; i++)
        ok = ad_set_put(&set, t->entries[i].node);
    ok = ok && lose_all(c, &set);
    alloc_free(set.nodes);
    return ok;
}

/* Where does it go what waits at a state of a loop that is complete? '*to' is 0 if it
 * leads to nothing. */
static bool leave_state(const Closing *c, const AdEntry *entry, const AdWaiting *w,
                        NodeId *to)
{
    const AdTemplate *t = c->open->t;
    const AdState *s = &t->states[entry->state - 1];
    bool came = w->array || w->lost || w->taken;
    TRY(!came || ad_placeholder_may_wait(t, entry), false);
    VarId next = ad_var_index(t->bodies[0].outputs[entry->state - 1]);
    bool written = ad_open_last_write(c->open, next) != NULL;
    *to = 0;
    if (s->changes || written)
        return !came || note_lost(c, entry->node, written);
    NodeId outer = entry->outer ? ad_border_receiver(entry->outer_node) : 0;
    if (!outer)
        return true;
    came = w->array || w->lost;
    if (w->lost || (c->kept != c->open && !ad_border_is_outside(&c->border, outer)))
        return !came || note_lost(c, outer, false);
    *to = outer;
    return true;
}

/* Number 'which' is not at a placeholder of this loop any more. */
static bool leave_placeholder(const Closing *c, uint32_t which)
{
    AdWaiting w = c->kept->waiting[which];
    const AdEntry *entry = ad_template_entry_of(c->open->t, w.node);
    if (!entry || !entry->state)
        return true;
    NodeId to;
    TRY(leave_state(c, entry, &w, &to), false);
    AdWaiting *place = &c->kept->waiting[which]; /* the list may have grown */
    if (to) {
        ad_graph_ref(to);
        ad_graph_unref(w.node);
        place->node = to;
    } else {
        var_drop(w.array);
        *place = (AdWaiting){ .node = w.node };
    }
    return true;
}

/* By way of another name. */
static bool is_looked_at(const AdOpen *open, const AdWaiting *w)
{
    for (uint32_t i = 0; w->array && i < open->waiting_count; i++)
        if (open->waiting[i].node == w->node && open->waiting[i].looked_at)
            return true;
    return false;
}

/* All that waits is due. */
static bool move_to_due(AdOpen *open)
{
    AdThread *t = thread_self.ad;
    TRY(vec_reserve(&t->due, &t->due_capacity, t->due_count + open->waiting_count,
                    sizeof(AdWaiting)),
        false);
    for (uint32_t i = 0; i < open->waiting_count; i++)
        if (is_looked_at(open, &open->waiting[i]))
            return ad_border_refuse(open->waiting[i].node,
                                    "the body asks for it as well, sets or clears it");
    for (uint32_t i = 0; i < open->waiting_count; i++)
        t->due[t->due_count++] = open->waiting[i];
    open->waiting_count = 0;
    return true;
}

bool ad_settle(AdOpen *open)
{
    AdOpen *around = ad_border_keeper();
    Closing c = { .open = open, .kept = open, .border = ad_border() };
    if (around && !around->straight)
        c.kept = around;
    bool loop = open->t->kind == REGION_LOOP && !open->straight;
    for (uint32_t i = 0; loop && i < c.kept->waiting_count; i++)
        TRY(leave_placeholder(&c, i), false);
    return c.kept != open || !open->waiting_count || move_to_due(open);
}

/* ---------------------------------------------------------------- taken for plain */

static bool refuse_plain(const AdOpen *open)
{
    return error_set(JIT_ERROR_STATE,
                     "ad_var_loop_end(), ad_var_cond_end(), ad_var_call(): '%s': "
                     "enable_grad() was called in its body for something that depends "
                     "on a state of a loop, which an iteration makes depend on what is "
                     "tracked, expected a copy made by detach()",
                     open->name);
}

/* What the node depends on in the same iteration joins the set: by edges or, of an
 * input, as what that stands for. What is of another body is not to be tracked
 * there. */
static bool look_behind(AdOpen *open, AdSet *set, NodeId id, bool before)
{
    const AdNode *node = ad_graph_node(id);
    const AdEntry *entry = ad_template_entry_of(open->t, id);
    if (entry)
        return ad_set_put(set, entry->outer ? entry->outer_node : 0);
    if (node->flags & NODE_ENTRY || node->serial < open->border)
        return ad_border_recorded() ? ad_border_take_plain(id) : refuse_plain(open);
    /* Tracked by the body itself, which is no matter of the iterations after. */
    if (!node->in && !(before && !(node->flags & NODE_CUT_IN)))
        return refuse_plain(open);
    for (EdgeId e = node->in; e; e = ad_graph_edge(e)->next_in)
        TRY(ad_set_put(set, ad_graph_edge(e)->source), false);
    return true;
}

/* A state is what the iteration before has made of it. */
static bool look_before(const AdOpen *open, AdSet *set, NodeId id)
{
    const AdEntry *entry = ad_template_entry_of(open->t, id);
    return !entry || !entry->state ||
           ad_set_put(set, ad_var_node(open->t->bodies[0].outputs[entry->state - 1]));
}

bool ad_settle_plain(AdOpen *open)
{
    AdSet set = ad_set_begin();
    bool ok = true;
    for (uint32_t i = 0; i < open->plain_count && ok; i++)
        ok = ad_set_put(&set, open->plain[i]);
    for (uint32_t i = 0; i < set.count && ok; i++)
        ok = look_behind(open, &set, set.nodes[i], false);
    uint32_t same = set.count;
    for (uint32_t i = 0; i < set.count && ok; i++) {
        NodeId id = set.nodes[i];
        bool is_behind = i < same;
        ok = look_before(open, &set, id) &&
             (is_behind || look_behind(open, &set, id, true));
    }
    alloc_free(set.nodes);
    return ok;
}

void ad_settle_forget(void)
{
    AdThread *t = thread_self.ad;
    ad_border_drop(t->due, t->due_count);
    t->due = NULL;
    t->due_count = t->due_capacity = 0;
}
