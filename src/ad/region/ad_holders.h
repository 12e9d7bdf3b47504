/*
 * ad_holders.h -- variables that the graph of derivatives holds
 */
#ifndef AD_REGION_AD_HOLDERS_H
#define AD_REGION_AD_HOLDERS_H

#include "trace/graph/holders.h"

/** Add them up. With the lock. */
void ad_holders_add(Holders *h);

#endif
