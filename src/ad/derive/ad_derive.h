/*
 * ad_derive.h -- a derivative of a region, as another region
 *
 * See ad_region.h for the idea.
 */
#ifndef AD_DERIVE_AD_DERIVE_H
#define AD_DERIVE_AD_DERIVE_H

#include "ad/region/ad_template.h"

/** Forward: 'given' are gradients of the entries, 'made' those of results and arrays.
 *  Reverse: the other way round. 0 = none; those that are made are references of the
 *  caller's, and so are the given ones, except for arrays that are written to: these
 *  references move, and 0 takes their place. Reverse, 'made' has at first the gradients
 *  of arrays that are added to. Forward, gradients that are not 'wanted', by number,
 *  may stay 0. False: error recorded. Without lock. */
bool ad_derive(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
               const bool *wanted);

#endif
