/*
 * life.c -- initialisation, shutdown, synchronisation
 */
#include <pthread.h>

#include "api/api.h"
#include "base/error.h"
#include "base/log.h"
#include "base/profile.h"
#include "base/text.h"
#include "device/cpu/pool.h"
#include "device/stream.h"
#include "engine/llvm/llvm_engine.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "kernel/host.h"
#include "kernel/tier.h"
#include "trace/graph/mask.h"
#include "trace/graph/record.h"
#include "trace/graph/registry.h"

/* -------------------------------------------------------------------- init */

bool jit_init(uint32_t backends)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = true;
    bool fresh = (backends & JitBackendLLVM) && !(state.backends & JitBackendLLVM);
    if (fresh) {
        static bool first = true; /* later calls respect what the program has set */
        if (first)
            log_read_environment();
        first = false;
        log_write(LogLevelInfo, "jit_init(): detecting devices ..");
        disk_init();
        state.backends |= JitBackendLLVM;
        log_write(LogLevelInfo, "jit_llvm_init(): enabling CPU backend (%u threads)",
                  pool_worker_bound());
    }
    if (backends & JitBackendCUDA)
        ok = error_set(JIT_ERROR_UNSUPPORTED, "jit_init(): the CUDA backend is not "
                       "available");
    if (backends & ~(uint32_t) (JitBackendCUDA | JitBackendLLVM) || !backends)
        ok = error_set(JIT_ERROR_ARGUMENT,
                       "jit_init(): backends are 0x%x, expected an OR of "
                       "JitBackendCUDA and JitBackendLLVM",
                       backends);
    api_leave();
    return ok;
}

/* The outcome is remembered by the engine; whoever needs it next gets the error. */
static void *load_compiler(void *unused)
{
    (void) unused;
    llvm_engine.available();
    tier_loading(false);
    return NULL;
}

bool jit_init_async(uint32_t backends)
{
    TRY(jit_init(backends), false);
    pthread_t thread;
    tier_loading(true);
    if (pthread_create(&thread, NULL, load_compiler, NULL)) {
        tier_loading(false);
        return error_set(JIT_ERROR_SYSTEM, "jit_init_async(): cannot create a thread");
    }
    pthread_detach(thread);
    return true;
}

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
                      type_info[v->type].name, v->size, v->refs,
                      v->refs == 1 ? "" : "s", *extra_label(v) ? ", label: " : "",
                      extra_label(v));
    }
    if (leaks > SHOWN_LEAKS)
        log_write(LogLevelWarn, " - (skipping the remaining ones)");
    return leaks;
}

static void drop_queue(VarId **ids, uint32_t *count)
{
    for (uint32_t i = 0; i < *count; ++i)
        var_dec((*ids)[i]);
    *count = 0;
}

uint32_t jit_shutdown(int light)
{
    stream_sync_all();
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t threads = 0;
    for (ThreadState *t = state.threads; t; t = t->next, ++threads) {
        record_free(t);
        drop_queue(&t->scheduled, &t->scheduled_count);
        drop_queue(&t->effects, &t->effect_count);
        mask_free(t);
    }
    if (!light)
        log_write(LogLevelInfo, "jit_shutdown(): releasing %u kernel%s ..",
                  cache_size(), cache_size() == 1 ? "" : "s");
    log_write(LogLevelInfo, "jit_shutdown(): releasing %u thread state%s ..", threads,
              threads == 1 ? "" : "s");
    uint32_t leaks = report_leaks();
    registry_clear();
    state.backends = 0;
    api_leave();
    if (!light) {
        cache_shutdown();
        host_shutdown();
        disk_shutdown();
        profile_close();
        stream_shutdown();
        jit_flush_malloc_cache();
        state_free();
    }
    log_write(LogLevelInfo, "jit_shutdown(): done");
    return leaks;
}

/* --------------------------------------------------------- synchronisation */

static bool may_sync(const ThreadState *ts, const char *function)
{
    if (state_flag(ts, JitFlagForbidSynchronization))
        return error_set(JIT_ERROR_STATE, "%s: JitFlagForbidSynchronization is set",
                         function);
    return true;
}

bool jit_sync_thread(void)
{
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(may_sync(ts, "jit_sync_thread()"), false);
    stream_sync(ts->stream);
    return stream_check(ts->stream);
}

bool jit_sync_device(void)
{
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(may_sync(ts, "jit_sync_device()"), false);
    stream_sync_all();
    return stream_check(ts->stream);
}

bool jit_sync_all_devices(void) { return jit_sync_device(); }
