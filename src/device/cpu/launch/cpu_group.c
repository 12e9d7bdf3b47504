/*
 * cpu_group.c -- see cpu_group.h
 */
#include "device/cpu/launch/cpu_group.h"

#include "device/cpu/cpu_job.h"
#include "device/cpu/launch/cpu_batch.h"
#include "device/cpu/launch/cpu_chain.h"
#include "device/stream.h"

static void gather(CpuJob *job)
{
    const Command *c = job->command;
    bool repeated = c->next && command_repeats(c, c->next);
    uint32_t ready = stream_count_ready(c, repeated ? CPU_BATCH : CPU_CHAIN);
    if (ready && !cpu_batch_begin(job, ready))
        cpu_chain_begin(job, ready);
}

void cpu_group_start(Device *device, Command *command)
{
    CpuJob *job = command->job;
    if (!cpu_job_has_begun(job))
        gather(job);
    cpu_job_start(device, command);
}
