/*
 * state.c -- see state.h
 */
#include "trace/graph/state.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/biased_lock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "kernel/tier.h"
#include "trace/graph/hooks.h"
#include "trace/graph/lvn.h"
#include "trace/graph/mask.h"
#include "trace/graph/record.h"

State state = { .expand_threshold = 1000000 };

/* ---------------------------------------------------------------- threads */

/* Initial-exec: every public function reads it. */
_Thread_local ThreadState *state_self;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void free_thread(ThreadState *ts)
{
    record_free(ts);
    for (uint32_t i = 0; i < ts->scheduled_count; ++i)
        var_dec(ts->scheduled[i]);
    for (uint32_t i = 0; i < ts->effect_count; ++i)
        var_dec(ts->effects[i]);
    for (uint32_t i = 0; i < ts->prefix_count; ++i)
        alloc_free(ts->prefixes[i]);
    mask_free(ts);
    alloc_free(ts->scheduled);
    alloc_free(ts->effects);
    alloc_free(ts->prefixes);
    hooks.free_workspace(ts->workspace);
    text_free(&ts->str);
    text_free(&ts->whos);
    text_free(&ts->graphviz);
    text_free(&ts->program_text);
    *ts->link = ts->next;
    if (ts->next)
        ts->next->link = ts->link;
    alloc_free(ts);
}

/* A thread ends: writes that it queued but never evaluated are handed to another
 * thread, so that arrays they go to are complete when somebody reads them. */
static void thread_exit(void *unused)
{
    (void) unused;
    ThreadState *ts = state_self;
    if (!ts) /* a shutdown has released it */
        return;
    state_lock();
    ThreadState *heir = state.threads == ts ? ts->next : state.threads;
    if (heir && ts->effect_count &&
        vec_reserve(&heir->effects, &heir->effect_capacity,
                    heir->effect_count + ts->effect_count, sizeof(VarId))) {
        memcpy(heir->effects + heir->effect_count, ts->effects,
               ts->effect_count * sizeof(VarId));
        heir->effect_count += ts->effect_count;
        ts->effect_count = 0;
    }
    ts->self = NULL;
    if (heir || !ts->effect_count) /* else the next thread will be the heir */
        free_thread(ts);
    state_self = NULL;
    state_unlock();
}

/* Take over the writes of a thread that ended when there was no other. */
static void inherit(ThreadState *ts)
{
    ThreadState *ended = state.threads;
    if (!ended || ended->self)
        return;
    ts->effects = ended->effects;
    ts->effect_count = ended->effect_count;
    ts->effect_capacity = ended->effect_capacity;
    ended->effects = NULL;
    ended->effect_count = ended->effect_capacity = 0;
    free_thread(ended);
}

static void fork_prepare(void) { biased_lock_take(); }
static void fork_parent(void) { biased_lock_drop(); }

/* The evaluations that other threads had begun will never finish here. */
static void fork_child(void)
{
    for (ThreadState *ts = state.threads; ts; ts = ts->next) {
        ts->stolen = 0;
        if (ts != state_self) {
            ts->evaluating = 0;
            ts->self = NULL;
        }
    }
    biased_lock_forked();
    biased_lock_drop();
}

static void create_key(void)
{
    pthread_key_create(&exit_key, thread_exit);
    /* Handlers that prepare a fork run in the reverse order of their registration,
     * which has to be the lock order: streams register first, then the disk cache, then
     * the kernel cache (which lets a background compile finish, and that may write to
     * the disk cache), then the graph. */
    stream_self();
    disk_prepare_fork();
    cache_init();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
}

ThreadState *state_make_thread(void)
{
    pthread_once(&exit_once, create_key);
    ThreadState *ts = alloc_zero(1, sizeof(ThreadState));
    TRY(ts, NULL);
    ts->flags = JitFlagDefault;
    ts->stream = stream_self();
    if (!ts->stream) {
        alloc_free(ts);
        return NULL;
    }
    ts->self = &state_self;
    biased_lock_take();
    ts->serial = ++state.serials;
    inherit(ts);
    ts->next = state.threads;
    ts->link = &state.threads;
    if (ts->next)
        ts->next->link = &ts->next;
    state.threads = ts;
    biased_lock_drop();
    pthread_setspecific(exit_key, ts);
    tier_guard_exit();
    state_self = ts;
    return ts;
}

bool state_queue(ThreadState *ts, VarId effect)
{
    TRY(vec_reserve(&ts->effects, &ts->effect_capacity, ts->effect_count + 1,
                    sizeof(VarId)), false);
    ts->effects[ts->effect_count++] = effect;
    return true;
}

/* ------------------------------------------------------------------- lock */

/* Callbacks of this thread, waiting for it to release the lock. No memory is held while
 * there are none. */
typedef struct Deferred {
    VarCallback callback;
    void *payload;
    uint32_t index;
    int freed;
} Deferred;

static _Thread_local Deferred *deferred;
static _Thread_local uint32_t deferred_capacity;
_Thread_local uint32_t state_deferred;

bool state_defer(VarCallback callback, uint32_t index, int freed, void *payload)
{
    TRY(vec_reserve(&deferred, &deferred_capacity, state_deferred + 1,
                    sizeof(Deferred)), false);
    deferred[state_deferred++] = (Deferred) { callback, payload, index, freed };
    if (!freed)
        var_inc(index);
    return true;
}

/* Release the variables that were kept for their callbacks. */
static void release_called(const Deferred *list, uint32_t count)
{
    state_lock();
    for (uint32_t i = 0; i < count; ++i)
        if (!list[i].freed)
            var_dec(list[i].index);
    state_unlock();
}

void state_unlock_and_call(void)
{
    if (state_self && state_self->evaluating) {
        biased_lock_drop();
        log_release();
        return;
    }
    Deferred *list = deferred;
    uint32_t count = state_deferred;
    deferred = NULL;
    state_deferred = deferred_capacity = 0;
    biased_lock_drop();
    log_release();
    bool held = false;
    for (uint32_t i = 0; i < count; ++i) {
        list[i].callback(list[i].index, list[i].freed, list[i].payload);
        held |= !list[i].freed;
    }
    if (held)
        release_called(list, count);
    alloc_free(list);
}

bool state_wait_eval(void)
{
    const ThreadState *ts = state.threads;
    while (ts && (ts == state_self || !ts->evaluating))
        ts = ts->next;
    return ts && biased_lock_wait();
}

void state_signal_eval(void) { biased_lock_broadcast(); }

void state_free(void)
{
    state_lock();
    while (state.threads) { /* threads that go on get a new one at their next call */
        if (state.threads->self)
            *state.threads->self = NULL;
        free_thread(state.threads);
    }
    extra_free_all();
    lvn_free();
    var_table_free();
    state_unlock();
}
