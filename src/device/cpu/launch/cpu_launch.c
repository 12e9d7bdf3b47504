/*
 * cpu_launch.c -- launches of kernels on the CPU
 *
 * Small launches run in the calling thread, as a single block with scratch memory for a
 * single worker. Whether a launch is small, and into how many blocks others are cut,
 * follows from what a lane is expected to cost, which need not be precise. With loops
 * nobody can know it: such launches are begun in the calling thread, in small blocks,
 * and shared when they turn out to be long. Launches that reduce what they compute are
 * those of cpu_fused.c.
 */
#include "device/cpu/launch/cpu_launch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_hints.h"
#include "device/cpu/launch/cpu_fused.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/pool.h"

enum {
    DEFAULT_BLOCK = 16384, /* lanes */
    BLOCKS_PER_WORKER = 4, /* so that they finish at about the same time */
    LOOP_BLOCKS = 16,      /* the same with loops: some lanes take longer than others */

    /* Expected costs, in picoseconds. */
    COST_BLOCK = 5000000,    /* a block should take this long */
    COST_SMALL = 20000000,   /* waking up somebody costs about this */
    COST_SINGLE = 100000000, /* the same, where sharing is impossible anyway */
};

static _Atomic uint32_t block_size = DEFAULT_BLOCK;
static _Atomic size_t cache_size; /* 0: cpu_hints_cache() */

static uint64_t round_up(uint64_t lanes)
{
    return (lanes + CPU_GRANULE - 1) / CPU_GRANULE * CPU_GRANULE;
}

void cpu_launch_set_block_size(uint32_t lanes)
{
    uint64_t rounded = round_up(lanes ? lanes : 1);
    if (rounded > 1u << 30)
        rounded = 1u << 30;
    atomic_store_explicit(&block_size, (uint32_t) rounded, memory_order_relaxed);
}

uint32_t cpu_launch_block_size(void)
{
    return atomic_load_explicit(&block_size, memory_order_relaxed);
}

void cpu_launch_set_cache(size_t bytes)
{
    atomic_store_explicit(&cache_size, bytes, memory_order_relaxed);
}

/* Picoseconds a launch is expected to take in one thread. */
static uint64_t predict(const CpuCost *cost, uint32_t size)
{
    uint64_t blocks = (size + (uint64_t) CPU_BLOCK - 1) / CPU_BLOCK;
    return cost->lane * size + cost->block * blocks;
}

uint64_t cpu_launch_predict(Device *device, const Code *code, uint32_t lanes)
{
    (void) device;
    return predict(&((const CpuCode *) (const void *) code)->cost, lanes) / 1000;
}

/* Lanes of a block: several for each worker, none that is over in no time. */
static uint32_t choose_block(const CpuJob *job, const CpuCost *cost, uint32_t size,
                             uint64_t predicted)
{
    uint32_t largest = cpu_launch_block_size();
    if (job->workers <= 1)
        return largest;
    uint64_t parts = cost->loops ? LOOP_BLOCKS : BLOCKS_PER_WORKER;
    uint64_t least = COST_BLOCK / (predicted / size + 1);
    if (cost->loops || least < CPU_GRANULE) /* with many turns, any is worth it */
        least = CPU_GRANULE;
    if (cost->block && least < CPU_BLOCK / 2) /* fewer cost more, each */
        least = CPU_BLOCK / 2;
    uint64_t block = size / (job->workers * parts) + 1;
    if (block < least)
        block = least;
    if (block > largest)
        block = largest;
    return (uint32_t) round_up(block);
}

static bool get_scratch(const CpuJob *job, CpuLaunch *launch)
{
    size_t bytes = launch->code->scratch;
    if (!bytes)
        return true;
    size_t stride = (bytes + CPU_GRANULE - 1) / CPU_GRANULE * CPU_GRANULE;
    if (stride < bytes || stride > SIZE_MAX / job->workers)
        return error_set(JIT_ERROR_MEMORY,
                         "jit_eval(): the kernel needs too much scratch memory");
    launch->scratch = buffer_get(cpu_device(), stride * job->workers);
    launch->scratch_stride = stride;
    return launch->scratch != NULL;
}

bool cpu_launch_widen(CpuJob *job, uint32_t workers)
{
    const Command *c = job->command;
    CpuLaunch *launch = job->state;
    if (c->launch.fused || (c->launch.workers && c->launch.workers < workers))
        return false;
    Buffer *before = launch->scratch;
    uint32_t few = job->workers;
    job->workers = workers;
    if (!get_scratch(job, launch)) {
        launch->scratch = before;
        job->workers = few;
        return false;
    }
    buffer_release(before);
    return true;
}

void cpu_launch_lanes(const CpuJob *job, const CpuLaunch *launch, const uint64_t *args,
                      uint32_t begin, uint32_t end, uint32_t worker)
{
    char *scratch = NULL;
    if (launch->scratch)
        scratch = (char *) launch->scratch->address + worker * launch->scratch_stride;
    launch->code->run(launch->code, args, begin, end, worker, job->command->interrupts,
                      scratch);
}

void cpu_launch_block(CpuJob *job, uint32_t number, uint32_t worker)
{
    const CpuLaunch *launch = job->state;
    uint32_t begin = number * launch->block, left = launch->size - begin;
    uint32_t end = begin + (left < launch->block ? left : launch->block);
    const uint64_t *args = launch->streamed ? launch->streamed : launch->args;
    cpu_launch_lanes(job, launch, args, begin, end, worker);
    if (launch->streamed)
        reduce_lanes_get()->stream_end();
}

static void run_range(CpuJob *job, const uint64_t *args, uint32_t begin, uint32_t end,
                      uint32_t worker)
{
    cpu_launch_lanes(job, job->state, args, begin, end, worker);
}

static void release(CpuJob *job)
{
    CpuLaunch *launch = job->state;
    buffer_release(launch->scratch);
    alloc_free(launch->streamed);
}

static bool can_stream(const CpuLaunch *launch, const Command *c, uint32_t slot)
{
    uint32_t word = c->slots[slot].word;
    return word < CPU_STREAMS && launch->code->streams >> word & 1 &&
           launch->args[word] % CPU_GRANULE == 0;
}

/* Outputs that exceed the cache go past it, which saves reading their lines first, if
 * that reads and writes so much ('bytes') that what comes next would find little of it
 * in the cache. */
bool cpu_launch_is_large(uint64_t bytes, uint64_t written)
{
    enum { CACHES = 4, LEAST_CACHE = 1 << 20 };
    uint64_t cache = atomic_load_explicit(&cache_size, memory_order_relaxed);
    if (!cache && bytes > CACHES * LEAST_CACHE) /* asking the machine takes a while */
        cache = cpu_hints_cache();
    return cache && bytes > CACHES * cache && written > cache;
}

void cpu_launch_count(const CpuJob *job, uint64_t *bytes, uint64_t *written)
{
    const CpuLaunch *launch = job->state;
    const Command *c = job->command;
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        *bytes += c->slots[i].bytes;
        *written += can_stream(launch, c, i) ? c->slots[i].bytes : 0;
    }
}

bool cpu_launch_stream(CpuJob *job)
{
    CpuLaunch *launch = job->state;
    const Command *c = job->command;
    if (launch->streamed || !launch->code->streams)
        return true;
    launch->streamed = alloc_get(c->launch.words * sizeof(uint64_t));
    TRY(launch->streamed, false);
    memcpy(launch->streamed, launch->args, c->launch.words * sizeof(uint64_t));
    for (uint32_t i = 0; i < c->slot_count; ++i)
        if (can_stream(launch, c, i))
            launch->streamed[c->slots[i].word] += CPU_STREAMED;
    return true;
}

static bool stream_outputs(CpuJob *job, uint64_t bytes)
{
    const CpuLaunch *launch = job->state;
    uint64_t all = 0, written = 0;
    if (!launch->code->streams || job->command->launch.fused ||
        !cpu_launch_is_large(bytes, UINT64_MAX))
        return true;
    cpu_launch_count(job, &all, &written);
    return !cpu_launch_is_large(bytes, written) || cpu_launch_stream(job);
}

/* Put the addresses of arrays among the arguments; the bytes of all of them. */
static uint64_t fill_addresses(const Command *c, uint64_t *args)
{
    uint64_t bytes = 0;
    const Slot *slots = c->slots;
    for (uint32_t i = 0, count = c->slot_count; i < count; ++i) {
        bytes += slots[i].bytes;
        if (slots[i].word != SLOT_NO_WORD)
            args[slots[i].word] = (uint64_t) (uintptr_t) command_address(c, i);
    }
    return bytes;
}

bool cpu_launch_prepare(CpuJob *job)
{
    Command *c = job->command;
    CpuLaunch *launch = cpu_job_state(job, c->launch.fused ? cpu_fused_state_size(c)
                                                           : sizeof *launch);
    TRY(launch, false);
    const CpuCode *code = (const CpuCode *) (const void *) c->launch.code;
    const CpuCost *cost = &code->cost;
    uint32_t size = (uint32_t) c->size;
    uint64_t predicted = predict(cost, size), *args = c->data;
    uint64_t bytes = fill_addresses(c, args);
    bool small =
        predicted < COST_SMALL || (predicted < COST_SINGLE && size <= CPU_GRANULE);
    job->patient = small && cost->loops && size > CPU_GRANULE;
    job->small = small && !job->patient;
    job->workers = job->small ? 1 : pool_worker_bound();
    if (c->launch.workers && c->launch.workers < job->workers)
        job->workers = c->launch.workers;
    if (c->launch.prints) {
        const uint32_t slot = c->launch.prints - 1;
        cpu_prints_begin(&launch->prints, command_address(c, slot));
        args[c->slots[slot].word] = (uint64_t) (uintptr_t) &launch->prints.log;
        bytes -= c->slots[slot].bytes;
    }
    launch->code = code;
    launch->args = args;
    launch->size = size;
    launch->block =
        job->small || !size ? size : choose_block(job, cost, size, predicted);
    job->run = cpu_launch_block;
    job->range = run_range;
    job->granule = CPU_GRANULE;
    job->most = UINT32_MAX;
    job->release = release;
    job->blocks = size ? (size - 1) / launch->block + 1 : 0;
    TRY(get_scratch(job, launch) && stream_outputs(job, bytes), false);
    return !c->launch.fused || cpu_fused_plan(job);
}
