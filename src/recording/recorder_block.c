/*
 * recorder_block.c -- iterations of a loop that are like the block: one of both goes
 *
 *     block │ arrays of the iteration before │ latest iteration
 *     ──────┴────────────────────────────────┴─────────────────
 *
 * Mostly that is the latest one, whose arrays stay until the next one is dropped, since
 * they are the state. Where its loops have gone round more often than those of the
 * block, it takes the block's place, with the names that the block has for the state.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "recording/recorder_loop.h"

/* -------------------------------------------------------------------- arrays */

/* Arrays from 'first' on are gone, and those from 'second' on take their places. */
static bool move_buffers(Recorder *r, uint32_t first, uint32_t second)
{
    for (uint32_t i = 0; i < r->held_count; ++i) {
        uint32_t array = recorder_find(r, r->held[i]);
        if (array == RECORDER_UNKNOWN || array < first)
            continue;
        array = array < second ? r->loop->lost : array - (second - first);
        TRY(recorder_rename(r, r->held[i], array), false);
    }
    return true;
}

/* The number of an array then. */
static void move_array(uint32_t *array, uint32_t first, uint32_t second)
{
    if (*array != RECORDER_UNKNOWN && *array >= second)
        *array -= second - first;
}

static void move_values(const RecorderLoop *l, Test *t, uint32_t first,
                        uint32_t second)
{
    move_array(&t->condition, first, second);
    for (uint32_t i = 0; i < l->states; ++i)
        move_array(&t->values[i], first, second);
}

/* The elements of a list up to '*count' move from one place to another further up,
 * where the list ends then. */
static void move_up(void *list, size_t element, uint32_t to, uint32_t from,
                    uint32_t *count)
{
    char *bytes = list; /* NULL: there was never any */
    if (*count > from)
        memmove(bytes + to * element, bytes + from * element,
                (*count - from) * element);
    *count -= from - to;
}

/* ---------------------------------------------------------------------- drop */

bool recorder_block_drop(Recorder *r)
{
    RecorderLoop *l = r->loop;
    Recording *out = &r->recording;
    const uint32_t first = l->end.arrays, second = l->last.arrays;
    while (out->command_count > l->end.commands)
        recording_drop_command(&out->commands[--out->command_count]);
    l->now.commands = l->end.commands;
    out->use_count = l->now.uses = l->end.uses;
    out->bound_count = l->now.bounds = l->end.bounds;
    out->extent_count = l->now.extents = l->end.extents;
    out->loop_count = l->now.loops = l->end.loops;
    out->state_count = l->now.states = l->end.states;
    if (second == first)
        return true;
    move_values(l, &l->now, first, second);
    move_up(out->arrays, sizeof(FrozenArray), first, second, &out->array_count);
    l->now.arrays = out->array_count;
    return move_buffers(r, first, second);
}

/* ------------------------------------------------------------------- replace */

/* The state whose array this is before the latest iteration. It is one of all that the
 * block is entered with, if it is not an array from before the loop. */
static bool find_role(const RecorderLoop *l, uint32_t array, uint32_t *role)
{
    if (*role != ROLE_UNKNOWN || array < l->start.arrays ||
        array >= l->last.arrays)
        return true;
    for (uint32_t i = 0; i < l->states; ++i) {
        if (l->last.values[i] != array)
            continue;
        if (*role != ROLE_UNKNOWN && l->start.values[*role] != l->start.values[i])
            return false;
        *role = i;
    }
    return *role != ROLE_UNKNOWN;
}

static bool find_roles(const Recorder *r, uint32_t *roles)
{
    const RecorderLoop *l = r->loop;
    const Recording *out = &r->recording;
    for (uint32_t i = l->last.uses; i < l->now.uses; ++i)
        if (!find_role(l, out->uses[i].array, roles++))
            return false;
    for (uint32_t i = l->last.states; i < l->now.states; ++i)
        if (!find_role(l, out->states[i].initial, roles++))
            return false;
    return true;
}

/* What the latest iteration uses, as the block would name it. */
static void rename_array(const RecorderLoop *l, uint32_t *array, uint32_t role)
{
    if (role < ROLE_UNKNOWN)
        *array = l->start.values[role];
    else
        move_array(array, l->start.arrays, l->last.arrays);
}

static void rename_all(Recording *out, const RecorderLoop *l, const uint32_t *roles)
{
    const uint32_t first = l->start.arrays, second = l->last.arrays;
    const uint32_t commands = l->last.commands - l->start.commands;
    for (uint32_t i = l->last.uses; i < l->now.uses; ++i)
        rename_array(l, &out->uses[i].array, *roles++);
    for (uint32_t i = l->last.states; i < l->now.states; ++i) {
        rename_array(l, &out->states[i].initial, *roles++);
        move_array(&out->states[i].array, first, second);
        move_array(&out->states[i].next, first, second);
    }
    for (uint32_t i = l->last.loops; i < l->now.loops; ++i) {
        FrozenLoop *loop = &out->loops[i];
        loop->first -= commands;
        loop->end -= commands;
        loop->state -= l->last.states - l->start.states;
        loop->arrays -= second - first;
        loop->arrays_end -= second - first;
        move_array(&loop->enter, first, second);
        move_array(&loop->again, first, second);
    }
    for (uint32_t i = l->last.commands; i < l->now.commands; ++i) {
        FrozenCommand *f = &out->commands[i];
        f->first -= l->last.uses - l->start.uses;
        f->extent -= l->last.extents - l->start.extents;
        f->launch.bound -= f->launch.checks ? l->last.bounds - l->start.bounds : 0;
    }
    for (uint32_t i = 0; i < l->now.arrays; ++i)
        if (out->arrays[i].last != UINT32_MAX &&
            out->arrays[i].last >= l->last.commands)
            out->arrays[i].last -= commands;
}

static void move_lists(Recording *out, const Test *to, const Test *from)
{
    for (uint32_t i = to->commands; i < from->commands; ++i)
        recording_drop_command(&out->commands[i]);
    move_up(out->commands, sizeof(FrozenCommand), to->commands, from->commands,
            &out->command_count);
    move_up(out->arrays, sizeof(FrozenArray), to->arrays, from->arrays,
            &out->array_count);
    move_up(out->uses, sizeof(FrozenUse), to->uses, from->uses, &out->use_count);
    move_up(out->loops, sizeof(FrozenLoop), to->loops, from->loops, &out->loop_count);
    move_up(out->states, sizeof(FrozenState), to->states, from->states,
            &out->state_count);
    move_up(out->bounds, sizeof(SymSize), to->bounds, from->bounds, &out->bound_count);
    move_up(out->extents, sizeof(SymSize), to->extents, from->extents,
            &out->extent_count);
}

bool recorder_block_replace(Recorder *r, uint32_t *roles, bool *done)
{
    RecorderLoop *l = r->loop;
    Recording *out = &r->recording;
    const uint32_t first = l->start.arrays, second = l->last.arrays;
    *done = find_roles(r, roles);
    if (!*done)
        return true;
    rename_all(out, l, roles);
    move_values(l, &l->now, first, second);
    move_lists(out, &l->start, &l->last);
    l->now.commands = out->command_count;
    l->now.arrays = out->array_count;
    l->now.uses = out->use_count;
    l->now.bounds = out->bound_count;
    l->now.extents = out->extent_count;
    l->now.loops = out->loop_count;
    l->now.states = out->state_count;
    return move_buffers(r, first, second);
}
