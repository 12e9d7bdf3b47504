/*
 * ad_stack.c -- see ad_stack.h
 */
#include "ad/derive/ad_stack.h"

#include "ad/array/ad_local.h"
#include "ad/array/ad_moves.h"
#include "ad/derive/ad_room.h"
#include "base/alloc.h"
#include "base/error.h"

enum {
    MOST_BYTES = 16384, /* of a lane */
    LEAST_DEPTH = 3,    /* else it is worth nothing */
    MOST_COPIES = 64    /* of entries, without a loop */
};

/* Values of a stack, and those of the loop that computes, in order. */
enum { TOP, POSITIONS, ARRAYS };
enum { NUMBER, MIDDLE, STACK };

/* ---------------------------------------------------------------- arithmetic */

/* a op number; the reference to 'a' stays. */
static uint32_t apply_number(JitOp op, uint32_t a, uint32_t number)
{
    return ad_moves_op(op, jit_var_inc_ref(a), ad_moves_u32(a, number));
}

/* mask ? a : b. The references to both move. */
static uint32_t select(uint32_t mask, uint32_t a, uint32_t b)
{
    uint32_t result = mask && a && b ? jit_var_select(mask, a, b) : 0;
    jit_var_dec_ref(a);
    jit_var_dec_ref(b);
    return result;
}

/* from + (to - from) / 2, for from <= to. */
static uint32_t middle(uint32_t from, uint32_t to)
{
    uint32_t distance =
        ad_moves_op(JitOpSub, jit_var_inc_ref(to), jit_var_inc_ref(from));
    uint32_t half = distance ? apply_number(JitOpShr, distance, 1) : 0;
    jit_var_dec_ref(distance);
    return ad_moves_op(JitOpAdd, jit_var_inc_ref(from), half);
}

/* ---------------------------------------------------------------- local arrays */

/* Entries of a local array become those of another one. */
typedef struct Copying {
    uint64_t from, to; /* borrowed */
    uint32_t first, at;
    size_t length;
    uint32_t mask; /* 0: always */
    bool tracked;
} Copying;

/* An entry of a loop over them, whose number is state 0, and 'to' state 1. */
static bool copy_entry(const Copying *c, uint64_t states[2])
{
    uint32_t entry = ad_var_index(states[0]);
    uint32_t source =
        ad_moves_op(JitOpAdd, jit_var_inc_ref(c->first), jit_var_inc_ref(entry));
    uint32_t target =
        ad_moves_op(JitOpAdd, jit_var_inc_ref(c->at), jit_var_inc_ref(entry));
    uint64_t value = source ? ad_array_read(c->from, source, 0) : 0;
    uint64_t next = value && target ? ad_array_write(states[1], target, value, 0) : 0;
    jit_var_dec_ref(source);
    jit_var_dec_ref(target);
    ad_var_dec_ref(value);
    TRY(next, false);
    ad_var_dec_ref(states[1]);
    states[1] = next;
    states[0] = apply_number(JitOpAdd, entry, 1);
    jit_var_dec_ref(entry);
    return states[0] != 0;
}

static uint32_t entries_left(const Copying *c, uint32_t entry)
{
    uint32_t left = apply_number(JitOpLt, entry, (uint32_t) c->length);
    return c->mask ? ad_moves_op(JitOpAnd, left, jit_var_inc_ref(c->mask)) : left;
}

/* 'to' with the entries in it: a new reference. In front of a loop that copies, the
 * gradient of 'from' is added up whole, for each entry. */
static uint64_t copy_one_by_one(const Copying *c)
{
    uint64_t to = ad_var_inc_ref(c->to);
    for (uint32_t i = 0; i < c->length && to; i++) {
        uint32_t source = apply_number(JitOpAdd, c->first, i);
        uint32_t target = apply_number(JitOpAdd, c->at, i);
        uint64_t value = source ? ad_array_read(c->from, source, 0) : 0, next = 0;
        if (value && target)
            next = ad_array_write(to, target, value, c->mask);
        jit_var_dec_ref(source);
        jit_var_dec_ref(target);
        ad_var_dec_ref(value);
        ad_var_dec_ref(to);
        to = next;
    }
    return to;
}

/* The same, by a loop if that is better. */
static uint64_t copy_entries(const Copying *c)
{
    if (c->tracked && c->length <= MOST_COPIES)
        return copy_one_by_one(c);
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(c->from), &info), 0);
    uint64_t states[2] = { jit_var_u32(info.backend, 0), ad_var_inc_ref(c->to) };
    const bool tracked[2] = { false, c->tracked };
    int symbolic = jit_flag(JitFlagSymbolicLoops);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    uint32_t loop = ad_var_loop_start(info.backend, "copy", (int64_t) c->length, 2,
                                      states, tracked);
    jit_set_flag(JitFlagSymbolicLoops, symbolic);
    uint32_t left = loop ? entries_left(c, ad_var_index(states[0])) : 0;
    int again = left ? ad_var_loop_cond(loop, left) : -1;
    jit_var_dec_ref(left);
    bool ok = loop && again >= 0 && (!again || copy_entry(c, states));
    if (ok)
        ok = ad_var_loop_end(loop, states) == 1;
    else if (loop && (left == 0 || again > 0))
        ad_record_end(info.backend, loop, 1);
    ad_var_dec_ref(states[0]);
    if (ok)
        return states[1];
    ad_var_dec_ref(states[1]);
    return 0;
}

/* The number of entries of state k on the stack's array, 0: it is not a local array. */
static size_t length_of(const AdStack *s, uint32_t k)
{
    uint32_t initial = s->d->t->states[k].initial;
    return ad_local_is(initial) ? jit_array_length(initial) : 0;
}

/* Where an entry of the stack begins in such an array. */
static uint32_t begin_of(uint32_t entry, size_t length)
{
    return apply_number(JitOpMul, entry, (uint32_t) length);
}

/* State k of entry 'top' of its array. */
static uint64_t read_state(const AdStack *s, uint32_t k, uint64_t array, uint32_t top)
{
    size_t length = length_of(s, k);
    if (!length)
        return ad_array_read(array, top, 0);
    uint64_t empty = ad_local_zeros(s->d->t->states[k].initial), result = 0;
    uint32_t first = begin_of(top, length), zero = ad_moves_u32(top, 0);
    if (first && zero && empty)
        result = copy_entries(
            &(Copying){ array, empty, first, zero, length, 0, s->d->tracked });
    jit_var_dec_ref(first);
    jit_var_dec_ref(zero);
    ad_var_dec_ref(empty);
    return result;
}

/* The array of state k with 'value' as entry 'top', where the mask is set. */
static uint64_t write_state(const AdStack *s, uint32_t k, uint64_t array, uint32_t top,
                            uint64_t value, uint32_t mask)
{
    size_t length = length_of(s, k);
    if (!length)
        return ad_array_write(array, top, value, mask);
    uint32_t at = begin_of(top, length), zero = ad_moves_u32(top, 0);
    uint64_t result = 0;
    if (at && zero)
        result = copy_entries(
            &(Copying){ value, array, zero, at, length, mask, s->d->tracked });
    jit_var_dec_ref(at);
    jit_var_dec_ref(zero);
    return result;
}

/* ---------------------------------------------------------------- begin */

static bool changes(const AdStack *s, uint32_t k)
{
    return s->d->t->states[k].changes;
}

/* Those of an entry of the stack, in a lane. */
static size_t entry_bytes(const AdStack *s)
{
    size_t bytes = sizeof(uint32_t);
    for (uint32_t k = 0; k < s->d->t->state_count; k++) {
        size_t length = length_of(s, k);
        VarType type = jit_var_type(s->d->t->states[k].initial);
        if (changes(s, k))
            bytes += (length ? length : 1) * type_info[type].size;
    }
    return bytes;
}

/* An array for entries of state k, the first of which is the initial one. */
static uint64_t begin_array(const AdStack *s, uint32_t k)
{
    const AdTemplate *t = s->d->t;
    uint64_t initial = ad_run_initial(s->d, k), result = 0;
    size_t length = length_of(s, k);
    uint32_t array = ad_local_unset(t->states[k].initial,
                                    s->depth * (length ? length : 1), t->size.count);
    uint32_t zero = ad_moves_u32(ad_var_index(initial), 0);
    if (array && zero)
        result = write_state(s, k, array, zero, initial, 0);
    jit_var_dec_ref(zero);
    jit_var_dec_ref(array);
    ad_var_dec_ref(initial);
    return result;
}

/* What a stack takes of the room. One that is tracked is in derivatives of derivatives,
 * with gradients and copies, which were up to six times its size in second ones, and
 * twenty times in third ones. */
static size_t room_for(const AdStack *s, size_t depth)
{
    return depth * entry_bytes(s) * (s->d->tracked ? 16 : 1);
}

/* How many entries: as many as it takes, or as there is room for, of which it leaves as
 * much to others. */
static size_t choose_depth(const AdStack *s, uint64_t most)
{
    size_t depth = 2, left = ad_room_left() / 2;
    for (uint64_t n = most ? most : UINT32_MAX; n > 1; n /= 2)
        depth++;
    size_t fits = (left < MOST_BYTES ? left : MOST_BYTES) / room_for(s, 1);
    return depth < fits ? depth : fits;
}

bool ad_stack_begin(AdStack *s, LoopDerivative *d, uint64_t most)
{
    const AdTemplate *t = d->t;
    JitBackend backend = ad_template_backend(t);
    *s = (AdStack){ .d = d };
    s->depth = choose_depth(s, most);
    if (s->depth < LEAST_DEPTH || !ad_room_take(room_for(s, s->depth)))
        return true;
    s->values = alloc_zero(ARRAYS + t->state_count, sizeof(uint64_t));
    TRY(s->values, false);
    s->values[TOP] = jit_var_u32(backend, 0);
    s->values[POSITIONS] =
        jit_array_create(backend, VarTypeUInt32, s->depth, t->size.count);
    s->count = ARRAYS;
    bool ok = s->values[TOP] && s->values[POSITIONS];
    for (uint32_t k = 0; ok && k < t->state_count; k++)
        if (changes(s, k))
            ok = (s->values[s->count++] = begin_array(s, k)) != 0;
    return ok;
}

void ad_stack_free(AdStack *s)
{
    ad_run_drop_list(s->count, s->values);
}

/* ---------------------------------------------------------------- computing */

/* What the reverse loop has of the stack. */
typedef struct Level {
    uint32_t top, position; /* of the checkpoint to begin with; owned */
    uint64_t *states;       /* its states, by state; references, owned */
} Level;

static void drop_level(const AdStack *s, Level *level)
{
    ad_run_drop_list(s->d->t->state_count, level->states);
    jit_var_dec_ref(level->top);
    jit_var_dec_ref(level->position);
}

/* The topmost checkpoint that is not after iteration 'number', without a stack the
 * beginning. The last one before was that of the next iteration, so that one at most is
 * popped. */
static bool find_level(const AdStack *s, const AdRun *run, uint32_t first,
                       uint32_t number, Level *level)
{
    const AdTemplate *t = s->d->t;
    *level = (Level){ 0 };
    if (!s->count)
        return (level->position = ad_moves_u32(number, 0)) != 0;
    uint32_t top = ad_var_index(ad_run_get(run, first + TOP));
    uint32_t positions = ad_var_index(ad_run_get(run, first + POSITIONS));
    uint32_t last = jit_array_read(positions, top, 0);
    uint32_t behind = last ? jit_var_gt(last, number) : 0;
    jit_var_dec_ref(last);
    level->states = alloc_zero(t->state_count + 1, sizeof(uint64_t));
    level->top = select(behind, apply_number(JitOpSub, top, 1), jit_var_inc_ref(top));
    jit_var_dec_ref(behind);
    TRY(level->top && level->states, false);
    level->position = jit_array_read(positions, level->top, 0);
    bool ok = level->position != 0;
    for (uint32_t k = 0, i = first + ARRAYS; ok && k < t->state_count; k++)
        if (changes(s, k))
            ok = (level->states[k] =
                      read_state(s, k, ad_run_get(run, i++), level->top)) != 0;
    return ok;
}

/* Where 'mask' is set, a checkpoint: the states are those with which the iteration
 * begins that is the value NUMBER now. */
static bool push(const AdStack *s, AdRun *run, uint32_t mask)
{
    const AdTemplate *t = s->d->t;
    uint32_t number = ad_var_index(ad_run_get(run, NUMBER));
    uint32_t before = ad_var_index(ad_run_get(run, STACK + TOP));
    uint32_t positions = ad_var_index(ad_run_get(run, STACK + POSITIONS));
    uint32_t top = apply_number(JitOpAdd, before, 1);
    bool ok = top && ad_run_set(run, STACK + POSITIONS,
                                jit_array_write(positions, top, number, mask));
    for (uint32_t k = 0, i = 0; ok && k < t->state_count; k++)
        if (changes(s, k)) {
            uint64_t array = ad_run_get(run, STACK + ARRAYS + i);
            ok = ad_run_set(run, STACK + ARRAYS + i,
                            write_state(s, k, array, top, run->values[i], mask));
            i++;
        }
    if (ok)
        return ad_run_set(run, STACK + TOP, select(mask, top, jit_var_inc_ref(before)));
    jit_var_dec_ref(top);
    return false;
}

/* An iteration, and a checkpoint after it if that is the middle. */
static bool compute_iteration(const AdStack *s, AdRun *run, uint32_t number)
{
    TRY(ad_run_body(run, false, 0, NULL, NULL), false);
    uint32_t now = ad_var_index(ad_run_get(run, NUMBER));
    TRY(ad_run_set(run, NUMBER, apply_number(JitOpAdd, now, 1)), false);
    TRY(s->count, true);
    now = ad_var_index(ad_run_get(run, NUMBER));
    uint32_t before = ad_var_index(ad_run_get(run, MIDDLE));
    uint32_t there = jit_var_eq(now, before);
    uint32_t top = ad_var_index(ad_run_get(run, STACK + TOP));
    there = ad_moves_op(JitOpAnd, there,
                        apply_number(JitOpLt, top, (uint32_t) s->depth - 1));
    bool ok = there && push(s, run, there) &&
              ad_run_set(run, MIDDLE,
                         select(there, middle(now, number), jit_var_inc_ref(before)));
    jit_var_dec_ref(there);
    return ok;
}

/* Its results: the states, and the stack for the reverse loop. */
static bool take_results(const AdStack *s, const AdRun *from, AdRun *run,
                         uint32_t first, const bool *needed, uint64_t *states)
{
    for (uint32_t k = 0, i = 0; k < s->d->t->state_count; k++)
        if (changes(s, k)) {
            if (needed[k])
                states[k] = ad_var_inc_ref(from->values[i]);
            i++;
        }
    for (uint32_t i = 0; i < s->count; i++)
        TRY(ad_run_set(run, first + i, ad_var_inc_ref(ad_run_get(from, STACK + i))),
            false);
    return true;
}

/* The values of the loop, besides the states. */
static bool open_loop(const AdStack *s, const AdRun *run, uint32_t first,
                      uint32_t number, const Level *level, AdRun *computing)
{
    const uint32_t n = s->count ? STACK + s->count : 1;
    uint64_t *others = alloc_get(n * sizeof(uint64_t));
    TRY(others, false);
    others[NUMBER] = jit_var_inc_ref(level->position);
    if (s->count)
        others[MIDDLE] = middle(level->position, number);
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t value = i == TOP ? level->top : ad_run_get(run, first + i);
        others[STACK + i] = ad_var_inc_ref(value);
    }
    bool ok = ad_run_open(computing, s->d, true, level->states, n, others);
    alloc_free(others);
    return ok;
}

bool ad_stack_compute(const AdStack *s, AdRun *run, uint32_t first, uint32_t number,
                      const bool *needed, uint64_t *states)
{
    Level level;
    AdRun computing = { .d = s->d };
    int again = 0;
    bool ok = find_level(s, run, first, number, &level) &&
              open_loop(s, run, first, number, &level, &computing);
    drop_level(s, &level);
    uint32_t before =
        ok ? jit_var_lt(ad_var_index(ad_run_get(&computing, NUMBER)), number) : 0;
    ok = before && ad_run_condition(&computing, false, before, &again) &&
         (!again || compute_iteration(s, &computing, number));
    jit_var_dec_ref(before);
    ok = ad_run_end(&computing, ok) &&
         take_results(s, &computing, run, first, needed, states);
    ad_run_free(&computing);
    return ok;
}
