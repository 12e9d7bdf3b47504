/*
 * state.c -- see state.h
 */
#include "trace/graph/state.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/vec.h"
#include "device/device.h"
#include "device/stream.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "trace/graph/biased_lock.h"
#include "trace/graph/hooks.h"
#include "trace/graph/lvn.h"
#include "trace/graph/marks.h"
#include "trace/graph/mask.h"
#include "trace/graph/record.h"
#include "trace/graph/watch.h"

State state = { .expand_threshold = 1 << 20 };

/* ---------------------------------------------------------------- threads */

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* What is open or scheduled goes. */
static void reset_thread(ThreadState *ts)
{
    record_free(ts);
    for (uint32_t i = 0; i < ts->scheduled_count; ++i)
        var_dec(ts->scheduled[i]);
    for (uint32_t i = 0; i < ts->prefix_count; ++i)
        alloc_free(ts->prefixes[i]);
    mask_free(ts);
    alloc_free(ts->scheduled);
    alloc_free(ts->prefixes);
    watcher.give_up(ts);
    hooks.free_workspace(ts->workspace);
    text_free(&ts->str);
    text_free(&ts->whos);
    text_free(&ts->graphviz);
    text_free(&ts->program_text);
    ts->scheduled = NULL;
    ts->prefixes = NULL;
    ts->workspace = NULL;
    ts->scheduled_count = ts->scheduled_capacity = 0;
    ts->prefix_count = ts->prefix_capacity = 0;
    ts->file = NULL;
}

static void drop_effects(ThreadState *ts)
{
    for (uint32_t i = 0; i < ts->effect_count; ++i)
        var_dec(ts->effects[i]);
    alloc_free(ts->effects);
    ts->effects = NULL;
    ts->effect_count = ts->effect_capacity = 0;
}

static void free_thread(ThreadState *ts)
{
    reset_thread(ts);
    drop_effects(ts);
    *ts->link = ts->next;
    if (ts->next)
        ts->next->link = ts->link;
    alloc_free(ts);
}

/* Writes that the thread queued but never evaluated stay, so that arrays they go to are
 * complete when somebody reads them; the next evaluation of any thread runs them. */
static void end_thread(ThreadState *ts)
{
    if (!ts->effect_count) {
        free_thread(ts);
        return;
    }
    reset_thread(ts);
    ts->ended = true;
    state.ended++;
}

void state_bury(ThreadState *ended)
{
    state.ended--;
    free_thread(ended);
}

static void thread_exit(void *pointer)
{
    state_lock();
    end_thread(pointer);
    thread_self.state = NULL;
    state_unlock();
}

/* The graph lock comes first, and nobody may wait for a stream with it held: so the
 * streams have to be idle when it is taken. Who forks from inside of a command cannot
 * wait for that. */
static void fork_prepare(void)
{
    for (;;) {
        if (!stream_in_command())
            stream_sync_all();
        biased_lock_take();
        if (stream_in_command() || stream_all_idle())
            return;
        biased_lock_drop();
    }
}

static void fork_parent(void) { biased_lock_drop(); }

/* The other threads are gone, and what they had begun will never finish here. */
static void fork_child(void)
{
    biased_lock_forked();
    for (ThreadState *ts = state.threads, *next; ts; ts = next) {
        next = ts->next;
        ts->stolen = 0;
        if (ts == thread_self.state || ts->ended)
            continue;
        ts->evaluating = ts->writing = ts->paused = 0;
        end_thread(ts);
    }
    state.closing = false;
    biased_lock_drop();
}

static void create_key(void)
{
    pthread_key_create(&exit_key, thread_exit);
    /* Handlers that prepare a fork run in the reverse order of their registration,
     * which has to be the lock order: devices register first, then the disk cache, then
     * the kernel cache (which lets a compile finish, and that may write to the disk
     * cache), then the graph. */
    device_init();
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
    biased_lock_take();
    ts->serial = ++state.serials;
    ts->next = state.threads;
    ts->link = &state.threads;
    if (ts->next)
        ts->next->link = &ts->next;
    state.threads = ts;
    biased_lock_drop();
    pthread_setspecific(exit_key, ts);
    thread_self.state = ts;
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

/* Callbacks of this thread, waiting for it to release the lock: thread_self.deferred of
 * them. */
static _Thread_local Deferred *deferred_first, *deferred_last;

void state_defer(Deferred *call, VarCallback callback, uint32_t index, int freed,
                 void *payload)
{
    *call = (Deferred) { NULL, callback, payload, index, freed };
    if (deferred_last)
        deferred_last->next = call;
    else
        deferred_first = call;
    deferred_last = call;
    thread_self.deferred++;
    if (!freed)
        var_inc(index);
}

static void call_deferred(void)
{
    Deferred *next = deferred_first;
    deferred_first = deferred_last = NULL;
    thread_self.deferred = 0;
    for (Deferred *call; (call = next);) {
        next = call->next;
        Deferred own = *call; /* the callback may free it, with what it is part of */
        own.callback(own.index, own.freed, own.payload);
        if (own.freed) {
            alloc_free(call);
        } else if (own.index) { /* release the variable, which was kept for this */
            state_lock();
            var_dec(own.index);
            state_unlock();
        }
    }
}

void state_unlock_and_run(void)
{
    const ThreadState *ts = thread_self.state;
    bool evaluates = ts && ts->evaluating;
    biased_lock_drop();
    log_release();
    if (evaluates)
        return;
    stream_run();
    if (thread_self.deferred)
        call_deferred();
}

void state_pause(ThreadState *ts)
{
    ts->paused++;
    state_unlock();
}

void state_resume(ThreadState *ts)
{
    state_lock();
    ts->paused--;
    if (state.closing)
        biased_lock_broadcast();
}

/* Others may wait for what is kept for this thread. */
static bool wait_unlocked(void)
{
    if (!thread_self.kept)
        return biased_lock_wait();
    state_unlock();
    state_lock();
    return true;
}

bool state_wait_eval(void)
{
    const ThreadState *ts = state.threads;
    while (ts && (ts == thread_self.state || !ts->evaluating))
        ts = ts->next;
    return ts && wait_unlocked();
}

void state_signal_eval(void) { biased_lock_broadcast(); }

/* --------------------------------------------------------------- shutdown */

static bool others_are_inside(const ThreadState *ts)
{
    for (const ThreadState *t = state.threads; t; t = t->next)
        if (t != ts && t->paused)
            return true;
    return false;
}

void state_close_begin(ThreadState *ts)
{
    while (state.closing)
        wait_unlocked();
    state.closing = true;
    for (;;) {
        if (others_are_inside(ts)) {
            wait_unlocked();
            continue;
        }
        if (stream_all_idle())
            return;
        state_pause(ts);
        stream_sync_all();
        state_resume(ts);
    }
}

void state_close_drop(void)
{
    for (ThreadState *ts = state.threads, *next; ts; ts = next) {
        next = ts->next;
        reset_thread(ts); /* threads that go on keep their state */
        drop_effects(ts);
        if (ts->ended)
            state_bury(ts);
    }
}

void state_close_end(bool all)
{
    for (ThreadState *ts = all ? state.threads : NULL; ts; ts = ts->next) {
        ts->flags = JitFlagDefault;
        ts->profile_depth = 0;
        memset(ts->devices, 0, sizeof(ts->devices));
    }
    if (all) {
        extra_free_all();
        lvn_free();
        marks_free();
        arena_trim();
        var_table_free();
    }
    state.closing = false;
    biased_lock_broadcast();
}
