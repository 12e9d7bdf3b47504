/*
 * log.c -- log records and their two sinks
 *
 * A record that nobody wants costs two relaxed loads (log_enabled). A wanted one goes
 * to the sinks at once, or, between log_defer() and log_release(), to the end of a
 * queue of the calling thread; the outermost log_release() writes the queue. No lock is
 * held while a sink runs. A sink may call the library: what is logged meanwhile by its
 * thread goes to stderr only, or a sink that traces would be called without end.
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
    LogLevel level, wanted;
    char text[];
} Record;

/* What makes way on stderr; 'after' is written first. */
static struct {
    void (*_Atomic before)(void);
    void (*_Atomic after)(void);
} around;

void log_set_around(void (*before)(void), void (*after)(void))
{
    around.after = after;
    around.before = before;
}

static void write_stderr(LogLevel level, const char *text)
{
    void (*before)(void) = around.before;
    (void) level;
    if (before)
        before();
    fprintf(stderr, "%s\n", text);
    if (before)
        around.after();
}

/* Each field is meaningful by itself, so no lock is needed; a record that is being
 * delivered while they change may still reach the former sink. */
typedef struct Sink {
    _Atomic int level;
    _Atomic(LogCallback) write; /* NULL: nobody */
} Sink;

static Sink output = { LogLevelInfo, write_stderr }, listener;
_Atomic int log_highest = LogLevelInfo;

/* The calling thread's queue. Balanced holds leave it empty, so that the end of a
 * thread needs no clean-up. */
static _Thread_local struct {
    Record *first, *last;
    unsigned dropped;
    bool in_sink;
} queue;


static int level_of(Sink *sink)
{
    return atomic_load_explicit(&sink->level, memory_order_relaxed);
}

static void set_writer(Sink *sink, LogCallback write)
{
    /* Partner of the acquire load in give(): what was prepared for the function is
     * visible to the threads that call it. */
    atomic_store_explicit(&sink->write, write, memory_order_release);
}

/* Two threads that set levels at once may leave the older one's sum; both meant it. */
static void update_highest(void)
{
    int a = level_of(&output), b = level_of(&listener);
    atomic_store_explicit(&log_highest, a > b ? a : b, memory_order_relaxed);
}

static void give(Sink *sink, LogLevel level, LogLevel wanted, const char *text)
{
    LogCallback write = atomic_load_explicit(&sink->write, memory_order_acquire);
    if (!write || (int) wanted > level_of(sink))
        return;
    if (queue.in_sink) {
        if (sink == &output)
            write_stderr(level, text);
        return;
    }
    queue.in_sink = true;
    write(level, text);
    queue.in_sink = false;
}

/* 'level' is what a sink is told, 'wanted' the least level of one that wants it. */
static void deliver(LogLevel level, LogLevel wanted, const char *text)
{
    give(&output, level, wanted, text);
    give(&listener, level, wanted, text);
}

static void enqueue(LogLevel level, LogLevel wanted, const char *text)
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
    record->wanted = wanted;
    memcpy(record->text, text, size);
    if (queue.last)
        queue.last->next = record;
    else
        queue.first = record;
    queue.last = record;
    thread_self.log_queued = true;
}

static void put(LogLevel level, LogLevel wanted, const char *text)
{
    if (!log_enabled(wanted))
        return;
    if (thread_self.log_deferrals)
        enqueue(level, wanted, text);
    else
        deliver(level, wanted, text);
}

void log_text(LogLevel level, const char *text)
{
    put(level, level, text);
}

void log_print(const char *text)
{
    put(LogLevelInfo, LogLevelError, text);
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
        deliver(record->level, record->wanted, record->text);
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
    atomic_store_explicit(&output.level, (int) level, memory_order_relaxed);
    update_highest();
}

LogLevel log_stderr_level(void)
{
    return (LogLevel) level_of(&output);
}

void log_set_output(LogCallback write)
{
    set_writer(&output, write ? write : write_stderr);
}

void log_set_callback(LogLevel level, LogCallback callback)
{
    set_writer(&listener, callback);
    atomic_store_explicit(&listener.level, callback ? (int) level : LogLevelDisable,
                          memory_order_relaxed);
    update_highest();
}

LogLevel log_callback_level(void)
{
    return (LogLevel) level_of(&listener);
}
