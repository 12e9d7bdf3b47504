/*
 * biased_lock.c -- see biased_lock.h
 */
#include "base/biased_lock.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define WATCHED 1 /* by the thread sanitizer, which does not know membarrier */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WATCHED 1
#endif
#endif

#if defined(__linux__) && defined(__NR_membarrier) && !defined(WATCHED)
#include <linux/membarrier.h>
static long membarrier(int command) { return syscall(__NR_membarrier, command, 0, 0); }

/* The process registers when a barrier is needed, which most never do: with several
 * threads, that takes the kernel a grace period, about ten milliseconds. */
static bool has_barrier(void)
{
    const long wanted =
        MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const long known = membarrier(MEMBARRIER_CMD_QUERY);
    return known >= 0 && (known & wanted) == wanted;
}

/* The kernel can, but may lack memory for it; then there is the slow way. */
static void barrier_everywhere(void)
{
    while ((membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0 ||
            membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) &&
           membarrier(MEMBARRIER_CMD_SHARED) != 0)
        sched_yield();
}
#else
static bool has_barrier(void) { return false; }
static void barrier_everywhere(void) {}
#endif

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
        sched_yield();
}

void biased_lock_slow(void)
{
    pthread_mutex_lock(&mutex);
    if (atomic_load_explicit(&biased_lock.shared, memory_order_relaxed))
        return;
    if (!claimed && has_barrier()) {
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
