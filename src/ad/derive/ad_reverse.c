/*
 * ad_reverse.c -- see ad_reverse.h
 *
 * Iterations are gone through from the last to the first. The body's derivative needs
 * the states with which an iteration began, and so:
 *
 *     count    the loop runs again, and counts its iterations
 *     tape     it runs again, and fills the tape; a bound makes counting unnecessary
 *     reverse  a loop of a counter, the adjoints of states, and the sums of what goes
 *              to variables from outside
 *
 * A tape that a packet of lanes has room for in a near cache is made of local arrays,
 * and then all of this is one kernel but for the counting.
 *
 * If the tape would be larger than the limit, the iterations are cut into parts, with a
 * checkpoint where each begins: the loop runs through all of them, and then, from the
 * last part to the first, it fills the tape with the part, and the reverse loop goes
 * through that. Parts that the tape is too short for, since there may not be as many
 * checkpoints as it takes, are cut into parts themselves. A cut is at least one in two,
 * so the loop runs O(log n) times through each of its n iterations. Half of the limit
 * is the tape's, the rest that of the checkpoints; there is always a tape of one
 * iteration, and log n checkpoints.
 *
 * Within a recording, where nothing can be evaluated, a tape is made of local arrays,
 * and is as long as the caller has said that it has to be: a launch in which a lane
 * exceeds that fails. Without a bound, and if a state that is needed is a local array,
 * which exists in kernels only, the reverse loop has another one in it instead, which
 * runs from a checkpoint to the iteration that is wanted (ad_stack.h). If there is no
 * room for these, it runs from the beginning. So it is outside of recordings if a tape
 * would be too large and there can be no parts, since all that was on it would have to
 * be kept for a further derivative, or a state is a local array.
 *
 * If the body gives the adjoint of each state on as it is (states are only added to),
 * the order does not matter: one loop of the states and sums is enough.
 */
#include "ad/derive/ad_reverse.h"

#include "ad/array/ad_local.h"
#include "ad/array/ad_moves.h"
#include "ad/derive/ad_room.h"
#include "ad/derive/ad_stack.h"
#include "ad/derive/ad_tape.h"
#include "base/alloc.h"
#include "base/error.h"

typedef struct Reverse {
    LoopDerivative *d;
    AdTape tape;
    AdStack stack;     /* instead */
    uint64_t *values;  /* of adjoints, and sums after; references */
    uint64_t *roots;   /* what the body makes of them */
    uint64_t *found;   /* room for what it has made */
    uint64_t *states;  /* room, by state; references */
    uint32_t *entries; /* of sums */
    uint32_t adjoints, sums;
} Reverse;

/* ---------------------------------------------------------------- values */

static uint64_t zero_like(uint64_t leaf)
{
    return ad_moves_number(leaf, 0);
}

static void reverse_free(Reverse *r)
{
    ad_run_drop_list(r->adjoints + r->sums, r->values);
    ad_tape_free(&r->tape);
    ad_stack_free(&r->stack);
    alloc_free(r->roots);
    alloc_free(r->found);
    alloc_free(r->states);
    alloc_free(r->entries);
}

/* Entries whose gradients are sums, which begin with zero. */
static bool list_sums(Reverse *r)
{
    const LoopDerivative *d = r->d;
    for (uint32_t i = 0; i < d->t->entry_count; i++) {
        if (!ad_run_is_summed(d, i) || !d->out[i])
            continue;
        uint32_t place = r->adjoints + r->sums;
        TRY(r->values[place] = zero_like(d->out[i]), false);
        r->roots[place] = d->out[i];
        r->entries[r->sums++] = i;
    }
    return true;
}

static bool list_adjoints(Reverse *r)
{
    const LoopDerivative *d = r->d;
    for (uint32_t k = 0; k < d->t->state_count; k++) {
        if (!d->gradients[k])
            continue;
        TRY(r->values[r->adjoints] = ad_run_given(d, k), false);
        r->roots[r->adjoints++] = d->out[d->t->states[k].entry - 1];
    }
    return true;
}

static bool reverse_begin(Reverse *r, LoopDerivative *d)
{
    size_t most = (size_t) d->t->state_count + d->t->entry_count + 1;
    *r = (Reverse){ .d = d, .stack = { .d = d } };
    r->values = alloc_zero(most, sizeof(uint64_t));
    r->roots = alloc_zero(most, sizeof(uint64_t));
    r->found = alloc_zero(most, sizeof(uint64_t));
    r->states = alloc_zero(most, sizeof(uint64_t));
    r->entries = alloc_zero(most, sizeof(uint32_t));
    bool ok = r->values && r->roots && r->found && r->states && r->entries;
    return ad_tape_begin(&r->tape, d) && ok;
}

/* value[first + i] += what the body has found, whose references move. */
static bool add_sums(AdRun *run, uint32_t first, uint32_t count, uint64_t *found)
{
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t before = ad_run_get(run, first + i);
        ok = ok && ad_run_set(run, first + i,
                              ad_local_is(before) ? ad_local_add(before, found[i])
                                                  : ad_var_add(before, found[i]));
        ad_var_dec_ref(found[i]);
    }
    return ok;
}

/* Gradients of entries. */
static void give_back(Reverse *r)
{
    const LoopDerivative *d = r->d;
    for (uint32_t k = 0, i = 0; k < d->t->state_count; k++)
        if (d->gradients[k])
            d->made[d->t->states[k].entry - 1] = ad_var_inc_ref(r->values[i++]);
    for (uint32_t i = 0; i < r->sums; i++)
        d->made[r->entries[i]] = ad_var_inc_ref(r->values[r->adjoints + i]);
}

/* ---------------------------------------------------------------- sums */

/* Is the adjoint of each state what it was before the iteration? */
static bool is_sum(const LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    for (uint32_t k = 0; k < t->state_count; k++)
        if (d->gradients[k] &&
            ad_var_index(d->out[t->states[k].entry - 1]) !=
                ad_var_index(d->gradients[k]))
            return false;
    return true;
}

static bool record_sums(Reverse *r)
{
    LoopDerivative *d = r->d;
    uint64_t *sums = r->values + r->adjoints, *found = r->found;
    for (uint32_t i = 0; i < r->sums; i++)
        ad_var_inc_ref(sums[i]);
    AdRun run;
    int again = 0;
    bool ok = ad_run_open(&run, d, true, NULL, r->sums, sums);
    for (uint32_t k = 0, i = 0; k < d->t->state_count && ok; k++)
        if (d->gradients[k])
            ok = ad_run_set_gradient(&run, k, r->values[i++]);
    ok = ok && ad_run_condition(&run, true, 0, &again);
    if (ok && again)
        ok = ad_run_body(&run, true, r->sums, r->roots + r->adjoints, found) &&
             add_sums(&run, 0, r->sums, found);
    ok = ad_run_end(&run, ok);
    for (uint32_t i = 0; i < r->sums && ok; i++) {
        ad_var_dec_ref(sums[i]);
        sums[i] = ad_var_inc_ref(ad_run_get(&run, i));
    }
    ad_run_free(&run);
    return ok;
}

/* ---------------------------------------------------------------- the reverse loop */

/* States with which iteration 'number' has begun become those of the template. */
static bool set_states(Reverse *r, AdRun *run, uint32_t number, uint32_t begin)
{
    uint32_t n = r->d->t->state_count;
    TRY(ad_tape_bytes(&r->tape), true);
    bool ok = r->tape.length
                  ? ad_tape_read(&r->tape, number, begin, r->states)
                  : ad_stack_compute(&r->stack, run, 1 + r->adjoints + r->sums, number,
                                     r->tape.needed, r->states);
    ok = ok && ad_run_set_states(run, r->states);
    for (uint32_t k = 0; k < n; k++) {
        ad_var_dec_ref(r->states[k]);
        r->states[k] = 0;
    }
    return ok;
}

/* One iteration. */
static bool go_through(Reverse *r, AdRun *run, uint32_t begin)
{
    const LoopDerivative *d = r->d;
    uint32_t number = ad_run_advance(ad_var_index(ad_run_get(run, 0)), -1);
    TRY(ad_run_set(run, 0, number) && set_states(r, run, number, begin), false);
    if (d->number)
        TRY(ad_run_set_number(run, d->number, number), false);
    for (uint32_t k = 0, i = 0; k < d->t->state_count; k++)
        if (d->gradients[k])
            TRY(ad_run_set_gradient(run, k, ad_run_get(run, 1 + i++)), false);
    TRY(ad_run_body(run, true, r->adjoints + r->sums, r->roots, r->found), false);
    bool ok = true;
    for (uint32_t i = 0; i < r->adjoints; i++) {
        uint64_t next = r->found[i] ? r->found[i] : zero_like(ad_run_get(run, 1 + i));
        ok = ad_run_set(run, 1 + i, next) && ok;
    }
    return add_sums(run, 1 + r->adjoints, r->sums, r->found + r->adjoints) && ok;
}

/* Go from where each lane is, its iteration 'number', back to iteration 'begin' (0: the
 * first one), with the values as they are by now. */
static bool go_back(Reverse *r, uint32_t number, uint32_t begin)
{
    uint32_t n = r->adjoints + r->sums, all = 1 + n + r->stack.count;
    uint64_t *others = alloc_get(all * sizeof(uint64_t));
    TRY(others, false);
    others[0] = jit_var_inc_ref(number);
    for (uint32_t i = 0; i < n; i++)
        others[1 + i] = ad_var_inc_ref(r->values[i]);
    for (uint32_t i = 0; i < r->stack.count; i++)
        others[1 + n + i] = ad_var_inc_ref(r->stack.values[i]);
    AdRun run;
    int again = 0;
    bool ok = ad_run_open(&run, r->d, false, NULL, all, others);
    alloc_free(others);
    uint32_t zero = jit_var_u32(ad_template_backend(r->d->t), 0);
    uint32_t more = 0;
    if (ok && zero)
        more = jit_var_gt(ad_var_index(ad_run_get(&run, 0)), begin ? begin : zero);
    ok = more && ad_run_condition(&run, false, more, &again) &&
         (!again || go_through(r, &run, begin));
    jit_var_dec_ref(zero);
    jit_var_dec_ref(more);
    ok = ad_run_end(&run, ok);
    for (uint32_t i = 0; i < n && ok; i++) {
        ad_var_dec_ref(r->values[i]);
        r->values[i] = ad_var_inc_ref(ad_run_get(&run, 1 + i));
    }
    ad_run_free(&run);
    return ok;
}

/* ---------------------------------------------------------------- checkpoints */

/* Iterations from 'first' to 'end' (not included), of which those that there are begin
 * with a checkpoint. */
typedef struct Part {
    AdCheckpoint start;
    uint32_t first, end;
} Part;

/* In memory, so that kernels do not differ by it. */
static uint32_t constant(const Reverse *r, uint32_t value)
{
    return jit_var_literal(ad_template_backend(r->d->t), VarTypeUInt32, &value, 1, 1);
}

/* Go back through a part that fits on the tape. */
static bool go_back_through(Reverse *r, const Part *part)
{
    uint32_t begin = constant(r, part->first), end = constant(r, part->end), number = 0;
    bool ok = begin && end &&
              ad_tape_run(&r->tape, &part->start, begin, end, NULL, &number) &&
              go_back(r, number, begin);
    for (uint32_t i = 0; i < r->adjoints + r->sums && ok; i++)
        ok = ad_tape_force(&r->values[i]);
    jit_var_dec_ref(begin);
    jit_var_dec_ref(end);
    jit_var_dec_ref(number);
    return ok && jit_eval();
}

/* The same, and wait: launches that are queued keep the arrays of their parts, and with
 * short ones the thread is ahead of many. */
static bool go_back_through_alone(Reverse *r, const Part *part)
{
    return go_back_through(r, part) && jit_sync_thread();
}

/* The checkpoint where the next part begins. */
static bool advance(Reverse *r, const Part *from, Part *to)
{
    uint32_t end = constant(r, to->first);
    AdTape none = r->tape;
    none.length = 0;
    bool ok = end && ad_tape_run(&none, &from->start, 0, end, &to->start, NULL) &&
              ad_tape_store(&r->tape, &to->start);
    jit_var_dec_ref(end);
    return ok;
}

/* Go back through all of it. There is room for that many checkpoints (there are more if
 * it cannot be done with them). */
static bool go_back_by_parts(Reverse *r, const Part *all, size_t room)
{
    uint32_t length = all->end - all->first;
    if (length <= r->tape.length)
        return go_back_through_alone(r, all);
    size_t count = (length + r->tape.length - 1) / r->tape.length;
    if (count > room / 2 + 1)
        count = room / 2 > 1 ? room / 2 + 1 : 2;
    Part *parts = alloc_zero(count, sizeof(Part));
    TRY(parts, false);
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        parts[i].first = all->first + (uint32_t) (length * i / count);
        parts[i].end = all->first + (uint32_t) (length * (i + 1) / count);
    }
    parts[0].start = all->start;
    for (size_t i = 1; i < count && ok; i++)
        ok = advance(r, &parts[i - 1], &parts[i]);
    size_t left = room > count - 1 ? room - (count - 1) : 0;
    for (size_t i = count; i-- > 0;) {
        ok = ok && go_back_by_parts(r, &parts[i], left);
        if (i)
            ad_tape_drop(&r->tape, &parts[i].start);
    }
    alloc_free(parts);
    return ok;
}

static bool go_back_with_checkpoints(Reverse *r, uint32_t most)
{
    size_t half = ad_tape_limit() / 2, length = half / ad_tape_bytes(&r->tape);
    while (length > 1 && !ad_tape_can_have(&r->tape, length))
        length /= 2;
    TRY(ad_tape_allocate(&r->tape, length ? length : 1), false);
    Part all = { .end = most };
    bool ok = ad_tape_origin(&r->tape, &all.start) &&
              go_back_by_parts(r, &all, half / ad_tape_checkpoint_bytes(&r->tape));
    ad_tape_drop(&r->tape, &all.start);
    return ok;
}

/* ---------------------------------------------------------------- which way */

/* Run the loop again: count iterations, and fill the tape if there is one. */
static bool run_again(Reverse *r, uint32_t *number)
{
    AdCheckpoint start = { 0 };
    start.number = jit_var_u32(ad_template_backend(r->d->t), 0);
    jit_var_dec_ref(*number);
    *number = 0;
    bool ok = start.number && ad_tape_run(&r->tape, &start, 0, 0, NULL, number);
    jit_var_dec_ref(start.number);
    return ok;
}

static bool most_iterations(uint32_t number, uint32_t *most)
{
    uint32_t largest = jit_var_reduce(number, ReduceOpMax);
    bool ok = largest && jit_var_read(largest, 0, most);
    jit_var_dec_ref(largest);
    return ok;
}

static bool fits(const Reverse *r, size_t length)
{
    return ad_tape_can_have(&r->tape, length) &&
           length <= ad_tape_limit() / ad_tape_bytes(&r->tape);
}

static bool check_bound(const AdTemplate *t, uint32_t most)
{
    if (t->max_iterations < 0 || most <= (uint64_t) t->max_iterations)
        return true;
    return error_set(JIT_ERROR_ARGUMENT,
                     "ad_traverse(): loop '%s' has run for %u iterations, its "
                     "'max_iterations' is %lld",
                     t->name, most, (long long) t->max_iterations);
}

/* Fill a tape of that length, and go back. */
static bool go_back_with_tape(Reverse *r, size_t length, uint32_t *number)
{
    uint32_t most;
    TRY(ad_tape_allocate(&r->tape, length) && run_again(r, number) &&
            most_iterations(*number, &most) && check_bound(r->d->t, most),
        false);
    return go_back(r, *number, 0);
}

/* Is an adjoint or a sum a local array? */
static bool has_local(const Reverse *r)
{
    for (uint32_t i = 0; i < r->adjoints + r->sums; i++)
        if (ad_local_is(r->values[i]))
            return true;
    return false;
}

/* On a tape with room for 'most' iterations, which is a bound, or as many as were
 * counted. In lanes, all is one kernel. With a bound, results are looked at before
 * anybody else does; without, arrays have few different lengths, so that kernels are
 * few. */
static bool go_back_fitting(Reverse *r, size_t most, bool bounded, uint32_t *number)
{
    size_t length = bounded ? most : 1;
    while (length < most)
        length *= 2;
    bool in_lanes = false;
    if (!bounded || !has_local(r)) /* which could not be evaluated */
        TRY(ad_tape_allocate_in_lanes(&r->tape, length, &in_lanes), false);
    if (!in_lanes)
        return go_back_with_tape(r, most, number);
    TRY(run_again(r, number) && go_back(r, *number, 0), false);
    for (uint32_t i = 0; bounded && i < r->adjoints + r->sums; i++)
        jit_var_schedule(ad_var_index(r->values[i]));
    uint32_t made;
    return !bounded || (most_iterations(*number, &made) && check_bound(r->d->t, made));
}

/* The launch fails in which lanes make more iterations than there may be. Until then
 * these go back through none, as what was kept of the others is not right for them. */
static bool check_later(const AdTemplate *t, uint32_t *number)
{
    if (t->max_iterations < 0 || t->max_iterations >= UINT32_MAX)
        return true;
    uint32_t fine = ad_run_check(t, *number);
    uint32_t zero = jit_var_u32(ad_template_backend(t), 0);
    uint32_t checked = fine && zero ? jit_var_select(fine, *number, zero) : 0;
    jit_var_dec_ref(fine);
    jit_var_dec_ref(zero);
    TRY(checked, false);
    jit_var_dec_ref(*number);
    *number = checked;
    return true;
}

/* Nothing can be read, or kept in memory. */
static bool go_back_in_kernel(Reverse *r, uint32_t *number)
{
    const AdTemplate *t = r->d->t;
    bool in_lanes = false, bounded = t->max_iterations > 0;
    size_t most = bounded ? (size_t) t->max_iterations : 0;
    if (bounded && !r->tape.local && fits(r, most))
        TRY(ad_tape_allocate_in_lanes(&r->tape, most, &in_lanes), false);
    if (!in_lanes)
        TRY(ad_stack_begin(&r->stack, r->d, most), false);
    return run_again(r, number) && check_later(t, number) && go_back(r, *number, 0);
}

/* Can the host read how many iterations there were? Not while a body or a frozen
 * function is being recorded. */
static bool can_count(void)
{
    return !jit_flag(JitFlagFreezingScope) && !ad_room_is_recorded();
}

static bool choose(Reverse *r, uint32_t *number)
{
    const AdTemplate *t = r->d->t;
    if (!ad_tape_bytes(&r->tape))
        return run_again(r, number) && go_back(r, *number, 0);
    if (!can_count() || r->tape.local)
        return go_back_in_kernel(r, number);
    if (t->max_iterations > 0 && fits(r, (size_t) t->max_iterations))
        return go_back_fitting(r, (size_t) t->max_iterations, true, number);
    uint32_t most;
    TRY(run_again(r, number) && most_iterations(*number, &most) && check_bound(t, most),
        false);
    if (most && fits(r, most))
        return go_back_fitting(r, most, false, number);
    bool parts = most && !r->d->tracked && !r->tape.local_states && !has_local(r);
    if (parts)
        return go_back_with_checkpoints(r, most);
    return (!most || ad_stack_begin(&r->stack, r->d, most)) && go_back(r, *number, 0);
}

bool ad_reverse(LoopDerivative *d)
{
    Reverse r;
    bool ok = reverse_begin(&r, d) && list_adjoints(&r) && list_sums(&r);
    bool sum = ok && is_sum(d);
    if (sum && !d->number) {
        ok = record_sums(&r);
    } else if (ok && !sum && d->t->max_iterations == ADLoopSums) {
        ok = error_set(JIT_ERROR_ARGUMENT,
                       "ad_traverse(): loop '%s' does more than add to its states, so "
                       "its 'max_iterations' cannot be -1",
                       d->t->name);
    } else if (ok) {
        uint32_t number = 0;
        ok = choose(&r, &number);
        jit_var_dec_ref(number);
    }
    if (ok)
        give_back(&r);
    reverse_free(&r);
    return ok;
}
