/*
 * cpu_device.h -- the CPU as a device
 */
#ifndef DEVICE_CPU_CPU_DEVICE_H
#define DEVICE_CPU_CPU_DEVICE_H

#include "device/device.h"

/** The CPU; registered by the first call. */
Device *cpu_device(void);

#endif
