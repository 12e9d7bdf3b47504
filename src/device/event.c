/*
 * event.c -- points in a stream that the host can ask about
 *
 * The time of an event is written by a job, which may run after the event was recorded
 * again or destroyed. So it goes to a Stamp of its own, held by both.
 */
#include "device/event.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

typedef struct Stamp {
    _Atomic uint32_t refs;
    uint64_t ns; /* written by the job, read once the stream has passed it */
} Stamp;

struct Event {
    bool timing;
    Stream *stream; /* holds a reference; NULL = never recorded */
    uint64_t position;
    Stamp *stamp;   /* with timing, once recorded */
};

static void release_stamp(Stamp *stamp)
{
    if (stamp && atomic_fetch_sub_explicit(&stamp->refs, 1, memory_order_acq_rel) == 1)
        alloc_free(stamp);
}

static void write_stamp(void *payload)
{
    Stamp *stamp = payload;
    stamp->ns = clock_ns();
    release_stamp(stamp);
}

Event *event_create(bool timing)
{
    Event *event = alloc_zero(1, sizeof *event);
    if (event)
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

bool event_record(Event *event, Stream *stream)
{
    if (event->timing) {
        Stamp *stamp = alloc_zero(1, sizeof *stamp);
        TRY(stamp, false);
        atomic_store_explicit(&stamp->refs, 2, memory_order_relaxed);
        release_stamp(event->stamp);
        event->stamp = stamp;
        stream_submit(stream, &(JobSpec) {.finish = write_stamp, .payload = stamp,
                                          .small = true});
    }
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
