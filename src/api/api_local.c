/*
 * api_local.c -- the local memory group
 */
#include "trace/graph/local.h"

#include "api/api.h"
#include "base/error.h"
#include "trace/graph/current.h"

uint32_t jit_array_create(JitBackend backend, VarType type, size_t length, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_array_create()");
    uint32_t result = device ? local_create(ts, device->index, type, length, size) : 0;
    api_leave();
    return result;
}

uint32_t jit_array_init(uint32_t array, uint32_t value)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = local_init(ts, array, value);
    api_leave();
    return result;
}

uint32_t jit_array_read(uint32_t array, uint32_t offset, uint32_t mask)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = local_read(ts, array, offset, mask);
    api_leave();
    return result;
}

uint32_t jit_array_write(uint32_t array, uint32_t offset, uint32_t value, uint32_t mask)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = local_write(ts, array, offset, value, mask);
    api_leave();
    return result;
}

size_t jit_array_length(uint32_t array)
{
    state_lock();
    size_t length = local_length(array, "jit_array_length()");
    if (length && thread_self.state)
        node_read(thread_self.state, array);
    state_unlock();
    return length;
}
