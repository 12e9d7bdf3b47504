/*
 * ad_visits.c -- see ad_visits.h
 *
 * Walks list the edges of a chain in order of their targets, and those of any graph by
 * groups, so that sorting has little to do.
 */
#include "ad/graph/ad_visits.h"

#include <stdlib.h>
#include <string.h>

#include "ad/graph/ad_hooks.h"
#include "ad/graph/ad_scope.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

void ad_visits_free(AdVisits *v)
{
    alloc_free(v->list);
    alloc_free(v->roots);
    alloc_free(v->seen.nodes);
    alloc_free(v->serials);
    alloc_free(v->stops);
}

void ad_visits_clear(AdVisits *v)
{
    enum { SMALL = 4096 };
    if (v->capacity > SMALL || v->root_capacity > SMALL || v->seen.capacity > SMALL) {
        ad_visits_free(v);
        *v = (AdVisits){ 0 };
    }
    v->count = v->root_count = v->seen.count = v->stop_count = 0;
}

/* ---------------------------------------------------------------- walking */

typedef struct Walk {
    AdVisits *visits;
    NodeId *stack;
    uint32_t depth, capacity;
    ADMode mode;
    const AdBorder *border; /* NULL: within bodies that are complete */
    bool later;             /* where it stops is noted, and nothing is done about it */
    bool beyond;            /* it does not stop: the traversal is one in forward mode */
    AdEdges through;        /* of an operation */
} Walk;

/* Note that a node is seen. '*before': it was. */
static bool see(AdVisits *v, NodeId id, bool *before)
{
    uint32_t count = v->seen.count, place = ad_set_add(&v->seen, id);
    TRY(place != AD_SET_NONE, false);
    if (v->seen.count > count && !vec_reserve(&v->serials, &v->serial_capacity,
                                              v->seen.count, sizeof(uint64_t))) {
        v->seen.count = count;
        return false;
    }
    uint64_t serial = ad_graph_node(id)->serial;
    *before = v->seen.count == count && v->serials[place] == serial;
    v->serials[place] = serial;
    return true;
}

static bool walk_push(Walk *w, NodeId id)
{
    bool before;
    TRY(see(w->visits, id, &before), false);
    return before || vec_push(&w->stack, &w->depth, &w->capacity, id);
}

static bool note_stop(AdVisits *v, NodeId id)
{
    TRY(vec_reserve(&v->stops, &v->stop_capacity, v->stop_count + 1, sizeof(AdRoot)),
        false);
    v->stops[v->stop_count++] =
        (AdRoot){ ad_graph_node(id)->serial, id, ADModeBackward };
    return true;
}

/* Note what the rest of the walk, or the traversal, goes on from later. Bodies that are
 * complete are not walked through in part. */
static bool stop_at(Walk *w, NodeId id, bool *stops)
{
    const AdScopeState *scope = w->border ? ad_scope_current() : NULL;
    const AdNode *node = ad_graph_node(id);
    *stops = true;
    if (w->border && ad_border_is_outside(w->border, id)) {
        NodeId receiver = ad_border_receiver(id);
        if (w->later)
            return note_stop(w->visits, id);
        return receiver == id || ad_border_is_outside(w->border, receiver)
                   ? ad_border_postpone(w->border, receiver)
                   : walk_push(w, receiver);
    }
    if (scope && node->serial < scope->border && !(node->flags & NODE_ENTRY))
        return w->later ? note_stop(w->visits, id) : ad_scope_postpone(id);
    *stops = false;
    return true;
}

/* Does a scope that isolates have forward traversals begin here? */
static bool is_beginning(NodeId id)
{
    const AdScopeState *scope = ad_scope_current();
    const AdNode *node = ad_graph_node(id);
    return scope && node->serial < scope->beginning && !(node->flags & NODE_ENTRY);
}

/* A placeholder has the tangent of what it stands for. */
static bool walk_outer(Walk *w, NodeId id)
{
    AdStandsFor f;
    return !ad_border_stands_for(id, &f) || !f.outer || walk_push(w, f.outer);
}

static bool list_edge(Walk *w, EdgeId e)
{
    const AdEdge *edge = ad_graph_edge(e);
    AdVisits *v = w->visits;
    TRY(vec_reserve(&v->list, &v->capacity, v->count + 1, sizeof(AdVisit)), false);
    v->list[v->count++] = (AdVisit){ ad_graph_node(edge->source)->serial,
                                     ad_graph_node(edge->target)->serial,
                                     e,
                                     0,
                                     0,
                                     edge->port };
    if (w->mode == ADModeForward)
        ad_scope_note(edge->target, ADCrossingOut);
    else if (w->beyond)
        ad_scope_note(edge->target, ADCrossingLook);
    return true;
}

/* To the other end of an edge, or, where it is an operation of which not each output
 * depends on each input, beyond. */
static bool walk_along(Walk *w, const AdEdge *edge)
{
    const bool forward = w->mode == ADModeForward;
    NodeId next = forward ? edge->target : edge->source;
    bool known = false;
    w->through.count = 0;
    if (ad_graph_node(next)->flags & NODE_OPERATION)
        TRY(ad_hooks.go_through(edge, forward, w->visits->seen.turn, &w->through,
                                &known),
            false);
    if (!known)
        return walk_push(w, next);
    for (uint32_t i = 0; i < w->through.count; i++) {
        const AdEdge *e = ad_graph_edge(w->through.edges[i]);
        TRY(list_edge(w, w->through.edges[i]) &&
                walk_push(w, forward ? e->target : e->source),
            false);
    }
    return true;
}

/* Note the edges of a node; its neighbours are walked next. */
static bool walk_node(Walk *w, NodeId id)
{
    bool forward = w->mode == ADModeForward, stops = false;
    TRY(forward || w->beyond || stop_at(w, id, &stops), false);
    if (stops || (w->beyond && is_beginning(id)))
        return true;
    TRY(!w->beyond || walk_outer(w, id), false);
    const AdNode *node = ad_graph_node(id);
    if (w->border && ad_graph_is_closed(id))
        return error_set(
            JIT_ERROR_STATE,
            "ad_enqueue(): a%u belongs to the body of a loop, conditional or call that "
            "is complete, expected a value from outside, such as a result of it",
            id);
    for (EdgeId e = forward ? node->out : node->in; e;) {
        const AdEdge *edge = ad_graph_edge(e);
        TRY(list_edge(w, e) && walk_along(w, edge), false);
        e = forward ? edge->next_out : edge->next_in;
    }
    return true;
}

static bool walk(Walk *w, const NodeId *roots, uint32_t count)
{
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        ok = walk_push(w, roots[i]);
        while (ok && w->depth)
            ok = walk_node(w, w->stack[--w->depth]);
    }
    alloc_free(w->stack);
    alloc_free(w->through.edges);
    w->through = (AdEdges){ 0 };
    w->stack = NULL;
    w->depth = w->capacity = 0;
    return ok;
}

bool ad_visits_walk(AdVisits *visits, ADMode mode, const NodeId *roots, uint32_t count,
                    const AdBorder *border)
{
    Walk w = { .visits = visits, .mode = mode, .border = border };
    return walk(&w, roots, count);
}

bool ad_visits_look(AdVisits *visits, ADMode mode, const NodeId *roots, uint32_t count,
                    const AdBorder *border)
{
    Walk w = { .visits = visits, .mode = mode, .border = border, .later = true };
    return walk(&w, roots, count);
}

bool ad_visits_go_on(AdVisits *v, ADMode mode, const AdBorder *border)
{
    Walk w = { .visits = v,
               .mode = ADModeBackward,
               .border = border,
               .beyond = mode == ADModeForward };
    bool ok = !v->stop_count || ad_visits_again(v, ADModeBackward, true);
    for (uint32_t i = 0; i < v->stop_count && ok; i++)
        if (ad_graph_has_node(v->stops[i].node) &&
            ad_graph_node(v->stops[i].node)->serial == v->stops[i].serial)
            ok = walk(&w, &v->stops[i].node, 1);
    v->stop_count = 0;
    return ok;
}

bool ad_visits_walk_within(AdVisits *visits, const NodeId *roots, uint32_t count,
                           const NodeId *stops, uint32_t stop_count)
{
    Walk w = { .visits = visits, .mode = ADModeBackward };
    bool before;
    for (uint32_t i = 0; i < stop_count; i++)
        TRY(see(visits, stops[i], &before), false);
    return walk(&w, roots, count);
}

bool ad_visits_again(AdVisits *v, ADMode mode, bool stop)
{
    if (mode == ADModeBackward && !stop && v->seen.count)
        return ad_set_resume(&v->seen);
    v->seen.turn = ad_set_begin().turn;
    v->seen.count = 0;
    return true;
}

bool ad_visits_note_roots(AdVisits *v, ADMode mode, const NodeId *nodes, uint32_t count)
{
    TRY(vec_reserve(&v->roots, &v->root_capacity, v->root_count + count,
                    sizeof(AdRoot)),
        false);
    for (uint32_t i = 0; i < count; i++)
        v->roots[v->root_count++] =
            (AdRoot){ ad_graph_node(nodes[i])->serial, nodes[i], mode };
    return true;
}

/* ---------------------------------------------------------------- sorting */

/* By the node of the result whose turn it is: upwards, or downwards. Then, upwards,
 * by operand, so that the gradient of an array comes before what is scattered into
 * it; then by the other node, then by number. */
static int compare_forward(const void *a, const void *b)
{
    const AdVisit *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

static int compare_backward(const void *a, const void *b)
{
    const AdVisit *x = a, *y = b;
    if (x->target != y->target)
        return x->target > y->target ? -1 : 1;
    if (x->source != y->source)
        return x->source > y->source ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

typedef int (*Compare)(const void *, const void *);

/* By their targets only, those of one as they were: by the bytes of their distance to
 * the one that is first, from the lowest one. False: out of memory. */
static bool sort_targets(AdVisits *v, bool forward)
{
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        uint64_t target = v->list[i].target;
        lowest = target < lowest ? target : lowest;
        highest = target > highest ? target : highest;
    }
    AdVisit *from = v->list, *to = alloc_get((size_t) v->count * sizeof(AdVisit));
    AdVisit *spare = to;
    TRY(spare, false);
#define BYTE(visit) \
    ((forward ? (visit).target - lowest : highest - (visit).target) >> shift & 255)
    for (uint32_t shift = 0; shift < 64 && (highest - lowest) >> shift; shift += 8) {
        uint32_t starts[257] = { 0 };
        for (uint32_t i = 0; i < v->count; i++)
            starts[BYTE(from[i]) + 1]++;
        for (uint32_t i = 0; i < 256; i++)
            starts[i + 1] += starts[i];
        for (uint32_t i = 0; i < v->count; i++)
            to[starts[BYTE(from[i])]++] = from[i];
        AdVisit *sorted = to;
        to = from;
        from = sorted;
    }
#undef BYTE
    if (from == spare)
        memcpy(v->list, spare, (size_t) v->count * sizeof(AdVisit));
    alloc_free(spare);
    return true;
}

/* Edges of one target: mostly one to three. */
static void sort_group(AdVisit *list, uint32_t count, Compare compare)
{
    enum { FEW = 16 };
    if (count > FEW) {
        qsort(list, count, sizeof(AdVisit), compare);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        AdVisit own = list[i];
        uint32_t k = i;
        for (; k && compare(&list[k - 1], &own) > 0; k--)
            list[k] = list[k - 1];
        list[k] = own;
    }
}

bool ad_visits_sort(AdVisits *v, ADMode mode)
{
    bool forward = mode == ADModeForward, sorted = true;
    Compare compare = forward ? compare_forward : compare_backward;
    for (uint32_t i = 1; i < v->count && sorted; i++)
        sorted = forward ? v->list[i - 1].target <= v->list[i].target
                         : v->list[i - 1].target >= v->list[i].target;
    if (!sorted)
        TRY(sort_targets(v, forward), false);
    uint32_t n = 0;
    for (uint32_t i = 0, end; i < v->count; i = end) {
        for (end = i + 1; end < v->count && v->list[end].target == v->list[i].target;)
            end++;
        sort_group(v->list + i, end - i, compare);
        for (; i < end; i++)
            if (!n || v->list[n - 1].edge != v->list[i].edge)
                v->list[n++] = v->list[i];
    }
    v->count = n;
    return true;
}
