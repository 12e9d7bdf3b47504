/*
 * profile.h -- marks and ranges on a timeline, as a trace-event file
 *
 * When the environment variable DRJIT_PROFILE names a file, events are appended to it
 * in the JSON trace event format that Perfetto and chrome://tracing read. Otherwise
 * every function returns at once. Thread-safe; the file is opened at the first event.
 */
#ifndef API_PROFILE_H
#define API_PROFILE_H

#include <stdbool.h>

/** A point in time on the calling thread's line. */
void profile_mark(const char *name);
/** Begin and end a range there. Ranges nest. */
void profile_begin(const char *name);
void profile_end(void);
/** Finish the file (shutdown). A later event starts it again. */
void profile_close(void);

#endif
