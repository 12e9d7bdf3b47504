/*
 * recorder_loop.c -- loops that the host runs, whose number of iterations is found when
 * they are repeated; see recording.h
 *
 *     test 0    iteration 1    test 1    iteration 2    test 2    iteration 3    ...
 *     start ──── block ────── end ─────── equal? ─────── last ───── equal? ─────
 *
 * A test is where the host asks whether there is another iteration: a point between
 * commands, with arrays that are the state. The commands of the first iteration are the
 * block. Those of each later one are compared with it (recorder_compare.c) and dropped
 * if they are equal. When the loop ends, the block becomes a FrozenLoop, whose state
 * has arrays of its own: they are the initial ones at first, those that the block has
 * made after each iteration, and the final ones in the end. How a program goes on from
 * a state depends on what the state consists of, which was the same before all of these
 * iterations, and on nothing else that is not in the recording's key. So any number of
 * iterations is as those that were seen.
 *
 * Where the first ones are different (an array is written for the first time, and
 * copied before; a state has one entry, and many after the first iteration), they stay
 * what they are, and that they take place is a condition (FrozenContent). If one is
 * different after two that were equal, or if there are too many different ones, the
 * recording is refused. That a loop had one iteration, or none, is a condition, too:
 * its results are the objects that came in, which another call goes on with in another
 * way.
 *
 * Within an iteration of another loop there are no such conditions, but in the first
 * one, where arrays may be made that later ones use. So iterations of the outer loop
 * are the same whether the inner one has gone round often, once, or not at all, as long
 * as all that they have is explained by one of them, the most complete one. What it was
 * seen with is what it may do: a loop that was never met without an iteration is
 * refused without one. Inner iterations that are different are such single ones, which
 * contain what comes after them:
 *
 *     if (test 0) { iteration 1; while (test 1) { block } }
 */
#include "recording/recorder_loop.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

static const char differ[] = "the iterations of an evaluated loop are different";

/* -------------------------------------------------------------------- tests */

static void free_test(Test *t)
{
    alloc_free(t->values);
    alloc_free(t->bits);
    *t = (Test) { 0 };
}

/* The array that is a state, or says whether there is another iteration. */
static uint32_t find_array(Recorder *r, const Buffer *buffer)
{
    uint32_t array = recorder_find(r, buffer);
    if (array == RECORDER_UNKNOWN)
        recorder_refuse(r, "the state of an evaluated loop is not an array of the "
                           "recording");
    else if (r->recording.arrays[array].kind == FROZEN_LOST)
        recorder_refuse(r, recorder_lost);
    return array;
}

static bool make_test(Recorder *r, Test *t, const LoopValue *values, uint32_t count,
                      const Buffer *condition)
{
    const Recording *out = &r->recording;
    *t = (Test) { out->command_count, out->array_count, out->use_count,
                  out->bound_count, out->extent_count, out->content_count,
                  out->read_count, out->loop_count, out->state_count,
                  condition ? find_array(r, condition) : RECORDER_UNKNOWN,
                  alloc_zero(count + 1, sizeof(uint32_t)),
                  alloc_zero(count + 1, sizeof(uint64_t)) };
    TRY(t->values && t->bits, false);
    for (uint32_t i = 0; i < count; ++i) {
        const Buffer *buffer = values[i].buffer;
        t->values[i] = buffer ? find_array(r, buffer) : RECORDER_UNKNOWN;
        t->bits[i] = values[i].bits;
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

/* That there is another iteration, or none, is a condition. */
static void assume(Recorder *r, const Test *test, bool again)
{
    Recording *out = &r->recording;
    RecorderLoop *l = r->loop;
    const uint32_t before = out->content_count;
    unsigned char byte = again;
    if (test->condition == RECORDER_UNKNOWN)
        return;
    recorder_content_of(r, test->condition, test->commands, 0, &byte, 1);
    const uint32_t added = out->content_count - before;
    l->now.contents += added;
    for (l = l->outer; l; l = l->outer) {
        l->last.contents += added;
        l->conditional = true;
    }
}

/* ------------------------------------------------------------------- the end */

/* Could there be more iterations like the block, which was the last one? */
static bool is_block(const Recorder *r)
{
    const RecorderLoop *l = r->loop;
    const FrozenArray *arrays = r->recording.arrays;
    if (l->start.condition == RECORDER_UNKNOWN ||
        l->end.condition == RECORDER_UNKNOWN)
        return false;
    for (uint32_t i = 0; i < l->states; ++i) {
        const uint32_t before = l->start.values[i], behind = l->end.values[i];
        if (before != behind &&
            (before == RECORDER_UNKNOWN || behind == RECORDER_UNKNOWN ||
             behind < l->start.arrays ||
             arrays[before].symsize != arrays[behind].symsize ||
             arrays[before].entry != arrays[behind].entry))
            return false;
    }
    return true;
}

/* The block stays what it is, and the loop goes on after it. */
static void peel(Recorder *r)
{
    RecorderLoop *l = r->loop;
    if (!l->within)
        assume(r, &l->start, true);
    else if (l->start.condition != RECORDER_UNKNOWN)
        move_test(&l->peels[l->peel_count++], &l->start);
    move_test(&l->start, &l->end);
    l->has_block = false;
}

/* An iteration that was peeled off, with all that comes after it: there is none of
 * this if it does not take place. */
static bool close_peel(Recorder *r, const Test *start, const LoopValue *values)
{
    const Recording *out = &r->recording;
    const uint32_t states = r->loop->states;
    Test end = { .commands = out->command_count, .arrays = out->array_count,
                 .values = alloc_zero(states + 1, sizeof(uint32_t)) };
    TRY(end.values, false);
    for (uint32_t i = 0; i < states; ++i)
        end.values[i] = values[i].buffer ? recorder_find(r, values[i].buffer)
                                         : start->values[i];
    bool ok = recorder_close(r, start, &end, start->condition, 1, values);
    alloc_free(end.values);
    return ok;
}

/* A loop within another one, whatever it was. */
static bool finish_within(Recorder *r, const LoopValue *values)
{
    RecorderLoop *l = r->loop;
    const Test *start = &l->start, *end = &l->end;
    if (l->has_block && !l->equal && !is_block(r))
        peel(r);
    bool ok = true, known = start->condition != RECORDER_UNKNOWN;
    if (l->has_block)
        ok = recorder_close(r, start, end, end->condition, l->equal ? UINT32_MAX : 1,
                            values);
    else if (known)
        ok = recorder_close(r, start, start, start->condition, 0, values);
    while (ok && l->peel_count)
        ok = close_peel(r, &l->peels[--l->peel_count], values);
    return ok;
}

/* The loop is over. */
static bool finish(Recorder *r, const LoopValue *values)
{
    RecorderLoop *l = r->loop;
    if (l->within)
        return finish_within(r, values);
    if (l->equal)
        return recorder_close(r, &l->start, &l->end, l->end.condition, UINT32_MAX,
                              values);
    assume(r, &l->start, l->has_block);
    if (l->has_block)
        assume(r, &l->end, false);
    return true;
}

/* The innermost loop is over. */
static void free_loop(Recorder *r)
{
    RecorderLoop *l = r->loop;
    r->loop = l->outer;
    free_test(&l->start);
    free_test(&l->end);
    free_test(&l->last);
    free_test(&l->now);
    for (uint32_t i = 0; i <= MOST_PEELED; ++i)
        free_test(&l->peels[i]);
    alloc_free(l->roles);
    alloc_free(l);
}

/* ---------------------------------------------------------------- iterations */

/* The first test, and the block. */
static bool begin_block(RecorderLoop *l)
{
    if (!l->begun) {
        l->begun = true;
        l->first = l->now.arrays;
        return copy_test(&l->last, &l->now, l->states) &&
               (move_test(&l->start, &l->now), true);
    }
    l->has_block = true;
    l->block_conditional = l->conditional;
    alloc_free(l->roles);
    l->roles = recorder_roles(&l->start, &l->now);
    return l->roles && copy_test(&l->last, &l->now, l->states) &&
           (move_test(&l->end, &l->now), true);
}

/* The latest iteration has loops that have gone round more often than those of the
 * block, which is otherwise like it: it is the block from now on. */
static bool replace_block(Recorder *r, bool *same)
{
    RecorderLoop *l = r->loop;
    uint32_t *roles = recorder_roles(&l->last, &l->now);
    TRY(roles, false);
    const Iteration block = { &l->start, &l->end, l->roles };
    const Iteration latest = { &l->last, &l->now, roles };
    bool ok = true;
    *same = recorder_compare(r, &latest, &block);
    if (*same)
        ok = recorder_block_replace(r, roles, same);
    if (!ok || !*same) {
        alloc_free(roles);
        return ok && !r->failed;
    }
    alloc_free(l->roles);
    l->roles = roles;
    move_test(&l->end, &l->now);
    return copy_test(&l->last, &l->end, l->states);
}

/* Is the latest iteration like the block? Then there is one of both from now on. */
static bool match(Recorder *r, bool *same)
{
    RecorderLoop *l = r->loop;
    const Iteration block = { &l->start, &l->end, l->roles };
    const Iteration latest = { &l->last, &l->now, NULL };
    *same = !l->conditional && !l->block_conditional;
    TRY(*same, true);
    *same = recorder_compare(r, &block, &latest);
    if (!*same)
        return !r->failed && replace_block(r, same);
    TRY(recorder_block_drop(r), false);
    move_test(&l->last, &l->now);
    return true;
}

/* Another iteration after the block: the same again, or the block is this one. */
static bool add_iteration(Recorder *r)
{
    RecorderLoop *l = r->loop;
    bool same;
    TRY(match(r, &same), false);
    l->equal += same;
    if (same)
        return true;
    if (l->equal || ++l->peeled > MOST_PEELED) {
        recorder_refuse(r, differ);
        return true;
    }
    peel(r);
    return begin_block(l);
}

/* ----------------------------------------------------------------- interface */

void recorder_loop_begin(Recorder *r, const void *loop, uint32_t states)
{
    if (r->refused || r->failed)
        return;
    Recording *out = &r->recording;
    RecorderLoop *l = alloc_zero(1, sizeof(RecorderLoop));
    SymSize none = symsize_constant(&out->symsizes, 0);
    if (!l || !none ||
        !vec_reserve(&out->arrays, &out->array_capacity, out->array_count + 1,
                     sizeof(FrozenArray))) {
        alloc_free(l);
        r->failed = true;
        return;
    }
    *l = (RecorderLoop) { .outer = r->loop, .who = loop, .states = states };
    if (l->outer) {
        l->lost = l->outer->lost;
        l->within = l->outer->within || l->outer->has_block;
    } else {
        l->lost = out->array_count++;
        out->arrays[l->lost] = (FrozenArray) { FROZEN_LOST, 0, none, 1, 0 };
    }
    r->loop = l;
}

/* What is recorded is not that of the innermost loop's body any more, which was left by
 * an exception. */
static void check_loop(Recorder *r, const void *loop)
{
    if (r->loop && r->loop->who != loop)
        recorder_refuse(r, "an evaluated loop did not end");
}

/* What is read in a body is known by the next test of the innermost loop. */
static void check_reads(Recorder *r)
{
    const RecorderLoop *l = r->loop;
    if (l->begun && (l->now.contents != l->last.contents ||
                     l->now.reads != l->last.reads))
        recorder_refuse(r, "what an evaluated loop has computed is read in its body");
}

void recorder_loop_test(Recorder *r, const void *loop, const LoopValue *values,
                        uint32_t count, const Buffer *condition, bool again)
{
    check_loop(r, loop);
    RecorderLoop *l = r->loop;
    if (l && !r->refused && !r->failed) {
        bool ok = make_test(r, &l->now, values, count, condition);
        check_reads(r);
        if (ok && !r->refused)
            ok = l->has_block ? add_iteration(r) : begin_block(l);
        l->conditional = false;
        if (ok && !again && !r->refused)
            ok = finish(r, values);
        r->failed |= !ok;
        if (!again)
            free_loop(r);
    }
    while (r->loop && (r->failed || r->refused))
        free_loop(r);
}

void recorder_loop_end(Recorder *r)
{
    check_loop(r, NULL);
    while (r->loop)
        free_loop(r);
}
