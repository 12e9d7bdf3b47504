/*
 * ad_overwrite.h -- regions whose bodies overwrite arrays
 *
 * The derivative of such a region needs to know who has written an entry last
 * (ad_last.h) in reverse, if a loop overwrites entries or there are several writes to
 * an array. That is found out where the outermost region is derived, for all regions in
 * it, since their derivatives are traced where nothing can be evaluated.
 *
 * Without lock.
 */
#ifndef AD_REGION_AD_OVERWRITE_H
#define AD_REGION_AD_OVERWRITE_H

#include "ad/array/ad_last.h"
#include "ad/region/ad_template.h"

/** Who writes last, if that is needed and the thread does not know it yet; else '*last'
 *  has no sites. The region runs for that. False: error recorded, as it is if it is
 *  needed and nothing can be evaluated. */
bool ad_overwrite_find(AdTemplate *t, AdLast *last);
/** The placeholder for the number of an iteration in the body of a loop that has been
 *  reopened, where the thread's AdLast has the loop: 0 if it has not. A new reference.
 *  False: error recorded. */
bool ad_overwrite_number(const AdTemplate *t, uint32_t *placeholder);
/** Have what was there before the region count in gradients, by entry, where it is
 *  there afterwards. */
bool ad_overwrite_cut(const AdLast *last, uint64_t *gradients);

#endif
