/*
 * cpu_launch.h -- launches of kernels on the CPU: blocks of lanes
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_LAUNCH_H
#define DEVICE_CPU_LAUNCH_CPU_LAUNCH_H

#include <stdint.h>

#include "device/cpu/cpu_job.h"
#include "device/cpu/launch/cpu_code.h"
#include "device/cpu/launch/cpu_prints.h"

/** How a launch is cut. */
typedef struct CpuLaunch {
    const CpuCode *code;
    const uint64_t *args;
    uint64_t *streamed;    /* the same, with outputs that are written past the caches,
                              if the launch runs by itself; or NULL */
    Buffer *scratch;       /* NULL if none is needed */
    size_t scratch_stride; /* bytes for each worker */
    uint32_t size, block;  /* lanes */
    CpuPrints prints;      /* if it prints */
} CpuLaunch;

/** Device.predict. */
uint64_t cpu_launch_predict(struct Device *device, const Code *code, uint32_t lanes);

/** Compute lanes begin ... end-1 as a worker, with these arguments. */
void cpu_launch_lanes(const CpuJob *job, const CpuLaunch *launch, const uint64_t *args,
                      uint32_t begin, uint32_t end, uint32_t worker);

/** Have the job of a launch, which is too small to be shared, serve this many
 *  workers, before it has begun. False: it cannot, or out of memory. */
bool cpu_launch_widen(CpuJob *job, uint32_t workers);

/** Add how many bytes a launch reads and writes, and how many of these it could write
 *  past the caches. */
void cpu_launch_count(const CpuJob *job, uint64_t *bytes, uint64_t *written);
/** Is it worth while to write so much past the caches, where so much is moved? */
bool cpu_launch_is_large(uint64_t bytes, uint64_t written);
/** Have a launch that has not begun write past the caches what it can. False: out of
 *  memory; it does not. */
bool cpu_launch_stream(CpuJob *job);

/** CpuJob.run of launches, whose states begin with a CpuLaunch. */
void cpu_launch_block(CpuJob *job, uint32_t number, uint32_t worker);

/** Lanes of a block at most, rounded up to a multiple of 64
 *  (jit_llvm_set_block_size). */
void cpu_launch_set_block_size(uint32_t lanes);
uint32_t cpu_launch_block_size(void);
/** Take the third-level cache to be of this size; 0: of the size that it has. For
 *  tests. */
void cpu_launch_set_cache(size_t bytes);

#endif
