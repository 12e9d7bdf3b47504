/*
 * api_eval.c -- scheduling, evaluation, events, kernel history, profile
 */
#include "api/api.h"
#include "watch/profile.h"
#include "base/alloc.h"
#include "base/error.h"
#include "device/event.h"
#include "device/redo.h"
#include "kernel/cache.h"
#include "trace/array/array.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/history.h"
#include "trace/eval/work.h"
#include "trace/graph/current.h"
#include "trace/graph/node.h"

/* -------------------------------------------------------------- evaluation */

/* An array whose computation was interrupted is computed again. */
static bool schedule(ThreadState *ts, VarId id, bool *work)
{
    const Var *v = var_get(id);
    *work = false;
    if (!evaluate_is_done(v)) {
        node_read(ts, id);
        return evaluate_schedule(ts, id, work);
    }
    if (v->op == OP_EVALUATED && v->value.buffer && buffer_failure(v->value.buffer))
        *work = redo_submit(v->value.buffer);
    return true;
}

bool jit_var_schedule(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool work = false;
    if (!var_exists(index))
        error_set(JIT_ERROR_ARGUMENT, "jit_var_schedule(): r%u is not a variable",
                  index);
    else
        schedule(ts, index, &work);
    api_leave();
    return work;
}

uint32_t jit_var_schedule_force(uint32_t index, int *rv)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = 0;
    bool work = false;
    if (!var_exists(index)) {
        error_set(JIT_ERROR_ARGUMENT, "jit_var_schedule_force(): r%u is not a variable",
                  index);
    } else if (var_get(index)->op == OP_LITERAL) {
        work = true;
        result = array_force(ts, index, "jit_var_schedule_force()");
    } else if (schedule(ts, index, &work)) {
        var_inc(index);
        result = index;
    }
    api_leave();
    if (rv)
        *rv = result && work;
    return result;
}

bool jit_var_eval_writes(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = node_usable(ts, index, "jit_var_eval_writes()", "the variable");
    api_leave();
    return ok;
}

/* Ranges of evaluations enclose what is done under the lock: collectors of profiles are
 * foreign code. */
static bool end_range(bool range, bool ok)
{
    if (range)
        profile_end();
    return ok;
}

static bool eval_var(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool work = false, ok = false;
    if (!var_exists(index))
        error_set(JIT_ERROR_ARGUMENT, "jit_var_eval(): r%u is not a variable", index);
    else
        ok = schedule(ts, index, &work);
    if (ok && work) {
        var_inc(index);
        ok = evaluate_all(ts) && evaluate_pending(ts, index);
        var_dec(index);
    } else if (ok) {
        error_clear();
        ok = false;
    }
    api_leave();
    return ok;
}

bool jit_var_eval(uint32_t index)
{
    bool range = profile_begin_if("evaluate r%u", index);
    return end_range(range, eval_var(index));
}

static bool eval_all(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = evaluate_all(ts);
    api_leave();
    return ok;
}

bool jit_eval(void)
{
    bool range = profile_begin_if("evaluate");
    return end_range(range, eval_all());
}

bool jit_eval_pending(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, true);
    bool pending = evaluate_is_needed(ts);
    api_leave();
    return pending;
}

bool jit_enqueue_host_func(JitBackend backend, void (*callback)(void *), void *payload)
{
    if (!callback)
        return api_null("jit_enqueue_host_func()", "callback");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    Device *device = current_device(ts, backend, "jit_enqueue_host_func()");
    Command *command = device ? command_create(device, COMMAND_HOST, 0, 0, 0) : NULL;
    if (command) {
        command->host.call = callback;
        command->host.payload = payload;
    }
    bool ok = command && work_submit(ts, command);
    api_leave();
    return ok;
}

const char *jit_program_str(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    text_clear(&ts->program_text);
    const char *result = NULL;
    if (node_usable(ts, index, "jit_program_str()", "the variable") &&
        evaluate_program_text(ts, index, &ts->program_text))
        result = text_get(&ts->program_text);
    api_leave();
    return result;
}

/* ------------------------------------------------------------------ events */

/* JitEvent is the public name of the runtime's Event. */
static Event *inner(JitEvent *event) { return (Event *) (void *) event; }

JitEvent *jit_event_create(JitBackend backend, int timing)
{
    ThreadState *ts = state_thread();
    Device *device = ts ? current_device(ts, backend, "jit_event_create()") : NULL;
    return device ? (JitEvent *) (void *) event_create(device, timing != 0) : NULL;
}

void jit_event_destroy(JitEvent *event) { event_destroy(inner(event)); }

bool jit_event_record(JitEvent *event)
{
    if (!event)
        return api_null("jit_event_record()", "event");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = event_record(inner(event));
    api_leave();
    return ok;
}

bool jit_event_query(JitEvent *event)
{
    if (!event)
        return api_null("jit_event_query()", "event");
    return event_query(inner(event));
}

bool jit_event_wait(JitEvent *event)
{
    if (!event)
        return api_null("jit_event_wait()", "event");
    event_wait(inner(event));
    return true;
}

double jit_event_elapsed_time(JitEvent *start, JitEvent *end)
{
    if (!start || !end) {
        api_null("jit_event_elapsed_time()", start ? "end" : "start");
        return -1;
    }
    return event_elapsed_ms(inner(start), inner(end), "jit_event_elapsed_time");
}

/* ----------------------------------------------------------------- history */

size_t jit_kernel_history(KernelHistoryEntry **entries)
{
    if (!entries)
        return (size_t) api_null("jit_kernel_history()", "entries");
    *entries = NULL;
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    state_pause(ts);
    stream_sync_all();
    state_resume(ts);
    size_t count = history_take(entries);
    api_leave();
    return count;
}

void jit_kernel_history_release(KernelHistoryEntry *entries, size_t count)
{
    history_release(entries, count);
}

void jit_kernel_history_clear(void) { history_clear(); }

void jit_launch_stats(size_t *launches, size_t *hits, size_t *soft_misses,
                      size_t *hard_misses)
{
    CacheStats stats = cache_stats();
    size_t ignored;
    state_lock();
    *(launches ? launches : &ignored) = state.launches;
    state_unlock();
    *(hits ? hits : &ignored) = stats.hits;
    *(soft_misses ? soft_misses : &ignored) = stats.soft_misses;
    *(hard_misses ? hard_misses : &ignored) = stats.hard_misses;
}

/* ----------------------------------------------------------------- profile */

bool jit_profile_mark(const char *message)
{
    if (!message)
        return api_null("jit_profile_mark()", "message");
    profile_mark(message);
    return true;
}

bool jit_profile_range_push(const char *message)
{
    if (!message)
        return api_null("jit_profile_range_push()", "message");
    ThreadState *ts = state_thread();
    TRY(ts, false);
    ts->profile_depth++;
    profile_begin(message);
    return true;
}

bool jit_profile_range_pop(void)
{
    ThreadState *ts = state_thread();
    TRY(ts, false);
    if (!ts->profile_depth)
        return error_set(JIT_ERROR_STATE, "jit_profile_range_pop(): no range is open");
    ts->profile_depth--;
    profile_end();
    return true;
}
