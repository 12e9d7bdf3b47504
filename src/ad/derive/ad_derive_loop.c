/*
 * ad_derive_loop.c -- see ad_derive_loop.h; forward mode
 *
 * Forward, the derivative of a loop is one loop, of the states and their tangents.
 */
#include "ad/derive/ad_derive_loop.h"

#include "ad/array/ad_moves.h"
#include "ad/derive/ad_bodies.h"
#include "ad/derive/ad_overwrite.h"
#include "ad/derive/ad_reverse.h"
#include "ad/derive/ad_run.h"
#include "ad/traverse/ad_gradient.h"
#include "ad/traverse/ad_traverse.h"
#include "base/alloc.h"
#include "base/error.h"

/* ---------------------------------------------------------------- the body */

/* Does the gradient of a state go round with the loop? */
static bool is_carried(const AdState *s)
{
    return s->active && s->changes;
}

static NodeId output_node(const AdTemplate *t, uint32_t k)
{
    return ad_var_node(t->bodies[0].outputs[k]);
}

/* With the lock. */
static uint64_t make_placeholder(LoopDerivative *d, uint32_t k)
{
    const AdTemplate *t = d->t;
    VarId like = t->states[k].placeholder;
    VarType type = (VarType) var_get(like)->type;
    bool local = var_get(like)->flags & VAR_LOCAL;
    VarId placeholder = region_placeholder(state_thread(), OP_STATE, k, t->device, type,
                                           1, local ? like : 0);
    if (!placeholder || !d->tracked)
        return placeholder;
    uint64_t leaf = ad_block_placeholder(&d->block, t->states[k].initial, placeholder);
    d->gradient_entries[k] = ad_open_find(d->block.handle)->t->entry_count;
    return leaf;
}

static bool make_placeholders(LoopDerivative *d)
{
    bool ok = true;
    state_lock();
    for (uint32_t k = 0; k < d->t->state_count && ok; k++)
        if (is_carried(&d->t->states[k]))
            ok = (d->gradients[k] = make_placeholder(d, k)) != 0;
    state_unlock();
    return ok;
}

/* Tangents of arrays that the loop writes to go round with it, also if they are zeros
 * at first. */
static bool begin_tangents(const LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    static const uint64_t zero;
    for (uint32_t i = 0; d->forward && d->arrays && i < t->entry_count; i++) {
        if (!t->entries[i].written || d->given[i])
            continue;
        state_lock();
        AdNode like = *ad_graph_node(t->entries[i].node);
        ad_size_announce(ad_size_of_node(t->entries[i].node));
        state_unlock();
        d->given[i] = jit_var_literal((JitBackend) like.backend, (VarType) like.type,
                                      &zero, like.size, 0);
        TRY(d->given[i], false);
    }
    return true;
}

/* Gradients with which the body's derivative begins. */
static bool give_all(const LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    TRY(begin_tangents(d), false);
    for (uint32_t i = 0; d->forward && i < t->entry_count; i++)
        if (!t->entries[i].state || ad_run_is_summed(d, i))
            TRY(ad_bodies_give(t->entries[i].node, &d->given[i], t->entries[i].written),
                false);
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->gradients[k])
            TRY(ad_bodies_give(d->forward ? t->entries[t->states[k].entry - 1].node
                                          : output_node(t, k),
                               &d->gradients[k], false),
                false);
    for (uint32_t i = 0; !d->forward && i < t->array_count; i++)
        TRY(ad_bodies_give(t->arrays[i].node, &d->given[t->tracked_count + i], false),
            false);
    return true;
}

/* From what becomes of the states. */
static bool go_through(const LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    NodeId *ends = ad_bodies_ends(t, t->state_count);
    TRY(ends, false);
    uint32_t count = 0;
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->gradients[k] && (ends[count] = output_node(t, k)))
            count++;
    return ad_bodies_go_through(t, 0, d->forward ? ADModeForward : ADModeBackward, ends,
                                count, d->arrays, d->tracked);
}

/* What the body has made; arrays are complete with it. */
static void take_all(LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t k = 0; d->forward && k < t->state_count; k++)
        if (d->gradients[k] && output_node(t, k))
            d->out[k] = ad_gradient_take(output_node(t, k));
    for (uint32_t i = 0; d->forward && i < t->array_count; i++)
        if (t->arrays[i].visible)
            d->made[t->tracked_count + i] = ad_gradient_take(t->arrays[i].node);
    for (uint32_t i = 0; !d->forward && i < t->entry_count; i++)
        *(t->entries[i].array ? &d->made[i] : &d->out[i]) =
            ad_gradient_take(t->entries[i].node);
}

/* Trace the derivative of the body, with its variables. */
static bool derive_body(LoopDerivative *d)
{
    AdReopened reopened;
    TRY(ad_bodies_reopen(&reopened, d->t, 0), false);
    d->gaps = ad_bodies_gaps(d->t, reopened.body.scope);
    AdThread *own = ad_thread();
    AdLast *before = own ? own->last : NULL;
    bool ok = own && d->gaps && make_placeholders(d);
    if (ok) {
        own->last = d->last.site_count ? &d->last : before;
        ok = (d->forward || (ad_overwrite_number(d->t, &d->number) &&
                             ad_bodies_begin_arrays(d->t, d->made))) &&
             give_all(d) && go_through(d);
        own->last = before;
    }
    if (ok)
        take_all(d);
    ad_bodies_clear(d->t, 0, true);
    ad_bodies_clear_arrays(d->t);
    return ad_bodies_close(&reopened, ok, &d->body);
}

/* Writes of one iteration are followed by those of the next: the adjoint of an array
 * has to be the same for all. */
static bool check_adjoints(const LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t i = 0; i < t->entry_count; i++) {
        if (!t->entries[i].written || !d->made[i])
            continue;
        bool same = false;
        for (uint32_t k = 0; k < t->array_count; k++)
            same |= ad_var_index(d->made[i]) ==
                    ad_var_index(d->given[t->tracked_count + k]);
        if (!same)
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "ad_traverse(): loop '%s' overwrites an array, and has no "
                             "derivative in reverse mode; one that runs at once "
                             "(mode=\"evaluated\") has",
                             t->name);
    }
    return true;
}

/* ---------------------------------------------------------------- forward */

/* States with a tangent, in order: what it is at first, and what the body makes of
 * it. */
static bool list_tangents(const LoopDerivative *d, uint64_t *first, uint64_t *roots)
{
    for (uint32_t k = 0, m = 0; k < d->t->state_count; k++)
        if (d->gradients[k]) {
            roots[m] = d->out[k];
            TRY(first[m++] = ad_run_given(d, k), false);
        }
    return true;
}

/* An iteration. */
static bool record_tangents(AdRun *run, const uint64_t *roots, uint64_t *found)
{
    const LoopDerivative *d = run->d;
    uint32_t m = run->count - run->primal;
    for (uint32_t k = 0, i = 0; k < d->t->state_count; k++)
        if (d->gradients[k])
            TRY(ad_run_set_gradient(run, k, ad_run_get(run, i++)), false);
    TRY(ad_run_body(run, true, m, roots, found), false);
    bool ok = true;
    for (uint32_t i = 0; i < m; i++)
        ok = ad_run_set(run, i,
                        found[i] ? found[i] : ad_moves_number(ad_run_get(run, i), 0)) &&
             ok;
    return ok;
}

/* What the loop has made of the tangents of its states. */
static void take_tangents(const LoopDerivative *d, const AdRun *run)
{
    for (uint32_t k = 0, place = 0; k < d->t->state_count; k++) {
        if (!d->gradients[k])
            continue;
        for (uint32_t i = 0; i < d->t->tracked_count; i++)
            if (d->t->tracked[i] == k)
                d->made[i] = ad_var_inc_ref(ad_run_get(run, place));
        place++;
    }
}

static bool record_forward(LoopDerivative *d)
{
    uint32_t n = d->t->state_count, m = 0;
    uint64_t *first = alloc_zero(n + 1, sizeof(uint64_t));
    uint64_t *found = alloc_zero(n + 1, sizeof(uint64_t));
    uint64_t *roots = alloc_zero(n + 1, sizeof(uint64_t));
    bool ok = first && found && roots && list_tangents(d, first, roots);
    while (first && m < n && first[m])
        m++;
    AdRun run = { .d = d };
    int again = 0;
    if (ok)
        ok = ad_run_open(&run, d, true, NULL, m, first);
    else
        for (uint32_t i = 0; i < m; i++)
            ad_var_dec_ref(first[i]);
    ok = ok && ad_run_condition(&run, true, 0, &again) &&
         (!again || record_tangents(&run, roots, found));
    ok = ad_run_end(&run, ok);
    if (ok)
        take_tangents(d, &run);
    ad_run_free(&run);
    alloc_free(first);
    alloc_free(found);
    alloc_free(roots);
    return ok;
}

/* ---------------------------------------------------------------- both */

/* Gradients of outer variables have the lanes of the loop. */
static bool widen(const LoopDerivative *d)
{
    for (uint32_t i = 0; i < d->t->entry_count; i++)
        if (!d->t->entries[i].array)
            TRY(ad_bodies_widen(d->t, i, &d->made[i]), false);
    return true;
}

static bool open_block(LoopDerivative *d)
{
    state_lock();
    bool ok = ad_block_open(&d->block, d->t);
    state_unlock();
    return ok;
}

static bool end_block(LoopDerivative *d)
{
    state_lock();
    bool ok = ad_block_end(&d->block);
    state_unlock();
    return ok;
}

/* Of arrays with writes that are not part of the graph there is no derivative. */
static bool check_hidden(const LoopDerivative *d, const bool *wanted)
{
    const AdTemplate *t = d->t;
    for (uint32_t i = 0; i < t->array_count; i++) {
        uint32_t k = t->tracked_count + i;
        bool any = d->forward ? !wanted || wanted[k] : d->given[k] != 0;
        if (any && t->arrays[i].hidden && t->arrays[i].visible)
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "ad_traverse(): loop '%s' writes tracked values to an "
                             "array that is not tracked before it, and others by an "
                             "exchange, by a reduction other than Add, or where "
                             "nothing is tracked: there is no derivative",
                             t->name);
    }
    return true;
}

static bool derive(LoopDerivative *d)
{
    bool arrays = !d->forward && ad_bodies_has_arrays(d->t, d->given);
    TRY((!arrays || ad_overwrite_find(d->t, &d->last)) &&
            (!d->tracked || open_block(d)) && derive_body(d) &&
            (!d->tracked || end_block(d)),
        false);
    if (d->forward)
        return record_forward(d);
    return check_adjoints(d) && ad_reverse(d) && widen(d) &&
           ad_overwrite_cut(&d->last, d->made);
}

bool ad_derive_loop(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
                    const bool *wanted)
{
    bool forward = mode == ADModeForward;
    uint32_t n_out = t->tracked_count + t->array_count;
    LoopDerivative d = { .t = t,
                         .forward = forward,
                         .arrays = ad_bodies_wants_arrays(t, wanted),
                         .tracked = ad_traverse_is_tracked(),
                         .given = given,
                         .made = made,
                         .made_count = forward ? n_out : t->entry_count,
                         .out_count = forward ? t->state_count : t->entry_count };
    d.gradients = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    d.gradient_entries = alloc_zero(t->state_count + 1, sizeof(uint32_t));
    d.out = alloc_zero(d.out_count + 1, sizeof(uint64_t));
    bool ok =
        d.gradients && d.gradient_entries && d.out && check_hidden(&d, wanted) &&
        derive(&d);
    for (uint32_t i = 0; i < d.made_count && !ok; i++) {
        ad_var_dec_ref(made[i]);
        made[i] = 0;
    }
    ad_run_drop_list(d.out_count, d.out);
    ad_run_drop_list(t->state_count, d.gradients);
    state_lock();
    ad_block_drop(&d.block);
    ad_bodies_release(&d.body);
    state_unlock();
    ad_last_free(&d.last);
    jit_var_dec_ref(d.number);
    alloc_free(d.gradient_entries);
    alloc_free(d.gaps);
    return ok;
}
