/*
 * api.h -- what the files of this folder share: entering and leaving the library
 *
 * Every public function has the same shape: check what can be checked without the lock,
 * enter, forward to one function of src/trace, leave. api_enter() makes the thread's
 * state and takes the graph lock.
 */
#ifndef API_API_H
#define API_API_H

#include "trace/graph/state.h"

/** Lock the graph; NULL (error recorded, not locked) if out of memory. */
static inline ThreadState *api_enter(void)
{
    ThreadState *ts = state_thread();
    if (ts)
        state_lock();
    return ts;
}

static inline void api_leave(void) { state_unlock(); }

/** Record that a pointer argument is NULL; returns 0. */
int api_null(const char *function, const char *argument);

#endif
