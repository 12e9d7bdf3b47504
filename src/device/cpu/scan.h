/*
 * scan.h -- block prefix reductions and mask compression
 */
#ifndef DEVICE_CPU_SCAN_H
#define DEVICE_CPU_SCAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

/** Compression of a mask, whose chunks of SCAN_MASK_CHUNK entries any number of threads
 *  draw, and have compressed, each before it draws another one. */
enum { SCAN_MASK_CHUNK = 65536 };
typedef struct ScanCompression {
    uint32_t *out; /* positions */
    size_t size;
    struct ScanLink *links; /* one for each chunk */
    _Atomic uint64_t ticket;
} ScanCompression;

/** False: memory is out. */
bool scan_compress_begin(ScanCompression *c, size_t size, uint32_t *out);
static inline size_t scan_compress_draw(ScanCompression *c)
{
    return atomic_fetch_add_explicit(&c->ticket, 1, memory_order_relaxed);
}
/** The entries of a chunk that was drawn. */
void scan_compress_chunk(const ScanCompression *c, size_t chunk, const uint8_t *mask);
/** All chunks are compressed: the number of positions. */
uint32_t scan_compress_count(const ScanCompression *c);
void scan_compress_end(ScanCompression *c);

/** Prefix reduction within blocks of 'block' entries ('block' divides 'size') in host
 *  memory at once, in the calling thread; from the end of each block with 'reverse'.
 *  'in' and 'out' may be the same. The bits are those of commands: of a fixed
 *  association that depends on 'block' only (scan.c). False: memory is out. */
bool scan_now(ReduceOp op, VarType type, const void *in, size_t size, size_t block,
              bool exclusive, bool reverse, void *out);

#endif
