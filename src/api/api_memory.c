/*
 * api_memory.c -- memory of jit_malloc(), copies, caches
 */
#include <string.h>

#include "api/api.h"
#include "base/error.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "kernel/cache.h"
#include "kernel/disk.h"
#include "trace/eval/work.h"
#include "trace/graph/current.h"

/* Address -> Buffer of what jit_malloc() has given out; guarded by the graph lock. */
static Table allocations;

/* Memory that jit_malloc() gives out; with the lock held. */
static Buffer *allocate(ThreadState *ts, const Device *device, size_t size)
{
    Buffer *buffer = work_buffer(ts, device->index, size);
    TRY(buffer, NULL);
    if (table_put(&allocations, &buffer->address, sizeof(void *), buffer))
        return buffer;
    buffer_release(buffer);
    return NULL;
}

void *jit_malloc(JitBackend backend, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    const Device *device = current_device(ts, backend, "jit_malloc()");
    const Buffer *buffer = NULL;
    if (device && !size)
        error_set(JIT_ERROR_ARGUMENT, "jit_malloc(): size is 0");
    else if (device)
        buffer = allocate(ts, device, size);
    void *result = buffer ? buffer->address : NULL;
    api_leave();
    return result;
}

static Buffer *find(void *ptr, const char *function)
{
    Buffer *buffer = ptr ? table_get(&allocations, &ptr, sizeof(ptr)) : NULL;
    if (!buffer)
        error_set(JIT_ERROR_ARGUMENT, "%s: %p does not come from jit_malloc()",
                  function, ptr);
    return buffer;
}

/* Let go of memory once the thread's commands so far have ended. */
static void release_in_order(ThreadState *ts, Buffer *buffer)
{
    ErrorRecord before;
    error_save(&before);
    Command *c = command_create(buffer->device, COMMAND_EVENT, 0, 1, 0);
    if (c)
        command_set_slot(c, 0, buffer, 0, buffer->size, SLOT_READ);
    if (!c || !work_submit(ts, c)) { /* no memory for a command */
        state_pause(ts);
        stream_sync(stream_self(buffer->device));
        state_resume(ts);
        error_restore(&before);
    }
    buffer_release(buffer);
}

bool jit_free(void *ptr)
{
    if (!ptr)
        return true;
    ThreadState *ts = api_enter();
    TRY(ts, false);
    Buffer *buffer = find(ptr, "jit_free()");
    if (buffer) {
        table_remove(&allocations, &ptr, sizeof(ptr));
        if (!allocations.count)
            table_free(&allocations);
        release_in_order(ts, buffer);
    }
    api_leave();
    return buffer != NULL;
}

static bool check_copy(const void *dst, const void *src, size_t size,
                       const char *function)
{
    return !size || (dst && src) || api_null(function, dst ? "src" : "dst");
}

static bool copy(ThreadState *ts, Device *device, void *dst, const void *src,
                 size_t size, const char *function)
{
    TRY(device && check_copy(dst, src, size, function), false);
    Command *c = command_create(device, COMMAND_COPY, size, 2, 0);
    TRY(c, false);
    if (work_memory(c, 0, (void *) src, size, SLOT_READ) &&
        work_memory(c, 1, dst, size, SLOT_WRITE))
        return work_submit(ts, c);
    command_free(c);
    return false;
}

bool jit_memcpy_async(JitBackend backend, void *dst, const void *src, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    static const char function[] = "jit_memcpy_async()";
    bool ok = copy(ts, current_device(ts, backend, function), dst, src, size, function);
    api_leave();
    return ok;
}

bool jit_memcpy(JitBackend backend, void *dst, const void *src, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    static const char function[] = "jit_memcpy()";
    Device *device = current_device(ts, backend, function);
    bool ok = copy(ts, device, dst, src, size, function);
    if (ok) {
        Stream *stream = stream_self(device);
        state_pause(ts);
        stream_sync(stream);
        state_resume(ts);
        ok = stream_check(stream);
    }
    api_leave();
    return ok;
}

static bool fill(ThreadState *ts, Device *device, void *ptr, uint32_t count,
                 uint32_t item_size, const void *src)
{
    Command *c = command_create(device, COMMAND_FILL, count, 1, 0);
    TRY(c, false);
    memcpy(&c->fill.bits, src, item_size);
    c->fill.item_size = item_size;
    if (work_memory(c, 0, ptr, (size_t) count * item_size, SLOT_WRITE))
        return work_submit(ts, c);
    command_free(c);
    return false;
}

bool jit_memset_async(JitBackend backend, void *ptr, uint32_t count, uint32_t item_size,
                      const void *src)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    Device *device = current_device(ts, backend, "jit_memset_async()");
    bool ok = device && check_copy(ptr, src, count, "jit_memset_async()");
    if (ok && item_size != 1 && item_size != 2 && item_size != 4 && item_size != 8)
        ok = error_set(JIT_ERROR_ARGUMENT, "jit_memset_async(): item_size is %u, "
                       "expected 1, 2, 4 or 8", item_size);
    ok = ok && (!count || fill(ts, device, ptr, count, item_size, src));
    api_leave();
    return ok;
}

/* A copy in memory of a device; its address. */
static void *duplicate(ThreadState *ts, Buffer *source, const Device *device)
{
    buffer_retain(source); /* the lock may be released */
    Buffer *result = allocate(ts, device, source->size);
    void *address = result ? result->address : NULL;
    if (result && !work_transfer(ts, source, result, source->size)) {
        table_remove(&allocations, &address, sizeof(address));
        buffer_release(result);
        address = NULL;
    }
    buffer_release(source);
    return address;
}

void *jit_malloc_migrate(void *ptr, JitBackend backend, int move)
{
    static const char function[] = "jit_malloc_migrate()";
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    const Device *device = current_device(ts, backend, function);
    Buffer *source = device ? find(ptr, function) : NULL;
    void *result = source ? ptr : NULL;
    if (source && (!move || source->device != device)) {
        result = duplicate(ts, source, device);
        if (result && move) {
            table_remove(&allocations, &ptr, sizeof(ptr));
            release_in_order(ts, source);
        }
    }
    api_leave();
    return result;
}

int jit_malloc_device(void *ptr)
{
    ThreadState *ts = api_enter();
    TRY(ts, -1);
    const Buffer *buffer = ptr ? table_get(&allocations, &ptr, sizeof(ptr)) : NULL;
    bool host = !buffer || buffer->device->shares_memory;
    int result = host ? -1 : (int) buffer->device->number;
    api_leave();
    return result;
}

size_t jit_malloc_watermark(JitBackend backend)
{
    ThreadState *ts = state_thread();
    const Device *device = ts ? current_find(ts, backend) : NULL;
    return device ? buffer_stats(device).watermark : 0;
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

bool jit_set_malloc_cache_limit(JitBackend backend, size_t bytes)
{
    ThreadState *ts = state_thread();
    Device *device =
        ts ? current_device(ts, backend, "jit_set_malloc_cache_limit()") : NULL;
    if (device)
        buffer_set_cache_limit(device, bytes);
    return device != NULL;
}

size_t jit_malloc_cache_limit(JitBackend backend)
{
    ThreadState *ts = state_thread();
    Device *device = ts ? current_find(ts, backend) : NULL;
    return device ? buffer_cache_limit(device) : 0;
}

void jit_flush_kernel_cache(void)
{
    ThreadState *ts = api_enter();
    if (!ts)
        return;
    state_pause(ts);
    stream_sync_all();
    state_resume(ts);
    log_write(LogLevelInfo, "jit_flush_kernel_cache(): releasing %u kernels ..",
              cache_flush());
    api_leave();
}

const char *jit_cache_dir(void) { return disk_dir(); }
