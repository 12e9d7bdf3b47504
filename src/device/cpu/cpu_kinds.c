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
#define CPU_KIND(name, function) [COMMAND_##name] = function,
#include "device/cpu/cpu_kinds.def"
    [COMMAND_HOST] = prepare_host,
    [COMMAND_EVENT] = prepare_event,
};
