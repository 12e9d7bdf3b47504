/*
 * state.h -- the library's state, the graph lock and what belongs to a thread
 *
 * One lock guards variables, value numbering and the queues of all threads. Nothing
 * calls out (log sinks, callbacks, engines) while it is held: log lines and callbacks
 * are queued and state_unlock() delivers them. Callbacks may evaluate, so they also
 * wait for the end of an evaluation that releases the lock on its way: their writes
 * must not overtake its own. Lock order: graph -> cache -> streams, pool -> buffers.
 */
#ifndef TRACE_GRAPH_STATE_H
#define TRACE_GRAPH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/biased_lock.h"
#include "base/log.h"
#include "device/stream.h"
#include "ir/program.h"
#include "trace/graph/extra.h"
#include "trace/graph/var.h"

/** What a thread has of its own. Created at the thread's first call, released when it
 *  ends. */
typedef struct ThreadState {
    uint32_t flags;          /* JitFlag... */
    uint32_t scope;          /* given to new variables */
    struct Body *body;       /* the innermost one that is being recorded (record.h) */
    VarId *scheduled; /* to be computed by the next evaluation, one reference each */
    uint32_t scheduled_count, scheduled_capacity;
    VarId *effects; /* queued writes in order of creation, one reference each */
    uint32_t effect_count, effect_capacity;
    char **prefixes;         /* label prefixes, owned */
    uint32_t prefix_count, prefix_capacity;
    VarId *masks;            /* mask stack (mask.h), one reference each */
    uint32_t mask_count, mask_capacity;
    uint32_t mask_base;      /* of them, how many the open body must leave alone */
    uint32_t evaluating;     /* evaluations of this thread that have not finished */
    uint32_t writing;        /* those of them that have writes */
    uint32_t stolen;         /* other threads that are running writes queued by it */
    uint32_t profile_depth;  /* open profile ranges */
    const char *file;        /* source location, interned */
    uint32_t line;
    struct Workspace *workspace; /* scratch memory of evaluate.c, NULL while in use */
    Text str, whos, graphviz, program_text; /* results of the last such call */
    Stream *stream;          /* stream_self(), fetched once */
    uint64_t serial;         /* no two threads ever have the same */
    struct ThreadState **self; /* the thread's way here; NULL: it has ended */
    struct ThreadState *next,
        **link; /* list of all threads, guarded by the graph lock */
} ThreadState;

typedef struct State {
    _Atomic uint32_t backends; /* initialised ones, JitBackend bits */
    ThreadState *threads;
    size_t expand_threshold;
    uint64_t launches;
    uint64_t serials;        /* given to threads so far */
    uint32_t scopes;         /* scope numbers given so far */
} State;

extern State state;

/* What the inline functions below need. */
extern _Thread_local ThreadState *state_self __attribute__((tls_model("initial-exec")));
/* Callbacks of this thread that wait. */
extern _Thread_local uint32_t state_deferred
    __attribute__((tls_model("initial-exec")));
ThreadState *state_make_thread(void);
void state_unlock_and_call(void);

/** The calling thread's state; NULL (error recorded) if memory is out. Without the
 *  lock. */
static inline ThreadState *state_thread(void)
{
    return state_self ? state_self : state_make_thread();
}

/** Take and release the graph lock. */
static inline void state_lock(void)
{
    log_hold();
    biased_lock_take();
}

static inline void state_unlock(void)
{
    if (state_deferred) {
        state_unlock_and_call();
        return;
    }
    biased_lock_drop();
    log_release();
}

/** Append an effect to the thread's queue, which takes over the caller's reference. */
bool state_queue(ThreadState *ts, VarId effect);

/** Wait (releasing the lock meanwhile) until another thread has finished an evaluation.
 *  False, at once, if no other thread evaluates anything. */
bool state_wait_eval(void);
/** An evaluation that had released the lock has finished. */
void state_signal_eval(void);
/** Does the calling thread hold the graph lock? */
static inline bool state_is_locked(void) { return log_hold_state.depth != 0; }
/** Have 'callback' called by the calling thread's state_unlock(), but not before its
 *  evaluation has ended. The variable lives until then, unless 'freed'. False if memory
 *  is out. */
bool state_defer(VarCallback callback, uint32_t index, int freed, void *payload);
/** Release all that belongs to the library except variables that are still
 *  referenced. */
void state_free(void);

/** Is this flag set for the thread? */
static inline bool state_flag(const ThreadState *ts, JitFlag flag)
{
    return (ts->flags & (uint32_t) flag) != 0;
}

#endif
