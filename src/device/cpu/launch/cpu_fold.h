/*
 * cpu_fold.h -- launches whose values are reduced as they are computed
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_FOLD_H
#define DEVICE_CPU_LAUNCH_CPU_FOLD_H

#include "device/cpu/cpu_job.h"

/** Device.folds. */
bool cpu_fold_takes(Device *device, uint64_t lanes, const Fold *fold, const Fold *first,
                    uint32_t count);
/** Bytes of the job's state, which begins with a CpuLaunch. */
size_t cpu_fold_state_size(const Command *command);
/** Go on with the plan of a launch that has folds (Command.launch.folds) and lanes.
 *  False: out of memory. */
bool cpu_fold_plan(CpuJob *job);

#endif
