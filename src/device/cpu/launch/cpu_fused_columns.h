/*
 * cpu_fused_columns.h -- launches some of whose values are reduced along columns
 *
 * A part of cpu_fused.h: where an entry of a block is more than one lane from the next
 * one (FusedReduction.stride).
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_FUSED_COLUMNS_H
#define DEVICE_CPU_LAUNCH_CPU_FUSED_COLUMNS_H

#include "device/cpu/cpu_job.h"

/** Is this for a launch? */
bool cpu_fused_columns_suit(const Command *command);
/** As those of cpu_fused.h. */
size_t cpu_fused_columns_state_size(const Command *command);
bool cpu_fused_columns_plan(CpuJob *job);

#endif
