/*
 * ad_tape.c -- see ad_tape.h
 */
#include "ad/derive/ad_tape.h"

#include <stdatomic.h>

#include "ad/array/ad_local.h"
#include "ad/array/ad_moves.h"
#include "ad/derive/ad_room.h"
#include "base/alloc.h"
#include "base/error.h"
#include "os/machine.h"

/* ---------------------------------------------------------------- the limit */

static _Atomic size_t tape_limit; /* 0: not set */

void ad_set_tape_limit(size_t bytes)
{
    atomic_store(&tape_limit, bytes ? bytes : 1);
}

size_t ad_tape_limit(void)
{
    size_t limit = atomic_load(&tape_limit);
    return limit ? limit : machine_memory() / 4;
}

/* ---------------------------------------------------------------- what is needed */

static bool walk_needed(const AdTemplate *t, RegionWalk *w, VarId root)
{
    VarId id;
    region_walk_from(w, root);
    while ((id = region_walk_next(w)) != 0)
        if (!region_is_outside(var_get(id), t->scope))
            TRY(region_walk_operands(w, id), false);
    return true;
}

/* States that the variables of the body's derivative depend on. To differentiate it,
 * those that it depends on in the graph are needed as well. */
static bool find_needed(const LoopDerivative *d, bool *needed)
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
    for (uint32_t k = 0; k < t->state_count && ok; k++) {
        const AdState *s = &t->states[k];
        needed[k] = s->changes &&
                    (marks_has(w.marks, s->placeholder) || (d->tracked && s->active));
    }
    if (begun)
        region_walk_end(&w);
    state_unlock();
    return ok;
}

bool ad_tape_begin(AdTape *tape, LoopDerivative *d)
{
    const AdTemplate *t = d->t;
    *tape = (AdTape){ .d = d };
    tape->needed = alloc_zero(t->state_count + 1, sizeof(bool));
    tape->arrays = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    TRY(tape->needed && tape->arrays && find_needed(d, tape->needed), false);
    for (uint32_t k = 0; k < t->state_count; k++)
        if (t->states[k].changes && ad_local_is(t->states[k].initial)) {
            tape->local_states = true;
            tape->local |= tape->needed[k];
        }
    return true;
}

void ad_tape_free(AdTape *tape)
{
    ad_run_drop_list(tape->d->t->state_count, tape->arrays);
    jit_var_dec_ref(tape->lanes);
    alloc_free(tape->needed);
}

/* Of the states that are needed, or that change, in all lanes. */
static size_t bytes_of(const AdTape *tape, bool all)
{
    const AdTemplate *t = tape->d->t;
    size_t bytes = 0;
    for (uint32_t k = 0; k < t->state_count; k++)
        if (all ? t->states[k].changes : tape->needed[k])
            bytes += type_info[jit_var_type(t->states[k].initial)].size;
    return bytes * t->size.count;
}

size_t ad_tape_bytes(const AdTape *tape)
{
    return bytes_of(tape, false);
}

size_t ad_tape_checkpoint_bytes(const AdTape *tape)
{
    return bytes_of(tape, true) + tape->d->t->size.count * sizeof(uint32_t);
}

bool ad_tape_can_have(const AdTape *tape, size_t length)
{
    return length < UINT32_MAX / tape->d->t->size.count;
}

/* ---------------------------------------------------------------- arrays */

bool ad_tape_force(uint64_t *leaf)
{
    uint64_t now = jit_var_schedule_force(ad_var_index(*leaf), NULL);
    ad_var_dec_ref(*leaf);
    return (*leaf = now) != 0;
}

/* Is what is written to the array of this state tracked? */
static bool is_tracked(const AdTape *tape, uint32_t k)
{
    return tape->d->tracked && tape->d->t->states[k].active;
}

bool ad_tape_allocate(AdTape *tape, size_t length)
{
    const AdTemplate *t = tape->d->t;
    const AdSize size = { .count = length * t->size.count };
    tape->length = length;
    jit_var_dec_ref(tape->lanes);
    tape->lanes = jit_var_counter(ad_template_backend(t), t->size.count);
    TRY(tape->lanes, false);
    for (uint32_t k = 0; k < t->state_count; k++) {
        if (!tape->needed[k])
            continue;
        VarInfo info;
        TRY(jit_var_peek_info(t->states[k].initial, &info), false);
        uint64_t array = is_tracked(tape, k)
                             ? ad_moves_fill(t->states[k].initial, -0.0, size)
                             : jit_var_undefined(info.backend, info.type, size.count);
        ad_var_dec_ref(tape->arrays[k]);
        TRY(ad_tape_force(&array), false);
        tape->arrays[k] = array;
    }
    return jit_eval();
}

bool ad_tape_allocate_in_lanes(AdTape *tape, size_t length, bool *fits)
{
    const AdTemplate *t = tape->d->t;
    size_t bytes = ad_tape_bytes(tape) / t->size.count;
    *fits = !tape->d->tracked && length <= SIZE_MAX / bytes &&
            ad_room_take(length * bytes);
    if (!*fits)
        return true;
    tape->length = length;
    tape->in_lanes = true;
    /* The way back begins where each lane has ended, so what is read was written. */
    for (uint32_t k = 0; k < t->state_count; k++) {
        if (!tape->needed[k])
            continue;
        tape->arrays[k] = ad_local_unset(t->states[k].initial, length, t->size.count);
        TRY(tape->arrays[k], false);
    }
    return true;
}

/* Where the entries of an iteration are. */
static uint32_t tape_index(const AdTape *tape, uint32_t number, uint32_t begin)
{
    const AdTemplate *t = tape->d->t;
    uint32_t stride = jit_var_u32(ad_template_backend(t), (uint32_t) t->size.count);
    uint32_t place = begin ? jit_var_sub(number, begin) : jit_var_inc_ref(number);
    uint32_t index = stride && place ? jit_var_fma(place, stride, tape->lanes) : 0;
    jit_var_dec_ref(stride);
    jit_var_dec_ref(place);
    return index;
}

/* Write the states with which an iteration begins. */
static bool write_states(AdTape *tape, const AdRun *run, uint32_t begin)
{
    const AdTemplate *t = tape->d->t;
    uint32_t number = ad_var_index(ad_run_get(run, 0));
    uint32_t index = tape_index(tape, number, begin);
    size_t entries = tape->length * t->size.count;
    uint32_t end = jit_var_u32(ad_template_backend(t), (uint32_t) entries);
    uint32_t fits = index && end ? jit_var_lt(index, end) : 0;
    bool ok = fits != 0;
    for (uint32_t k = 0; k < t->state_count && ok; k++) {
        if (!tape->arrays[k])
            continue;
        ReduceOp op = is_tracked(tape, k) ? ReduceOpAdd : ReduceOpIdentity;
        uint64_t now = ad_var_scatter(tape->arrays[k], run->states[k], index, fits, op,
                                      ReduceModeNoConflicts);
        ok = now != 0;
        if (ok) {
            ad_var_dec_ref(tape->arrays[k]);
            tape->arrays[k] = now;
        }
    }
    jit_var_dec_ref(index);
    jit_var_dec_ref(end);
    jit_var_dec_ref(fits);
    return ok;
}

/* Local arrays are values of the loop, after the number of the iteration. */
static bool write_in_lanes(const AdTape *tape, AdRun *run)
{
    uint32_t number = ad_var_index(ad_run_get(run, 0));
    for (uint32_t k = 0, i = 1; k < tape->d->t->state_count; k++)
        if (tape->arrays[k]) {
            uint32_t array = ad_var_index(ad_run_get(run, i));
            uint32_t before = ad_var_index(run->states[k]);
            TRY(ad_run_set(run, i++, jit_array_write(array, number, before, 0)), false);
        }
    return true;
}

static bool read_in_lanes(const AdTape *tape, uint32_t number, uint64_t *states)
{
    for (uint32_t k = 0; k < tape->d->t->state_count; k++)
        if (tape->arrays[k])
            TRY(states[k] = jit_array_read(ad_var_index(tape->arrays[k]), number, 0),
                false);
    return true;
}

bool ad_tape_read(const AdTape *tape, uint32_t number, uint32_t begin, uint64_t *states)
{
    if (tape->in_lanes)
        return read_in_lanes(tape, number, states);
    uint32_t index = tape_index(tape, number, begin);
    bool ok = index != 0;
    for (uint32_t k = 0; k < tape->d->t->state_count && ok; k++)
        if (tape->arrays[k]) {
            states[k] = ad_var_gather(tape->arrays[k], index, 0, ReduceModeNoConflicts);
            ok = states[k] != 0;
        }
    jit_var_dec_ref(index);
    return ok;
}

/* ---------------------------------------------------------------- running */

/* An iteration of the loop that runs again. */
static bool run_iteration(AdTape *tape, AdRun *run, uint32_t begin)
{
    bool written = !tape->length || (tape->in_lanes ? write_in_lanes(tape, run)
                                                    : write_states(tape, run, begin));
    return written && ad_run_body(run, false, 0, NULL, NULL) &&
           ad_run_set(run, 0, ad_run_advance(ad_var_index(ad_run_get(run, 0)), 1));
}

/* Its results. */
static bool take_checkpoint(const AdRun *run, AdCheckpoint *to)
{
    const AdTemplate *t = run->d->t;
    TRY(to->states = alloc_zero(t->state_count + 1, sizeof(uint64_t)), false);
    for (uint32_t k = 0, i = 0; k < t->state_count; k++)
        if (t->states[k].changes)
            to->states[k] = ad_var_inc_ref(run->values[i++]);
    to->number = jit_var_inc_ref(ad_var_index(ad_run_get(run, 0)));
    return true;
}

/* Its values besides the states: the number of the iteration, and local arrays. */
static bool open_run(const AdTape *tape, const AdCheckpoint *from, AdRun *run)
{
    uint32_t states = tape->d->t->state_count, n = 0;
    uint64_t *others = alloc_get((states + 1) * sizeof(uint64_t));
    if (others)
        others[n++] = jit_var_inc_ref(from->number);
    for (uint32_t k = 0; others && tape->in_lanes && k < states; k++)
        if (tape->arrays[k])
            others[n++] = ad_var_inc_ref(tape->arrays[k]);
    *run = (AdRun){ .d = tape->d };
    bool ok = others && ad_run_open(run, tape->d, true, from->states, n, others);
    alloc_free(others);
    return ok;
}

static void take_in_lanes(AdTape *tape, const AdRun *run)
{
    for (uint32_t k = 0, i = 1; k < tape->d->t->state_count; k++)
        if (tape->arrays[k]) {
            ad_var_dec_ref(tape->arrays[k]);
            tape->arrays[k] = ad_var_inc_ref(ad_run_get(run, i++));
        }
}

bool ad_tape_run(AdTape *tape, const AdCheckpoint *from, uint32_t begin, uint32_t end,
                 AdCheckpoint *to, uint32_t *number)
{
    AdRun run;
    int again = 0;
    bool ok = open_run(tape, from, &run);
    uint32_t before = 0;
    if (ok && end)
        ok = (before = jit_var_lt(ad_var_index(ad_run_get(&run, 0)), end)) != 0;
    ok = ok && ad_run_condition(&run, true, before, &again) &&
         (!again || run_iteration(tape, &run, begin));
    jit_var_dec_ref(before);
    ok = ad_run_end(&run, ok);
    if (ok && tape->in_lanes)
        take_in_lanes(tape, &run);
    if (ok && to)
        ok = take_checkpoint(&run, to);
    if (ok && number)
        *number = jit_var_inc_ref(ad_var_index(ad_run_get(&run, 0)));
    ad_run_free(&run);
    return ok;
}

/* ---------------------------------------------------------------- checkpoints */

bool ad_tape_origin(const AdTape *tape, AdCheckpoint *c)
{
    const AdTemplate *t = tape->d->t;
    *c = (AdCheckpoint){ .number = jit_var_u32(ad_template_backend(t), 0) };
    TRY(c->states = alloc_zero(t->state_count + 1, sizeof(uint64_t)), false);
    for (uint32_t k = 0; k < t->state_count; k++)
        if (t->states[k].changes)
            c->states[k] = jit_var_inc_ref(t->states[k].initial);
    return ad_tape_store(tape, c);
}

bool ad_tape_store(const AdTape *tape, AdCheckpoint *c)
{
    uint64_t number = c->number;
    bool ok = ad_tape_force(&number);
    c->number = (uint32_t) number;
    for (uint32_t k = 0; k < tape->d->t->state_count && ok; k++)
        ok = !c->states[k] || ad_tape_force(&c->states[k]);
    return ok && jit_eval();
}

void ad_tape_drop(const AdTape *tape, AdCheckpoint *c)
{
    ad_run_drop_list(tape->d->t->state_count, c->states);
    jit_var_dec_ref(c->number);
    *c = (AdCheckpoint){ 0 };
}
