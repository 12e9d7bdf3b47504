/*
 * scan.h -- block prefix reductions and mask compression
 */
#ifndef DEVICE_CPU_PRIMITIVES_SCAN_H
#define DEVICE_CPU_PRIMITIVES_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

/** Compression of a mask, whose chunks of SCAN_MASK_CHUNK entries any number of threads
 *  draw in ascending order, and have compressed, each before it draws another one. */
enum { SCAN_MASK_CHUNK = 65536 };
typedef struct ScanCompression {
    uint32_t *out; /* indices */
    size_t size;
    struct ScanLink *links; /* one for each chunk */
} ScanCompression;

/** False: out of memory. */
bool scan_compress_begin(ScanCompression *c, size_t size, uint32_t *out);
/** The entries of a chunk that was drawn. */
void scan_compress_chunk(const ScanCompression *c, size_t chunk, const uint8_t *mask);
/** All chunks are compressed: the number of indices. */
uint32_t scan_compress_count(const ScanCompression *c);
void scan_compress_end(ScanCompression *c);

/** A prefix reduction within blocks of 'block' entries ('block' divides 'size'), from
 *  the end of each with 'reverse'. The bits are of a fixed association that depends on
 *  'block' only (scan.c). */
enum { SCAN_CHUNK = 4096 }; /* entries of a chunk (scan.c) */
typedef struct ScanSpec {
    ReduceOp op;
    VarType type;
    size_t size, block;
    bool exclusive, reverse;
} ScanSpec;

/** All of it at once, in host memory, in the calling thread. 'in' and 'out' may be the
 *  same. False: out of memory. */
bool scan_now(const ScanSpec *spec, const void *in, void *out);

/** One whose input comes in parts: of whole blocks, or *chained*, where blocks are
 *  longer, of SCAN_PART entries; the last one of a block, in the order of scanning, is
 *  what is left. These have to be drawn in that order, as in a compression. NULL:
 *  out of memory. */
enum { SCAN_PART = 65536 };
typedef struct Scan Scan;
Scan *scan_begin(const ScanSpec *spec, bool chained, void *out);
/** Entries begin ... end-1; 'in' is where entry 0 would be, if it was there. */
void scan_part(const Scan *scan, size_t begin, size_t end, const char *in);
/** NULL is fine. */
void scan_end(Scan *scan);

#endif
