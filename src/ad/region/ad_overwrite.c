/*
 * ad_overwrite.c -- see ad_overwrite.h
 */
#include "ad/region/ad_overwrite.h"

#include "ad/region/ad_cut.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/record.h"

/* Writes to one array. */
typedef struct Target {
    uint32_t entry; /* 1 + its number; 0: it was not tracked before */
    uint32_t writes;
    size_t size;
    bool overwrites, unknown;
    bool inner; /* by array of the template: a region in the body overwrites it */
} Target;

typedef struct Search {
    const AdTemplate *t;
    AdLast *last;
    Target *targets;
    uint32_t *target_of; /* by array of the template */
} Search;

static uint32_t find_array(const Search *s, NodeId node, uint32_t end)
{
    for (uint32_t k = 0; k < end; k++)
        if (s->t->arrays[k].node == node)
            return k;
    return end;
}

static uint32_t find_entry(const Search *s, NodeId node)
{
    for (uint32_t i = 0; i < s->t->entry_count; i++)
        if (s->t->entries[i].node == node)
            return 1 + i;
    return 0;
}

/* Does a write overwrite entries, perhaps one of a region in the body? */
static bool overwrites(const AdEdge *edge)
{
    if (edge->rule == RULE_MOVES) {
        const AdMoves *m = (const AdMoves *) (uintptr_t) edge->held;
        return ad_moves_is_plain_scatter(m) && ad_moves_overwrites(m);
    }
    if (edge->rule != RULE_OUT_OF)
        return false;
    const AdOperation *op = ad_operation_of(edge->held);
    const AdTemplate *t = op->arrival == ad_cut_arrival ? op->payload : NULL;
    for (uint32_t k = 0; t && k < t->array_count; k++) {
        EdgeId e = ad_graph_node(t->arrays[k].node)->in;
        for (; e; e = ad_graph_edge(e)->next_in)
            if (overwrites(ad_graph_edge(e)))
                return true;
    }
    return false;
}

/* Array k of the template: a scatter to what another one has left, or to an entry. */
static void note_write(Search *s, uint32_t k)
{
    const AdMoves *m = NULL;
    NodeId before = 0;
    bool unknown = false;
    EdgeId e = ad_graph_node(s->t->arrays[k].node)->in;
    for (; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        const AdMoves *moves = (const AdMoves *) (uintptr_t) edge->held;
        if (edge->rule == RULE_MOVES && ad_moves_is_plain_scatter(moves))
            m = moves;
        else
            unknown = true;
        s->targets[k].inner |= unknown && overwrites(edge);
        if (edge->operand == 0)
            before = edge->source;
    }
    uint32_t array = before ? find_array(s, before, k) : k;
    AdLast *last = s->last;
    uint32_t which = array < k ? s->target_of[array] : last->array_count++;
    Target *target = &s->targets[s->target_of[k] = which];
    if (before && array == k)
        target->entry = find_entry(s, before);
    target->unknown |= unknown || !m;
    if (target->unknown)
        return;
    target->size = m->size[0];
    target->writes++;
    target->overwrites |= ad_moves_overwrites(m);
    last->writes[last->count++] = (AdLastWrite){ m, s->t->arrays[k].body, which };
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
        "not available within another recording, nor with "
        "ADFlagCreateGraph; what runs at once (mode=\"evaluated\") has one",
        t->kind == REGION_LOOP ? "loop" : "conditional", t->name);
}

/* Arrays of zeros, for those that need one. */
static bool make_arrays(Search *s, bool tracked, bool *any)
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
        if (tracked || is_recorded())
            return refuse(s->t);
        s->last->arrays[i] =
            jit_var_literal(backend, VarTypeUInt32, &zero, target->size, 1);
        TRY(s->last->arrays[i], false);
        *any = true;
    }
    return true;
}

static bool search(Search *s, bool tracked, uint32_t *entries)
{
    state_lock();
    for (uint32_t k = 0; k < s->t->array_count; k++)
        note_write(s, k);
    state_unlock();
    bool any;
    TRY(make_arrays(s, tracked, &any), false);
    for (uint32_t i = 0; i < s->last->array_count; i++)
        if (s->last->arrays[i] && s->targets[i].entry)
            entries[s->targets[i].entry - 1] = 1 + i;
    if (!any)
        ad_last_free(s->last);
    return true;
}

bool ad_overwrite_find(const AdTemplate *t, bool tracked, AdLast *last,
                       uint32_t **entries)
{
    *last = (AdLast){ 0 };
    *entries = NULL;
    if (!t->array_count || t->kind == REGION_CALL)
        return true;
    Search s = { .t = t, .last = last };
    s.targets = alloc_zero(t->array_count, sizeof(Target));
    s.target_of = alloc_zero(t->array_count, sizeof(uint32_t));
    last->writes = alloc_zero(t->array_count, sizeof(AdLastWrite));
    last->arrays = alloc_zero(t->array_count, sizeof(uint32_t));
    *entries = alloc_zero(t->entry_count + 1, sizeof(uint32_t));
    bool ok = s.targets && s.target_of && last->writes && last->arrays && *entries &&
              search(&s, tracked, *entries);
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
