/*
 * biased_lock.h -- a mutex that costs next to nothing while only one thread uses it
 *
 * Most programs trace from one thread, and an uncontended mutex would still be a fifth
 * of the cost of a traced operation. The first thread that takes the lock becomes its
 * owner: as long as nobody else comes, it enters by setting a flag. The first other
 * thread ends that for good: it announces itself, makes the kernel put a memory barrier
 * into all threads of the process (membarrier), waits until the owner is outside, and
 * from then on everybody uses the mutex. (The asymmetric form of Dekker's algorithm;
 * see Dice, Huang and Yang, "Asymmetric Dekker synchronization", 2001.) Where
 * membarrier is missing, and under the thread sanitizer, it is a plain mutex from the
 * start.
 *
 * There is one such lock in the library: the graph lock.
 */
#ifndef TRACE_GRAPH_BIASED_LOCK_H
#define TRACE_GRAPH_BIASED_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread.h"

typedef struct BiasedLock {
    _Atomic bool shared;       /* more than one thread has come: the mutex counts */
    _Atomic bool owner_inside; /* written by the owner only */
} BiasedLock;

extern BiasedLock biased_lock;

void biased_lock_slow(void);
void biased_unlock_slow(void);
/** Wait for a signal of biased_lock_broadcast() with the lock released meanwhile. The
 *  lock must be shared by then: only another thread can end the wait. False, at once,
 *  if it is not. */
bool biased_lock_wait(void);
void biased_lock_broadcast(void);
/** In the child of a fork, with the lock held: the threads that waited are gone. */
void biased_lock_forked(void);

static inline void biased_lock_take(void)
{
    if (thread_self.lock_owner) {
#if defined(__SANITIZE_ADDRESS__) /* found here instead of by a thread that waits */
        if (atomic_load_explicit(&biased_lock.owner_inside, memory_order_relaxed))
            __builtin_trap();
#endif
        atomic_store_explicit(&biased_lock.owner_inside, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* membarrier makes it a real one */
        if (!atomic_load_explicit(&biased_lock.shared, memory_order_acquire))
            return;
        atomic_store_explicit(&biased_lock.owner_inside, false, memory_order_release);
    }
    biased_lock_slow();
}

static inline void biased_lock_drop(void)
{
    if (thread_self.lock_owner &&
        atomic_load_explicit(&biased_lock.owner_inside, memory_order_relaxed)) {
        /* Partner of the acquire load in end_privilege(). */
        atomic_store_explicit(&biased_lock.owner_inside, false, memory_order_release);
        return;
    }
    biased_unlock_slow();
}

#endif
