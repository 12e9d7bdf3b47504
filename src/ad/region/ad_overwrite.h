/*
 * ad_overwrite.h -- regions whose bodies overwrite arrays
 *
 * The derivative of such a region needs to know who has written an entry last
 * (ad_last.h) in reverse: in a loop always; in a conditional if several scatters write
 * to an array. What is known is the writes that stand in a body itself, and in a loop
 * the additions of regions in it.
 *
 * Without lock.
 */
#ifndef AD_REGION_AD_OVERWRITE_H
#define AD_REGION_AD_OVERWRITE_H

#include "ad/array/ad_last.h"
#include "ad/region/ad_derive.h"

/** Its writes, with arrays of zeros for their numbers, if that is needed; else none. In
 *  'entries' (owned by the caller; NULL if there is none): by entry 1 + number of the
 *  array that it is, 0 if it is none. False: error recorded, as it is if it is needed
 *  and nothing can be evaluated. */
bool ad_overwrite_find(const AdTemplate *t, AdLast *last, uint32_t **entries);
/** What a body has to write, 'which' of them: the effects of 'out'. In a loop the
 *  placeholder for the number of the iteration is made anew. */
bool ad_overwrite_record(const AdTemplate *t, AdLast *last, uint32_t which,
                         RecordedBody *out);
/** A placeholder for the number of an iteration in the body that is open, which becomes
 *  that of 'last'. */
bool ad_overwrite_number(const AdTemplate *t, AdLast *last);
/** The arrays are complete: have them in memory. */
bool ad_overwrite_finish(const AdLast *last);
/** Have what was there before the region count in gradients of such entries where it is
 *  there afterwards. */
bool ad_overwrite_cut(const AdTemplate *t, const AdLast *last, const uint32_t *entries,
                      uint64_t *gradients);

#endif
