/*
 * log.h -- log lines with levels, to stderr or what stands for it, and to a callback
 *
 * Sinks are slow and may call back into the library, so nothing is written while the
 * graph lock is held: between log_defer() and log_release() lines of the calling thread
 * are queued, and the outermost log_release() writes them. Multi-line messages are one
 * record.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread.h"
#include "drjit-core/jit.h"

/** The highest level that any sink wants. */
extern _Atomic int log_highest;

/** Is anybody listening at this level? Cheap; ask before building a costly message. */
static inline bool log_enabled(LogLevel level)
{
    return level != LogLevelNone &&
           (int) level <= atomic_load_explicit(&log_highest, memory_order_relaxed);
}

/** Log one record (a newline is added). */
void log_write(LogLevel level, const char *format, ...) JIT_PRINTF(2, 3);
/** The same for finished text of any length. */
void log_text(LogLevel level, const char *text);
/** Text that the program has asked for by a flag: of level Info, for every sink that is
 *  not disabled. */
void log_print(const char *text);

/** Write the calling thread's queue. */
void log_drain(void);

/** Queue the calling thread's records until the matching log_release(). Nests. */
static inline void log_defer(void)
{
    ++thread_self.log_deferrals;
}

/** End of a log_defer(); the outermost one writes what was queued. Call without
 *  locks. */
static inline void log_release(void)
{
    if (--thread_self.log_deferrals == 0 && thread_self.log_queued)
        log_drain();
}

/** Set the level of stderr (Info at the start) to what DRJIT_LOG_LEVEL names. */
void log_read_environment(void);
void log_set_stderr_level(LogLevel level);
LogLevel log_stderr_level(void);
/** What else is shown on stderr makes way for each line: called before and after it.
 *  The same functions each time. */
void log_set_around(void (*before)(void), void (*after)(void));
/** Who gets what goes to stderr (NULL: stderr). */
void log_set_output(LogCallback write);
void log_set_callback(LogLevel level, LogCallback callback);
LogLevel log_callback_level(void);

#endif
