/*
 * ad_open.c -- see ad_open.h
 */
#include "ad/graph/ad_open.h"

#include "ad/graph/ad_hooks.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/record.h"

/* ---------------------------------------------------------------- the list */

bool ad_open_follows(void)
{
    const AdThread *own = thread_self.ad;
    return ad_graph_count() || (own && (own->open_count || own->derived_serial));
}

bool ad_open_is_plain(uint32_t handle, size_t *results)
{
    const ThreadState *ts = state_thread();
    const Body *body = ts ? ts->body : NULL;
    if (!body || body->handle != handle || ad_open_find(handle))
        return false;
    *results = body->results;
    return true;
}

AdOpen *ad_open_find(uint32_t handle)
{
    const AdThread *own = thread_self.ad;
    AdOpen *open = own && own->open_count ? &own->open[own->open_count - 1] : NULL;
    return open && open->handle == handle ? open : NULL;
}

AdOpen ad_open_pop(void)
{
    AdThread *own = thread_self.ad;
    return own->open[--own->open_count];
}

bool ad_open_push(const AdOpen *open)
{
    AdThread *own = ad_thread();
    TRY(own, false);
    TRY(vec_reserve(&own->open, &own->open_capacity, own->open_count + 1,
                    sizeof(AdOpen)),
        false);
    own->open[own->open_count++] = *open;
    return true;
}

void ad_open_drop_all(AdThread *own)
{
    while (own->open_count)
        ad_hooks.drop_open(&own->open[--own->open_count]);
    alloc_free(own->open);
}

/* ---------------------------------------------------------------- writes */

const AdArray *ad_open_last_write(const AdOpen *open, VarId variable)
{
    for (uint32_t i = open->write_count; i > 0; i--)
        if (open->writes[i - 1].variable == variable)
            return &open->writes[i - 1];
    return NULL;
}

static bool is_from(NodeId node, NodeId source)
{
    for (EdgeId e = ad_graph_node(node)->in; e; e = ad_graph_edge(e)->next_in)
        if (ad_graph_edge(e)->source == source)
            return true;
    return false;
}

/* Was it made from what a body before has written, perhaps by a region in this one? */
static bool follows(NodeId node, NodeId before)
{
    bool found = node == before || is_from(node, before);
    for (EdgeId e = ad_graph_node(node)->in; e && !found; e = ad_graph_edge(e)->next_in)
        found = is_from(ad_graph_edge(e)->source, before);
    return found;
}

/* Two sides may write to a state of the loop around, each as it is before the body.
 * Where sides are not bodies, the graph is that of what was computed. */
static bool put_in_order(const AdOpen *open, uint64_t leaf)
{
    VarId variable = ad_var_index(leaf);
    const AdArray *last = open->straight ? NULL : ad_open_last_write(open, variable);
    return !last || last->body == open->body ||
           follows(ad_var_node(leaf), last->node) ||
           ad_hooks.follow(open, leaf, last->node);
}

bool ad_open_add_write(AdOpen *open, uint64_t leaf)
{
    TRY(vec_reserve(&open->writes, &open->write_capacity, open->write_count + 1,
                    sizeof(AdArray)),
        false);
    NodeId node = ad_var_node(leaf);
    ad_graph_ref(node);
    open->writes[open->write_count++] =
        (AdArray){ node, ad_var_index(leaf), open->body, true, false };
    return true;
}

bool ad_open_note_write(uint64_t leaf)
{
    AdThread *own = thread_self.ad;
    AdOpen *open = own && own->open_count ? &own->open[own->open_count - 1] : NULL;
    return !open || (put_in_order(open, leaf) && ad_open_add_write(open, leaf));
}

static bool add_untracked(AdOpen *open, VarId variable)
{
    return vec_push(&open->untracked, &open->untracked_count, &open->untracked_capacity,
                    variable);
}

bool ad_open_note_untracked(VarId variable)
{
    AdThread *own = thread_self.ad;
    return add_untracked(&own->open[own->open_count - 1], variable);
}

bool ad_open_in_loop(void)
{
    const AdThread *own = thread_self.ad;
    for (uint32_t i = 0; own && i < own->open_count; i++)
        if (own->open[i].loop && !own->open[i].straight)
            return true;
    return false;
}

bool ad_open_in_order(void)
{
    const AdThread *own = thread_self.ad;
    for (uint32_t i = 0; own && i < own->open_count; i++)
        if (own->open[i].sides)
            return true;
    return ad_open_in_loop();
}

bool ad_open_is_visible(const AdOpen *open, uint32_t which)
{
    const AdArray *write = &open->writes[which];
    return ad_graph_node(write->node)->refs > 1 &&
           !ad_graph_is_plain(ad_open_leaf(write)) &&
           ad_open_last_write(open, write->variable) == write;
}

bool ad_open_pass_writes(AdOpen *open)
{
    AdThread *own = thread_self.ad;
    for (uint32_t i = 0; ad_open_in_loop() && i < open->untracked_count; i++)
        TRY(add_untracked(&own->open[own->open_count - 1], open->untracked[i]), false);
    for (uint32_t i = 0; i < open->write_count; i++)
        if (open->straight || ad_open_is_visible(open, i))
            TRY(ad_open_note_write(ad_open_leaf(&open->writes[i])), false);
    return true;
}
