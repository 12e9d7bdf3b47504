/*
 * wait.c -- see wait.h
 *
 * signal.signal() puts Python's own handler in the place of ours. So the main thread
 * looks now and then whether ours is still there before it waits; asking the system
 * each time would cost a tenth of a small launch.
 */
#include "python/object/wait.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drjit-core/jit.h"

enum { LOOK_MS = 10 };

static struct sigaction wrapped;          /* the handler behind ours */
static volatile sig_atomic_t main_waits;  /* how many waits the main thread is in */
static _Thread_local int is_main = -1;    /* -1: not known yet */
static int64_t looked_ms;                 /* by the main thread */

static void on_interrupt(int signal, siginfo_t *info, void *context)
{
    if (wrapped.sa_flags & SA_SIGINFO)
        wrapped.sa_sigaction(signal, info, context);
    else if (wrapped.sa_handler != SIG_DFL && wrapped.sa_handler != SIG_IGN)
        wrapped.sa_handler(signal);
    if (main_waits) /* last: Python knows of the signal when the wait ends */
        jit_interrupt();
}

/* A handler that does nothing of its own is left alone: then a signal ends the program,
 * or is ignored. */
static void install(void)
{
    struct sigaction now, ours = { .sa_sigaction = on_interrupt };
    if (sigaction(SIGINT, NULL, &now) != 0)
        return;
    bool is_simple = !(now.sa_flags & SA_SIGINFO);
    if (is_simple && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
        return;
    if (!is_simple && now.sa_sigaction == on_interrupt)
        return;
    wrapped = now;
    ours.sa_flags = (now.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
    ours.sa_mask = now.sa_mask;
    (void) sigaction(SIGINT, &ours, NULL);
}

static void look(void)
{
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &time) != 0)
        return;
    int64_t ms = (int64_t) time.tv_sec * 1000 + time.tv_nsec / 1000000;
    if (ms - looked_ms < LOOK_MS)
        return;
    looked_ms = ms;
    install();
}

PyThreadState *wait_begin(void)
{
    PyThreadState *thread = PyEval_SaveThread();
    if (is_main < 0)
        is_main = getpid() == (pid_t) syscall(SYS_gettid);
    if (is_main) {
        look();
        main_waits = main_waits + 1;
    }
    return thread;
}

void wait_end(PyThreadState *thread)
{
    jit_sync_guests(); /* the program may write to its memory now */
    if (!thread)
        return;
    if (is_main)
        main_waits = main_waits - 1;
    PyEval_RestoreThread(thread);
}
