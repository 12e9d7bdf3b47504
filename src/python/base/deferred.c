/*
 * deferred.c -- the queue of deferred.h
 */
#include "python/base/deferred.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
    pthread_mutex_t
        lock; /* guards first and last; nothing is called while it is held */
    Deferred *first, *last;
    atomic_bool any; /* something is queued; set under the lock, read without */
    /* Guarded by the GIL: */
    bool running;
    size_t holds;
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

static int run_pending(void *unused)
{
    (void) unused;
    deferred_run();
    return 0;
}

/* If the interpreter's table is full, the next construction of an array will do. */
static void remind(void)
{
    if (Py_IsInitialized())
        (void) Py_AddPendingCall(run_pending, NULL);
}

void deferred_run(void)
{
    if (!atomic_load_explicit(&queue.any, memory_order_relaxed) || queue.running ||
        queue.holds)
        return;
    PyObject *exception = error_fetch();
    queue.running = true;
    for (Deferred *work = take_all(), *next; work; work = next) {
        next = work->next;
        work->run(work);
    }
    queue.running = false;
    if (atomic_load(&queue.any)) /* its reminder may have come too early */
        remind();
    error_restore(exception);
}

void deferred_hold(void)
{
    queue.holds++;
}

void deferred_release(void)
{
    if (--queue.holds == 0)
        deferred_run();
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
    if (was_empty)
        remind();
}
