/*
 * biased_lock.c -- see biased_lock.h
 */
#include "trace/graph/biased_lock.h"

#include <pthread.h>

#include "os/barrier.h"
#include "os/threads.h"

BiasedLock biased_lock;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static bool claimed; /* somebody is or was the owner; guarded by the mutex */

/* End the owner's privilege; with the mutex held, by another thread. */
static void end_privilege(void)
{
    atomic_store_explicit(&biased_lock.shared, true, memory_order_release);
    barrier_everywhere();
    /* Partner of the release stores of the owner. */
    while (atomic_load_explicit(&biased_lock.owner_inside, memory_order_acquire))
        threads_yield();
}

void biased_lock_slow(void)
{
    pthread_mutex_lock(&mutex);
    if (atomic_load_explicit(&biased_lock.shared, memory_order_relaxed))
        return;
    if (!claimed && barrier_is_known()) {
        claimed = true;
        thread_self.lock_owner = true;
        atomic_store_explicit(&biased_lock.owner_inside, true, memory_order_relaxed);
        pthread_mutex_unlock(&mutex); /* inside by the flag from now on */
        return;
    }
    end_privilege();
}

void biased_unlock_slow(void) { pthread_mutex_unlock(&mutex); }

bool biased_lock_wait(void)
{
    if (thread_self.lock_owner && atomic_load_explicit(&biased_lock.owner_inside,
                                                  memory_order_relaxed))
        return false;
    pthread_cond_wait(&finished, &mutex);
    return true;
}

void biased_lock_forked(void) { pthread_cond_init(&finished, NULL); }

void biased_lock_broadcast(void)
{
    if (atomic_load_explicit(&biased_lock.shared, memory_order_relaxed))
        pthread_cond_broadcast(&finished);
}
