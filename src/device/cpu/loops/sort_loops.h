/*
 * sort_loops.h -- inner loops of sorting, one set for each entry type
 *
 * An entry has a *key*, an unsigned integer of its width that sorts like it: signed
 * integers have their sign bit flipped; a float of magnitude m has 2^(width-1) + m or
 * 2^(width-1) - m, which makes both zeros equal, and all NaN have the largest key.
 * 'flip' is the xor that makes integers unsigned and reverses the order.
 *
 * Keys are sorted by digits of SORT_BITS bits, the lowest first. A *table* has one
 * counter for each value of a digit; positions are counters that move on.
 */
#ifndef DEVICE_CPU_LOOPS_SORT_LOOPS_H
#define DEVICE_CPU_LOOPS_SORT_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

enum {
    SORT_BITS = 11,
    SORT_BUCKETS = 1 << SORT_BITS,
    SORT_DIGITS = 6 /* of the widest key */
};

/** A key and where its entry stands in the array. */
typedef struct SortPair {
    uint32_t key, index;
} SortPair;
typedef struct SortPairWide {
    uint64_t key;
    uint32_t index;
} SortPairWide;

/** Loops over entries, or over pairs, whose keys are not flipped again. */
typedef struct SortLoops {
    /** Add the entries' digits to the tables of all digits / of the one at 'shift'. */
    void (*count_all)(const void *in, size_t count, uint64_t flip, uint32_t *tables);
    void (*count)(const void *in, size_t count, uint64_t flip, unsigned shift,
                  uint32_t *table);
    /** Copy entries (pairs) to the positions of their digits. */
    void (*move)(const void *in, size_t count, uint64_t flip, unsigned shift,
                 uint32_t *table, void *out);
    /** The same for the pairs of entries 'first' ... of the array. */
    void (*pair)(const void *in, uint32_t first, size_t count, uint64_t flip,
                 unsigned shift, uint32_t *table, void *out);
    /** The same for the uint32_t numbers of entries. */
    void (*index)(const void *in, uint32_t first, size_t count, uint64_t flip,
                  unsigned shift, uint32_t *table, void *out);
    /** Wide pairs of entries; index is first, first + 1, ... */
    void (*load)(const void *in, uint32_t first, size_t count, uint64_t flip,
                 SortPairWide *out);
    const struct SortLoops *pairs; /* of these entries; NULL in loops over pairs */
    uint8_t size, pair_size;       /* bytes */
    uint8_t digits;
} SortLoops;

/** Loops of an entry type, NULL if it cannot be sorted. */
const SortLoops *sort_loops_get(VarType type);
/** What turns bits into keys. */
uint64_t sort_loops_flip(VarType type, bool descending);
/** Sort pairs by key, stably; 'other' is as large. The result is in the returned one of
 *  both. For few pairs. */
SortPairWide *sort_loops_merge(SortPairWide *pairs, SortPairWide *other, size_t count);

#endif
