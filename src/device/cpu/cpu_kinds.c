/*
 * cpu_kinds.c -- the kinds of commands that the CPU performs
 *
 * Exported functions (src/export) have a table of their own, of what they need.
 */
#include "device/cpu/cpu_job.h"

static void run_host(CpuJob *job, uint32_t block, uint32_t worker)
{
    const Command *c = job->command;
    (void) block;
    (void) worker;
    c->host.call(c->host.payload);
}

static bool prepare_host(CpuJob *job)
{
    job->run = run_host;
    job->blocks = 1;
    return true;
}

static bool prepare_event(CpuJob *job)
{
    job->small = true;
    return true;
}

bool (*const cpu_kinds[COMMAND_COUNT])(CpuJob *job) = {
    [COMMAND_LAUNCH] = cpu_launch_prepare,
    [COMMAND_COPY] = transfer_prepare_copy,
    [COMMAND_FILL] = transfer_prepare_fill,
    [COMMAND_POKE] = transfer_prepare_fill,
    [COMMAND_REDUCE] = reduce_prepare,
    [COMMAND_DOT] = reduce_prepare_dot,
    [COMMAND_PREFIX] = scan_prepare,
    [COMMAND_COMPRESS] = scan_prepare_compress,
    [COMMAND_PERMUTATION] = mkperm_prepare,
    [COMMAND_SORT] = sort_prepare,
    [COMMAND_TRANSPOSE] = transpose_prepare,
    [COMMAND_GEMM] = gemm_prepare,
    [COMMAND_AGGREGATE] = transfer_prepare_aggregate,
    [COMMAND_COMBINE] = combine_prepare,
    [COMMAND_ORDERED] = ordered_prepare,
    [COMMAND_HOST] = prepare_host,
    [COMMAND_EVENT] = prepare_event,
};
