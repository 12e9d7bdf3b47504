/*
 * state.h -- the library's state, the graph lock and what belongs to a thread
 *
 * One lock guards variables, value numbering and the queues of all threads. While it is
 * held, nothing calls out (log sinks, callbacks, engines), no kernel runs (what takes a
 * microsecond or two excepted, see work_entries()), and nobody waits for a stream: log
 * lines, callbacks and small kernels are kept for the thread, and state_unlock() sees
 * to them. Callbacks may evaluate, so they, and with them what they could overtake,
 * also wait for the end of an evaluation that releases the lock on its way. Lock order:
 * graph -> cache -> pool -> streams -> buffers.
 */
#ifndef TRACE_GRAPH_STATE_H
#define TRACE_GRAPH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/thread.h"
#include "ir/program.h"
#include "trace/graph/biased_lock.h"
#include "trace/graph/extra.h"
#include "trace/graph/var.h"

enum { BACKEND_COUNT = JitBackendLLVM + 1 };

/** What a thread has of its own. Created at the thread's first call, released when it
 *  ends. */
typedef struct ThreadState {
    uint32_t flags;          /* JitFlag... */
    uint32_t scope;          /* given to new variables */
    Device *devices[BACKEND_COUNT]; /* current ones by backend (current.h) */
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
    uint32_t deferring;      /* open ranges of jit_launch_hold() */
    uint32_t unwatched;      /* launches are not searched for values that are not
                                finite, as somebody else does it (ad_finite.h) */
    uint32_t paused;         /* in a call that has released the lock on its way */
    bool guests;             /* commands that it has submitted may still read memory
                                that is not ours (Buffer.guest) */
    bool ended;              /* its thread is gone; writes that it queued are left */
    uint32_t profile_depth;  /* open profile ranges */
    const char *file;        /* source location, interned */
    uint32_t line;
    struct Workspace *workspace; /* scratch memory of evaluate.c, NULL while in use */
    Text str, whos, graphviz, program_text; /* results of the last such call */
    struct Freezing *freezing; /* the function that it records (freezing.h), or NULL */
    uint32_t recording;      /* the scope of that function, which nothing else has: what
                                the thread makes belongs to it, literals too, and what
                                it uses is looked at. 0: there is none, or it pauses */
    uint64_t serial;         /* no two threads ever have the same */
    struct ThreadState *next,
        **link; /* list of all threads, guarded by the graph lock */
} ThreadState;

typedef struct State {
    _Atomic uint32_t backends; /* initialised ones, JitBackend bits */
    ThreadState *threads;
    uint32_t ended;          /* of these, threads that have ended */
    bool closing;            /* a shutdown is under way: nothing new is evaluated */
    size_t expand_threshold;
    uint64_t launches;
    uint64_t serials;        /* given to threads so far */
    uint32_t scopes;         /* scope numbers given so far */
    uint32_t freezings;      /* functions recorded so far */
} State;

extern State state;

/* What the inline functions below need. */
ThreadState *state_make_thread(void);
void state_unlock_and_run(void);

/** The calling thread's state; NULL (error recorded) if out of memory. Without the
 *  lock. It is the thread's as long as the thread lives. */
static inline ThreadState *state_thread(void)
{
    ThreadState *ts = thread_self.state;
    return ts ? ts : state_make_thread();
}

/** Take and release the graph lock. What was kept for this moment is done after it. */
static inline void state_lock(void)
{
    log_defer();
    biased_lock_take();
}

static inline void state_unlock(void)
{
    if (thread_self.kept | thread_self.deferred) {
        state_unlock_and_run();
        return;
    }
    biased_lock_drop();
    log_release();
}

/** Release the lock in the midst of a call, and take it again. What the call goes on
 *  with has to be held. A shutdown waits for the end of the pause. */
void state_pause(ThreadState *ts);
void state_resume(ThreadState *ts);

/** Append an effect to the thread's queue, which takes over the caller's reference. */
bool state_queue(ThreadState *ts, VarId effect);
/** The queue of a thread that has ended is empty: forget it. */
void state_bury(ThreadState *ended);

/** Wait (releasing the lock meanwhile) until another thread has finished an evaluation.
 *  False, at once, if no other thread evaluates anything. */
bool state_wait_eval(void);
/** An evaluation that had released the lock has finished. */
void state_signal_eval(void);
/** Have 'callback' called by the calling thread's state_unlock(), but not before its
 *  evaluation has ended. The variable lives until then, unless 'freed': then 'call' is
 *  given back to alloc.h after it. */
void state_defer(Deferred *call, VarCallback callback, uint32_t index, int freed,
                 void *payload);

/** Begin a shutdown: on return nobody else is in a call, nor evaluates anything until
 *  state_close_end(), and all streams are idle. The lock is released on the way. */
void state_close_begin(ThreadState *ts);
/** Drop what threads have scheduled, queued or are recording. */
void state_close_drop(void);
/** End the shutdown; with 'all', release all that belongs to the library except
 *  variables that are still referenced. */
void state_close_end(bool all);

/** Is this flag set for the thread? */
static inline bool state_flag(const ThreadState *ts, JitFlag flag)
{
    return (ts->flags & (uint32_t) flag) != 0;
}

#endif
