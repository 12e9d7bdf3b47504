/*
 * cpu_fold_columns.h -- launches some of whose values are reduced along columns
 *
 * A part of cpu_fold.h: where an entry of a block is more than one lane from the next
 * one (Fold.stride).
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_FOLD_COLUMNS_H
#define DEVICE_CPU_LAUNCH_CPU_FOLD_COLUMNS_H

#include "device/cpu/cpu_job.h"

/** Is this for a launch? */
bool cpu_fold_columns_suit(const Command *command);
/** As those of cpu_fold.h. */
size_t cpu_fold_columns_state_size(const Command *command);
bool cpu_fold_columns_plan(CpuJob *job);

#endif
