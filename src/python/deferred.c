/*
 * deferred.c -- the queue of deferred.h
 */
#include "python/deferred.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
    pthread_mutex_t
        lock; /* guards first and last; nothing is called while it is held */
    Deferred *first, *last;
    atomic_bool any;      /* something is queued; set under the lock, read without */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static Deferred *take_all(void)
{
    pthread_mutex_lock(&queue.lock);
    Deferred *first = queue.first;
    queue.first = queue.last = NULL;
    atomic_store(&queue.any, false);
    pthread_mutex_unlock(&queue.lock);
    return first;
}

void deferred_run(void)
{
    if (!atomic_load_explicit(&queue.any, memory_order_relaxed))
        return;
    PyObject *exception = error_fetch();
    for (Deferred *work = take_all(), *next; work; work = next) {
        next = work->next;
        work->run(work);
    }
    error_restore(exception);
}

static int run_pending(void *unused)
{
    (void) unused;
    deferred_run();
    return 0;
}

void deferred_add(Deferred *work)
{
    work->next = NULL;
    pthread_mutex_lock(&queue.lock);
    if (queue.last)
        queue.last->next = work;
    else
        queue.first = work;
    queue.last = work;
    bool was_empty = !atomic_exchange(&queue.any, true);
    pthread_mutex_unlock(&queue.lock);
    /* If the interpreter's table is full, the next construction of an array will do. */
    if (was_empty && Py_IsInitialized())
        (void) Py_AddPendingCall(run_pending, NULL);
}
