/*
 * transfer.h -- copies, fills and aggregation as stream work
 *
 * The '_buffer' forms name Buffers and are ordered with all streams; the pointer forms
 * are ordered within the stream only. 'report' is told when it is done, also after a
 * failure.
 */
#ifndef DEVICE_CPU_TRANSFER_H
#define DEVICE_CPU_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/job_time.h"
#include "device/stream.h"
#include "drjit-core/jit.h"

/** Copy 'size' bytes between offsets of two buffers. */
bool transfer_copy_buffer(Stream *stream, Buffer *dst, size_t dst_offset, Buffer *src,
                          size_t src_offset, size_t size, JobReport report);
/** Fill 'count' items of item_size (1, 2, 4, 8) bytes with 'bits'. */
bool transfer_fill_buffer(Stream *stream, Buffer *dst, uint64_t bits,
                          uint32_t item_size, size_t count, JobReport report);
bool transfer_copy(Stream *stream, void *dst, const void *src, size_t size,
                   JobReport report);
bool transfer_fill(Stream *stream, void *dst, uint64_t bits, uint32_t item_size,
                   size_t count, JobReport report);
/** jit_aggregate(); the entries are copied. */
bool transfer_aggregate(Stream *stream, void *dst, const AggregationEntry *entries,
                        uint32_t count, JobReport report);
/** Fold the 'copies' private images of an expanded scatter target, 'stride' entries
 *  apart, into one: out[i] = image 0 [i] op image 1 [i] op ..., from left to right, for
 *  i < size. 'out' may be 'expanded'. f16 is computed in f32 and rounded at the end.
 *  Types: as in reduce.h. */
bool transfer_combine_copies(Stream *stream, ReduceOp op, VarType type,
                             Buffer *expanded, size_t size, size_t stride,
                             uint32_t copies, Buffer *out);

#endif
