/*
 * recorder_close.c -- commands between two tests of a loop become a FrozenLoop
 *
 * Its state has arrays of its own, which are those from before the first iteration, and
 * then those that the block has made. In the block, if it was repeated, they take the
 * places of the ones that were the state; after the loop, the buffers of the final
 * state are they. No other array of the block is there any more.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "recording/recorder_loop.h"

/* A loop that is over, or iterations of it: what is between two of its tests. */
typedef struct Closing {
    Recorder *r;
    const Test *start, *end;
    const LoopValue *values; /* of the state now */
    uint32_t *arrays;        /* of the loop's state; RECORDER_UNKNOWN: it is the same */
    FrozenLoop loop;
} Closing;

/* Was the array made by the block? */
static bool in_block(const Closing *c, uint32_t array)
{
    return array >= c->start->arrays && array < c->end->arrays;
}

/* An array that is a state of the loop: those of equal ones are one. A state that was
 * no array, and is one now, is none after the loop. */
static uint32_t state_array(Closing *c, uint32_t before, uint32_t behind)
{
    Recording *out = &c->r->recording;
    FrozenState *states = out->states + c->loop.state;
    if (before == behind || before == RECORDER_UNKNOWN || behind == RECORDER_UNKNOWN)
        return RECORDER_UNKNOWN;
    for (uint32_t k = 0; k < c->loop.states; ++k)
        if (states[k].next == behind)
            return states[k].array;
    const uint32_t array = out->array_count++;
    out->arrays[behind].last = UINT32_MAX; /* it goes where the state is */
    out->arrays[array] = out->arrays[behind];
    out->arrays[array].kind = FROZEN_MADE;
    out->arrays[array].number = 0;
    states[c->loop.states++] = (FrozenState) { before, array, behind };
    return array;
}

/* What the block uses is needed in each iteration, however long the loop goes on. */
static void keep_for_loop(const Closing *c)
{
    Recording *out = &c->r->recording;
    for (uint32_t i = 0; i < out->array_count; ++i)
        if (!in_block(c, i) && out->arrays[i].last >= c->loop.first)
            out->arrays[i].last = UINT32_MAX;
    for (uint32_t i = 0; c->loop.most && i < c->r->loop->states; ++i)
        if (c->start->values[i] != RECORDER_UNKNOWN)
            out->arrays[c->start->values[i]].last = UINT32_MAX;
    out->arrays[c->loop.enter].last = UINT32_MAX;
    out->arrays[c->loop.again].last = UINT32_MAX;
}

/* Is an array what a state is before the block, but not after it? */
static bool is_initial(const Closing *c, uint32_t array)
{
    for (uint32_t i = 0; i < c->r->loop->states; ++i)
        if (c->start->values[i] == array && c->end->values[i] != array)
            return true;
    return false;
}

/* Is all of the state that the block changes made by iterations that were peeled off,
 * an array for each? Then it is as good as one that the block has made, and the loop
 * may end there. */
static bool is_fresh(const Closing *c)
{
    const RecorderLoop *l = c->r->loop;
    const uint32_t *before = c->start->values, *behind = c->end->values;
    TRY(c->start->arrays > l->first, false);
    for (uint32_t i = 0; i < l->states; ++i) {
        if (before[i] == behind[i])
            continue;
        if (before[i] < l->first || before[i] == RECORDER_UNKNOWN)
            return false;
        for (uint32_t k = 0; k < l->states; ++k)
            if (before[k] == before[i] && behind[k] != behind[i])
                return false;
    }
    return true;
}

/* Buffers of single iterations are not arrays of the recording after the loop, but for
 * the final state, which may be that from before the block. */
static bool rename_buffers(const Closing *c)
{
    Recorder *r = c->r;
    for (uint32_t i = 0; i < r->held_count; ++i) {
        uint32_t array = recorder_find(r, r->held[i]);
        bool lost = array >= c->start->arrays ||
                    (!c->loop.least && is_initial(c, array));
        if (array != RECORDER_UNKNOWN && lost)
            TRY(recorder_rename(r, r->held[i], r->loop->lost), false);
    }
    for (uint32_t i = 0; i < r->loop->states; ++i)
        if (c->values[i].buffer && c->arrays[i] != RECORDER_UNKNOWN)
            TRY(recorder_rename(r, c->values[i].buffer, c->arrays[i]), false);
    return true;
}

/* An array that the block uses, which may be a state. */
static void rename_array(const Closing *c, uint32_t *array, uint32_t role)
{
    if (in_block(c, *array))
        return;
    if (role < ROLE_UNKNOWN)
        *array = c->arrays[role];
    for (uint32_t i = 0; role == ROLE_UNKNOWN && i < c->r->loop->states; ++i)
        if (*array == c->start->values[i] && c->arrays[i] != RECORDER_UNKNOWN)
            recorder_refuse(c->r, "too few iterations of an evaluated loop have had a "
                                  "loop within to tell what that depends on");
}

/* The block of a loop that was repeated uses the state. */
static void rename_states(const Closing *c)
{
    Recording *out = &c->r->recording;
    const uint32_t *role = c->r->loop->roles;
    for (uint32_t i = c->start->uses; i < c->end->uses; ++i)
        rename_array(c, &out->uses[i].array, *role++);
    for (uint32_t i = c->start->states; i < c->end->states; ++i)
        rename_array(c, &out->states[i].initial, *role++);
}

/* Enter a loop before those in it. */
static void insert_loop(Recording *out, uint32_t place, const FrozenLoop *loop)
{
    FrozenLoop *at = out->loops + place;
    const uint32_t inner = out->loop_count++ - place;
    memmove(at + 1, at, inner * sizeof(*at));
    *at = *loop;
    at->inner = inner;
}

bool recorder_close(Recorder *r, const Test *start, const Test *end, uint32_t again,
                    uint32_t most, const LoopValue *values)
{
    Recording *out = &r->recording;
    const uint32_t states = r->loop->states;
    Closing c = { r, start, end, values, alloc_zero(states + 1, sizeof(uint32_t)),
                  { .first = start->commands, .end = end->commands,
                    .enter = start->condition, .again = again, .most = most,
                    .arrays = start->arrays, .arrays_end = end->arrays,
                    .state = out->state_count } };
    bool ok = c.arrays &&
              vec_reserve(&out->loops, &out->loop_capacity, out->loop_count + 1,
                          sizeof(FrozenLoop)) &&
              vec_reserve(&out->states, &out->state_capacity, out->state_count + states,
                          sizeof(FrozenState)) &&
              vec_reserve(&out->arrays, &out->array_capacity, out->array_count + states,
                          sizeof(FrozenArray));
    if (ok) {
        out->array_count = end->arrays;
        c.loop.least = most && !is_fresh(&c);
        keep_for_loop(&c);
        for (uint32_t i = 0; i < states; ++i)
            c.arrays[i] = state_array(&c, start->values[i], end->values[i]);
        if (most > 1)
            rename_states(&c);
        out->state_count += c.loop.states;
        insert_loop(out, start->loops, &c.loop);
        ok = rename_buffers(&c);
    }
    alloc_free(c.arrays);
    return ok;
}
