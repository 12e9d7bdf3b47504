/*
 * ad_sides.h -- bodies of a region that write to one array
 *
 * Each writes in its own lanes, so the graph may have the writes of one after those of
 * another.
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_SIDES_H
#define AD_REGION_AD_SIDES_H

#include "ad/region/ad_template.h"

/** The body that is recorded has made this of an array (borrowed), and one before has
 *  made 'last' of it: the writes of the former follow. False: error recorded. */
bool ad_sides_follow(const AdOpen *open, uint64_t leaf, NodeId last);
/** Both sides of a conditional have written to copies of one array, which are its
 *  output k: it is the first one from now on. False: error recorded. */
bool ad_sides_join(AdOpen *open, size_t k);

#endif
