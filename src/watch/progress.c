/*
 * progress.c -- see progress.h
 *
 * Work that goes on in foreign code cannot say how far it is, so a thread of its own
 * watches: it sleeps, writes the line when the work has taken long, and again ten times
 * a second. What is on the terminal is guarded by the lock of the C library's 'stderr':
 * lines of the log erase it first (log_set_around()), other writers are not torn apart,
 * and fork() leaves the lock free in the child.
 */
#include "watch/progress.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "os/threads.h"

enum {
    USUAL_MS = 1000, /* work that takes longer has a line */
    TICK_MS = 100,
    COLUMNS = 80, /* of a terminal that does not know */
    WIDEST = 160
};

static atomic_bool forbidden;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t delay_ns; /* 0: never */

/* Guarded by the lock of stderr: whose line it is, while others wait their turn, and
 * whether it can be seen now. */
static const Progress *owner;
static bool shown;

static void read_environment(void)
{
    const char *text = getenv("DRJIT_PROGRESS"), *terminal = getenv("TERM");
    delay_ns = USUAL_MS * UINT64_C(1000000);
    if (text && *text) {
        char *end;
        unsigned long ms = strtoul(text, &end, 10);
        if (*end || *text == '-' || ms > 1000000)
            log_write(LogLevelWarn, "DRJIT_PROGRESS is '%s', expected milliseconds, at "
                      "most 1000000, or 0 for no lines; using %d", text, USUAL_MS);
        else
            delay_ns = ms * UINT64_C(1000000);
    }
    if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0)
        delay_ns = 0; /* it cannot erase a line */
}

void progress_allow(bool allowed)
{
    atomic_store_explicit(&forbidden, !allowed, memory_order_relaxed);
}

bool progress_wanted(void)
{
    pthread_once(&once, read_environment);
    return delay_ns && !atomic_load_explicit(&forbidden, memory_order_relaxed) &&
           log_stderr_level() > LogLevelNone && terminal_is_stderr();
}

/* ----------------------------------------------------------------- the line */

static void erase(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
}

/* A line that wraps could not be erased: it is cut. */
static void show(const Progress *progress)
{
    char line[WIDEST + 1];
    flockfile(stderr);
    if (!owner && !terminal_is_busy())
        owner = progress;
    if (owner == progress) {
        size_t columns = terminal_columns();
        columns = columns ? columns : COLUMNS;
        snprintf(line, columns < WIDEST ? columns : WIDEST, "drjit: %s ... %.1f s",
                 progress->text, (double) (clock_ns() - progress->begin) * 1e-9);
        fprintf(stderr, "\r\033[K%s", line);
        shown = true;
    }
    funlockfile(stderr);
}

static void hide(const Progress *progress)
{
    flockfile(stderr);
    if (owner == progress) {
        erase();
        owner = NULL;
    }
    funlockfile(stderr);
}

/* Around other lines on stderr. */
static void step_aside(void)
{
    flockfile(stderr);
    erase();
}

static void step_back(void) { funlockfile(stderr); }

/* ------------------------------------------------------------- the watcher */

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec) { .tv_sec = (time_t) (ns / 1000000000u),
                               .tv_nsec = (long) (ns % 1000000000u) };
}

static void *watch(void *data)
{
    Progress *progress = data;
    uint64_t next = progress->begin + delay_ns;
    pthread_mutex_lock(&progress->lock);
    while (!progress->ended) {
        struct timespec until = time_of(next);
        if (clock_ns() < next) {
            pthread_cond_timedwait(&progress->wake, &progress->lock, &until);
            continue;
        }
        pthread_mutex_unlock(&progress->lock);
        show(progress);
        next = clock_ns() + TICK_MS * UINT64_C(1000000);
        pthread_mutex_lock(&progress->lock);
    }
    pthread_mutex_unlock(&progress->lock);
    hide(progress);
    return NULL;
}

static bool start(Progress *progress)
{
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock))
        return false;
    log_set_around(step_aside, step_back);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->wake, &clock);
    pthread_condattr_destroy(&clock);
    return threads_start(&progress->thread, 0, watch, progress);
}

void progress_begin(Progress *progress, const char *format, ...)
{
    progress->watched = false;
    if (!progress_wanted())
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(progress->text, sizeof progress->text, format, args);
    va_end(args);
    progress->begin = clock_ns();
    progress->ended = false;
    progress->watched = start(progress);
}

void progress_end(Progress *progress)
{
    if (!progress->watched)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->ended = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->lock);
}
