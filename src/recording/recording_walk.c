/*
 * recording_walk.c -- see recording_walk.h
 */
#include "recording/recording_walk.h"

#include <string.h>

#include "base/error.h"
#include "base/interrupt.h"

/* ------------------------------------------------------------------- arrays */

/* Memory for arrays that have none yet. */
static Replay take_batch(const Walk *w, uint32_t count, const uint32_t *arrays,
                         const size_t *bytes)
{
    Buffer *buffers[BUFFER_BATCH];
    TRY(!count || w->calls->take(w->who, count, arrays, bytes, buffers), REPLAY_FAILED);
    for (uint32_t i = 0; i < count; ++i) {
        Buffer **place = &w->buffers[arrays[i]];
        if (*place) /* it is there twice */
            buffer_release(buffers[i]);
        else
            *place = buffers[i];
    }
    return REPLAY_DONE;
}

Replay walk_make(const Walk *w, uint32_t array)
{
    size_t bytes;
    TRY(recording_bytes(w->recording, array, w->values, &bytes), REPLAY_REFUSED);
    return take_batch(w, 1, &array, &bytes);
}

static Replay take_arrays(const Walk *w, const FrozenCommand *f)
{
    const FrozenUse *uses = w->recording->uses + f->first;
    uint32_t arrays[BUFFER_BATCH], i = 0;
    size_t bytes[BUFFER_BATCH];
    Replay result = w->values[f->size] <= 0 ? REPLAY_REFUSED : REPLAY_DONE;
    while (result == REPLAY_DONE && i < f->count) {
        uint32_t count = 0;
        for (; i < f->count && count < BUFFER_BATCH; ++i) {
            uint32_t array = uses[i].array;
            if (w->buffers[array])
                continue;
            TRY(recording_bytes(w->recording, array, w->values, &bytes[count]),
                REPLAY_REFUSED);
            arrays[count++] = array;
        }
        result = take_batch(w, count, arrays, bytes);
    }
    return result;
}

/* Give up the reference of an array, if it has one. */
static inline void drop(const Walk *w, uint32_t array)
{
    if (w->buffers[array] && w->recording->arrays[array].kind >= FROZEN_MADE)
        buffer_release(w->buffers[array]);
    w->buffers[array] = NULL;
}

static void drop_arrays(const Walk *w, uint32_t command)
{
    const FrozenArray *arrays = w->recording->arrays;
    const FrozenCommand *f = &w->recording->commands[command];
    const FrozenUse *uses = w->recording->uses + f->first;
    for (uint32_t i = 0, count = f->count; i < count; ++i) {
        const FrozenArray *array = &arrays[uses[i].array];
        if (array->last == command && array->kind >= FROZEN_MADE)
            drop(w, uses[i].array);
    }
}

void walk_end(const Walk *w)
{
    const FrozenArray *arrays = w->recording->arrays;
    Buffer *const *buffers = w->buffers;
    for (uint32_t i = 0, count = w->recording->array_count; i < count; ++i)
        if (buffers[i] && arrays[i].kind >= FROZEN_MADE)
            buffer_release(buffers[i]);
}

/* ------------------------------------------------------- what the host reads */

uint32_t recording_writer(const Recording *r, uint32_t commands, uint32_t array)
{
    for (; commands; --commands) {
        const FrozenCommand *f = &r->commands[commands - 1];
        for (uint32_t i = 0; i < f->count; ++i) {
            const FrozenUse *use = &r->uses[f->first + i];
            if (use->array == array && use->access != SLOT_READ)
                return commands;
        }
    }
    return 0;
}

static Replay read_number(const Walk *w, uint32_t k)
{
    const Recording *r = w->recording;
    const FrozenRead *read = &r->reads[k];
    const uint32_t writer = recording_writer(r, read->behind, read->array);
    TRY(writer, REPLAY_REFUSED);
    const FrozenCommand *f = &r->commands[writer - 1];
    Buffer *buffer = w->buffers[read->array];
    uint64_t place = (uint64_t) w->values[read->place] * sizeof(uint32_t);
    uint32_t value;
    TRY(buffer && place < buffer->size && buffer->size - place >= sizeof(value),
        REPLAY_REFUSED);
    TRY(w->calls->wait(w->who, buffer) &&
        buffer_read(buffer, (size_t) place, &value, sizeof(value)), REPLAY_FAILED);
    TRY(value <= (uint64_t) w->values[f->size] * f->unit, REPLAY_REFUSED);
    w->values[read->symsize] = value;
    return w->calls->set_sizes(w->who, k + 1);
}

/* Are these bytes of a buffer as they were? Nothing is on its way to it. */
static Replay compare(const Buffer *buffer, size_t offset,
                      const unsigned char *expected, size_t bytes)
{
    unsigned char part[4096];
    TRY(offset <= buffer->size && bytes <= buffer->size - offset, REPLAY_REFUSED);
    for (size_t at = 0, count; at < bytes; at += count) {
        count = bytes - at < sizeof(part) ? bytes - at : sizeof(part);
        TRY(buffer_read(buffer, offset + at, part, count), REPLAY_FAILED);
        TRY(memcmp(part, expected + at, count) == 0, REPLAY_REFUSED);
    }
    return REPLAY_DONE;
}

static Replay check_content(const Walk *w, uint32_t k)
{
    const Recording *r = w->recording;
    const FrozenContent *content = &r->contents[k];
    Replay taken = walk_take(w, content->array);
    TRY(taken == REPLAY_DONE, taken);
    Buffer *buffer = w->buffers[content->array];
    TRY(w->calls->wait(w->who, buffer), REPLAY_FAILED);
    Replay result = compare(buffer, content->offset, r->content + content->first,
                            content->bytes);
    if (result == REPLAY_REFUSED)
        w->calls->differs(w->who, k);
    return result;
}

/* What is read after the commands so far. */
static Replay read_all(Walk *w)
{
    const Recording *r = w->recording;
    Replay result = REPLAY_DONE;
    while (result == REPLAY_DONE && w->reads < r->read_count &&
           r->reads[w->reads].behind == w->command)
        result = read_number(w, w->reads++);
    while (result == REPLAY_DONE && w->contents < r->content_count &&
           r->contents[w->contents].behind == w->command)
        result = check_content(w, w->contents++);
    return result;
}

/* -------------------------------------------------------------------- loops */

uint32_t recording_outer(const Recording *r, uint32_t loop)
{
    for (uint32_t i = loop; i > 0; --i)
        if (r->loops[i - 1].inner > loop - i)
            return i - 1;
    return RECORDER_UNKNOWN;
}

/* It has an iteration too many, or too few. */
static Replay refuse_loop(const Walk *w, uint32_t loop)
{
    w->calls->differs(w->who, w->recording->content_count + loop);
    return REPLAY_REFUSED;
}

static Replay read_byte(const Walk *w, uint32_t array, bool *set)
{
    unsigned char byte = 0;
    Buffer *buffer = w->buffers[array];
    TRY(buffer && buffer->size, REPLAY_REFUSED);
    TRY(w->calls->wait(w->who, buffer) && buffer_read(buffer, 0, &byte, sizeof(byte)),
        REPLAY_FAILED);
    *set = byte != 0;
    return REPLAY_DONE;
}

/* On after a loop, and those in it. */
static Replay leave_loop(Walk *w, uint32_t loop)
{
    const FrozenLoop *left = &w->recording->loops[loop];
    w->command = left->end;
    w->loop = loop + 1 + left->inner;
    w->inside = recording_outer(w->recording, loop);
    return read_all(w);
}

/* Its states are what they are before the first iteration, if there is one. */
static Replay enter_loop(Walk *w)
{
    const uint32_t number = w->loop++;
    const FrozenLoop *loop = &w->recording->loops[number];
    const FrozenState *states = w->recording->states + loop->state;
    bool enter;
    Replay result = walk_take(w, loop->enter);
    if (result == REPLAY_DONE)
        result = read_byte(w, loop->enter, &enter);
    TRY(result == REPLAY_DONE, result);
    TRY(enter >= loop->least && enter <= loop->most, refuse_loop(w, number));
    for (uint32_t i = 0; i < loop->states; ++i) {
        result = walk_take(w, states[i].initial); /* it may be undefined */
        TRY(result == REPLAY_DONE, result);
        Buffer *initial = w->buffers[states[i].initial];
        TRY(initial, REPLAY_REFUSED);
        buffer_retain(initial);
        drop(w, states[i].array);
        w->buffers[states[i].array] = initial;
    }
    w->inside = number;
    return enter ? REPLAY_DONE : leave_loop(w, number);
}

/* What the block has made is the state from now on, the rest is given up. */
static void advance(const Walk *w, const FrozenLoop *loop)
{
    const FrozenState *states = w->recording->states + loop->state;
    for (uint32_t i = 0; i < loop->states; ++i) {
        buffer_release(w->buffers[states[i].array]);
        w->buffers[states[i].array] = w->buffers[states[i].next];
        w->buffers[states[i].next] = NULL;
    }
    for (uint32_t i = loop->arrays; i < loop->arrays_end; ++i)
        if (w->recording->arrays[i].kind >= FROZEN_MADE)
            drop(w, i);
}

/* The block has been run: once more, or on after it. */
static Replay end_iteration(Walk *w)
{
    const uint32_t number = w->inside;
    const FrozenLoop *loop = &w->recording->loops[number];
    bool again = false;
    const Replay result = loop->again == loop->enter
                              ? REPLAY_DONE : read_byte(w, loop->again, &again);
    TRY(result == REPLAY_DONE, result);
    advance(w, loop);
    if (!again)
        return leave_loop(w, number);
    TRY(loop->most > 1, refuse_loop(w, number));
    w->command = loop->first;
    w->loop = number + 1;
    return REPLAY_DONE;
}

/* ---------------------------------------------------------------------- all */

void walk_let_go(Walk *w)
{
    if (w->deferred)
        stream_let_go(w->deferred);
    w->deferred = NULL;
}

/* May the device begin this command and the next one, a launch, together? Those of one
 * kernel may be of any sizes. */
static bool is_continued(const Walk *w, uint32_t command)
{
    const Recording *r = w->recording;
    const FrozenCommand *f = &r->commands[command], *next = f + 1;
    return command + 1 < r->command_count && next->launch.kernel &&
           (next->launch.kernel == f->launch.kernel ||
            stream_go_together(r->device, (uint64_t) w->values[f->size],
                               (uint64_t) w->values[next->size]));
}

static bool hold(Walk *w, uint32_t command)
{
    TRY(!w->deferred, true);
    w->deferred = stream_self(w->recording->device);
    TRY(w->deferred, false);
    const FrozenCommand *f = &w->recording->commands[command];
    bool repeated = f->launch.kernel && f->launch.kernel == f[1].launch.kernel;
    stream_defer(w->deferred, repeated, recording_size(f, w->values));
    return true;
}

/* A command, and what is read after it. Arrays are given up before the stream goes on,
 * since the device looks for those that nobody else needs. */
static Replay step(Walk *w)
{
    const Recording *r = w->recording;
    uint32_t command = w->command++;
    Replay result = take_arrays(w, &r->commands[command]);
    TRY(result == REPLAY_DONE, result);
    bool more = is_continued(w, command);
    TRY((!more || hold(w, command)) && w->calls->submit(w->who, command),
        REPLAY_FAILED);
    result = read_all(w);
    drop_arrays(w, command);
    if (!more)
        walk_let_go(w);
    return result;
}

bool recording_enters(const Recording *r, uint32_t loop, uint32_t inside,
                      uint32_t command)
{
    const uint32_t end = inside == RECORDER_UNKNOWN
                             ? r->loop_count : inside + 1 + r->loops[inside].inner;
    return loop < end && r->loops[loop].first == command;
}

bool recording_leaves(const Recording *r, uint32_t inside, uint32_t command)
{
    return inside != RECORDER_UNKNOWN && r->loops[inside].end == command;
}

Replay walk_run(Walk *w)
{
    const Recording *r = w->recording;
    w->interrupts = interrupt_requests();
    w->inside = RECORDER_UNKNOWN;
    Replay result = read_all(w);
    for (bool more = true; result == REPLAY_DONE && more;) {
        if (recording_enters(r, w->loop, w->inside, w->command))
            result = enter_loop(w);
        else if (recording_leaves(r, w->inside, w->command))
            result = end_iteration(w);
        else if ((more = w->command < r->command_count))
            result = step(w);
    }
    walk_let_go(w);
    return result;
}
