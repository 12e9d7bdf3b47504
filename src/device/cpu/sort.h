/*
 * sort.h -- stable sorting within blocks as stream work
 */
#ifndef DEVICE_CPU_SORT_H
#define DEVICE_CPU_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/stream.h"
#include "drjit-core/jit.h"

/** Can arrays of this type be sorted? Integers, floats, Bool. */
bool sort_supported(VarType type);
/** Sort blocks of 'block' entries of in[0 ... size-1] ('block' divides 'size', which is
 *  below 2^32). 'out' receives the entries or, with 'positions', their numbers in 'in'
 *  as UInt32. Equal entries keep their order; zeros are equal, NaN are larger than all
 *  numbers. 'history' as in reduce.h. */
bool sort_submit(Stream *stream, VarType type, Buffer *in, size_t size, size_t block,
                 bool descending, bool positions, Buffer *out,
                 void (*history)(void *payload, uint64_t ns), void *payload);

#endif
