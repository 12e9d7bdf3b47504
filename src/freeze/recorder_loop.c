/*
 * recorder_loop.c -- loops that the host runs, whose number of iterations is found when
 * they are repeated; see recording.h
 *
 *     test 0    iteration 1    test 1    iteration 2    test 2    iteration 3    ...
 *     start ──── block ────── end ─────── equal? ─────── last ───── equal? ─────
 *
 * A test is where the host asks whether there is another iteration: a point between
 * commands, with arrays that are the state. The commands of the first iteration are the
 * block. Those of each later one are compared with it, slot by slot: an array is
 *
 *     of the state    here the state before this iteration, there the one before that
 *     temporary       made by the commands in question, in the same place
 *     any other       the same array
 *
 * and are dropped if they are equal. When the loop ends, the block becomes a
 * FrozenLoop, whose state has arrays of its own: they are the initial ones at first,
 * those that the block has made behind each iteration, and the final ones in the end.
 * How a program
 * goes on from a state depends on what the state consists of, which was the same before
 * all of these iterations, and on nothing else that is not in the recording's key. So
 * any number of iterations is as those that were seen.
 *
 * That there is a first iteration is a condition (FrozenContent). Where the first ones
 * are different (an array is written for the first time, and copied before), they stay
 * what they are, and that they take place is a condition, too. So are all iterations of
 * a loop that had one, or none. If one is different after two that were equal, or if
 * there are too many different ones, the recording is refused.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "freeze/recording.h"
#include "kernel/cache.h"

enum {
    MOST_PEELED = 3, /* iterations that may be different in the beginning */
    OUTSIDE = UINT32_MAX
};

/* Where the host asks: so much was recorded, and this is the state. */
typedef struct Test {
    uint32_t commands, arrays, uses, bounds, extents, contents, reads;
    uint32_t condition;  /* array, RECORDER_UNKNOWN: not known from one */
    uint32_t *values;    /* arrays, or RECORDER_UNKNOWN */
    uint64_t *bits;      /* of literals */
} Test;

struct RecorderLoop {
    uint32_t states;
    Test start, end, last, now; /* the block is between 'start' and 'end' */
    uint32_t lost;              /* the array that buffers of single iterations are */
    bool begun, has_block;
    uint32_t equal, peeled;     /* iterations */
    uint32_t *roles;            /* of the block's uses: a state, or OUTSIDE */
};

static const char differ[] = "the iterations of an evaluated loop are different";

/* -------------------------------------------------------------------- tests */

static void free_test(Test *t)
{
    alloc_free(t->values);
    alloc_free(t->bits);
    *t = (Test) { 0 };
}

static bool make_test(Recorder *r, Test *t, const LoopValue *values, uint32_t count,
                      const Buffer *condition)
{
    const Recording *out = &r->recording;
    *t = (Test) { out->command_count, out->array_count, out->use_count,
                  out->bound_count, out->extent_count, out->content_count,
                  out->read_count,
                  condition ? recorder_find(r, condition) : RECORDER_UNKNOWN,
                  alloc_zero(count + 1, sizeof(uint32_t)),
                  alloc_zero(count + 1, sizeof(uint64_t)) };
    TRY(t->values && t->bits, false);
    for (uint32_t i = 0; i < count; ++i) {
        t->values[i] = RECORDER_UNKNOWN;
        t->bits[i] = values[i].bits;
        if (values[i].buffer)
            t->values[i] = recorder_find(r, values[i].buffer);
        if (values[i].buffer && t->values[i] == RECORDER_UNKNOWN)
            recorder_refuse(r, "the state of an evaluated loop is no array of the "
                               "recording");
    }
    if (t->condition != RECORDER_UNKNOWN)
        recorder_keep_until_now(r, t->condition);
    return true;
}

static void move_test(Test *to, Test *from)
{
    free_test(to);
    *to = *from;
    *from = (Test) { 0 };
}

static bool copy_test(Test *to, const Test *from, uint32_t count)
{
    uint32_t *values = alloc_zero(count + 1, sizeof(uint32_t));
    uint64_t *bits = alloc_zero(count + 1, sizeof(uint64_t));
    if (!values || !bits) {
        alloc_free(values);
        alloc_free(bits);
        return false;
    }
    memcpy(values, from->values, count * sizeof(uint32_t));
    memcpy(bits, from->bits, count * sizeof(uint64_t));
    free_test(to);
    *to = *from;
    to->values = values;
    to->bits = bits;
    return true;
}

/* ---------------------------------------------------------------- comparison */

/* The block, and the commands behind it that may be another iteration of it. */
typedef struct Pair {
    const Recorder *r;
    RecorderLoop *l;
    bool first; /* of those compared with the block: roles are found */
} Pair;

/* Was the array made by the block? */
static bool in_block(const RecorderLoop *l, uint32_t array)
{
    return array >= l->start.arrays && array < l->end.arrays;
}

/* Are both made in the same place, each in its iteration? */
static bool correspond(const RecorderLoop *l, uint32_t a, uint32_t b)
{
    return b >= l->last.arrays && b - l->last.arrays == a - l->start.arrays;
}

/* The state that is array 'a' before the block, and 'b' before the other iteration. */
static uint32_t find_state(const RecorderLoop *l, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < l->states; ++i)
        if (l->start.values[i] == a && l->last.values[i] == b)
            return i;
    return OUTSIDE;
}

static bool same_use(const Pair *p, uint32_t use)
{
    const Recording *out = &p->r->recording;
    const FrozenUse *x = &out->uses[p->l->start.uses + use];
    const FrozenUse *y = &out->uses[p->l->last.uses + use];
    uint32_t *role = &p->l->roles[use];
    if (x->width != y->width || x->entry != y->entry || x->access != y->access ||
        x->word != y->word || x->offset != y->offset)
        return false;
    if (in_block(p->l, x->array))
        return correspond(p->l, x->array, y->array);
    if (p->first) {
        *role = OUTSIDE;
        if (x->array != y->array) {
            *role = find_state(p->l, x->array, y->array);
            return *role != OUTSIDE && x->access == SLOT_READ;
        }
    }
    return y->array == (*role == OUTSIDE ? x->array : p->l->last.values[*role]);
}

/* Is this word of a launch's data the address of an array? */
static bool is_address(const Recording *r, const FrozenCommand *f, size_t word)
{
    for (uint32_t i = 0; i < f->count; ++i)
        if (r->uses[f->first + i].word == word)
            return true;
    return f->launch.checks && word + 1 == f->launch.kernel->program->param_count;
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
               a->launch.folds != b->launch.folds) {
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
                              count * sizeof(Width)));
}

static bool same_command(const Pair *p, uint32_t command)
{
    const Recording *out = &p->r->recording;
    const FrozenCommand *f = &out->commands[p->l->start.commands + command];
    const FrozenCommand *g = &out->commands[p->l->last.commands + command];
    if (f->size != g->size || f->unit != g->unit || f->count != g->count ||
        !same_bounds(out, &f->launch, &g->launch) || !same_extents(out, f, g) ||
        !same_pattern(out, f, g))
        return false;
    for (uint32_t i = 0; i < f->count; ++i)
        if (!same_use(p, f->first - p->l->start.uses + i))
            return false;
    return true;
}

/* Arrays that the host has filled are the same if their entries are. */
static bool same_made(const Recording *r, const FrozenArray *a, const FrozenArray *b)
{
    if (a->kind != b->kind || a->width != b->width || a->entry != b->entry)
        return false;
    if (a->kind != FROZEN_CONSTANT)
        return true;
    const Buffer *x = r->constants[a->number], *y = r->constants[b->number];
    const void *p = buffer_host(x), *q = buffer_host(y);
    return p && q && x->size == y->size && memcmp(p, q, x->size) == 0;
}

static bool same_width(const Recording *r, uint32_t a, uint32_t b)
{
    return r->arrays[a].width == r->arrays[b].width &&
           r->arrays[a].entry == r->arrays[b].entry;
}

/* The state before and behind the block, and behind the other iteration. */
static bool same_state(const Pair *p, uint32_t i)
{
    const RecorderLoop *l = p->l;
    uint32_t before = l->start.values[i], behind = l->end.values[i];
    uint32_t now = l->now.values[i];
    if (before == behind) /* it does not change, or in place */
        return now == behind && l->start.bits[i] == l->now.bits[i] &&
               l->end.bits[i] == l->now.bits[i];
    if (before == RECORDER_UNKNOWN || behind == RECORDER_UNKNOWN ||
        !in_block(l, behind) || !correspond(l, behind, now) ||
        !same_width(&p->r->recording, before, behind))
        return false;
    for (uint32_t k = 0; k < i; ++k) /* one array, of states that were different */
        if (l->end.values[k] == behind && l->start.values[k] != before)
            return false;
    return true;
}

/* Is what was recorded behind the last test an iteration like the block? */
static bool is_iteration(const Pair *p)
{
    const Recording *out = &p->r->recording;
    const RecorderLoop *l = p->l;
    uint32_t commands = l->end.commands - l->start.commands;
    uint32_t arrays = l->end.arrays - l->start.arrays;
    if (l->now.commands - l->last.commands != commands ||
        l->now.arrays - l->last.arrays != arrays ||
        l->now.uses - l->last.uses != l->end.uses - l->start.uses ||
        l->start.condition == RECORDER_UNKNOWN || !in_block(l, l->end.condition) ||
        !correspond(l, l->end.condition, l->now.condition))
        return false;
    for (uint32_t i = 0; i < arrays; ++i)
        if (!same_made(out, &out->arrays[l->start.arrays + i],
                       &out->arrays[l->last.arrays + i]))
            return false;
    for (uint32_t i = 0; i < commands; ++i)
        if (!same_command(p, i))
            return false;
    for (uint32_t i = 0; i < l->states; ++i)
        if (!same_state(p, i))
            return false;
    return true;
}

/* Numbers of the arrays of the second iteration behind the block become those of the
 * first one, which are not needed any more. */
static bool shift_arrays(Recorder *r)
{
    RecorderLoop *l = r->loop;
    uint32_t first = l->end.arrays, second = l->last.arrays, count = second - first;
    for (uint32_t i = 0; i < r->held_count; ++i) {
        uint32_t array = recorder_find(r, r->held[i]);
        if (array != RECORDER_UNKNOWN && array >= first)
            TRY(recorder_rename(r, r->held[i],
                                array < second ? l->lost : array - count), false);
    }
    for (uint32_t i = 0; i < l->states; ++i)
        if (l->now.values[i] != RECORDER_UNKNOWN && l->now.values[i] >= second)
            l->now.values[i] -= count;
    l->now.arrays = r->recording.array_count = second;
    return true;
}

/* Forget what was recorded behind the block, but for the arrays of the latest
 * iteration. */
static bool drop_iteration(Recorder *r)
{
    RecorderLoop *l = r->loop;
    Recording *out = &r->recording;
    while (out->command_count > l->end.commands)
        recording_drop_command(&out->commands[--out->command_count]);
    out->use_count = l->now.uses = l->end.uses;
    out->bound_count = l->now.bounds = l->end.bounds;
    out->extent_count = l->now.extents = l->end.extents;
    l->now.commands = l->end.commands;
    return l->equal == 1 || shift_arrays(r);
}

/* ------------------------------------------------------------------- the end */

/* That there is another iteration, or none, is a condition. */
static void assume(Recorder *r, const Test *test, bool again)
{
    unsigned char byte = again;
    if (test->condition != RECORDER_UNKNOWN)
        recorder_content_of(r, test->condition, test->commands, 0, &byte, 1);
}

/* An array that is state 'i' of the loop: those of equal ones are one.
 * RECORDER_UNKNOWN: it does not change. */
static uint32_t state_array(Recording *out, const RecorderLoop *l, FrozenLoop *loop,
                            uint32_t i)
{
    uint32_t before = l->start.values[i], behind = l->end.values[i];
    if (before == behind)
        return RECORDER_UNKNOWN;
    for (uint32_t k = 0; k < loop->states; ++k)
        if (out->states[loop->state + k].next == behind)
            return out->states[loop->state + k].array;
    uint32_t array = out->array_count++;
    FrozenArray *first = &out->arrays[before];
    out->arrays[array] = *first;
    out->arrays[array].kind = FROZEN_MADE;
    out->arrays[array].number = 0;
    out->arrays[array].last = UINT32_MAX;
    out->arrays[behind].last = UINT32_MAX; /* it goes where the state is */
    out->states[loop->state + loop->states++] = (FrozenState) { before, array, behind };
    return array;
}

/* What the block uses is needed in each iteration, however long the loop goes on. */
static void keep_for_loop(Recording *out, const RecorderLoop *l)
{
    for (uint32_t i = 0; i < out->array_count; ++i)
        if (!in_block(l, i) && out->arrays[i].last >= l->start.commands)
            out->arrays[i].last = UINT32_MAX;
    for (uint32_t i = 0; i < l->states; ++i)
        if (l->start.values[i] != RECORDER_UNKNOWN)
            out->arrays[l->start.values[i]].last = UINT32_MAX;
    out->arrays[l->end.condition].last = UINT32_MAX;
}

/* Buffers of single iterations are no arrays of the recording behind the loop, but for
 * the final state. */
static bool rename_buffers(Recorder *r, const LoopValue *values, const uint32_t *arrays)
{
    const RecorderLoop *l = r->loop;
    for (uint32_t i = 0; i < r->held_count; ++i) {
        uint32_t array = recorder_find(r, r->held[i]);
        if (array != RECORDER_UNKNOWN && array >= l->start.arrays)
            TRY(recorder_rename(r, r->held[i], l->lost), false);
    }
    for (uint32_t i = 0; i < l->states; ++i)
        if (values[i].buffer && arrays[i] != RECORDER_UNKNOWN)
            TRY(recorder_rename(r, values[i].buffer, arrays[i]), false);
    return true;
}

/* A slot of the block that has a state. */
static void rename_use(const RecorderLoop *l, FrozenUse *use, uint32_t role,
                       const uint32_t *arrays)
{
    if (!in_block(l, use->array) && role != OUTSIDE)
        use->array = arrays[role];
}

static bool close_loop(Recorder *r, const LoopValue *values)
{
    RecorderLoop *l = r->loop;
    Recording *out = &r->recording;
    uint32_t *arrays = alloc_zero(l->states + 1, sizeof(uint32_t));
    bool ok = arrays &&
              vec_reserve(&out->loops, &out->loop_capacity, out->loop_count + 1,
                          sizeof(FrozenLoop)) &&
              vec_reserve(&out->states, &out->state_capacity,
                          out->state_count + l->states, sizeof(FrozenState)) &&
              vec_reserve(&out->arrays, &out->array_capacity,
                          out->array_count + l->states, sizeof(FrozenArray));
    if (ok) {
        out->array_count = l->end.arrays;
        FrozenLoop loop = { .first = l->start.commands, .end = l->end.commands,
                            .again = l->end.condition, .state = out->state_count };
        keep_for_loop(out, l);
        for (uint32_t i = 0; i < l->states; ++i)
            arrays[i] = state_array(out, l, &loop, i);
        for (uint32_t i = l->start.uses; i < l->end.uses; ++i)
            rename_use(l, &out->uses[i], l->roles[i - l->start.uses], arrays);
        out->state_count += loop.states;
        out->loops[out->loop_count++] = loop;
        ok = rename_buffers(r, values, arrays);
    }
    alloc_free(arrays);
    return ok;
}

/* A loop that is not entered is never the same: its results are the objects that came
 * in. */
static bool finish(Recorder *r, const LoopValue *values)
{
    RecorderLoop *l = r->loop;
    assume(r, &l->start, l->has_block);
    if (l->equal)
        return close_loop(r, values);
    if (l->has_block)
        assume(r, &l->end, false);
    return true;
}

static void free_loop(Recorder *r)
{
    RecorderLoop *l = r->loop;
    if (!l)
        return;
    free_test(&l->start);
    free_test(&l->end);
    free_test(&l->last);
    free_test(&l->now);
    alloc_free(l->roles);
    alloc_free(l);
    r->loop = NULL;
}

/* ----------------------------------------------------------------- interface */

void recorder_loop_begin(Recorder *r, uint32_t states)
{
    if (r->loop)
        recorder_refuse(r, "an evaluated loop is within another one");
    if (r->refused || r->failed)
        return;
    Recording *out = &r->recording;
    Width none = width_constant(&out->widths, 0);
    r->loop = alloc_zero(1, sizeof(RecorderLoop));
    r->failed = !none || !r->loop ||
                !vec_reserve(&out->arrays, &out->array_capacity, out->array_count + 1,
                             sizeof(FrozenArray));
    if (r->failed)
        return;
    r->loop->states = states;
    r->loop->lost = out->array_count++;
    out->arrays[r->loop->lost] = (FrozenArray) { FROZEN_LOST, 0, none, 1, 0 };
}

/* The first test, and the block. */
static bool begin_block(RecorderLoop *l)
{
    if (!l->begun) {
        l->begun = true;
        return copy_test(&l->last, &l->now, l->states) &&
               (move_test(&l->start, &l->now), true);
    }
    l->has_block = true;
    alloc_free(l->roles);
    l->roles = alloc_zero(l->now.uses - l->start.uses + 1, sizeof(uint32_t));
    return l->roles && copy_test(&l->last, &l->now, l->states) &&
           (move_test(&l->end, &l->now), true);
}

/* Another iteration behind the block: the same again, or the block is this one. */
static bool compare(Recorder *r)
{
    RecorderLoop *l = r->loop;
    if (is_iteration(&(Pair) { r, l, l->equal == 0 })) {
        l->equal++;
        TRY(drop_iteration(r), false);
        move_test(&l->last, &l->now);
        return true;
    }
    if (l->equal || ++l->peeled > MOST_PEELED) {
        recorder_refuse(r, differ);
        return true;
    }
    assume(r, &l->start, true);
    l->now.contents = r->recording.content_count;
    move_test(&l->start, &l->end);
    return begin_block(l);
}

void recorder_loop_test(Recorder *r, const LoopValue *values, uint32_t count,
                        const Buffer *condition, bool again)
{
    RecorderLoop *l = r->loop;
    if (!l)
        return;
    bool ok = count == l->states && make_test(r, &l->now, values, count, condition);
    if (ok && l->begun && (l->now.contents != l->last.contents ||
                           l->now.reads != l->last.reads))
        recorder_refuse(r, "what an evaluated loop has computed is read in its body");
    if (ok && !r->refused)
        ok = l->has_block ? compare(r) : begin_block(l);
    if (ok && !again && !r->refused)
        ok = finish(r, values);
    if (!ok)
        r->failed = true;
    if (!again || r->failed || r->refused)
        free_loop(r);
}

void recorder_loop_end(Recorder *r)
{
    if (r->loop)
        recorder_refuse(r, "an evaluated loop did not end");
    free_loop(r);
}
