/*
 * cpu_launch.h -- launches of kernels on the CPU: blocks of lanes
 */
#ifndef DEVICE_CPU_CPU_LAUNCH_H
#define DEVICE_CPU_CPU_LAUNCH_H

#include <stdint.h>

/** Lanes of a block at most, rounded up to a multiple of 64
 *  (jit_llvm_set_block_size). */
void cpu_launch_set_block_size(uint32_t lanes);
uint32_t cpu_launch_block_size(void);

#endif
