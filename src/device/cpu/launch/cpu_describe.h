/*
 * cpu_describe.h -- what launches on the CPU have to know of a kernel's Program
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_DESCRIBE_H
#define DEVICE_CPU_LAUNCH_CPU_DESCRIBE_H

#include "device/device.h"

/** Device.describe: fill in CpuCode.cost and .spans. */
void cpu_describe(Device *device, const struct Program *program, Code *code);

#endif
