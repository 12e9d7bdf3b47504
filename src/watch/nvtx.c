/*
 * nvtx.c -- see nvtx.h
 *
 * A profiler that collects sets NVTX_INJECTION64_PATH in the processes that it starts.
 * NVIDIA's library loads that file, and asks it which functions it wants called.
 */
#include "watch/nvtx.h"

#include <stddef.h>
#include <stdlib.h>

#include "os/library.h"
#include "os/process.h"

static void *find(void)
{
    static const char *const names[] = {
        "libnvtx3interop.so.1",
        "/usr/local/cuda/lib64/libnvtx3interop.so.1",
        "libnvToolsExt.so.1", /* until CUDA 12 */
        "/usr/local/cuda/lib64/libnvToolsExt.so.1",
    };
    const char *chosen = getenv("DRJIT_LIBNVTX_PATH"), *reason;
    if (chosen && *chosen)
        return library_open(chosen, &reason);
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof names / sizeof *names; ++i)
        handle = library_open(names[i], &reason);
    return handle;
}

const Nvtx *nvtx_load(const char **problem)
{
    static Nvtx nvtx;
    const char *collector = getenv("NVTX_INJECTION64_PATH");
    *problem = NULL;
    if (!collector || !*collector || process_is_setuid())
        return NULL;
    void *handle = find();
    if (handle && library_symbol(handle, "nvtxMarkA", &nvtx.mark) &&
        library_symbol(handle, "nvtxRangePushA", &nvtx.push) &&
        library_symbol(handle, "nvtxRangePop", &nvtx.pop))
        return &nvtx;
    *problem = handle ? "the library lacks nvtxMarkA(), nvtxRangePushA() or "
                        "nvtxRangePop()"
                      : "libnvtx3interop.so.1 was not found: set DRJIT_LIBNVTX_PATH to "
                        "its file, which is a part of CUDA";
    return NULL;
}
