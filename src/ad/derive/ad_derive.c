/*
 * ad_derive.c -- see ad_derive.h
 */
#include "ad/derive/ad_derive.h"

#include "ad/array/ad_moves.h"
#include "ad/derive/ad_bodies.h"
#include "ad/derive/ad_derive_loop.h"
#include "ad/derive/ad_overwrite.h"
#include "ad/graph/ad_hooks.h"
#include "ad/region/ad_cut.h"
#include "ad/region/ad_holders.h"
#include "ad/region/ad_placeholder.h"
#include "ad/region/ad_region.h"
#include "ad/region/ad_sides.h"
#include "ad/rule/ad_depends.h"
#include "ad/traverse/ad_gradient.h"
#include "ad/traverse/ad_traverse.h"
#include "base/alloc.h"
#include "base/error.h"

/* What is under way. Lists have an entry for each entry of the template (reverse) or
 * for each tracked result (forward). */
typedef struct Derivation {
    AdTemplate *t;
    ADMode mode;
    bool tracked;
    bool arrays; /* gradients of those that bodies write to are wanted */
    uint64_t *given, *made;
    uint32_t given_count, made_count;
    uint32_t results;     /* of 'made', how many can be results of the region */
    uint64_t **gradients; /* by body, of the first 'results'; owned */
    RecordedBody *bodies;
    uint32_t handle; /* of ad_region_open(), for derivatives of derivatives */
    ReplayGap *gaps; /* owned */
    AdLast last; /* who has written last, if that is needed and this is the outermost
                    region; owned */
} Derivation;

/* ---------------------------------------------------------------- a body */

/* The node that number 'k' of the given gradients belongs to, in one body; 0: none. */
static NodeId given_node(const Derivation *d, uint32_t body, uint32_t k)
{
    const AdTemplate *t = d->t;
    if (d->mode == ADModeForward)
        return t->entries[k].node;
    if (k < t->tracked_count)
        return ad_var_node(t->bodies[body].outputs[t->tracked[k]]);
    const AdArray *array = &t->arrays[k - t->tracked_count];
    return array->body == body ? array->node : 0;
}

/* Is number 'k' of the given gradients an array that this body writes to? */
static bool moves(const Derivation *d, uint32_t body, uint32_t k)
{
    const AdTemplate *t = d->t;
    if (d->mode == ADModeBackward)
        return k >= t->tracked_count;
    state_lock();
    bool writes =
        t->entries[k].written && ad_cut_is_written(t, t->entries[k].node, body);
    state_unlock();
    return writes;
}

static bool set_given(const Derivation *d, uint32_t body)
{
    for (uint32_t k = 0; k < d->given_count; k++)
        if (d->given[k])
            TRY(ad_bodies_give(given_node(d, body, k), &d->given[k], moves(d, body, k)),
                false);
    return true;
}

static uint64_t look_at(NodeId node)
{
    state_lock();
    uint64_t grad = ad_graph_node(node)->grad;
    ad_graph_retain(grad);
    state_unlock();
    return grad;
}

/* The gradients that a body has made: those that are results of the new region are
 * taken. Those of arrays go on to the next body. */
static void take_made(Derivation *d, uint32_t body)
{
    const AdTemplate *t = d->t;
    for (uint32_t k = 0; k < d->made_count; k++) {
        uint64_t *to = k < d->results ? &d->gradients[body][k] : &d->made[k];
        if (d->mode == ADModeBackward) {
            if (!t->entries[k].array)
                *to = ad_gradient_take(t->entries[k].node);
        } else if (k < t->tracked_count) {
            NodeId node = ad_var_node(t->bodies[body].outputs[t->tracked[k]]);
            *to = node ? ad_gradient_take(node) : 0;
        } else {
            const AdArray *array = &t->arrays[k - t->tracked_count];
            if (array->body == body && array->visible)
                *to = look_at(array->node);
        }
    }
}

/* From the results of a body. */
static bool go_through(const Derivation *d, uint32_t body)
{
    const AdTemplate *t = d->t;
    NodeId *ends = ad_bodies_ends(t, t->tracked_count);
    TRY(ends, false);
    uint32_t count = 0;
    for (uint32_t k = 0; k < t->tracked_count; k++)
        if ((ends[count] = ad_var_node(t->bodies[body].outputs[t->tracked[k]])))
            count++;
    return ad_bodies_go_through(t, body, d->mode, ends, count, d->arrays, d->tracked);
}

/* Trace the derivative of one body, with its variables. */
static bool derive_body(Derivation *d, uint32_t b)
{
    AdReopened reopened;
    state_lock();
    if (d->handle)
        ad_open_find(d->handle)->body = b;
    state_unlock();
    TRY(ad_bodies_reopen(&reopened, d->t, b), false);
    if (!d->gaps)
        d->gaps = ad_bodies_gaps(d->t, reopened.body.scope);
    bool ok = d->gaps && set_given(d, b) && go_through(d, b);
    if (ok)
        take_made(d, b);
    ad_bodies_clear(d->t, b, d->mode == ADModeForward);
    return ad_bodies_close(&reopened, ok, &d->bodies[b]);
}

/* ---------------------------------------------------------------- the region */

/* Number k is a result if a body has made it. Each body has an output for it: zeros
 * where it has none. */
static bool make_outputs(Derivation *d, uint32_t *which, uint32_t *count)
{
    *count = 0;
    for (uint32_t k = 0; k < d->results; k++) {
        uint64_t like = 0;
        for (uint32_t b = 0; b < d->t->body_count; b++)
            like = d->gradients[b][k] ? d->gradients[b][k] : like;
        for (uint32_t b = 0; b < d->t->body_count && like; b++)
            if (!d->gradients[b][k])
                TRY(d->gradients[b][k] = ad_moves_number(like, 0), false);
        if (like)
            which[(*count)++] = k;
    }
    return true;
}

static bool record_region(Derivation *d, const uint32_t *which, uint32_t count,
                          VarId *results)
{
    const AdTemplate *t = d->t;
    uint64_t *outputs = alloc_get((count + 1) * sizeof(uint64_t));
    TRY(outputs, false);
    state_lock();
    AdOpen *open = d->handle ? ad_open_find(d->handle) : NULL;
    bool ok = true;
    for (uint32_t b = 0; b < t->body_count && ok; b++) {
        for (uint32_t i = 0; i < count && ok; i++) {
            outputs[i] = d->gradients[b][which[i]];
            ok = record_outputs(&d->bodies[b], 1, &(VarId){ ad_var_index(outputs[i]) });
        }
        ok = ok &&
             (!open || ad_region_add_body(open, t->bodies[b].active, count, outputs));
    }
    ok = ok && ad_bodies_record(t, d->bodies, d->gaps, results);
    state_unlock();
    alloc_free(outputs);
    return ok;
}

/* Bodies hand arrays on in the order in which they were recorded: reverse, the other
 * way round. */
static bool is_descending(const Derivation *d)
{
    return d->t->descending != (d->mode == ADModeBackward);
}

/* What another region of the same kind is given. */
static bool share_given(const Derivation *d, AdOpen *open)
{
    const AdTemplate *t = d->t;
    AdTemplate *own = open->t;
    own->family = t->family;
    own->block = t->block;
    own->descending = is_descending(d);
    own->scope = t->scope;
    own->size = t->size;
    own->condition = t->condition;
    own->mask = t->mask;
    if (t->condition)
        var_inc(t->condition);
    if (t->mask)
        var_inc(t->mask);
    for (uint32_t i = 0; i < t->inputs.count; i++)
        TRY(ad_template_add_input(own, t->inputs.ids[i], t->placeholders.ids[i]),
            false);
    return ad_template_share_arrays(own, t) &&
           ad_template_share_entries(own, t, false) &&
           ad_template_set_targets(own, t->target_count, t->ids, t->callable_of);
}

static bool derive_bodies(Derivation *d)
{
    const AdTemplate *t = d->t;
    AdThread *own = ad_thread();
    bool arrays = d->mode == ADModeBackward && ad_bodies_has_arrays(t, d->given);
    TRY(own && (!arrays || ad_overwrite_find(d->t, &d->last)), false);
    AdLast *before = own->last;
    own->last = d->last.site_count ? &d->last : before;
    bool ok = true;
    for (uint32_t i = 0; i < t->body_count && ok; i++)
        ok = derive_body(d, is_descending(d) ? t->body_count - 1 - i : i);
    own->last = before;
    return ok;
}

static bool derive(Derivation *d)
{
    const AdTemplate *t = d->t;
    uint32_t count = 0;
    uint32_t *which = alloc_get((d->results + 1) * sizeof(uint32_t));
    uint64_t *results = alloc_zero(d->results + 1, sizeof(uint64_t));
    VarId *plain = alloc_zero(d->results + 1, sizeof(VarId));
    bool ok = which && results && plain &&
              (d->mode == ADModeForward || ad_bodies_begin_arrays(t, d->made));
    ok = ok && derive_bodies(d);
    ad_bodies_clear_arrays(t);
    ok = ok && make_outputs(d, which, &count) && record_region(d, which, count, plain);
    for (uint32_t i = 0; i < count; i++)
        results[i] = plain[i];
    if (d->handle) {
        state_lock();
        AdOpen *open = ad_open_find(d->handle);
        if (ok && open)
            ok = ad_template_set_gaps(open->t, d->gaps, t->gap_count + 1) &&
                 ad_region_close(d->handle, results);
        state_unlock();
    }
    for (uint32_t i = 0; i < count; i++)
        d->made[which[i]] = results[i];
    for (uint32_t i = 0; d->mode == ADModeBackward && i < count && ok; i++)
        ok = ad_bodies_widen(t, which[i], &d->made[which[i]]);
    /* Arrays of all bodies; those that none has begun with are there yet. */
    for (uint32_t k = 0; d->mode == ADModeBackward && k < t->entry_count; k++)
        if (t->entries[k].array) {
            ad_var_dec_ref(d->made[k]);
            d->made[k] = ad_gradient_take(t->entries[k].node);
        }
    ok = ok && (d->mode == ADModeForward || ad_overwrite_cut(&d->last, d->made));
    alloc_free(which);
    alloc_free(results);
    alloc_free(plain);
    return ok;
}

bool ad_derive(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
               const bool *wanted)
{
    if (ad_traverse_is_tracked()) {
        state_lock();
        ad_template_find_outer(t);
        state_unlock();
    }
    if (t->kind == REGION_LOOP)
        return ad_derive_loop(t, mode, given, made, wanted);
    bool forward = mode == ADModeForward;
    uint32_t n_out = t->tracked_count + t->array_count;
    Derivation d = {
        .t = t,
        .mode = mode,
        .tracked = ad_traverse_is_tracked(),
        .arrays = ad_bodies_wants_arrays(t, wanted),
        .given = given,
        .made = made,
        .given_count = forward ? t->entry_count : n_out,
        .made_count = forward ? n_out : t->entry_count,
    };
    d.results = forward ? t->tracked_count : t->entry_count;
    d.gradients = alloc_zero(t->body_count, sizeof(uint64_t *));
    d.bodies = alloc_zero(t->body_count, sizeof(RecordedBody));
    bool ok = d.gradients && d.bodies;
    for (uint32_t b = 0; b < t->body_count && ok; b++)
        ok = (d.gradients[b] = alloc_zero(d.results + 1, sizeof(uint64_t))) != NULL;
    if (ok && d.tracked) {
        state_lock();
        d.handle = record_new_scope(); /* a number that no recording has */
        AdOpen *open = ad_region_open(d.handle, t->kind, t->device, t->around, t->name);
        ok = open && share_given(&d, open);
        state_unlock();
    }
    ok = ok && derive(&d);
    for (uint32_t k = 0; k < d.made_count && !ok; k++) {
        ad_var_dec_ref(made[k]);
        made[k] = 0;
    }
    state_lock();
    if (d.handle)
        ad_region_abandon(d.handle); /* it is open yet after a failure */
    for (uint32_t b = 0; d.gradients && d.bodies && b < t->body_count; b++) {
        for (uint32_t k = 0; d.gradients[b] && k < d.results; k++)
            ad_graph_release(d.gradients[b][k]);
        alloc_free(d.gradients[b]);
        ad_bodies_release(&d.bodies[b]);
    }
    state_unlock();
    ad_last_free(&d.last);
    alloc_free(d.gradients);
    alloc_free(d.bodies);
    alloc_free(d.gaps);
    return ok;
}

/* ---------------------------------------------------------------- calls from below */

static bool stands_for(const AdOpen *open, NodeId id, AdStandsFor *found)
{
    const AdEntry *e = ad_template_entry_of(open->t, id);
    if (e)
        *found = (AdStandsFor){ e->outer ? e->outer_node : 0, e->state != 0 };
    return e != NULL;
}

const AdHooks ad_hooks = {
    .drop_open = ad_region_drop,
    .traverse_from = ad_traverse_from,
    .stands_for = stands_for,
    .add_holders = ad_holders_add,
    .follow = ad_sides_follow,
    .resume = ad_placeholder_resume,
    .resumed = ad_placeholder_resumed,
    .go_through = ad_depends_follow,
    .derive = ad_derive,
};
