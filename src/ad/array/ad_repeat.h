/*
 * ad_repeat.h -- arrays that are repeated: see ad_repeat.c
 */
#ifndef AD_ARRAY_AD_REPEAT_H
#define AD_ARRAY_AD_REPEAT_H

#include "ad/array/ad_moves.h"
#include "ad/array/ad_pattern.h"

/** 'result' (its reference moves), tracked as what is at these indices of
 *  'source', which are those of blocks of 'inner' entries that are repeated.
 *  Position 0: each entry is repeated. Without lock. 0: error recorded. */
uint64_t ad_repeat_track(uint32_t result, uint64_t source, uint32_t index,
                         AdSize inner);
/** The gradient of an array from that of a gather at indices of this pattern, which
 *  is not unknown: sums as those of blocks and matrix products. Without lock. 0: error
 *  recorded. */
uint64_t ad_repeat_sums(uint64_t g, const AdPattern *p);

#endif
