/*
 * module.c -- PTX text becomes kernels
 *
 * Only text is taken. As a driver does, this one refuses a text for a newer GPU or of a
 * newer version of PTX than it knows, and fills the log buffers: the information is
 * never empty, as it would be if the compiled kernel came from a cache.
 */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

/* PTX of CUDA 12.8. */
enum { PTX_VERSION = 87 };

/* ---- options of a load */

typedef struct Options {
    char *info, *error; /* NULL: not wanted */
    unsigned info_size, error_size;
    void **info_used, **error_used, **wall_time; /* where results go; NULL */
} Options;

static void read_options(Options *options, unsigned count, const int *names,
                         void **values)
{
    *options = (Options){ 0 };
    for (unsigned i = 0; i < count; ++i) {
        unsigned size = (unsigned) (uintptr_t) values[i];
        switch (names[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            options->info = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            options->info_size = size;
            options->info_used = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            options->error = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            options->error_size = size;
            options->error_used = &values[i];
            break;
        case CU_JIT_WALL_TIME:
            options->wall_time = &values[i];
            break;
        default: /* how to compile: of no meaning here */
            break;
        }
    }
}

/* Write a log, and how long it is, where the option with its size was. */
static void write_log(char *out, unsigned size, void **used, const char *text)
{
    if (out && size) {
        int length = snprintf(out, size, "%s", text);
        size = (unsigned) length < size ? (unsigned) length : size - 1;
        if (used)
            *used = (void *) (uintptr_t) size;
    }
}

/* ---- a text */

/* The number after a directive of the head, as 10 * major + minor; 0: it has none. */
static uint32_t head_number(const char *text, const char *directive)
{
    const char *at = strstr(text, directive);
    unsigned major, minor;
    if (!at)
        return 0;
    at += strlen(directive);
    if (sscanf(at, "%u.%u", &major, &minor) == 2)
        return major * 10 + minor;
    return sscanf(at, "%u", &major) == 1 ? major : 0;
}

/* Binaries for GPUs: ELF, and archives of them. */
static bool is_binary(const void *image)
{
    static const unsigned char ELF[4] = { 0x7f, 'E', 'L', 'F' };
    static const unsigned char FAT[4] = { 0x50, 0xed, 0x55, 0xba };
    return memcmp(image, ELF, 4) == 0 || memcmp(image, FAT, 4) == 0;
}

static CUresult parse(const char *text, SimModule **module, char error[SIM_MESSAGE])
{
    uint32_t version = head_number(text, ".version ");
    uint32_t target = head_number(text, ".target sm_");
    if (version > PTX_VERSION) {
        snprintf(error, SIM_MESSAGE, "PTX version %u.%u, the driver knows up to %d.%d",
                 version / 10, version % 10, PTX_VERSION / 10, PTX_VERSION % 10);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (target > driver.capability) {
        snprintf(error, SIM_MESSAGE, "PTX for sm_%u, the device is of sm_%u", target,
                 driver.capability);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    *module = sim_parse(text, SIM_FOREIGN, error);
    return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

/* A text for those who want to see it: CUDA_SIM_DUMP names a folder. */
static void dump(const char *text, size_t bytes)
{
    const char *folder = getenv("CUDA_SIM_DUMP");
    char path[4096];
    if (!folder || !*folder)
        return;
    snprintf(path, sizeof path, "%s/%llu.ptx", folder,
             (unsigned long long) driver.counts.modules);
    FILE *file = fopen(path, "w");
    bool ok = file && fwrite(text, 1, bytes, file) == bytes;
    if ((file && fclose(file) != 0) || !ok)
        driver_say("CUDA_SIM_DUMP: cannot write %s", path);
}

/* With the lock held. */
static CUresult load(CUmodule *module, const char *text, const Options *options)
{
    char error[SIM_MESSAGE] = "", info[SIM_MESSAGE];
    SimModule *code = NULL;
    size_t bytes = strlen(text);
    uint64_t start = counts_clock();
    CUresult result = parse(text, &code, error);
    uint64_t spent = counts_clock() - start;
    if (result != CUDA_SUCCESS) {
        driver_say("cuModuleLoadDataEx(): %s", error);
        write_log(options->error, options->error_size, options->error_used, error);
        return result;
    }
    Module *made = handle_new(HANDLE_MODULE, sizeof(Module));
    if (!made) {
        sim_free(code);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->code = code;
    *module = &made->handle;
    dump(text, bytes);
    driver.counts.modules++;
    driver.counts.ptx_bytes += bytes;
    driver.counts.parse_us += spent;
    const SimKernel *first = sim_kernel_at(code, 0);
    snprintf(info, sizeof info,
             "ptxas info    : Compiling entry function '%s' for 'sm_%u'\n",
             first ? sim_kernel_name(first) : "", driver.capability);
    write_log(options->info, options->info_size, options->info_used, info);
    write_log(options->error, options->error_size, options->error_used, "");
    if (options->wall_time) {
        float milliseconds = (float) spent * 1e-3f;
        memcpy(options->wall_time, &milliseconds, sizeof milliseconds);
    }
    if (driver.log)
        driver_say("%s: %zu bytes of PTX, parsed in %llu us",
                   first ? sim_kernel_name(first) : "no kernel", bytes,
                   (unsigned long long) spent);
    return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                      unsigned count, int *names, void **values)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!module || !image || (count && (!names || !values)))
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (is_binary(image))
        return driver_leave(CUDA_ERROR_NO_BINARY_FOR_GPU);
    Options options;
    read_options(&options, count, names, values);
    return driver_leave(load(module, image, &options));
}

CU_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CU_EXPORT CUresult cuModuleUnload(CUmodule module)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle_is(HANDLE_MODULE, module))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    for (Handle *at = driver.live[HANDLE_FUNCTION], *next; at; at = next) {
        next = at->next;
        if (&((Function *) at)->module->handle == module)
            handle_delete(HANDLE_FUNCTION, at);
    }
    sim_free(((Module *) module)->code);
    handle_delete(HANDLE_MODULE, module);
    return driver_leave(CUDA_SUCCESS);
}

/* ---- kernels */

/* The handle of a kernel, the same one each time. */
static Function *function_of(const Module *module, const SimKernel *kernel)
{
    for (Handle *at = driver.live[HANDLE_FUNCTION]; at; at = at->next) {
        Function *function = (Function *) at;
        if (function->module == module && function->kernel == kernel)
            return function;
    }
    Function *made = handle_new(HANDLE_FUNCTION, sizeof(Function));
    if (made) {
        made->module = module;
        made->kernel = kernel;
        made->shared_limit = SHARED_DEFAULT;
    }
    return made;
}

CU_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                       const char *name)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!function || !name)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (!handle_is(HANDLE_MODULE, module))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    const Module *found = (const Module *) module;
    const SimKernel *kernel = sim_find(found->code, name);
    if (!kernel)
        return driver_leave(CUDA_ERROR_NOT_FOUND);
    Function *made = function_of(found, kernel);
    if (!made)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *function = &made->handle;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle_is(HANDLE_FUNCTION, function))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    bool shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    bool carveout = attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    if ((shared && (value < 0 || value > SHARED_MOST)) ||
        (carveout && (value < -1 || value > 100)) || (!shared && !carveout))
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (shared)
        ((Function *) function)->shared_limit = (uint32_t) value;
    return driver_leave(CUDA_SUCCESS);
}

/* Blocks of as many threads as they can have: the simulator has registers enough. */
CU_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *blocks, int *threads,
                                                    CUfunction function,
                                                    size_t (*shared_of)(int),
                                                    size_t shared, int limit)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!blocks || !threads || limit < 0)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (!handle_is(HANDLE_FUNCTION, function))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    if (!shared_of && shared > ((Function *) function)->shared_limit)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    *threads = limit && limit < THREADS_MOST ? limit : THREADS_MOST;
    *blocks = 8 * (2048 / *threads);
    return driver_leave(CUDA_SUCCESS);
}
