/*
 * ad_settle.h -- what waits for gradients when a construct is complete
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_SETTLE_H
#define AD_REGION_AD_SETTLE_H

#include "ad/region/ad_template.h"

/** The construct, which is out of the list of those that are open, is complete: what
 *  waits at its placeholders waits at what they stand for. False: error recorded. */
bool ad_settle(AdOpen *open);
/** ... and before it is cut off: what its body has taken for untracked
 *  (ad_border_take_plain()) is so as far as it depends on the construct. What it
 *  depends on outside is taken for untracked by the construct around. False: error
 *  recorded; that it is tracked is one. */
bool ad_settle_plain(AdOpen *open);
/** It could not be completed after all: what was due with it goes. */
void ad_settle_forget(void);

#endif
