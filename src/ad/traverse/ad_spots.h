/*
 * ad_spots.h -- which gradients of a traversal are evaluated, and when
 *
 * Without the graph lock, unless something else is said.
 */
#ifndef AD_TRAVERSE_AD_SPOTS_H
#define AD_TRAVERSE_AD_SPOTS_H

#include "ad/rule/ad_operation.h"
#include "ad/traverse/ad_tangent.h"

/** A gradient has come to the node at this place. With the lock. False: out of
 *  memory. */
bool ad_spots_note(Traversal *t, uint32_t place);
/** Is the gradient of a node to be summed up now? */
bool ad_spots_due(NodeId id);
/** Have the gradients of these nodes evaluated together, as sums if these can wait.
 *  What cannot be fails when it is needed. */
void ad_spots_schedule(Traversal *t, SpotList *list, uint16_t flag);
/** An operation has made gradients, one of which may have to be summed up. */
void ad_spots_schedule_made(NodeId node, const AdOperation *op);
/** 'g', of which the gradient of the giver is made, is about to be read by index.
 *  False: out of memory. */
bool ad_spots_schedule_read(Traversal *t, NodeId giver, uint32_t g);
/** The traversal is over: asking for one sum evaluates all of its gradients. */
void ad_spots_schedule_ends(Traversal *t);
void ad_spots_drop(Traversal *t);

#endif
