/*
 * api_life.c -- initialisation, shutdown, synchronisation
 */
#include "api/api.h"
#include "watch/profile.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/text.h"
#include "device/device.h"
#include "device/stream.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "kernel/host.h"
#include "trace/eval/evaluate_fused.h"
#include "trace/graph/current.h"
#include "trace/graph/pending.h"
#include "trace/graph/registry.h"

/* -------------------------------------------------------------------- init */

static void enable(Device *device)
{
    static bool first = true; /* later calls respect what the program has set */
    if (first)
        log_read_environment();
    first = false;
    log_write(LogLevelInfo, "jit_init(): detecting devices ..");
    state.backends |= (uint32_t) device->backend;
    log_write(LogLevelInfo, "jit_init(): enabling the %s (%u threads)", device->name,
              device->workers ? device->workers(device) : 0);
}

bool jit_init(uint32_t backends)
{
    static const JitBackend all[] = { JitBackendLLVM, JitBackendCUDA };
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = true;
    for (uint32_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (!(backends & (uint32_t) all[i]))
            continue;
        Device *device = current_find(ts, all[i]);
        if (!device)
            ok = current_device(ts, all[i], "jit_init()");
        else if (!(state.backends & (uint32_t) all[i]))
            enable(device);
    }
    if (backends & ~(uint32_t) (JitBackendCUDA | JitBackendLLVM) || !backends)
        ok = error_set(JIT_ERROR_ARGUMENT,
                       "jit_init(): backends are 0x%x, expected an OR of "
                       "JitBackendCUDA and JitBackendLLVM",
                       backends);
    api_leave();
    return ok;
}

/* Nothing takes long enough to be worth a thread: libraries are loaded when a kernel
 * needs them. */
bool jit_init_async(uint32_t backends) { return jit_init(backends); }

bool jit_has_backend(JitBackend backend)
{
    state_lock();
    bool result = backend && (state.backends & (uint32_t) backend);
    state_unlock();
    return result;
}

/* ---------------------------------------------------------------- shutdown */

#define SHOWN_LEAKS 10

static uint32_t report_leaks(void)
{
    uint32_t leaks = 0;
    for (VarId id = 1; id < var_table.end; ++id) {
        if (!var_exists(id))
            continue;
        const Var *v = var_get(id);
        if (leaks == 0)
            log_write(LogLevelWarn, "jit_shutdown(): detected %u variable leak%s:",
                      var_table.live, var_table.live == 1 ? "" : "s");
        if (leaks++ < SHOWN_LEAKS)
            log_write(LogLevelWarn, " - variable r%u (%s[%u], %u reference%s%s%s)", id,
                      type_info[v->type].name, var_lanes(v), v->refs,
                      v->refs == 1 ? "" : "s", *extra_label(v) ? ", label: " : "",
                      extra_label(v));
    }
    if (leaks > SHOWN_LEAKS)
        log_write(LogLevelWarn, " - (skipping the remaining ones)");
    return leaks;
}

uint32_t jit_shutdown(int light)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    if (stream_in_command()) {
        error_set(JIT_ERROR_STATE, "jit_shutdown(): must not be called from inside of "
                  "a host function");
        api_leave();
        return 0;
    }
    state_close_begin(ts);
    uint32_t threads = 0;
    for (const ThreadState *t = state.threads; t; t = t->next)
        threads++;
    if (!light)
        log_write(LogLevelInfo, "jit_shutdown(): releasing %u kernel%s ..",
                  cache_size(), cache_size() == 1 ? "" : "s");
    log_write(LogLevelInfo, "jit_shutdown(): releasing %u thread state%s ..", threads,
              threads == 1 ? "" : "s");
    state_close_drop();
    uint32_t leaks = report_leaks();
    registry_clear();
    state.backends = 0;
    if (!light) {
        cache_shutdown();
        disk_shutdown();
        profile_close();
        stream_shutdown();
        buffer_trim();
    }
    state_close_end(!light);
    api_leave();
    if (!light) {
        host_shutdown();
        device_stop();
    }
    log_write(LogLevelInfo, "jit_shutdown(): done");
    return leaks;
}

void jit_prepare_exit(void) { cache_close(); }

/* --------------------------------------------------------- synchronisation */

static bool may_sync(const ThreadState *ts, const char *function)
{
    if (state_flag(ts, JitFlagForbidSynchronization))
        return error_set(JIT_ERROR_STATE, "%s: JitFlagForbidSynchronization is set",
                         function);
    return true;
}

static bool sync_stream(ThreadState *ts, Stream *stream)
{
    TRY(stream, false);
    if (!stream_passed(stream, stream_position(stream))) {
        state_pause(ts);
        stream_sync(stream);
        state_resume(ts);
    }
    if (!stream_passed(stream, stream_position(stream)))
        return error_set(JIT_ERROR_STATE, "jit_sync_thread(): a host function cannot "
                         "wait for its own stream");
    return stream_check(stream);
}

/* Wait for the thread's stream of each device, or for all streams. Reductions that wait
 * count as enqueued: their caller may go on to write to memory that they read. */
static bool sync(const char *function, bool all)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = may_sync(ts, function);
    if (ok) {
        ok = evaluate_fused_waiting(ts);
        if (all) {
            state_pause(ts);
            stream_sync_all();
            state_resume(ts);
        }
        for (uint32_t i = 0; device_at(i); ++i)
            ok = sync_stream(ts, stream_self(device_at(i))) && ok;
    }
    api_leave();
    return ok;
}

void jit_launch_hold(bool hold)
{
    ErrorRecord before;
    error_save(&before);
    ThreadState *ts = api_enter();
    if (ts && hold)
        ts->deferring++;
    if (ts && !hold && ts->deferring && !--ts->deferring)
        for (uint32_t i = 0; device_at(i); ++i) {
            Stream *stream = stream_self(device_at(i));
            if (stream)
                stream_let_go(stream);
        }
    if (ts)
        api_leave();
    error_restore(&before);
}

void jit_sync_guests(void)
{
    if (!buffer_guests())
        return;
    ErrorRecord before;
    error_save(&before);
    ThreadState *ts = api_enter();
    if (ts && ts->guests) {
        ts->guests = false;
        for (uint32_t i = 0; device_at(i); ++i)
            (void) sync_stream(ts, stream_self(device_at(i)));
    }
    if (ts)
        api_leave();
    error_restore(&before);
}

bool jit_sync_thread(void) { return sync("jit_sync_thread()", false); }

bool jit_sync_pending(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, true);
    uint32_t at = 0;
    bool pending = pending_next(ts->serial, &at) != 0;
    for (uint32_t i = 0; device_at(i); ++i) {
        const Stream *stream = stream_self(device_at(i));
        pending |= !stream || !stream_passed(stream, stream_position(stream));
    }
    api_leave();
    return pending;
}

bool jit_sync_device(void) { return sync("jit_sync_device()", true); }
bool jit_sync_all_devices(void) { return sync("jit_sync_all_devices()", true); }

void jit_interrupt(void) { interrupt_raise(); }
