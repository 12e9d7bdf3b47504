/*
 * scan.h -- block prefix reductions and mask compression
 */
#ifndef DEVICE_CPU_SCAN_H
#define DEVICE_CPU_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

/** Prefix reduction within blocks of 'block' entries ('block' divides 'size') in host
 *  memory at once, in the calling thread; from the end of each block with 'reverse'.
 *  'in' and 'out' may be the same. The bits are those of commands: of a fixed
 *  association that depends on 'block' only (scan.c). False: memory is out. */
bool scan_now(ReduceOp op, VarType type, const void *in, size_t size, size_t block,
              bool exclusive, bool reverse, void *out);

#endif
