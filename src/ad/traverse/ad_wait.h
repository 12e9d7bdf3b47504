/*
 * ad_wait.h -- gradients wait until a construct is complete (ad_border.h)
 *
 * Functions give new references, 0 or false: error recorded. Without lock, unless a
 * function says otherwise.
 */
#ifndef AD_TRAVERSE_AD_WAIT_H
#define AD_TRAVERSE_AD_WAIT_H

#include "ad/graph/ad_border.h"
#include "ad/rule/ad_operation.h"

/** What an edge does with a gradient that leaves a body by it. With the lock. */
AdArrival ad_wait_arrival(const AdEdge *e);
/** Add the value of each lane to what waits for a node; the reference moves. */
bool ad_wait_add(const AdBorder *b, NodeId id, uint64_t value);
/** Take the array that waits, zeros if there is none; put it back (the reference
 *  moves). */
VarId ad_wait_take(const AdBorder *b, NodeId id);
bool ad_wait_put(const AdBorder *b, NodeId id, uint64_t array);
/** Run an operation, backward, that adds to gradients: to the arrays that wait. */
bool ad_wait_run(const AdBorder *b, AdOperation *op, NodeId node, bool tracked);
/** In a body that runs at once: the gradient in active lanes, 0 in others or, if it has
 *  no lanes, where no lane is active. The reference moves. */
uint64_t ad_wait_mask(uint64_t grad);
/** What begins in such a body is masked, and so is all that comes of it. Effects of
 *  derivatives are to be as they are outside, since they may have other lanes, as those
 *  of calls in the body do: lift the body's mask meanwhile. '*lifted': there is one, to
 *  be dropped. False: error recorded. */
bool ad_wait_lift_mask(bool *lifted);
bool ad_wait_drop_mask(void);
/** What waits for constructs that are complete gets there, and goes on. */
bool ad_wait_go_on(void);

#endif
