/*
 * launch.c -- a launch, with its parameters in either form
 *
 * Environment:
 *   CUDA_SIM_SEED   what the simulator's order of warps and blocks begins with
 *                   (default 0); the n-th launch has the seed + n
 *   CUDA_SIM_ORDER  "random": SIM_RANDOM_PC
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "module.h"

/* Shared memory comes in units of 128 bytes: kernels compiled by nvcc read more than
 * they have asked for, and do not use it. */
#define SHARED_UNIT 128u
enum { GRID_MOST = INT32_MAX, GRID_MOST_YZ = 65535, PARAMS_MOST = 32764 };

/* The buffer of 'extra'. False: it has a name that nobody knows. */
static bool read_extra(void **extra, const void **params, size_t *bytes)
{
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *params = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            *bytes = *(const size_t *) extra[1];
        else
            return false;
    }
    return *params || !*bytes;
}

/* Parameters of which each is pointed to, one after the other as the kernel has them;
 * in 'buffer' of PARAMS_MOST bytes. False: they do not fit. */
static bool read_pointers(const SimKernel *kernel, void **pointers, char *buffer,
                          size_t *bytes)
{
    uint32_t offset, size;
    for (uint32_t i = 0; sim_kernel_param(kernel, i, &offset, &size); ++i) {
        if (!pointers[i] || size > PARAMS_MOST - offset || offset > PARAMS_MOST)
            return false;
        memcpy(buffer + offset, pointers[i], size);
        *bytes = offset + size;
    }
    return true;
}

static bool fits(const Function *function, const uint32_t grid[3],
                 const uint32_t block[3], uint32_t shared)
{
    return grid[0] && grid[0] <= GRID_MOST && grid[1] && grid[1] <= GRID_MOST_YZ &&
           grid[2] && grid[2] <= GRID_MOST_YZ && block[0] && block[1] && block[2] &&
           block[0] <= THREADS_MOST && block[1] <= THREADS_MOST && block[2] <= 64 &&
           block[0] * block[1] * block[2] <= THREADS_MOST &&
           shared <= function->shared_limit;
}

static CUresult run(SimLaunch *launch)
{
    const char *seed = getenv("CUDA_SIM_SEED"), *order = getenv("CUDA_SIM_ORDER");
    launch->memory = driver.memory;
    launch->shared_bytes = (launch->shared_bytes + SHARED_UNIT - 1) & -SHARED_UNIT;
    launch->seed = (seed ? strtoull(seed, NULL, 10) : 0) + driver.counts.launches;
    launch->order =
        order && strcmp(order, "random") == 0 ? SIM_RANDOM_PC : SIM_LOWEST_PC;
    SimResult result;
    uint64_t start = counts_clock();
    bool done = sim_run(launch, &result);
    driver.counts.launches++;
    driver.counts.run_us += counts_clock() - start;
    driver.counts.lane_steps += result.lane_steps;
    return done ? CUDA_SUCCESS : driver_break(result.message);
}

CU_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                  unsigned grid_z, unsigned block_x, unsigned block_y,
                                  unsigned block_z, unsigned shared, CUstream stream,
                                  void **params, void **extra)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle_is(HANDLE_FUNCTION, function) || !stream_is(stream))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    const Function *found = (const Function *) function;
    SimLaunch launch = { .kernel = found->kernel,
                         .grid = { grid_x, grid_y, grid_z },
                         .block = { block_x, block_y, block_z },
                         .shared_bytes = shared };
    char buffer[PARAMS_MOST];
    bool valid = fits(found, launch.grid, launch.block, shared) && !(params && extra);
    if (valid && extra)
        valid = read_extra(extra, &launch.params, &launch.param_bytes);
    if (valid && params) {
        launch.params = buffer;
        valid = read_pointers(found->kernel, params, buffer, &launch.param_bytes);
    }
    return driver_leave(valid ? run(&launch) : CUDA_ERROR_INVALID_VALUE);
}
