/*
 * scan.h -- block prefix reductions and mask compression as stream work
 */
#ifndef DEVICE_CPU_SCAN_H
#define DEVICE_CPU_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/stream.h"
#include "drjit-core/jit.h"

/** Prefix reduction within blocks of 'block' entries ('block' divides 'size'); from the
 *  end of each block with 'reverse'. 'in' and 'out' may be the same buffer. The result
 *  equals the one of a fixed association that depends on 'block' only (scan.c). */
bool scan_submit(Stream *stream, ReduceOp op, VarType type, Buffer *in, size_t size,
                 size_t block, bool exclusive, bool reverse, Buffer *out,
                 void (*history)(void *payload, uint64_t ns), void *payload);

/** The same in host memory at once, in the calling thread. 'in' and 'out' may be the
 *  same. False: memory is out. */
bool scan_now(ReduceOp op, VarType type, const void *in, size_t size, size_t block,
              bool exclusive, bool reverse, void *out);

/** Positions of the nonzero bytes of mask[0 ... size-1], ascending, to out (UInt32,
 *  room for 'size'). Waits; the number of positions is returned in '*count'. */
bool scan_compress(Stream *stream, Buffer *mask, size_t size, Buffer *out,
                   uint32_t *count, uint64_t *ns);

#endif
