/*
 * memory.c -- memory of jit_malloc(), copies, caches
 */
#include <string.h>

#include "api/api.h"
#include "base/error.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "device/cpu/transfer.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "kernel/tier.h"
#include "trace/eval/history.h"
#include "trace/graph/node.h"

/* Address -> Buffer of what jit_malloc() has given out; guarded by the graph lock. */
static Table allocations;

void *jit_malloc(JitBackend backend, size_t size)
{
    TRY(node_backend_valid(backend, "jit_malloc()"), NULL);
    if (!size) {
        error_set(JIT_ERROR_ARGUMENT, "jit_malloc(): size is 0");
        return NULL;
    }
    Buffer *buffer = buffer_get(size);
    TRY(buffer, NULL);
    state_lock();
    bool ok = table_put(&allocations, &buffer->data, sizeof(void *), buffer);
    state_unlock();
    if (ok)
        return buffer->data;
    buffer_release(buffer);
    return NULL;
}

static void release(void *payload) { buffer_release(payload); }

static Buffer *take_allocation(void *ptr, const char *function)
{
    state_lock();
    Buffer *buffer = table_remove(&allocations, &ptr, sizeof(ptr));
    if (!allocations.count)
        table_free(&allocations);
    state_unlock();
    if (!buffer)
        error_set(JIT_ERROR_ARGUMENT, "%s: %p does not come from jit_malloc()",
                  function, ptr);
    return buffer;
}

bool jit_free(void *ptr)
{
    if (!ptr)
        return true;
    ThreadState *ts = state_thread();
    TRY(ts, false);
    Buffer *buffer = take_allocation(ptr, "jit_free()");
    TRY(buffer, false);
    JobSpec job = { .finish = release, .payload = buffer, .small = true };
    stream_submit(ts->stream, &job);
    return true;
}

static bool check_copy(JitBackend backend, const void *dst, const void *src,
                       size_t size, const char *function)
{
    TRY(node_backend_valid(backend, function), false);
    if (size && (!dst || !src))
        return api_null(function, dst ? "src" : "dst");
    return true;
}

bool jit_memcpy_async(JitBackend backend, void *dst, const void *src, size_t size)
{
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(check_copy(backend, dst, src, size, "jit_memcpy_async()"), false);
    return transfer_copy(ts->stream, dst, src, size,
                         history_report(ts, KernelTypeMemcpy, size, 1));
}

bool jit_memcpy(JitBackend backend, void *dst, const void *src, size_t size)
{
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(check_copy(backend, dst, src, size, "jit_memcpy()"), false);
    TRY(transfer_copy(ts->stream, dst, src, size,
                      history_report(ts, KernelTypeMemcpy, size, 1)),
        false);
    stream_sync(ts->stream);
    return stream_check(ts->stream);
}

bool jit_memset_async(JitBackend backend, void *ptr, uint32_t count, uint32_t item_size,
                      const void *src)
{
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(check_copy(backend, ptr, src, count, "jit_memset_async()"), false);
    if (item_size != 1 && item_size != 2 && item_size != 4 && item_size != 8)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_memset_async(): item_size is %u, expected "
                         "1, 2, 4 or 8",
                         item_size);
    if (!count)
        return true;
    uint64_t bits = 0;
    memcpy(&bits, src, item_size);
    return transfer_fill(ts->stream, ptr, bits, item_size, count,
                         history_report(ts, KernelTypeMemset, count, 0));
}

void *jit_malloc_migrate(void *ptr, JitBackend backend, int move)
{
    static const char function[] = "jit_malloc_migrate()";
    TRY(node_backend_valid(backend, function), NULL);
    ThreadState *ts = state_thread();
    TRY(ts, NULL);
    state_lock();
    Buffer *source = ptr ? table_get(&allocations, &ptr, sizeof(ptr)) : NULL;
    if (source)
        buffer_retain(source);
    state_unlock();
    if (!source) {
        error_set(JIT_ERROR_ARGUMENT, "%s: %p does not come from jit_malloc()",
                  function, ptr);
        return NULL;
    }
    void *result = move ? ptr : jit_malloc(backend, source->size);
    if (result && !move &&
        !transfer_copy(ts->stream, result, ptr, source->size,
                       history_report(ts, KernelTypeMemcpy, source->size, 1))) {
        jit_free(result);
        result = NULL;
    }
    JobSpec job = { .finish = release, .payload = source, .small = true };
    stream_submit(ts->stream, &job);
    return result;
}

int jit_malloc_device(void *ptr)
{
    (void) ptr; /* all of it is host memory */
    return -1;
}

size_t jit_malloc_watermark(JitBackend backend)
{
    return backend == JitBackendLLVM ? buffer_stats().watermark : 0;
}

void jit_malloc_clear_statistics(void) { buffer_clear_stats(); }

void jit_flush_malloc_cache(void)
{
    size_t bytes = buffer_trim();
    if (!bytes || !log_enabled(LogLevelInfo))
        return;
    Text text = { 0 };
    text_put(&text, "jit_flush_malloc_cache(): freed\n - host memory: ");
    text_put_bytes(&text, bytes);
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelInfo, line);
    text_free(&text);
}

void jit_flush_kernel_cache(void)
{
    stream_sync_all();
    tier_stop(); /* it starts again when there is something to compile */
    log_write(LogLevelInfo, "jit_flush_kernel_cache(): releasing %u kernels ..",
              cache_flush());
}

const char *jit_cache_dir(void) { return disk_dir(); }
