/*
 * mkperm.h -- stable counting sort of keys within blocks
 */
#ifndef DEVICE_CPU_MKPERM_H
#define DEVICE_CPU_MKPERM_H

#include <stdbool.h>
#include <stdint.h>

#include "device/stream.h"

/** See jit_block_mkperm(). Pointers are host memory; waits. Keys that are not below
 *  'bucket_count' are an error. '*unique' receives the number of records. */
bool mkperm_run(Stream *stream, const uint32_t *values, uint32_t size,
                uint32_t block_size, uint32_t bucket_count, uint32_t *perm,
                uint32_t *offsets, uint32_t *unique, uint64_t *ns);

#endif
