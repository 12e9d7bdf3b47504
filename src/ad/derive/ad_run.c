/*
 * ad_run.c -- see ad_run.h
 */
#include "ad/derive/ad_run.h"

#include "ad/graph/ad_scope.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/access.h"
#include "trace/graph/mask.h"

/* ---------------------------------------------------------------- begin */

uint64_t ad_run_initial(const LoopDerivative *d, uint32_t k)
{
    const AdTemplate *t = d->t;
    const AdState *s = &t->states[k];
    uint64_t leaf = s->initial;
    const AdEntry *e = s->entry ? &t->entries[s->entry - 1] : NULL;
    state_lock();
    if (d->tracked && e && e->outer && ad_graph_has_node(e->outer_node) &&
        ad_graph_node(e->outer_node)->serial == e->outer)
        leaf |= (uint64_t) e->outer_node << 32;
    ad_graph_retain(leaf);
    state_unlock();
    return leaf;
}

uint64_t ad_run_given(const LoopDerivative *d, uint32_t k)
{
    const AdTemplate *t = d->t;
    uint64_t given = 0;
    for (uint32_t i = 0; !d->forward && i < t->tracked_count; i++)
        if (t->tracked[i] == k)
            given = d->given[i];
    if (d->forward)
        given = d->given[t->states[k].entry - 1];
    return given ? ad_var_inc_ref(given) : ad_moves_number(t->states[k].initial, 0);
}

bool ad_run_is_summed(const LoopDerivative *d, uint32_t entry)
{
    const AdEntry *e = &d->t->entries[entry];
    return !e->array && (!e->state || !d->t->states[e->state - 1].changes);
}

static bool is_array_state(const AdState *s)
{
    const Var *v = var_get(s->initial);
    return (v->flags & (VAR_CONSUMED | VAR_POISONED)) || var_pending(v);
}

/* Variables of the template that are what they are in all iterations; others that do
 * not change are arrays, and no values of lanes. */
static bool set_constant(AdRun *run)
{
    const AdTemplate *t = run->d->t;
    for (uint32_t k = 0; k < t->state_count; k++) {
        const AdState *s = &t->states[k];
        if (!s->changes && !is_array_state(s))
            TRY(region_replay_set(&run->replay, s->placeholder, s->initial), false);
    }
    return true;
}

static bool take_values(AdRun *run, bool wanted, const uint64_t *states, uint32_t count,
                        const uint64_t *others)
{
    const AdTemplate *t = run->d->t;
    run->values = alloc_get((t->state_count + count + 1) * sizeof(uint64_t));
    run->states = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    run->gradients = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    bool ok = run->values && run->states && run->gradients;
    for (uint32_t k = 0; ok && wanted && k < t->state_count; k++)
        if (t->states[k].changes)
            run->values[run->primal++] =
                states ? ad_var_inc_ref(states[k]) : ad_run_initial(run->d, k);
    run->count = run->primal;
    for (uint32_t i = 0; i < count; i++) {
        ok = ok && others[i];
        if (run->values)
            run->values[run->count++] = others[i];
        else
            ad_var_dec_ref(others[i]);
    }
    return ok;
}

static bool start(AdRun *run)
{
    const AdTemplate *t = run->d->t;
    bool *tracked = alloc_zero(run->count + 1, sizeof(bool));
    TRY(tracked, false);
    for (uint32_t k = 0, i = 0; run->primal && k < t->state_count; k++)
        if (t->states[k].changes)
            tracked[i++] = run->d->tracked && t->states[k].active;
    for (uint32_t i = run->primal; i < run->count; i++)
        tracked[i] = run->d->tracked;
    int64_t most = t->max_iterations >= 0 ? t->max_iterations : ADLoopUnbounded;
    int symbolic = jit_flag(JitFlagSymbolicLoops);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    run->handle = ad_var_loop_start(ad_template_backend(t), t->name, most, run->count,
                                    run->values, tracked);
    jit_set_flag(JitFlagSymbolicLoops, symbolic);
    alloc_free(tracked);
    return run->handle != 0;
}

bool ad_run_open(AdRun *run, LoopDerivative *d, bool wanted, const uint64_t *states,
                 uint32_t count, const uint64_t *others)
{
    const AdTemplate *t = d->t;
    *run = (AdRun){ .d = d };
    TRY(take_values(run, wanted, states, count, others), false);
    run->masked = t->around && jit_var_mask_push(ad_template_backend(t), t->around);
    TRY((run->masked || !t->around) && start(run), false);
    state_lock();
    run->replays = region_replay_begin(&run->replay, state_thread(), t->scope);
    /* Effects of the loop itself are not repeated. */
    run->replay.effect_scope = d->body.scope;
    run->replay.gaps = d->gaps;
    run->replay.gap_count = t->gap_count + 1;
    bool ok = run->replays && set_constant(run);
    state_unlock();
    uint64_t *own = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    for (uint32_t k = 0, i = 0; own && wanted && k < t->state_count; k++)
        if (t->states[k].changes)
            own[k] = run->values[i++];
    ok = ok && own && ad_run_set_states(run, own);
    alloc_free(own);
    return ok;
}

/* ---------------------------------------------------------------- iterations */

static bool set_active(AdRun *run, VarId placeholder)
{
    VarId mask = mask_top(state_thread());
    return !placeholder || !mask || region_replay_find(&run->replay, placeholder) ||
           region_replay_set(&run->replay, placeholder, mask);
}

/* A condition that turns out to be a literal false leaves no loop, and nothing that the
 * derivative of its body could be cut off with, whose arrays are tracked: then the
 * condition is in memory. The reference moves. */
static uint32_t keep_loop(const AdRun *run, uint32_t condition)
{
    VarInfo info;
    if (!run->d->tracked || !jit_var_info(condition, &info) ||
        info.state != VarStateLiteral || info.literal)
        return condition;
    const bool never = false;
    jit_var_dec_ref(condition);
    return jit_var_literal(info.backend, VarTypeBool, &never, info.size, 1);
}

bool ad_run_condition(AdRun *run, bool wanted, uint32_t more, int *again)
{
    const AdTemplate *t = run->d->t;
    VarId condition = 0;
    state_lock();
    bool ok = !wanted || (set_active(run, t->testing) &&
                          region_replay(&run->replay, t->condition));
    if (wanted && ok)
        var_inc(condition = region_replay_find(&run->replay, t->condition));
    state_unlock();
    TRY(ok, false);
    if (!condition)
        condition = jit_var_inc_ref(more);
    else if (more) {
        uint32_t both = jit_var_and(condition, more);
        jit_var_dec_ref(condition);
        TRY(condition = both, false);
    }
    TRY(condition = keep_loop(run, condition), false);
    *again = ad_var_loop_cond(run->handle, condition);
    jit_var_dec_ref(condition);
    if (*again < 0)
        run->handle = 0;
    return *again >= 0;
}

bool ad_run_set_states(AdRun *run, const uint64_t *states)
{
    const AdTemplate *t = run->d->t;
    bool ok = true;
    state_lock();
    for (uint32_t k = 0; k < t->state_count && ok; k++)
        if (states[k]) {
            ad_graph_retain(run->states[k] = states[k]);
            ok = region_replay_set(&run->replay, t->states[k].placeholder,
                                   ad_var_index(states[k]));
        }
    state_unlock();
    return ok;
}

bool ad_run_set_gradient(AdRun *run, uint32_t k, uint64_t value)
{
    state_lock();
    ad_graph_retain(run->gradients[k] = value);
    bool ok = region_replay_set(&run->replay, ad_var_index(run->d->gradients[k]),
                                ad_var_index(value));
    state_unlock();
    return ok;
}

bool ad_run_set_number(AdRun *run, uint32_t placeholder, uint32_t number)
{
    state_lock();
    run->number = number;
    bool ok = region_replay_set(&run->replay, placeholder, number);
    state_unlock();
    return ok;
}

/* What takes the place of placeholders in a block. */
static bool give_inputs(const AdRun *run, AdBlock *block)
{
    const AdTemplate *t = run->d->t;
    for (uint32_t k = 0; k < t->state_count; k++) {
        const AdState *s = &t->states[k];
        if (run->states[k])
            TRY(ad_block_input(block, s->placeholder, run->states[k], s->entry), false);
        else if (!s->changes && !is_array_state(s))
            TRY(ad_block_input(block, s->placeholder, s->initial, 0), false);
        if (run->gradients[k])
            TRY(ad_block_input(block, ad_var_index(run->d->gradients[k]),
                               run->gradients[k], run->d->gradient_entries[k]),
                false);
    }
    return !run->number || ad_block_input(block, run->d->number, run->number, 0);
}

/* The body was recorded: 'outputs' of the template have become 'results'. With the
 * lock. */
static bool track_body(AdRun *run, bool derivative, uint32_t n, const uint64_t *outputs,
                       uint64_t *results)
{
    LoopDerivative *d = run->d;
    const AdTemplate *t = d->t;
    AdBlock own, *block = derivative ? &d->block : &own;
    if (!derivative) {
        TRY(ad_block_open(block, t), false);
        ad_open_find(block->handle)->t->end = t->end;
    }
    /* Gaps of the derivative are one more: that in between. */
    if (give_inputs(run, block))
        return ad_block_close(block, t->bodies[0].active, n, outputs, d->gaps,
                              t->gap_count + derivative, results);
    ad_block_drop(block);
    return false;
}

/* 'outputs' of the template become 'results' (new references). With the lock. */
static bool record_body(AdRun *run, bool derivative, uint32_t n,
                        const uint64_t *outputs, uint64_t *results)
{
    LoopDerivative *d = run->d;
    RecordedBody body = { .scope = d->body.scope }, now = { 0 };
    bool ok = set_active(run, d->t->bodies[0].active);
    for (uint32_t i = 0; i < n && ok; i++)
        ok = record_outputs(&body, 1, &(VarId){ ad_var_index(outputs[i]) });
    if (derivative)
        body.effects = d->body.effects;
    ok = ok && region_replay_recorded(&run->replay, &body, &now);
    body.effects = (VarIds){ 0 };
    for (uint32_t i = 0; i < n && ok; i++)
        var_inc((VarId) (results[i] = now.outputs.ids[i]));
    record_release(&body);
    record_release(&now);
    if (ok && d->tracked && !track_body(run, derivative, n, outputs, results)) {
        for (uint32_t i = 0; i < n; i++)
            ad_graph_release(results[i]);
        ok = false;
    }
    return ok;
}

bool ad_run_body(AdRun *run, bool derivative, uint32_t count, const uint64_t *roots,
                 uint64_t *found)
{
    const AdTemplate *t = run->d->t;
    uint32_t most = run->primal + count, n = 0;
    uint64_t *outputs = alloc_get((most + 1) * sizeof(uint64_t));
    uint64_t *results = alloc_get((most + 1) * sizeof(uint64_t));
    bool ok = outputs && results;
    for (uint32_t k = 0; ok && run->primal && k < t->state_count; k++)
        if (t->states[k].changes)
            outputs[n++] = t->bodies[0].outputs[k];
    for (uint32_t i = 0; ok && i < count; i++)
        if (roots[i])
            outputs[n++] = roots[i];
    state_lock();
    ok = ok && record_body(run, derivative, n, outputs, results);
    for (uint32_t i = 0; ok && i < run->primal; i++) {
        ad_graph_release(run->values[i]);
        run->values[i] = results[i];
    }
    state_unlock();
    n = run->primal;
    for (uint32_t i = 0; i < count; i++)
        found[i] = ok && roots[i] ? results[n++] : 0;
    alloc_free(outputs);
    alloc_free(results);
    return ok;
}

uint64_t ad_run_get(const AdRun *run, uint32_t i)
{
    return run->values[run->primal + i];
}

bool ad_run_set(AdRun *run, uint32_t i, uint64_t value)
{
    TRY(value, false);
    ad_var_dec_ref(run->values[run->primal + i]);
    run->values[run->primal + i] = value;
    return true;
}

uint32_t ad_run_check(const AdTemplate *t, uint32_t count)
{
    state_lock();
    VarId fine =
        access_check_loop(state_thread(), count, (uint32_t) t->max_iterations, t->name);
    state_unlock();
    return fine;
}

uint32_t ad_run_advance(uint32_t number, int by)
{
    VarInfo info;
    TRY(jit_var_peek_info(number, &info), 0);
    uint32_t one = jit_var_u32(info.backend, 1);
    uint32_t next = !one       ? 0
                    : by > 0 ? jit_var_add(number, one)
                               : jit_var_sub(number, one);
    jit_var_dec_ref(one);
    return next;
}

/* ---------------------------------------------------------------- end */

bool ad_run_end(AdRun *run, bool ok)
{
    JitBackend backend = ad_template_backend(run->d->t);
    if (ok && run->handle) {
        ok = ad_var_loop_end(run->handle, run->values) == 1;
        run->handle = 0;
    }
    if (run->handle)
        ad_record_end(backend, run->handle, 1);
    if (run->replays) {
        state_lock();
        region_replay_end(&run->replay);
        state_unlock();
    }
    if (run->masked && run->d->t->around)
        ok = jit_var_mask_pop(backend) && ok;
    run->replays = run->masked = false;
    return ok;
}

void ad_run_drop_list(size_t n, uint64_t *list)
{
    for (size_t i = 0; list && i < n; i++)
        ad_var_dec_ref(list[i]);
    alloc_free(list);
}

void ad_run_free(AdRun *run)
{
    ad_run_drop_list(run->count, run->values);
    ad_run_drop_list(run->d->t->state_count, run->states);
    ad_run_drop_list(run->d->t->state_count, run->gradients);
}

bool ad_run_repeat(AdTemplate *t, RecordedBody *body, ReplayGap *gaps,
                   uint32_t iteration, uint32_t *count)
{
    LoopDerivative d = { .t = t, .body = *body, .gaps = gaps };
    AdRun run;
    int again = 0;
    uint64_t zero = jit_var_u32(ad_template_backend(t), 0);
    uint32_t number = 0;
    bool ok = ad_run_open(&run, &d, true, NULL, 1, &zero) &&
              ad_run_condition(&run, true, 0, &again);
    if (ok && again) {
        number = jit_var_inc_ref(ad_var_index(ad_run_get(&run, 0)));
        ok = ad_run_set_number(&run, iteration, number) &&
             ad_run_body(&run, true, 0, NULL, NULL) &&
             ad_run_set(&run, 0, ad_run_advance(number, 1));
    }
    ok = ad_run_end(&run, ok);
    jit_var_dec_ref(number);
    if (ok)
        *count = jit_var_inc_ref(ad_var_index(ad_run_get(&run, 0)));
    ad_run_free(&run);
    return ok;
}
