/*
 * interrupt.c -- see interrupt.h
 */
#include "python/base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drjit-core/jit.h"

/* The watcher looks each 10 ms, and sleeps after a tenth of a second without waits. */
enum { LOOK_NS = 10000000, QUIET_LOOKS = 10 };

static _Thread_local int is_main = -1; /* is it the main thread? -1: not known yet */
static _Atomic int depth;           /* how many waits the main thread is in */
static _Atomic uint32_t begun;      /* how many it has begun */
static _Atomic bool watched;        /* the watcher sees a wait that begins now */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t wake; /* by CLOCK_MONOTONIC */
static pthread_t watcher;
static bool created, ends; /* there is a watcher; it is to end */
static struct sigaction handlers[2];             /* the one before may still run */
static struct sigaction *_Atomic wrapped = handlers; /* the handler behind ours */

/* ------------------------------------------------------------------ handler */

static void on_interrupt(int signal, siginfo_t *info, void *context)
{
    const struct sigaction *behind = atomic_load(&wrapped);
    if (behind->sa_flags & SA_SIGINFO)
        behind->sa_sigaction(signal, info, context);
    else if (behind->sa_handler != SIG_DFL && behind->sa_handler != SIG_IGN)
        behind->sa_handler(signal);
    if (depth) /* last: Python knows of the signal when the wait ends */
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
    struct sigaction *behind = &handlers[atomic_load(&wrapped) == handlers];
    *behind = now;
    atomic_store(&wrapped, behind);
    ours.sa_flags = (now.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
    ours.sa_mask = now.sa_mask;
    (void) sigaction(SIGINT, &ours, NULL);
}

/* ------------------------------------------------------------------ watcher */

/* These have the lock. Until the next look: */
static void sleep_a_little(void)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += LOOK_NS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    (void) pthread_cond_timedwait(&wake, &lock, &end);
}

/* Until a wait begins that is not among those seen: */
static void sleep_long(uint32_t seen)
{
    atomic_store(&watched, false); /* before 'begun' is read: see begin_wait */
    if (atomic_load(&begun) != seen)
        atomic_store(&watched, true);
    while (!atomic_load(&watched) && !ends)
        pthread_cond_wait(&wake, &lock);
}

/* One look at a wait is enough: the main thread changes no handler meanwhile. The wait
 * that made the watcher has had its look. */
static void *watch(void *number_of_wait)
{
    uint32_t seen = (uint32_t) (uintptr_t) number_of_wait;
    pthread_mutex_lock(&lock);
    for (uint32_t quiet = 0; !ends;) {
        sleep_a_little();
        uint32_t number = atomic_load(&begun);
        if (number != seen && depth)
            install();
        quiet = number == seen ? quiet + 1 : 0;
        seen = number;
        if (quiet == QUIET_LOOKS) {
            sleep_long(seen);
            quiet = 0;
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void make_wake(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The watcher ends: a program with one thread forks as one, and Python does not warn of
 * it. The next wait begins another one. */
static void fork_prepare(void)
{
    pthread_mutex_lock(&lock);
    if (!created)
        return;
    if (depth) /* another thread than this one waits */
        install();
    created = false;
    ends = true;
    atomic_store(&watched, false);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    pthread_join(watcher, NULL);
    pthread_mutex_lock(&lock);
    ends = false;
}

static void fork_parent(void) { pthread_mutex_unlock(&lock); }

static void fork_child(void)
{
    if (is_main != true) /* the waits were those of a thread that is not in the child */
        depth = 0;
    is_main = true;
    ends = false; /* two threads may fork at a time */
    pthread_mutex_unlock(&lock);
    make_wake();
}

/* Signals are for the program's own threads. */
static bool create(void)
{
    void *number_of_wait = (void *) (uintptr_t) atomic_load(&begun);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&watcher, NULL, watch, number_of_wait) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* Look at this wait here, and have the next ones looked at. If there is no thread to be
 * had, each wait comes here. */
static void begin_to_watch(void)
{
    pthread_mutex_lock(&lock);
    install();
    if (!ends && (created || (created = create()))) {
        atomic_store(&watched, true);
        pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&lock);
}

/* -------------------------------------------------------------------- waits */

static void initialise(void)
{
    make_wake();
    (void) pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static bool find_main(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    is_main = getpid() == (pid_t) syscall(SYS_gettid);
    return is_main;
}

void interrupt_begin_wait(void)
{
    if (is_main < 0 ? !find_main() : !is_main)
        return;
    atomic_store_explicit(&depth, depth + 1, memory_order_relaxed);
    atomic_fetch_add(&begun, 1); /* before 'watched' is read: see sleep_long */
    if (!atomic_load(&watched))
        begin_to_watch();
}

void interrupt_end_wait(void)
{
    if (is_main)
        atomic_store_explicit(&depth, depth - 1, memory_order_relaxed);
}
