/*
 * ad_region_depends.h -- which inputs results of a region depend on
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_REGION_DEPENDS_H
#define AD_REGION_AD_REGION_DEPENDS_H

#include "ad/region/ad_template.h"
#include "ad/rule/ad_depends.h"

/** For the operation of a region that is cut off, by entry. NULL: each output depends
 *  on each input, or it is not found out, since bodies write to arrays; or ('*ok' is
 *  false) out of memory. */
AdDepends *ad_region_depends(const AdTemplate *t, bool *ok);

#endif
