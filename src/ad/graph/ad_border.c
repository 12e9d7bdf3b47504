/*
 * ad_border.c -- see ad_border.h
 *
 * What waits is kept by the outermost construct that is recorded, or else by the
 * innermost one. An exception in a body drops the construct with it; one in a body
 * further in drops the effects of that body, and the arrays stay what they were.
 */
#include "ad/graph/ad_border.h"

#include "ad/graph/ad_hooks.h"
#include "ad/graph/ad_open.h"
#include "ad/graph/ad_set.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* ---------------------------------------------------------------- where it is */

AdOpen *ad_border_keeper(void)
{
    const AdThread *t = thread_self.ad;
    AdOpen *found = NULL;
    for (uint32_t i = t ? t->derived_open : 0; t && i < t->open_count; i++) {
        found = &t->open[i];
        if (!found->straight)
            break;
    }
    return found;
}

AdOpen *ad_border_recorded(void)
{
    const AdThread *t = thread_self.ad;
    for (uint32_t i = t ? t->open_count : 0; i && i > t->derived_open; i--)
        if (!t->open[i - 1].straight)
            return &t->open[i - 1];
    return NULL;
}

AdBorder ad_border(void)
{
    const AdThread *t = thread_self.ad;
    const AdOpen *open = ad_border_keeper();
    AdBorder b = { 0 };
    if (!t)
        return b;
    b.serial = b.lowest = t->derived_serial;
    b.recorded = b.serial != 0;
    if (!open)
        return b;
    b.serial = open->border;
    b.recorded = !open->straight;
    if (b.recorded)
        b.inner = ad_border_recorded()->border;
    return b;
}

bool ad_border_is_outside(const AdBorder *b, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    if (!b->serial || node->flags & NODE_INNER)
        return false;
    return node->flags & NODE_ENTRY ? !(node->flags & NODE_CLOSED)
                                    : node->serial < b->serial;
}

bool ad_border_waits(const AdBorder *b, NodeId id)
{
    return ad_border_is_outside(b, id) &&
           (b->recorded || ad_graph_node(id)->serial < b->lowest);
}

bool ad_border_is_between(const AdBorder *b, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    return node->serial >= b->serial && node->serial < b->inner &&
           !(node->flags & (NODE_INNER | NODE_ENTRY));
}

bool ad_border_stands_for(NodeId id, AdStandsFor *found)
{
    const AdThread *t = thread_self.ad;
    if (!(ad_graph_node(id)->flags & NODE_ENTRY))
        return false;
    for (uint32_t i = t->open_count; i > t->derived_open; i--)
        if (ad_hooks.stands_for(&t->open[i - 1], id, found))
            return true;
    return false;
}

/* What a node depends on, by edges or as a placeholder, joins the set. '*only' is false
 * afterwards if it depends on nothing, or on what is from outside. */
static bool add_behind(AdSet *set, const AdBorder *b, NodeId id, bool *only)
{
    AdStandsFor f;
    if (ad_border_stands_for(id, &f)) {
        *only = f.outer || f.state;
        return ad_set_put(set, f.outer);
    }
    EdgeId e = ad_graph_node(id)->in;
    *only = e && !ad_border_is_outside(b, id);
    for (; e && *only; e = ad_graph_edge(e)->next_in)
        TRY(ad_set_put(set, ad_graph_edge(e)->source), false);
    return true;
}

bool ad_border_is_assumed(NodeId id, bool *assumed)
{
    AdBorder b = ad_border();
    *assumed = b.recorded;
    AdSet set = ad_set_begin();
    bool ok = !*assumed || ad_set_put(&set, id);
    for (uint32_t i = 0; i < set.count && ok && *assumed; i++)
        ok = add_behind(&set, &b, set.nodes[i], assumed);
    alloc_free(set.nodes);
    return ok;
}

bool ad_border_take_plain(NodeId id)
{
    AdOpen *open = ad_border_recorded();
    TRY(vec_push(&open->plain, &open->plain_count, &open->plain_capacity, id), false);
    ad_graph_ref(id);
    return true;
}

NodeId ad_border_receiver(NodeId id)
{
    AdStandsFor f;
    while (ad_border_stands_for(id, &f) && !f.state && f.outer)
        id = f.outer;
    return id;
}

bool ad_border_refuse(NodeId id, const char *reason)
{
    return error_set(
        JIT_ERROR_STATE,
        "ad_traverse(): the gradient of a%u, which lies outside the loop, "
        "conditional or call being recorded, cannot wait until that is "
        "complete: %s; expected a traversal after it, from its results",
        id, reason);
}

/* ---------------------------------------------------------------- what waits */

void ad_border_drop(AdWaiting *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ad_graph_unref(list[i].node);
        var_drop(list[i].array);
    }
    alloc_free(list);
}

AdWaiting *ad_border_waiting(AdOpen *open, NodeId id)
{
    for (uint32_t i = 0; i < open->waiting_count; i++)
        if (open->waiting[i].node == id)
            return &open->waiting[i];
    TRY(vec_reserve(&open->waiting, &open->waiting_capacity, open->waiting_count + 1,
                    sizeof(AdWaiting)),
        NULL);
    AdWaiting *w = &open->waiting[open->waiting_count++];
    *w = (AdWaiting){ .node = id };
    ad_graph_ref(id);
    return w;
}

static bool refuse_derived(NodeId id)
{
    return error_set(JIT_ERROR_STATE,
                     "ad_traverse(): the gradient of a%u cannot be had within the "
                     "derivative of a loop, conditional or call, which the operation "
                     "that began this traversal is part of; expected gradients of its "
                     "own arguments, or of what it has made",
                     id);
}

AdWaiting *ad_border_place(const AdBorder *b, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    AdOpen *open = ad_border_keeper();
    if (!open || (node->serial < b->lowest && !(node->flags & NODE_ENTRY))) {
        refuse_derived(id);
        return NULL;
    }
    return ad_border_waiting(open, id);
}

bool ad_border_postpone(const AdBorder *b, NodeId id)
{
    AdWaiting *w = ad_border_place(b, id);
    if (w)
        w->goes_on = true;
    return w != NULL;
}

static AdLent *find_lent(AdOpen *open, NodeId id)
{
    for (uint32_t i = 0; i < open->lent_count; i++)
        if (open->lent[i].node == id)
            return &open->lent[i];
    return NULL;
}

bool ad_border_lend(NodeId id, bool set)
{
    AdOpen *open = ad_border_recorded();
    TRY(open, true); /* the derivative of a body: it is as it was */
    AdLent *found = find_lent(open, id);
    if (!found) {
        TRY(vec_reserve(&open->lent, &open->lent_capacity, open->lent_count + 1,
                        sizeof(AdLent)),
            false);
        AdNode *node = ad_graph_node(id);
        found = &open->lent[open->lent_count++];
        *found = (AdLent){ .node = id, .saved = node->grad };
        ad_graph_ref(id);
        node->grad = 0;
    }
    found->set |= set;
    return true;
}

bool ad_border_lend_copy(NodeId id, bool again)
{
    AdOpen *open = ad_border_recorded();
    const bool before = find_lent(open, id);
    TRY(ad_border_lend(id, true), false);
    if (before && !again)
        return true;
    const uint64_t saved = find_lent(open, id)->saved, grad = ad_graph_node(id)->grad;
    if (saved)
        ad_graph_retain(saved);
    ad_graph_node(id)->grad = saved;
    if (grad)
        ad_graph_release(grad);
    return true;
}

bool ad_border_find_tangent(NodeId id, uint64_t *tangent)
{
    AdStandsFor f;
    *tangent = 0;
    while (ad_border_stands_for(id, &f)) {
        AdOpen *open = f.state ? ad_border_keeper() : NULL;
        AdWaiting *w = open ? ad_border_waiting(open, id) : NULL;
        TRY(!open || w, false);
        if (w)
            w->taken = true;
        if (!f.outer)
            return true;
        id = f.outer;
        *tangent = ad_graph_node(id)->grad;
    }
    return true;
}

bool ad_border_is_lent(NodeId id)
{
    const AdThread *t = thread_self.ad;
    for (uint32_t i = t ? t->derived_open : 0; t && i < t->open_count; i++)
        if (find_lent(&t->open[i], id))
            return true;
    return false;
}

void ad_border_keep(NodeId id, bool kept)
{
    AdOpen *open = ad_border_recorded();
    AdLent *lent = open ? find_lent(open, id) : NULL;
    if (lent)
        lent->kept = kept;
}

void ad_border_ask(NodeId id)
{
    AdStandsFor f;
    while (ad_border_stands_for(id, &f) && f.outer)
        ad_border_keep(id = f.outer, false);
}

bool ad_border_check_lent(const AdOpen *open)
{
    for (uint32_t i = 0; i < open->lent_count; i++)
        if (open->lent[i].kept)
            return ad_border_refuse(open->lent[i].node,
                                    "the body asks for it as well, sets or clears it");
    return true;
}

void ad_border_take_back(AdOpen *open)
{
    while (open->lent_count) {
        const AdLent lent = open->lent[--open->lent_count];
        uint64_t *grad = &ad_graph_node(lent.node)->grad;
        uint64_t other = lent.saved;
        ad_graph_node(lent.node)->flags &= ~(unsigned) NODE_BROUGHT;
        if (lent.set) {
            other = *grad;
            *grad = lent.saved;
        }
        if (other)
            ad_graph_release(other);
        ad_graph_unref(lent.node);
    }
}

bool ad_border_look(NodeId id)
{
    state_lock();
    AdOpen *open = ad_border_keeper();
    AdWaiting *w = open ? ad_border_waiting(open, id) : NULL;
    if (w)
        w->looked_at = true;
    bool waits = w && w->array;
    state_unlock();
    return !waits;
}
