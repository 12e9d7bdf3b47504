/*
 * log.h -- log lines with levels, to stderr and to a callback
 *
 * Sinks are slow and may call back into the library, so nothing is written while the
 * graph lock is held: between log_hold() and log_release() lines of the calling thread
 * are queued, and the outermost log_release() writes them. Multi-line messages are one
 * record.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "drjit-core/jit.h"

/** Is anybody listening at this level? Cheap; ask before building a costly message. */
bool log_enabled(LogLevel level);
/** Log one record (a newline is added). */
void log_write(LogLevel level, const char *format, ...) JIT_PRINTF(2, 3);
/** The same for finished text of any length. */
void log_text(LogLevel level, const char *text);

/** Queue the calling thread's records until the matching log_release(). Nests. */
void log_hold(void);
/** End of a log_hold(); the outermost one writes what was queued. Call without
 *  locks. */
void log_release(void);

void log_set_stderr_level(LogLevel level);
LogLevel log_stderr_level(void);
void log_set_callback(LogLevel level, LogCallback callback);
LogLevel log_callback_level(void);

#endif
