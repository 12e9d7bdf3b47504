/*
 * transfer.h -- fills of host memory
 */
#ifndef DEVICE_CPU_PRIMITIVES_TRANSFER_H
#define DEVICE_CPU_PRIMITIVES_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

/** Repeat an item of 1, 2, 4 or 8 bytes over 'size' bytes, in the calling thread. */
void transfer_fill(void *dst, size_t size, uint64_t bits, uint32_t item_size);

#endif
