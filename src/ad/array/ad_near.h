/*
 * ad_near.h -- gathers whose index is the number of the lane and another number
 *
 * Each entry of the source has one lane at most, which its own number tells. So what
 * comes back to it is read, not added by index: no lane waits for another one, and
 * there is one order of summation. It has to be in memory for that.
 */
#ifndef AD_ARRAY_AD_NEAR_H
#define AD_ARRAY_AD_NEAR_H

#include "ad/array/ad_moves.h"

/** Is lane i of an access to so many entries one to entry i + *number, and is reading
 *  all entries less than writing those of the lanes? */
bool ad_near_find(uint32_t index, size_t entries, uint32_t *number);
/** What comes back to the entries (sizes of 'm' are those of source and lanes) for
 *  lanes where 'mask' is set, 0: all. */
uint64_t ad_near_reverse(const AdMoves *m, uint32_t number, uint32_t mask, uint64_t g);

#endif
