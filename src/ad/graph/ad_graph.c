/*
 * ad_graph.c -- see ad_graph.h
 *
 * Nodes and edges live in chunks, so that pointers stay valid and growing copies
 * nothing. Freed ones are reused, last freed first.
 */
#include "ad/graph/ad_graph.h"

#include <string.h>

#include "ad/graph/ad_hooks.h"
#include "ad/graph/ad_place.h"
#include "ad/graph/ad_set.h"
#include "ad/graph/ad_size.h"
#include "ad/graph/ad_thread.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* A table of things of one size; number 0 is none. */
typedef struct Pool {
    void *chunks; /* address of the list of chunks */
    uint32_t chunk_count, chunk_capacity;
    uint32_t *end; /* numbers ever used are below */
    uint32_t free; /* first free one, 0 = none */
    uint32_t live;
    uint32_t size; /* of a thing */
} Pool;

AdNode **ad_graph_nodes;
AdEdge **ad_graph_edges;
uint32_t ad_graph_node_end, ad_graph_edge_end;
static Pool nodes = { &ad_graph_nodes, 0, 0, &ad_graph_node_end, 0, 0, sizeof(AdNode) },
            edges = { &ad_graph_edges, 0, 0, &ad_graph_edge_end, 0, 0, sizeof(AdEdge) };
static uint64_t serial = 2; /* of the next node: even ones */

/* Of nodes that have one of them, by node: 1 + number of the label, or the family. */
static uint32_t *tags, tag_capacity;

/* Labels are few: a list, whose free entries are NULL. */
static struct {
    char **texts;
    uint32_t count, capacity;
    uint32_t first_free; /* none below is free */
} labels;

/* Where the address of a chunk is. */
static char *chunk_place(const Pool *p, uint32_t chunk)
{
    char *list;
    memcpy(&list, p->chunks, sizeof(list));
    return list + chunk * sizeof(void *);
}

/* A number that was never used; 0: out of memory. */
static uint32_t pool_grow(Pool *p)
{
    uint32_t id = *p->end ? *p->end : 1;
    if (id == UINT32_MAX)
        return (uint32_t) error_set(JIT_ERROR_MEMORY,
                                    "drjit: the graph of derivatives is full");
    if (id >> AD_CHUNK_BITS >= p->chunk_count) {
        TRY(vec_reserve(p->chunks, &p->chunk_capacity, p->chunk_count + 1,
                        sizeof(void *)),
            0);
        void *chunk = alloc_get((size_t) AD_CHUNK * p->size);
        TRY(chunk, 0);
        memcpy(chunk_place(p, p->chunk_count++), &chunk, sizeof(chunk));
    }
    *p->end = id + 1;
    return id;
}

/* The last thing is gone: so is the memory, but for what small graphs need, and numbers
 * begin anew. */
static void pool_empty(Pool *p)
{
    while (p->chunk_count > 1) {
        void *chunk;
        memcpy(&chunk, chunk_place(p, --p->chunk_count), sizeof(chunk));
        alloc_free(chunk);
    }
    *p->end = p->free = 0;
}

/* ---------------------------------------------------------------- references */

void ad_graph_release(uint64_t leaf)
{
    if (ad_var_node(leaf))
        ad_graph_unref(ad_var_node(leaf));
    if (ad_var_index(leaf))
        var_dec(ad_var_index(leaf));
}

AdHeld *ad_graph_held(size_t size)
{
    AdHeld *held = alloc_zero(1, size);
    if (held)
        held->refs = 1;
    return held;
}

/* ---------------------------------------------------------------- freeing
 *
 * Freeing a node drops its edges, which release what they hold: variables, and further
 * nodes. Those whose last reference goes on the way wait in a list, linked by
 * 'grad'. */

static NodeId waiting;
static bool freeing;

/* A gradient that was tracked has a node, whose gradient may have one: as deep as
 * derivatives of derivatives go. */
static void unref_later(NodeId id)
{
    while (id) {
        AdNode *node = ad_graph_node(id);
        if (--node->refs)
            return;
        uint64_t grad = node->grad;
        node->grad = waiting;
        waiting = id;
        id = ad_var_node(grad);
        if (grad)
            var_dec(ad_var_index(grad));
    }
}

static void drop_leaf(uint64_t leaf)
{
    if (ad_var_node(leaf))
        unref_later(ad_var_node(leaf));
    if (leaf)
        var_dec(ad_var_index(leaf));
}

static void drop_held(AdHeld *held)
{
    if (--held->refs)
        return;
    for (uint32_t i = 0; i < held->count; i++)
        drop_leaf(held->leaves[i]);
    if (held->release)
        held->release(held);
    else
        alloc_free(held);
}

/* Free an edge that its target's list, which goes on at '*link', contains no more. */
static void free_edge(EdgeId id, EdgeId *link)
{
    AdEdge *e = ad_graph_edge(id);
    NodeId source = e->source;
    AdNode *from = ad_graph_node(source);
    *link = e->next_in;
    *(e->prev_out ? &ad_graph_edge(e->prev_out)->next_out : &from->out) = e->next_out;
    if (e->next_out)
        ad_graph_edge(e->next_out)->prev_out = e->prev_out;
    uint64_t held = e->held;
    bool several = ad_graph_holds_several(e->rule);
    *e = (AdEdge){ .next_in = edges.free };
    edges.free = id;
    if (--edges.live == 0)
        pool_empty(&edges);
    unref_later(source);
    if (several)
        drop_held((AdHeld *) (uintptr_t) held);
    else
        drop_leaf(held);
}

static void no_nodes(void)
{
    pool_empty(&nodes);
    alloc_free(tags);
    tags = NULL;
    tag_capacity = 0;
    ad_set_forget();
    ad_size_forget();
    ad_place_forget();
}

static void free_waiting(void)
{
    if (freeing)
        return;
    freeing = true;
    while (waiting) {
        NodeId id = waiting;
        AdNode *node = ad_graph_node(id);
        waiting = (NodeId) node->grad;
        node->refs = 1; /* while its edges go */
        while (node->in)
            free_edge(node->in, &node->in);
        if (node->flags & NODE_LABELLED)
            ad_graph_set_label(id, NULL);
        *node = (AdNode){ .grad = nodes.free };
        nodes.free = id;
        if (--nodes.live == 0)
            no_nodes();
    }
    freeing = false;
}

void ad_graph_unref(NodeId id)
{
    unref_later(id);
    free_waiting();
}

void ad_graph_drop_edge(EdgeId id)
{
    EdgeId *link = &ad_graph_node(ad_graph_edge(id)->target)->in;
    while (*link != id)
        link = &ad_graph_edge(*link)->next_in;
    free_edge(id, link);
    free_waiting();
}

void ad_graph_drop_passed(NodeId target)
{
    EdgeId *link = &ad_graph_node(target)->in;
    while (*link) {
        AdEdge *e = ad_graph_edge(*link);
        if (e->passed) {
            ad_graph_node(e->source)->flags |= NODE_CUT_OUT;
            ad_graph_node(target)->flags |= NODE_CUT_IN;
            free_edge(*link, link);
        } else {
            link = &e->next_in;
        }
    }
    free_waiting();
}

/* The leaf is a plain variable if this is its node. */
static void forget_node(uint64_t *leaf, NodeId id)
{
    if (ad_var_node(*leaf) != id)
        return;
    *leaf = ad_var_index(*leaf);
    unref_later(id);
}

/* What edges of a target hold is not tracked by this node any more. */
static void forget_held(NodeId target, NodeId id)
{
    for (EdgeId i = ad_graph_node(target)->in; i; i = ad_graph_edge(i)->next_in) {
        AdEdge *e = ad_graph_edge(i);
        if (!ad_graph_holds_several(e->rule)) {
            forget_node(&e->held, id);
            continue;
        }
        AdHeld *held = (AdHeld *) (uintptr_t) e->held;
        for (uint32_t k = 0; k < held->count; k++)
            forget_node(&held->leaves[k], id);
    }
}

void ad_graph_keep_edges(NodeId target, const AdSet *sources)
{
    bool operation = ad_graph_node(target)->flags & NODE_OPERATION;
    EdgeId *link = &ad_graph_node(target)->in;
    while (*link) {
        const AdEdge *e = ad_graph_edge(*link);
        if (ad_set_has(sources, e->source)) {
            link = &ad_graph_edge(*link)->next_in;
            continue;
        }
        if (!operation)
            forget_held(target, e->source);
        free_edge(*link, link);
    }
    free_waiting();
}

void ad_graph_drop_held(AdHeld *held)
{
    drop_held(held);
    free_waiting();
}

/* ---------------------------------------------------------------- making */

NodeId ad_graph_new_node(JitBackend backend, VarType type, size_t size)
{
    NodeId id = nodes.free;
    if (id)
        nodes.free = (uint32_t) ad_graph_node(id)->grad;
    else
        TRY(id = pool_grow(&nodes), 0);
    if (!nodes.live++)
        holders_of_derivatives = ad_hooks.add_holders;
    *ad_graph_node(id) = (AdNode){
        .serial = serial,
        .refs = 1,
        .size = (uint32_t) size,
        .backend = (unsigned) backend,
        .type = (unsigned) type,
    };
    serial += 2;
    if (ad_thread_is_debugging())
        ad_place_note(id);
    return id;
}

NodeId ad_graph_new_for(VarId variable)
{
    const Var *v = var_get(variable);
    return ad_graph_new_node(var_device(v)->backend, (VarType) v->type, var_lanes(v));
}

NodeId ad_graph_new_like(NodeId id)
{
    const AdNode like = *ad_graph_node(id);
    return ad_graph_new_node((JitBackend) like.backend, (VarType) like.type, like.size);
}

/* The number of an edge that is not used; 0: error recorded. */
static EdgeId take_edge(size_t port)
{
    if (port >= AD_PORTS)
        return (EdgeId) error_set(JIT_ERROR_UNSUPPORTED,
                                  "drjit: an operation with derivatives has operand, "
                                  "input or output %zu, expected at most %d of them",
                                  port, AD_PORTS);
    EdgeId id = edges.free;
    if (!id)
        return pool_grow(&edges);
    edges.free = ad_graph_edge(id)->next_in;
    return id;
}

bool ad_graph_new_edge(NodeId source, NodeId target, AdRuleId rule, size_t port,
                       uint64_t held)
{
    EdgeId id = take_edge(port);
    if (!id) {
        if (ad_graph_holds_several(rule))
            ad_graph_drop_held((AdHeld *) (uintptr_t) held);
        else
            ad_graph_release(held);
        return false;
    }
    edges.live++;
    AdNode *from = ad_graph_node(source), *to = ad_graph_node(target);
    *ad_graph_edge(id) = (AdEdge){
        .source = source,
        .target = target,
        .next_in = to->in,
        .next_out = from->out,
        .rule = rule,
        .port = (uint16_t) port,
        .held = held,
    };
    if (from->out)
        ad_graph_edge(from->out)->prev_out = id;
    to->in = from->out = id;
    from->refs++;
    return true;
}

void ad_graph_set_source(EdgeId id, NodeId source)
{
    AdEdge *e = ad_graph_edge(id);
    NodeId before = e->source;
    AdNode *from = ad_graph_node(before), *to = ad_graph_node(source);
    *(e->prev_out ? &ad_graph_edge(e->prev_out)->next_out : &from->out) = e->next_out;
    if (e->next_out)
        ad_graph_edge(e->next_out)->prev_out = e->prev_out;
    e->source = source;
    e->prev_out = 0;
    e->next_out = to->out;
    if (to->out)
        ad_graph_edge(to->out)->prev_out = id;
    to->out = id;
    to->refs++;
    ad_graph_unref(before);
}

void ad_graph_move_edges(NodeId from, NodeId to)
{
    AdNode *a = ad_graph_node(from), *b = ad_graph_node(to);
    for (EdgeId e = b->in = a->in; e; e = ad_graph_edge(e)->next_in)
        ad_graph_edge(e)->target = to;
    for (EdgeId e = b->out = a->out; e; e = ad_graph_edge(e)->next_out) {
        ad_graph_edge(e)->source = to;
        b->refs++;
        a->refs--;
    }
    a->in = a->out = 0;
}

void ad_graph_renumber(NodeId id)
{
    ad_graph_node(id)->serial = serial;
    serial += 2;
}

/* ---------------------------------------------------------------- questions */

uint64_t ad_graph_serial(void)
{
    return serial;
}
size_t ad_graph_count(void)
{
    return nodes.live;
}

/* ---------------------------------------------------------------- tags */

static bool set_tag(NodeId id, uint32_t tag)
{
    uint32_t before = tag_capacity;
    TRY(vec_reserve(&tags, &tag_capacity, id + 1, sizeof(uint32_t)), false);
    memset(tags + before, 0, (tag_capacity - before) * sizeof(uint32_t));
    tags[id] = tag;
    return true;
}

bool ad_graph_set_family(NodeId id, uint32_t family)
{
    ad_graph_set_label(id, NULL);
    TRY(set_tag(id, family), false);
    ad_graph_node(id)->flags |= NODE_INNER;
    return true;
}

uint32_t ad_graph_family(NodeId id)
{
    return ad_graph_node(id)->flags & NODE_INNER ? tags[id] : 0;
}

const char *ad_graph_label(NodeId id)
{
    return ad_graph_node(id)->flags & NODE_LABELLED ? labels.texts[tags[id] - 1] : NULL;
}

static void forget_label(NodeId id)
{
    uint32_t label = tags[id] - 1;
    alloc_free(labels.texts[label]);
    labels.texts[label] = NULL;
    if (label < labels.first_free)
        labels.first_free = label;
    ad_graph_node(id)->flags &= ~NODE_LABELLED & 31u;
}

/* An entry of the list that is free; UINT32_MAX: out of memory. */
static uint32_t find_free_label(void)
{
    uint32_t i = labels.first_free;
    while (i < labels.count && labels.texts[i])
        i++;
    if (i == labels.count) {
        TRY(vec_reserve(&labels.texts, &labels.capacity, i + 1, sizeof(char *)),
            UINT32_MAX);
        labels.texts[labels.count++] = NULL;
    }
    labels.first_free = i;
    return i;
}

bool ad_graph_set_label(NodeId id, const char *label)
{
    AdNode *node = ad_graph_node(id);
    char *text = NULL;
    if (node->flags & NODE_INNER)
        return true;
    if (label)
        TRY(text = alloc_string(label), false);
    if (node->flags & NODE_LABELLED)
        forget_label(id);
    if (!text)
        return true;
    uint32_t place = find_free_label();
    if (place == UINT32_MAX || !set_tag(id, place + 1)) {
        alloc_free(text);
        return false;
    }
    labels.texts[place] = text;
    node->flags |= NODE_LABELLED;
    return true;
}
