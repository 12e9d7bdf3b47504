/*
 * log.c -- log records and their two sinks
 *
 * A record that nobody wants costs two relaxed loads (log_enabled). A wanted one goes
 * to the sinks at once, or, between log_hold() and log_release(), to the end of a queue
 * of the calling thread; the outermost log_release() writes the queue. No lock is held
 * while a sink runs. A callback may call the library: what is logged meanwhile by its
 * thread goes to stderr only, or a callback that traces would be called without end.
 *
 * Logging never fails and never touches the thread's error record: without memory, a
 * queued record is counted and its loss reported, and a long message is cut.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct Record {
    struct Record *next;
    LogLevel level;
    char text[];
} Record;

/* The sinks' settings. Each field is meaningful by itself, so no lock is needed; a
 * record that is being delivered while they change may still reach the former sink. */
static _Atomic int stderr_level = LogLevelInfo;
static _Atomic int callback_level = LogLevelDisable;
static _Atomic(LogCallback) callback_sink;
_Atomic int log_highest = LogLevelInfo;

/* The calling thread's queue. Balanced holds leave it empty, so that the end of a
 * thread needs no clean-up. */
static _Thread_local struct {
    Record *first, *last;
    unsigned dropped;
    bool in_callback;
} queue;


static int level_of(_Atomic int *level)
{
    return atomic_load_explicit(level, memory_order_relaxed);
}

/* Two threads that set levels at once may leave the older one's sum; both meant it. */
static void update_highest(void)
{
    int a = level_of(&stderr_level), b = level_of(&callback_level);
    atomic_store_explicit(&log_highest, a > b ? a : b, memory_order_relaxed);
}

static void deliver(LogLevel level, const char *text)
{
    if ((int) level <= level_of(&stderr_level))
        fprintf(stderr, "%s\n", text);

    /* Partner of the release store in log_set_callback(). */
    LogCallback callback = atomic_load_explicit(&callback_sink, memory_order_acquire);
    if (callback && !queue.in_callback && (int) level <= level_of(&callback_level)) {
        queue.in_callback = true;
        callback(level, text);
        queue.in_callback = false;
    }
}

static void enqueue(LogLevel level, const char *text)
{
    ErrorRecord error;
    error_save(&error);
    size_t size = strlen(text) + 1;
    Record *record = alloc_get(offsetof(Record, text) + size);
    if (!record) {
        error_restore(&error);
        ++queue.dropped;
        thread_self.log_queued = true;
        return;
    }
    record->next = NULL;
    record->level = level;
    memcpy(record->text, text, size);
    if (queue.last)
        queue.last->next = record;
    else
        queue.first = record;
    queue.last = record;
    thread_self.log_queued = true;
}

void log_text(LogLevel level, const char *text)
{
    if (!log_enabled(level))
        return;
    if (thread_self.log_holds)
        enqueue(level, text);
    else
        deliver(level, text);
}

void log_write(LogLevel level, const char *format, ...)
{
    if (!log_enabled(level))
        return;

    char buffer[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);

    char *text = NULL;
    if (length >= (int) sizeof buffer) {
        ErrorRecord error;
        error_save(&error);
        text = alloc_get((size_t) length + 1);
        if (text)
            vsnprintf(text, (size_t) length + 1, format, again);
        else
            error_restore(&error);
    }
    va_end(again);
    if (length >= 0)
        log_text(level, text ? text : buffer);
    alloc_free(text);
}

void log_drain(void)
{
    Record *record = queue.first;
    unsigned dropped = queue.dropped;
    queue.first = queue.last = NULL;
    queue.dropped = 0;
    thread_self.log_queued = false;

    while (record) {
        Record *next = record->next;
        deliver(record->level, record->text);
        alloc_free(record);
        record = next;
    }
    if (dropped)
        log_write(LogLevelWarn, "log: out of memory, %u messages were lost", dropped);
}

void log_read_environment(void)
{
    static const char *const names[] = { "none", "error", "warn", "info", "infosym",
                                         "debug", "trace" };
    const char *wanted = getenv("DRJIT_LOG_LEVEL");
    if (!wanted)
        return;
    for (int level = LogLevelNone; level <= LogLevelTrace; ++level) {
        if (strcasecmp(wanted, names[level]) == 0) {
            log_set_stderr_level((LogLevel) level);
            return;
        }
    }
    log_write(LogLevelWarn,
              "DRJIT_LOG_LEVEL is \"%s\", expected none, error, warn, info, "
              "infosym, debug or trace",
              wanted);
}

void log_set_stderr_level(LogLevel level)
{
    atomic_store_explicit(&stderr_level, (int) level, memory_order_relaxed);
    update_highest();
}

LogLevel log_stderr_level(void)
{
    return (LogLevel) level_of(&stderr_level);
}

void log_set_callback(LogLevel level, LogCallback callback)
{
    /* Partner of the acquire load in deliver(): what the caller prepared for its
     * callback is visible to the threads that call it. */
    atomic_store_explicit(&callback_sink, callback, memory_order_release);
    atomic_store_explicit(&callback_level, callback ? (int) level : LogLevelDisable,
                          memory_order_relaxed);
    update_highest();
}

LogLevel log_callback_level(void)
{
    return (LogLevel) level_of(&callback_level);
}
