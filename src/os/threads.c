/*
 * threads.c -- see threads.h
 */
#include "os/threads.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

/* Threads are born with the mask of their maker. */
bool threads_start(pthread_t *thread, size_t stack, void *(*run)(void *argument),
                   void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    TRY(!alloc_fault() && pthread_attr_init(&attributes) == 0, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = (!stack || pthread_attr_setstacksize(&attributes, stack) == 0) &&
              pthread_create(thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return ok;
}

void threads_name(pthread_t thread, const char *name)
{
    (void) pthread_setname_np(thread, name);
}

void threads_yield(void) { sched_yield(); }

uint64_t threads_id(void) { return (uint64_t) gettid(); }
