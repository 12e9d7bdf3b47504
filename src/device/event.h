/*
 * event.h -- points in a stream that the host can ask about
 *
 * An event refers to a position of the recording thread's stream. With timing, reaching
 * that position also notes the time, by a command of its own in the stream.
 *
 * Threads: an event may be queried and waited for in any thread; recording it while
 * another thread uses it needs the callers' own order.
 */
#ifndef DEVICE_EVENT_H
#define DEVICE_EVENT_H

#include <stdbool.h>

#include "device/stream.h"

typedef struct Event Event;

/** A new event of a device's streams, never recorded. NULL when out of memory. */
Event *event_create(Device *device, bool timing);
/** Release; NULL is fine. Work that it was recorded behind goes on. */
void event_destroy(Event *event);
/** Put it at the current end of the calling thread's stream. With timing, there is then
 *  something to run: stream_run(). False: out of memory. */
bool event_record(Event *event);
/** Has the stream passed it? True if it was never recorded. */
bool event_query(const Event *event);
/** Wait until it has. */
void event_wait(const Event *event);
/** Milliseconds from 'start' to 'end'. Negative (JIT_ERROR_STATE) unless both were
 *  created with timing, recorded and passed. 'function' names the caller in the
 *  message. */
double event_elapsed_ms(const Event *start, const Event *end, const char *function);

#endif
