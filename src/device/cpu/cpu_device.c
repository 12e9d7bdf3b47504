/*
 * cpu_device.c -- see cpu_device.h
 *
 * Memory is the process's own: large arrays stand in pages of their own (cpu_pages.h),
 * small ones come from the C library.
 */
#include "device/cpu/cpu_device.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/cpu_pages.h"
#include "device/cpu/launch/cpu_batch.h"
#include "device/cpu/launch/cpu_chain.h"
#include "device/cpu/launch/cpu_describe.h"
#include "device/cpu/launch/cpu_fused.h"
#include "device/cpu/launch/cpu_group.h"
#include "device/cpu/launch/cpu_launch.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/reduce.h"
#include "device/cpu/primitives/transfer.h"
#include "device/stream.h"
#include "os/machine.h"

enum { PADDING = 64 };

static void *allocate(Device *device, size_t bytes)
{
    (void) device;
    return bytes < CPU_PAGES_LEAST ? alloc_aligned(bytes + PADDING)
                                   : cpu_pages_get(bytes);
}

static void release(Device *device, void *address, size_t bytes)
{
    (void) device;
    if (bytes < CPU_PAGES_LEAST)
        alloc_free(address);
    else
        cpu_pages_release(address, bytes);
}

static bool read_memory(Device *device, void *dst, const void *address, size_t bytes)
{
    (void) device;
    memcpy(dst, address, bytes);
    return true;
}

static bool write_memory(Device *device, void *address, const void *src, size_t bytes)
{
    (void) device;
    memcpy(address, src, bytes);
    return true;
}

static size_t memory(Device *device)
{
    (void) device;
    return machine_memory();
}

static uint32_t count_threads(Device *device)
{
    (void) device;
    return pool_workers();
}

static void stop(Device *device)
{
    (void) device;
    pool_stop();
}

static uint32_t bound_workers(Device *device)
{
    (void) device;
    return pool_worker_bound();
}

static bool poll(Device *device, uint64_t since)
{
    (void) device;
    return pool_may_spin() && pool_spin(since);
}

static Device cpu = { .backend = JitBackendLLVM,
                      .name = "CPU",
                      .code = CODE_CPU,
                      .shares_memory = true,
                      .most_bytes = (uint64_t) 256 << 20,
                      .job_bytes = sizeof(CpuJob) + CPU_JOB_ROOM,
                      .allocate = allocate,
                      .release = release,
                      .read = read_memory,
                      .write = write_memory,
                      .memory = memory,
                      .prepare = cpu_job_prepare,
                      .discard = cpu_job_discard,
                      .run = cpu_job_run,
                      .start = cpu_group_start,
                      .chains = cpu_chain_pays,
                      .batches = cpu_batch_pays,
                      .help = cpu_job_help,
                      .threads = count_threads,
                      .stop = stop,
                      .poll = poll,
                      .describe = cpu_describe,
                      .predict = cpu_launch_predict,
                      .fuses = cpu_fused_takes,
                      .workers = bound_workers,
                      .fill = transfer_fill,
                      .reduce = reduce_small,
                      .dot = reduce_small_dot };

static void parent_after_fork(void) { cpu_job_fork_unlock(false); }
static void child_after_fork(void) { cpu_job_fork_unlock(true); }

/* Handlers that prepare a fork run in the opposite order of their registration: that of
 * the locks. */
static void initialise(void)
{
    device_register(&cpu);
    (void) pthread_atfork(cpu_pages_fork_lock, cpu_pages_fork_unlock,
                          cpu_pages_fork_unlock);
    (void) pthread_atfork(cpu_job_fork_lock, parent_after_fork, child_after_fork);
    stream_prepare_fork();
    (void) pthread_atfork(pool_fork_lock, pool_fork_unlock, pool_fork_child);
}

Device *cpu_device(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    return &cpu;
}
