/*
 * recorder_compare.c -- is an iteration of a loop like another one?
 *
 * Both are followed side by side, command by command: same kernels, sizes as terms, and
 * slots. An array of the one is that of the other
 *
 *     of the state    here the state before this iteration, there the one before that
 *     temporary       made in the same place, which the commands tell when they meet it
 *     any other       the same array
 *
 * Loops within stand in the same places. One may go round more often in the one
 * iteration than in the other: what its block does is compared as far as both have it,
 * and after it the state is what it was before, where there was no iteration at all.
 */
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "recording/recorder_loop.h"
#include "ir/program.h"
#include "kernel/cache.h"

/* Values of Pair.to that are not arrays. */
enum {
    NOT_MET = UINT32_MAX,
    AS_BEFORE = UINT32_MAX - 1 /* the state of a loop that has not gone round there */
};

typedef struct Pair {
    Recorder *recorder;
    const Recording *r;
    const Iteration *p, *q;
    uint32_t states;
    uint32_t *to; /* of arrays of p: which one of q it is */
    bool *met;    /* arrays of q that are one of p */
    uint32_t p_command, q_command, p_loop, q_loop; /* what comes next */
    bool commit;  /* they are alike: what is found out is noted */
} Pair;

uint32_t *recorder_roles(const Test *before, const Test *behind)
{
    uint32_t count = behind->uses - before->uses + behind->states - before->states;
    uint32_t *roles = alloc_get((count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; roles && i < count; ++i)
        roles[i] = ROLE_UNKNOWN;
    return roles;
}

/* ------------------------------------------------------------------- arrays */

static uint32_t *image(const Pair *pair, uint32_t array)
{
    return &pair->to[array - pair->p->before->arrays];
}

static bool *is_met(const Pair *pair, uint32_t array)
{
    return &pair->met[array - pair->q->before->arrays];
}

static uint32_t *role_of_use(const Pair *pair, uint32_t use)
{
    return &pair->p->roles[use - pair->p->before->uses];
}

static uint32_t *role_of_initial(const Pair *pair, uint32_t state)
{
    const Test *before = pair->p->before;
    return &pair->p->roles[pair->p->behind->uses - before->uses +
                           (state - before->states)];
}

/* Arrays that the host has filled are the same if their entries are. */
static bool same_made(const Recording *r, const FrozenArray *a, const FrozenArray *b)
{
    if (a->kind != b->kind || a->symsize != b->symsize || a->entry != b->entry)
        return false;
    if (a->kind != FROZEN_CONSTANT)
        return true;
    const Buffer *x = r->constants[a->number], *y = r->constants[b->number];
    const void *p = buffer_host(x), *q = buffer_host(y);
    return p && q && x->size == y->size && memcmp(p, q, x->size) == 0;
}

/* What is not an array of the iteration: a state, or the same array. */
static bool same_outside(const Pair *pair, uint32_t a, uint32_t b, uint32_t access,
                         uint32_t *role)
{
    const uint32_t *p = pair->p->before->values, *q = pair->q->before->values;
    uint32_t found = *role;
    if (found == ROLE_UNKNOWN) {
        found = ROLE_OUTSIDE;
        for (uint32_t i = 0; a != b && found == ROLE_OUTSIDE && i < pair->states; ++i)
            if (p[i] == a && q[i] == b)
                found = i;
    }
    if (found == ROLE_OUTSIDE ? a != b : b != q[found] || access != SLOT_READ)
        return false;
    if (pair->commit)
        *role = found;
    return true;
}

/* Is an array that the one iteration uses that of the other? */
static bool same_array(const Pair *pair, uint32_t a, uint32_t b, uint32_t access,
                       uint32_t *role)
{
    const FrozenArray *arrays = pair->r->arrays;
    while (iteration_has(pair->p, a) && *image(pair, a) == AS_BEFORE) {
        uint32_t state = pair->p->before->states;
        while (pair->r->states[state].array != a)
            ++state;
        const uint32_t initial = pair->r->states[state].initial;
        if (access != SLOT_READ || arrays[a].symsize != arrays[initial].symsize)
            return false;
        a = initial;
        role = role_of_initial(pair, state);
    }
    if (!iteration_has(pair->p, a))
        return same_outside(pair, a, b, access, role);
    if (*image(pair, a) != NOT_MET)
        return *image(pair, a) == b;
    if (!iteration_has(pair->q, b) || *is_met(pair, b) ||
        !same_made(pair->r, &arrays[a], &arrays[b]))
        return false;
    *image(pair, a) = b;
    *is_met(pair, b) = true;
    return true;
}

/* The same of arrays that are made in both. */
static bool same_made_within(const Pair *pair, uint32_t a, uint32_t b)
{
    uint32_t none = ROLE_OUTSIDE;
    return iteration_has(pair->p, a) && iteration_has(pair->q, b) &&
           same_array(pair, a, b, SLOT_READ, &none);
}

/* Has this array of the one iteration been met, as that of the other? */
static bool is_image(const Pair *pair, uint32_t a, uint32_t b)
{
    return iteration_has(pair->p, a) && iteration_has(pair->q, b) &&
           *image(pair, a) == b;
}

/* ----------------------------------------------------------------- commands */

/* But for the word of a launch's data that is the address. */
static bool same_use(const Pair *pair, uint32_t p, uint32_t q)
{
    const FrozenUse *x = &pair->r->uses[p], *y = &pair->r->uses[q];
    return x->symsize == y->symsize && x->entry == y->entry && x->access == y->access &&
           x->offset == y->offset &&
           same_array(pair, x->array, y->array, x->access, role_of_use(pair, p));
}

/* Is this word of a launch's data the address of an array? */
static bool is_address(const Recording *r, const FrozenCommand *f, size_t word)
{
    for (uint32_t i = 0; i < f->count; ++i)
        if (r->uses[f->first + i].word == word)
            return true;
    const Program *program = f->launch.kernel ? f->launch.kernel->program : NULL;
    return program && ((f->launch.checks && word + 1 == program->param_count) ||
                       word == program_find_param(program, PARAM_PRINT));
}

static bool same_data(const Recording *r, const FrozenCommand *f, const Command *a,
                      const Command *b)
{
    size_t words = a->kind == COMMAND_LAUNCH ? a->launch.words : 0;
    const uint64_t *x = a->data, *y = b->data;
    for (size_t i = 0; i < words; ++i)
        if (x[i] != y[i] && !is_address(r, f, i))
            return false;
    size_t rest = a->data_size - words * sizeof(uint64_t);
    return !rest || memcmp(x + words, y + words, rest) == 0;
}

/* But for what their slots are. A launch's code may have become better meanwhile. */
static bool same_pattern(const Recording *r, const FrozenCommand *f,
                         const FrozenCommand *g)
{
    const Command *a = f->pattern, *b = g->pattern;
    if (a->kind != b->kind || a->size != b->size || a->data_size != b->data_size)
        return false;
    if (a->kind != COMMAND_LAUNCH) {
        size_t first = offsetof(Command, launch), end = offsetof(Command, timed);
        if (memcmp((const char *) a + first, (const char *) b + first, end - first))
            return false;
    } else if (!f->launch.kernel || f->launch.kernel != g->launch.kernel ||
               f->launch.kernel->program->print_count ||
               a->launch.workers != b->launch.workers ||
               a->launch.words != b->launch.words ||
               a->launch.fused != b->launch.fused) {
        return false;
    }
    return same_data(r, f, a, b);
}

/* Are the bounds of all checks the same terms? */
static bool same_bounds(const Recording *r, const FrozenLaunch *a,
                        const FrozenLaunch *b)
{
    if (a->checks != b->checks)
        return false;
    for (uint32_t i = 0; i < a->checks; ++i)
        if (r->bounds[a->bound + i] != r->bounds[b->bound + i])
            return false;
    return true;
}

/* Are their parameters that are sizes the same terms? */
static bool same_extents(const Recording *r, const FrozenCommand *f,
                         const FrozenCommand *g)
{
    const uint32_t count = recording_extents(f->pattern);
    return count == recording_extents(g->pattern) &&
           (!count || !memcmp(r->extents + f->extent, r->extents + g->extent,
                              count * sizeof(SymSize)));
}

/* ---- of launches, one of which reads an array in the place of two */

/* Which slot of 'g' is a slot of 'f', the writes of both being in the same order? */
static uint32_t find_slot(const Pair *pair, const FrozenCommand *f,
                          const FrozenCommand *g, uint32_t slot)
{
    const FrozenUse *x = &pair->r->uses[f->first], *y = &pair->r->uses[g->first];
    uint32_t writes = 0;
    for (uint32_t i = 0; i < slot; ++i)
        writes += x[i].access != SLOT_READ;
    for (uint32_t k = 0; k < g->count; ++k) {
        if (y[k].access != SLOT_READ && writes-- > 0)
            continue;
        if (same_use(pair, f->first + slot, g->first + k))
            return k;
        if (y[k].access != SLOT_READ && x[slot].access != SLOT_READ)
            break;
    }
    return RECORDER_UNKNOWN;
}

/* The parameters that are not arrays of the recording come in the same order. */
static bool find_values(const Pair *pair, const FrozenCommand *f,
                        const FrozenCommand *g, uint32_t *params)
{
    const Program *p = f->launch.kernel->program, *q = g->launch.kernel->program;
    const uint64_t *x = f->pattern->data, *y = g->pattern->data;
    uint32_t k = 0;
    for (uint32_t i = 0; i < p->param_count; ++i) {
        if (params[i] != RECORDER_UNKNOWN)
            continue;
        while (k < q->param_count && (q->params[k].kind != p->params[i].kind ||
                                      is_address(pair->r, g, k)))
            ++k;
        if (k == q->param_count || (p->params[i].kind == PARAM_VALUE && x[i] != y[k]))
            return false;
        params[i] = k++;
    }
    return true;
}

/* Reductions of what they compute. */
static bool same_fused(const FrozenCommand *f, const FrozenCommand *g,
                       const uint32_t *slots, const uint32_t *params)
{
    for (uint32_t i = 0; i < f->pattern->launch.fused; ++i) {
        FusedReduction a = command_fused(f->pattern)[i],
                       b = command_fused(g->pattern)[i];
        a.target = slots[a.target];
        for (uint32_t k = 0; k < 2; ++k)
            if (a.source[k] != FUSED_NONE)
                a.source[k] = a.source[k] & FUSED_TILE
                                  ? FUSED_TILE | params[a.source[k] & ~FUSED_TILE]
                                  : slots[a.source[k]];
        if (memcmp(&a, &b, sizeof(FusedReduction)) != 0)
            return false;
    }
    return true;
}

static bool same_if_merged(const Pair *pair, const FrozenCommand *f,
                           const FrozenCommand *g, uint32_t *slots, uint32_t *params)
{
    for (uint32_t i = 0; i < f->pattern->launch.words; ++i)
        params[i] = RECORDER_UNKNOWN;
    for (uint32_t i = 0; i < f->count; ++i) {
        const FrozenUse *x = &pair->r->uses[f->first + i];
        slots[i] = find_slot(pair, f, g, i);
        if (slots[i] == RECORDER_UNKNOWN)
            return false;
        if (x->word < f->pattern->launch.words)
            params[x->word] = pair->r->uses[g->first + slots[i]].word;
    }
    return find_values(pair, f, g, params) && same_fused(f, g, slots, params) &&
           recorder_merge(pair->recorder, f->launch.kernel->program,
                          g->launch.kernel->program, params);
}

/* Is the second launch what the first one is if arrays that it reads are one? */
static bool is_merged(const Pair *pair, const FrozenCommand *f, const FrozenCommand *g)
{
    if (!f->launch.kernel || !g->launch.kernel || f->count <= g->count ||
        f->pattern->launch.workers != g->pattern->launch.workers ||
        f->pattern->launch.fused != g->pattern->launch.fused)
        return false;
    const size_t count = f->count + f->pattern->launch.words;
    uint32_t *slots = alloc_get((count + 1) * sizeof(uint32_t));
    bool same = slots && same_if_merged(pair, f, g, slots, slots + f->count);
    pair->recorder->failed |= !slots;
    alloc_free(slots);
    return same;
}

static bool same_command(const Pair *pair, uint32_t p, uint32_t q)
{
    const Recording *r = pair->r;
    const FrozenCommand *f = &r->commands[p], *g = &r->commands[q];
    if (f->size != g->size || f->unit != g->unit ||
        !same_bounds(r, &f->launch, &g->launch) || !same_extents(r, f, g))
        return false;
    if (f->count != g->count || !same_pattern(r, f, g))
        return is_merged(pair, f, g);
    for (uint32_t i = 0; i < f->count; ++i)
        if (r->uses[f->first + i].word != r->uses[g->first + i].word ||
            !same_use(pair, f->first + i, g->first + i))
            return false;
    return true;
}

/* -------------------------------------------------------------------- loops */

static bool same_loop(Pair *pair);

/* All of two blocks, which are 'p' and 'q'; RECORDER_UNKNOWN: of both iterations. */
static bool same_commands(Pair *pair, uint32_t p, uint32_t q, uint32_t p_end,
                          uint32_t q_end)
{
    const Recording *r = pair->r;
    const uint32_t p_loops = pair->p->behind->loops, q_loops = pair->q->behind->loops;
    for (;;) {
        const bool a = pair->p_loop < p_loops &&
                       recording_enters(r, pair->p_loop, p, pair->p_command);
        const bool b = pair->q_loop < q_loops &&
                       recording_enters(r, pair->q_loop, q, pair->q_command);
        if (a != b || (a && !same_loop(pair)))
            return false;
        if (a)
            continue;
        if (pair->p_command == p_end || pair->q_command == q_end)
            return pair->p_command == p_end && pair->q_command == q_end;
        if (!same_command(pair, pair->p_command++, pair->q_command++))
            return false;
    }
}

/* Its states become what they are of the other loop; as before it, if there is none. */
static void set_states(const Pair *pair, const FrozenLoop *a, const FrozenLoop *b)
{
    for (uint32_t i = 0; i < a->states; ++i) {
        const FrozenState *p = &pair->r->states[a->state + i];
        const FrozenState *q = b ? &pair->r->states[b->state + i] : NULL;
        *image(pair, p->array) = q ? q->array : AS_BEFORE;
        if (q)
            *is_met(pair, q->array) = true;
    }
}

/* The block of both. One that has been run once only has the arrays from before the
 * loop in the place of the state. */
static bool same_block(Pair *pair, uint32_t loop_of_p, uint32_t loop_of_q)
{
    const FrozenLoop *a = &pair->r->loops[loop_of_p], *b = &pair->r->loops[loop_of_q];
    const FrozenState *p = pair->r->states + a->state, *q = pair->r->states + b->state;
    if (a->states != b->states)
        return false;
    for (uint32_t i = 0; i < a->states; ++i)
        if (!same_array(pair, p[i].initial, q[i].initial, SLOT_READ,
                        role_of_initial(pair, a->state + i)) ||
            !same_made(pair->r, &pair->r->arrays[p[i].array],
                       &pair->r->arrays[q[i].array]))
            return false;
    set_states(pair, a, a->most == b->most ? b : NULL);
    if (!same_commands(pair, loop_of_p, loop_of_q, a->end, b->end) ||
        !is_image(pair, a->again, b->again))
        return false;
    for (uint32_t i = 0; i < a->states; ++i)
        if (!same_made_within(pair, p[i].next, q[i].next))
            return false;
    set_states(pair, a, b);
    return true;
}

/* The next loop of both: that of p may go round at least as often. */
static bool same_loop(Pair *pair)
{
    const uint32_t p = pair->p_loop++, q = pair->q_loop++;
    FrozenLoop *a = &pair->r->loops[p];
    const FrozenLoop *b = &pair->r->loops[q];
    if (a->most < b->most || !is_image(pair, a->enter, b->enter) ||
        (b->most && (a->again == a->enter) != (b->again == b->enter)))
        return false;
    if (b->most) {
        TRY(same_block(pair, p, q), false);
    } else {
        set_states(pair, a, NULL);
        pair->p_command = a->end;
        pair->p_loop += a->inner;
    }
    if (pair->commit && a->least > b->least)
        a->least = b->least;
    return true;
}

/* -------------------------------------------------------------------- whole */

/* The state before and after both. */
static bool same_state(const Pair *pair, uint32_t i)
{
    const Test *p0 = pair->p->before, *p1 = pair->p->behind;
    const Test *q0 = pair->q->before, *q1 = pair->q->behind;
    uint32_t before = p0->values[i], behind = p1->values[i];
    if (before == behind) /* it does not change, or in place */
        return q0->values[i] == before && q1->values[i] == before &&
               p0->bits[i] == q1->bits[i] && p1->bits[i] == q1->bits[i];
    const FrozenArray *arrays = pair->r->arrays;
    if (before == RECORDER_UNKNOWN || behind == RECORDER_UNKNOWN ||
        q0->values[i] == RECORDER_UNKNOWN ||
        !same_made_within(pair, behind, q1->values[i]) ||
        arrays[before].symsize != arrays[behind].symsize ||
        arrays[before].entry != arrays[behind].entry)
        return false;
    for (uint32_t k = 0; k < i; ++k) /* one array, of states that were different */
        if (p1->values[k] == behind && p0->values[k] != before)
            return false;
    return true;
}

static bool follow(Pair *pair)
{
    const Test *p0 = pair->p->before, *p1 = pair->p->behind;
    const Test *q0 = pair->q->before, *q1 = pair->q->behind;
    for (uint32_t i = p0->arrays; i < p1->arrays; ++i)
        *image(pair, i) = NOT_MET;
    memset(pair->met, 0, (q1->arrays - q0->arrays) * sizeof(bool));
    pair->p_command = p0->commands;
    pair->q_command = q0->commands;
    pair->p_loop = p0->loops;
    pair->q_loop = q0->loops;
    if (p0->condition == RECORDER_UNKNOWN || q0->condition == RECORDER_UNKNOWN ||
        !same_commands(pair, RECORDER_UNKNOWN, RECORDER_UNKNOWN, p1->commands,
                       q1->commands) ||
        !is_image(pair, p1->condition, q1->condition))
        return false;
    for (uint32_t i = 0; i < pair->states; ++i)
        if (!same_state(pair, i))
            return false;
    return true;
}

bool recorder_compare(Recorder *r, const Iteration *whole, const Iteration *part)
{
    const uint32_t p = whole->behind->arrays - whole->before->arrays;
    const uint32_t q = part->behind->arrays - part->before->arrays;
    Pair pair = { .recorder = r, .r = &r->recording, .p = whole, .q = part,
                  .states = r->loop->states,
                  .to = alloc_get((p + 1) * sizeof(uint32_t)),
                  .met = alloc_get((q + 1) * sizeof(bool)) };
    bool same = pair.to && pair.met && follow(&pair);
    if (same) {
        pair.commit = true;
        follow(&pair);
    }
    r->failed |= !pair.to || !pair.met;
    alloc_free(pair.to);
    alloc_free(pair.met);
    return same;
}
