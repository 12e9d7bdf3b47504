/*
 * thread.h -- the few words of each thread that every call looks at
 *
 * They stand together, so that entering and leaving the library take one look-up of
 * thread-local memory. Each belongs to the layer that its comment names, which alone
 * writes it.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Thread {
    void *state;        /* trace/graph/state.h: its ThreadState, NULL = none yet */
    uint32_t kept;      /* device/stream.c: commands that the thread is to run itself */
    uint32_t deferred;  /* trace/graph/state.c: callbacks that it is to make */
    uint32_t log_deferrals; /* base/log.h */
    bool log_queued;    /* base/log.c: lines wait for the end of the holds */
    bool lock_owner;    /* base/biased_lock.h: the lock is biased towards it */
    void *ad;           /* ad/graph/ad_thread.h: its AdThread, NULL = none yet */
} Thread;

/** Found by one load. An exported function may be loaded late, when the room for this
 *  kind of memory has been given away. */
#if defined(EXPORTED_ISA)
#define THREAD_QUICK
#else
#define THREAD_QUICK __attribute__((tls_model("initial-exec")))
#endif

extern _Thread_local Thread thread_self THREAD_QUICK;

#endif
