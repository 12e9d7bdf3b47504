/*
 * cpu_fused.h -- launches whose values are reduced as they are computed
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_FUSED_H
#define DEVICE_CPU_LAUNCH_CPU_FUSED_H

#include "device/cpu/cpu_job.h"

/** Device.fuses. */
bool cpu_fused_takes(Device *device, uint64_t lanes, const FusedReduction *reduction,
                     const FusedReduction *first, uint32_t count);
/** Bytes of the job's state, which begins with a CpuLaunch. */
size_t cpu_fused_state_size(const Command *command);
/** Go on with the plan of a launch that has fused reductions (Command.launch.fused) and
 *  lanes. False: out of memory. */
bool cpu_fused_plan(CpuJob *job);

#endif
