/*
 * ad_derive_loop.c -- the derivative of a recorded loop, as other loops
 *
 * First the derivative of the body is traced, with variables of the template: gradients
 * that go round with the loop are placeholders. Then loops are recorded from it.
 *
 * Forward it is one loop, of the states and their tangents.
 *
 * Reverse, iterations are gone through from the last to the first. The body's
 * derivative needs the states with which an iteration began, and so:
 *
 *     count    the loop runs again, and counts its iterations
 *     tape     it runs again, and writes the states that are needed to arrays with an
 *              entry for each iteration and lane; a bound makes counting unnecessary
 *     reverse  a loop of a counter, the adjoints of states, and the sums of what goes
 *              to variables from outside
 *
 * Within a recording, where no arrays can be allocated to fit, or if they would be too
 * large, the reverse loop has another one in it instead of the tape, which runs from
 * the beginning to the iteration that is wanted.
 *
 * If the body gives the adjoint of each state on as it is (states are only added to),
 * the order does not matter: one loop of the states and sums is enough.
 */
#include "ad/ad_derive.h"

#include <stdatomic.h>
#include <unistd.h>

#include "ad/ad_moves.h"
#include "ad/ad_scope.h"
#include "ad/ad_traverse.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/mask.h"

/* ---------------------------------------------------------------- the tape's limit */

static _Atomic size_t tape_limit; /* 0: not set */

void ad_set_tape_limit(size_t bytes)
{
    atomic_store(&tape_limit, bytes ? bytes : 1);
}

size_t ad_tape_limit(void)
{
    size_t limit = atomic_load(&tape_limit);
    if (limit)
        return limit;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t) pages / 4 * (size_t) size
                                 : (size_t) 1 << 30;
}

/* ---------------------------------------------------------------- active states */

typedef struct Reach {
    uint64_t *seen; /* a bit for each node */
    NodeId *stack;
    uint32_t depth, capacity;
} Reach;

static bool reach_push(Reach *r, NodeId id)
{
    uint64_t *word = &r->seen[id / 64], bit = 1ull << id % 64;
    if (*word & bit)
        return true;
    TRY(vec_reserve(&r->stack, &r->capacity, r->depth + 1, sizeof(NodeId)), false);
    *word |= bit;
    r->stack[r->depth++] = id;
    return true;
}

static bool reached(const Reach *r, NodeId id)
{
    return r->seen[id / 64] >> id % 64 & 1;
}

static bool reach_all(Reach *r)
{
    while (r->depth) {
        NodeId id = r->stack[--r->depth];
        for (EdgeId e = ad_graph_node(id)->out; e; e = ad_graph_edge(e)->next_out)
            TRY(reach_push(r, ad_graph_edge(e)->target), false);
    }
    return true;
}

/* States that are reached begin the next iteration so. */
static bool reach_states(Reach *r, AdTemplate *t, bool *more)
{
    *more = false;
    for (uint32_t k = 0; k < t->state_count; k++) {
        AdState *s = &t->states[k];
        NodeId output = ad_var_node(t->bodies[0].outputs[k]);
        if (!s->entry || !s->changes || !output || !reached(r, output))
            continue;
        NodeId entry = t->entries[s->entry - 1].node;
        *more |= !reached(r, entry);
        TRY(reach_push(r, entry), false);
    }
    return true;
}

bool ad_derive_find_active(AdTemplate *t)
{
    Reach r = { .seen =
                    alloc_zero((size_t) ad_graph_end() / 64 + 1, sizeof(uint64_t)) };
    bool ok = r.seen != NULL, more = true;
    for (uint32_t i = 0; i < t->entry_count && ok; i++)
        if (t->entries[i].outer)
            ok = reach_push(&r, t->entries[i].node);
    while (ok && more)
        ok = reach_all(&r) && reach_states(&r, t, &more);
    for (uint32_t k = 0; k < t->state_count && ok; k++) {
        AdState *s = &t->states[k];
        s->active = s->entry && reached(&r, t->entries[s->entry - 1].node);
    }
    alloc_free(r.seen);
    alloc_free(r.stack);
    return ok;
}

/* ---------------------------------------------------------------- the body */

typedef struct Derivation {
    AdTemplate *t;
    bool forward;
    uint64_t *given, *made;
    uint32_t made_count;
    uint64_t *slots; /* by state: placeholder of its gradient in the body, 0: none;
                        owned */
    uint64_t *out;   /* what the body makes: forward by state, its tangent; reverse by
                      entry, the gradient; 0: none; owned */
    uint32_t out_count;
    RecordedBody body;
    ReplayGap *gaps; /* owned */
    uint32_t handle; /* of ad_region_open(), for derivatives of derivatives */
} Derivation;

/* Does the gradient of a state go round with the loop? */
static bool is_carried(const AdState *s)
{
    return s->active && s->changes;
}

/* Is an entry's gradient summed up over the iterations? */
static bool is_summed(const Derivation *d, uint32_t entry)
{
    const AdEntry *e = &d->t->entries[entry];
    return !e->array && (!e->state || !d->t->states[e->state - 1].changes);
}

static NodeId output_node(const AdTemplate *t, uint32_t k)
{
    return ad_var_node(t->bodies[0].outputs[k]);
}

/* What is given for a state, or zero; a new reference. Without lock. */
static uint64_t given_state(const Derivation *d, uint32_t k);

/* With derivatives of derivatives, the gradient is a state of the new loop, tracked.
 * With the lock; 'initial' is what it begins with. */
static uint64_t make_slot(const Derivation *d, uint32_t k, uint64_t initial)
{
    const AdTemplate *t = d->t;
    VarType type = (VarType) var_get(t->states[k].placeholder)->type;
    VarId slot = region_placeholder(state_thread(), OP_STATE, k, t->device, type, 1, 0);
    if (!slot || !d->handle)
        return slot;
    AdTemplate *own = ad_region_find(d->handle)->t;
    uint64_t leaf = ad_region_state(own, initial, slot, true);
    if (leaf)
        own->states[own->state_count - 1].changes = true;
    else
        var_dec(slot);
    return leaf;
}

static bool make_slots(Derivation *d)
{
    bool ok = true;
    for (uint32_t k = 0; k < d->t->state_count && ok; k++) {
        if (!is_carried(&d->t->states[k]))
            continue;
        uint64_t initial = d->handle ? given_state(d, k) : 0;
        state_lock();
        if (initial || !d->handle)
            d->slots[k] = make_slot(d, k, initial);
        state_unlock();
        ad_var_dec_ref(initial);
        ok = d->slots[k] != 0;
    }
    return ok;
}

/* Gradients with which the body's derivative begins. */
static bool give_all(const Derivation *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t i = 0; d->forward && i < t->entry_count; i++)
        if (!t->entries[i].state || is_summed(d, i))
            TRY(ad_derive_give(t->entries[i].node, &d->given[i], t->entries[i].written),
                false);
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->slots[k])
            TRY(ad_derive_give(d->forward ? t->entries[t->states[k].entry - 1].node
                                          : output_node(t, k),
                               &d->slots[k], false),
                false);
    for (uint32_t i = 0; !d->forward && i < t->array_count; i++)
        TRY(ad_derive_give(t->arrays[i].node, &d->given[t->tracked_count + i], false),
            false);
    return true;
}

static bool go_through(const Derivation *d)
{
    const AdTemplate *t = d->t;
    NodeId *ends = alloc_get((t->state_count + t->array_count + 1) * sizeof(NodeId));
    TRY(ends, false);
    uint32_t count = 0;
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->slots[k] && output_node(t, k))
            ends[count++] = output_node(t, k);
    uint32_t wanted = count;
    for (int visible = 1; visible >= 0; visible--) {
        for (uint32_t i = 0; i < t->array_count; i++)
            if (t->arrays[i].visible == visible)
                ends[count++] = t->arrays[i].node;
        if (visible)
            wanted = count;
    }
    bool ok = ad_traverse_within(d->forward ? ADModeForward : ADModeBackward, ends,
                                 count, wanted, NULL, 0, d->handle != 0);
    alloc_free(ends);
    return ok;
}

/* What the body has made; arrays are complete with it. */
static void take_all(Derivation *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t k = 0; d->forward && k < t->state_count; k++)
        if (d->slots[k] && output_node(t, k))
            d->out[k] = ad_traverse_take(output_node(t, k));
    for (uint32_t i = 0; d->forward && i < t->array_count; i++)
        if (t->arrays[i].visible)
            d->made[t->tracked_count + i] = ad_traverse_take(t->arrays[i].node);
    for (uint32_t i = 0; !d->forward && i < t->entry_count; i++)
        *(t->entries[i].array ? &d->made[i] : &d->out[i]) =
            ad_traverse_take(t->entries[i].node);
}

static void clear_all(const Derivation *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t i = 0; i < t->entry_count; i++)
        ad_var_dec_ref(ad_traverse_take(t->entries[i].node));
    for (uint32_t k = 0; k < t->state_count; k++)
        if (output_node(t, k))
            ad_var_dec_ref(ad_traverse_take(output_node(t, k)));
    for (uint32_t i = 0; i < t->array_count; i++)
        ad_var_dec_ref(ad_traverse_take(t->arrays[i].node));
}

static bool derive_body(Derivation *d)
{
    AdLimbo limbo;
    TRY(ad_limbo_open(&limbo, d->t, 0), false);
    d->gaps = ad_derive_gaps(d->t, limbo.body.scope);
    bool ok = d->gaps && make_slots(d) &&
              (d->forward || ad_derive_begin_arrays(d->t, d->made)) && give_all(d) &&
              go_through(d);
    if (ok)
        take_all(d);
    clear_all(d);
    return ad_limbo_close(&limbo, ok, &d->body);
}

/* Writes of one iteration are followed by those of the next: the adjoint of an array
 * has to be the same for all. */
static bool check_arrays(const Derivation *d)
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
            return error_set(
                JIT_ERROR_UNSUPPORTED,
                "ad_traverse(): loop '%s' overwrites an array or reads one "
                "that it writes to, and has no derivative in reverse mode; "
                "one that runs at once (mode=\"evaluated\") has",
                t->name);
    }
    return true;
}

/* ---------------------------------------------------------------- loops */

static JitBackend backend_of(uint32_t id)
{
    VarInfo info;
    return jit_var_info(id, &info) ? info.backend : JitBackendNone;
}

/* A loop that is being recorded from the template: its states that change, if they are
 * wanted, and others behind. */
typedef struct Run {
    const Derivation *d;
    RegionReplay replay;
    bool replays;
    uint32_t handle;
    uint32_t *values; /* owned */
    uint32_t primal, count;
    bool masked;
} Run;

/* Variables of the template that are what they are in all iterations. */
static bool set_constant(Run *run)
{
    const AdTemplate *t = run->d->t;
    for (uint32_t k = 0; k < t->state_count; k++) {
        const AdState *s = &t->states[k];
        const Var *v = var_get(s->initial);
        bool readable = !(v->flags & (VAR_CONSUMED | VAR_POISONED)) && !var_pending(v);
        if (!s->changes && readable) /* others are arrays, and no values of lanes */
            TRY(region_replay_set(&run->replay, s->placeholder, s->initial), false);
    }
    return true;
}

static bool set_active(Run *run, VarId placeholder)
{
    VarId mask = mask_top(state_thread());
    return !placeholder || !mask || region_replay_find(&run->replay, placeholder) ||
           region_replay_set(&run->replay, placeholder, mask);
}

/* Begin with these values besides the states, if these are wanted; references move. */
static bool run_open(Run *run, const Derivation *d, bool states, uint32_t count,
                     const uint32_t *others)
{
    const AdTemplate *t = d->t;
    *run = (Run){ .d = d };
    run->values = alloc_get((t->state_count + count + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; run->values && states && k < t->state_count; k++)
        if (t->states[k].changes)
            run->values[run->primal++] = jit_var_inc_ref(t->states[k].initial);
    run->count = run->primal;
    bool ok = run->values != NULL;
    for (uint32_t i = 0; i < count; i++) {
        ok = ok && others[i];
        if (run->values)
            run->values[run->count++] = others[i];
        else
            jit_var_dec_ref(others[i]);
    }
    TRY(ok, false);
    JitBackend backend = backend_of(t->states[0].initial);
    ok = run->masked = !t->around || jit_var_mask_push(backend, t->around);
    int symbolic = jit_flag(JitFlagSymbolicLoops);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    run->handle =
        ok ? jit_var_loop_start(backend, t->name, run->count, run->values) : 0;
    jit_set_flag(JitFlagSymbolicLoops, symbolic);
    TRY(run->handle, false);
    state_lock();
    run->replays = region_replay_begin(&run->replay, state_thread(), t->scope);
    /* Effects of the loop itself are not repeated. */
    run->replay.effect_scope = d->body.scope;
    run->replay.gaps = d->gaps;
    run->replay.gap_count = t->gap_count + 1;
    ok = run->replays && set_constant(run);
    for (uint32_t k = 0, i = 0; ok && states && k < t->state_count; k++)
        if (t->states[k].changes)
            ok = region_replay_set(&run->replay, t->states[k].placeholder,
                                   run->values[i++]);
    state_unlock();
    return ok;
}

/* The condition of the template. */
static bool run_condition(Run *run, int *again)
{
    state_lock();
    const AdTemplate *t = run->d->t;
    bool ok = set_active(run, t->testing) && region_replay(&run->replay, t->condition);
    VarId condition = ok ? region_replay_find(&run->replay, t->condition) : 0;
    state_unlock();
    TRY(ok, false);
    *again = jit_var_loop_cond(run->handle, condition);
    if (*again < 0)
        run->handle = 0;
    return *again >= 0;
}

static bool add_output(RecordedBody *body, uint64_t leaf)
{
    VarId id = ad_var_index(leaf);
    return record_outputs(body, 1, &id);
}

/* Let the states be what the body makes of them, and record its effects and what else
 * it makes: 'roots' become 'found' (new references; 0: none). */
static bool run_body(Run *run, bool effects, uint32_t count, const uint64_t *roots,
                     uint32_t *found)
{
    const AdTemplate *t = run->d->t;
    RecordedBody body = { .scope = run->d->body.scope }, now = { 0 };
    state_lock();
    bool ok = set_active(run, t->bodies[0].active);
    for (uint32_t k = 0; ok && run->primal && k < t->state_count; k++)
        if (t->states[k].changes)
            ok = add_output(&body, t->bodies[0].outputs[k]);
    for (uint32_t i = 0; ok && i < count; i++)
        if (roots[i])
            ok = add_output(&body, roots[i]);
    if (effects)
        body.effects = run->d->body.effects;
    ok = ok && region_replay_recorded(&run->replay, &body, &now);
    body.effects = (VarIds){ 0 };
    uint32_t next = 0;
    for (uint32_t i = 0; ok && i < run->primal; i++) {
        var_inc(now.outputs.ids[next]);
        var_dec(run->values[i]);
        run->values[i] = now.outputs.ids[next++];
    }
    for (uint32_t i = 0; i < count; i++) {
        found[i] = ok && roots[i] ? now.outputs.ids[next++] : 0;
        if (found[i])
            var_inc(found[i]);
    }
    record_release(&body);
    record_release(&now);
    state_unlock();
    return ok;
}

/* Another of the values is this from now on (the reference moves). */
static bool run_set(Run *run, uint32_t i, uint32_t value)
{
    TRY(value, false);
    jit_var_dec_ref(run->values[run->primal + i]);
    run->values[run->primal + i] = value;
    return true;
}

/* 'ok': the results are in values[]. */
static bool run_end(Run *run, bool ok)
{
    if (ok && run->handle) {
        ok = jit_var_loop_end(run->handle, run->values) == 1;
        run->handle = 0;
    }
    JitBackend backend = backend_of(run->d->t->states[0].initial);
    if (run->handle)
        jit_record_end(backend, run->handle, 1);
    if (run->replays) {
        state_lock();
        region_replay_end(&run->replay);
        state_unlock();
    }
    if (run->masked && run->d->t->around)
        ok = jit_var_mask_pop(backend) && ok;
    return ok;
}

static void run_free(Run *run)
{
    for (uint32_t i = 0; run->values && i < run->count; i++)
        jit_var_dec_ref(run->values[i]);
    alloc_free(run->values);
}

/* ---------------------------------------------------------------- forward */

static uint32_t zero_like(VarId id)
{
    return ad_var_index(ad_moves_number(id, 0, 1));
}

static uint64_t given_state(const Derivation *d, uint32_t k)
{
    const AdTemplate *t = d->t;
    uint64_t given = 0;
    for (uint32_t i = 0; !d->forward && i < t->tracked_count; i++)
        if (t->tracked[i] == k)
            given = d->given[i];
    if (d->forward)
        given = d->given[t->states[k].entry - 1];
    return given ? ad_var_inc_ref(given) : zero_like(t->states[k].initial);
}

static uint32_t plain_given(const Derivation *d, uint32_t k)
{
    uint64_t given = given_state(d, k);
    uint32_t plain = jit_var_inc_ref(ad_var_index(given));
    ad_var_dec_ref(given);
    return plain;
}

/* Placeholders of gradients become the values from 'first' on. */
static bool set_slots(Run *run, uint32_t first)
{
    const Derivation *d = run->d;
    bool ok = true;
    state_lock();
    for (uint32_t k = 0; k < d->t->state_count && ok; k++)
        if (d->slots[k])
            ok = region_replay_set(&run->replay, ad_var_index(d->slots[k]),
                                   run->values[run->primal + first++]);
    state_unlock();
    return ok;
}

/* The new loop, tracked: its body is what the template's and the derivative have, its
 * results become tracked. 'tangents' receives the latter part of them. */
static bool close_tracked(const Derivation *d, const Run *run, uint64_t *tangents)
{
    const AdTemplate *t = d->t;
    uint32_t n = t->state_count, m = run->count - run->primal;
    uint64_t *outputs = alloc_zero(n + m + 1, sizeof(uint64_t));
    uint64_t *results = alloc_zero(n + m + 1, sizeof(uint64_t));
    bool ok = outputs && results;
    for (uint32_t k = 0, primal = 0, place = n; k < n && ok; k++) {
        const AdState *s = &t->states[k];
        outputs[k] = t->bodies[0].outputs[k];
        results[k] = jit_var_inc_ref(s->changes ? run->values[primal++] : s->initial);
        if (!d->slots[k])
            continue;
        outputs[place] = d->out[k];
        results[place] = jit_var_inc_ref(run->values[run->primal + place - n]);
        place++;
    }
    state_lock();
    AdOpen *open = ad_region_find(d->handle);
    ok = ok && ad_region_add_body(open, t->bodies[0].active, n + m, outputs) &&
         ad_region_set_gaps(open->t, d->gaps, t->gap_count + 1) &&
         ad_region_close(d->handle, results);
    state_unlock();
    for (uint32_t k = 0; k < m && ok; k++)
        tangents[k] = ad_var_inc_ref(results[n + k]);
    for (uint32_t k = 0; results && k < n + m; k++)
        ad_var_dec_ref(results[k]);
    alloc_free(outputs);
    alloc_free(results);
    return ok;
}

/* What the loop has made of the tangents of its states. */
static bool take_tangents(Derivation *d, const Run *run)
{
    const AdTemplate *t = d->t;
    uint32_t m = run->count - run->primal;
    uint64_t *tangents = alloc_zero(m + 1, sizeof(uint64_t));
    bool ok = tangents && (!d->handle || close_tracked(d, run, tangents));
    for (uint32_t i = 0; i < m && ok && !d->handle; i++)
        tangents[i] = jit_var_inc_ref(run->values[run->primal + i]);
    for (uint32_t k = 0, place = 0; k < t->state_count && ok; k++) {
        if (!d->slots[k])
            continue;
        for (uint32_t i = 0; i < t->tracked_count; i++)
            if (t->tracked[i] == k)
                d->made[i] = ad_var_inc_ref(tangents[place]);
        place++;
    }
    for (uint32_t i = 0; i < m && tangents; i++)
        ad_var_dec_ref(tangents[i]);
    alloc_free(tangents);
    return ok;
}

static bool record_forward(Derivation *d)
{
    uint32_t n = d->t->state_count, m = 0;
    uint32_t *others = alloc_get((n + 1) * sizeof(uint32_t));
    uint32_t *found = alloc_zero(n + 1, sizeof(uint32_t));
    uint64_t *roots = alloc_zero(n + 1, sizeof(uint64_t));
    Run run = { .d = d };
    bool ok = others && found && roots;
    for (uint32_t k = 0; k < n && ok; k++)
        if (d->slots[k]) {
            roots[m] = d->out[k];
            others[m++] = plain_given(d, k);
        }
    int again = 0;
    ok = ok && run_open(&run, d, true, m, others) && set_slots(&run, 0) &&
         run_condition(&run, &again);
    if (ok && again) {
        ok = run_body(&run, true, m, roots, found);
        for (uint32_t i = 0; i < m && ok; i++)
            ok = run_set(&run, i,
                         found[i] ? found[i] : zero_like(run.values[run.primal + i]));
    }
    ok = run_end(&run, ok) && take_tangents(d, &run);
    run_free(&run);
    alloc_free(others);
    alloc_free(found);
    alloc_free(roots);
    return ok;
}

/* ---------------------------------------------------------------- reverse: sums */

/* Is the adjoint of each state what it was before the iteration? */
static bool is_sum(const Derivation *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->slots[k] &&
            ad_var_index(d->out[t->states[k].entry - 1]) != ad_var_index(d->slots[k]))
            return false;
    return true;
}

/* Entries whose gradients are sums, and what they begin with (new references). */
static uint32_t list_sums(const Derivation *d, uint32_t *entries, uint32_t *zeros)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->t->entry_count; i++)
        if (is_summed(d, i) && d->out[i]) {
            entries[count] = i;
            zeros[count++] = zero_like(ad_var_index(d->out[i]));
        }
    return count;
}

/* values[first + i] += what the body has found. */
static bool add_sums(Run *run, uint32_t first, uint32_t count, const uint32_t *found)
{
    for (uint32_t i = 0; i < count; i++)
        TRY(run_set(run, first + i,
                    jit_var_add(run->values[run->primal + first + i], found[i])),
            false);
    return true;
}

/* Gradients of states as they were before the loop. */
static bool give_back(Derivation *d, uint32_t k, uint32_t gradient)
{
    d->made[d->t->states[k].entry - 1] = gradient;
    return gradient != 0;
}

static bool record_sums(Derivation *d)
{
    const AdTemplate *t = d->t;
    uint32_t n = t->entry_count;
    uint32_t *entries = alloc_get((n + 1) * sizeof(uint32_t));
    uint32_t *zeros = alloc_get((n + 1) * sizeof(uint32_t));
    uint32_t *found = alloc_zero(n + 1, sizeof(uint32_t));
    uint64_t *roots = alloc_zero(n + 1, sizeof(uint64_t));
    Run run = { .d = d };
    bool ok = entries && zeros && found && roots;
    uint32_t count = ok ? list_sums(d, entries, zeros) : 0;
    for (uint32_t i = 0; i < count; i++)
        roots[i] = d->out[entries[i]];
    ok = ok && run_open(&run, d, true, count, zeros);
    for (uint32_t k = 0; k < t->state_count && ok; k++)
        if (d->slots[k]) {
            uint32_t given = plain_given(d, k);
            state_lock();
            ok = given &&
                 region_replay_set(&run.replay, ad_var_index(d->slots[k]), given);
            state_unlock();
            if (!give_back(d, k, given))
                ok = false;
        }
    int again = 0;
    ok = ok && run_condition(&run, &again);
    if (ok && again) {
        ok = run_body(&run, true, count, roots, found) &&
             add_sums(&run, 0, count, found);
        for (uint32_t i = 0; i < count; i++)
            jit_var_dec_ref(found[i]);
    }
    ok = run_end(&run, ok);
    for (uint32_t i = 0; i < count && ok; i++)
        d->made[entries[i]] = jit_var_inc_ref(run.values[run.primal + i]);
    run_free(&run);
    alloc_free(entries);
    alloc_free(zeros);
    alloc_free(found);
    alloc_free(roots);
    return ok;
}

/* ---------------------------------------------------------------- reverse: the tape */

typedef struct Tape {
    bool *needed;     /* by state; owned */
    uint32_t *arrays; /* by state; owned */
    uint32_t count;   /* of iterations in each lane; owned. 0: not known */
    uint32_t lanes;   /* 0, 1, ...; owned */
    size_t length;    /* entries for each lane */
} Tape;

static void tape_free(Tape *tape, uint32_t n)
{
    for (uint32_t k = 0; tape->arrays && k < n; k++)
        jit_var_dec_ref(tape->arrays[k]);
    jit_var_dec_ref(tape->count);
    jit_var_dec_ref(tape->lanes);
    alloc_free(tape->needed);
    alloc_free(tape->arrays);
}

static bool walk_needed(const AdTemplate *t, RegionWalk *w, VarId root)
{
    VarId id;
    region_walk_from(w, root);
    while ((id = region_walk_next(w)) != 0)
        if (!region_is_outside(var_get(id), t->scope))
            TRY(region_walk_operands(w, id), false);
    return true;
}

/* Which states does the body's derivative need? */
static bool find_needed(const Derivation *d, bool *needed)
{
    const AdTemplate *t = d->t;
    RegionWalk w;
    state_lock();
    bool begun = region_walk_begin(&w), ok = begun;
    for (uint32_t i = 0; i < d->out_count && ok; i++)
        if (d->out[i])
            ok = walk_needed(t, &w, ad_var_index(d->out[i]));
    for (uint32_t i = 0; i < d->body.effects.count && ok; i++)
        ok = walk_needed(t, &w, d->body.effects.ids[i]);
    for (uint32_t k = 0; k < t->state_count && ok; k++)
        needed[k] =
            t->states[k].changes && marks_has(w.marks, t->states[k].placeholder);
    if (begun)
        region_walk_end(&w);
    state_unlock();
    return ok;
}

/* position * lanes + lane */
static uint32_t tape_index(const Tape *tape, JitBackend backend, uint32_t position,
                           uint32_t width)
{
    uint32_t stride = jit_var_u32(backend, width);
    uint32_t row = stride ? jit_var_mul(position, stride) : 0;
    uint32_t index = row ? jit_var_add(row, tape->lanes) : 0;
    jit_var_dec_ref(stride);
    jit_var_dec_ref(row);
    return index;
}

/* Write the states with which an iteration begins. */
static bool write_tape(const Run *run, const Tape *tape)
{
    const AdTemplate *t = run->d->t;
    JitBackend backend = backend_of(run->values[run->primal]);
    uint32_t number = run->values[run->primal];
    uint32_t index = tape_index(tape, backend, number, t->size);
    uint32_t length = jit_var_u32(backend, (uint32_t) tape->length);
    uint32_t fits = index && length ? jit_var_lt(number, length) : 0;
    bool ok = fits != 0;
    for (uint32_t k = 0, i = 0; k < t->state_count && ok; k++) {
        if (!t->states[k].changes)
            continue;
        uint32_t value = run->values[i++];
        if (!tape->arrays[k])
            continue;
        uint32_t now = jit_var_scatter(tape->arrays[k], value, index, fits,
                                       ReduceOpIdentity, ReduceModeNoConflicts);
        ok = now != 0;
        if (ok) {
            jit_var_dec_ref(tape->arrays[k]);
            tape->arrays[k] = now;
        }
    }
    jit_var_dec_ref(index);
    jit_var_dec_ref(length);
    jit_var_dec_ref(fits);
    return ok;
}

static uint32_t add_one(uint32_t number, int step)
{
    uint32_t one = jit_var_u32(backend_of(number), 1);
    uint32_t next = !one       ? 0
                    : step > 0 ? jit_var_add(number, one)
                               : jit_var_sub(number, one);
    jit_var_dec_ref(one);
    return next;
}

/* Run the loop again: count iterations, and write the tape if there is one. */
static bool run_again(const Derivation *d, Tape *tape)
{
    const AdTemplate *t = d->t;
    uint32_t zero = jit_var_u32(backend_of(t->states[0].initial), 0);
    Run run;
    int again = 0;
    bool ok = run_open(&run, d, true, 1, &zero) && run_condition(&run, &again);
    if (ok && again) {
        if (tape->length)
            ok = write_tape(&run, tape);
        ok = ok && run_body(&run, false, 0, NULL, NULL) &&
             run_set(&run, 0, add_one(run.values[run.primal], 1));
    }
    ok = run_end(&run, ok);
    if (ok) {
        jit_var_dec_ref(tape->count);
        tape->count = jit_var_inc_ref(run.values[run.primal]);
    }
    run_free(&run);
    return ok;
}

static bool most_iterations(const Tape *tape, uint32_t *most)
{
    uint32_t largest = jit_var_reduce(tape->count, ReduceOpMax);
    bool ok = largest && jit_var_read(largest, 0, most);
    jit_var_dec_ref(largest);
    return ok;
}

static size_t tape_bytes(const Derivation *d, const Tape *tape, size_t length)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < d->t->state_count; k++)
        if (tape->needed[k])
            bytes += type_info[jit_var_type(d->t->states[k].initial)].size;
    return bytes * length * d->t->size;
}

static bool allocate(const Derivation *d, Tape *tape, size_t length)
{
    const AdTemplate *t = d->t;
    tape->length = length;
    for (uint32_t k = 0; k < t->state_count; k++) {
        if (!tape->needed[k])
            continue;
        VarInfo info;
        TRY(jit_var_info(t->states[k].initial, &info), false);
        uint32_t array = jit_var_undefined(info.backend, info.type, length * t->size);
        TRY(array, false);
        tape->arrays[k] = array;
        TRY(jit_var_schedule(array), false);
    }
    return jit_eval();
}

static bool fits(const Derivation *d, const Tape *tape, size_t length)
{
    return length * d->t->size < UINT32_MAX &&
           tape_bytes(d, tape, length) <= ad_tape_limit();
}

/* Have a tape. Its length stays 0 where there cannot be one, or there need be none. */
static bool fill_tape(const Derivation *d, Tape *tape)
{
    const AdTemplate *t = d->t;
    uint32_t n = t->state_count;
    tape->needed = alloc_zero(n + 1, sizeof(bool));
    tape->arrays = alloc_zero(n + 1, sizeof(uint32_t));
    tape->lanes = jit_var_counter(backend_of(t->states[0].initial), t->size);
    TRY(tape->needed && tape->arrays && tape->lanes && find_needed(d, tape->needed),
        false);
    bool bounded = t->max_iterations >= 0, inside = state_thread()->body != NULL;
    size_t length = bounded ? (size_t) t->max_iterations : 0;
    if (inside || !tape_bytes(d, tape, 1))
        return run_again(d, tape);
    uint32_t most;
    if (!bounded || !length || !fits(d, tape, length)) {
        TRY(run_again(d, tape) && most_iterations(tape, &most), false);
        length = bounded && most > length ? length : most;
    } else {
        most = 0;
    }
    if (length && fits(d, tape, length)) {
        TRY(allocate(d, tape, length) && run_again(d, tape), false);
        TRY(most_iterations(tape, &most), false);
    }
    if (bounded && most > (size_t) t->max_iterations)
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_traverse(): loop '%s' has run for %u iterations, its "
                         "'max_iterations' is %lld",
                         t->name, most, (long long) t->max_iterations);
    return true;
}

/* ---------------------------------------------------------------- reverse */

/* The states with which iteration 'number' has begun become those of the template. */
static bool set_states(Run *run, const uint32_t *states)
{
    const AdTemplate *t = run->d->t;
    bool ok = true;
    state_lock();
    for (uint32_t k = 0; k < t->state_count && ok; k++)
        if (states[k])
            ok = region_replay_set(&run->replay, t->states[k].placeholder, states[k]);
    state_unlock();
    return ok;
}

static bool read_tape(const Derivation *d, const Tape *tape, uint32_t number,
                      uint32_t *states)
{
    const AdTemplate *t = d->t;
    uint32_t index = tape_index(tape, backend_of(number), number, t->size);
    bool ok = index != 0;
    for (uint32_t k = 0; k < t->state_count && ok; k++)
        if (tape->arrays[k]) {
            states[k] = jit_var_gather(tape->arrays[k], index, 0);
            ok = states[k] != 0;
        }
    jit_var_dec_ref(index);
    return ok;
}

/* Compute them from the beginning. */
static bool compute_states(const Derivation *d, const Tape *tape, uint32_t number,
                           uint32_t *states)
{
    const AdTemplate *t = d->t;
    uint32_t zero = jit_var_u32(backend_of(number), 0);
    Run run;
    bool ok = run_open(&run, d, true, 1, &zero);
    uint32_t before = ok ? jit_var_lt(run.values[run.primal], number) : 0;
    int again = before ? jit_var_loop_cond(run.handle, before) : -1;
    jit_var_dec_ref(before);
    ok = again >= 0;
    if (again > 0)
        ok = run_body(&run, false, 0, NULL, NULL) &&
             run_set(&run, 0, add_one(run.values[run.primal], 1));
    ok = run_end(&run, ok);
    for (uint32_t k = 0, i = 0; k < t->state_count && ok; k++)
        if (t->states[k].changes) {
            if (tape->needed[k])
                states[k] = jit_var_inc_ref(run.values[i]);
            i++;
        }
    run_free(&run);
    return ok;
}

/* The values of the reverse loop: the number of the iteration, adjoints of states, sums
 * for entries. */
typedef struct Reverse {
    uint32_t *others, *found, *entries, *states; /* owned */
    uint64_t *roots;                             /* owned */
    uint32_t adjoints, sums;
} Reverse;

static void reverse_free(Reverse *v, uint32_t n)
{
    for (uint32_t k = 0; v->states && k < n; k++)
        jit_var_dec_ref(v->states[k]);
    alloc_free(v->others);
    alloc_free(v->found);
    alloc_free(v->entries);
    alloc_free(v->states);
    alloc_free(v->roots);
}

static bool reverse_begin(Reverse *v, const Derivation *d, const Tape *tape)
{
    const AdTemplate *t = d->t;
    size_t most = (size_t) t->state_count + t->entry_count + 2;
    v->others = alloc_zero(most, sizeof(uint32_t));
    v->found = alloc_zero(most, sizeof(uint32_t));
    v->entries = alloc_zero(most, sizeof(uint32_t));
    v->states = alloc_zero(most, sizeof(uint32_t));
    v->roots = alloc_zero(most, sizeof(uint64_t));
    TRY(v->others && v->found && v->entries && v->states && v->roots, false);
    v->others[0] = jit_var_inc_ref(tape->count);
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->slots[k]) {
            v->roots[v->adjoints] = d->out[t->states[k].entry - 1];
            v->others[1 + v->adjoints++] = plain_given(d, k);
        }
    v->sums = list_sums(d, v->entries, v->others + 1 + v->adjoints);
    for (uint32_t i = 0; i < v->sums; i++)
        v->roots[v->adjoints + i] = d->out[v->entries[i]];
    return true;
}

/* One iteration of the reverse loop. */
static bool reverse_body(Run *run, Reverse *v, const Tape *tape)
{
    const Derivation *d = run->d;
    uint32_t number = add_one(run->values[0], -1);
    TRY(run_set(run, 0, number), false);
    bool ok = tape->length ? read_tape(d, tape, number, v->states)
                           : compute_states(d, tape, number, v->states);
    uint32_t count = v->adjoints + v->sums;
    ok = ok && set_states(run, v->states) && set_slots(run, 1) &&
         run_body(run, true, count, v->roots, v->found);
    TRY(ok, false);
    for (uint32_t i = 0; i < v->adjoints && ok; i++)
        ok = run_set(run, 1 + i,
                     v->found[i] ? v->found[i] : zero_like(run->values[1 + i]));
    ok = ok && add_sums(run, 1 + v->adjoints, v->sums, v->found + v->adjoints);
    for (uint32_t i = 0; i < v->sums; i++)
        jit_var_dec_ref(v->found[v->adjoints + i]);
    return ok;
}

static bool record_reverse(Derivation *d)
{
    const AdTemplate *t = d->t;
    Tape tape = { 0 };
    Reverse v = { 0 };
    Run run = { .d = d };
    bool ok = fill_tape(d, &tape) && reverse_begin(&v, d, &tape) &&
              run_open(&run, d, false, 1 + v.adjoints + v.sums, v.others);
    uint32_t zero = ok ? jit_var_u32(backend_of(tape.count), 0) : 0;
    uint32_t more = zero ? jit_var_gt(run.values[0], zero) : 0;
    int again = more ? jit_var_loop_cond(run.handle, more) : -1;
    jit_var_dec_ref(zero);
    jit_var_dec_ref(more);
    ok = again >= 0 && (!again || reverse_body(&run, &v, &tape));
    ok = run_end(&run, ok);
    for (uint32_t k = 0, i = 1; k < t->state_count && ok; k++)
        if (d->slots[k])
            ok = give_back(d, k, jit_var_inc_ref(run.values[i++]));
    for (uint32_t i = 0; i < v.sums && ok; i++)
        d->made[v.entries[i]] = jit_var_inc_ref(run.values[1 + v.adjoints + i]);
    run_free(&run);
    reverse_free(&v, t->state_count);
    tape_free(&tape, t->state_count);
    return ok;
}

/* ---------------------------------------------------------------- both */

static bool check_supported(const Derivation *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t k = 0; k < t->state_count; k++)
        if (var_get(t->states[k].placeholder)->flags & VAR_LOCAL)
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "ad_traverse(): loop '%s' has a local array as its state "
                             "%u, and derivatives of such loops are not available",
                             t->name, k);
    if (ad_traverse_is_tracked() && !d->forward)
        return error_set(
            JIT_ERROR_UNSUPPORTED,
            "ad_traverse(): loop '%s' was recorded, and its derivative in reverse mode "
            "cannot be differentiated (ADFlag.CreateGraph); that in forward mode can, "
            "and so can a loop that runs at once (mode=\"evaluated\")",
            t->name);
    return true;
}

/* The loop of states and tangents is tracked: its states are those of the template, and
 * of make_slots(). */
static bool open_tracked(Derivation *d)
{
    const AdTemplate *t = d->t;
    state_lock();
    d->handle = record_new_scope(); /* a number that no recording has */
    AdOpen *open = d->handle ? ad_region_open(d->handle, REGION_LOOP, t->device,
                                              t->around, t->name)
                             : NULL;
    bool ok = open && ad_region_share_loop(open->t, t);
    state_unlock();
    return ok;
}

/* The gradient of an outer variable with one entry is a sum over all lanes. */
static bool widen(const Derivation *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t i = 0; !d->forward && i < t->entry_count; i++) {
        if (!d->made[i] || t->entries[i].array || t->size == 1 ||
            jit_var_size(ad_var_index(d->made[i])) != 1 ||
            ad_graph_node(t->entries[i].node)->size != 1)
            continue;
        uint64_t wide = ad_var_resize(d->made[i], t->size);
        ad_var_dec_ref(d->made[i]);
        TRY(d->made[i] = wide, false);
    }
    return true;
}

static bool derive(Derivation *d)
{
    TRY(d->slots && d->out && check_supported(d) &&
            (!ad_traverse_is_tracked() || open_tracked(d)) && derive_body(d),
        false);
    if (d->forward)
        return record_forward(d);
    TRY(check_arrays(d), false);
    if (is_sum(d))
        return record_sums(d) && widen(d);
    if (d->t->max_iterations == ADLoopSums)
        return error_set(
            JIT_ERROR_ARGUMENT,
            "ad_traverse(): loop '%s' does more than add to its states, so "
            "its 'max_iterations' cannot be -1",
            d->t->name);
    return record_reverse(d) && widen(d);
}

bool ad_derive_loop(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made)
{
    bool forward = mode == ADModeForward;
    uint32_t n_out = t->tracked_count + t->array_count;
    Derivation d = { .t = t,
                     .forward = forward,
                     .given = given,
                     .made = made,
                     .made_count = forward ? n_out : t->entry_count,
                     .out_count = forward ? t->state_count : t->entry_count };
    d.slots = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    d.out = alloc_zero(d.out_count + 1, sizeof(uint64_t));
    bool ok = derive(&d);
    for (uint32_t i = 0; i < d.made_count && !ok; i++) {
        ad_var_dec_ref(made[i]);
        made[i] = 0;
    }
    for (uint32_t i = 0; d.out && i < d.out_count; i++)
        ad_var_dec_ref(d.out[i]);
    for (uint32_t k = 0; d.slots && k < t->state_count; k++)
        ad_var_dec_ref(d.slots[k]);
    state_lock();
    if (d.handle)
        ad_region_abandon(d.handle); /* after a failure */
    record_release(&d.body);
    state_unlock();
    alloc_free(d.slots);
    alloc_free(d.out);
    alloc_free(d.gaps);
    return ok;
}
