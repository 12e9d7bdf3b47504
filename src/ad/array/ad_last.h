/*
 * ad_last.h -- who has written an entry of an array last
 *
 * Where bodies of a region overwrite entries of an array, perhaps several times, the
 * derivative has to know which of the writes is in the result. So the region runs once
 * more, before its derivative is traced, and writes to another array, at the same
 * positions, the number of the write: from 1 on, those of later iterations are greater.
 * While the derivative is traced, of what was written only the last counts, and what
 * was added after it. What the array was before counts where nothing was written, which
 * is seen to outside of the region.
 *
 * Functions take the lock themselves.
 */
#ifndef AD_ARRAY_AD_LAST_H
#define AD_ARRAY_AD_LAST_H

#include "ad/array/ad_moves.h"

typedef struct AdLastWrite {
    const AdMoves *m; /* a scatter with Identity or Add; borrowed */
    uint32_t body;
    uint32_t array; /* which */
} AdLastWrite;

typedef struct AdLast {
    AdLastWrite *writes; /* in order; owned */
    uint32_t count;
    uint32_t *arrays; /* of numbers of writes, an entry for each entry of the array; 0:
                         nothing overwrites it; references, owned */
    uint32_t array_count;
    uint32_t iteration; /* placeholder of its number; 0: it is no loop; a reference */
} AdLast;

/** Write the numbers of those of one body, in that body. False: error recorded. */
bool ad_last_record(AdLast *last, uint32_t body);
/** The lanes of a scatter that count, if the thread's AdLast has it: the mask 'mask'
 *  (0: all), or part of it; a new reference. False: error recorded. */
bool ad_last_mask(const AdMoves *m, uint32_t index, uint32_t mask, uint32_t *result);
/** Does the thread's AdLast have this write? */
bool ad_last_has(const AdMoves *m);
/** g where nothing was written to the array, 0 elsewhere; the reference moves. */
uint64_t ad_last_before(const AdLast *last, uint32_t array, uint64_t g);
void ad_last_free(AdLast *last);

#endif
