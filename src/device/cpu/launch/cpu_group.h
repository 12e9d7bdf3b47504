/*
 * cpu_group.h -- commands that are run together, as one job
 *
 * A batch (cpu_batch.h), or else a chain (cpu_chain.h). This is a matter of the device
 * alone: everybody else sees commands that end in order.
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_GROUP_H
#define DEVICE_CPU_LAUNCH_CPU_GROUP_H

#include "device/device.h"

/** Device.start: a command's turn has come, and that of those behind it that can be run
 *  with it. */
void cpu_group_start(Device *device, Command *command);

#endif
