/*
 * ad_overwrite.c -- see ad_overwrite.h
 */
#include "ad/region/ad_overwrite.h"

#include "ad/region/ad_cut.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/record.h"

/* Writes to one array. */
typedef struct Target {
    uint32_t entry; /* 1 + its number; 0: it was not tracked before */
    uint32_t writes;
    AdSize size;
    bool overwrites, unknown;
    bool inner; /* a region in the body overwrites it */
} Target;

typedef struct Search {
    const AdTemplate *t;
    AdLast *last;
    uint32_t capacity; /* of the list of writes */
    Target *targets;
    uint32_t *target_of; /* by array of the template */
} Search;

/* What leads to an array as a write has made it. */
typedef struct Write {
    const AdMoves *m;        /* a scatter with Identity or Add, */
    const AdTemplate *inner; /* or a region in the body, */
    NodeId operation;        /* ... with this node, of which it is this output; */
    uint32_t output;
    NodeId before; /* else both are NULL. What it writes to; 0: not tracked */
} Write;

static uint32_t find_array(const AdTemplate *t, NodeId node, uint32_t end)
{
    for (uint32_t k = 0; k < end; k++)
        if (t->arrays[k].node == node)
            return k;
    return end;
}

static uint32_t find_entry(const AdTemplate *t, NodeId node)
{
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (t->entries[i].node == node)
            return 1 + i;
    return 0;
}

/* The region whose output an edge is; NULL: it is none. */
static const AdTemplate *region_behind(const AdEdge *edge)
{
    const AdOperation *op =
        edge->rule == RULE_OUT_OF ? ad_operation_of(edge->held) : NULL;
    return op && op->arrival == ad_cut_arrival ? op->payload : NULL;
}

static Write find_write(NodeId array)
{
    Write w = { 0 };
    for (EdgeId e = ad_graph_node(array)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        const AdMoves *m = (const AdMoves *) (uintptr_t) edge->held;
        const AdTemplate *inner = region_behind(edge);
        if (inner)
            w = (Write){ NULL, inner, edge->source, edge->slot, 0 };
        else if (edge->rule == RULE_MOVES && ad_moves_is_plain_scatter(m))
            w.m = m;
        if (!inner && edge->operand == 0)
            w.before = edge->source;
    }
    return w;
}

static bool add_write(Search *s, const AdMoves *m, uint32_t body, uint32_t which)
{
    AdLast *last = s->last;
    TRY(vec_reserve(&last->writes, &s->capacity, last->count + 1, sizeof(AdLastWrite)),
        false);
    last->writes[last->count++] = (AdLastWrite){ m, body, which };
    return true;
}

/* What the node of an operation gets by this entry; 0: it is not tracked. */
static NodeId source_of(NodeId operation, uint32_t entry)
{
    for (EdgeId e = ad_graph_node(operation)->in; e; e = ad_graph_edge(e)->next_in)
        if (ad_graph_edge(e)->slot == entry)
            return ad_graph_edge(e)->source;
    return 0;
}

/* What the writes of a region in the body have written to, before the first of them. */
static NodeId before_region(const Write *w)
{
    const AdTemplate *t = w->inner;
    NodeId node = 0;
    if (w->output >= t->tracked_count)
        node = t->arrays[w->output - t->tracked_count].node;
    while (node && !find_entry(t, node)) {
        Write own = find_write(node);
        node = own.inner ? before_region(&own) : own.before;
    }
    return node ? source_of(w->operation, find_entry(t, node) - 1) : 0;
}

/* Those that add something count like one of the body's where the region stands. One
 * that overwrites is 'inner'. False: memory is out. */
static bool add_inner(Search *s, const Write *w, uint32_t body, uint32_t which)
{
    const AdTemplate *t = w->inner;
    Target *target = &s->targets[which];
    NodeId node = 0;
    if (w->output >= t->tracked_count)
        node = t->arrays[w->output - t->tracked_count].node;
    target->unknown |= !node;
    while (node && !find_entry(t, node)) {
        Write own = find_write(node);
        if (own.inner)
            TRY(add_inner(s, &own, body, which), false);
        else if (own.m)
            TRY(add_write(s, own.m, body, which), false);
        target->unknown |= !own.m && !own.inner;
        target->inner |= own.m && ad_moves_overwrites(own.m);
        node = own.inner ? before_region(&own) : own.before;
    }
    return true;
}

/* Array k of the template: a scatter to what another one has left, or to an entry. */
static bool note_write(Search *s, uint32_t k)
{
    const AdTemplate *t = s->t;
    const AdArray *array = &t->arrays[k];
    Write w = find_write(array->node);
    NodeId before = w.inner ? before_region(&w) : w.before;
    uint32_t earlier = before ? find_array(t, before, k) : k;
    uint32_t which = earlier < k ? s->target_of[earlier] : s->last->array_count++;
    Target *target = &s->targets[s->target_of[k] = which];
    if (before && earlier == k)
        target->entry = find_entry(t, before);
    if (w.inner && t->kind == REGION_LOOP)
        return add_inner(s, &w, array->body, which);
    target->unknown |= !w.m;
    if (!w.m)
        return true;
    target->size = w.m->size[0];
    target->writes++;
    target->overwrites |= ad_moves_overwrites(w.m);
    return add_write(s, w.m, array->body, which);
}

static bool is_needed(const Search *s, const Target *target)
{
    return !target->unknown && target->overwrites &&
           (s->t->kind == REGION_LOOP ||
            (s->t->kind == REGION_IF && target->writes > 1));
}

static bool is_recorded(void)
{
    for (const Body *b = state_thread()->body; b; b = b->outer)
        if (b->kind != BODY_EVALUATED)
            return true;
    return false;
}

static bool refuse(const AdTemplate *t)
{
    return error_set(
        JIT_ERROR_UNSUPPORTED,
        "ad_traverse(): %s '%s' overwrites an array: its derivative is "
        "not available within another recording; what runs at once "
        "(mode=\"evaluated\") has one",
        t->kind == REGION_LOOP ? "loop" : "conditional", t->name);
}

/* Arrays of zeros, for those that need one. */
static bool make_arrays(Search *s, bool *any)
{
    JitBackend backend = (JitBackend) ad_graph_node(s->t->arrays[0].node)->backend;
    const uint32_t zero = 0;
    *any = false;
    for (uint32_t k = 0; k < s->t->array_count; k++)
        if (s->targets[k].inner && s->t->kind == REGION_LOOP)
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "ad_traverse(): in loop '%s' a loop, conditional or call "
                             "overwrites an array, and has no derivative in reverse "
                             "mode; what runs at once (mode=\"evaluated\") has",
                             s->t->name);
    for (uint32_t i = 0; i < s->last->array_count; i++) {
        const Target *target = &s->targets[i];
        if (!is_needed(s, target))
            continue;
        if (is_recorded())
            return refuse(s->t);
        ad_size_next(target->size);
        s->last->arrays[i] =
            jit_var_literal(backend, VarTypeUInt32, &zero, target->size.count, 1);
        TRY(s->last->arrays[i], false);
        *any = true;
    }
    return true;
}

static bool search(Search *s, uint32_t *entries)
{
    bool any, ok = true;
    state_lock();
    for (uint32_t k = 0; k < s->t->array_count && ok; k++)
        ok = note_write(s, k);
    state_unlock();
    TRY(ok && make_arrays(s, &any), false);
    for (uint32_t i = 0; i < s->last->array_count; i++)
        if (s->last->arrays[i] && s->targets[i].entry)
            entries[s->targets[i].entry - 1] = 1 + i;
    if (!any)
        ad_last_free(s->last);
    return true;
}

bool ad_overwrite_find(const AdTemplate *t, AdLast *last, uint32_t **entries)
{
    *last = (AdLast){ 0 };
    *entries = NULL;
    if (!t->array_count || t->kind == REGION_CALL)
        return true;
    Search s = { .t = t, .last = last };
    s.targets = alloc_zero(t->array_count, sizeof(Target));
    s.target_of = alloc_zero(t->array_count, sizeof(uint32_t));
    last->arrays = alloc_zero(t->array_count, sizeof(uint32_t));
    *entries = alloc_zero(t->entry_count + 1, sizeof(uint32_t));
    bool ok = s.targets && s.target_of && last->arrays && *entries &&
              search(&s, *entries);
    alloc_free(s.targets);
    alloc_free(s.target_of);
    if (!ok)
        ad_last_free(last);
    return ok;
}

bool ad_overwrite_number(const AdTemplate *t, AdLast *last)
{
    state_lock();
    VarId number = region_placeholder(state_thread(), OP_STATE, t->state_count,
                                      t->device, VarTypeUInt32, 1, 0);
    state_unlock();
    jit_var_dec_ref(last->iteration);
    return (last->iteration = number) != 0;
}

bool ad_overwrite_record(const AdTemplate *t, AdLast *last, uint32_t which,
                         RecordedBody *out)
{
    AdReopened reopened;
    TRY(ad_derive_reopen(&reopened, t, which), false);
    bool ok = (t->kind != REGION_LOOP || ad_overwrite_number(t, last)) &&
              ad_last_record(last, which);
    return ad_derive_close(&reopened, ok, out);
}

bool ad_overwrite_finish(const AdLast *last)
{
    for (uint32_t i = 0; i < last->array_count; i++)
        if (last->arrays[i])
            jit_var_schedule(last->arrays[i]);
    return jit_eval();
}

bool ad_overwrite_cut(const AdTemplate *t, const AdLast *last, const uint32_t *entries,
                      uint64_t *gradients)
{
    for (uint32_t i = 0; entries && last->count && i < t->entry_count; i++)
        if (entries[i] && gradients[i])
            TRY(gradients[i] = ad_last_before(last, entries[i] - 1, gradients[i]),
                false);
    return true;
}
