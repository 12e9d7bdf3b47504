/*
 * ad_cut.h -- cutting the part of the graph off that belongs to the bodies of a region
 *
 * A walk from the outputs towards what they depend on, as far as the nodes of the
 * bodies go. Where an edge comes from outside, it comes from an entry afterwards.
 * Results of operations on whole arrays, and all that these depend on, are outside.
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_CUT_H
#define AD_REGION_AD_CUT_H

#include "ad/region/ad_template.h"
#include "ad/rule/ad_operation.h"

/** Cut off what the outputs of the region and its arrays depend on. False: error
 *  recorded. */
bool ad_cut(AdOpen *open);
/** Was the node made in the bodies that are being closed, or does it belong to those
 *  that they are the derivative of? */
bool ad_cut_is_inside(const AdOpen *open, NodeId id);
/** Has an operation on whole arrays made it? */
bool ad_cut_is_whole(NodeId id);
/** Is it from what iterations before have written to an array that is not tracked
 *  before a loop? The source belongs to no variable. For regions in the loop it is
 *  outside, though it was made in their bodies. */
bool ad_cut_is_before(const AdEdge *e);
enum { AD_CUT_ANY_BODY = UINT32_MAX };
/** Does this body write to the array that an entry stands for, be it in a region? */
bool ad_cut_is_written(const AdTemplate *t, NodeId entry, uint32_t body);
/** The region that an edge leads into, or out of; NULL: none. */
AdTemplate *ad_cut_region(const AdEdge *e);
/** AdOperation.arrival of regions: gradients of arrays that are read are arrays that
 *  are added to. */
AdArrival ad_cut_arrival(const void *payload, uint32_t input);

#endif
