/*
 * event.c -- points in a stream that the host can ask about
 *
 * The time of an event is that of a command, which may end after the event was recorded
 * again or destroyed. So it goes to a Stamp of its own, held by both.
 */
#include "device/event.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"

typedef struct Stamp {
    _Atomic uint32_t refs;
    uint64_t ns; /* written when the command ends, read once the stream has passed it */
} Stamp;

struct Event {
    bool timing;
    Device *device;
    Stream *stream; /* holds a reference; NULL = never recorded */
    uint64_t position;
    Stamp *stamp;   /* with timing, once recorded */
};

static void release_stamp(Stamp *stamp)
{
    if (stamp && atomic_fetch_sub_explicit(&stamp->refs, 1, memory_order_acq_rel) == 1)
        alloc_free(stamp);
}

static void write_stamp(void *payload, const Command *command,
                        const CommandResult *result)
{
    Stamp *stamp = payload;
    (void) command;
    stamp->ns = result->end;
    release_stamp(stamp);
}

Event *event_create(Device *device, bool timing)
{
    Event *event = alloc_zero(1, sizeof *event);
    TRY(event, NULL);
    event->device = device;
    event->timing = timing;
    return event;
}

void event_destroy(Event *event)
{
    if (!event)
        return;
    stream_release(event->stream);
    release_stamp(event->stamp);
    alloc_free(event);
}

/* Have the stamp written when the stream gets there. */
static bool submit_stamp(Event *event, Stream *stream)
{
    Stamp *stamp = alloc_zero(1, sizeof *stamp);
    Command *command = command_create(event->device, COMMAND_EVENT, 0, 0, 0);
    if (stamp && command) {
        atomic_store_explicit(&stamp->refs, 2, memory_order_relaxed);
        command->timed = true;
        command->done = write_stamp;
        command->payload = stamp;
        if (stream_submit(stream, command)) {
            release_stamp(event->stamp);
            event->stamp = stamp;
            return true;
        }
    } else {
        command_free(command);
    }
    alloc_free(stamp);
    return false;
}

bool event_record(Event *event)
{
    Stream *stream = stream_self(event->device);
    TRY(stream, false);
    TRY(!event->timing || submit_stamp(event, stream), false);
    stream_retain(stream);
    stream_release(event->stream);
    event->stream = stream;
    event->position = stream_position(stream);
    return true;
}

bool event_query(const Event *event)
{
    return !event->stream || stream_passed(event->stream, event->position);
}

void event_wait(const Event *event)
{
    if (event->stream)
        stream_wait(event->stream, event->position);
}

double event_elapsed_ms(const Event *start, const Event *end, const char *function)
{
    const Event *events[2] = {start, end};
    for (int i = 0; i < 2; i++) {
        const char *which = i ? "end" : "start";
        const char *fault = !events[i]->timing ? "was created without timing"
            : !events[i]->stream ? "was never recorded"
            : !event_query(events[i]) ? "has not been passed yet" : NULL;
        if (fault) {
            error_set(JIT_ERROR_STATE, "%s(): the %s event %s", function, which, fault);
            return -1.0;
        }
    }
    /* Unsigned subtraction first, so that the order of the events does not matter. */
    return (double) (int64_t) (end->stamp->ns - start->stamp->ns) * 1e-6;
}
