/*
 * driver.c -- the device, its context, and what every function begins with
 *
 * Environment:
 *   CUDA_SIM_CAPABILITY  compute capability of the device (default 8.0)
 *   CUDA_SIM_MEMORY      its memory in MiB (default 4096)
 *   CUDA_SIM_COUNTS      file for the counts (counts.h)
 *   CUDA_SIM_LOG         any text: a line for each module
 * and those of launch.c.
 */
#include "driver.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { DRIVER_VERSION = 12080 };
/* An unwary caller pushes as many contexts as it likes. */
enum { STACK = 64 };

Driver driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Of the calling thread. */
static _Thread_local CUcontext stack[STACK];
static _Thread_local uint32_t stack_size;
static _Thread_local bool in_host_function;

/* ---- what every function begins and ends with */

CUresult driver_enter_bare(void)
{
    if (in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&driver.lock);
    if (!driver.initialised)
        return driver_leave(CUDA_ERROR_NOT_INITIALIZED);
    return CUDA_SUCCESS;
}

CUresult driver_enter(void)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (stack_size == 0 || !stack[stack_size - 1] || driver.retained == 0)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (driver.broken != CUDA_SUCCESS)
        return driver_leave(driver.broken);
    return CUDA_SUCCESS;
}

CUresult driver_leave(CUresult result)
{
    pthread_mutex_unlock(&driver.lock);
    return result;
}

void driver_say(const char *format, ...)
{
    char text[SIM_MESSAGE + 200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cuda-sim: %s\n", text);
}

CUresult driver_break(const char *message)
{
    driver_say("%s", message);
    driver.broken = CUDA_ERROR_ILLEGAL_ADDRESS;
    return driver.broken;
}

void driver_call_host(void (*function)(void *), void *data)
{
    in_host_function = true;
    function(data);
    in_host_function = false;
}

/* ---- handles */

void *handle_new(HandleKind kind, size_t size)
{
    Handle *handle = calloc(1, size);
    if (!handle)
        return NULL;
    handle->kind = kind;
    handle->next = driver.live[kind];
    driver.live[kind] = handle;
    return handle;
}

/* Where a list refers to a handle; NULL: nowhere. */
static Handle **place_of(HandleKind kind, const Handle *handle)
{
    for (Handle **at = &driver.live[kind]; *at; at = &(*at)->next) {
        if (*at == handle)
            return at;
    }
    return NULL;
}

bool handle_is(HandleKind kind, const Handle *handle)
{
    return place_of(kind, handle) != NULL;
}

bool handle_delete(HandleKind kind, Handle *handle)
{
    Handle **place = place_of(kind, handle);
    if (!place)
        return false;
    *place = handle->next;
    free(handle);
    return true;
}

/* ---- start */

static void write_counts(void)
{
    const char *path = getenv("CUDA_SIM_COUNTS");
    if (path && *path && !counts_write(&driver.counts, path))
        driver_say("cannot write %s: %s", path, strerror(errno));
}

/* A number of the environment, times 'scale'. */
static double setting(const char *name, double otherwise)
{
    const char *text = getenv(name);
    char *end;
    double value = text && *text ? strtod(text, &end) : otherwise;
    if (text && *text && (*end || value <= 0)) {
        driver_say("%s is \"%s\", expected a positive number", name, text);
        return otherwise;
    }
    return value;
}

CU_EXPORT CUresult cuInit(unsigned flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.lock);
    if (driver.initialised)
        return driver_leave(CUDA_SUCCESS);
    driver.memory = sim_memory_new();
    if (!driver.memory)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    driver.memory_size = (size_t) (setting("CUDA_SIM_MEMORY", 4096) * 1048576);
    driver.capability = (uint32_t) (setting("CUDA_SIM_CAPABILITY", 8.0) * 10 + 0.5);
    driver.log = getenv("CUDA_SIM_LOG") != NULL;
    atexit(write_counts);
    driver.initialised = true;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return CUDA_SUCCESS;
}

/* ---- results in words */

typedef struct ResultRow {
    CUresult result;
    const char *name, *text;
} ResultRow;

static const ResultRow RESULTS[] = {
    { CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
#define RESULT_ROW(name, number, text) \
    { CUDA_ERROR_##name, "CUDA_ERROR_" #name, text },
    CU_RESULTS(RESULT_ROW)
#undef RESULT_ROW
};

static const ResultRow *find_result(CUresult result)
{
    for (size_t i = 0; i < sizeof RESULTS / sizeof *RESULTS; ++i) {
        if (RESULTS[i].result == result)
            return &RESULTS[i];
    }
    return NULL;
}

CU_EXPORT CUresult cuGetErrorName(CUresult result, const char **name)
{
    const ResultRow *row = find_result(result);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_EXPORT CUresult cuGetErrorString(CUresult result, const char **text)
{
    const ResultRow *row = find_result(result);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the device */

/* Attributes that are not 0; the capability is set by the environment. */
static const struct {
    int attribute, value;
} ATTRIBUTES[] = {
    { 1, 1024 },    /* threads of a block */
    { 2, 1024 },    /* ... in x */
    { 3, 1024 },    /* ... in y */
    { 4, 64 },      /* ... in z */
    { 5, INT32_MAX }, /* blocks in x */
    { 6, 65535 },   /* ... in y */
    { 7, 65535 },   /* ... in z */
    { 8, 49152 },   /* bytes of shared memory of a block */
    { 9, 65536 },   /* bytes of constant memory */
    { 10, SIM_WARP },
    { 11, INT32_MAX }, /* pitch of a copy */
    { 12, 65536 },  /* registers of a block */
    { 13, 1000000 }, /* kHz */
    { 14, 512 },    /* alignment of textures */
    { 16, 8 },      /* multiprocessors: few, so that grids are small */
    { 19, 1 },      /* host memory can be mapped */
    { 31, 1 },      /* kernels may run side by side */
    { 33, 1 },      /* number on the bus */
    { 39, 2048 },   /* threads of a multiprocessor */
    { 40, 1 },      /* copy engines */
    { 41, 1 },      /* unified addresses */
    { 81, 102400 }, /* bytes of shared memory of a multiprocessor */
    { 82, 65536 },  /* registers of a multiprocessor */
    { 97, 101376 }, /* bytes of shared memory of a block that asks for it */
    { 106, 32 },    /* blocks of a multiprocessor */
    { 111, 1024 },  /* bytes of shared memory that blocks cannot use */
    { 115, 1 },     /* pools of memory */
};
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, LAST_ATTRIBUTE = 147 };

CU_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!value || attribute < 1 || attribute > LAST_ATTRIBUTE)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (device != 0)
        return driver_leave(CUDA_ERROR_INVALID_DEVICE);
    *value = 0;
    for (size_t i = 0; i < sizeof ATTRIBUTES / sizeof *ATTRIBUTES; ++i) {
        if (ATTRIBUTES[i].attribute == attribute)
            *value = ATTRIBUTES[i].value;
    }
    if (attribute == CAPABILITY_MAJOR)
        *value = (int) driver.capability / 10;
    if (attribute == CAPABILITY_MINOR)
        *value = (int) driver.capability % 10;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuDeviceGetCount(int *count)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!count)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    *count = 1;
    return driver_leave(CUDA_SUCCESS);
}

/* Common to what asks for something of device 0. */
static CUresult enter_device(const void *out, CUdevice device)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!out)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (device != 0)
        return driver_leave(CUDA_ERROR_INVALID_DEVICE);
    return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = enter_device(device, ordinal);
    if (result != CUDA_SUCCESS)
        return result;
    *device = 0;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    CUresult result = enter_device(name, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (size < 1)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    snprintf(name, (size_t) size, "simulated GPU");
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult result = enter_device(bytes, device);
    if (result != CUDA_SUCCESS)
        return result;
    *bytes = driver.memory_size;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice other)
{
    CUresult result = enter_device(can, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (other != 0)
        return driver_leave(CUDA_ERROR_INVALID_DEVICE);
    *can = 0;
    return driver_leave(CUDA_SUCCESS);
}

/* ---- the context */

CU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = enter_device(context, device);
    if (result != CUDA_SUCCESS)
        return result;
    driver.retained++;
    *context = &driver.context;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult result = enter_device(&driver, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (driver.retained == 0)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    driver.retained--;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (context != &driver.context || driver.retained == 0 || stack_size == STACK)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    stack[stack_size++] = context;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (stack_size == 0)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    stack_size--;
    if (context)
        *context = stack[stack_size];
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult result = driver_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (context && (context != &driver.context || driver.retained == 0))
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    stack_size = stack_size ? stack_size : 1;
    stack[stack_size - 1] = context;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuCtxSynchronize(void)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    driver.counts.context_syncs++;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext context, unsigned flags)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (flags)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    return driver_leave(context == &driver.context ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
                                                   : CUDA_ERROR_INVALID_CONTEXT);
}

/* ---- the profiler, which notes nothing */

CU_EXPORT CUresult cuProfilerStart(void)
{
    CUresult result = driver_enter();
    return result == CUDA_SUCCESS ? driver_leave(result) : result;
}

CU_EXPORT CUresult cuProfilerStop(void)
{
    return cuProfilerStart();
}
