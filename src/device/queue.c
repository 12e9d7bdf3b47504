/*
 * queue.c -- see queue.h
 */
#include "device/queue.h"

#include <stdatomic.h>
#include <stddef.h>

#include "device/collector.h"
#include "device/device.h"
#include "device/outcome.h"
#include "device/redo.h"
#include "os/clock.h"

Queues queues = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0 };

/* Bytes that commands on their way write, of each device: the sum of 'bytes' of its
 * streams. */
static _Atomic uint64_t queued_bytes[DEVICE_MOST];

static void count_bytes(Stream *stream, uint64_t bytes)
{
    atomic_fetch_add_explicit(&stream->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&queued_bytes[stream->device->index], bytes,
                              memory_order_relaxed);
}

bool queue_is_congested(const Stream *stream, uint64_t bytes)
{
    const Device *device = stream->device;
    return atomic_load_explicit(&stream->bytes, memory_order_relaxed) != 0 &&
           atomic_load_explicit(&queued_bytes[device->index], memory_order_relaxed) +
               bytes > device->most_bytes;
}

void queue_recount(void)
{
    uint64_t bytes[DEVICE_MOST] = { 0 };
    for (const Stream *s = queues.streams; s; s = s->next)
        bytes[s->device->index] += s->orphan ? 0 : s->bytes;
    for (uint32_t i = 0; i < DEVICE_MOST; i++)
        atomic_store(&queued_bytes[i], bytes[i]);
}

void queue_append(Stream *stream, Command *c)
{
    c->next = NULL;
    if (stream->tail)
        stream->tail->next = c;
    else
        stream->head = c;
    stream->tail = c;
    if (stream->device->depth && !stream->ahead)
        stream->ahead = c;
    count_bytes(stream, outcome_bytes(c));
}

void queue_drop_head(Stream *stream, Command *last, uint64_t bytes)
{
    count_bytes(stream, -bytes);
    stream->head = last->next;
    if (!stream->head)
        stream->tail = NULL;
    atomic_store(&stream->completed, last->last);
}

/* ------------------------------------------------------------------- the end */

/* The thread was told of the request that has interrupted this command. */
static bool is_old_news(const Command *c, const ErrorRecord *error)
{
    return error->code == JIT_ERROR_INTERRUPTED &&
           (int32_t) (c->interrupts - c->stream->told) < 0;
}

void queue_note_error(const Command *c, const ErrorRecord *error)
{
    Stream *stream = c->stream;
    pthread_mutex_lock(&queues.lock);
    if (!atomic_load(&stream->has_error) && !is_old_news(c, error)) {
        stream->error = *error;
        atomic_store(&stream->has_error, true);
    }
    pthread_mutex_unlock(&queues.lock);
}

/* Before others may know of it: a thread that has waited for the command finds its
 * memory free. */
void queue_conclude(Command *c, const CommandResult *outcome, bool interrupted)
{
    CommandResult result = *outcome;
    if (!result.error)
        result.error = c->cause;
    if (!result.error && interrupted && c->kind != COMMAND_HOST &&
        c->kind != COMMAND_EVENT)
        result.error = &buffer_interrupted;
    if (result.error) {
        outcome_fail(c, result.error == &buffer_interrupted && !redo_keep(c)
                            ? &buffer_lost : result.error);
        queue_note_error(c, result.error);
    }
    c->drop = NULL;
    if (c->done)
        c->done(c->payload, c, &result);
    c->device->discard(c->device, c);
    c->prepared = false;
    command_let_go(c);
}

/* ------------------------------------------------------- ordered by the host */

/* Have the commands that it has to wait for ended? If not, their streams tell. */
static bool has_points_behind(Command *c)
{
    for (; c->point_count; c->point_count--) {
        StreamPoint p = c->points[c->point_count - 1];
        if (stream_passed(p.stream, p.seq))
            continue;
        /* Either we see its completion now, or it sees 'waited' then. */
        atomic_store(&p.stream->waited, true);
        if (!stream_passed(p.stream, p.seq))
            return false;
    }
    return true;
}

uint32_t queue_count_ready(const Command *c, uint32_t most)
{
    uint32_t count = 0;
    if (c->cause || c->again)
        return 0;
    for (Command *n = c->next; n && count < most; n = n->next, count++)
        if (n->again || !has_points_behind(n) || outcome_cause(n))
            break;
    return count;
}

void queue_let_go(Stream *stream)
{
    bool due = stream->due;
    stream->deferred = stream->due = false;
    atomic_store_explicit(&stream->gathers, false, memory_order_relaxed);
    if (due)
        queue_start(stream->head);
}

/* Who waits for a stream that is deferred, be it a command, does not wait for its
 * thread to let go. */
void queue_start(Command *c)
{
    Stream *stream = c->stream;
    stream->due = stream->deferred && !atomic_load(&stream->waited);
    if (stream->due)
        return;
    c->blocked = !has_points_behind(c);
    if (c->blocked) {
        queue_let_go(c->points[c->point_count - 1].stream);
        return;
    }
    c->cause = outcome_cause(c);
    c->device->start(c->device, c);
    if (queues.sleeping)
        pthread_cond_broadcast(&queues.progress);
}

/* ----------------------------------------------------- ordered by the device */

/* Does the device know of all commands that it has to wait for? It will be told which:
 * those that have not ended. */
static bool are_points_begun(Command *c)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < c->point_count; i++) {
        StreamPoint p = c->points[i];
        if (stream_passed(p.stream, p.seq))
            continue;
        const Command *ahead = p.stream->ahead;
        if (p.stream->alone || (ahead && ahead->seq <= p.seq)) {
            atomic_store(&p.stream->waited, true);
            return false;
        }
        c->points[open++] = p;
    }
    c->point_count = open;
    return true;
}

/* Has it to have the stream to itself? */
static bool wants_alone(const Command *c)
{
    return c->kind == COMMAND_HOST || c->again || c->judged || outcome_cause(c);
}

/* False: nothing was started. */
static bool run_ahead(Stream *stream)
{
    Device *device = stream->device;
    const Command *before = stream->ahead;
    for (Command *c; (c = stream->ahead) && !stream->alone &&
                     stream->begun < device->depth;) {
        bool alone = wants_alone(c);
        if (alone ? c != stream->head || !has_points_behind(c) : !are_points_begun(c))
            break;
        c->cause = alone ? outcome_cause(c) : NULL;
        c->ended = c->kind == COMMAND_HOST || c->cause;
        stream->alone = alone;
        stream->ahead = c->next;
        stream->begun++;
        if (!c->ended)
            device->start(device, c);
        collector_expect(device, !c->ended);
    }
    return stream->ahead != before;
}

/* What was started may be what commands of other streams have to wait for. */
void queue_run_ahead(Stream *stream)
{
    bool any = run_ahead(stream) && atomic_load(&stream->waited);
    while (any) {
        any = false;
        for (Stream *s = queues.streams; s; s = s->next)
            any = (s->device == stream->device && run_ahead(s)) || any;
    }
}

bool queue_may_end_head(Stream *stream)
{
    Command *c = stream->head;
    return c && c != stream->ahead && c->ended && !stream->ending &&
           has_points_behind(c);
}

void queue_end_head(Stream *stream)
{
    Command *c = stream->head;
    stream->ending = true;
    pthread_mutex_unlock(&queues.lock);
    Stream *outer = stream_execute(stream);
    if (c->kind == COMMAND_HOST) {
        uint64_t begin = clock_ns();
        c->host.call(c->host.payload);
        c->result.end = clock_ns();
        c->result.ns = c->result.end - begin;
    }
    if (!c->cause) /* what it has read may have failed while it was under way */
        c->cause = outcome_spoiled(c);
    uint64_t bytes = outcome_bytes(c);
    queue_conclude(c, &c->result, outcome_is_interrupted(c));
    stream_execute(outer);
    pthread_mutex_lock(&queues.lock);
    queue_drop_head(stream, c, bytes);
    stream->begun--;
    stream->alone = stream->ending = false;
    command_free(c); /* holds nothing any more */
    queue_run_ahead(stream);
    queue_tell(stream);
}

/* ----------------------------------------------------------------------- both */

void queue_tell(Stream *stream)
{
    if (!atomic_load(&stream->waited))
        return;
    atomic_store(&stream->waited, false);
    for (Stream *s = queues.streams; s; s = s->next) {
        if (s->device->depth)
            queue_run_ahead(s);
        else if (s->head && s->head->blocked)
            queue_start(s->head);
    }
    pthread_cond_broadcast(&queues.progress);
}
