/*
 * ad_active.h -- which states of a recorded loop are tracked
 *
 * While the body is recorded, each state may be: an iteration may make it so. When it
 * is complete, this is known. What depends on no tracked variable from outside is no
 * part of the derivative: the loop's template has no edges for it, nor have those of
 * the regions in its body.
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_ACTIVE_H
#define AD_REGION_AD_ACTIVE_H

#include "ad/region/ad_template.h"

/** Find the states of a loop, which was cut off (ad_cut.h), that depend on what is
 *  tracked, as they begin or by what iterations make of them, and the arrays that do:
 *  others are not visible from outside afterwards. Drop from the template, and from
 *  those in it, what does not depend on them. False: out of memory. */
bool ad_active_keep(AdTemplate *t);

#endif
