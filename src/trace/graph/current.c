/*
 * current.c -- see current.h
 */
#include "trace/graph/current.h"

#include "base/error.h"
#include "trace/graph/state.h"

/* The backends of the interface, whether there is a device or not. */
static const char *const names[BACKEND_COUNT] = { [JitBackendCUDA] = "CUDA",
                                                  [JitBackendLLVM] = "LLVM" };

Device *current_find(ThreadState *ts, JitBackend backend)
{
    if ((uint32_t) backend >= BACKEND_COUNT)
        return NULL;
    Device **device = &ts->devices[backend];
    return *device ? *device : (*device = device_find(backend, 0));
}

Device *current_device(ThreadState *ts, JitBackend backend, const char *function)
{
    Device *device = current_find(ts, backend);
    if (device && state.backends & (uint32_t) backend)
        return device;
    if ((uint32_t) backend >= BACKEND_COUNT || !names[backend])
        error_set(JIT_ERROR_ARGUMENT, "%s: backend is %d, expected JitBackendLLVM",
                  function, (int) backend);
    else if (!device)
        error_set(JIT_ERROR_UNSUPPORTED, "%s: the %s backend is not available",
                  function, names[backend]);
    else
        error_set(JIT_ERROR_STATE, "%s: call jit_init(JitBackend%s) first", function,
                  names[backend]);
    return NULL;
}

Device *current_any(ThreadState *ts)
{
    bool other = state.backends && !(state.backends & JitBackendLLVM);
    return current_find(ts, other ? JitBackendCUDA : JitBackendLLVM);
}

bool current_set(JitBackend backend, uint32_t number)
{
    static const char function[] = "current_set()";
    ThreadState *ts = state_thread();
    TRY(ts && current_device(ts, backend, function), false);
    Device *device = device_find(backend, number);
    if (!device)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the %s backend has no device %u",
                         function, names[backend], number);
    ts->devices[backend] = device;
    return true;
}
