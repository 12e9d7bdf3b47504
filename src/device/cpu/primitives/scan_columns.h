/*
 * scan_columns.h -- prefix reductions of blocks that are the columns of matrices
 */
#ifndef DEVICE_CPU_PRIMITIVES_SCAN_COLUMNS_H
#define DEVICE_CPU_PRIMITIVES_SCAN_COLUMNS_H

#include "device/cpu/cpu_job.h"

/** A PREFIX command with a stride. False: out of memory. */
bool scan_columns_prepare(CpuJob *job);

#endif
