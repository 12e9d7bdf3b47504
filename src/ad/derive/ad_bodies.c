/*
 * ad_bodies.c -- see ad_bodies.h
 */
#include "ad/derive/ad_bodies.h"

#include "ad/array/ad_local.h"
#include "ad/array/ad_moves.h"
#include "ad/region/ad_region.h"
#include "ad/traverse/ad_gradient.h"
#include "ad/traverse/ad_traverse.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/flow/call.h"
#include "trace/flow/cond.h"
#include "trace/graph/mask.h"

/* ---------------------------------------------------------------- gradients */

bool ad_bodies_wants_arrays(const AdTemplate *t, const bool *wanted)
{
    bool any = !wanted;
    for (uint32_t i = 0; i < t->array_count && !any; i++)
        any = wanted[t->tracked_count + i];
    return any;
}

bool ad_bodies_has_arrays(const AdTemplate *t, const uint64_t *given)
{
    bool any = false;
    for (uint32_t i = 0; i < t->array_count; i++)
        any |= given[t->tracked_count + i] != 0;
    return any;
}

bool ad_bodies_give(NodeId node, uint64_t *given, bool moves)
{
    if (!node || !*given)
        return true;
    uint64_t value = moves ? *given : ad_var_inc_ref(*given);
    if (moves)
        *given = 0;
    return ad_gradient_accumulate(node, value);
}

bool ad_bodies_widen(const AdTemplate *t, uint32_t entry, uint64_t *gradient)
{
    if (!*gradient || t->size.count == 1 ||
        ad_graph_node(t->entries[entry].node)->size != 1 ||
        jit_var_peek_size(ad_var_index(*gradient)) != 1 || ad_local_is(*gradient))
        return true;
    uint64_t wide = ad_moves_resize(*gradient, t->size);
    ad_var_dec_ref(*gradient);
    return (*gradient = wide) != 0;
}

/* ---------------------------------------------------------------- traversals */

NodeId *ad_bodies_ends(const AdTemplate *t, uint32_t count)
{
    return alloc_get((count + t->array_count + t->family_array_count + 1) *
                     sizeof(NodeId));
}

static void add_arrays(NodeId *ends, uint32_t *count, const AdTemplate *t,
                       uint32_t body, bool visible)
{
    for (uint32_t k = 0; k < t->array_count; k++)
        if (t->arrays[k].body == body && t->arrays[k].visible == visible)
            ends[(*count)++] = t->arrays[k].node;
}

/* Arrays of other bodies are where this one begins. */
static void add_stops(NodeId *stops, uint32_t *count, const AdArray *arrays, uint32_t n,
                      uint32_t body)
{
    for (uint32_t k = 0; k < n; k++)
        if (arrays[k].body != body)
            stops[(*count)++] = arrays[k].node;
}

bool ad_bodies_go_through(const AdTemplate *t, uint32_t body, ADMode mode, NodeId *ends,
                          uint32_t count, bool arrays, bool tracked)
{
    if (arrays)
        add_arrays(ends, &count, t, body, true);
    const uint32_t wanted = count; /* the others' gradients nobody looks at */
    if (arrays)
        add_arrays(ends, &count, t, body, false);
    uint32_t stops = 0;
    add_stops(ends + count, &stops, t->arrays, t->array_count, body);
    add_stops(ends + count, &stops, t->family_arrays, t->family_array_count, body);
    const bool ok =
        ad_traverse_within(mode, ends, count, wanted, ends + count, stops, tracked);
    alloc_free(ends);
    return ok;
}

static void forget(NodeId node)
{
    if (node)
        ad_var_dec_ref(ad_gradient_take(node));
}

void ad_bodies_clear(const AdTemplate *t, uint32_t body, bool arrays)
{
    for (uint32_t k = 0; k < t->entry_count; k++)
        if (arrays || !t->entries[k].array)
            forget(t->entries[k].node);
    for (uint32_t k = 0; k < t->n_out; k++)
        forget(ad_var_node(t->bodies[body].outputs[k]));
}

void ad_bodies_clear_arrays(const AdTemplate *t)
{
    for (uint32_t k = 0; k < t->array_count; k++)
        forget(t->arrays[k].node);
}

/* ---------------------------------------------------------------- opened again */

static void abandon_reopened(ThreadState *ts, Body *body)
{
    (void) ts;
    ((AdReopened *) body)->abandoned = true;
    var_ids_drop(&body->effects);
}

bool ad_bodies_reopen(AdReopened *reopened, const AdTemplate *t, uint32_t which)
{
    *reopened =
        (AdReopened){ .body = { .abandon = abandon_reopened, .name = t->name } };
    state_lock();
    bool ok = record_open(state_thread(), &reopened->body, BODY_SIDE, t->device,
                          t->bodies[which].active);
    state_unlock();
    return ok;
}

bool ad_bodies_close(AdReopened *reopened, bool ok, RecordedBody *out)
{
    ThreadState *ts = state_thread();
    state_lock();
    if (ok)
        ok = record_close_into(ts, &reopened->body, out, "ad_traverse()");
    else if (!reopened->abandoned)
        record_abandon(ts, &reopened->body);
    state_unlock();
    return ok;
}

void ad_bodies_release(RecordedBody *body)
{
    region_replaced_all(&body->effects);
    record_release(body);
}

bool ad_bodies_begin_arrays(const AdTemplate *t, uint64_t *made)
{
    for (uint32_t k = 0; k < t->entry_count; k++)
        if (made[k]) {
            uint64_t before = made[k];
            made[k] = 0;
            TRY(ad_gradient_accumulate(t->entries[k].node, before), false);
        }
    return true;
}

ReplayGap *ad_bodies_gaps(const AdTemplate *t, uint32_t scope)
{
    ReplayGap *gaps = alloc_get((t->gap_count + 1) * sizeof(ReplayGap));
    for (uint32_t i = 0; gaps && i < t->gap_count; i++)
        gaps[i] = t->gaps[i];
    if (gaps)
        gaps[t->gap_count] = (ReplayGap){ t->end, scope };
    return gaps;
}

/* ---------------------------------------------------------------- recording again */

/* Record a body in the one that is open. */
static bool record_body(ThreadState *ts, const AdTemplate *t, const RecordedBody *body,
                        VarId active, const VarId *inputs, const ReplayGap *gaps,
                        RecordedBody *out)
{
    RegionReplay r;
    TRY(region_replay_begin(&r, ts, t->scope), false);
    r.effect_scope = body->scope;
    r.gaps = gaps;
    r.gap_count = t->gap_count + 1;
    VarId mask = mask_top(ts);
    bool ok = !active || !mask || region_replay_set(&r, active, mask);
    for (uint32_t i = 0; i < t->placeholders.count && ok; i++)
        ok = region_replay_set(&r, t->placeholders.ids[i], inputs[i]);
    ok = ok && region_replay_recorded(&r, body, out);
    region_replay_end(&r);
    return ok;
}

static bool record_block(const AdTemplate *t, RecordedBody *bodies,
                         const ReplayGap *gaps, VarId *results)
{
    RecordedBody out = { 0 };
    bool ok = record_body(state_thread(), t, bodies, t->bodies[0].active, t->inputs.ids,
                          gaps, &out);
    for (uint32_t i = 0; i < out.outputs.count && ok; i++)
        var_inc(results[i] = out.outputs.ids[i]);
    record_release(&out);
    return ok;
}

/* All bodies, in the conditional or call that is open. */
static bool append_bodies(ThreadState *ts, const AdTemplate *t, uint32_t handle,
                          RecordedBody *bodies, const ReplayGap *gaps,
                          const VarId *inputs)
{
    bool ok = true;
    for (uint32_t b = 0; b < t->body_count && ok; b++) {
        RecordedBody out = { 0 };
        ok = record_body(ts, t, &bodies[b], t->bodies[b].active, inputs, gaps, &out) &&
             (t->kind == REGION_IF
                  ? cond_append(ts, handle, out.outputs.count, out.outputs.ids)
                  : call_append(ts, handle, out.outputs.count, out.outputs.ids));
        record_release(&out);
    }
    if (!ok)
        ad_region_give_up(handle);
    return ok;
}

static bool record_cond(const AdTemplate *t, RecordedBody *bodies,
                        const ReplayGap *gaps, VarId *results)
{
    ThreadState *ts = state_thread();
    uint32_t handle = cond_start(ts, t->name, t->condition);
    return handle && append_bodies(ts, t, handle, bodies, gaps, NULL) &&
           cond_end(ts, handle, results);
}

static bool record_call(const AdTemplate *t, RecordedBody *bodies,
                        const ReplayGap *gaps, VarId *results)
{
    ThreadState *ts = state_thread();
    uint32_t handle = call_start(ts, t->device, t->name, t->mask);
    TRY(handle, false);
    VarIds inputs = { 0 };
    bool ok = true;
    for (uint32_t i = 0; i < t->inputs.count && ok; i++)
        ok = var_ids_take(&inputs, call_input(ts, handle, t->inputs.ids[i]));
    if (!ok)
        ad_region_give_up(handle);
    ok = ok && append_bodies(ts, t, handle, bodies, gaps, inputs.ids);
    var_ids_drop(&inputs);
    const CallTargets targets = { t->condition, t->target_count, t->ids,
                                  t->callable_of };
    return ok && call_end(ts, handle, &targets, results);
}

bool ad_bodies_record(const AdTemplate *t, RecordedBody *bodies, const ReplayGap *gaps,
                      VarId *results)
{
    bool masked = t->around && mask_push(state_thread(), t->around);
    bool ok = (masked || !t->around) &&
              (t->block               ? record_block(t, bodies, gaps, results)
               : t->kind == REGION_IF ? record_cond(t, bodies, gaps, results)
                                      : record_call(t, bodies, gaps, results));
    if (masked)
        ok = mask_pop(state_thread()) && ok;
    return ok;
}
