/*
 * profile.h -- marks and ranges on a timeline
 *
 * They go to a file in the JSON trace event format, which Perfetto and chrome://tracing
 * read, if the environment variable DRJIT_PROFILE names one, and to NVIDIA's NVTX if a
 * collector is attached. Otherwise every function returns after one load. Thread-safe;
 * what is wanted is found out at the first event. No locks needed, none should be held:
 * collectors are foreign code.
 */
#ifndef WATCH_PROFILE_H
#define WATCH_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "drjit-core/jit.h"

/** What is known of those who listen. */
enum { PROFILE_UNKNOWN, PROFILE_NOBODY, PROFILE_WANTED };
extern _Atomic int profile_state;
/** Find it out. */
bool profile_open(void);

/** Does anybody listen? Ask before a name is made. */
static inline bool profile_enabled(void)
{
    int now = atomic_load_explicit(&profile_state, memory_order_acquire);
    return now != PROFILE_NOBODY && (now == PROFILE_WANTED || profile_open());
}

/** A point in time on the calling thread's line. */
void profile_mark(const char *name);
/** Begin and end a range there. Ranges nest. */
void profile_begin(const char *name);
void profile_end(void);
/** Begin a range if anybody listens; then it is to be ended. */
bool profile_begin_if(const char *format, ...) JIT_PRINTF(1, 2);
/** Finish the file (shutdown). A later event starts it again. */
void profile_close(void);

#endif
