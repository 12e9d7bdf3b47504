/*
 * ad_last.h -- who has written an entry of an array last
 *
 * Where bodies of a region overwrite entries of an array, perhaps several times, the
 * derivative has to know which of the writes is in the result. So the region runs once
 * more, before its derivative is traced, and writes to another array, at the same
 * indices, the number of the write. While the derivative is traced, of what was
 * written only the last counts, and what was added after it. What the array was before
 * counts where nothing was written, which is seen to outside of the region.
 *
 * Numbers are from 1 on, and those of later writes are greater, in whatever regions
 * within the outermost one they stand: a *site* is a write, or a region with writes,
 * and has as many numbers as it makes writes at most. The sites of a body follow each
 * other, so each begins at a *place*; the iterations of a loop are a *stride* apart.
 *
 *     while (...) {            stride 7          number of the write of b: 1 + 1
 *         a[i] = ...           place 0             + 7 * iteration of the outer loop
 *         while (...)          place 1             + 2 * that of the inner one
 *             b[i] = ...       place 0, stride 2, 3 iterations at most
 *             c[i] = ...       place 1
 *     }
 *
 * Functions take the lock themselves.
 */
#ifndef AD_ARRAY_AD_LAST_H
#define AD_ARRAY_AD_LAST_H

#include "ad/array/ad_moves.h"

/** A write, or a region with writes, in a body. */
typedef struct AdLastSite {
    uint32_t around; /* number of the region that the body belongs to */
    uint32_t body;   /* which of its bodies */
    uint64_t place;
    const AdMoves *m; /* a scatter with Identity or Add, borrowed; NULL: a region, */
    uint32_t which;   /* ... of this number. Of a write, the number of the array */
} AdLastSite;

/** A region with writes: the outermost one is number 0. */
typedef struct AdLastRegion {
    struct AdTemplate *t; /* borrowed */
    uint32_t site;        /* that it is, unless it is the outermost one */
    uint64_t stride;      /* of a loop */
    uint32_t iteration;   /* placeholder of its number in the body that is traced; 0: it
                             is not a loop; a reference */
} AdLastRegion;

/** An array that is written to. */
typedef struct AdLastArray {
    uint32_t numbers; /* of writes, an entry for each entry of the array, of 32 bits or
                         64; 0: they are not needed; a reference */
    uint32_t entry;   /* 1 + number of the outermost region's entry that it is; 0: it
                         was not tracked before */
} AdLastArray;

typedef struct AdLast {
    AdLastSite *sites; /* those of a body are in order; owned */
    uint32_t site_count, site_capacity;
    AdLastRegion *regions; /* owned */
    uint32_t region_count, region_capacity;
    AdLastArray *arrays; /* owned */
    uint32_t array_count, array_capacity;
} AdLast;

/** Write the numbers of a write that overwrites, in its body. False: error recorded. */
bool ad_last_record(AdLast *last, const AdLastSite *write);
/** The lanes of a scatter that count, if the thread's AdLast has it: the mask 'mask'
 *  (0: all), or part of it; a new reference. False: error recorded. */
bool ad_last_mask(const AdMoves *m, uint32_t index, uint32_t mask, uint32_t *result);
/** Does the thread's AdLast have this write? */
bool ad_last_has(const AdMoves *m);
/** What it says of a region; NULL: nothing. */
AdLastRegion *ad_last_region(const struct AdTemplate *t);
/** g where nothing was written to the array, 0 elsewhere; the reference moves. */
uint64_t ad_last_before(const AdLastArray *array, uint64_t g);
void ad_last_free(AdLast *last);

#endif
